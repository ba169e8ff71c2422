/* SPDX-License-Identifier: MIT */
/*
 * test_ways.c - all interfaces of the simulator give the same result: many accesses at once (by
 * each vector unit of the host), one by one, and with each outcome added up; and simulators are
 * independent of each other.
 *
 * usage: test_ways [MACHINES]
 */
#include <errno.h>

#include "base/progress.h"
#include "check.h"
#include "memory/sim/config.h"
#include "memory/sim/replay.h"
#include "memory/sim/sim.h"
#include "traces.h"

#define ACCESSES 20000u

static unsigned nr_machines = 48; /* 120 with COROTRACER_FULL=1 */
static struct mem_access accesses[ACCESSES];
static uint32_t threads[ACCESSES];

/* Walks, jumps and hot lines of a few threads. */
static void make_accesses(uint64_t *state, uint32_t nr_threads)
{
	static const uint8_t sizes[] = { 1, 4, 8, 8, 8, 16, 64, 200, 0 };
	uint64_t at[8] = { 0 };
	uint32_t i;

	for (i = 0; i < ACCESSES; i++) {
		uint64_t r = traces_random(state);
		uint32_t t = (uint32_t)(r >> 8) % nr_threads;

		if (r % 10 < 5)
			at[t] += 8;
		else if (r % 10 < 8)
			at[t] = traces_random(state) % 60000;
		else
			at[t] = traces_random(state) % 8 * 64 + 8 * t;
		threads[i] = t;
		accesses[i].address = 0x100000 + at[t];
		accesses[i].size = sizes[(r >> 16) % sizeof(sizes)];
		accesses[i].is_write = (r >> 24) % 3 == 0;
	}
}

/* A set of 1 to 64 ways: whole vectors, parts of one, and none. */
static void make_sets(uint64_t *state, struct sim_level_config *l)
{
	static const uint8_t ways[] = { 0, 1, 2, 3, 4, 5, 8, 8, 10, 12, 16, 16, 20, 24, 33, 64 };

	l->ways = ways[traces_random(state) % sizeof(ways)];
	if (l->ways)
		l->size = (uint64_t)l->line * l->ways * (1 + traces_random(state) % 12);
}

static void make_machine(uint64_t *state, struct sim_config *c)
{
	uint32_t k;

	sim_config_default(c);
	c->nr_levels = 1 + (uint32_t)(traces_random(state) % 3);
	c->cores = (uint32_t)(traces_random(state) % 3);
	c->no_classes = traces_random(state) % 3 == 0;
	c->seed = traces_random(state);
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_level_config *l = &c->level[k];

		l->size = 2048u << (2 * k);
		l->ways = traces_random(state) % 4 ? 4 : 0;
		l->share = k == 2 ? 0 : 1;
		/* Half of the machines are simple enough for the short path. */
		if (c->seed % 2) {
			l->line = 32u << (c->seed >> 8) % 3;
			make_sets(state, l);
			continue;
		}
		l->policy = (enum sim_policy)(traces_random(state) % 5);
		if (l->policy == SIM_PLRU)
			l->ways = 8;
		l->inclusion = k ? (enum sim_inclusion)(traces_random(state) % 2) : 0;
		l->prefetch = (enum sim_prefetch)(traces_random(state) % 3);
		l->write_through = traces_random(state) % 4 == 0;
		l->no_allocate = traces_random(state) % 4 == 0;
	}
}

static struct sim *new_sim(const struct sim_config *c)
{
	struct err err = { 0 };
	struct sim *s = sim_new(c, &err);

	if (!s)
		fprintf(stderr, "%s\n", err.text);
	CHECK(s);
	return s;
}

