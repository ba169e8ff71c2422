// SPDX-License-Identifier: MIT
//! smol: a router and a worker exchange jobs and results over two bounded channels; a job that splits
//! fills both.
//!
//! corpus: bug
//! class: deadlock|stalled
//! at: @jobs|@results
//! victims: router, worker
//! never: lost-wakeup, leak

use std::time::Duration;

use async_channel::{bounded, Receiver, Sender};
use async_executor::LocalExecutor;
use async_io::Timer;
use corotracer::{AwaitExt, Reason, TraceFutureExt};

const JOBS: u64 = 1;
const RESULTS: u64 = 2;

async fn router(jobs: Sender<u32>, results: Receiver<u32>) {
    for i in 0..60 {
        let pieces = if i == 45 { 64 } else { 3 };
        for piece in 0..pieces {
            let job = jobs.send(piece);
            let _ = job.awaiting_on(Reason::ChannelSend, JOBS).await; // @jobs
        }
        for _ in 0..2 * pieces {
            let _ = results.recv().awaiting_on(Reason::ChannelRecv, RESULTS).await;
        }
        Timer::after(Duration::from_millis(10)).await;
    }
}

async fn worker(jobs: Receiver<u32>, results: Sender<u32>) {
    while let Ok(job) = jobs.recv().awaiting_on(Reason::ChannelRecv, JOBS).await {
        for part in 0..2 {
            let result = results.send(job + part);
            let _ = result.awaiting_on(Reason::ChannelSend, RESULTS).await; // @results
        }
    }
}

async fn clock() {
    loop {
        Timer::after(Duration::from_millis(100)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    corotracer::init_tracer();
    let executor = LocalExecutor::new();
    let (jobs, jobs_in) = bounded(8);
    let (results, results_in) = bounded(8);
    executor.spawn(router(jobs, results_in).traced_as("router")).detach();
    executor.spawn(worker(jobs_in, results).traced_as("worker")).detach();
    executor.spawn(clock().traced_as("clock")).detach();
    futures_lite::future::block_on(executor.run(Timer::after(Duration::from_millis(2200))));
    std::process::exit(0);
}
