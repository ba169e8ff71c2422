// SPDX-License-Identifier: MIT
//! site - source locations: each is registered with the collector once.
//!
//! The key of a site is its place and the address of the name of the type that is created or awaited
//! there; both are static.  The numbers are kept in lists that only grow.

use crate::lane;
use crate::life::bytes_store;
use crate::place::Place;
use crate::session::Session;
use crate::sys;
use crate::wire::Site;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU8, Ordering};

const BUCKETS: usize = 512;

struct Known {
    place: Place,
    function: &'static str,
    id: u32,  // number in the region
    tag: u32, // of the region
    next: *const Known,
}

#[allow(clippy::declare_interior_mutable_const)] // each bucket needs its own copy
const EMPTY: AtomicPtr<Known> = AtomicPtr::new(ptr::null_mut());
static KNOWN: [AtomicPtr<Known>; BUCKETS] = [EMPTY; BUCKETS];

/// The number of registrations that failed because the table was full; after 100 no more are tried.
static REFUSED: AtomicU32 = AtomicU32::new(0);

fn bucket(place: Place, function: &'static str) -> &'static AtomicPtr<Known> {
    let key = place.key ^ (place.line as usize) << 3 ^ (function.as_ptr() as usize).rotate_left(7);
    let mixed = (key as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &KNOWN[(mixed >> 55) as usize % BUCKETS]
}

fn find(mut at: *const Known, tag: u32, place: Place, function: &'static str) -> Option<u32> {
    // SAFETY: nodes are leaked, and complete once they are visible.
    while let Some(known) = unsafe { at.as_ref() } {
        if known.tag == tag && known.place.is(&place) && ptr::eq(known.function.as_ptr(), function.as_ptr()) {
            return Some(known.id);
        }
        at = known.next;
    }
    None
}

/// The number of a site, registered if necessary; 0 if the table is full or there are no lanes.
pub(crate) fn number(s: &Session, place: Place, function: &'static str) -> u32 {
    if s.info().lanes.is_null() {
        return 0;
    }
    let head = bucket(place, function);
    // (ctp-S) pairs with the release in remember().
    match find(head.load(Ordering::Acquire), s.info().site_tag, place, function) {
        Some(id) => id,
        None => remember(s, head, place, function),
    }
}

#[cold]
fn remember(s: &Session, head: &'static AtomicPtr<Known>, place: Place, function: &'static str) -> u32 {
    if REFUSED.load(Ordering::Relaxed) > 100 {
        return 0;
    }
    let id = enter(s, place, function);
    if id == 0 {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return 0;
    }
    let tag = s.info().site_tag;
    let node = Box::into_raw(Box::new(Known { place, function, id, tag, next: ptr::null() }));
    loop {
        // (ctp-S) pairs with the release below, of a thread that added a node before.
        let first = head.load(Ordering::Acquire);
        // Another thread was faster: use its number; the number from enter() stays unused.
        if let Some(theirs) = find(first, tag, place, function) {
            // SAFETY: not published.
            drop(unsafe { Box::from_raw(node) });
            return theirs;
        }
        // SAFETY: not published yet.
        unsafe { (*node).next = first };
        // (ctp-S) pairs with the acquire in number() and above.
        if head.compare_exchange(first, node, Ordering::Release, Ordering::Relaxed).is_ok() {
            return id;
        }
    }
}

/// The end of a text that is too long, cut at a directory or module boundary if there is one.
fn tail(text: &str, room: usize) -> &str {
    let skip = text.len().saturating_sub(room);
    if skip == 0 {
        return text;
    }
    let bytes = text.as_bytes();
    let whole =
        (skip..bytes.len()).find(|at| bytes[at - 1] == b'/' || (*at > 1 && &bytes[at - 2..*at] == b"::"));
    let cut = whole.or_else(|| (skip..bytes.len()).find(|at| text.is_char_boundary(*at)));
    &text[cut.unwrap_or(bytes.len())..]
}

fn text_store(to: &[AtomicU8], text: &str) {
    let kept = tail(text, to.len()).as_bytes();
    bytes_store(to, kept);
    if kept.len() < to.len() {
        to[kept.len()].store(0, Ordering::Relaxed);
    }
}

/// Shorten what `type_name` returns: no paths, and the bare name of an async fn.
pub(crate) fn plain(function: &str) -> String {
    let named = function.replace("::{{closure}}", "");
    let mut out = String::new();
    for part in named.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        // "a::b::C<" becomes "C<"; "<A as B>::c" keeps its colons, which do not follow a name.
        match part.rfind("::") {
            Some(at) if at > 0 => out.push_str(&part[at + 2..]),
            _ => out.push_str(part),
        }
    }
    out
}

fn enter(s: &Session, place: Place, function: &str) -> u32 {
    let _errno = sys::KeepErrno::new();
    let pool = &s.info().site_pool;
    let number = lane::take(s, pool);
    if number == 0 {
        return 0;
    }
    // SAFETY: this thread owns the unit.
    let site = unsafe { &*pool.unit_at(number - 1).cast::<Site>() };
    site.line.store(place.line, Ordering::Relaxed);
    site.pid.store(std::process::id(), Ordering::Relaxed);
    text_store(&site.file, place.file);
    text_store(&site.function, &plain(function));
    // (ctp-L) pairs with the acquire load in the collector's site_read().
    site.ready.store(1, Ordering::Release);
    number
}

#[cfg(test)]
mod tests {
    use super::{plain, tail};

    #[test]
    fn long_names_are_cut_between_words() {
        assert_eq!(tail("src/net/io.rs", 13), "src/net/io.rs");
        assert_eq!(tail("src/net/io.rs", 12), "net/io.rs");
        assert_eq!(tail("a::bcd::efg", 8), "bcd::efg");
        assert_eq!(tail("a::bcd::efg", 7), "efg");
        assert_eq!(tail("abcdef", 4), "cdef");
        assert_eq!(tail("ab\u{e4}\u{e4}", 3), "\u{e4}");
    }

    #[test]
    fn types_are_named_as_one_would_say_it() {
        for (long, short) in [
            ("server::serve::{{closure}}", "serve"),
            ("a::b::run::{{closure}}::{{closure}}", "run"),
            ("tokio::sync::oneshot::Receiver<()>", "Receiver<()>"),
            ("a::Map<b::c::Read<d::Stream>, (e::F, u8)>", "Map<Read<Stream>, (F, u8)>"),
            (
                "core::pin::Pin<&mut dyn core::future::Future<Output = ()>>",
                "Pin<&mut dyn Future<Output = ()>>",
            ),
            ("<a::B as c::D>::e", "<B as D>::e"),
            ("", ""),
            ("::", "::"),
        ] {
            assert_eq!(plain(long), short);
        }
    }
}
