//! The operands of functions: positions, scalars, broadcasting, layouts on either side.

use devarray::{
    Array, ArrayViewMut, StreamHandle,
    backend::Compute,
    function::{ElementType, Expression, Operands},
};

use crate::{
    Harness, Outcome, Pattern,
    computing::{apply, computing},
    patterns::{SHAPES, elements},
    violation::same,
};

/// The index of each element of a shape, in C order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let index = |mut number: usize| {
        let mut index = vec![0; shape.len()];
        for (at, extent) in index.iter_mut().zip(shape).rev() {
            (*at, number) = (number % extent, number / extent);
        }
        index
    };
    (0..shape.iter().product()).map(index).collect()
}

/// Positions are counted along the axes of the result, whatever its layout is.
pub fn positions<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let target = Pattern::random(&mut rng, shape, false);
        let mut all = elements::<i64>(1, target.base_len());
        let mut written = Array::from_slice(&stream, &target.base, &all)?;
        let count =
            |k: Expression<i64>| (0..shape.len()).fold(k, |sum, axis| sum * 300 + Expression::position(axis));
        (5_i64,).map_into(&stream, &mut target.view_mut(&mut written)?, |(k,)| count(k))?;
        let number = |index: &Vec<usize>| {
            index.iter().fold(5_i64, |sum, &at| sum.wrapping_mul(300).wrapping_add(at.cast_signed() as i64))
        };
        let due: Vec<i64> = indices(shape).iter().map(number).collect();
        target.picture().write(&mut all, &due);
        same(&written.to_vec(&stream)?, &all, &format!("positions along the axes of {target:?}"))?;
    }
    Ok(())
}

/// A scalar is an argument: another value gives another result of the same function.
pub fn scalars<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let (x, data) = (Array::from_slice(&stream, &[3], &[1_i8, -2, 100])?, [1_i8, -2, 100]);
    let (y, doubles) = (Array::from_slice(&stream, &[2], &[0.1_f64, -7.0])?, [0.1_f64, -7.0]);
    for round in 0..3 {
        for k in [0_i8, 3, -1, i8::MIN] {
            let found = (&x, k).map(&stream, |(x, k)| x * k + k)?;
            let due = data.map(|x| x.wrapping_mul(k).wrapping_add(k));
            same(&found.to_vec(&stream)?, &due, &format!("times {k} plus {k}, round {round}"))?;
        }
        for (k, l) in [(0.5_f64, 1.0_f32), (-3.7, 1e-40), (1e300, -2.5)] {
            let found = (&y, k, l).map(&stream, |(y, k, l)| y * k - l.cast::<f64>())?;
            let due = doubles.map(|y| (y * k - f64::from(l)).to_bits());
            let found: Vec<u64> = found.to_vec(&stream)?.into_iter().map(f64::to_bits).collect();
            same(&found, &due, &format!("times {k} minus {l}, round {round}"))?;
        }
    }
    let types = [ElementType::U8, ElementType::I16, ElementType::U64];
    let given = [(types[0], 200), (types[1], 0xfff0), (types[2], u64::MAX)];
    let found = apply(&stream, "cast(k0, u64) + cast(k1, u64) + k2", &[], &given)?;
    same(&found.bits, &[200_u64.wrapping_sub(16).wrapping_sub(1)], "a function of scalars alone")
}

/// Rows, columns, both, and single elements are broadcast as NumPy does.
pub fn broadcast<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for (rows, columns) in [(3, 4), (1, 7), (65, 1), (33, 130)] {
        let table: Vec<u32> = elements(1, rows * columns);
        let (row, column): (Vec<u32>, Vec<u32>) = (elements(2, columns), elements(3, rows));
        let x = Array::from_slice(&stream, &[rows, columns], &table)?;
        let r = Array::from_slice(&stream, &[columns], &row)?;
        let c = Array::from_slice(&stream, &[rows, 1], &column)?;
        let one = Array::from_slice(&stream, &[], &[9_u32])?;
        let each = |right: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
            (0..rows * columns).map(|at| right(at / columns, at % columns)).collect()
        };
        let what = |what: &str| format!("{what} of {rows} x {columns}");
        let found = (&x, &r).map(&stream, |(x, r)| x ^ (r * 3))?;
        let due = each(&|i, j| table[i * columns + j] ^ row[j].wrapping_mul(3));
        same(&found.to_vec(&stream)?, &due, &what("rows"))?;
        let found = (&c, &x).map(&stream, |(c, x)| x ^ (c * 3))?;
        let due = each(&|i, j| table[i * columns + j] ^ column[i].wrapping_mul(3));
        same(&found.to_vec(&stream)?, &due, &what("columns"))?;
        let found = (&c, &r, &one).map(&stream, |(c, r, one)| c * r + one)?;
        let due = each(&|i, j| column[i].wrapping_mul(row[j]).wrapping_add(9));
        same(&found.to_vec(&stream)?, &due, &what("an outer product"))?;
    }
    Ok(())
}

