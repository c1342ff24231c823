//! Directions as `up` keeps them between two starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Kind;
use planner::{ClusterId, Direction, LeaseFact, Move, ObjectRef};
use serde::{Deserialize, Serialize};

use super::Key;

/// A direction on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDirection {
    cluster: u16,
    namespace: Arc<str>,
    name: Arc<str>,
    active: Option<Arc<str>>,
    generation: Option<u64>,
    moves: Vec<SavedMove>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedMove {
    at: i64,
    from: Option<Arc<str>>,
    to: Option<Arc<str>>,
    message: Box<str>,
}

/// The form in which directions are kept. Who holds a lease is asked anew.
pub fn save(directions: &[(Key, Direction)]) -> Vec<SavedDirection> {
    let one = |((cluster, object), direction): &(Key, Direction)| SavedDirection {
        cluster: cluster.0,
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        active: direction.active.clone(),
        generation: direction.lease.as_ref().map(|lease| lease.generation),
        moves: direction.moves.iter().cloned().map(saved_move).collect(),
    };
    directions.iter().map(one).collect()
}

fn saved_move(Move { at, from, to, message }: Move) -> SavedMove {
    SavedMove { at, from, to, message }
}

/// The directions that were kept.
pub fn restore(saved: Vec<SavedDirection>) -> BTreeMap<Key, Direction> {
    let one = |saved: SavedDirection| {
        let SavedDirection { cluster, namespace, name, active, generation, moves } = saved;
        let key = (ClusterId(cluster), ObjectRef { kind: Kind::Placement, namespace, name });
        let lease = generation.map(|generation| LeaseFact { holder: None, generation, expires: None });
        let one = |SavedMove { at, from, to, message }| Move { at, from, to, message };
        let moves = moves.into_iter().map(one).collect();
        (key, Direction { active, lease, witness_trouble: None, moves })
    };
    saved.into_iter().map(one).collect()
}
