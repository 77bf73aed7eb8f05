//! Reading of untrusted files: limited in length, with the file's name in errors.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file of at most `most` bytes.
pub(crate) fn read_limited(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let refused = |error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    // Memory is taken for bytes that were read: the length that the system reports may be wrong.
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() > most {
        let mebibytes = most >> 20;
        return Err(format!("{}: longer than {mebibytes} MiB, more than is read", path.display()));
    }
    Ok(bytes)
}
