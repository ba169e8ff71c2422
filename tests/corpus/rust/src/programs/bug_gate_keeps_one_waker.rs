// SPDX-License-Identifier: MIT
//! A hand-written gate keeps one waker; the second task that waits replaces the first one's, which is
//! dropped.
//!
//! corpus: bug
//! class: lost-wakeup
//! victims: tenant 0, tenant 1, tenant 2
//! never: deadlock, leak

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corotracer::TraceFutureExt;
use tokio::time::sleep;

#[derive(Default)]
struct Gate {
    is_open: bool,
    waker: Option<Waker>,
}

struct Wait(Arc<Mutex<Gate>>);

impl Future for Wait {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut gate = self.0.lock().unwrap();
        if gate.is_open {
            return Poll::Ready(());
        }
        gate.waker = Some(cx.waker().clone()); // the bug: there may be another one
        Poll::Pending
    }
}

async fn tenant(gate: Arc<Mutex<Gate>>) {
    Wait(gate).await;
    sleep(Duration::from_millis(20)).await;
}

async fn lights() {
    for _ in 0..40 {
        sleep(Duration::from_millis(25)).await;
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    corotracer::init_tracer();
    let gate = Arc::new(Mutex::new(Gate::default()));
    for i in 0..4 {
        tokio::spawn(tenant(gate.clone()).traced_as(&format!("tenant {i}")));
    }
    let lights = tokio::spawn(lights().traced_as("lights"));
    sleep(Duration::from_millis(300)).await;
    let waker = {
        let mut gate = gate.lock().unwrap();
        gate.is_open = true;
        gate.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
    let _ = lights.await;
    std::process::exit(0);
}
