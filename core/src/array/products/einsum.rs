//! Sums of products over axes that are named by letters.

use super::{
    subscripts::Subscripts,
    tensordot::{as_shape, signed, view_of},
};
use crate::{
    Result,
    array::{Array, ArrayView, AsArrayView, Element, Reshaped, Summable},
    backend::{Compute, Device},
    function::{Computable, Number},
    layout::{Axes, Layout, Order},
    product::{ProductError, wrong_shape},
    stream::StreamHandle,
};

/// A new array, and the letters of its axes.
type Summed<T, D> = (Array<T, D>, Vec<char>);

/// An operand whose axes have letters.
struct Lettered<'a, T: Element, D: Device> {
    view: ArrayView<'a, T, D>,
    letters: Vec<char>,
}

impl<T: Number + Summable, D: Device> ArrayView<'_, T, D> {
    /// Sums, transposes and diagonals of one array, by letters: NumPy's `einsum` of one operand. A new
    /// array in C order. Does not synchronize.
    ///
    /// Each axis has a letter; a letter that occurs twice is the diagonal; letters that the result does
    /// not have are [summed](Self::sum), in the elements' type. Without `->` the result has the letters
    /// that occur once, in the order of the alphabet.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// assert_eq!(x.einsum(&stream, "ij->ji")?.to_vec(&stream)?, [1, 3, 2, 4]);
    /// assert_eq!(x.einsum(&stream, "ij->j")?.to_vec(&stream)?, [4, 6]);
    /// assert_eq!(x.einsum(&stream, "ii")?.item(&stream)?, 5); // the trace
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Product`](crate::Error::Product): the text is none for one operand, has another
    ///   number of letters than there are axes, or one letter for extents that differ.
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn einsum(&self, stream: &StreamHandle<D>, subscripts: &str) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let text = Subscripts::parse(subscripts)?;
        let [letters] = &text.operands[..] else {
            return Err(wrong_shape(format!("{subscripts:?} is not of one operand")).into());
        };
        let of = Lettered::new(self.clone(), letters)?;
        let summed = of.summed_to(stream, |letter| text.result.contains(&letter))?;
        let of = summed.as_ref().map_or(of, |(array, letters)| Lettered::of(array, letters));
        of.view.permute(&signed(of.places(&text.result).iter())[..])?.to_contiguous(stream, Order::C)
    }

    /// Sums of products of two arrays, by letters: NumPy's `einsum` of two operands. A new array. Does
    /// not synchronize.
    ///
    /// Each axis has a letter; a letter that occurs twice in one operand is the diagonal. Letters that
    /// one operand alone has, and the result has not, are [summed](Self::sum) first. The rest is a
    /// [matrix product](Self::matmul): letters of both and of the result number a batch, and the chain
    /// goes over the other shared letters in the order of the text, the last fastest. Extents of 1
    /// broadcast. Without `->` the result has the letters that occur once, in the order of the
    /// alphabet.
    ///
    /// An operand whose axes cannot be seen as the axes of matrices is copied first.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// let b = Array::from_slice(&stream, &[2, 2], &[1, 0, 0, 10])?;
    /// assert_eq!(a.einsum_with(&stream, &b, "ij,jk->ki")?.to_vec(&stream)?, [1, 3, 20, 40]);
    /// assert_eq!(a.einsum_with(&stream, &b, "ij,ij->")?.item(&stream)?, 41);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Product`](crate::Error::Product): the text is none for two operands, has another
    ///   number of letters than there are axes, or one letter for extents that differ.
    /// - The errors of [`matmul`](Self::matmul).
    #[doc(alias = "einsum")]
    #[track_caller]
    pub fn einsum_with(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        subscripts: &str,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let text = Subscripts::parse(subscripts)?;
        let [a_letters, b_letters] = &text.operands[..] else {
            return Err(wrong_shape(format!("{subscripts:?} is not of two operands")).into());
        };
        let a = Lettered::new(self.clone(), a_letters)?;
        let b = Lettered::new(other.as_array_view().clone(), b_letters)?;
        let a_summed = a.summed_to(stream, |one| b.letters.contains(&one) || text.result.contains(&one))?;
        let b_summed = b.summed_to(stream, |one| a.letters.contains(&one) || text.result.contains(&one))?;
        let a = a_summed.as_ref().map_or(a, |(array, letters)| Lettered::of(array, letters));
        let b = b_summed.as_ref().map_or(b, |(array, letters)| Lettered::of(array, letters));
        product(stream, &text, &a, &b)
    }
}

