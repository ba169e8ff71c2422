// SPDX-License-Identifier: MIT
//! A hand-written future that waits for a child process's flag wakes itself in each poll, instead of
//! being woken: a task that uses a whole processor, on smol's executor, without any reason given.
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

struct Exited(Arc<AtomicBool>);

impl Future for Exited {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.load(Ordering::Relaxed) {
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

fn main() {
    init_tracer();
    let executor: Arc<Executor<'static>> = Arc::new(Executor::new());
    for period in 5..13 {
        executor.spawn(poll_often(period).traced_as(&format!("poll-{period}"))).detach();
    }
    let exited = Arc::new(AtomicBool::new(false));
    let watch = executor.spawn(Exited(exited.clone()).traced_as("exit-watch")); // @spawned
    std::thread::spawn(move || {
        std::thread::sleep(ms(900));
        exited.store(true, Ordering::Relaxed);
    });
    block_on(executor.run(watch));
    std::process::exit(0);
}
