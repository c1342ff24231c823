//! What a plan is made for: it decides which views there are, and who moves serials.

/// What a plan is made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Setting {
    /// Folders on one machine: regions and classes are views.
    #[default]
    Folders,
    /// The operator of a cluster: embedded classes are views, and it alone moves serials.
    Operator,
    /// A DNS server of a cluster: embedded classes are views, and it follows published serials.
    Server {
        /// The classes that it serves; empty is all.
        classes: Vec<String>,
    },
}

impl Setting {
    /// Whether a class is served here.
    pub(crate) fn serves(&self, class: &str) -> bool {
        match self {
            Setting::Server { classes } => classes.is_empty() || classes.iter().any(|one| one == class),
            Setting::Folders | Setting::Operator => true,
        }
    }
}

/// Who moves serials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// This process alone; what it saved itself is the last.
    Own,
    /// This process among others that did before; the latest that anybody gave out is the last.
    Shared,
    /// Somebody else: a zone has the serial that was published last.
    Followed,
}

impl Numbering {
    /// Who moves serials in a setting, by whether this process leads.
    pub(crate) fn of(setting: &Setting, leads: bool) -> Numbering {
        match setting {
            Setting::Folders => Numbering::Own,
            Setting::Operator if leads => Numbering::Shared,
            Setting::Operator | Setting::Server { .. } => Numbering::Followed,
        }
    }
}
