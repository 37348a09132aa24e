//! Host arrays for `serde`. An array that is read is checked like a new one.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{HostArray, NdLayout};

#[derive(Serialize)]
#[serde(rename = "HostArray")]
struct ArrayOut<'a, T> {
    shape: &'a [usize],
    data: &'a [T],
}

#[derive(Deserialize)]
#[serde(rename = "HostArray", deny_unknown_fields)]
struct ArrayIn<T> {
    shape: Vec<usize>,
    data: Vec<T>,
}

/// Writes a structure of `shape` and `data`, with elements in C order. Needs the feature `serde`.
impl<T: Serialize> Serialize for HostArray<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ArrayOut { shape: self.shape(), data: self.as_slice() }.serialize(serializer)
    }
}

/// [`HostArray::new`] checks it; its errors become errors of the format. Memory grows with the
/// elements that are there, not with the shape. Needs the feature `serde`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for HostArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ArrayIn { shape, data } = ArrayIn::deserialize(deserializer)?;
        Self::new(&shape, data).map_err(D::Error::custom)
    }
}
