//! The tool's binary, and folders for its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the tool in a terminal of 100 columns without colours.
pub(crate) fn tightwire(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tightwire"))
        .args(arguments)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

/// An empty folder, which is removed with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
