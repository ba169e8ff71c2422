// SPDX-License-Identifier: MIT
//! A task that holds a read lock calls a function that takes the same read lock.  This works until
//! a writer waits in between: Tokio's lock is fair, so the second reader waits behind the writer.
//!
//! corpus: bug
//! class: deadlock|lost-wakeup|stalled
//! at: @reader|@writer
//! victims: renderer, reloader
//! never: closed-under-waiter, blocking

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_orders};
use std::sync::Arc;
use tokio::sync::RwLock;
use tokio::time::sleep;

type Settings = RwLock<Vec<u64>>;

async fn page_width(settings: &Settings) -> u64 {
    let lock = address_of(settings);
    let values = settings.read().awaiting_on(Reason::Mutex, lock).await; // @reader
    values[0]
}

async fn render_pages(settings: Arc<Settings>) {
    let lock = address_of(&*settings);
    let mut area = 0;
    loop {
        let values = settings.read().awaiting_on(Reason::Mutex, lock).await;
        acquired(lock);
        sleep(ms(3)).awaiting(Reason::Timer).await;
        area += values[1] * page_width(&settings).await;
        released(lock);
        drop(values);
        sleep(ms(5 + area % 2)).awaiting(Reason::Timer).await;
    }
}

async fn reload_settings(settings: Arc<Settings>) {
    let lock = address_of(&*settings);
    sleep(ms(400)).awaiting(Reason::Timer).await;
    loop {
        let mut values = settings.write().awaiting_on(Reason::Mutex, lock).await; // @writer
        acquired(lock);
        values[0] += 1;
        released(lock);
        drop(values);
        sleep(ms(10)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 8);
        let settings = Arc::new(RwLock::new(vec![80, 24]));
        tokio::spawn(render_pages(settings.clone()).traced_as("renderer"));
        tokio::spawn(reload_settings(settings).traced_as("reloader"));
        sleep(run_time(1600)).await;
        std::process::exit(0);
    });
}
