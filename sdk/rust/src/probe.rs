// SPDX-License-Identifier: MIT
//! probe - one coroutine, whatever the protocol: a life under a collector with lanes, a station
//! under any other collector, untraced without one.

use crate::attach;
use crate::later;
use crate::life;
use crate::place::Place;
use crate::request;
use crate::session::{session, Session};
use crate::site;
use crate::station;
use crate::thread::{self, Note, Thread};
use crate::wire::*;
use std::ptr;
use std::sync::atomic::Ordering;

/// Used by the thread that runs the coroutine; the program orders the hand-over between threads.
pub(crate) struct Probe {
    life: *const Life,
    station: *const Station,
    nr_events: u64,
    /// Time of the last event in a station; otherwise the owner of the session, or of the process
    /// that is not attached: the coroutine is adopted when that process attaches.
    last_ns: u64,
    /// The coroutine was adopted: wakers from before are not known.
    pub(crate) is_adopted: bool,
    /// The creation site.
    pub(crate) site: u32,
}

// SAFETY: points to shared memory that stays mapped and consists of atomics; used by one thread at
// a time, as &mut self requires.
unsafe impl Send for Probe {}

impl Probe {
    const UNTRACED: Probe = Probe {
        life: ptr::null(),
        station: ptr::null(),
        nr_events: 0,
        last_ns: 0,
        is_adopted: false,
        site: 0,
    };

    /// Create a coroutine, as a child of the coroutine that runs on this thread.  Attaches the
    /// process if it is not attached yet.
    pub(crate) fn begin(name: &str, place: Place, function: &'static str) -> Probe {
        let s = match attach::attach() {
            Some(s) => s,
            None => return Probe::unattached(),
        };
        thread::with(|t| {
            if !t.ready(s) {
                return Probe::begin_later(s);
            }
            let site = if s.info().lanes.is_null() { 0 } else { site::number(s, place, function) };
            Probe::begin_in(t, s, name, t.current.get(), site, 0)
        })
    }

    /// A coroutine of a process that is not attached: to be adopted when it is.
    fn unattached() -> Probe {
        Probe { last_ns: session().map_or(0, |s| s.info().owner), ..Probe::UNTRACED }
    }

    /// A coroutine that could not be traced.  If that is so because the session ended, the next one
    /// adopts it.
    fn missed(s: &Session) -> Probe {
        let has_ended = s.generation.load(Ordering::Relaxed) == 0;
        Probe { last_ns: if has_ended { s.info().owner } else { 0 }, ..Probe::UNTRACED }
    }

    /// As begin(), in a thread that has joined the session.
    fn begin_in(t: &Thread, s: &Session, name: &str, parent: u64, site: u32, birth: u32) -> Probe {
        let mut probe = Probe { site, ..Probe::UNTRACED };
        if s.info().lanes.is_null() {
            if let Some((station, now)) = station::begin(t, s, name.as_bytes()) {
                probe.station = station;
                probe.last_ns = now;
            }
        } else if let Some(life) = life::begin(t, s, name.as_bytes(), parent, site, birth) {
            probe.life = life;
            probe.last_ns = s.info().owner;
            probe.is_adopted = birth & BIRTH_ADOPTED != 0;
        } else if s.generation.load(Ordering::Relaxed) == 0 {
            probe.last_ns = s.info().owner; // the session ended meanwhile
        }
        probe
    }

    /// Another thread is still attaching to the collector: trace the coroutine later.
    #[cold]
    fn begin_later(s: &Session) -> Probe {
        if !s.is_attaching() && s.generation.load(Ordering::Relaxed) == 0 {
            return Probe::missed(s);
        }
        s.later_count(0, 0, 1);
        // Keep the pid: in a forked child this probe belongs to the parent.
        Probe { station: later::station(), last_ns: u64::from(std::process::id()), ..Probe::UNTRACED }
    }

    #[inline(always)]
    fn is_later(&self) -> bool {
        ptr::eq(self.station, later::station())
    }

    /// If the coroutine can be traced now, create it in the trace.  True if the probe is not
    /// pending: it is traced, or untraced for the rest of its lifetime.
    #[cold]
    fn resolve(&mut self, t: &Thread, s: &Session) -> bool {
        let ours = self.last_ns == u64::from(std::process::id());
        if ours && s.is_attaching() {
            return false;
        }
        let was = std::mem::replace(self, Probe::UNTRACED);
        if !ours {
            return true;
        }
        if !t.ready(s) {
            *self = Probe::missed(s);
            return true;
        }
        if !s.info().lanes.is_null() {
            s.lanes().later.fetch_sub(1, Ordering::Relaxed);
        }
        *self = Probe::begin_in(t, s, "", 0, 0, 0);
        // SAFETY: points into the region, which stays mapped.
        if let Some(l) = unsafe { self.life.as_ref() } {
            l.events.store(was.nr_events, Ordering::Relaxed);
            l.dropped.store(was.nr_events, Ordering::Relaxed);
        }
        true
    }

