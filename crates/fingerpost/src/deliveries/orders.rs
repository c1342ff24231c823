//! From the plan to the orders of one class.

use std::sync::Arc;

use backends::delivery::{Known, Node, Order};
use backends::{Entry, NewZone, SetKey};
use dns::{Name, Rtype};
use planner::{Delta, Place, Planner, WantedSet};

use super::{Class, Memory, owner_at};

impl Class {
    /// Tells the whole plan of a class, after which deletions may be worked out.
    pub(super) fn tell_everything(&mut self, class: &Arc<str>, planner: &Planner, memory: &mut Memory) {
        let nodes = planner.delivery_nodes(class);
        let known = planner.known(class).into_iter().map(known).chain(memory.known(class)).collect();
        self.tell_known(class, planner, known);
        self.tell_nodes(class, planner, nodes, memory);
        self.order(Order::Complete);
    }

    /// Tells what a change of the plan means for a class.
    pub(super) fn follow(&mut self, class: &Arc<str>, planner: &Planner, delta: &Delta, memory: &mut Memory) {
        let zones: Vec<Name> =
            delta.zones.iter().filter(|zone| self.zones.contains(*zone)).cloned().collect();
        for zone in zones {
            self.tell_zone(class, planner, &zone);
        }
        let owed = delta.deliveries.iter().flat_map(|(_, name)| planner.known_at(class, name)).map(known);
        self.tell_known(class, planner, owed.collect());
        let mut moved: Vec<(Name, Name)> = delta.nodes.iter().chain(&delta.deliveries).cloned().collect();
        moved.extend(self.steered.decided());
        self.tell_nodes(class, planner, moved, memory);
    }

    /// What may stand at the provider because of us.
    fn tell_known(&mut self, class: &Arc<str>, planner: &Planner, known: Vec<Known>) {
        for zone in known.iter().map(|known| &known.zone) {
            if self.zones.insert(zone.clone()) {
                self.tell_zone(class, planner, zone);
            }
        }
        if !known.is_empty() {
            self.order(Order::Known(known));
        }
    }

    fn tell_nodes(
        &mut self,
        class: &Arc<str>,
        planner: &Planner,
        mut nodes: Vec<(Name, Name)>,
        memory: &mut Memory,
    ) {
        nodes.sort_unstable();
        nodes.dedup();
        let (mut told, mut adopted) = (Vec::new(), Vec::new());
        for (zone, name) in nodes {
            let wanted = planner.wanted(class, &zone, &name);
            let keys = wanted.iter().filter(|one| one.adopts);
            adopted.extend(keys.map(|one| (zone.clone(), SetKey { name: name.clone(), rtype: one.rtype })));
            let place = (zone, name);
            let is_concerned = if wanted.is_empty() {
                self.nodes.remove(&place)
            } else {
                self.nodes.insert(place.clone());
                true
            };
            if is_concerned {
                let (zone, name) = place;
                if self.zones.insert(zone.clone()) {
                    self.tell_zone(class, planner, &zone);
                }
                told.push(self.as_held(class, planner, node(class, zone, name, wanted)));
            }
        }
        if !adopted.is_empty() {
            self.order(Order::Adopt(adopted));
        }
        if !told.is_empty() {
            memory.note(class, &self.spec, &told);
            self.order(Order::Nodes(told));
        }
        let reinterpreted = self.steered.reinterpreted();
        if !reinterpreted.is_empty() {
            self.order(Order::Report(reinterpreted));
        }
    }

    /// A node as the class's provider is to hold it.
    fn as_held(&mut self, class: &Arc<str>, planner: &Planner, node: Node) -> Node {
        let place = Place::Class(class.clone());
        let sets = planner.sets_at(&node.zone, &node.name, Some(&place));
        let is_steered = sets.iter().any(|set| set.steering.is_some());
        let probes = |probe| planner.probe(probe);
        self.steered.tell(node, is_steered, &probes)
    }

    fn tell_zone(&self, class: &Arc<str>, planner: &Planner, zone: &Name) {
        if let Some((soa, name_servers)) = planner.zone_facts(class, zone) {
            self.order(Order::Zone(NewZone { origin: zone.clone(), soa, name_servers }));
        }
    }
}

fn known((zone, name, rtype, domain): (Name, Name, Rtype, Option<Name>)) -> Known {
    Known { zone, key: SetKey { name, rtype }, domain }
}

fn node(class: &str, zone: Name, name: Name, wanted: Vec<WantedSet>) -> Node {
    let kept = wanted.iter().filter(|one| one.set.is_none()).map(|one| one.rtype).collect();
    let shared = wanted.iter().filter(|one| one.shared).map(|one| one.rtype).collect();
    let heir = wanted.iter().find_map(|one| one.hand_over_to.as_deref()).map(|heir| heir_at(heir, class));
    let entry = |one: WantedSet| {
        let WantedSet { set, domain, properties, .. } = one;
        Some(Entry::new(set?, domain, properties))
    };
    Node { zone, name, sets: wanted.into_iter().filter_map(entry).collect(), kept, shared, heir }
}

/// Who is to take over, in the marks of a class. An owner's class mostly has the name that ours has; else
/// the annotation says both.
fn heir_at(heir: &str, class: &str) -> String {
    if heir.contains('/') { heir.to_owned() } else { owner_at(heir, class) }
}
