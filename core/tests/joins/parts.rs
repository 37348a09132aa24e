//! Joins along an axis, and back.

use devarray::{Array, Result};

use super::{
    Owned, SHAPES, Stream, View, ViewMut, counted, each_layout, each_target, model::Model, numbered, stream,
};

#[test]
fn joins_are_those_of_numpy_and_one_copy_a_part() {
    let stream = stream();
    for shape in SHAPES {
        for (axis, lens) in
            (0..shape.len()).flat_map(|axis| [&[2][..], &[1, 0, 3], &[4, 1]].map(|lens| (axis, lens)))
        {
            let whole = |len: usize| [&shape[..axis], &[len], &shape[axis + 1..]].concat();
            let due = numbered(&whole(lens.iter().sum()));
            let signed = [axis.cast_signed(), axis.cast_signed() - shape.len().cast_signed()];
            let mut start = 0;
            let models = lens.iter().map(|len| {
                start += len;
                due.select(axis, &(start - len..start).collect::<Vec<_>>())
            });
            joined(&stream, &models.collect::<Vec<_>>(), &due, |parts, target| match target {
                None => Array::concatenate(&stream, parts, signed[0]).map(Some),
                Some(target) => target.concatenate_from(&stream, parts, signed[1]).map(|()| None),
            });
        }
        for (axis, count) in (0..=shape.len()).flat_map(|axis| [1, 3].map(|count| (axis, count))) {
            let due = numbered(&[&shape[..axis], &[count], &shape[axis..]].concat());
            let part = |at: usize| {
                let part = due.select(axis, &[at]);
                Model { shape: shape.to_vec(), ..part }
            };
            let signed = [axis.cast_signed(), axis.cast_signed() - shape.len().cast_signed() - 1];
            let models: Vec<Model> = (0..count).map(part).collect();
            joined(&stream, &models, &due, |parts, target| match target {
                None => Array::stack(&stream, parts, signed[0]).map(Some),
                Some(target) => target.stack_from(&stream, parts, signed[1]).map(|()| None),
            });
            let whole = Array::stack(&stream, &arrays(&stream, &models).each_view(), signed[1]).unwrap();
            for (part, due) in whole.view().unstack(signed[0]).unwrap().iter().zip(&models) {
                let values: Vec<usize> = part.to_vec(&stream).unwrap().iter().map(|&n| n as usize).collect();
                assert_eq!((part.shape(), &values), (&due.shape[..], &due.values));
            }
        }
    }
}

struct Arrays(Vec<Owned>);

impl Arrays {
    fn each_view(&self) -> Vec<View<'_>> {
        self.0.iter().map(Array::view).collect()
    }
}

fn arrays(stream: &Stream, models: &[Model]) -> Arrays {
    let array = |model: &Model| {
        let values: Vec<u32> = model.values.iter().map(|&value| value.try_into().unwrap()).collect();
        Array::from_slice(stream, &model.shape, &values).unwrap()
    };
    Arrays(models.iter().map(array).collect())
}

type Target<'t, 'a> = Option<&'t mut ViewMut<'a>>;

fn joined(
    stream: &Stream,
    models: &[Model],
    due: &Model,
    join: impl Fn(&[View<'_>], Target<'_, '_>) -> Result<Option<Owned>>,
) {
    let expected: Vec<u32> = due.values.iter().map(|&value| value.try_into().unwrap()).collect();
    let dense = arrays(stream, models);
    let parts = models.iter().filter(|model| !model.values.is_empty()).count() as u64;
    let (made, work) = counted(stream, || join(&dense.each_view(), None).unwrap().unwrap());
    assert_eq!((made.shape(), made.to_vec(stream).unwrap()), (&due.shape[..], expected));
    assert_eq!((work.copies, work.fills, work.copied_bytes), (parts, 0, 4 * due.values.len() as u64));
    // One part in each layout, with the others dense.
    for (at, model) in models.iter().enumerate() {
        each_layout(stream, model, |view| {
            let mut parts = dense.each_view();
            parts[at] = view.clone();
            each_target(stream, due, |target| assert!(join(&parts, Some(target)).unwrap().is_none()));
        });
    }
}

/// More parts than are submitted together.
#[test]
fn many_parts_are_joined() {
    let stream = stream();
    for count in [64, 65, 150] {
        let due = numbered(&[3, count, 2]);
        let models: Vec<Model> = (0..count).map(|at| due.select(1, &[at])).collect();
        let joined = Array::concatenate(&stream, &arrays(&stream, &models).each_view(), 1).unwrap();
        let found: Vec<usize> = joined.to_vec(&stream).unwrap().iter().map(|&n| n as usize).collect();
        assert_eq!((joined.shape(), found), (&due.shape[..], due.values), "{count}");
    }
}
