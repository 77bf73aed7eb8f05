//! `tightwire completions` and `tightwire man`: shell completions and manual pages, generated from
//! the command line's definition.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Arguments;

/// Prints the completions for a shell: for bash, put `source <(tightwire completions bash)` into
/// ~/.bashrc.
#[derive(Args)]
pub(crate) struct Completions {
    /// Name of the shell.
    shell: Shell,
}

/// Prints the manual page, or writes the pages of all commands into a folder.
#[derive(Args)]
pub(crate) struct Manual {
    /// Writes tightwire.1 and a page for each command into this folder, which is created if
    /// necessary.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tightwire", &mut script);
        Ok(String::from_utf8(script)?)
    }
}

impl Manual {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let Some(folder) = self.out else {
            // Without the `help` command, for which `generate_to` writes no page either.
            let command = Arguments::command().disable_help_subcommand(true);
            return Ok(String::from_utf8(page(command)?)?);
        };
        let refused = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(refused)?;
        clap_mangen::generate_to(Arguments::command(), &folder).map_err(refused)?;
        let folder = folder.display();
        Ok(format!("The pages are in {folder}: `man {folder}/tightwire.1` shows the first.\n"))
    }
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
