//! Computes a stencil with shared memory, on the simulator or, with `--backend cuda`, on a card.
//! Both give the same bytes.
#![allow(unsafe_code)] // declares a kernel

use devarray::{
    Array, Context, Result,
    backend::Launch,
    kernel::{Dense, Grid, Image, In, Out, same_shape},
};

/// The columns and rows of a block.
const TILE: [u32; 2] = [32, 8];

devarray::kernel! {
    /// Computes the mean of each element and its four neighbours. Neighbours outside the array count as 0.
    pub struct Stencil(from: In<f32, Dense<2>>, to: Out<f32, Dense<2>>);

    // SAFETY: both arrays have one shape; a thread whose element is inside them writes it. Threads use the tile in
    // shared memory within the length that `launch` sets.
    image = unsafe { Image::ptx(include_str!("kernels/stencil.ptx"), "stencil") };

    launch {
        same_shape(from, to)?;
        let ([columns, rows], shape) = (TILE, to.shape());
        Grid::new([shape[1].div_ceil(columns as usize), shape[0].div_ceil(rows as usize), 1], [columns, rows, 1])
            .shared_bytes((columns as usize + 2) * (rows as usize + 2) * size_of::<f32>())
    }

    host {
        // The index before 0 wraps around, and so is out of range.
        let at = |row: usize, column: usize| from.get(&[row, column]).copied().unwrap_or(0.0);
        for row in 0..to.shape()[0] {
            for column in 0..to.shape()[1] {
                let vertical = at(row.wrapping_sub(1), column) + at(row + 1, column);
                let horizontal = at(row, column.wrapping_sub(1)) + at(row, column + 1);
                to[[row, column]] = ((vertical + horizontal) + at(row, column)) * 0.2;
            }
        }
    }
}

/// Smooths a bump ten times, and returns the bits of the result.
fn smoothed<D: Launch>(device: D) -> Result<Vec<u32>> {
    let stream = Context::new(device)?.stream()?;
    let mut here = Array::<f32, _>::zeros(&stream, &[100, 70])?;
    here.view_mut().slice_axis(0, 40..60)?.slice_axis(1, 20..45)?.fill(&stream, 1.0)?;
    let mut there = Array::uninit(&stream, here.shape())?;
    for _ in 0..5 {
        Stencil::launch(&stream, &here, &mut there)?;
        Stencil::launch(&stream, &there, &mut here)?;
    }
    Ok(here.to_vec(&stream)?.into_iter().map(f32::to_bits).collect())
}

fn main() -> Result<()> {
    let on_simulator = smoothed(devarray_mock::MockDevice::new())?;
    let sum: f32 = on_simulator.iter().copied().map(f32::from_bits).sum();
    // The sum stays the same until the bump reaches the border.
    assert!((sum - 500.0).abs() < 0.01, "{sum}");
    if std::env::args().skip(1).eq(["--backend", "cuda"].map(str::to_owned)) {
        assert!(smoothed(devarray_cuda::CudaDevice::open(0)?)? == on_simulator);
        println!("the same {} numbers on the card", on_simulator.len());
    }
    Ok(())
}
