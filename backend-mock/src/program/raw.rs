//! The JSON form, field by field, before anything is checked.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, SeqAccess, Visitor},
};

use super::{Expect, resolve::MOST};

/// One line.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a program")]
pub(super) struct RawProgram {
    pub(super) id: String,
    #[serde(deserialize_with = "at_most")]
    pub(super) buffers: Vec<RawBuffer>,
    #[serde(deserialize_with = "at_most")]
    pub(super) hosts: Vec<RawHost>,
    pub(super) streams: usize,
    pub(super) events: usize,
    #[serde(deserialize_with = "at_most")]
    pub(super) ops: Vec<RawOp>,
    #[serde(default)]
    pub(super) expect: Option<Expect>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a buffer")]
pub(super) struct RawBuffer {
    pub(super) id: String,
    pub(super) bytes: usize,
    pub(super) init: bool,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a host memory")]
pub(super) struct RawHost {
    pub(super) id: String,
    pub(super) bytes: usize,
}

/// An operation: its kind, and whatever fields it has. A flat form lets every error name its field.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, expecting = "an object that is an operation")]
pub(super) struct RawOp {
    #[serde(rename = "do")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src_pitch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst_pitch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) len: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) width: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) height: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<u8>,
}

/// A list that is no longer than any program needs: an entry takes much more memory than its text.
fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct List<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(entry) = entries.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::custom(format_args!("more than {MOST} entries")));
                }
                list.push(entry);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(List(PhantomData))
}
