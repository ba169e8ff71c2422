/* SPDX-License-Identifier: MIT */
/* replay.c - run a trace through a simulator. */
#include "memory/sim/replay.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "memory/sim/replay_sums.h"

#define PROGRESS_STEP (1u << 20)     /* accesses between two progress updates */
#define FETCH_AHEAD   ((ptrdiff_t)8) /* misses between two steps of fetching */
#define BATCH_RUN     256u           /* runs of fewer accesses are simulated together */
#define BATCH_PARTS   512u

/* A run of accesses, or another record. */
struct replay_part {
	struct mem_record record; /* or what the accesses have in common */
	uint32_t nr;              /* of accesses; 0: it is a record */
};

/*
 * Short runs of one thread, and the allocations between them, which do not change what the
 * simulator does: it waits less for the host's memory with many accesses at a time.
 */
struct replay_batch {
	struct mem_access access[SIM_MISSED_MAX];
	struct replay_part parts[BATCH_PARTS];
	uint32_t nr, nr_parts;
};

struct replaying {
	struct replay *p;
	struct sim *s;
	const struct mem_facts *facts;
	bool on; /* between from_mark and to_mark */
	uint32_t weight_256;
	struct sim_missed *missed;  /* SIM_MISSED_MAX; NULL: not needed */
	struct replay_sums *sums;   /* NULL: not wanted */
	struct replay_batch *batch; /* NULL: every run is simulated at once */
};

/* On the first access of a thread: map it to its core. */
static int place_thread(struct replaying *g, uint32_t thread)
{
	uint64_t *known, id;
	size_t i;

	known = u64map_at(&g->p->known, thread);
	if (!known)
		return -ENOMEM;
	if (*known)
		return 0;
	*known = 1;
	id = mem_facts_id(g->facts, thread);
	for (i = 0; i < g->p->nr_places; i++) {
		if (g->p->places[i].id == id)
			return sim_map_thread(g->s, thread, g->p->places[i].core);
	}
	return 0;
}

static bool is_text(const struct mem_record *r, const char *text)
{
	return strlen(text) == r->name_size && !memcmp(text, r->name, r->name_size);
}

static void replay_mark(struct replaying *g, const struct mem_record *r)
{
	struct replay *p = g->p;

	if (!p->met_from && p->from_mark && is_text(r, p->from_mark)) {
		p->met_from = true;
		g->on = !p->met_to;
	} else if (!p->met_to && p->to_mark && (p->met_from || !p->from_mark) &&
		   is_text(r, p->to_mark)) {
		p->met_to = true;
		g->on = false;
	}
}

/* True if the accesses of the record's thread are simulated now. */
static bool replay_counts(const struct replaying *g, const struct mem_record *r)
{
	const struct mem_select *select = g->p->select;

	return g->on && !(select && select->by_thread &&
			  mem_facts_id(g->facts, r->thread) != select->thread_id);
}

/* Pass on the sums of accesses that count differently after @r. */
static int replay_pass_sums(struct replaying *g, const struct mem_record *r)
{
	uint64_t start, end;

	if (!g->p->changes || !g->p->changes(g->p->context, r, &start, &end))
		return replay_sums_flush(g->sums);
	return start < end ? replay_sums_flush_range(g->sums, start, end) : 0;
}

static int other_record(struct replaying *g, const struct mem_record *r)
{
	const char *type;
	uint64_t offset;

	if (g->sums && replay_pass_sums(g, r) < 0)
		return -ENOMEM;
	if (r->kind == MEM_MARK)
		replay_mark(g, r);
	if (r->kind == MEM_GAP && r->cause < CRAY_GAP_SAMPLED) {
		g->p->lost += r->value;
		g->p->lost_unknown |= !r->value;
	} else if (r->kind == MEM_GAP) {
		g->p->left_out += r->value;
	}
	if (g->p->select) /* the selection follows the annotations */
		mem_select_wants(g->p->select, r, g->facts, &type, &offset);
	if (!g->p->each)
		return 0;
	if (r->kind == MEM_CORO && !replay_counts(g, r)) {
		struct mem_record other = *r;

		/* The thread runs the coroutine, but the slice is not simulated. */
		other.cause = (r->cause & ~(uint32_t)CRAY_CORO_CAUSE) | CRAY_CORO_CONTINUED;
		return g->p->each(g->p->context, &other, NULL);
	}
	return g->p->each(g->p->context, r, NULL);
}

