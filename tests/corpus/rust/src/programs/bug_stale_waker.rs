// SPDX-License-Identifier: MIT
//! A future registers its waker once.  It is polled in one task and then moved to another: the wake
//! goes to the first task, which has ended.  On smol's executor.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: deliver-3
//! never: deadlock, closed-under-waiter, blocking, leak

use async_executor::Executor;
use async_io::Timer;
use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, run_time};
use futures_lite::future::{block_on, or};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct Receipt {
    arrived: bool,
    waker: Option<Waker>,
}

struct Arrival(Arc<Mutex<Receipt>>);

impl Future for Arrival {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut receipt = self.0.lock().unwrap();
        if receipt.arrived {
            return Poll::Ready(());
        }
        // The bug: a waker of another task is not replaced.
        receipt.waker.get_or_insert_with(|| cx.waker().clone());
        Poll::Pending
    }
}

async fn deliver_later(arrival: Arrival) {
    arrival.awaiting(Reason::User).await; // @stuck
}

async fn deliver_parcel(number: u64, receipt: Arc<Mutex<Receipt>>, executor: Arc<Executor<'static>>) {
    let mut arrival = Arrival(receipt);
    let quick = async {
        (&mut arrival).awaiting(Reason::User).await;
        true
    };
    let late = async {
        Timer::after(ms(40)).awaiting(Reason::Timer).await;
        false
    };
    if !or(quick, late).await {
        let slow = deliver_later(arrival).traced_as(&format!("deliver-{number}"));
        executor.spawn(slow).detach();
    }
}

async fn drive_parcels(executor: Arc<Executor<'static>>) {
    for number in 0..8 {
        let receipt = Arc::new(Mutex::new(Receipt::default()));
        let parcel = deliver_parcel(number, receipt.clone(), executor.clone());
        executor.spawn(parcel.traced_as(&format!("parcel-{number}"))).detach();
        Timer::after(ms(if number == 3 { 90 } else { 12 })).awaiting(Reason::Timer).await;
        let waker = {
            let mut receipt = receipt.lock().unwrap();
            receipt.arrived = true;
            receipt.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
    Timer::after(run_time(1000)).awaiting(Reason::Timer).await;
}

async fn scan_labels(period: u64) {
    loop {
        Timer::after(ms(period)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let executor: Arc<Executor<'static>> = Arc::new(Executor::new());
    for period in 6..14 {
        executor.spawn(scan_labels(period).traced_as(&format!("scanner-{period}"))).detach();
    }
    let driver = executor.spawn(drive_parcels(executor.clone()).traced_as("driver"));
    block_on(executor.run(driver));
    std::process::exit(0);
}
