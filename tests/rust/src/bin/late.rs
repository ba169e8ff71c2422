// SPDX-License-Identifier: MIT
//! late - tests/late/late_c.c in Rust: "late THREADS MS".
//!
//! Each thread has one future all the time, one that is suspended once and never again touched, and
//! many short ones.  Prints "target: EVENTS events of COROUTINES" on stderr, from its own count.

use corotracer::PollTrace;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static EVENTS: AtomicU64 = AtomicU64::new(0);
static COROUTINES: AtomicU64 = AtomicU64::new(0);

fn begin(name: &str) -> PollTrace {
    COROUTINES.fetch_add(1, Ordering::Relaxed);
    PollTrace::named(name)
}

fn turn(trace: &mut PollTrace) {
    trace.on_pending_addr(1);
    trace.on_resume();
    EVENTS.fetch_add(2, Ordering::Relaxed);
}

fn run(time: Duration) {
    let start = Instant::now();
    let mut all_the_time = begin("all the time");
    let mut left = begin("left");

    left.on_pending_addr(1);
    EVENTS.fetch_add(1, Ordering::Relaxed);
    std::mem::forget(left);
    loop {
        let mut other = begin("comes and goes");
        turn(&mut other);
        turn(&mut all_the_time);
        other.on_ready();
        drop(other);
        corotracer::closing(9);
        thread::sleep(Duration::from_millis(1));
        if start.elapsed() >= time {
            break;
        }
    }
    all_the_time.on_ready();
}

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let time = Duration::from_millis(args[1]);
    let threads: Vec<_> = (0..args[0]).map(|_| thread::spawn(move || run(time))).collect();

    for thread in threads {
        thread.join().unwrap();
    }
    eprintln!("target: {} events of {}", EVENTS.load(Ordering::Relaxed), COROUTINES.load(Ordering::Relaxed));
}
