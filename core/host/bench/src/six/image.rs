//! Processes an image, all in integers: converts it to grey, equalizes its histogram, and blurs it over 3 x 3 pixels.

use devarray::{
    Array, Compute, Result, StreamHandle, function::Expression, function::Operands as _, gather::OutOfRange,
    ix,
};
use ndarray::{Array2, Array3, Zip, s};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const SIDE: usize = 2048;

// devarray
fn ours<D: Compute>(on: &StreamHandle<D>, image: &Array<u8, D>) -> Result<Array<u8, D>> {
    let [red, green, blue] = [0, 1, 2].map(|channel| image.index(&ix![.., .., channel]));
    let wide = |x: Expression<u8>| x.cast::<u32>();
    let grey: Array<u8, D> = (red?, green?, blue?)
        .map(on, |(r, g, b)| ((wide(r) * 77 + wide(g) * 150 + wide(b) * 29) >> 8).cast())?;
    let below = grey.bincount(on, 256)?.cumsum(on, 0)?;
    let levels: Array<u8, D> =
        (&below, grey.len() as i64).map(on, |(below, len)| (below * 255).floor_divide(len).cast())?;
    let even = levels.take(on, &grey, 0, OutOfRange::Error)?;
    let [above, here, under] = [even.index(&ix![..-2])?, even.index(&ix![1..-1])?, even.index(&ix![2..])?];
    let wide = |x: Expression<u8>| x.cast::<u16>();
    let sums = (above, here, under).map(on, |(a, h, u)| wide(a) + wide(h) + wide(u))?;
    let left = sums.index(&ix![.., ..-2])?;
    let (middle, right) = (sums.index(&ix![.., 1..-1])?, sums.index(&ix![.., 2..])?);
    (left, middle, right).map(on, |(l, m, r)| (l + m + r + 4).floor_divide(9).cast())
}
// ndarray
fn theirs(image: &Array3<u8>) -> Array2<u8> {
    let grey = Zip::from(image.slice(s![.., .., 0]))
        .and(image.slice(s![.., .., 1]))
        .and(image.slice(s![.., .., 2]))
        .map_collect(|&r, &g, &b| ((u32::from(r) * 77 + u32::from(g) * 150 + u32::from(b) * 29) >> 8) as u8);
    let mut counts = [0_usize; 256];
    for &level in &grey {
        counts[usize::from(level)] += 1;
    }
    let mut below = 0;
    let levels = counts.map(|count| {
        below += count;
        (below * 255 / grey.len()) as u8
    });
    let even = grey.mapv(|level| levels[usize::from(level)]);
    let sums = Zip::from(even.slice(s![..-2, ..]))
        .and(even.slice(s![1..-1, ..]))
        .and(even.slice(s![2.., ..]))
        .map_collect(|&a, &h, &u| u16::from(a) + u16::from(h) + u16::from(u));
    Zip::from(sums.slice(s![.., ..-2]))
        .and(sums.slice(s![.., 1..-1]))
        .and(sums.slice(s![.., 2..]))
        .map_collect(|&l, &m, &r| ((l + m + r + 4) / 9) as u8)
}
// end

pub(crate) fn compare(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let mut random = Random(3);
    // The image is dark, so that the equalization changes it.
    let image: Vec<u8> =
        (0..SIDE * SIDE * 3).map(|_| (random.unit() * random.unit() * 256.0) as u8).collect();
    let ours_image = Array::from_slice(stream, &[SIDE, SIDE, 3], &image)?;
    let theirs_image = Array3::from_shape_vec((SIDE, SIDE, 3), image)?;
    let (found, due, seconds) = race(stream, || ours(stream, &ours_image), || theirs(&theirs_image))?;
    agreement::equal("image", &found.to_vec(stream)?, due.as_slice().unwrap_or_default())?;
    Ok(table::Row {
        name: "image of 2048 x 2048 u8 RGB: grey, histogram, equalized, blur 3 x 3",
        agreement: "equal",
        seconds,
        source: include_str!("image.rs"),
        markers: table::MARKERS,
    })
}
