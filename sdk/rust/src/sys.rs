// SPDX-License-Identifier: MIT
//! sys - the operating system interfaces that `std` lacks.
//!
//! Linux with 64-bit pointers; on other platforms this crate compiles and traces nothing.

use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::mem::ManuallyDrop;
use std::os::raw::{c_char, c_int, c_long, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

extern "C" {
    fn mmap(addr: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, off: i64) -> *mut c_void;
    fn munmap(addr: *mut c_void, len: usize) -> c_int;
    fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int;
    fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int;
    fn fallocate(fd: c_int, mode: c_int, offset: i64, len: i64) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int;
    fn sendmsg(fd: c_int, message: *const Msghdr, flags: c_int) -> isize;
    fn getenv(name: *const c_char) -> *const c_char;
    fn connect(fd: c_int, addr: *const SockaddrUn, len: c_uint) -> c_int;
    fn send(fd: c_int, buf: *const c_void, len: usize, flags: c_int) -> isize;
    fn fcntl(fd: c_int, cmd: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn clock_gettime(clock: c_int, ts: *mut Timespec) -> c_int;
    #[link_name = "nanosleep"]
    fn libc_nanosleep(wanted: *const Timespec, left: *mut Timespec) -> c_int;
    fn secure_getenv(name: *const c_char) -> *const c_char;
    fn write(fd: c_int, buf: *const c_void, len: usize) -> isize;
    fn __errno_location() -> *mut c_int;
    fn pthread_key_create(key: *mut c_uint, leave: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}

#[repr(C)]
struct Timespec {
    sec: i64,
    nsec: i64,
}

#[repr(C)]
struct SockaddrUn {
    family: u16,
    path: [u8; 108],
}

/// `struct msghdr`; the C libraries differ in the types of the lengths, not in their places.
#[repr(C)]
struct Msghdr {
    name: *const c_void,
    name_len: u64,
    iov: *const Iovec,
    iov_len: usize,
    control: *const c_void,
    control_len: usize,
    flags: c_int,
}

#[repr(C)]
struct Iovec {
    base: *const c_void,
    len: usize,
}

/// A control message with one descriptor.
#[repr(C)]
struct Rights {
    len: usize,
    level: c_int,
    kind: c_int,
    fd: c_int,
    padding: c_int,
}

const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 1 | 2;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_FIXED: c_int = 0x10;
const MAP_ANONYMOUS: c_int = 0x20;
const MAP_NORESERVE: c_int = 0x4000;
const MADV_DONTDUMP: c_int = 16;
const MADV_WIPEONFORK: c_int = 18;
const MADV_POPULATE_WRITE: c_int = 23;
const FALLOC_FL_KEEP_SIZE: c_int = 1;
const AF_UNIX: c_int = 1;
const SOCK_STREAM: c_int = 1;
const SOCK_NONBLOCK: c_int = 0o4000;
const SOCK_CLOEXEC: c_int = 0o2000000;
const MSG_DONTWAIT: c_int = 0x40;
const MSG_NOSIGNAL: c_int = 0x4000;
const F_DUPFD_CLOEXEC: c_int = 1030;
const HIGH_FD: c_int = 512; // inherit.h
const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;
const O_NOCTTY: c_int = 0o400;
const O_NONBLOCK: c_int = 0o4000;
const EINTR: c_int = 4;
const EAGAIN: c_int = 11;
const CLOCK_MONOTONIC: c_int = 1;
const FUTEX_LOCK_PI_PRIVATE: c_int = 6 | 128;
const FUTEX_TID_MASK: u32 = 0x3fff_ffff;
const TID_OWN: u32 = 0x4000_0000; // thread_id.h
const MEMBARRIER_CMD_GLOBAL_EXPEDITED: c_int = 1 << 1;
const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: c_int = 1 << 2;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const FUTEX: i64 = 202;
    pub(super) const GETTID: i64 = 186;
    pub(super) const MEMBARRIER: i64 = 324;
}
#[cfg(not(target_arch = "x86_64"))]
mod number {
    // The numbers that all newer architectures share.
    pub(super) const FUTEX: i64 = 98;
    pub(super) const GETTID: i64 = 178;
    pub(super) const MEMBARRIER: i64 = 283;
}

/// Restores errno when it is dropped, so that the SDK does not change what the program reads there.
pub(crate) struct KeepErrno(c_int);

impl KeepErrno {
    pub(crate) fn new() -> KeepErrno {
        KeepErrno(errno())
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: errno is thread-local.
        unsafe { *__errno_location() = self.0 };
    }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *__errno_location() }
}

pub(crate) fn errno_clear() {
    // SAFETY: as above.
    unsafe { *__errno_location() = 0 };
}

/// Read the environment, except in a setuid or setgid program.  Uses libc: `std::env` takes a lock,
/// which may stay locked for ever in a forked child.
pub(crate) fn env(name: &str) -> Option<Vec<u8>> {
    let mut terminated = [0u8; 32];
    terminated[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the name is terminated; the value is copied immediately.
    unsafe {
        let value = secure_getenv(terminated.as_ptr().cast());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes().to_vec())
    }
}

/// The variable is set, and env() does not show it: a setuid or setgid program.
pub(crate) fn env_is_hidden(name: &str) -> bool {
    let mut terminated = [0u8; 32];
    terminated[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the name is terminated.
    unsafe {
        secure_getenv(terminated.as_ptr().cast()).is_null() && !getenv(terminated.as_ptr().cast()).is_null()
    }
}

/// Write a line to stderr with one write(2), without the locks of `std`.
pub(crate) fn say(line: &str) {
    // SAFETY: the bytes are borrowed for the duration of the call.
    unsafe { write(2, line.as_ptr().cast(), line.len()) };
}

/// The number of the calling thread, also where a sandbox refuses gettid(2): `thread_id.h` has how.
pub(crate) fn thread_id() -> u64 {
    if cfg!(miri) {
        return 1;
    }
    let _errno = KeepErrno::new();
    // SAFETY: no arguments, no side effects.
    let tid = unsafe { syscall(number::GETTID as c_long) };
    u64::from(match if tid > 0 { tid as u32 } else { tid_by_futex() } {
        0 => tid_by_address(),
        known => known,
    })
}

/// The kernel stores the thread's id into a word that it locks.  0 if the call is refused.
fn tid_by_futex() -> u32 {
    let mut owner = 0u32;
    let none = ptr::null_mut::<c_void>();
    // SAFETY: the kernel writes the word during the call, and keeps nothing of it: no thread waits.
    let refused = unsafe {
        syscall(
            number::FUTEX as c_long,
            &mut owner as *mut u32,
            FUTEX_LOCK_PI_PRIVATE,
            0 as c_int,
            none,
            none,
            0 as c_int,
        )
    };
    if refused == 0 {
        owner & FUTEX_TID_MASK
    } else {
        0
    }
}

/// A number that the kernel does not assign, from the address of the thread's errno.
fn tid_by_address() -> u32 {
    // SAFETY: the address only.
    let key = unsafe { __errno_location() } as u64 ^ u64::from(std::process::id()) << 48;
    TID_OWN | (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34) as u32
}

pub(crate) fn clock_ns() -> u64 {
    let mut ts = Timespec { sec: 0, nsec: 0 };
    // SAFETY: the kernel fills in ts.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut ts) };
    (ts.sec as u64).wrapping_mul(1_000_000_000).wrapping_add(ts.nsec as u64)
}

pub(crate) fn nanosleep(ns: i64) {
    let ts = Timespec { sec: 0, nsec: ns };
    // SAFETY: ts outlives the call; the remaining time is not used.
    unsafe { libc_nanosleep(&ts, ptr::null_mut()) };
}

fn has_one_thread() -> bool {
    // ".", ".." and the thread
    std::fs::metadata("/proc/self/task").map_or(false, |tasks| tasks.nlink() == 3)
}

static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

/// Register the process for the collector's membarrier(2).  A process with several threads is left
/// alone: the kernel would make the caller wait for all processors, usually for 20 ms, on an
/// overloaded machine for minutes.  So this is called when the program starts, too.  Children of a
/// registered process are registered.  False if the process is not: its events need fences.
pub(crate) fn process_register() -> bool {
    if !IS_REGISTERED.load(Ordering::Relaxed) && has_one_thread() {
        // (ctp-C) pairs with the membarrier in the collector's sleep_announce().
        // SAFETY: only registers the process.
        let result =
            unsafe { syscall(number::MEMBARRIER as c_long, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) };
        if result == 0 {
            IS_REGISTERED.store(true, Ordering::Relaxed);
        }
    }
    IS_REGISTERED.load(Ordering::Relaxed)
}

/// The program has one thread then, usually: later this could make a thread wait.
extern "C" fn register_at_start() {
    process_register();
}

#[cfg(not(miri))]
#[used]
#[link_section = ".init_array"]
static AT_START: extern "C" fn() = register_at_start;

/// A barrier in every thread of this process that runs, if it is registered.
pub(crate) fn membarrier_now() {
    // (ctp-R) pairs with the compiler barrier in life::begin(), of threads that still run under the
    // last session.
    // SAFETY: no arguments that point to memory.
    unsafe { syscall(number::MEMBARRIER as c_long, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) };
}

// ---- memory ---------------------------------------------------------------------

/// Map `size` bytes of `file`, first PROT_NONE, then read-write: under mlockall(MCL_FUTURE) a
/// read-write mmap() would allocate all pages at once.
pub(crate) fn map_shared(file: &File, size: u64) -> Option<*mut u8> {
    // SAFETY: a new mapping at an address that the kernel chooses.
    unsafe {
        let map =
            mmap(ptr::null_mut(), size as usize, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file.as_raw_fd(), 0);
        if map as isize == -1 {
            return None;
        }
        madvise(map, size as usize, MADV_DONTDUMP);
        if mprotect(map, size as usize, PROT_READ_WRITE) == 0 {
            return Some(map.cast());
        }
        munmap(map, size as usize);
    }
    None
}

/// Map private zeroed memory.
pub(crate) fn map_zeros(size: usize) -> Option<*mut u8> {
    // SAFETY: as above.
    let map = unsafe {
        mmap(ptr::null_mut(), size, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    };
    (map as isize != -1).then(|| map.cast())
}

/// Replace the mapping at `at` by private zeroed memory.
///
/// # Safety
/// `at` is a mapping of the SDK of that size, and its content is not needed any more.
pub(crate) unsafe fn map_zeros_over(at: *mut u8, size: usize) -> bool {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    mmap(at.cast(), size, PROT_READ_WRITE, flags, -1, 0) as isize != -1
}

/// # Safety
/// `at` is a mapping of the SDK of that size that no thread uses any more.
pub(crate) unsafe fn unmap(at: *mut u8, size: usize) {
    munmap(at.cast(), size);
}

/// The kernel zeroes this memory in a forked child.
pub(crate) fn wipe_on_fork(at: *mut u8, size: usize) {
    // SAFETY: affects only forked children.
    unsafe { madvise(at.cast(), size, MADV_WIPEONFORK) };
}

/// Fault in all pages at once.  False if the kernel does not support it.
pub(crate) fn populate(at: *mut u8, size: usize) -> bool {
    // SAFETY: faults pages in and keeps their content.
    unsafe { madvise(at.cast(), size, MADV_POPULATE_WRITE) == 0 }
}

/// Allocate memory for this part of the file.  False if the kernel refuses.
pub(crate) fn reserve(file: &File, offset: u64, len: u64) -> bool {
    // SAFETY: the descriptor belongs to `file`.
    unsafe { fallocate(file.as_raw_fd(), FALLOC_FL_KEEP_SIZE, offset as i64, len as i64) == 0 }
}

// ---- files and sockets ------------------------------------------------------------

/// The identity, size and type of a file.
pub(crate) struct Identity {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) is_file: bool,
    pub(crate) is_socket: bool,
}

pub(crate) fn open_region(path: &[u8]) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(O_NOCTTY | O_NONBLOCK)
        .open(OsStr::from_bytes(path))
}

pub(crate) fn identify(file: &File) -> std::io::Result<Identity> {
    let m = file.metadata()?;
    Ok(Identity {
        dev: m.dev(),
        ino: m.ino(),
        size: m.len(),
        is_file: m.file_type().is_file(),
        is_socket: m.file_type().is_socket(),
    })
}

/// As identify(), for a descriptor that the program may have closed or reused.
pub(crate) fn identify_fd(fd: RawFd) -> Option<Identity> {
    if fd < 0 {
        return None;
    }
    // SAFETY: ManuallyDrop never closes it, and it is only used for fstat().
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    identify(&file).ok()
}

pub(crate) fn close_fd(fd: RawFd) {
    // SAFETY: the caller owns the descriptor.
    unsafe { close(fd) };
}

/// End the connection of a socket in both directions.
pub(crate) fn shutdown_fd(fd: RawFd) {
    // SAFETY: no memory is involved.
    unsafe { shutdown(fd, 2) };
}

/// Connect without blocking.  Err(0) if the path is empty or too long, otherwise errno.
pub(crate) fn connect_unix(path: &[u8]) -> Result<RawFd, c_int> {
    let mut sun = SockaddrUn { family: AF_UNIX as u16, path: [0; 108] };
    if path.is_empty() || path.len() >= sun.path.len() {
        return Err(0);
    }
    sun.path[..path.len()].copy_from_slice(path);
    // SAFETY: plain calls on a descriptor that this function owns.
    unsafe {
        let fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(errno());
        }
        if connect(fd, &sun, std::mem::size_of::<SockaddrUn>() as c_uint) < 0 {
            let why = errno();
            close(fd);
            return Err(why);
        }
        // Move it to a high number: some programs rely on low descriptor numbers.
        let high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
        if high < 0 {
            return Ok(fd);
        }
        close(fd);
        Ok(high)
    }
}

