//! Runs the PTX text that functions are written in: every thread of every block, in host memory.
//!
//! Knows the instructions that the library writes. Refuses others, and float operations without a rounding.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits are bits"
)]
#![allow(unsafe_code)] // reads and writes the memory of the fake

use std::collections::HashMap;

use super::{
    ptx_ops::{between, constants, number},
    state::State,
};

/// Multiprocessors of the fake: few, so that small arrays have tiles behind those that run.
const MULTIPROCESSORS: u64 = 2;

/// The value of registers before they are set.
const UNSET: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// A text, understood.
#[derive(Debug)]
pub(crate) struct Text {
    code: Vec<Line>,
    /// The hash of its characters.
    pub(crate) hash: u64,
    /// Constant memory.
    constants: Vec<u8>,
    registers: usize,
    pub(crate) parameter_bytes: usize,
    pub(crate) shared_bytes: usize,
    pub(crate) has_dynamic: bool,
    has_spins: bool,
    /// The product that it follows, if it does.
    pub(crate) follows: Option<super::products::Follows>,
    threads: u32,
}

#[derive(Debug)]
struct Line {
    /// A predicate, and what it has to be.
    guard: Option<(usize, bool)>,
    /// The parts of the instruction's name.
    name: Vec<&'static str>,
    kind: (char, u32),
    operands: Vec<Operand>,
    target: usize,
}

#[derive(Debug, Clone)]
enum Operand {
    Register(usize),
    Several(Vec<usize>),
    Number(u64),
    /// Block or thread.
    Index(bool),
    Memory(Base, i64),
}

#[derive(Debug, Clone, Copy)]
enum Base {
    Parameter,
    Constants,
    Shared,
    Register(usize),
}

/// The words of all instructions, so that names are compared as pointers to one of these.
const WORDS: [&str; 72] = [
    "mov", "mad", "mul", "add", "sub", "div", "rem", "and", "or", "xor", "not", "neg", "abs", "sqrt", "rcp",
    "fma", "shl", "shr", "popc", "clz", "cvt", "setp", "selp", "bfe", "prmt", "min", "max", "ld", "st",
    "bra", "bar", "ret", "lo", "hi", "wide", "rn", "rzi", "rmi", "rpi", "rni", "eq", "ne", "lt", "le", "gt",
    "ge", "num", "nan", "global", "nc", "param", "shared", "sync", "v2", "v4", "u8", "s8", "u16", "s16",
    "b16", "f16", "x", "shfl", "down", "bfly", "atom", "volatile", "membar", "gl", "prefetch", "L2", "const",
];
const TYPES: [&str; 10] = ["u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64", "uni", "v1"];

fn word(text: &str) -> Option<&'static str> {
    WORDS.iter().chain(&TYPES).copied().find(|word| *word == text)
}

fn kind(word: &str) -> Option<(char, u32)> {
    let (class, bits) = word.split_at_checked(1)?;
    let bits = bits.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
    matches!(class, "u" | "s" | "b" | "f").then_some((class.chars().next()?, bits))
}

