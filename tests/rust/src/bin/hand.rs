// SPDX-License-Identifier: MIT
//! Traced futures on executors written by hand, and incorrect use of the SDK.
//!
//! usage: hand WHAT... (see main)

use corotracer::{init_tracer, TracedFuture};
use corotracer_rust_tests::{report, watch, WakeFirst};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

// ---- executors ---------------------------------------------------------------------------

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A thread pool. A task lives while it is queued, runs, or a waker of it exists.
#[derive(Default)]
struct Pool {
    queue: Mutex<VecDeque<Arc<Task>>>,
    ready: Condvar,
    alive: Mutex<u64>,
    idle: Condvar,
}

struct Task {
    future: Mutex<Option<Boxed>>,
    pool: Arc<Pool>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let pool = self.pool.clone();
        pool.queue.lock().unwrap().push_back(self);
        pool.ready.notify_one();
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        *self.future.get_mut().unwrap() = None;
        *self.pool.alive.lock().unwrap() -= 1;
        self.pool.idle.notify_all();
    }
}

impl Pool {
    fn start(threads: usize) -> Arc<Pool> {
        let pool = Arc::new(Pool::default());
        for _ in 0..threads {
            let pool = pool.clone();
            thread::spawn(move || loop {
                pool.run_one();
            });
        }
        pool
    }

    fn run_one(&self) {
        let mut queue = self.queue.lock().unwrap();
        let task = loop {
            match queue.pop_front() {
                Some(task) => break task,
                None => queue = self.ready.wait(queue).unwrap(),
            }
        };
        drop(queue);
        let waker = Waker::from(task.clone());
        let mut slot = task.future.lock().unwrap();
        if let Some(future) = slot.as_mut() {
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                *slot = None;
            }
        }
    }

    fn spawn(self: &Arc<Pool>, future: impl Future<Output = ()> + Send + 'static) {
        *self.alive.lock().unwrap() += 1;
        Arc::new(Task { future: Mutex::new(Some(Box::pin(future))), pool: self.clone() }).wake();
    }

    fn wait_all(&self) {
        let mut alive = self.alive.lock().unwrap();
        while *alive > 0 {
            alive = self.idle.wait(alive).unwrap();
        }
    }
}

/// A waker without effect: the task is polled anyway.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::new(Nobody))))
}

/// Suspends N times, without waking anything.
struct Pauses(u64);

impl Future for Pauses {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        Poll::Pending
    }
}

// ---- guarantees for the executor -------------------------------------------------------------

fn pool() {
    let pool = Pool::start(3);
    for i in 0..200 {
        pool.spawn(watch(&format!("pool-{i}"), async move {
            for _ in 0..i % 20 {
                WakeFirst::default().await;
            }
        }));
    }
    pool.wait_all();
}

/// These can never be woken: their executor drops them, traced or not.
fn unwakeable() {
    let pool = Pool::start(2);
    for i in 0..10 {
        pool.spawn(watch(&format!("unwakeable-{i}"), Pauses(1000)));
        pool.spawn(watch(&format!("unwakeable-later-{i}"), async {
            WakeFirst::default().await;
            WakeFirst::default().await;
            Pauses(1000).await;
        }));
    }
    pool.wait_all(); // for ever, if the SDK kept their wakers
}

/// A waker of the executor that counts.
#[derive(Default)]
struct Counter {
    woken: AtomicU64,
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps the waker of its last poll, as real futures do, and counts how often it changed.
struct Keeps {
    kept: Arc<Mutex<Option<Waker>>>,
    changed: Arc<AtomicU64>,
}

impl Future for Keeps {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut kept = self.kept.lock().unwrap();
        match &*kept {
            Some(old) if old.will_wake(cx.waker()) => {}
            _ => {
                self.changed.fetch_add(1, Ordering::Relaxed);
                *kept = Some(cx.waker().clone());
            }
        }
        Poll::Pending
    }
}

fn wakers() -> Vec<(&'static str, u64)> {
    let (first, second) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
    let (one, two) = (Waker::from(first.clone()), Waker::from(second.clone()));
    let (kept, changed) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU64::new(0)));
    let keeps = Keeps { kept: kept.clone(), changed: changed.clone() };
    let mut future = Box::pin(watch("keeps", keeps));
    let mut poll =
        |waker: &Waker| assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());

    for _ in 0..10 {
        poll(&one);
    }
    let same = changed.load(Ordering::Relaxed); // once: the first
    kept.lock().unwrap().as_ref().unwrap().wake_by_ref();
    poll(&one);
    poll(&two); // the task moved to another executor
    poll(&two);
    let moved = changed.load(Ordering::Relaxed) - same;
    let last: Waker = kept.lock().unwrap().take().unwrap();
    last.wake_by_ref();
    thread::spawn({
        let last = last.clone();
        move || last.wake()
    })
    .join()
    .unwrap();
    drop(future);
    last.wake(); // a waker may outlive its future
    drop((one, two));
    vec![
        ("same", same),
        ("moved", moved),
        ("woken_first", first.woken.load(Ordering::Relaxed)),
        ("woken_second", second.woken.load(Ordering::Relaxed)),
        ("held_first", Arc::strong_count(&first) as u64 - 1),
        ("held_second", Arc::strong_count(&second) as u64 - 1),
    ]
}