/// Send one byte, without blocking and without SIGPIPE.  A full socket buffer is a success: the
/// collector has bytes to wake up for.
pub(crate) fn send_byte(fd: RawFd, byte: u8) -> bool {
    // SAFETY: one byte on the stack.
    let sent = unsafe { send(fd, (&byte as *const u8).cast(), 1, MSG_DONTWAIT | MSG_NOSIGNAL) };
    sent >= 0 || errno() == EAGAIN || errno() == EINTR
}

/// A duplicate with a high number; any number if the limit of descriptors is low.
pub(crate) fn duplicate(fd: RawFd) -> Option<File> {
    // SAFETY: a new descriptor, which the file owns.
    unsafe {
        let high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
        let copy = if high >= 0 { high } else { fcntl(fd, F_DUPFD_CLOEXEC, 3) };
        (copy >= 0).then(|| File::from_raw_fd(copy))
    }
}

pub(crate) fn into_fd(file: File) -> RawFd {
    ManuallyDrop::new(file).as_raw_fd()
}

/// A pair of connected stream sockets.
pub(crate) fn socket_pair() -> Option<(File, File)> {
    let mut pair = [-1; 2];
    // SAFETY: the kernel fills in the pair; each file owns one of them.
    unsafe {
        let made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.as_mut_ptr()) == 0;
        made.then(|| (File::from_raw_fd(pair[0]), File::from_raw_fd(pair[1])))
    }
}

