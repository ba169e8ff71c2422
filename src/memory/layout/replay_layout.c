/* SPDX-License-Identifier: MIT */
/* replay_layout.c - map the accesses of a trace to new layouts, and simulate them. */
#include "memory/layout/replay_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

#define NEW_SPACE  (UINT64_C(1) << 52) /* addresses that no program uses */
#define COLD_SPACE (UINT64_C(1) << 53)
#define LONG_BLOCK (128u << 10) /* allocators map blocks of this size separately */
#define PAGE       4096u
#define SIZE_STEP  16u /* of the chunks of malloc() in glibc */
#define SIZE_HEAD  8u  /* of a chunk, in front of the block */
#define SIZE_LEAST 24u /* of a block */
#define BATCH      1024u
#define RECENT     1024u /* a power of two */
#define NO_LINE    UINT64_MAX

/* A block at a new address. */
struct moved {
	uint64_t start, end; /* old address */
	uint64_t hot, cold;  /* new addresses; cold 0: no cold part */
	uint64_t hot_room, cold_room;
	uint32_t next_free;
};

struct reshaped {
	const struct shape *shape;
	bool moved;
};

struct rerun {
	struct sim *sim;
	struct reshaped *types; /* by type number; shape NULL: unchanged */
	uint32_t types_size;
	struct moved *blocks;
	uint32_t nr_blocks, blocks_size, free_block; /* 1 + index */
	struct u64map by_start;                      /* old start of a moved block to 1 + index */
	uint32_t near[RECENT];                       /* the same without a search: a guess */
	struct u64map free_rooms;                    /* room_of() to 1 + index of a freed range */
	struct moved *rooms;
	uint32_t nr_rooms, rooms_size, free_room;
	uint64_t next_hot, next_cold;

	struct mem_access *batch;
	uint32_t nr_batch, thread, weight_256;
	bool has_thread; /* `thread` made accesses */

	/* Of each set of the first level, the line used last: twice its number, plus 1 if written.
	 */
	uint64_t *recent; /* NULL: every access is simulated */
	uint32_t sets, line_shift;
};

/* ---- accesses that change nothing --------------------------------------------- */

uint64_t rerun_sets(const struct sim_config *c)
{
	const struct sim_level_config *first = &c->level[0];

	return first->ways ? first->size / first->line / first->ways : 1;
}

bool rerun_can_skip(const struct sim_config *c)
{
	uint64_t sets = rerun_sets(c);
	uint32_t k;

	for (k = 0; k < c->nr_levels; k++) {
		const struct sim_level_config *l = &c->level[k];

		if (l->write_through || l->no_allocate || l->inclusion != SIM_NON_INCLUSIVE ||
		    l->prefetch != SIM_PREFETCH_NONE)
			return false;
	}
	return c->level[0].policy == SIM_LRU && sets && !(sets & (sets - 1)) && sets < UINT32_MAX;
}

static void rerun_forget_lines(struct rerun *r)
{
	uint32_t i;

	for (i = 0; r->recent && i < r->sets; i++)
		r->recent[i] = NO_LINE;
}

static int rerun_start_skipping(struct rerun *r, const struct sim_config *c)
{
	if (!rerun_can_skip(c))
		return 0;
	r->sets = (uint32_t)rerun_sets(c);
	r->line_shift = (uint32_t)__builtin_ctz(c->level[0].line);
	r->recent = malloc(r->sets * sizeof(*r->recent));
	rerun_forget_lines(r);
	return r->recent ? 0 : -ENOMEM;
}

/* True if the access changes nothing; else it is noted. */
static bool rerun_skips(struct rerun *r, uint64_t address, uint32_t size, bool write)
{
	uint64_t line = address >> r->line_shift, last = (address + size - 1) >> r->line_shift;
	uint64_t *known = &r->recent[line & (r->sets - 1)];

	if (line == last && *known >> 1 == line && (*known & 1 || !write))
		return true;
	if (!size)
		return false;
	for (; line <= last; line++) {
		known = &r->recent[line & (r->sets - 1)];
		*known = line << 1 | (*known >> 1 == line && *known & 1) | write;
	}
	return false;
}

