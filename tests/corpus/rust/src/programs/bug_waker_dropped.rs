// SPDX-License-Identifier: MIT
//! A hand-written future registers its waker at the first poll only.  An event that is not yet the
//! expected one takes the waker and wakes; the second poll returns Pending without a waker.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: quorum-4
//! never: deadlock, closed-under-waiter, blocking, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_echoes};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::time::sleep;

#[derive(Default)]
struct Votes {
    yes: usize,
    waker: Option<Waker>,
}

impl Votes {
    fn add(votes: &Mutex<Votes>, nr: usize) {
        let mut votes = votes.lock().unwrap();
        votes.yes += nr;
        if let Some(waker) = votes.waker.take() {
            waker.wake();
        }
    }
}

struct Quorum {
    votes: Arc<Mutex<Votes>>,
    needed: usize,
    registered: bool,
}

impl Future for Quorum {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let votes = self.votes.clone();
        let mut votes = votes.lock().unwrap();
        if votes.yes >= self.needed {
            return Poll::Ready(());
        }
        if !self.registered {
            votes.waker = Some(cx.waker().clone());
            self.registered = true; // the bug: add() has taken the waker by the second poll
        }
        Poll::Pending
    }
}

async fn await_quorum(votes: Arc<Mutex<Votes>>) {
    Quorum { votes, needed: 3, registered: false }.awaiting(Reason::User).await; // @stuck
    sleep(ms(5)).awaiting(Reason::Timer).await;
}

async fn collect_votes(votes: Arc<Mutex<Votes>>, batches: Vec<usize>) {
    for nr in batches {
        sleep(ms(30)).awaiting(Reason::Timer).await;
        Votes::add(&votes, nr);
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_echoes(6).await;
        for round in 0..6 {
            let votes = Arc::new(Mutex::new(Votes::default()));
            // Mostly all votes come at once.  In round 4 they do not.
            let batches = if round == 4 { vec![2, 1] } else { vec![3] };
            tokio::spawn(await_quorum(votes.clone()).traced_as(&format!("quorum-{round}")));
            tokio::spawn(collect_votes(votes, batches).traced_as(&format!("votes-{round}")));
            sleep(ms(90)).await;
        }
        sleep(ms(900)).await;
    });
    std::mem::forget(runtime);
}
