/* SPDX-License-Identifier: MIT */
/* weak_memory.c - the memory of weak_machine.h: messages, views, fences, races and a hash of all.
 */
#include "weak_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCATIONS  512u
#define MESSAGES   4096u
#define PER_PLACE  96u
#define VIEWS      2048u
#define HAND_OVERS 8u
#define KEPT       32u
#define SHARED     16u
#define MAPPINGS   8u
#define GRAIN      64u          /* of areas in the arena */
#define LAST       64u          /* accesses that a report shows */
#define ALL        WEAK_THREADS /* the thread of initial values */

struct view {
	uint16_t seen[LOCATIONS];     /* by location: the newest message */
	uint32_t clock[WEAK_THREADS]; /* by thread: its events that happened before */
	uint64_t hash;                /* 0: not known yet */
};

struct message {
	uint64_t value;
	struct view *view;
	uint32_t serial, event; /* of the thread */
	uint16_t place, at;     /* location, and position in its order */
	uint8_t thread;
	bool is_plain, is_rmw;
};

/* What is known of a location from all executions of a search. */
struct place {
	uint32_t offset;
	uint8_t size, users;
	bool is_shared, has_plain, may_race, is_ignored;
};

/* Memory outside of the arena that belongs to it, from @offset on. */
struct shared {
	unsigned char *at;
	size_t size;
	uint32_t offset;
};

/* A mapping of a process, whose threads are the bits of @users. */
struct mapping {
	unsigned users;
	bool is_unmapped;
	uint32_t used[WEAK_THREADS]; /* by thread: its last access */
};

struct thread {
	struct view now, pending; /* pending: seen by relaxed loads, taken over at a fence */
	struct view *released;
	struct view *sent[LOCATIONS]; /* with has_own_sequences: of its last release store there */
	uint64_t past;                /* hash of what was read */
	uint32_t serial;
	void *plain_at; /* a plain store that the thread executes next */
	unsigned plain_size;
};

struct access {
	uint64_t value;
	uint32_t offset;
	uint8_t thread;
	char what;
	unsigned order;
};

/* Private memory of a test, and its content before an execution. */
struct kept {
	void *at, *first;
	size_t size;
};

static struct kept kept[KEPT];
static unsigned nr_kept;
static _Alignas(64) unsigned char arena[WEAK_ARENA];
static unsigned char first_arena[WEAK_ARENA];
static size_t arena_used;
static struct shared shared[SHARED];
static uint8_t shared_at[WEAK_ARENA / GRAIN]; /* 1 + its number */
static unsigned nr_shared;
static struct mapping mappings[MAPPINGS];
static uint8_t mapping_at[WEAK_ARENA / GRAIN]; /* 1 + its number */
static unsigned nr_mappings;
static bool racy[WEAK_ARENA / 4], ignored[WEAK_ARENA / 4], split[WEAK_ARENA / 8],
	whole[WEAK_ARENA / 8];
static uint16_t place_at[WEAK_ARENA / 4]; /* 1 + number of the location */
static struct place places[LOCATIONS];
static unsigned nr_places;

static struct message messages[MESSAGES];
static unsigned nr_messages;
static uint16_t order_of[LOCATIONS][PER_PLACE], nr_order[LOCATIONS];
static uint32_t read_by[LOCATIONS][WEAK_THREADS][2]; /* last event that read it: atomic, plain */
static struct view views[VIEWS], *handed[HAND_OVERS], total;
static unsigned nr_views;
static struct thread threads[WEAK_THREADS];
static struct access last[LAST];
static unsigned nr_last;
static bool is_multi_copy, has_membarrier, has_own_sequences; /* the test's, as most_stale */
static unsigned outside;              /* the test's: threads of another process */
static unsigned most_stale, nr_stale; /* loads that did not read the newest message */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) + UINT64_C(0x632be59bd9b4e019);

	x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 32)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* ---- arena and locations ---------------------------------------------------- */

void *weak_alloc(size_t size)
{
	void *at = arena + arena_used;

	arena_used = (arena_used + size + 63) / 64 * 64;
	if (arena_used > WEAK_ARENA)
		weak_fail("the arena is too small");
	return at;
}

