// SPDX-License-Identifier: MIT
//! A receiver spawns a task for every message, without a limit.  The tasks need a database with two
//! connections and are served slower than messages arrive: there are more and more of them.
//!
//! corpus: bug
//! class: run-away|leak
//! at: @stuck|@spawned
//! victims: message-*
//! never: deadlock, closed-under-waiter, lost-wakeup, never-yielded

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time};
use std::sync::Arc;
use tokio::sync::{mpsc, Semaphore};
use tokio::time::sleep;

async fn store_message(message: u64, database: Arc<Semaphore>) {
    let connections = address_of(&*database);
    let connection = database.acquire().awaiting_on(Reason::Semaphore, connections).await; // @stuck
    sleep(ms(4 + message % 3)).awaiting(Reason::Timer).await;
    drop(connection);
}

async fn receive_messages(mut messages: mpsc::Receiver<u64>) {
    let database = Arc::new(Semaphore::new(2));
    while let Some(message) = messages.recv().awaiting(Reason::ChannelRecv).await {
        let store = store_message(message, database.clone());
        tokio::spawn(store.traced_as(&format!("message-{message}"))); // @spawned
    }
}

async fn send_messages(sender: u64, receiver: mpsc::Sender<u64>) {
    for number in 0.. {
        if receiver.send(sender + number).awaiting(Reason::ChannelSend).await.is_err() {
            return;
        }
        sleep(ms(2 + sender % 3)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let (receiver, messages) = mpsc::channel(16);
        tokio::spawn(receive_messages(messages).traced_as("receiver"));
        for sender in 0..4 {
            tokio::spawn(send_messages(sender, receiver.clone()).traced_as(&format!("sender-{sender}")));
        }
        sleep(run_time(2000)).await;
    });
    std::mem::forget(runtime);
}
