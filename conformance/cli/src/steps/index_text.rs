//! NumPy's basic indexing, as written between brackets in Python.

use devarray::layout::{IndexItem, Slice};

use crate::integer::Integer;

/// Parses `3`, `-1`, `::2`, `5:-5`, `...` or `None`; an error tells the mistake.
pub(super) fn parse_item(text: &str) -> Result<IndexItem, String> {
    match text {
        "..." | "Ellipsis" => Ok(IndexItem::Ellipsis),
        "None" | "newaxis" | "np.newaxis" => Ok(IndexItem::NewAxis),
        _ if text.contains(':') => parse_slice(text),
        _ => integer(text)
            .map(IndexItem::At)
            .map_err(|_| format!("{text:?} is no integer, slice, `...` or `None`")),
    }
}

pub(super) fn integer(text: &str) -> Result<isize, String> {
    text.parse().map(|Integer(number)| number)
}

fn parse_slice(text: &str) -> Result<IndexItem, String> {
    let mut parts = text.split(':').map(str::trim);
    let mut part = || match parts.next() {
        None | Some("" | "None") => Ok(None),
        Some(text) => integer(text).map(Some),
    };
    let (start, stop, step) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return Err(format!("{text:?} has more than two colons"));
    }
    Ok(IndexItem::Slice(Slice { start, stop, step: step.unwrap_or(1) }))
}

#[cfg(test)]
mod tests {
    use devarray::layout::{IndexItem, Slice};

    use super::parse_item;

    #[test]
    fn slices_leave_out_what_is_left_out() {
        let slice = |start, stop, step| Ok(IndexItem::Slice(Slice { start, stop, step }));
        assert_eq!(parse_item(":"), slice(None, None, 1));
        assert_eq!(parse_item("::-2"), slice(None, None, -2));
        assert_eq!(parse_item("5:-5"), slice(Some(5), Some(-5), 1));
        assert_eq!(parse_item(" 1 : None : +3".trim()), slice(Some(1), None, 3));
        assert_eq!(parse_item("-1"), Ok(IndexItem::At(-1)));
        assert_eq!(parse_item(":99999999999999999999"), slice(None, Some(isize::MAX), 1));
        for text in ["", "a", "1:a", "1:2:3:4", "1.5", "...."] {
            assert!(parse_item(text).is_err(), "{text}");
        }
    }
}
