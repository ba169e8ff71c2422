/* SPDX-License-Identifier: MIT */
/*
 * ring_read.c - the consumer's half of the wire: take chunks from a region and check every word.
 *
 * Every loop here is bounded by the geometry that crw_region_open() checked; every offset is
 * computed from it.  What a program wrote decides only which chunks are read.
 */
#include "ring_read.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE        4096u
#define AHEAD_UNITS 128u /* fetched from the cache of the writer meanwhile */

static uint64_t ring_read_round_up(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static bool power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static bool ring_read_is_possible(uint32_t processes, uint32_t slots, uint32_t chunks,
				  uint32_t chunk_size)
{
	return processes >= 1 && processes <= CRW_PROCESSES_MAX && slots >= 1 &&
	       slots <= CRW_SLOTS_MAX && power_of_two(chunks) && chunks >= CRW_CHUNKS_MIN &&
	       chunks <= CRW_CHUNKS_MAX && power_of_two(chunk_size) &&
	       chunk_size >= CRW_CHUNK_MIN && chunk_size <= CRW_CHUNK_MAX;
}

/*
 * Compute the offsets of the parts; every sum fits in 64 bits: 2^16 slots x 2^16 chunks x 2^20
 * bytes.
 */
static void ring_read_places(struct crw_header *h)
{
	h->processes_at = ring_read_round_up(sizeof(*h));
	h->slots_at = ring_read_round_up(h->processes_at +
					 sizeof(struct crw_process) * (uint64_t)h->nr_processes);
	h->rings_at = h->slots_at + sizeof(struct crw_slot) * (uint64_t)h->nr_slots;
	h->rings_at = (h->rings_at + h->chunk_size - 1) / h->chunk_size * h->chunk_size;
	h->size = h->rings_at + (uint64_t)h->nr_slots * h->nr_chunks * h->chunk_size;
}

static bool ring_read_geometry(const struct crw_geometry *g, struct crw_header *h)
{
	if (!ring_read_is_possible(g->nr_processes, g->nr_slots, g->nr_chunks, g->chunk_size))
		return false;
	h->version = CRW_VERSION;
	h->header_size = sizeof(*h);
	h->nr_processes = g->nr_processes;
	h->nr_slots = g->nr_slots;
	h->nr_chunks = g->nr_chunks;
	h->chunk_size = g->chunk_size;
	h->on_full = g->on_full;
	h->consumer_pid = g->consumer_pid;
	h->start_ns = g->start_ns;
	h->features = CRW_FEATURE_CORO | CRW_FEATURE_HEAP | CRW_FEATURE_CALL | CRW_FEATURE_ROUNDS;
	h->wants = g->wants;
	ring_read_places(h);
	return true;
}

uint32_t crw_slots_for(uint32_t nr_chunks, uint32_t chunk_size)
{
	uint32_t nr = CRW_NR_SLOTS;

	while (nr > CRW_NR_SLOTS_LEAST && (uint64_t)nr * nr_chunks * chunk_size > CRW_RINGS_MOST)
		nr /= 2;
	return nr;
}

uint64_t crw_region_size(const struct crw_geometry *g)
{
	struct crw_header h = { 0 };

	return ring_read_geometry(g, &h) ? h.size : 0;
}

void crw_region_init(void *memory, const struct crw_geometry *g)
{
	struct crw_header *header = memory;

	ring_read_geometry(g, header);
	/* (mem-G) pairs with the acquire of the magic in crw_region_open(). */
	__atomic_store_n(&header->magic, CRW_MAGIC, __ATOMIC_RELEASE);
}

const char *crw_region_open(void *memory, uint64_t size, struct crw_region *out)
{
	struct crw_header *header = memory, is, should;

	if (size < sizeof(*header))
		return "it is too short for a header";
	/* (mem-G) pairs with the release in crw_region_init(). */
	if (__atomic_load_n(&header->magic, __ATOMIC_ACQUIRE) != CRW_MAGIC)
		return "it does not start like a region for memory traces";
	__builtin_memcpy(&is, header, sizeof(is));
	if (is.version != CRW_VERSION || is.header_size != sizeof(is))
		return "it is of another version";
	if (!ring_read_is_possible(is.nr_processes, is.nr_slots, is.nr_chunks, is.chunk_size))
		return "its sizes are impossible";
	should = is;
	ring_read_places(&should);
	if (is.processes_at != should.processes_at || is.slots_at != should.slots_at ||
	    is.rings_at != should.rings_at || is.size != should.size || is.size > size)
		return "its parts do not fit together";
	out->base = memory;
	out->header = header;
	out->processes = (struct crw_process *)(out->base + should.processes_at);
	out->slots = (struct crw_slot *)(out->base + should.slots_at);
	out->rings = out->base + should.rings_at;
	out->size = should.size;
	out->nr_processes = is.nr_processes;
	out->nr_slots = is.nr_slots;
	out->nr_chunks = is.nr_chunks;
	out->chunk_size = is.chunk_size;
	out->fault_in = NULL;
	return NULL;
}

void crw_slot_look(const struct crw_region *r, uint32_t index, struct crw_slot_view *out)
{
	struct crw_slot *s = &r->slots[index];
	uint32_t i;

	out->index = index;
	/* (mem-E) pairs with the releases of the slot's thread: the slot's fields are visible. */
	out->state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);
	if (out->state > CRW_ENDED)
		out->state = CRW_FREE;
	out->process = __atomic_load_n(&s->process, __ATOMIC_RELAXED);
	if (out->process >= r->nr_processes)
		out->process = 0;
	out->serial = __atomic_load_n(&s->serial, __ATOMIC_RELAXED);
	out->thread = __atomic_load_n(&s->thread, __ATOMIC_RELAXED);
	out->tid = __atomic_load_n(&s->tid, __ATOMIC_RELAXED);
	out->pid = __atomic_load_n(&s->pid, __ATOMIC_RELAXED);
	out->start_ns = __atomic_load_n(&s->start_ns, __ATOMIC_RELAXED);
	out->end_ns = __atomic_load_n(&s->end_ns, __ATOMIC_RELAXED);
	out->lost_full = __atomic_load_n(&s->lost_full, __ATOMIC_RELAXED);
	out->left_sampled = __atomic_load_n(&s->left_sampled, __ATOMIC_RELAXED);
	out->left_filtered = __atomic_load_n(&s->left_filtered, __ATOMIC_RELAXED);
	for (i = 0; i < sizeof(s->name); i++)
		out->name[i] = __atomic_load_n(&s->name[i], __ATOMIC_RELAXED);
	out->name[i] = '\0';
}

