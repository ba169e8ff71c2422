// SPDX-License-Identifier: MIT
//! attach - attach to a collector: read the environment, map and check the region, connect the
//! socket.
//!
//! This runs inside the program, so it prints only if `CTP_VERBOSE` is set, does not block, does
//! not raise SIGPIPE, installs no signal handler and preserves errno.  One thread attaches.  Other
//! threads that create coroutines meanwhile wait until the session is published, about 100 us.
//! They stop waiting once the attach has taken 50 ms: see later.rs.  The step that may take long,
//! the socket, runs after the session is published.
//!
//! The header is untrusted: the collector wrote it, possibly another implementation.  Each field is
//! read once and checked, and the file must be large enough for every byte that is used.

use crate::clock;
use crate::inherit;
use crate::lane::{Spare, SPARES};
use crate::order;
use crate::pool::Arena;
use crate::request::{
    self, Order, WHY_NOT_MAPPED, WHY_NOT_OPENED, WHY_NOT_REGION, WHY_NO_ENVIRONMENT, WHY_SECURE, WHY_VERSION,
};
use crate::session::{
    ext_header, ext_lanes, session_acquire, sock_is, Info, Session, ATTACH_BUSY, ATTACH_DONE, ATTACH_FAILED,
    ATTACH_LEFT, ATTACH_NEVER, PROCESS,
};
use crate::sys;
use crate::thread;
use crate::wire::*;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};

/// Print why the process is not traced, or with which limits; only if `CTP_VERBOSE` is set.
macro_rules! say {
    ($($arg:tt)*) => {
        if sys::env(ENV_VERBOSE).is_some() {
            sys::say(&format!("corotracer: {}\n", format_args!($($arg)*)));
        }
    };
}

fn os_error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

fn text(path: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(path)
}

// ---- the region -------------------------------------------------------------------

/// Check the header.  Returns the number of usable stations, or None if the header is not usable.
fn header_check(header: &Header, size: u64, promised: u64) -> Option<u32> {
    let magic = header.magic_number.load(Ordering::Relaxed);
    let version = header.version.load(Ordering::Relaxed);
    let max = header.max_stations.load(Ordering::Relaxed);
    let fit = (size - size_of::<Header>() as u64) / size_of::<Station>() as u64;

    if magic != MAGIC {
        request::why_set(WHY_NOT_REGION, 0);
        say!("not traced: the region has magic {:016x}, not {:016x}", magic, MAGIC);
        return None;
    }
    if version != VERSION {
        request::why_set(WHY_VERSION, 0);
        say!("not traced: the region speaks version {}, we speak {}", version, VERSION);
        return None;
    }
    if promised > fit || u64::from(max) > fit || max == 0 {
        request::why_set(WHY_NOT_REGION, 0);
        say!(
            "not traced: the region has room for {} stations, its header says {} and {} {}",
            fit,
            max,
            ENV_STATIONS,
            promised
        );
        return None;
    }
    Some(if promised != 0 && promised < u64::from(max) { promised as u32 } else { max })
}

/// Map the whole file; if the program's address space limit forbids it, only the stations.
fn map_some(file: &File, size: u64) -> Option<(*mut u8, u64)> {
    if let Some(map) = sys::map_shared(file, size) {
        return Some((map, size));
    }
    let why = os_error(sys::errno());
    let mut max = [0u8; 4];
    file.read_exact_at(&mut max, 0x0C).ok()?;
    let less = region_size(u64::from(u32::from_ne_bytes(max)));
    if less >= size {
        return None;
    }
    say!("cannot map {} MiB: {}; tracing with the stations only", size >> 20, why);
    sys::map_shared(file, less).map(|map| (map, less))
}

/// Map the region, by the inherited descriptor or by `path`.  Returns the number of mapped bytes.
fn region_map(info: &mut Info, path: &[u8], promised: u64) -> Option<u64> {
    let opened = info.region_fd.open().map_or_else(|| sys::open_region(path), Ok);
    let opened = opened.and_then(|file| sys::identify(&file).map(|id| (file, id)));
    let (file, id) = match opened {
        Ok(both) => both,
        Err(why) => {
            request::why_set(WHY_NOT_OPENED, why.raw_os_error().unwrap_or(0));
            say!("not traced: cannot open '{}': {}", text(path), why);
            return None;
        }
    };
    if !id.is_file || id.size < region_size(1) {
        request::why_set(WHY_NOT_REGION, 0);
        say!("not traced: '{}' is too short to be a region", text(path));
        return None;
    }
    let (map, size) = match map_some(&file, id.size) {
        Some(both) => both,
        None => {
            request::why_set(WHY_NOT_MAPPED, sys::errno());
            say!("not traced: cannot map '{}': {}", text(path), os_error(sys::errno()));
            return None;
        }
    };
    // SAFETY: mapped, page-aligned, at least one header long; the header consists of atomics.
    match header_check(unsafe { &*map.cast::<Header>() }, size, promised) {
        Some(nr) => {
            info.header = map.cast();
            info.nr_stations = nr;
            info.shm_dev = id.dev;
            info.shm_ino = id.ino;
            Some(size)
        }
        None => {
            // SAFETY: mapped above and not published.
            unsafe { sys::unmap(map, size as usize) };
            None
        }
    }
}

