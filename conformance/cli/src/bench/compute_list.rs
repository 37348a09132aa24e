//! The functions that are measured if none is given.

/// The size of the arrays of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one for hardware, one for what host code computes")]
pub enum ListSize {
    /// 2²⁸ elements, with which other libraries were measured.
    Large,
    /// 2¹⁰ elements.
    Small,
}

/// Elementwise cases, reductions, a running sum and random numbers, as `NAME;EXPR;INPUTS[;REDUCE]`.
#[must_use]
pub fn compute_list(size: ListSize) -> Vec<String> {
    let (n, m, image, cube) = match size {
        ListSize::Large => (1_usize << 28, 16384, "256x512x512x3", "256x1024x1024"),
        ListSize::Small => (1 << 10, 32, "2x16x16x3", "4x16x16"),
    };
    let (half, sixteenth) = (n / 2, n / 16);
    let case = |text: &str| {
        let numbers = [("HALF", half), ("TALL", sixteenth), ("N", n), ("M", m)];
        let (name, rest) = text.split_once(';').unwrap_or((text, ""));
        let rest = rest.replace("IMAGE", image).replace("CUBE", cube);
        let rest =
            numbers.iter().fold(rest, |text, (letter, number)| text.replace(letter, &number.to_string()));
        format!("{name};{rest}")
    };
    CASES.iter().map(|text| case(text)).collect()
}

/// Capital letters stand for extents.
const CASES: [&str; 37] = [
    "add-f32;x0 + x1;f32@N,f32@N",
    "scale-f32;x0 * 2;f32@N",
    "axpy-f32;x0 * 2.5 + x1;f32@N,f32@N",
    "poly8-f32;((((((x0 * 0.1 + 0.2) * x0 + 0.3) * x0 + 0.4) * x0 + 0.5) * x0 + 0.6) * x0 + 0.7) * x0 + 0.8;f32@N",
    "exp-f32;exp(x0);f32@N",
    "tanh-f32;tanh(x0);f32@N",
    "sin-f32;sin(x0);f32@N",
    "gelu-f32;0.5 * x0 * (1 + tanh(0.7978845608 * (x0 + 0.044715 * x0 * x0 * x0)));f32@N",
    "exp-f64;exp(x0);f64@HALF",
    "add-f16;x0 + x1;f16@N,f16@N",
    "add-u8;x0 + x1;u8@N,u8@N",
    "less-f32;x0 < x1;f32@N,f32@N",
    "where-f32;where(x0, x1, x2);bool@N,f32@N,f32@N",
    "cast-f32-f16;cast(x0, f16);f32@N",
    "rowadd-f32;x0 + x1;f32@MxM,f32@M",
    "coladd-f32;x0 + x1;f32@MxM,f32@Mx1",
    "tadd-f32;x0 + x1;f32@MxM/permute(1,0),f32@MxM",
    "outer-f32;x0 * x1;f32@M,f32@Mx1",
    "everyadd-f32;x0 + x1;f32@MxM/index(:,::2),f32@MxM/index(:,::2)",
    "imagenorm-u8-f32;(cast(x0, f32) / 255 - x1) / x2;u8@IMAGE/permute(0,3,1,2),f32@1x3x1x1,f32@1x3x1x1",
    "sum-f32;x0;f32@N;sum",
    "sum-f16;x0;f16@N;sum",
    "sum-f64;x0;f64@HALF;sum",
    "max-f32;x0;f32@N;max",
    "argmax-f32;x0;f32@N;argmax",
    "sum0-f32;x0;f32@MxM;sum@0",
    "sum1-f32;x0;f32@MxM;sum@1",
    "summid-f32;x0;f32@CUBE;sum@1",
    "sum1-tall-f32;x0;f32@TALLx16;sum@1",
    "sum0-tall-f32;x0;f32@TALLx16;sum@0",
    "var1-f32;x0;f32@MxM;var@1",
    "argmax1-f32;x0;f32@MxM;argmax@1",
    "all-bool;x0;bool@N;all",
    "dot-f32;x0 * x1;f32@N,f32@N;sum",
    "softmax1-f32;x0;f32@MxM;softmax@1",
    "cumsum-f32;x0;f32@N;cumsum@0",
    "normal-f32;x0;f32@1/broadcast(N);normal",
];

/// The kind of result of a call in the list of small cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is timed in its own way")]
pub enum SmallResult {
    /// A new array.
    New,
    /// Written to the elements of an existing array.
    Into,
    /// One element on the host.
    Item,
}

/// Cases whose time is given in microseconds for each call.
pub const SMALL: [(&str, SmallResult); 6] = [
    ("small-add-100k;x0 + x1;f32@100000,f32@100000", SmallResult::New),
    ("small-add-100k-out;x0 + x1;f32@100000,f32@100000", SmallResult::Into),
    ("small-sum-100k;x0;f32@100000;sum", SmallResult::New),
    ("small-sum1-512;x0;f32@512x512;sum@1", SmallResult::New),
    (
        "small-gelu-100k;0.5 * x0 * (1 + tanh(0.7978845608 * (x0 + 0.044715 * x0 * x0 * x0)));f32@100000",
        SmallResult::New,
    ),
    ("small-sum-item-1k;x0;f32@1000;sum", SmallResult::Item),
];

#[cfg(test)]
mod tests {
    use super::{super::ComputeCase, CASES, ListSize, SMALL, compute_list};

    #[test]
    fn each_can_be_read_and_moves_what_its_peers_count() {
        let n = 1_usize << 28;
        let all: Vec<_> =
            compute_list(ListSize::Large).iter().map(|text| ComputeCase::parse(text).unwrap()).collect();
        let bytes = |name: &str| all.iter().find(|case| case.name == name).unwrap().len_bytes;
        assert_eq!(bytes("add-f32"), 12 * n);
        assert_eq!(bytes("where-f32"), 13 * n);
        assert_eq!(bytes("exp-f64"), 8 * n);
        assert_eq!(bytes("everyadd-f32"), 6 * n);
        assert_eq!(bytes("imagenorm-u8-f32"), 5 * 256 * 512 * 512 * 3 + 24);
        assert_eq!(bytes("sum-f32"), 4 * n + 4);
        assert_eq!(bytes("cumsum-f32"), 8 * n);
        assert_eq!(bytes("softmax1-f32"), 8 * n);
        assert_eq!(bytes("normal-f32"), 4 * n + 4);
        assert_eq!(all.len(), CASES.len());
        for text in
            compute_list(ListSize::Small).iter().map(|text| &text[..]).chain(SMALL.map(|(text, _)| text))
        {
            let case = ComputeCase::parse(text).unwrap();
            assert!(case.shape.iter().product::<usize>() <= 1 << 18, "{text}");
        }
    }
}
