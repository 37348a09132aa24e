//! Computes functions and reductions of slices in host memory, in the calling thread.
#![allow(unsafe_code)] // lends slices, after checking their lengths, to code that computes

use std::fmt;

use devarray_layout::{Axes, Layout, List, Order, broadcast_shapes, check_inside};

#[cfg(feature = "executor")]
use crate::executor::{execute, execute_reduction};
#[cfg(not(feature = "executor"))]
use crate::interpreter::{interpret as execute, interpret_reduction as execute_reduction};
use crate::{
    Combine, Computable, ElementType, Function, FunctionError, FunctionErrorKind, ReduceForm, Reduction,
    interpreter::{InputElements, Reducing, ResultElements},
    primitive::Program,
    reduction::Reduced,
};

/// Elements on the host that a function reads: a slice, and their layout in it.
///
/// A slice, a vector or an array of Rust has one axis: `(&x[..]).into()`.
#[derive(Clone)]
pub struct SliceInput<'a> {
    bytes: &'a [u8],
    element_type: ElementType,
    layout: Layout,
}

impl<'a> SliceInput<'a> {
    /// The elements of a slice that a layout selects, in its shape.
    ///
    /// # Errors
    ///
    /// [`FunctionErrorKind::Shape`]: the layout reaches beyond the slice.
    pub fn new<T: Computable>(elements: &'a [T], layout: &Layout) -> Result<Self, FunctionError> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        check_inside(layout, T::BYTES, bytes.len()).map_err(shape_error)?;
        Ok(Self { bytes, element_type: T::TYPE, layout: layout.clone() })
    }
}

impl<'a, T: Computable> From<&'a [T]> for SliceInput<'a> {
    fn from(elements: &'a [T]) -> Self {
        let layout =
            Layout::contiguous(&[elements.len()], Order::C).expect("a slice has at most `isize::MAX` bytes");
        Self { bytes: bytemuck::cast_slice(elements), element_type: T::TYPE, layout }
    }
}

impl<'a, T: Computable, const N: usize> From<&'a [T; N]> for SliceInput<'a> {
    fn from(elements: &'a [T; N]) -> Self {
        elements[..].into()
    }
}

impl<'a, T: Computable> From<&'a Vec<T>> for SliceInput<'a> {
    fn from(elements: &'a Vec<T>) -> Self {
        elements[..].into()
    }
}

impl fmt::Debug for SliceInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SliceInput<{}>{:?}", self.element_type, List(self.layout.shape()))
    }
}

