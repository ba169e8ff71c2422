// SPDX-License-Identifier: MIT
//! Correct futures that resemble buggy ones.

use corotracer::Reason;
use corotracer_rust_tests::corpus::{busy_for, go, Gate, Queue};

/// All of them end.
fn all_served() {
    let queue = Queue::default();
    for _ in 0..200 {
        queue.serve_all(go("reader", Gate::new(&queue, 3)));
    }
}

/// Dropped half-way, as by `select!`.
fn dropped_half_way() {
    let queue = Queue::default();
    for _ in 0..50 {
        drop(go("reader", Gate::new(&queue, 1)));
        queue.take();
    }
    busy_for(100);
}

/// A lock that is handed on, and a descriptor that is closed when no coroutine waits for it.
fn locks_in_turn() {
    let queue = Queue::default();
    for _ in 0..20 {
        let holder = go("locker", async {
            corotracer::acquired(0x100);
            Gate::new(&queue, 1).await;
            corotracer::released(0x100);
        });
        let waiter = go("locker", async {
            Gate::on(&queue, Reason::Mutex, 0x100).await;
            corotracer::acquired(0x100);
            corotracer::released(0x100);
        });
        queue.serve(holder);
        queue.serve(waiter);
        corotracer::closing(7);
    }
}

fn main() {
    corotracer_rust_tests::corpus::play(&[
        ("all-served", all_served),
        ("dropped-half-way", dropped_half_way),
        ("locks-in-turn", locks_in_turn),
    ]);
}