/// Send a message, with a descriptor, without blocking and without SIGPIPE.
pub(crate) fn send_with(socket: &File, bytes: &[u8], passed: Option<&File>) -> bool {
    let iov = Iovec { base: bytes.as_ptr().cast(), len: bytes.len() };
    let fd = passed.map_or(-1, |f| f.as_raw_fd());
    let rights = Rights { len: 20, level: SOL_SOCKET, kind: SCM_RIGHTS, fd, padding: 0 };
    let mut message = Msghdr {
        name: ptr::null(),
        name_len: 0,
        iov: &iov,
        iov_len: 1,
        control: ptr::null(),
        control_len: 0,
        flags: 0,
    };
    if passed.is_some() {
        message.control = (&rights as *const Rights).cast();
        message.control_len = std::mem::size_of::<Rights>();
    }
    // SAFETY: everything that the message points to outlives the call.
    let sent = unsafe { sendmsg(socket.as_raw_fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) };
    sent == bytes.len() as isize
}

// ---- threads and forks --------------------------------------------------------------

pub(crate) fn key_create(leave: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    let mut key: c_uint = 0;
    // SAFETY: the function is never unloaded while the key exists.
    unsafe { (pthread_key_create(&mut key, Some(leave)) == 0).then_some(key) }
}

pub(crate) fn key_set(key: u32, value: *const c_void) {
    // SAFETY: a key from key_create().
    unsafe { pthread_setspecific(key, value) };
}

pub(crate) fn at_fork_in_child(child: unsafe extern "C" fn()) {
    // SAFETY: as for key_create().
    unsafe { pthread_atfork(None, None, Some(child)) };
}
