//! Two ends in one process: queues that keep the promises of every delivery.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::transport::conformance::{self, Clock, Options, Pair};
use tightwire::transport::{
    Cause, Connection, Event, InProcess, NotSentError, Reason, ReconnectError, Transport,
};

use crate::common::volume::volume;

const NOW: Duration = Duration::ZERO;

/// Returns two connected ends, and the number of the connection.
fn ready_pair() -> (InProcess, InProcess, Connection) {
    let (mut client, mut server) = InProcess::pair();
    let mut last = None;
    for end in [&mut client, &mut server] {
        end.handle_input(NOW);
        let Some(Event::Connected { connection, .. }) = end.poll_event() else { panic!() };
        assert_eq!(end.poll_event(), None);
        last = Some(connection);
    }
    (client, server, last.unwrap())
}

/// Moves the sent batches of an end to the other.
fn carry(from: &mut InProcess, to: &mut InProcess) {
    from.handle_output(NOW);
    to.handle_input(NOW);
}

/// Returns the waiting batches of an end, each as delivery and length.
fn drain(end: &mut InProcess) -> Vec<(Delivery, usize)> {
    let mut drained = Vec::new();
    while let Some(event) = end.poll_event() {
        let Event::Batch { delivery, batch, .. } = event else { panic!("{event:?}") };
        drained.push((delivery, batch.len()));
    }
    drained
}

#[test]
fn promises_are_kept() {
    let batches = volume(3_000, 100_000);
    let make_pair = || {
        let (client, server) = InProcess::pair();
        Pair { client, server, clock: Clock::jumping() }
    };
    let options = Options { batches, ..Options::default() };
    let report = conformance::run(make_pair, &options).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{report}");
    for figures in &report.deliveries {
        assert_eq!((figures.sent, figures.dropped()), (2 * u64::from(batches), 0));
        assert_eq!((figures.duplicated, figures.overtaken), (0, 0));
    }
    let again = conformance::run(make_pair, &options).unwrap();
    assert_eq!(again.digest, report.digest, "nothing is left to chance");
}

#[test]
fn batches_of_all_deliveries_come_in_the_order_in_which_they_were_sent() {
    let (mut client, mut server, connection) = ready_pair();
    let sent: Vec<_> = (0..100).map(|n| (Delivery::ALL[n * 7 % 5], 1 + n)).collect();
    for (n, (delivery, length)) in sent.iter().enumerate() {
        client.send(connection, *delivery, &vec![7; *length]).unwrap();
        if n % 30 == 29 {
            // Batches that have come are not polled before more come.
            carry(&mut client, &mut server);
        }
    }
    assert_eq!(drain(&mut server).len(), 90, "the rest waits for the output");
    carry(&mut client, &mut server);
    assert_eq!(drain(&mut server), sent[90..]);
}

#[test]
fn a_pause_lets_unreliable_batches_pass_and_ends_with_the_next_input() {
    let (mut client, mut server, connection) = ready_pair();
    for (length, delivery) in (1..).zip([Delivery::ReliableOrdered, Delivery::Unreliable]) {
        client.send(connection, delivery, &vec![7; length]).unwrap();
    }
    carry(&mut client, &mut server);
    server.pause(connection);
    assert_eq!(drain(&mut server), [(Delivery::Unreliable, 2)]);
    assert_eq!(server.next_time(), Some(NOW), "something is held back");
    server.handle_input(NOW);
    assert_eq!(drain(&mut server), [(Delivery::ReliableOrdered, 1)]);
    // After the pause, the next input has nothing to do, once the sender knows.
    server.handle_output(NOW);
    client.handle_input(NOW);
    assert_eq!((client.next_time(), server.next_time()), (None, None));
}

#[test]
fn a_sender_is_refused_until_the_other_end_has_polled() {
    let (mut client, mut server, connection) = ready_pair();
    let batch = [7; 1200];
    let mut sent = 0;
    let refused = loop {
        match client.send(connection, Delivery::Reliable, &batch) {
            Ok(()) => sent += 1,
            Err(refused) => break refused,
        }
        carry(&mut client, &mut server);
    };
    // As many batches wait to be polled as behind them.
    let half = (2 << 20) / (1200 + 64);
    assert_eq!(sent, 2 * half);
    assert_eq!(refused, NotSentError::Full { backlog: half * 1200 });
    assert_eq!(client.path(connection).unwrap().backlog, half * 1200);
    // Other deliveries are not held up.
    client.send(connection, Delivery::Unreliable, &batch).unwrap();

    assert_eq!(drain(&mut server).len(), half);
    server.handle_input(NOW);
    assert_eq!(drain(&mut server).len(), half);
    assert_eq!(client.next_time(), Some(NOW), "there is room");
    client.handle_input(NOW);
    assert_eq!(client.path(connection).unwrap().backlog, 0);
    client.send(connection, Delivery::Reliable, &batch).unwrap();
}

