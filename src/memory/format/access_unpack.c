/* SPDX-License-Identifier: MIT */
/*
 * access_unpack.c - decode many accesses of a block at once.
 *
 * What a program does next is hard to predict, so the common case has no branch that depends on it:
 * neither the site of an access nor the way of its address.  The values of the address streams are
 * decoded ahead, so that the position of a value does not depend on the value before it.  A loop
 * that repeats exactly is a sequence of zeros; its addresses are written without decoding.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "memory/format/block_unpack.h"
#include "memory/format/loop_keys.h"
#include "memory/format/symbol_part.h"
#include "memory/format/unpack_stream.h"
#include "memory/format/varint_run.h"

#define PART   SYMBOL_PART /* accesses that are decoded without a look at the streams */
#define STEADY 32u         /* zeros that are worth the search for a loop */

/* What a run changes at every access, in local variables: the output may alias the block's state.
 */
struct unpacking {
	struct unpack_stream symbols;
	struct unpack_site *here; /* NULL: none yet */
	uint64_t before;
	uint32_t left;   /* symbols */
	bool has_no_key; /* of an access of a loop: no further search for loops */
};

/* ---- addresses ahead --------------------------------------------------------- */

static inline uint64_t unpack_zigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

/* Decode a varint of at most 8 bytes from a word.  Returns the bytes used; 0: longer than 8. */
static inline unsigned varint_word(uint64_t x, uint64_t *out)
{
	uint64_t stop = ~x & UINT64_C(0x8080808080808080);

	if (!stop)
		return 0;
	x &= stop ^ (stop - 1);
	x &= UINT64_C(0x7f7f7f7f7f7f7f7f);
	x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x7f007f007f007f00)) >> 1;
	x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x3fff00003fff0000)) >> 2;
	*out = (x & UINT64_C(0x0fffffff)) | (x & UINT64_C(0x0fffffff00000000)) >> 4;
	return (unsigned)__builtin_ctzll(stop) / 8 + 1;
}

/*
 * Decode values from the 8 bytes @x: those of one byte before the first longer one, or that one.
 * @out has room for 8.  Returns the bytes used.
 */
static inline unsigned ahead_word(uint64_t x, uint64_t *out, uint32_t *nr)
{
	uint64_t v, more = x & UINT64_C(0x8080808080808080);
	unsigned took, i;

	if (!(more & 0x80)) {
		for (i = 0; i < 8; i++)
			out[i] = unpack_zigzag(x >> 8 * i & 0xff);
		took = more ? (unsigned)__builtin_ctzll(more) / 8 : 8;
		*nr += took;
		return took;
	}
	took = varint_word(x, &v);
	if (took)
		out[0] = unpack_zigzag(v);
	*nr += took != 0;
	return took;
}

/* Decode up to UNPACK_AHEAD values, or up to the first that is not complete. */
static void ahead_fill(struct unpack_ahead *a, struct unpack_stream *s)
{
	struct unpack_stream l = *s; /* local: the values may alias it */
	uint32_t nr = a->nr - a->at;
	bool vectors = varint_run_works();
	uint64_t x;

	memmove(a->value, a->value + a->at, nr * sizeof(*a->value));
	a->at = 0;
	while (nr <= UNPACK_AHEAD - VARINT_RUN) {
		uint32_t many = vectors ? varint_run(&l, &a->value[nr], UNPACK_AHEAD - nr) : 0;
		unsigned took = 0;

		nr += many;
		if (many)
			continue;
		if (l.end - l.at >= 8) {
			memcpy(&x, l.at, sizeof(x));
			took = ahead_word(le64toh(x), &a->value[nr], &nr);
			l.at += took;
		}
		if (took)
			continue;
		s->at = l.at;
		if (!unpack_svarint(&l, &a->value[nr]))
			break;
		nr++;
	}
	if (nr > UNPACK_AHEAD - VARINT_RUN)
		s->at = l.at;
	a->nr = nr;
}

/* Returns true if @nr values are ahead. */
static inline bool ahead_has(struct unpack_ahead *a, struct unpack_stream *s, uint32_t nr)
{
	if (a->nr - a->at < nr && s->at < s->end)
		ahead_fill(a, s);
	return a->nr - a->at >= nr;
}

