// SPDX-License-Identifier: MIT
//! order - memory fences and the cycle counter, in their cheapest form per architecture.

#[cfg(any(miri, not(target_arch = "aarch64")))]
use std::sync::atomic::fence;
#[cfg(any(miri, not(target_arch = "aarch64")))]
use std::sync::atomic::Ordering;

/// Orders the stores before it before the stores after it.
///
/// A release fence is stronger than needed; on aarch64 the extra ordering costs half as much as
/// writing a slot, so `dmb ishst` is used there.  On x86-64 stores are ordered, and this is only a
/// compiler barrier.
#[inline(always)]
pub(crate) fn fence_store_store() {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("dmb ishst", options(nostack, preserves_flags));
    }
    // The callers name the pairs of this fence: (ctp-A) and (ctp-M).
    #[cfg(any(miri, not(target_arch = "aarch64")))]
    fence(Ordering::Release);
}

/// Orders the loads before it before the loads after it.
#[inline(always)]
pub(crate) fn fence_load_load() {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("dmb ishld", options(nostack, preserves_flags));
    }
    // The callers name the pairs of this fence: (ctp-G) and (ctp-M).
    #[cfg(any(miri, not(target_arch = "aarch64")))]
    fence(Ordering::Acquire);
}

/// Before the stores to a coroutine's shared fields by a thread that may have taken it over.
///
/// The program's hand-over is a release and an acquire.  Where a store becomes visible to all other
/// threads at once, as on x86-64 and aarch64, that is enough, and this is nothing.
#[inline(always)]
pub(crate) fn fence_handover() {
    // The callers name the pairs of this fence: (ctp-A) and (ctp-M).
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fence(Ordering::Release);
}

/// Orders all accesses, including a store before a later load.
#[inline(always)]
pub(crate) fn fence_full() {
    // The callers name the pairs of this fence: (ctp-C), (ctp-O) and (ctp-Q).
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Fetch the cache line at `address` to be written soon.  Any address is allowed: it cannot fault.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: changes no register and no memory; without effect on processors that do not have it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// On aarch64 the counter may run at only 19 MHz: ticks are 32nds of its period.
#[cfg(all(target_arch = "aarch64", not(miri)))]
const TICKS_SHIFT: u32 = 5;

/// The cycle counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: Linux lets programs read it.
    unsafe {
        let ticks: u64;
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        ticks << TICKS_SHIFT
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    0
}

/// Does the counter run at one constant rate, in step on all cores?
pub(crate) fn counter_usable() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // CPUID 80000007H, EDX bit 8: invariant TSC.
        #[allow(unused_unsafe)] // newer compilers declare it safe
        // SAFETY: every x86-64 has CPUID.
        unsafe {
            std::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007
                && std::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        true // the generic timer is invariant by architecture
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        false
    }
}

/// Keeps the compiler from reordering accesses; the other side executes a membarrier(2).
#[inline(always)]
pub(crate) fn barrier_compiler() {
    // SAFETY: no instruction.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    unsafe {
        std::arch::asm!("", options(nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fence_full();
}