#[test]
fn unreliable_batches_that_nobody_polls_are_dropped_the_oldest_first() {
    let (mut client, mut server, connection) = ready_pair();
    let send = |client: &mut InProcess, number: u32| {
        let mut batch = [0; 1000];
        batch[..4].copy_from_slice(&number.to_le_bytes());
        client.send(connection, Delivery::Unreliable, &batch).unwrap();
    };
    // The place where they wait does not matter: with the sender, between the ends, or with the
    // receiver.
    (0..2000).for_each(|number| send(&mut client, number));
    for number in 2000..4000 {
        send(&mut client, number);
        client.handle_output(NOW);
    }
    for number in 4000..6000 {
        send(&mut client, number);
        carry(&mut client, &mut server);
    }
    let mut received = Vec::new();
    while let Some(event) = server.poll_event() {
        let Event::Batch { batch, .. } = event else { panic!("{event:?}") };
        received.extend(batch.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)));
    }
    assert_eq!(received.len(), (1 << 20) / (1000 + 64));
    assert!(received.iter().copied().eq(6000 - received.len() as u32..6000));
    let dropped = [&client, &server].map(|end| end.path(connection).unwrap().dropped);
    assert_eq!(dropped.iter().sum::<u64>(), 6000 - received.len() as u64, "{dropped:?}");
}

#[test]
fn a_batch_above_the_limit_is_accepted_alone() {
    let (mut client, mut server, connection) = ready_pair();
    let delivery = Delivery::ReliableOrderedFragmented;
    let largest = vec![7; client.path(connection).unwrap().max_fragmented];
    client.send(connection, delivery, &largest).unwrap();
    let refused = client.send(connection, delivery, &[7]);
    assert_eq!(refused, Err(NotSentError::Full { backlog: largest.len() }));
    carry(&mut client, &mut server);
    assert_eq!(drain(&mut server), [(delivery, largest.len())]);
}

#[test]
fn batches_sent_before_a_close_arrive_before_the_end() {
    let (mut client, mut server, connection) = ready_pair();
    let delivery = Delivery::ReliableOrdered;
    client.send(connection, delivery, &[1, 0, 7]).unwrap();
    client.close(connection, &Reason::Left);
    carry(&mut client, &mut server);
    let batch: &[u8] = &[1, 0, 7];
    server.pause(connection);
    assert_eq!(server.poll_event(), None, "a pause holds back the batch, and the end behind it");
    server.handle_input(NOW);
    assert_eq!(server.poll_event(), Some(Event::Batch { from: connection, delivery, batch }));
    let reason = Reason::Left;
    assert_eq!(server.poll_event(), Some(Event::Disconnected { connection, reason }));
    // Both ends know of the end, and nothing is left to do.
    server.handle_output(NOW);
    client.handle_input(NOW);
    assert_eq!((client.next_time(), server.next_time()), (None, None));
    assert_eq!((client.poll_event(), server.poll_event()), (None, None));
}

#[test]
fn an_end_that_is_dropped_ends_the_connection() {
    let (mut client, server, connection) = ready_pair();
    drop(server);
    client.handle_input(NOW);
    let reason = Reason::failed("the other end was dropped");
    assert_eq!(client.poll_event(), Some(Event::Disconnected { connection, reason }));
    let sent = client.send(connection, Delivery::Reliable, &[1, 0, 7]);
    assert_eq!(sent, Err(NotSentError::NotConnected(connection)));

    // The reason of an end that closed and was dropped arrives, although it was never sent.
    let (mut client, mut server, connection) = ready_pair();
    server.close(connection, &Reason::ShuttingDown);
    drop(server);
    client.handle_input(NOW);
    let reason = Reason::ShuttingDown;
    assert_eq!(client.poll_event(), Some(Event::Disconnected { connection, reason }));
}

