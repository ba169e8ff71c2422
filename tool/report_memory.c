/* SPDX-License-Identifier: MIT */
/* report_memory.c - `report --mem`: which awaits are followed by cache misses. */
#include "report_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "cmd.h"
#include "mem_watch.h"
#include "memory/sim/replay.h"
#include "memory/stat/coroutine_slices.h"
#include "run_memory.h"

#define ROWS_SHOWN  8   /* in text and Markdown */
#define WAITS_LEAST 1.0 /* misses of the last level per slice: it waits on memory */
#define PLACE_SIZE  640

/* ---- what the trace of coroutines says -------------------------------------------- */

static int report_memory_add_fact(struct report_memory *m, const struct trace_memory *fact)
{
	if (!fact->file || m->nr_facts++)
		return 0;
	m->fact_texts[0] = strdup(fact->file);
	m->fact_texts[1] = fact->build_id ? strdup(fact->build_id) : NULL;
	m->fact = *fact;
	m->fact.file = m->fact_texts[0];
	m->fact.build_id = m->fact_texts[1];
	return m->fact.file && !fact->build_id == !m->fact.build_id ? 0 : -ENOMEM;
}

int report_memory_add(struct report_memory *m, const struct trace_item *item)
{
	trace_filter_note(&m->filter, item);
	if (item->type == TRACE_ITEM_MEMORY)
		return report_memory_add_fact(m, &item->memory);
	if (item->type != TRACE_ITEM_PROCESS)
		return 0;
	if (m->nr_pids < REPORT_MEMORY_PIDS)
		m->pids[m->nr_pids] = item->process.pid;
	m->nr_pids++;
	return 0;
}

/* ---- reading ---------------------------------------------------------------------- */

struct report_memory_watch {
	struct mem_watch misses; /* the first: it is the context of mem_watch.h */
	struct report_memory *memory;
};

/* True if the filter of the report has the record: everything is simulated, not all is judged. */
static bool report_memory_is_judged(const struct report_memory *m, const struct mem_record *r)
{
	const struct trace_filter *f = &m->filter;
	uint64_t id = 0;

	if ((f->has_from || f->has_to) &&
	    (r->time_ns < trace_filter_from(f) || r->time_ns > trace_filter_to(f)))
		return false;
	return !f->has_coroutine ||
	       (u64map_get(&m->coroutines, r->thread, &id) && id == f->coroutine);
}

/* A record that is not an access. */
static int report_memory_record(struct report_memory *m, const struct mem_record *r)
{
	struct mem_record other = *r;

	if (r->kind == MEM_CORO && m->filter.has_coroutine &&
	    u64map_put(&m->coroutines, r->thread, r->value) < 0)
		return -ENOMEM;
	if (report_memory_is_judged(m, r))
		return blame_record(m->blame, r);
	if (r->kind != MEM_CORO)
		return blame_follow(m->blame, r);
	/* The thread runs the coroutine, but the slice is not counted. */
	other.cause = (r->cause & ~(uint32_t)CRAY_CORO_CAUSE) | CRAY_CORO_CONTINUED;
	return blame_record(m->blame, &other);
}

static int report_memory_each(void *context, const struct mem_record *r,
			      const struct sim_outcome *out)
{
	struct report_memory_watch *w = context;

	if (blame_modules(w->misses.blame, w->misses.facts) < 0)
		return -ENOMEM;
	if (!out)
		return report_memory_record(w->memory, r);
	return report_memory_is_judged(w->memory, r) ? blame_access(w->misses.blame, r, out) : 0;
}

static struct replay_tally *report_memory_alike(void *context, const struct mem_record *r,
						uint64_t *start, uint64_t *end)
{
	struct report_memory_watch *w = context;

	return report_memory_is_judged(w->memory, r) ? mem_watch_alike(&w->misses, r, start, end)
						     : NULL;
}

/* The trace says which file it is: another one of that name is refused. */
static int report_memory_check_fact(const struct report_memory *m, const struct mem_reader *r,
				    struct err *err)
{
	const struct trace_memory *fact = &m->fact;
	struct memory_totals totals;

