// SPDX-License-Identifier: MIT
//! resource - events of the resources that futures wait for: close, acquire, release.

use crate::life::what;
use crate::place::Place;
use crate::session::session_acquire;
use crate::wire::*;
use crate::{lane, site, thread};

/// Call this before a descriptor is closed: coroutines that wait for it will not be woken.
///
/// ```
/// # let fd = 7;
/// corotracer::closing(fd); // then drop what owns it
/// ```
///
/// The call is optional.  With it the report can prove that a descriptor was closed under a waiter,
/// and, with [`acquired`] and [`released`], that there is a deadlock; without it these findings are
/// only suspicions.
#[track_caller]
pub fn closing(resource: u64) {
    tell(REC_CLOSE, resource, Place::here());
}

/// The traced future that runs on this thread now holds this lock.
///
/// Pass the same number as to [`awaiting_on`](crate::AwaitExt::awaiting_on).
#[track_caller]
pub fn acquired(lock: u64) {
    tell(REC_ACQUIRE, lock, Place::here());
}

/// The traced future that runs on this thread has released this lock.
#[track_caller]
pub fn released(lock: u64) {
    tell(REC_RELEASE, lock, Place::here());
}

fn tell(kind: u32, resource: u64, place: Place) {
    let s = match session_acquire() {
        Some(s) => s,
        None => return,
    };
    thread::with(|t| {
        // Check this before reading the session: in a forked child the session is the parent's.
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
                lane::put(at, t.stamp(t.ticks()), t.current.get(), resource, 0, what(kind, 0, site));
                t.publish_slow(s, 1);
            },
            None => lane::count(t, s, 0, 1),
        }
    });
}
