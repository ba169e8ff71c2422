/* SPDX-License-Identifier: MIT */
/*
 * container_reader.c - read the records of a container and merge its threads.
 *
 * Opening walks over all chunks: it reads facts and notes blocks (16 bytes each) in a list per
 * thread.  Reading merges the threads by their stamps with a heap of lanes.  A lane's block is
 * read when the lane reaches the top of the heap and released at its end, so that memory use
 * depends on the number of threads that were active at the same time.
 */
#include "memory/format/mem_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/format/block_unpack.h"
#include "memory/format/chunk_walk.h"

#define NO_BLOCK UINT64_MAX
#define RUN_MAX  4096u                /* accesses of a lane decoded at a time */
#define KEYS_MAX 1024u                /* the same, of lines: they stay in a cache of the host */
#define PACE_256 (UINT64_C(16) * 256) /* ns per access in 1/256, initial estimate */
#define SPAN_MAX (UINT64_C(1) << 40)  /* ns: upper bound for a span from the file */

/* A block of the file; blocks form a list per lane. */
struct seen {
	uint64_t offset;
	uint64_t next; /* index, or NO_BLOCK */
};

/* The sort key of a lane's next record. */
struct turn {
	uint64_t order;
	uint64_t time_ns; /* 0 for annotations with a ticket: they sort first */
	bool is_access;
};

/* The blocks of one thread; of all threads if the file is ordered. */
struct lane {
	uint32_t thread;
	uint64_t first, last; /* indices in seen[] */
	uint64_t next_seq;
	struct turn turn;  /* key in the heap */
	struct turn stamp; /* key from the file; within a run, `turn` advances from it */
	bool loaded;       /* a block is being read; `record` is its next record */
	bool began, loose; /* stamps: any seen; decreased (reported once) */
	uint64_t offset;   /* offset of that block */
	struct unpack unpack;
	struct walk_buffer plain;
	struct mem_record record;

	/* A run: accesses of one stamp, evenly spaced over `span` ns from `start` on. */
	struct mem_access *run; /* RUN_MAX of them */
	struct mem_lines lines; /* instead of them; key is NULL if they are not reduced to lines */
	uint32_t run_at, run_nr;
	uint64_t start, span;
	uint64_t pace_256; /* recent ns per access in 1/256; 0: unknown */
};

struct container {
	struct mem_source base;
	int fd;
	struct walk walk;
	struct seen *seen;
	uint64_t nr_seen, seen_size;
	struct lane **lanes;
	size_t nr_lanes, lanes_size;
	struct u64map by_thread; /* thread to 1 + index of its lane */
	struct lane **heap;
	size_t nr_heap;
	struct lane *current; /* lane of the last record returned */
};

/* ---- opening: chunks to lanes --------------------------------------------- */

static struct lane *mem_container_lane_of(struct container *c, uint32_t thread)
{
	uint64_t *place = u64map_at(&c->by_thread, thread);
	struct lane *lane;

	if (!place)
		return NULL;
	if (*place)
		return c->lanes[*place - 1];
	if (c->nr_lanes == c->lanes_size) {
		size_t more = c->lanes_size ? c->lanes_size * 2 : 16;
		struct lane **lanes = realloc(c->lanes, more * sizeof(struct lane *)); /* NOLINT */

		if (!lanes)
			return NULL;
		c->lanes = lanes;
		c->lanes_size = more;
	}
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->thread = thread;
	lane->first = lane->last = NO_BLOCK;
	c->lanes[c->nr_lanes++] = lane;
	*place = c->nr_lanes;
	return lane;
}

