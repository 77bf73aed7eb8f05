//! The commands `token` and `certificate`, as they are typed.

use std::fs;
use std::path::Path;
use std::process::Output;

use tightwire::quic::Certificate;

use crate::common::{Folder, tightwire as run};

/// Standard output of a command that succeeds.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a failing command.
fn stderr_of(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"", "a failure prints nothing");
    String::from_utf8(output.stderr).unwrap()
}

#[cfg(unix)]
fn is_private(file: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).unwrap().permissions().mode() & 0o777 == 0o600
}

#[test]
fn a_token_is_minted_and_shown() {
    let folder = Folder::new("minted");
    let file = folder.file("token.key");
    let key_file = file.as_str();
    assert_eq!(
        printed(&["token", "new-key", "--out", key_file]),
        format!("written to {key_file}\n")
    );
    let secret = fs::read_to_string(key_file).unwrap();
    assert_eq!(secret.trim().len(), 64);
    #[cfg(unix)]
    assert!(is_private(key_file));

    let mint = ["token", "mint", "--key-file", key_file, "--client", "7", "--server", "eu-west-3"];
    let more = ["--expires-in", "60", "--user-data", "red\nteam"];
    let token = printed(&[&mint[..], &more].concat());
    assert_ne!(token, printed(&[&mint[..], &more].concat()));
    let shown = printed(&["token", "show", "--key-file", key_file, token.trim()]);
    assert!(shown.contains("client     7\nserver     eu-west-3\nminted     "), "{shown}");
    assert!(shown.contains("user data  8 bytes: red\\nteam\n"), "{shown}");
    assert!(!(shown + &token).contains(secret.trim()));

    let long = run(&[&mint[..], &["--expires-in", "7200"]].concat());
    assert!(long.status.success());
    assert!(String::from_utf8(long.stderr).unwrap().contains("longer than 3600 seconds"));
}

#[test]
fn a_key_without_a_file_is_printed_and_none_is_overwritten() {
    let folder = Folder::new("keys");
    let key = printed(&["token", "new-key"]);
    assert_eq!(key.trim().len(), 64);
    assert_ne!(key, printed(&["token", "new-key"]));

    let file = folder.file("token.key");
    fs::write(&file, &key).unwrap();
    assert!(stderr_of(&["token", "new-key", "--out", &file]).contains("exists already"));
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
}

#[test]
fn mistakes_are_explained_and_keys_are_not_repeated() {
    let folder = Folder::new("mistakes");
    let (good, other, bad) = (folder.file("good"), folder.file("other"), folder.file("bad"));
    printed(&["token", "new-key", "--out", &good]);
    printed(&["token", "new-key", "--out", &other]);
    fs::write(&bad, "abcdef0123456789").unwrap();
    let mint = |key: &str, server: &str, seconds: &str| {
        let who = ["token", "mint", "--client", "7", "--key-file", key, "--server", server];
        run(&[&who[..], &["--expires-in", seconds]].concat())
    };
    let complaint = |output: Output| String::from_utf8(output.stderr).unwrap();

    let refused = complaint(mint(&bad, "eu", "60"));
    assert!(refused.contains("has no token key: 16 hexadecimal digits"), "{refused}");
    assert!(!refused.contains("abcdef"));
    let nowhere = folder.file("nowhere");
    assert!(complaint(mint(&nowhere, "eu", "60")).contains(&nowhere));
    assert!(complaint(mint(&good, &"x".repeat(256), "60")).contains("256 bytes"));
    assert!(complaint(mint(&good, "eu", "0")).contains("expire at once"));

    let token = String::from_utf8(mint(&good, "eu", "60").stdout).unwrap();
    let show = |token: &str| stderr_of(&["token", "show", "--key-file", &other, token]);
    assert!(show(token.trim()).contains("not genuine"));
    assert!(show("hello").contains("character 1 is not a hexadecimal digit"));
    assert!(stderr_of(&["tokens"]).contains("tokens"));
    assert_eq!(run(&["tokens"]).status.code(), Some(2));
}

#[test]
fn a_certificate_is_written_with_a_private_key_and_can_be_used() {
    let folder = Folder::new("certificate");
    let out = folder.file("new/folder");
    let new = ["certificate", "new", "--name", "game.example.com", "--name", "::1", "--out", &out];
    let fingerprint = printed(&new);
    let [chain, key] =
        ["cert.pem", "key.pem"].map(|file| fs::read_to_string(format!("{out}/{file}")).unwrap());
    let certificate = Certificate::from_pem(&chain, &key).unwrap();
    assert_eq!(fingerprint, format!("{}\n", certificate.fingerprint()));
    #[cfg(unix)]
    assert!(is_private(&format!("{out}/key.pem")));

    assert!(stderr_of(&new).contains("cert.pem exists already"));
    fs::remove_file(format!("{out}/cert.pem")).unwrap();
    assert!(stderr_of(&new).contains("key.pem exists already"));
    assert_eq!(fs::read_to_string(format!("{out}/key.pem")).unwrap(), key);
    let bad = folder.file("bad");
    let refused = stderr_of(&["certificate", "new", "--name", "host:7777", "--out", &bad]);
    assert!(refused.contains("`host:7777` is not a server name"), "{refused}");
    assert!(!Path::new(&bad).exists());
}

#[test]
fn a_packet_is_drawn() {
    assert!(printed(&["picture"]).starts_with("A player takes"));
}
