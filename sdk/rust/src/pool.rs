// SPDX-License-Identifier: MIT
//! pool - take and give back the units of a shared pool.
//!
//! Any number of threads of any number of processes, and the collector.  A stack of those given
//! back, whose top carries a tag that changes with every step; and an end that nobody has used.
//! What the stack says is written by others: a number beyond the limit is not followed, and no
//! loop is longer than it needs to be.

use crate::wire::Pool;
use std::sync::atomic::{AtomicU32, Ordering};

const TRIES: u32 = 1000;

/// A pool of the region, as this process reaches it.  All zero: none.
#[derive(Clone, Copy)]
pub(crate) struct Arena {
    pub(crate) pool: *const Pool,
    pub(crate) units: *mut u8,
    pub(crate) unit: u32,
    /// As the collector said it at the start.
    pub(crate) limit: u32,
}

impl Arena {
    pub(crate) fn pool(&self) -> &Pool {
        // SAFETY: whoever made the arena checked that the pool is there; regions stay mapped.
        unsafe { &*self.pool }
    }

    pub(crate) fn unit_at(&self, number: u32) -> *mut u8 {
        debug_assert!(number < self.limit);
        // SAFETY: `limit` units lie behind `units`.
        unsafe { self.units.add(number as usize * self.unit as usize) }
    }

    /// Every unit starts with its link.
    fn link(&self, number: u32) -> &AtomicU32 {
        // SAFETY: units are aligned to 32 bytes at least, and their first field is this.
        unsafe { &*self.unit_at(number).cast() }
    }

    /// One of those given back: 1 + its number, or 0.
    fn pop(&self) -> u32 {
        for _ in 0..TRIES {
            // (J) pairs with the release in give().
            let top = self.pool().free.load(Ordering::Acquire);
            let number = top as u32;
            if number == 0 || number > self.limit {
                return 0;
            }
            let next = next_top(top, self.link(number - 1).load(Ordering::Relaxed));
            if self.pool().free.compare_exchange(top, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return number;
            }
        }
        0
    }

    /// One that nobody has had yet: 1 + its number, or 0.  `grow` gets more memory, or cannot.
    fn extend(&self, grow: impl Fn(&Arena) -> bool) -> u32 {
        for _ in 0..TRIES {
            let used = self.pool().used.load(Ordering::Relaxed);
            if used >= self.limit {
                return 0;
            }
            // (K) pairs with the release in committed(), of whoever got the memory.
            if used >= self.pool().committed.load(Ordering::Acquire) {
                if !grow(self) {
                    return 0;
                }
            } else if self
                .pool()
                .used
                .compare_exchange(used, used + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                return used + 1;
            }
        }
        0
    }

    /// 1 + the number of a unit that is now the caller's; 0: none to be had, which is counted.
    pub(crate) fn take(&self, grow: impl Fn(&Arena) -> bool) -> u32 {
        let mut number = self.pop();
        if number == 0 {
            number = self.extend(grow);
        }
        if number == 0 {
            self.pool().refused.fetch_add(1, Ordering::Relaxed);
        }
        number
    }

    /// The unit is nobody's any more.
    pub(crate) fn give(&self, number: u32) {
        for _ in 0..TRIES {
            let top = self.pool().free.load(Ordering::Relaxed);
            self.link(number).store(top as u32, Ordering::Relaxed);
            let next = next_top(top, number + 1);
            // (J) pairs with the acquire in pop().
            if self.pool().free.compare_exchange(top, next, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// There is memory for `now` units where there was for `before`.
    pub(crate) fn committed(&self, before: u32, now: u32) {
        // (K) pairs with the acquire in extend().
        let _ = self.pool().committed.compare_exchange(before, now, Ordering::Release, Ordering::Relaxed);
    }
}

fn next_top(before: u64, link: u32) -> u64 {
    (before >> 32).wrapping_add(1) << 32 | u64::from(link)
}
