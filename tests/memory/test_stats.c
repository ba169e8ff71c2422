/* SPDX-License-Identifier: MIT */
/*
 * test_stats.c - statistics of memory traces: reuse distances against a plain model, strides,
 * windows, types, checks and slices of coroutines of a small trace.
 */
#include "memory/stat/access_stat.h"

#include "count_memory.h"
#include "memory/stat/coroutine_slices.h"
#include "memory/stat/mem_check.h"
#include "traces.h"

/* ---- reuse distances ------------------------------------------------------------------------ */

#define MODEL_LINES 5000

/* Lines in the order of their last uses, the last one first. */
static struct {
	uint32_t order[MODEL_LINES];
	uint32_t nr;
	uint64_t reuse[LINES_BUCKETS];
} model;

static void model_use(uint32_t line)
{
	uint32_t at, k;
	unsigned bucket = 0;

	for (at = 0; at < model.nr && model.order[at] != line; at++)
		;
	if (at < model.nr) {
		while (at >> bucket)
			bucket++;
		model.reuse[bucket]++;
	} else {
		CHECK(model.nr++ < MODEL_LINES);
	}
	for (k = at; k; k--)
		model.order[k] = model.order[k - 1];
	model.order[0] = line;
}

/* @nr uses of @lines lines: some near to each other, some anywhere. */
static void uses_are_like_the_model(uint32_t lines, uint32_t nr, uint32_t max)
{
	static struct reuse_lines l;
	uint64_t state = lines + nr, b, sum = 0;
	uint32_t i, line = 0;

	memset(&model, 0, sizeof(model));
	CHECK_EQ(lines_init(&l, max), 0);
	for (i = 0; i < nr; i++) {
		uint64_t random = traces_random(&state) >> 16;

		line = random % 4 ? (line + (uint32_t)(random >> 8) % 40) % lines
				  : (uint32_t)(random >> 8) % lines;
		model_use(line);
		CHECK_EQ(lines_use(&l, line, false, 0, ~0u), 0);
	}
	CHECK_EQ(l.one_in, 1);
	CHECK_EQ(l.uses, nr);
	CHECK_EQ(l.cold, model.nr);
	CHECK_EQ(l.distinct, model.nr);
	CHECK_EQ(l.nr, model.nr);
	CHECK_EQ(l.window_lines, model.nr);
	for (b = 0; b < LINES_BUCKETS; b++) {
		CHECK_EQ(l.reuse[b], model.reuse[b]);
		sum += l.reuse[b];
	}
	CHECK_EQ(sum + l.cold, nr);
	lines_release(&l);
	CHECK(!l.lines && !l.uses);
}

static void distances_are_exact(void)
{
	uses_are_like_the_model(10, 1000, 0);
	uses_are_like_the_model(17, 3000, 0);
	uses_are_like_the_model(700, 20000, 1024); /* the order is made compact several times */
	uses_are_like_the_model(5000, 30000, 0);   /* larger tables, sums of sums */
	uses_are_like_the_model(64, 2000, 3);      /* the smallest table is of 64 lines */
	CHECK_EQ(lines_bucket_start(0), 0);
	CHECK_EQ(lines_bucket_start(1), 1);
	CHECK_EQ(lines_bucket_start(5), 16);
}

/* More lines than the sums of one level have: there and back, which gives each distance once. */
static void distances_of_many_lines_are_exact(void)
{
	static struct reuse_lines l;
	const uint32_t nr = 40000;
	uint64_t expected[LINES_BUCKETS] = { 0 };
	uint32_t i;
	unsigned b;

	CHECK_EQ(lines_init(&l, 0), 0);
	for (i = 0; i < nr; i++)
		CHECK_EQ(lines_use(&l, i, false, 0, ~0u), 0);
	for (i = 0; i < nr; i++) {
		CHECK_EQ(lines_use(&l, nr - 1 - i, false, 0, ~0u), 0);
		for (b = 0; i >> b; b++)
			;
		expected[b]++;
	}
	for (b = 0; b < LINES_BUCKETS; b++)
		CHECK_EQ(l.reuse[b], expected[b]);
	lines_release(&l);
}