static void same(struct sim *a, struct sim *b)
{
	uint32_t nr = sim_config_of(a)->nr_levels, i, k;
	struct sim_totals ta, tb;

	sim_totals(a, &ta);
	sim_totals(b, &tb);
	CHECK(memcmp(&ta, &tb, sizeof(ta)) == 0);
	CHECK_EQ(sim_nr_threads(a), sim_nr_threads(b));
	for (k = 0; k < nr; k++) {
		struct sim_traffic fa, fb;
		struct sim_counts ca, cb;

		sim_level_traffic(a, k, &fa);
		sim_level_traffic(b, k, &fb);
		CHECK(memcmp(&fa, &fb, sizeof(fa)) == 0);
		for (i = 0; i < sim_nr_threads(a); i++) {
			sim_level_thread(a, i, k, &ca);
			sim_level_thread(b, i, k, &cb);
			CHECK(memcmp(&ca, &cb, sizeof(ca)) == 0);
		}
	}
}

/* The sums of all outcomes. */
struct sums {
	uint64_t hits[SIM_LEVELS_MAX], misses[SIM_LEVELS_MAX],
		by_class[SIM_LEVELS_MAX][SIM_CLASSES];
	uint64_t missed_first, invalidated, from_peer, fetched;
};

static void add(struct sums *n, const struct sim_outcome *out, uint32_t nr_levels)
{
	uint32_t k, c;

	for (k = 0; k < nr_levels; k++) {
		n->hits[k] += out->level[k].hits;
		n->misses[k] += out->level[k].misses;
		for (c = 0; c < SIM_CLASSES; c++)
			n->by_class[k][c] += out->level[k].by_class[c];
	}
	n->missed_first += (uint64_t)__builtin_popcountll(out->missed_first);
	n->invalidated += out->invalidated;
	n->from_peer += out->from_peer;
	n->fetched += out->fetched;
	CHECK(out->served <= nr_levels || out->served == SIM_SERVED_PEER);
	CHECK_EQ(out->nr_lines ? out->served != 0 : 0, out->missed_first != 0);
}

static void sums_are(const struct sums *n, struct sim *s, bool prefetches)
{
	uint32_t k, c;
	struct sim_totals t;

	sim_totals(s, &t);
	for (k = 0; k < sim_config_of(s)->nr_levels; k++) {
		struct sim_counts all;

		sim_level_totals(s, k, &all);
		CHECK_EQ(n->hits[k], all.hits[0] + all.hits[1]);
		CHECK_EQ(n->misses[k], all.misses[0] + all.misses[1]);
		for (c = 0; c < SIM_CLASSES; c++)
			CHECK_EQ(n->by_class[k][c], all.by_class[c][0] + all.by_class[c][1]);
	}
	CHECK_EQ(n->missed_first, n->misses[0]);
	CHECK_EQ(n->invalidated, t.invalidations);
	CHECK_EQ(n->from_peer, t.interventions);
	if (!prefetches)
		CHECK_EQ(n->fetched, t.memory_reads);
}

static const char *const paths[] = { "avx512", "avx2", "neon", "scalar" };
#define PATHS (sizeof(paths) / sizeof(*paths))

/* Simulators for the paths that this host has.  Returns how many. */
static size_t new_sims(const struct sim_config *c, struct sim **sims)
{
	size_t i, nr = 0;

	for (i = 0; i < PATHS; i++) {
		sims[nr] = new_sim(c);
		if (sim_choose_path(sims[nr], paths[i]) == 0)
			nr++;
		else
			sim_free(sims[nr]);
	}
	CHECK(nr > 0);
	return nr;
}

static bool is_hit(const struct sim_outcome *out)
{
	return !out->served && !out->invalidated && !out->level[0].misses && !out->from_peer &&
	       !out->fetched;
}

