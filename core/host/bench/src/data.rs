//! Inputs, equal for every peer, and distributed like the inputs of `peers.py`.

use half::f16;

/// Matrices of `n` x `n` elements, in rows.
pub(crate) struct Data {
    pub(crate) n: usize,
    /// Normally distributed, with mean 3.
    pub(crate) x: Vec<f32>,
    /// Normally distributed, with mean 0.5.
    pub(crate) y: Vec<f32>,
    /// Positive.
    pub(crate) p: Vec<f32>,
}

impl Data {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = Random(1);
        let mut normal = |mean: f32| -> Vec<f32> { (0..n * n).map(|_| random.normal() + mean).collect() };
        let (x, y) = (normal(3.0), normal(0.5));
        let p = x.iter().map(|x| x.abs() + 0.1).collect();
        Self { n, x, y, p }
    }

    /// The first half of `x`, as `f64`.
    pub(crate) fn doubles(&self) -> Vec<f64> {
        self.x[..self.n * self.n / 2].iter().copied().map(f64::from).collect()
    }

    pub(crate) fn halves(values: &[f32]) -> Vec<f16> {
        values.iter().copied().map(f16::from_f32).collect()
    }

    /// Random bytes below 255.
    pub(crate) fn bytes(&self, seed: u64) -> Vec<u8> {
        let mut random = Random(seed);
        (0..self.n * self.n).map(|_| (random.next() % 255) as u8).collect()
    }

    /// Random numbers of rows, which may repeat.
    pub(crate) fn rows(&self) -> Vec<i64> {
        let mut random = Random(3);
        (0..self.n).map(|_| (random.next() % self.n as u64) as i64).collect()
    }
}

/// The generator `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn unit(&mut self) -> f32 {
        ((self.next() >> 40) as f32 + 0.5) / (1 << 24) as f32
    }

    /// A normally distributed number, by the method of Box and Muller.
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f32::consts::TAU * self.unit()).cos()
    }
}
