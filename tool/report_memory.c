/* SPDX-License-Identifier: MIT */
/* report_memory.c - `report --mem`: which awaits are followed by cache misses. */
#include "report_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "cmd.h"
#include "memory/sim/replay.h"
#include "run_memory.h"

#define ROWS_SHOWN  8   /* in text and Markdown */
#define WAITS_LEAST 1.0 /* misses of the last level per slice: it waits on memory */
#define PLACE_SIZE  640

void report_memory_add_process(struct report_memory *m, uint64_t pid)
{
	if (m->nr_pids < REPORT_MEMORY_PIDS)
		m->pids[m->nr_pids] = pid;
	m->nr_pids++;
}

/* ---- reading ---------------------------------------------------------------------- */

struct report_memory_watch {
	struct blame *blame;
	const struct mem_facts *facts;
};

static int report_memory_each(void *context, const struct mem_record *r,
			      const struct sim_outcome *out)
{
	struct report_memory_watch *w = context;

	if (blame_modules(w->blame, w->facts) < 0)
		return -ENOMEM;
	return out ? blame_access(w->blame, r, out) : blame_record(w->blame, r);
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
	struct report_memory_watch w = { .facts = mem_reader_facts(r) };
	struct replay replay = { .each = report_memory_each, .context = &w };
	int rc;

	m->sim = sim_new(&m->machine.config, err);
	m->blame = w.blame = m->sim ? blame_new(&m->machine.config, err) : NULL;
	if (!m->blame)
		return err->code;
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

int report_memory_read(struct report_memory *m, const char *trace, struct err *err)
{
	struct mem_reader *r;
	int rc;

	if (m->file)
		snprintf(m->path, sizeof(m->path), "%s", m->file);
	else if (!run_memory_name(trace, m->path, sizeof(m->path)))
		return err_set(err, -ENAMETOOLONG, "the name of the memory trace is too long");
	if (!mem_machine_settle(&m->machine, &command_report))
		return err_set(err, -EINVAL, "cannot simulate this computer's caches");
	r = mem_reader_open(m->path, err);
	if (!r) {
		err_hint(err, "'corotracer run --mem' writes it beside the trace");
		return err->code;
	}
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

static bool report_memory_waits(const struct report_memory *m, const struct blame_await *a)
{
	return report_memory_misses(m, a) >= WAITS_LEAST;
}

/* ---- text and Markdown ---------------------------------------------------------------- */

static void report_memory_row(const struct report_memory *m, FILE *out,
			      const struct report_memory_row *row)
{
	const struct sim_config *c = &m->machine.config;
	const struct blame_await *a = row->await;
	char place[PLACE_SIZE];

	if (*a->file)
		snprintf(place, sizeof(place), "%s:%u %s", a->file, a->line, a->function);
	else
		snprintf(place, sizeof(place), "%s", "its start");
	fputs("- ", out);
	text_put(out, row->kind);
	fputs(" after ", out);
	text_put(out, place);
	fprintf(out, ": %.1f %s misses and about %.0f cycles of waiting per slice, %s slice%s\n",
		report_memory_misses(m, a), c->level[c->nr_levels - 1].name,
		report_memory_cycles(m, a), number_text(a->slices), number_plural(a->slices));
}

void report_memory_print(const struct report_memory *m, FILE *out, bool markdown)
{
	size_t i, nr = 0;

	fprintf(out, "\n%sSites that wait on memory (information)%s\n", markdown ? "## " : "",
		markdown ? "\n" : "");
	fprintf(out, "Simulated, not measured: %s accesses in '", number_text(m->simulated));
	text_put(out, m->path);
	fprintf(out, "', caches of %s.\n", m->machine.words);
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
		fprintf(out, "None: no slice misses the last level once on average.\n");
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
		jw_field_bool(j, "waits_on_memory", report_memory_waits(m, a));
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
}

void report_memory_release(struct report_memory *m)
{
	free(m->rows);
	blame_free(m->blame);
	sim_free(m->sim);
}
