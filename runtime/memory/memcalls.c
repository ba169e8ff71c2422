/* SPDX-License-Identifier: MIT */
/*
 * memcalls.c - record memcpy, memmove and memset as a read and a write of a range.
 *
 * Newer clangs call __tsan_memcpy; for older ones and gcc, wrap.c wraps the library's functions.
 *
 * gcc calls __tsan_read_range and __tsan_write_range for a structure copy, and may then call
 * memcpy for the copy itself.  That is one copy, not two: a call whose ranges are the last ones
 * that this thread recorded is not recorded again.
 */
#include "copy.h"
#include "access_record.h"

void *dlsym(void *handle, const char *name) __attribute__((weak));
#define NEXT ((void *)-1L)

/* The last @back units of this thread; NULL: they are not all in the current chunk. */
static const struct crw_unit *memcalls_recent(uint32_t back)
{
	uint64_t cur = crt_self.cur, in = cur & (CRW_CHUNK_SIZE - 1);

	if ((cur & CRT_OVER) || in < 64 + (uint64_t)back * CRW_UNIT)
		return NULL;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a position is an address */
	return (const struct crw_unit *)(cur - (uint64_t)back * CRW_UNIT);
}

static int is_range(const struct crw_unit *u, const void *at, size_t n, unsigned code)
{
	return u[0].w0 == CRT_AT(at) && CRW_CODE(u[0].w1) == code && u[1].w0 == n &&
	       (u[1].w1 & ~CRW_ROUND) == CRW_W1(CRW_EXTENT, 1);
}

void __cacheray_copied(const void *to, const void *from, size_t n, uint64_t pc)
{
	const struct crw_unit *u = memcalls_recent(4);

	/* Compilers report the two ranges of a structure in either order. */
	if (u &&
	    ((is_range(u, from, n, CRW_RANGE) &&
	      is_range(u + 2, to, n, CRW_RANGE | CRW_IS_WRITE)) ||
	     (is_range(u, to, n, CRW_RANGE | CRW_IS_WRITE) && is_range(u + 2, from, n, CRW_RANGE))))
		return;
	crt_extent(CRT_AT(from), CRW_RANGE, pc, n, 3);
	crt_extent(CRT_AT(to), CRW_RANGE | CRW_IS_WRITE, pc, n, 3);
}

void __cacheray_filled(const void *to, size_t n, uint64_t pc)
{
	const struct crw_unit *u = memcalls_recent(2);

	if (u && is_range(u, to, n, CRW_RANGE | CRW_IS_WRITE))
		return;
	crt_extent(CRT_AT(to), CRW_RANGE | CRW_IS_WRITE, pc, n, 3);
}

/* libc's functions once they are found: faster than the runtime's for small sizes. */
typedef void *copier(void *, const void *, size_t);
typedef void *filler(void *, int, size_t);
static copier *libc_memcpy = crt_memcpy, *libc_memmove = crt_memmove;
static filler *libc_memset = crt_memset;

__attribute__((constructor)) static void memcalls_look_up(void)
{
	copier *c;
	filler *f;

	if (!dlsym)
		return;
	c = (copier *)dlsym(NEXT, "memcpy");
	libc_memcpy = c ? c : libc_memcpy;
	c = (copier *)dlsym(NEXT, "memmove");
	libc_memmove = c ? c : libc_memmove;
	f = (filler *)dlsym(NEXT, "memset");
	libc_memset = f ? f : libc_memset;
}

CRT_API void *__tsan_memcpy(void *to, const void *from, size_t n);
CRT_API void *__tsan_memmove(void *to, const void *from, size_t n);
CRT_API void *__tsan_memset(void *to, int c, size_t n);

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return libc_memcpy(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return libc_memmove(to, from, n);
}

void *__tsan_memset(void *to, int c, size_t n)
{
	__cacheray_filled(to, n, CRT_PC);
	return libc_memset(to, c, n);
}