static void replay_fill(struct mem_record *rec, const struct mem_access *a)
{
	rec->kind = a->is_write;
	rec->tag = a->tag;
	rec->size = a->size;
	rec->attr = a->attr;
	rec->address = a->address;
	rec->pc = a->pc;
}

/* Tell about accesses that only hit the first level. */
static int replay_tell_hits(struct replaying *g, struct mem_record *rec,
			    const struct mem_access *access, size_t nr)
{
	struct sim_outcome out;
	int ret = 0;
	size_t i;

	if (g->p->hits)
		return g->p->hits(g->p->context, rec, access, nr);
	if (g->sums)
		return replay_sums_add(g->sums, rec, access, nr);
	for (i = 0; ret == 0 && i < nr; i++) {
		replay_fill(rec, &access[i]);
		sim_outcome_of_hit(sim_config_of(g->s), rec->address, rec->size, &out);
		ret = g->p->each(g->p->context, rec, &out);
	}
	return ret;
}

/* Fetch memory for the misses after @m. */
static void replay_fetch(const struct replaying *g, const struct mem_access *access,
			 const struct sim_missed *m, const struct sim_missed *end)
{
	if (end - m > 2 * FETCH_AHEAD)
		g->p->fetch(g->p->context, access[m[2 * FETCH_AHEAD].index].address, 0);
	if (end - m > FETCH_AHEAD)
		g->p->fetch(g->p->context, access[m[FETCH_AHEAD].index].address, 1);
}

/*
 * Tell about @nr accesses from number @at on, which were simulated, with their misses.  @end is
 * that of the misses to fetch memory for.
 */
static int replay_tell(struct replaying *g, struct mem_record *rec, const struct mem_access *access,
		       size_t at, size_t nr, struct sim_missed *m, size_t nr_missed,
		       const struct sim_missed *end)
{
	const struct sim_missed *last;
	size_t stop = at + nr;
	struct sim_outcome room;
	int ret = 0;

	if (g->sums)
		nr_missed = replay_sums_take(g->sums, rec, access, m, nr_missed);
	for (last = m + nr_missed; ret == 0 && m < last; m++) {
		if (g->p->fetch)
			replay_fetch(g, access, m, end);
		ret = replay_tell_hits(g, rec, access + at, m->index - at);
		replay_fill(rec, &access[m->index]);
		if (ret == 0)
			ret = g->p->each(g->p->context, rec,
					 sim_outcome_of_missed(g->s, access, m, &room));
		if (ret == 0 && g->sums && !m->outcome)
			ret = replay_sums_missed(g->sums, rec, &access[m->index]);
		at = m->index + 1;
	}
	return ret == 0 ? replay_tell_hits(g, rec, access + at, stop - at) : ret;
}

static struct mem_record replay_common(const struct mem_run *run)
{
	return (struct mem_record){ .thread = run->thread,
				    .weight_256 = run->weight_256,
				    .order = run->order,
				    .time_ns = run->time_ns };
}

/* There is a callback, and no selection. */
static int run_telling(struct replaying *g, const struct mem_run *run)
{
	struct mem_record rec = replay_common(run);
	size_t at, nr, nr_missed;
	int ret = 0;

	g->p->accesses += run->nr;
	for (at = 0; ret == 0 && at < run->nr; at += nr) {
		nr = run->nr - at < SIM_MISSED_MAX ? run->nr - at : SIM_MISSED_MAX;
		ret = sim_run_missed(g->s, run->thread, run->access + at, nr, g->missed,
				     &nr_missed);
		if (ret == 0)
			ret = replay_tell(g, &rec, run->access + at, 0, nr, g->missed, nr_missed,
					  g->missed + nr_missed);
	}
	return ret;
}