/* The next value.  False: a fault. */
static bool ahead_take(struct unpack *u, struct unpack_ahead *a, struct unpack_stream *s,
		       uint64_t *delta)
{
	if (a->at == a->nr)
		return unpack_svarint(s, delta) || unpack_set_error(u, "too few addresses");
	*delta = a->value[a->at++];
	return true;
}

/* ---- accesses ---------------------------------------------------------------- */

static inline void run_set_access(const struct unpack_site *site, uint64_t address,
				  struct mem_access *out)
{
	out->address = address;
	out->pc = site->pc;
	memcpy(&out->size, &site->size, 4);
}

/* The site that a symbol names; NULL: a fault. */
static inline struct unpack_site *run_site(struct unpack *u, uint64_t who, struct unpack_site *here)
{
	if (who != CRAY_NEXT)
		return unpack_site_of(u, who);
	if (!here)
		unpack_set_error(u, "a site after none");
	return here ? here->next : NULL;
}

/* Decode one access, whatever its coding: then it is of g->here.  False: none, or a fault. */
static bool run_access(struct unpack *u, struct unpacking *g)
{
	struct unpack_stream symbols = g->symbols;
	struct unpack_site *site;
	uint64_t v, base, delta;

	if (!unpack_peek_access(&symbols, &v))
		return false;
	site = run_site(u, v >> 2, g->here);
	if (!site)
		return false;
	base = v & 1 ? g->before : site->last;
	delta = unpack_step_of(site, v & 1);
	if (v & 2 && !ahead_take(u, v & 1 ? &u->fast->near : &u->fast->own,
				 v & 1 ? &u->near : &u->own, &delta))
		return false;
	if (g->here)
		g->here->next = site;
	g->symbols = symbols;
	g->left--;
	g->here = site;
	site->from[UNPACK_STRIDE] = site->last;
	site->from[UNPACK_DISTANCE] = g->before;
	site->last = g->before = base + delta;
	return true;
}

/* ---- lines ------------------------------------------------------------------- */

/* What run_put_key() needs, in local variables. */
struct run_keys {
	uint64_t *key;
	uint64_t inside; /* bits of an address within a line */
	uint64_t count;  /* sum of the counts of the sites */
	uint32_t shift;  /* from an address to the line number from bit 4 on */
};

/* @shift: that of the lines if the compiler knows it; else 0. */
static inline __attribute__((always_inline)) struct run_keys
run_keys_of(const struct mem_lines *lines, const uint32_t shift)
{
	struct run_keys k = { 0 };

	if (lines) {
		k.key = lines->key + lines->nr;
		k.inside = (UINT64_C(1) << (shift ? shift : lines->shift)) - 1;
		k.shift = (shift ? shift : lines->shift) - 4;
	}
	return k;
}

/* Store the key of an access.  False: the access is not of one line. */
static inline bool run_put_key(struct run_keys *k, const struct unpack_site *site, uint64_t address,
			       size_t at)
{
	k->key[at] = (address >> k->shift & ~UINT64_C(15)) + site->key;
	if (__builtin_expect(site->more > (~address & k->inside), 0))
		return false;
	k->count += site->count;
	return true;
}

/* @nr accesses of one line each have stored their keys; @count is the sum of their counts. */
static inline void run_add_keys(struct mem_lines *lines, uint32_t nr, uint64_t count)
{
	uint64_t writes = count >> 32;

	lines->nr += nr;
	lines->bytes += (uint32_t)count;
	lines->accesses[1] += writes;
	lines->accesses[0] += nr - writes;
	lines->lines[1] += writes;
	lines->lines[0] += nr - writes;
}

/* Add an access of any number of lines; there is room for them. */
static void run_add_lines(struct mem_lines *lines, const struct unpack_site *site, uint64_t address)
{
	uint64_t line = address >> lines->shift, last = address + site->size - 1;

	lines->accesses[site->is_write]++;
	lines->bytes += site->size;
	if (!site->size) {
		lines->empty++;
		return;
	}
	last = (last < address ? UINT64_MAX : last) >> lines->shift;
	lines->straddles += last != line;
	for (; line <= last; line++) {
		lines->key[lines->nr++] = MEM_KEY_OF(line) | site->is_write;
		lines->lines[site->is_write]++;
	}
}

