//! Tests `relayout` on good files: every element type, rank, order and step, against the oracle.

use std::{fs, process::Command};

use devarray_conformance::Rng;

use crate::{model::Model, npy_file::NpyFile, run::relayout};

/// Element types and their sizes.
const DTYPES: [(&str, usize); 30] = [
    ("'|b1'", 1),
    ("'|i1'", 1),
    ("'|u1'", 1),
    ("'<i2'", 2),
    ("'>i2'", 2),
    ("'<u2'", 2),
    ("'<f2'", 2),
    ("'>f2'", 2),
    ("'<i4'", 4),
    ("'>i4'", 4),
    ("'<u4'", 4),
    ("'<f4'", 4),
    ("'>f4'", 4),
    ("'<i8'", 8),
    ("'<u8'", 8),
    ("'>u8'", 8),
    ("'<f8'", 8),
    ("'>f8'", 8),
    ("'<f16'", 16),
    ("'<c8'", 8),
    ("'>c8'", 8),
    ("'<c16'", 16),
    ("'>c16'", 16),
    ("'<c32'", 32),
    ("'|S5'", 5),
    ("'<U3'", 12),
    ("'<M8[ns]'", 8),
    ("'|V3'", 3),
    ("[('a', '<i4'), ('b', '<f8')]", 12),
    ("[('tag', '|u1'), ('xyz', '>f2', (3,)), ('', '|V2'), ('p', [('q', '|b1')])]", 10),
];

/// The bytes of element number `id`, which look random. A one-byte element is 0 or 1, so that it may be a boolean.
fn element(id: usize, item_bytes: usize) -> impl Iterator<Item = u8> {
    (0..item_bytes).map(move |byte| {
        let mixed = (id * 31 + byte).wrapping_mul(0x9e37_79b9) >> 7;
        u8::try_from(if item_bytes == 1 { mixed & 1 } else { mixed & 0xff }).unwrap()
    })
}

fn file(descr: &str, item_bytes: usize, model: &Model, fortran: bool) -> NpyFile {
    let ids = model.in_order(fortran).into_iter();
    NpyFile {
        descr: descr.to_owned(),
        fortran,
        shape: model.shape.clone(),
        elements: ids.flat_map(|id| element(id, item_bytes)).collect(),
    }
}

/// Runs steps on a file, and compares the result with the oracle's.
fn check(
    (descr, item_bytes): (&str, usize),
    shape: &[usize],
    (fortran_in, fortran_out): (bool, bool),
    steps: &str,
    expected: &Model,
) {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    fs::write(&input, file(descr, item_bytes, &Model::numbered(shape), fortran_in).to_bytes()).unwrap();
    let order = if fortran_out { "F" } else { "C" };
    relayout(&input, &output, &["--steps", steps, "--order", order]).succeeded();
    let fortran = fortran_out && expected.orders_differ();
    let wanted = file(descr, item_bytes, expected, fortran);
    assert_eq!(NpyFile::read(&output), wanted, "{descr} {shape:?} F {fortran_in} {fortran_out}: {steps}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn every_element_type_and_rank_in_both_orders() {
    let shapes: [&[usize]; 10] = [
        &[],
        &[5],
        &[3, 4],
        &[2, 3, 4],
        &[2, 1, 3, 2],
        &[2, 3, 1, 2, 2],
        &[2, 1, 2, 3, 1, 2],
        &[2, 2, 1, 2, 3, 1, 2],
        &[0],
        &[3, 0, 2],
    ];
    for (k, shape) in shapes.iter().enumerate() {
        for (n, &dtype) in DTYPES.iter().enumerate() {
            let orders = ((k + n) % 2 == 0, (k + n) % 4 < 2);
            let base = Model::numbered(shape);
            let axes: Vec<usize> = (0..shape.len()).rev().collect();
            let text: Vec<String> = axes.iter().map(usize::to_string).collect();
            check(dtype, shape, orders, &format!("permute({})", text.join(",")), &base.permute(&axes));
        }
    }
}

#[test]
fn random_chains_of_steps() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let rank = rng.below(8);
        let most = [1, 9, 6, 5, 4, 3, 3, 2][rank];
        let empty = rng.below(12) == 0;
        let shape: Vec<usize> =
            (0..rank).map(|axis| if empty && axis == rank / 2 { 0 } else { 1 + rng.below(most) }).collect();
        let mut model = Model::numbered(&shape);
        let mut texts = Vec::new();
        for _ in 0..rng.below(5) {
            let (text, next) = random_step(&mut rng, &model);
            texts.push(text);
            model = next;
            if model.ids.len() > 5_000 {
                break;
            }
        }
        let orders = (rng.below(2) == 0, rng.below(2) == 0);
        check(*rng.pick(&DTYPES), &shape, orders, &texts.join("/"), &model);
    }
}