/// The extensions that the collector supports; 0 if it supports no extension of this version.
fn ext_features(header: &Header) -> u32 {
    let ext = ext_header(header);
    // (ctp-E) pairs with the release store in the collector's region_create().
    if ext.magic.load(Ordering::Acquire) != EXT_MAGIC || ext.version.load(Ordering::Relaxed) != EXT_VERSION {
        return 0;
    }
    ext.features.load(Ordering::Relaxed)
}

/// Open one pool.  None if its offset, its limit or its unit size is not valid.
fn arena_open(info: &Info, pool: &Pool, size: u64, unit: usize) -> Option<Arena> {
    let offset = pool.offset.load(Ordering::Relaxed);
    let limit = pool.limit.load(Ordering::Relaxed);

    if pool.unit.load(Ordering::Relaxed) as usize != unit
        || offset % 64 != 0
        || offset < region_size(u64::from(info.nr_stations))
        || offset > size
        || u64::from(limit) > (size - offset) / unit as u64
    {
        return None;
    }
    // SAFETY: inside the mapping, as just checked.
    let units = unsafe { (info.header as *mut u8).add(offset as usize) };
    Some(Arena { pool, units, unit: unit as u32, limit })
}

/// Use the lanes that the collector offers.  False if it offers no lanes of this version.
pub(crate) fn lanes_open(info: &mut Info, size: u64) -> bool {
    // SAFETY: mapped and checked.
    let lanes = ext_lanes(unsafe { &*info.header });

    // (ctp-E) pairs with the release store in the collector's lanes_offer().
    if lanes.magic.load(Ordering::Acquire) != LANES_MAGIC
        || lanes.version.load(Ordering::Relaxed) != LANES_VERSION
        || lanes.map_size.load(Ordering::Relaxed) > size
    {
        return false;
    }
    let pools = (
        arena_open(info, &lanes.lanes, size, size_of::<Lane>()),
        arena_open(info, &lanes.chunks, size, size_of::<Chunk>()),
        arena_open(info, &lanes.lives, size, size_of::<Life>()),
        arena_open(info, &lanes.sites, size, size_of::<Site>()),
    );
    let (lane, chunk, life, site) = match pools {
        (Some(a), Some(b), Some(c), Some(d)) => (a, b, c, d),
        _ => {
            say!("the lanes are not where they can be; tracing without");
            return false;
        }
    };
    info.lane_pool = lane;
    info.chunk_pool = chunk;
    info.life_pool = life;
    info.site_pool = site;
    info.on_full = lanes.on_full.load(Ordering::Relaxed);
    info.block_ms = lanes.block_ms.load(Ordering::Relaxed);
    // A lane needs one chunk to write, one that is being read and one that the collector may hold.
    info.lane_chunks = lanes.lane_chunks.load(Ordering::Relaxed).max(3);
    info.lanes = lanes;
    true
}

/// Map one byte per chunk, which records that the chunk's pages are already faulted in; without it
/// the pages are faulted in one by one.  The spare lanes of threads that have ended precede these
/// bytes.  Each spare lane holds a chunk, so there is at most one for every 32 chunks.
fn seen_make(info: &mut Info) {
    let nr = (info.chunk_pool.limit as usize / 32).min(SPARES);
    let size = nr * size_of::<Spare>() + info.chunk_pool.limit as usize;
    if let Some(map) = sys::map_zeros(size) {
        // SAFETY: inside the mapping.
        info.seen_chunks = unsafe { map.add(nr * size_of::<Spare>()) } as *const AtomicU8;
        if info.features & EXT_HANDOVER != 0 {
            info.spares = map.cast();
            info.nr_spares = nr;
        }
        PROCESS.seen_chunks.store(map, Ordering::Relaxed);
        PROCESS.seen_size.store(size as u64, Ordering::Relaxed);
    }
}

