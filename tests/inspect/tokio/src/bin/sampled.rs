// SPDX-License-Identifier: MIT
//! Tasks whose states are known: with one worker thread, of three tasks that never wait one runs
//! and two are in the queue.  20 tasks wait for a timer.
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Back to the queue at once; `yield_now` of Tokio defers that.
struct Requeue(bool);

impl Future for Requeue {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn still() {
    tokio::time::sleep(LONG).await; // @rust_still
}

async fn busy() {
    loop {
        std::thread::sleep(Duration::from_millis(20));
        Requeue(false).await; // @rust_busy
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for _ in 0..20 {
        runtime.spawn(still());
    }
    for _ in 0..3 {
        runtime.spawn(busy());
    }
    std::thread::sleep(Duration::from_millis(200));
    println!("ready");
    std::thread::sleep(LONG);
}
