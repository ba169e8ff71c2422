// SPDX-License-Identifier: MIT
//! Eight workers meet at a barrier after each phase.  One of them returns early because of an error,
//! and the barrier still expects eight.  Nothing else runs.
//!
//! corpus: bug
//! class: stalled|lost-wakeup|deadlock
//! at: @stuck
//! victims: phase-0, phase-1, phase-2, phase-3, phase-4, phase-6, phase-7
//! never: closed-under-waiter, blocking, leak, starvation

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time};
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::time::sleep;

async fn run_phases(number: u64, barrier: Arc<Barrier>) -> Result<(), String> {
    for phase in 0..100 {
        sleep(ms(2 + (number * phase) % 9)).awaiting(Reason::Timer).await;
        if number == 5 && phase == 40 {
            return Err("a row cannot be read".to_string()); // the bug: the others wait for this one
        }
        barrier.wait().awaiting_on(Reason::User, address_of(&*barrier)).await; // @stuck
    }
    Ok(())
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    let barrier = Arc::new(Barrier::new(8));
    for number in 0..8 {
        runtime.spawn(run_phases(number, barrier.clone()).traced_as(&format!("phase-{number}")));
    }
    std::thread::sleep(run_time(2000));
    std::mem::forget(runtime);
}
