/* SPDX-License-Identifier: MIT */
/*
 * weak_hooks.h - included before every file under test: its fences, clock and system calls.
 *
 * The accesses themselves are those of the file: the compiler calls weak_hooks.c for each.  The
 * fences of x86-64 are no instructions that it would see, so they become the C11 fences that their
 * comments name.
 */
#ifndef WEAK_HOOKS_H
#define WEAK_HOOKS_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <corotracer/atomic.h>

#undef ctp_fence_store_store
#undef ctp_fence_load_load
#undef ctp_fence_full
#define ctp_fence_store_store() __atomic_thread_fence(__ATOMIC_RELEASE)
#define ctp_fence_load_load()   __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define ctp_fence_full()        __atomic_thread_fence(__ATOMIC_SEQ_CST)

#undef ctp_fence_handover
#define ctp_fence_handover() weak_fence_handover()
void weak_fence_handover(void);

#define FRAMES_LIVE_FENCE_H
#define fence_load_load()   __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define fence_store_store() __atomic_thread_fence(__ATOMIC_RELEASE)

uint64_t weak_ticks(void);
int weak_clock_gettime(clockid_t id, struct timespec *now);
long weak_syscall(long number, ...);
void *weak_memcpy(void *to, const void *from, size_t size);
void *weak_memset(void *to, int byte, size_t size);

int weak_open(const char *path, int flags, ...);
int weak_fstat(int fd, struct stat *st);
int weak_fallocate(int fd, int mode, off_t offset, off_t size);

#define open                 weak_open
#define fstat                weak_fstat
#define fallocate            weak_fallocate
#define __builtin_ia32_rdtsc weak_ticks
#define clock_gettime        weak_clock_gettime
#define syscall              weak_syscall
#define memcpy               weak_memcpy
#define memset               weak_memset
#define __builtin_memcpy     weak_memcpy
#define __builtin_memset     weak_memset

#endif
