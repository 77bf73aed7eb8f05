//! Files from outside: read up to a limit, and refused with their name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The file, if it has at most `most` bytes.
pub(crate) fn read_limited(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let refused = |error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    // Memory is taken for what is there: what a file says of its length may be wrong.
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() > most {
        let mebibytes = most >> 20;
        return Err(format!("{}: longer than {mebibytes} MiB, more than is read", path.display()));
    }
    Ok(bytes)
}
