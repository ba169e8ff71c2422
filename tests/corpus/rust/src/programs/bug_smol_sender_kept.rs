// SPDX-License-Identifier: MIT
//! Stages of a pipeline on smol's executor.  The last stage ends when its channel is closed; a stage
//! that ended early left a sender in a registry, so the channel stays open.  No reasons are given.
//!
//! corpus: bug
//! class: lost-wakeup|stalled
//! at: @stuck|@spawned
//! victims: writer
//! never: deadlock, closed-under-waiter, blocking, leak

use async_channel::{bounded, Receiver, Sender};
use async_executor::Executor;
use async_io::Timer;
use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{ms, run_time};
use futures_lite::future::{block_on, or};
use std::sync::{Arc, Mutex};

type Registry = Arc<Mutex<Vec<Sender<u64>>>>;

async fn filter_lines(number: u64, lines: Receiver<u64>, output: Sender<u64>, registry: Registry) {
    registry.lock().unwrap().push(output.clone()); // the bug: never removed
    while let Ok(line) = lines.recv().await {
        if line % 3 != number && output.send(line).await.is_err() {
            return;
        }
    }
}

async fn write_lines(lines: Receiver<u64>) {
    let mut written = 0;
    loop {
        let line = lines.recv().await; // @stuck
        match line {
            Ok(line) => written += line,
            Err(_) => break,
        }
    }
    println!("{written}");
}

async fn read_lines(output: Sender<u64>) {
    for line in 0..150 {
        Timer::after(ms(4)).await;
        output.send(line).await.unwrap();
    }
}

pub fn main() {
    init_tracer();
    let executor: Executor<'static> = Executor::new();
    let registry = Registry::default();
    let (to_filters, for_filters) = bounded(4);
    let (to_writer, for_writer) = bounded(4);
    executor.spawn(read_lines(to_filters).traced_as("reader")).detach();
    for number in 0..3 {
        let filter = filter_lines(number, for_filters.clone(), to_writer.clone(), registry.clone());
        executor.spawn(filter.traced_as(&format!("filter-{number}"))).detach();
    }
    drop((to_writer, for_filters));
    let writer = executor.spawn(write_lines(for_writer).traced_as("writer")); // @spawned
    let late = async {
        Timer::after(run_time(1800)).await;
    };
    block_on(executor.run(or(writer, late)));
    std::process::exit(0);
}