impl Text {
    /// Why a text is no text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut registers = HashMap::new();
        let mut labels = HashMap::new();
        let mut lines = Vec::new();
        let body = text.split_once("{\n").ok_or("no body")?.1;
        for line in body.lines().map(str::trim) {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, lines.len());
            } else if !line.starts_with('.') && line != "}" {
                lines.push(line.strip_suffix(';').ok_or_else(|| format!("no end: {line}"))?);
            }
        }
        let shared_bytes = between::<usize>(text, ".b8 tile[", "]").unwrap_or(0).next_multiple_of(16);
        let parse = |line| {
            Self::line(line, &mut registers, &labels, shared_bytes)
                .ok_or_else(|| format!("not known: {line}"))
        };
        let code = lines.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self {
            code,
            hash: super::frozen::fnv(0, text.bytes()),
            constants: constants(text).ok_or("constants that are no numbers")?,
            registers: registers.len(),
            parameter_bytes: between(text, ".param .align 8 .b8 p[", "]").ok_or("no parameter")?,
            shared_bytes,
            has_dynamic: text.contains(".extern .shared"),
            has_spins: text.contains("ld.volatile"),
            follows: None,
            threads: between(text, ".maxntid ", ",").ok_or("no threads")?,
        })
    }

    fn line<'t>(
        line: &'t str,
        registers: &mut HashMap<&'t str, usize>,
        labels: &HashMap<&str, usize>,
        shared_bytes: usize,
    ) -> Option<Line> {
        let mut register = |name: &'t str| {
            let next = registers.len();
            *registers.entry(name).or_insert(next)
        };
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ')?;
                let (guard, wanted) = guard.strip_prefix('!').map_or((guard, true), |guard| (guard, false));
                (Some((register(guard), wanted)), rest)
            }
            None => (None, line),
        };
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let name: Vec<&str> = name.split('.').map(word).collect::<Option<_>>()?;
        let kind = name.last().and_then(|word| kind(word)).unwrap_or(('b', 32));
        if kind.0 == 'f'
            && ["add", "sub", "mul", "div", "sqrt", "rcp", "fma"].contains(&name[0])
            && !name.contains(&"rn")
        {
            return None;
        }
        // Logic on predicates is no word of a text: assemblers get it wrong (kernels/MISCOMPILED.md).
        if name[0] == "setp" && name.iter().any(|word| ["and", "or", "xor"].contains(word)) {
            return None;
        }
        let (mut operands, mut target) = (Vec::new(), usize::MAX);
        let mut rest = rest.trim();
        while !rest.is_empty() {
            let end = if rest.starts_with('{') {
                rest.find('}')? + 1
            } else {
                rest.find(',').unwrap_or(rest.len())
            };
            let (one, after) = rest.split_at(end);
            rest = after.trim_start_matches(',').trim();
            operands.push(if name[0] == "bra" {
                target = *labels.get(one)?;
                continue;
            } else if let Some(list) = one.strip_prefix('{') {
                Operand::Several(
                    list.trim_end_matches('}').split(',').map(|one| register(one.trim())).collect(),
                )
            } else if let Some(place) = one.strip_prefix('[') {
                let place = place.strip_suffix(']')?;
                let (base, offset) = place.split_once('+').unwrap_or((place, "0"));
                let base = match base {
                    "p" => Base::Parameter,
                    "constants" => Base::Constants,
                    "tile" => Base::Shared,
                    base => Base::Register(register(base)),
                };
                Operand::Memory(base, offset.parse().ok()?)
            } else if one.starts_with("%ctaid") || one.starts_with("%tid") {
                Operand::Index(one.starts_with("%c"))
            } else if one.starts_with('%') {
                Operand::Register(register(one))
            } else if one == "tile" {
                Operand::Number(0)
            } else if one == "%nsmid" {
                Operand::Number(MULTIPROCESSORS)
            } else if one == "kept" {
                // Behind what the text declares.
                Operand::Number(shared_bytes as u64)
            } else {
                Operand::Number(number(one)?)
            });
        }
        Some(Line { guard, name, kind, operands, target })
    }

    /// Runs a grid over a parameter.
    pub(crate) fn run(
        &self,
        state: &mut State,
        parameter: &[u8],
        (blocks, threads, dynamic_bytes): (u32, u32, u32),
    ) -> i32 {
        if threads != self.threads {
            state.misuse.push(format!("{threads} threads for a kernel of {}", self.threads));
        }
        for block in 0..blocks {
            let mut shared = vec![0xa5; self.shared_bytes + dynamic_bytes as usize];
            let mut all: Vec<Thread> = (0..threads)
                .map(|index| Thread { block, index, at: 0, exchange: None, set: vec![UNSET; self.registers] })
                .collect();
            while all.iter().any(|thread| thread.at < self.code.len()) {
                // Between barriers any order is right, unless a warp waits for another.
                let mut warps: Vec<_> = all.chunks_mut(32).collect();
                if block % 2 == 1 && !self.has_spins {
                    warps.reverse();
                }
                let ran = |warp: &mut [Thread]| self.run_warp(warp, state, parameter, &mut shared).is_some();
                if !warps.into_iter().all(ran) {
                    return 700;
                }
                let first = all[0].at;
                if self.shared_bytes > 0 && all.iter().any(|thread| thread.at != first) {
                    state.misuse.push("threads of one block wait at different barriers".to_owned());
                    return 700;
                }
            }
        }
        0
    }
}

impl Text {
    /// Runs a warp up to a barrier, or the end: its threads exchange values together.
    fn run_warp(
        &self,
        warp: &mut [Thread],
        state: &mut State,
        parameter: &[u8],
        shared: &mut [u8],
    ) -> Option<()> {
        loop {
            for thread in &mut *warp {
                thread.run(self, state, parameter, shared)?;
            }
            let at = warp[0].exchange.take();
            if warp[1..].iter_mut().any(|thread| thread.exchange.take() != at) {
                state.misuse.push("threads of one warp do not exchange together".to_owned());
                return None;
            }
            let Some(at) = at else { return Some(()) };
            let line = &self.code[at];
            let [Operand::Register(to), Operand::Register(from), by, last, all] = &line.operands[..] else {
                unreachable!("registers are exchanged")
            };
            let by = warp[0].get(by) as usize;
            assert!(warp.len() == 32 && warp[0].get(last) == 31 && warp[0].get(all) as u32 == u32::MAX);
            let values: Vec<u64> = warp.iter().map(|thread| thread.set[*from]).collect();
            for (lane, thread) in warp.iter_mut().enumerate() {
                let source = if line.name.contains(&"down") { lane + by } else { lane ^ by };
                thread.set[*to] = *values.get(source).unwrap_or(&values[lane]) & 0xffff_ffff;
            }
        }
    }
}

struct Thread {
    block: u32,
    index: u32,
    at: usize,
    /// The line at which it waits for its warp.
    exchange: Option<usize>,
    set: Vec<u64>,
}

