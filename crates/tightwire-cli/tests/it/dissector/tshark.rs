//! Runs tshark on a capture, with a dissector that the binary wrote.

use std::fs;
use std::process::Command;
use std::time::Duration;

use roxmltree::{Document, Node};
use tightwire::inspect::{CaptureWriter, Direction};
use tightwire::packet::Identity;

use crate::common::tightwire;

/// Records datagrams, in both directions.
pub(crate) fn record(file: &str, identity: &Identity, datagrams: &[Vec<u8>]) {
    let file = fs::File::create(file).unwrap();
    let mut recorder = CaptureWriter::new(std::io::BufWriter::new(file), identity).unwrap();
    let (server, client) = ("10.0.0.1:7777".parse().unwrap(), "10.0.0.2:50001".parse().unwrap());
    for (number, datagram) in datagrams.iter().enumerate() {
        let direction = [Direction::Sent, Direction::Received][number % 2];
        let time = Duration::from_millis(1_700_000_000_000 + number as u64);
        recorder.record(time, direction, server, client, datagram).unwrap();
    }
    recorder.finish().unwrap();
}

/// Writes the dissector of the binary into a file, and returns the binary's standard error.
pub(crate) fn write_dissector(lua: &str, arguments: &[&str]) -> String {
    let output = tightwire(&[&["dissector"], arguments].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    fs::write(lua, output.stdout).unwrap();
    stderr
}

/// Runs tshark with the dissector, which must load without a word.
pub(crate) fn tshark(lua: &str, capture: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.args(["-n", "-X", &format!("lua_script:{lua}"), "-r", capture]).args(arguments);
    let output = command.output().expect("`./ci.sh test` installs tshark");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let mut complaints = complaints.lines().filter(|line| !line.starts_with("Running as user"));
    assert_eq!(complaints.next(), None);
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// A field as Wireshark has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    /// Filter name.
    pub(crate) filter: String,
    /// Line of the item in the tree.
    pub(crate) label: String,
    /// Value of the item.
    pub(crate) show: String,
    /// Bytes of the item.
    pub(crate) value: String,
    /// The first byte, counted from the start of the datagram, and how many.
    pub(crate) bytes: (usize, usize),
    /// The lines below it.
    pub(crate) inside: Vec<Item>,
}

impl Item {
    fn of(node: Node<'_, '_>, base: usize) -> Self {
        let text = |name| node.attribute(name).unwrap_or_default().to_owned();
        let number = |name| node.attribute(name).map_or(0usize, |text| text.parse().unwrap());
        let elements = node.children().filter(Node::is_element);
        Self {
            filter: text("name"),
            label: text("showname"),
            show: text("show"),
            value: text("value"),
            bytes: (number("pos").saturating_sub(base), number("size")),
            inside: elements.map(|node| Self::of(node, base)).collect(),
        }
    }

    /// Returns this item and its descendants, in the order of the lines.
    pub(crate) fn all(&self) -> Vec<&Item> {
        let mut all = vec![self];
        for item in &self.inside {
            all.extend(item.all());
        }
        all
    }

    /// The value of a field that is there at most once.
    pub(crate) fn show(&self, filter: &str) -> Option<String> {
        let mut found = self.all().into_iter().filter(|item| item.filter == filter);
        let show = found.next().map(|item| item.show.clone());
        assert_eq!(found.next(), None, "{filter} is there twice");
        show
    }
}

/// For each frame of the capture, the output of this protocol; `None` if it did not dissect the
/// frame.
pub(crate) fn dissected(lua: &str, capture: &str, protocol: &str) -> Vec<Option<Item>> {
    let pdml = tshark(lua, capture, &["-T", "pdml"]);
    let document = Document::parse(&pdml).unwrap();
    let packets = document.root_element().children().filter(|node| node.has_tag_name("packet"));
    let of_protocol = |packet: Node<'_, '_>| {
        let is_it = |node: &Node<'_, '_>| node.attribute("name") == Some(protocol);
        let node = packet.children().find(is_it)?;
        let base = node.attribute("pos").unwrap().parse().unwrap();
        Some(Item::of(node, base))
    };
    packets.map(of_protocol).collect()
}
