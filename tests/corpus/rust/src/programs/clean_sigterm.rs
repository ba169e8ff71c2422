// SPDX-License-Identifier: MIT
//! A service without a signal handler is ended by SIGTERM in the middle of its work.
//!
//! corpus: clean
//! signal: TERM 1.0

use corotracer::init_tracer;
use corotracer_corpus::{ms, multi_thread, spawn_echoes, spawn_orders, spawn_tickers};
use tokio::time::sleep;

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_echoes(8).await;
        spawn_orders(3, 12);
        spawn_tickers(5);
        sleep(ms(2500)).await;
        std::process::exit(0);
    });
}
