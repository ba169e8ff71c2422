// SPDX-License-Identifier: MIT
//! Two transfers lock the same two accounts in opposite order.
//!
//! corpus: bug
//! class: deadlock
//! at: @stuck
//! victims: payment, refund
//! also: rent, interest
//! never: lost-wakeup, closed-under-waiter, blocking

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_orders};
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    fn with(balance: i64) -> Arc<Account> {
        Arc::new(Account { balance: Mutex::new(balance) })
    }

    fn number(&self) -> u64 {
        address_of(&self.balance)
    }

    async fn locked(&self) -> MutexGuard<'_, i64> {
        let guard = self.balance.lock().awaiting_on(Reason::Mutex, self.number()).await; // @stuck
        acquired(self.number());
        guard
    }
}

async fn transfer_amount(from: &Account, to: &Account, amount: i64) {
    let mut source = from.locked().await;
    sleep(ms(3)).awaiting(Reason::Timer).await; // looks up the rate
    let mut target = to.locked().await;
    *source -= amount;
    *target += amount;
    released(to.number());
    released(from.number());
}

async fn transfer_often(from: Arc<Account>, to: Arc<Account>, pause: u64) {
    for amount in 1.. {
        transfer_amount(&from, &to, amount).await;
        sleep(ms(pause)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 8);
        let (shop, bank, other) = (Account::with(100), Account::with(1000), Account::with(10));
        tokio::spawn(transfer_often(shop.clone(), other.clone(), 9).traced_as("rent"));
        tokio::spawn(transfer_often(bank.clone(), other, 11).traced_as("interest"));
        sleep(ms(300)).await;
        let payment = transfer_often(shop.clone(), bank.clone(), 4).traced_as("payment");
        let refund = transfer_often(bank, shop, 5).traced_as("refund");
        tokio::spawn(payment);
        tokio::spawn(refund);
        sleep(run_time(1300)).await;
        std::process::exit(0);
    });
}