// ---- the session --------------------------------------------------------------------

/// Replace the last mapping by zeros: in a forked child, which must not write into its parent's
/// region, and before the next session, for coroutines of the last one.  `has_threads`: threads of
/// this process may still use the other memory of the last session.
pub(crate) fn disown(has_threads: bool) -> bool {
    let map = PROCESS.map.load(Ordering::Relaxed);
    if map.is_null() {
        return true;
    }
    // SAFETY: this SDK mapped it before the fork.  Inherited coroutines read zeros and find no id.
    if !unsafe { sys::map_zeros_over(map, PROCESS.map_size.load(Ordering::Relaxed) as usize) } {
        return false;
    }
    PROCESS.map.store(ptr::null_mut(), Ordering::Relaxed);
    let seen = PROCESS.seen_chunks.swap(ptr::null_mut(), Ordering::Relaxed);
    if !seen.is_null() && !has_threads {
        // SAFETY: only the wiped session pointed to it.
        unsafe { sys::unmap(seen, PROCESS.seen_size.load(Ordering::Relaxed) as usize) };
    }
    let sock = PROCESS.sock.swap(-1, Ordering::Relaxed);
    if sock_is(sock, PROCESS.sock_dev.load(Ordering::Relaxed), PROCESS.sock_ino.load(Ordering::Relaxed)) {
        sys::close_fd(sock);
    }
    true
}

/// Connect the socket by its path, unless it is connected.
fn socket_open(s: &Session, path: &[u8]) {
    if s.sock.load(Ordering::Relaxed) >= 0 {
        return;
    }
    match sys::connect_unix(path) {
        Ok(fd) => socket_keep(s, fd),
        Err(0) => say!("no usable {}; tracing without wake-ups", ENV_SOCK),
        Err(why) => say!("cannot connect '{}': {}; tracing without wake-ups", text(path), os_error(why)),
    }
}