/* ---- accesses of known sites ------------------------------------------------- */

/* A choice that the processor cannot predict: without a branch. */
#define RUN_CHOOSE(condition, yes, no) \
	(__builtin_expect_with_probability(!!(condition), 1, 0.5) ? (yes) : (no))

/* How many of the lowest @nr bits are set. */
static inline uint32_t run_bits_set(uint64_t bits, size_t nr)
{
	return (uint32_t)__builtin_popcountll(nr < PART ? bits & ((UINT64_C(1) << nr) - 1) : bits);
}

/* The value @bytes after @value. */
static inline const uint64_t *run_after(const uint64_t *value, uint64_t bytes)
{
	return (const uint64_t *)(const void *)((const char *)value + bytes);
}

/* The next value of the stream that a symbol takes one of, if it does. */
static inline uint64_t run_value(const uint64_t *own, const uint64_t *near, size_t symbol)
{
	uint64_t from_own = *own, from_near = *near;

	return RUN_CHOOSE(symbol & 1, from_near, from_own);
}

/* Where run_common() finds the values of the address streams. */
enum run_values {
	RUN_CHECKED, /* ahead, and there may be too few */
	RUN_ENOUGH,  /* ahead, one for each access */
	RUN_LISTED,  /* symbol_part_values() */
};

/*
 * Decode accesses with symbols of one byte and known sites, up to the first that is not so.
 * @lines: NULL, or the output instead of @out; then also up to the first access that is not of one
 * line.
 */
static inline __attribute__((always_inline)) uint32_t
run_common(struct unpack_fast *f, struct unpacking *g, const struct symbol_part *part,
	   struct mem_access *out, struct mem_lines *lines, const uint32_t shift,
	   const enum run_values values, const uint64_t *listed)
{
	const uint8_t *at = part->at;
	const struct unpack_symbols *symbols = &f->symbols;
	const uint64_t *own = f->own.value + f->own.at, *near = f->near.value + f->near.at;
	const uint64_t *own_end = f->own.value + f->own.nr, *near_end = f->near.value + f->near.nr;
	struct unpack_site *here = g->here, *site, *named;
	uint64_t before = g->before;
	struct run_keys keys = run_keys_of(lines, shift);
	size_t nr, max = part->nr;

	for (nr = 0; nr < max; nr++) {
		size_t symbol = at[nr];
		uint64_t value, address, last, delta;

		/* NOLINTNEXTLINE(performance-no-int-to-ptr): not of the next one */
		named = (struct unpack_site *)symbols->site[symbol];
		site = here->next;
		site = RUN_CHOOSE(symbol < (size_t)4 * CRAY_EVENT, site, named);
		if (values == RUN_CHECKED && (run_after(own, symbols->own[symbol]) > own_end ||
					      run_after(near, symbols->near[symbol]) > near_end))
			break;
		if (!lines && site == &symbols->stop)
			break;
		last = site->last;
		delta = last - site->from[symbol & 1];
		value = values == RUN_LISTED ? listed[nr] : run_value(own, near, symbol);
		address = RUN_CHOOSE(symbol & 1, before, last);
		address += RUN_CHOOSE(symbol & 2, value, delta);
		if (lines && !run_put_key(&keys, site, address, nr))
			break;
		if (values != RUN_LISTED) {
			own = run_after(own, symbols->own[symbol]);
			near = run_after(near, symbols->near[symbol]);
		}
		here->next = site;
		site->from[UNPACK_STRIDE] = last;
		site->from[UNPACK_DISTANCE] = before;
		site->last = address;
		if (!lines)
			run_set_access(site, address, &out[nr]);
		before = address;
		here = site;
	}
	if (values == RUN_LISTED) {
		f->own.at += run_bits_set(part->is_own, nr);
		f->near.at += run_bits_set(part->is_near, nr);
	} else {
		f->own.at = (uint32_t)(own - f->own.value);
		f->near.at = (uint32_t)(near - f->near.value);
	}
	g->here = here;
	g->before = before;
	if (lines)
		run_add_keys(lines, (uint32_t)nr, keys.count);
	return (uint32_t)nr;
}

