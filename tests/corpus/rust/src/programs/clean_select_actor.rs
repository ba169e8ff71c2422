// SPDX-License-Identifier: MIT
//! An actor that takes commands, ticks and a stop signal with select!; all branches are cancel safe.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, Notify};
use tokio::time::{interval, sleep};

enum Command {
    Add(u64),
    Get(oneshot::Sender<u64>),
}

async fn run_actor(mut commands: mpsc::Receiver<Command>, stop: Arc<Notify>) -> u64 {
    let (mut sum, mut ticks) = (0, interval(ms(25)));
    loop {
        tokio::select! {
            command = commands.recv().awaiting(Reason::ChannelRecv) => match command {
                Some(Command::Add(n)) => sum += n,
                Some(Command::Get(reply)) => drop(reply.send(sum)),
                None => return sum,
            },
            _ = ticks.tick() => sum += 1,
            _ = stop.notified() => return sum,
        }
    }
}

async fn use_actor(number: u64, actor: mpsc::Sender<Command>) {
    for n in 0..40 {
        actor.send(Command::Add(n)).awaiting(Reason::ChannelSend).await.unwrap();
        let (reply, sum) = oneshot::channel();
        actor.send(Command::Get(reply)).awaiting(Reason::ChannelSend).await.unwrap();
        sum.awaiting(Reason::ChannelRecv).await.unwrap();
        sleep(ms(5 + (n + number) % 13)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_tickers(3);
        let (stop, mut actors, mut users) = (Arc::new(Notify::new()), Vec::new(), Vec::new());
        for number in 0..4 {
            let (actor, commands) = mpsc::channel(8);
            actors
                .push(tokio::spawn(run_actor(commands, stop.clone()).traced_as(&format!("actor-{number}"))));
            users.push(tokio::spawn(use_actor(number, actor.clone()).traced_as(&format!("use-{number}"))));
            users.push(tokio::spawn(use_actor(number + 9, actor).traced_as("use-more")));
        }
        for user in users {
            user.await.unwrap();
        }
        stop.notify_waiters();
        for actor in actors {
            assert!(actor.await.unwrap() > 0);
        }
    });
}
