// SPDX-License-Identifier: MIT
//! station - a coroutine under a collector without lanes: eight slots, each a seqlock.

use crate::clock;
use crate::life::bytes_store;
use crate::order;
use crate::session::Session;
use crate::thread::Thread;
use crate::wire::*;
use std::sync::atomic::Ordering;

impl Epoch {
    /// Write the event that sets the slot's sequence to `seq` (even).  One writer at a time.
    #[inline]
    pub(crate) fn write(&self, seq: u64, time_ns: u64, tid: u64, addr: u64, is_active: bool) {
        self.seq.store(seq.wrapping_sub(1), Ordering::Relaxed);
        // (ctp-A) pairs with the load-load fence in ctp_slot_read().
        order::fence_store_store();

        self.timestamp.store(time_ns, Ordering::Relaxed);
        self.tid.store(tid, Ordering::Relaxed);
        self.addr.store(addr, Ordering::Relaxed);
        self.is_active.store(u8::from(is_active), Ordering::Relaxed);

        // (ctp-B) pairs with the acquire load in ctp_slot_read().
        self.seq.store(seq, Ordering::Release);
    }
}

impl Station {
    fn ext(&self) -> &ExtStation {
        // SAFETY: fills `flexible`, is aligned there, and consists of atomics.
        unsafe { &*self.flexible.get().cast() }
    }
}

/// The count also includes coroutines that found no station; it must not wrap around.
fn claim(s: &Session) -> Option<(u32, *const Station)> {
    let count = &s.header().allocated_count;
    if count.load(Ordering::Relaxed) >= u32::MAX - (1 << 20) {
        return None;
    }
    let index = count.fetch_add(1, Ordering::Relaxed);
    (index < s.info().nr_stations).then(|| (index, s.station(index)))
}

/// Fields that the plain protocol lacks are stored behind the slots.
fn describe(st: &Station, name: &[u8]) {
    let ext = st.ext();
    ext.version.store(EXT_VERSION, Ordering::Relaxed);
    ext.pid.store(std::process::id(), Ordering::Relaxed);
    ext.name_size.store(u32::try_from(name.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    bytes_store(&ext.name, name);
    // (ctp-E) pairs with the acquire load in the collector's has_extension().
    ext.magic.store(EXT_MAGIC, Ordering::Release);
}

/// Create a coroutine in a thread that has joined the session.  Returns the station and the time.
#[cold]
pub(crate) fn begin(t: &Thread, s: &Session, name: &[u8]) -> Option<(*const Station, u64)> {
    let (index, station) = claim(s)?;
    let now = clock::now_ns(t, s);
    // SAFETY: below nr_stations, so inside the region.
    let st = unsafe { &*station };
    st.birth_ts.store(now, Ordering::Relaxed);
    st.probe_id.store(u64::from(index) + 1, Ordering::Relaxed);
    if s.info().features != 0 {
        describe(st, name);
    }
    Some((station, now))
}

/// Write event `k` of the station, after `last_ns`.  Returns its time; None if nothing was written.
pub(crate) fn write(
    st: &Station,
    t: &Thread,
    s: &Session,
    k: u64,
    last_ns: u64,
    addr: u64,
    is_active: bool,
) -> Option<u64> {
    if !t.ready(s) {
        return None;
    }
    // The clocks of two threads may differ by a few ns; a coroutine's timestamps increase strictly.
    let now = clock::now_ns(t, s).max(last_ns.wrapping_add(1));
    let slot = &st.slots[k as usize % SLOTS];
    // (ctp-A) pairs with the load-load fence in the collector's has_company().
    order::fence_handover();
    slot.write(2 * (k / SLOTS as u64) + 2, now, t.tid.get(), addr, is_active);
    s.wake_if_asleep();
    Some(now)
}

/// The coroutine is destroyed.
#[cold]
pub(crate) fn end(st: &Station, t: &Thread, s: &Session, last_ns: u64) {
    if !t.ready(s) {
        return;
    }
    let now = clock::now_ns(t, s).max(last_ns.wrapping_add(1));
    if s.info().features != 0 {
        st.ext().death_ts.store(now, Ordering::Relaxed);
    }
    // (ctp-D) pairs with the acquire load in the collector's describe_life().
    st.is_dead.store(1, Ordering::Release);
}
