// SPDX-License-Identifier: MIT
//! place - tests/places/place_c.c in Rust: "place STEP...", with the steps of place_steps.h.

use corotracer::PollTrace;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::raw::{c_char, c_int, c_ulong, c_void};
use std::os::unix::fs::FileExt;
use std::os::unix::io::{AsRawFd, FromRawFd};
use std::ptr;

extern "C" {
    fn setgroups(nr: usize, list: *const c_void) -> c_int;
    fn setgid(id: u32) -> c_int;
    fn setuid(id: u32) -> c_int;
    fn unshare(flags: c_int) -> c_int;
    fn chroot(path: *const c_char) -> c_int;
    fn mount(
        from: *const c_char,
        to: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn clearenv() -> c_int;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

const OTHER: u32 = 65534;
const TEXT: &[u8] = b"a file of the program";
const CLONE_NEWNS: c_int = 0x20000;
const MS_RDONLY: c_ulong = 1;
const MS_REMOUNT: c_ulong = 32;
const MS_BIND: c_ulong = 4096;
const MS_PRIVATE_ALL: c_ulong = 1 << 18 | 16384;

fn check(result: c_int, what: &str) {
    if result < 0 {
        eprintln!("{}: {}", what, std::io::Error::last_os_error());
        std::process::exit(3);
    }
}

fn mount_at(from: &str, to: &str, kind: &str, flags: c_ulong) {
    let text = |s: &str| CString::new(s).unwrap();
    let (from, place, kind) = (text(from), text(to), text(kind));
    // SAFETY: all strings outlive the call.
    check(unsafe { mount(from.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, ptr::null()) }, to);
}

fn own_mounts() {
    // SAFETY: no memory is involved.
    check(unsafe { unshare(CLONE_NEWNS) }, "unshare");
    mount_at("", "/", "", MS_PRIVATE_ALL);
}

/// Replace the inherited descriptors by a file of the program.
fn reuse() -> Vec<File> {
    let path = std::env::temp_dir().join(format!("place.{}", std::process::id()));
    std::fs::write(&path, TEXT).unwrap();
    let value = std::env::var("CTP_FDS").unwrap();
    let numbers: Vec<&str> = value.split(':').collect();
    let both = [numbers[0], numbers[3]];
    let reused = both.iter().map(|n| {
        let (file, other) = (File::open(&path).unwrap(), i32::from_str_radix(n, 16).unwrap());
        // SAFETY: the program uses its descriptors as it likes.
        check(unsafe { dup2(file.as_raw_fd(), other) }, "dup2");
        // SAFETY: owned by nothing else.
        unsafe { File::from_raw_fd(other) }
    });
    let reused = reused.collect();
    std::fs::remove_file(path).unwrap();
    reused
}

fn go_on_in_child() {
    let mut status = 0;
    // SAFETY: there is one thread.
    let pid = unsafe { fork() };
    if pid == 0 {
        return;
    }
    // SAFETY: the kernel fills in the status.
    check(unsafe { waitpid(pid, &mut status, 0) }, "waitpid");
    std::process::exit(if status == 0 { 0 } else { 4 });
}

fn wait() {
    println!("ready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn enter(step: &str, reused: &mut Vec<File>) {
    // SAFETY: plain calls; there is one thread.
    unsafe {
        match step {
            "user" => {
                check(setgroups(0, ptr::null()), "setgroups");
                check(setgid(OTHER), "setgid");
                check(setuid(OTHER), "setuid");
            }
            "shm" => {
                own_mounts();
                ["/dev/shm", "/tmp", "/run"].iter().for_each(|to| mount_at("t", to, "tmpfs", 0));
            }
            "read-only" => {
                own_mounts();
                mount_at("/dev/shm", "/dev/shm", "", MS_BIND);
                mount_at("", "/dev/shm", "", MS_REMOUNT | MS_BIND | MS_RDONLY);
            }
            "close" => (3..4096).for_each(|fd| {
                close(fd);
            }),
            "reuse" => *reused = reuse(),
            "clear" => check(clearenv(), "clearenv"),
            "fork" => go_on_in_child(),
            "wait" => wait(),
            "stop" => std::process::exit(0),
            _ => {
                let dir = CString::new(step.strip_prefix("chroot=").expect("a known step")).unwrap();
                check(chroot(dir.as_ptr()), "chroot");
                std::env::set_current_dir("/").unwrap();
            }
        }
    }
}

fn main() {
    let mut reused = Vec::new();
    let steps: Vec<String> = std::env::args().skip(1).collect();

    steps.iter().filter(|s| *s != "linger").for_each(|step| enter(step, &mut reused));
    for _ in 0..50 {
        let mut trace = PollTrace::named("place");
        for _ in 0..10 {
            trace.on_pending_addr(1);
            trace.on_resume();
        }
        trace.on_ready();
    }
    for file in &reused {
        let mut text = [0; 64];
        assert_eq!(file.read_at(&mut text, 0).unwrap(), TEXT.len());
        assert_eq!(&text[..TEXT.len()], TEXT);
    }
    if steps.iter().any(|s| s == "linger") {
        wait();
    }
}
