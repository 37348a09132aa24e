//! Layouts for `serde`. A layout that is read is checked like a new one.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::Layout;

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

/// Writes a structure of `shape`, `strides` and `offset`. Needs the feature `serde`.
impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (shape, strides, offset) = (self.shape(), self.strides(), self.offset());
        LayoutOut { shape, strides, offset }.serialize(serializer)
    }
}

/// [`Layout::new`] checks it; its errors become errors of the format. Needs the feature `serde`.
impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let LayoutIn { shape, strides, offset } = LayoutIn::deserialize(deserializer)?;
        Self::new(&shape, &strides, offset).map_err(D::Error::custom)
    }
}
