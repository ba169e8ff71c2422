/* SPDX-License-Identifier: MIT */
/* merge_inputs.c - the inputs of a merge: read them once, and see how they fit together. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/merge.h"

#define MERGE_ID_STEP_LEAST  UINT64_C(1000000)
#define MERGE_TID_STEP_LEAST UINT64_C(10000000) /* the largest number of a process is 2^22 */

/*
 * Time between the wall clocks of two starts of one boot: NTP may have set the clock meanwhile.
 * Another boot is hardly this close.
 */
#define MERGE_CLOCK_SLACK_NS UINT64_C(5000000000)

static int merge_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory to merge traces");
}

/* ---- the first reading --------------------------------------------------------- */

/* Replace a text of the reader with a copy; NULL stays NULL. */
static int merge_keep_text(const char **text)
{
	const char *copy = *text ? strdup(*text) : NULL;
	bool is_lost = *text && !copy;

	*text = copy;
	return is_lost ? -ENOMEM : 0;
}

static int merge_copy_run(struct merge_input *in, const struct sidecar_run *run)
{
	char **words = calloc(run->nr_command + 1, sizeof(*words));
	size_t i;
	int rc = 0;

	if (!words)
		return -ENOMEM;
	in->run = *run;
	in->run.command = (const char *const *)words;
	in->has_run = true;
	rc |= merge_keep_text(&in->run.tool);
	rc |= merge_keep_text(&in->run.hostname);
	rc |= merge_keep_text(&in->run.arch);
	for (i = 0; i < run->nr_command; i++) {
		words[i] = strdup(run->command[i]);
		if (!words[i])
			return -ENOMEM;
	}
	return rc;
}

/* The numbers of a part are taken even if the trace has no events of it, as after a filter. */
static void merge_note_part(struct merge_input *in, const struct trace_part *part)
{
	if (part->number > in->nr_parts)
		in->nr_parts = part->number;
	if (part->ids_to > in->max_id)
		in->max_id = part->ids_to;
}

static int merge_note_item(struct merge_input *in, const struct trace_item *item)
{
	if (item->type == TRACE_ITEM_RUN && !in->has_run && merge_copy_run(in, &item->run) < 0)
		return -ENOMEM;
	if (item->type == TRACE_ITEM_PART)
		merge_note_part(in, &item->part);
	if (item->type == TRACE_ITEM_PROCESS) {
		in->nr_processes++;
		in->pid = (uint32_t)item->process.pid;
	}
	if (item->type == TRACE_ITEM_TOTALS) {
		in->has_totals = true;
		in->totals = item->totals;
	}
	return merge_note_numbers(in, item);
}

static void merge_take_stats(struct merge_input *in, const struct trace_stats *stats)
{
	in->transitions = stats->completeness.read;
	in->others = stats->completeness.read_others;
	in->verdict = trace_verdict(stats);
	in->is_clean = trace_stats_are_clean(stats);
	if (!trace_shortage(stats, in->shortage, sizeof(in->shortage)))
		in->shortage[0] = '\0';
}

/* A file of other lines is not a trace. */
static int merge_check_content(const struct merge_input *in, const struct trace_stats *stats,
			       struct err *err)
{
	if (in->transitions || in->others || !stats->lines.garbage)
		return 0;
	err_set(err, -EINVAL, "cannot merge '%s': it holds no events", in->path);
	err_hint(err, "line %" PRIu64 ": %s", stats->lines.first[0].line,
		 stats->lines.first[0].reason);
	return err->code;
}

static int merge_scan(struct merge_input *in, struct err *err)
{
	struct trace_reader *r = trace_reader_open(in->path, err);
	struct trace_item item;
	int rc;

	if (!r)
		return err->code;
	while ((rc = trace_next(r, &item, err)) > 0) {
		if (merge_note_item(in, &item) < 0) {
			rc = merge_no_memory(err);
			break;
		}
	}
	merge_take_stats(in, trace_reader_stats(r));
	if (!rc)
		rc = merge_check_content(in, trace_reader_stats(r), err);
	trace_reader_close(r);
	return rc;
}

bool merge_input_is_whole(const struct merge_input *in)
{
	return in->is_clean && in->verdict != TRACE_INCOMPLETE && in->verdict != TRACE_UNFINISHED &&
	       (!in->has_totals || (in->totals.complete && !in->totals.lost_output));
}

/* ---- may they be merged? -------------------------------------------------------- */

