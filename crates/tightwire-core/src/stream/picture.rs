//! A trace as a picture: the tree of fields, the packet bit by bit, and the refusal.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::ruler::draw_bits;
use super::trace::short_type_name;
use super::{ErrorKind, Node, Op, Trace, TraceScope, Value};

/// Letters that mark fields in the tree and in the ruler; after the last letter they start again.
const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Colours of the fields, in turn. Red is for the refused field.
const COLORS: [&str; 5] = ["36", "33", "32", "35", "94"];

/// Largest length of a value in the tree, in characters.
const MAX_VALUE: usize = 40;

/// Largest width of a column. A longer cell pushes only its own row to the right.
const MAX_PADDING: usize = 28;

/// Largest number of elements of an array that are all drawn. Of a longer array, the first, the
/// last and the refused elements are drawn.
const MAX_ELEMENTS: usize = 8;

/// Number of elements drawn at the start of a longer array.
const FIRST_ELEMENTS: usize = 4;

/// Largest depth of the tree that is drawn: the length of a row grows with the depth of its field.
const MAX_DEPTH: usize = 32;

/// A picture for a terminal of 100 columns: the tree of fields, the packet bit by bit with the mark
/// of its field under each bit, and the sentence of the refusal.
///
/// Of arrays of more than 8 elements, the first four, the last and the refused one are drawn; of
/// packets of more than 128 bytes, the bytes at both ends and around the refused bit. The alternate
/// form, `{:#}`, draws everything. Fields nested deeper than 32 levels are only counted. A refused
/// write has no bits to draw.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Picture::new(self, false).draw(f)
    }
}

impl Trace {
    /// The picture in colours, for a terminal that supports them: a field has the same colour in
    /// the tree and under its bits, and the refused field is red.
    ///
    /// ```
    /// use std::io::IsTerminal;
    ///
    /// let trace = tightwire::stream::explain_write(&[1u8, 2]);
    /// match std::io::stdout().is_terminal() {
    ///     true => println!("{}", trace.colored()),
    ///     false => println!("{trace}"),
    /// }
    /// # assert!(trace.colored().to_string().contains("\x1b["));
    /// ```
    pub fn colored(&self) -> impl fmt::Display + '_ {
        struct Colored<'a>(&'a Trace);
        impl fmt::Display for Colored<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Picture::new(self.0, true).draw(f)
            }
        }
        Colored(self)
    }

    /// Reason of the refusal in a sentence with the path of the field:
    /// `Player.health at bit 0: 127 is not in 0..=100`. `None` if nothing was refused.
    #[must_use]
    pub fn refusal(&self) -> Option<impl fmt::Display + '_> {
        let (kind, bit) = self.failure()?;
        Some(Refusal { node: self.refused(), kind, bit })
    }
}

pub(super) struct Picture<'a> {
    pub(super) trace: &'a Trace,
    /// Number of operations before each node: the number of its mark.
    marks: Vec<usize>,
    colored: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum TextStyle {
    Plain,
    Faint,
    Field(usize),
    Refused,
}

/// A row of the tree.
enum TreeItem<'a> {
    Node(Node<'a>),
    /// Nodes that are counted and not drawn: their first bit, their size in bits, and the text of
    /// the row.
    Rest {
        at: u64,
        bits: u64,
        text: String,
    },
}

struct Row {
    mark: char,
    at: String,
    bits: String,
    guide: String,
    name: String,
    value: String,
    form: String,
    style: TextStyle,
}