static void a_line_has_its_users(void)
{
	static struct reuse_lines l;
	const struct reuse_line *hot[3];

	CHECK_EQ(lines_init(&l, 0), 0);
	lines_use(&l, 100, false, 3, ~0u);
	lines_use(&l, 100, true, 67, 9); /* 64 threads later: the same bit */
	lines_use(&l, 100, true, 1, ~0u);
	lines_use(&l, 200, true, 2, 4);
	lines_use(&l, 300, false, 2, ~0u);
	lines_use(&l, 300, false, 2, ~0u);
	CHECK_EQ(lines_hottest(&l, hot, 2), 2);
	CHECK_EQ(hot[0]->line, 100);
	CHECK_EQ(hot[0]->reads, 1);
	CHECK_EQ(hot[0]->writes, 2);
	CHECK_EQ(hot[0]->readers, 8);
	CHECK_EQ(hot[0]->writers, 8 + 2);
	CHECK_EQ(hot[0]->type, 9);
	CHECK_EQ(hot[1]->line, 300);
	CHECK_EQ(hot[1]->type, ~0u);
	CHECK_EQ(lines_hottest(&l, hot, 0), 0);
	CHECK_EQ(lines_hottest(&l, hot, 3), 3);
	CHECK_EQ(hot[2]->line, 200);
	/* A window begins without lines. */
	CHECK_EQ(l.window_lines, 3);
	lines_window(&l);
	CHECK_EQ(l.window_lines, 0);
	lines_use(&l, 100, false, 0, ~0u);
	lines_use(&l, 100, false, 0, ~0u);
	lines_use(&l, 400, false, 0, ~0u);
	CHECK_EQ(l.window_lines, 2);
	CHECK_EQ(l.distinct, 4);
	lines_release(&l);
}

/* The sample follows from the lines alone: the numbers are the same every time. */
static void more_lines_than_fit_are_sampled(void)
{
	static struct reuse_lines l;
	uint64_t reuse = 0, b;
	uint32_t i;

	CHECK_EQ(lines_init(&l, 64), 0);
	for (i = 0; i < 4000; i++)
		CHECK_EQ(lines_use(&l, i % 1000, i % 2, 0, ~0u), 0);
	for (b = 0; b < LINES_BUCKETS; b++)
		reuse += l.reuse[b];
	CHECK_EQ(l.uses, 4000);
	CHECK(l.one_in == 16 || l.one_in == 32 || l.one_in == 64);
	CHECK(l.nr <= 64);
	/* Estimates: of 1,000 lines, and of 3,000 uses with a distance of 999. */
	CHECK(l.distinct > 600 && l.distinct < 1600);
	CHECK(reuse > 1500 && reuse < 4600);
	CHECK(l.reuse[9] + l.reuse[10] + l.reuse[11] > reuse - reuse / 10);
	for (i = 0; i < l.nr; i++) {
		CHECK(l.lines[i].line < 1000);
		CHECK(l.lines[i].reads + l.lines[i].writes >= 1);
		CHECK(l.lines[i].reads + l.lines[i].writes <= 4);
	}
	lines_release(&l);
}

/* Lines that stay in the sample are known after it was halved. */
static void a_smaller_sample_has_its_lines(void)
{
	static struct reuse_lines l;
	uint64_t distinct;
	uint32_t i, k;

	CHECK_EQ(lines_init(&l, 64), 0);
	/* All have the same place in the cache of lines, and the first is used last. */
	for (i = 0; i < 65; i++)
		CHECK_EQ(lines_use(&l, i * UINT64_C(0x10000), false, 0, ~0u), 0);
	CHECK(l.one_in > 1 && l.nr > 10 && l.nr < 64);
	distinct = l.distinct;
	for (i = 65; i-- > 0;)
		CHECK_EQ(lines_use(&l, i * UINT64_C(0x10000), true, 0, ~0u), 0);
	CHECK_EQ(l.distinct, distinct);
	for (i = 0; i < l.nr; i++) {
		CHECK(l.lines[i].reads == 1 && l.lines[i].writes == 1);
		for (k = 0; k < i; k++)
			CHECK(l.lines[k].line != l.lines[i].line);
	}
	lines_release(&l);
}

/* ---- strides ----------------------------------------------------------------------------------
 */

static struct strides strides;

static void one_access(uint32_t thread, uint64_t pc, uint64_t address, uint8_t size, bool is_write)
{
	struct mem_access a = { .address = address, .pc = pc, .size = size, .is_write = is_write };

	CHECK_EQ(strides_run(&strides, thread, &a, 1), 0);
}

