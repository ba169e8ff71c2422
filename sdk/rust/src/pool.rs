// SPDX-License-Identifier: MIT
//! pool - take and return units of a shared pool.
//!
//! Any number of threads of any number of processes, and the collector, use a pool at the same
//! time.  It consists of a stack of returned units, whose top carries a tag that changes with every
//! step, and of a tail of units that were never used.  The stack is untrusted shared memory: a
//! number beyond the limit is not followed, and every loop is bounded.

use crate::wire::Pool;
use std::sync::atomic::{AtomicU32, Ordering};

const TRIES: u32 = 1000;

/// A pool of the region, as mapped in this process.  All zero: none.
#[derive(Clone, Copy)]
pub(crate) struct Arena {
    pub(crate) pool: *const Pool,
    pub(crate) units: *mut u8,
    pub(crate) unit: u32,
    /// The value at the time of the attach.
    pub(crate) limit: u32,
}

impl Arena {
    pub(crate) fn pool(&self) -> &Pool {
        // SAFETY: the creator of the arena checked that the pool is inside the region, which stays
        // mapped.
        unsafe { &*self.pool }
    }

    pub(crate) fn unit_at(&self, number: u32) -> *mut u8 {
        debug_assert!(number < self.limit);
        // SAFETY: `limit` units follow `units`.
        unsafe { self.units.add(number as usize * self.unit as usize) }
    }

    /// Every unit starts with its link.
    fn link(&self, number: u32) -> &AtomicU32 {
        // SAFETY: units are aligned to at least 32 bytes, and the link is their first field.
        unsafe { &*self.unit_at(number).cast() }
    }

    /// Take a unit that was returned: 1 + its number, or 0.
    fn pop(&self) -> u32 {
        for _ in 0..TRIES {
            // (ctp-J) pairs with the release in give().
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

    /// Take a unit that was never used: 1 + its number, or 0.  `grow` commits more memory, or
    /// fails.
    fn extend(&self, grow: impl Fn(&Arena) -> bool) -> u32 {
        for _ in 0..TRIES {
            let used = self.pool().used.load(Ordering::Relaxed);
            if used >= self.limit {
                return 0;
            }
            // (ctp-K) pairs with the release in committed(), of the thread that committed the memory.
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

    /// 1 + the number of a unit that the caller now owns; 0 if there is none, which is counted.
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

    /// Return the unit to the pool.
    pub(crate) fn give(&self, number: u32) {
        for _ in 0..TRIES {
            let top = self.pool().free.load(Ordering::Relaxed);
            self.link(number).store(top as u32, Ordering::Relaxed);
            let next = next_top(top, number + 1);
            // (ctp-J) pairs with the acquire in pop().
            if self.pool().free.compare_exchange(top, next, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Memory is now committed for `now` units instead of `before`.
    pub(crate) fn committed(&self, before: u32, now: u32) {
        // (ctp-K) pairs with the acquire in extend().
        let _ = self.pool().committed.compare_exchange(before, now, Ordering::Release, Ordering::Relaxed);
    }
}

fn next_top(before: u64, link: u32) -> u64 {
    (before >> 32).wrapping_add(1) << 32 | u64::from(link)
}
