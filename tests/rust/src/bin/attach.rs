// SPDX-License-Identifier: MIT
//! attach - tests/attach/attach_c.c in Rust: "attach THREADS PACE_US [i]".
//!
//! Each thread polls four futures from the start, and short ones.  The number of each suspension is
//! the resource that it waits for.

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::cell::Cell;
use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// Pending once.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn steps(thread: u64, count: Rc<Cell<u64>>, nr: u64) {
    for _ in 0..nr {
        count.set(count.get() + 1);
        Once(false).awaiting_on(Reason::User, thread << 48 | count.get()).await;
    }
}

fn work(thread: u64, pace: Duration, stop: &AtomicBool, ready: &Barrier, go: &Barrier) -> u64 {
    let waker = Waker::from(Arc::new(Nobody));
    let mut cx = Context::from_waker(&waker);
    let count = Rc::new(Cell::new(0));
    let mut all: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for _ in 0..4 {
        all.push(Box::pin(steps(thread, count.clone(), u64::MAX).traced_as("early")));
    }
    ready.wait();
    go.wait();
    while !stop.load(Ordering::Relaxed) {
        for future in &mut all {
            let _ = future.as_mut().poll(&mut cx);
        }
        let mut brief = Box::pin(steps(thread, count.clone(), 1).traced_as("brief"));
        let _ = brief.as_mut().poll(&mut cx);
        drop(brief);
        std::thread::sleep(pace);
    }
    count.get()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let nr: u64 = args.get(1).map_or(2, |n| n.parse().unwrap());
    let pace = Duration::from_micros(args.get(2).map_or(200, |n| n.parse().unwrap()));
    let stop = Arc::new(AtomicBool::new(false));
    let ready = Arc::new(Barrier::new(nr as usize + 1));
    let go = Arc::new(Barrier::new(nr as usize + 1));
    let threads: Vec<_> = (1..=nr)
        .map(|thread| {
            let (stop, ready, go) = (stop.clone(), ready.clone(), go.clone());
            std::thread::spawn(move || work(thread, pace, &stop, &ready, &go))
        })
        .collect();

    ready.wait();
    println!("ready");
    let mut lines = std::io::stdin().lock().lines();
    if args.get(3).is_some() {
        let _ = lines.next();
    }
    go.wait();
    for _ in lines.by_ref() {}
    stop.store(true, Ordering::Relaxed);
    for (i, thread) in threads.into_iter().enumerate() {
        println!("{} {}", i + 1, thread.join().unwrap());
    }
}
