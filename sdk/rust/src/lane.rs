// SPDX-License-Identifier: MIT
//! lane - the lane of a thread: write records, take the next chunk, handle a full lane, close.
//!
//! The thread's first event opens the lane.  When the thread ends, the next new thread of the
//! process takes the lane over and continues in the same chunk; if there is no spare slot for the
//! lane, it is closed.  A lane's memory is a chain of chunks: the writer takes a chunk from the
//! pool when the last one is full, and the collector returns the chunks that it has read.
//!
//! When the lane is full, events are lost by default, and counted for the lane and for the
//! coroutine.  The first record that finds room again is preceded by a record with the number of
//! lost events and the time of the first.  With `--on-full block` the thread waits instead, as long
//! as the collector allows; after a wait that timed out it loses events until a chunk is returned.

use crate::order;
use crate::pool::Arena;
use crate::session::Session;
use crate::sys::{self, clock_ns};
use crate::thread::Thread;
use crate::wire::*;
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An exhausted pool grows by this many bytes.
const GROW_BYTES: u32 = 262_144;
const REFUSED_NS: u64 = 20_000_000;
/// The maximum number of lanes of ended threads that are kept for new threads.
pub(crate) const SPARES: usize = 512;

const SPARE_EMPTY: u32 = 0;
const SPARE_BUSY: u32 = 1; // a thread fills or empties this spare
const SPARE_FULL: u32 = 2;

/// A lane whose thread has ended, kept for a new thread.  In private memory of this process.
pub(crate) struct Spare {
    state: AtomicU32,
    lane: AtomicU32,
    chunk: AtomicU32,
    at: AtomicU32,
}

/// How far ahead of the next record memory is fetched: a yield of a task writes 96 bytes.
const PREFETCH_BYTES: usize = 256;

/// Polling interval while a thread waits for room: the first, and the longest.
const BLOCK_STEP_NS: i64 = 50_000;
const BLOCK_MOST_NS: i64 = 3_200_000;

impl Thread {
    /// The thread's lane.  The caller has checked that there is one.
    #[inline(always)]
    pub(crate) fn the_lane(&self) -> &Lane {
        debug_assert!(!self.lane.get().is_null());
        // SAFETY: a unit of the region, which stays mapped.
        unsafe { &*self.lane.get() }
    }

    /// Can this thread write `nr` records inline?
    #[inline(always)]
    pub(crate) fn fits(&self, s: &Session, nr: usize) -> bool {
        self.ticket.get() == !s.generation.load(Ordering::Relaxed) && self.has_room(nr)
    }

    /// As fits(), of a thread that has joined the session.
    #[inline(always)]
    pub(crate) fn has_room(&self, nr: usize) -> bool {
        (self.limit.get() as isize).wrapping_sub(self.at.get() as isize)
            >= (nr * size_of::<Record>()) as isize
    }

    /// The cycle counter, or the clock if the counter is not usable.
    pub(crate) fn ticks(&self) -> u64 {
        if self.counts_ns.get() {
            clock_ns()
        } else {
            order::ticks()
        }
    }

    /// The time of a record that is written now, of a thread with a lane: `now`, or the time of the
    /// last record if that is later.  The times of a lane do not decrease, and the collector relies on it when
    /// it merges lanes.  The counter alone does not ensure it: while it stands still, the times of a
    /// coroutine increase and run ahead of it.
    #[inline(always)]
    pub(crate) fn stamp(&self, now: u64) -> u64 {
        let floor = &self.the_lane().last_ticks;
        let now = not_before(now, floor);
        floor.store(now, Ordering::Relaxed);
        now
    }

