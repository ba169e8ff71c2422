// SPDX-License-Identifier: MIT
//! waker - a waker that records which coroutine is woken, and by which one, before it wakes.
//!
//! A future is polled with a waker that wraps the executor's waker.  Four properties must be the
//! same as without tracing:
//!
//! * `will_wake`.  The wrapper stays the same as long as the executor's waker does: futures that
//!   store a waker and compare it still skip the clone.  So a future has one cell during its
//!   whole lifetime.
//! * Ownership.  An executor may drop a task when all its wakers are dropped.  So the future holds
//!   the cell, but the cell holds the executor's waker only while wrappers are out; the last
//!   wrapper to be dropped drops it.
//! * Wakers outlive futures, and any thread may use them.  A cell stores the coroutine's id, not
//!   only a pointer to its life.
//! * A poll that keeps no waker costs no clone.  The waker that is lent to a poll is not counted as
//!   out and borrows the executor's; only its first clone clones that one, too.
//!
//! The state of a cell: it belongs to a future (`HELD`), the executor's waker is being stored or
//! taken (`BUSY`), and the number of wrappers that are out (the other bits).
//!
//! ```text
//!   0 out --- first clone, in a poll --> BUSY --> 1 out <== clone, drop ==> n out
//!     ^                                             |
//!     +------------- (dropped: BUSY) <--------------+  the last one, woken or dropped
//! ```
//!
//! `kept` is written only by the first clone, so inside a poll, and stays as it is afterwards: it
//! holds a waker while wrappers are out, and the bits of one that was moved out otherwise.  So the
//! last wrapper can be woken in one step: it copies `kept`, and owns the copy if it is still the last.
//!
//! If none is out, the cell's waker is only used inside the poll that it was lent to.  So if none is
//! out, the future is suspended and it was not woken since its last poll began, nothing can wake it
//! any more.  This is recorded by the thread that drops the last wrapper, or at the end of a poll
//! that leaves no wrapper out.  A wrapper that is dropped while a poll ends may be missed by both.

use crate::life;
use crate::session::session;
use crate::thread;
use crate::wire::Life;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

const HELD: usize = 1 << (usize::BITS - 1);
const BUSY: usize = 1 << (usize::BITS - 2);
const OUT: usize = BUSY - 1;
/// Not the number of transitions of any coroutine that was just suspended.
const NEVER_WOKEN: u32 = 1 << 31;

/// In one cache line.
#[repr(align(64))]
struct Cell {
    state: AtomicUsize,
    /// The executor's waker for the poll in progress.
    lent: AtomicPtr<Waker>,
    /// A clone of the executor's waker, while wrappers are out.
    kept: UnsafeCell<MaybeUninit<Waker>>,
    life: *const Life,
    id: u64,
    /// Transitions of the coroutine at its latest wake.
    woken: AtomicU32,
    /// The latest poll was inside the poll of another traced future.
    is_inner: AtomicBool,
    /// Wrappers of an earlier cell of the same future may be out, or the future is being dropped.
    is_unsure: AtomicBool,
}

impl Cell {
    /// A future that was adopted by another session has another life, possibly with the same id.
    fn is_of(&self, life: *const Life, id: u64) -> bool {
        ptr::eq(self.life, life) && self.id == id
    }

    /// The executor's waker.
    ///
    /// # Safety
    /// A wrapper is out as long as the result is used.
    unsafe fn kept(&self) -> &Waker {
        (*self.kept.get()).assume_init_ref()
    }

    /// Do the wrappers that are out, if any, wake `theirs`?  Only the thread that polls the future
    /// calls this.
    #[inline]
    fn can_serve(&self, theirs: &Waker) -> bool {
        // SAFETY: written by the first clone of a wrapper, in a poll before this one.  If the last
        // wrapper is taken meanwhile, only the bits of `kept` are compared.
        self.state.load(Ordering::Relaxed) & OUT == 0 || unsafe { self.kept() }.will_wake(theirs)
    }
}

/// A future's reference to its cell.
pub(crate) struct Slot(Option<NonNull<Cell>>);

// SAFETY: the cell is thread-safe; the slot itself is used by one thread at a time (&mut self).
unsafe impl Send for Slot {}

/// The waker of one poll.  It is not counted as out, so it is never dropped.
pub(crate) struct Lent<'a> {
    waker: ManuallyDrop<Waker>,
    _theirs: std::marker::PhantomData<&'a Waker>,
}

impl Deref for Lent<'_> {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.waker
    }
}

impl Slot {
    pub(crate) const EMPTY: Slot = Slot(None);

