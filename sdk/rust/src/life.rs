// SPDX-License-Identifier: MIT
//! life - a coroutine under a collector that offers lanes: create, suspend, resume, wake, destroy.
//!
//! Its `Life` in shared memory holds its latest state; its events are records in the lanes of the
//! threads that run it.

use crate::lane::{self, not_before, put, put_more, put_text};
use crate::order;
use crate::session::Session;
use crate::sys;
use crate::thread::{Thread, STASH};
use crate::wire::*;
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

/// Pack the kind, reason and site of a record into one word.
#[inline(always)]
pub(crate) fn what(kind: u32, reason: u32, site: u32) -> u32 {
    life_state(kind, reason, site)
}

// ---- transitions --------------------------------------------------------------------

impl Life {
    /// As Thread::stamp(), of the lane whose last_ticks is `floor` (None: the event is lost); and the times of
    /// a coroutine increase, also from one thread to another.
    #[inline(always)]
    fn tick(&self, floor: Option<&AtomicU64>, now: u64) -> u64 {
        let last = self.last_ticks.load(Ordering::Relaxed);
        let now = floor.map_or(now, |floor| not_before(now, floor));
        let now = if now <= last { last.wrapping_add(1) } else { now };
        self.last_ticks.store(now, Ordering::Relaxed);
        if let Some(floor) = floor {
            floor.store(now, Ordering::Relaxed);
        }
        now
    }

    /// Count one transition.  Returns its sequence number.
    #[inline(always)]
    fn count(&self) -> u32 {
        let k = self.events.load(Ordering::Relaxed);
        self.events.store(k.wrapping_add(1), Ordering::Relaxed);
        k as u32
    }

    /// Update the state.  Returns the record's ticks, value and sequence number.
    #[inline(always)]
    fn transit(&self, floor: Option<&AtomicU64>, now: u64, addr: u64, what: u32) -> (u64, u64, u32) {
        // (ctp-M) pairs with the load-load fence in the collector's life_read().
        order::fence_handover();
        if what & 0xff == REC_RESUME {
            self.state.store(REC_RESUME, Ordering::Relaxed);
            return (self.tick(floor, now), 0, self.count());
        }
        self.state.store(what & 0xffff, Ordering::Relaxed);
        self.addr.store(addr, Ordering::Relaxed);
        self.site.store(what >> 16, Ordering::Relaxed);
        (self.tick(floor, now), addr, self.count())
    }

    pub(crate) fn kind(&self) -> u32 {
        self.state.load(Ordering::Relaxed) & 0xff & !REC_HAS_MORE
    }
}

/// Write one transition.  False if the coroutine has no id in this session: it belongs to an earlier
/// session, in a forked child to the parent, or there is no session.
#[inline(always)]
pub(crate) fn write(l: &Life, t: &Thread, s: &Session, addr: u64, what: u32, resource: Option<u64>) -> bool {
    let nr = if resource.is_some() { 2 } else { 1 };
    let what = if resource.is_some() { what | REC_HAS_MORE } else { what };

    if !t.fits(s, nr) {
        return write_slow(l, t, s, addr, what, resource);
    }
    let id = l.id.load(Ordering::Relaxed);
    if id == 0 {
        return false;
    }
    let (ticks, value, seq) = l.transit(Some(&t.the_lane().last_ticks), order::ticks(), addr, what);
    if let Some(resource) = resource {
        l.resource.store(resource, Ordering::Relaxed);
    }
    // SAFETY: there is room for nr records that are not published yet.
    unsafe {
        put(t.at.get(), ticks, id, value, seq, what);
        if let Some(resource) = resource {
            put_more(t.at.get().add(1), resource, 0);
        }
    }
    t.publish(s, nr);
    true
}

