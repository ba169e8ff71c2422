// SPDX-License-Identifier: MIT
//! A shop of actors with mailboxes. Stock asks Prices for a bundle, and Prices asks Stock back while
//! it answers: each waits for the reply of the other.
//!
//! corpus: bug
//! class: deadlock|stalled|lost-wakeup
//! victims: stock, prices
//! also: customer *, till
//! never: leak, starvation

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

enum Ask {
    Count(u32, oneshot::Sender<u32>),
    Price(u32, oneshot::Sender<u32>),
}

type Mailbox = mpsc::Sender<Ask>;

async fn ask(to: &Mailbox, make: impl FnOnce(oneshot::Sender<u32>) -> Ask) -> u32 {
    let (reply, answer) = oneshot::channel();
    let _ = to.send(make(reply)).awaiting(Reason::ChannelSend).await;
    answer.awaiting(Reason::ChannelRecv).await.unwrap_or(0)
}

async fn stock(mut inbox: mpsc::Receiver<Ask>, prices: Mailbox) {
    while let Some(asked) = inbox.recv().awaiting(Reason::ChannelRecv).await {
        if let Ask::Count(item, reply) = asked {
            // A bundle costs what its parts cost.
            let extra = if item == 77 { ask(&prices, |r| Ask::Price(item, r)).await } else { 0 };
            let _ = reply.send(item % 5 + extra);
        }
    }
}

async fn prices(mut inbox: mpsc::Receiver<Ask>, stock: Mailbox) {
    while let Some(asked) = inbox.recv().awaiting(Reason::ChannelRecv).await {
        if let Ask::Price(item, reply) = asked {
            let left = ask(&stock, |r| Ask::Count(item, r)).await;
            let _ = reply.send(item * 3 + left);
        }
    }
}

async fn customer(number: u32, to_stock: Mailbox, to_prices: Mailbox) {
    ask(&to_prices, |r| Ask::Price(number % 70, r)).await;
    ask(&to_stock, |r| Ask::Count(number, r)).await;
}

async fn till() {
    loop {
        sleep(Duration::from_millis(40)).awaiting(Reason::Timer).await;
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let (to_stock, stock_inbox) = mpsc::channel(8);
    let (to_prices, prices_inbox) = mpsc::channel(8);
    tokio::spawn(stock(stock_inbox, to_prices.clone()).traced_as("stock"));
    tokio::spawn(prices(prices_inbox, to_stock.clone()).traced_as("prices"));
    tokio::spawn(till().traced_as("till"));
    for number in 0..100 {
        let customer = customer(number, to_stock.clone(), to_prices.clone());
        tokio::spawn(customer.traced_as(&format!("customer {number}")));
        sleep(Duration::from_millis(12)).await;
    }
    sleep(Duration::from_millis(1200)).await;
    std::process::exit(0);
}