	memory_totals_glance(r, &totals);
	if (mem_reader_size(r) != fact->size)
		err_set(err, -EINVAL,
			"cannot use '%s': it is not the memory trace of this run: it has %llu bytes"
			" instead of %llu",
			m->path, (unsigned long long)mem_reader_size(r),
			(unsigned long long)fact->size);
	else if (totals.accesses != fact->accesses)
		err_set(err, -EINVAL,
			"cannot use '%s': it is not the memory trace of this run: it has %llu "
			"accesses instead of %llu",
			m->path, (unsigned long long)totals.accesses,
			(unsigned long long)fact->accesses);
	else if (strcmp(fact->build_id ? fact->build_id : "", totals.build_id) != 0)
		err_set(err, -EINVAL,
			"cannot use '%s': it is not the memory trace of this run: its program is "
			"another build",
			m->path);
	if (err->code)
		err_hint(err, "it was replaced or changed after the run: 'corotracer run --mem' "
			      "writes both, --mem=FILE names another file");
	return err->code;
}

/* A memory trace of an earlier run may have the name that this one would have. */
static int report_memory_check_run(const struct report_memory *m, const struct mem_facts *f,
				   struct err *err)
{
	size_t i;

	if (!f->pid || !m->nr_pids || m->nr_pids > REPORT_MEMORY_PIDS)
		return 0;
	for (i = 0; i < m->nr_pids; i++) {
		if (m->pids[i] == f->pid)
			return 0;
	}
	err_set(err, -EINVAL, "cannot use '%s': process %llu is not in the trace", m->path,
		(unsigned long long)f->pid);
	err_hint(err, "it is of another run: 'corotracer run --mem' writes both");
	return err->code;
}

static int report_memory_simulate(struct report_memory *m, struct mem_reader *r, struct err *err)
{
	struct report_memory_watch w = { .misses.facts = mem_reader_facts(r), .memory = m };
	/* A time filter needs the time of each access. */
	struct replay replay = { .each = report_memory_each,
				 .context = &w,
				 .fetch = mem_watch_fetch,
				 .sums = !m->filter.has_from && !m->filter.has_to,
				 .alike = report_memory_alike,
				 .changes = mem_watch_changes };
	int rc;

	m->sim = sim_new(&m->machine.config, err);
	m->blame = m->sim ? blame_new(&m->machine.config, err) : NULL;
	if (!m->blame)
		return err->code;
	w.misses.blame = m->blame;
	rc = blame_learn(m->blame, m->path, err);
	if (rc == 0)
		rc = replay_run(&replay, m->sim, r, err);
	m->simulated = replay.accesses;
	m->lost = replay.lost;
	replay_release(&replay);
	return rc;
}

static int rows_by_cost(const void *x, const void *y, void *b)
{
	const struct report_memory_row *a = x, *c = y;
	uint64_t ca = blame_cost(b, &a->await->counts), cc = blame_cost(b, &c->await->counts);

	return (ca < cc) - (ca > cc);
}

static int report_memory_sort(struct report_memory *m)
{
	const struct blame_coroutine *kinds;
	size_t nr, i, k, all = 0;

	kinds = blame_coroutines(m->blame, &nr);
	if (!kinds)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		all += kinds[i].nr_awaits;
	m->rows = calloc(all + 1, sizeof(*m->rows));
	if (!m->rows)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		for (k = 0; k < kinds[i].nr_awaits; k++)
			m->rows[m->nr_rows++] = (struct report_memory_row){ kinds[i].kind,
									    &kinds[i].awaits[k] };
	}
	qsort_r(m->rows, m->nr_rows, sizeof(*m->rows), rows_by_cost, m->blame);
	return 0;
}

/* A name without directories is beside the trace; so is any that is not there. */
static bool report_memory_beside(const char *trace, const char *file, char *path, size_t size)
{
	const char *slash, *name = strrchr(file, '/');
	size_t length = strlen(trace);

	if (name && access(file, F_OK) == 0)
		return snprintf(path, size, "%s", file) < (int)size;
	while (length > 1 && trace[length - 1] == '/')
		length--;
	slash = memrchr(trace, '/', length);
	return snprintf(path, size, "%.*s%s", slash ? (int)(slash - trace) + 1 : 0, trace,
			name ? name + 1 : file) < (int)size;
}