/// As write(), if the inline path is not possible: no lane, full chunk, fence or clock needed.
#[cold]
#[inline(never)]
fn write_slow(l: &Life, t: &Thread, s: &Session, addr: u64, what: u32, resource: Option<u64>) -> bool {
    let nr = if resource.is_some() { 2 } else { 1 };

    if !is_here(l, s) {
        return false;
    }
    let room = lane::room(t, s, nr);

    // Without a session, in a forked child, the life belongs to the parent: do not read it.
    if !t.ready(s) {
        return false;
    }
    let id = l.id.load(Ordering::Relaxed);
    if id == 0 {
        return false;
    }
    let floor = room.map(|_| &t.the_lane().last_ticks);
    let (ticks, value, seq) = l.transit(floor, t.ticks(), addr, what);
    if let Some(resource) = resource {
        l.resource.store(resource, Ordering::Relaxed);
    }
    match room {
        // SAFETY: room for nr records.
        Some(at) => unsafe {
            put(at, ticks, id, value, seq, what);
            if let Some(resource) = resource {
                put_more(at.add(1), resource, 0);
            }
            t.publish_slow(s, nr);
        },
        None => {
            l.dropped.store(l.dropped.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            lane::count(t, s, 1, 0);
        }
    }
    true
}

/// Is the life a unit of this session?
pub(crate) fn is_here(l: &Life, s: &Session) -> bool {
    let pool = &s.info().life_pool;
    let at = (l as *const Life as usize).wrapping_sub(pool.units as usize);
    at < pool.limit as usize * size_of::<Life>()
}

// ---- creation -----------------------------------------------------------------------

/// 1 + the number of a life for a new coroutine, preferably from this thread's stash; 0 if none.
fn take(t: &Thread, s: &Session) -> u32 {
    match t.nr_stash.get() {
        0 => lane::take(s, &s.info().life_pool),
        nr => {
            t.nr_stash.set(nr - 1);
            t.stash[nr - 1].get() + 1
        }
    }
}

fn give(t: &Thread, s: &Session, l: &Life) {
    let pool = &s.info().life_pool;
    let number = ((l as *const Life as usize - pool.units as usize) / size_of::<Life>()) as u32;
    let nr = t.nr_stash.get();
    if nr < STASH {
        t.stash[nr].set(number);
        t.nr_stash.set(nr + 1);
    } else {
        pool.give(number);
    }
}

fn name_store(l: &Life, name: &[u8]) {
    l.name_size.store(u32::try_from(name.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    for (i, to) in l.name.iter().enumerate() {
        to.store(name.get(i).copied().unwrap_or(0), Ordering::Relaxed);
    }
}

/// Write the birth records: one, plus as many as the name needs.
fn tell_birth(l: &Life, t: &Thread, s: &Session, name: &[u8]) {
    let told = &name[..name.len().min(EXT_NAME_SIZE)];
    let nr = 1 + (told.len() + TEXT_SIZE - 1) / TEXT_SIZE;
    let at = match lane::room(t, s, nr) {
        Some(at) => at,
        None => return lane::count(t, s, 0, 1),
    };
    let cut = if name.len() > told.len() { BIRTH_NAME_CUT } else { 0 } | l.birth.load(Ordering::Relaxed);
    let birth = what(REC_BIRTH, cut, l.birth_site.load(Ordering::Relaxed));
    let born = l.birth_ticks.load(Ordering::Relaxed);
    let now = t.stamp(born);
    if now != born {
        l.last_ticks.store(now, Ordering::Relaxed); // the next event is later than this one
    }
    // SAFETY: room for nr records.
    unsafe {
        put(
            at,
            now,
            l.id.load(Ordering::Relaxed),
            l.parent.load(Ordering::Relaxed),
            told.len() as u32,
            birth,
        );
        for (i, part) in told.chunks(TEXT_SIZE).enumerate() {
            put_text(at.add(1 + i), part);
        }
    }
    t.publish_slow(s, nr);
}

/// Create a coroutine in a thread that has joined the session, or adopt one (`birth` is
/// BIRTH_ADOPTED).  None if there is no room for it; the pool counts that.
#[cold]
pub(crate) fn begin(
    t: &Thread,
    s: &Session,
    name: &[u8],
    parent: u64,
    site: u32,
    birth: u32,
) -> Option<*const Life> {
    let _errno = sys::KeepErrno::new();
    let number = take(t, s);
    if number == 0 {
        return None;
    }
    let life: *const Life = s.info().life_pool.unit_at(number - 1).cast();
    // SAFETY: this thread owns the unit; it consists of atomics, so others may read it.
    let l = unsafe { &*life };
    // (ctp-M) pairs with the load-load fence in the collector's life_read(), and in wake() below.
    // The fence belongs here, not in end(): another thread may have ended the previous coroutine.
    order::fence_store_store();
    for counter in [&l.events, &l.addr, &l.resource, &l.dropped] {
        counter.store(0, Ordering::Relaxed);
    }
    let born = t.ticks();
    l.site.store(0, Ordering::Relaxed);
    l.birth_site.store(site, Ordering::Relaxed);
    l.birth.store(birth, Ordering::Relaxed);
    l.birth_ticks.store(born, Ordering::Relaxed);
    l.parent.store(parent, Ordering::Relaxed);
    l.pid.store(std::process::id(), Ordering::Relaxed);
    l.ticks.store(if t.counts_ns.get() { TICKS_NS } else { TICKS_COUNTER }, Ordering::Relaxed);
    name_store(l, name);
    l.last_ticks.store(born, Ordering::Relaxed);
    l.state.store(REC_BIRTH, Ordering::Relaxed);
    let id = s.lanes().last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    // (ctp-M) pairs with the acquire load in the collector's life_read(), and in wake() below.
    l.id.store(id, Ordering::Release);
    // (ctp-R) pairs with the membarrier in sys::membarrier_now(), or with the fence in
    // attach_by_order() if this process is not registered: either the zeros of the thread that
    // attaches next replace the id, or this thread sees that the session has ended.
    order::barrier_compiler();
    if s.needs_fence.load(Ordering::Relaxed) != 0 {
        order::fence_full();
    }
    if t.ticket.get() != !s.generation.load(Ordering::Relaxed) {
        return None;
    }
    tell_birth(l, t, s, name);
    Some(life)
}

// ---- the end ------------------------------------------------------------------------

/// Write the last record, a REC_END or REC_DESTROY.  False if it does not fit.
fn tell_end(l: &Life, t: &Thread, s: &Session, kind: u32, flags: u32) -> bool {
    let dropped = l.dropped.load(Ordering::Relaxed);
    let nr = if dropped != 0 { 2 } else { 1 };
    let at = match lane::room(t, s, nr) {
        Some(at) => at,
        None => return false,
    };
    let more = if dropped != 0 { REC_HAS_MORE } else { 0 };
    let events = l.events.load(Ordering::Relaxed);
    // SAFETY: room for nr records.
    unsafe {
        put(
            at,
            l.tick(Some(&t.the_lane().last_ticks), t.ticks()),
            l.id.load(Ordering::Relaxed),
            events,
            events as u32,
            what(kind | more, flags, 0),
        );
        if dropped != 0 {
            put_more(at.add(1), 0, dropped);
        }
    }
    t.publish_slow(s, nr);
    true
}

fn was_suspended(l: &Life) -> u32 {
    if l.kind() == REC_SUSPEND {
        END_SUSPENDED
    } else {
        0
    }
}

/// The coroutine has returned, but its frame still exists.
#[cold]
pub(crate) fn done(l: &Life, t: &Thread, s: &Session, flags: u32) {
    // This opens a lane if necessary; without a lane the event is counted as lost below.
    let _ = lane::ready(t, s);
    if !t.ready(s) || l.id.load(Ordering::Relaxed) == 0 || l.kind() == REC_END {
        return;
    }
    let flags = flags | was_suspended(l);
    // (ctp-M) pairs with the load-load fence in the collector's life_read().
    order::fence_handover();
    l.state.store(REC_END, Ordering::Relaxed);
    if !tell_end(l, t, s, REC_END, flags) {
        lane::count(t, s, 0, 1);
    }
}

/// The coroutine is destroyed.  If the event does not fit, its life stays in the table, marked
/// LIFE_UNREPORTED, and the collector reports it.
#[cold]
pub(crate) fn end(l: &Life, t: &Thread, s: &Session, flags: u32) {
    if !t.ready(s) || l.id.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut flags = flags | was_suspended(l);
    // (ctp-M) pairs with the load-load fence in the collector's life_read().
    order::fence_handover();
    let kind = if l.kind() == REC_END {
        REC_DESTROY
    } else {
        flags |= END_DESTROYED;
        REC_END
    };
    if !tell_end(l, t, s, kind, flags) {
        l.tick(None, t.ticks());
        lane::count(t, s, 0, 1);
        l.state.store(life_state(kind, flags, LIFE_UNREPORTED), Ordering::Relaxed);
        return;
    }
    // The order of these stores does not matter: a reader skips a life without a state.
    l.id.store(0, Ordering::Relaxed);
    l.state.store(0, Ordering::Relaxed);
    give(t, s, l);
}

// ---- wakes --------------------------------------------------------------------------

/// The kind of the last event of the coroutine `id`, and the number of its transitions; None if it
/// has ended and the life may belong to another coroutine.  A waker may outlive the coroutine that
/// it wakes.  The lives of an earlier session are zeros: a poll that began in it sees the id 0.
#[inline(always)]
fn events_of(l: &Life, id: u64) -> Option<(u32, u32)> {
    // (ctp-M) pairs with the release store in begin().
    if l.id.load(Ordering::Acquire) != id || id == 0 {
        return None;
    }
    let kind = l.kind();
    let events = l.events.load(Ordering::Relaxed);
    // (ctp-M) pairs with the store-store fence in begin().
    order::fence_load_load();
    (kind != REC_END && l.id.load(Ordering::Relaxed) == id).then_some((kind, events as u32))
}

/// Record that the coroutine `id`, whose life was `l`, was made ready to run.  Returns the number of
/// its transitions; None if it has ended.
#[inline(always)]
pub(crate) fn wake(
    l: &Life,
    id: u64,
    t: &Thread,
    s: &Session,
    waker: u64,
    site: u32,
    reason: u32,
) -> Option<u32> {
    // Check this before reading the region: in a forked child the region is the parent's.
    if !t.ready(s) {
        return None;
    }
    let (_, seen) = events_of(l, id)?;
    let what = what(REC_WAKE, reason, site);
    if t.has_room(1) {
        // SAFETY: room for a record.
        unsafe { put(t.at.get(), t.stamp(order::ticks()), id, waker, seen, what) };
        t.publish(s, 1);
    } else {
        mark_slow(id, t, s, waker, seen, what);
    }
    Some(seen)
}

/// No waker of the coroutine `id` exists any more, and `woken` is the number of its transitions at
/// its latest wake.  Record it if the coroutine is suspended and was not woken during its last poll
/// or later: then only a future around it can make it run.
#[cold]
pub(crate) fn wakers_dropped(l: &Life, id: u64, t: &Thread, s: &Session, woken: u32, is_inner: bool) {
    // As in wake().
    if !t.ready(s) {
        return;
    }
    let seen = match events_of(l, id) {
        // The suspension is a transition, so a wake during the poll before it saw one less.
        Some((REC_SUSPEND, seen)) if seen.wrapping_sub(woken) > 1 => seen,
        _ => return,
    };
    let mark = if is_inner { WAKERS_DROPPED_INNER } else { WAKERS_DROPPED };
    mark_slow(id, t, s, u64::from(mark) << 32 | u64::from(seen), 0, what(REC_RELEASE, 0, 0));
}

#[cold]
fn mark_slow(id: u64, t: &Thread, s: &Session, value: u64, seen: u32, what: u32) {
    match lane::room(t, s, 1) {
        // SAFETY: room for a record.
        Some(at) => unsafe {
            put(at, t.stamp(t.ticks()), id, value, seen, what);
            t.publish_slow(s, 1);
        },
        None => lane::count(t, s, 0, 1),
    }
}

/// Copy bytes into shared memory, one relaxed store per byte.
pub(crate) fn bytes_store(to: &[AtomicU8], from: &[u8]) {
    for (to, byte) in to.iter().zip(from) {
        to.store(*byte, Ordering::Relaxed);
    }
}
