// SPDX-License-Identifier: MIT
//! memory - pass the coroutine that runs on a thread to the memory runtime, if the program has one.
//!
//! A program that records its loads and stores is linked with the memory runtime, which defines
//! `cacheray_coroutine` (`corotracer/memory_hook.h`).  The reference is weak: without the runtime
//! its address is 0, marks have the key 0, and each poll tests that once.  A mark is what the
//! runtime knows a coroutine by: a future moves until it is polled, so its address cannot be used.

use crate::place::Place;
use crate::site;
use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const CREATED: u32 = 1;
const RESUMED: u32 = 2;
const SUSPENDED: u32 = 3;
const ENDED: u32 = 5;
const DESTROYED: u32 = 6;
const PAUSED: u32 = 8;

type Hook = unsafe extern "C" fn(what: u32, coroutine: *const c_void, id: u64, about: *const c_void);

/// The runtime's function, by a weak reference: stable Rust has no other form of it.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
fn hook() -> Option<Hook> {
    let at: usize;
    // SAFETY: loads an address that the linker has filled in.
    unsafe {
        std::arch::asm!(
            ".weak cacheray_coroutine",
            "mov {}, qword ptr [rip + cacheray_coroutine@GOTPCREL]",
            out(reg) at,
            options(pure, nomem, nostack, preserves_flags)
        );
        std::mem::transmute::<usize, Option<Hook>>(at)
    }
}

/// As above.
#[cfg(all(target_os = "linux", target_arch = "aarch64", target_pointer_width = "64", not(miri)))]
fn hook() -> Option<Hook> {
    let at: usize;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            ".weak cacheray_coroutine",
            "adrp {0}, :got:cacheray_coroutine",
            "ldr {0}, [{0}, #:got_lo12:cacheray_coroutine]",
            out(reg) at,
            options(pure, nomem, nostack, preserves_flags)
        );
        std::mem::transmute::<usize, Option<Hook>>(at)
    }
}

/// On other platforms the runtime does not exist.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(miri)
)))]
fn hook() -> Option<Hook> {
    None
}

// ---- sites ------------------------------------------------------------------------------

/// A site as the runtime reads it: `struct ctp_memory_site`, followed by its key.
#[repr(C)]
struct MemorySite {
    file: *const c_char,
    function: *const c_char,
    line: u32,
    place: Place,
    type_name: &'static str,
}

const SITES: usize = 4096; // a power of two
const PROBES: usize = 64;

#[allow(clippy::declare_interior_mutable_const)] // each cell needs its own copy
const EMPTY: AtomicPtr<MemorySite> = AtomicPtr::new(ptr::null_mut());
/// Sites by hash; they are never freed, because the runtime keeps their addresses.
static MEMORY_SITES: [AtomicPtr<MemorySite>; SITES] = [EMPTY; SITES];

/// 1 + the index of a site in the table; 0: none.
type SiteNumber = u16;

fn c_text(text: &str) -> *const c_char {
    CString::new(text).map_or(ptr::null(), |c| c.into_raw())
}

fn site_new(place: Place, type_name: &'static str) -> *mut MemorySite {
    Box::into_raw(Box::new(MemorySite {
        file: c_text(place.file),
        function: c_text(&site::plain(type_name)),
        line: place.line,
        place,
        type_name,
    }))
}

/// The number of a site, entered if it is new; 0 if the table is full.
fn site_number(place: Place, type_name: &'static str) -> SiteNumber {
    let key = place.key ^ (place.line as usize) << 3 ^ (type_name.as_ptr() as usize).rotate_left(7);
    let first = ((key as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize;
    for i in (first..first + PROBES).map(|i| i % SITES) {
        let cell = &MEMORY_SITES[i];
        // (ctp-S) pairs with the release below: the site is complete.
        let mut have = cell.load(Ordering::Acquire);
        if have.is_null() {
            let made = site_new(place, type_name);
            // (ctp-S) pairs with the acquire above, and with the one of a thread that was slower.
            match cell.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => have = made,
                Err(theirs) => have = theirs, // the texts of `made` stay, once
            }
        }
        // SAFETY: never freed, and complete.
        let known = unsafe { &*have };
        if known.place.is(&place) && ptr::eq(known.type_name.as_ptr(), type_name.as_ptr()) {
            return i as SiteNumber + 1;
        }
    }
    0
}

fn site_at(number: SiteNumber) -> *const c_void {
    match number {
        0 => ptr::null(),
        // (ctp-S) pairs with the release in site_number().
        n => MEMORY_SITES[usize::from(n) - 1].load(Ordering::Acquire) as *const c_void,
    }
}

// ---- coroutines -------------------------------------------------------------------------

static NEXT_KEY: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The site at which the coroutine that runs on this thread will be suspended, if known.
    static NEXT_SITE: Cell<SiteNumber> = const { Cell::new(0) };
}

