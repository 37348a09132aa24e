//! Steps as golden cases write them.

use devarray::{
    Order,
    layout::{IndexItem, Slice},
};
use serde::{Deserialize, Deserializer, de};

use super::{Cut, Step};
use crate::{integer, object::Object};

/// A step in its JSON form.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum JsonStep {
    Index {
        items: Vec<JsonItem>,
    },
    Permute {
        #[serde(deserialize_with = "integer::many")]
        axes: Vec<isize>,
    },
    Flip {
        #[serde(default, deserialize_with = "integer::perhaps_many")]
        axes: Option<Vec<isize>>,
    },
    Squeeze {
        #[serde(default, deserialize_with = "integer::perhaps_many")]
        axes: Option<Vec<isize>>,
    },
    Broadcast {
        #[serde(deserialize_with = "integer::many")]
        shape: Vec<isize>,
    },
    Reshape {
        #[serde(deserialize_with = "integer::many")]
        shape: Vec<isize>,
        #[serde(deserialize_with = "concrete_order")]
        order: Order,
    },
    Ravel {
        #[serde(deserialize_with = "order")]
        order: Order,
    },
    Copy {
        #[serde(deserialize_with = "order")]
        order: Order,
    },
    Split {
        #[serde(deserialize_with = "integer::one")]
        section: isize,
        #[serde(deserialize_with = "integer::one")]
        take: isize,
    },
    ArraySplit {
        #[serde(deserialize_with = "integer::one")]
        axis: isize,
        #[serde(deserialize_with = "integer::one")]
        sections: isize,
        #[serde(deserialize_with = "integer::one")]
        take: isize,
    },
    SplitAt {
        #[serde(deserialize_with = "integer::one")]
        axis: isize,
        #[serde(deserialize_with = "integer::many")]
        at: Vec<isize>,
        #[serde(deserialize_with = "integer::one")]
        take: isize,
    },
}

impl From<Object<JsonStep>> for Step {
    fn from(Object(step): Object<JsonStep>) -> Self {
        match step {
            JsonStep::Index { items } => Self::Index(items.into_iter().map(IndexItem::from).collect()),
            JsonStep::Permute { axes } => Self::Permute(Some(axes)),
            JsonStep::Flip { axes } => Self::Flip(axes),
            JsonStep::Squeeze { axes } => Self::Squeeze(axes),
            JsonStep::Broadcast { shape } => Self::Broadcast(shape),
            JsonStep::Reshape { shape, order } => Self::Reshape(shape, order),
            JsonStep::Ravel { order } => Self::Ravel(order),
            JsonStep::Copy { order } => Self::Copy(order),
            JsonStep::Split { section, take } => Self::Split(Cut::Every(section), take),
            JsonStep::ArraySplit { axis, sections, take } => Self::Split(Cut::Into { axis, sections }, take),
            JsonStep::SplitAt { axis, at, take } => Self::Split(Cut::At { axis, at }, take),
        }
    }
}

/// An index item in its JSON form: an integer, a slice, null for a new axis, or `"..."`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an index item is an integer, a slice, null or \"...\"")]
pub(super) enum JsonItem {
    NewAxis(()),
    At(#[serde(deserialize_with = "integer::one")] isize),
    Slice(Object<JsonSlice>),
    Ellipsis(Ellipsis),
}

/// The text `"..."`.
#[derive(Deserialize)]
pub(super) enum Ellipsis {
    #[serde(rename = "...")]
    Dots,
}

/// A slice in its JSON form; an absent or null part is the default one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JsonSlice {
    #[serde(default, deserialize_with = "integer::perhaps")]
    start: Option<isize>,
    #[serde(default, deserialize_with = "integer::perhaps")]
    stop: Option<isize>,
    #[serde(default, deserialize_with = "integer::perhaps")]
    step: Option<isize>,
}

impl From<JsonItem> for IndexItem {
    fn from(item: JsonItem) -> Self {
        match item {
            JsonItem::NewAxis(()) => Self::NewAxis,
            JsonItem::At(position) => Self::At(position),
            JsonItem::Slice(Object(JsonSlice { start, stop, step })) => {
                Self::Slice(Slice { start, stop, step: step.unwrap_or(1) })
            }
            JsonItem::Ellipsis(Ellipsis::Dots) => Self::Ellipsis,
        }
    }
}

fn order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Order, D::Error> {
    let text = String::deserialize(deserializer)?;
    super::text::order(&text).ok_or_else(|| de::Error::custom(format!("order {text:?} is not C, F, A or K")))
}

/// A reshape has no order K.
fn concrete_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Order, D::Error> {
    match order(deserializer)? {
        Order::K => Err(de::Error::custom("a reshape takes order C, F or A")),
        order => Ok(order),
    }
}