static void each_site_of_a_thread_has_its_strides(void)
{
	uint64_t i;

	for (i = 0; i < 10; i++)
		one_access(0, 0x401000, 1000 + i * 8, 8, false); /* 9 of 8: directly after */
	one_access(0, 0x402000, 5, 4, false);
	one_access(1, 0x401000, 1080, 8, false); /* another thread: another site */
	one_access(0, 0x402000, 5, 4, false);    /* 0 */
	one_access(0, 0x402000, 1, 4, false);    /* -4 */
	one_access(0, 0x402000, 4, 4, false);    /* 3 */
	one_access(0, 0x402000, 7, 4, false);    /* 3, the same again */
	/* Without code addresses, reads and writes of a thread are two sites. */
	one_access(0, 0, 100, 0, false);
	one_access(0, 0, 200, 0, true);
	one_access(0, 0, 108, 0, false); /* 8 */
	one_access(0, 0, 200, 0, true);  /* 0, of no size */
	CHECK_EQ(strides.all, 9 + 4 + 2);
	CHECK_EQ(strides.same, 8 + 1);
	CHECK_EQ(strides.zero, 2);
	CHECK_EQ(strides.next, 9);
	CHECK_EQ(strides.nr_sites, 5);
	CHECK_EQ(strides.under + strides.unknown, 0);
	strides_sort(&strides);
	CHECK_EQ(strides.nr_kept, 4);
	CHECK_EQ(strides.kept[0].stride, 8);
	CHECK_EQ(strides.kept[0].count, 10);
	CHECK_EQ(strides.kept[1].count, 2);
	CHECK_EQ(strides.kept[2].count, 2);
	CHECK_EQ(strides.kept[3].stride, -4);
	strides_release(&strides);
	CHECK(!strides.site && !strides.all);
}

/* Frequent strides stay when there is no room for all. */
static void rare_strides_are_removed(void)
{
	uint64_t i, address = 0;

	one_access(0, 1, 0, 1, false);
	for (i = 1; i <= STRIDES_KEPT; i++) { /* each once, those below 2048 twice */
		one_access(0, 1, address += i, 1, false);
		if (i < STRIDES_KEPT / 2) {
			one_access(0, 1, address += i, 1, false);
			one_access(0, 1, address, 1, false);
			i == 1 ? one_access(0, 1, address, 1, false) : (void)0;
		}
	}
	/* With 0 there is one more than fits: the last one removed those that were met once. */
	CHECK_EQ(strides.times, 1);
	CHECK_EQ(strides.under, 1);
	CHECK_EQ(strides.nr_kept, STRIDES_KEPT / 2 + 1);
	for (i = 0; i < 100; i++) /* counted again, wherever they are now */
		one_access(0, 1, address += 3, 1, false);
	one_access(0, 2, 0, 1, false);
	one_access(0, 2, 5, 1, false);
	strides_sort(&strides);
	CHECK_EQ(strides.kept[0].stride, 0);
	CHECK_EQ(strides.kept[0].count, STRIDES_KEPT / 2);
	CHECK_EQ(strides.kept[1].stride, 3);
	CHECK_EQ(strides.kept[1].count, 102);
	CHECK_EQ(strides.kept[2].stride, 5);
	CHECK_EQ(strides.kept[2].count, 3);
	CHECK_EQ(strides.kept[3].count, 2);
	CHECK_EQ(strides.all, STRIDES_KEPT + STRIDES_KEPT - 2 + 1 + 100 + 1);
	strides_release(&strides);
}

/* ---- a trace -----------------------------------------------------------------------------------
 */

static char path[64];
static struct cray_pack pack;

static void access_at(uint64_t pc, uint64_t address, unsigned tag, unsigned size, unsigned attr)
{
	cray_pack_access(&pack, pc, address, CRAY_HOW(tag, size, attr));
}

