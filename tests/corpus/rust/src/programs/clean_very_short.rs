// SPDX-License-Identifier: MIT
//! A program that is over at once: a few tasks, one of them still waiting.
//!
//! corpus: clean

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use tokio::sync::oneshot;
use tokio::time::sleep;

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let (answer, asked) = oneshot::channel::<u64>();
        let adder = tokio::spawn(async { asked.await.unwrap_or(0) + 1 }.traced_as("adder"));
        tokio::spawn(sleep(ms(1000)).traced_as("background"));
        tokio::spawn(async { answer.send(41).unwrap() }.traced_as("asker")).await.unwrap();
        assert_eq!(adder.await.unwrap(), 42);
    });
    std::mem::forget(runtime);
}
