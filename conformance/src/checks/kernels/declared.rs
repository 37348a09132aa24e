//! The kernels that the laws launch.
#![allow(unsafe_code)] // declares kernels

use devarray::kernel::{Dense, Grid, Image, In, InOut, Out, Strided, has_len, same_shape};

const LAWS: &str = include_str!("../../../kernels/laws.ptx");

/// The squares of all bytes.
pub(crate) static SQUARES: [u32; 256] = {
    let mut squares = [0; 256];
    let mut at = 0;
    while at < 256 {
        squares[at as usize] = at * at;
        at += 1;
    }
    squares
};

devarray::kernel! {
    /// to[i] = k · from[i] + i
    pub(crate) struct Scale(from: In<u32>, to: Out<u32>, k: u32);

    // SAFETY: threads below the length of both read an element each and write one.
    image = unsafe { Image::ptx(LAWS, "scale") };

    launch {
        has_len(from, to.len())?;
        Grid::elements(to.len(), 128)
    }

    host {
        for (at, (to, from)) in (0..).zip(to.iter_mut().zip(from)) {
            *to = k.wrapping_mul(*from).wrapping_add(at);
        }
    }
}

devarray::kernel! {
    /// to += from
    pub(crate) struct AddTo(from: In<u16, Strided<2>>, to: InOut<u16, Strided<2>>);

    // SAFETY: threads below the number of elements, which both have, read and write the
    // element at one index.
    image = unsafe { Image::ptx(LAWS, "add_to") };

    launch {
        same_shape(from, to)?;
        Grid::elements(to.len(), 128)
    }

    host {
        for (to, from) in to.iter_mut().zip(from.iter()) {
            *to = to.wrapping_add(*from);
        }
    }
}

devarray::kernel! {
    /// to[i] = squares[from[i]] + values[from[i] % 8]
    pub(crate) struct LookUp(from: In<u8>, to: Out<u32>, values: [u32; 8]);

    // SAFETY: threads below the length of both read an element each and write one; the tables have
    // an entry for every byte.
    image = unsafe { Image::ptx(LAWS, "look_up") };

    constants { "squares" => &SQUARES }

    launch {
        has_len(from, to.len())?;
        Grid::elements(to.len(), 128)
    }

    host {
        for (to, from) in to.iter_mut().zip(from) {
            *to = SQUARES[usize::from(*from)] + values[usize::from(*from) % 8];
        }
    }
}

devarray::kernel! {
    /// Reverses each line.
    pub(crate) struct Reverse(from: In<u8, Dense<2>>, to: Out<u8, Dense<2>>);

    // SAFETY: each block reads and writes one line, through shared memory of the line's length.
    image = unsafe { Image::ptx(LAWS, "reverse") };

    launch {
        same_shape(from, to)?;
        Grid::new([to.shape()[0], 1, 1], [64, 1, 1]).shared_bytes(to.shape()[1])
    }

    host {
        for row in 0..to.shape()[0] {
            let len = to.shape()[1];
            for at in 0..len {
                to[[row, at]] = from[[row, len - 1 - at]];
            }
        }
    }
}

devarray::kernel! {
    /// A kernel whose launch has the numbers of blocks and threads that its arguments give.
    pub(crate) struct Asks(to: Out<u32>, blocks: u32, threads: u32, shared_bytes: u32);

    // SAFETY: every launch of it is refused.
    image = unsafe { Image::ptx(LAWS, "scale") };

    launch {
        Grid::new([blocks as usize, 1, 1], [threads, 1, 1]).shared_bytes(shared_bytes as usize)
    }

    host { to.fill(0) }
}
