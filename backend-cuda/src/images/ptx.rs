//! The parameters of an entry, as the text of an image has them.

/// Bytes of each parameter of an entry; `None` if the text does not say.
pub(super) fn parameters(text: &str, entry: &str) -> Option<Vec<usize>> {
    let list = text.match_indices(".entry").find_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start().strip_prefix(entry)?.trim_start();
        let end = rest.find(')')?;
        rest.strip_prefix('(').map(|_| &rest[1..end])
    })?;
    let parameters = list.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
    parameters.map(len_bytes).collect()
}

/// Bytes of `.param .u64 name`, or of `.param .align 4 .b8 name[256]`.
fn len_bytes(parameter: &str) -> Option<usize> {
    let rest = parameter.strip_prefix(".param")?;
    let kinds = [
        "u8", "s8", "b8", "u16", "s16", "b16", "f16", "u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64",
    ];
    let kind = rest
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('.'))
        .find(|word| kinds.contains(word))?;
    let item_bytes = kind[1..].parse::<usize>().ok()? / 8;
    let Some((_, count)) = rest.split_once('[') else { return Some(item_bytes) };
    Some(item_bytes * count.split(']').next()?.trim().parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::parameters;

    const TEXT: &str = "
        .version 8.0
        .visible .entry scaled(
            .param .u64 scaled_param_0, .param .u8 scaled_param_1)
        { ret; }
        .visible .entry scale(
            .param .u64 scale_param_0,
            .param .u64 .ptr .global .align 4 scale_param_1,
            .param .f32 scale_param_2,
            .param .align 8 .b8 scale_param_3[24]
        )
        .maxntid 256, 1, 1
        { ret; }
        .visible .entry nothing()
        { ret; }";

    #[test]
    fn sizes_are_those_of_the_text() {
        assert_eq!(parameters(TEXT, "scale"), Some(vec![8, 8, 4, 24]));
        assert_eq!(parameters(TEXT, "scaled"), Some(vec![8, 1]));
        assert_eq!(parameters(TEXT, "nothing"), Some(vec![]));
        assert_eq!(parameters(TEXT, "other"), None);
        assert_eq!(parameters(".entry odd(.param .v2 x)", "odd"), None);
    }
}
