// SPDX-License-Identifier: MIT
//! Twenty tasks share one fair lock and hold it for short times; the order is first come, first
//! served.  The program ends while they work.
//!
//! corpus: clean

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, spawn_echoes};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::sleep;

async fn append_often(number: u64, log: Arc<Mutex<Vec<u64>>>) {
    let lock = address_of(&*log);
    for line in 0.. {
        let mut lines = log.lock().awaiting_on(Reason::Mutex, lock).await;
        acquired(lock);
        lines.push(number + line);
        lines.truncate(1000);
        if line % 4 == 0 {
            sleep(ms(1)).awaiting(Reason::Timer).await; // under the lock, and that is right
        }
        released(lock);
        drop(lines);
        sleep(ms(2 + (number + line) % 9)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_echoes(4).await;
        let log = Arc::new(Mutex::new(Vec::new()));
        for number in 0..20 {
            tokio::spawn(append_often(number, log.clone()).traced_as(&format!("append-{number}")));
        }
        sleep(ms(1200)).await;
    });
    std::mem::forget(runtime);
}
