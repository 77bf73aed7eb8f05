//! The past moments that a peer sees, for lag compensation.

use crate::play::input::ViewDelay;

/// Moment that a peer saw when it made its input of the current tick.
///
/// Peers report their views themselves, and could report false ones to shoot at earlier positions.
/// Every view is clamped to what an honest peer can see, and every clamp is counted.
#[derive(Clone, Debug)]
pub(crate) struct Rewind {
    /// Largest age of a view in ticks.
    max_rewind: f64,
    /// Ticks and ages of the views that came with inputs, by tick.
    views: [Option<(u32, f64)>; PLACES],
    /// View of the last tick, in ticks; `None` before the first.
    view: Option<f64>,
    /// Tick of that view.
    tick: u32,
    /// Average age of the views in ticks, and the number of views in it.
    average: f64,
    samples: u32,
    stats: RewindStats,
}

/// Counts of the views of a peer that were clamped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RewindStats {
    /// Views that came with an input.
    pub views: u64,
    /// Views older than the largest rewind.
    pub too_old: u64,
    /// Views after the newest acked snapshot.
    pub not_acked: u64,
    /// Views before the one of the tick before.
    pub backward: u64,
    /// Views more than 2 ticks after the one of the tick before.
    pub forward: u64,
    /// Views further than 6 ticks from the peer's average.
    pub unusual: u64,
}

impl Rewind {
    /// Creates the views of a peer, which are at most `max_rewind` ticks old.
    pub(crate) fn new(max_rewind: u32) -> Self {
        Self {
            max_rewind: max_rewind.into(),
            views: [None; PLACES],
            view: None,
            tick: 0,
            average: 0.0,
            samples: 0,
            stats: RewindStats::default(),
        }
    }

    /// Takes the view of an input that arrived for the first time. `newest` is the newest input of
    /// its frame, which the delay belongs to, and `acked` the tick of the snapshot that it counts
    /// from.
    pub(crate) fn handle_view(&mut self, input: u32, newest: u32, acked: u32, delay: ViewDelay) {
        // Playback goes on by about one tick per tick, so the age is that of the newest input.
        let age = f64::from(newest.wrapping_sub(acked) as i32) + delay.ticks();
        self.views[input as usize % PLACES] = Some((input, age));
    }

    /// Moves on to a tick, and returns the view of its input. `newest_acked` is the tick of the
    /// newest snapshot that the peer acked. Without an input, the view goes on with the time.
    pub(crate) fn advance(&mut self, tick: u32, newest_acked: Option<u32>) -> Option<f64> {
        let sample = self.views[tick as usize % PLACES].filter(|&(input, _)| input == tick);
        let now = f64::from(tick);
        let mut view = match (sample, self.view) {
            (Some((_, age)), _) => now - self.usual(age),
            (None, Some(view)) => view + self.elapsed(tick),
            (None, None) => return None,
        };
        if let Some(before) = self.view {
            let most = before + MAX_SPEED * self.elapsed(tick);
            clamp(&mut view, before, f64::MAX, &mut self.stats.backward);
            clamp(&mut view, f64::MIN, most, &mut self.stats.forward);
        }
        let acked = newest_acked.map_or(now, f64::from).min(now);
        clamp(&mut view, f64::MIN, acked, &mut self.stats.not_acked);
        // The last word: the history of the world reaches no further back.
        clamp(&mut view, now - self.max_rewind, f64::MAX, &mut self.stats.too_old);
        (self.view, self.tick) = (Some(view), tick);
        self.view
    }

    /// View of the current tick, in ticks; `None` if the peer has shown nothing yet, which then sees
    /// the present.
    pub(crate) fn view(&self) -> Option<f64> {
        self.view
    }

    /// Counts of the clamped views.
    pub(crate) fn stats(&self) -> RewindStats {
        self.stats
    }

    /// Forgets the views of a connection that ended. The average stays with the peer.
    pub(crate) fn reset_connection(&mut self) {
        (self.views, self.view) = ([None; PLACES], None);
    }