struct rerun *rerun_new(const struct sim_config *config, struct err *err)
{
	struct rerun *r = calloc(1, sizeof(*r));

	if (r)
		r->batch = calloc(BATCH, sizeof(*r->batch));
	if (!r || !r->batch) {
		err_set(err, -ENOMEM, "no memory to replay the trace");
		rerun_free(r);
		return NULL;
	}
	r->next_hot = NEW_SPACE;
	r->next_cold = COLD_SPACE;
	r->weight_256 = 256;
	r->sim = sim_new(config, err);
	if (r->sim && rerun_start_skipping(r, config) == 0)
		return r;
	if (r->sim)
		err_set(err, -ENOMEM, "no memory to replay the trace");
	rerun_free(r);
	return NULL;
}

int rerun_shape(struct rerun *r, const struct shape *s, bool moved)
{
	uint32_t number = s->pieces->type, size = r->types_size ? r->types_size : 64;
	struct reshaped *more;

	while (size <= number)
		size *= 2;
	if (size > r->types_size) {
		more = realloc(r->types, size * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + r->types_size, 0, (size - r->types_size) * sizeof(*more));
		r->types = more;
		r->types_size = size;
	}
	r->types[number] = (struct reshaped){ s, moved || shape_moves(s) };
	return 0;
}

/* ---- blocks that move ---------------------------------------------------- */

static uint64_t rerun_round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* The bytes of the block that malloc() gives for @bytes: all sizes of a class are one. */
static uint64_t rerun_class_room(uint64_t bytes)
{
	if (bytes < SIZE_LEAST)
		return SIZE_LEAST;
	return rerun_round_up(bytes + SIZE_HEAD, SIZE_STEP) - SIZE_HEAD;
}

/* Allocate a range of new addresses.  Long blocks and variables keep their offset in a page. */
static uint64_t rerun_take(uint64_t *next, uint64_t bytes, uint64_t was, uint32_t align,
			   bool packed)
{
	uint64_t at;

	if (packed) {
		at = rerun_round_up(*next + SIZE_HEAD, align > SIZE_STEP ? align : SIZE_STEP);
		*next = at + bytes;
	} else {
		at = rerun_round_up(*next, PAGE) +
		     (align > 16 ? rerun_round_up(was % PAGE, align) : was % PAGE);
		*next = at + bytes;
	}
	return at;
}

static uint64_t room_of(const struct moved *m)
{
	return m->hot_room << 20 ^ m->cold_room;
}

/* Reuse a freed range of the same size, the most recently freed first. */
static bool use_again(struct rerun *r, struct moved *m)
{
	uint64_t *head = u64map_at(&r->free_rooms, room_of(m));
	uint32_t index = head ? (uint32_t)*head : 0;
	struct moved *room;

	if (!index)
		return false;
	room = &r->rooms[index - 1];
	if (room->hot_room != m->hot_room || room->cold_room != m->cold_room)
		return false;
	m->hot = room->hot;
	m->cold = room->cold;
	*head = room->next_free;
	room->next_free = r->free_room;
	r->free_room = index;
	return true;
}

static int rerun_give_back(struct rerun *r, const struct moved *m)
{
	uint64_t *head = u64map_at(&r->free_rooms, room_of(m));
	uint32_t index = r->free_room;

	if (!head)
		return -ENOMEM;
	if (index) {
		r->free_room = r->rooms[index - 1].next_free;
	} else {
		if (r->nr_rooms == r->rooms_size) {
			uint32_t size = r->rooms_size ? r->rooms_size * 2 : 64;
			void *more = realloc(r->rooms, size * sizeof(*r->rooms));

			if (!more)
				return -ENOMEM;
			r->rooms = more;
			r->rooms_size = size;
		}
		index = ++r->nr_rooms;
	}
	r->rooms[index - 1] = *m;
	r->rooms[index - 1].next_free = (uint32_t)*head;
	*head = index;
	return 0;
}

