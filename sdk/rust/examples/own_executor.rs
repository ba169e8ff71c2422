// SPDX-License-Identifier: MIT
//! own_executor - an executor that traces its tasks itself, with a `PollTrace` in each of them.
//!
//! ```text
//! corotracer run -o trace.jsonl -- cargo run --example own_executor
//! corotracer info trace.jsonl
//! ```

use corotracer::{init_tracer, AwaitExt, PollTrace, Reason};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Task {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    trace: PollTrace,
}

/// Tasks that are ready, by number.
#[derive(Default)]
struct Ready(Mutex<VecDeque<usize>>);

struct TaskWaker {
    number: usize,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.0.lock().unwrap().push_back(self.number);
    }
}

#[derive(Default)]
struct Executor {
    tasks: Vec<Option<Task>>,
    ready: Arc<Ready>,
}

impl Executor {
    #[track_caller] // the caller is where the trace shows that the task was created
    fn spawn(&mut self, name: &str, future: impl Future<Output = ()> + Send + 'static) {
        self.ready.0.lock().unwrap().push_back(self.tasks.len());
        self.tasks.push(Some(Task { future: Box::pin(future), trace: PollTrace::named(name) }));
    }

    fn run(&mut self) {
        loop {
            let next = self.ready.0.lock().unwrap().pop_front();
            match next {
                Some(number) => self.poll(number),
                None => return,
            }
        }
    }

    fn poll(&mut self, number: usize) {
        let waker = Waker::from(Arc::new(TaskWaker { number, ready: self.ready.clone() }));
        if let Some(Task { future, trace }) = &mut self.tasks[number] {
            let addr = &**future as *const _ as *const () as u64;
            let polled =
                trace.poll_with(&mut Context::from_waker(&waker), addr, |cx| future.as_mut().poll(cx));
            if polled.is_ready() {
                self.tasks[number] = None;
            }
        }
    }
}

/// Returns to the executor once.
struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn count_to(end: u32) {
    for _ in 0..end {
        YieldOnce(false).awaiting(Reason::Yield).await;
    }
}

fn main() {
    init_tracer();
    let mut executor = Executor::default();
    for i in 0..3 {
        executor.spawn(&format!("counter-{i}"), count_to(4));
    }
    executor.run();
    println!("{} tasks, traced: {}", executor.tasks.len(), corotracer::tracer_enabled());
}
