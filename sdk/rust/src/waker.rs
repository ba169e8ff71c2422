// SPDX-License-Identifier: MIT
//! waker - a waker that says whom it wakes, and who did it, before it wakes.
//!
//! A future is polled with a waker of ours around the executor's.  Four things must stay as they
//! were without us:
//!
//! * `will_wake`.  As long as the executor's waker stays the same, so does ours: futures that
//!   keep a waker and compare go on doing nothing.  So a future has one cell for its whole life.
//! * Who keeps whom alive.  An executor may drop a task once nobody holds a waker of it.  So the
//!   future holds the cell, but the cell holds the executor's waker only while wakers of ours are
//!   out; the last of them to go takes it along.
//! * Wakers outlive futures, and are used by any thread.  A cell remembers the coroutine's id, not
//!   only where its life was.
//! * A poll that keeps no waker costs none.  What a poll is given is not counted as out, and
//!   borrows the executor's; only its first clone clones that, too.
//!
//! A cell's state: is it a future's (`HELD`), is the executor's waker just being put there or
//! taken (`BUSY`), and how many wakers are out (the rest).
//!
//! ```text
//!   0 out --- first clone, in a poll --> BUSY --> 1 out <== clone, drop ==> n out
//!     ^                                             |
//!     +-------------------- BUSY <------------------+  the last one
//! ```
//!
//! With none out, whoever uses the cell's waker does so inside the poll that it was made for.

use crate::life;
use crate::session::session;
use crate::thread;
use crate::wire::Life;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

const HELD: usize = 1 << (usize::BITS - 1);
const BUSY: usize = 1 << (usize::BITS - 2);
const OUT: usize = BUSY - 1;

struct Cell {
    state: AtomicUsize,
    /// The executor's, of the poll that is under way.
    lent: AtomicPtr<Waker>,
    /// The executor's, while wakers are out.
    kept: UnsafeCell<Option<Waker>>,
    life: *const Life,
    id: u64,
}

/// A future's hold on its cell.
pub(crate) struct Slot(Option<NonNull<Cell>>);

// SAFETY: the cell is made for threads; the slot itself is used by one at a time (&mut self).
unsafe impl Send for Slot {}

/// The waker of a poll, and not of those that are out: never dropped.
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

    /// A waker for one poll of the coroutine `id` that wakes as `theirs` does.
    #[inline]
    pub(crate) fn lend<'a>(&mut self, theirs: &'a Waker, life: *const Life, id: u64) -> Lent<'a> {
        let cell = match self.0 {
            // SAFETY: held by the slot.
            Some(cell) if unsafe { can_serve(cell, theirs) } => cell,
            _ => self.renew(life, id),
        };
        // SAFETY: held by the slot.
        unsafe { cell.as_ref() }.lent.store(theirs as *const Waker as *mut Waker, Ordering::Relaxed);
        Lent { waker: ManuallyDrop::new(from_cell(cell)), _theirs: std::marker::PhantomData }
    }

    #[cold]
    fn renew(&mut self, life: *const Life, id: u64) -> NonNull<Cell> {
        self.release();
        let cell = NonNull::from(Box::leak(Box::new(Cell {
            state: AtomicUsize::new(HELD),
            lent: AtomicPtr::new(ptr::null_mut()),
            kept: UnsafeCell::new(None),
            life,
            id,
        })));
        self.0 = Some(cell);
        cell
    }

    fn release(&mut self) {
        if let Some(cell) = self.0.take() {
            // (W) pairs with itself, here and in take_only(): who frees comes after all others.
            // SAFETY: held by the slot until this.
            let before = unsafe { cell.as_ref() }.state.fetch_and(!HELD, Ordering::AcqRel);
            if before & (BUSY | OUT) == 0 {
                // SAFETY: nobody else has it.
                drop(unsafe { Box::from_raw(cell.as_ptr()) });
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

/// Do the wakers that are out, if any, belong to `theirs`?
///
/// # Safety
/// The caller's slot holds the cell.
#[inline]
unsafe fn can_serve(cell: NonNull<Cell>, theirs: &Waker) -> bool {
    let state = &cell.as_ref().state;
    let mut now = state.load(Ordering::Relaxed);
    // One of those that are out has to be ours while we look at what they wake.
    while now & OUT != 0 {
        // (W) pairs with the release in keep(): who has one sees what it wakes.
        match state.compare_exchange_weak(now, now + 1, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                let _one = from_cell(cell);
                return (*cell.as_ref().kept.get()).as_ref().map_or(false, |w| w.will_wake(theirs));
            }
            Err(other) => now = other,
        }
    }
    true
}

impl Cell {
    /// One more is out.
    fn keep(&self) {
        let mut theirs = None;
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state & BUSY != 0 {
                spin_loop(); // a few instructions of another thread's
                continue;
            }
            if state & OUT != 0 {
                // (W) pairs with the release below: who has one sees what it wakes.
                let more =
                    self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed);
                if more.is_ok() {
                    return;
                }
                continue;
            }
            // None is out: we are in the poll that `lent` is of.  Theirs is cloned before the cell
            // is BUSY, for that may take its time, or panic.
            // SAFETY: lent for the time of the poll.
            theirs = theirs.or_else(|| unsafe { self.lent.load(Ordering::Relaxed).as_ref() }.cloned());
            // (W) pairs with the release in take_only(): what was kept before is gone.
            if self.state.compare_exchange(state, state | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                // SAFETY: BUSY is ours alone.
                unsafe { *self.kept.get() = theirs.take() };
                // (W) pairs with the acquire in take_only(), through the wakers that are out.
                self.state.fetch_sub(BUSY - 1, Ordering::Release);
                return;
            }
        }
    }
}

