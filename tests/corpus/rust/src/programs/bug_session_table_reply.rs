// SPDX-License-Identifier: MIT
//! An actor answers requests with a oneshot.  Requests for an unknown user are put into a table "until
//! the user logs in", with their oneshot; that user never does.
//!
//! corpus: bug
//! class: lost-wakeup|stalled
//! at: @answer
//! victims: request 23, request 61
//! never: deadlock, leak

use std::collections::HashMap;
use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

struct Ask {
    user: u32,
    answer: oneshot::Sender<u32>,
}

async fn users(mut inbox: mpsc::Receiver<Ask>) {
    let mut waiting: HashMap<u32, oneshot::Sender<u32>> = HashMap::new();
    while let Some(ask) = inbox.recv().awaiting(Reason::ChannelRecv).await {
        sleep(Duration::from_millis(1)).awaiting(Reason::Timer).await;
        if ask.user == 23 || ask.user == 61 {
            waiting.insert(ask.user, ask.answer); // the bug: nothing takes it out
        } else {
            let _ = ask.answer.send(ask.user + 1);
        }
    }
}

async fn request(user: u32, to: mpsc::Sender<Ask>) {
    let (answer, result) = oneshot::channel();
    if to.send(Ask { user, answer }).awaiting(Reason::ChannelSend).await.is_ok() {
        let _ = result.awaiting(Reason::ChannelRecv).await; // @answer
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let (to, inbox) = mpsc::channel(8);
    tokio::spawn(users(inbox).traced_as("users"));
    for user in 0..110 {
        tokio::spawn(request(user, to.clone()).traced_as(&format!("request {user}")));
        sleep(Duration::from_millis(15)).await;
    }
    sleep(Duration::from_millis(400)).await;
    std::process::exit(0);
}