/// Three inputs of three widths, each of any layout; the result is dense.
pub fn strided<D: Compute>(harness: &Harness<D>) -> Outcome {
    any_layouts(harness, |stream, case, _| {
        let [x, y, z] = &case.patterns;
        let found = (&x.view(&case.bytes)?, &y.view(&case.words)?, &z.view(&case.wide)?)
            .map(stream, |(x, y, z)| (x.cast::<u64>() * 3 + y.cast::<u64>()) ^ z)?;
        let due = case.due();
        same(&found.to_vec(stream)?, &due, &format!("a function of {:?}", case.patterns))
    })
}

/// The result is a view of any layout: its elements are written, and no bytes between them.
pub fn gaps<D: Compute>(harness: &Harness<D>) -> Outcome {
    any_layouts(harness, |stream, case, target| {
        let [x, y, z] = &case.patterns;
        let mut all = elements::<u64>(4, target.base_len());
        let mut written = Array::from_slice(stream, &target.base, &all)?;
        (&x.view(&case.bytes)?, &y.view(&case.words)?, &z.view(&case.wide)?).map_into(
            stream,
            &mut target.view_mut(&mut written)?,
            |(x, y, z)| (x.cast::<u64>() * 3 + y.cast::<u64>()) ^ z,
        )?;
        target.picture().write(&mut all, &case.due());
        same(&written.to_vec(stream)?, &all, &format!("into {target:?} of {:?}", case.patterns))
    })
}

/// Inputs of three widths, with the patterns of their views.
struct Inputs<D: Compute> {
    patterns: [Pattern; 3],
    bytes: Array<u8, D>,
    words: Array<u32, D>,
    wide: Array<u64, D>,
    shown: (Vec<u8>, Vec<u32>, Vec<u64>),
}

impl<D: Compute> Inputs<D> {
    /// The expected result: `(x * 3 + y) ^ z`.
    fn due(&self) -> Vec<u64> {
        let (x, y, z) = &self.shown;
        let each = x.iter().zip(y).zip(z);
        each.map(|((&x, &y), &z)| (u64::from(x) * 3 + u64::from(y)) ^ z).collect()
    }
}

fn any_layouts<D: Compute>(
    harness: &Harness<D>,
    check: impl Fn(&StreamHandle<D>, &Inputs<D>, &Pattern) -> Outcome,
) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let patterns = [(); 3].map(|()| Pattern::random(&mut rng, shape, true));
        let [x, y, z] = &patterns;
        let bytes: Vec<u8> = elements(1, x.base_len());
        let words: Vec<u32> = elements(2, y.base_len());
        let wide: Vec<u64> = elements(3, z.base_len());
        let inputs = Inputs {
            bytes: Array::from_slice(&stream, &x.base, &bytes)?,
            words: Array::from_slice(&stream, &y.base, &words)?,
            wide: Array::from_slice(&stream, &z.base, &wide)?,
            shown: (x.picture().read(&bytes), y.picture().read(&words), z.picture().read(&wide)),
            patterns,
        };
        check(&stream, &inputs, &Pattern::random(&mut rng, shape, false))?;
    }
    Ok(())
}

/// A result may be one of the inputs, of any layout: every element is read before it is written.
pub fn in_place<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let target = Pattern::random(&mut rng, shape, false);
        let other = Pattern::random(&mut rng, shape, true);
        let (mut all, from): (Vec<u32>, Vec<u32>) =
            (elements(1, target.base_len()), elements(2, other.base_len()));
        let mut array = Array::from_slice(&stream, &target.base, &all)?;
        let operand = Array::from_slice(&stream, &other.base, &from)?;
        let mut view: ArrayViewMut<'_, u32, D> = target.view_mut(&mut array)?;
        view.update(&stream, (&other.view(&operand)?, 7), |x, (y, k)| x * k + y)?;
        view.map_in_place(&stream, |x| x ^ 0x55)?;
        let old = target.picture().read(&all);
        let new = old.iter().zip(other.picture().read(&from));
        let due: Vec<u32> = new.map(|(x, y)| x.wrapping_mul(7).wrapping_add(y) ^ 0x55).collect();
        target.picture().write(&mut all, &due);
        same(&array.to_vec(&stream)?, &all, &format!("in place of {target:?}, with {other:?}"))?;
    }
    Ok(())
}