static void write_trace(void)
{
	struct cray_thread thread = { .number = 0, .id = 100 };
	struct cray_module module = { .start = 0x400000, .end = 0x500000, .build_id_size = 3 };
	struct cfile f;

	traces_begin(&f, path, 0, 0);
	cfile_thread(&f, &thread, "main");
	thread = (struct cray_thread){ .number = 1, .id = 200 };
	cfile_thread(&f, &thread, NULL);
	cfile_fact(&f, CRAY_FACT_EXE, "/bin/prog", 9);
	cfile_module(&f, &module, "/lib/other");
	memcpy(module.build_id, "\xab\x01\xff", 3);
	cfile_module(&f, &module, "/bin/prog");
	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 1000);
	CHECK(cray_pack_add(&pack, MEM_ADD, 1, 0x400100, 0x10000, 16, 4, "Node", 4));
	CHECK(cray_pack_coroutine(&pack, 7, CRAY_CORO_RESUMED, "", 0));
	access_at(0x401000, 0x10000, MEM_READ, 8, 0);
	access_at(0x401000, 0x10008, MEM_READ | CRAY_ATOMIC, 8, 0);
	access_at(0x401000, 0x10010, MEM_READ, 8, CRAY_ATTR_VOLATILE);
	access_at(0x402000, 0x1003c, MEM_WRITE | CRAY_UNALIGNED, 8, 0); /* two lines */
	CHECK(cray_pack_stamp(&pack, 1, 1500));
	CHECK(cray_pack_alloc(&pack, 0, 0x400200, 0x50000, 100, 0));
	CHECK(cray_pack_coroutine(&pack, 0, CRAY_CORO_RETURNED, "", 0));
	access_at(0x402000, 0x10044, MEM_WRITE, 8, 0);
	CHECK(cray_pack_free(&pack, 0, 0x400200, 0x50000));
	CHECK(cray_pack_gap(&pack, CRAY_GAP_FULL, 5));
	CHECK(cray_pack_gap(&pack, CRAY_GAP_SAMPLED, 6));
	CHECK(cray_pack_add(&pack, MEM_ADD, 2, 0x400100, 0x10020, 4, 2, "int", 3)); /* on top */
	CHECK(cray_pack_remove(&pack, MEM_REMOVE, 3, 0x400100, 0x10020));
	CHECK(cray_pack_remove(&pack, MEM_REMOVE, 4, 0x400100, 0x10020)); /* is not there */
	CHECK(cray_pack_add(&pack, MEM_ADD, 5, 0x400100, 0, 4, 2, "int", 3));
	CHECK(cray_pack_remove(&pack, MEM_REMOVE, 6, 0x400100, 0));
	CHECK(cray_pack_add(&pack, MEM_ADD, 7, 0x400100, 0x30000, 4, 3, "int", 3));
	cfile_block(&f, &pack);
	cray_pack_init(&pack);
	cray_pack_begin(&pack, 1, 7, 2000);
	CHECK(cray_pack_mark(&pack, 1, "phase", 5));
	CHECK(cray_pack_enter(&pack, 0x400000, 0x400010, false));
	CHECK(cray_pack_enter(&pack, 0x400000, 0x400010, true)); /* repeated */
	CHECK(cray_pack_exit(&pack, 1));
	access_at(0, 0x30008, MEM_WRITE, 4, 0);
	access_at(0, 0x30008, MEM_READ, 4, 0);
	CHECK(cray_pack_coroutine(&pack, 9, CRAY_CORO_RESUMED, "", 0));
	access_at(0x403000, 0x10000, MEM_READ, 1, 0);
	CHECK(cray_pack_coroutine(&pack, 9, CRAY_CORO_CONTINUED, "", 0));
	CHECK(cray_pack_stamp(&pack, 7, 2500));
	access_at(0x403000, 0x10001, MEM_READ, 1, 0);
	cfile_block(&f, &pack);
	traces_end(&f);
}

static struct mem_reader *open_stats(void)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);

	CHECK(r != NULL);
	return r;
}

