// SPDX-License-Identifier: MIT
//! A proxy keeps the reply channel of each request in a table until the answer arrives.  An answer
//! with a status it does not know is ignored, and the reply channel stays in the table.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: request-17, request-34
//! never: deadlock, closed-under-waiter, blocking

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use std::collections::HashMap;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

struct Call {
    number: u64,
    reply: oneshot::Sender<u64>,
}

struct Answer {
    number: u64,
    status: u64,
}

async fn run_backend(number: u64, answers: mpsc::Sender<Answer>) {
    sleep(ms(4 + number % 9)).awaiting(Reason::Timer).await;
    let status = if number > 0 && number % 17 == 0 { 425 } else { 200 };
    answers.send(Answer { number, status }).awaiting(Reason::ChannelSend).await.unwrap();
}

async fn run_proxy(mut calls: mpsc::Receiver<Call>) {
    let mut waiting = HashMap::new();
    let (to_proxy, mut answers) = mpsc::channel::<Answer>(16);
    loop {
        let (call, answer) = async {
            tokio::select! {
                call = calls.recv() => (call, None),
                answer = answers.recv() => (None, answer),
            }
        }
        .awaiting(Reason::ChannelRecv)
        .await;
        if let Some(call) = call {
            waiting.insert(call.number, call.reply);
            tokio::spawn(run_backend(call.number, to_proxy.clone()).traced_as("backend"));
        }
        match answer {
            Some(Answer { number, status: 200 }) => {
                if let Some(reply) = waiting.remove(&number) {
                    let _ = reply.send(number);
                }
            }
            Some(_) => {} // the bug: neither answered nor removed
            None => {}
        }
    }
}

async fn call_proxy(number: u64, proxy: mpsc::Sender<Call>) -> Option<u64> {
    let (reply, answer) = oneshot::channel();
    proxy.send(Call { number, reply }).awaiting(Reason::ChannelSend).await.ok()?;
    answer.awaiting(Reason::ChannelRecv).await.ok() // @stuck
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_tickers(4);
        let (proxy, calls) = mpsc::channel(4);
        tokio::spawn(run_proxy(calls).traced_as("proxy"));
        for number in 0..50 {
            tokio::spawn(call_proxy(number, proxy.clone()).traced_as(&format!("request-{number}")));
            sleep(ms(10)).await;
        }
        sleep(ms(900)).await;
    });
    std::mem::forget(runtime);
}