void weak_restore(void *at, size_t size)
{
	struct kept *k = &kept[nr_kept++];

	if (nr_kept == KEPT)
		weak_fail("more than %u private areas", KEPT);
	*k = (struct kept){ at, malloc(size), size };
	if (!k->first)
		abort();
}

static const struct shared *find_shared(const unsigned char *at)
{
	unsigned i;

	for (i = 0; i < nr_shared; i++) {
		if (at >= shared[i].at && at < shared[i].at + shared[i].size)
			return &shared[i];
	}
	return NULL;
}

static bool is_in_arena(const unsigned char *at)
{
	return at >= arena && at < arena + WEAK_ARENA;
}

static uint32_t offset_of(const void *at)
{
	const unsigned char *byte = at;
	const struct shared *s = is_in_arena(byte) ? NULL : find_shared(byte);

	return s ? s->offset + (uint32_t)(byte - s->at) : (uint32_t)(byte - arena);
}

static unsigned char *address_of(uint32_t offset)
{
	unsigned i = shared_at[offset / GRAIN];

	return i ? shared[i - 1].at + (offset - shared[i - 1].offset) : arena + offset;
}

void weak_share(void *at, size_t size)
{
	uint32_t first = (uint32_t)arena_used, skip = (uint32_t)((uintptr_t)at % 8);

	if (nr_shared == SHARED)
		weak_fail("more than %u areas outside of the arena", SHARED);
	weak_alloc(size + skip);
	shared[nr_shared++] = (struct shared){ at, size, first + skip };
	memset(shared_at + first / GRAIN, (int)nr_shared, (arena_used - first) / GRAIN);
	weak_restore(at, size);
}

void weak_mapping(const void *at, size_t size, unsigned users)
{
	if (nr_mappings == MAPPINGS)
		weak_fail("more than %u mappings", MAPPINGS);
	mappings[nr_mappings++] = (struct mapping){ .users = users };
	memset(mapping_at + offset_of(at) / GRAIN, (int)nr_mappings, (size + GRAIN - 1) / GRAIN);
}

void weak_seqlock(const void *at, size_t size)
{
	memset(racy + offset_of(at) / 4, 1, (size + 3) / 4);
}

void weak_ignore(const void *at, size_t size)
{
	memset(ignored + offset_of(at) / 4, 1, (size + 3) / 4);
}

bool weak_covers(const void *at)
{
	return weak_self() < WEAK_THREADS && (is_in_arena(at) || find_shared(at));
}

/* One location per 8 bytes, or one per 4 where the code uses parts. */
static unsigned find_place(uint32_t offset, unsigned size)
{
	unsigned i = place_at[offset / 4];

	if (i)
		return i - 1;
	if (nr_places == LOCATIONS)
		weak_fail("more than %u locations", LOCATIONS);
	places[nr_places] = (struct place){ .offset = offset, .size = (uint8_t)size };
	places[nr_places].may_race = racy[offset / 4];
	places[nr_places].is_ignored = ignored[offset / 4];
	place_at[offset / 4] = (uint16_t)(nr_places + 1);
	nr_order[nr_places] = 0;
	memset(read_by[nr_places], 0, sizeof(read_by[nr_places]));
	return nr_places++;
}

/* True if an access of @size bytes is one to the whole 8 bytes. */
static bool is_whole(uint32_t offset, unsigned size)
{
	if (size == 8 && !split[offset / 8]) {
		whole[offset / 8] = true;
		return true;
	}
	if (size < 8 && !split[offset / 8]) {
		split[offset / 8] = true;
		if (whole[offset / 8]) {
			memset(place_at, 0, sizeof(place_at));
			nr_places = 0;
			weak_abort(false);
		}
	}
	return false;
}

/* ---- views ------------------------------------------------------------------- */

static unsigned position(uint16_t message)
{
	return message ? messages[message].at : 0;
}

static void view_join(struct view *to, const struct view *from)
{
	unsigned i;

	if (!from)
		return;
	for (i = 0; i < nr_places; i++) {
		if (to->seen[i] != from->seen[i] && position(from->seen[i]) > position(to->seen[i]))
			to->seen[i] = from->seen[i];
	}
	for (i = 0; i < WEAK_THREADS; i++) {
		if (from->clock[i] > to->clock[i])
			to->clock[i] = from->clock[i];
	}
}