/// The executor's waker, if the caller's is the only one that is out; then that is no more.
///
/// # Safety
/// The caller has one that is out.  If it was the only one, neither it nor the cell is used again.
unsafe fn take_only(cell: NonNull<Cell>) -> Option<Option<Waker>> {
    let state = &cell.as_ref().state;
    let mut now = state.load(Ordering::Relaxed);
    while now & OUT == 1 {
        // (W) pairs with the releases in keep() and forget(): the last comes after all others.
        match state.compare_exchange_weak(now, (now - 1) | BUSY, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                let theirs = (*cell.as_ref().kept.get()).take();
                // (W) pairs with the acquire in keep(), and with release(): not ours any more.
                if state.fetch_and(!BUSY, Ordering::AcqRel) & HELD == 0 {
                    drop(Box::from_raw(cell.as_ptr()));
                }
                return Some(theirs);
            }
            Err(other) => now = other,
        }
    }
    None
}

fn from_cell(cell: NonNull<Cell>) -> Waker {
    // SAFETY: the vtable below keeps RawWaker's contract.
    unsafe { Waker::from_raw(RawWaker::new(cell.as_ptr() as *const (), &VTABLE)) }
}

// ---- what a waker does ------------------------------------------------------------------

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, forget);

unsafe fn the_cell(data: *const ()) -> NonNull<Cell> {
    NonNull::new_unchecked(data as *mut Cell)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    the_cell(data).as_ref().keep();
    RawWaker::new(data, &VTABLE)
}

/// Say it before it is done: the trace has the wake before what came of it.
fn tell(cell: &Cell) {
    // SAFETY: a life of the region, which stays mapped.
    if let (Some(l), Some(s)) = (unsafe { cell.life.as_ref() }, session()) {
        thread::with(|t| life::wake(l, cell.id, t, s, t.current.get(), 0, 0));
    }
}

/// Wake by one that is out; it is no more afterwards, even if theirs panics.
unsafe fn wake_and_forget(cell: NonNull<Cell>) {
    let _one = from_cell(cell);
    if let Some(theirs) = &*cell.as_ref().kept.get() {
        theirs.wake_by_ref();
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    let cell = the_cell(data);
    tell(cell.as_ref());
    if cell.as_ref().state.load(Ordering::Relaxed) & OUT != 0 {
        // Perhaps ours is the poll's, and those that are out are just leaving.
        cell.as_ref().keep();
        wake_and_forget(cell);
    } else if let Some(theirs) = cell.as_ref().lent.load(Ordering::Relaxed).as_ref() {
        // None is out: we are in the poll that it is lent for.
        theirs.wake_by_ref();
    }
}

unsafe fn wake(data: *const ()) {
    let cell = the_cell(data);
    tell(cell.as_ref());
    match take_only(cell) {
        Some(theirs) => theirs.into_iter().for_each(Waker::wake),
        None => wake_and_forget(cell),
    }
}

unsafe fn forget(data: *const ()) {
    let cell = the_cell(data);
    loop {
        if let Some(theirs) = take_only(cell) {
            drop(theirs); // which may drop the task, and the future that held the cell
            return;
        }
        let state = &cell.as_ref().state;
        let now = state.load(Ordering::Relaxed);
        // (W) pairs with the acquire in take_only(), of whoever is the last.
        if now & OUT > 1
            && state.compare_exchange_weak(now, now - 1, Ordering::Release, Ordering::Relaxed).is_ok()
        {
            return;
        }
    }
}