/// Each poll on a new thread, which never used the SDK before and ends right after.
fn threads() {
    let mut future = Box::pin(watch("wanderer", Pauses(20)));
    loop {
        let (back, polled) = thread::spawn(move || {
            let polled = poll_once(future.as_mut());
            (future, polled)
        })
        .join()
        .unwrap();
        future = back;
        if polled.is_ready() {
            return;
        }
    }
}

/// A future that still exists when its thread's destructors run.
fn thread_local_future() {
    thread_local! {
        static KEPT: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> = RefCell::new(None);
    }
    for i in 0..3 {
        thread::spawn(move || {
            let mut future = Box::pin(watch(&format!("thread-local-{i}"), Pauses(5)));
            let _ = poll_once(future.as_mut());
            KEPT.with(|kept| *kept.borrow_mut() = Some(future));
        })
        .join()
        .unwrap();
    }
}

// ---- incorrect use -----------------------------------------------------------------------------

fn run_some(prefix: &str, nr: u64, pauses: u64) {
    for i in 0..nr {
        let mut future = Box::pin(watch(&format!("{prefix}-{i}"), Pauses(pauses)));
        while poll_once(future.as_mut()).is_pending() {}
    }
}

fn init_many_times() {
    let threads: Vec<_> = (0..8)
        .map(|i| {
            thread::spawn(move || {
                init_tracer();
                run_some(&format!("init-{i}"), 2, 3);
                init_tracer();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    init_tracer();
}

/// Traced futures exist, one is half-way, and only then is the tracer initialised.
fn init_late() {
    let mut early = Box::pin(watch("early", Pauses(4)));
    let _ = poll_once(early.as_mut());
    init_tracer();
    while poll_once(early.as_mut()).is_pending() {}
    run_some("after", 3, 2);
}

/// Moved before the first poll, and between polls where it is `Unpin`.
fn moved() {
    let boxed = |name: &str, n| TracedFuture::named(name, Box::pin(pauses(n)));
    let (mut a, mut b) = (boxed("moved-a", 3), boxed("moved-b", 3));
    for _ in 0..2 {
        let _ = poll_once(Pin::new(&mut a));
        let _ = poll_once(Pin::new(&mut b));
        std::mem::swap(&mut a, &mut b);
    }
    let mut all = vec![a, b];
    all.reverse();
    for mut future in all {
        while poll_once(Pin::new(&mut future)).is_pending() {}
    }
}

async fn pauses(n: u64) {
    Pauses(n).await
}

/// Polled again after it returned; its name in the ledger keeps what it did before.
fn polled_too_often() {
    struct Always;
    impl Future for Always {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }
    let mut future = Box::pin(TracedFuture::named("too-often", Always));
    for _ in 0..5 {
        assert!(poll_once(future.as_mut()).is_ready());
    }
    future.trace_mut().mark_dead();
    future.trace_mut().mark_dead();
    assert!(!future.trace().is_enabled());
    let mut manual = corotracer::PollTrace::named("manual");
    manual.on_resume(); // the first poll is not a resume
    manual.on_pending_addr(0x1234);
    manual.on_resume();
    manual.on_resume(); // not suspended: ignored
    manual.on_ready();
    manual.on_ready();
    manual.on_pending_addr(0x1234); // ended: ignored
}

/// Prints a line to the test, and waits for one.
fn hold() {
    let mut future = Box::pin(watch("held", Pauses(1_000_000)));
    let _ = poll_once(future.as_mut());
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0u8; 1]).unwrap();
    for _ in 0..200_000 {
        let _ = poll_once(future.as_mut());
    }
    run_some("after-the-collector", 1000, 20);
    println!("alive");
}

extern "C" {
    #[link_name = "fork"]
    fn fork_process() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// A child inherits its parent's futures, and creates some of its own.
fn fork() {
    let mut mine = Box::pin(watch("parent", Pauses(10)));
    let _ = poll_once(mine.as_mut());
    // SAFETY: the process has one thread.
    let pid = unsafe { fork_process() };
    if pid == 0 {
        let _ = poll_once(mine.as_mut()); // its parent's: untraced here
        run_some("child", 3, 4);
        // SAFETY: the parent has the ledger.
        unsafe { _exit(0) };
    }
    let mut status = 0;
    // SAFETY: the pid is that of the child.
    unsafe { waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
    while poll_once(mine.as_mut()).is_pending() {}
}

/// Leaked, so that they still exist when main returns.
fn outlives_main() {
    for i in 0..3 {
        let mut future = Box::pin(watch(&format!("leaked-{i}"), Pauses(5)));
        let _ = poll_once(future.as_mut());
        std::mem::forget(future);
    }
}

fn main() {
    let mut words = Vec::new();
    for what in std::env::args().skip(1) {
        match what.as_str() {
            "init" => init_tracer(),
            "pool" => pool(),
            "unwakeable" => unwakeable(),
            "wakers" => words = wakers(),
            "threads" => threads(),
            "thread-local" => thread_local_future(),
            "some" => run_some("some", 20, 12),
            "init-many-times" => init_many_times(),
            "init-late" => init_late(),
            "moved" => moved(),
            "too-often" => polled_too_often(),
            "hold" => return hold(),
            "fork" => fork(),
            "outlives-main" => outlives_main(),
            _ => panic!("what is '{what}'?"),
        }
    }
    report(&words);
}