static uint64_t view_hash(const struct view *v)
{
	uint64_t hash = 0;
	unsigned i;

	for (i = 0; i < nr_places; i++) {
		const struct message *m = &messages[v->seen[i]];

		if (v->seen[i] && m->at)
			hash += mix(i + 1, (uint64_t)m->thread << 32 | m->serial);
	}
	for (i = 0; i < WEAK_THREADS; i++)
		hash += mix(i + 1000, v->clock[i]);
	return hash;
}

static struct view *view_copy(const struct view *v)
{
	struct view *copy = &views[nr_views++];

	if (nr_views == VIEWS)
		weak_fail("more than %u views", VIEWS);
	*copy = *v;
	copy->hash = 0;
	return copy;
}

static struct view *view_both(const struct view *a, const struct view *b)
{
	struct view *both = view_copy(a);

	view_join(both, b);
	return both;
}

static uint64_t hash_of(struct view *v)
{
	if (!v)
		return 1;
	if (!v->hash)
		v->hash = view_hash(v);
	return v->hash;
}

/* ---- messages ------------------------------------------------------------------ */

static struct message *message_add(unsigned place, unsigned at, uint64_t value)
{
	struct message *m = &messages[nr_messages];
	unsigned i;

	if (nr_messages == MESSAGES || nr_order[place] == PER_PLACE)
		weak_fail("more than %u stores, or %u to one location", MESSAGES, PER_PLACE);
	*m = (struct message){ .value = value, .place = (uint16_t)place, .thread = ALL };
	for (i = nr_order[place]++; i > at; i--) {
		order_of[place][i] = order_of[place][i - 1];
		messages[order_of[place][i]].at = (uint16_t)i;
	}
	order_of[place][at] = (uint16_t)nr_messages++;
	m->at = (uint16_t)at;
	return m;
}

static void copy_value(const struct place *p, uint64_t value)
{
	memcpy(address_of(p->offset), &value, p->size);
}

static uint64_t value_there(const struct place *p)
{
	uint64_t value = 0;

	memcpy(&value, address_of(p->offset), p->size);
	return value;
}

static void note_access(char what, unsigned place, uint64_t value, unsigned order)
{
	last[nr_last++ % LAST] = (struct access){ value, places[place].offset, (uint8_t)weak_self(),
						  what, order };
}

/* The location is used by a second thread, or plainly: the search starts again. */
static void place_learn(struct place *p, bool is_plain)
{
	uint8_t bit = (uint8_t)(1u << weak_self());
	bool is_new = false;

	if (!(p->users & bit)) {
		is_new = p->users && !p->is_shared;
		p->is_shared |= is_new;
		p->users |= bit;
	}
	if (is_plain && !p->has_plain && !p->may_race)
		is_new = p->has_plain = true;
	if (is_new && !weak_is_learning())
		weak_abort(false);
}

/* ---- mappings ------------------------------------------------------------------- */

static void mapping_use(uint32_t offset)
{
	unsigned i = mapping_at[offset / GRAIN], self = weak_self();
	struct mapping *m = i ? &mappings[i - 1] : NULL;

	if (!m || !(m->users >> self & 1))
		return;
	if (m->is_unmapped)
		weak_fail("thread %u uses offset %#x, which is unmapped", self, offset);
	m->used[self] = threads[self].now.clock[self];
}

void weak_all_have_left(const void *at)
{
	const struct mapping *m = &mappings[mapping_at[offset_of(at) / GRAIN] - 1];
	unsigned i, self = weak_self();

	for (i = 0; i < WEAK_THREADS && self < WEAK_THREADS; i++) {
		if (i != self && threads[self].now.clock[i] < m->used[i])
			weak_fail("thread %u may still use offset %#x", i, offset_of(at));
	}
}

void weak_unmap(const void *at)
{
	weak_memory_flush();
	weak_all_have_left(at);
	mappings[mapping_at[offset_of(at) / GRAIN] - 1].is_unmapped = true;
}