/* The outcomes of many accesses at once are those of each of them. */
static void outcomes_are_the_same(struct sim *runs, struct sim *single, uint32_t from, uint32_t nr)
{
	static struct sim_missed list[SIM_MISSED_MAX];
	struct sim_outcome out, hit, room;
	size_t nr_list, at = 0;
	uint32_t i;

	CHECK_EQ(sim_run_missed(runs, threads[from], accesses + from, nr, list, &nr_list), 0);
	for (i = 0; i < nr; i++) {
		const struct mem_access *a = &accesses[from + i];

		CHECK_EQ(sim_access(single, threads[from], a->address, a->size, a->is_write, &out),
			 0);
		if (at < nr_list && list[at].index == i) {
			CHECK(memcmp(sim_outcome_of_missed(runs, accesses + from, &list[at++],
							   &room),
				     &out, sizeof(out)) == 0);
			continue;
		}
		CHECK(is_hit(&out));
		sim_outcome_of_hit(sim_config_of(runs), a->address, a->size, &hit);
		if (!sim_config_of(runs)->level[0].write_through)
			CHECK(memcmp(&hit, &out, sizeof(out)) == 0);
	}
	CHECK_EQ(at, nr_list);
}

static void outcomes_of_runs_are_those_of_accesses(void)
{
	uint64_t state = 7;
	struct sim_config c;
	struct sim *runs, *single;
	uint32_t i, from, to;

	for (i = 0; i < nr_machines / 2; i++) {
		make_machine(&state, &c);
		make_accesses(&state, 1 + i % 3);
		runs = new_sim(&c);
		single = new_sim(&c);
		for (from = 0; from < ACCESSES; from = to) {
			for (to = from + 1; to < ACCESSES && to < from + SIM_MISSED_MAX &&
					    threads[to] == threads[from];
			     to++)
				;
			outcomes_are_the_same(runs, single, from, to - from);
		}
		same(runs, single);
		sim_free(runs);
		sim_free(single);
	}
}

static void one_machine(uint64_t *state)
{
	struct sim_config c;
	struct sim *many[PATHS], *one, *told;
	size_t nr_many, j;
	struct sums sums = { 0 };
	bool prefetches = false;
	uint32_t i, from;

	make_machine(state, &c);
	make_accesses(state, 1 + (uint32_t)(traces_random(state) % 4));
	nr_many = new_sims(&c, many);
	one = new_sim(&c);
	told = new_sim(&c);
	for (i = from = 0; i < ACCESSES; i++) {
		struct sim_outcome out;

		CHECK_EQ(sim_access(one, threads[i], accesses[i].address, accesses[i].size,
				    accesses[i].is_write, NULL),
			 0);
		CHECK_EQ(sim_access(told, threads[i], accesses[i].address, accesses[i].size,
				    accesses[i].is_write, &out),
			 0);
		add(&sums, &out, c.nr_levels);
		if (i + 1 == ACCESSES || threads[i + 1] != threads[from]) {
			for (j = 0; j < nr_many; j++)
				CHECK_EQ(sim_run(many[j], threads[from], accesses + from,
						 i + 1 - from),
					 0);
			from = i + 1;
		}
	}
	for (j = 0; j < nr_many; j++) {
		same(many[j], one);
		sim_free(many[j]);
	}
	same(told, one);
	for (i = 0; i < c.nr_levels; i++)
		prefetches |= c.level[i].prefetch != SIM_PREFETCH_NONE;
	sums_are(&sums, told, prefetches);
	sim_free(one);
	sim_free(told);
}

static void all_ways_come_to_the_same(void)
{
	uint64_t state = 99;
	unsigned i;

	for (i = 0; i < nr_machines; i++)
		one_machine(&state);
}

/* ---- threads that ran at the same time ------------------------------------------- */

static struct cray_pack packs[2];

/* Two threads, 1000 accesses a stamp, both from 5000 to 15000 ns. */
static void write_two(const char *path)
{
	struct cfile f;
	uint32_t t, i, stamp;

	traces_begin(&f, path, 1, 0);
	for (t = 0; t < 2; t++) {
		cray_pack_init(&packs[t]);
		cray_pack_begin(&packs[t], t, 0, 5000);
		for (stamp = 0; stamp < 10; stamp++) {
			CHECK(cray_pack_stamp(&packs[t], 0, 5000 + stamp * 1000));
			for (i = 0; i < 1000; i++)
				cray_pack_access(&packs[t], 0x400000 + t, 64 + 8 * t,
						 CRAY_HOW(CRAY_WRITE, 8, 0));
		}
		cfile_block(&f, &packs[t]);
	}
	traces_end(&f);
}

