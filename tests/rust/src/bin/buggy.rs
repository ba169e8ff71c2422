// SPDX-License-Identifier: MIT
//! Futures with one bug each, named after the detector that must find it.

use corotracer::Reason;
use corotracer_rust_tests::corpus::{busy_for, go, poll, Gate, Queue};
use std::time::Duration;

/// Every twentieth waker is dropped, and its task never polled again.
fn lost_channel() {
    let queue = Queue::default();
    for i in 0..44 {
        let task = go("reader", Gate::new(&queue, 1));
        if i % 20 == 3 {
            queue.take();
            std::mem::forget(task);
        } else {
            queue.serve(task);
        }
    }
    busy_for(300);
}

/// Woken, and the ready queue loses it.
fn lost_ready() {
    let queue = Queue::default();
    let task = go("reader", Gate::new(&queue, 1));
    queue.take().wake();
    std::mem::forget(task);
    busy_for(1200);
}

/// A poll that sleeps, while another task of the thread is ready.
fn blocking() {
    let (queue, other) = (Queue::default(), Queue::default());
    let mut task = go("blocker", async {
        Gate::new(&queue, 1).await;
        Gate::new(&queue, 1).await;
        std::thread::sleep(Duration::from_millis(1500));
        Gate::new(&queue, 1).await;
    });
    queue.serve_once(&mut task);
    let mut reader = go("other", Gate::new(&other, 1));
    busy_for(150);
    other.take().wake();
    queue.serve_once(&mut task);
    assert!(poll(&mut reader));
    queue.serve(task);
}

/// Closed while a coroutine reads from it.
fn closed_told() {
    let queue = Queue::default();
    let task = go("connection", Gate::on(&queue, Reason::IoRead, 1234));
    corotracer::closing(1234);
    busy_for(100);
    std::mem::forget(task);
}

/// Two locks, taken in two orders.
fn deadlock_locks() {
    let queue = Queue::default();
    let tasks: Vec<_> = (0..2)
        .map(|i| {
            let queue = &queue;
            go("locker", async move {
                let (mine, other) = (0x100 + i, 0x101 - i);
                Gate::new(queue, 1).await;
                corotracer::acquired(mine);
                Gate::on(queue, Reason::Mutex, other).await;
            })
        })
        .collect();
    for mut task in tasks {
        queue.serve_once(&mut task);
        std::mem::forget(task);
    }
    busy_for(100);
}

fn main() {
    corotracer_rust_tests::corpus::play(&[
        ("lost-wakeup/channel", lost_channel),
        ("lost-wakeup/ready", lost_ready),
        ("blocking", blocking),
        ("closed-under-waiter/told", closed_told),
        ("deadlock/locks", deadlock_locks),
    ]);
}
