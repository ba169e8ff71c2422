/* SPDX-License-Identifier: MIT */
/* profile_pprof.c - a profile of waiting as the message that pprof reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "inspect/profile_files.h"

/* Fields of profile.proto. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

struct pprof_writer {
	const struct wait_profile *profile;
	struct proto *out;
	struct strtab strings; /* number 0 is the empty string */
};

static uint64_t pprof_string(struct pprof_writer *w, const char *text)
{
	int64_t number = strtab_intern(&w->strings, text);

	if (number < 0 && !w->out->error)
		w->out->error = -ENOMEM;
	return number < 0 ? 0 : (uint64_t)number;
}

static void pprof_value_type(struct pprof_writer *w, uint32_t field, const char *type,
			     const char *unit)
{
	uint64_t type_number = pprof_string(w, type), unit_number = pprof_string(w, unit);

	proto_begin(w->out, field);
	proto_u64(w->out, VALUE_TYPE, type_number);
	proto_u64(w->out, VALUE_UNIT, unit_number);
	proto_end(w->out);
}

/* Locations and functions have the numbers of the places. */
static void pprof_sample(struct pprof_writer *w, const struct profile_stack *s)
{
	const struct wait_profile *p = w->profile;
	uint64_t key = pprof_string(w, "state");
	uint64_t state = pprof_string(w, profile_state_name(s->state));
	uint32_t level = s->level;

	proto_begin(w->out, PPROF_SAMPLE);
	for (; level; level = wait_profile_level_at(p, level)->parent)
		proto_u64(w->out, SAMPLE_LOCATION, wait_profile_level_at(p, level)->place);
	proto_u64(w->out, SAMPLE_VALUE, s->samples);
	proto_u64(w->out, SAMPLE_VALUE, s->samples * p->period_ns);
	proto_begin(w->out, SAMPLE_LABEL);
	proto_u64(w->out, LABEL_KEY, key);
	proto_u64(w->out, LABEL_TEXT, state);
	proto_end(w->out);
	proto_end(w->out);
}

static void pprof_place(struct pprof_writer *w, const struct profile_place *place, uint64_t number)
{
	uint64_t function = pprof_string(w, place->function);
	uint64_t file = pprof_string(w, place->file ? place->file : "");

	proto_begin(w->out, PPROF_LOCATION);
	proto_u64(w->out, LOCATION_ID, number);
	proto_begin(w->out, LOCATION_LINE);
	proto_u64(w->out, LINE_FUNCTION, number);
	proto_u64(w->out, LINE_LINE, place->line);
	proto_end(w->out);
	proto_end(w->out);
	proto_begin(w->out, PPROF_FUNCTION);
	proto_u64(w->out, FUNCTION_ID, number);
	proto_u64(w->out, FUNCTION_NAME, function);
	proto_u64(w->out, FUNCTION_SYSTEM_NAME, function);
	proto_u64(w->out, FUNCTION_FILE, file);
	proto_end(w->out);
}

static void pprof_comment(struct pprof_writer *w, const char *what, uint64_t count)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %llu", what, (unsigned long long)count);
	if (count)
		proto_u64(w->out, PPROF_COMMENT, pprof_string(w, text));
}

static void pprof_run(struct pprof_writer *w, const struct profile_run *run)
{
	const struct profile_losses *l = &w->profile->losses;

	proto_i64(w->out, PPROF_TIME_NANOS, run->start_ns);
	proto_u64(w->out, PPROF_DURATION_NANOS, run->elapsed_ns);
	pprof_value_type(w, PPROF_PERIOD_TYPE, "time", "nanoseconds");
	proto_u64(w->out, PPROF_PERIOD, w->profile->period_ns);
	pprof_comment(w, "looks", w->profile->looks);
	pprof_comment(w, "looks left out", l->late);
	pprof_comment(w, "looks failed", l->failed);
	pprof_comment(w, "tasks that ran while they were read", l->changed);
	pprof_comment(w, "threads whose native stack is unknown", l->threads);
	pprof_comment(w, "running coroutines whose frame is unknown", l->unnamed);
	pprof_comment(w, "bytes that could not be read", l->bytes_failed);
	proto_u64(w->out, PPROF_DEFAULT_SAMPLE_TYPE, pprof_string(w, "time"));
}

void profile_write_pprof(const struct profile_run *run, struct proto *out)
{
	struct pprof_writer w = { .profile = run->profile, .out = out };
	size_t i;

	pprof_string(&w, "");
	pprof_value_type(&w, PPROF_SAMPLE_TYPE, "samples", "count");
	pprof_value_type(&w, PPROF_SAMPLE_TYPE, "time", "nanoseconds");
	for (i = 0; i < run->profile->nr_stacks; i++)
		pprof_sample(&w, &run->profile->stacks[i]);
	for (i = 0; i < run->profile->nr_places; i++)
		pprof_place(&w, &run->profile->places[i], i + 1);
	pprof_run(&w, run);
	for (i = 0; i < w.strings.nr; i++)
		proto_string(out, PPROF_STRING, strtab_text(&w.strings, i),
			     strlen(strtab_text(&w.strings, i)));
	strtab_release(&w.strings);
}