static void check_seq(struct container *c, struct lane *lane, const struct walk_chunk *chunk)
{
	uint64_t seq = chunk->block.thread_seq;

	if (seq > lane->next_seq)
		mem_fault_add(&c->base.faults, MEM_FAULT_MISSING, chunk->offset,
			      "%llu blocks of thread %llu are missing before this one",
			      (unsigned long long)(seq - lane->next_seq),
			      (unsigned long long)mem_facts_id(&c->base.facts, lane->thread));
	else if (seq < lane->next_seq)
		mem_fault_add(&c->base.faults, MEM_FAULT_MISSING, chunk->offset,
			      "block %llu of thread %llu comes after block %llu",
			      (unsigned long long)seq,
			      (unsigned long long)mem_facts_id(&c->base.facts, lane->thread),
			      (unsigned long long)lane->next_seq - 1);
	lane->next_seq = seq + 1;
}

static uint64_t mem_container_add_capped(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void count_block(struct mem_blocks *b, const struct walk_chunk *chunk)
{
	b->nr++;
	b->nr_records += chunk->block.nr_records;
	b->nr_accesses += chunk->block.nr_accesses;
	b->lost = mem_container_add_capped(b->lost, chunk->block.lost);
	b->left_out = mem_container_add_capped(b->left_out, chunk->block.left_out);
	b->stored += chunk->chunk.stored;
	b->plain += chunk->chunk.plain;
}

static int mem_container_note_block(struct container *c, const struct walk_chunk *chunk)
{
	struct lane *lane = mem_container_lane_of(c,
						  c->base.facts.ordered ? 0 : chunk->block.thread);

	if (!lane)
		return -ENOMEM;
	if (c->nr_lanes > MEM_THREADS_MAX)
		return -E2BIG;
	if (c->nr_seen == c->seen_size) {
		uint64_t more = c->seen_size ? c->seen_size * 2 : 256;
		struct seen *seen = realloc(c->seen, more * sizeof(*seen));

		if (!seen)
			return -ENOMEM;
		c->seen = seen;
		c->seen_size = more;
	}
	check_seq(c, lane, chunk);
	count_block(&c->base.blocks, chunk);
	c->seen[c->nr_seen] = (struct seen){ chunk->offset, NO_BLOCK };
	if (lane->last == NO_BLOCK) {
		lane->first = c->nr_seen;
		lane->turn.order = chunk->block.order_first;
		lane->turn.time_ns = chunk->block.time_first_ns;
	} else {
		c->seen[lane->last].next = c->nr_seen;
	}
	lane->last = c->nr_seen++;
	return 0;
}

/*
 * The index serves random access; this reader walks over all chunks.  Check that the index
 * matches the last blocks found, unless a fault was reported already.
 */
static void check_index(struct container *c, const struct walk_chunk *chunk,
			const struct walk_buffer *plain)
{
	struct cray_index head = { 0 };
	struct cray_entry entry;
	uint64_t i;

	if (c->base.faults.nr)
		return;
	if (plain->size >= sizeof(head))
		memcpy(&head, plain->data, sizeof(head));
	if (plain->size < sizeof(head) || head.nr > c->nr_seen ||
	    plain->size != sizeof(head) + head.nr * sizeof(entry)) {
		mem_fault_add(&c->base.faults, MEM_FAULT_COUNT, chunk->offset,
			      "an index that is not as long as it should be");
		return;
	}
	for (i = 0; i < head.nr; i++) {
		memcpy(&entry, plain->data + sizeof(head) + i * sizeof(entry), sizeof(entry));
		if (entry.offset == c->seen[c->nr_seen - head.nr + i].offset)
			continue;
		mem_fault_add(&c->base.faults, MEM_FAULT_COUNT, chunk->offset,
			      "an index that tells of a block at %llu where none is",
			      (unsigned long long)entry.offset);
		return;
	}
}

static int take_chunk(struct container *c, const struct walk_chunk *chunk,
		      struct walk_buffer *plain)
{
	if (chunk->chunk.type == CRAY_BLOCK)
		return mem_container_note_block(c, chunk);
	if (chunk->chunk.type > CRAY_STACKS || !walk_payload(&c->walk, chunk, plain))
		return 0;
	if (chunk->chunk.type == CRAY_INDEX) {
		check_index(c, chunk, plain);
		return 0;
	}
	return mem_facts_chunk(&c->base.facts, chunk->chunk.type, plain->data, plain->size,
			       chunk->offset, &c->base.faults);
}

static void check_end(struct container *c)
{
	const struct cray_end *end = &c->base.facts.end;
	const struct mem_blocks *b = &c->base.blocks;

	c->base.blocks.complete = c->base.facts.has_end && c->walk.has_foot;
	if (!c->base.blocks.complete) {
		/* The walk has already reported a partial chunk. */
		if (!c->base.faults.by_kind[MEM_FAULT_TRUNCATED])
			mem_fault_add(&c->base.faults, MEM_FAULT_TRUNCATED, c->walk.size,
				      "the file has no end: its writer was cut short, or is still "
				      "at work");
		return;
	}
	if (end->nr_blocks != b->nr || end->nr_records != b->nr_records ||
	    end->nr_accesses != b->nr_accesses)
		mem_fault_add(
			&c->base.faults, MEM_FAULT_COUNT, c->walk.foot.end,
			"the writer counted %llu blocks with %llu records, here are %llu with "
			"%llu",
			(unsigned long long)end->nr_blocks, (unsigned long long)end->nr_records,
			(unsigned long long)b->nr, (unsigned long long)b->nr_records);
}

static int mem_container_take_all(struct container *c, struct err *err)
{
	struct walk_buffer plain = { 0 };
	struct walk_chunk chunk;
	int ret = 0;

	while (ret == 0 && walk_next(&c->walk, &chunk))
		ret = take_chunk(c, &chunk, &plain);
	free(plain.data);
	if (ret == -E2BIG) {
		err_set(err, ret, "'%s' has more than %u threads", c->walk.path, MEM_THREADS_MAX);
		err_hint(err, "no runtime writes as many: the file is damaged or not a trace");
	} else if (ret < 0) {
		err_set(err, ret, "no memory for '%s'", c->walk.path);
	}
	if (ret == 0)
		check_end(c);
	return ret;
}

/* ---- the heap ------------------------------------------------------------ */

static bool mem_container_before(const struct lane *a, const struct lane *b)
{
	if (a->turn.order != b->turn.order)
		return a->turn.order < b->turn.order;
	if (a->turn.is_access != b->turn.is_access)
		return !a->turn.is_access;
	if (a->turn.time_ns != b->turn.time_ns)
		return a->turn.time_ns < b->turn.time_ns;
	return a->thread < b->thread;
}

static void mem_container_sift_down(struct container *c, size_t i)
{
	struct lane *lane = c->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= c->nr_heap)
			break;
		if (child + 1 < c->nr_heap &&
		    mem_container_before(c->heap[child + 1], c->heap[child]))
			child++;
		if (!mem_container_before(c->heap[child], lane))
			break;
		c->heap[i] = c->heap[child];
		i = child;
	}
	c->heap[i] = lane;
}

