// SPDX-License-Identifier: MIT
//! A hand-written future that waits for the end of a thread reads /proc in each poll and wakes itself,
//! instead of being woken: a task that uses a whole processor, on smol's executor.
//!
//! corpus: bug
//! class: busy-yield
//! at: @stuck|@spawned
//! victims: exit-watch
//! never: deadlock, closed-under-waiter, lost-wakeup, leak, never-yielded

use async_executor::Executor;
use async_io::Timer;
use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::ms;
use futures_lite::future::block_on;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

struct Exited(Arc<AtomicU32>);

impl Future for Exited {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let thread = self.0.load(Ordering::Relaxed);
        if thread != 0 && std::fs::read(format!("/proc/self/task/{thread}/stat")).is_err() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref(); // @stuck
        Poll::Pending
    }
}

async fn poll_often(period: u64) {
    loop {
        Timer::after(ms(period)).await;
    }
}

pub fn main() {
    init_tracer();
    let executor: Arc<Executor<'static>> = Arc::new(Executor::new());
    for period in 5..13 {
        executor.spawn(poll_often(period).traced_as(&format!("poll-{period}"))).detach();
    }
    let thread = Arc::new(AtomicU32::new(0));
    let watch = executor.spawn(Exited(thread.clone()).traced_as("exit-watch")); // @spawned
    std::thread::spawn(move || {
        // SAFETY: always succeeds.
        thread.store(unsafe { libc::gettid() } as u32, Ordering::Relaxed);
        std::thread::sleep(ms(900));
    });
    block_on(executor.run(watch));
    std::process::exit(0);
}
