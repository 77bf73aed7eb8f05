//! Prediction of objects that this client does not own, but may touch.

use core::time::Duration;

use tightwire_core::schema::ObjectId;

use super::world::ClientWorld;
use crate::play::frame::ROOM;
use crate::play::predict::Touch;

/// Objects that are predicted although this client does not own them.
#[derive(Debug)]
pub(super) struct PredictedOthers {
    /// Ids set by the game, sorted.
    named: Vec<ObjectId>,
    /// Ids near an own object, with the earliest end of prediction; sorted.
    touched: Vec<(ObjectId, Duration)>,
}

impl Default for PredictedOthers {
    fn default() -> Self {
        Self { named: Vec::new(), touched: Vec::with_capacity(ROOM) }
    }
}

impl PredictedOthers {
    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.touched.clear();
    }

    fn contains(&self, id: ObjectId) -> bool {
        let touched = self.touched.binary_search_by_key(&id, |touched| touched.0);
        touched.is_ok() || self.named.binary_search(&id).is_ok()
    }
}

impl<I> ClientWorld<I> {
    /// Begins or ends the prediction of an object that the game names.
    pub(super) fn set_predicted(&mut self, id: ObjectId, is_predicted: bool) {
        match (self.others.named.binary_search(&id), is_predicted) {
            (Err(place), true) => self.others.named.insert(place, id),
            (Ok(place), false) => drop(self.others.named.remove(place)),
            _ => {}
        }
        self.update_member(id);
    }

    /// Decides whether an object is predicted.
    pub(super) fn update_member(&mut self, id: ObjectId) {
        let is_member = self.is_owned(id) || self.others.contains(id);
        self.prediction.set_member(id, is_member);
    }

    /// Predicts the objects near those that this client owns.
    pub(super) fn follow_touched(&mut self, now: Duration, touch: Option<Touch>) {
        let Some(touch) = touch else { return };
        let mut touched = core::mem::take(&mut self.others.touched);
        for (id, row) in self.receiver.rows_from(ObjectId(0)) {
            let is_predicted = self.predicted_classes.get(usize::from(row.class)) == Some(&true);
            if !is_predicted || self.is_owned(id) {
                continue;
            }
            let Some(position) = self.protocol.position(row) else { continue };
            let distance = self.distance_to_own(position);
            match touched.binary_search_by_key(&id, |touched| touched.0) {
                Ok(place) if distance <= touch.leave => {
                    touched[place].1 = now.saturating_add(touch.hold);
                }
                Ok(_) => {}
                Err(place) if distance <= touch.enter => {
                    touched.insert(place, (id, now.saturating_add(touch.hold)));
                    self.prediction.set_member(id, true);
                }
                Err(_) => {}
            }
        }
        touched.retain(|&(id, until)| {
            let stays = until > now && self.receiver.row(id).is_some();
            if !stays {
                let is_member = self.others.named.binary_search(&id).is_ok()
                    || self.owned.binary_search(&id).is_ok();
                self.prediction.set_member(id, is_member);
            }
            stays
        });
        self.others.touched = touched;
    }

    fn distance_to_own(&self, position: [f32; 3]) -> f32 {
        let mut nearest = f32::INFINITY;
        for id in &self.owned {
            let row = self.prediction.frame().get(*id).or_else(|| self.receiver.row(*id));
            if let Some(own) = row.and_then(|row| self.protocol.position(row)) {
                let squares = own.iter().zip(position).map(|(a, b)| (a - b) * (a - b));
                nearest = nearest.min(squares.sum());
            }
        }
        nearest.sqrt()
    }
}
