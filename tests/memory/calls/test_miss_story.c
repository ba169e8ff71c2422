/* SPDX-License-Identifier: MIT */
/*
 * test_miss_story.c - the accesses of a small program, simulated: what types, fields, lines,
 * allocations, coroutines, functions and calls have of the misses, and how two such runs differ.
 *
 * The program is this one; what it does is a list of records that is made here.  The caches are
 * fully associative, so that only the order of accesses counts, not where the program is loaded.
 */
#include "check.h"
#include "golden.h"
#include "memory/blame/blame_allocations.h"
#include "memory/blame/blame_coroutines.h"
#include "memory/calls/call_flame.h"
#include "memory/calls/call_watch.h"
#include "memory/calls/callgrind_file.h"
#include "memory/diff/miss_compare.h"
#include "own_module.h"
#include "story_program.h"

#define LISTED       64u
#define IN(function) ((uint64_t)(uintptr_t)(function) + 1)
#define AT(variable) ((uint64_t)(uintptr_t) & (variable))

struct story {
	struct sim_config config;
	struct mem_facts facts;
	struct sim *sim;
	struct blame *blame;
	struct call_watch watch;
	uint64_t now;
	uint32_t weight; /* of accesses; 0: one each */
};

/* ---- records ------------------------------------------------------------------------ */

static void story_record(struct story *s, struct mem_record r)
{
	struct sim_outcome out;

	r.time_ns = s->now += 10;
	if (mem_is_access(&r)) {
		r.weight_256 = s->weight;
		CHECK_EQ(sim_access(s->sim, r.thread, r.address, r.size, r.kind == MEM_WRITE, &out),
			 0);
		CHECK_EQ(blame_access(s->blame, &r, &out), 0);
		CHECK_EQ(call_watch_each(&s->watch, &r, &out), 0);
		return;
	}
	CHECK_EQ(blame_record(s->blame, &r), 0);
	CHECK_EQ(call_watch_each(&s->watch, &r, NULL), 0);
}

static void story_touch(struct story *s, uint32_t thread, void (*in)(void), uint64_t address,
			uint32_t size, bool is_write)
{
	story_record(s, (struct mem_record){ .kind = is_write ? MEM_WRITE : MEM_READ,
					     .thread = thread,
					     .pc = in ? IN(in) : 0,
					     .address = address,
					     .size = (uint8_t)size });
}

static void story_read(struct story *s, void (*in)(void), uint64_t address, uint32_t size)
{
	story_touch(s, 0, in, address, size, false);
}

static void story_enter(struct story *s, uint32_t thread, void (*function)(void),
			void (*from)(void))
{
	story_record(s, (struct mem_record){ .kind = MEM_ENTER,
					     .thread = thread,
					     .pc = IN(function),
					     .value = from ? IN(from) : 0 });
}

static void story_leave(struct story *s, uint32_t thread, uint64_t nr)
{
	story_record(s, (struct mem_record){ .kind = MEM_EXIT, .thread = thread, .value = nr });
}

static void story_add(struct story *s, uint64_t address, const char *type, uint32_t size,
		      uint32_t count)
{
	story_record(s, (struct mem_record){ .kind = MEM_ADD,
					     .tag = MEM_ADD,
					     .address = address,
					     .pc = IN(story_make),
					     .elem_size = size,
					     .elem_count = count,
					     .name = type,
					     .name_size = (uint32_t)strlen(type) });
}

static void story_block(struct story *s, uint64_t address, uint64_t size, uint32_t stack)
{
	story_record(s, (struct mem_record){ .kind = MEM_ALLOC,
					     .address = address,
					     .pc = IN(story_alloc),
					     .value = size,
					     .stack = stack });
}

static void story_free(struct story *s, uint64_t address)
{
	story_record(s, (struct mem_record){ .kind = MEM_FREE, .address = address });
}

