//! What functions are called on: arrays, views and numbers, in tuples.

use std::fmt;

use smallvec::SmallVec;

use super::{Array, ArrayView, ArrayViewMut, ErasedView, SharedArray, totals::check_result};
use crate::{
    Bool, Result,
    backend::{Compute, Device},
    function::{
        Arguments, Computable, Expression, Function, FunctionError, Parameter, Reduction, Scan, trace,
        trace_masked,
    },
    stream::StreamHandle,
};

/// The arguments of one call of a function.
pub struct Call<'a, D: Device> {
    parameters: SmallVec<[Parameter; 4]>,
    inputs: SmallVec<[ErasedView<'a, D>; 4]>,
    scalars: SmallVec<[u64; 4]>,
}

/// How many arguments there are.
impl<D: Device> fmt::Debug for Call<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({} arguments)", self.parameters.len())
    }
}

impl<'a, D: Compute> Call<'a, D> {
    fn of(operands: impl Operands<'a, D>) -> Self {
        let mut call =
            Self { parameters: SmallVec::new(), inputs: SmallVec::new(), scalars: SmallVec::new() };
        operands.bind_all(&mut call);
        call
    }

    fn input<T: Computable>(&mut self, view: ErasedView<'a, D>) {
        self.parameters.push(Parameter::Input(T::TYPE));
        self.inputs.push(view);
    }

    fn scalar<T: Computable>(&mut self, value: T) {
        self.parameters.push(Parameter::Scalar(T::TYPE));
        self.scalars.push(value.to_bits());
    }

    fn trace<R: Computable>(
        &self,
        write: impl FnOnce(&mut Arguments<'_>) -> Expression<R>,
    ) -> Result<Function, FunctionError> {
        trace(&self.parameters, write)
    }
}

/// One argument of a function: an array or a view, which gives one element for each element of the
/// result, or a number, which is the same for all of them.
///
/// A call with another number reuses the compiled function. A literal inside the closure is part of
/// the function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a function on a device of type `{D}`",
    note = "arguments are `&Array`, `&ArrayView`, `&SharedArray` and numbers; several of them are a tuple"
)]
pub trait Operand<'a, D: Compute> {
    /// The type of its elements.
    type Item: Computable;

    /// Adds it to the arguments of a call.
    fn bind(self, call: &mut Call<'a, D>);
}

impl<'a, T: Computable, D: Compute> Operand<'a, D> for &'a Array<T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().view());
    }
}

impl<'a, T: Computable, D: Compute> Operand<'a, D> for &'a SharedArray<T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.view().as_erased().clone());
    }
}

impl<'a, T: Computable, D: Compute> Operand<'a, D> for &ArrayView<'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<'a, T: Computable, D: Compute> Operand<'a, D> for ArrayView<'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<D: Compute, T: Computable> Operand<'_, D> for T {
    type Item = T;

    fn bind(self, call: &mut Call<'_, D>) {
        call.scalar(self);
    }
}

/// The arguments of a function: a tuple of arrays, views and numbers, which are broadcast together
/// as NumPy does.
///
/// ```
/// use devarray::{Array, Context, function::Operands};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// let row = Array::from_slice(&stream, &[2], &[10.0_f32, 20.0])?;
///
/// let sum = (&x, &row).map(&stream, |(x, row)| x + row)?;
/// assert_eq!(sum.to_vec(&stream)?, [11.0, 22.0, 13.0, 24.0]);
///
/// let k = 0.5_f32; // an argument: another value compiles nothing
/// let scaled = (&x, k).map(&stream, |(x, k)| (x * k + 1.0).sqrt())?;
/// assert_eq!(scaled.to_vec(&stream)?[1], 2.0_f32.sqrt());
/// # Ok::<(), devarray::Error>(())
/// ```
pub trait Operands<'a, D: Compute>: Sized {
    /// What a closure gets: an expression for each.
    type Expressions;

    /// Adds them to the arguments of a call.
    fn bind_all(self, call: &mut Call<'a, D>);

    /// What a closure gets.
    fn expressions(arguments: &mut Arguments<'_>) -> Self::Expressions;

    /// Computes a function of the arguments into a new array. Does not synchronize.
    ///
    /// The result is dense, in the order of the first array that has its shape, or in C order.
    ///
    /// # Errors
    ///
    /// The shapes do not fit, the function has more than 16 arrays or is too long, out of memory,
    /// another context's stream, and any other device error.
    #[track_caller]
    fn map<R: Computable>(
        self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Self::Expressions) -> Expression<R>,
    ) -> Result<Array<R, D>> {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        function.apply(stream, &call.inputs, &call.scalars).map(Array::of_erased)
    }

    /// Computes a function of the arguments and reduces its values, in one pass. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map) and [`ArrayView::reduce`].
    #[track_caller]
    fn reduce<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<Array<R, D>> {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        check_result::<R>(function.reduced_type(reduction)?)?;
        function.reduce(stream, &call.inputs, &call.scalars, reduction).map(Array::of_erased)
    }

    /// As [`reduce`](Self::reduce) to one element, which is copied to the host. Blocks until it is
    /// there.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce) and [`ArrayView::reduce_item`].
    #[track_caller]
    fn reduce_item<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<R> {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        check_result::<R>(function.reduced_type(reduction)?)?;
        let mut item = R::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut item);
        function.reduce_item(stream, &call.inputs, &call.scalars, reduction, bytes)?;
        Ok(item)
    }

    /// As [`reduce`](Self::reduce), for a closure that returns two expressions: reduces the values
    /// of the second where the first is true. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce) and [`Function::reduce_where`].
    #[track_caller]
    fn reduce_where<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> (Expression<Bool>, Expression<T>),
    ) -> Result<Array<R, D>> {
        let call = Call::of(self);
        let write = |arguments: &mut Arguments<'_>| function(Self::expressions(arguments));
        let [mask, function] = trace_masked(&call.parameters, write)?;
        check_result::<R>(function.reduced_type(reduction)?)?;
        let reduced = function.reduce_where(&mask, stream, &call.inputs, &call.scalars, reduction)?;
        Ok(Array::of_erased(reduced))
    }

    /// Computes a function of the arguments and combines each of its values with those before it.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map) and [`ArrayView::reduce`].
    #[track_caller]
    fn scan<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        scan: Scan,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<Array<R, D>> {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        check_result::<R>(function.scanned_type(scan)?)?;
        function.scan(stream, &call.inputs, &call.scalars, scan).map(Array::of_erased)
    }

    /// As [`map`](Self::map), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map); also if `result` does not have the shape of the arrays broadcast
    /// together.
    #[track_caller]
    fn map_into<R: Computable>(
        self,
        stream: &StreamHandle<D>,
        result: &mut ArrayViewMut<'_, R, D>,
        function: impl FnOnce(Self::Expressions) -> Expression<R>,
    ) -> Result<()> {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        function.submit_into(stream, &call.inputs, &call.scalars, &result.elements())
    }
}