/// What the memory runtime knows a coroutine by.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    key: u32,         // 0: the program has no memory runtime
    site: SiteNumber, // where the coroutine was created
}

impl Mark {
    /// A coroutine is created.  Its kind is its name, or the function that it executes.
    pub(crate) fn created(name: &str, id: u64, place: Place, type_name: &'static str) -> Mark {
        match hook() {
            None => Mark { key: 0, site: 0 },
            Some(_) => Mark::created_for(name, id, place, type_name),
        }
    }

    #[cold]
    fn created_for(name: &str, id: u64, place: Place, type_name: &'static str) -> Mark {
        let key = match NEXT_KEY.fetch_add(1, Ordering::Relaxed) {
            0 => NEXT_KEY.fetch_add(1, Ordering::Relaxed), // after 2^32 coroutines
            key => key,
        };
        let mark = Mark { key, site: site_number(place, type_name) };
        let kind = if name.is_empty() { site::plain(type_name) } else { name.replace('\0', "") };
        let kind = CString::new(kind).unwrap_or_default();
        mark.tell(CREATED, id, kind.as_ptr().cast());
        mark
    }

    #[inline(always)]
    fn is_on(self) -> bool {
        self.key != 0
    }

    #[cold]
    #[inline(never)]
    fn tell(self, what: u32, id: u64, about: *const c_void) {
        if let Some(hook) = hook() {
            let key = (u64::from(self.key) << 4) as usize as *const c_void;
            // SAFETY: the runtime takes the key as a number; `about` is as the hook says.
            unsafe { hook(what, key, id, about) };
        }
    }

    /// Until resumed(), accesses are those of the SDK.
    #[inline(always)]
    pub(crate) fn paused(self) {
        if self.is_on() {
            self.tell(PAUSED, 0, ptr::null());
        }
    }

    /// The coroutine runs on this thread.  `id`: its id in the trace of coroutines, 0 if it has none.
    #[inline(always)]
    pub(crate) fn resumed(self, id: impl FnOnce() -> u64) {
        if self.is_on() {
            NEXT_SITE.with(|site| site.set(0));
            self.tell(RESUMED, id(), ptr::null());
        }
    }

    #[inline(always)]
    pub(crate) fn suspended(self, id: impl FnOnce() -> u64) {
        if self.is_on() {
            let site = NEXT_SITE.with(|site| site.replace(0));
            self.tell(SUSPENDED, id(), site_at(site));
        }
    }

    #[inline(always)]
    pub(crate) fn ended(self) {
        if self.is_on() {
            self.tell(ENDED, 0, ptr::null());
        }
    }

    #[inline(always)]
    pub(crate) fn destroyed(self) {
        if self.is_on() {
            self.tell(DESTROYED, 0, ptr::null());
        }
    }

    /// The site of the coroutine that polls this one, while this one runs: see outer_next().
    #[inline(always)]
    pub(crate) fn outer(self) -> SiteNumber {
        if self.is_on() {
            NEXT_SITE.with(Cell::get)
        } else {
            0
        }
    }

    /// After a poll of this coroutine: if the outer one suspends, too, it waits for this one.
    #[inline(always)]
    pub(crate) fn outer_next(self, outer: SiteNumber, is_pending: bool) {
        if self.is_on() {
            NEXT_SITE.with(|site| site.set(if is_pending { self.site } else { outer }));
        }
    }
}

/// Store the site for the suspension of the coroutine that runs here.
#[inline(always)]
pub(crate) fn note(place: Place, type_name: &'static str) {
    if hook().is_some() {
        note_site(place, type_name);
    }
}

#[cold]
#[inline(never)]
fn note_site(place: Place, type_name: &'static str) {
    NEXT_SITE.with(|site| site.set(site_number(place, type_name)));
}
