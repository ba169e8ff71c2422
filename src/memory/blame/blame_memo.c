/* SPDX-License-Identifier: MIT */
/* blame_memo.c - accesses that count as an earlier access of the same code did. */
#include "memory/blame/blame_memo.h"

#include <stdlib.h>
#include <string.h>

#include "memory/blame/blame_state.h"

#define CODE_BITS  12u
#define CODE_MEMOS (1u << CODE_BITS)
#define PLACE_BITS 15u
#define PLACE_SETS (1u << (PLACE_BITS - 1)) /* of two memos */
#define MEMO_COUNT (CODE_MEMOS + 2 * PLACE_SETS)
#define PAGE_BITS  12u
#define PAGE_MARKS 4096u /* a power of two */

enum memo_kind {
	MEMO_FREE,
	MEMO_ADDRESS, /* accesses to one address */
	MEMO_FIELD,   /* to a place in elements of blocks of one site and size */
	MEMO_BLOCK,   /* anywhere in such blocks */
};

struct blame_memo {
	uint64_t pc;
	uint64_t key;        /* memo_key() */
	uint64_t size;       /* of the block */
	uint64_t first, end; /* of the elements, from the start of the block */
	uint64_t stride;     /* from element to element; 0: there is only one */
	uint64_t offset;     /* from the start of the element */
	uint32_t site;       /* of the block */
	uint8_t kind;        /* enum memo_kind */
	bool has_block;      /* the address is in a block of `site` */
	uint64_t address;    /* MEMO_ADDRESS */
	struct replay_tally hits;
	struct blame_counts counts; /* not in the tables yet */
	struct address_owner place;
	struct blame_found to;
};

struct blame_memos {
	struct blame_memo by_pc[CODE_MEMOS];
	struct blame_memo by_place[PLACE_SETS][2]; /* if another place has the one by pc */
	struct blame_memo *used[MEMO_COUNT];
	uint32_t nr_used, turn;
	bool is_loose;             /* there are memos by address in blocks */
	bool has_pages;            /* any of `pages` is set */
	uint8_t pages[PAGE_MARKS]; /* 1: there may be a memo by address */
};

struct blame_memos *blame_memos_new(void)
{
	return calloc(1, sizeof(struct blame_memos));
}

static uint64_t memo_key(const struct mem_record *r)
{
	return (uint64_t)r->thread << 32 | (uint32_t)r->size << 8 | r->kind;
}

static struct blame_memo *memo_of_code(struct blame_memos *all, uint64_t pc)
{
	return &all->by_pc[pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CODE_BITS)];
}

/* The two memos that may be for code and a place. */
static struct blame_memo *memos_of_place(struct blame_memos *all, uint64_t pc, uint64_t place)
{
	uint64_t hash = (pc ^ place * UINT64_C(0xbf58476d1ce4e5b9)) * UINT64_C(0x9e3779b97f4a7c15);

	return all->by_place[hash >> (64 - PLACE_BITS + 1)];
}

/* The block of an access: `end` is 0 if there is none, or annotations are in force. */
static void memo_find_block(struct blame *b, const struct mem_record *r, struct heap_block *block)
{
	if (!mem_places_is_plain(b->places) ||
	    !heap_blocks_find(mem_places_blocks(b->places), r->address, r->pc, block))
		*block = (struct heap_block){ 0 };
}

static uint64_t memo_place(const struct heap_block *block, uint64_t at)
{
	return ((uint64_t)block->site << 40) ^ ((block->end - block->start) << 20) ^ at;
}

/* ---- searches ------------------------------------------------------------------ */

static bool memo_has_place(const struct blame_memo *m, const struct mem_record *r,
			   const struct heap_block *block)
{
	uint64_t at = r->address - block->start;

	if (m->kind == MEMO_ADDRESS)
		return r->address == m->address;
	if (!block->end || block->site != m->site || block->end - block->start != m->size ||
	    at < m->first || at >= m->end || m->end - at < r->size)
		return false;
	if (m->kind == MEMO_BLOCK)
		return true;
	at -= m->first;
	return (at < m->stride || !m->stride ? at : at % m->stride) == m->offset;
}

static bool memo_is_of(const struct blame_memo *m, const struct mem_record *r, uint64_t key,
		       const struct heap_block *block)
{
	return m->kind && m->pc == r->pc && m->key == key && memo_has_place(m, r, block);
}

/* One of two memos. */
static struct blame_memo *memo_choose(struct blame_memo *m, const struct mem_record *r,
				      uint64_t key, const struct heap_block *block)
{
	if (memo_is_of(m, r, key, block))
		return m;
	return memo_is_of(m + 1, r, key, block) ? m + 1 : NULL;
}

