// SPDX-License-Identifier: MIT
//! tests - the writers of the protocol against a reader, in one process, for Miri.
//!
//! Miri has no shared files and no cycle counter, but it simulates weak memory and detects every
//! race: so the region is plain memory here, and the reader does in Rust what the collector does.
//!
//!     cargo +nightly miri test          (MIRIFLAGS=-Zmiri-many-seeds=0..16 for more orders)

use crate::attach::lanes_open;
use crate::lane;
use crate::life;
use crate::order;
use crate::pool::Arena;
use crate::session::{ext_header, ext_lanes, Session, ATTACH_DONE};
use crate::station;
use crate::thread::Thread;
use crate::traceparent;
use crate::waker::Slot;
use crate::wire::*;
use std::alloc::{alloc_zeroed, Layout};
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::thread;

const STATIONS: u32 = 2;

/// The number of rounds; fewer under Miri, which is about a thousand times slower.
const fn rounds(n: u64) -> u64 {
    if cfg!(miri) {
        n / 100 + 20
    } else {
        n
    }
}

/// Keeps the memory of sessions reachable, which is never freed, so that Miri reports only real
/// leaks.
struct Kept(Vec<*mut u8>);
// SAFETY: the pointers are never dereferenced.
unsafe impl Send for Kept {}
static KEPT: Mutex<Kept> = Mutex::new(Kept(Vec::new()));

fn zeros(layout: Layout) -> *mut u8 {
    // SAFETY: no layout here has size 0.
    let map = unsafe { alloc_zeroed(layout) };
    KEPT.lock().unwrap().0.push(map);
    map
}

/// A region in memory with this many chunks and lives, initialized as by a collector.
fn session_with(chunks: u32, lives: u32) -> &'static Session {
    let units = [
        (4, size_of::<Lane>()),
        (chunks, size_of::<Chunk>()),
        (lives, size_of::<Life>()),
        (8, size_of::<Site>()),
    ];
    let start = region_size(u64::from(STATIONS)) as usize;
    let size = start + units.iter().map(|(nr, unit)| *nr as usize * unit).sum::<usize>();
    let map = zeros(Layout::from_size_align(size, 4096).unwrap());
    // SAFETY: all zero is a valid header and a valid session.
    let (header, session) =
        unsafe { (&*map.cast::<Header>(), &*zeros(Layout::new::<Session>()).cast::<Session>()) };

    header.max_stations.store(STATIONS, Ordering::Relaxed);
    ext_header(header).features.store(EXT_LANES, Ordering::Relaxed);
    let lanes = ext_lanes(header);
    lanes.version.store(LANES_VERSION, Ordering::Relaxed);
    lanes.map_size.store(size as u64, Ordering::Relaxed);
    lanes.lane_chunks.store(chunks, Ordering::Relaxed);
    let mut offset = start;
    for (pool, (nr, unit)) in [&lanes.lanes, &lanes.chunks, &lanes.lives, &lanes.sites].iter().zip(units) {
        pool.offset.store(offset as u64, Ordering::Relaxed);
        pool.unit.store(unit as u32, Ordering::Relaxed);
        pool.limit.store(nr, Ordering::Relaxed);
        pool.committed.store(nr, Ordering::Relaxed);
        offset += nr as usize * unit;
    }
    // (ctp-E) pairs with the acquire in lanes_open(), like the store in the collector.
    lanes.magic.store(LANES_MAGIC, Ordering::Release);

    // SAFETY: not published yet.
    let info = unsafe { &mut *session.info.get() };
    info.header = map.cast();
    info.nr_stations = STATIONS;
    info.features = EXT_LANES;
    assert!(lanes_open(info, size as u64));
    let never = &session.never_sleeping as *const _ as *mut _;
    session.sleeping.store(never, Ordering::Relaxed);
    session.needs_fence.store(1, Ordering::Relaxed); // no membarrier in this test
    session.state.store(ATTACH_DONE, Ordering::Relaxed);
    // (ctp-F) pairs with the acquire in Thread::join(), like the store in session_publish().
    session.generation.store(1, Ordering::Release);
    session
}