/* The inputs are read twice. */
static int merge_check_path(const char *path, struct stat *st, struct err *err)
{
	if (!strcmp(path, "-")) {
		err_set(err, -EINVAL, "cannot merge standard input: a merge reads its input twice");
		err_hint(err, "write it to a file first");
		return err->code;
	}
	if (stat(path, st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		return 0;
	err_set(err, -EINVAL, "cannot merge '%s': it is not a file, and a merge reads it twice",
		path);
	err_hint(err, "write it to a file first");
	return err->code;
}

static int merge_check_paths(const struct merge *m, struct err *err)
{
	struct stat *st = calloc(m->nr, sizeof(*st));
	size_t i, k;
	int rc = 0;

	if (!st)
		return merge_no_memory(err);
	for (i = 0; !rc && i < m->nr; i++) {
		rc = merge_check_path(m->inputs[i].path, &st[i], err);
		for (k = 0; !rc && k < i; k++) {
			if (st[i].st_dev != st[k].st_dev || st[i].st_ino != st[k].st_ino)
				continue;
			rc = err_set(err, -EINVAL, "cannot merge '%s' with itself",
				     m->inputs[i].path);
			err_hint(err, "name each trace once");
		}
	}
	free(st);
	return rc;
}

/* A copy of a trace, or the same trace in another format. */
static int merge_check_runs(const struct merge *m, size_t nr, struct err *err)
{
	const struct merge_input *in = &m->inputs[nr];
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct merge_input *other = &m->inputs[i];

		if (!in->has_run || !other->has_run || in->run.pid != other->run.pid ||
		    in->run.start_ts != other->run.start_ts ||
		    in->run.start_realtime != other->run.start_realtime)
			continue;
		err_set(err, -EINVAL, "cannot merge '%s' with '%s': both are of the same run",
			in->path, other->path);
		err_hint(err, "name the trace of each run once");
		return err->code;
	}
	return 0;
}

/* ---- clocks --------------------------------------------------------------------- */

/* When the clock of the trace was 0, by the wall clock.  False: not known. */
static bool merge_clock_zero(const struct merge_input *in, uint64_t *zero)
{
	*zero = in->run.start_realtime - in->run.start_ts;
	return in->has_run && in->run.start_realtime >= in->run.start_ts;
}

static bool merge_same_host(const struct merge_input *a, const struct merge_input *b)
{
	return !a->run.hostname || !b->run.hostname || !strcmp(a->run.hostname, b->run.hostname);
}

static bool merge_same_clock(const struct merge_input *a, const struct merge_input *b)
{
	uint64_t x, y;

	if (!merge_clock_zero(a, &x) || !merge_clock_zero(b, &y) || !merge_same_host(a, b))
		return false;
	return (x > y ? x - y : y - x) <= MERGE_CLOCK_SLACK_NS;
}

static int merge_refuse_clock(const struct merge *m, size_t nr, struct err *err)
{
	const struct merge_input *in = &m->inputs[nr];
	uint64_t zero;

	if (!in->has_run || !m->inputs[0].has_run) {
		err_set(err, -EINVAL, "cannot merge '%s': it does not say when its clock started",
			in->has_run ? m->inputs[0].path : in->path);
		err_hint(err, "--force takes its times as they are, if you know that the clock is "
			      "the same");
	} else if (merge_clock_zero(in, &zero) && merge_clock_zero(&m->inputs[0], &zero)) {
		err_set(err, -EINVAL,
			"cannot merge '%s' with '%s': they are of different computers or boots, "
			"and have different clocks",
			in->path, m->inputs[0].path);
		err_hint(err, "--force places their events by the wall clocks of both");
	} else {
		err_set(err, -EINVAL, "cannot merge '%s' with '%s': their clocks are not known",
			in->path, m->inputs[0].path);
		err_hint(err, "--force takes their times as they are");
	}
	return err->code;
}

/* All times become those of the clock that started first, so that none becomes negative. */
static void merge_shift_clocks(struct merge *m)
{
	uint64_t zero, first = UINT64_MAX;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (!merge_clock_zero(&m->inputs[i], &zero))
			return;
		if (zero < first)
			first = zero;
	}
	for (i = 0; i < m->nr; i++) {
		merge_clock_zero(&m->inputs[i], &zero);
		m->inputs[i].shift.time = zero - first;
	}
}

static int merge_check_clocks(struct merge *m, bool force, struct err *err)
{
	size_t i;

	for (i = 1; i < m->nr; i++) {
		if (merge_same_clock(&m->inputs[0], &m->inputs[i]))
			continue;
		if (!force)
			return merge_refuse_clock(m, i, err);
		m->other_clock = true;
	}
	if (m->other_clock)
		merge_shift_clocks(m);
	return 0;
}

/* ---- numbers -------------------------------------------------------------------- */

/* The power of ten above @most, at least @least; 0: none fits in 64 bits. */
static uint64_t merge_step(uint64_t most, uint64_t least)
{
	uint64_t step = least;

	while (step && step <= most)
		step = step > UINT64_MAX / 10 ? 0 : step * 10;
	return step;
}

static int merge_shift_ids(struct merge *m, struct err *err)
{
	uint64_t most = 0, most_ids = 0, step;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		most = m->inputs[i].max_id > most ? m->inputs[i].max_id : most;
		most_ids = m->inputs[i].nr_ids > most_ids ? m->inputs[i].nr_ids : most_ids;
	}
	step = merge_step(most, MERGE_ID_STEP_LEAST);
	m->is_numbered = !step || m->nr > UINT64_MAX / step;
	if (m->is_numbered) {
		m->numbers = calloc(m->nr, sizeof(*m->numbers));
		if (!m->numbers)
			return merge_no_memory(err);
		step = merge_step(most_ids, MERGE_ID_STEP_LEAST);
	}
	for (i = 0; i < m->nr; i++)
		m->inputs[i].shift.id = i * step;
	return 0;
}