/* @text: kind, file, function and line, each with a NUL. */
static void story_switch(struct story *s, uint64_t id, uint32_t cause, const char *text,
			 size_t size)
{
	story_record(s, (struct mem_record){ .kind = MEM_CORO,
					     .value = id,
					     .cause = cause,
					     .name = text,
					     .name_size = (uint32_t)size });
}

/* ---- the story ----------------------------------------------------------------------- */

#define FIRST_TEXT  "reader\0reader.c\0read_all\00012"
#define SECOND_TEXT "writer\0writer.c\0write_all\0007"

/* A list is walked; @stride 2 leaves out every other item. */
static void story_list(struct story *s, uint32_t rounds, uint32_t stride)
{
	uint32_t i, k;

	story_enter(s, 0, story_walk, story_main);
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < 4; k += stride) {
			story_read(s, story_walk, AT(story_items[k].key), 8);
			story_read(s, story_walk, AT(story_items[k].next), 8);
			story_touch(s, 0, story_walk, AT(story_items[k].hits), 4, true);
		}
	}
	story_read(s, story_walk, AT(story_items[0].hits), 8);       /* two fields */
	story_read(s, story_walk, AT(story_items[1].flag) + 1, 1);   /* padding */
	story_read(s, story_walk, AT(story_items[1].name) + 40, 16); /* two lines */
	story_leave(s, 0, 1);
}

/* Two threads write the halves of a line, then the same half. */
static void story_sharing(struct story *s)
{
	uint32_t i;

	story_enter(s, 1, story_worker, NULL);
	for (i = 0; i < 6; i++) {
		story_touch(s, 0, story_main, AT(story_halves.left), 8, true);
		story_touch(s, 1, story_worker, AT(story_halves.right), 8, i & 1);
	}
	for (i = 0; i < 4; i++) {
		story_touch(s, 0, story_main, AT(story_halves.left), 8, true);
		story_touch(s, 1, story_worker, AT(story_halves.left), 8, false);
	}
	story_leave(s, 1, 0);
}

static void story_heap(struct story *s)
{
	uint32_t i;

	story_enter(s, 0, story_make, story_main);
	story_block(s, 0x10000, 256, 1);
	story_block(s, 0x20000, 128, 2);
	story_block(s, 0x30000, 64, 0);
	for (i = 0; i < 4; i++) {
		story_read(s, story_make, 0x10000 + i * 64, 8);
		story_touch(s, 0, story_make, 0x20000 + i * 32, 8, true);
		story_read(s, story_sort, 0x30000 + i * 16, 4);
	}
	story_free(s, 0x10000);
	story_read(s, story_make, 0x10000, 8); /* freed */
	story_add(s, 0x40000, "struct item", sizeof(struct item), 2);
	story_add(s, 0x50000, "unknown thing", 32, 2);
	for (i = 0; i < 3; i++) {
		story_read(s, story_sort, 0x40000 + i * 72, 8);
		story_touch(s, 0, story_sort, 0x50000 + i * 32, 8, true);
	}
	story_record(s, (struct mem_record){
				.kind = MEM_REMOVE, .tag = MEM_REMOVE, .address = 0x50000 });
	story_read(s, story_sort, 0x50000, 8);
	story_leave(s, 0, 1);
}

static void story_coroutines(struct story *s)
{
	uint32_t i;

	story_switch(s, 5, CRAY_CORO_RESUMED, FIRST_TEXT, sizeof(FIRST_TEXT));
	for (i = 0; i < 5; i++)
		story_read(s, story_sort, 0x60000 + i * 64, 8);
	story_add(s, 0x60000, "struct item", sizeof(struct item), 3);
	story_switch(s, 6, CRAY_CORO_RESUMED, SECOND_TEXT, sizeof(SECOND_TEXT));
	story_touch(s, 0, story_sort, 0x60000, 8, true);
	story_switch(s, 5, CRAY_CORO_RETURNED, FIRST_TEXT, sizeof(FIRST_TEXT));
	story_touch(s, 0, story_sort, 0x70000, 8, true);
	story_switch(s, 0, CRAY_CORO_RETURNED, "", 0);
	story_read(s, story_main, 0x7ffc00000100, 8);
}

