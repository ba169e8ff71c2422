// SPDX-License-Identifier: MIT
//! 200 workers wait for items.  The producer adds one item and wakes all of them: one gets it, and
//! 199 find the queue empty and wait again.
//!
//! corpus: bug
//! class: herd
//! at: @stuck
//! victims: taker-*
//! never: deadlock, closed-under-waiter, lost-wakeup, leak, busy-yield

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_tickers};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio::time::sleep;

#[derive(Default)]
struct Items {
    queue: Mutex<VecDeque<u64>>,
    added: Notify,
}

async fn take_items(items: Arc<Items>) {
    loop {
        let added = items.added.notified();
        let item = items.queue.lock().unwrap().pop_front();
        match item {
            Some(item) => sleep(ms(2 + item % 3)).awaiting(Reason::Timer).await,
            None => added.awaiting_on(Reason::User, address_of(&items.added)).await, // @stuck
        }
    }
}

async fn add_items(items: Arc<Items>) {
    for item in 0.. {
        sleep(ms(10)).awaiting(Reason::Timer).await;
        items.queue.lock().unwrap().push_back(item);
        items.added.notify_waiters(); // the bug: it should be notify_one()
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_tickers(4);
        let items = Arc::new(Items::default());
        for number in 0..200 {
            tokio::spawn(take_items(items.clone()).traced_as(&format!("taker-{number}")));
        }
        tokio::spawn(add_items(items).traced_as("adder"));
        sleep(run_time(1200)).await;
    });
    std::mem::forget(runtime);
}