static int make_heap(struct container *c)
{
	size_t i;

	c->heap = malloc((c->nr_lanes + 1) * sizeof(struct lane *)); /* NOLINT */
	if (!c->heap)
		return -ENOMEM;
	for (i = 0; i < c->nr_lanes; i++)
		c->heap[c->nr_heap++] = c->lanes[i];
	for (i = c->nr_heap / 2; i-- > 0;)
		mem_container_sift_down(c, i);
	return 0;
}

/* ---- reading ------------------------------------------------------------- */

static struct turn turn_of(const struct mem_record *r)
{
	bool ticket = !mem_is_access(r) && r->has_ticket;

	return (struct turn){ r->order, ticket ? 0 : r->time_ns, !ticket };
}

/* Set the key of the lane's next record.  Keys never decrease: a smaller one is a fault. */
static void set_turn(struct container *c, struct lane *lane, struct turn t)
{
	if (lane->began && (t.order < lane->stamp.order ||
			    (t.order == lane->stamp.order && t.is_access && lane->stamp.is_access &&
			     t.time_ns < lane->stamp.time_ns))) {
		if (!lane->loose)
			mem_fault_add(&c->base.faults, MEM_FAULT_ORDER, lane->offset,
				      "stamps of thread %llu go backwards",
				      (unsigned long long)mem_facts_id(&c->base.facts,
								       lane->unpack.thread));
		lane->loose = true;
		return;
	}
	lane->began = true;
	lane->turn = lane->stamp = t;
}