/* The memo for an access; NULL: none. */
static struct blame_memo *memo_find(struct blame_memos *all, const struct mem_record *r,
				    const struct heap_block *block)
{
	uint64_t key = memo_key(r);
	struct blame_memo *m = memo_of_code(all, r->pc);

	if (memo_is_of(m, r, key, block))
		return m;
	if (!block->end)
		return memo_choose(memos_of_place(all, r->pc, r->address), r, key, block);
	m = memo_choose(memos_of_place(all, r->pc, memo_place(block, 0)), r, key, block);
	if (m)
		return m;
	return memo_choose(memos_of_place(all, r->pc, memo_place(block, r->address - block->start)),
			   r, key, block);
}

/* ---- counts --------------------------------------------------------------------- */

static void memo_count_misses(const struct blame *b, struct blame_counts *c,
			      const struct sim_outcome *out, uint64_t weight)
{
	uint32_t i;

	for (i = 0; i < b->config.nr_levels; i++)
		c->misses[i] += out->level[i].misses * weight;
	for (i = 0; i < SIM_CLASSES; i++)
		c->by_class[i] += out->level[0].by_class[i] * weight;
	c->from_peer += out->from_peer * weight;
}

/*
 * blame_alike() follows.  In a block without fields, and in one whose type the instruction says,
 * all accesses of one instruction count alike; else fields depend on the offset.
 */
static void memo_note_alike(struct blame *b, const struct blame_memo *m,
			    const struct heap_block *block)
{
	bool is_block = m->kind == MEMO_BLOCK;

	b->alike_start = is_block ? block->start + m->first : 0;
	b->alike_end = is_block ? block->start + m->end : 0;
}

/*
 * From the first miss of the code on, misses can be added up without a look at the memo: that one
 * names the owner of its site.
 */
static void memo_take_misses(const struct blame *b, struct blame_memo *m)
{
	if (m->to.site->owner == UINT32_MAX)
		return;
	m->hits.misses = m->counts.misses;
	m->hits.classes = b->config.no_classes ? NULL : m->counts.by_class;
}

bool blame_memos_count(struct blame *b, const struct mem_record *r, const struct sim_outcome *out)
{
	uint64_t weight = r->weight_256 ? r->weight_256 : BLAME_ONE;
	struct heap_block block;
	struct blame_memo *m;

	/* What other cores do is told line by line. */
	if (out->invalidated || out->level[0].by_class[SIM_COHERENCE])
		return false;
	memo_find_block(b, r, &block);
	m = memo_find(b->memos, r, &block);
	if (!m)
		return false;
	*(r->kind == MEM_WRITE ? &m->counts.writes : &m->counts.reads) += weight;
	if (out->level[0].misses) {
		memo_count_misses(b, &m->counts, out, weight);
		if (m->to.site->owner == UINT32_MAX)
			m->to.site->owner = m->to.owner->owner;
		memo_take_misses(b, m);
	}
	b->last_tally = &m->hits;
	memo_note_alike(b, m, &block);
	return true;
}

/* Add the sums of a memo to the tables, which have had an access like these. */
static void memo_settle(struct blame *b, struct blame_memo *m)
{
	struct blame_counts *const to[] = {
		&m->to.owner->counts,
		m->to.field ? &m->to.field->counts : NULL,
		m->to.line,
		&m->to.site->counts,
		&b->total,
		blame_coroutine_counts(b, (uint32_t)(m->key >> 32)),
		m->has_block ? blame_allocation_counts(b, m->site) : NULL,
	};
	size_t i;

	*((uint8_t)m->key == MEM_WRITE ? &m->counts.writes
				       : &m->counts.reads) += m->hits.weight_256;
	m->hits = (struct replay_tally){ .stamp = m->hits.stamp + 1 };
	for (i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		if (to[i])
			blame_add_counts(to[i], &m->counts);
	}
	if (m->to.heap) { /* has misses only */
		m->counts.reads = m->counts.writes = 0;
		blame_add_counts(m->to.heap, &m->counts);
	}
	memset(&m->counts, 0, sizeof(m->counts));
}

void blame_memos_settle(struct blame *b)
{
	struct blame_memos *all = b->memos;
	uint32_t i;

	for (i = 0; i < all->nr_used; i++) {
		memo_settle(b, all->used[i]);
		all->used[i]->kind = MEMO_FREE;
	}
	all->nr_used = 0;
	if (all->has_pages)
		memset(all->pages, 0, sizeof(all->pages));
	all->has_pages = all->is_loose = false;
}