impl<'a> Picture<'a> {
    fn new(trace: &'a Trace, colored: bool) -> Self {
        let mut count = 0;
        let mut marks = Vec::with_capacity(trace.len());
        for index in 0..trace.len() {
            marks.push(count);
            count += usize::from(trace.node(index).op().is_some());
        }
        Self { trace, marks, colored }
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let everything = f.alternate();
        self.draw_tree(everything, f)?;
        draw_bits(self, everything, f)?;
        if let Some(refusal) = self.trace.refusal() {
            writeln!(f)?;
            self.paint(TextStyle::Refused, &refusal.to_string(), f)?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn draw_tree(&self, everything: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows(everything);
        let width = |cell: &dyn Fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
        let at = width(&|row| row.at.len()).max("at".len());
        let bits = width(&|row| row.bits.len()).max("bits".len());
        let name = width(&|row| length(&row.guide) + length(&row.name)).min(MAX_PADDING);
        let value = width(&|row| length(&row.value)).min(MAX_PADDING);
        self.paint(TextStyle::Faint, &format!("   {:>at$}  {:>bits$}  field", "at", "bits"), f)?;
        writeln!(f)?;
        for row in &rows {
            let Row { mark, guide, style, .. } = row;
            self.paint(*style, &format!("{mark}  "), f)?;
            self.paint(
                TextStyle::Faint,
                &format!("{:>at$}  {:>bits$}  {guide}", row.at, row.bits),
                f,
            )?;
            let padding = name.saturating_sub(length(guide));
            let named = format!("{:padding$}  {:value$}", row.name, row.value);
            let has_form = !row.form.is_empty();
            self.paint(*style, if has_form { &named } else { named.trim_end() }, f)?;
            if has_form {
                self.paint(TextStyle::Faint, &format!("  {}", row.form), f)?;
            }
            if *style == TextStyle::Refused {
                self.paint(TextStyle::Refused, "  <- refused", f)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// Iterates with its own stack instead of recursing, since the depth of the tree comes from the
    /// packet.
    fn rows(&self, everything: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut open = alloc::vec![(TreeItem::Node(self.trace.root()), String::new(), 0, true)];
        while let Some((item, outside, depth, is_last)) = open.pop() {
            let (guide, inside) = match (depth, is_last) {
                (0, _) => (String::new(), String::new()),
                (_, true) => (format!("{outside}└ "), format!("{outside}  ")),
                (_, false) => (format!("{outside}├ "), format!("{outside}│ ")),
            };
            match item {
                TreeItem::Rest { at, bits, text } => rows.push(Row::of_rest(guide, at, bits, text)),
                TreeItem::Node(node) => {
                    let content = content(node);
                    rows.push(self.row(node, content, guide));
                    let children = shown_children(content, depth, everything);
                    let last = children.len().saturating_sub(1);
                    let nested = children.into_iter().enumerate().rev();
                    open.extend(
                        nested.map(|(place, child)| {
                            (child, inside.clone(), depth + 1, place == last)
                        }),
                    );
                }
            }
        }
        rows
    }

    fn row(&self, node: Node<'_>, content: Node<'_>, guide: String) -> Row {
        let blamed = content.ancestors().take_while(|outer| outer.index() >= node.index());
        let style = match content.op() {
            _ if blamed.into_iter().any(Node::is_refused) => TextStyle::Refused,
            Some(_) => TextStyle::Field(self.mark(content)),
            None => TextStyle::Plain,
        };
        Row {
            mark: content.op().map_or(' ', |_| mark(self.mark(content))),
            at: node.bits().start.to_string(),
            bits: node.bit_count().to_string(),
            guide,
            name: if node.name().is_empty() { "·" } else { node.name() }.into(),
            value: content.value().map_or(String::new(), |value| shortened(value.to_string())),
            form: self.form(node, content),
            style,
        }
    }

    /// Text of the operation, or of the group's kind.
    fn form(&self, node: Node<'_>, content: Node<'_>) -> String {
        if let Some(op) = content.op() {
            return op.to_string();
        }
        match content.scope() {
            _ if node.parent().is_none() => {
                let taken = node.bit_count().div_ceil(8);
                match self.trace.bytes().len() as u64 {
                    all if all > taken => format!("{taken} of {all} bytes"),
                    _ if taken == 1 => "1 byte".into(),
                    _ => format!("{taken} bytes"),
                }
            }
            Some(TraceScope::Object { type_name }) if short_type_name(type_name) != node.name() => {
                short_type_name(type_name)
            }
            Some(TraceScope::Group(name)) => match content.children().filter(is_element).count() {
                _ if content.has_refused() => name.into(),
                0 => name.into(),
                elements => format!("{name} of {elements}"),
            },
            _ => String::new(),
        }
    }

    pub(super) fn mark(&self, node: Node<'_>) -> usize {
        self.marks.get(node.index()).copied().unwrap_or(0)
    }

    pub(super) fn paint(
        &self,
        style: TextStyle,
        text: &str,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let code = match style {
            TextStyle::Plain => "1",
            TextStyle::Faint => "2",
            TextStyle::Field(mark) => COLORS[mark % COLORS.len()],
            TextStyle::Refused => "1;31",
        };
        match self.colored {
            true => write!(f, "\x1b[{code}m{text}\x1b[0m"),
            false => f.write_str(text),
        }
    }
}

impl Row {
    fn of_rest(guide: String, at: u64, bits: u64, text: String) -> Self {
        let (at, bits) = (at.to_string(), bits.to_string());
        let (value, form) = (String::new(), String::new());
        Self { mark: ' ', at, bits, guide, name: text, value, form, style: TextStyle::Faint }
    }
}

/// Descends through groups with a single nameless child, such as an element or an option, which
/// share one row with their contents.
fn content(mut node: Node<'_>) -> Node<'_> {
    loop {
        let mut children = node.children();
        match (children.next(), children.next()) {
            (Some(only), None) if only.name().is_empty() => node = only,
            _ => return node,
        }
    }
}

fn shown_children<'a>(node: Node<'a>, depth: usize, everything: bool) -> Vec<TreeItem<'a>> {
    if depth == MAX_DEPTH && node.children().next().is_some() {
        let text = format!("… {} deeper", node.descendants().count());
        return alloc::vec![TreeItem::Rest { at: node.bits().start, bits: node.bit_count(), text }];
    }
    let elements = node.children().filter(is_element).count();
    let (mut items, mut place, mut left_out) = (Vec::new(), 0, 0);
    for child in node.children() {
        place += usize::from(is_element(&child));
        let is_drawn = everything
            || elements <= MAX_ELEMENTS
            || !is_element(&child)
            || place <= FIRST_ELEMENTS
            || place == elements
            || child.has_refused();
        if is_drawn {
            left_out = 0;
            items.push(TreeItem::Node(child));
            continue;
        }
        left_out += 1;
        let text = format!("… {left_out} more");
        let so_far = match items.pop() {
            Some(TreeItem::Rest { at, bits, .. }) if left_out > 1 => (at, bits),
            before => {
                items.extend(before);
                (child.bits().start, 0)
            }
        };
        let (at, bits) = (so_far.0, so_far.1 + child.bit_count());
        items.push(TreeItem::Rest { at, bits, text });
    }
    items
}

fn is_element(node: &Node<'_>) -> bool {
    matches!(node.scope(), Some(TraceScope::Index(_)))
}

/// Cuts a long value to the room of a row.
fn shortened(mut value: String) -> String {
    if let Some((end, _)) = value.char_indices().nth(MAX_VALUE) {
        value.truncate(end);
        value.push('…');
    }
    value
}

fn length(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn mark(number: usize) -> char {
    char::from(MARKS[number % MARKS.len()])
}

pub(super) struct Refusal<'a> {
    pub(super) node: Option<Node<'a>>,
    pub(super) kind: ErrorKind,
    pub(super) bit: u64,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, bit, .. } = self;
        let Some(node) = self.node else { return write!(f, "at bit {bit}: {kind}") };
        let path = node.path();
        match (node.op(), node.value(), node.scope()) {
            (Some(Op::Int { min, max }), Some(value), _) if *kind == ErrorKind::OutOfRange => {
                write!(f, "{path} at bit {bit}: {value} is not in {min}..={max}")
            }
            (Some(Op::Enumerate { count }), Some(Value::Number(ordinal)), _)
                if *kind == ErrorKind::OutOfRange =>
            {
                write!(f, "{path} at bit {bit}: there is no variant {ordinal}, only {count}")
            }
            (Some(op @ Op::String { .. }), Some(Value::Text(text)), _)
                if *kind == ErrorKind::OutOfRange =>
            {
                write!(f, "{path} at bit {bit}: {} bytes are too many ({op})", text.len())
            }
            (Some(op), ..) => write!(f, "{path} at bit {bit}: {kind} ({op})"),
            (_, _, Some(TraceScope::Group(name))) => {
                write!(f, "{path} at bit {bit}: {kind} ({name})")
            }
            _ => write!(f, "{path} at bit {bit}: {kind}"),
        }
    }
}
