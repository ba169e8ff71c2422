// SPDX-License-Identifier: MIT
//! Workers prepare and then wait for the start signal.  notify_waiters() stores nothing: a worker
//! that prepares longer than the others waits for a signal that was sent before.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: loader-5
//! never: deadlock, closed-under-waiter, blocking

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_orders};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::sleep;

async fn load_table(number: u64, start: Arc<Notify>) {
    sleep(ms(10 + 35 * number)).awaiting(Reason::Timer).await;
    start.notified().awaiting_on(Reason::User, address_of(&*start)).await; // @stuck
    for _ in 0..20 {
        sleep(ms(8)).awaiting(Reason::Timer).await;
    }
}

async fn start_loaders(start: Arc<Notify>) {
    sleep(ms(170)).awaiting(Reason::Timer).await;
    start.notify_waiters();
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 12);
        let start = Arc::new(Notify::new());
        for number in 0..6 {
            tokio::spawn(load_table(number, start.clone()).traced_as(&format!("loader-{number}")));
        }
        tokio::spawn(start_loaders(start).traced_as("starter"));
        sleep(run_time(1500)).await;
        std::process::exit(0);
    });
}