static struct moved *new_block(struct rerun *r, uint32_t *index)
{
	if (r->free_block) {
		*index = r->free_block;
		r->free_block = r->blocks[*index - 1].next_free;
		return &r->blocks[*index - 1];
	}
	if (r->nr_blocks == r->blocks_size) {
		uint32_t size = r->blocks_size ? r->blocks_size * 2 : 64;
		void *more = realloc(r->blocks, size * sizeof(*r->blocks));

		if (!more)
			return NULL;
		r->blocks = more;
		r->blocks_size = size;
	}
	*index = ++r->nr_blocks;
	return &r->blocks[*index - 1];
}

/* Remove the mapping of the block that started at @start. */
static int rerun_remove(struct rerun *r, uint64_t start)
{
	uint64_t index;
	struct moved *m;

	if (!u64map_get(&r->by_start, start, &index))
		return 0;
	u64map_remove(&r->by_start, start);
	m = &r->blocks[index - 1];
	if (rerun_give_back(r, m) < 0)
		return -ENOMEM;
	m->start = m->end = UINT64_MAX; /* it is not found as a recent one */
	m->next_free = r->free_block;
	r->free_block = (uint32_t)index;
	return 0;
}

/* Bytes of the hot part.  Bytes after the type in a longer element stay after it. */
static uint64_t element_bytes(const struct shape *s, uint64_t stride)
{
	uint64_t behind = stride > s->pieces->of->size ? stride - s->pieces->of->size : 0;
	uint32_t tail = s->pieces->tail;

	if (tail != NO_PIECE && stride > s->pieces->list[tail].offset)
		return rerun_round_up(s->offset[tail] + stride - s->pieces->list[tail].offset,
				      s->align);
	return behind ? rerun_round_up(s->bytes + behind, s->align) : s->bytes;
}

/* Where the number of a block that was found is kept. */
static uint32_t *rerun_near(struct rerun *r, uint64_t start)
{
	return &r->near[start * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (RECENT - 1)];
}

static const struct moved *rerun_find_block(struct rerun *r, const struct shape *s,
					    const struct address_owner *place)
{
	uint64_t count = place->stride ? (place->end - place->start) / place->stride : 1, index;
	struct moved *m, found = { .start = place->start, .end = place->end };
	uint32_t number;
	bool packed;

	if (u64map_get(&r->by_start, place->start, &index)) {
		m = &r->blocks[index - 1];
		if (m->end == place->end) {
			*rerun_near(r, place->start) = (uint32_t)index;
			return m;
		}
		if (rerun_remove(r, place->start) < 0)
			return NULL;
	}
	count = count ? count : 1;
	found.hot_room = count * element_bytes(s, place->stride);
	found.cold_room = s->nr_cold ? count * s->cold_bytes : 0;
	packed = (place->annotated || place->typed) && found.hot_room < LONG_BLOCK;
	if (packed) {
		found.hot_room = rerun_class_room(found.hot_room);
		found.cold_room = s->nr_cold ? rerun_class_room(found.cold_room) : 0;
	}
	if (!use_again(r, &found)) {
		found.hot = rerun_take(&r->next_hot, found.hot_room, place->start, s->align,
				       packed);
		if (s->nr_cold)
			found.cold = rerun_take(&r->next_cold, found.cold_room, place->start,
						s->cold_align, packed);
	}
	m = new_block(r, &number);
	if (!m || u64map_put(&r->by_start, place->start, number) < 0)
		return NULL;
	*m = found;
	*rerun_near(r, place->start) = number;
	return m;
}

static const struct moved *moved_block(struct rerun *r, const struct shape *s,
				       const struct address_owner *place)
{
	uint32_t near = *rerun_near(r, place->start);

	if (near && r->blocks[near - 1].start == place->start &&
	    r->blocks[near - 1].end == place->end)
		return &r->blocks[near - 1];
	return rerun_find_block(r, s, place);
}

/* ---- accesses ------------------------------------------------------------ */

static int rerun_flush(struct rerun *r)
{
	int ret = r->nr_batch ? sim_run(r->sim, r->thread, r->batch, r->nr_batch) : 0;

	r->nr_batch = 0;
	return ret;
}

static int rerun_put(struct rerun *r, uint64_t address, uint64_t size, bool write)
{
	if (r->recent && rerun_skips(r, address, (uint8_t)size, write))
		return 0;
	r->batch[r->nr_batch++] = (struct mem_access){ .address = address,
						       .size = (uint8_t)size,
						       .is_write = write };
	return r->nr_batch == BATCH ? rerun_flush(r) : 0;
}