// ---- a reader of lanes ------------------------------------------------------------------

/// Reads one lane as the collector does: up to the head, chunk by chunk, returning read chunks.
struct LaneReader {
    s: &'static Session,
    lane: &'static Lane,
    chunk: u32,
    at: u64,
}

impl LaneReader {
    /// Wait until the lane is opened.
    fn open(s: &'static Session, number: u32) -> LaneReader {
        // SAFETY: a unit of the pool, which consists of atomics.
        let lane = unsafe { &*s.info().lane_pool.unit_at(number).cast::<Lane>() };
        // (ctp-I) pairs with the release in lane::open().
        while lane.state.load(Ordering::Acquire) == LANE_FREE {
            thread::yield_now();
        }
        LaneReader { s, lane, chunk: lane.first.load(Ordering::Relaxed), at: 0 }
    }

    fn closed(&self) -> bool {
        // (ctp-I) pairs with the release in lane::leave().
        self.lane.state.load(Ordering::Acquire) == LANE_CLOSED
    }

    /// Read all records up to the head.
    fn look(&mut self, mut each: impl FnMut(Record)) {
        // (ctp-H) pairs with the release in Thread::publish().
        let head = self.lane.head.load(Ordering::Acquire);
        while self.at < head {
            let nr = (self.at / 32) as usize % CHUNK_RECORDS;
            if nr == 0 && self.at > 0 {
                self.next_chunk();
            }
            // SAFETY: published, so it is not written any more.
            let record = unsafe { self.chunk().records.get().cast::<Record>().add(nr).read() };
            if u32::from(record.kind) == REC_PAD {
                self.at += 32 * (CHUNK_RECORDS - nr) as u64;
                continue;
            }
            self.at += 32;
            each(record);
        }
    }

    fn chunk(&self) -> &'static Chunk {
        // SAFETY: the number of a chunk of this lane.
        unsafe { &*self.s.info().chunk_pool.unit_at(self.chunk - 1).cast::<Chunk>() }
    }

    fn next_chunk(&mut self) {
        let read = self.chunk;
        self.chunk = self.chunk().link.load(Ordering::Relaxed);
        self.s.info().chunk_pool.give(read - 1);
        let returned = self.lane.returned.load(Ordering::Relaxed) + 1;
        // (ctp-J) pairs with the acquire in lane::extend().
        self.lane.returned.store(returned, Ordering::Release);
    }
}

/// Run `f` as a new thread of the program that ends afterwards.
fn as_thread<R>(s: &'static Session, f: impl FnOnce(&Thread) -> R) -> R {
    let t = Thread::new();
    assert!(t.ready(s));
    let result = f(&t);
    lane::leave(&t, s);
    result
}

