// SPDX-License-Identifier: MIT
//! A supervisor waits for every task of its table at shutdown, and is in the table itself.
//!
//! corpus: bug
//! class: deadlock
//! at: @stuck
//! victims: supervisor
//! never: lost-wakeup, closed-under-waiter, blocking

use corotracer::{current_id, init_tracer, AwaitExt, Reason, TraceFutureExt, TracedFuture};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_orders};
use std::future::Future;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use tokio::time::sleep;

type Tasks = Arc<Mutex<Vec<(u64, JoinHandle<()>)>>>;

fn spawn_in<F: Future<Output = ()> + Send + 'static>(tasks: &Tasks, task: TracedFuture<F>) {
    let id = task.trace().id();
    let mut table = tasks.lock().unwrap();
    table.push((id, tokio::spawn(task)));
}

async fn serve_for_a_while(number: u64) {
    for _ in 0..20 {
        sleep(ms(10 + number)).awaiting(Reason::Timer).await;
    }
}

async fn supervise_all(tasks: Tasks) {
    sleep(ms(100)).awaiting(Reason::Timer).await;
    loop {
        let next = tasks.lock().unwrap().pop();
        match next {
            Some((id, task)) => {
                let joined = task.awaiting_on(Reason::Join, id).await; // @stuck
                println!("task {id} of {}: {}", current_id(), joined.is_ok());
            }
            None => return,
        }
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(1, 4);
        let tasks = Tasks::default();
        for number in 0..4 {
            spawn_in(&tasks, serve_for_a_while(number).traced_as(&format!("service-{number}")));
        }
        spawn_in(&tasks, supervise_all(tasks.clone()).traced_as("supervisor"));
        for number in 4..6 {
            spawn_in(&tasks, serve_for_a_while(number).traced_as(&format!("service-{number}")));
        }
        sleep(run_time(1700)).await;
        std::process::exit(0);
    });
}
