//! Exchanges to measure.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, Error, Result, bail, ensure};

use crate::limits::MEASURED_BYTES;

/// An exchange, its elements, and how many there are.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: Name,
    pub(super) element: Element,
    pub(super) count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    AllToAll,
    Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    U8,
    I32,
    F32,
    F64,
}

const NAMES: [(&str, Name); 6] = [
    ("all_reduce", Name::AllReduce),
    ("all_gather", Name::AllGather),
    ("reduce_scatter", Name::ReduceScatter),
    ("broadcast", Name::Broadcast),
    ("all_to_all", Name::AllToAll),
    ("send", Name::Send),
];

const ELEMENTS: [(&str, Element); 4] =
    [("u8", Element::U8), ("i32", Element::I32), ("f32", Element::F32), ("f64", Element::F64)];

/// The cases where none is named.
pub(super) fn defaults(ranks: usize, is_simulated: bool) -> Vec<Case> {
    let largest = if is_simulated { [64 << 10, 256 << 10] } else { [1 << 20, 256 << 20] };
    let sizes = [8, 4 << 10].into_iter().chain(largest);
    let case = |name, bytes: usize| Case { name, element: Element::F32, count: bytes / 4 };
    let all = NAMES.iter().flat_map(|&(_, name)| sizes.clone().map(move |bytes| case(name, bytes)));
    all.filter(|case| case.least_ranks() <= ranks).collect()
}

impl Case {
    pub(super) fn least_ranks(&self) -> usize {
        if self.name == Name::Send { 2 } else { 1 }
    }

    /// Elements of one part. There is one part for each rank.
    pub(super) fn part(&self, ranks: usize) -> usize {
        self.count.div_ceil(ranks)
    }

    /// Bytes that are counted.
    pub(super) fn bytes(&self, ranks: usize) -> usize {
        let count = match self.name {
            Name::AllGather | Name::ReduceScatter | Name::AllToAll => self.part(ranks) * ranks,
            Name::AllReduce | Name::Broadcast | Name::Send => self.count,
        };
        count * self.element.len_bytes()
    }

    /// Bytes on the bus for each counted byte.
    pub(super) fn factor(&self, ranks: usize) -> f64 {
        let share = (ranks - 1) as f64 / ranks as f64;
        match self.name {
            Name::AllReduce => 2.0 * share,
            Name::AllGather | Name::ReduceScatter | Name::AllToAll => share,
            Name::Broadcast | Name::Send => 1.0,
        }
    }
}

impl Element {
    fn len_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The name of one of a list.
fn name<T: Copy + PartialEq>(of: T, list: &[(&'static str, T)]) -> &'static str {
    list.iter().find(|(_, other)| *other == of).map_or("", |(name, _)| name)
}

/// One of a list, by its name.
fn named<T: Copy>(what: &str, text: &str, list: &[(&'static str, T)]) -> Result<T> {
    match list.iter().find(|(name, _)| *name == text) {
        Some((_, of)) => Ok(*of),
        None => {
            let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
            bail!("no {what} is called {text:?}; there are {}", names.join(", "))
        }
    }
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || -> Result<Self> {
            let form = "a case is NAME;DTYPE@COUNT";
            let (called, elements) = text.split_once(';').context(form)?;
            let (element, count) = elements.split_once('@').context(form)?;
            let (name, element) = (named("exchange", called, &NAMES)?, named("type", element, &ELEMENTS)?);
            let count: usize =
                count.parse().with_context(|| format!("{count:?} is no number of elements"))?;
            ensure!(count > 0, "nothing is exchanged");
            ensure!(
                count <= MEASURED_BYTES / element.len_bytes(),
                "{count} elements are too much to measure"
            );
            Ok(Self { name, element, count })
        };
        parse().with_context(|| text.to_owned())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{}@{}", name(self.name, &NAMES), name(self.element, &ELEMENTS), self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_and_count_whole_parts() {
        let case: Case = "all_to_all;f64@7".parse().unwrap();
        assert_eq!((case.part(2), case.bytes(2), case.factor(4)), (4, 64, 0.75));
        let case: Case = "all_reduce;f32@2".parse().unwrap();
        assert_eq!((case.to_string().as_str(), case.bytes(3), case.factor(2)), ("all_reduce;f32@2", 8, 1.0));
        assert_eq!((defaults(1, false).len(), defaults(2, true).len()), (20, 24));
        for (text, part) in [
            ("all_reduce", "NAME;DTYPE@COUNT"),
            ("reduce;f32@4", "no exchange is called \"reduce\""),
            ("send;f16@4", "no type is called"),
            ("send;f32@-4", "no number"),
            ("send;f32@0", "nothing"),
            ("send;u8@999999999999", "too much"),
        ] {
            let error = text.parse::<Case>().unwrap_err();
            assert!(format!("{error:#}").contains(part), "{error:#}");
        }
    }
}
