// SPDX-License-Identifier: MIT
//! A retry loop sleeps with std::thread::sleep() on a runtime of one thread: every connection waits.
//!
//! corpus: bug
//! class: blocking
//! at: @stuck|@after
//! victims: uploader
//! never: deadlock, closed-under-waiter, lost-wakeup, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, run_time, spawn_echoes, spawn_orders};
use tokio::time::sleep;

async fn upload_parts() {
    for part in 0..7 {
        sleep(ms(60)).awaiting(Reason::Timer).await; // @after
        if part % 2 == 1 {
            std::thread::sleep(ms(150)); // @stuck
        }
    }
}

pub fn main() {
    init_tracer();
    let runtime = current_thread();
    runtime.block_on(async {
        spawn_echoes(6).await;
        spawn_orders(2, 6);
        let uploader = tokio::spawn(upload_parts().traced_as("uploader"));
        sleep(run_time(1300)).await;
        uploader.await.unwrap();
    });
    runtime.shutdown_timeout(ms(100));
}
