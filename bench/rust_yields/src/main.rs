// SPDX-License-Identifier: MIT
//! bench-yields - the time between two polls of a task that yields, on Tokio's current-thread runtime.
//!
//! usage: bench-yields plain|traced|console SECONDS
//!
//! Equal tasks yield in turns; one of them reads the clock around a burst of its own yields.  Between
//! bursts the thread sleeps, so that the collector, or the thread of console-subscriber, can handle
//! what was written: the cost of the task is measured, not a full buffer.  Prints the shortest time.

use corotracer::TraceFutureExt;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::yield_now;

const TASKS: u32 = 32;
const YIELDS_A_BURST: u32 = 32;
const PAUSE: Duration = Duration::from_millis(2);

async fn yield_forever() {
    loop {
        yield_now().await;
    }
}

/// The shortest time of a yield, in nanoseconds.
async fn measure(seconds: f64) -> f64 {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut best = f64::MAX;
    while Instant::now() < end {
        std::thread::sleep(PAUSE);
        yield_now().await; // into the caches
        let start = Instant::now();
        for _ in 0..YIELDS_A_BURST {
            yield_now().await;
        }
        let ns = start.elapsed().as_nanos() as f64 / f64::from(YIELDS_A_BURST * TASKS);
        best = best.min(ns);
    }
    best
}

/// The others, and this one, which is measured, too.
async fn run<F, M>(others: impl Fn() -> F, measured: M) -> f64
where
    F: Future<Output = ()> + Send + 'static,
    M: Future<Output = f64> + Send + 'static,
{
    for _ in 1..TASKS {
        drop(tokio::spawn(others()));
    }
    tokio::spawn(measured).await.unwrap_or(f64::NAN)
}

#[cfg(feature = "console")]
fn console_begin() {
    console_subscriber::ConsoleLayer::builder().server_addr(([127, 0, 0, 1], 0)).init();
}

#[cfg(not(feature = "console"))]
fn console_begin() {
    eprintln!("bench-yields: built without the feature 'console'");
    std::process::exit(1);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mode = args.get(1).map_or("plain", String::as_str);
    let seconds = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    if mode == "console" {
        console_begin();
    }
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let ns = if mode == "traced" {
        corotracer::init_tracer();
        if !corotracer::tracer_enabled() {
            eprintln!("bench-yields: no collector");
            std::process::exit(1);
        }
        runtime.block_on(run(|| yield_forever().traced(), measure(seconds).traced()))
    } else {
        runtime.block_on(run(yield_forever, measure(seconds)))
    };
    println!("{ns:.3}");
}
