//! The cases that are measured if none is given.

/// Transposes, permutations, slices and broadcasts of 0.25 to 1 GiB, the most frequent copies of
/// array programs.
pub const BUILTIN: [&str; 33] = [
    "transpose:f32:16384x8192:permute(1,0)",
    "transpose:f16:16384x8192:permute(1,0)",
    "transpose:u8:16384x8192:permute(1,0)",
    "transpose:f64:16384x8192:permute(1,0)",
    "batched:f32:64x2048x1024:permute(0,2,1)",
    "permute:f32:512x384x640:permute(2,1,0)",
    "permute:f32:1024x1024x96:permute(1,0,2)",
    "NCHW-NHWC:f32:64x256x56x56:permute(0,2,3,1)",
    "NHWC-NCHW:f32:64x56x56x256:permute(0,3,1,2)",
    "NHWC3-NCHW:f32:64x512x512x3:permute(0,3,1,2)",
    "odd:f32:8191x8193:permute(1,0)",
    "5D:f32:24x32x28x36x40:permute(4,2,0,3,1)",
    "left:f32:16384x16384:index(:,:8192)",
    "every:f32:8192x16384:index(:,::2)",
    "every:f32:16384x8192:index(::2)",
    "offset:f32:8194x16386:index(1:-1,1:-1)",
    "cols:f32:4194304x64:index(:,:3)",
    "batched:f16:64x2048x1024:permute(0,2,1)",
    "permute:f16:512x384x640:permute(2,1,0)",
    "permute:f16:1024x1024x96:permute(1,0,2)",
    "NCHW-NHWC:f16:64x256x56x56:permute(0,2,3,1)",
    "NHWC-NCHW:f16:64x56x56x256:permute(0,3,1,2)",
    "NHWC3-NCHW:f16:64x512x512x3:permute(0,3,1,2)",
    "odd:f16:8191x8193:permute(1,0)",
    "5D:f16:24x32x28x36x40:permute(4,2,0,3,1)",
    "left:f16:16384x16384:index(:,:8192)",
    "every:f16:8192x16384:index(:,::2)",
    "every:f16:16384x8192:index(::2)",
    "offset:f16:8194x16386:index(1:-1,1:-1)",
    "cols:f16:4194304x64:index(:,:3)",
    "permute:f32:8x8x8x8x8x2048:permute(5,3,1,0,2,4)",
    "broadcast:f32:1x16384:broadcast(8192,16384)",
    "broadcast:f32:8192x1:broadcast(8192,16384)",
];

#[cfg(test)]
mod tests {
    use super::{super::Case, BUILTIN};

    #[test]
    fn each_can_be_read_and_none_is_listed_twice() {
        for (at, text) in BUILTIN.iter().enumerate() {
            text.parse::<Case>().unwrap();
            assert!(!BUILTIN[..at].contains(text), "{text}");
        }
    }
}
