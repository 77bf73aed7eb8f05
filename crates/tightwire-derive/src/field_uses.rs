//! Finds the fields that a condition uses, and checks that reader and writer have the same values
//! for them.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{BinOp, Expr};

use crate::syntax::unwrapped;

/// Properties of a field that matter to conditions.
pub(crate) struct ConditionField {
    pub(crate) name: String,
    pub(crate) is_skipped: bool,
    /// Whether the numbers of the field are quantised.
    pub(crate) is_rounded: bool,
    pub(crate) when: Option<Expr>,
}

/// Refuses a condition that a reader could evaluate differently from the writer, since both would
/// then disagree on all later bits. A condition may only use fields that are sent before the field
/// at `place` and are not quantised.
pub(crate) fn check(when: &Expr, fields: &[ConditionField], place: usize) -> syn::Result<()> {
    let parts = conjuncts(when);
    for (index, part) in parts.iter().enumerate() {
        for usage in field_uses(part.to_token_stream()) {
            let Some(name) = &usage.field else {
                return Err(usage.error(
                    "a reader knows only the fields before this one: write the condition over \
                     them, as `self.health > 0`",
                ));
            };
            let Some(used) = fields.iter().position(|field| field.name == *name) else {
                let message = format!(
                    "a reader knows only the fields before this one, and `{name}` is not one of them"
                );
                return Err(usage.error(&message));
            };
            let field = &fields[used];
            if used == place {
                let message =
                    format!("the condition of `{name}` uses `{name}`: use an earlier field");
                return Err(usage.error(&message));
            }
            if used > place {
                let message = format!(
                    "`{name}` is sent after this field, and a reader does not know it yet: \
                     move it before this one"
                );
                return Err(usage.error(&message));
            }
            if field.is_skipped {
                let message = format!(
                    "`{name}` is skipped, so the reader does not have it: send it, or use another \
                     field"
                );
                return Err(usage.error(&message));
            }
            if field.is_rounded && !usage.is_count {
                let message = format!(
                    "`{name}` is quantised, so the reader may evaluate the condition differently: use \
                     an exact field, such as a `bool`"
                );
                return Err(usage.error(&message));
            }
            // After the field's own condition and `&&`, the field was sent.
            let is_tested = |part: &&Expr| parts[..index].contains(part);
            if field.when.as_ref().is_some_and(|own| !conjuncts(own).iter().all(is_tested)) {
                let message = format!(
                    "`{name}` is not always sent, and a reader then has its default: begin with \
                     its own condition and `&&`"
                );
                return Err(usage.error(&message));
            }
        }
    }
    Ok(())
}

/// Returns the span where an expression first uses `self`, if it does.
pub(crate) fn first(expression: &Expr) -> Option<Span> {
    field_uses(expression.to_token_stream()).first().map(|usage| usage.place)
}

/// Returns the operands of `&&` in an expression.
fn conjuncts(when: &Expr) -> Vec<&Expr> {
    match unwrapped(when) {
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            [conjuncts(&binary.left), conjuncts(&binary.right)].concat()
        }
        other => vec![other],
    }
}

/// A use of `self` in an expression.
struct FieldUse {
    place: Span,
    /// Name of the field; `None` if the whole value is used.
    field: Option<String>,
    /// Whether only the number of values is used.
    is_count: bool,
}

impl FieldUse {
    fn error(&self, message: &str) -> syn::Error {
        syn::Error::new(self.place, message)
    }
}

/// Finds the uses of `self`. Works on tokens, since a condition may contain macro calls.
fn field_uses(tokens: TokenStream) -> Vec<FieldUse> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => found.extend(field_uses(group.stream())),
            TokenTree::Ident(ident) if ident == "self" => {
                let dot = tokens.next_if(is_dot).is_some();
                let field = tokens.next_if(|token| dot && field_name(token).is_some());
                let place = field.as_ref().map_or(ident.span(), TokenTree::span);
                let mut after = tokens.clone();
                // A method could use every field.
                let field = field.filter(|_| !after.peek().is_some_and(is_call));
                let is_count = after.next().is_some_and(|token| is_dot(&token))
                    && after.next().is_some_and(|token| is_count(&token));
                found.push(FieldUse {
                    place,
                    field: field.as_ref().and_then(field_name),
                    is_count,
                });
            }
            _ => {}
        }
    }
    found
}

fn is_call(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis)
}

fn is_count(token: &TokenTree) -> bool {
    let counts = ["is_some", "is_none", "len", "is_empty"];
    matches!(token, TokenTree::Ident(method) if counts.iter().any(|count| method == count))
}

pub(crate) fn is_dot(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(dot) if dot.as_char() == '.')
}

/// Returns the name of the field after a dot. The lexer takes the `0.1` of `self.0.1` for a float,
/// so only its part before the dot is the name.
fn field_name(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(name) => Some(name.unraw().to_string()),
        TokenTree::Literal(number) => number.to_string().split('.').next().map(str::to_owned),
        _ => None,
    }
}