static void threads_of_the_same_time_take_turns(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	struct err err = { 0 };
	struct mem_reader *r;
	uint32_t nr[2] = { 0 }, longest = 0, turns = 0;
	struct mem_run run;
	struct replay replay = { 0 };
	struct sim_totals totals;
	struct sim_config c;
	struct sim *s;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	write_two(path);
	r = mem_reader_open(path, &err);
	CHECK(r);
	while (mem_reader_run(r, &run)) {
		CHECK(!run.record && run.thread < 2);
		nr[run.thread] += run.nr;
		longest = run.nr > longest ? run.nr : longest;
		turns++;
	}
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	mem_reader_close(r);
	CHECK_EQ(nr[0], 10000);
	CHECK_EQ(nr[1], 10000);
	CHECK(longest <= 4);
	CHECK(turns > 9000);
	/* So two counters in one line are invalidated at nearly every turn. */
	sim_config_default(&c);
	s = new_sim(&c);
	r = mem_reader_open(path, &err);
	CHECK(r && replay_run(&replay, s, r, &err) == 0);
	sim_totals(s, &totals);
	CHECK(totals.false_sharing > 9000);
	CHECK_EQ(totals.true_sharing, 0);
	mem_reader_close(r);
	replay_release(&replay);
	sim_free(s);
	unlink(path);
}

/* ---- accesses that are reduced to lines ------------------------------------------ */

/* One thread: jumps, loops of one to three sites, of which some cross the end of a line. */
static void write_loops(const char *path, uint64_t *state)
{
	static const uint8_t sizes[] = { 1, 4, 8, 8, 16, 64, 200, 0 };
	struct cfile f;
	uint32_t i, k, site;

	traces_begin(&f, path, 1, 0);
	cray_pack_init(&packs[0]);
	cray_pack_begin(&packs[0], 0, 0, 5000);
	for (i = 0; i < 300; i++) {
		uint64_t r = traces_random(state), at = r % 60000, step = 4 * (r >> 20 & 7);
		uint32_t period = 1 + (uint32_t)(r >> 16) % 3, nr = (r >> 24) % 5 ? 3 : 150;

		for (k = 0; k < nr * period; k++) {
			site = k % period + (uint32_t)(r >> 32) % 40;
			cray_pack_access(&packs[0], 0x400000 + site,
					 at + k / period * step + 4096 * (k % period),
					 CRAY_HOW(site % 3 == 0, sizes[site % sizeof(sizes)], 0));
		}
	}
	cfile_block(&f, &packs[0]);
	traces_end(&f);
}

/* Simulate the trace; returns how many runs were reduced to lines. */
static uint32_t run_trace(const char *path, struct sim *s, bool reduced)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct mem_run run;
	uint32_t nr = 0;

	CHECK(r);
	mem_reader_skip_events(r);
	if (reduced)
		mem_reader_want_lines(r, (uint32_t)__builtin_ctz(sim_config_of(s)->level[0].line));
	while (mem_reader_run(r, &run)) {
		CHECK(!run.record);
		nr += run.lines != NULL;
		CHECK_EQ(run.lines ? sim_run_lines(s, run.thread, run.lines)
				   : sim_run(s, run.thread, run.access, run.nr),
			 0);
	}
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	mem_reader_close(r);
	return nr;
}

static void lines_give_the_same_as_accesses(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	struct sim *all, *lines[PATHS];
	uint64_t state = 17;
	struct sim_config c;
	size_t nr, j;
	unsigned i;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	for (i = 0; i < nr_machines; i++) {
		make_machine(&state, &c);
		all = new_sim(&c);
		if (sim_takes_lines(all)) {
			write_loops(path, &state);
			CHECK_EQ(run_trace(path, all, false), 0);
			nr = new_sims(&c, lines);
			for (j = 0; j < nr; j++) {
				CHECK(run_trace(path, lines[j], true) > 0);
				same(lines[j], all);
				sim_free(lines[j]);
			}
		}
		sim_free(all);
	}
	unlink(path);
}