/* Recursion, code between two functions, a sampled part, code that is unknown. */
static void story_calls(struct story *s)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		story_enter(s, 0, story_sort, i ? story_sort : story_main);
		story_read(s, story_sort, AT(story_counter), 8);
		story_read(s, story_sort, 0x80000 + i * 64, 8);
	}
	story_leave(s, 0, 3);
	story_enter(s, 0, story_walk, story_sort);
	s->weight = 640;
	story_read(s, story_walk, 0x90000, 8);
	story_read(s, story_alloc, 0x90040, 8);
	s->weight = 0;
	story_read(s, NULL, 0x90080, 8);
	story_leave(s, 0, 1);
}

static void story_modules(struct story *s)
{
	struct symbol_module own = own_module();
	struct cray_module m = { .bias = own.bias, .start = own.start, .end = own.end };
	uint64_t first[] = { IN(story_alloc), IN(story_make), IN(story_main) },
		 second[] = { IN(story_sort) };
	struct cray_stack stacks[] = { { .number = 1, .nr_frames = 3 },
				       { .number = 2, .nr_frames = 1 } };
	struct mem_faults faults = { 0 };
	uint8_t data[sizeof(stacks) + sizeof(first) + sizeof(second)], *at = data;

	CHECK_EQ(mem_facts_add_module(&s->facts, &m, own.path), 0);
	at = mempcpy(at, &stacks[0], sizeof(stacks[0]));
	at = mempcpy(at, first, sizeof(first));
	at = mempcpy(at, &stacks[1], sizeof(stacks[1]));
	at = mempcpy(at, second, sizeof(second));
	CHECK_EQ(stack_table_chunk(&s->facts.stacks, data, (size_t)(at - data), 0, &faults), 0);
	s->facts.command = malloc(12);
	CHECK(s->facts.command);
	memcpy(s->facts.command, "./story\0a\tb", 12);
	s->facts.command_size = 12;
}

static void story_level(struct sim_level_config *l, const char *name, uint64_t lines,
			uint32_t share)
{
	*l = (struct sim_level_config){ .size = 64 * lines, .line = 64, .share = share };
	snprintf(l->name, sizeof(l->name), "%s", name);
}

static void story_begin(struct story *s)
{
	struct err err = { 0 };

	memset(s, 0, sizeof(*s));
	sim_config_default(&s->config);
	s->config.nr_levels = 3;
	story_level(&s->config.level[0], "L1", 4, 1);
	story_level(&s->config.level[1], "L2", 8, 1);
	story_level(&s->config.level[2], "L3", 32, 0);
	s->sim = sim_new(&s->config, &err);
	s->blame = blame_new(&s->config, &err);
	CHECK(s->sim && s->blame);
	story_modules(s);
	CHECK_EQ(call_watch_begin(&s->watch, &s->config, &s->facts, &err), 0);
	CHECK_EQ(blame_modules(s->blame, &s->facts), 0);
}

static void story_run(struct story *s, uint32_t rounds, uint32_t stride, bool has_rest)
{
	story_begin(s);
	story_enter(s, 0, story_main, NULL);
	story_list(s, rounds, stride);
	if (has_rest) {
		story_sharing(s);
		story_heap(s);
	}
	story_coroutines(s);
	story_calls(s);
}

static void story_end(struct story *s)
{
	call_watch_end(&s->watch);
	CHECK(!s->watch.tree && !s->watch.profile);
	blame_free(s->blame);
	sim_free(s->sim);
	mem_facts_release(&s->facts);
}

/* ---- what is shown ---------------------------------------------------------------------- */

static double story_in_ones(uint64_t count)
{
	return (double)count / BLAME_ONE;
}

