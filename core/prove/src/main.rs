//! Compares the `f32` functions of devarray with references that share nothing with them, for every
//! input.
//!
//! The system's functions of `f64` decide all but about a thousand inputs of a function: where
//! their error could change the rounding to `f32`, arithmetic of 300 bits and more does. A function
//! takes minutes on two cores.

mod digest;
mod precise;
mod reference;
mod sweep;

use std::io::{Read, Write};
use std::process::ExitCode;

use devarray::function::elementary::{Elementary, evaluate_f32, evaluate_f64};

const USAGE: &str = "\
usage: devarray-prove [--function NAME]... [--threads N] [--sample N] [--list] [--digest]
       devarray-prove evaluate NAME f32|f64 < NUMBERS > RESULTS

Compares each function of one f32 with its correctly rounded value, for all 2^32 inputs, and prints
  NAME: INPUTS inputs, UNDECIDED decided in high precision, WRONG wrong, digest HEX
--function NAME   this function only; may be repeated
--threads N       2 unless told
--sample N        about N inputs, spread evenly, in place of all
--list            also the inputs that are decided in high precision, as `NAME 0xBITS`
--digest          the digest only, which is quicker: nothing is compared
evaluate          reads little-endian numbers (pairs, for a function of two) and writes the results

Exit status: 0 if nothing is wrong, 1 if something is, 2 for wrong arguments.
";

/// At most this many wrong results are printed.
const SHOWN: usize = 100;

struct Options {
    functions: Vec<Elementary>,
    threads: u32,
    sample: Option<u64>,
    list: bool,
    digest_only: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name, number] = arguments.as_slice()
        && verb == "evaluate"
    {
        return match (function(name), number.as_str()) {
            (Some(function), "f32") => evaluate_all(
                function,
                f32::from_le_bytes,
                |x, y, out| {
                    evaluate_f32(function, x, y, out);
                },
                f32::to_le_bytes,
            ),
            (Some(function), "f64") => evaluate_all(
                function,
                f64::from_le_bytes,
                |x, y, out| {
                    evaluate_f64(function, x, y, out);
                },
                f64::to_le_bytes,
            ),
            _ => usage(),
        };
    }
    let Some(options) = options(&arguments) else { return usage() };
    let mut wrong = 0;
    for &function in &options.functions {
        let found = sweep::sweep(function, options.threads, options.sample, options.digest_only);
        for wrong in found.wrong.iter().take(SHOWN) {
            println!("{}: {wrong}", function.name());
        }
        for input in found.undecided.iter().filter(|_| options.list) {
            println!("{} 0x{:08x}", function.name(), input.to_bits());
        }
        println!(
            "{}: {} inputs, {} decided in high precision, {} wrong, digest {:016x}",
            function.name(),
            found.inputs,
            found.undecided.len(),
            found.wrong.len(),
            found.digest,
        );
        wrong += found.wrong.len();
    }
    ExitCode::from(u8::from(wrong > 0))
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}

fn function(name: &str) -> Option<Elementary> {
    Elementary::ALL.iter().copied().find(|function| function.name() == name)
}

fn options(arguments: &[String]) -> Option<Options> {
    let mut options =
        Options { functions: Vec::new(), threads: 2, sample: None, list: false, digest_only: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--function" => options.functions.push(function(rest.next()?).filter(|f| f.arity() == 1)?),
            "--threads" => options.threads = rest.next()?.parse().ok().filter(|&threads| threads > 0)?,
            "--sample" => options.sample = Some(rest.next()?.parse().ok()?),
            "--list" => options.list = true,
            "--digest" => options.digest_only = true,
            _ => return None,
        }
    }
    if options.functions.is_empty() {
        options.functions =
            Elementary::ALL.iter().copied().filter(|function| function.arity() == 1).collect();
    }
    Some(options)
}

/// Reads numbers from standard input and writes the results to standard output.
fn evaluate_all<T: Copy + Default, const N: usize>(
    function: Elementary,
    read: fn([u8; N]) -> T,
    evaluate: impl Fn(&[T], &[T], &mut [T]),
    write: fn(T) -> [u8; N],
) -> ExitCode {
    let mut bytes = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut bytes) {
        eprintln!("standard input: {error}");
        return ExitCode::from(2);
    }
    let numbers: Vec<T> = bytes.as_chunks().0.iter().map(|&bytes| read(bytes)).collect();
    let (x, y): (Vec<T>, Vec<T>) = if function.arity() == 2 {
        numbers.as_chunks().0.iter().map(|&[x, y]| (x, y)).unzip()
    } else {
        (numbers, Vec::new())
    };
    let mut results = vec![T::default(); x.len()];
    evaluate(&x, &y, &mut results);
    let bytes: Vec<u8> = results.iter().flat_map(|&result| write(result)).collect();
    match std::io::stdout().write_all(&bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("standard output: {error}");
            ExitCode::from(2)
        }
    }
}