/*
 * The new offset of offset @at of an element.  *@run: bytes that stay contiguous; *@cold: it is
 * in the cold part.
 */
static uint64_t rerun_is_shifted(const struct shape *s, uint64_t at, uint64_t *run, bool *cold)
{
	const struct pieces *p = s->pieces;
	uint32_t n = pieces_at(p, at), i;
	uint64_t inside;

	*cold = false;
	if (n == NO_PIECE) { /* padding, or past the type */
		*run = 1;
		return at >= p->of->size ? at - p->of->size + s->bytes : at < s->bytes ? at : 0;
	}
	inside = at - p->list[n].offset;
	if (n == p->tail && s->size[n] == p->list[n].size) { /* up to the end of the element */
		*run = UINT32_MAX;
		return s->offset[n] + inside;
	}
	*run = p->list[n].size - inside;
	if (s->size[n] != p->list[n].size) { /* resized member: scale the offset */
		*run = 1;
		inside = inside * s->size[n] / p->list[n].size;
	}
	for (i = 0; i < s->nr_cold && !*cold; i++)
		*cold = s->order[p->nr - 1 - i] == n;
	return s->offset[n] + inside;
}

struct layout_target {
	uint64_t hot, cold; /* of the element */
};

static int find_target(struct rerun *r, const struct reshaped *t, uint64_t address,
		       const struct address_owner *place, struct layout_target *out)
{
	const struct moved *m;

	if (!t->moved) {
		out->hot = address - place->offset;
		out->cold = 0;
		return 0;
	}
	m = moved_block(r, t->shape, place);
	if (!m)
		return -ENOMEM;
	out->hot = m->hot + place->index * element_bytes(t->shape, place->stride);
	out->cold = m->cold + place->index * t->shape->cold_bytes;
	return 0;
}

/* The part of an access that is in one element: offsets @at to @end. */
static int put_element(struct rerun *r, const struct shape *s, const struct layout_target *target,
		       uint64_t at, uint64_t end, bool write)
{
	uint64_t run, to, more;
	bool cold, next_cold;

	while (at < end) {
		to = rerun_is_shifted(s, at, &run, &cold);
		/* Bytes that stay adjacent are one access. */
		while (at + run < end &&
		       rerun_is_shifted(s, at + run, &more, &next_cold) == to + run &&
		       next_cold == cold)
			run += more;
		run = at + run > end ? end - at : run;
		if (cold && s->by_pointer && rerun_put(r, target->hot + s->pointer, 8, false) < 0)
			return -ENOMEM;
		if (rerun_put(r, (cold ? target->cold : target->hot) + to, run, write) < 0)
			return -ENOMEM;
		at += run;
	}
	return 0;
}

static int put_reshaped(struct rerun *r, const struct reshaped *t, const struct mem_access *a,
			const struct address_owner *place)
{
	uint64_t address = a->address, left = a->size, end;
	bool write = a->is_write;
	struct address_owner here = *place;
	struct layout_target target;

	while (left && address < place->end) {
		if (find_target(r, t, address, &here, &target) < 0)
			return -ENOMEM;
		end = here.offset + left < here.stride ? here.offset + left : here.stride;
		if (put_element(r, t->shape, &target, here.offset, end, write) < 0)
			return -ENOMEM;
		address += end - here.offset;
		left -= end - here.offset;
		here.index++;
		here.offset = 0;
	}
	return left ? rerun_put(r, address, left, write) : 0;
}

/* The accesses that follow are those of @thread. */
static int rerun_switch(struct rerun *r, uint32_t thread, uint32_t weight_256)
{
	bool is_other = thread != r->thread;

	if (!is_other && weight_256 == r->weight_256) {
		r->has_thread = true;
		return 0;
	}
	if (rerun_flush(r) < 0)
		return -ENOMEM;
	if (is_other && r->has_thread) {
		rerun_forget_lines(r); /* the other thread may take them away */
		if (!sim_config_of(r->sim)->no_sharing) {
			free(r->recent); /* all accesses to a shared line count */
			r->recent = NULL;
		}
	}
	r->has_thread = true;
	r->thread = thread;
	if (weight_256 != r->weight_256)
		sim_weight(r->sim, weight_256 ? weight_256 : 256);
	r->weight_256 = weight_256;
	return 0;
}

