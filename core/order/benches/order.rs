//! Times the calls on one core, beside NumPy in the same minute if `PYTHON` names a Python that has
//! it: `PYTHON=python3 cargo bench -p devarray-order [-- PART-OF-A-NAME…]`.

use std::{
    env,
    hint::black_box,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use devarray_function::Computable;
use devarray_order as order;

/// A Python program that times statements: it runs `setup` once, then reports the best of several
/// runs.
const PYTHON: &str = "
import sys, time
import numpy as np
for line in sys.stdin:
    setup, statement = line.rstrip('\\n').split('\\t')
    scope = {'np': np}
    exec(setup.replace(';', '\\n'), scope)
    code, best, until = compile(statement, 'bench', 'exec'), 1e9, time.perf_counter() + 1
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
    fn start() -> Option<Self> {
        let mut command = Command::new(env::var_os("PYTHON")?);
        command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped());
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

struct Bench {
    peer: Option<Peer>,
    wanted: Vec<String>,
}

impl Bench {
    fn case<R>(&mut self, name: &str, (setup, statement): (&str, &str), run: impl Fn() -> R) {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|part| name.contains(part.as_str())) {
            return;
        }
        let (mut best, began) = (Duration::MAX, Instant::now());
        while began.elapsed() < Duration::from_secs(1) {
            let start = Instant::now();
            black_box(run());
            best = best.min(start.elapsed());
        }
        let ours = best.as_secs_f64() * 1e3;
        match &mut self.peer {
            Some(peer) => {
                let numpy = peer.time(setup, statement);
                println!("{name:40} {ours:9.1} ms  NumPy {numpy:9.1} ms  {:6.2} x", numpy / ours);
            }
            None => println!("{name:40} {ours:9.1} ms"),
        }
    }
}

const N: usize = 1 << 24;

/// Random bits with a fixed seed.
fn bits(mut seed: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    })
}

fn whole<T>(len: usize, value: impl Fn(u64) -> T) -> Vec<T> {
    bits(1).take(len).map(value).collect()
}

/// Numbers about normally distributed.
#[expect(clippy::cast_precision_loss, reason = "random numbers")]
fn normal(len: usize) -> Vec<f64> {
    let uniform = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
    let mut bits = bits(2).map(uniform);
    (0..len).map(|_| (0..6).filter_map(|_| bits.next()).sum::<f64>() - 3.0).collect()
}

fn sorts<T: Computable>(bench: &mut Bench, name: &str, x: &[T], setup: &str) {
    bench.case(&format!("sort {name}"), (setup, "np.sort(x)"), || order::sort(x, false));
    bench.case(&format!("argsort {name}"), (setup, "np.argsort(x, kind='stable')"), || {
        order::argsort(x, false)
    });
}