fn random_step(rng: &mut Rng, model: &Model) -> (String, Model) {
    let rank = model.shape.len();
    match rng.below(if rank == 0 { 2 } else { 7 }) {
        0 => {
            let times = 1 + rng.below(3);
            let shape: String = model.shape.iter().map(|extent| format!(",{extent}")).collect();
            (format!("broadcast({times}{shape})"), model.broadcast(times))
        }
        1 => {
            let fortran = rng.below(2) == 0;
            let order = if fortran { "F" } else { "C" };
            let mut shape: Vec<usize> =
                rng.permutation(rank).into_iter().map(|axis| model.shape[axis]).collect();
            if rank > 1 && rng.below(2) == 0 {
                shape = vec![shape[0], shape[1..].iter().product()];
            }
            let text: String = shape.iter().map(|extent| format!("{extent},")).collect();
            (format!("reshape({text}order={order})"), model.reshape(&shape, fortran))
        }
        2 => {
            let axes = rng.permutation(rank);
            let text: Vec<String> = axes.iter().map(usize::to_string).collect();
            (format!("permute({})", text.join(",")), model.permute(&axes))
        }
        3 => {
            let axis = rng.below(rank);
            (format!("flip({axis})"), model.flip(axis))
        }
        4 => ("ravel(C)".to_owned(), model.reshape(&[model.ids.len()], false)),
        5 => {
            let ones: Vec<usize> = model.shape.iter().copied().filter(|&extent| extent != 1).collect();
            ("squeeze()".to_owned(), model.reshape(&ones, false))
        }
        _ => random_slice(rng, model),
    }
}

/// Slices one axis, with positions inside it, where NumPy's rules are clear.
fn random_slice(rng: &mut Rng, model: &Model) -> (String, Model) {
    let axis = rng.below(model.shape.len());
    let extent = model.shape[axis];
    let whole = ":,".repeat(axis);
    let start = rng.below(extent + 1);
    let step = 1 + rng.below(3);
    if rng.below(2) == 0 {
        let at: Vec<usize> = (start..extent).step_by(step).collect();
        return (format!("index({whole}{start}::{step})"), model.take(axis, &at));
    }
    let at: Vec<usize> =
        (0..extent).rev().filter(|i| (extent - 1 - i).is_multiple_of(step) && *i > start).collect();
    (format!("index({whole}:{start}:-{step})"), model.take(axis, &at))
}

#[test]
fn input_and_output_may_be_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let base = Model::numbered(&[3, 5]);
    fs::write(&path, file("'<f4'", 4, &base, false).to_bytes()).unwrap();
    relayout(&path, &path, &["--steps", "flip(0)"]).succeeded();
    assert_eq!(NpyFile::read(&path), file("'<f4'", 4, &base.flip(0), false));
}

#[test]
fn every_stage_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    fs::write(&input, file("'<f4'", 4, &Model::numbered(&[30, 5]), false).to_bytes()).unwrap();
    let finished = relayout(&input, &output, &["--steps", "index(::2)"]).succeeded();
    let mut lines = finished.stdout.lines().skip(1);
    for (stage, len_bytes) in
        [("read", 600), ("upload", 600), ("steps", 300), ("download", 300), ("write", 300)]
    {
        let words: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(words[..3], [stage, &len_bytes.to_string(), "bytes"]);
        assert_eq!((words[4], words[6]), ("s", "GB/s"));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn a_dash_is_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.npy");
    let base = Model::numbered(&[3, 5]);
    let text = file("'<f4'", 4, &base, false).to_bytes();
    fs::write(&input, text).unwrap();
    for quiet in [false, true] {
        let result = directory.path().join("result.npy");
        let mut command = Command::new(env!("CARGO_BIN_EXE_devarray"));
        command.arg("relayout").arg(&input).args(["-o", "-", "--backend", "mock", "--steps", "flip(0)"]);
        command.args(quiet.then_some("--quiet")).current_dir(&directory);
        let run = command.stdout(fs::File::create(&result).unwrap()).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        assert_eq!(NpyFile::read(&result), file("'<f4'", 4, &base.flip(0), false));
        let news = String::from_utf8(run.stderr).unwrap();
        assert_eq!(news.lines().count(), if quiet { 0 } else { 6 }, "{news}");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "there is no file of that name");
    }
}

#[test]
fn quiet_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    fs::write(&input, file("'<f4'", 4, &Model::numbered(&[3, 5]), false).to_bytes()).unwrap();
    assert_eq!(relayout(&input, &output, &["--quiet"]).succeeded().stdout, "");
    assert!(output.exists());
}

