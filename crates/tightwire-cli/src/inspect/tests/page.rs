//! The page contains the captured data, and none of it as markup.

use tightwire::packet::{Identity, Protection};

use super::super::capture_identity::CaptureIdentity;
use super::game::{Packet, capture, capture_of, encoded, identity};
use super::inspect;

/// Returns the data in a page.
fn data_of(page: &str) -> serde_json::Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_page_has_totals_of_all_and_x_rays_of_some() {
    let inspected = inspect(&capture(1000), None, None, 30).unwrap();
    let data = data_of(&inspected.page);
    assert_eq!(data["packets"], 1000);
    assert_eq!(data["fields"], inspected.json["fields"]);
    let shown = data["shown"].as_array().unwrap();
    assert_eq!(shown.len(), 20);
    assert_eq!(shown[0]["xray"], inspected.xrays[0]);
    let largest = shown.iter().map(|packet| packet["bytes"].as_u64().unwrap()).max().unwrap();
    let all = (0..1000).map(|number| encoded(Packet::at(number)).len() as u64);
    assert_eq!(largest, all.max().unwrap());
    for part in ["drawXray", ".xray-ruler", "squarify", "#treemap"] {
        assert!(inspected.page.contains(part), "{part}");
    }
}

#[test]
fn no_text_of_a_packet_ends_a_script() {
    let says =
        ["</script><script>alert(1)</script>", "<!--", "{{data}}", "/* xray.js */", "\u{1b}[31m"];
    let datagrams = says.map(|text| encoded(Packet::Say(text.into())));
    let inspected = inspect(&capture_of(&identity(), datagrams), None, None, 30).unwrap();
    let page = &inspected.page;
    assert_eq!(page.matches("</script>").count(), 3);
    assert!(!page.contains("<!--") && !page.contains('\u{1b}'));
    let shown = data_of(page);
    assert_eq!(shown["shown"].as_array().unwrap().len(), 5);
    assert!(shown["shown"][0]["xray"]["spans"][1]["value"].as_str().unwrap().contains("</script>"));
    let ends_well = page.trim_end().ends_with("</html>");
    assert!(ends_well);
}

#[test]
fn names_from_a_schema_are_text_too() {
    let name = "</script><b>";
    let fields = vec![tightwire::stream::Field::new(
        name,
        tightwire::stream::Shape::Op(tightwire::stream::Op::Bool),
    )];
    let shape = tightwire::stream::Shape::Struct { name: name.into(), fields };
    let schema = tightwire::schema::Schema::new(shape).unwrap();
    // The rule for names of schemas, which refuses this character, is none for those of games.
    let game = "</script><b>\u{202e}";
    let identity = Identity::new(game, game, Protection::None, schema);
    let file = capture_of(&identity, [vec![1], vec![2]]);
    let inspected = inspect(&file, Some(CaptureIdentity::of_identity(identity)), None, 9).unwrap();
    assert_eq!(inspected.page.matches("</script>").count(), 3);
    assert!(!inspected.text.contains('\u{202e}'), "{:?}", inspected.text);
}
