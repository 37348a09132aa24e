//! Functions on a device, with operands and results given as bits, so that nothing is rounded on
//! the way to a check.

use devarray::{
    Array, Context, ErasedArray, ErasedView, Error, StreamHandle,
    backend::{Capability, Compute},
    function::{Computable, DeviceFunction, ElementType, Function, ReduceOperation, Reduction},
    gather::OutOfRange,
};

use crate::{
    Harness, Outcome, Violation,
    violation::{ensure, same},
};

/// A context and a stream of it, if its device has the capability.
pub(crate) type Computing<D> = Option<(Context<D>, StreamHandle<D>)>;

/// Elements in a line, each given by its bits.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) of: ElementType,
    pub(crate) bits: Vec<u64>,
}

impl Line {
    pub(crate) fn new(of: ElementType, bits: &[u64]) -> Self {
        Self { of, bits: bits.to_vec() }
    }

    pub(crate) fn of<T: Computable>(values: &[T]) -> Self {
        Self { of: T::TYPE, bits: values.iter().map(|value| value.to_bits()).collect() }
    }

    /// The elements in device memory, in this shape.
    pub(crate) fn array<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        shape: &[usize],
    ) -> Result<ErasedArray<D>, Violation> {
        let item = self.of.len_bytes();
        let bytes: Vec<u8> = self.bits.iter().flat_map(|bits| bits.to_le_bytes()[..item].to_vec()).collect();
        Ok(ErasedArray::from_bytes(stream, shape, item, &bytes)?)
    }
}

/// The bits of elements of `item_bytes` bytes.
pub(crate) fn bits_of(bytes: &[u8], item_bytes: usize) -> Vec<u64> {
    let bits = |item: &[u8]| item.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(item_bytes).map(bits).collect()
}

/// The bits as they are stored: if they are a NaN, the bits of the quiet NaN.
pub(crate) fn canonical(of: ElementType, bits: u64) -> u64 {
    let (infinity, nan) = match of {
        ElementType::F16 => (0x7c00, 0x7e00),
        ElementType::BF16 => (0x7f80, 0x7fc0),
        ElementType::F32 => (0x7f80_0000, 0x7fc0_0000),
        ElementType::F64 => (0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000),
        _ => return bits,
    };
    let sign = 1 << (of.len_bytes() * 8 - 1);
    if bits & !sign > infinity { nan } else { bits }
}

/// A context and a stream of a device that computes functions; none if it does not, and refuses
/// with the right error.
pub(crate) fn computing<D: Compute>(harness: &Harness<D>) -> Result<Computing<D>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Functions) {
        return Ok(Some((context, stream)));
    }
    let ones = Line::of(&[1_u8, 1]).array(&stream, &[2])?;
    let function = Function::parse("x0 + 1", &[ElementType::U8], &[]).map_err(Error::from)?;
    let refused = function.apply(&stream, &[ones.view()], &[]).err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "map", capability: Capability::Functions, .. })
    );
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&ones.view().to_bytes(&stream)?, &[1, 1], "elements after a refusal")?;
    Ok(None)
}

/// A function from its text.
pub(crate) fn function(
    text: &str,
    inputs: &[ElementType],
    scalars: &[ElementType],
) -> Result<Function, Violation> {
    Ok(Function::parse(text, inputs, scalars).map_err(Error::from)?)
}

/// The values of a function for the elements of some views.
pub(crate) fn apply<D: Compute>(
    stream: &StreamHandle<D>,
    text: &str,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    scalars: &[(ElementType, u64)],
) -> Result<Line, Violation> {
    let types: Vec<_> = inputs.iter().map(|(of, _)| *of).collect();
    let scalar_types: Vec<_> = scalars.iter().map(|(of, _)| *of).collect();
    let function = function(text, &types, &scalar_types)?;
    let views: Vec<_> = inputs.iter().map(|(_, view)| view.clone()).collect();
    let bits: Vec<_> = scalars.iter().map(|(_, bits)| *bits).collect();
    let result = function.apply(stream, &views, &bits)?;
    let of = function.result_type();
    Ok(Line { of, bits: bits_of(&result.view().to_bytes(stream)?, of.len_bytes()) })
}