static uint8_t *chunk_of(const struct crw_region *r, uint32_t slot, uint64_t number)
{
	uint64_t at = (uint64_t)slot * r->nr_chunks + (number & (r->nr_chunks - 1));

	return r->rings + at * r->chunk_size;
}

/* A chunk that was not begun may have no page, and no room for one. */
static bool ring_read_has_pages(const struct crw_region *r, uint32_t slot, uint64_t number)
{
	return !r->fault_in ||
	       r->fault_in(chunk_of(r, slot, number), sizeof(struct crw_chunk_head));
}

/* Read the head of the current chunk; false if it is not the expected one. */
static bool chunk_begin(const struct crw_region *r, const struct crw_slot_view *view,
			struct crw_cursor *c, struct crw_taken *out)
{
	__builtin_memcpy(&out->head, chunk_of(r, view->index, c->taken), sizeof(out->head));
	c->round = out->head.round & CRW_ROUND;
	return out->head.number == c->taken && out->head.serial == view->serial &&
	       out->head.thread == view->thread;
}

/*
 * True if a quarter of the ring is free.  A thread that is woken for each chunk sleeps again after
 * a few microseconds.  It looks for room now and then by itself, see wait_for_room().
 */
static bool ring_read_is_roomy(const struct crw_region *r, const struct crw_slot *s, uint64_t taken)
{
	uint64_t ready = __atomic_load_n(&s->sealed, __ATOMIC_RELAXED) - taken;

	return ready <= r->nr_chunks - r->nr_chunks / 4;
}