    /// A waker for one poll of the coroutine `id`, which wakes `theirs`.  `is_inner`: another traced
    /// future is being polled on this thread.
    #[inline]
    pub(crate) fn lend<'a>(
        &mut self,
        theirs: &'a Waker,
        life: *const Life,
        id: u64,
        is_inner: bool,
    ) -> Lent<'a> {
        let cell = match self.0 {
            // SAFETY: held by the slot.
            Some(cell)
                if unsafe { cell.as_ref() }.is_of(life, id) && unsafe { cell.as_ref() }.can_serve(theirs) =>
            {
                cell
            }
            _ => self.renew(life, id),
        };
        // SAFETY: held by the slot.
        let held = unsafe { cell.as_ref() };
        held.lent.store(theirs as *const Waker as *mut Waker, Ordering::Relaxed);
        held.is_inner.store(is_inner, Ordering::Relaxed);
        Lent { waker: ManuallyDrop::new(from_cell(cell)), _theirs: std::marker::PhantomData }
    }

    #[cold]
    fn renew(&mut self, life: *const Life, id: u64) -> NonNull<Cell> {
        let is_unsure = self.release();
        let cell = NonNull::from(Box::leak(Box::new(Cell {
            state: AtomicUsize::new(HELD),
            lent: AtomicPtr::new(ptr::null_mut()),
            kept: UnsafeCell::new(MaybeUninit::uninit()),
            life,
            id,
            woken: AtomicU32::new(NEVER_WOKEN),
            is_inner: AtomicBool::new(false),
            is_unsure: AtomicBool::new(is_unsure),
        })));
        self.0 = Some(cell);
        cell
    }

    /// The future was adopted: it may have given the executor's own waker to others.
    pub(crate) fn doubt(&self) {
        if let Some(cell) = self.0 {
            // SAFETY: held by the slot.
            unsafe { cell.as_ref() }.is_unsure.store(true, Ordering::Relaxed);
        }
    }

    /// The future was suspended: record it if no waker of it exists.
    #[inline]
    pub(crate) fn check(&self) {
        if let Some(cell) = self.0 {
            // SAFETY: held by the slot.
            let cell = unsafe { cell.as_ref() };
            // (ctp-W) pairs with the release in take_only(): a wake by the last wrapper is visible.
            if cell.state.load(Ordering::Acquire) & (BUSY | OUT) == 0 {
                Unreachable::of(cell).tell();
            }
        }
    }

    /// Record nothing from now on: the future is being dropped.
    pub(crate) fn retire(&self) {
        if let Some(cell) = self.0 {
            // SAFETY: held by the slot.
            unsafe { cell.as_ref() }.is_unsure.store(true, Ordering::Relaxed);
        }
    }

    /// May wrappers still be out afterwards?
    fn release(&mut self) -> bool {
        let cell = match self.0.take() {
            Some(cell) => cell,
            None => return false,
        };
        // SAFETY: the slot holds the cell until the fetch_and() below.
        let is_unsure = unsafe { cell.as_ref() }.is_unsure.load(Ordering::Relaxed);
        // (ctp-W) pairs with itself, here and in take_only(): the thread that frees the cell runs last.
        // SAFETY: as above.
        let before = unsafe { cell.as_ref() }.state.fetch_and(!HELD, Ordering::AcqRel);
        if before & (BUSY | OUT) == 0 {
            // SAFETY: the last reference.
            drop(unsafe { Box::from_raw(cell.as_ptr()) });
            return is_unsure;
        }
        true
    }
}

/// A coroutine without a waker: what is needed to record it after the cell may have been freed.
struct Unreachable {
    life: *const Life,
    id: u64,
    woken: u32,
    is_inner: bool,
    is_unsure: bool,
}

impl Unreachable {
    fn of(cell: &Cell) -> Unreachable {
        Unreachable {
            life: cell.life,
            id: cell.id,
            woken: cell.woken.load(Ordering::Relaxed),
            is_inner: cell.is_inner.load(Ordering::Relaxed),
            is_unsure: cell.is_unsure.load(Ordering::Relaxed),
        }
    }