impl Function {
    /// Computes the function of slices, broadcast together, in row-major order. A scalar is given by
    /// its bits, with zero bits above them: [`Computable::to_bits`].
    ///
    /// ```
    /// use devarray_function::{Computable, ElementType::F32, Function};
    ///
    /// let axpy = Function::parse("k0 * x0 + x1", &[F32, F32], &[F32])?;
    /// let (x, y) = ([1.0_f32, 2.0, 3.0], vec![0.5_f32; 3]);
    /// let z: Vec<f32> = axpy.compute(&[(&x).into(), (&y).into()], &[2.0_f32.to_bits().into()])?;
    /// assert_eq!(z, [2.5, 4.5, 6.5]);
    /// # Ok::<(), devarray_function::FunctionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`FunctionErrorKind::Type`]: the function takes another number of inputs, other types or
    ///   another number of scalars, or its result is not `R`.
    /// - [`FunctionErrorKind::Shape`]: the shapes cannot be broadcast together, or have fewer axes
    ///   than the function takes positions along.
    pub fn compute<R: Computable>(
        &self,
        inputs: &[SliceInput<'_>],
        scalars: &[u64],
    ) -> Result<Vec<R>, FunctionError> {
        let shape = self.shape(inputs)?;
        let mut result = zeros(&shape)?;
        self.compute_into(inputs, scalars, &mut result)?;
        Ok(result)
    }

    /// Like [`compute`](Self::compute), into a slice with as many elements.
    ///
    /// # Errors
    ///
    /// The errors of [`compute`](Self::compute); also [`FunctionErrorKind::Shape`]: `result` has another length.
    pub fn compute_into<R: Computable>(
        &self,
        inputs: &[SliceInput<'_>],
        scalars: &[u64],
        result: &mut [R],
    ) -> Result<(), FunctionError> {
        self.check_call(inputs, scalars)?;
        check_result::<R>(self.result_type())?;
        let shape = self.shape(inputs)?;
        let layout = dense(&shape, result.len())?;
        let layouts = broadcast(inputs, &shape)?;
        let inputs = elements(inputs, &layouts);
        let result =
            ResultElements { start: bytemuck::cast_slice_mut::<R, u8>(result).as_mut_ptr(), layout: &layout };
        // SAFETY: the layouts lie inside the slices, which are borrowed, the result's exclusively
        unsafe { execute(self.program(), &inputs, scalars, result) };
        Ok(())
    }

    /// Computes the function of slices, broadcast together, and reduces its values by the
    /// [`Reduction`]. The elements of the result are in row-major order.
    ///
    /// Additions follow the order of [`Combine`], as on every device.
    ///
    /// ```
    /// use devarray_function::{ElementType::F64, Function, ReduceOperation, Reduction};
    ///
    /// let squares = Function::parse("x0 * x0", &[F64], &[])?;
    /// let sum = Reduction::new(ReduceOperation::Sum);
    /// assert_eq!(squares.compute_reduction::<f64>(&[(&[1.0, 2.0, 3.0]).into()], &[], &sum)?, [14.0]);
    /// # Ok::<(), devarray_function::FunctionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`compute`](Self::compute). Also [`FunctionErrorKind::Shape`], an axis that is not there or
    /// is named twice; [`FunctionErrorKind::Type`], the operation does not take the type;
    /// [`FunctionErrorKind::Empty`], there is nothing to reduce and no value for that.
    pub fn compute_reduction<R: Computable>(
        &self,
        inputs: &[SliceInput<'_>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<Vec<R>, FunctionError> {
        self.check_call(inputs, scalars)?;
        let lowered = self.lowered_reduction(reduction)?;
        check_result::<R>(lowered.finish.result_type())?;
        let shape = self.shape(inputs)?;
        // Inputs that fit alone may be too many elements together.
        broadcast(inputs, &shape)?;
        let reduced = Reduced::new(shape, reduction.axes.as_deref()).map_err(shape_error)?;
        let mut result: Vec<R> = zeros(&reduced.shape_of_result(false))?;
        if result.is_empty() {
            return Ok(result);
        }
        if reduced.count() == 0 {
            let of_nothing = lowered.result_of_nothing()?;
            result.fill(bytemuck::pod_read_unaligned(&of_nothing.to_le_bytes()[..R::BYTES]));
            return Ok(result);
        }
        let total = |element, combine, finish, inputs: &[SliceInput<'_>], result: &mut [u8]| {
            total(&reduced, (element, scalars, combine), finish, inputs, result)
        };
        let finish_scalars = lowered.finish_scalars(reduced.count());
        let finish = (&lowered.finish, &finish_scalars[..]);
        let Some(spread) = &lowered.spread else {
            let out = bytemuck::cast_slice_mut(&mut result);
            total(&lowered.element, lowered.combine, finish, inputs, out)?;
            return Ok(result);
        };
        let item_bytes = spread.finish.result_type().len_bytes();
        let mut means = vec![0; result.len() * item_bytes];
        let mean_scalars = spread.finish_scalars(reduced.count());
        let mean_finish = (&spread.finish, &mean_scalars[..]);
        total(&spread.element, Combine::Sum, mean_finish, inputs, &mut means)?;
        let layout = dense(&reduced.shape_of_result(true), result.len())?;
        let mean = SliceInput { bytes: &means, element_type: spread.finish.result_type(), layout };
        let with_mean: Vec<_> = inputs.iter().cloned().chain([mean]).collect();
        let out = bytemuck::cast_slice_mut(&mut result);
        total(&lowered.element, lowered.combine, finish, &with_mean, out)?;
        Ok(result)
    }

    /// The shape of the function's values: the shapes of the inputs broadcast together.
    fn shape(&self, inputs: &[SliceInput<'_>]) -> Result<Axes<usize>, FunctionError> {
        let shape = broadcast_shapes(inputs.iter().map(|input| input.layout.shape())).map_err(shape_error)?;
        if self.needed_rank() <= shape.len() {
            return Ok(shape);
        }
        let message = format!("positions along axis {} of {} axes", self.needed_rank() - 1, shape.len());
        Err(FunctionError::new(FunctionErrorKind::Shape, message))
    }

    fn check_call(&self, inputs: &[SliceInput<'_>], scalars: &[u64]) -> Result<(), FunctionError> {
        let types = inputs.iter().map(|input| input.element_type);
        if !types.eq(self.inputs().iter().copied()) || scalars.len() != self.scalars().len() {
            let found: Vec<_> = inputs.iter().map(|input| input.element_type).collect();
            let message = format!(
                "the function takes inputs {:?} and {} scalars, and was called with {found:?} and {}",
                self.inputs(),
                self.scalars().len(),
                scalars.len()
            );
            return Err(FunctionError::new(FunctionErrorKind::Type, message));
        }
        Ok(())
    }
}

/// Reduces a function of slices into memory that has the result's length.
fn total(
    reduced: &Reduced,
    (element, scalars, combine): (&Function, &[u64], Combine),
    (finish, finish_scalars): (&Function, &[u64]),
    inputs: &[SliceInput<'_>],
    result: &mut [u8],
) -> Result<(), FunctionError> {
    let order = reduced.order();
    let axes: Vec<isize> = order.iter().map(|&axis| axis.cast_signed()).collect();
    let layouts: Result<Vec<_>, _> =
        broadcast(inputs, &reduced.shape)?.iter().map(|layout| layout.permute(&axes)).collect();
    let layouts = layouts.map_err(shape_error)?;
    let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
    let program = element.combined_program().with_positions(&order)?;
    let finish: &Program = finish.program();
    let work = Reducing { program: &program, scalars, combine, finish, finish_scalars };
    let rows = result.len() / finish.result_type().len_bytes();
    let layout = dense(&reduced.shape_of_result(false), rows)?;
    let inputs = elements(inputs, &layouts);
    let result = ResultElements { start: result.as_mut_ptr(), layout: &layout };
    // SAFETY: the layouts lie inside the slices, which are borrowed, the result's exclusively
    unsafe { execute_reduction(&work, ReduceForm::Total, &inputs, &shape, result, 0..rows) };
    Ok(())
}

fn broadcast(inputs: &[SliceInput<'_>], shape: &[usize]) -> Result<Vec<Layout>, FunctionError> {
    let layouts: Result<_, _> = inputs.iter().map(|input| input.layout.broadcast_to(shape)).collect();
    layouts.map_err(shape_error)
}

fn elements<'a>(inputs: &[SliceInput<'_>], layouts: &'a [Layout]) -> Vec<InputElements<'a>> {
    let one = |(input, layout): (&SliceInput<'_>, _)| InputElements { start: input.bytes.as_ptr(), layout };
    inputs.iter().zip(layouts).map(one).collect()
}

/// The dense layout of a shape that has `len` elements.
fn dense(shape: &[usize], len: usize) -> Result<Layout, FunctionError> {
    let layout = Layout::contiguous(shape, Order::C).map_err(shape_error)?;
    if layout.len() == len {
        return Ok(layout);
    }
    let message = format!("the result has {} elements, and the slice {len}", layout.len());
    Err(FunctionError::new(FunctionErrorKind::Shape, message))
}

fn zeros<R: Computable>(shape: &[usize]) -> Result<Vec<R>, FunctionError> {
    let len = Layout::contiguous(shape, Order::C).map_err(shape_error)?.len();
    let mut result = Vec::new();
    let message = |_| FunctionError::new(FunctionErrorKind::Size, format!("no memory for {len} elements"));
    result.try_reserve_exact(len).map_err(message)?;
    result.resize(len, R::zeroed());
    Ok(result)
}

fn check_result<R: Computable>(result_type: ElementType) -> Result<(), FunctionError> {
    if R::TYPE == result_type {
        return Ok(());
    }
    let message = format!("the result is of {result_type}, not of {}", R::TYPE);
    Err(FunctionError::new(FunctionErrorKind::Type, message))
}

#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
fn shape_error(error: devarray_layout::LayoutError) -> FunctionError {
    FunctionError::new(FunctionErrorKind::Shape, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReduceOperation;

    const F64: ElementType = ElementType::F64;

    fn kind<T>(outcome: Result<T, FunctionError>) -> Option<FunctionErrorKind> {
        outcome.err().map(|error| error.kind())
    }

    #[test]
    fn variances_need_two_passes_and_agree_with_their_definition() -> Result<(), FunctionError> {
        let x: Vec<f64> = (0..6).map(|i| f64::from(i * i)).collect();
        let layout = Layout::contiguous(&[2, 3], Order::C).map_err(shape_error)?;
        let identity = Function::parse("x0", &[F64], &[])?;
        let along = |axis: isize| Reduction::new(ReduceOperation::Variance).axes(&[axis]);
        let rows = identity.compute_reduction::<f64>(&[SliceInput::new(&x, &layout)?], &[], &along(1))?;
        let variance = |values: &[f64]| {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count
        };
        assert_eq!(rows, [variance(&x[..3]), variance(&x[3..])]);
        let columns = identity.compute_reduction::<f64>(&[SliceInput::new(&x, &layout)?], &[], &along(0))?;
        assert_eq!(columns, [0, 1, 2].map(|at| variance(&[x[at], x[at + 3]])));
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() -> Result<(), FunctionError> {
        let (x, y) = ([1.0, 2.0, 3.0], [1.0, 2.0]);
        let sum = Function::parse("x0 + x1", &[F64, F64], &[])?;
        let both: [SliceInput<'_>; 2] = [(&x).into(), (&y).into()];
        assert_eq!(kind(sum.compute::<f64>(&both, &[])), Some(FunctionErrorKind::Shape));
        assert_eq!(kind(sum.compute::<f64>(&both[..1], &[])), Some(FunctionErrorKind::Type));
        let same = [both[0].clone(), both[0].clone()];
        assert_eq!(kind(sum.compute::<f64>(&same, &[0])), Some(FunctionErrorKind::Type));
        assert_eq!(kind(sum.compute::<f32>(&same, &[])), Some(FunctionErrorKind::Type));
        assert_eq!(kind(sum.compute_into(&same, &[], &mut [0.0; 2])), Some(FunctionErrorKind::Shape));
        let mut result = [0.0; 3];
        sum.compute_into(&same, &[], &mut result)?;
        assert_eq!(result, [2.0, 4.0, 6.0]);
        let positions = Function::parse("i1 + x0", &[ElementType::I64], &[])?;
        assert_eq!(kind(positions.compute::<i64>(&[(&[1_i64]).into()], &[])), Some(FunctionErrorKind::Shape));
        let far = Layout::new(&[2], &[3], 0).map_err(shape_error)?;
        assert_eq!(kind(SliceInput::new(&x, &far)), Some(FunctionErrorKind::Shape));
        let long = 1 << 32;
        let lines = [Layout::new(&[long, 1], &[0, 0], 0), Layout::new(&[1, long], &[0, 0], 0)];
        let [column, row] = lines.map(|layout| SliceInput::new(&x[..1], &layout.unwrap()).unwrap());
        let total = Reduction::new(ReduceOperation::Sum);
        let too_many = sum.compute_reduction::<f64>(&[column, row], &[], &total);
        assert_eq!(kind(too_many), Some(FunctionErrorKind::Shape));
        let greatest = Reduction::new(ReduceOperation::Maximum);
        let none: [f64; 0] = [];
        let identity = Function::parse("x0", &[F64], &[])?;
        let of_none = identity.compute_reduction::<f64>(&[(&none).into()], &[], &greatest);
        assert_eq!(kind(of_none), Some(FunctionErrorKind::Empty));
        assert_eq!(identity.compute_reduction::<f64>(&[(&none).into()], &[], &greatest.initial(7.0))?, [7.0]);
        Ok(())
    }

    #[test]
    fn inputs_are_broadcast_and_may_have_any_strides() -> Result<(), FunctionError> {
        let (x, y) = ([1_i64, 2, 3, 4], [10_i64, 20]);
        let column = Layout::new(&[2, 1], &[1, 0], 0).map_err(shape_error)?;
        let backwards = Layout::new(&[2, 2], &[-2, -1], 3).map_err(shape_error)?;
        let sum = Function::parse("x0 + x1 + i1 * 100", &[ElementType::I64; 2], &[])?;
        let inputs = [SliceInput::new(&x, &backwards)?, SliceInput::new(&y, &column)?];
        assert_eq!(sum.compute::<i64>(&inputs, &[])?, [14, 113, 22, 121]);
        Ok(())
    }
}