impl Thread {
    fn get(&self, operand: &Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.set[*register],
            Operand::Number(number) => *number,
            Operand::Index(block) => if *block { self.block } else { self.index }.into(),
            Operand::Several(_) | Operand::Memory(..) => unreachable!("no value"),
        }
    }

    /// Runs up to a barrier, or the end. `None`: memory was touched that must not be.
    fn run(&mut self, text: &Text, state: &mut State, parameter: &[u8], shared: &mut [u8]) -> Option<()> {
        while let Some(line) = text.code.get(self.at) {
            self.at += 1;
            if line.guard.is_some_and(|(guard, wanted)| (self.set[guard] != 0) != wanted) {
                continue;
            }
            match line.name[0] {
                "bra" => self.at = line.target,
                "ret" => self.at = text.code.len(),
                "bar" => return Some(()),
                // Blocks run one after another, and there is no cache.
                "membar" => {}
                "prefetch" => {
                    let Operand::Memory(Base::Register(register), behind) = line.operands[0] else {
                        unreachable!("memory of the device is brought to the cache")
                    };
                    state.device(self.set[register].wrapping_add_signed(behind), 1, 1)?;
                }
                "shfl" => {
                    self.exchange = Some(self.at - 1);
                    return Some(());
                }
                "atom" => self.add(line, state)?,
                "ld" | "st" => self.memory(line, text, state, (parameter, shared))?,
                _ => {
                    let Operand::Register(to) = line.operands[0] else { unreachable!("a register is set") };
                    let inputs: Vec<u64> =
                        line.operands[1..].iter().map(|operand| self.get(operand)).collect();
                    self.set[to] = super::ptx_ops::compute(&line.name, line.kind, &inputs);
                }
            }
        }
        Some(())
    }

    /// Adds to a word of memory, and answers what it was.
    fn add(&mut self, line: &Line, state: &mut State) -> Option<()> {
        let [Operand::Register(to), Operand::Memory(Base::Register(register), offset), by] =
            &line.operands[..]
        else {
            unreachable!("a word of memory is added to")
        };
        let at = self.set[*register].wrapping_add_signed(*offset);
        let word = state.device(at, 4, 4)?.cast::<u32>();
        // SAFETY: the bytes are allocated, and nobody else has them.
        let before = unsafe { word.read_unaligned() };
        self.set[*to] = before.into();
        let after = before.wrapping_add(self.get(by) as u32);
        // SAFETY: as above.
        unsafe { word.write_unaligned(after) };
        Some(())
    }

    fn memory(
        &mut self,
        line: &Line,
        text: &Text,
        state: &mut State,
        (parameter, shared): (&[u8], &mut [u8]),
    ) -> Option<()> {
        let load = line.name[0] == "ld";
        let (value, place) = if load { (0, 1) } else { (1, 0) };
        let registers = match &line.operands[value] {
            Operand::Register(register) => vec![*register],
            Operand::Several(registers) => registers.clone(),
            _ => unreachable!("registers are loaded and stored"),
        };
        let Operand::Memory(base, offset) = line.operands[place] else { unreachable!("memory is reached") };
        let len = line.kind.1 as usize / 8;
        let whole = len * registers.len();
        let at = match base {
            Base::Parameter | Base::Constants | Base::Shared => offset.cast_unsigned(),
            Base::Register(register) => self.set[register].wrapping_add_signed(offset),
        };
        let is_global = line.name.contains(&"global");
        let start = if is_global { Some(state.device(at, whole, whole)?) } else { None };
        for (nth, register) in registers.into_iter().enumerate() {
            let at = usize::try_from(at).ok()? + nth * len;
            let mut bytes = [0; 8];
            let inside: Option<&mut [u8]> = if is_global { None } else { shared.get_mut(at..at + len) };
            if load {
                match (start, line.name[1]) {
                    // SAFETY: the bytes are allocated.
                    (Some(start), _) => unsafe {
                        bytes.as_mut_ptr().copy_from(start.wrapping_add(nth * len), len)
                    },
                    (None, "param") => bytes[..len].copy_from_slice(parameter.get(at..at + len)?),
                    (None, "const") => bytes[..len].copy_from_slice(text.constants.get(at..at + len)?),
                    (None, _) => bytes[..len].copy_from_slice(inside?),
                }
                let bits = u64::from_le_bytes(bytes);
                let extended = match line.kind {
                    ('s', 8) => u64::from(i32::from(bits as i8).cast_unsigned()),
                    ('s', 16) => u64::from(i32::from(bits as i16).cast_unsigned()),
                    _ => bits,
                };
                self.set[register] = extended;
            } else {
                bytes = self.set[register].to_le_bytes();
                match start {
                    // SAFETY: as above, and nobody else has them.
                    Some(start) => unsafe { start.wrapping_add(nth * len).copy_from(bytes.as_ptr(), len) },
                    None => inside?.copy_from_slice(&bytes[..len]),
                }
            }
        }
        Some(())
    }
}
