//! What layers import, read from their source.

use std::fs;
use std::path::Path;

/// What each layer may import, besides itself. A layer that is not in the list does not exist.
pub(crate) type Layers<'a> = &'a [(&'a str, &'a [&'a str])];

/// Fails if a layer of the crate that is tested imports one that it may not.
pub(crate) fn check(layers: Layers<'_>) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect_files(&source, &mut Vec::new(), &mut files);
    let mut offences = Vec::new();
    for (modules, text) in &files {
        offences.extend(offences_of(layers, modules, text));
    }
    assert_eq!(offences, Vec::<String>::new());
    // A walk that found nothing would prove nothing. Some layers are yet to come.
    for (layer, _) in &layers[..2] {
        assert!(files.iter().any(|(modules, _)| modules[0] == *layer), "there is no {layer}");
    }
}

/// Every file below `folder` but the crate's root, as the path of its module and its text.
fn collect_files(folder: &Path, modules: &mut Vec<String>, files: &mut Vec<(Vec<String>, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            modules.push(stem);
            collect_files(&path, modules, files);
            modules.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut module = modules.clone();
            match (stem.as_str(), modules.is_empty()) {
                ("lib", true) => continue,
                ("mod", false) => {}
                _ => module.push(stem),
            }
            files.push((module, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The imports of a file that its layer does not allow, each in words.
pub(crate) fn offences_of(layers: Layers<'_>, modules: &[String], text: &str) -> Vec<String> {
    let layer = &modules[0];
    let Some((_, allowed)) = layers.iter().find(|(name, _)| name == layer) else {
        return vec![format!(
            "{layer} is no layer: put it into the list, and say what it may import"
        )];
    };
    let names = names_from_root(&tokens(text), modules.len());
    let is_allowed = |name: &String| name == layer || allowed.contains(&name.as_str());
    let refused = names.into_iter().filter(|name| !is_allowed(name));
    refused.map(|name| format!("{} uses crate::{name}", modules.join("::"))).collect()
}

/// What is named right below the crate's root: after `crate::`, and after as many `super::` as
/// lead there from a module `depth` steps below it.
fn names_from_root(tokens: &[String], depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    // For each open brace, whether it opened a module.
    let mut braces = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let here = depth + braces.iter().filter(|&&is_module| is_module).count();
        let mut supers = 0;
        match tokens[at].as_str() {
            "{" => braces.push(at >= 2 && tokens[at - 2] == "mod"),
            "}" => drop(braces.pop()),
            "super" => {
                while is_path(tokens, at + 2 * supers, "super") {
                    supers += 1;
                }
                at += (2 * supers).saturating_sub(1);
            }
            _ => {}
        }
        if (supers > 0 && supers >= here) || is_path(tokens, at, "crate") {
            let after = if supers > 0 { at + 1 } else { at + 2 };
            names.extend(names_at(&tokens[after..]));
        }
        at += 1;
    }
    names
}

/// Whether `name ::` stands at `at`.
fn is_path(tokens: &[String], at: usize, name: &str) -> bool {
    tokens.get(at).is_some_and(|token| token == name)
        && tokens.get(at + 1).is_some_and(|token| token == "::")
}

/// The name that a path goes on with, or those of a group.
fn names_at(tokens: &[String]) -> Vec<String> {
    if tokens.first().is_none_or(|first| first != "{") {
        return tokens.first().cloned().into_iter().collect();
    }
    let mut names = Vec::new();
    let mut depth = 0;
    let mut is_start = true;
    for token in tokens {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => is_start = true,
            name if depth == 1 && is_start => {
                names.push(name.to_owned());
                is_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Names, `::` and single characters, without comments, strings and white space.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => block_comment(rest),
            _ if rest.starts_with("r\"") || rest.starts_with("r#\"") => raw_string(rest),
            '"' => 1 + string(&rest[1..]),
            '\'' => character(rest),
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let symbol = if rest.starts_with("::") { 2 } else { first.len_utf8() };
                let length = if name > 0 { name } else { symbol };
                tokens.push(rest[..length].to_owned());
                length
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn raw_string(text: &str) -> usize {
    let end = if text.starts_with("r#") { "\"#" } else { "\"" };
    let body = 1 + end.len();
    text[body..].find(end).map_or(text.len(), |length| body + length + end.len())
}

/// Up to and with the quote that ends it.
fn string(body: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in body.char_indices() {
        match character {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    body.len()
}

/// A character literal; of a lifetime only the quote.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some(_)) => {
            text[3..].find('\'').map_or(text.len(), |length| 3 + length + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}