static void story_show_counts(FILE *out, const struct blame *b, const struct blame_counts *c)
{
	uint32_t i;

	fprintf(out, " %g/%g misses", story_in_ones(c->reads), story_in_ones(c->writes));
	for (i = 0; i < blame_levels(b); i++)
		fprintf(out, " %g", story_in_ones(c->misses[i]));
	fputs(" by class", out);
	for (i = 0; i < SIM_CLASSES; i++)
		fprintf(out, " %g", story_in_ones(c->by_class[i]));
	fprintf(out, " false %g peer %g cost %g\n", story_in_ones(c->false_sharing),
		story_in_ones(c->from_peer), story_in_ones(blame_cost(b, c)));
}

static const char *story_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "-";
}

static void story_show_owners(FILE *out, struct story *s)
{
	const struct blame_owner *list[LISTED];
	size_t nr = blame_owners(s->blame, list, LISTED), i;
	uint32_t k;

	fprintf(out, "%zu owners\n", nr);
	for (i = 0; i < nr && i < LISTED; i++) {
		const struct owner *known = mem_places_owner(blame_places(s->blame),
							     list[i]->owner);

		fprintf(out, "%s kind %d size %llu blocks %llu:", known->name, known->kind,
			(unsigned long long)known->size, (unsigned long long)list[i]->blocks);
		story_show_counts(out, s->blame, &list[i]->counts);
		for (k = 0; k < list[i]->nr_fields; k++) {
			const struct blame_field *f = &list[i]->fields[k];

			if (!f->counts.reads && !f->counts.writes)
				continue;
			fprintf(out, "  .%s read by %llx, written by %llx:",
				blame_field_name(s->blame, list[i], k),
				(unsigned long long)f->readers, (unsigned long long)f->writers);
			story_show_counts(out, s->blame, &f->counts);
		}
		for (k = 0; k < list[i]->nr_lines; k++) {
			fprintf(out, "  line %u:", k);
			story_show_counts(out, s->blame, &list[i]->lines[k]);
		}
	}
}

static void story_show_sites(FILE *out, struct story *s)
{
	const struct blame_site *list[LISTED];
	const struct blame_allocation *from[LISTED];
	size_t nr = blame_sites(s->blame, list, LISTED), i;

	fprintf(out, "%zu sites\n", nr);
	for (i = 0; i < nr; i++) {
		fprintf(out, "%s %s:%u %s:", list[i]->function ? list[i]->function : "-",
			story_base(list[i]->file), list[i]->line,
			mem_places_owner(blame_places(s->blame), list[i]->owner)->name);
		story_show_counts(out, s->blame, &list[i]->counts);
	}
	nr = blame_allocations(s->blame, from, LISTED);
	fprintf(out, "%zu allocations\n", nr);
	for (i = 0; i < nr; i++) {
		fprintf(out, "%s %s:%u < %s, %llu blocks %llu bytes:",
			from[i]->function ? from[i]->function : "-", story_base(from[i]->file),
			from[i]->line, from[i]->callers ? from[i]->callers : "-",
			(unsigned long long)from[i]->blocks, (unsigned long long)from[i]->bytes);
		story_show_counts(out, s->blame, &from[i]->counts);
	}
	for (i = 0; i < BLAME_NAMINGS; i++) {
		fprintf(out, "heap, naming %zu:", i);
		story_show_counts(out, s->blame, blame_heap(s->blame, (enum blame_naming)i));
	}
	fputs("total:", out);
	story_show_counts(out, s->blame, blame_total(s->blame));
}

static void story_show_shared(FILE *out, struct story *s)
{
	const struct blame_shared *list[LISTED];
	size_t nr = blame_shared(s->blame, list, LISTED), i, k;

	fprintf(out, "%zu shared lines, %llu accesses dropped\n", nr,
		(unsigned long long)blame_shared_dropped(s->blame));
	for (i = 0; i < nr; i++) {
		fprintf(out, "false %llu true %llu others %llu\n",
			(unsigned long long)list[i]->false_sharing,
			(unsigned long long)list[i]->true_sharing,
			(unsigned long long)list[i]->others);
		CHECK(blame_shared_at(s->blame, list[i]->address + 63) == list[i]);
		for (k = 0; k < list[i]->nr_fields; k++)
			fprintf(out, "  %s thread %u offset %u: %llu/%llu\n",
				list[i]->fields[k].text, list[i]->fields[k].thread,
				list[i]->fields[k].offset,
				(unsigned long long)list[i]->fields[k].reads,
				(unsigned long long)list[i]->fields[k].writes);
	}
	CHECK(!blame_shared_at(s->blame, 0x123456789000));
}

