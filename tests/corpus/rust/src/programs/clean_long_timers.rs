// SPDX-License-Identifier: MIT
//! Timers of an hour and of a day beside short ones: certificates, caches, reports.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_orders};
use std::time::Duration;
use tokio::time::{interval, sleep};

async fn renew_certificate() {
    loop {
        sleep(Duration::from_secs(24 * 3600)).awaiting(Reason::Timer).await;
    }
}

async fn expire_cache(entry: u64) {
    sleep(ms(20 * entry)).awaiting(Reason::Timer).await;
    sleep(Duration::from_secs(3600 + entry)).awaiting(Reason::Timer).await;
}

/// Without a reason: nothing says that this is a timer.
async fn report_hourly() {
    let mut hours = interval(Duration::from_secs(3600));
    loop {
        hours.tick().await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_orders(2, 8);
        tokio::spawn(renew_certificate().traced_as("certificate"));
        tokio::spawn(report_hourly().traced_as("report"));
        for entry in 0..30 {
            tokio::spawn(expire_cache(entry).traced_as(&format!("entry-{entry}")));
        }
        sleep(ms(1500)).await;
    });
    std::mem::forget(runtime);
}
