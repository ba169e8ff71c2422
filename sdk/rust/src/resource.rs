// SPDX-License-Identifier: MIT
//! resource - what becomes of the things that futures wait for.

use crate::life::what;
use crate::session::session_acquire;
use crate::wire::*;
use crate::{lane, site, thread};
use std::panic::Location;

/// Call it before a descriptor is closed: whoever waits for it waits in vain.
///
/// ```
/// # let fd = 7;
/// corotracer::closing(fd); // then drop what owns it
/// ```
///
/// Nobody has to.  Who does gets proof where the report could only suspect: of descriptors closed
/// under a waiter, and, with [`acquired`] and [`released`], of deadlocks.
#[track_caller]
pub fn closing(resource: u64) {
    tell(REC_CLOSE, resource, Location::caller());
}

/// The traced future that runs here holds this lock now.
///
/// The number is the one that [`awaiting_on`](crate::AwaitExt::awaiting_on) is given for it.
#[track_caller]
pub fn acquired(lock: u64) {
    tell(REC_ACQUIRE, lock, Location::caller());
}

/// And now no longer.
#[track_caller]
pub fn released(lock: u64) {
    tell(REC_RELEASE, lock, Location::caller());
}

fn tell(kind: u32, resource: u64, place: &'static Location<'static>) {
    let s = match session_acquire() {
        Some(s) => s,
        None => return,
    };
    thread::with(|t| {
        // Before anything of the session is looked at: in a forked child it is the parent's.
        if !t.ready(s) {
            s.later_mark();
            return;
        }
        if s.info().lanes.is_null() {
            return;
        }
        let site = site::number(s, place, "");
        match lane::room(t, s, 1) {
            // SAFETY: room for a record.
            Some(at) => unsafe {
                lane::put(at, t.ticks(), t.current.get(), resource, 0, what(kind, 0, site));
                t.publish_slow(s, 1);
            },
            None => lane::count(t, s, 0, 1),
        }
    });
}
