//! Looks bytes up in a table in constant memory, on the simulator or, with `--backend cuda`, on a card.
//! Both give the same bytes.
#![allow(unsafe_code)] // declares a kernel

use devarray::{
    Array, Context, Result,
    backend::Launch,
    kernel::{Grid, Image, In, Out, has_len},
};

/// The intensity of each sRGB byte, approximated by the byte's square.
static INTENSITY: [u16; 256] = {
    let mut table = [0; 256];
    let (mut at, mut byte) = (0, 0);
    while at < table.len() {
        table[at] = byte * byte;
        (at, byte) = (at + 1, byte + 1);
    }
    table
};

devarray::kernel! {
    /// Replaces each byte by its entry in the table.
    pub struct Linear(from: In<u8>, to: Out<u16>);

    // SAFETY: both arrays have one length; a thread whose element is inside them writes it. The table has
    // an entry for every byte.
    image = unsafe { Image::ptx(include_str!("kernels/lookup.ptx"), "lookup") };

    constants { "table" => &INTENSITY }

    launch {
        has_len(from, to.len())?;
        Grid::elements(to.len(), 256)
    }

    host {
        for (to, from) in to.iter_mut().zip(from) {
            *to = INTENSITY[usize::from(*from)];
        }
    }
}

fn linear<D: Launch>(device: D) -> Result<Vec<u16>> {
    let stream = Context::new(device)?.stream()?;
    let pixels: Vec<u8> = (0..=u8::MAX).cycle().step_by(7).take(3 * 640).collect();
    let pixels = Array::from_slice(&stream, &[640, 3], &pixels)?;
    let mut intensities = Array::uninit(&stream, &[640, 3])?;
    Linear::launch(&stream, &pixels, &mut intensities)?;
    intensities.to_vec(&stream)
}

fn main() -> Result<()> {
    let on_simulator = linear(devarray_mock::MockDevice::new())?;
    assert_eq!(on_simulator[..4], [0, 49, 196, 441]);
    if std::env::args().skip(1).eq(["--backend", "cuda"].map(str::to_owned)) {
        assert!(linear(devarray_cuda::CudaDevice::open(0)?)? == on_simulator);
        println!("the same {} numbers on the card", on_simulator.len());
    }
    Ok(())
}