/// Copies arrays of several pieces, the last piece shorter, in both orders. The length of a piece is not a
/// multiple of the length of an element.
#[test]
fn what_is_larger_than_a_piece_arrives_whole() {
    let shape = [7, 300, 1_001];
    let base = Model::numbered(&shape);
    for fortran in [false, true] {
        check(("'|S5'", 5), &shape, (fortran, !fortran), "permute(2,0,1)", &base.permute(&[2, 0, 1]));
    }
}

/// Runs steps on a line of bytes, and returns the shape and the elements.
fn of_line(len: u8, steps: &str) -> (Vec<usize>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    let line = NpyFile {
        descr: "'|u1'".to_owned(),
        fortran: false,
        shape: vec![usize::from(len)],
        elements: (0..len).collect(),
    };
    fs::write(&input, line.to_bytes()).unwrap();
    relayout(&input, &output, &["--steps", steps]).succeeded();
    let NpyFile { shape, elements, .. } = NpyFile::read(&output);
    (shape, elements)
}

/// Steps without axes act on all axes, as in NumPy.
#[test]
fn steps_without_axes_act_on_all() {
    assert_eq!(of_line(6, "reshape(2,3)/flip()"), (vec![2, 3], vec![5, 4, 3, 2, 1, 0]));
    assert_eq!(of_line(6, "reshape(2,3)/flip"), (vec![2, 3], vec![5, 4, 3, 2, 1, 0]));
    assert_eq!(of_line(6, "reshape(1,2,3)/permute()"), (vec![3, 2, 1], vec![0, 3, 1, 4, 2, 5]));
    assert_eq!(of_line(6, "reshape(1,6,1)/squeeze()"), (vec![6], vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(of_line(1, "reshape()/flip()/permute()"), (vec![], vec![0]));
}

#[test]
fn negative_positions_of_a_split_count_from_the_end() {
    assert_eq!(of_line(7, "split_at(-3,take=1)").1, [4, 5, 6]);
    assert_eq!(of_line(7, "split_at(2,-3,take=1)").1, [2, 3]);
    assert_eq!(of_line(7, "split_at(-99,-1,99,take=1)").1, [0, 1, 2, 3, 4, 5]);
    assert_eq!(of_line(6, "reshape(2,3)/split_at(-1,axis=-1,take=1)"), (vec![2, 1], vec![2, 5]));
}

/// `ravel(K)` visits repeated elements in NumPy's order.
#[test]
fn repeated_rows_stay_where_they_are() {
    assert_eq!(of_line(3, "broadcast(2,3)/ravel(K)").1, [0, 1, 2, 0, 1, 2]);
    assert_eq!(of_line(3, "reshape(3,1)/broadcast(3,2)/permute(1,0)/ravel(K)").1, [0, 1, 2, 0, 1, 2]);
    assert_eq!(of_line(4, "reshape(2,2)/permute(1,0)/broadcast(2,2,2)/ravel(K)").1, [0, 1, 2, 3, 0, 1, 2, 3]);
}

/// If a file holds several arrays, the first one is read. Standard error says so, unless `--quiet` is
/// given.
#[test]
fn the_first_of_several_arrays_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    let one = |elements: &[u8]| NpyFile {
        descr: "'|u1'".to_owned(),
        fortran: false,
        shape: vec![elements.len()],
        elements: elements.to_vec(),
    };
    fs::write(&input, [one(&[1, 2]).to_bytes(), one(&[3]).to_bytes()].concat()).unwrap();
    let finished = relayout(&input, &output, &[]);
    assert_eq!((finished.status, NpyFile::read(&output)), (0, one(&[1, 2])), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    assert!(finished.stderr.contains("in.npy: the first of several arrays"), "{finished:?}");
    relayout(&input, &output, &["--quiet"]).succeeded();
    let map = crate::run::map("x0 + x0", &[&input], &output, &[]);
    assert!(map.status == 0 && map.stderr.contains("the first of several"), "{map:?}");
}

/// A type may have any of its names in the input. The output has NumPy's name.
#[test]
fn types_are_written_by_the_names_that_numpy_writes() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    for (descr, item_bytes, due) in [
        ("'d'", 8, "'<f8'"),
        ("u'float32'", 4, "'<f4'"),
        ("'>H'", 2, "'>u2'"),
        ("'?'", 1, "'|b1'"),
        ("[(u'a', 'f'), ('b', '>i4', (2L,))]", 12, "[('a', '<f4'), ('b', '>i4', (2,))]"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (+2,)}}");
        let elements: Vec<u8> = (0..2 * item_bytes).map(|byte| byte & 1).collect();
        fs::write(&input, crate::npy_file::with_header(&text, &elements)).unwrap();
        relayout(&input, &output, &[]).succeeded();
        let written = NpyFile::read(&output);
        assert_eq!((&written.descr[..], &written.shape[..], written.elements), (due, &[2][..], elements));
    }
}