/// Multiplies operands. Each letter of one is also in the other, or in the result.
#[track_caller]
fn product<T: Number + Summable, D: Compute>(
    stream: &StreamHandle<D>,
    text: &Subscripts,
    a: &Lettered<'_, T, D>,
    b: &Lettered<'_, T, D>,
) -> Result<Array<T, D>> {
    let of_both = |one: &char| a.letters.contains(one) && b.letters.contains(one);
    let batch: Vec<char> = text.result.iter().copied().filter(of_both).collect();
    let depth = text.in_order(|one| of_both(&one) && !batch.contains(&one));
    let of_one = |of: &Lettered<'_, T, D>| -> Vec<char> {
        text.result.iter().copied().filter(|one| !batch.contains(one) && of.letters.contains(one)).collect()
    };
    let (rows, columns) = (of_one(a), of_one(b));
    // The error becomes the program's only outside the closures: inside, its line would be the
    // closure's.
    let extent = |one: &char| -> Result<usize, ProductError> {
        match (a.extent(*one), b.extent(*one)) {
            (Some(a), Some(b)) if a != b && a != 1 && b != 1 => {
                let message = format!("the axis {one} has {a} elements, and {b}");
                Err(wrong_shape(message))
            }
            (Some(1), Some(extent)) | (Some(extent), _) | (None, Some(extent)) => Ok(extent),
            (None, None) => Ok(1),
        }
    };
    let extents = |letters: &[char]| letters.iter().map(extent).collect::<Result<Axes<usize>, _>>();
    let [batches, depths, row_extents, column_extents] =
        [extents(&batch)?, extents(&depth)?, extents(&rows)?, extents(&columns)?];
    let left = a.matrices(stream, [&batch, &rows, &depth], [&batches, &row_extents, &depths])?;
    let right = b.matrices(stream, [&batch, &depth, &columns], [&batches, &depths, &column_extents])?;
    let product = view_of(&left).matmul(stream, &view_of(&right))?;
    let shape: Axes<usize> = batches.iter().chain(&row_extents).chain(&column_extents).copied().collect();
    let letters: Vec<char> = batch.iter().chain(&rows).chain(&columns).copied().collect();
    let order: Axes<usize> = text.result.iter().map(|one| place(&letters, *one)).collect();
    let layout = product.layout().reshape(&shape[..], Order::C)?.permute(&signed(order.iter())[..])?;
    let product = product.into_layout(layout);
    if product.layout().is_c_contiguous() {
        Ok(product)
    } else {
        product.view().to_contiguous(stream, Order::C)
    }
}

/// The position of a letter, which is there.
fn place(letters: &[char], letter: char) -> usize {
    letters.iter().position(|one| *one == letter).unwrap_or(letters.len())
}

impl<'a, T: Number + Summable, D: Device> Lettered<'a, T, D> {
    /// Gives axes their letters. Axes with one letter become their diagonal.
    #[track_caller]
    fn new(view: ArrayView<'a, T, D>, letters: &[char]) -> Result<Self> {
        let shape = view.shape();
        if letters.len() != shape.len() {
            let message = format!("{} letters for the {} axes of {shape:?}", letters.len(), shape.len());
            return Err(wrong_shape(message).into());
        }
        let (mut layout, mut seen): (Layout, Vec<char>) = (view.layout().clone(), letters.to_vec());
        while let Some((first, second)) = twice(&seen) {
            let (one, two) = (layout.shape()[first], layout.shape()[second]);
            if one != two {
                let message = format!("the axes {} have {one} elements, and {two}", seen[first]);
                return Err(wrong_shape(message).into());
            }
            layout = layout.diagonal(0, first, second)?;
            let letter = seen.remove(second);
            seen.remove(first);
            seen.push(letter);
        }
        Ok(Self { view: view.with_layout(layout), letters: seen })
    }

    fn of(array: &'a Array<T, D>, letters: &[char]) -> Self {
        Self { view: array.view(), letters: letters.to_vec() }
    }

    fn extent(&self, letter: char) -> Option<usize> {
        self.letters.iter().position(|one| *one == letter).map(|axis| self.view.shape()[axis])
    }

    /// The axes with these letters. Each letter has one.
    fn places(&self, letters: &[char]) -> Axes<usize> {
        letters.iter().map(|one| place(&self.letters, *one)).collect()
    }

    /// Views or copies the elements as matrices: first the axes of a batch, then the axes of rows, then
    /// the axes of columns, broadcast to these extents.
    #[track_caller]
    fn matrices(
        &self,
        stream: &StreamHandle<D>,
        letters: [&[char]; 3],
        extents: [&[usize]; 3],
    ) -> Result<Reshaped<ArrayView<'a, T, D>, Array<T, D>>> {
        let [batch, rows, columns] = extents;
        let seen = self.view.permute(&signed(self.places(&letters.concat()).iter())[..])?;
        let mut shape = batch.to_vec();
        shape.extend([rows, columns].map(|axes| axes.iter().product::<usize>()));
        as_shape(stream, &seen.broadcast_to(&extents.concat())?, &shape)
    }

    /// Sums over the axes whose letters are not kept, if there are any.
    #[track_caller]
    fn summed_to(&self, stream: &StreamHandle<D>, kept: impl Fn(char) -> bool) -> Result<Option<Summed<T, D>>>
    where
        D: Compute,
    {
        let axes = 0..self.letters.len();
        let summed: Axes<usize> = axes.filter(|&axis| !kept(self.letters[axis])).collect();
        if summed.is_empty() {
            return Ok(None);
        }
        let sum = self.view.sum(stream, &signed(summed.iter())[..])?;
        let is_in_type = <T::Total as Computable>::TYPE == T::TYPE;
        let sum = if is_in_type {
            Array::of_erased(sum.into_erased())
        } else {
            sum.map(stream, |sum| sum.cast::<T>())?
        };
        Ok(Some((sum, self.letters.iter().copied().filter(|one| kept(*one)).collect())))
    }
}

/// The first letter that occurs twice, given by its two axes.
fn twice(letters: &[char]) -> Option<(usize, usize)> {
    (0..letters.len()).find_map(|first| {
        let second = (first + 1..letters.len()).find(|&second| letters[second] == letters[first])?;
        Some((first, second))
    })
}
