//! Times products, beside NumPy in the same minute if `PYTHON` names a Python that has it:
//! `PYTHON=python3 cargo bench -p devarray-product [-- [--threads=2] [--machine=Avx2] PART-OF-A-NAME…]`.
#![allow(unsafe_code)] // makes products on memory of its own, shared by threads that are waited for

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use devarray_function::{
    Alone, ElementType, Workers,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};
use devarray_product::{Machine, execute_with, product_shape};

/// A Python program that times statements: it runs `setup` once, then reports the best of several
/// runs.
const PYTHON: &str = "
import sys, time
import numpy as np
for line in sys.stdin:
    setup, statement = line.rstrip('\\n').split('\\t')
    scope = {'np': np}
    exec(setup.replace(';', '\\n'), scope)
    code, best, until = compile(statement, 'bench', 'exec'), 1e9, time.perf_counter() + .25
    while True:
        start = time.perf_counter()
        exec(code, scope)
        now = time.perf_counter()
        best = min(best, now - start)
        if now > until:
            break
    print(best * 1e3, flush=True)
";

/// NumPy in another process.
struct Peer {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    child: Child,
}

impl Peer {
    fn start(threads: usize) -> Option<Self> {
        let mut command = Command::new(env::var_os("PYTHON")?);
        command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("OPENBLAS_NUM_THREADS", threads.to_string());
        let mut child = command.spawn().expect("a Python that starts");
        let (input, output) =
            (child.stdin.take().expect("piped"), BufReader::new(child.stdout.take().expect("piped")));
        Some(Self { input, output, child })
    }

    fn time(&mut self, setup: &str, statement: &str) -> f64 {
        writeln!(self.input, "{setup}\t{statement}").expect("NumPy runs");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("NumPy runs");
        line.trim().parse().expect("a time")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Work that waits for threads, and how many threads do it at present.
#[derive(Default)]
struct Shared {
    work: Option<(usize, &'static (dyn Fn(usize) + Sync))>,
    round: usize,
    at_work: usize,
}

/// Threads that wait for work.
struct Pool {
    count: usize,
    shared: Mutex<Shared>,
    changed: Condvar,
}

impl Pool {
    fn start(count: usize) -> &'static Self {
        let pool: &'static Self =
            Box::leak(Box::new(Self { count, shared: Mutex::default(), changed: Condvar::new() }));
        for _ in 1..count {
            thread::spawn(|| pool.serve());
        }
        pool
    }

    fn serve(&self) {
        let mut done = 0;
        loop {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            while shared.work.is_none() || shared.round == done {
                shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
            }
            done = shared.round;
            let (pieces, work) = shared.work.expect("there is some");
            shared.at_work += 1;
            drop(shared);
            (0..pieces).for_each(work);
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).at_work -= 1;
            self.changed.notify_all();
        }
    }
}

impl Workers for &'static Pool {
    fn count(&self) -> usize {
        self.count
    }