    /// Publish the `nr` records at `at` to the collector.
    #[inline(always)]
    pub(crate) fn publish(&self, s: &Session, nr: usize) {
        // SAFETY: at most the end of the chunk: the caller had that much room.
        let at = unsafe { self.at.get().add(nr) };
        self.at.set(at);
        // The collector has read these lines before: get them back before the next records need them.
        order::prefetch_to_write((at as usize).wrapping_add(PREFETCH_BYTES));
        // (ctp-H) pairs with the acquire load in the collector's lane_look().
        self.the_lane().head.store((at as u64).wrapping_add(self.head_bias.get()), Ordering::Release);
        // (ctp-C) pairs with the barrier in the collector's sleep_announce(), which this path relies
        // on.
        if s.collector_sleeps() {
            s.wake();
        }
    }

    /// As publish(), also if the collector cannot issue a membarrier for this process.
    pub(crate) fn publish_slow(&self, s: &Session, nr: usize) {
        self.publish(s, nr);
        if s.needs_fence.load(Ordering::Relaxed) != 0 {
            s.wake_if_asleep();
        } else if self.always_slow.get() && !self.counts_ns.get() {
            // The membarrier registration succeeded after this thread had joined the session.
            self.always_slow.set(false);
            self.limit.set(self.end.get());
        }
    }

    fn head(&self) -> u64 {
        (self.at.get() as u64).wrapping_add(self.head_bias.get())
    }
}

/// The later one of `now` and `floor`, the time of a lane's last record.  A branch, and not a conditional move: then
/// the next event does not wait for the store of this one.
#[inline(always)]
pub(crate) fn not_before(now: u64, floor: &AtomicU64) -> u64 {
    #[cold]
    fn rare() {}

    let last = floor.load(Ordering::Relaxed);
    if now < last {
        rare();
        return last;
    }
    now
}

/// Write one record; `what` packs its kind, reason and site.
///
/// # Safety
/// `at` is a record of this thread that is not published yet.
#[inline(always)]
pub(crate) unsafe fn put(at: *mut Record, ticks: u64, id: u64, value: u64, seq: u32, what: u32) {
    at.write(Record {
        ticks,
        id,
        value,
        seq,
        site: (what >> 16) as u16,
        kind: what as u8,
        reason: (what >> 8) as u8,
    });
}

/// # Safety
/// As for put().
#[inline(always)]
pub(crate) unsafe fn put_more(at: *mut Record, resource: u64, lost: u64) {
    let more = RecordMore {
        resource,
        lost,
        reserved0: 0,
        reserved1: 0,
        reserved2: 0,
        kind: REC_MORE as u8,
        reserved3: 0,
    };
    at.cast::<RecordMore>().write(more);
}

/// # Safety
/// As for put().
pub(crate) unsafe fn put_text(at: *mut Record, part: &[u8]) {
    let mut text =
        RecordText { text: [0; TEXT_SIZE], reserved0: 0, reserved1: 0, kind: REC_TEXT as u8, reserved2: 0 };
    text.text[..part.len()].copy_from_slice(part);
    at.cast::<RecordText>().write(text);
}

// ---- memory -----------------------------------------------------------------------

/// The collector has not committed memory ahead of the writers: this thread asks the kernel.
#[cold]
pub(crate) fn grow(s: &Session, a: &Arena) -> bool {
    // Relaxed: Arena::committed() continues the release sequence of the last growth.
    let before = a.pool().committed.load(Ordering::Relaxed);
    let now = clock_ns();

    // After a failure, do not ask again at every event.
    if before >= a.limit || now.wrapping_sub(s.refused_ns.load(Ordering::Relaxed)) < REFUSED_NS {
        return false;
    }
    let step = (GROW_BYTES / a.unit).max(1).min(a.limit - before);
    let offset = a.units as u64 - s.info().header as u64 + u64::from(before) * u64::from(a.unit);
    let _errno = sys::KeepErrno::new();
    let grown = reopen(s).map_or(false, |f| sys::reserve(&f, offset, u64::from(step) * u64::from(a.unit)));
    if grown {
        a.committed(before, before + step);
    } else {
        s.refused_ns.store(now, Ordering::Relaxed);
    }
    grown
}

