//! Completions and manual pages: every command of the command line is in them.

use std::path::Path;

use crate::common::tightwire;

fn printed(arguments: &[&str]) -> String {
    let output = tightwire(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands, as the help lists them.
fn commands(arguments: &[&str]) -> Vec<String> {
    let help = printed(&[arguments, &["--help"]].concat());
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty());
    // What stands further to the right goes on with the line before.
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn completions_have_every_command() {
    let commands = commands(&[]);
    assert!(commands.len() >= 6 && commands.contains(&"schema".to_owned()), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
    }
}

#[test]
fn an_unknown_shell_is_refused_with_those_that_are_known() {
    let output = tightwire(&["completions", "basic"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("bash") && error.contains("zsh"), "{error}");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual/of/all");
    printed(&["man", "--out", folder.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let first = read("tightwire.1");
    assert_eq!(printed(&["man"]), first);
    for command in commands(&[]) {
        let name = format!("tightwire-{command}");
        // In a page of the manual, a hyphen is written with a backslash.
        assert!(first.contains(&name.replace('-', "\\-")), "{name}");
        let page = read(&format!("{name}.1"));
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"),
            "{name}: {page}"
        );
    }
    for command in commands(&["schema"]) {
        assert!(read(&format!("tightwire-schema-{command}.1")).contains(".SH SYNOPSIS"));
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_with_its_name() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-folder");
    std::fs::write(&file, "").unwrap();
    let output = tightwire(&["man", "--out", file.to_str().unwrap()]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("no-folder"), "{error}");
}