bool rerun_reshapes(const struct rerun *r, const struct owner *owner)
{
	return owner->kind == OWNER_RECORD && owner->type < r->types_size &&
	       r->types[owner->type].shape;
}

/* An access in one line, without branches: which ones are skipped is hard to predict. */
static inline uint32_t rerun_keep_one(struct rerun *r, const struct mem_access *a, uint64_t line)
{
	uint64_t *known = &r->recent[line & (r->sets - 1)];
	uint64_t is_same = *known >> 1 == line, written = is_same & *known;
	uint64_t is_skipped = is_same & (written | !a->is_write);

	*known = line << 1 | (written & 1) | a->is_write;
	r->batch[r->nr_batch] = *a;
	return !is_skipped;
}

/* Accesses that all keep their address. */
static int rerun_keep(struct rerun *r, const struct mem_access *access, size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	int ret = 0;

	for (; a < end && ret == 0; a++) {
		uint64_t line = a->address >> r->line_shift;

		if (r->recent && (a->address + a->size - 1) >> r->line_shift == line) {
			r->nr_batch += rerun_keep_one(r, a, line);
		} else {
			r->batch[r->nr_batch++] = *a;
			if (r->recent)
				rerun_skips(r, a->address, a->size, a->is_write);
		}
		if (r->nr_batch == BATCH)
			ret = rerun_flush(r);
	}
	return ret;
}

/* An object whose start is not known does not move. */
static bool rerun_moves(const struct rerun *r, const struct owner *owner,
			const struct address_owner *place, uint32_t size)
{
	return rerun_reshapes(r, owner) && size && place->typed != TYPED_IN_ARRAY;
}

int rerun_accesses(struct rerun *r, uint32_t thread, uint32_t weight_256,
		   const struct mem_access *access, size_t nr, const struct rerun_place *places,
		   size_t nr_places)
{
	size_t at = 0, i;

	if (rerun_switch(r, thread, weight_256) < 0)
		return -ENOMEM;
	for (i = 0; i < nr_places; i++) {
		const struct rerun_place *p = &places[i];

		if (!rerun_moves(r, p->owner, &p->place, access[p->index].size))
			continue;
		if (rerun_keep(r, access + at, p->index - at) < 0 ||
		    put_reshaped(r, &r->types[p->owner->type], &access[p->index], &p->place) < 0)
			return -ENOMEM;
		at = p->index + 1;
	}
	return rerun_keep(r, access + at, nr - at);
}

int rerun_record(struct rerun *r, const struct mem_record *rec)
{
	if (rec->kind == MEM_ADD || rec->kind == MEM_REMOVE || rec->kind == MEM_ALLOC ||
	    rec->kind == MEM_FREE)
		return rerun_remove(r, rec->address);
	return 0;
}

int rerun_address(struct rerun *r, uint64_t address, const struct address_owner *place,
		  const struct owner *owner, uint64_t *out)
{
	const struct reshaped *t = owner->type < r->types_size ? &r->types[owner->type] : NULL;
	struct layout_target target;
	uint64_t run, to;
	bool cold;

	*out = address;
	if (owner->kind != OWNER_RECORD || !t || !t->shape || place->typed == TYPED_IN_ARRAY)
		return 0;
	if (find_target(r, t, address, place, &target) < 0)
		return -ENOMEM;
	to = rerun_is_shifted(t->shape, place->offset, &run, &cold);
	*out = (cold ? target.cold : target.hot) + to;
	return 0;
}

int rerun_finish(struct rerun *r)
{
	return rerun_flush(r);
}

struct sim *rerun_sim(struct rerun *r)
{
	return r->sim;
}

void rerun_free(struct rerun *r)
{
	if (!r)
		return;
	sim_free(r->sim);
	free(r->types);
	free(r->blocks);
	free(r->rooms);
	free(r->batch);
	free(r->recent);
	u64map_release(&r->by_start);
	u64map_release(&r->free_rooms);
	free(r);
}