/// Checks that a function of lines gives these bits.
pub(crate) fn gives<D: Compute>(
    stream: &StreamHandle<D>,
    text: &str,
    inputs: &[Line],
    scalars: &[(ElementType, u64)],
    due: &Line,
) -> Outcome {
    let arrays: Result<Vec<_>, _> =
        inputs.iter().map(|line| line.array(stream, &[line.bits.len()])).collect();
    let arrays = arrays?;
    let views: Vec<_> = inputs.iter().zip(&arrays).map(|(line, array)| (line.of, array.view())).collect();
    let found = apply(stream, text, &views, scalars)?;
    ensure(found.of == due.of, || format!("{text} is {}, {} is due", found.of, due.of))?;
    let due: Vec<u64> = due.bits.iter().map(|&bits| canonical(due.of, bits)).collect();
    if let Some(at) = (0..due.len()).find(|&at| found.bits.get(at) != Some(&due[at])) {
        let of: Vec<_> = inputs.iter().map(|line| format!("{} {:#x}", line.of, line.bits[at])).collect();
        let (bits, wrong) = (due[at], found.bits.get(at));
        return Err(Violation::new(format!("{text} of {}: {wrong:#x?}, {bits:#x} is due", of.join(", "))));
    }
    Ok(())
}

/// Like [`computing`], for a device that gathers and scatters elements.
pub(crate) fn gathering<D: Compute>(harness: &Harness<D>) -> Result<Computing<D>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Gathers) {
        return Ok(Some((context, stream)));
    }
    let ones = Array::from_slice(&stream, &[2], &[1, 1])?;
    let refused = ones.take(&stream, &ones, 0, OutOfRange::Error).err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "gather", capability: Capability::Gathers, .. })
    );
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&ones.to_vec(&stream)?, &[1, 1], "elements after a refusal")?;
    Ok(None)
}

/// Like [`computing`], for a device that sorts elements and combines them by index.
pub(crate) fn ordering<D: Compute>(harness: &Harness<D>) -> Result<Computing<D>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Orders) {
        return Ok(Some((context, stream)));
    }
    let two = Array::from_slice(&stream, &[2], &[2, 1])?;
    let refused = two.sort(&stream, 0).err();
    let named =
        matches!(refused, Some(Error::Unsupported { operation: "sort", capability: Capability::Orders, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&two.to_vec(&stream)?, &[2, 1], "elements after a refusal")?;
    Ok(None)
}

/// Like [`computing`], for a device that multiplies matrices.
pub(crate) fn multiplying<D: Compute>(harness: &Harness<D>) -> Result<Computing<D>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Products) {
        return Ok(Some((context, stream)));
    }
    let one = Array::from_slice(&stream, &[1, 1], &[3])?;
    let refused = one.matmul(&stream, &one).err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "matmul", capability: Capability::Products, .. })
    );
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&one.to_vec(&stream)?, &[3], "elements after a refusal")?;
    Ok(None)
}

/// Like [`computing`], for a device that also reduces elements.
pub(crate) fn reducing<D: Compute>(harness: &Harness<D>) -> Result<Computing<D>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Reductions) {
        return Ok(Some((context, stream)));
    }
    let ones = Line::of(&[1_u8, 1]).array(&stream, &[2])?;
    let sum = Reduction::new(ReduceOperation::Sum);
    let refused = function("x0", &[ElementType::U8], &[])?.reduce(&stream, &[ones.view()], &[], &sum).err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "reduce", capability: Capability::Reductions, .. })
    );
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&ones.view().to_bytes(&stream)?, &[1, 1], "elements after a refusal")?;
    Ok(None)
}