static uint64_t mappings_hash(void)
{
	uint64_t hash = 0;
	unsigned i, j;

	for (i = 0; i < nr_mappings; i++) {
		hash = mix(hash, mappings[i].is_unmapped);
		for (j = 0; j < WEAK_THREADS; j++)
			hash = mix(hash, mappings[i].used[j]);
	}
	return hash;
}

/* ---- accesses ------------------------------------------------------------------- */

/*
 * Each access begins here.  Another thread may come first only if this one loads: a store that is
 * made early is one that others have not seen yet, and their own may still go before it.
 */
static unsigned place_enter(const void *at, unsigned size, bool is_plain, bool loads)
{
	unsigned i = find_place(offset_of(at), size);
	struct place *p = &places[i];

	weak_memory_flush();
	place_learn(p, is_plain);
	if (p->is_shared && !p->is_ignored && (p->may_race || !p->has_plain))
		loads || has_membarrier ? weak_yield() : weak_may_die();
	if (!nr_order[i])
		message_add(i, 0, value_there(p));
	threads[weak_self()].now.clock[weak_self()]++;
	mapping_use(p->offset);
	return i;
}

/* ---- races --------------------------------------------------------------------- */

static void race_found(unsigned place, unsigned other)
{
	weak_fail("thread %u and thread %u race for offset %#x", weak_self(), other,
		  places[place].offset);
}

/* A plain access, or one to what was stored plainly, must come after the stores of others. */
static void race_with_stores(unsigned place, bool is_plain)
{
	unsigned i, self = weak_self();

	if (places[place].may_race || !places[place].has_plain)
		return;
	for (i = 0; i < nr_order[place]; i++) {
		const struct message *m = &messages[order_of[place][i]];

		if (m->thread != ALL && m->thread != self && (is_plain || m->is_plain) &&
		    threads[self].now.clock[m->thread] < m->event)
			race_found(place, m->thread);
	}
}

static void race_with_loads(unsigned place, bool is_plain)
{
	unsigned i, self = weak_self();

	if (places[place].may_race || !places[place].has_plain)
		return;
	for (i = 0; i < WEAK_THREADS; i++) {
		uint32_t event = read_by[place][i][1];

		if (is_plain && read_by[place][i][0] > event)
			event = read_by[place][i][0];
		if (i != self && threads[self].now.clock[i] < event)
			race_found(place, i);
	}
}

/* ---- loads and stores ------------------------------------------------------------ */

static void message_seen(struct thread *t, const struct message *m, unsigned order)
{
	t->now.seen[m->place] = (uint16_t)(m - messages);
	view_join(order & WEAK_ACQUIRE ? &t->now : &t->pending, m->view);
	if (is_multi_copy && (order & WEAK_ACQUIRE))
		t->released = view_copy(&t->now);
	if (!places[m->place].is_ignored || m->thread == weak_self())
		t->past = mix(t->past, m->value + 1);
}

static uint64_t place_load(const void *at, unsigned size, unsigned order, bool is_plain)
{
	unsigned place = place_enter(at, size, is_plain, true), self = weak_self();
	struct thread *t = &threads[self];
	unsigned from = position(t->now.seen[place]), nr = nr_order[place] - from;
	const struct message *m;
	unsigned back;

	race_with_stores(place, is_plain);
	read_by[place][self][is_plain] = t->now.clock[self];
	if (places[place].is_ignored) {
		back = nr - 1;
	} else {
		back = weak_choose(most_stale && nr_stale == most_stale ? 1 : nr);
		nr_stale += back > 0;
	}
	m = &messages[order_of[place][nr_order[place] - 1 - back]];
	note_access('r', place, m->value, order);
	message_seen(t, m, order);
	return m->value;
}

static void message_send(struct thread *t, struct message *m, unsigned order, bool is_plain)
{
	const struct message *before = m->is_rmw ? &messages[order_of[m->place][m->at - 1]] : NULL;

	m->thread = (uint8_t)weak_self();
	m->event = t->now.clock[weak_self()];
	m->serial = ++t->serial;
	m->is_plain = is_plain;
	t->now.seen[m->place] = (uint16_t)(m - messages);
	m->view = order & WEAK_RELEASE ? view_copy(&t->now) : t->released;
	if (order & WEAK_RELEASE)
		t->sent[m->place] = m->view;
	else if (has_own_sequences && t->sent[m->place])
		m->view = view_both(t->sent[m->place], m->view);
	if (before && before->view) /* a release sequence goes on */
		m->view = view_both(before->view, m->view);
	note_access(m->is_rmw ? 'm' : 'w', m->place, m->value, order);
}

