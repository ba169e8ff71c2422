/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - type annotations: added, removed, and removed when the memory is freed.
 *
 * Each annotation takes a ticket and changes the word that every thread checks before an access
 * (record.h), so no access of any thread is recorded on the wrong side of it.
 *
 * The table has a cell per annotated address, indexed by the address itself: neighbours in memory
 * are neighbours in the table, so its resident memory is in proportion to what is annotated.
 * Cells are claimed and released by compare-and-swap and never move, so a thread that frees
 * memory looks them up without a lock.
 */
#include "annotate.h"

#include "corotracer/cacheray.h"
#include "trace_session.h"
#include "sys.h"

#define CELLS (UINT64_C(1) << 22) /* 32 MiB of address space; pages in use take memory */
#define WALK  256u                /* cells to probe */
#define TOMB  UINT64_C(1)         /* released cell: probing continues past it */

uint64_t crt_annotated;
static void *cells_made; /* [threads] */
static uint32_t full_said;

static uint64_t *annotate_table(void)
{
	return crt_memory_once(&cells_made, CELLS * sizeof(uint64_t));
}

static uint64_t *annotate_cell(uint64_t *t, uint64_t address, uint64_t i)
{
	return &t[((address >> 4) + i) & (CELLS - 1)];
}

/* Remove @address from the table.  True if it was there. */
static bool annotate_remove(uint64_t address)
{
	/* (mem-I) pairs with the release in crt_memory_once(). */
	uint64_t *t = __atomic_load_n(&cells_made, __ATOMIC_ACQUIRE);
	uint64_t i;

	for (i = 0; t && i < WALK; i++) {
		uint64_t have = __atomic_load_n(annotate_cell(t, address, i), __ATOMIC_RELAXED);

		if (have == 0)
			return false;
		if (have == address &&
		    __atomic_compare_exchange_n(annotate_cell(t, address, i), &have, TOMB, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&crt_annotated, 1, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}

static void annotate_remember(uint64_t address)
{
	uint64_t *t = annotate_table(), i;

	for (i = 0; t && i < WALK; i++) {
		uint64_t have = __atomic_load_n(annotate_cell(t, address, i), __ATOMIC_RELAXED);

		if (have > TOMB)
			continue;
		if (__atomic_compare_exchange_n(annotate_cell(t, address, i), &have, address, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&crt_annotated, 1, __ATOMIC_RELAXED);
			return;
		}
		i--; /* another thread claimed it: check it again */
	}
	if (!__atomic_exchange_n(&full_said, 1, __ATOMIC_RELAXED))
		crt_say("too many annotations: some will not be removed when their memory is freed",
			NULL);
}

static void put_remove(uint64_t address, uint64_t pc)
{
	uint64_t ticket = crt_self.ticket = crt_ticket();

	crt_put_long(CRW_REMOVE, address, pc, &ticket, sizeof(ticket), NULL, 0);
	crt_self.ticket = 0;
}

void crt_annotate(uint64_t address, uint64_t elem_size, uint64_t count, const char *type,
		  uint64_t pc)
{
	uint64_t fields[3] = { 0, elem_size, count };
	uint64_t length = type ? crt_length(type) : 0;
	struct crt_mask mask;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return;
	if (length > CRW_NAME_MAX)
		length = CRW_NAME_MAX;
	/* An annotation from a signal handler between ticket and record would reverse the order. */
	mask = crt_signals_off();
	if (annotate_remove(address))
		put_remove(address, pc);
	fields[0] = crt_self.ticket = crt_ticket();
	if (crt_put_long(CRW_ADD, address, pc, fields, sizeof(fields), type, (uint32_t)length))
		annotate_remember(address);
	crt_self.ticket = 0;
	crt_signals_back(mask);
}

void crt_unannotate(uint64_t address, uint64_t pc)
{
	struct crt_mask mask;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return;
	if (!__atomic_load_n(&cells_made, __ATOMIC_RELAXED))
		return;
	mask = crt_signals_off();
	if (annotate_remove(address))
		put_remove(address, pc);
	crt_signals_back(mask);
}

CRT_API void cacheray_rtta_add(const void *address, size_t elem_size, size_t elem_count,
			       const char *type)
{
	if (address && elem_size && elem_count)
		crt_annotate(CRT_AT(address), elem_size, elem_count, type, CRT_PC);
}

CRT_API void cacheray_rtta_remove(const void *address)
{
	crt_unannotate(CRT_AT(address), CRT_PC);
}

CRT_API void cacheray_mark(unsigned long value, const char *text)
{
	uint64_t length = text ? crt_length(text) : 0;

	crt_put_long(CRW_MARK, value, CRT_PC, text ? text : "",
		     (uint32_t)(length > CRW_PAYLOAD_MAX ? CRW_PAYLOAD_MAX : length), NULL, 0);
}

/* Called by the existing Cacheray compiler pass after each call of the allocator. */
CRT_API void __malloc_recorded(long bytes, char *type, void *p);
CRT_API void __calloc_recorded(long nmemb, long size, char *type, void *p);
CRT_API void __realloc_recorded(void *old, long size, char *type, void *p);
CRT_API void __free_recorded(void *p);

void __malloc_recorded(long bytes, char *type, void *p)
{
	if (p && bytes > 0)
		crt_annotate(CRT_AT(p), (uint64_t)bytes, 1, type, CRT_PC);
}

void __calloc_recorded(long nmemb, long size, char *type, void *p)
{
	if (p && nmemb > 0 && size > 0)
		crt_annotate(CRT_AT(p), (uint64_t)size, (uint64_t)nmemb, type, CRT_PC);
}

void __realloc_recorded(void *old, long size, char *type, void *p)
{
	if (old && (p || size == 0))
		crt_unannotate(CRT_AT(old), CRT_PC);
	if (p && size > 0)
		crt_annotate(CRT_AT(p), (uint64_t)size, 1, type, CRT_PC);
}

/* Needed only when free() is not the one in heap.c, which already removes the annotation. */
void __free_recorded(void *p)
{
	if (p)
		crt_unannotate(CRT_AT(p), CRT_PC);
}