/* ---- loops ------------------------------------------------------------------- */

/* The number of zeros that are next, up to @max. */
static uint32_t steady_symbols(const struct unpacking *g, uint32_t max)
{
	const uint8_t *at = g->symbols.at;
	uint32_t nr = 0;
	uint64_t x;

	for (; nr + 8 <= max; nr += 8) {
		memcpy(&x, at + nr, sizeof(x));
		if (x)
			return nr;
	}
	return nr;
}

/* The number of zeros at the end of the next @nr symbols; 0: too few for a loop. */
static uint32_t steady_tail(const struct unpacking *g, uint32_t nr)
{
	const uint8_t *end = g->symbols.at + nr;
	uint32_t zeros = 0;
	uint64_t x;

	for (; zeros + 8 <= nr; zeros += 8) {
		memcpy(&x, end - zeros - 8, sizeof(x));
		if (x)
			break;
	}
	return zeros < STEADY ? 0 : zeros;
}

/* The sites of the loop that begins after @here.  Returns their number; 0: too many. */
static uint32_t steady_sites(const struct unpack_site *here, struct unpack_site **sites)
{
	struct unpack_site *site = here->next;
	uint32_t nr = 0;

	do {
		sites[nr++] = site;
		site = site->next;
	} while (site != sites[0] && nr < LOOP_SITES_MAX);
	return site == sites[0] ? nr : 0;
}

/* The accesses of a loop of @period sites, @nr altogether. */
static void steady_accesses(struct unpack_site *const *sites, uint32_t period,
			    struct mem_access *out, uint32_t nr)
{
	uint32_t i, k;

	for (k = 0; k < period; k++) {
		const struct unpack_site copy = *sites[k];
		uint64_t address = copy.last, stride = unpack_step_of(&copy, UNPACK_STRIDE);

		for (i = k; i < nr; i += period) {
			address += stride;
			run_set_access(&copy, address, &out[i]);
		}
	}
}

/* The same as keys.  Returns how many: whole rounds before an access that is not of one line. */
static uint32_t steady_keys(struct unpack_site *const *sites, uint32_t period,
			    struct mem_lines *lines, uint32_t nr)
{
	struct loop_sites loop = { .nr = period, .shift = lines->shift };
	uint64_t count = 0;
	uint32_t k;

	for (k = 0; k < period; k++) {
		loop.last[k] = sites[k]->last;
		loop.stride[k] = unpack_step_of(sites[k], UNPACK_STRIDE);
		loop.key[k] = sites[k]->key;
		loop.more[k] = sites[k]->more;
		count += sites[k]->count;
	}
	nr = loop_keys(&loop, nr, lines->key + lines->nr);
	nr -= nr % period;
	run_add_keys(lines, nr, count * (nr / period));
	return nr;
}

/* The state after @rounds rounds. */
static void steady_end(struct unpacking *g, struct unpack_site *const *sites, uint32_t period,
		       uint32_t rounds)
{
	const struct unpack_site *last = sites[period - 1];
	uint64_t before = g->before, stride = unpack_step_of(last, UNPACK_STRIDE);
	uint32_t k;

	if (rounds > 1)
		before = last->last + stride * (rounds - 1);
	for (k = 0; k < period; k++) {
		stride = unpack_step_of(sites[k], UNPACK_STRIDE);
		sites[k]->last += stride * rounds;
		sites[k]->from[UNPACK_STRIDE] = sites[k]->last - stride;
		sites[k]->from[UNPACK_DISTANCE] = before;
		before = sites[k]->last;
	}
	g->here = sites[period - 1];
	g->before = before;
	g->symbols.at += (size_t)rounds * period;
	g->left -= rounds * period;
}