/// Store the socket with its identity, in the session and for a forked child.
fn socket_keep(s: &Session, fd: i32) {
    s.sock_remember(fd);
    PROCESS.sock.store(s.sock.load(Ordering::Relaxed), Ordering::Relaxed);
    PROCESS.sock_dev.store(s.sock_dev.load(Ordering::Relaxed), Ordering::Relaxed);
    PROCESS.sock_ino.store(s.sock_ino.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The socket is connected: from now on each thread that writes an event checks whether the
/// collector sleeps.  The collector may have gone to sleep after events that were written earlier,
/// so check here, too.
fn wakeups_choose(s: &Session) {
    let header = s.header();
    let flag: &AtomicU32 = if s.info().features & EXT_SLEEPING != 0 {
        &ext_header(header).sleeping
    } else {
        &header.tracer_sleeping
    };
    // (ctp-F) pairs with the acquire load in Session::wake().
    s.sleeping.store(flag as *const AtomicU32 as *mut AtomicU32, Ordering::Release);
    // (ctp-C) pairs with the barrier in the collector's sleep_announce().
    order::fence_full();
    if s.collector_sleeps() {
        s.wake();
    }
}

/// The slow steps, after the session is published.  Other threads already write; until these steps
/// are done they use fences and do not wake the collector, which polls at intervals anyway.
fn session_connect(s: &Session) {
    let info = s.info();

    if info.features & EXT_MEMBARRIER != 0 && sys::process_register() {
        s.needs_fence.store(0, Ordering::Relaxed);
    }
    // SAFETY: leaked when the session was filled in.
    unsafe { socket_open(s, &*info.sock_path) };
    if s.sock.load(Ordering::Relaxed) >= 0 || info.by_order {
        wakeups_choose(s);
    }
    say!(
        "traced: {} in '{}', {}",
        if info.lanes.is_null() { "stations" } else { "lanes" },
        // SAFETY: as above.
        text(unsafe { &*info.shm_path }),
        if s.needs_fence.load(Ordering::Relaxed) != 0 { "a fence per event" } else { "no fence per event" }
    );
}

/// The leading digits, parsed as strtoull() does.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().skip_while(|c| c.is_ascii_whitespace()).take_while(|c| c.is_ascii_digit());
    digits.fold(0u64, |n, c| n.saturating_mul(10).saturating_add(u64::from(c - b'0')))
}

fn leak(bytes: Vec<u8>) -> *const Vec<u8> {
    Box::leak(Box::new(bytes))
}

/// Fill the session as the environment says, or as the order of the parent process did.
fn session_find(s: &Session, info: &mut Info) -> bool {
    if let Some(order) = request::order_inherited() {
        info.by_order = true;
        let (path, sock) = (order.shm_path().to_vec(), order.sock_path().to_vec());
        return session_fill(s, info, path, sock, u64::from(order.stations));
    }
    match sys::env(ENV_SHM) {
        Some(path) if !path.is_empty() => {
            let promised = sys::env(ENV_STATIONS).map_or(0, |n| number(&n));
            if let Some((region, door)) = inherit::find(&path) {
                info.region_fd = region;
                info.door = door;
            }
            session_fill(s, info, path, sys::env(ENV_SOCK).unwrap_or_default(), promised)
        }
        _ => {
            request::why_set(if sys::env_is_hidden(ENV_SHM) { WHY_SECURE } else { WHY_NO_ENVIRONMENT }, 0);
            say!("not traced: {} is not set", ENV_SHM);
            false
        }
    }
}

/// Fill the session with the region at `path`.  False if it is not usable.
fn session_fill(s: &Session, info: &mut Info, path: Vec<u8>, sock_path: Vec<u8>, promised: u64) -> bool {
    let size = match region_map(info, &path, promised) {
        Some(size) => size,
        None => return false,
    };
    PROCESS.map.store(info.header as *mut u8, Ordering::Relaxed);
    PROCESS.map_size.store(size, Ordering::Relaxed);
    info.counter_usable = order::counter_usable();
    clock::base(info);
    // SAFETY: mapped and checked.
    info.features = ext_features(unsafe { &*info.header });
    s.sock.store(-1, Ordering::Relaxed);
    s.needs_fence.store(1, Ordering::Relaxed);
    let never: *const AtomicU32 = &s.never_sleeping;
    s.sleeping.store(never as *mut AtomicU32, Ordering::Relaxed);
    info.clock_published = info.features & EXT_CLOCK != 0 && clock::agrees(info);
    if info.features & EXT_LANES != 0 && lanes_open(info, size) {
        seen_make(info);
    }
    (info.site_tag, info.first) = request::region_tag();
    info.shm_path = leak(path);
    info.sock_path = leak(sock_path);
    true
}

/// Wipe the session in a forked child, for kernels that do not wipe the page.
unsafe extern "C" fn wipe_in_child() {
    let s = PROCESS.session.load(Ordering::Relaxed);
    if !s.is_null() {
        ptr::write_bytes(s.cast::<u8>(), 0, size_of::<Session>());
    }
}

/// The session page of the process; the first thread creates it.
fn session_get() -> Option<&'static Session> {
    if let Some(s) = session_acquire() {
        return Some(s);
    }
    let page = sys::map_zeros(size_of::<Session>())?;
    // MADV_WIPEONFORK covers every kind of fork, but needs Linux 4.14.  On older kernels the atfork
    // handler covers fork(3).
    sys::wipe_on_fork(page, size_of::<Session>());
    sys::at_fork_in_child(wipe_in_child);
    // (ctp-F) pairs with the acquire in session_acquire().
    match PROCESS.session.compare_exchange(ptr::null_mut(), page.cast(), Ordering::Release, Ordering::Relaxed)
    {
        // SAFETY: all zero is a valid session, and the page is never unmapped.
        Ok(_) => Some(unsafe { &*page.cast::<Session>() }),
        Err(_) => {
            // SAFETY: never published.
            unsafe { sys::unmap(page, size_of::<Session>()) };
            session_acquire()
        }
    }
}

/// Fields of a session that do not depend on the region.
fn info_begin(info: &mut Info) {
    if PROCESS.has_key.load(Ordering::Relaxed) == 0 {
        if let Some(key) = sys::key_create(thread::leave_by_key) {
            PROCESS.thread_key.store(key, Ordering::Relaxed);
            PROCESS.has_key.store(1, Ordering::Relaxed);
        }
    }
    info.has_key = PROCESS.has_key.load(Ordering::Relaxed) != 0;
    info.thread_key = PROCESS.thread_key.load(Ordering::Relaxed);
    info.owner = u64::from(std::process::id());
}

fn session_publish(s: &Session) {
    let generation = PROCESS.generations.fetch_add(1, Ordering::Relaxed) + 1;
    // (ctp-F) pairs with the acquire load in thread::join().
    s.generation.store(generation, Ordering::Release);
    s.state.store(ATTACH_DONE, Ordering::Relaxed);
    // (ctp-O) pairs with the fence in Session::later_count().
    order::fence_full();
    s.later_deliver();
    request::publish(s);
}