/* The positions where a store may go: after what the thread has seen, not before an RMW. */
static unsigned choose_position(const struct thread *t, unsigned place)
{
	unsigned from = position(t->now.seen[place]) + 1, nr = 0, i;
	unsigned possible[PER_PLACE + 1];

	possible[nr++] = nr_order[place];
	for (i = nr_order[place] - 1u; i >= from; i--) {
		if (!messages[order_of[place][i]].is_rmw)
			possible[nr++] = i;
	}
	return possible[weak_choose(nr)];
}

static void place_store(void *at, unsigned size, uint64_t value, unsigned order)
{
	unsigned place = place_enter(at, size, false, false);
	struct thread *t = &threads[weak_self()];

	race_with_stores(place, false);
	race_with_loads(place, false);
	message_send(t, message_add(place, choose_position(t, place), value), order, false);
}

uint64_t weak_load(const void *at, unsigned size, unsigned order)
{
	const unsigned char *from = at;
	uint64_t value, word;
	unsigned part;

	if (order == WEAK_SC)
		weak_fence(WEAK_SC);
	if (is_whole(offset_of(at), size)) {
		value = place_load(at, 8, order, false);
	} else if (size == 8) {
		value = place_load(from, 4, order, false);
		value |= place_load(from + 4, 4, order, false) << 32;
	} else {
		part = offset_of(at) % 4;
		word = place_load(from - part, 4, order, false) >> (8 * part);
		value = size == 4 ? word : word & ((UINT64_C(1) << (8 * size)) - 1);
	}
	if (order == WEAK_SC)
		weak_fence(WEAK_SC);
	return value;
}

void weak_store(void *at, unsigned size, uint64_t value, unsigned order)
{
	unsigned char *to = at;

	if (order == WEAK_SC)
		weak_fence(WEAK_SC);
	if (is_whole(offset_of(at), size)) {
		place_store(at, 8, value, order);
	} else if (size == 8) {
		place_store(to, 4, value & UINT32_MAX, order);
		place_store(to + 4, 4, value >> 32, order);
	} else if (size == 4) {
		place_store(at, 4, value & UINT32_MAX, order);
	} else { /* part of a word that the thread alone writes */
		weak_plain_write(at, size);
		memcpy(at, &value, size);
		weak_memory_flush();
	}
	if (order == WEAK_SC)
		weak_fence(WEAK_SC);
}

/*
 * The message that a read-modify-write reads.  One that stores must be right after it, so that a
 * message which another one has read is left to those that fail.
 */
static const struct message *choose_old(const struct thread *t, unsigned place, weak_change *change,
					uint64_t operand, uint64_t other)
{
	unsigned from = position(t->now.seen[place]), nr = 0, i;
	bool is_read = false;
	uint16_t possible[PER_PLACE];
	uint64_t changed;

	for (i = nr_order[place]; i-- > from;) {
		const struct message *m = &messages[order_of[place][i]];

		if (!is_read || !change(m->value, operand, other, &changed))
			possible[nr++] = order_of[place][i];
		is_read = m->is_rmw;
	}
	return &messages[possible[weak_choose(nr)]];
}

uint64_t weak_modify(void *at, unsigned size, weak_change *change, uint64_t operand, uint64_t other,
		     unsigned order, unsigned failed)
{
	unsigned place = place_enter(at, is_whole(offset_of(at), size) ? 8 : 4, false, true);
	struct thread *t = &threads[weak_self()];
	const struct message *old = choose_old(t, place, change, operand, other);
	uint64_t value = old->value, changed;
	struct message *m;

	race_with_stores(place, false);
	race_with_loads(place, false);
	read_by[place][weak_self()][0] = t->now.clock[weak_self()];
	if (!change(value, operand, other, &changed)) {
		message_seen(t, old, failed);
		note_access('f', place, value, failed);
		return value;
	}
	message_seen(t, old, order);
	m = message_add(place, old->at + 1u, changed);
	m->is_rmw = true;
	message_send(t, m, order, false);
	return value;
}