    /// Clamps an age to the neighbourhood of the peer's average, and adds it to the average.
    fn usual(&mut self, age: f64) -> f64 {
        self.stats.views += 1;
        // Only the clamped age is averaged, so that a false view cannot move the average far.
        let mut age = age.clamp(0.0, self.max_rewind);
        if self.samples > 0 {
            let (least, most) = (self.average - MAX_DEVIATION, self.average + MAX_DEVIATION);
            clamp(&mut age, least, most, &mut self.stats.unusual);
        }
        self.samples = (self.samples + 1).min(AVERAGED);
        self.average += (age - self.average) / f64::from(self.samples);
        age
    }

    fn elapsed(&self, tick: u32) -> f64 {
        tick.wrapping_sub(self.tick).into()
    }
}

/// Clamps a value, and counts it if it was outside.
fn clamp(value: &mut f64, least: f64, most: f64, count: &mut u64) {
    if *value < least || *value > most {
        *value = value.max(least).min(most);
        *count += 1;
    }
}

/// Inputs whose views are kept: as many as an input ring has.
const PLACES: usize = 64;

/// Ticks that a view moves on per tick: playback speeds up far less.
const MAX_SPEED: f64 = 2.0;

/// Ticks around the average age that a view may be away.
const MAX_DEVIATION: f64 = 6.0;