    /// Pieces are numbers of calls. Each call takes the next piece that is left.
    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: the reference is taken back, and all threads have left it, before this returns
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.work = Some((pieces, work));
        shared.round += 1;
        drop(shared);
        self.changed.notify_all();
        (0..pieces).for_each(work);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.work = None;
        while shared.at_work > 0 {
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Bench {
    peer: Option<Peer>,
    wanted: Vec<String>,
    workers: &'static dyn Workers,
    machine: Machine,
}

/// An operand: its shape in memory, and whether the last two axes are exchanged.
type Operand = (&'static [usize], bool);

impl Bench {
    fn case(&mut self, of: ElementType, a: Operand, b: Operand) {
        let text = |(shape, turned): Operand| format!("{shape:?}{}", if turned { ".T" } else { "" });
        let name = format!("{of} {} @ {}", text(a), text(b));
        if !self.wanted.is_empty() && !self.wanted.iter().any(|part| name.contains(part.as_str())) {
            return;
        }
        let layout = |(shape, turned): Operand| {
            let layout = Layout::contiguous(shape, Order::C).expect("a shape");
            if turned { layout.swap_axes(-1, -2).expect("two axes") } else { layout }
        };
        let [a_layout, b_layout] = [layout(a), layout(b)];
        let shape = product_shape(a_layout.shape(), b_layout.shape()).expect("shapes that fit");
        let result_layout = Layout::contiguous(&shape, Order::C).expect("a shape");
        let [a_memory, b_memory] = [&a_layout, &b_layout].map(|layout| memory(of, layout.len()));
        let mut result = memory(of, result_layout.len());
        let mut run = || {
            let a = InputElements { start: a_memory.as_ptr().cast(), layout: &a_layout };
            let b = InputElements { start: b_memory.as_ptr().cast(), layout: &b_layout };
            let result = ResultElements { start: result.as_mut_ptr().cast(), layout: &result_layout };
            // SAFETY: each memory has as many elements as its layout
            unsafe { execute_with(self.machine, of, [a, b], result, false, self.workers) };
        };
        let dtype = match of {
            ElementType::F16 | ElementType::BF16 => "float16".to_owned(),
            ElementType::F32 | ElementType::F64 => of.name().replace('f', "float"),
            _ => of.name().replace('i', "int").replace('u', "uint"),
        };
        let array = |(shape, turned): Operand| {
            let turn = if turned { ".swapaxes(-1,-2)" } else { "" };
            format!("r.integers(-9,9,{shape:?}).astype('{dtype}'){turn}")
        };
        let setup = format!("r=np.random.default_rng(1);a={};b={};y=np.array(a@b)", array(a), array(b));
        // The two run by turns, so that both see the machine in the same state.
        let (mut best, mut numpy) = (Duration::MAX, f64::INFINITY);
        for _ in 0..4 {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(250) {
                let start = Instant::now();
                run();
                best = best.min(start.elapsed());
            }
            if let Some(peer) = &mut self.peer {
                numpy = numpy.min(peer.time(&setup, "np.matmul(a,b,out=y)"));
            }
        }
        let ours = best.as_secs_f64() * 1e3;
        let depth = a_layout.shape().last().copied().unwrap_or(1);
        let rate = 2e-6 * (shape.iter().product::<usize>() * depth) as f64 / ours;
        print!("{name:40} {ours:9.4} ms {rate:7.1} G/s");
        if self.peer.is_some() {
            print!("  NumPy {numpy:9.4} ms  {:6.2} x", numpy / ours);
        }
        println!();
    }
}

/// Small integers as elements. The memory starts with a cache line.
fn memory(of: ElementType, len: usize) -> Vec<[u64; 8]> {
    let mut memory = vec![[0_u64; 8]; (len * of.len_bytes()).div_ceil(64) + 1];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    for at in 0..len {
        let number = (at.wrapping_mul(0x9e37_79b9) >> 7) % 19;
        let number = i16::try_from(number).expect("small") - 9;
        let element = match of {
            ElementType::F16 => u64::from(half::f16::from_f32(number.into()).to_bits()),
            ElementType::BF16 => u64::from(half::bf16::from_f32(number.into()).to_bits()),
            ElementType::F32 => u64::from(f32::from(number).to_bits()),
            ElementType::F64 => f64::from(number).to_bits(),
            _ => i64::from(number).cast_unsigned(),
        };
        let width = of.len_bytes();
        bytes[at * width..][..width].copy_from_slice(&element.to_le_bytes()[..width]);
    }
    memory
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let threads = arguments.iter().find_map(|argument| argument.strip_prefix("--threads="));
    let threads = threads.map_or(1, |number| number.parse().expect("a number of threads"));
    let machine = arguments.iter().find_map(|argument| argument.strip_prefix("--machine="));
    let named = |name: &str| Machine::all().iter().find(|machine| format!("{machine:?}") == name).copied();
    let machine = machine.map_or(Machine::detected(), |name| named(name).expect("a machine"));
    let wanted = arguments.iter().filter(|argument| !argument.starts_with("--")).cloned().collect();
    let pool: &'static &'static Pool = Box::leak(Box::new(Pool::start(threads)));
    let workers: &'static dyn Workers = if threads == 1 { &Alone } else { pool };
    let mut bench = Bench { peer: Peer::start(threads), wanted, workers, machine };
    use ElementType::{BF16, F16, F32, F64, I8, I32, I64};
    for of in [F32, F64] {
        for square in [&[1024, 1024][..], &[256, 256], &[64, 64], &[16, 16], &[1000, 1000], &[100, 100]] {
            bench.case(of, (square, false), (square, false));
        }
        let square: &[usize] = &[1024, 1024];
        bench.case(of, (square, true), (square, false));
        bench.case(of, (square, false), (square, true));
        bench.case(of, (square, true), (square, true));
        bench.case(of, (&[4096, 4096], false), (&[4096], false));
        bench.case(of, (&[4096, 4096], true), (&[4096], false));
        bench.case(of, (&[4096], false), (&[4096, 4096], false));
        bench.case(of, (&[512, 512], false), (&[512], false));
        bench.case(of, (&[512], false), (&[512, 512], false));
        bench.case(of, (&[4096, 4096], false), (&[4096, 2], false));
        bench.case(of, (&[4096, 4096], false), (&[4096, 4], false));
        bench.case(of, (&[4096, 4096], false), (&[4096, 8], false));
        bench.case(of, (&[4096, 4096], false), (&[4096, 16], false));
        bench.case(of, (&[16, 4096], false), (&[4096, 4096], false));
        bench.case(of, (&[16, 4096], false), (&[4096, 4096], true));
        bench.case(of, (&[4096, 16], false), (&[16, 4096], false));
        bench.case(of, (&[2048, 2], false), (&[2, 2048], false));
        bench.case(of, (&[10_000, 16, 16], false), (&[10_000, 16, 16], false));
        bench.case(of, (&[10_000, 16, 16], false), (&[10_000, 16, 16], true));
        bench.case(of, (&[10_000, 4, 4], false), (&[10_000, 4, 4], false));
        bench.case(of, (&[10_000, 16, 16], false), (&[16, 16], false));
        bench.case(of, (&[10_000, 1, 64], false), (&[10_000, 64, 1], false));
        bench.case(of, (&[1_000_000], false), (&[1_000_000], false));
        bench.case(of, (&[4096], false), (&[4096], false));
    }
    for of in [F16, BF16, I8, I32, I64] {
        bench.case(of, (&[512, 512], false), (&[512, 512], false));
        bench.case(of, (&[4096, 4096], false), (&[4096], false));
        bench.case(of, (&[10_000, 16, 16], false), (&[10_000, 16, 16], false));
    }
}
