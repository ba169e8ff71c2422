// SPDX-License-Identifier: MIT
//! A hand-written executor keeps its ready tasks in a stack.  A task that yields is on top again, so
//! one of three batches gets all the time that requests leave, and the others are ready and wait.
//!
//! corpus: bug
//! class: unfair-order|starvation
//! at: @stuck|@spawned
//! victims: batch-0, batch-1
//! never: deadlock, closed-under-waiter, blocking, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::run_time;
use futures_lite::future::yield_now;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

type Ready = Arc<Mutex<Vec<Arc<Task>>>>;

struct Task {
    future: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ready: Ready,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let ready = self.ready.clone();
        ready.lock().unwrap().push(self); // the bug: push and pop at the same end
    }
}

fn spawn_on(ready: &Ready, future: impl Future<Output = ()> + Send + 'static) {
    let future = Mutex::new(Box::pin(future) as Pin<Box<dyn Future<Output = ()> + Send>>);
    poll_task(Arc::new(Task { future, ready: ready.clone() })); // a task begins at once
}

fn poll_task(task: Arc<Task>) {
    let waker = Waker::from(task.clone());
    let _ = task.future.lock().unwrap().as_mut().poll(&mut Context::from_waker(&waker));
}

async fn sum_rows(rows: u64) {
    let mut sum = 0u64;
    for row in 0..rows {
        for n in 0..100_000 {
            sum = sum.wrapping_mul(31).wrapping_add(row ^ n);
        }
        yield_now().awaiting(Reason::Yield).await; // @stuck
    }
    assert!(sum != 1);
}

pub fn main() {
    init_tracer();
    let ready = Ready::default();
    for number in 0..3 {
        let batch = sum_rows(100_000).traced_as(&format!("batch-{number}")); // @spawned
        spawn_on(&ready, batch);
    }
    let (begin, mut turns) = (Instant::now(), 0);
    while begin.elapsed() < run_time(1500) {
        turns += 1;
        if turns % 40 == 0 {
            spawn_on(&ready, sum_rows(10).traced_as("request"));
        }
        let next = ready.lock().unwrap().pop();
        if let Some(task) = next {
            poll_task(task);
        }
    }
    std::process::exit(0);
}
