use super::*;

/// Creates an asset whose bytes vary.
fn asset(length: usize) -> Asset {
    let bytes: Vec<u8> =
        (0..length as u64).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    Asset::new("level", bytes)
}

fn receiver() -> AssetReceiver {
    AssetReceiver::new(AssetReceiverConfig::default())
}

/// Passes messages between both sides until none is left, in at most `rounds` rounds of `budget`
/// bytes. Returns the number of rounds.
fn exchange(
    sender: &mut AssetSender,
    receiver: &mut AssetReceiver,
    budget: usize,
    rounds: usize,
) -> usize {
    let mut chunk = AssetChunk::default();
    for round in 0..rounds {
        let mut moved = false;
        while let Some(request) = receiver.poll_request() {
            moved = true;
            sender.handle_request(&request).unwrap();
        }
        let mut left = budget;
        while sender.poll_chunk(left, &mut chunk) {
            moved = true;
            let size = chunk.bytes.len() + AssetChunk::OVERHEAD;
            assert!(size <= left, "{size} bytes within {left}");
            left -= size;
            receiver.handle_chunk(&chunk).unwrap();
        }
        if !moved {
            return round;
        }
    }
    rounds
}

#[test]
fn an_asset_arrives_within_the_budget_and_both_sides_know_the_progress() {
    for length in [0, 1, 16_384, 16_385, 200_000] {
        let (mut sender, mut receiver) = (AssetSender::default(), receiver());
        let asset = asset(length);
        let offer = sender.offer(&asset).unwrap();
        let progress = receiver.handle_offer(&offer).unwrap();
        assert_eq!(
            (progress.hash, progress.length as usize, progress.done),
            (asset.hash(), length, 0)
        );
        assert_eq!(receiver.poll_request(), None);
        receiver.accept(progress.id, Vec::new()).unwrap();
        if length > 100_000 {
            assert_eq!(exchange(&mut sender, &mut receiver, 1000, 50), 50);
            let [there, here] =
                [sender.progress().next().unwrap(), receiver.progress().next().unwrap()];
            assert_eq!(there, here);
            // A round sends less than its budget if a chunk ends and the rest of the budget is too
            // small to be worth another header.
            assert!((48_000..=50 * 976).contains(&here.done), "{}", here.done);
        }
        exchange(&mut sender, &mut receiver, 1000, 1000);
        let (progress, bytes) = receiver.poll_asset().unwrap();
        assert_eq!(progress.done, progress.length);
        assert_eq!(bytes.as_deref(), Ok(asset.bytes()));
        assert_eq!(sender.progress().count(), 0);
        assert!(!sender.is_requested());
    }
}

#[test]
fn four_chunks_are_under_way() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    let progress = receiver.handle_offer(&sender.offer(&asset(1 << 20)).unwrap()).unwrap();
    receiver.accept(progress.id, Vec::new()).unwrap();
    let requests: Vec<_> = std::iter::from_fn(|| receiver.poll_request()).collect();
    let ranges: Vec<_> = requests.iter().map(|request| (request.offset, request.length)).collect();
    assert_eq!(ranges, [(0, 16384), (16384, 16384), (32768, 16384), (49152, 16384)]);
    for request in &requests {
        assert_eq!(sender.handle_request(request), Ok(None));
    }
    // The next chunk is requested when one was received whole, not after a part of one.
    let mut chunk = AssetChunk::default();
    assert!(sender.poll_chunk(10_000, &mut chunk));
    receiver.handle_chunk(&chunk).unwrap();
    assert_eq!(receiver.poll_request(), None);
    assert!(sender.poll_chunk(10_000, &mut chunk));
    assert_eq!(chunk.bytes.len(), 16384 - (10_000 - AssetChunk::OVERHEAD));
    receiver.handle_chunk(&chunk).unwrap();
    assert_eq!(receiver.poll_request().map(|request| request.offset), Some(65536));
    assert_eq!(receiver.poll_request(), None);
}

