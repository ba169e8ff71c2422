// SPDX-License-Identifier: MIT
//! memory_polls ROUNDS - futures with known accesses to memory, for the memory runtime.
//!
//! Two threads take turns; in each round each future is polled once, on the other thread than in the
//! round before.  Three writers write their row of CELLS, at one of two awaits in turn.  An outer future reads
//! TABLE, awaits a traced inner one, which writes to it before and after its await, and reads again.
//! A future that ends with its first poll writes to SHORT.  The executor writes to QUEUE, outside of all
//! futures.  Prints its counts as one JSON object: [kind, line of the await before (0: none), array,
//! reads, writes].

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::addr_of_mut;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

const WRITERS: usize = 3;
const CELLS_EACH: usize = 48;

static mut CELLS: [u64; WRITERS * CELLS_EACH] = [0; WRITERS * CELLS_EACH];
static mut TABLE: [u64; 40] = [0; 40];
static mut SHORT: [u64; 16] = [0; 16];
static mut QUEUE: [u64; 8] = [0; 8];

#[cfg(feature = "touch_in_c")]
extern "C" {
    fn memory_touch(at: *mut u64, count: usize, writes: i32);
}

/// Every access is made, once.
#[cfg(not(feature = "touch_in_c"))]
#[inline(never)]
unsafe fn memory_touch(at: *mut u64, count: usize, writes: i32) {
    for i in 0..count {
        if writes != 0 {
            at.add(i).write_volatile(i as u64);
        } else {
            at.add(i).read_volatile();
        }
    }
}

// ---- counts ------------------------------------------------------------------------------

type Key = (&'static str, u32, &'static str);
static COUNTS: Mutex<Vec<(Key, [u64; 2])>> = Mutex::new(Vec::new());

fn touch(kind: &'static str, after: u32, array: &'static str, at: *mut u64, count: usize, writes: bool) {
    // SAFETY: inside of a static array, which one thread at a time uses.
    unsafe { memory_touch(at, count, i32::from(writes)) };
    let (mut counts, key) = (COUNTS.lock().unwrap(), (kind, after, array));
    if !counts.iter().any(|(known, _)| *known == key) {
        counts.push((key, [0, 0]));
    }
    for (_, sums) in counts.iter_mut().filter(|(known, _)| *known == key) {
        sums[usize::from(writes)] += count as u64;
    }
}

fn put_counts() {
    let arrays = [
        ("cells", addr_of_mut!(CELLS) as usize, WRITERS * CELLS_EACH),
        ("table", addr_of_mut!(TABLE) as usize, 40),
        ("short", addr_of_mut!(SHORT) as usize, 16),
        ("queue", addr_of_mut!(QUEUE) as usize, 8),
    ];
    let arrays: Vec<_> =
        arrays.iter().map(|(name, at, count)| format!("\"{name}\":[{at},{}]", 8 * count)).collect();
    let counts: Vec<_> = COUNTS
        .lock()
        .unwrap()
        .iter()
        .map(|((kind, after, array), [r, w])| format!("[\"{kind}\",{after},\"{array}\",{r},{w}]"))
        .collect();
    println!("{{{},\"counts\":[{}]}}", arrays.join(","), counts.join(","));
}

// ---- futures -----------------------------------------------------------------------------

/// Pending once.
struct Once(Cell<bool>);

impl Future for Once {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.replace(true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

fn once() -> Once {
    Once(Cell::new(false))
}

fn table() -> *mut u64 {
    addr_of_mut!(TABLE) as *mut u64
}

async fn writer(number: usize) {
    let mut after = 0;
    for round in 0u64.. {
        let row = (addr_of_mut!(CELLS) as *mut u64).wrapping_add(number * CELLS_EACH);
        touch("writer", after, "cells", row, CELLS_EACH, true);
        if round % 2 == 0 {
            after = line!() + 1;
            once().awaiting(Reason::Yield).await;
        } else {
            after = line!() + 1;
            once().awaiting(Reason::Timer).await;
        }
    }
}

async fn inner() {
    touch("inner", 0, "table", table(), 20, true);
    let after = line!() + 1;
    once().awaiting(Reason::Yield).await;
    touch("inner", after, "table", table(), 20, true);
}

/// While the inner future waits, the outer one is suspended where it created it.
async fn outer() {
    let mut after = 0;
    loop {
        touch("outer", after, "table", table(), 40, false);
        after = line!() + 1;
        inner().traced_as("inner").await;
        touch("outer", after, "table", table(), 40, false);
    }
}

async fn short() {
    touch("short", 0, "short", addr_of_mut!(SHORT) as *mut u64, 16, true);
}

// ---- the executor --------------------------------------------------------------------------

struct Silent;
impl Wake for Silent {
    fn wake(self: Arc<Self>) {}
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

fn run_round(tasks: &mut [Task], round: u64) {
    let waker = Waker::from(Arc::new(Silent));
    let mut cx = Context::from_waker(&waker);
    for task in tasks {
        touch("", 0, "queue", addr_of_mut!(QUEUE) as *mut u64, 8, true);
        assert!(task.as_mut().poll(&mut cx).is_pending());
    }
    let mut last: Task = Box::pin(short().traced_as(&format!("short {round}")));
    assert!(last.as_mut().poll(&mut cx).is_ready());
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(20, |word| word.parse().expect("ROUNDS"));
    corotracer::init_tracer();
    let mut tasks: Vec<Task> = Vec::new();
    for number in 0..WRITERS {
        tasks.push(Box::pin(writer(number).traced_as(&format!("writer-{number}"))));
    }
    tasks.push(Box::pin(outer().traced_as("outer")));
    let shared = Arc::new((Mutex::new((tasks, 0u64)), Condvar::new()));
    let threads: Vec<_> = (0..2u64)
        .map(|number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let mut state = shared.0.lock().unwrap();
                while state.1 < rounds {
                    if state.1 % 2 == number {
                        let round = state.1;
                        run_round(&mut state.0, round);
                        state.1 += 1;
                        shared.1.notify_all();
                    } else {
                        state = shared.1.wait(state).unwrap();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    shared.0.lock().unwrap().0.clear();
    put_counts();
}
