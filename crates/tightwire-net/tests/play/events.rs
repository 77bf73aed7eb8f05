//! Messages in step with the world.

use tightwire::Delivery;
use tightwire::message::Route;
use tightwire::play::To;

use crate::game::{Chat, Drive, Play, Tank, link};

fn chat(text: &str) -> Chat {
    Chat { text: text.into() }
}

#[test]
fn a_message_of_a_tick_comes_when_that_tick_is_shown() {
    let mut play = Play::new(link(100, 10, 0.0), 1);
    play.run(3000, |_| {});
    // The tick that begins next.
    let mut tick = None;
    play.clients[0].drive = Drive { x: 1, y: 0, fire: false };
    while tick.is_none() {
        play.run(1, |play| tick = Some(play.server.scene().tick()).filter(|tick| tick.0 % 7 == 0));
    }
    let tick = tick.unwrap();
    let route = Route::from(Delivery::Reliable).at_tick(tick.0);
    play.server.send_message(To::All, &chat("in step"), route).unwrap();
    play.server.send_message(To::All, &chat("at once"), Delivery::Reliable).unwrap();
    let (mut at_once, mut in_step) = (None, None);
    play.run(500, |play| {
        let client = &mut play.clients[0].client;
        let shown = client.shown_time().unwrap();
        while let Some(message) = client.poll_message::<Chat>() {
            let place = if message.text == "at once" { &mut at_once } else { &mut in_step };
            *place = Some(shown);
        }
    });
    let (at_once, in_step) = (at_once.unwrap(), in_step.unwrap());
    assert!(at_once < f64::from(tick.0), "{at_once} {tick}");
    assert!((f64::from(tick.0)..f64::from(tick.0) + 0.2).contains(&in_step), "{in_step} {tick}");
}

#[test]
fn a_message_with_an_object_waits_for_it_and_not_for_ever() {
    let mut play = Play::new(link(100, 10, 0.0), 1);
    play.run(3000, |_| {});
    let id =
        play.server.world().spawn(&Tank { position: [-90.0, 0.0], ..Tank::default() }).unwrap();
    let with = |id| Route::from(Delivery::Reliable).with_object(id);
    play.server.send_message(To::All, &chat("hello"), with(id)).unwrap();
    let nowhere = tightwire::schema::ObjectId(900);
    play.server.send_message(To::All, &chat("nowhere"), with(nowhere)).unwrap();
    let mut heard = Vec::new();
    play.run(3000, |play| {
        let now = play.now.as_millis();
        let client = &mut play.clients[0].client;
        let is_there = client.world().get::<Tank>(id).is_some();
        while let Some(received) = client.poll_received::<Chat>() {
            heard.push((received.message.text, is_there, received.is_overdue, now - 3000));
        }
    });
    let [(hello, true, false, _), (other, _, true, late)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((hello.as_str(), other.as_str()), ("hello", "nowhere"));
    assert!((2000..2200).contains(late), "{late}");
}