#[test]
fn either_end_can_reconnect_without_stale_events() {
    let (mut client, mut server, first) = ready_pair();
    assert_eq!(client.reconnect(NOW), Err(ReconnectError::Connected));
    server.send(first, Delivery::Reliable, &[1, 0, 7]).unwrap();
    server.close(first, &Reason::kicked("out"));
    // At once: the client has to hear first how the last one ended.
    server.reconnect(NOW).unwrap();
    client.handle_input(NOW);
    assert!(matches!(client.poll_event(), Some(Event::Batch { from, .. }) if from == first));
    assert_eq!(client.reconnect(NOW), Err(ReconnectError::Connected), "its end was not polled");
    let ended = Event::Disconnected { connection: first, reason: Reason::kicked("out") };
    assert_eq!(client.poll_event(), Some(ended));
    assert_eq!(client.next_time(), Some(NOW));
    // One that connects again as well takes the connection that the other has begun.
    client.reconnect(NOW).unwrap();
    let mut connections = Vec::new();
    for end in [&mut client, &mut server] {
        end.handle_input(NOW);
        let Some(Event::Connected { connection, .. }) = end.poll_event() else { panic!() };
        connections.push(connection);
        assert_eq!(end.poll_event(), None);
        assert_eq!(
            end.send(first, Delivery::Reliable, &[7]),
            Err(NotSentError::NotConnected(first))
        );
    }
    let [second, other] = connections[..] else { panic!() };
    assert!(second == other && second > first);
    client.send(second, Delivery::Reliable, &[1, 0, 7]).unwrap();
    carry(&mut client, &mut server);
    assert_eq!(drain(&mut server), [(Delivery::Reliable, 3)]);

    drop(server);
    client.handle_input(NOW);
    assert!(matches!(client.poll_event(), Some(Event::Disconnected { .. })));
    let gone = ReconnectError::Failed(Cause::text("the other end was dropped"));
    assert_eq!(client.reconnect(NOW), Err(gone));
}

#[test]
fn a_path_has_no_window_and_tells_the_room_for_unreliable_batches() {
    let (mut client, _server, connection) = ready_pair();
    let path = client.path(connection).unwrap();
    assert_eq!((path.window, path.datagram_room), (None, (1 << 20) - 64));
    while client.path(connection).unwrap().datagram_room >= 1000 {
        client.send(connection, Delivery::Unreliable, &[7; 1000]).unwrap();
        assert_eq!(client.path(connection).unwrap().dropped, 0);
    }
    client.send(connection, Delivery::Unreliable, &[7; 1000]).unwrap();
    assert_eq!(client.path(connection).unwrap().dropped, 1);
}

#[test]
fn a_pair_in_its_steady_state_allocates_nothing() {
    let (mut client, mut server, connection) = ready_pair();
    let batch = [7; 1000];
    let mut frame = |polls: bool| {
        for end in [&mut client, &mut server] {
            end.handle_input(NOW);
            while polls && end.poll_event().is_some() {}
            for delivery in Delivery::ALL {
                end.send(connection, delivery, &batch).unwrap();
            }
            end.handle_output(NOW);
        }
    };
    // Buffers grow until each has been in the place where most waits.
    (0..100).for_each(|number| frame(number % 3 == 2));
    let allocations = allocation_counter::measure(|| {
        (0..1000).for_each(|number| frame(number % 3 == 2));
    });
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn the_ends_can_be_in_different_threads() {
    const COUNT: u32 = 100_000;
    let (mut client, mut server) = InProcess::pair();
    let server = std::thread::spawn(move || {
        let mut received = 0;
        loop {
            server.handle_input(NOW);
            while let Some(event) = server.poll_event() {
                match event {
                    Event::Batch { batch, .. } => {
                        assert_eq!(*batch, u32::to_le_bytes(received));
                        received += 1;
                    }
                    Event::Disconnected { reason, .. } => return (received, reason),
                    _ => {}
                }
            }
            server.handle_output(NOW);
            std::thread::yield_now();
        }
    });
    client.handle_input(NOW);
    let Some(Event::Connected { connection, .. }) = client.poll_event() else { panic!() };
    for number in 0..COUNT {
        let batch = number.to_le_bytes();
        while client.send(connection, Delivery::ReliableOrdered, &batch).is_err() {
            std::thread::yield_now();
            client.handle_input(NOW);
        }
        client.handle_output(NOW);
    }
    client.close(connection, &Reason::ShuttingDown);
    client.handle_output(NOW);
    assert_eq!(server.join().unwrap(), (COUNT, Reason::ShuttingDown));
}
