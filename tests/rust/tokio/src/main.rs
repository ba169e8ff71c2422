// SPDX-License-Identifier: MIT
//! Traced futures on real Tokio: the twelve scenarios, and failures of real programs.
//!
//! usage: scenarios multi|current WHAT... (twelve, panic, abort, burst, wakes, outlive, timeout)

use corotracer::{AwaitExt, PollTrace, Reason, TraceFutureExt};
use corotracer_rust_tests::{all_pending, counted, report, watch, WakeFirst};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, Barrier, Notify};
use tokio::task::{spawn, yield_now, JoinHandle};
use tokio::time::{sleep, timeout};

const TICK: Duration = Duration::from_millis(2);

async fn until_pending(prefix: &str) {
    while !all_pending(prefix) {
        sleep(TICK).await;
    }
}

async fn all<T>(tasks: Vec<JoinHandle<T>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

fn spawn_many<F>(name: &str, nr: u64, make: impl Fn(u64) -> F) -> Vec<JoinHandle<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    (0..nr).map(|i| spawn(watch(&format!("{name}-{i}"), make(i)))).collect()
}

// ---- the twelve -------------------------------------------------------------------------

async fn single_sleep() {
    spawn(watch("sleep", sleep(TICK).awaiting(Reason::Timer))).await.unwrap();
}

async fn concurrent() {
    all(spawn_many("concurrent", 20, |i| async move {
        sleep(Duration::from_millis(1 + i % 5)).await;
    }))
    .await;
}

async fn several_suspensions() {
    let several = watch("several", async {
        for _ in 0..5 {
            sleep(TICK).await;
        }
    });
    spawn(several).await.unwrap();
}

async fn one_shot() {
    let (tx, rx) = oneshot::channel();
    let consumer =
        spawn(watch("oneshot-consumer", async { rx.awaiting(Reason::ChannelRecv).await.unwrap() }));
    let producer = spawn(watch("oneshot-producer", async {
        sleep(TICK).await;
        tx.send(42u32).unwrap();
    }));
    producer.await.unwrap();
    assert_eq!(consumer.await.unwrap(), 42);
}

async fn many_producers() {
    let (tx, mut rx) = mpsc::channel(4);
    let producers = spawn_many("mpsc-producer", 5, |i| {
        let tx = tx.clone();
        async move {
            for k in 0..8 {
                tx.send(i * 8 + k).awaiting(Reason::ChannelSend).await.unwrap();
            }
        }
    });
    drop(tx);
    let consumer = spawn(watch("mpsc-consumer", async move {
        let mut sum = 0;
        while let Some(n) = rx.recv().awaiting(Reason::ChannelRecv).await {
            sum += n;
        }
        sum
    }));
    all(producers).await;
    assert_eq!(consumer.await.unwrap(), (0..40).sum());
}

async fn rendezvous() {
    let barrier = Arc::new(Barrier::new(6));
    all(spawn_many("barrier", 6, |_| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
        }
    }))
    .await;
}

async fn yields() {
    all(spawn_many("yield", 3, |_| async {
        for _ in 0..10 {
            yield_now().awaiting(Reason::Yield).await;
        }
    }))
    .await;
}

async fn mixed() {
    all(spawn_many("mixed", 4, |i| async move {
        for k in 0..6 {
            if (i + k) % 2 == 0 {
                yield_now().await;
            } else {
                std::thread::yield_now(); // continues, as far as the trace shows
            }
        }
        sleep(TICK).await;
    }))
    .await;
}

async fn stress() {
    all(spawn_many("stress", 100, |i| async move {
        for _ in 0..10 {
            yield_now().await;
        }
        sleep(Duration::from_micros(100 * (i % 10))).await;
    }))
    .await;
}

async fn chain() {
    let leaf = || async {
        yield_now().await;
        sleep(TICK).await;
    };
    let middle = move || async move {
        watch("chain-leaf", leaf()).await;
        watch("chain-leaf-again", leaf()).await;
    };
    spawn(watch("chain-root", async move { watch("chain-middle", middle()).await })).await.unwrap();
}

/// A hand-written poll loop with the low-level interface only.
async fn low_level() {
    struct Manual<F> {
        future: Pin<Box<F>>,
        trace: PollTrace,
    }
    impl<F: Future> Future for Manual<F> {
        type Output = F::Output;
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            let this = &mut *self;
            this.trace.on_resume();
            match this.future.as_mut().poll(cx) {
                Poll::Pending => {
                    this.trace.on_pending(this.future.as_mut());
                    Poll::Pending
                }
                Poll::Ready(output) => {
                    this.trace.on_ready();
                    Poll::Ready(output)
                }
            }
        }
    }
    let trace = PollTrace::named("low-level");
    let future = Box::pin(counted("low-level", trace.id(), async {
        yield_now().await;
        sleep(TICK).await;
        yield_now().await;
    }));
    spawn(Manual { future, trace }).await.unwrap();
}

