//! Strangers at the door of rank 0, while a job runs.

use std::{
    env,
    io::{self, BufRead as _, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

use devarray::{Array, collective::Combination};

use crate::started::{Ranks, Started, Stream, TIME_LIMIT, count};

const RANKS: u16 = 3;
/// The first bytes, as a rank would send them.
const FIRST: &[u8; 16] = b"devarr\0\x01service.";

/// Exchanges until rank 0 is told to stop.
pub(crate) fn rank(mut ranks: Ranks, stream: &Stream) {
    let mut stop = None;
    if ranks.rank() == 0 {
        stop = Some(thread::spawn(|| drop(io::stdin().lock().read_line(&mut String::new()))));
    }
    for round in (0..u16::MAX).cycle() {
        let stops = stop.as_ref().is_some_and(thread::JoinHandle::is_finished);
        let own = [f32::from(round), if stops { 1.0 } else { 0.0 }];
        let own = Array::from_slice(stream, &[2], &own).unwrap();
        let sum = ranks.all_reduce(stream, Combination::Sum, &own).unwrap().to_vec(stream).unwrap();
        assert_eq!(sum[0], f32::from(RANKS) * f32::from(round));
        if round == 10 {
            println!("ready");
        }
        if sum[1] > 0.0 {
            return println!("right");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// One stranger. Returns connections that it leaves open.
fn bother(port: u16, kind: usize) -> io::Result<Option<TcpStream>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    match kind % 7 {
        // Garbage.
        0 => stream.write_all(&[0xa5; 4096])?,
        // Half open: it says nothing.
        1 => return Ok(Some(stream)),
        // A proof that is none.
        2 => {
            stream.write_all(&[&FIRST[..], &[7; 32]].concat())?;
            let mut answer = [0; 40];
            stream.read_exact(&mut answer)?;
            stream.write_all(&[&[0][..], &[9; 32]].concat())?;
            let mut answer = [0; 100];
            let count = stream.read(&mut answer)?;
            assert_eq!(&answer[..count], [0], "it is refused");
        }
        // A giant length, where a small one is meant, and where none is.
        3 => {
            stream.write_all(&[&FIRST[..], &[7; 32]].concat())?;
            stream.write_all(&[0xff; 1000])?;
        }
        4 => stream.write_all(&u32::MAX.to_le_bytes())?,
        // A reader that never reads, and a writer of one byte at a time.
        5 => {
            stream.write_all(&[&FIRST[..], &[7; 32]].concat())?;
            return Ok(Some(stream));
        }
        _ => {
            for byte in &FIRST[..4] {
                stream.write_all(&[*byte])?;
                thread::sleep(Duration::from_millis(1));
            }
            return Ok(Some(stream));
        }
    }
    drop(stream.shutdown(Shutdown::Both));
    Ok(None)
}

#[test]
fn strangers_harm_nobody() {
    let mut started = Started::new(usize::from(RANKS), "hostile");
    for rank in 0..usize::from(RANKS) {
        started.wait_for(rank, "ready");
    }
    let visits = count("DEVARRAY_TEST_VISITS", 500);
    let mut open = Vec::new();
    let mut before = None;
    for visit in 0..visits {
        match bother(started.port, visit) {
            Ok(stream) => open.extend(stream),
            // It is sent away in the middle, when others come.
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof
                ),
                "{error}"
            ),
        }
        // More stay open than may wait.
        if open.len() > 100 {
            open.remove(0);
        }
        if visit == 200.min(visits / 2) {
            before = Some(started.measure(0));
        }
        let [_, threads, descriptors] = started.measure(0);
        assert!(threads < 200 && descriptors < 200, "{threads} threads, {descriptors} descriptors");
    }
    let [memory_before, ..] = before.unwrap();
    let [memory, ..] = started.measure(0);
    // AddressSanitizer keeps freed memory for a while.
    let is_kept = env::var_os("ASAN_OPTIONS").is_some();
    assert!(is_kept || memory < memory_before + (8 << 10), "{memory_before} KiB before, {memory} KiB after");
    drop(open);
    // All have gone: two threads and a descriptor or two for each other rank are left, and the test's own.
    let ends = Instant::now() + Duration::from_secs(15);
    loop {
        let [_, threads, descriptors] = started.measure(0);
        if threads < 12 && descriptors < 20 {
            break;
        }
        assert!(Instant::now() < ends, "{threads} threads, {descriptors} descriptors");
        thread::sleep(Duration::from_millis(10));
    }
    started.children[0].stdin.take().unwrap().write_all(b"stop\n").unwrap();
    for rank in 0..usize::from(RANKS) {
        assert!(started.end(rank, TIME_LIMIT).contains("right"), "rank {rank}");
    }
    started.assert_clean();
}
