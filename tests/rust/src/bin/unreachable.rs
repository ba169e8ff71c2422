// SPDX-License-Identifier: MIT
//! Futures that lose their last waker in every way, and futures that only seem to: for
//! test_unreachable.py.

use corotracer::{init_tracer, TraceFutureExt};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Idle;

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

type Task = Pin<Box<dyn Future<Output = ()>>>;
type Kept = Arc<Mutex<Vec<Waker>>>;

/// What a poll does with its waker.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Nothing,
    Keep,
    WakeByRef,
    KeepAndEnd,
}

struct Step {
    uses: Vec<Use>,
    kept: Kept,
}

impl Future for Step {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let what = if self.uses.is_empty() { Use::Nothing } else { self.uses.remove(0) };
        match what {
            Use::Nothing => {}
            Use::Keep | Use::KeepAndEnd => self.kept.lock().unwrap().push(cx.waker().clone()),
            Use::WakeByRef => cx.waker().wake_by_ref(),
        }
        if what == Use::KeepAndEnd {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

fn poll_once(task: &mut Task, waker: &Waker) {
    let _ = task.as_mut().poll(&mut Context::from_waker(waker));
}

/// A task that has been polled as often as there are uses, with the wakers it has kept.
fn task_after(name: &str, uses: &[Use], waker: &Waker) -> (Task, Kept) {
    let kept = Kept::default();
    let step = Step { uses: uses.to_vec(), kept: kept.clone() };
    let mut task: Task = Box::pin(step.traced_as(name));
    for _ in uses {
        poll_once(&mut task, waker);
    }
    (task, kept)
}

fn drop_all(kept: &Kept) {
    let wakers = std::mem::take(&mut *kept.lock().unwrap());
    drop(wakers);
}

fn lose_wakers(waker: &Waker) -> Vec<(Task, Kept)> {
    let dropped = task_after("dropped", &[Use::Keep], waker);
    drop_all(&dropped.1);
    let elsewhere = task_after("dropped-elsewhere", &[Use::Keep, Use::Keep], waker);
    let kept = elsewhere.1.clone();
    std::thread::spawn(move || drop_all(&kept)).join().unwrap();
    let not_kept = task_after("not-kept", &[Use::Nothing], waker);
    // The second poll was caused by a wake, and keeps nothing.
    let mut later = task_after("not-kept-later", &[Use::Keep], waker);
    later.1.lock().unwrap().pop().unwrap().wake();
    poll_once(&mut later.0, waker);
    // A future inside another traced one: the outer one keeps a waker of its own.
    let kept = Kept::default();
    let inner = Step { uses: vec![Use::Nothing], kept: kept.clone() }.traced_as("inner");
    let own = Step { uses: vec![Use::Keep], kept: kept.clone() };
    let mut outer: Task = Box::pin(Both(Box::pin(inner), Box::pin(own)).traced_as("outer"));
    poll_once(&mut outer, waker);
    vec![dropped, elsewhere, not_kept, later, (outer, kept)]
}

/// Polls both, and is never ready.
struct Both(Task, Task);

impl Future for Both {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _ = self.0.as_mut().poll(cx);
        let _ = self.1.as_mut().poll(cx);
        Poll::Pending
    }
}

/// A task that owns its last waker.
fn cancelled(waker: &Waker) -> Task {
    let kept = Kept::default();
    let own = Step { uses: vec![Use::Keep], kept };
    let mut task: Task = Box::pin(own.traced_as("cancelled"));
    poll_once(&mut task, waker);
    task
}

fn keep_wakers(waker: &Waker) -> Vec<(Task, Kept)> {
    let kept = task_after("kept", &[Use::Keep], waker);
    // Woken, so it will be polled again.
    let woken = task_after("woken", &[Use::Keep, Use::Keep], waker);
    woken.1.lock().unwrap()[0].wake_by_ref();
    drop_all(&woken.1);
    let taken = task_after("woken-by-the-last", &[Use::Keep], waker);
    taken.1.lock().unwrap().pop().unwrap().wake();
    let itself = task_after("woken-by-itself", &[Use::WakeByRef], waker);
    // Returned: its wakers do not matter.
    let ended = task_after("ended", &[Use::KeepAndEnd], waker);
    drop_all(&ended.1);
    // Dropped while it waits, with the waker in it.
    drop(cancelled(waker));
    // The waker of an earlier poll, by another executor, still exists.
    let mut moved = task_after("moved", &[Use::Keep], waker);
    poll_once(&mut moved.0, &Waker::from(Arc::new(Idle)));
    vec![kept, woken, taken, itself, ended, moved]
}

fn main() {
    init_tracer();
    let waker = Waker::from(Arc::new(Idle));
    let tasks = (lose_wakers(&waker), keep_wakers(&waker));
    std::mem::forget(tasks);
}
