//! The stores that the command line names.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use backends::Provider;

use super::embedded::Embedded;
use crate::cli::{StoreArguments, Stored};

/// A store, ready to be used.
pub struct Opened {
    /// Where records go.
    pub provider: Arc<dyn Provider>,
    /// The one that answers DNS itself, where it is that one.
    pub embedded: Option<Arc<Embedded>>,
    /// Whose marks tell our records from others'; `None` where there are no others'.
    pub owner: Option<String>,
}

/// Opens the store.
pub fn open(arguments: &StoreArguments, state: Option<&Path>) -> Result<Opened> {
    match arguments.store {
        Stored::Embedded => embedded(state),
        _ => bail!("this store is not there yet"),
    }
}

fn embedded(state: Option<&Path>) -> Result<Opened> {
    let file = state.map(|state| state.join("records"));
    let (store, trouble) = Embedded::open(file.as_deref()).context("the records cannot be read")?;
    if let Some(trouble) = trouble {
        tracing::warn!("{trouble}");
    }
    let store = Arc::new(store);
    Ok(Opened { provider: store.clone(), embedded: Some(store), owner: None })
}
