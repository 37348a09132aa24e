//! The strata that a card is tested with, on the fake: their coverage, equal results of functions
//! compiled together and alone, and the discovery of a mistake in a text.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use devarray::{
    backend::Device,
    function::{
        ElementType,
        primitive::{Instruction, Program, ProgramBuilder, RegisterType},
    },
};
use devarray_conformance::Rng;
use devarray_cuda::{CudaDevice, CudaStream};

use super::{
    driver::table,
    entries::assert_parted,
    functions::assemble,
    programs::{BINARY, UNARY, apply_binary, apply_unary},
    state::Fake,
    strata_of::{
        CYCLE, CYCLE_PAIRS, Strata, Stratum, batch,
        check::{Counted, Devices, check, told},
        families::{self, Family, Wanted},
        primitives::{Typed, element_types},
        shrink::smaller,
        work::{Work, together},
    },
};

/// Two devices of one fake: one that compiles functions together, and a plain one.
fn with_devices<R>(plants: Option<usize>, call: impl FnOnce(&Fake, &Devices<'_>) -> R) -> R {
    let fake = Fake::new();
    let open = |device: CudaDevice| -> (CudaDevice, CudaStream) {
        let stream = device.open_stream().unwrap();
        (device, stream)
    };
    let first = open(CudaDevice::open_with(&batch::before(table(), plants), 0).unwrap());
    let second = open(CudaDevice::open_with(&fake.driver(), 1).unwrap());
    let result = call(&fake, &Devices { together: (&first.0, &first.1), alone: (&second.0, &second.1) });
    for (device, stream) in [first, second] {
        assert_eq!(device.take_errors(), []);
        drop((stream, device));
    }
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    result
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
fn functions_compiled_together_give_what_the_interpreter_gives() {
    let (first, cycles) = (number("FIRST", 0), number("CYCLES", 2));
    let strata = Strata::new(number("SEED", 0));
    with_devices(None, |fake, devices| {
        let counted = check(&strata, first..first + cycles * CYCLE, devices, || true);
        assert_eq!(counted.strata.values().map(|[_, pairs]| pairs).sum::<u64>(), cycles * CYCLE_PAIRS);
        for fault in &counted.faults {
            println!("{}", told(&strata, fault, devices));
        }
        assert_eq!(counted.faults.len(), 0);
        let Counted { kernels, modules, alone, .. } = counted;
        assert!(modules * 30 < kernels && alone > 0, "{kernels} kernels in {modules} modules");
        let written = fake.state(|state| state.written.len() as u64);
        assert!(written < modules + 4 * alone, "{written} texts were loaded");
    });
}

/// The interpreter, by another one that goes element by element.
#[test]
fn the_interpreter_is_right_of_every_stratum() {
    let strata = Strata::new(1);
    let mut compared = 0;
    for number in 0..5 * CYCLE {
        for work in strata.works(number) {
            if let Work::Map(case) = &work {
                assert!(case.expected() == case.interpreted(), "number {number}: {work}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500);
}

/// The twin of the first test.
#[test]
fn mistakes_in_texts_are_found() {
    let strata = Strata::new(2);
    with_devices(Some(5), |_, devices| {
        let counted = check(&strata, 0..2 * CYCLE, devices, || true);
        let faulty: HashSet<u64> = counted.faults.iter().map(|fault| fault.number).collect();
        let planted: HashSet<u64> = counted.planted.iter().copied().collect();
        assert!(faulty.is_subset(&planted), "{faulty:?} of {planted:?}");
        assert!(planted.len() > 7 && faulty.len() * 3 > planted.len(), "{faulty:?} of {planted:?}");
        // The plain device is right, and says so.
        let told = told(&strata, &counted.faults[0], devices);
        assert!(told.contains("it is right in a module of its own"), "{told}");
    });
}

/// A large function with a mistake in its text becomes a small one that shows the mistake.
#[test]
fn a_wrong_function_is_made_smaller() {
    let strata = Strata::new(3);
    with_devices(Some(1), |_, devices| {
        let is_wrong = |work: &Work| {
            let wrong = together(devices.together.0, devices.together.1, std::slice::from_ref(work));
            wrong[0].is_some()
        };
        let len = |work: &Work| match work {
            Work::Map(case) => case.program.instructions().len(),
            Work::Reduce(case) => case.program.instructions().len(),
        };
        let of_booleans = |&number: &u64| Strata::place(number).0 == Stratum::Family(Family::Booleans);
        let works = (0..).filter(of_booleans).map(|number| strata.works(number).swap_remove(0));
        let large = works.filter(|work| len(work) > 12 && is_wrong(work)).take(3);
        for work in large.collect::<Vec<Work>>() {
            let (small, tried) = smaller(&work, is_wrong);
            assert!(is_wrong(&small) && len(&small) <= 7, "{tried} tried: {small} of {work}");
        }
    });
}

/// Modules of many entries hold each text as it was.
#[test]
fn texts_are_joined_and_parted() {
    let texts = with_devices(None, |fake, devices| {
        for number in 0..CYCLE {
            Strata::new(4)
                .works(number)
                .iter()
                .for_each(|work| drop(work.run(devices.alone.0, devices.alone.1)));
        }
        fake.state(|state| state.written.clone())
    });
    assert!(texts.iter().any(|text| text.contains("constants")) && texts.len() > 60);
    assert_parted(&texts);
}

#[test]
fn every_primitive_is_of_every_type_it_takes() {
    let all = Typed::all();
    for op in UNARY {
        assert!(all.iter().any(|typed| matches!(typed, Typed::Unary(one, _) if *one == op)), "{op:?}");
    }
    for op in BINARY {
        assert!(all.iter().any(|typed| matches!(typed, Typed::Binary(one, _) if *one == op)), "{op:?}");
    }
    // The value that the builder makes of each is of the type that the table says.
    for typed in &all {
        let types: Vec<ElementType> = typed.operands().into_iter().map(|of| element_types(of)[0]).collect();
        let mut b = ProgramBuilder::new(&types, &[]);
        let x: Vec<_> = (0..3_u8)
            .filter(|at| usize::from(*at) < types.len())
            .map(|at| b.push(Instruction::Input(at)))
            .collect();
        let made = match *typed {
            Typed::Unary(op, _) => apply_unary(&mut b, op, x[0]),
            Typed::Binary(op, _) => apply_binary(&mut b, op, x[0], x[1]),
            Typed::Fma(_) => b.fma(x[0], x[1], x[2]),
            Typed::Select(_) => b.select(x[0], x[1], x[2]),
        };
        assert_eq!(b.type_of(made), typed.result(), "{typed:?}");
    }
}

/// Every pair and every triple whose types fit has a number, and none has two.
#[test]
fn every_pair_and_triple_has_a_number() {
    let strata = Strata::new(5);
    let all = Typed::all();
    let fits = |of: Typed, reader: Typed| {
        reader.operands().iter().filter(|&&operand| operand == of.result()).count()
    };
    let pairs: usize = all.iter().flat_map(|&a| all.iter().map(move |&b| fits(a, b))).sum();
    let chains: usize = all
        .iter()
        .flat_map(|&a| all.iter().map(move |&b| (a, b)))
        .map(|(a, b)| fits(a, b) * all.iter().map(|&c| fits(b, c)).sum::<usize>())
        .sum();
    let setting = |of: RegisterType| all.iter().filter(|typed| typed.result() == of).count();
    let both: usize = all
        .iter()
        .map(|typed| {
            let counts: Vec<usize> = typed.operands().into_iter().map(setting).collect();
            (0..counts.len())
                .flat_map(|x| (x + 1..counts.len()).map(move |y| (x, y)))
                .map(|(x, y)| counts[x] * counts[y])
                .sum::<usize>()
        })
        .sum();
    let trees = &strata.trees;
    assert_eq!((trees.ones.len(), trees.pairs.len(), trees.triples.len()), (all.len(), pairs, chains + both));
    println!("{} primitives, {pairs} pairs, {} triples", all.len(), trees.triples.len());
    let mut seen: BTreeMap<&str, (HashSet<String>, u64)> = BTreeMap::new();
    // A million pairs of functions and arrays.
    for number in 0..1_000_000_u64.div_ceil(CYCLE_PAIRS) * CYCLE {
        let name = match Strata::place(number).0 {
            Stratum::Primitives => "ones",
            Stratum::Pairs => "pairs",
            Stratum::Triples => "triples",
            _ => continue,
        };
        let (seen, numbers) = seen.entry(name).or_default();
        seen.insert(format!("{:?}", strata.joined(number).unwrap()));
        *numbers += 1;
    }
    for (name, count) in
        [("ones", trees.ones.len()), ("pairs", trees.pairs.len()), ("triples", trees.triples.len())]
    {
        let (seen, numbers) = &seen[name];
        println!("{name}: {} of {count} in {numbers} numbers", seen.len());
        assert_eq!(seen.len() as u64, (count as u64).min(*numbers), "{name}");
        assert!(seen.len() == count, "a million pairs have every one of the {name}");
    }
}

/// Nearly all functions that join certain primitives still have them: few are simplified away.
#[test]
fn functions_have_the_primitives_they_are_named_for() {
    let strata = Strata::new(7);
    let (mut functions, mut whole) = (0, 0);
    for number in 0..20 * CYCLE {
        let Some(joined) = strata.joined(number) else { continue };
        let Work::Map(case) = strata.works(number).swap_remove(0) else { unreachable!("a function") };
        let has = |typed: &Typed| {
            let is_one = |one: &Instruction| match (*typed, *one) {
                (Typed::Unary(op, of), Instruction::Unary(own, a)) => {
                    op == own && case.program.register_type(a) == of
                }
                (Typed::Binary(op, of), Instruction::Binary(own, a, _)) => {
                    op == own && case.program.register_type(a) == of
                }
                (Typed::Fma(of), Instruction::Fma(a, ..)) => case.program.register_type(a) == of,
                (Typed::Select(of), Instruction::Select(_, a, _)) => case.program.register_type(a) == of,
                _ => false,
            };
            case.program.instructions().iter().any(is_one)
        };
        functions += 1;
        whole += usize::from(joined.primitives().iter().all(has));
    }
    println!("{whole} of {functions} functions have all of their primitives");
    assert!(whole * 20 > functions * 19, "{whole} of {functions}");
}

fn share_of(programs: &[Program], is_one: impl Fn(&Program, Instruction) -> bool) -> f64 {
    let count = |is_one: &dyn Fn(&Program, Instruction) -> bool| -> usize {
        programs
            .iter()
            .map(|program| program.instructions().iter().filter(|one| is_one(program, **one)).count())
            .sum()
    };
    count(&is_one) as f64 / count(&|_, one| one.operands().next().is_some()) as f64
}

/// A family's functions are mostly of what it is named for, and have results of every type.
#[test]
fn families_have_what_they_are_named_for() {
    use Family::{Booleans, F32AndBooleans, Halves, Integers, Mixed, Selects};
    for family in [Booleans, Integers, Selects, Halves, F32AndBooleans, Mixed] {
        let made = |seed: u64| {
            let rng = &mut Rng::new(seed);
            let of = families::result_type(rng, family);
            families::made(rng, family, Wanted::Elements(of)).program
        };
        let programs: Vec<Program> = (0..600).map(made).collect();
        let results: BTreeSet<String> =
            programs.iter().map(|program| program.result_type().to_string()).collect();
        assert_eq!(results.len(), ElementType::ALL.len(), "{family:?}");
        let of_bools = share_of(&programs, |program, one| {
            matches!(one, Instruction::Unary(..) | Instruction::Binary(..) | Instruction::Select(..))
                && one.operands().any(|operand| program.register_type(operand) == RegisterType::Bool)
        });
        let selects = share_of(&programs, |_, one| matches!(one, Instruction::Select(..)));
        println!("{family:?}: {of_bools:.2} read booleans, {selects:.2} select");
        match family {
            Booleans => assert!(of_bools > 0.6, "{of_bools}"),
            F32AndBooleans => assert!(of_bools > 0.3, "{of_bools}"),
            Selects => assert!(selects > 0.4, "{selects}"),
            _ => {}
        }
    }
}

/// Operands of every kind, and reductions of every kind.
#[test]
fn operands_of_every_kind_are_there() {
    let strata = Strata::new(6);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut note = |what: String| *seen.entry(what).or_default() += 1;
    for number in 0..80 * CYCLE {
        for work in strata.works(number) {
            let inputs = match &work {
                Work::Map(case) => {
                    let of = |one: &Instruction| matches!(one, Instruction::Constant(_));
                    let is_constant = case.program.instructions().iter().any(of);
                    note(format!("literal {is_constant}"));
                    note(format!("scalar {}", !case.scalars.is_empty()));
                    note(format!("in place {}", case.in_place.is_some()));
                    note(format!("result {}", case.program.result_type()));
                    note(format!("axes {}", case.result.0.shape().len()));
                    &case.inputs
                }
                Work::Reduce(case) => {
                    note(format!("{:?} {:?}", case.combine, case.form));
                    &case.inputs
                }
            };
            for (layout, _) in inputs {
                let strides = layout.strides();
                note(format!("all repeated {}", strides.iter().all(|stride| *stride == 0)));
                note(format!("rows repeated {}", strides.len() > 1 && strides.last() == Some(&0)));
                note(format!("offset {}", layout.offset() > 0));
                note(format!("backwards {}", strides.iter().any(|stride| *stride < 0)));
                note(format!("permuted {}", strides.is_sorted_by(|a, b| a.abs() >= b.abs())));
            }
        }
    }
    // Five of a total and of every type, eight kinds with two answers, five ranks, 13 types.
    let whole: Vec<&String> = seen.keys().filter(|name| seen[*name] < 5).collect();
    assert_eq!(whole, Vec::<&String>::new(), "{seen:?}");
    for name in
        ["literal", "scalar", "in place", "all repeated", "rows repeated", "offset", "backwards", "permuted"]
    {
        assert!(
            [true, false].iter().all(|answer| seen.contains_key(&format!("{name} {answer}"))),
            "{name}: {seen:?}"
        );
    }
    assert_eq!(seen.keys().filter(|name| name.starts_with("result ")).count(), ElementType::ALL.len());
    assert_eq!(seen.keys().filter(|name| name.ends_with(" Total")).count(), 6, "{seen:?}");
    assert_eq!(seen.keys().filter(|name| name.ends_with("clusive")).count(), 6, "{seen:?}");
}

/// Modules of many entries pass NVIDIA's own assembler: `PTXAS` is its path. Or they are written to
/// the folder `TEXTS`.
#[test]
#[ignore = "needs ptxas: PTXAS=... cargo test -p devarray-cuda --test fake modules_assemble -- --ignored"]
fn modules_assemble() {
    let strata = Strata::new(number("SEED", 8));
    with_devices(None, |fake, devices| {
        fake.state(|state| state.idle = true);
        check(&strata, 0..number("CYCLES", 3) * CYCLE, devices, || true);
        let Ok(folder) = std::env::var("TEXTS") else { return assemble(fake) };
        for (nth, text) in fake.state(|state| std::mem::take(&mut state.written)).into_iter().enumerate() {
            std::fs::write(format!("{folder}/{nth}.ptx"), text).unwrap();
        }
    });
}