static bool mem_container_begin_block(struct container *c, struct lane *lane)
{
	struct walk_chunk chunk;

	/* The list has only the offset: read the header again. */
	lane->offset = c->seen[lane->first].offset;
	lane->first = c->seen[lane->first].next;
	if (!walk_chunk_at(&c->walk, lane->offset, &chunk) || chunk.chunk.type != CRAY_BLOCK) {
		mem_fault_add(&c->base.faults, MEM_FAULT_DAMAGE, lane->offset,
			      "the file changes while it is read");
		return false;
	}
	if (!walk_payload(&c->walk, &chunk, &lane->plain))
		return false;
	c->base.done += chunk.chunk.stored;
	if (c->base.skips_events && c->nr_lanes == 1)
		lane->unpack.skips = UNPACK_SKIPS;
	if (unpack_begin(&lane->unpack, &chunk.block, c->base.facts.ordered, lane->plain.data,
			 lane->plain.size)) {
		if (c->base.wants)
			lane->unpack.stands_for = c->base.wants(c->base.wants_context,
								&lane->unpack);
		return true;
	}
	mem_fault_add(&c->base.faults, MEM_FAULT_DAMAGE, lane->offset, "a block is left out: %s",
		      lane->unpack.fault);
	return false;
}

static void lane_empty(struct lane *lane)
{
	unpack_release(&lane->unpack);
	free(lane->plain.data);
	free(lane->run);
	free(lane->lines.key);
	lane->run = NULL;
	lane->lines.key = NULL;
	lane->plain = (struct walk_buffer){ 0 };
	lane->loaded = false;
}

/* Start the lane's next block.  False: there are no more. */
static bool mem_container_next_block(struct container *c, struct lane *lane)
{
	if (lane->loaded && lane->unpack.fault)
		mem_fault_add(&c->base.faults, MEM_FAULT_DAMAGE, lane->offset,
			      "a block is read in part, %u of %u records: it has %s",
			      lane->unpack.nr_records, lane->unpack.head.nr_records,
			      lane->unpack.fault);
	lane->loaded = false;
	if (lane->first == NO_BLOCK) {
		lane_empty(lane);
		return false;
	}
	lane->loaded = mem_container_begin_block(c, lane);
	return true;
}

/* Decode the lane's next record, from this block or the next.  False: no more. */
static bool lane_advance(struct container *c, struct lane *lane)
{
	for (;;) {
		if (lane->loaded && unpack_next(&lane->unpack, &lane->record)) {
			set_turn(c, lane, turn_of(&lane->record));
			return true;
		}
		if (!mem_container_next_block(c, lane))
			return false;
	}
}

/* Select the lane with the smallest key.  A lane that has not begun is loaded by @advance. */
static void mem_container_choose(struct container *c,
				 bool (*advance)(struct container *, struct lane *))
{
	/*
	 * The key of a lane that has not begun is that of its first block: no record of it is
	 * earlier.
	 */
	while (c->nr_heap && !c->heap[0]->loaded) {
		if (!advance(c, c->heap[0]))
			c->heap[0] = c->heap[--c->nr_heap];
		if (c->nr_heap)
			mem_container_sift_down(c, 0);
	}
	c->current = c->nr_heap ? c->heap[0] : NULL;
	if (c->current)
		c->base.offset = c->current->offset;
}