/* Lines of another size, and of a machine that is not simple, are refused. */
/* What replay_run() tells, against the records of the trace. */
struct told {
	struct mem_reader *r;
	uint64_t nr, hits, misses;
};

static int compare_access(void *context, const struct mem_record *rec,
			  const struct sim_outcome *out)
{
	struct told *t = context;
	const struct mem_record *next = mem_reader_next(t->r);

	CHECK(next && out);
	CHECK(rec->kind == next->kind && rec->tag == next->tag && rec->attr == next->attr);
	CHECK(rec->address == next->address && rec->size == next->size && rec->pc == next->pc);
	CHECK_EQ(rec->thread, next->thread);
	CHECK_EQ(rec->weight_256, 256);
	t->nr++;
	t->hits += out->level[0].hits;
	t->misses += out->level[0].misses;
	return 0;
}

static void each_access_is_told_in_order(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	struct err err = { 0 };
	uint64_t state = 23;
	struct sim_config c;
	struct sim_counts n;
	int fd = mkstemp(path), selected;

	CHECK(fd >= 0);
	close(fd);
	write_loops(path, &state);
	sim_config_default(&c);
	c.level[0].size = 4096;
	for (selected = 0; selected < 2; selected++) { /* together, then access by access */
		struct told told = { .r = mem_reader_open(path, &err) };
		struct mem_select select = { 0 };
		struct replay replay = { .each = compare_access,
					 .context = &told,
					 .select = selected ? &select : NULL };
		struct mem_reader *r = mem_reader_open(path, &err);
		struct sim *s = new_sim(&c);

		CHECK(r && told.r);
		CHECK_EQ(replay_run(&replay, s, r, &err), 0);
		CHECK(!mem_reader_next(told.r));
		CHECK(replay.accesses == told.nr && !replay.aside && told.nr > 1000);
		sim_level_totals(s, 0, &n);
		CHECK_EQ(told.hits, n.hits[SIM_READS] + n.hits[SIM_WRITES]);
		CHECK_EQ(told.misses, n.misses[SIM_READS] + n.misses[SIM_WRITES]);
		CHECK(told.hits && told.misses);
		mem_reader_close(told.r);
		mem_reader_close(r);
		replay_release(&replay);
		sim_free(s);
	}
	unlink(path);
}

static unsigned nr_updates;
static uint64_t updated_to, updated_of;

void __wrap_progress_update(struct progress *p, uint64_t done);

void __wrap_progress_update(struct progress *p, uint64_t done)
{
	CHECK_STR(p->what, "simulating");
	CHECK(done >= updated_to && done <= p->total);
	updated_to = done;
	updated_of = p->total;
	nr_updates++;
}

/* @nr accesses, in as many blocks as they need. */
static void write_many(const char *path, uint32_t nr)
{
	struct cfile f;
	uint32_t i;

	traces_begin(&f, path, 0, 0);
	cray_pack_init(&packs[0]);
	cray_pack_begin(&packs[0], 0, 0, 5000);
	for (i = 0; i < nr; i++) {
		if (!cray_pack_room(&packs[0])) {
			cfile_block(&f, &packs[0]);
			cray_pack_begin(&packs[0], 0, 0, 5000 + i);
		}
		cray_pack_access(&packs[0], 0x400000, 8 * (i % 512), CRAY_HOW(0, 8, 0));
	}
	cfile_block(&f, &packs[0]);
	traces_end(&f);
}

static void progress_is_told_every_million_accesses(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	struct err err = { 0 };
	struct replay replay = { 0 };
	struct sim_config c;
	struct mem_reader *r;
	struct sim *s;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	write_many(path, 5 << 19); /* two and a half */
	sim_config_default(&c);
	s = new_sim(&c);
	r = mem_reader_open(path, &err);
	nr_updates = 0;
	CHECK(r && replay_run(&replay, s, r, &err) == 0);
	CHECK_EQ(replay.accesses, 5 << 19);
	CHECK_EQ(nr_updates, 2);
	CHECK(updated_to > updated_of / 2 && updated_of == mem_reader_size(r));
	mem_reader_close(r);
	replay_release(&replay);
	sim_free(s);
	unlink(path);
}

