// SPDX-License-Identifier: MIT
//! Futures that are in order, and look a little as if they were not.

use corotracer_rust_tests::corpus::{busy_for, go, Gate, Queue};

/// All come to their end.
fn all_served() {
    let queue = Queue::default();
    for _ in 0..200 {
        queue.serve_all(go("reader", Gate::new(&queue, 3)));
    }
}

/// Dropped half-way, as `select!` does it.
fn dropped_half_way() {
    let queue = Queue::default();
    for _ in 0..50 {
        drop(go("reader", Gate::new(&queue, 1)));
        queue.take();
    }
    busy_for(100);
}

fn main() {
    corotracer_rust_tests::corpus::play(&[
        ("all-served", all_served),
        ("dropped-half-way", dropped_half_way),
    ]);
}