/// Open the region's file again, by the inherited descriptor or by its path.  The program may have changed its directory, or the path may name
/// another file: check the identity.
fn reopen(s: &Session) -> Option<std::fs::File> {
    let info = s.info();
    let file = match info.region_fd.open() {
        Some(file) => file,
        // SAFETY: leaked when the session was filled in; null in the sessions of tests.
        None => sys::open_region(unsafe { info.shm_path.as_ref() }?).ok()?,
    };
    let id = sys::identify(&file).ok()?;
    (id.dev == info.shm_dev && id.ino == info.shm_ino).then_some(file)
}

pub(crate) fn take(s: &Session, a: &Arena) -> u32 {
    a.take(|a| grow(s, a))
}

/// The first access to a page costs a page fault, as much as 50 events; so all pages of a chunk are
/// faulted in at once, when this process takes the chunk for the first time.
fn chunk_touch(s: &Session, number: u32) {
    let seen = s.info().seen_chunks;
    if seen.is_null() {
        return;
    }
    // SAFETY: a byte for every chunk below the limit.
    let seen = unsafe { &*seen.add(number as usize) };
    if seen.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let chunk = s.info().chunk_pool.unit_at(number);
    if sys::populate(chunk, CHUNK_SIZE) {
        return;
    }
    for at in (0..CHUNK_SIZE).step_by(4096) {
        // SAFETY: inside a chunk that only this thread owns.
        unsafe { (*chunk.add(at).cast::<AtomicU32>()).store(0, Ordering::Relaxed) };
    }
}

fn chunk_at(s: &Session, number: u32) -> *const Chunk {
    s.info().chunk_pool.unit_at(number - 1).cast()
}