async fn dropped() {
    let mut early = Box::pin(watch("dropped-suspended", sleep(Duration::from_secs(3600))));
    assert!(Once(early.as_mut()).await);
    drop(early);
    drop(watch("dropped-unpolled", sleep(TICK)));
    drop(watch("taken-apart", async {}).into_inner());
}

/// Poll once, in the context of the task; is it pending?
struct Once<'a, F>(Pin<&'a mut F>);

impl<F: Future> Future for Once<'_, F> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(self.0.as_mut().poll(cx).is_pending())
    }
}

async fn twelve() {
    single_sleep().await;
    concurrent().await;
    several_suspensions().await;
    one_shot().await;
    many_producers().await;
    rendezvous().await;
    yields().await;
    mixed().await;
    stress().await;
    chain().await;
    low_level().await;
    dropped().await;
}

// ---- and more ----------------------------------------------------------------------------

async fn panics() {
    std::panic::set_hook(Box::new(|_| {}));
    let at_once = spawn(watch("panic-at-once", async { panic!("as planned") }));
    let later = spawn(watch("panic-later", async {
        yield_now().await;
        let nested = watch("panic-nested", async {
            yield_now().await;
            panic!("as planned")
        });
        nested.await
    }));
    assert!(at_once.await.unwrap_err().is_panic());
    assert!(later.await.unwrap_err().is_panic());
}

async fn aborts() {
    let gate = Arc::new(Notify::new());
    let tasks = spawn_many("aborted", 10, |_| {
        let gate = gate.clone();
        async move { gate.notified().awaiting(Reason::Semaphore).await }
    });
    until_pending("aborted").await;
    for task in &tasks {
        task.abort();
    }
    for task in tasks {
        assert!(task.await.unwrap_err().is_cancelled());
    }
}

/// Ten thousand in one tick.
async fn burst() {
    all(spawn_many("burst", 10_000, |_| async { yield_now().await })).await;
}

/// Wakes by a traced task, by an untraced thread, and by the task itself before it suspends.
async fn wakes() {
    let (tx, rx) = oneshot::channel();
    let woken = spawn(watch("woken-by-task", async { rx.awaiting(Reason::ChannelRecv).await.unwrap() }));
    let waker = spawn(watch("the-waker", async {
        until_pending("woken-by-task").await;
        tx.send(()).unwrap();
    }));
    woken.await.unwrap();
    waker.await.unwrap();

    let (tx, rx) = oneshot::channel();
    let woken = spawn(watch("woken-by-thread", async { rx.awaiting_on(Reason::User, 77).await.unwrap() }));
    let thread = std::thread::spawn(|| {
        while !all_pending("woken-by-thread") {
            std::thread::sleep(TICK);
        }
        tx.send(()).unwrap();
    });
    woken.await.unwrap();
    thread.join().unwrap();

    spawn(watch("woken-first", WakeFirst::default())).await.unwrap();
    // Spawned from a traced future: its child.  And one nested in another.
    let parent = watch("parent", async {
        spawn(watch("spawned-child", async { yield_now().await })).await.unwrap();
        watch("inline-child", sleep(TICK)).await;
    });
    spawn(parent).await.unwrap();
}

/// A future that is polled, then dropped for another.
async fn timeouts() {
    for i in 0..5 {
        let slow = watch(&format!("timeout-{i}"), sleep(Duration::from_secs(3600)));
        assert!(timeout(TICK, slow).await.is_err());
    }
}

/// Tasks that are never joined.
async fn outlive() {
    for i in 0..5 {
        let gate = Notify::new();
        drop(spawn(watch(&format!("outlive-{i}"), async move { gate.notified().await })));
    }
    until_pending("outlive").await;
}

fn runtime(kind: &str) -> Runtime {
    let mut builder =
        if kind == "multi" { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.worker_threads(4).enable_time().build().unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    corotracer::init_tracer();
    let runtime = runtime(&args[1]);
    for what in &args[2..] {
        match what.as_str() {
            "twelve" => runtime.block_on(twelve()),
            "panic" => runtime.block_on(panics()),
            "abort" => runtime.block_on(aborts()),
            "burst" => runtime.block_on(burst()),
            "wakes" => runtime.block_on(wakes()),
            "timeout" => runtime.block_on(timeouts()),
            "root" => runtime.block_on(watch("root", async { yield_now().traced().await })),
            "outlive" => runtime.block_on(outlive()),
            "exit" => {
                // main returns while they exist: they are not dropped.
                std::mem::forget(runtime);
                report(&[]);
                return;
            }
            _ => panic!("what is '{what}'?"),
        }
    }
    drop(runtime);
    report(&[]);
}
