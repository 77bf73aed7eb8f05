//! Components that a function of the game interpolates.

use bevy_ecs::prelude::World;
use tightwire::ObjectId;
use tightwire::snapshot::Row;

use super::replica::{Applied, ClientReplica};
use crate::classes::Replication;
use crate::column::{Between, Written};
use crate::face::{ClientFace, Which};

impl ClientReplica {
    /// Writes the components that a function of the game interpolates, of all objects that are not
    /// predicted.
    pub(super) fn show_all_smooth(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
    ) {
        let smooth = core::mem::take(&mut self.smooth);
        for id in smooth.iter().filter(|id| !client.is_predicted(**id)) {
            self.show_smooth(world, replication, client, *id);
        }
        self.smooth = smooth;
    }

    fn show_smooth(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
        id: ObjectId,
    ) {
        let (mut before, mut after) =
            (core::mem::take(&mut self.row), core::mem::take(&mut self.held));
        let mut fraction = 0.0;
        let is_between = client.rows_around(id, &mut |one, other, part| {
            before.copy_from(one);
            after.copy_from(other);
            fraction = part;
        });
        // Without these rows, it is shown as others are: the offset of a correction still fades.
        if is_between || client.row(id, Which::Shown, &mut |row| before.copy_from(row)) {
            if !is_between {
                after.copy_from(before.row());
            }
            self.write_smooth(world, replication, id, [before.row(), after.row()], fraction);
        }
        (self.row, self.held) = (before, after);
    }

    fn write_smooth(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        id: ObjectId,
        [before, after]: [Row<'_>; 2],
        fraction: f32,
    ) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        let Some(class) = replication.classes.get(usize::from(before.class)) else { return };
        for (column, entry) in replication.columns.iter_mut().enumerate() {
            let (true, Some(place)) = (entry.settings.is_smooth, &class.fields[column]) else {
                continue;
            };
            let cells = [before, after].map(|row| place.in_row(row.cells));
            match cells {
                [Some(before), Some(after)] if before != after => {
                    let between = Between { before, after, fraction };
                    match entry.column.write_between(world, object.entity, between) {
                        Written::Done => object.cells[column] = Applied::Stale,
                        Written::Waits => drop(self.waiting.insert(id)),
                        Written::Refused => log::warn!("the server sent no valid `{}`", entry.name),
                    }
                }
                [cells, _] => {
                    object.write_component(world, entry, column, id, cells, &mut self.waiting);
                }
            }
        }
    }
}