/* ---- new memos ------------------------------------------------------------------- */

/* Fill in for which blocks the memo is, and where in them; false: that is not certain. */
static bool memo_is_for_block(const struct blame *b, const struct mem_record *r,
			      const struct heap_block *block, struct blame_memo *m)
{
	const struct address_owner *place = &m->place;
	enum owner_kind kind = mem_places_owner(b->places, place->owner)->kind;

	m->size = block->end - block->start;
	m->end = m->size;
	m->kind = MEMO_BLOCK;
	if (place->typed == TYPED_BY_VOTE) {
		if (place->start < block->start || place->end > block->end)
			return false;
		m->first = place->start - block->start;
		m->end = place->end - block->start;
		m->stride = place->stride;
		m->offset = place->offset;
		m->kind = kind == OWNER_RECORD ? MEMO_FIELD : MEMO_BLOCK;
	} else if ((!place->typed && kind != OWNER_SITE) || mem_places_has_vote(b->places, block)) {
		return false;
	}
	return block->end - r->address >= r->size;
}

/* The slot for a new memo, emptied. */
static struct blame_memo *memo_slot(struct blame *b, const struct blame_memo *memo)
{
	const struct heap_block block = { 0, memo->size, memo->site };
	struct blame_memos *all = b->memos;
	struct blame_memo *m = memo_of_code(all, memo->pc);

	if (m->kind) {
		uint64_t place = memo->kind == MEMO_ADDRESS ? memo->address
				 : memo->kind == MEMO_BLOCK ? memo_place(&block, 0)
							    : memo_place(&block, memo->address);

		m = memos_of_place(all, memo->pc, place);
		m += m->kind && (!m[1].kind || all->turn++ % 2);
	}
	if (m->kind)
		memo_settle(b, m);
	else
		all->used[all->nr_used++] = m;
	return m;
}

static void memo_store(struct blame *b, const struct blame_memo *memo)
{
	struct blame_memo *m = memo_slot(b, memo);
	uint64_t stamp = m->hits.stamp;

	*m = *memo;
	m->hits = (struct replay_tally){ .stamp = stamp };
	memo_take_misses(b, m);
	b->last_tally = &m->hits;
}

static void memo_keep_address(struct blame *b, uint64_t address, struct blame_memo *memo)
{
	memo->kind = MEMO_ADDRESS;
	memo->address = address;
	b->memos->pages[(address >> PAGE_BITS) & (PAGE_MARKS - 1)] = 1;
	b->memos->has_pages = true;
	b->memos->is_loose |= memo->has_block;
	memo_store(b, memo);
}

void blame_memos_keep(struct blame *b, const struct mem_record *r, const struct blame_found *found)
{
	struct blame_memo memo = {
		.pc = r->pc, .key = memo_key(r), .place = *found->place, .to = *found
	};
	struct heap_block block;

	memo.to.place = NULL;
	memo.has_block = heap_blocks_find(mem_places_blocks(b->places), r->address, r->pc, &block);
	memo.site = memo.has_block ? block.site : 0;
	if (!memo.has_block || !mem_places_is_plain(b->places)) {
		memo_keep_address(b, r->address, &memo);
	} else if (memo_is_for_block(b, r, &block, &memo)) {
		memo.address = r->address - block.start;
		memo_store(b, &memo);
		memo_note_alike(b, &memo, &block);
	}
}

/* ---- records ------------------------------------------------------------------------ */

/* True if there may be a memo by address from @start to @end. */
static bool memo_is_in(const struct blame_memos *all, uint64_t start, uint64_t end)
{
	uint64_t page = start >> PAGE_BITS, last = end >> PAGE_BITS;

	if (!all->has_pages || last - page >= PAGE_MARKS)
		return all->has_pages;
	for (; page <= last; page++) {
		if (all->pages[page & (PAGE_MARKS - 1)])
			return true;
	}
	return false;
}

/*
 * Blocks come and go: memos for blocks ask which block is there.  Those by address are for memory
 * without a block, or with annotations.
 */
void blame_memos_record(struct blame *b, const struct mem_record *r)
{
	uint64_t end = r->address + r->value < r->address ? UINT64_MAX : r->address + r->value;
	bool is_heap = r->kind == MEM_ALLOC || r->kind == MEM_FREE;

	if (r->kind == MEM_CORO || r->kind == MEM_ADD || r->kind == MEM_REMOVE ||
	    (is_heap && b->memos->is_loose) ||
	    (r->kind == MEM_ALLOC && memo_is_in(b->memos, r->address, end)))
		blame_memos_settle(b);
}

void blame_memos_free(struct blame_memos *m)
{
	free(m);
}