/* Each site continues with its stride, in turn: symbol 0, @nr times. */
static uint32_t run_steady(struct unpacking *g, struct mem_access *out, struct mem_lines *lines,
			   uint32_t nr)
{
	struct unpack_site *sites[LOOP_SITES_MAX];
	uint32_t period = steady_sites(g->here, sites), all;

	all = nr -= period ? nr % period : nr;
	if (!nr)
		return 0;
	if (lines)
		nr = steady_keys(sites, period, lines, nr);
	else
		steady_accesses(sites, period, out, nr);
	g->has_no_key = nr < all;
	if (nr)
		steady_end(g, sites, period, nr / period);
	return nr;
}

/* ---- runs -------------------------------------------------------------------- */

/* Look at the next @nr symbols. */
static inline void run_look(const struct unpack *u, const struct unpacking *g, uint32_t nr,
			    const bool vectors, struct symbol_part *p)
{
	const uint32_t heap = 1u << CRAY_EV_ALLOC | 1u << CRAY_EV_FREE;

	if (vectors) {
		symbol_part_begin(p, g->symbols.at, nr, &u->events, (u->skips & heap) == heap);
		return;
	}
	p->at = g->symbols.at;
	p->nr = p->nr_symbols = p->own = p->near = nr;
	p->events = 0;
}

/*
 * Decode up to @max accesses of the common kinds; there is a site already.  *@stops: the next one
 * is not of these.
 */
static inline __attribute__((always_inline)) uint32_t
run_part(struct unpack *u, struct unpacking *g, struct mem_access *out, struct mem_lines *lines,
	 const uint32_t shift, const bool vectors, uint32_t max, bool *stops)
{
	size_t bytes = (size_t)(g->symbols.end - g->symbols.at);
	uint32_t nr = max < bytes ? max : (uint32_t)bytes;
	uint32_t zeros = g->has_no_key ? 0 : steady_symbols(g, nr), did, passed;
	struct symbol_part part;
	uint64_t value[PART];
	bool own, near;

	*stops = false;
	if (zeros >= STEADY) {
		did = run_steady(g, out, lines, zeros);
		if (did)
			return did;
	}
	nr = nr < PART ? nr : PART;
	if (zeros < STEADY && !g->has_no_key)
		nr -= steady_tail(g, nr); /* the next part is a loop */
	run_look(u, g, nr, vectors, &part);
	own = ahead_has(&u->fast->own, &u->own, part.own);
	near = ahead_has(&u->fast->near, &u->near, part.near);
	if (own && near && vectors) {
		symbol_part_values(&part, u->fast->own.value + u->fast->own.at,
				   u->fast->near.value + u->fast->near.at, value);
		did = run_common(u->fast, g, &part, out, lines, shift, RUN_LISTED, value);
	} else if (own && near && !vectors) {
		did = run_common(u->fast, g, &part, out, lines, shift, RUN_ENOUGH, NULL);
	} else {
		did = run_common(u->fast, g, &part, out, lines, shift, RUN_CHECKED, NULL);
	}
	*stops = did < part.nr || part.nr_symbols < nr || nr == 0;
	passed = part.events ? symbol_part_end(&part, did, &u->events) : did;
	g->symbols.at += passed;
	g->left -= passed;
	return did;
}

/* Pass over the next symbol if it is an event to skip.  False: it is not, or a fault. */
static bool run_skip(struct unpack *u, struct unpacking *g)
{
	struct mem_record record;
	bool is_record;

	if (g->symbols.at == g->symbols.end || *g->symbols.at >> 2 != CRAY_EVENT ||
	    u->events.at == u->events.end || *u->events.at > 31 ||
	    !(u->skips & 1u << *u->events.at))
		return false;
	g->symbols.at++;
	g->left--;
	return unpack_event(u, &record, &is_record);
}

/* The symbols that name @site.  Symbols of more than one byte are not in the table. */
static void fast_name_site(struct unpack_fast *f, struct unpack_site *site, uint32_t number)
{
	uint32_t symbol = 4 * (CRAY_SITE + number), way;

	for (way = 0; way < 4 && symbol < 0x80; way++)
		f->symbols.site[symbol + way] = (uintptr_t)site;
	f->nr_sites = number + 1;
}