static void accesses_are_counted_by_line_thread_and_type(void)
{
	static struct mem_stat s;
	struct mem_stat_config config = { .line_size = 64, .window = 4, .per_thread = true };
	struct mem_reader *r = open_stats();
	const struct reuse_line *hot[3];
	struct err err = { 0 };
	size_t i;

	CHECK_EQ(mem_stat_run(&s, &config, r, &err), 0);
	CHECK_EQ(s.reads, 6);
	CHECK_EQ(s.writes, 3);
	CHECK_EQ(s.bytes, 5 * 8 + 2 * 4 + 2);
	CHECK_EQ(s.annotations, 7);
	CHECK_EQ(s.weighted_256, 9 * 256);
	CHECK_EQ(s.lost, 5);
	CHECK_EQ(s.left_out, 6);
	CHECK_EQ(s.straddles, 1);
	CHECK_EQ(s.resumes, 2);
	CHECK_EQ(s.in_coroutines, 4 + 2);
	CHECK_EQ(s.allocations, 1);
	CHECK_EQ(s.allocated, 100);
	CHECK_EQ(s.lines.uses, 10);
	CHECK_EQ(s.lines.distinct, 3);
	CHECK_EQ(s.strides.all, 2 + 1 + 0 + 1);
	CHECK_EQ(s.nr_threads, 2);
	CHECK_EQ(s.threads[0].reads, 3);
	CHECK_EQ(s.threads[0].writes, 2);
	CHECK_EQ(s.threads[0].bytes, 40);
	CHECK_EQ(s.threads[0].missing, 11);
	CHECK_EQ(s.threads[0].lines->uses, 6);
	CHECK_EQ(s.threads[1].number, 1);
	CHECK_EQ(s.threads[1].reads, 3);
	CHECK_EQ(s.threads[1].writes, 1);
	CHECK_EQ(s.threads[1].lines->distinct, 2);
	/* 4, 4 and 1 accesses. */
	CHECK_EQ(s.nr_windows, 3);
	CHECK_EQ(s.windows[0].accesses, 4);
	CHECK_EQ(s.windows[0].lines, 2);
	CHECK_EQ(s.windows[0].time_ns, 1000);
	CHECK_EQ(s.windows[1].accesses, 4);
	CHECK_EQ(s.windows[1].lines, 3);
	CHECK_EQ(s.windows[1].time_ns, 1500);
	CHECK_EQ(s.windows[2].accesses, 1);
	CHECK_EQ(s.windows[2].lines, 1);
	CHECK(!s.windows_full);
	/* "Node", then "int"; the Node was overwritten by an int. */
	CHECK_EQ(s.types[0].added, 1);
	CHECK_EQ(s.types[0].removed, 0);
	CHECK_EQ(s.types[0].reads, 3);
	CHECK_EQ(s.types[0].writes, 1);
	CHECK_EQ(s.types[0].bytes, 32);
	CHECK_EQ(s.types[1].added, 2);
	CHECK_EQ(s.types[1].removed, 1);
	CHECK_EQ(s.types[1].reads, 1);
	CHECK_EQ(s.types[1].writes, 1);
	CHECK_EQ(lines_hottest(&s.lines, hot, 3), 3);
	for (i = 0; i < 3; i++) {
		if (hot[i]->line == 0x10000 / 64)
			CHECK_EQ(hot[i]->type, 0);
		if (hot[i]->line == 0x30000 / 64)
			CHECK_EQ(hot[i]->type, 1);
	}
	mem_stat_release(&s);
	mem_reader_close(r);
	/* Windows by the length of the trace: 9 / 32 + 1. */
	r = open_stats();
	config = (struct mem_stat_config){ .line_size = 16 };
	CHECK_EQ(mem_stat_run(&s, &config, r, &err), 0);
	CHECK_EQ(s.window, 1);
	CHECK_EQ(s.nr_windows, 9);
	CHECK_EQ(s.lines.distinct, 5);
	CHECK(!s.threads[0].lines);
	mem_stat_release(&s);
	mem_reader_close(r);
}

static void a_trace_is_checked(void)
{
	static struct mem_check c;
	struct mem_reader *r = open_stats();
	struct mem_faults *faults;
	struct err err = { 0 };

	CHECK_EQ(mem_check_run(&c, r, &err), 0);
	faults = mem_reader_faults(r);
	CHECK_EQ(faults->nr, 2);
	CHECK_STR(faults->first[0].text,
		  "an annotation of 0x10020, 8 bytes, on top of one of 0x10000, 64 bytes");
	CHECK_STR(faults->first[1].text, "an annotation of 0x10020 is removed, and there is none");
	CHECK_EQ(mem_check_kind(&c, MEM_READ), 6);
	CHECK_EQ(mem_check_kind(&c, MEM_WRITE), 3);
	CHECK_EQ(mem_check_kind(&c, MEM_ADD), 4);
	CHECK_EQ(mem_check_kind(&c, MEM_REMOVE), 3);
	CHECK_EQ(c.by_tag[MEM_READ | CRAY_ATOMIC], 1);
	CHECK_EQ(c.by_tag[MEM_WRITE | CRAY_UNALIGNED], 1);
	CHECK_EQ(c.sizes[0][8], 3);
	CHECK_EQ(c.sizes[0][1], 2);
	CHECK_EQ(c.sizes[1][4], 1);
	CHECK_EQ(c.bytes[0], 24 + 4 + 2);
	CHECK_EQ(c.bytes[1], 16 + 4);
	CHECK_EQ(c.with_pc, 7);
	CHECK_EQ(c.with_attr, 1);
	CHECK_EQ(c.marks, 1);
	CHECK_EQ(c.resumes, 2);
	CHECK_EQ(c.allocations, 1);
	CHECK_EQ(c.releases, 1);
	CHECK_EQ(c.allocated, 100);
	CHECK_EQ(c.calls, 1);
	CHECK_EQ(c.with_stack, 0);
	CHECK_EQ(c.gaps, 2);
	CHECK_EQ(c.lost, 5);
	CHECK_EQ(c.left_out, 6);
	CHECK_EQ(c.by_cause[CRAY_GAP_FULL], 5);
	CHECK_EQ(c.by_cause[CRAY_GAP_SAMPLED], 6);
	CHECK(!c.lost_unknown);
	CHECK_EQ(c.null_adds, 1);
	CHECK_EQ(c.null_removes, 1);
	CHECK_EQ(c.left, 1);
	CHECK_EQ(c.most, 1);
	CHECK_EQ(c.first_ns, 1000);
	CHECK_EQ(c.last_ns, 2500);
	CHECK_EQ(c.nr_threads, 2);
	CHECK_EQ(c.threads[0].lost, 5);
	CHECK_EQ(c.threads[0].annotations, 7);
	CHECK_EQ(c.threads[1].reads, 3);
	CHECK_EQ(c.threads[1].writes, 1);
	mem_check_release(&c);
	CHECK(!c.threads);
	mem_reader_close(r);
}