#[test]
fn a_client_that_was_disconnected_goes_on_where_it_was() {
    let mut receiver = receiver();
    let asset = asset(300_000);
    let mut old = AssetSender::default();
    let id = receiver.handle_offer(&old.offer(&asset).unwrap()).unwrap().id;
    receiver.accept(id, Vec::new()).unwrap();
    exchange(&mut old, &mut receiver, 5000, 20);
    let before = receiver.progress().next().unwrap().done;
    assert!(before > 90_000);
    receiver.handle_disconnected();
    assert_eq!(receiver.poll_request(), None);

    let mut sender = AssetSender::default();
    let progress = receiver.handle_offer(&sender.offer(&asset).unwrap()).unwrap();
    assert_eq!(progress.done, before);
    receiver.accept(progress.id, Vec::new()).unwrap();
    assert_eq!(receiver.poll_request().map(|request| request.offset), Some(before));
    let mut sender = AssetSender::default();
    receiver.handle_disconnected();
    receiver.handle_offer(&sender.offer(&asset).unwrap()).unwrap();
    receiver.accept(0, Vec::new()).unwrap();
    exchange(&mut sender, &mut receiver, 5000, 1000);
    assert_eq!(receiver.poll_asset().unwrap().1.as_deref(), Ok(asset.bytes()));
}

#[test]
fn what_a_client_has_in_its_cache_is_not_sent() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    let asset = asset(100_000);
    receiver.handle_offer(&sender.offer(&asset).unwrap()).unwrap();
    receiver.accept(0, asset.bytes().to_vec()).unwrap();
    assert_eq!(receiver.poll_asset().unwrap().1.as_deref(), Ok(asset.bytes()));
    let end = receiver.poll_request().unwrap();
    assert!(matches!(sender.handle_request(&end), Ok(Some(OfferEnd::Complete(_)))));
    assert_eq!(receiver.poll_request(), None);
}

#[test]
fn a_declined_asset_is_not_sent() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    receiver.handle_offer(&sender.offer(&asset(100_000)).unwrap()).unwrap();
    receiver.accept(0, Vec::new()).unwrap();
    exchange(&mut sender, &mut receiver, 5000, 2);
    receiver.decline(0).unwrap();
    let end = receiver.poll_request().unwrap();
    assert!(matches!(sender.handle_request(&end), Ok(Some(OfferEnd::Declined(_)))));
    assert!(!sender.poll_chunk(100_000, &mut AssetChunk::default()));
    assert_eq!(sender.handle_request(&end), Err(AssetError::Unknown { id: 0 }));
    assert_eq!(receiver.decline(0), Err(AssetError::Unknown { id: 0 }));
}

#[test]
fn an_asset_that_is_too_large_takes_no_memory() {
    let mut receiver = AssetReceiver::new(AssetReceiverConfig { max_asset: 1000 });
    let offer = AssetOffer { id: 5, name: "huge".into(), length: u32::MAX, hash: [1, 2] };
    let limit = AssetError::TooLarge { length: u32::MAX.into(), limit: 1000 };
    assert_eq!(receiver.handle_offer(&offer), Err(limit));
    assert_eq!(receiver.accept(5, Vec::new()), Err(AssetError::Unknown { id: 5 }));
    assert_eq!(receiver.poll_request(), Some(AssetRequest { id: 5, offset: 0, length: 0 }));
    // An accepted asset takes memory for the received bytes, not for the length in the offer.
    let mut receiver = super::AssetReceiver::new(AssetReceiverConfig { max_asset: u32::MAX });
    receiver.handle_offer(&offer).unwrap();
    receiver.accept(5, Vec::new()).unwrap();
    while receiver.poll_request().is_some() {}
    receiver.handle_chunk(&AssetChunk { id: 5, offset: 0, bytes: vec![0; 100] }).unwrap();
    assert!(receiver.held_bytes() <= 200, "{} bytes", receiver.held_bytes());
}