static void story_show_await(FILE *out, struct story *s, const struct blame_await *a)
{
	fprintf(out, " %s:%u %s, %llu slices %llu ns, %llu allocations %llu bytes:",
		a->file ? a->file : "-", a->line, a->function ? a->function : "-",
		(unsigned long long)a->slices, (unsigned long long)a->slice_ns,
		(unsigned long long)a->allocations, (unsigned long long)a->allocated);
	story_show_counts(out, s->blame, &a->counts);
}

static void story_show_coroutines(FILE *out, struct story *s)
{
	const struct blame_coroutine *list;
	size_t nr, i, k;

	list = blame_coroutines(s->blame, &nr);
	fprintf(out, "%zu kinds of coroutines\n", nr);
	for (i = 0; i < nr; i++) {
		fputs(list[i].kind ? list[i].kind : "(outside)", out);
		story_show_await(out, s, &list[i].all);
		for (k = 0; k < list[i].nr_awaits; k++) {
			fputs(" ", out);
			story_show_await(out, s, &list[i].awaits[k]);
		}
	}
}

/* Paths without their directories: those differ from build to build. */
static void story_put_plain(FILE *out, const char *text)
{
	const char *end, *slash;
	size_t size;

	for (; *text; text = end) {
		size = strcspn(text, " \n");
		end = text + size + (text[size] != '\0');
		slash = memrchr(text, '/', size);
		if (slash && text[0] == '/')
			text = slash + 1;
		fwrite(text, 1, (size_t)(end - text), out);
	}
}

static void story_show_profile(FILE *out, const struct call_profile *p)
{
	uint32_t *list, nr, i, by_whole;

	for (by_whole = 0; by_whole < 2; by_whole++) {
		list = call_profile_sorted(p, by_whole, &nr);
		CHECK(list);
		fprintf(out, "%u functions, sorted by %s\n", nr, by_whole ? "whole" : "self");
		for (i = 0; i < nr; i++) {
			const struct call_function *f = &p->functions[list[i]];

			fprintf(out, "%s %s:%u calls %llu self %llu whole %llu\n", f->name,
				story_base(f->file), f->line, (unsigned long long)f->calls,
				(unsigned long long)call_profile_cost(p, &f->self),
				(unsigned long long)call_profile_cost(p, &f->whole));
		}
		free(list);
	}
}

static void story_show_files(FILE *out, struct story *s, const struct call_profile *p)
{
	struct callgrind_head head = { "a trace", "a machine", &s->facts, &s->config };
	struct call_flame flame;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	unsigned i;

	CHECK(file);
	CHECK_EQ(callgrind_write(p, &head, file), 0);
	fclose(file);
	story_put_plain(out, text);
	free(text);
	CHECK_EQ(call_flame_make(&flame, p), 0);
	for (i = CALL_MEASURE_COST; i < CALL_MEASURE_LEVEL + 3; i++) {
		fprintf(out, "folded by measure %u\n", i);
		CHECK_EQ(call_flame_write(&flame, i, out), 0);
	}
	call_flame_release(&flame);
	CHECK(!flame.frames && !flame.nr);
}

static void a_run_is_attributed_as_in_the_golden_file(void)
{
	const struct call_profile *p;
	struct err err = { 0 };
	struct story s;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	story_run(&s, 5, 1, true);
	story_show_owners(out, &s);
	story_show_sites(out, &s);
	story_show_shared(out, &s);
	story_show_coroutines(out, &s);
	p = call_watch_profile(&s.watch, &err);
	CHECK(p && call_watch_profile(&s.watch, &err) == p);
	CHECK(!call_watch_problem(&s.watch));
	CHECK_EQ(p->merged_calls, 0);
	story_show_profile(out, p);
	story_show_files(out, &s, p);
	fclose(out);
	golden_check("miss_story.txt", text);
	free(text);
	story_end(&s);
}