static char slices[500];

static void note_slice(void *ctx, const struct memory_slice *s)
{
	size_t size = strlen(slices);

	CHECK(ctx == slices);
	snprintf(slices + size, sizeof(slices) - size,
		 "%llu on %llu, %llu to %llu: %llu accesses, %llu writes, %llu allocations of "
		 "%llu\n",
		 (unsigned long long)s->coroutine, (unsigned long long)s->thread_id,
		 (unsigned long long)s->from_ns, (unsigned long long)s->to_ns,
		 (unsigned long long)s->accesses, (unsigned long long)s->writes,
		 (unsigned long long)s->allocations, (unsigned long long)s->allocated);
}

static void coroutines_have_slices(void)
{
	struct mem_reader *r = open_stats();
	struct memory_totals totals;
	struct err err = { 0 };

	CHECK_EQ(memory_slices_read(r, note_slice, slices, &totals, &err), 0);
	CHECK_STR(slices, "7 on 100, 1000 to 1500: 4 accesses, 1 writes, 0 allocations of 0\n"
			  "9 on 200, 2000 to 2500: 2 accesses, 0 writes, 0 allocations of 0\n");
	CHECK_EQ(totals.from_ns, 1000);
	CHECK_EQ(totals.to_ns, 2500);
	CHECK_EQ(totals.accesses, 9);
	CHECK_EQ(totals.writes, 3);
	CHECK_EQ(totals.allocations, 4);
	CHECK_EQ(totals.allocated, 64 + 8 + 8 + 12);
	CHECK_EQ(totals.lost, 5);
	CHECK_STR(totals.build_id, "ab01ff");
	mem_reader_close(r);
	r = open_stats();
	memset(&totals, 7, sizeof(totals));
	memory_totals_glance(r, &totals);
	CHECK_EQ(totals.accesses, 9);
	CHECK_EQ(totals.writes + totals.from_ns + totals.lost, 0);
	CHECK_STR(totals.build_id, "ab01ff");
	mem_reader_close(r);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void read_everything(void)
{
	static struct mem_stat s;
	static struct mem_check c;
	struct mem_stat_config config = { .line_size = 64, .per_thread = true };
	struct memory_totals totals;
	struct mem_reader *r = open_stats();
	struct err err = { 0 };

	CHECK_EQ(mem_stat_run(&s, &config, r, &err), 0);
	mem_stat_release(&s);
	mem_reader_close(r);
	r = open_stats();
	CHECK_EQ(mem_check_run(&c, r, &err), 0);
	mem_check_release(&c);
	mem_reader_close(r);
	r = open_stats();
	slices[0] = '\0';
	CHECK_EQ(memory_slices_read(r, note_slice, slices, &totals, &err), 0);
	mem_reader_close(r);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(read_everything);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/corotracer-stats-%d", (int)getpid());
	write_trace();
	RUN(distances_are_exact);
	RUN(distances_of_many_lines_are_exact);
	RUN(a_line_has_its_users);
	RUN(more_lines_than_fit_are_sampled);
	RUN(a_smaller_sample_has_its_lines);
	RUN(each_site_of_a_thread_has_its_strides);
	RUN(rare_strides_are_removed);
	RUN(accesses_are_counted_by_line_thread_and_type);
	RUN(a_trace_is_checked);
	RUN(coroutines_have_slices);
	RUN(nothing_is_kept);
	unlink(path);
	return 0;
}