/// Views that the average is over, about 4 s: a liar that shoots now and then hardly moves it, and a
/// new route is taken over within seconds.
const AVERAGED: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer whose inputs arrive in time, with a new snapshot acked in each.
    struct Peer {
        rewind: Rewind,
        tick: u32,
    }

    impl Peer {
        /// Creates a peer that has shown the past for 10 s, at the stated age in ticks.
        fn new(age: f64) -> Self {
            let mut peer = Self { rewind: Rewind::new(24), tick: 1000 };
            (0..600).for_each(|_| _ = peer.claim(age));
            assert_eq!(peer.rewind.stats(), RewindStats { views: 600, ..RewindStats::default() });
            peer
        }

        /// Runs a tick with a claim of the age of the view, and returns the age that was granted.
        fn claim(&mut self, age: f64) -> f64 {
            self.tick += 1;
            // The newest acked snapshot is at most 5 ticks older than the input.
            let acked = self.tick - 5;
            let delay = ViewDelay::from_ticks(age - 5.0);
            self.rewind.handle_view(self.tick, self.tick, acked, delay);
            self.age(self.tick - 3)
        }

        /// Runs a tick without an input.
        fn miss(&mut self, newest_acked: u32) -> f64 {
            self.tick += 1;
            self.age(newest_acked)
        }

        fn age(&mut self, newest_acked: u32) -> f64 {
            let view = self.rewind.advance(self.tick, Some(newest_acked));
            f64::from(self.tick) - view.unwrap_or(f64::NAN)
        }
    }

    #[test]
    fn an_honest_peer_is_believed() {
        let mut peer = Peer::new(12.0);
        assert_eq!(peer.claim(12.0), 12.0);
        // Playback stretches by up to 10%.
        for index in 0i32..200 {
            let age = 12.0 + f64::from((index % 60 - 30).abs()) * 0.1;
            let granted = peer.claim(age);
            assert!((granted - age).abs() <= 1.0 / 16.0 || index < 2, "{granted} of {age}");
        }
        let stats = peer.rewind.stats();
        assert_eq!((stats.too_old, stats.not_acked, stats.unusual), (0, 0, 0));
        assert_eq!(stats.forward + stats.backward, 2);
    }

    #[test]
    fn one_delay_serves_all_inputs_of_a_frame() {
        let mut rewind = Rewind::new(24);
        assert_eq!(rewind.advance(99, None), None);
        // Input 107 was made when 98 - 2.5 was shown.
        (100..=107)
            .for_each(|input| rewind.handle_view(input, 107, 98, ViewDelay::from_ticks(2.5)));
        for tick in 100..=107 {
            let view = f64::from(tick) - 11.5;
            assert_eq!(rewind.advance(tick, Some(98)), Some(view));
            assert_eq!(rewind.view(), Some(view));
        }
    }

    #[test]
    fn without_an_input_the_view_goes_on_up_to_the_newest_ack() {
        let mut peer = Peer::new(12.0);
        let acked = peer.tick - 3;
        (0..9).for_each(|_| assert_eq!(peer.miss(acked), 12.0));
        assert_eq!((peer.miss(acked), peer.miss(acked)), (13.0, 14.0));
        assert_eq!(peer.rewind.stats().not_acked, 2);
        // And not further back than `max_rewind`.
        (0..40).for_each(|_| _ = peer.miss(acked));
        assert_eq!(peer.miss(acked), 24.0);
        assert!(peer.rewind.stats().too_old > 30);
    }

    #[test]
    fn a_view_is_never_older_than_the_largest_rewind() {
        let mut rewind = Rewind::new(24);
        rewind.handle_view(100, 100, 90, ViewDelay::from_ticks(100.0));
        assert_eq!(rewind.advance(100, Some(95)), Some(76.0));
        // A round trip that is longer.
        rewind.handle_view(101, 101, 60, ViewDelay::from_ticks(3.0));
        assert_eq!(rewind.advance(101, Some(60)), Some(77.0));
        assert_eq!(rewind.stats().too_old, 1);
    }

    #[test]
    fn a_view_does_not_jump() {
        let mut peer = Peer::new(12.0);
        // Back by standing still at most, forward by two ticks a tick.
        assert_eq!(peer.claim(17.0), 13.0);
        assert_eq!(peer.claim(17.0), 14.0);
        assert_eq!(peer.rewind.stats().backward, 2);
        assert_eq!(peer.claim(7.0), 13.0);
        assert_eq!(peer.claim(7.0), 12.0);
        assert_eq!(peer.rewind.stats().forward, 2);
    }

    #[test]
    fn a_liar_gains_at_most_six_ticks_over_its_average() {
        for (lies, honest) in [(1, 59), (10, 110), (30, 600)] {
            let (mut peer, mut gain) = (Peer::new(10.0), 0.0f64);
            for tick in 0..12_000 {
                let is_lie = tick % (lies + honest) >= honest;
                let age = peer.claim(if is_lie { 24.0 } else { 10.0 });
                gain = gain.max(age - 10.0);
            }
            println!("{lies} lies after {honest} honest views: {gain:.2} ticks");
            // The lies move the average too, by their share, and most after the last of a row.
            let share = f64::from(lies) / f64::from(lies + honest);
            let average = 6.0 * (share + f64::from(lies) / f64::from(AVERAGED));
            assert!(gain <= 6.0 + average, "{gain}");
            assert!(peer.rewind.stats().unusual + peer.rewind.stats().backward > 0);
        }
    }

    #[test]
    fn a_new_route_is_believed_within_seconds() {
        // 20 to 300 ms: 17 ticks.
        let mut peer = Peer::new(6.0);
        let ticks = (0..1200).take_while(|_| peer.claim(23.0) < 22.9).count();
        println!("{ticks} ticks until a view that is 17 ticks older is believed");
        assert!(ticks < 600);
        let ticks = (0..1200).take_while(|_| peer.claim(6.0) > 6.1).count();
        assert!(ticks < 600);
    }

    #[test]
    fn hostile_views_stay_within_the_bounds() {
        let (mut rewind, mut random) = (Rewind::new(24), 1u64);
        let mut before = f64::MIN;
        for tick in 0..100_000u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [a, b, c, d] = [0, 16, 32, 48].map(|shift| (random >> shift) as u16);
            let newest = tick.wrapping_add((a % 32).into());
            let delay = ViewDelay::from_ticks(f64::from(b) / 100.0);
            rewind.handle_view(tick, newest, tick.wrapping_sub((c % 200).into()), delay);
            let acked = tick.saturating_sub((d % 12).into());
            if let Some(view) = rewind.advance(tick, Some(acked)) {
                assert!(view <= tick.into() && view >= f64::from(tick) - 24.0);
                assert!(view >= before - 12.0);
                before = view;
            }
        }
    }
}