static const struct mem_record *container_next(struct mem_source *s)
{
	struct container *c = (struct container *)s;
	struct lane *lane = c->current;

	/* The last record returned belongs to this lane: advance it. */
	if (lane) {
		struct turn t = lane->turn;

		if (!lane_advance(c, lane)) {
			c->heap[0] = c->heap[--c->nr_heap];
			if (c->nr_heap)
				mem_container_sift_down(c, 0);
		} else if (t.order != lane->turn.order || t.time_ns != lane->turn.time_ns ||
			   t.is_access != lane->turn.is_access) {
			mem_container_sift_down(c, 0);
		}
	}
	mem_container_choose(c, lane_advance);
	return c->current ? &c->current->record : NULL;
}

/* ---- runs ------------------------------------------------------------------ */

/*
 * The duration of the run, from the next stamp.  If that is much longer than the thread's usual
 * pace, the thread was probably preempted: then use a multiple of the pace.
 */
static void set_span(struct container *c, struct lane *lane)
{
	const struct mem_thread *t = mem_facts_thread(&c->base.facts, lane->unpack.thread);
	uint64_t pace = lane->pace_256 ? lane->pace_256 : PACE_256;
	uint64_t usual = pace * lane->run_nr / 256, next, seen;

	lane->start = lane->unpack.time_ns;
	if (unpack_peek_time(&lane->unpack, &next)) {
		lane->span = next - lane->start < SPAN_MAX ? next - lane->start : SPAN_MAX;
		seen = lane->span * 256 / lane->run_nr;
		if (!lane->pace_256 || seen < pace)
			lane->pace_256 = seen ? seen : 1;
		else
			lane->pace_256 += (seen < 2 * pace ? seen - pace : pace) / 16;
		if (lane->span > 4 * usual && seen > 4 * lane->pace_256)
			lane->span = 4 * usual;
		return;
	}
	lane->span = usual;
	if (t && t->end_ns > lane->start && t->end_ns - lane->start < usual)
		lane->span = t->end_ns - lane->start;
}

/* A run begins at its stamp, or at the assumed end of the previous run if that is later. */
static void begin_run(struct container *c, struct lane *lane)
{
	struct turn was = lane->turn;
	bool began = lane->began;

	if (c->base.keeps_stamps) {
		lane->start = lane->unpack.time_ns;
		set_turn(c, lane, (struct turn){ lane->unpack.order, lane->start, true });
		return;
	}
	set_span(c, lane);
	set_turn(c, lane, (struct turn){ lane->unpack.order, lane->start, true });
	if (began && was.is_access && was.order == lane->turn.order && was.time_ns > lane->start)
		lane->start = was.time_ns;
	lane->turn.time_ns = lane->start;
}

/* The assumed time of access @i of the run. */
static uint64_t run_time(const struct lane *lane, uint32_t i)
{
	return lane->start + lane->span * i / lane->run_nr;
}

/* Buffers for the accesses of runs, or for their lines. */
static bool lane_has_room(struct container *c, struct lane *lane)
{
	if (lane->run || lane->lines.key)
		return true;
	if (c->base.lines && c->base.skips_events && c->nr_lanes == 1 && !c->base.facts.ordered) {
		lane->lines.key = aligned_alloc(64, KEYS_MAX * sizeof(*lane->lines.key));
		lane->lines.room = KEYS_MAX;
		lane->lines.shift = c->base.lines;
	} else {
		lane->run = calloc(RUN_MAX, sizeof(*lane->run));
	}
	if (!lane->run && !lane->lines.key)
		err_set(&c->base.err, -ENOMEM, "no memory for '%s'", c->walk.path);
	return lane->run || lane->lines.key;
}

/* Decode the lane's next run or record.  False: no more. */
static bool lane_load(struct container *c, struct lane *lane)
{
	for (;;) {
		enum unpack_step step = UNPACK_END;

		lane->run_at = lane->run_nr = 0;
		if (!lane_has_room(c, lane)) {
			lane_empty(lane);
			return false;
		}
		if (lane->loaded && lane->lines.key)
			lane->run_nr = unpack_run_lines(&lane->unpack, &lane->lines, RUN_MAX);
		else if (lane->loaded)
			lane->run_nr = unpack_run(&lane->unpack, lane->run, RUN_MAX);
		if (lane->run_nr) {
			begin_run(c, lane);
			return true;
		}
		if (lane->loaded)
			step = unpack_step(&lane->unpack, &lane->record);
		if (step == UNPACK_RECORD) {
			set_turn(c, lane, turn_of(&lane->record));
			return true;
		}
		if (step == UNPACK_END && !mem_container_next_block(c, lane))
			return false;
	}
}