/* ---- two runs ------------------------------------------------------------------------------ */

static void story_show_row(FILE *out, const char *what, const struct miss_row *r)
{
	if (!r)
		return;
	fprintf(out, "  %s %s %s/%s size %llu accesses %llu cost %llu misses %llu %llu %llu\n",
		what, miss_kind_name(r->kind), r->name, r->part, (unsigned long long)r->size,
		(unsigned long long)r->accesses, (unsigned long long)r->cost,
		(unsigned long long)r->misses[0], (unsigned long long)r->misses[1],
		(unsigned long long)r->misses[2]);
}

static void story_compare(FILE *out, const struct miss_rows *base, const struct miss_rows *head,
			  uint64_t of_row, uint64_t of_total, unsigned kinds)
{
	const struct miss_limits limits = { of_row, of_total, kinds };
	struct miss_comparison c;
	size_t i;

	CHECK_EQ(miss_comparison_make(&c, base, head, &limits), 0);
	fprintf(out, "limits %llu %llu, kinds %x: total %s, %zu changes, same %zu, %s\n",
		(unsigned long long)of_row, (unsigned long long)of_total, kinds,
		miss_verdict_name(c.total.verdict), c.nr, c.by_verdict[MISS_SAME],
		miss_comparison_regressed(&c) ? "regressed" : "not regressed");
	story_show_row(out, "base", c.total.base);
	story_show_row(out, "head", c.total.head);
	for (i = 0; i < c.nr; i++) {
		fprintf(out, " %s\n", miss_verdict_name(c.changes[i].verdict));
		story_show_row(out, "base", c.changes[i].base);
		story_show_row(out, "head", c.changes[i].head);
	}
	for (i = MISS_WORSE; i <= MISS_GONE; i++)
		fprintf(out, " %s %zu", miss_verdict_name((enum miss_verdict)i), c.by_verdict[i]);
	putc('\n', out);
	miss_comparison_release(&c);
	CHECK(!c.changes && !c.nr);
}

static void story_rows(struct miss_rows *m, struct story *s)
{
	struct err err = { 0 };

	CHECK_EQ(miss_rows_make(m, s->blame, call_watch_profile(&s->watch, &err)), 0);
	CHECK_EQ(m->nr_levels, 3);
}

static void two_runs_differ_as_in_the_golden_file(void)
{
	struct story s[3];
	struct miss_rows rows[3];
	char *text = NULL;
	size_t size, i, k;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	story_run(&s[0], 5, 1, true);
	story_run(&s[1], 9, 2, true);
	story_run(&s[2], 12, 1, false);
	for (i = 0; i < 3; i++)
		story_rows(&rows[i], &s[i]);
	for (i = 0; i < rows[0].nr; i++)
		story_show_row(out, "row", &rows[0].rows[i]);
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 3; k++)
			story_compare(out, &rows[i], &rows[k], 5000, 1000, 0xf);
	}
	story_compare(out, &rows[0], &rows[1], 0, 0, 0xf);
	story_compare(out, &rows[0], &rows[2], 20000, 0, 1u << MISS_FIELD);
	story_compare(out, &rows[2], &rows[0], 0, 10000, 1u << MISS_TYPE | 1u << MISS_FUNCTION);
	story_compare(out, &rows[0], &rows[2], 0, 100000, 0xf);
	fclose(out);
	golden_check("miss_story_diff.txt", text);
	free(text);
	for (i = 0; i < 3; i++) {
		miss_rows_release(&rows[i]);
		CHECK(!rows[i].rows && !rows[i].nr);
		story_end(&s[i]);
	}
}

int main(void)
{
	RUN(a_run_is_attributed_as_in_the_golden_file);
	RUN(two_runs_differ_as_in_the_golden_file);
	return 0;
}
