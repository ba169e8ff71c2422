/* SPDX-License-Identifier: MIT */
/* top_print.c - print one picture of a running program, for scripts or without a terminal. */
#include "json_file.h"
#include "top_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyze/report.h"
#include "base/text.h"
#include "recover_print.h"
#include "running_list.h"

/* ---- JSON ------------------------------------------------------------------------- */

static void top_put_states(struct printer *j, const struct top_picture *p)
{
	unsigned state;

	print_object(j, "states");
	for (state = 0; state < NR_TRACE_STATES; state++) {
		if (trace_state_name(state))
			print_count(j, trace_state_name(state), NULL, p->by_state[state]);
	}
	print_object_end(j);
}

static void top_put_command(struct printer *j, const struct top_picture *p)
{
	const json_t *words = json_object_get(p->status, "command");
	size_t i;

	print_list(j, "command");
	for (i = 0; i < json_array_size(words); i++)
		jw_string(&j->json, json_string_value(json_array_get(words, i)));
	print_list_end(j);
}

/* Nothing if it was not measured. */
static void top_put_cpu(struct printer *j, const struct top_cpu *cpu)
{
	if (!cpu->slices)
		return;
	print_object(j, "cpu");
	print_count(j, "slices", NULL, cpu->slices);
	print_count(j, "on_ns", NULL, cpu->on_ns);
	print_count(j, "ready_ns", NULL, cpu->ready_ns);
	print_count(j, "blocked_ns", NULL, cpu->blocked_ns);
	print_object_end(j);
}

static void top_put_row(struct printer *j, const struct top_picture *p, const struct top_row *row)
{
	print_object(j, NULL);
	recover_json_coroutine(j, &p->r, row->c, p->moment);
	print_flag(j, "ready", NULL, row->state == TRACE_STATE_READY);
	print_real(j, "rate", NULL, row->rate);
	if (row->c->tid)
		print_count(j, "tid", NULL, row->c->tid);
	top_put_cpu(j, &row->cpu);
	print_object_end(j);
}

int top_print_json(const struct top_source *s, const struct top_picture *p,
		   const struct top_rows *rows, size_t limit)
{
	struct printer j;
	size_t i;

	printer_begin(&j, json_file_stream(stdout), true);
	print_string(&j, "region", s->region);
	print_count(&j, "collector_pid", NULL, p->r.image.collector_pid);
	print_flag(&j, "collector_answers", NULL, p->told);
	top_put_command(&j, p);
	recover_print_processes(&j, &p->r, SIZE_MAX);
	print_count(&j, "moment_ts", NULL, p->moment);
	print_count(&j, "up_ns", NULL, p->up_ns);
	top_put_states(&j, p);
	print_count(&j, "threads", NULL, p->threads);
	print_count(&j, "events", NULL, p->events);
	print_real(&j, "events_per_second", NULL, p->event_rate);
	print_count(&j, "births", NULL, p->births);
	print_real(&j, "births_per_second", NULL, p->birth_rate);
	print_count(&j, "lost", NULL, p->lost);
	print_count(&j, "behind", NULL, p->backlog);
	print_flag(&j, "complete", NULL, !p->r.short_of_memory && !p->r.image.cut);
	print_count(&j, "matching", NULL, rows->nr);
	print_list(&j, "coroutines");
	for (i = 0; i < rows->nr && i < limit; i++)
		top_put_row(&j, p, &p->rows[rows->at[i].row]);
	print_list_end(&j);
	return printer_end(&j);
}

/* ---- text ------------------------------------------------------------------------- */

static void top_put_head(const struct top_picture *p)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];
	unsigned state;
	size_t i;

	running_print_command(stdout, p->status);
	for (i = 0; i < p->r.nr_processes; i++) {
		if (p->r.processes[i].life == PROCESS_THERE)
			printf("  pid %u", p->r.processes[i].pid);
	}
	printf("  up %s\n", text_duration(a, p->up_ns));
	printf("%s coroutine%s:", text_count(a, p->nr), p->nr == 1 ? "" : "s");
	for (state = 0; state < NR_TRACE_STATES; state++) {
		if (trace_state_name(state) && p->by_state[state])
			printf(" %s %s", text_count(a, p->by_state[state]),
			       trace_state_name(state));
	}
	printf("\n%s events, lost %s%s; %s records behind; %" PRIu64 " thread%s\n",
	       text_count(a, p->events), text_count(b, p->lost),
	       p->told ? "" : " (the collector does not answer)", text_count(c, p->backlog),
	       p->threads, p->threads == 1 ? "" : "s");
}

static void top_put_line(const struct top_picture *p, const struct top_row *row,
			 struct top_places *places)
{
	const char *state = trace_state_name(row->state);
	uint64_t age = top_row_age(row, p);
	char text[TEXT_SIZE], why[128];

	report_waits_for(row->c->co.reason, row->c->co.has_resource, row->c->co.resource, why,
			 sizeof(why));
	printf("%10" PRIu64 "  %-9s  %11s  %11.1f  ", row->c->co.probe_id, state ? state : "?",
	       age ? text_duration(text, age) : "?", row->rate);
	if (row->c->tid)
		printf("%8" PRIu64 "  ", row->c->tid);
	else
		printf("%8s  ", "");
	text_put(stdout, row->c->name);
	printf("%s", row->c->name[0] ? "  " : "");
	text_put(stdout, top_row_place(row, p, places));
	printf("%s%s\n", why[0] ? "  " : "", why);
}

int top_print_text(const struct top_picture *p, const struct top_rows *rows,
		   struct top_places *places, size_t limit)
{
	char n[TEXT_SIZE];
	size_t i;

	top_put_head(p);
	printf("%10s  %-9s  %11s  %11s  %8s  %s\n", "ID", "STATE", "AGE", "RATE/s", "THREAD",
	       "NAME, WHERE, WHY");
	for (i = 0; i < rows->nr && i < limit; i++)
		top_put_line(p, &p->rows[rows->at[i].row], places);
	if (i < rows->nr)
		printf("(%s more: -n N shows more of them)\n", text_count(n, rows->nr - i));
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout))
		return errno ? -errno : -EIO;
	return 0;
}
