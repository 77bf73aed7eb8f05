//! Conditions as Lua tables: the operator, then the operands.

use tightwire::stream::{Condition, Number};

use super::literal::{number, text};

/// Returns the table of a condition; `{ "source" }` for a condition that is not data.
pub(super) fn table(condition: &Condition) -> String {
    match condition {
        Condition::Field(path) => {
            let names: Vec<_> = path.iter().map(|name| text(name)).collect();
            format!("{{ \"field\", {} }}", names.join(", "))
        }
        Condition::Bool(value) => format!("{{ \"bool\", {value} }}"),
        Condition::Number(value) => {
            format!("{{ \"number\", \"{}\", {} }}", kind(*value), number(*value))
        }
        Condition::Variant(name) => format!("{{ \"variant\", {} }}", text(name)),
        Condition::Len(of) => format!("{{ \"len\", {} }}", table(of)),
        Condition::IsSome(of) => format!("{{ \"is_some\", {} }}", table(of)),
        Condition::Not(of) => format!("{{ \"!\", {} }}", table(of)),
        Condition::Binary(operator, operands) => {
            let [a, b] = &**operands;
            format!("{{ \"{}\", {}, {} }}", operator.symbol(), table(a), table(b))
        }
        _ => String::from("{ \"source\" }"),
    }
}

/// Returns whether a condition is data in all of its parts.
pub(super) fn is_described(condition: &Condition) -> bool {
    match condition {
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => is_described(of),
        Condition::Binary(_, operands) => operands.iter().all(is_described),
        Condition::Source(_) => false,
        _ => true,
    }
}

fn kind(number: Number) -> &'static str {
    match number {
        Number::Signed(_) => "signed",
        Number::Float(_) => "float",
        Number::Double(_) => "double",
        _ => "unsigned",
    }
}
