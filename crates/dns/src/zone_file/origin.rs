//! The origin of a file's relative names, in the two forms that they are made with.

use crate::Name;

#[derive(Clone, Debug)]
pub(super) struct Origin {
    name: Name,
    wire: Vec<u8>,
}

impl Origin {
    pub(super) fn new(name: Name) -> Origin {
        let wire = name.to_wire();
        Origin { name, wire }
    }

    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    pub(super) fn wire(&self) -> &[u8] {
        &self.wire
    }
}