#[expect(clippy::cast_possible_truncation, reason = "random numbers")]
fn main() {
    let wanted = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let mut bench = Bench { peer: Peer::start(), wanted };
    let normal = normal(N);
    let singles: Vec<f32> = normal.iter().map(|&x| x as f32).collect();
    let random = "r=np.random.default_rng(1);n=1<<24;";
    let with = |rest: &str| format!("{random}{rest}");
    let f32s = with("x=r.standard_normal(n,dtype='f4')");
    sorts(&mut bench, "f32", &singles, &f32s);
    sorts(&mut bench, "u32", &whole(N, |bits| bits as u32), &with("x=r.integers(0,1<<32,n,dtype='u4')"));
    sorts(&mut bench, "u64", &whole(N, |bits| bits), &with("x=r.integers(0,(1<<64)-1,n,dtype='u8')"));
    sorts(&mut bench, "f64", &normal, &with("x=r.standard_normal(n)"));
    let bytes: Vec<u8> = whole(N, |bits| bits as u8);
    sorts(&mut bench, "u8", &bytes, &with("x=r.integers(0,256,n,dtype='u1')"));

    let partition = "p=np.argpartition(x,-10)[-10:];p[np.argsort(x[p])]";
    bench.case("topk 10 of 2^24 f32", (&f32s, partition), || order::top_k(&singles, 10, true));
    bench.case("median of 2^24 f32", (&f32s, "np.median(x)"), || order::median(&singles));
    let few: Vec<u32> = whole(N, |bits| (bits % 1000) as u32);
    let setup = with("x=r.integers(0,1000,n,dtype='u4')");
    bench.case("unique few u32", (&setup, "np.unique(x)"), || order::unique(&few));
    let all = "np.unique(x,return_index=True,return_inverse=True,return_counts=True)";
    bench.case("unique all of few u32", (&setup, all), || order::unique_all(&few));
    let many: Vec<u32> = whole(N, |bits| (bits % (1 << 23)) as u32);
    let setup = with("x=r.integers(0,1<<23,n,dtype='u4')");
    bench.case("unique many u32", (&setup, "np.unique(x)"), || order::unique(&many));
    bench.case("unique all of many u32", (&setup, all), || order::unique_all(&many));
    let ascending = order::sort(&singles[..1 << 20], false);
    let setup = with("x=r.standard_normal(n,dtype='f4');a=np.sort(x[:1<<20])");
    let search = || order::search_sorted(&ascending, &singles, false);
    bench.case("searchsorted 2^24 in 2^20 f32", (&setup, "np.searchsorted(a,x)"), search);
    let in_order = order::sort(&singles, false);
    let setup = with("x=np.sort(r.standard_normal(n,dtype='f4'));a=x[::16].copy()");
    let search = || order::search_sorted(&ascending, &in_order, false);
    bench.case("searchsorted sorted 2^24 in 2^20 f32", (&setup, "np.searchsorted(a,x)"), search);
    let edges: Vec<f32> = (-16..=16).map(|at| at as f32 / 8.0).collect();
    let setup = with("x=r.standard_normal(n,dtype='f4');e=np.linspace(-2,2,33,dtype='f4')");
    bench.case("histogram 32 f32", (&setup, "np.histogram(x,e)"), || order::histogram(&singles, &edges));

    for n in [256_usize, 10_000, 1_000_000] {
        let x: Vec<i64> = whole(N, |bits| (bits % n as u64).cast_signed());
        let setup =
            with(&format!("x=r.integers(0,{n},n);v=r.standard_normal(n,dtype='f4');y=np.zeros({n},'f4')"));
        let count = format!("np.bincount(x,minlength={n})");
        bench.case(&format!("bincount into {n} i64"), (&setup, &count), || order::bincount(&x, n));
        let skewed: Vec<i64> = x.iter().zip(bits(3)).map(|(&x, b)| if b % 10 < 9 { 7 } else { x }).collect();
        let of_skewed = format!("{setup};x[r.random(n)<0.9]=7");
        bench.case(&format!("bincount into {n} i64, 90 % in one"), (&of_skewed, &count), || {
            order::bincount(&skewed, n)
        });
        let add = || {
            let mut y = vec![0.0_f32; n];
            order::put(&mut y, &x, &singles, order::Combining::Sum).map(|()| y)
        };
        bench.case(&format!("put add f32 into {n}"), (&setup, "np.add.at(y,x,v)"), add);
        let add = || {
            let mut y = vec![0.0_f32; n];
            order::put(&mut y, &skewed, &singles, order::Combining::Sum).map(|()| y)
        };
        bench.case(&format!("put add f32 into {n}, 90 % in one"), (&of_skewed, "np.add.at(y,x,v)"), add);
    }
    let small: Vec<i32> = whole(N, |bits| (bits % 10_000) as i32);
    let setup =
        with("x=r.integers(0,10000,n,dtype='i4');v=r.integers(0,9,n,dtype='i4');y=np.zeros(10000,'i4')");
    let values: Vec<i32> = whole(N, |bits| (bits >> 60) as i32);
    bench.case("put add i32 into 10000", (&setup, "np.add.at(y,x,v)"), || {
        let mut y = vec![0_i32; 10_000];
        order::put(&mut y, &small, &values, order::Combining::Sum).map(|()| y)
    });
    for n in [10_000_usize, 1_000_000] {
        let mut offsets: Vec<i64> = whole(n + 1, |bits| (bits % (N as u64 + 1)).cast_signed());
        offsets.sort_unstable();
        (offsets[0], offsets[n]) = (0, N.cast_signed() as i64);
        let setup = with(&format!("v=r.standard_normal(n,dtype='f4');o=np.sort(r.integers(0,n,{n}));o[0]=0"));
        bench.case(&format!("segments f32 into {n}"), (&setup, "np.add.reduceat(v,o)"), || {
            order::segments::<f32, i64, f32>(&singles, &offsets, order::Combining::Sum)
        });
    }
    let mask: Vec<u8> = whole(4 * N, |bits| u8::from(bits % 4 == 0));
    let setup = "r=np.random.default_rng(1);x=(r.integers(0,4,1<<26,dtype='u1')==0).view('u1')";
    bench.case("nonzero of 2^26 u8, a quarter", (setup, "np.nonzero(x)"), || order::nonzero(&mask));
}
