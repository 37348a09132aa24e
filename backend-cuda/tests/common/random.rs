//! Random numbers that two devices must give alike.

use devarray::{
    Array, Result, StreamHandle,
    backend::Compute,
    function::{Computable, ElementType},
    random::{self, Key},
};

/// Numbers of one kind and type, by their bits.
type Numbers<D> = fn(&StreamHandle<D>, &[usize], Key) -> Result<Vec<u64>>;

fn bits_of<T: Computable, D: Compute>(stream: &StreamHandle<D>, array: &Array<T, D>) -> Result<Vec<u64>> {
    Ok(array.to_vec(stream)?.into_iter().map(Computable::to_bits).collect())
}

/// Every kind of random numbers, with the type and a name.
pub(crate) fn kinds<D: Compute>() -> Vec<(&'static str, ElementType, Numbers<D>)> {
    macro_rules! kinds {
        ($($name:literal $type:ty: |$stream:ident, $shape:ident, $key:ident| $made:expr;)*) => {
            vec![$((
                $name,
                <$type as Computable>::TYPE,
                |$stream, $shape, $key| {
                    let made: Array<$type, D> = $made?;
                    bits_of($stream, &made)
                },
            ),)*]
        };
    }
    kinds! {
        "bits" u8: |stream, shape, key| random::bits(stream, shape, key);
        "bits" u32: |stream, shape, key| random::bits(stream, shape, key);
        "bits" u64: |stream, shape, key| random::bits(stream, shape, key);
        "uniform" f32: |stream, shape, key| random::uniform(stream, shape, key);
        "uniform" f64: |stream, shape, key| random::uniform(stream, shape, key);
        "normal" f32: |stream, shape, key| random::normal(stream, shape, key);
        "normal" f64: |stream, shape, key| random::normal(stream, shape, key);
        "integers" i32: |stream, shape, key| random::integers(stream, shape, -1000..1_000_000_000, key);
        "integers" u64: |stream, shape, key| random::integers(stream, shape, 3..u64::MAX, key);
    }
}

/// Keys. The last is not at the beginning of a counter.
pub(crate) fn keys() -> [Key; 2] {
    [Key::new(42), Key::new(0xfedc_ba98_7654_3210).sequence(0x1234_5678_9abc_def0).at((1 << 34) - 1)]
}
