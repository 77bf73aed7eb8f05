//! Conditions of derived types, in forms that every reader of a schema takes.
//!
//! A macro knows no types: it cannot see that a field is a struct, that a method is the user's, or how
//! deep a condition gets. Whatever a condition says, the schema of a derived type must be valid.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::slice::from_ref;

use super::condition::{has_value, resolve};
use super::validate::{MAX_CONDITION_DEPTH, MAX_SOURCE, is_condition};
use crate::stream::{Binary, Condition, Field, Name, Shape};

/// The fields of a derived type, whose conditions become such that a schema can have them.
pub fn conditional(mut fields: Vec<Field>) -> Vec<Field> {
    let mut before = BTreeMap::new();
    let mut conditions = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let described = |when| described(when, &fields[..index], &before);
        conditions.push(field.when.as_ref().map(described));
        if has_value(field) {
            before.insert(&*field.name, &field.shape);
        }
    }
    for (field, condition) in fields.iter_mut().zip(conditions) {
        field.when = condition;
    }
    fields
}

/// Conditions with one operator between them, evaluated from left to right.
pub fn joined(operator: Binary, terms: Vec<Condition>) -> Condition {
    if terms.len() >= MAX_CONDITION_DEPTH {
        return balanced(operator, terms);
    }
    let join = |a, b| Condition::Binary(operator, Box::new([a, b]));
    terms.into_iter().reduce(join).unwrap_or(Condition::Bool(operator == Binary::And))
}

/// The same with as few levels as there can be.
fn balanced(operator: Binary, mut terms: Vec<Condition>) -> Condition {
    if terms.len() < 3 {
        return joined(operator, terms);
    }
    let right = terms.split_off(terms.len().div_ceil(2));
    let sides = [terms, right].map(|terms| balanced(operator, terms));
    Condition::Binary(operator, Box::new(sides))
}

/// A condition as a schema may have it: as data, or else as its source.
fn described(
    condition: &Condition,
    fields: &[Field],
    before: &BTreeMap<&str, &Shape>,
) -> Condition {
    let mut expanded = expand(condition, fields);
    if depth(&expanded) > MAX_CONDITION_DEPTH {
        expanded = flattened(expanded);
    }
    if is_condition(&expanded, before) {
        return expanded;
    }
    let mut source = condition.to_string();
    source.retain(|char| !char.is_control());
    source.truncate(source.floor_char_boundary(MAX_SOURCE));
    Condition::Source(source.into())
}

/// Takes structs apart: a newtype is its value, and two structs are equal if all their values are.
fn expand(condition: &Condition, fields: &[Field]) -> Condition {
    match condition {
        Condition::Field(path) => Condition::Field(unwrapped(path, fields)),
        // Of a struct, this is a method or an operator of the user's.
        Condition::Not(of) if matches!(**of, Condition::Field(_)) => condition.clone(),
        Condition::Not(of) => Condition::Not(Box::new(expand(of, fields))),
        Condition::Binary(operator, operands) => {
            let [a, b] = operands.each_ref().map(|operand| expand(operand, fields));
            match (operator, &a, &b) {
                (Binary::Equal, Condition::Field(a), Condition::Field(b)) => equal(a, b, fields),
                (Binary::NotEqual, Condition::Field(a), Condition::Field(b)) => {
                    equal(a, b, fields).map(|equal| Condition::Not(Box::new(equal)))
                }
                _ => None,
            }
            .unwrap_or_else(|| Condition::Binary(*operator, Box::new([a, b])))
        }
        other => other.clone(),
    }
}

/// The path to the only value of structs that have one.
fn unwrapped(path: &[Name], fields: &[Field]) -> Vec<Name> {
    let mut path = path.to_vec();
    let mut shape = resolve(fields, &path);
    while let Some(Shape::Struct { fields, .. }) = shape {
        let mut values = fields.iter().filter(|field| has_value(field));
        let (Some(only), None) = (values.next(), values.next()) else { break };
        path.push(only.name.clone());
        shape = Some(&only.shape);
    }
    path
}

/// All comparisons of two structs of one type; nothing for values that are none.
fn equal(a: &[Name], b: &[Name], fields: &[Field]) -> Option<Condition> {
    let shape = resolve(fields, a).filter(|shape| matches!(shape, Shape::Struct { .. }))?;
    if Some(shape) != resolve(fields, b) {
        return None;
    }
    let mut terms = Vec::new();
    compare((a, b), shape, &mut terms);
    Some(joined(Binary::And, terms))
}

fn compare((a, b): (&[Name], &[Name]), shape: &Shape, terms: &mut Vec<Condition>) {
    let Shape::Struct { fields, .. } = shape else {
        let fields = [a, b].map(|path| Condition::Field(path.to_vec()));
        terms.push(Condition::Binary(Binary::Equal, Box::new(fields)));
        return;
    };
    for field in fields.iter().filter(|field| has_value(field)) {
        let [a, b] = [a, b].map(|path| [path, from_ref(&field.name)].concat());
        compare((&a, &b), &field.shape, terms);
    }
}

fn depth(condition: &Condition) -> usize {
    1 + match condition {
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => depth(of),
        Condition::Binary(_, operands) => operands.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The same condition with as few levels as there can be: `&&` and `||` in any brackets are evaluated
/// from left to right.
fn flattened(condition: Condition) -> Condition {
    let inside = |of: Box<Condition>| Box::new(flattened(*of));
    match condition {
        Condition::Len(of) => Condition::Len(inside(of)),
        Condition::IsSome(of) => Condition::IsSome(inside(of)),
        Condition::Not(of) => Condition::Not(inside(of)),
        Condition::Binary(operator @ (Binary::And | Binary::Or), operands) => {
            let mut terms = Vec::new();
            let mut rest = Vec::from(*operands);
            rest.reverse();
            while let Some(term) = rest.pop() {
                match term {
                    Condition::Binary(same, operands) if same == operator => {
                        let [a, b] = *operands;
                        rest.extend([b, a]);
                    }
                    other => terms.push(flattened(other)),
                }
            }
            balanced(operator, terms)
        }
        Condition::Binary(operator, operands) => {
            Condition::Binary(operator, Box::new(operands.map(flattened)))
        }
        other => other,
    }
}
