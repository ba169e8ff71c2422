// SPDX-License-Identifier: MIT
//! Parts of the corpus of futures with and without bugs: a queue of wakers, and an executor of one
//! task at a time.

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// A task that has been polled once, or more.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Poll a task.  Is it done?
pub fn poll(task: &mut Task<'_>) -> bool {
    let waker = Waker::from(Arc::new(Nobody));
    task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
}

/// Begin a traced task.
pub fn go<'a>(name: &str, future: impl Future<Output = ()> + 'a) -> Task<'a> {
    let mut task: Task<'a> = Box::pin(future.traced_as(name));
    poll(&mut task);
    task
}

/// Waiting tasks in FIFO order.
#[derive(Default, Clone)]
pub struct Queue(Rc<RefCell<VecDeque<Waker>>>);

impl Queue {
    pub fn take(&self) -> Waker {
        self.0.borrow_mut().pop_front().unwrap()
    }

    /// Wake the first, which is `task`, and poll it.  Is it done?
    pub fn serve_once(&self, task: &mut Task<'_>) -> bool {
        self.take().wake();
        poll(task)
    }

    pub fn serve(&self, mut task: Task<'_>) {
        assert!(self.serve_once(&mut task));
    }

    pub fn serve_all(&self, mut task: Task<'_>) {
        while !self.serve_once(&mut task) {}
    }
}

struct Wait {
    queue: Queue,
    waited: bool,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.waited {
            return Poll::Ready(());
        }
        self.waited = true;
        self.queue.0.borrow_mut().push_back(cx.waker().clone());
        Poll::Pending
    }
}

pub struct Gate;

impl Gate {
    /// Waits in the queue `times` times.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(queue: &Queue, times: u32) -> impl Future<Output = ()> {
        let queue = queue.clone();
        async move {
            for _ in 0..times {
                Gate::on(&queue, Reason::ChannelRecv, 7).await;
            }
        }
    }

    /// Waits in the queue for the given reason.
    pub fn on(queue: &Queue, reason: Reason, resource: u64) -> impl Future<Output = ()> {
        Wait { queue: queue.clone(), waited: false }.awaiting_on(reason, resource)
    }
}

/// Other tasks run meanwhile.
pub fn busy_for(ms: u64) {
    let queue = Queue::default();
    for _ in 0..ms / 10 {
        queue.serve_all(go("other", Gate::new(&queue, 1)));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Run the scenario that the command line names.
pub fn play(scenarios: &[(&str, fn())]) {
    let wanted = std::env::args().nth(1);
    corotracer::init_tracer();
    if let Some((_, run)) = scenarios.iter().find(|s| Some(s.0) == wanted.as_deref()) {
        return run();
    }
    eprintln!("usage: SCENARIO, one of");
    for (name, _) in scenarios {
        eprintln!("  {}", name);
    }
    std::process::exit(2);
}
