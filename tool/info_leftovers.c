/* SPDX-License-Identifier: MIT */
/* info_leftovers.c - coroutines that had not ended, by place, as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "info.h"

#define GROUPS_SHOWN  10
#define NAME_COLUMNS  40
#define PLACE_COLUMNS 260 /* room for a path and a function */

/* ---- place ------------------------------------------------------------------- */

/* An address that only one coroutine has may be that of its frame, which says nothing to a user. */
const char *info_leftover_created(const struct trace_summary *sum, const struct leftover_group *g)
{
	if (g->place || g->nr != 1 || g->last.state != TRACE_STATE_SUSPENDED)
		return NULL;
	return summary_place(sum, g->last.birth_site);
}

/* "suspended at src/io.c:42 wait (io-read)", or at 0x55d0c3b0; "running" */
static void leftover_put_state(struct printer *p, const struct trace_summary *sum,
			       const struct leftover_group *g)
{
	const char *state = trace_state_name(g->last.state);
	const char *place = summary_place_text(sum, g->place);
	const char *reason = g->last.reason ? trace_reason_name(g->last.reason) : NULL;
	const char *created = info_leftover_created(sum, g);

	if (!g->last.ts || !state) {
		print_text(p, "no event");
		return;
	}
	print_text(p, "%s", state);
	if (place) {
		print_text(p, " at ");
		print_safe(p, place, PLACE_COLUMNS);
	} else if (g->last.state == TRACE_STATE_SUSPENDED) {
		print_text(p, " at 0x%" PRIx64, g->last.addr);
	}
	if (reason)
		print_text(p, " (%s)", reason);
	if (created) {
		print_text(p, ", created at ");
		print_safe(p, created, PLACE_COLUMNS);
		print_text(p, ",");
	}
}

/* ---- resource ---------------------------------------------------------------- */

/* What kind of number the resource is; NULL: not meaningful to a user. */
static const char *word_for(uint8_t reason)
{
	switch (reason) {
	case TRACE_REASON_IO_READ:
	case TRACE_REASON_IO_WRITE:
	case TRACE_REASON_ACCEPT:
	case TRACE_REASON_CONNECT:
		return "fd";
	case TRACE_REASON_JOIN:
		return "coroutine";
	case TRACE_REASON_SIGNAL:
		return "signal";
	default:
		return NULL;
	}
}

static bool is_address(uint8_t reason)
{
	return reason == TRACE_REASON_MUTEX || reason == TRACE_REASON_SEMAPHORE ||
	       reason == TRACE_REASON_CHANNEL_SEND || reason == TRACE_REASON_CHANNEL_RECV;
}

/* Number of consecutive resources from @from on: 9, 10, 11 are three. */
static unsigned run_length(const struct leftover_group *g, unsigned from)
{
	unsigned nr = 1;

	while (from + nr < g->nr_resources &&
	       g->resources[from + nr] == g->resources[from + nr - 1] + 1)
		nr++;
	return nr;
}

static void leftover_put_number(struct printer *p, uint64_t value, bool as_address)
{
	if (as_address)
		print_text(p, "0x%" PRIx64, value);
	else
		print_text(p, "%" PRIu64, value);
}

/* "4, 9-31 and more" */
static void leftover_put_numbers(struct printer *p, const struct leftover_group *g,
				 bool as_addresses)
{
	unsigned i, nr;

	for (i = 0; i < g->nr_resources; i += nr) {
		nr = run_length(g, i);
		if (nr == 2)
			nr = 1; /* "4, 5" reads better than "4-5" */
		print_text(p, "%s", i ? ", " : "");
		leftover_put_number(p, g->resources[i], as_addresses);
		if (nr > 1) {
			print_text(p, "-");
			leftover_put_number(p, g->resources[i + nr - 1], as_addresses);
		}
	}
	if (g->has_more_resources)
		print_text(p, " and more");
}

/* " on fds 9-31"; the deadlines of timers are omitted, since the age says the same. */
static void leftover_put_resources(struct printer *p, const struct leftover_group *g)
{
	const char *word = word_for(g->last.reason);
	bool many = g->nr_resources > 1;

	if (!g->nr_resources || g->last.reason == TRACE_REASON_TIMER)
		return;
	print_text(p, " on ");
	if (word)
		print_text(p, "%s%s ", word, many ? "s" : "");
	leftover_put_numbers(p, g, is_address(g->last.reason));
}

/* ---- names and durations -------------------------------------------------------- */

/* " for 330.104 ms to 583.715 ms" */
static void leftover_put_ages(struct printer *p, const struct trace_summary *sum,
			      const struct leftover_group *g)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (!g->last.ts)
		return;
	if (g->nr == 1)
		print_text(p, " for %s", text_duration(a, summary_age_ns(sum, g->last.ts)));
	else
		print_text(p, " for %s to %s", text_duration(a, summary_age_ns(sum, g->newest_ts)),
			   text_duration(b, summary_age_ns(sum, g->last.ts)));
}

/* "client 1, client 2, client 3 and 44 more" */
static void leftover_put_names(struct printer *p, const struct leftover_group *g)
{
	char count[TEXT_SIZE];
	unsigned i;

	for (i = 0; i < g->nr_names; i++) {
		print_text(p, "%s", i ? ", " : "");
		print_safe(p, g->names[i], NAME_COLUMNS);
	}
	if (g->nr > i)
		print_text(p, " and %s more", text_count(count, g->nr - i));
}

/* A group of one: one line, by its name. */
static void leftover_put_one(struct printer *p, const struct trace_summary *sum,
			     const struct leftover_group *g)
{
	if (g->nr_names)
		print_safe(p, g->names[0], NAME_COLUMNS);
	else
		print_text(p, "coroutine %" PRIu64, g->probe_id);
	print_text(p, "  ");
	leftover_put_state(p, sum, g);
	leftover_put_resources(p, g);
	leftover_put_ages(p, sum, g);
	print_text(p, "\n");
}

/* A larger group: two or three lines, by count. */
static void leftover_put_many(struct printer *p, const struct trace_summary *sum,
			      const struct leftover_group *g)
{
	char count[TEXT_SIZE];

	print_text(p, "%s ", text_count(count, g->nr));
	leftover_put_state(p, sum, g);
	if (g->last.ts) {
		print_text(p, "\n");
		info_label(p, "");
		print_text(p, " ");
		leftover_put_resources(p, g);
		leftover_put_ages(p, sum, g);
	}
	print_text(p, "\n");
	if (!g->nr_names)
		return;
	info_label(p, "");
	print_text(p, "  ");
	leftover_put_names(p, g);
	print_text(p, "\n");
}

void info_print_leftovers(struct printer *p, const struct trace_summary *sum)
{
	uint64_t more = sum->nr_described - sum->nr_dead;
	size_t top[GROUPS_SHOWN], nr = leftovers_top(&sum->leftovers, top, GROUPS_SHOWN), i;
	char count[TEXT_SIZE];

	for (i = 0; i < nr; i++) {
		const struct leftover_group *g = &sum->leftovers.groups[top[i]];

		info_label(p, i ? "" : "not ended");
		if (g->nr == 1)
			leftover_put_one(p, sum, g);
		else
			leftover_put_many(p, sum, g);
		more -= g->nr;
	}
	if (!more)
		return;
	info_label(p, "");
	print_text(p, "%s more elsewhere\n", text_count(count, more));
}
