// SPDX-License-Identifier: MIT
//! The flusher waits until there is something to write.  The path for large rows adds the row and
//! forgets to notify: with only large rows left, the flusher is never woken.  It is the only task of
//! its kind.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: flusher
//! never: deadlock, closed-under-waiter, blocking, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_echoes};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio::time::sleep;

#[derive(Default)]
struct Rows {
    waiting: Mutex<Vec<usize>>,
    added: Notify,
}

impl Rows {
    fn add_row(&self, size: usize) {
        if size > 4096 {
            self.waiting.lock().unwrap().insert(0, size); // the bug: no notify_one()
            return;
        }
        self.waiting.lock().unwrap().push(size);
        self.added.notify_one();
    }
}

async fn flush_rows(rows: Arc<Rows>) {
    loop {
        rows.added.notified().awaiting(Reason::User).await; // @stuck
        let batch = std::mem::take(&mut *rows.waiting.lock().unwrap());
        if !batch.is_empty() {
            sleep(ms(2)).awaiting(Reason::Timer).await;
        }
    }
}

async fn insert_rows(rows: Arc<Rows>) {
    for number in 0..90 {
        rows.add_row(if number < 30 { 100 + number } else { 5000 + number });
        sleep(ms(15)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_echoes(6).await;
        let rows = Arc::new(Rows::default());
        tokio::spawn(flush_rows(rows.clone()).traced_as("flusher"));
        tokio::spawn(insert_rows(rows).traced_as("inserter")).await.unwrap();
        sleep(ms(200)).await;
        std::process::exit(0);
    });
}
