//! One object of any kind, read from and written to any serde format.
//!
//! ```text
//! manifest ──decode──► Object { meta, spec } ──validate──► problems
//!     ▲                       │
//!     └────────manifest───────┘
//! ```

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::foreign::{belongs_to_metadata, belongs_to_spec};
use crate::kinds::kinds;
use crate::meta::{ForeignMetadata, OwnMetadata};
use crate::published::Publishes;
use crate::{Kind, Meta, Problem, Published};

/// An object as planning sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Where it is and who owns it.
    pub meta: Meta,
    /// What it says.
    pub spec: Spec,
    /// What its status says of the past. The rest of a status of our kinds is ours to compute, so it
    /// is not read.
    pub published: Option<Box<Published>>,
}

macro_rules! define {
    ($($kind:ident($spec:ty) $api_version:literal $name:literal $plural:literal $scope:ident $owner:ident;)*) => {
        /// What an object says, by kind.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Spec {
            $($kind(Box<$spec>),)*
        }

        impl Object {
            /// The object's kind.
            pub fn kind(&self) -> Kind {
                match &self.spec {
                    $(Spec::$kind(_) => Kind::$kind,)*
                }
            }
        }

        fn decode_by_kind<'de, D: Deserializer<'de>>(kind: Kind, deserializer: D) -> Result<Object, D::Error> {
            match kind {
                $(Kind::$kind => {
                    let (meta, spec, published) = <$spec as Body>::Manifest::deserialize(deserializer)?.open();
                    Ok(Object { meta, spec: Spec::$kind(Box::new(spec)), published: published.map(Box::new) })
                })*
            }
        }

        fn body(spec: &Spec) -> Value {
            match spec {
                $(Spec::$kind(spec) => spec.write(),)*
            }
        }

        /// What is wrong in the object itself; nothing when it may be planned.
        pub fn validate(object: &Object) -> Vec<Problem> {
            match &object.spec {
                $(Spec::$kind(spec) => spec.validate(&object.meta),)*
            }
        }
    };
}

kinds!(define);

/// Decodes one manifest of a known kind from any serde format, so that YAML errors carry line
/// and column.
///
/// An object of a namespaced kind that names no namespace is in `default`.
pub fn decode<'de, D: Deserializer<'de>>(kind: Kind, deserializer: D) -> Result<Object, D::Error> {
    let mut object = decode_by_kind(kind, deserializer)?;
    match (kind.namespaced(), object.meta.namespace.is_empty()) {
        (true, true) => object.meta.namespace = "default".into(),
        (false, false) => object.meta.namespace = "".into(),
        _ => {}
    }
    Ok(object)
}

/// The object as a manifest: the inverse of [`decode`].
pub fn manifest(object: &Object) -> Value {
    let mut manifest = body(&object.spec);
    manifest["apiVersion"] = json!(object.kind().api_version());
    manifest["kind"] = json!(object.kind().kind());
    manifest["metadata"] = object.meta.to_value();
    manifest
}

/// What a kind's own file says about it.
pub(crate) trait Body: Serialize + Sized {
    /// How its manifests are laid out.
    type Manifest: Manifest<Body = Self> + DeserializeOwned;

    /// The parts of its manifest beside kind and metadata.
    fn write(&self) -> Value {
        json!({ "spec": self })
    }

    /// What is wrong in the object itself.
    fn validate(&self, meta: &Meta) -> Vec<Problem>;
}

/// A manifest as it is read.
pub(crate) trait Manifest {
    /// What it holds.
    type Body;

    /// Takes it apart into metadata, content and what its status says of the past.
    fn open(self) -> (Meta, Self::Body, Option<Published>);
}

/// A manifest of one of our kinds: unknown fields are refused, the status is not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
pub(crate) struct Own<S, T = IgnoredAny> {
    api_version: IgnoredAny,
    kind: IgnoredAny,
    metadata: OwnMetadata,
    spec: S,
    status: Option<T>,
}

impl<S, T: Publishes> Manifest for Own<S, T> {
    type Body = S;

    fn open(self) -> (Meta, S, Option<Published>) {
        (self.metadata.into(), self.spec, self.status.and_then(Publishes::published))
    }
}

/// A manifest of somebody else's kind, of which we know a part.
#[derive(Deserialize)]
pub(crate) struct Foreign<S> {
    metadata: ForeignMetadata,
    spec: S,
    #[serde(default, rename = "namespace", deserialize_with = "belongs_to_metadata")]
    _namespace: (),
    #[serde(default, rename = "endpoints", deserialize_with = "belongs_to_spec")]
    _endpoints: (),
}

impl<S> Manifest for Foreign<S> {
    type Body = S;

    fn open(self) -> (Meta, S, Option<Published>) {
        (self.metadata.into(), self.spec, None)
    }
}