/* Number of accesses of the run that precede the next record of any other lane. */
static uint32_t run_until_other(const struct container *c, const struct lane *lane)
{
	uint32_t rest = lane->run_nr - lane->run_at;
	const struct lane *other;
	uint64_t nr;

	if (c->nr_heap < 2 || c->base.keeps_stamps)
		return rest;
	other = c->heap[1];
	if (c->nr_heap > 2 && mem_container_before(c->heap[2], other))
		other = c->heap[2];
	if (other->turn.order != lane->turn.order || !lane->span ||
	    other->turn.time_ns >= lane->start + lane->span)
		return rest;
	if (other->turn.time_ns <= lane->turn.time_ns)
		return 1;
	nr = (other->turn.time_ns - lane->start) * lane->run_nr / lane->span;
	nr = nr < lane->run_at ? 1 : nr - lane->run_at + 1;
	return nr < rest ? (uint32_t)nr : rest;
}

static bool container_run(struct mem_source *s, struct mem_run *out)
{
	struct container *c = (struct container *)s;
	struct lane *lane = c->current;

	/* The last run or record returned belongs to this lane: advance it. */
	if (lane) {
		if (lane->run_nr && !s->keeps_stamps)
			lane->turn.time_ns = run_time(lane, lane->run_at);
		if (lane->run_at >= lane->run_nr && !lane_load(c, lane))
			c->heap[0] = c->heap[--c->nr_heap];
		if (c->nr_heap)
			mem_container_sift_down(c, 0);
	}
	mem_container_choose(c, lane_load);
	lane = c->current;
	memset(out, 0, sizeof(*out));
	if (!lane || s->err.code)
		return false;
	if (!lane->run_nr) {
		out->record = &lane->record;
		return true;
	}
	if (lane->lines.key)
		out->lines = &lane->lines;
	else
		out->access = lane->run + lane->run_at;
	out->nr = run_until_other(c, lane);
	out->thread = lane->unpack.thread;
	out->weight_256 = lane->unpack.weight_256;
	out->stands_for = lane->unpack.stands_for;
	out->order = lane->unpack.order;
	out->time_ns = lane->start;
	lane->run_at += out->nr;
	return true;
}

static void container_close(struct mem_source *s)
{
	struct container *c = (struct container *)s;
	size_t i;

	for (i = 0; i < c->nr_lanes; i++) {
		lane_empty(c->lanes[i]);
		free(c->lanes[i]);
	}
	free(c->lanes);
	free(c->heap);
	free(c->seen);
	u64map_release(&c->by_thread);
	walk_close(&c->walk);
	mem_facts_release(&s->facts);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

struct mem_source *mem_container_open(int fd, const char *path, struct err *err)
{
	struct container *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(err, -ENOMEM, "no memory for '%s'", path);
		return NULL;
	}
	c->fd = -1; /* owned by the caller until this function succeeds */
	c->base.next = container_next;
	c->base.run = container_run;
	c->base.close = container_close;
	if (walk_open(&c->walk, fd, path, &c->base.faults, err) < 0)
		goto fail;
	c->base.size = c->walk.size;
	c->base.facts.ordered = c->walk.file.flags & CRAY_ORDERED;
	c->base.facts.start_ns = c->walk.file.start_ns;
	c->base.facts.start_wall_ns = c->walk.file.start_wall_ns;
	if (mem_container_take_all(c, err) < 0)
		goto fail;
	if (make_heap(c) < 0) {
		err_set(err, -ENOMEM, "no memory for '%s'", path);
		goto fail;
	}
	c->fd = fd;
	return &c->base;
fail:
	container_close(&c->base);
	return NULL;
}