/* At the first run of a block, or if there are new sites. */
static bool unpack_begin_fast(struct unpack *u)
{
	struct unpack_fast *f = u->fast;
	struct unpack_symbols *t;
	uint32_t i;

	if (!f)
		f = u->fast = calloc(1, sizeof(*f));
	if (!f)
		return unpack_no_memory(u, "no memory for its symbols");
	if (f->is_begun)
		return true;
	t = &f->symbols;
	memset(t, 0, sizeof(*t));
	t->stop.more = UINT32_MAX;
	for (i = 0; i < 256; i++) {
		t->site[i] = (uintptr_t)&t->stop;
		t->own[i] = (i & 3) == CRAY_OWN ? sizeof(uint64_t) : 0;
		t->near[i] = (i & 3) == CRAY_NEAR ? sizeof(uint64_t) : 0;
	}
	f->own.at = f->own.nr = f->near.at = f->near.nr = f->nr_sites = 0;
	return f->is_begun = true;
}

/* Up to @max accesses to @out, or to @lines if that is not NULL. */
static inline __attribute__((always_inline)) uint32_t
unpack_run_to(struct unpack *u, struct mem_access *out, struct mem_lines *lines,
	      const uint32_t shift, const bool vectors, uint32_t max)
{
	struct unpacking g = {
		.symbols = u->symbols, .here = u->here, .before = u->before, .left = u->nr_symbols
	};
	uint32_t nr = 0, most;
	bool stops = false; /* the next access is not of a common kind */

	if (u->fault || !u->stands_for || !unpack_begin_fast(u))
		return 0;
	while (nr < max && g.left && (!lines || lines->room - lines->nr >= MEM_KEYS_MAX)) {
		while (u->fast->nr_sites < u->nr_sites)
			fast_name_site(u->fast, &u->site[u->fast->nr_sites], u->fast->nr_sites);
		most = max - nr < g.left ? max - nr : g.left;
		if (lines && most > lines->room - lines->nr)
			most = lines->room - lines->nr;
		if (g.here && !stops) {
			nr += run_part(u, &g, lines ? NULL : out + nr, lines, shift, vectors, most,
				       &stops);
			continue;
		}
		stops = false;
		if (run_access(u, &g)) {
			if (lines)
				run_add_lines(lines, g.here, g.before);
			else
				run_set_access(g.here, g.before, &out[nr]);
			nr++;
		} else if (u->fault || !run_skip(u, &g)) {
			break;
		}
	}
	u->symbols = g.symbols;
	u->before = g.before;
	u->here = g.here;
	u->nr_symbols = g.left;
	u->nr_records += nr;
	u->nr_accesses += nr;
	return nr;
}

/* A constant for the compiler: the most common size of lines. */
static inline __attribute__((always_inline)) uint32_t
unpack_run_any_lines(struct unpack *u, struct mem_lines *lines, const bool vectors, uint32_t max)
{
	if (lines->shift == 6)
		return unpack_run_to(u, NULL, lines, 6, vectors, max);
	return unpack_run_to(u, NULL, lines, 0, vectors, max);
}

#if defined(__x86_64__)
#define UNPACK_VECTORS __attribute__((target("popcnt,bmi,bmi2")))
#else
#define UNPACK_VECTORS
#endif

/* The two kinds of output if symbol_part_works(). */
UNPACK_VECTORS static uint32_t unpack_run_vectors(struct unpack *u, struct mem_access *out,
						  uint32_t max)
{
	return unpack_run_to(u, out, NULL, 0, true, max);
}

UNPACK_VECTORS static uint32_t unpack_lines_vectors(struct unpack *u, struct mem_lines *lines,
						    uint32_t max)
{
	return unpack_run_any_lines(u, lines, true, max);
}

uint32_t unpack_run(struct unpack *u, struct mem_access *out, uint32_t max)
{
	if (symbol_part_works())
		return unpack_run_vectors(u, out, max);
	return unpack_run_to(u, out, NULL, 0, false, max);
}

uint32_t unpack_run_lines(struct unpack *u, struct mem_lines *out, uint32_t max)
{
	struct mem_lines lines = { .key = out->key, .room = out->room, .shift = out->shift };
	uint32_t nr;

	if (symbol_part_works())
		nr = unpack_lines_vectors(u, &lines, max);
	else
		nr = unpack_run_any_lines(u, &lines, false, max);
	*out = lines;
	return nr;
}
