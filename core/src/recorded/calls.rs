//! The calls that are recorded: kept with all that they name, and made again at a launch.

use devarray_order::Call;
use smallvec::SmallVec;

use super::{
    Kept, Recorder,
    memory::{Placed, Placement},
    recorder::Taking,
};
use crate::{
    Result,
    backend::{Compute, Device, ReduceForm},
    function::{Combine, ElementType, Function, interpreter::Reducing, primitive::Program},
    gather::{Direction, Gathering, IndexType, IndexedAxis, OutOfRange},
    layout::Layout,
    operations::{Becomes, Called, Elements, Sides, Typed},
    product::Precision,
};

/// A short list.
type Few<T> = SmallVec<[T; 4]>;

/// Elements at a launch.
fn placed<'m, D: Device>(kept: &'m [Kept], memory: Placement<'m, D>) -> Result<Few<Placed<'m, D>>> {
    kept.iter().map(|kept| kept.at(memory)).collect()
}

fn maybe_placed<'m, D: Device>(
    kept: Option<&'m Kept>,
    memory: Placement<'m, D>,
) -> Result<Option<Placed<'m, D>>> {
    kept.map(|kept| kept.at(memory)).transpose()
}

fn elements<'p, D: Device>(placed: &'p [Placed<'_, D>]) -> Few<Elements<'p, D>> {
    placed.iter().map(Placed::elements).collect()
}

impl<D: Device> Taking<'_, D> {
    fn reads_all<'e>(&mut self, all: impl IntoIterator<Item = &'e Elements<'e, D>>) -> Few<Kept> {
        all.into_iter().map(|elements| self.reads(elements)).collect()
    }

    fn inputs(&mut self, inputs: &[(Elements<'_, D>, Layout)]) -> KeptInputs {
        KeptInputs(inputs.iter().map(|(input, layout)| (self.reads(input), layout.clone())).collect())
    }
}

impl<D: Device> Recorder<D> {
    #[track_caller]
    pub(crate) fn copy(&self, dst: &Elements<'_, D>, src: &Elements<'_, D>) -> Result<()> {
        let mut call = self.call("copy");
        let (dst, src) = (call.writes(dst), call.reads(src));
        call.push(move |stream, memory| stream.copy(&dst.at(memory)?.elements(), &src.at(memory)?.elements()))
    }

    #[track_caller]
    pub(crate) fn copy_all(&self, pairs: &[[Elements<'_, D>; 2]]) -> Result<()> {
        let mut call = self.call("copy");
        let sides: Few<Kept> =
            pairs.iter().flat_map(|[dst, src]| [call.writes(dst), call.reads(src)]).collect();
        call.push(move |stream, memory| {
            let placed = placed(&sides, memory)?;
            let pairs: Few<[Elements<'_, D>; 2]> =
                placed.chunks_exact(2).map(|pair| [pair[0].elements(), pair[1].elements()]).collect();
            // Stand-ins have no addresses: nothing was checked when this was recorded.
            for ([dst, _], [_, src]) in pairs.iter().flat_map(|to| pairs.iter().map(move |from| (to, from))) {
                stream.check_disjoint(src, src.layout, dst, false)?;
            }
            stream.copy_all(&pairs)
        })
    }

    #[track_caller]
    pub(crate) fn fill(&self, dst: &Elements<'_, D>, item: &[u8]) -> Result<()> {
        let mut call = self.call("fill");
        let (dst, item) = (call.writes(dst), SmallVec::<[u8; 16]>::from_slice(item));
        call.push(move |stream, memory| stream.fill(&dst.at(memory)?.elements(), &item))
    }
}

/// The computations of a reduction, kept.
struct KeptReducing {
    program: Program,
    scalars: Few<u64>,
    combine: Combine,
    finish: Program,
    finish_scalars: Few<u64>,
}

impl KeptReducing {
    fn new(work: &Reducing<'_>) -> Self {
        let Reducing { program, scalars, combine, finish, finish_scalars } = *work;
        let (program, finish) = (program.clone(), finish.clone());
        Self { program, scalars: scalars.into(), combine, finish, finish_scalars: finish_scalars.into() }
    }

    fn work(&self) -> Reducing<'_> {
        let Self { program, scalars, combine, finish, finish_scalars } = self;
        Reducing { program, scalars, combine: *combine, finish, finish_scalars }
    }
}

/// Inputs of a reduction, with their layouts in the shape of the reduced elements.
struct KeptInputs(Few<(Kept, Layout)>);

impl KeptInputs {
    /// Makes a call with the inputs.
    fn with<D: Device>(
        &self,
        memory: Placement<'_, D>,
        call: impl FnOnce(&[(Elements<'_, D>, Layout)]) -> Result<()>,
    ) -> Result<()> {
        let placed: Few<Placed<'_, D>> =
            self.0.iter().map(|(kept, _)| kept.at(memory)).collect::<Result<_>>()?;
        let mut inputs: Few<(Elements<'_, D>, Layout)> = SmallVec::new();
        for ((kept, layout), placed) in self.0.iter().zip(&placed) {
            inputs.push((placed.elements(), kept.moved(layout, kept.item_bytes, memory)?.into_owned()));
        }
        call(&inputs)
    }
}

/// A gather without its memory, kept.
struct KeptGathering {
    shape: Few<usize>,
    indexed_axes: Few<IndexedAxis>,
    positions: Few<usize>,
    indexed: Layout,
    indices: Layout,
    mask: Option<Layout>,
    elements: Layout,
}

impl<D: Compute> Recorder<D> {
    #[track_caller]
    pub(crate) fn map(
        &self,
        program: &Program,
        inputs: &[Elements<'_, D>],
        scalars: &[u64],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        let (program, scalars) = (program.clone(), Few::from_slice(scalars));
        let mut call = self.call("map");
        let (inputs, result) = (call.reads_all(inputs), call.writes(result));
        call.push(move |stream, memory| {
            let inputs = placed(&inputs, memory)?;
            stream.map(&program, &elements(&inputs), &scalars, &result.at(memory)?.elements())
        })
    }

    #[track_caller]
    pub(crate) fn reduce(
        &self,
        work: &Reducing<'_>,
        form: ReduceForm,
        shape: &[usize],
        inputs: &[(Elements<'_, D>, Layout)],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        let (work, shape) = (KeptReducing::new(work), Few::from_slice(shape));
        let mut call = self.call("reduce");
        let (inputs, result) = (call.inputs(inputs), call.writes(result));
        call.push(move |stream, memory| {
            let result = result.at(memory)?;
            inputs.with(memory, |inputs| stream.reduce(work.work(), form, &shape, inputs, &result.elements()))
        })
    }

    #[track_caller]
    pub(crate) fn fuse(
        &self,
        works: &[(Reducing<'_>, &Elements<'_, D>)],
        shape: &[usize],
        inputs: &[(Elements<'_, D>, Layout)],
        last: Option<(&Program, &Elements<'_, D>)>,
    ) -> Result<()> {
        let mut call = self.call("reduce");
        let results: Few<Kept> = works.iter().map(|(_, result)| call.writes(result)).collect();
        let works: Few<KeptReducing> = works.iter().map(|(work, _)| KeptReducing::new(work)).collect();
        let (inputs, shape) = (call.inputs(inputs), Few::from_slice(shape));
        let last = last.map(|(program, result)| (program.clone(), call.writes(result)));
        call.push(move |stream, memory| {
            let results = placed(&results, memory)?;
            let results = elements(&results);
            let works: Few<_> = works.iter().map(KeptReducing::work).zip(&results).collect();
            let last = match &last {
                Some((program, result)) => Some((program, result.at(memory)?)),
                None => None,
            };
            let last_elements = last.as_ref().map(|(program, result)| (*program, result.elements()));
            let last = last_elements.as_ref().map(|(program, result)| (*program, result));
            inputs.with(memory, |inputs| stream.fuse(&works, &shape, inputs, last))
        })
    }

    #[track_caller]
    pub(crate) fn gather(&self, work: &Gathering<'_>, sides: &Sides<'_, D>) -> Result<()> {
        let Gathering { operation, axis, direction, out_of_range, repeats, width_bytes, index_type, .. } =
            *work;
        let kept = KeptGathering {
            shape: Few::from_slice(work.shape),
            indexed_axes: Few::from_slice(work.indexed_axes),
            positions: Few::from_slice(work.positions),
            indexed: work.indexed.clone(),
            indices: work.indices.clone(),
            mask: work.mask.cloned(),
            elements: work.elements.clone(),
        };
        let Sides { indexed, indices, mask, elements } = sides;
        let mut call = self.call(operation.name()).reports(out_of_range == OutOfRange::Error);
        let is_scatter = direction == Direction::Scatter;
        let (indexed, elements) = (call.uses(indexed, is_scatter), call.uses(elements, !is_scatter));
        // With `IndexType::Counted` this operand is the count of selected elements, which the gather
        // writes.
        let indices = call.uses(indices, index_type == IndexType::Counted);
        let mask = mask.as_ref().map(|mask| call.reads(mask));
        call.push(move |stream, memory| {
            // A gather may move an element as several smaller units: these layouts count units of
            // `width_bytes` bytes.
            let [of_indexed, of_indices, of_elements] = [
                (&indexed, &kept.indexed, width_bytes),
                (&indices, &kept.indices, indices.item_bytes),
                (&elements, &kept.elements, width_bytes),
            ]
            .map(|(side, layout, item_bytes)| side.moved(layout, item_bytes, memory));
            let (of_indexed, of_indices, of_elements) = (of_indexed?, of_indices?, of_elements?);
            let of_mask = match (&mask, &kept.mask) {
                (Some(side), Some(layout)) => {
                    Some((side.at(memory)?, side.moved(layout, side.item_bytes, memory)?))
                }
                _ => None,
            };
            let work = Gathering {
                operation,
                axis,
                direction,
                out_of_range,
                repeats,
                width_bytes,
                shape: &kept.shape,
                indexed_axes: &kept.indexed_axes,
                indexed: &of_indexed,
                indices: &of_indices,
                index_type,
                positions: &kept.positions,
                mask: of_mask.as_ref().map(|(_, layout)| &**layout),
                elements: &of_elements,
            };
            let [indexed, indices, elements] =
                [indexed.at(memory)?, indices.at(memory)?, elements.at(memory)?];
            let sides = Sides {
                indexed: indexed.elements(),
                indices: indices.elements(),
                mask: of_mask.as_ref().map(|(side, _)| side.elements()),
                elements: elements.elements(),
            };
            stream.gather(work, &sides)
        })
    }

    #[track_caller]
    pub(crate) fn order(&self, called: &Called<'_, D>) -> Result<()> {
        let &Called { call, inputs, results, ref count } = called;
        let mut taking = self.call(call.name()).reports(call.finds_indices());
        let inputs: Few<(ElementType, Kept)> =
            inputs.iter().map(|(of, input)| (*of, taking.reads(input))).collect();
        let results: Few<Option<Kept>> =
            results.iter().map(|result| result.as_ref().map(|result| taking.writes(result))).collect();
        let count = count.as_ref().map(|count| taking.writes(count));
        taking.push(move |stream, memory| make_again(stream, memory, call, &inputs, &results, count.as_ref()))
    }

    #[track_caller]
    pub(crate) fn multiply(
        &self,
        of: (ElementType, Precision),
        sides: [&Elements<'_, D>; 3],
        becomes: &Becomes<'_, '_, D>,
    ) -> Result<()> {
        let mut call = self.call("matmul");
        let [a, b, result] = sides;
        let (a, b, result) = (call.reads(a), call.reads(b), call.writes(result));
        let function: Option<(Function, Few<Kept>, Few<u64>)> = match becomes {
            Becomes::InputOf { function, inputs, scalars } => {
                Some(((*function).clone(), call.reads_all(*inputs), Few::from_slice(scalars)))
            }
            Becomes::Result | Becomes::Onto => None,
        };
        let is_onto = matches!(becomes, Becomes::Onto);
        call.push(move |stream, memory| {
            let [a, b, result] = [a.at(memory)?, b.at(memory)?, result.at(memory)?];
            let inputs = match &function {
                Some((_, inputs, _)) => placed(inputs, memory)?,
                None => SmallVec::new(),
            };
            let inputs = elements(&inputs);
            let becomes = match &function {
                Some((function, _, scalars)) => Becomes::InputOf { function, inputs: &inputs, scalars },
                None if is_onto => Becomes::Onto,
                None => Becomes::Result,
            };
            stream.multiply(of, [&a.elements(), &b.elements()], &result.elements(), &becomes)
        })
    }
}

/// Makes a call of order again.
fn make_again<D: Compute>(
    stream: &crate::stream::StreamCore<D>,
    memory: Placement<'_, D>,
    call: Call,
    inputs: &[(ElementType, Kept)],
    results: &[Option<Kept>],
    count: Option<&Kept>,
) -> Result<()> {
    let sides: Few<Placed<'_, D>> = inputs.iter().map(|(_, kept)| kept.at(memory)).collect::<Result<_>>()?;
    let types = inputs.iter().map(|(of, _)| *of);
    let inputs: Few<Typed<'_, D>> = types.zip(sides.iter().map(Placed::elements)).collect();
    let written: Few<Option<Placed<'_, D>>> =
        results.iter().map(|kept| maybe_placed(kept.as_ref(), memory)).collect::<Result<_>>()?;
    let results: Few<Option<Elements<'_, D>>> =
        written.iter().map(|placed| placed.as_ref().map(Placed::elements)).collect();
    let count = maybe_placed(count, memory)?;
    let count = count.as_ref().map(Placed::elements);
    stream.make_call(&Called { call, inputs: &inputs, results: &results, count })
}