/* ---- fences ------------------------------------------------------------------------ */

/* Sequentially consistent fences are in one order, in which each passes what it has seen. */
static void fence_total(struct thread *t)
{
	uint32_t clock[WEAK_THREADS];

	memcpy(clock, t->now.clock, sizeof(clock));
	view_join(&t->now, &total);
	view_join(&total, &t->now);
	memcpy(t->now.clock, clock, sizeof(clock)); /* order, not happens-before */
}

static void fence_thread(struct thread *t, unsigned order)
{
	if (order & WEAK_ACQUIRE)
		view_join(&t->now, &t->pending);
	if (order == WEAK_SC)
		fence_total(t);
	if (order & WEAK_RELEASE)
		t->released = view_copy(&t->now);
}

void weak_fence(unsigned order)
{
	weak_memory_flush();
	if (order == WEAK_SC)
		weak_yield();
	fence_thread(&threads[weak_self()], order);
}

bool weak_is_multi_copy(void)
{
	return is_multi_copy;
}

/* As the kernel: a full barrier, one on each thread of the process, and a full barrier. */
void weak_membarrier(void)
{
	unsigned i;

	weak_memory_flush();
	weak_yield();
	fence_thread(&threads[weak_self()], WEAK_SC);
	for (i = 0; i < WEAK_THREADS; i++) {
		if (!(outside >> i & 1))
			fence_thread(&threads[i], WEAK_SC);
	}
	fence_thread(&threads[weak_self()], WEAK_SC);
}

/* ---- plain accesses ------------------------------------------------------------------ */

static void plain_read_word(const unsigned char *at, unsigned size)
{
	unsigned place;
	uint64_t value = place_load(at, size, WEAK_RELAXED, true);

	place = find_place(offset_of(at), size);
	copy_value(&places[place], value);
}

void weak_plain_read(const void *at, unsigned size)
{
	const unsigned char *word = at;

	if (is_whole(offset_of(at), size)) {
		plain_read_word(at, 8);
		return;
	}
	word -= offset_of(word) % 4;
	plain_read_word(word, 4);
	if (size == 8)
		plain_read_word(word + 4, 4);
}

void weak_plain_write(void *at, unsigned size)
{
	struct thread *t = &threads[weak_self()];
	bool all = is_whole(offset_of(at), size);
	unsigned place, part = all ? 0 : offset_of(at) % 4;
	unsigned char *word = (unsigned char *)at - part;

	if (size == 8 && !all) { /* two words; the second is taken with the flush */
		place = place_enter(word + 4, 4, true, false);
		race_with_stores(place, true);
		race_with_loads(place, true);
	}
	place = place_enter(word, all ? 8 : 4, true, false);
	race_with_stores(place, true);
	race_with_loads(place, true);
	copy_value(&places[place],
		   messages[t->now.seen[place] ? t->now.seen[place] : order_of[place][0]].value);
	t->plain_at = word;
	t->plain_size = all ? 8 : size == 8 ? 9 : 4; /* 9: two words */
}

static void flush_word(struct thread *t, unsigned char *at, unsigned size)
{
	unsigned place = find_place(offset_of(at), size);
	struct message *m;

	m = message_add(place, choose_position(t, place), value_there(&places[place]));
	message_send(t, m, WEAK_RELAXED, true);
}

void weak_memory_flush(void)
{
	struct thread *t = &threads[weak_self()];
	unsigned char *at = t->plain_at;

	if (!at)
		return;
	t->plain_at = NULL;
	flush_word(t, at, t->plain_size == 8 ? 8 : 4);
	if (t->plain_size == 9)
		flush_word(t, at + 4, 4);
}

/* ---- hand-over -------------------------------------------------------------------------- */

void weak_memory_give_view(unsigned nr)
{
	weak_memory_flush();
	threads[weak_self()].now.clock[weak_self()]++;
	handed[nr] = view_copy(&threads[weak_self()].now);
}

