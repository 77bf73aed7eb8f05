//! The expression of `when`, as code and as data.

use proc_macro2::{Delimiter, Group, Ident, Literal, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{BinOp, Expr, Lit, Pat, Token, UnOp};

use crate::field_uses::is_dot;
use crate::parse::{binding, member_name};
use crate::syntax::{float_literal, unsigned_literal, unwrapped, whole_literal};

/// Returns the condition as code in the match arm of a variant, where `self.field` is a binding.
pub(crate) fn over_bindings(when: &Expr) -> TokenStream {
    bind(when.to_token_stream())
}

/// Returns the condition as code over a reference to the whole value, `__self`.
pub(crate) fn over_self(when: &Expr) -> TokenStream {
    own_self(when.to_token_stream())
}

fn own_self(tokens: TokenStream) -> TokenStream {
    let own = |token| match token {
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), own_self(group.stream()));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        TokenTree::Ident(ident) if ident == "self" => {
            TokenTree::Ident(Ident::new("__self", Span::call_site().located_at(ident.span())))
        }
        token => token,
    };
    tokens.into_iter().map(own).collect()
}

/// Returns an expression that makes the condition as data, or its source text if it cannot be
/// described as data.
pub(crate) fn data(when: &Expr) -> TokenStream {
    let source = source(when.to_token_stream());
    let fallback =
        quote!(::tightwire::__private::Condition::Source(::tightwire::__private::name(#source)));
    match expression(when) {
        // A constant whose type is not `Wire` cannot be described as data either.
        Some(condition) => quote! {
            (|| -> ::tightwire::__private::core::option::Option<::tightwire::__private::Condition> {
                ::tightwire::__private::core::option::Option::Some(#condition)
            })().unwrap_or_else(|| #fallback)
        },
        None => fallback,
    }
}

/// Whether the condition has no form as data, and is too long as text for a schema.
pub(crate) fn is_too_long(when: &Expr) -> bool {
    // Equal to `MAX_SOURCE` in `schema/validate.rs` of tightwire-core.
    const MAX_SOURCE: usize = 4096;
    expression(when).is_none() && source(when.to_token_stream()).len() > MAX_SOURCE
}

/// The condition as text: one text for one condition, whatever its spaces were and whatever a
/// compiler makes of them.
fn source(tokens: TokenStream) -> String {
    let mut text = String::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        // Whether an operator at this position has a left operand.
        let is_after_value = text.ends_with(|last: char| !" (,!&*-|".contains(last));
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => (" { ", " }"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                text += &format!("{open}{}{close}", source(group.stream()));
            }
            TokenTree::Ident(ident) if ident == "self" && tokens.next_if(is_dot).is_some() => {}
            TokenTree::Punct(first) => {
                let mut operator = String::from(first.as_char());
                let mut spacing = first.spacing();
                while spacing == Spacing::Joint
                    && let Some(TokenTree::Punct(next)) =
                        tokens.next_if(|next| is_joined(&operator, next))
                {
                    operator.push(next.as_char());
                    spacing = next.spacing();
                }
                text += &match operator.as_str() {
                    "," => ", ".into(),
                    "." | "::" | "!" | "?" => operator,
                    _ if is_after_value => format!(" {operator} "),
                    _ => operator,
                };
            }
            word => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                text += &word.to_string();
            }
        }
    }
    text
}

/// Whether a character belongs to the operator that began before it.
fn is_joined(operator: &str, next: &TokenTree) -> bool {
    let TokenTree::Punct(next) = next else { return false };
    let longer = format!("{operator}{}", next.as_char());
    ["&&", "||", "==", "!=", "<=", ">=", "::", "<<", ">>", "->", "=>", "..", "..="]
        .contains(&longer.as_str())
}

fn expression(when: &Expr) -> Option<TokenStream> {
    let condition = quote!(::tightwire::__private::Condition);
    let boxed = |inner: TokenStream| quote!(::tightwire::__private::Box::new(#inner));
    if let Some(whole) = whole_literal(when) {
        return Some(quote!(::tightwire::__private::whole(#whole)));
    }
    if let Some(large) = unsigned_literal(when) {
        return Some(quote!(#condition::Number(::tightwire::__private::Number::Unsigned(#large))));
    }
    if let Some(float) = float_literal(when) {
        return Some(quote!(#condition::Number(::tightwire::__private::Number::Double(#float))));
    }
    Some(match unwrapped(when) {
        Expr::Lit(syn::ExprLit { lit: Lit::Bool(value), .. }) => quote!(#condition::Bool(#value)),
        Expr::Reference(inner) => return expression(&inner.expr),
        Expr::Unary(unary) => match unary.op {
            UnOp::Deref(_) => return expression(&unary.expr),
            UnOp::Not(_) => {
                let inner = boxed(expression(&unary.expr)?);
                quote!(#condition::Not(#inner))
            }
            _ => return None,
        },
        Expr::Binary(binary) => {
            let operator = operator(&binary.op)?;
            if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
                let terms: Option<Vec<_>> = terms(when).into_iter().map(expression).collect();
                return Some(joined(&operator, &terms?));
            }
            // Of a number, `!` is the complement.
            if [&binary.left, &binary.right].into_iter().any(|side| is_not(side)) {
                return None;
            }
            let (left, right) = (expression(&binary.left)?, expression(&binary.right)?);
            let operands = boxed(quote!([#left, #right]));
            quote!(#condition::Binary(::tightwire::__private::Binary::#operator, #operands))
        }
        Expr::MethodCall(call) if call.args.is_empty() => {
            let receiver = boxed(expression(&call.receiver)?);
            match call.method.to_string().as_str() {
                "len" => quote!(#condition::Len(#receiver)),
                "is_some" => quote!(#condition::IsSome(#receiver)),
                "is_none" => {
                    let inner = boxed(quote!(#condition::IsSome(#receiver)));
                    quote!(#condition::Not(#inner))
                }
                "is_empty" => {
                    let zero = quote!(::tightwire::__private::whole(0));
                    let operands = boxed(quote!([#condition::Len(#receiver), #zero]));
                    quote!(#condition::Binary(::tightwire::__private::Binary::Equal, #operands))
                }
                _ => return None,
            }
        }
        Expr::Macro(call) if call.mac.path.is_ident("matches") => {
            let Matches { value, pattern } = call.mac.parse_body().ok()?;
            any_of(&expression(&value)?, &pattern)?
        }
        Expr::Field(_) => {
            let path = path(unwrapped(when))?;
            quote!(#condition::Field(::tightwire::__private::vec![#(::tightwire::__private::name(#path)),*]))
        }
        constant @ Expr::Path(_) => of_constant(constant.to_token_stream()),
        constant @ Expr::Call(_) if is_constant(constant) => {
            of_constant(constant.to_token_stream())
        }
        _ => return None,
    })
}

/// Operands of `a || b || c`.
fn terms(chain: &Expr) -> Vec<&Expr> {
    let mut terms = Vec::new();
    let mut rest = unwrapped(chain);
    let Expr::Binary(outer) = rest else { return vec![rest] };
    while let Expr::Binary(binary) = rest
        && binary.op == outer.op
    {
        terms.push(&*binary.right);
        rest = unwrapped(&binary.left);
    }
    terms.push(rest);
    terms.reverse();
    terms
}

/// Conditions with one operator between them.
fn joined(operator: &Ident, terms: &[TokenStream]) -> TokenStream {
    match terms {
        [only] => only.clone(),
        _ => quote! {
            ::tightwire::__private::joined(
                ::tightwire::__private::Binary::#operator,
                ::tightwire::__private::vec![#(#terms),*],
            )
        },
    }
}

fn is_not(expression: &Expr) -> bool {
    matches!(unwrapped(expression), Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)))
}

/// Whether the expression can only be a constant: a path, or a tuple struct or variant of literals
/// and constants, such as `Id(4)`. A function is not called: it may do anything.
fn is_constant(expression: &Expr) -> bool {
    match unwrapped(expression) {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Unary(negative) => {
            matches!(negative.op, UnOp::Neg(_)) && matches!(unwrapped(&negative.expr), Expr::Lit(_))
        }
        Expr::Call(call) => {
            let Expr::Path(path) = unwrapped(&call.func) else { return false };
            let name = path.path.segments.last().map(|last| last.ident.unraw().to_string());
            // Of the type in a `Some`, only the comparison says what its literals are.
            let is_type = |name: String| name.starts_with(char::is_uppercase) && name != "Some";
            name.is_some_and(is_type) && call.args.iter().all(is_constant)
        }
        _ => false,
    }
}

/// Returns the value of a constant or a variant without fields, which only the compiler knows.
fn of_constant(constant: TokenStream) -> TokenStream {
    quote!({
        use ::tightwire::__private::{NoConstant as _, WireConstant as _};
        (&::tightwire::__private::Constant::new(#constant)).condition()?
    })
}

/// The arguments of `matches!`.
struct Matches {
    value: Expr,
    pattern: Pat,
}

impl syn::parse::Parse for Matches {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let value = input.parse()?;
        input.parse::<Token![,]>()?;
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() { Ok(Self { value, pattern }) } else { Err(input.error("a guard")) }
    }
}

/// Returns the condition that a value is one of the alternatives of a pattern.
fn any_of(value: &TokenStream, pattern: &Pat) -> Option<TokenStream> {
    let condition = quote!(::tightwire::__private::Condition);
    let variant = |path: &syn::Path| {
        let name = path.segments.last()?.ident.unraw().to_string();
        Some(quote!(#condition::Variant(::tightwire::__private::name(#name))))
    };
    let alternative = match pattern {
        Pat::Or(alternatives) => {
            let cases = alternatives.cases.iter().map(|case| any_of(value, case));
            return Some(joined(&format_ident!("Or"), &cases.collect::<Option<Vec<_>>>()?));
        }
        Pat::Paren(inner) => return any_of(value, &inner.pat),
        Pat::Struct(pattern) if pattern.fields.is_empty() => variant(&pattern.path)?,
        Pat::TupleStruct(pattern) if pattern.elems.iter().all(|e| matches!(e, Pat::Rest(_))) => {
            variant(&pattern.path)?
        }
        Pat::Path(path) => of_constant(path.to_token_stream()),
        Pat::Lit(literal) => expression(&Expr::Lit(literal.clone()))?,
        _ => return None,
    };
    Some(quote!(#condition::Binary(
        ::tightwire::__private::Binary::Equal,
        ::tightwire::__private::Box::new([#value, #alternative]),
    )))
}

fn operator(operator: &BinOp) -> Option<Ident> {
    let name = match operator {
        BinOp::And(_) => "And",
        BinOp::Or(_) => "Or",
        BinOp::Eq(_) => "Equal",
        BinOp::Ne(_) => "NotEqual",
        BinOp::Lt(_) => "Less",
        BinOp::Le(_) => "LessOrEqual",
        BinOp::Gt(_) => "Greater",
        BinOp::Ge(_) => "GreaterOrEqual",
        BinOp::BitAnd(_) => "BitAnd",
        _ => return None,
    };
    Some(format_ident!("{name}"))
}

/// Returns the names from `self` to a field.
fn path(expression: &Expr) -> Option<Vec<String>> {
    match unwrapped(expression) {
        Expr::Path(path) if path.path.is_ident("self") => Some(Vec::new()),
        Expr::Field(field) => {
            let mut names = path(&field.base)?;
            names.push(member_name(&field.member));
            Some(names)
        }
        _ => None,
    }
}

fn bind(tokens: TokenStream) -> TokenStream {
    let mut bound = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), bind(group.stream()));
                inner.set_span(group.span());
                inner.to_tokens(&mut bound);
            }
            TokenTree::Ident(ident) if ident == "self" && tokens.next_if(is_dot).is_some() => {
                let Some(field) = tokens.next() else { break };
                let name = field.to_string();
                let (first, rest) = name.split_once('.').unwrap_or((&name, ""));
                let mut binding = binding(first.trim_start_matches("r#"));
                binding.set_span(binding.span().located_at(field.span()));
                quote!((*#binding)).to_tokens(&mut bound);
                if let Ok(index) = rest.parse::<usize>() {
                    let index = Literal::usize_unsuffixed(index);
                    quote!(.#index).to_tokens(&mut bound);
                }
            }
            token => token.to_tokens(&mut bound),
        }
    }
    bound
}
