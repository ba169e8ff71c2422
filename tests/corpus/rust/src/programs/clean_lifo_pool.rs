// SPDX-License-Identifier: MIT
//! A pool that gives work to the worker that became idle last, because its cache is warm; the other
//! workers stay idle while there is little work.  On smol's executor with two threads.
//!
//! corpus: clean

use async_channel::{bounded, Receiver, Sender};
use async_executor::Executor;
use async_io::Timer;
use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::ms;
use futures_lite::future::block_on;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Idle(Arc<Mutex<Vec<Sender<u64>>>>);

async fn work_when_called(own: Sender<u64>, work: Receiver<u64>, idle: Idle) {
    loop {
        idle.0.lock().unwrap().push(own.clone());
        let item = match work.recv().awaiting(Reason::ChannelRecv).await {
            Ok(item) => item,
            Err(_) => return,
        };
        Timer::after(ms(2 + item % 4)).awaiting(Reason::Timer).await;
    }
}

async fn call_workers(idle: Idle) {
    for item in 0..250 {
        let last = idle.0.lock().unwrap().pop();
        if let Some(worker) = last {
            worker.send(item).awaiting(Reason::ChannelSend).await.unwrap();
        }
        // At first there is work for all of them, later for two or three.
        Timer::after(ms(if item < 40 { 1 } else { 5 })).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let executor: Arc<Executor<'static>> = Arc::new(Executor::new());
    let idle = Idle::default();
    for number in 0..12 {
        let (own, work) = bounded(1);
        let worker = work_when_called(own, work, idle.clone());
        executor.spawn(worker.traced_as(&format!("lifo-{number}"))).detach();
    }
    let caller = executor.spawn(call_workers(idle).traced_as("caller"));
    let second = executor.clone();
    std::thread::spawn(move || block_on(second.run(futures_lite::future::pending::<()>())));
    block_on(executor.run(caller));
    std::process::exit(0);
}