/* ---- short runs --------------------------------------------------------------- */

/* Simulate what is in the batch, and tell about it in its order. */
static int replay_flush_batch(struct replaying *g)
{
	struct replay_batch *b = g->batch;
	struct sim_missed *m = g->missed, *end;
	size_t nr_missed = 0, nr, at = 0;
	uint32_t i;
	int ret = 0;

	if (!b || !b->nr_parts)
		return 0;
	if (b->nr) /* a batch begins with accesses */
		ret = sim_run_missed(g->s, b->parts[0].record.thread, b->access, b->nr, g->missed,
				     &nr_missed);
	end = m + nr_missed;
	for (i = 0; ret == 0 && i < b->nr_parts; i++) {
		struct replay_part *part = &b->parts[i];

		if (!part->nr) {
			ret = other_record(g, &part->record);
			continue;
		}
		for (nr = 0; m + nr < end && m[nr].index < at + part->nr; nr++)
			;
		ret = replay_tell(g, &part->record, b->access, at, part->nr, m, nr, end);
		at += part->nr;
		m += nr;
	}
	b->nr = b->nr_parts = 0;
	return ret;
}

/* Add a short run to the batch. */
static int replay_add_run(struct replaying *g, const struct mem_run *run)
{
	struct replay_batch *b = g->batch;
	int ret = 0;

	if (b->nr_parts && (b->parts[0].record.thread != run->thread ||
			    b->nr + run->nr > SIM_MISSED_MAX || b->nr_parts == BATCH_PARTS))
		ret = replay_flush_batch(g);
	b->parts[b->nr_parts++] = (struct replay_part){ replay_common(run), run->nr };
	memcpy(b->access + b->nr, run->access, run->nr * sizeof(*b->access));
	b->nr += run->nr;
	g->p->accesses += run->nr;
	return ret;
}

/* Take a record that is not an access. */
static int replay_take_record(struct replaying *g, const struct mem_record *r)
{
	struct replay_batch *b = g->batch;
	int ret;

	if (b && b->nr_parts && b->nr_parts < BATCH_PARTS &&
	    (r->kind == MEM_ALLOC || r->kind == MEM_FREE)) {
		b->parts[b->nr_parts++] = (struct replay_part){ *r, 0 };
		return 0;
	}
	ret = replay_flush_batch(g);
	return ret == 0 ? other_record(g, r) : ret;
}

/* Access by access: there is a selection. */
static int run_slowly(struct replaying *g, const struct mem_run *run)
{
	struct mem_record rec = replay_common(run);
	struct sim_outcome out;
	const char *type;
	uint64_t offset;
	uint32_t i;
	int ret = 0;

	for (i = 0; ret == 0 && i < run->nr; i++) {
		const struct mem_access *a = &run->access[i];

		replay_fill(&rec, a);
		if (g->p->select &&
		    !mem_select_wants(g->p->select, &rec, g->facts, &type, &offset)) {
			g->p->aside++;
			continue;
		}
		g->p->accesses++;
		ret = sim_access(g->s, rec.thread, rec.address, rec.size, rec.kind == MEM_WRITE,
				 g->p->each ? &out : NULL);
		if (ret == 0 && g->p->each)
			ret = g->p->each(g->p->context, &rec, &out);
	}
	return ret;
}

