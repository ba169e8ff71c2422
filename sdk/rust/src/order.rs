// SPDX-License-Identifier: MIT
//! order - fences and the cycle counter, as cheap as the machine has them.

#[cfg(any(miri, not(target_arch = "aarch64")))]
use std::sync::atomic::fence;
#[cfg(any(miri, not(target_arch = "aarch64")))]
use std::sync::atomic::Ordering;

/// Keeps the stores before it before the stores after it.
///
/// A release fence gives that and more; on aarch64 what nobody here needs costs half of a slot,
/// so there it is `dmb ishst`.  On x86-64 stores are ordered and only the compiler is told.
#[inline(always)]
pub(crate) fn fence_store_store() {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("dmb ishst", options(nostack, preserves_flags));
    }
    // Names only: its users say what it pairs with, (A) and (M).
    #[cfg(any(miri, not(target_arch = "aarch64")))]
    fence(Ordering::Release);
}

/// Keeps the loads before it before the loads after it.
#[inline(always)]
pub(crate) fn fence_load_load() {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("dmb ishld", options(nostack, preserves_flags));
    }
    // Names only: its users say what it pairs with, (G) and (M).
    #[cfg(any(miri, not(target_arch = "aarch64")))]
    fence(Ordering::Acquire);
}

/// Orders everything, a store against a later load included.
#[inline(always)]
pub(crate) fn fence_full() {
    // Names only: its user says what it pairs with, (C).
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// On aarch64 the counter may be as slow as 19 MHz: told in units of a 32nd.
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

/// Does the counter run at one rate, always, and alike on all cores?
pub(crate) fn counter_usable() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // CPUID 80000007H, EDX bit 8: invariant TSC.
        #[allow(unused_unsafe)] // newer compilers take it for safe
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
