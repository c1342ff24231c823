//! Bodies on their way back to the caller, changed as a fault says.

use anyhow::{Result, anyhow};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::Value;

use super::answer::{Body, text};

/// What is done to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It passes as it is.
    Nothing,
    /// It breaks off: a list in its middle, a watch in the middle of the event after these many.
    Truncate(usize),
    /// The objects are left out.
    Empty,
    /// Every event comes twice.
    Double,
}

/// A whole body, such as a list or one object.
pub(super) async fn list(body: Incoming, change: Change) -> Result<Body> {
    let whole = body.collect().await?.to_bytes();
    Ok(match change {
        Change::Truncate(_) => broken_off(whole.slice(..whole.len() / 2)),
        Change::Empty => text(without_items(&whole)?),
        Change::Nothing | Change::Double => text(String::from_utf8_lossy(&whole).into_owned()),
    })
}

fn broken_off(half: Bytes) -> Body {
    let frames = stream::iter([Ok(Frame::data(half)), Err(anyhow!("broken off"))]);
    BodyExt::boxed(StreamBody::new(frames))
}

fn without_items(list: &[u8]) -> Result<String> {
    let mut list: Value = serde_json::from_slice(list)?;
    if let Some(items) = list.get_mut("items") {
        *items = Value::Array(Vec::new());
    }
    Ok(list.to_string())
}

/// The body of a watch: events, one in a line.
pub(super) fn watch(body: Incoming, change: Change) -> Body {
    let mut relay = Relay { change, passed: 0, initial: true };
    let pieces = lines(body).flat_map(move |line| stream::iter(relay.pieces(line)));
    BodyExt::boxed(StreamBody::new(pieces.map(|piece| piece.map(Frame::data))))
}

/// The state of one watch on its way.
struct Relay {
    change: Change,
    passed: usize,
    initial: bool,
}

impl Relay {
    fn pieces(&mut self, line: Result<Bytes>) -> Vec<Result<Bytes>> {
        let Ok(line) = line else { return vec![line] };
        self.passed += 1;
        let hidden = self.change == Change::Empty && self.is_initial(&line);
        match self.change {
            Change::Truncate(events) if self.passed > events => {
                vec![Ok(line.slice(..line.len() / 2)), Err(anyhow!("broken off"))]
            }
            Change::Double => vec![Ok(line.clone()), Ok(line)],
            Change::Empty if hidden => Vec::new(),
            Change::Nothing | Change::Truncate(_) | Change::Empty => vec![Ok(line)],
        }
    }

    /// Whether this is one of the objects that a streamed list begins with; a bookmark ends them.
    fn is_initial(&mut self, line: &[u8]) -> bool {
        let event: Value = serde_json::from_slice(line).unwrap_or_default();
        self.initial &= event["type"] != "BOOKMARK";
        self.initial
    }
}

/// The lines of a body as they come, each with its end.
fn lines(body: Incoming) -> impl Stream<Item = Result<Bytes>> + Send + Sync {
    let rest = Vec::new();
    let state = (BodyStream::new(body), rest);
    stream::unfold(state, |(mut body, mut rest)| async move {
        loop {
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                return Some((Ok(Bytes::from(line)), (body, rest)));
            }
            match body.next().await? {
                Ok(frame) => rest.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Err(error) => return Some((Err(error.into()), (body, rest))),
            }
        }
    })
}