void crw_publish(const struct crw_region *r, uint32_t slot, const struct crw_cursor *c)
{
	struct crw_slot *s = &r->slots[slot];

	if (__atomic_load_n(&s->taken, __ATOMIC_RELAXED) == c->taken)
		return;
	/* (mem-B) pairs with the acquire of `taken` by the thread, which then overwrites the chunk.
	 */
	__atomic_store_n(&s->taken, c->taken, __ATOMIC_RELEASE);
	/*
	 * (mem-D) pairs with the fence of the thread, between the store of `waiting` and the load
	 * of `taken`.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->waiting, __ATOMIC_RELAXED) && ring_read_is_roomy(r, s, c->taken)) {
		__atomic_fetch_add(&s->room, 1, __ATOMIC_RELAXED);
		syscall(SYS_futex, &s->room, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

/* The current chunk is done. */
static void chunk_end(const struct crw_region *r, uint32_t slot, struct crw_cursor *c)
{
	c->taken++;
	c->offset = 0;
	c->begun = 0;
	if (!c->hold)
		crw_publish(r, slot, c);
}

/* True if a unit is filled.  @mask: CRW_ROUND, or 0 for a chunk without marks. */
static inline bool ring_read_has(const struct crw_unit *u, uint64_t round, uint64_t mask)
{
	uint64_t w1 = __atomic_load_n(&u->w1, __ATOMIC_RELAXED);

	return (w1 != 0) & (((w1 ^ round) & mask) == 0);
}

/* Number of consecutive filled units from @from on, at most @max. */
static uint32_t ring_read_is_full(const struct crw_unit *from, uint32_t max, uint64_t round)
{
	uint64_t mask = round ? CRW_ROUND : 0;
	uint32_t n = 0;

	for (; n + 4 <= max; n += 4) { /* a cache line */
		__builtin_prefetch(&from[n + AHEAD_UNITS]);
		if (!(ring_read_has(&from[n], round, mask) &
		      ring_read_has(&from[n + 1], round, mask) &
		      ring_read_has(&from[n + 2], round, mask) &
		      ring_read_has(&from[n + 3], round, mask)))
			break;
	}
	while (n < max && ring_read_has(&from[n], round, mask))
		n++;
	return n;
}

/* Skip unfilled units from @offset on; returns @units if no filled unit follows. */
static uint32_t past_hole(const struct crw_unit *all, uint32_t offset, uint32_t units,
			  uint64_t round)
{
	uint64_t mask = round ? CRW_ROUND : 0;

	while (offset < units && !ring_read_has(&all[offset], round, mask))
		offset++;
	return offset;
}

/* Find units in the current chunk.  0: none now; *@end: the chunk is done. */
static uint32_t ring_read_look_into(const struct crw_region *r, const struct crw_slot_view *view,
				    struct crw_cursor *c, uint32_t max, bool skip, bool open,
				    struct crw_taken *out, bool *end)
{
	const struct crw_unit *all = (const struct crw_unit *)(chunk_of(r, view->index, c->taken) +
							       sizeof(struct crw_chunk_head));
	uint32_t units = CRW_UNITS(r->chunk_size);
	uint32_t nr = ring_read_is_full(
		all + c->offset, units - c->offset < max ? units - c->offset : max, c->round);

	if (nr == 0 && skip) {
		uint32_t next = past_hole(all, c->offset, units, c->round);

		/* In an unsealed chunk, the units after the last filled one are not a hole. */
		if (!open || next < units) {
			c->holes += next - c->offset;
			c->offset = next;
		}
		nr = ring_read_is_full(all + c->offset,
				       units - c->offset < max ? units - c->offset : max, c->round);
	}
	*end = c->offset == units;
	out->units = all + c->offset;
	out->nr = nr;
	return nr;
}

bool crw_take(const struct crw_region *r, const struct crw_slot_view *view, struct crw_cursor *c,
	      uint32_t max, bool gone, struct crw_taken *out)
{
	struct crw_slot *s = &r->slots[view->index];
	uint32_t rounds;

	for (rounds = 0; rounds <= r->nr_chunks; rounds++) {
		/* (mem-A) pairs with the release of `sealed` by the thread: the units are visible.
		 */
		uint64_t ready = __atomic_load_n(&s->sealed, __ATOMIC_ACQUIRE) - c->taken;
		bool open = ready == 0, end;

		if (ready > r->nr_chunks) { /* corrupt: of an ended thread, read each chunk once */
			c->broken++;
			if (!gone)
				return false;
			ready = r->nr_chunks;
		}
		if (open && !gone)
			return false;
		out->new_chunk = !c->begun;
		if (open && !c->begun && !ring_read_has_pages(r, view->index, c->taken))
			return false;
		if (!c->begun && !chunk_begin(r, view, c, out)) {
			if (open)
				return false;
			c->broken++;
			chunk_end(r, view->index, c);
			continue;
		}
		c->begun = 1;
		if (ring_read_look_into(r, view, c, max, gone || ready > r->nr_chunks / 2, open,
					out, &end))
			return true;
		/* Return the head together with the first units, even if a hole delays them. */
		if (out->new_chunk)
			c->begun = 0;
		if (!end || open)
			return false;
		chunk_end(r, view->index, c);
	}
	return false;
}

void crw_give_back(const struct crw_region *r, const struct crw_slot_view *view,
		   struct crw_cursor *c, uint32_t nr)
{
	uint32_t units = CRW_UNITS(r->chunk_size);

	c->offset = nr > units - c->offset ? units : c->offset + nr;
	if (c->offset == units)
		chunk_end(r, view->index, c);
}

void crw_slot_free(const struct crw_region *r, uint32_t index)
{
	struct crw_slot *s = &r->slots[index];

	__atomic_store_n(&s->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->waiting, 0, __ATOMIC_RELAXED);
	/* (mem-H) pairs with the compare-and-swap of the thread that claims it. */
	__atomic_store_n(&s->state, CRW_FREE, __ATOMIC_RELEASE);
	/* A thread that is missed here looks again soon: see recorder_wait_for_slot(). */
	__atomic_fetch_add(&r->header->freed, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&r->header->seekers, __ATOMIC_RELAXED))
		syscall(SYS_futex, &r->header->freed, FUTEX_WAKE, 1, NULL, NULL, 0);
}
