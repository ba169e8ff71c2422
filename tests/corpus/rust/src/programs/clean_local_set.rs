// SPDX-License-Identifier: MIT
//! Tasks that are not Send, on a LocalSet: a queue in a RefCell, a producer, consumers.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::Notify;
use tokio::task::{spawn_local, LocalSet};
use tokio::time::sleep;

#[derive(Default)]
struct Queue {
    items: RefCell<VecDeque<u64>>,
    added: Notify,
}

async fn consume_locally(queue: Rc<Queue>) {
    loop {
        let item = queue.items.borrow_mut().pop_front();
        match item {
            Some(u64::MAX) => return,
            Some(item) => sleep(ms(item % 4)).awaiting(Reason::Timer).await,
            None => queue.added.notified().awaiting(Reason::User).await,
        }
    }
}

async fn produce_locally(queue: Rc<Queue>, nr_consumers: usize) {
    for item in 0..120 {
        queue.items.borrow_mut().push_back(item);
        queue.added.notify_one();
        sleep(ms(5)).awaiting(Reason::Timer).await;
    }
    for _ in 0..nr_consumers {
        queue.items.borrow_mut().push_back(u64::MAX);
        queue.added.notify_one();
        sleep(ms(1)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let local = LocalSet::new();
    local.block_on(&current_thread(), async {
        let queue = Rc::new(Queue::default());
        let consumers: Vec<_> = (0..4)
            .map(|n| spawn_local(consume_locally(queue.clone()).traced_as(&format!("local-{n}"))))
            .collect();
        spawn_local(produce_locally(queue, consumers.len()).traced_as("producer")).await.unwrap();
        for consumer in consumers {
            consumer.await.unwrap();
        }
    });
}