    #[cold]
    fn tell(&self) {
        // SAFETY: a life of the region, which stays mapped.
        if let (Some(l), Some(s), false) = (unsafe { self.life.as_ref() }, session(), self.is_unsure) {
            thread::with(|t| life::wakers_dropped(l, self.id, t, s, self.woken, self.is_inner));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

impl Cell {
    /// Count one more wrapper as out.
    fn keep(&self) {
        let mut theirs = None;
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state & BUSY != 0 {
                spin_loop(); // another thread is a few instructions from clearing it
                continue;
            }
            if state & OUT != 0 {
                // (ctp-W) pairs with the release below: the owner of a wrapper sees `kept`.
                let more =
                    self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed);
                if more.is_ok() {
                    return;
                }
                continue;
            }
            // None is out, so this runs inside the poll that `lent` belongs to.  Clone the
            // executor's waker before the cell is BUSY: the clone may be slow, or panic.
            // SAFETY: lent for the duration of the poll.
            let own = theirs.take().unwrap_or_else(|| unsafe { &*self.lent.load(Ordering::Relaxed) }.clone());
            // (ctp-W) pairs with the release in take_only(): the previous `kept` was taken.
            if self.state.compare_exchange(state, state | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                // SAFETY: only the thread that set BUSY accesses `kept`, which holds no waker.
                unsafe { *self.kept.get() = MaybeUninit::new(own) };
                // The cell is held during a poll, and no thread changes the state of a BUSY cell that
                // is held and has no wrapper out.
                // (ctp-W) pairs with the acquires in take_only() and take_to_wake(), through the
                // wrappers that are out.
                self.state.store(state + 1, Ordering::Release);
                return;
            }
            theirs = Some(own);
        }
    }
}

/// Take the executor's waker if the caller's wrapper is the only one that is out, and release that
/// wrapper, to wake: nothing else is needed from the cell.
///
/// # Safety
/// The caller owns a wrapper.  If it was the only one, neither it nor the cell is used again.
#[inline]
unsafe fn take_to_wake(cell: NonNull<Cell>) -> Option<Waker> {
    let state = &cell.as_ref().state;
    let mut now = state.load(Ordering::Relaxed);
    while now & OUT == 1 {
        let theirs = ptr::read(cell.as_ref().kept.get());
        // (ctp-W) pairs with the acquire in keep(): `kept` was copied; and with the releases in keep(),
        // forget() and release(): the thread that frees the cell runs last.
        match state.compare_exchange_weak(now, now - 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => {
                if now & HELD == 0 {
                    drop(Box::from_raw(cell.as_ptr()));
                }
                return Some(theirs.assume_init());
            }
            Err(other) => now = other,
        }
    }
    None
}

/// As take_to_wake(), to drop.  With it comes what to record if the future still exists and was not woken.
///
/// # Safety
/// The caller owns a wrapper.  If it was the only one, neither it nor the cell is used again.
unsafe fn take_only(cell: NonNull<Cell>) -> Option<(Waker, Option<Unreachable>)> {
    let state = &cell.as_ref().state;
    let mut now = state.load(Ordering::Relaxed);
    while now & OUT == 1 {
        // (ctp-W) pairs with the releases in keep() and forget(): the last owner runs after all others.
        match state.compare_exchange_weak(now, (now - 1) | BUSY, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                let theirs = ptr::read(cell.as_ref().kept.get()).assume_init();
                let left = Unreachable::of(cell.as_ref());
                // (ctp-W) pairs with the acquire in keep(), and with release(): this thread is done
                // with the cell.
                if state.fetch_and(!BUSY, Ordering::AcqRel) & HELD == 0 {
                    drop(Box::from_raw(cell.as_ptr()));
                    return Some((theirs, None));
                }
                return Some((theirs, Some(left)));
            }
            Err(other) => now = other,
        }
    }
    None
}

fn from_cell(cell: NonNull<Cell>) -> Waker {
    // SAFETY: the vtable below fulfills the contract of RawWaker.
    unsafe { Waker::from_raw(RawWaker::new(cell.as_ptr() as *const (), &VTABLE)) }
}

// ---- the vtable -------------------------------------------------------------------------

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, forget);

unsafe fn the_cell(data: *const ()) -> NonNull<Cell> {
    NonNull::new_unchecked(data as *mut Cell)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    the_cell(data).as_ref().keep();
    RawWaker::new(data, &VTABLE)
}

/// Record the wake before it happens, so that it precedes its effects in the trace.
#[inline(always)]
fn tell(cell: &Cell) {
    // SAFETY: a life of the region, which stays mapped.
    if let (Some(l), Some(s)) = (unsafe { cell.life.as_ref() }, session()) {
        if let Some(seen) = thread::with(|t| life::wake(l, cell.id, t, s, t.current.get(), 0, 0)) {
            cell.woken.store(seen, Ordering::Relaxed);
        }
    }
}

/// Wake through a wrapper that is out, and drop the wrapper, even if the executor's waker panics.
unsafe fn wake_and_forget(cell: NonNull<Cell>) {
    let _one = from_cell(cell);
    cell.as_ref().kept().wake_by_ref();
}

unsafe fn wake_by_ref(data: *const ()) {
    let cell = the_cell(data);
    tell(cell.as_ref());
    if cell.as_ref().state.load(Ordering::Relaxed) & OUT != 0 {
        // `data` may be the poll's waker, while the last wrappers are being dropped.
        cell.as_ref().keep();
        wake_and_forget(cell);
    } else if let Some(theirs) = cell.as_ref().lent.load(Ordering::Relaxed).as_ref() {
        // None is out, so this runs inside the poll that the waker is lent to.
        theirs.wake_by_ref();
    }
}

unsafe fn wake(data: *const ()) {
    let cell = the_cell(data);
    tell(cell.as_ref());
    match take_to_wake(cell) {
        Some(theirs) => theirs.wake(),
        None => wake_and_forget(cell),
    }
}

unsafe fn forget(data: *const ()) {
    let cell = the_cell(data);
    loop {
        if let Some((theirs, left)) = take_only(cell) {
            if let Some(left) = left {
                left.tell();
            }
            drop(theirs); // this may drop the task, and the future that holds the cell
            return;
        }
        let state = &cell.as_ref().state;
        let now = state.load(Ordering::Relaxed);
        // (ctp-W) pairs with the acquire in take_only(), of the last owner.
        if now & OUT > 1
            && state.compare_exchange_weak(now, now - 1, Ordering::Release, Ordering::Relaxed).is_ok()
        {
            return;
        }
    }
}
