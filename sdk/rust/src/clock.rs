// SPDX-License-Identifier: MIT
//! clock - CLOCK_MONOTONIC computed from the cycle counter, for writers of stations.
//!
//! A record in a lane carries the raw counter, and the collector converts it to a time.  A slot of
//! a station carries the time itself: the thread anchors its counter to the clock and extrapolates
//! for a short window.  A collector with the EXT_CLOCK extension measures and publishes the rate;
//! without it each thread measures the rate itself.

use crate::order::{self, ticks};
use crate::session::{ext_header, Info, Session};
use crate::sys::clock_ns;
use crate::thread::{Clock, Thread};
use std::sync::atomic::Ordering;

const WINDOW_NS: u64 = 16_000_000;
const SHIFT: u32 = 32;

fn scaled(passed: u64, mult: u64) -> u64 {
    passed.wrapping_mul(mult) >> SHIFT
}

/// Read the clock and the counter together: the tightest pair of `tries`.  A pair that took at most
/// `good` ticks ends the search.  Returns (took, ticks, ns).
fn pair(tries: u32, good: u64) -> (u64, u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..tries {
        if best.0 <= good {
            break;
        }
        let before = ticks();
        let now = clock_ns();
        let took = ticks().wrapping_sub(before);
        if took < best.0 {
            best = (took, before.wrapping_add(took / 2), now);
        }
    }
    best
}

/// The point from which the counter's rate is measured.
pub(crate) fn base(info: &mut Info) {
    let (took, at, ns) = pair(10, 0);
    info.pair_ticks = took;
    info.base_ticks = at;
    info.base_ns = ns;
}

/// The published clock as one consistent set: (ticks, ns, mult, window).
fn published(info: &Info) -> Option<(u64, u64, u64, u64)> {
    // SAFETY: a session has a header from the moment on that it is filled in.
    let ext = ext_header(unsafe { &*info.header });
    // (ctp-G) pairs with the release store in the collector's timebase.c: timebase_store().
    let seq = ext.clock_seq.load(Ordering::Acquire);
    if seq == 0 || seq % 2 != 0 {
        return None;
    }
    let clock = (
        ext.clock_ticks.load(Ordering::Relaxed),
        ext.clock_ns.load(Ordering::Relaxed),
        ext.clock_mult.load(Ordering::Relaxed),
        ext.clock_window.load(Ordering::Relaxed),
    );
    // (ctp-G) pairs with the store-store fence in the collector's timebase.c: timebase_store().
    order::fence_load_load();
    (ext.clock_seq.load(Ordering::Relaxed) == seq).then_some(clock)
}

/// Does the collector use the same clock?  In another time namespace it does not.
pub(crate) fn agrees(info: &Info) -> bool {
    let clock = (0..3).find_map(|_| published(info));
    clock.map_or(false, |(at, ns, mult, _)| {
        // The collector may have published its pair before or after `base` was taken.
        let apart = info.base_ticks.wrapping_sub(at) as i64 as f64 * mult as f64 / 4294967296.0
            + ns.wrapping_sub(info.base_ns) as i64 as f64;
        // Seconds may have passed between the two pairs, so the limit is coarse: 1 ms.
        apart.abs() < 1e6
    })
}

/// Use the published clock, if there is one and its window still covers `now` (ticks).
fn use_published(info: &Info, now: u64, c: &Clock) -> bool {
    if !info.clock_published {
        return false;
    }
    match published(info) {
        Some((at, ns, mult, window)) if now.wrapping_sub(at) < window => {
            c.anchor_ticks.set(at);
            c.anchor_ns.set(ns);
            c.mult.set(mult);
            c.window_ticks.set(window);
            true
        }
        _ => false,
    }
}

/// Do two rates agree to 2000 ppm?  Clock slewing stays within that, a suspended machine does not.
fn rates_agree(a: u64, b: u64) -> bool {
    a.max(b) - a.min(b) <= a / 512
}

/// (ns << 32) / ticks, or 0 if the rate is not usable.
fn rate(ns: u64, ticks: u64) -> u64 {
    let ns_per_tick = ns as f64 / ticks.max(1) as f64;
    // Reject an interval that is too short, and a counter that jumped.
    if ns < 50_000 || !(0.01..=1000.0).contains(&ns_per_tick) {
        return 0;
    }
    (ns_per_tick * 4294967296.0) as u64
}

/// Read the clock and measure the counter's rate since the mark.  The mark moves once it is half a
/// window old, so the rate stays current.
fn measure(info: &Info, c: &Clock) {
    let (_, at, ns) = pair(4, info.pair_ticks.wrapping_mul(2));
    if c.mark_ns.get() == 0 {
        c.mark_ticks.set(info.base_ticks);
        c.mark_ns.set(info.base_ns);
    }
    let span_ns = ns.wrapping_sub(c.mark_ns.get());
    let mult = rate(span_ns, at.wrapping_sub(c.mark_ticks.get()));
    c.anchor_ticks.set(at);
    c.anchor_ns.set(ns);
    c.window_ticks.set(0);
    c.mult.set(mult);
    if mult != 0 && rates_agree(mult, c.mark_mult.get()) {
        let window_ns = span_ns.saturating_mul(2).min(WINDOW_NS);
        c.window_ticks.set((window_ns << SHIFT) / mult);
    }
    if span_ns >= WINDOW_NS / 2 {
        c.mark_ticks.set(at);
        c.mark_ns.set(ns);
        c.mark_mult.set(mult);
    }
}

/// The extrapolated time is ahead: it is `reached` at `at` where the clock says `now`.  Time must
/// not go back, so run slower until both agree at the end of the window.
fn slow_down(c: &Clock, at: u64, now: u64, reached: u64) {
    let window = c.window_ticks.get();
    let left = window.wrapping_sub(at.wrapping_sub(c.anchor_ticks.get()));
    let less = ((reached - now) << SHIFT).checked_div(left).unwrap_or(0);
    c.anchor_ticks.set(at);
    c.anchor_ns.set(reached);
    c.window_ticks.set(if window != 0 { left } else { 0 });
    let mult = c.mult.get();
    c.mult.set(mult - less.min(mult / 2));
}

/// The window is over, or this is the first call: open the next window.  Returns the time.
#[cold]
fn anchor(c: &Clock, info: &Info) -> u64 {
    let reached = c.anchor_ns.get().wrapping_add(scaled(c.window_ticks.get(), c.mult.get()));
    if !info.counter_usable {
        return clock_ns();
    }
    let mut at = ticks();
    if !use_published(info, at, c) {
        measure(info, c);
        at = c.anchor_ticks.get();
    }
    let passed = at.wrapping_sub(c.anchor_ticks.get());
    let now = c.anchor_ns.get().wrapping_add(scaled(passed, c.mult.get()));
    if now >= reached || reached - now > WINDOW_NS {
        return now;
    }
    slow_down(c, at, now, reached);
    reached
}

/// CLOCK_MONOTONIC, in a thread that has joined the session.
#[inline]
pub(crate) fn now_ns(t: &Thread, s: &Session) -> u64 {
    let c = &t.clock;
    let passed = ticks().wrapping_sub(c.anchor_ticks.get());
    if passed >= c.window_ticks.get() {
        return anchor(c, s.info());
    }
    c.anchor_ns.get().wrapping_add(scaled(passed, c.mult.get()))
}