static int replay_replay_accesses(struct replaying *g, const struct mem_run *run)
{
	bool is_short = g->batch && run->nr < BATCH_RUN;
	struct replay *p = g->p;
	int ret = 0;

	if (!g->on) {
		p->aside += run->nr;
		return 0;
	}
	if (p->nr_places && place_thread(g, run->thread) < 0)
		return -ENOMEM;
	if (!is_short || run->weight_256 != g->weight_256)
		ret = replay_flush_batch(g);
	if (ret < 0)
		return ret;
	if (run->weight_256 != g->weight_256) {
		g->weight_256 = run->weight_256;
		sim_weight(g->s, run->weight_256);
		p->sampled |= run->weight_256 != 256;
	}
	if (g->missed)
		return is_short ? replay_add_run(g, run) : run_telling(g, run);
	if (p->select)
		return run_slowly(g, run);
	p->accesses += run->nr;
	if (run->lines)
		return sim_run_lines(g->s, run->thread, run->lines);
	return sim_run(g->s, run->thread, run->access, run->nr);
}

/* Add the losses that the trace counts without a gap record. */
static void replay_untold(struct replay *p, const struct mem_facts *facts)
{
	uint32_t i;

	for (i = 0; i < MEM_CAUSES; i++)
		*(i < CRAY_GAP_SAMPLED ? &p->lost : &p->left_out) += facts->lost[i];
	p->lost_unknown |= facts->lost_unknown;
}

static int replay_start_telling(struct replaying *g)
{
	if (!g->p->each || g->p->select)
		return 0;
	g->missed = malloc(SIM_MISSED_MAX * sizeof(*g->missed));
	if (g->p->sums)
		g->sums = replay_sums_new(sim_config_of(g->s), g->p->each, g->p->alike,
					  g->p->context);
	if (g->sums && g->p->changes) {
		g->batch = malloc(sizeof(*g->batch));
		if (!g->batch)
			return -ENOMEM;
		g->batch->nr = g->batch->nr_parts = 0;
	}
	return g->missed && (g->sums || !g->p->sums) ? 0 : -ENOMEM;
}

/* An outcome has the classes of its misses: then they are found at once. */
static bool replay_wants_thread(const struct replay *p)
{
	cpu_set_t cpus;

	if (p->each || p->select || p->threads == 1)
		return false;
	return p->threads > 1 ||
	       (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1);
}

int replay_run(struct replay *p, struct sim *s, struct mem_reader *r, struct err *err)
{
	struct replaying g = {
		.p = p, .s = s, .facts = mem_reader_facts(r), .on = !p->from_mark, .weight_256 = 256
	};
	struct progress progress;
	uint64_t steps = 0;
	struct mem_run run;
	int ret = replay_start_telling(&g);

	if (!p->each)
		mem_reader_skip_events(r);
	if (!p->each && !p->select && sim_takes_lines(s))
		mem_reader_want_lines(r, (uint32_t)__builtin_ctz(sim_config_of(s)->level[0].line));
	if (replay_wants_thread(p))
		sim_start_class_thread(s);
	progress_start(&progress, "simulating", mem_reader_size(r));
	while (ret == 0 && mem_reader_run(r, &run)) {
		ret = run.record ? replay_take_record(&g, run.record)
				 : replay_replay_accesses(&g, &run);
		steps += run.nr + 1;
		if (steps >= PROGRESS_STEP) {
			progress_update(&progress, mem_reader_done(r));
			steps = 0;
		}
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	if (ret == 0)
		ret = replay_flush_batch(&g);
	if (ret == 0 && g.sums)
		ret = replay_sums_flush(g.sums);
	if (sim_end_class_thread(s) < 0)
		ret = ret < 0 ? ret : -ENOMEM;
	replay_sums_free(g.sums);
	free(g.missed);
	free(g.batch);
	if (ret == 0 && p->select && p->select->no_memory)
		ret = -ENOMEM;
	if (ret < 0 && !err->code)
		err_set(err, ret, "no memory to simulate so many lines or threads");
	replay_untold(p, g.facts);
	return ret;
}

void replay_release(struct replay *p)
{
	u64map_release(&p->known);
}
