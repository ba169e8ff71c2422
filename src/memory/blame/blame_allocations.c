/* SPDX-License-Identifier: MIT */
/* blame_allocations.c - misses by the place where a block of the heap was allocated. */
#include "memory/blame/blame_allocations.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/path.h"
#include "memory/blame/blame_state.h"

#define CALLERS_SHOWN 4
#define FRAMES_MAX    (CRAY_FRAMES_MAX + 1) /* the allocating call, then the stack */

/* ---- the place of a site ---------------------------------------------------- */

static bool allocations_has_word(const char *name, const char *word)
{
	size_t size = strlen(word);

	for (; *name; name++) {
		if (!strncasecmp(name, word, size))
			return true;
	}
	return false;
}

static bool allocations_is_library(const char *module)
{
	static const char *const names[] = { "libc.so",   "libc-",    "libstdc++.", "libc++.",
					     "libc++abi", "ld-linux", "libpthread", "libcacheray" };
	const char *base = module ? path_base(module) : "";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* True for a function that only passes on what it allocates. */
static bool allocations_is_wrapper(const struct symbol *s)
{
	static const char *const words[] = { "alloc", "dup", "operator new" };
	size_t i;

	if (allocations_is_library(s->module))
		return true;
	if (!s->function)
		return false;
	if (!strncmp(s->function, "std::", 5) || !strncmp(s->function, "__gnu_cxx::", 11))
		return true;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (allocations_has_word(s->function, words[i]))
			return true;
	}
	return false;
}

/*
 * The symbol of a return address.  Library functions are passed over: their names are not needed,
 * and to read the debug information of the C library takes longer than that of most programs.
 */
static void allocations_symbol(struct blame *b, uint64_t pc, bool with_libraries,
			       struct symbol *out)
{
	/* The recorded address is that after the call. */
	const char *module = pc ? symbols_module_path(b->symbols, 0, pc - 1) : NULL;

	memset(out, 0, sizeof(*out));
	if (module && !with_libraries && allocations_is_library(module))
		out->module = module;
	else if (module && !symbols_find(b->symbols, 0, pc - 1, out))
		memset(out, 0, sizeof(*out));
}

/* The functions of a site, innermost first; a function that follows itself is one. */
static size_t allocations_frames(struct blame *b, const struct heap_site *site, struct symbol *out,
				 uint64_t *pcs)
{
	const uint64_t *frames = NULL;
	size_t nr_frames = b->facts ? stack_table_get(&b->facts->stacks, site->stack, &frames) : 0;
	size_t nr = 0, i;

	for (i = 0; i <= nr_frames && nr < FRAMES_MAX; i++) {
		uint64_t pc = i ? frames[i - 1] : site->pc;
		struct symbol *s = &out[nr];

		allocations_symbol(b, pc, false, s);
		if (nr && s->function && out[nr - 1].function &&
		    !strcmp(s->function, out[nr - 1].function))
			continue;
		pcs[nr++] = pc;
	}
	return nr;
}

/* The callers of frame @at: "build < main". */
static const char *allocations_callers(struct blame *b, const struct symbol *frames, size_t nr,
				       size_t at)
{
	char text[512] = "";
	size_t used = 0, shown = 0, i;
	int64_t number;

	for (i = at + 1; i < nr && shown < CALLERS_SHOWN && used < sizeof(text); i++) {
		if (!frames[i].function || allocations_is_library(frames[i].module))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.100s",
					 shown++ ? " < " : "", frames[i].function);
	}
	number = strtab_intern(&b->texts, text);
	return number < 0 ? "" : strtab_text(&b->texts, (size_t)number);
}

/* Everything but the counts. */
static void allocations_resolve(struct blame *b, const struct heap_site *site,
				struct blame_allocation *out)
{
	struct symbol frames[FRAMES_MAX];
	uint64_t pcs[FRAMES_MAX];
	size_t nr = allocations_frames(b, site, frames, pcs), i;

	for (i = 0; i < nr && allocations_is_wrapper(&frames[i]); i++)
		;
	if (i == nr) /* the outermost one of the program */
		for (i = nr - 1; i > 0 && allocations_is_library(frames[i].module); i--)
			;
	if (allocations_is_library(frames[i].module))
		allocations_symbol(b, pcs[i], true, &frames[i]);
	*out = (struct blame_allocation){ .pc = pcs[i],
					  .function = frames[i].function,
					  .file = frames[i].file,
					  .module = frames[i].module,
					  .line = frames[i].line,
					  .blocks = site->blocks,
					  .bytes = site->bytes };
	out->callers = allocations_callers(b, frames, nr, i);
}

static void allocations_text(const struct blame_allocation *a, char *buf, size_t size)
{
	if (a->file)
		snprintf(buf, size, "%.250s %.100s:%u", a->function ? a->function : "",
			 path_base(a->file), a->line);
	else if (a->function)
		snprintf(buf, size, "%.250s", a->function);
	else
		snprintf(buf, size, "0x%llx", (unsigned long long)a->pc);
}