/// Attach to the collector, if there is one.  Only the thread that set ATTACH_BUSY calls this.
fn attach_now(s: &Session) -> bool {
    s.busy_ns.store(sys::clock_ns(), Ordering::Relaxed);
    // SAFETY: the generation is 0, so no thread reads `info`; ATTACH_BUSY excludes other writers.
    let info = unsafe { &mut *s.info.get() };
    info_begin(info);
    request::gate_open();
    let attached = disown(false) && session_find(s, info);
    if attached {
        // First: the collector then knows which process its events are from.
        if let Some(fd) = info.door.connect() {
            socket_keep(s, fd);
        }
        session_publish(s);
        session_connect(s);
    } else {
        info.door.report(request::why());
        s.state.store(ATTACH_FAILED, Ordering::Relaxed);
        request::gate_close();
    }
    attached
}

/// Attach to the region of `order`, with a new session.  On failure returns an errno.
pub(crate) fn attach_by_order(order: &Order) -> Result<&'static Session, i32> {
    const ENOMEM: i32 = 12;
    const EPROTO: i32 = 71;
    let page = sys::map_zeros(size_of::<Session>()).ok_or(ENOMEM)?;
    sys::wipe_on_fork(page, size_of::<Session>());
    // SAFETY: all zero is a valid session; no other thread has it yet.
    let s = unsafe { &*page.cast::<Session>() };
    // SAFETY: as above.
    let info = unsafe { &mut *s.info.get() };
    s.state.store(ATTACH_LEFT, Ordering::Relaxed);
    info_begin(info);
    info.by_order = true;
    sys::membarrier_now();
    // (ctp-R) pairs with the fence in life::begin() of a process that is not registered.
    order::fence_full();
    sys::errno_clear();
    let (path, sock) = (order.shm_path().to_vec(), order.sock_path().to_vec());
    if !disown(true) || !session_fill(s, info, path, sock, u64::from(order.stations)) {
        let why = sys::errno();
        // SAFETY: never published.
        unsafe { sys::unmap(page, size_of::<Session>()) };
        return Err(if why != 0 { why } else { EPROTO });
    }
    session_publish(s);
    // (ctp-F) pairs with the acquire in session_acquire().
    PROCESS.session.store(page.cast(), Ordering::Release);
    session_connect(s);
    Ok(s)
}

/// The longest time that any thread waits, counted from the begin of the attach.
const ATTACH_WAIT_NS: u64 = 50_000_000;

/// Wait while another thread attaches, about 100 us.  Without the wait this thread's first events
/// would be lost; the wait is limited because the attach may hang.
fn attach_await(s: &Session) {
    // Exponential backoff: many threads that poll every 20 us would keep the attaching thread from
    // running.
    let mut pause = 20_000;
    let now = sys::clock_ns();
    let since = match s.busy_ns.load(Ordering::Relaxed) {
        0 => now,
        since => since.min(now),
    };
    while s.is_attaching() && sys::clock_ns() - since < ATTACH_WAIT_NS {
        sys::nanosleep(pause);
        if pause < 5_000_000 {
            pause *= 2;
        }
    }
}

/// Attach if a tool asks for it.
fn by_request() -> Option<&'static Session> {
    if request::gate_is_open() {
        request::serve()
    } else {
        None
    }
}

/// Attach the process, unless it is attached already or a previous attach failed.  Any thread may
/// call this any number of times; after the first call it costs two loads.  Returns the session if
/// it can be written to, or if another thread is still attaching (Session::is_attaching(),
/// later.rs).
pub(crate) fn attach() -> Option<&'static Session> {
    // Miri does not support the mappings, so programs under Miri run untraced.
    if cfg!(miri) {
        return None;
    }
    request::note();
    let s = session_get()?;
    match s.state.load(Ordering::Relaxed) {
        ATTACH_DONE => {}
        ATTACH_FAILED | ATTACH_LEFT => return by_request(),
        _ => {
            let _errno = sys::KeepErrno::new();
            let first =
                s.state.compare_exchange(ATTACH_NEVER, ATTACH_BUSY, Ordering::Relaxed, Ordering::Relaxed);
            match first {
                Ok(_) => return if attach_now(s) { Some(s) } else { by_request() },
                Err(_) => attach_await(s),
            }
        }
    }
    // (ctp-F) pairs with the release store in session_publish().
    (s.generation.load(Ordering::Acquire) != 0 || s.is_attaching()).then_some(s)
}
