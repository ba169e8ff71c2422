// SPDX-License-Identifier: MIT
//! A long computation that yields after each small piece, beside connections on the same thread.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes};
use std::time::Instant;
use tokio::task::yield_now;

/// Pieces of about 2 ms.
fn search_piece(state: &mut u64) {
    let begin = Instant::now();
    while begin.elapsed() < ms(2) {
        for _ in 0..1_000 {
            *state = (*state ^ (*state >> 27)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        }
    }
}

async fn search_solution(pieces: u64) -> u64 {
    let mut state = 7;
    for _ in 0..pieces {
        search_piece(&mut state);
        yield_now().awaiting(Reason::Yield).await;
    }
    state
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        spawn_echoes(6).await;
        let state = tokio::spawn(search_solution(400).traced_as("search")).await.unwrap();
        println!("{state:x}");
        std::process::exit(0);
    });
}
