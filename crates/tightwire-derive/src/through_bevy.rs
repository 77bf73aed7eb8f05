//! Derived code for programs that have `tightwire` through `bevy_tightwire` only.

use proc_macro::{Group, Ident, Punct, Spacing, TokenStream, TokenTree};

/// Replaces each path `::tightwire::__private` by that through `bevy_tightwire`.
pub(super) fn rooted(code: TokenStream) -> TokenStream {
    let code: Vec<_> = code.into_iter().collect();
    let mut out = Vec::with_capacity(code.len());
    for (place, token) in code.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), rooted(group.stream()));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            TokenTree::Ident(name) if is_private(&code[place..]) => {
                out.push(TokenTree::Ident(Ident::new("bevy_tightwire", name.span())));
                out.push(TokenTree::Punct(Punct::new(':', Spacing::Joint)));
                out.push(TokenTree::Punct(Punct::new(':', Spacing::Alone)));
                out.push(token.clone());
            }
            _ => out.push(token.clone()),
        }
    }
    out.into_iter().collect()
}

/// Whether code begins with `tightwire::__private`.
fn is_private(code: &[TokenTree]) -> bool {
    let is_name = |token: &TokenTree, name: &str| match token {
        TokenTree::Ident(ident) => ident.to_string() == name,
        _ => false,
    };
    let [root, _, _, module, ..] = code else { return false };
    is_name(root, "tightwire") && is_name(module, "__private")
}
