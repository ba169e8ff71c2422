// SPDX-License-Identifier: MIT
//! A consumer asks a queue with try_recv() and yields in a loop while the queue is empty.
//!
//! corpus: bug
//! class: busy-yield
//! at: @stuck
//! victims: consumer
//! never: deadlock, closed-under-waiter, lost-wakeup, leak, never-yielded

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_orders};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::sleep;

async fn consume_items(mut items: mpsc::Receiver<u64>) {
    let mut sum = 0;
    loop {
        match items.try_recv() {
            Ok(item) => sum += item,
            Err(mpsc::error::TryRecvError::Empty) => yield_now().awaiting(Reason::Yield).await, // @stuck
            Err(mpsc::error::TryRecvError::Disconnected) => break,
        }
    }
    println!("{sum}");
}

async fn produce_items(consumer: mpsc::Sender<u64>) {
    for item in 0..60 {
        sleep(ms(12)).awaiting(Reason::Timer).await;
        consumer.send(item).awaiting(Reason::ChannelSend).await.unwrap();
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_orders(2, 6);
        let (consumer, items) = mpsc::channel(8);
        tokio::spawn(produce_items(consumer).traced_as("producer"));
        tokio::spawn(consume_items(items).traced_as("consumer")).await.unwrap();
    });
    std::mem::forget(runtime);
}