    /// May an event of the coroutine have something to do?  It is traced, or to be adopted.  Without
    /// the tool: a load and a branch.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        request::gate_is_open() && (!self.life.is_null() || !self.station.is_null() || self.last_ns != 0)
    }

    pub(crate) fn is_traced(&self) -> bool {
        request::gate_is_open() && (!self.life.is_null() || !self.station.is_null())
    }

    /// Before a poll, in which the coroutine needs its id: attach and adopt, if that is due.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, t: &Thread) {
        let known = match (unsafe { self.life.as_ref() }, session()) {
            (Some(l), Some(s)) => {
                t.ticket.get() == !s.generation.load(Ordering::Relaxed) && life::is_here(l, s)
            }
            _ => !self.station.is_null(),
        };
        if !known {
            self.open(t);
        }
    }

    /// Attach if that is asked for, and adopt the coroutine if it is not of this session.  Returns
    /// the session if an event can be written.
    #[cold]
    #[inline(never)]
    fn open(&mut self, t: &Thread) -> Option<&'static Session> {
        let s = match session() {
            Some(s) if s.generation.load(Ordering::Relaxed) != 0 && !s.has_left() => s,
            _ if request::gate_is_open() => request::serve()?,
            _ => return None,
        };
        // SAFETY: points into memory that stays mapped.
        match unsafe { self.life.as_ref() } {
            Some(l) if life::is_here(l, s) => return Some(s),
            None if !self.station.is_null() => return Some(s),
            _ => {}
        }
        let ours = self.last_ns != 0 && self.last_ns == s.info().owner;
        *self = Probe::UNTRACED;
        if !ours || s.info().lanes.is_null() {
            return None;
        }
        if !t.ready(s) {
            *self = Probe::missed(s);
            return None;
        }
        *self = Probe::begin_in(t, s, "", 0, 0, BIRTH_ADOPTED);
        Some(s)
    }

    pub(crate) fn life(&self) -> *const Life {
        self.life
    }

    /// The coroutine's id in the trace; 0 if it is not traced.
    pub(crate) fn id(&self) -> u64 {
        if !request::gate_is_open() {
            return 0;
        }
        // SAFETY: both point into the region, which stays mapped.
        unsafe {
            if let Some(l) = self.life.as_ref() {
                l.id.load(Ordering::Relaxed)
            } else if self.is_later() {
                0
            } else if let Some(st) = self.station.as_ref() {
                st.probe_id.load(Ordering::Relaxed)
            } else {
                0
            }
        }
    }

    #[inline(always)]
    pub(crate) fn suspend(&mut self, t: &Thread, addr: u64, note: Note) {
        self.write(t, addr, note.suspension(), note.resource());
    }

    /// True if the coroutine has a life of the session that this thread has joined.
    #[inline(always)]
    pub(crate) fn resume(&mut self, t: &Thread) -> bool {
        self.write(t, 0, REC_RESUME, None)
    }

    /// As resume().
    #[inline(always)]
    fn write(&mut self, t: &Thread, addr: u64, what: u32, resource: Option<u64>) -> bool {
        let s = match session() {
            Some(s) => s,
            None => return false,
        };
        // SAFETY: points into the region, which stays mapped.
        match unsafe { self.life.as_ref() } {
            Some(l) if life::write(l, t, s, addr, what, resource) => return true,
            None if self.is_later() => self.write_later(t, s, addr, what, resource),
            None if !self.station.is_null() => self.write_station(t, addr, what & 0xff == REC_RESUME),
            _ => self.write_opened(t, addr, what, resource),
        }
        false
    }

    /// The coroutine has no life of this session.
    #[cold]
    fn write_opened(&mut self, t: &Thread, addr: u64, what: u32, resource: Option<u64>) {
        if let Some(s) = self.open(t) {
            // SAFETY: as above.
            if let Some(l) = unsafe { self.life.as_ref() } {
                life::write(l, t, s, addr, what, resource);
            }
        }
    }

    #[cold]
    fn write_later(&mut self, t: &Thread, s: &Session, addr: u64, what: u32, resource: Option<u64>) {
        if self.resolve(t, s) {
            self.write(t, addr, what, resource);
            return;
        }
        self.nr_events += 1;
        s.later_count(1, 0, 0);
    }

    /// Resolve before an event that is not a transition.  False if the coroutine is still to be
    /// traced later; then the event is counted.
    fn resolve_or_count(&mut self) -> bool {
        let s = match session() {
            Some(s) if self.is_later() => s,
            _ => return true,
        };
        let resolved = thread::with(|t| self.resolve(t, s));
        if !resolved {
            s.later_mark();
        }
        resolved
    }

    #[inline(never)]
    fn write_station(&mut self, t: &Thread, addr: u64, is_active: bool) {
        // SAFETY: as above.
        if let (Some(st), Some(s)) = (unsafe { self.station.as_ref() }, session()) {
            if let Some(now) = station::write(st, t, s, self.nr_events, self.last_ns, addr, is_active) {
                self.last_ns = now;
                self.nr_events += 1;
            }
        }
    }

    /// The coroutine has returned, its frame still exists.  The station protocol only has "dead"
    /// for that.
    pub(crate) fn done(&mut self, flags: u32) {
        if !self.resolve_or_count() {
            return;
        }
        // SAFETY: as above.
        match (unsafe { self.life.as_ref() }, session()) {
            (Some(l), Some(s)) => thread::with(|t| life::done(l, t, s, flags)),
            _ => self.end(flags),
        }
    }

    /// The coroutine is destroyed; the probe is untraced afterwards.
    pub(crate) fn end(&mut self, flags: u32) {
        if !self.resolve_or_count() {
            *self = Probe::UNTRACED;
            return;
        }
        let was = std::mem::replace(self, Probe::UNTRACED);
        let s = match session() {
            Some(s) => s,
            None => return,
        };
        // SAFETY: as above.
        unsafe {
            if let Some(l) = was.life.as_ref() {
                thread::with(|t| life::end(l, t, s, flags));
            } else if let Some(st) = was.station.as_ref() {
                thread::with(|t| station::end(st, t, s, was.last_ns));
            }
        }
    }
}