const char *blame_allocation_name(void *blame, const struct heap_site *site)
{
	struct blame *b = blame;
	bool is_bytes = typed_memory_is_bytes(mem_places_typed(b->places), site);
	const char *what = is_bytes ? "bytes" : "memory";
	struct blame_allocation a;
	char text[400];
	int64_t number;

	allocations_resolve(b, site, &a);
	if (a.file && a.function)
		snprintf(text, sizeof(text), "%s from %.100s:%u (%.250s)", what, path_base(a.file),
			 a.line, a.function);
	else if (a.function)
		snprintf(text, sizeof(text), "%s from %.250s", what, a.function);
	else
		snprintf(text, sizeof(text), "%s from 0x%llx", what, (unsigned long long)a.pc);
	number = strtab_intern(&b->texts, text);
	return number < 0 ? NULL : strtab_text(&b->texts, (size_t)number);
}

/* ---- counts ------------------------------------------------------------------ */

struct blame_counts *blame_allocation_counts(struct blame *b, uint32_t site)
{
	uint32_t size = b->alloc_counts_size ? b->alloc_counts_size : 64;
	struct blame_counts *more;

	if (site < b->alloc_counts_size)
		return &b->alloc_counts[site];
	while (size <= site)
		size *= 2;
	more = realloc(b->alloc_counts, size * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + b->alloc_counts_size, 0, (size - b->alloc_counts_size) * sizeof(*more));
	b->alloc_counts = more;
	b->alloc_counts_size = size;
	return &more[site];
}

/* ---- the table ------------------------------------------------------------------ */

static int allocations_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_allocation *a = *(struct blame_allocation *const *)x;
	const struct blame_allocation *c = *(struct blame_allocation *const *)y;
	int order = blame_by_cost(b, &a->counts, &c->counts);

	if (order || a->bytes == c->bytes)
		return order ? order : (a->pc > c->pc) - (a->pc < c->pc);
	return a->bytes < c->bytes ? 1 : -1;
}

/* Add a site to the row of its place, which is created if it is new. */
static void allocations_add(struct blame *b, struct u64map *known, struct strtab *keys,
			    uint32_t site)
{
	const struct heap_blocks *blocks = mem_places_blocks(b->places);
	struct blame_allocation a;
	uint64_t *at = NULL;
	char key[800];
	int64_t text;

	allocations_resolve(b, heap_blocks_site(blocks, site), &a);
	if (site < b->alloc_counts_size)
		a.counts = b->alloc_counts[site];
	allocations_text(&a, key, sizeof(key));
	text = strtab_intern(keys, key);
	if (text >= 0)
		at = u64map_at(known, (uint64_t)text);
	if (at && *at) {
		struct blame_allocation *row = &b->allocations[*at - 1];

		blame_add_counts(&row->counts, &a.counts);
		row->blocks += a.blocks;
		row->bytes += a.bytes;
		return;
	}
	b->allocations[b->nr_allocations++] = a;
	if (at)
		*at = b->nr_allocations;
}

/* Blocks of a site may be from before the part of the trace that counts. */
static bool allocations_are_used(const struct blame *b, const struct heap_blocks *blocks,
				 uint32_t site)
{
	if (heap_blocks_site(blocks, site)->blocks)
		return true;
	return site < b->alloc_counts_size &&
	       b->alloc_counts[site].reads + b->alloc_counts[site].writes;
}

static void allocations_make(struct blame *b)
{
	const struct heap_blocks *blocks = mem_places_blocks(b->places);
	struct u64map known = { 0 };
	struct strtab keys = { 0 };
	uint32_t i;

	b->allocations = calloc((size_t)blocks->nr_sites + 1, sizeof(*b->allocations));
	b->sorted_allocations = calloc((size_t)blocks->nr_sites + 1,
				       sizeof(struct blame_allocation *));
	if (!b->allocations || !b->sorted_allocations) {
		memory_shortage_note();
		return;
	}
	for (i = 0; i < blocks->nr_sites; i++) {
		if (allocations_are_used(b, blocks, i))
			allocations_add(b, &known, &keys, i);
	}
	for (i = 0; i < b->nr_allocations; i++)
		b->sorted_allocations[i] = &b->allocations[i];
	qsort_r(b->sorted_allocations, b->nr_allocations, sizeof(struct blame_allocation *),
		allocations_by_cost, b);
	u64map_release(&known);
	strtab_release(&keys);
}

size_t blame_allocations(struct blame *b, const struct blame_allocation **out, size_t nr)
{
	size_t i;

	blame_memos_settle(b);
	if (!b->allocations)
		allocations_make(b);
	for (i = 0; i < b->nr_allocations && i < nr; i++)
		out[i] = b->sorted_allocations[i];
	return b->nr_allocations;
}

void blame_allocations_release(struct blame *b)
{
	free(b->alloc_counts);
	free(b->allocations);
	free(b->sorted_allocations);
}
