//! The JSON form, field by field, before any check.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::Expect;

/// More streams, events, memories or operations than any program uses; each costs memory before the
/// first operation.
pub(super) const MOST: usize = 1 << 16;

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
    #[serde(default, deserialize_with = "object_if_any")]
    pub(super) expect: Option<Expect>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawBuffer {
    pub(super) id: String,
    pub(super) bytes: usize,
    pub(super) init: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawHost {
    pub(super) id: String,
    pub(super) bytes: usize,
}

/// An operation: its kind, and whatever fields it has. All operations share one flat form, so that
/// every error can name its field.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
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
fn at_most<'de, D: Deserializer<'de>, T: Written + Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct List<T>(PhantomData<T>);

    impl<'de, T: Written + Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(Object(entry)) = entries.next_element()? {
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

fn object_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Expect>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|Object(expect)| expect))
}

/// A value that is written as an object.
trait Written {
    const NAME: &str;
}

impl Written for RawBuffer {
    const NAME: &str = "a buffer";
}

impl Written for RawHost {
    const NAME: &str = "a host memory";
}

impl Written for RawOp {
    const NAME: &str = "an operation";
}

impl Written for Expect {
    const NAME: &str = "what is expected";
}

/// A value that is read only from an object: a derived reader would also accept a list of the
/// fields in order.
struct Object<T>(T);

impl<'de, T: Written + Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Written + Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object that is {}", T::NAME)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}