static bool report_memory_find(struct report_memory *m, const char *trace)
{
	if (m->file)
		return snprintf(m->path, sizeof(m->path), "%s", m->file) < (int)sizeof(m->path);
	if (m->fact.file)
		return report_memory_beside(trace, m->fact.file, m->path, sizeof(m->path));
	return run_memory_name(trace, m->path, sizeof(m->path));
}

int report_memory_read(struct report_memory *m, const char *trace, struct err *err)
{
	struct mem_reader *r;
	int rc;

	if (!report_memory_find(m, trace))
		return err_set(err, -ENAMETOOLONG, "the name of the memory trace is too long");
	if (!mem_machine_settle(&m->machine, &command_report))
		return err_set(err, -EINVAL, "cannot simulate this computer's caches");
	r = mem_reader_open(m->path, err);
	if (!r) {
		err_hint(err,
			 m->fact.file && !m->file
				 ? "the trace names it: it was moved or removed; --mem=FILE says "
				   "where it is"
				 : "'corotracer run --mem' writes it beside the trace");
		return err->code;
	}
	if (m->fact.file && !m->file)
		rc = report_memory_check_fact(m, r, err);
	else
		rc = report_memory_check_run(m, mem_reader_facts(r), err);
	if (!rc)
		rc = report_memory_simulate(m, r, err);
	if (!rc)
		rc = mem_reader_error(r, err);
	if (!rc && report_memory_sort(m) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", m->path);
	mem_reader_close(r);
	return rc;
}

/* ---- numbers ------------------------------------------------------------------------ */

#define CYCLES_PER_NS 3.0 /* of an assumed processor */
#define SHARE_LEAST   0.1 /* of the time of the slices: it waits on memory */

static double report_memory_misses(const struct report_memory *m, const struct blame_await *a)
{
	uint64_t misses = a->counts.misses[m->machine.config.nr_levels - 1];

	return a->slices ? (double)misses / BLAME_ONE / (double)a->slices : 0;
}

static double report_memory_cycles(const struct report_memory *m, const struct blame_await *a)
{
	uint64_t cost = blame_cost(m->blame, &a->counts);

	return a->slices ? (double)cost / BLAME_ONE / (double)a->slices : 0;
}

static double report_memory_slice(const struct blame_await *a)
{
	return a->slices ? (double)a->slice_ns / (double)a->slices : 0;
}

/*
 * The share of its slices that misses take, at most: misses that overlap take less.  Below 0: the
 * trace has no times.  Recording accesses makes slices longer, so the share is rather too small.
 */
static double report_memory_share(const struct report_memory *m, const struct blame_await *a)
{
	double share = report_memory_cycles(m, a) / CYCLES_PER_NS;

	if (!a->slice_ns)
		return -1;
	share /= report_memory_slice(a);
	return share < 1 ? share : 1;
}

/* Every site misses a few lines at first: only a part of the time that matters is waiting. */
static bool report_memory_waits(const struct report_memory *m, const struct blame_await *a)
{
	double share = report_memory_share(m, a);

	return report_memory_misses(m, a) >= WAITS_LEAST && (share < 0 || share >= SHARE_LEAST);
}

/* ---- text and Markdown ---------------------------------------------------------------- */

static void report_memory_row(const struct report_memory *m, FILE *out,
			      const struct report_memory_row *row)
{
	const struct sim_config *c = &m->machine.config;
	const struct blame_await *a = row->await;
	char place[PLACE_SIZE], time[TEXT_SIZE];
	double share = report_memory_share(m, a);

	if (*a->file)
		snprintf(place, sizeof(place), "%s:%u %s", a->file, a->line, a->function);
	else
		snprintf(place, sizeof(place), "%s", "its start");
	fputs("- ", out);
	text_put(out, row->kind);
	fputs(" after ", out);
	text_put(out, place);
	fprintf(out, ": %.1f %s misses and about %.0f cycles of waiting per slice",
		report_memory_misses(m, a), c->level[c->nr_levels - 1].name,
		report_memory_cycles(m, a));
	if (share >= 0)
		fprintf(out, ", up to %.0f %% of its %s", 100 * share,
			text_duration(time, (uint64_t)report_memory_slice(a)));
	fprintf(out, "; %s slice%s\n", number_text(a->slices), number_plural(a->slices));
}

/* Sites that miss the last level, and not enough to be listed. */
static void report_memory_rest(const struct report_memory *m, FILE *out)
{
	size_t i, nr = 0;

	for (i = 0; i < m->nr_rows; i++)
		nr += report_memory_misses(m, m->rows[i].await) >= WAITS_LEAST &&
		      !report_memory_waits(m, m->rows[i].await);
	if (nr)
		fprintf(out,
			"%s site%s with misses that take less than %.0f %% of the slices %s not "
			"listed.\n",
			number_text(nr), number_plural(nr), 100 * SHARE_LEAST,
			nr == 1 ? "is" : "are");
}

void report_memory_print(const struct report_memory *m, FILE *out, bool markdown)
{
	size_t i, nr = 0;

	fprintf(out, "\n%sSites that wait on memory (information)%s\n", markdown ? "## " : "",
		markdown ? "\n" : "");
	fprintf(out, "Simulated, not measured: %s accesses in '", number_text(m->simulated));
	text_put(out, m->path);
	fprintf(out, "', caches of %s, %.0f cycles per ns; misses may overlap.\n", m->machine.words,
		CYCLES_PER_NS);
	if (m->lost)
		fprintf(out, "%s accesses are missing.\n", number_text(m->lost));
	if (!m->nr_rows)
		fputs("The memory trace has no coroutines: build the scheduler with 'corotracer "
		      "mem cc', too.\n",
		      out);
	for (i = 0; i < m->nr_rows && nr < ROWS_SHOWN; i++) {
		if (report_memory_waits(m, m->rows[i].await)) {
			report_memory_row(m, out, &m->rows[i]);
			nr++;
		}
	}
	if (m->nr_rows && !nr)
		fprintf(out,
			"None: misses of the last level take less than %.0f %% of the slices "
			"of each site.\n",
			100 * SHARE_LEAST);
	else
		report_memory_rest(m, out);
}

/* ---- JSON ---------------------------------------------------------------------------- */

void report_memory_json(const struct report_memory *m, struct json_writer *j)
{
	size_t i;

	jw_key(j, "memory");
	jw_object_begin(j);
	jw_field_string(j, "file", m->path);
	jw_field_string(j, "machine_from", m->machine.words);
	jw_field_u64(j, "simulated", m->simulated);
	jw_field_u64(j, "lost", m->lost);
	jw_key(j, "sites");
	jw_array_begin(j);
	for (i = 0; i < m->nr_rows; i++) {
		const struct blame_await *a = m->rows[i].await;

		jw_object_begin(j);
		jw_field_string(j, "kind", m->rows[i].kind);
		jw_field_string(j, "file", *a->file ? a->file : NULL);
		jw_field_u64(j, "line", a->line);
		jw_field_string(j, "function", *a->function ? a->function : NULL);
		jw_field_u64(j, "slices", a->slices);
		jw_field_double(j, "misses_per_slice", report_memory_misses(m, a));
		jw_field_double(j, "cycles_per_slice", report_memory_cycles(m, a));
		jw_field_double(j, "slice_ns", report_memory_slice(a));
		if (a->slice_ns)
			jw_field_double(j, "share", report_memory_share(m, a));
		else
			jw_field_null(j, "share");
		jw_field_bool(j, "waits_on_memory", report_memory_waits(m, a));
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
}

void report_memory_release(struct report_memory *m)
{
	free(m->rows);
	free(m->fact_texts[0]);
	free(m->fact_texts[1]);
	u64map_release(&m->coroutines);
	trace_filter_release(&m->filter);
	blame_free(m->blame);
	sim_free(m->sim);
}