void weak_memory_take_view(unsigned nr)
{
	struct thread *t = &threads[weak_self()];

	weak_memory_flush();
	view_join(&t->now, handed[nr]);
	if (is_multi_copy)
		t->released = view_copy(&t->now);
}

/* ---- executions --------------------------------------------------------------------------- */

void weak_memory_open(const struct weak_test *test)
{
	unsigned i;

	memset(arena, 0, sizeof(arena));
	memset(racy, 0, sizeof(racy));
	memset(ignored, 0, sizeof(ignored));
	memset(split, 0, sizeof(split));
	memset(whole, 0, sizeof(whole));
	memset(place_at, 0, sizeof(place_at));
	nr_places = 0;
	arena_used = 0;
	memset(shared_at, 0, sizeof(shared_at));
	memset(mapping_at, 0, sizeof(mapping_at));
	nr_shared = nr_mappings = 0;
	for (; nr_kept; nr_kept--)
		free(kept[nr_kept - 1].first);
	test->set_up();
	memcpy(first_arena, arena, arena_used);
	for (i = 0; i < nr_kept; i++)
		memcpy(kept[i].first, kept[i].at, kept[i].size);
}

void weak_memory_begin(const struct weak_test *test)
{
	unsigned i;

	memcpy(arena, first_arena, arena_used);
	for (i = 0; i < nr_kept; i++)
		memcpy(kept[i].at, kept[i].first, kept[i].size);
	memset(nr_order, 0, nr_places * sizeof(nr_order[0]));
	memset(read_by, 0, nr_places * sizeof(read_by[0]));
	memset(handed, 0, sizeof(handed));
	memset(&total, 0, sizeof(total));
	for (i = 0; i < WEAK_THREADS; i++)
		memset(&threads[i], 0, sizeof(threads[i]));
	nr_messages = 1; /* 0: none */
	nr_views = nr_last = 0;
	nr_stale = 0;
	for (i = 0; i < nr_mappings; i++)
		mappings[i] = (struct mapping){ .users = mappings[i].users };
	outside = test->outside;
	most_stale = test->most_stale;
	is_multi_copy = test->is_multi_copy;
	has_membarrier = test->has_membarrier;
	has_own_sequences = test->has_own_sequences;
}

void weak_memory_settle(void)
{
	unsigned i;

	for (i = 0; i < nr_places; i++) {
		if (nr_order[i])
			copy_value(&places[i], messages[order_of[i][nr_order[i] - 1]].value);
	}
}

static uint64_t message_hash(const struct message *m)
{
	uint64_t hash = mix(m->place + 1u,
			    (uint64_t)m->at << 40 | (uint64_t)m->thread << 32 | m->serial);

	return mix(hash, m->value) + mix(hash, hash_of(m->view));
}

static uint64_t thread_hash(const struct thread *t)
{
	uint64_t hash = mix(t->past, view_hash(&t->now));

	hash = mix(hash, view_hash(&t->pending));
	return mix(hash, hash_of(t->released));
}

uint64_t weak_memory_hash(void)
{
	uint64_t hash = mix(view_hash(&total), most_stale ? nr_stale : 0) + mappings_hash();
	unsigned i, j;

	for (i = 1; i < nr_messages; i++) {
		if (messages[i].thread != ALL)
			hash += message_hash(&messages[i]);
	}
	for (i = 0; i < WEAK_THREADS; i++)
		hash = mix(hash, thread_hash(&threads[i]));
	for (i = 0; i < nr_places; i++) {
		for (j = 0; j < WEAK_THREADS && places[i].has_plain; j++)
			hash += mix(mix(i, j), (uint64_t)read_by[i][j][0] << 32 | read_by[i][j][1]);
	}
	for (i = 0; i < HAND_OVERS; i++)
		hash += handed[i] ? mix(i + 77, hash_of(handed[i])) : 0;
	return hash;
}

void weak_memory_print(void)
{
	unsigned i = nr_last > LAST ? nr_last - LAST : 0;

	for (; i < nr_last; i++) {
		const struct access *a = &last[i % LAST];

		printf("  thread %u  %c  offset %#6x  value %#llx  order %u\n", a->thread, a->what,
		       a->offset, (unsigned long long)a->value, a->order);
	}
}
