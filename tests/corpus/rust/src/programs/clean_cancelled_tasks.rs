// SPDX-License-Identifier: MIT
//! Tasks are aborted while they wait, and select! drops the branch that lost: all on purpose.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_orders};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

/// Ask two replicas, take the first answer; the other future is dropped.
async fn ask_replicas(number: u64) -> u64 {
    let replica = |delay| async move {
        sleep(ms(delay)).awaiting(Reason::Timer).await;
        delay
    };
    let first = replica(3 + number % 5).traced_as("replica-a");
    let second = replica(3 + number % 7).traced_as("replica-b");
    tokio::select! {
        delay = first => delay,
        delay = second => delay,
    }
}

async fn listen_until_aborted(mut messages: mpsc::Receiver<u64>) {
    while messages.recv().awaiting(Reason::ChannelRecv).await.is_some() {}
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_orders(2, 6);
        for number in 0..40 {
            let (sender, messages) = mpsc::channel(2);
            let listener = tokio::spawn(listen_until_aborted(messages).traced_as("listener"));
            let (_kept, never) = oneshot::channel::<()>();
            let waiter = tokio::spawn(async move { never.await.is_ok() }.traced_as("waiter"));
            sender.send(number).await.unwrap();
            tokio::spawn(ask_replicas(number).traced_as("asker")).await.unwrap();
            sleep(ms(15)).await;
            listener.abort();
            waiter.abort();
            assert!(listener.await.unwrap_err().is_cancelled());
            let _ = waiter.await;
        }
    });
    runtime.shutdown_timeout(ms(200)); // the rest is dropped where it waits
}