#[test]
fn offers_without_end_are_bounded() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    for _ in 0..MAX_OFFERS {
        receiver.handle_offer(&sender.offer(&asset(10)).unwrap()).unwrap();
    }
    let full = AssetError::TooMany { limit: MAX_OFFERS };
    assert_eq!(sender.offer(&asset(10)), Err(full));
    for id in 1000..3000 {
        let offer = AssetOffer { id, name: String::new(), length: 1, hash: [0; 2] };
        assert_eq!(receiver.handle_offer(&offer), Err(full));
    }
    assert!(std::iter::from_fn(|| receiver.poll_request()).count() <= MAX_OFFERS);
}

#[test]
fn bytes_that_nobody_requested_are_refused() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    receiver.handle_offer(&sender.offer(&asset(40_000)).unwrap()).unwrap();
    let bad = Err(AssetError::BadChunk { id: 0 });
    let chunk = |id, offset, length| AssetChunk { id, offset, bytes: vec![0; length] };
    // The offer is not accepted yet, so no bytes were requested.
    assert_eq!(receiver.handle_chunk(&chunk(0, 0, 10)), bad);
    receiver.accept(0, Vec::new()).unwrap();
    assert_eq!(receiver.handle_chunk(&chunk(0, 0, 10)), bad);
    receiver.poll_request().unwrap();
    for (offset, length) in [(1, 10), (0, 0), (0, 16_385), (u32::MAX, 10)] {
        assert_eq!(receiver.handle_chunk(&chunk(0, offset, length)), bad, "{offset} {length}");
    }
    assert_eq!(receiver.handle_chunk(&chunk(9, 0, 10)), Err(AssetError::Unknown { id: 9 }));
    assert!(receiver.handle_chunk(&chunk(0, 0, 16_384)).is_ok());
    assert_eq!(receiver.handle_chunk(&chunk(0, 0, 10)), bad);
}

#[test]
fn requests_beyond_the_asset_or_too_many_are_refused() {
    let mut sender = AssetSender::default();
    sender.offer(&asset(40_000)).unwrap();
    let bad = Err(AssetError::BadRequest { id: 0 });
    let request = |offset, length| AssetRequest { id: 0, offset, length };
    for (offset, length) in [(40_000, 1), (39_999, 2), (u32::MAX, 1), (0, 16_385), (40_001, 0)] {
        assert_eq!(sender.handle_request(&request(offset, length)), bad, "{offset} {length}");
    }
    for _ in 0..MAX_CHUNKS_IN_FLIGHT {
        assert_eq!(sender.handle_request(&request(0, 16_384)), Ok(None));
    }
    assert_eq!(sender.handle_request(&request(0, 16_384)), bad);
}

#[test]
fn bytes_of_another_hash_are_no_asset() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    let mut offer = sender.offer(&asset(40_000)).unwrap();
    offer.hash[1] ^= 1;
    receiver.handle_offer(&offer).unwrap();
    receiver.accept(0, Vec::new()).unwrap();
    exchange(&mut sender, &mut receiver, 10_000, 100);
    assert_eq!(receiver.poll_asset().unwrap().1, Err(AssetError::Corrupt { id: 0 }));
    assert_eq!(receiver.progress().count(), 0);
}

#[test]
fn a_budget_that_is_not_worth_the_headers_sends_nothing() {
    let (mut sender, mut receiver) = (AssetSender::default(), receiver());
    receiver.handle_offer(&sender.offer(&asset(40_000)).unwrap()).unwrap();
    receiver.accept(0, Vec::new()).unwrap();
    sender.handle_request(&receiver.poll_request().unwrap()).unwrap();
    let mut chunk = AssetChunk::default();
    for budget in [0, 24, 100, 279] {
        assert!(!sender.poll_chunk(budget, &mut chunk), "{budget}");
    }
    assert!(sender.poll_chunk(280, &mut chunk));
    assert_eq!(chunk.bytes.len(), 256);
}
