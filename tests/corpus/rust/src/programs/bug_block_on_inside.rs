// SPDX-License-Identifier: MIT
//! A synchronous callback inside a task calls block_on() to get a value from another task of the
//! same thread: the other task can never run.
//!
//! corpus: bug
//! class: never-yielded|blocking
//! at: @stuck|@after
//! victims: template
//! never: closed-under-waiter, leak, busy-yield

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, run_time, spawn_orders};
use futures_lite::future::block_on;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

type Question = oneshot::Sender<u64>;

async fn answer_questions(mut questions: mpsc::Receiver<Question>) {
    while let Some(reply) = questions.recv().awaiting(Reason::ChannelRecv).await {
        let _ = reply.send(42);
    }
}

/// A template engine calls this; it has no async interface.
fn look_up_value(store: &mpsc::Sender<Question>) -> u64 {
    let (reply, answer) = oneshot::channel();
    store.try_send(reply).unwrap();
    block_on(answer).unwrap_or(0) // @stuck
}

async fn render_template(store: mpsc::Sender<Question>) {
    for page in 0..30 {
        sleep(ms(10)).awaiting(Reason::Timer).await; // @after
        if page == 29 {
            println!("{}", look_up_value(&store));
        }
    }
}

pub fn main() {
    init_tracer();
    std::thread::spawn(|| {
        std::thread::sleep(run_time(2200));
        std::process::exit(0);
    });
    current_thread().block_on(async {
        spawn_orders(2, 6);
        let (store, questions) = mpsc::channel(4);
        tokio::spawn(answer_questions(questions).traced_as("store"));
        tokio::spawn(render_template(store).traced_as("template"));
        sleep(ms(5000)).await;
    });
}
