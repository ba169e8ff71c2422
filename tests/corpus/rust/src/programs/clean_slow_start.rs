// SPDX-License-Identifier: MIT
//! The first task loads its tables for 400 ms before anything else is started.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes, spawn_orders};
use std::time::Instant;
use tokio::time::sleep;

fn load_tables() -> Vec<u64> {
    let begin = Instant::now();
    let mut tables = vec![1u64; 4096];
    while begin.elapsed() < ms(400) {
        for i in 1..tables.len() {
            tables[i] = tables[i - 1].wrapping_mul(6364136223846793005).wrapping_add(i as u64);
        }
        tables[0] ^= tables[4095];
    }
    tables
}

async fn start_service() {
    let tables = load_tables();
    spawn_echoes(6).await;
    spawn_orders(2, 8);
    sleep(ms(1000 + tables[7] % 3)).awaiting(Reason::Timer).await;
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        tokio::spawn(start_service().traced_as("service")).await.unwrap();
        std::process::exit(0);
    });
}
