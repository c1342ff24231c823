//! What can go wrong with a call, and when it does.

use std::sync::Arc;
use std::time::Duration;

use super::Call;

/// Something to do at a moment of a call, such as killing the caller.
pub type Hook = Arc<dyn Fn() + Send + Sync>;

/// What is done to a call instead of passing it on.
#[derive(Clone)]
pub enum Fault {
    /// Answered with this code, in the words of the API server; 429 comes with `Retry-After: 1`.
    Status(u16),
    /// A streamed list is refused, as by an API server that knows only pages.
    NoStreaming,
    /// Never answered.
    Hang,
    /// The connection breaks before the API server sees the call.
    Drop,
    /// The API server does what it was asked, and the connection breaks before its answer comes.
    DropAnswer,
    /// A list breaks off in its middle; a watch after this many events, in the middle of the next.
    Truncate(usize),
    /// A list comes back well formed and empty; of a streamed list nothing comes but its end.
    EmptyList,
    /// A watch says this code in an `ERROR` event, as for a version that is too old, and ends.
    WatchError(u16),
    /// Every event of a watch comes twice.
    Double,
    /// Passed on only after a while.
    Delay(Duration),
    /// Something is done before the API server sees the call, which then breaks.
    Before(Hook),
    /// Something is done after the API server did what it was asked, and then the connection breaks.
    After(Hook),
}

/// A fault and the calls that it is for.
pub struct Rule {
    fits: Box<dyn Fn(&Call) -> bool + Send>,
    skip: usize,
    times: usize,
    fault: Fault,
}

impl Rule {
    /// A fault for every call that fits.
    pub fn new(fault: Fault, fits: impl Fn(&Call) -> bool + Send + 'static) -> Rule {
        Rule { fits: Box::new(fits), skip: 0, times: usize::MAX, fault }
    }

    /// Lets this many calls that fit pass first.
    pub fn skip(mut self, calls: usize) -> Rule {
        self.skip = calls;
        self
    }

    /// Ends after this many calls.
    pub fn times(mut self, calls: usize) -> Rule {
        self.times = calls;
        self
    }

    /// The fault for a call, where it is one of those that are meant.
    pub(super) fn fault_for(&mut self, call: &Call) -> Option<Fault> {
        if self.times == 0 || !(self.fits)(call) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times -= 1;
        Some(self.fault.clone())
    }
}
