//! Layouts and host arrays for `serde`: values that are read are checked like new ones.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{HostArray, Layout, NdLayout};

#[derive(Serialize)]
#[serde(rename = "Layout")]
struct LayoutOut<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    offset: usize,
}

#[derive(Deserialize)]
#[serde(rename = "Layout", deny_unknown_fields)]
struct LayoutIn {
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
}

/// A structure of `shape`, `strides` and `offset`. Needs the feature `serde`.
impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (shape, strides, offset) = (self.shape(), self.strides(), self.offset());
        LayoutOut { shape, strides, offset }.serialize(serializer)
    }
}

/// Checked by [`Layout::new`], whose errors become those of the format. Needs the feature `serde`.
impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let LayoutIn { shape, strides, offset } = LayoutIn::deserialize(deserializer)?;
        Self::new(&shape, &strides, offset).map_err(D::Error::custom)
    }
}

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

/// A structure of `shape` and `data`, elements in C order. Needs the feature `serde`.
impl<T: Serialize> Serialize for HostArray<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ArrayOut { shape: self.shape(), data: self.as_slice() }.serialize(serializer)
    }
}

/// Checked by [`HostArray::new`], whose errors become those of the format. Memory grows with the
/// elements that are there, not with the shape. Needs the feature `serde`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for HostArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ArrayIn { shape, data } = ArrayIn::deserialize(deserializer)?;
        Self::new(&shape, data).map_err(D::Error::custom)
    }
}