/// Take a chunk for the thread's lane.  Returns 1 + its number, or 0.
fn chunk_take(t: &Thread, s: &Session) -> u32 {
    let number = take(s, &s.info().chunk_pool);
    if number == 0 {
        return 0;
    }
    chunk_touch(s, number - 1);
    // SAFETY: only this thread owns the chunk until it is linked.
    let chunk = unsafe { &*chunk_at(s, number) };
    let lane = (t.lane.get() as usize - s.info().lane_pool.units as usize) / size_of::<Lane>();
    chunk.link.store(0, Ordering::Relaxed);
    chunk.lane.store(lane as u32, Ordering::Relaxed);
    let taken = &t.the_lane().taken;
    taken.store(taken.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    chunk.tid.store(t.tid.get(), Ordering::Relaxed);
    chunk.pid.store(t.the_lane().pid.load(Ordering::Relaxed), Ordering::Relaxed);
    chunk.nr.store(taken.load(Ordering::Relaxed), Ordering::Relaxed);
    number
}

/// Continue in chunk `number`, at `head` of the lane.
fn chunk_use(t: &Thread, s: &Session, number: u32, head: u64) {
    let chunk = chunk_at(s, number);
    t.chunk.set(chunk);
    // SAFETY: the records are inside the chunk.
    unsafe {
        let records = (*chunk).records.get().cast::<Record>();
        t.at.set(records);
        t.end.set(records.add(CHUNK_RECORDS));
    }
    // A thread that must not write inline gets a limit that never leaves room.
    t.limit.set(if t.always_slow.get() { ptr::null_mut() } else { t.end.get() });
    t.head_bias.set(head.wrapping_sub(t.at.get() as u64));
}

// ---- opening and closing a lane -----------------------------------------------------

pub(crate) fn forget(t: &Thread) {
    t.at.set(ptr::null_mut());
    t.limit.set(ptr::null_mut());
    t.end.set(ptr::null_mut());
    t.lane.set(ptr::null());
    t.chunk.set(ptr::null());
    t.head_bias.set(0);
    t.gap_ticks.set(0);
    t.gap_transitions.set(0);
    t.gap_marks.set(0);
    t.gave_up.set(false);
}

fn spares(s: &Session) -> &[Spare] {
    let info = s.info();
    if info.spares.is_null() {
        return &[];
    }
    // SAFETY: mapped with the session, atomics only, and not unmapped while the session exists.
    unsafe { std::slice::from_raw_parts(info.spares, info.nr_spares) }
}

/// Keep the lane of a thread that ends for another thread.  False if no spare is empty.
fn keep(t: &Thread, s: &Session) -> bool {
    // A lane without room for another record, or with lost events to report, is closed.
    if records_left(t) == 0 || t.gap_ticks.get() != 0 {
        return false;
    }
    for spare in spares(s) {
        // (ctp-P) pairs with the release store in take_over(), of the thread that emptied the spare.
        if spare.state.load(Ordering::Relaxed) != SPARE_EMPTY
            || spare
                .state
                .compare_exchange(SPARE_EMPTY, SPARE_BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            continue;
        }
        let lane = (t.lane.get() as usize - s.info().lane_pool.units as usize) / size_of::<Lane>();
        let chunk = (t.chunk.get() as usize - s.info().chunk_pool.units as usize) / size_of::<Chunk>();
        spare.lane.store(lane as u32, Ordering::Relaxed);
        spare.chunk.store(chunk as u32, Ordering::Relaxed);
        spare.at.store((CHUNK_RECORDS - records_left(t)) as u32, Ordering::Relaxed);
        // (ctp-P) pairs with the acquire in take_over().
        spare.state.store(SPARE_FULL, Ordering::Release);
        return true;
    }
    false
}

/// Take over the lane of a thread that has ended.  False if there is none.
fn take_over(t: &Thread, s: &Session) -> bool {
    for spare in spares(s) {
        // (ctp-P) pairs with the release store in keep().
        if spare.state.load(Ordering::Relaxed) != SPARE_FULL
            || spare
                .state
                .compare_exchange(SPARE_FULL, SPARE_BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            continue;
        }
        let at = spare.at.load(Ordering::Relaxed) as usize;
        t.lane.set(s.info().lane_pool.unit_at(spare.lane.load(Ordering::Relaxed)) as *const Lane);
        let head = t.the_lane().head.load(Ordering::Relaxed);
        chunk_use(t, s, spare.chunk.load(Ordering::Relaxed) + 1, head);
        // SAFETY: inside the chunk, as keep() found it.
        t.at.set(unsafe { t.at.get().add(at) });
        t.head_bias.set(head.wrapping_sub(t.at.get() as u64));
        // (ctp-P) pairs with the acquire in keep(), of the thread that fills the spare next.
        spare.state.store(SPARE_EMPTY, Ordering::Release);
        // SAFETY: keep() left room for a record.
        unsafe { put(t.at.get(), t.stamp(t.ticks()), 0, t.tid.get(), 0, REC_THREAD) };
        t.publish(s, 1);
        return true;
    }
    false
}

#[cold]
fn open(t: &Thread, s: &Session) -> bool {
    let pool = &s.info().lane_pool;
    let number = take(s, pool);
    if number == 0 {
        return false;
    }
    t.lane.set(pool.unit_at(number - 1) as *const Lane);
    let lane = t.the_lane();
    lane.taken.store(0, Ordering::Relaxed);
    let first = chunk_take(t, s);
    if first == 0 {
        t.lane.set(ptr::null());
        pool.give(number - 1);
        return false;
    }
    for counter in [
        &lane.head,
        &lane.dropped,
        &lane.dropped_at,
        &lane.dropped_marks,
        &lane.blocked_ns,
        &lane.last_ticks,
        &lane.tail,
    ] {
        counter.store(0, Ordering::Relaxed);
    }
    lane.blocked.store(0, Ordering::Relaxed);
    lane.returned.store(0, Ordering::Relaxed);
    lane.oldest.store(u64::from(first), Ordering::Relaxed);
    lane.tid.store(t.tid.get(), Ordering::Relaxed);
    lane.pid.store(std::process::id(), Ordering::Relaxed);
    lane.first.store(first, Ordering::Relaxed);
    lane.ticks.store(if t.counts_ns.get() { TICKS_NS } else { TICKS_COUNTER }, Ordering::Relaxed);
    chunk_use(t, s, first, 0);
    // (ctp-I) pairs with the acquire load in the collector's lane_look().
    lane.state.store(LANE_OPEN, Ordering::Release);
    true
}

/// The thread ends: release its stash and its lane.  If it writes again, it joins the session
/// again.
pub(crate) fn leave(t: &Thread, s: &Session) {
    let generation = s.generation.load(Ordering::Relaxed);
    if generation == 0 || t.ticket.get() != !generation {
        return;
    }
    while t.nr_stash.get() > 0 {
        t.nr_stash.set(t.nr_stash.get() - 1);
        s.info().life_pool.give(t.stash[t.nr_stash.get()].get());
    }
    if !t.lane.get().is_null() && !keep(t, s) {
        // (ctp-I) pairs with the acquire load in the collector's lane_look().
        t.the_lane().state.store(LANE_CLOSED, Ordering::Release);
    }
    forget(t);
    t.ticket.set(0);
}

// ---- full ---------------------------------------------------------------------------

/// 1 + the number of the next chunk; 0 if the lane is at its limit or the pool is empty.
fn extend(t: &Thread, s: &Session) -> u32 {
    let lane = t.the_lane();
    // (ctp-J) pairs with the release store in the collector's lane_return().
    let held = lane.taken.load(Ordering::Relaxed).wrapping_sub(lane.returned.load(Ordering::Acquire));
    if held < s.info().lane_chunks {
        chunk_take(t, s)
    } else {
        0
    }
}

/// May the thread wait for room?  Only with ON_FULL_BLOCK, and not if the last wait timed out and
/// no chunk was returned since.
fn may_block(t: &Thread, s: &Session) -> bool {
    if s.info().on_full != ON_FULL_BLOCK {
        return false;
    }
    if t.gave_up.get() && t.gave_up_at.get() == t.the_lane().returned.load(Ordering::Relaxed) {
        return false;
    }
    t.gave_up.set(false);
    true
}

/// Call `again` at intervals, for at most `block_ms`.  Returns (its result, ns waited).  Each interval is
/// longer: hundreds of threads that wait leave the processor to the collector.
fn wait_for<T: Default + PartialEq>(s: &Session, again: impl Fn() -> T) -> (T, u64) {
    let start = clock_ns();
    let (mut got, mut waited, mut step) = (T::default(), 0, BLOCK_STEP_NS);
    while got == T::default() && waited < u64::from(s.info().block_ms) * 1_000_000 {
        s.wake_if_asleep();
        sys::nanosleep(step);
        step = if step < BLOCK_MOST_NS { step * 2 } else { step };
        got = again();
        waited = clock_ns().wrapping_sub(start);
    }
    (got, waited)
}

/// Wait for a chunk, for at most `block_ms`.
fn block(t: &Thread, s: &Session) -> u32 {
    let (number, waited) = wait_for(s, || extend(t, s));
    let lane = t.the_lane();
    lane.blocked.store(lane.blocked.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    lane.blocked_ns.store(lane.blocked_ns.load(Ordering::Relaxed).wrapping_add(waited), Ordering::Relaxed);
    if number == 0 {
        t.gave_up.set(true);
        t.gave_up_at.set(lane.returned.load(Ordering::Relaxed));
    }
    number
}

/// Changes with every step of the chunk pool: waiting makes sense again when it has changed.
fn chunk_tag(s: &Session) -> u32 {
    (s.info().chunk_pool.pool().free.load(Ordering::Relaxed) >> 32) as u32
}

/// As block(), for a thread that has no lane yet because other threads hold all chunks.
fn wait_for_lane(t: &Thread, s: &Session) -> bool {
    if s.info().on_full != ON_FULL_BLOCK || (t.gave_up.get() && t.gave_up_at.get() == chunk_tag(s)) {
        return false;
    }
    let (opened, waited) = wait_for(s, || open(t, s));
    t.gave_up.set(!opened);
    t.gave_up_at.set(chunk_tag(s));
    if opened {
        t.the_lane().blocked.store(1, Ordering::Relaxed);
        t.the_lane().blocked_ns.store(waited, Ordering::Relaxed);
    }
    opened
}

/// There is room again after a loss: write a record with the number of lost events.
fn tell_gap(t: &Thread, s: &Session) {
    // SAFETY: the first record of a new chunk.
    unsafe { put(t.at.get(), t.gap_ticks.get(), t.gap_marks.get(), t.gap_transitions.get(), 0, REC_GAP) };
    t.gap_ticks.set(0);
    t.gap_transitions.set(0);
    t.gap_marks.set(0);
    t.the_lane().dropped_at.store(0, Ordering::Relaxed);
    t.publish(s, 1);
}

fn records_left(t: &Thread) -> usize {
    (t.end.get() as usize - t.at.get() as usize) / size_of::<Record>()
}

/// The chunk is full: link the next one.
#[cold]
fn advance(t: &Thread, s: &Session) -> bool {
    let _errno = sys::KeepErrno::new();
    // Pad even if this event is lost: no later event may be written before the gap record.
    let left = records_left(t);
    if left != 0 {
        // SAFETY: a record of this thread that is not published yet.
        unsafe { put(t.at.get(), 0, 0, 0, 0, REC_PAD) };
        t.publish(s, left);
    }
    let mut number = extend(t, s);
    if number == 0 && may_block(t, s) {
        number = block(t, s);
    }
    if number == 0 {
        return false;
    }
    // The collector sees the link with the head that goes past it: (ctp-H).
    // SAFETY: the last chunk of the lane, which only this thread writes to.
    unsafe { (*t.chunk.get()).link.store(number, Ordering::Relaxed) };
    chunk_use(t, s, number, t.head());
    if t.gap_ticks.get() != 0 {
        tell_gap(t, s);
    }
    true
}

/// Has this thread a lane under this session?  Opens one if it has none.
pub(crate) fn ready(t: &Thread, s: &Session) -> bool {
    if !t.ready(s) {
        return false;
    }
    if !t.lane.get().is_null() {
        return true;
    }
    let _errno = sys::KeepErrno::new();
    take_over(t, s) || open(t, s) || wait_for_lane(t, s)
}

/// Room for `nr` consecutive records; links the next chunk if necessary.
pub(crate) fn room(t: &Thread, s: &Session, nr: usize) -> Option<*mut Record> {
    (ready(t, s) && (records_left(t) >= nr || advance(t, s))).then(|| t.at.get())
}

/// Count events that this thread could not write.
pub(crate) fn count(t: &Thread, s: &Session, transitions: u64, marks: u64) {
    if t.lane.get().is_null() {
        s.lanes().homeless.fetch_add(transitions, Ordering::Relaxed);
        s.lanes().homeless_marks.fetch_add(marks, Ordering::Relaxed);
        return;
    }
    let lane = t.the_lane();
    if t.gap_ticks.get() == 0 {
        t.gap_ticks.set(t.stamp(t.ticks()));
        lane.dropped_at.store(t.gap_ticks.get(), Ordering::Relaxed);
    }
    t.gap_transitions.set(t.gap_transitions.get().wrapping_add(transitions));
    t.gap_marks.set(t.gap_marks.get().wrapping_add(marks));
    lane.dropped.store(lane.dropped.load(Ordering::Relaxed).wrapping_add(transitions), Ordering::Relaxed);
    lane.dropped_marks
        .store(lane.dropped_marks.load(Ordering::Relaxed).wrapping_add(marks), Ordering::Relaxed);
    s.wake_if_asleep();
}