static void other_lines_are_refused(void)
{
	struct mem_lines lines = { .shift = 7 };
	struct sim_config c;
	struct sim *s;

	sim_config_default(&c);
	s = new_sim(&c);
	CHECK_EQ(sim_run_lines(s, 0, &lines), -EINVAL);
	sim_free(s);
	c.level[1].prefetch = SIM_PREFETCH_MISS;
	lines.shift = 6;
	s = new_sim(&c);
	CHECK(!sim_takes_lines(s));
	CHECK_EQ(sim_run_lines(s, 0, &lines), -EINVAL);
	sim_free(s);
}

/* ---- bounds ---------------------------------------------------------------------- */

static void followed_lines_are_bounded_and_that_is_told(void)
{
	struct sim_config c;
	const struct sim_shared_line *worst[1];
	struct sim_totals t;
	struct sim *s;
	uint32_t i;

	sim_config_default(&c);
	c.sharing_max = 64;
	s = new_sim(&c);
	for (i = 0; i < 4000; i++) {
		CHECK_EQ(sim_access(s, i % 2, 0x1000 + 8 * (i % 2), 8, true, NULL), 0);
		CHECK_EQ(sim_access(s, i % 2, 0x100000 + i / 2 * 64, 8, true, NULL), 0);
	}
	sim_totals(s, &t);
	CHECK(t.lines_dropped > 1000);
	CHECK_EQ(sim_shared_lines(s, worst, 1), 1);
	CHECK_EQ(worst[0]->address, 0x1000);
	CHECK_EQ(worst[0]->invalidations, 3999);
	sim_free(s);
}

static void any_number_of_threads_is_taken(void)
{
	struct sim_config c;
	struct sim_totals t;
	struct sim_thread last;
	struct sim *s;
	uint32_t i;

	sim_config_default(&c);
	c.nr_levels = 1;
	c.level[0].size = 4096;
	s = new_sim(&c);
	for (i = 0; i < 40000; i++)
		CHECK_EQ(sim_access(s, i * 7919, i * 8, 8, i % 2, NULL), 0);
	sim_totals(s, &t);
	CHECK_EQ(t.accesses[0] + t.accesses[1], 40000);
	CHECK_EQ(t.cores, SIM_CORES_AUTO);
	sim_thread(s, sim_nr_threads(s) - 1, &last);
	CHECK_EQ(last.thread, SIM_NOBODY);
	sim_free(s);
}

static void weights_count(void)
{
	struct sim_config c;
	struct sim_counts n;
	struct sim *s;
	uint32_t i;

	sim_config_default(&c);
	s = new_sim(&c);
	sim_weight(s, 640); /* two and a half */
	for (i = 0; i < 100; i++)
		CHECK_EQ(sim_access(s, 0, i % 10 * 64, 8, false, NULL), 0);
	sim_level_totals(s, 0, &n);
	CHECK_EQ(n.misses[SIM_READS], 25);
	CHECK_EQ(n.hits[SIM_READS], 225);
	sim_free(s);
}

int main(int argc, char **argv)
{
	if (getenv("COROTRACER_FULL"))
		nr_machines = 120;
	if (argc > 1)
		nr_machines = (unsigned)strtoul(argv[1], NULL, 10);
	RUN(all_ways_come_to_the_same);
	RUN(outcomes_of_runs_are_those_of_accesses);
	RUN(threads_of_the_same_time_take_turns);
	RUN(lines_give_the_same_as_accesses);
	RUN(each_access_is_told_in_order);
	RUN(progress_is_told_every_million_accesses);
	RUN(other_lines_are_refused);
	RUN(followed_lines_are_bounded_and_that_is_told);
	RUN(any_number_of_threads_is_taken);
	RUN(weights_count);
	return 0;
}