static void merge_shift_sites(struct merge *m)
{
	uint64_t used = 0;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		m->inputs[i].shift.site = (uint32_t)(used < UINT32_MAX ? used : UINT32_MAX);
		used += m->inputs[i].max_site;
	}
}

static void merge_number_parts(struct merge *m)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		m->inputs[i].parts_below = nr;
		nr += m->inputs[i].nr_parts && !m->is_numbered ? m->inputs[i].nr_parts : 1;
	}
}

/* True if a number of @in is in @used; adds its numbers to @used. */
static int merge_collides(struct u64map *used, const struct u64map *numbers, bool *collides)
{
	uint64_t number, value;
	size_t pos = 0;

	while (u64map_next(numbers, &pos, &number, &value)) {
		uint64_t *seen = u64map_at(used, number);

		if (!seen)
			return -ENOMEM;
		*collides |= *seen;
		*seen = 1;
	}
	return 0;
}

static int merge_raise_threads(struct merge *m, size_t nr, uint64_t most_tid, uint32_t most_pid,
			       struct err *err)
{
	struct merge_shift *shift = &m->inputs[nr].shift;
	uint64_t step = merge_step(most_tid, MERGE_TID_STEP_LEAST);
	uint64_t pid_step = merge_step(most_pid, MERGE_TID_STEP_LEAST);

	if (step && step == pid_step * (step / pid_step) && nr <= UINT32_MAX / step &&
	    nr * step <= UINT32_MAX - most_pid)
		pid_step = step; /* the first thread of a process keeps its number */
	if (!step || nr > UINT64_MAX / step - 1 || nr > UINT32_MAX / pid_step ||
	    nr * pid_step > UINT32_MAX - most_pid)
		return err_set(err, -E2BIG,
			       "cannot merge '%s': no numbers are left for its threads",
			       m->inputs[nr].path);
	shift->tid = nr * step;
	shift->pid = (uint32_t)(nr * pid_step);
	return 0;
}

/* Numbers of threads and processes stay as they are where they are different. */
static int merge_shift_threads(struct merge *m, struct err *err)
{
	struct u64map pids = { 0 }, tids = { 0 };
	uint64_t most_tid = 0;
	uint32_t most_pid = 0;
	size_t i;
	int rc = 0;

	for (i = 0; i < m->nr; i++) {
		const struct merge_input *in = &m->inputs[i];

		most_tid = in->max_tid > most_tid ? in->max_tid : most_tid;
		most_pid = in->max_pid > most_pid ? in->max_pid : most_pid;
	}
	for (i = 0; i < m->nr && !rc; i++) {
		bool collides = false;

		if (merge_collides(&pids, &m->inputs[i].pids, &collides) < 0 ||
		    merge_collides(&tids, &m->inputs[i].tids, &collides) < 0)
			rc = merge_no_memory(err);
		else if (collides)
			rc = merge_raise_threads(m, i, most_tid, most_pid, err);
	}
	u64map_release(&pids);
	u64map_release(&tids);
	return rc;
}

/* ---- open and close -------------------------------------------------------------- */

static int merge_prepare(struct merge *m, bool force, struct err *err)
{
	int rc = merge_check_paths(m, err);
	size_t i;

	for (i = 0; !rc && i < m->nr; i++) {
		rc = merge_scan(&m->inputs[i], err);
		if (!rc)
			rc = merge_check_runs(m, i, err);
	}
	if (!rc)
		rc = merge_check_clocks(m, force, err);
	if (!rc)
		rc = merge_shift_ids(m, err);
	if (!rc)
		rc = merge_shift_threads(m, err);
	merge_shift_sites(m);
	merge_number_parts(m);
	return rc;
}

struct merge *merge_open(const char *const *paths, size_t nr, bool force, struct err *err)
{
	struct merge *m = calloc(1, sizeof(*m));
	size_t i;

	if (m)
		m->inputs = calloc(nr, sizeof(*m->inputs));
	if (!m || !m->inputs) {
		merge_no_memory(err);
		free(m);
		return NULL;
	}
	m->nr = nr;
	for (i = 0; i < nr; i++)
		m->inputs[i].path = paths[i];
	if (merge_prepare(m, force, err) == 0)
		return m;
	merge_close(m);
	return NULL;
}

static void merge_input_release(struct merge_input *in)
{
	size_t i;

	for (i = 0; in->run.command && i < in->run.nr_command; i++)
		free((void *)in->run.command[i]);
	free((void *)in->run.command);
	free((void *)in->run.tool);
	free((void *)in->run.hostname);
	free((void *)in->run.arch);
	u64map_release(&in->pids);
	u64map_release(&in->tids);
}

void merge_close(struct merge *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->nr; i++) {
		merge_input_release(&m->inputs[i]);
		if (m->numbers)
			u64map_release(&m->numbers[i]);
	}
	free(m->numbers);
	free(m->inputs);
	free(m);
}
