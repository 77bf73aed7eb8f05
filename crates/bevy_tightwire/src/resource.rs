//! Replication of resources from the server to the clients.

use bevy_app::{App, FixedPostUpdate, PreUpdate};
use bevy_ecs::component::{Component, Mutable};
use bevy_ecs::prelude::*;
use tightwire::Wire;
use tightwire::stream::{ReadError, ReadStream, Shape, Stream, WriteStream};

use crate::codec::{Codec, WireEntities};
use crate::message::NetData;
use crate::mode::{NetMode, has_authority};
use crate::plugin::NetworkSet;
use crate::server::Replicated;

/// A resource as a component of an entity of its own, which is replicated. `None` if the server has
/// removed the resource: the entity stays, since clients also lose all entities when they reconnect.
#[derive(Component, Default)]
pub(crate) struct ResourceCopy<R: Send + Sync + 'static>(Option<R>);

/// The codec of a [`ResourceCopy`]: that of the resource.
pub(crate) struct ResourceCodec;

impl<R: NetData> Codec<ResourceCopy<R>> for ResourceCodec {
    fn shape(&self) -> Shape {
        Option::<R>::describe()
    }

    fn write(
        &self,
        value: &ResourceCopy<R>,
        stream: &mut WriteStream<'_>,
        _: &mut WireEntities<'_>,
    ) {
        let Ok(()) = stream.object(&value.0);
    }

    fn read(
        &self,
        stream: &mut ReadStream<'_>,
        _: &mut WireEntities<'_>,
    ) -> Result<ResourceCopy<R>, ReadError> {
        let mut value = None::<R>;
        stream.object(&mut value)?;
        Ok(ResourceCopy(value))
    }
}

pub(crate) fn build<R: Resource<Mutability = Mutable> + NetData + Clone>(app: &mut App) {
    app.add_systems(FixedPostUpdate, publish::<R>.run_if(has_authority))
        .add_systems(PreUpdate, adopt::<R>.after(NetworkSet::Apply));
}

fn publish<R: Resource + NetData + Clone>(
    resource: Option<Res<'_, R>>,
    mut copies: Query<'_, '_, &mut ResourceCopy<R>>,
    mut commands: Commands<'_, '_>,
) {
    match (resource, copies.iter_mut().next()) {
        (Some(resource), Some(mut copy)) if resource.is_changed() || copy.0.is_none() => {
            copy.0 = Some(resource.clone());
        }
        (Some(resource), None) => {
            commands.spawn((Replicated, ResourceCopy(Some(resource.clone()))));
        }
        (None, Some(mut copy)) if copy.0.is_some() => copy.0 = None,
        _ => {}
    }
}

fn adopt<R: Resource<Mutability = Mutable> + NetData + Clone>(
    mode: Res<'_, NetMode>,
    copies: Query<'_, '_, &ResourceCopy<R>, Changed<ResourceCopy<R>>>,
    mut commands: Commands<'_, '_>,
) {
    if *mode == NetMode::Client
        && let Some(copy) = copies.iter().next()
    {
        match &copy.0 {
            Some(value) => commands.insert_resource(value.clone()),
            None => commands.remove_resource::<R>(),
        }
    }
}
