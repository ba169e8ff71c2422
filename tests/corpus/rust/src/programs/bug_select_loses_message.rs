// SPDX-License-Identifier: MIT
//! next_job() takes a job from the channel and then waits until the job may start.  In a select!
//! with the reload command it is dropped while it waits, and the job in it is lost: its submitter
//! waits for ever.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: submitter-19
//! never: deadlock, closed-under-waiter, blocking

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, spawn_orders};
use std::sync::Arc;
use tokio::sync::{mpsc, Notify};
use tokio::time::sleep;

struct Job {
    large: bool,
    finished: Arc<Notify>,
}

async fn next_job(jobs: &mut mpsc::Receiver<Job>, taken: &Notify) -> Option<Job> {
    let job = jobs.recv().awaiting(Reason::ChannelRecv).await?;
    if job.large {
        taken.notify_one();
        sleep(ms(200)).awaiting(Reason::Timer).await; // the bug: not cancel safe
    }
    Some(job)
}

async fn run_jobs(mut jobs: mpsc::Receiver<Job>, taken: Arc<Notify>, reload: Arc<Notify>) {
    let mut reloads = 0;
    loop {
        tokio::select! {
            job = next_job(&mut jobs, &taken) => match job {
                Some(job) => job.finished.notify_one(),
                None => break,
            },
            _ = reload.notified() => reloads += 1,
        }
    }
    println!("{reloads} reloads");
}

async fn edit_settings(taken: Arc<Notify>, reload: Arc<Notify>) {
    taken.notified().awaiting(Reason::User).await;
    sleep(ms(20)).awaiting(Reason::Timer).await;
    reload.notify_one();
}

async fn submit_job(number: u64, runner: mpsc::Sender<Job>) {
    let finished = Arc::new(Notify::new());
    let job = Job { large: number == 19, finished: finished.clone() };
    runner.send(job).awaiting(Reason::ChannelSend).await.unwrap();
    let flag = address_of(&*finished);
    finished.notified().awaiting_on(Reason::User, flag).await; // @stuck
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 6);
        let (runner, jobs) = mpsc::channel(32);
        let (taken, reload) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        tokio::spawn(run_jobs(jobs, taken.clone(), reload.clone()).traced_as("runner"));
        tokio::spawn(edit_settings(taken, reload).traced_as("editor"));
        for number in 0..80 {
            tokio::spawn(submit_job(number, runner.clone()).traced_as(&format!("submitter-{number}")));
            sleep(ms(9)).await;
        }
        sleep(ms(700)).await;
        std::process::exit(0);
    });
}