fn born(t: &Thread, s: &'static Session, name: &str) -> &'static Life {
    // SAFETY: a life of the region, which is leaked.
    unsafe { &*life::begin(t, s, name.as_bytes(), 0, 0, 0).expect("room for a life") }
}

/// Write `nr` transitions from number `from`, suspend and resume in turn.
fn turns(l: &Life, t: &Thread, s: &Session, from: u64, nr: u64) {
    for k in from..from + nr {
        if k % 2 == 0 {
            let resource = (k % 6 == 0).then_some(k);
            life::write(l, t, s, 0x1000 + k, life::what(REC_SUSPEND, k as u32 % REASONS, 0), resource);
        } else {
            life::write(l, t, s, 0, REC_RESUME, None);
        }
    }
}

/// The reader gets everything that a thread writes, once, in order and intact, while chunks are
/// reused.
#[test]
fn a_lane_that_is_read_while_it_is_written() {
    const CHUNKS: u64 = 3; // every chunk is used at least four times
    let nr = if cfg!(miri) { 2500 } else { 50_000 };
    let s = session_with(CHUNKS as u32 + 3, 2);
    let written = Arc::new(AtomicU64::new(0));
    let progress = written.clone();
    let writer = thread::spawn(move || {
        as_thread(s, |t| {
            let l = born(t, s, "a name that takes more than one record to tell");
            for k in 0..nr {
                // Stay close enough to the reader that no event is lost.
                while k > progress.load(Ordering::Relaxed) + 2047 {
                    thread::yield_now();
                }
                turns(l, t, s, k, 1);
            }
            life::done(l, t, s, 0);
            life::end(l, t, s, 0);
        })
    });
    let mut reader = LaneReader::open(s, 0);
    let (mut next, mut more, mut last, mut kinds) = (0u64, 0u64, 0u64, [0u64; REC_KINDS as usize]);
    loop {
        let closed = reader.closed();
        reader.look(|r| {
            kinds[(r.kind & 0x7f) as usize] += 1;
            match u32::from(r.kind & 0x7f) {
                REC_SUSPEND | REC_RESUME => {
                    assert_eq!((u64::from(r.seq), r.id), (next, 1), "the next, of the only one");
                    assert_eq!(r.value, if next % 2 == 0 { 0x1000 + next } else { 0 }, "its address");
                    assert_eq!(u32::from(r.kind & 0x80) != 0, next % 6 == 0, "more to come");
                    assert!(r.ticks > last, "time goes forward");
                    last = r.ticks;
                    more += u64::from(next % 6 == 0);
                    next += 1;
                }
                REC_END | REC_DESTROY => assert_eq!(r.value, nr, "transitions in all"),
                _ => {}
            }
        });
        written.store(next, Ordering::Relaxed);
        if closed {
            break;
        }
        thread::yield_now();
    }
    writer.join().unwrap();
    assert_eq!(next, nr, "transitions");
    assert_eq!(kinds[REC_MORE as usize], more, "resources");
    assert_eq!(
        [REC_BIRTH, REC_TEXT, REC_END, REC_DESTROY, REC_GAP].map(|k| kinds[k as usize]),
        [1, 2, 1, 1, 0]
    );
    assert_eq!(reader.lane.dropped.load(Ordering::Relaxed), 0, "dropped");
    assert!(reader.lane.returned.load(Ordering::Relaxed) >= 1, "no chunk went round: nothing was tested");
}

/// The times of a lane do not decrease, also behind a coroutine whose time is ahead of the counter (after many
/// events in one of its periods), and in the lane's next thread.
#[test]
fn the_times_of_a_lane_do_not_decrease() {
    const AHEAD: u64 = 1 << 40;
    let s = session_with(4, 8);
    // SAFETY: no other thread has this session.  A spare that is all zero is empty.
    unsafe {
        let info = &mut *s.info.get();
        let lane = &*info.lane_pool.unit_at(0).cast::<Lane>();
        lane.last_ticks.store(u64::MAX / 2, Ordering::Relaxed); // of a thread that had the lane before
        info.features |= EXT_CONTEXT;
        info.spares = alloc_zeroed(Layout::new::<lane::Spare>()).cast();
        info.nr_spares = 1;
    }
    let span = traceparent::parse(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    as_thread(s, |t| {
        let (hot, l) = (born(t, s, "hot"), born(t, s, ""));
        let id = l.id.load(Ordering::Relaxed);
        hot.last_ticks.store(order::ticks() + AHEAD, Ordering::Relaxed);
        turns(hot, t, s, 0, 4);
        turns(l, t, s, 0, 2);
        turns(hot, t, s, 4, 2);
        assert_eq!(life::wake(l, id, t, s, 0, 0, 0), Some(2));
        turns(hot, t, s, 6, 2);
        traceparent::write(t, s, id, span);
        turns(hot, t, s, 8, 2);
        let late = born(t, s, "late");
        assert!(late.last_ticks.load(Ordering::Relaxed) > late.birth_ticks.load(Ordering::Relaxed));
        turns(hot, t, s, 10, 2);
        turns(l, t, s, 2, 1);
        life::wakers_dropped(l, id, t, s, 0, false);
        turns(hot, t, s, 12, 2);
        life::end(l, t, s, 0);
    });
    as_thread(s, |t| {
        let l = born(t, s, "another thread");
        turns(l, t, s, 0, 1);
    });
    let (mut last, mut nr, mut threads) = (0, 0, 0);
    let mut reader = LaneReader::open(s, 0);
    reader.look(|r| {
        let kind = u32::from(r.kind);
        if kind == REC_MORE || kind == REC_TEXT {
            return;
        }
        assert!(r.ticks >= last, "kind {kind} is {} ticks back", last - r.ticks);
        last = r.ticks;
        nr += 1;
        threads += u32::from(kind == REC_THREAD);
    });
    assert_eq!((nr, threads), (27, 1), "records, and threads that continue");
    assert_eq!(reader.lane.last_ticks.load(Ordering::Relaxed), last);
    assert!(last < order::ticks() + 2 * AHEAD, "a lane begins with the time of its last use");
}

/// Without a reader a lane fills up; lost events are counted, for the lane and the coroutine.
#[test]
#[cfg_attr(miri, ignore)] // one thread, and thousands of events
fn a_full_lane_counts_what_it_drops_and_says_so_later() {
    let s = session_with(3, 2);
    as_thread(s, |t| {
        let l = born(t, s, "");
        let nr = 3 * CHUNK_RECORDS as u64 + 100;
        for k in 0..nr {
            life::write(l, t, s, k, REC_SUSPEND, None);
        }
        let lane = t.the_lane();
        // One record is the birth.
        assert_eq!(lane.dropped.load(Ordering::Relaxed), 101);
        assert_eq!(l.dropped.load(Ordering::Relaxed), 101);
        assert_eq!(l.events.load(Ordering::Relaxed), nr, "its life goes on all the same");
        // There is room again: the gap record precedes all other records.
        let mut reader = LaneReader::open(s, 0);
        let mut seen = 0;
        reader.look(|r| seen += u64::from(u32::from(r.kind) == REC_SUSPEND));
        assert_eq!(seen, nr - 101);
        life::write(l, t, s, nr, REC_SUSPEND, None);
        let mut after = Vec::new();
        reader.look(|r| after.push((u32::from(r.kind), r.value, u64::from(r.seq))));
        assert_eq!(after, [(REC_GAP, 101, 0), (REC_SUSPEND, nr, nr)]);
        life::end(l, t, s, END_CANCELLED);
    });
}

/// If the end of a coroutine does not fit, its life is marked and left for the collector.
#[test]
#[cfg_attr(miri, ignore)] // one thread, and thousands of events
fn an_end_without_room_leaves_the_life_behind() {
    let s = session_with(3, 2);
    as_thread(s, |t| {
        let l = born(t, s, "");
        turns(l, t, s, 0, 4 * CHUNK_RECORDS as u64);
        life::end(l, t, s, 0);
        assert_eq!(l.state.load(Ordering::Relaxed) >> 16, LIFE_UNREPORTED);
        assert_ne!(l.id.load(Ordering::Relaxed), 0);
        assert!(t.the_lane().dropped_marks.load(Ordering::Relaxed) > 0);
    });
}

/// A new coroutine without a free life is counted; a life is reused once its coroutine has ended.
#[test]
fn lives_are_given_back_and_ids_are_not() {
    let s = session_with(3, 2);
    as_thread(s, |t| {
        let (a, b) = (born(t, s, "a"), born(t, s, "b"));
        assert!(life::begin(t, s, b"c", 0, 0, 0).is_none());
        assert_eq!(s.info().life_pool.pool().refused.load(Ordering::Relaxed), 1);
        let first = a.id.load(Ordering::Relaxed);
        life::end(a, t, s, 0);
        let c = born(t, s, "c");
        assert!(std::ptr::eq(a, c), "the same life");
        assert_eq!((first, b.id.load(Ordering::Relaxed), c.id.load(Ordering::Relaxed)), (1, 2, 3));
        // The second end of the same coroutine writes nothing.
        life::end(b, t, s, 0);
        life::end(b, t, s, 0);
        life::end(c, t, s, 0);
    });
}

/// A waker may outlive its coroutine: a wake carries the id of that coroutine, or is not written.
#[test]
fn a_wake_is_never_taken_for_somebody_elses() {
    let s = session_with(30, 2);
    let (target, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let waker = thread::spawn({
        let (target, stop) = (target.clone(), stop.clone());
        move || {
            as_thread(s, |t| {
                // SAFETY: the first life of the pool, the only one in use.
                let l = unsafe { &*s.info().life_pool.unit_at(0).cast::<Life>() };
                // The lanes are not read: few wakes of each coroutine, at various times.
                let (mut last, mut looks) = (0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let id = target.load(Ordering::Acquire); // (ctp-M) pairs with the release below
                    looks = if id == last { looks + 1 } else { 0 };
                    last = id;
                    if id != 0 && (id % 4..id % 4 + 3).contains(&looks) {
                        life::wake(l, id, t, s, 0, 0, 0);
                    }
                    thread::yield_now();
                }
            })
        }
    });
    as_thread(s, |t| {
        for i in 0..rounds(3000) {
            let l = born(t, s, "");
            // Coroutine i + 1 has made 1 + i % 7 transitions when it can be woken.
            turns(l, t, s, 0, 1 + i % 7);
            target.store(l.id.load(Ordering::Relaxed), Ordering::Release); // (ctp-M) pairs with the acquire above
            thread::yield_now();
            life::end(l, t, s, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    waker.join().unwrap();
    let mut wakes = 0;
    for number in 0..s.lanes().lanes.used.load(Ordering::Relaxed) {
        LaneReader::open(s, number).look(|r| {
            if u32::from(r.kind) == REC_WAKE {
                wakes += 1;
                assert_eq!(u64::from(r.seq), 1 + (r.id - 1) % 7, "transitions of another were seen");
            }
        });
    }
    assert!(wakes > 0, "no future was woken: nothing was tested");
}

/// A poll that began in an earlier session finds zeros where its life was: its waker has the id 0.
#[test]
fn a_wake_without_an_id_is_not_written() {
    let s = session_with(4, 1);
    as_thread(s, |t| {
        // SAFETY: all zeros, as a mapping that was replaced.
        let zeros: Life = unsafe { std::mem::zeroed() };
        assert_eq!(life::wake(&zeros, 0, t, s, 0, 0, 0), None);
        life::wakers_dropped(&zeros, 0, t, s, 0, false);
        let l = born(t, s, "");
        assert_eq!(life::wake(l, 1, t, s, 0, 0, 0), Some(0));
    });
    let mut ids = Vec::new();
    LaneReader::open(s, 0).look(|r| {
        if u32::from(r.kind) == REC_WAKE {
            ids.push(r.id);
        }
    });
    assert_eq!(ids, [1]);
}

/// A future without a waker is recorded if it is suspended and was not woken since its last poll
/// began.
#[test]
fn a_future_without_a_waker_is_recorded_once_nothing_can_wake_it() {
    let s = session_with(4, 1);
    as_thread(s, |t| {
        let l = born(t, s, "");
        let id = l.id.load(Ordering::Relaxed);
        life::wakers_dropped(l, id, t, s, 1 << 31, false); // not suspended yet
        turns(l, t, s, 0, 3);
        for woken in [3, 2] {
            life::wakers_dropped(l, id, t, s, woken, false); // woken since
        }
        life::wakers_dropped(l, id + 1, t, s, 1, false); // another coroutine had this life
        life::wakers_dropped(l, id, t, s, 1, false);
        life::wakers_dropped(l, id, t, s, 1, true);
        turns(l, t, s, 3, 1);
        life::wakers_dropped(l, id, t, s, 1, false); // it runs
        life::done(l, t, s, 0);
        life::wakers_dropped(l, id, t, s, 1, false); // it has ended
    });
    let mut marks = Vec::new();
    LaneReader::open(s, 0).look(|r| {
        if u32::from(r.kind) == REC_RELEASE {
            marks.push((r.id, r.value >> 32, r.value as u32));
        }
    });
    let (dropped, inner) = (u64::from(WAKERS_DROPPED), u64::from(WAKERS_DROPPED_INNER));
    assert_eq!(marks, [(1, dropped, 3), (1, inner, 3)]);
}

/// A collector that announces contexts gets two records; another one gets none.
#[test]
fn a_traceparent_is_two_records_for_a_collector_that_knows_them() {
    let span = traceparent::parse(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    for knows in [false, true] {
        let s = session_with(4, 1);
        if knows {
            // SAFETY: no other thread has this session.
            unsafe { (*s.info.get()).features |= EXT_CONTEXT };
        }
        as_thread(s, |t| {
            let l = born(t, s, "");
            traceparent::write(t, s, l.id.load(Ordering::Relaxed), span);
            traceparent::write(t, s, 0, span); // not traced
        });
        let mut records = Vec::new();
        LaneReader::open(s, 0).look(|r| records.push((r.kind, r.ticks, r.id, r.value, r.seq)));
        assert_eq!(records.len(), if knows { 3 } else { 1 });
        if knows {
            assert_eq!(u32::from(records[1].0), REC_CONTEXT | REC_HAS_MORE);
            assert_eq!((records[1].2, records[1].3), (1, 0xb7ad_6b71_6920_3331));
            assert_eq!(records[1].4, 1);
            // The first two words of the other record are the halves of the trace id.
            assert_eq!((records[2].1, records[2].2), (0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c));
        }
    }
}

// ---- pools ------------------------------------------------------------------------------

/// One thread at a time owns a unit: each thread writes to it, and Miri reports a race if two own
/// it.
#[test]
fn a_unit_of_a_pool_is_one_threads_at_a_time() {
    let s = session_with(3, 3);
    let threads: Vec<_> = (0..3u64)
        .map(|me| {
            thread::spawn(move || {
                let pool: &Arena = &s.info().life_pool;
                let mut got = 0;
                for round in 0..rounds(20_000) {
                    let number = pool.take(|_| false);
                    if number == 0 {
                        continue;
                    }
                    got += 1;
                    // SAFETY: owned until it is given back; plain memory behind the link.
                    unsafe {
                        let mine = pool.unit_at(number - 1).add(64).cast::<u64>();
                        mine.write(me << 32 | round);
                        assert_eq!(mine.read(), me << 32 | round);
                    }
                    pool.give(number - 1);
                }
                got
            })
        })
        .collect();
    let got: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert!(got > 0);
    assert!(s.info().life_pool.pool().used.load(Ordering::Relaxed) <= 3);
}

/// A corrupt stack is not followed.
#[test]
fn a_pool_whose_top_is_nonsense_gives_nothing() {
    let s = session_with(3, 2);
    let pool = &s.info().life_pool;
    pool.pool().free.store(7 << 32 | 999, Ordering::Relaxed);
    pool.pool().used.store(u32::MAX, Ordering::Relaxed);
    assert_eq!(pool.take(|_| false), 0);
    assert_eq!(pool.pool().refused.load(Ordering::Relaxed), 1);
}

// ---- stations ---------------------------------------------------------------------------

/// The reader of slot.h: the payload of write `seq`, or None.
fn slot_read(slot: &Epoch, seq: u64) -> Option<(u64, u64, u8)> {
    // (ctp-B) pairs with the release store in Epoch::write().
    if slot.seq.load(Ordering::Acquire) != seq {
        return None;
    }
    let copy = (
        slot.tid.load(Ordering::Relaxed),
        slot.addr.load(Ordering::Relaxed),
        slot.is_active.load(Ordering::Relaxed),
    );
    // (ctp-A) pairs with the store-store fence in Epoch::write().
    order::fence_load_load();
    (slot.seq.load(Ordering::Relaxed) == seq).then_some(copy)
}

/// Every accepted copy is consistent.
#[test]
fn a_slot_is_read_whole_or_not_at_all() {
    let s = session_with(3, 2);
    // SAFETY: a station of the region.
    let the_slot = move || unsafe { &(*s.station(0)).slots[0] };
    let nr = rounds(200_000);
    let slot = the_slot();
    let writer = thread::spawn(move || {
        let slot = the_slot();
        for k in 1..=nr {
            slot.write(2 * k, k, k, 3 * k, k % 2 == 0);
        }
    });
    let mut accepted = 0;
    let mut last = 0;
    while last < nr {
        last = slot.seq.load(Ordering::Relaxed) / 2;
        if let Some(copy) = slot_read(slot, 2 * last) {
            assert_eq!(copy, (last, 3 * last, u8::from(last % 2 == 0 && last > 0)));
            accepted += 1;
        }
    }
    writer.join().unwrap();
    assert!(accepted > 0);
}

#[test]
fn stations_run_out_and_are_counted() {
    let s = session_with(3, 2);
    as_thread(s, |t| {
        let (first, born) = station::begin(t, s, b"first").unwrap();
        // SAFETY: a station of the region.
        let first = unsafe { &*first };
        let mut last = born;
        for k in 0..20 {
            last = station::write(first, t, s, k, last, 0x10 + k, k % 2 == 1).unwrap();
        }
        assert_eq!(slot_read(&first.slots[3], 6), Some((t.tid.get(), 0x10 + 19, 1)), "the twentieth");
        assert_eq!(slot_read(&first.slots[4], 4), Some((t.tid.get(), 0x10 + 12, 0)), "the thirteenth");
        station::end(first, t, s, last);
        assert_eq!(first.is_dead.load(Ordering::Relaxed), 1);
        assert!(station::begin(t, s, b"second").is_some());
        assert!(station::begin(t, s, b"third").is_none());
        assert_eq!(s.header().allocated_count.load(Ordering::Relaxed), 3);
    });
}

// ---- wakers -----------------------------------------------------------------------------

#[derive(Default)]
struct Counter(AtomicU64);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Poll a future that keeps its waker.
fn arm(slot: &mut Slot, theirs: &Waker) -> Waker {
    slot.lend(theirs, std::ptr::null(), 0, false).clone()
}

#[test]
fn a_waker_stays_the_same_while_the_executors_does() {
    let (one, two) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
    let (first, second) = (Waker::from(one.clone()), Waker::from(two.clone()));
    let mut slot = Slot::EMPTY;
    let kept = arm(&mut slot, &first);
    // Under Miri will_wake() of std's wakers is false: it gives a vtable several addresses.
    assert!(cfg!(miri) || kept.will_wake(&arm(&mut slot, &first)));
    let other = arm(&mut slot, &second);
    assert!(!kept.will_wake(&other), "another executor's");
    kept.wake_by_ref();
    other.wake();
    kept.wake();
    assert_eq!((one.0.load(Ordering::Relaxed), two.0.load(Ordering::Relaxed)), (2, 1));
    drop(slot);
    drop((first, second));
    assert_eq!((Arc::strong_count(&one), Arc::strong_count(&two)), (1, 1), "wakers still held");
}

/// Between polls the future holds no waker of the executor, which may rely on that.
#[test]
fn a_future_keeps_no_waker_of_its_executor() {
    let counter = Arc::new(Counter::default());
    let theirs = Waker::from(counter.clone());
    let mut slot = Slot::EMPTY;
    for _ in 0..3 {
        drop(arm(&mut slot, &theirs));
        assert_eq!(Arc::strong_count(&counter), 2, "ours, and theirs");
    }
    // A poll that keeps no waker does not clone it.
    slot.lend(&theirs, std::ptr::null(), 0, false).wake_by_ref();
    assert_eq!((Arc::strong_count(&counter), counter.0.swap(0, Ordering::Relaxed)), (2, 1));
    let out = arm(&mut slot, &theirs);
    assert_eq!(Arc::strong_count(&counter), 3);
    drop(slot);
    out.wake();
    assert_eq!((Arc::strong_count(&counter), counter.0.load(Ordering::Relaxed)), (2, 1));
}

/// Several threads poll, wake, clone and drop at once; in the end only the task's own waker is
/// left.
#[test]
fn wakers_on_many_threads_are_all_accounted_for() {
    let counter = Arc::new(Counter::default());
    let theirs = Waker::from(counter.clone());
    let other = Waker::from(Arc::new(Counter::default()));
    let mut slot = Slot::EMPTY;
    let mut woken = 0;
    for round in 0..rounds(500) {
        let waker = arm(&mut slot, &theirs);
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let waker = waker.clone();
                thread::spawn(move || match (round + i) % 3 {
                    0 => waker.wake(),
                    1 => waker.clone().wake_by_ref(),
                    _ => drop(waker),
                })
            })
            .collect();
        woken += (0..2).filter(|i| (round + i) % 3 != 2).count() as u64;
        drop(waker);
        // The next poll may run concurrently with these threads.
        match round % 3 {
            0 => drop(arm(&mut slot, &theirs)),
            1 => {
                slot.lend(&theirs, std::ptr::null(), 0, false).wake_by_ref();
                woken += 1;
            }
            _ => drop(slot.lend(&other, std::ptr::null(), 0, false).clone()),
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }
    drop(slot);
    assert_eq!(counter.0.load(Ordering::Relaxed), woken, "wakes");
    drop(theirs);
    assert_eq!(Arc::strong_count(&counter), 1, "wakers still held");
}

/// The only wrapper is used by another thread, and the next poll makes another one as soon as the
/// executor is woken.  Nothing but the cell orders the two: the mailbox orders only one way.
#[test]
fn the_next_poll_may_follow_a_wake_at_once() {
    let counter = Arc::new(Counter::default());
    let theirs = Waker::from(counter.clone());
    let mailbox = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Waker>()));
    let nr = rounds(2000);
    let other = thread::spawn({
        let mailbox = mailbox.clone();
        move || {
            for round in 0..nr {
                let mut got: *mut Waker = std::ptr::null_mut();
                while got.is_null() {
                    got = mailbox.swap(std::ptr::null_mut(), Ordering::Acquire);
                    thread::yield_now();
                }
                // SAFETY: sent by the loop below, once.
                let waker = unsafe { *Box::from_raw(got) };
                let second = (round % 3 == 0).then(|| waker.clone());
                waker.wake();
                drop(second);
            }
        }
    });
    let mut slot = Slot::EMPTY;
    for round in 0..nr {
        let waker = Box::into_raw(Box::new(arm(&mut slot, &theirs)));
        mailbox.store(waker, Ordering::Release);
        while counter.0.load(Ordering::Relaxed) <= round {
            thread::yield_now();
        }
        if round % 100 == 99 {
            slot = Slot::EMPTY; // the future ends, maybe while the other thread still has the cell
        }
    }
    other.join().unwrap();
    drop((slot, theirs));
    assert_eq!(Arc::strong_count(&counter), 1, "wakers still held");
}

// ---- bounds -----------------------------------------------------------------------------

/// A traced future has the same auto traits and bounds as the future in it.
#[test]
fn a_traced_future_is_what_its_future_is() {
    fn is<T: Send + Unpin + std::panic::UnwindSafe>() {}
    is::<crate::PollTrace>();
    is::<crate::TracedFuture<std::future::Ready<u8>>>();
    is::<crate::Awaiting<std::future::Ready<u8>>>();
    let borrowed = std::cell::RefCell::new(1);
    let future = crate::trace_future(async { *borrowed.borrow() }); // neither Send nor 'static
    drop(future);
}