/// Tuples of one to sixteen arguments.
macro_rules! tuples {
    ($($name:ident)*) => { tuples!(@ [] $($name)*); };
    (@ [$($before:ident)*]) => {};
    (@ [$($before:ident)*] $name:ident $($after:ident)*) => {
        impl<'a, D: Compute, $($before: Operand<'a, D>,)* $name: Operand<'a, D>> Operands<'a, D>
            for ($($before,)* $name,)
        {
            type Expressions = ($(Expression<$before::Item>,)* Expression<$name::Item>,);

            #[expect(non_snake_case, reason = "the names of types, for want of others")]
            fn bind_all(self, call: &mut Call<'a, D>) {
                let ($($before,)* $name,) = self;
                $($before.bind(call);)*
                $name.bind(call);
            }

            fn expressions(arguments: &mut Arguments<'_>) -> Self::Expressions {
                ($(arguments.next::<$before::Item>(),)* arguments.next::<$name::Item>(),)
            }
        }

        tuples!(@ [$($before)* $name] $($after)*);
    };
}

tuples! { A B C E F G H I J K L M N O P Q }

impl<T: Computable, D: Compute> Array<T, D> {
    /// Computes a function of each element into a new array. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// assert_eq!(x.map(&stream, |x| x * 2.0 + 1.0)?.to_vec(&stream)?, [3.0, 5.0, 7.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Operands::map`].
    #[track_caller]
    pub fn map<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<Array<R, D>> {
        self.view().map(stream, function)
    }
}

impl<T: Computable, D: Compute> ArrayView<'_, T, D> {
    /// Computes a function of each element into a new array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`Operands::map`].
    #[track_caller]
    pub fn map<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<Array<R, D>> {
        (self,).map(stream, |(x,)| function(x))
    }
}

impl<T: Computable, D: Compute> ArrayViewMut<'_, T, D> {
    /// Puts a function of each element in its place. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let mut x = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
    /// x.view_mut().slice_axis(0, 1..)?.map_in_place(&stream, |x| x * 10)?;
    /// assert_eq!(x.to_vec(&stream)?, [1, 20, 30]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Operands::map`].
    #[track_caller]
    pub fn map_in_place(
        &mut self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<T>,
    ) -> Result<()> {
        self.update(stream, (), |x, ()| function(x))
    }

    /// Puts a function of each element, and of other arrays and numbers, in its place. Does not
    /// synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let mut y = Array::from_slice(&stream, &[2], &[1.0_f32, 2.0])?;
    /// let x = Array::from_slice(&stream, &[2], &[10.0_f32, 20.0])?;
    /// y.view_mut().update(&stream, (&x, 0.5), |y, (x, k)| y + x * k)?;
    /// assert_eq!(y.to_vec(&stream)?, [6.0, 12.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Operands::map`]; also, the other arrays do not broadcast to this shape.
    #[track_caller]
    pub fn update<'b, O: Operands<'b, D>>(
        &mut self,
        stream: &StreamHandle<D>,
        others: O,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<T>,
    ) -> Result<()> {
        let (rest, mut call) = (Call::of(others), Call::of(()));
        call.input::<T>(self.as_erased().as_view());
        call.parameters.extend(rest.parameters);
        rest.inputs.into_iter().for_each(|input| call.inputs.push(input));
        call.scalars.extend(rest.scalars);
        let function = call.trace(|arguments| function(arguments.next(), O::expressions(arguments)))?;
        function.submit(stream, &call.inputs, &call.scalars, &self.elements())
    }
}

impl<'a, D: Compute> Operands<'a, D> for () {
    type Expressions = ();

    fn bind_all(self, _: &mut Call<'a, D>) {}

    fn expressions(_: &mut Arguments<'_>) {}
}
