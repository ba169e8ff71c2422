/* SPDX-License-Identifier: MIT */
/* layout_json.c - the types of a buffer's fields, and releasing a description. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frames/spec/layout_json.h"

static const struct {
	const char *name;
	uint32_t size;
} types[DESC_NR_TYPES] = {
	[DESC_INT8] = { "int8", 1 },     [DESC_INT16] = { "int16", 2 },
	[DESC_INT32] = { "int", 4 },     [DESC_INT64] = { "int64", 8 },
	[DESC_UINT8] = { "uint8", 1 },   [DESC_UINT16] = { "uint16", 2 },
	[DESC_UINT32] = { "uint32", 4 }, [DESC_UINT64] = { "uint64", 8 },
	[DESC_BOOL] = { "bool", 1 },     [DESC_FLOAT] = { "float", 4 },
	[DESC_DOUBLE] = { "double", 8 }, [DESC_TIME] = { "time", 16 },
	[DESC_TICKS] = { "ticks", 8 },   [DESC_COUNTER] = { "counter", 8 },
	[DESC_ENUM] = { "enum", 4 },     [DESC_STRING] = { "string", 1 },
	[DESC_BYTES] = { "bytes", 1 },
};

uint32_t desc_type_size(enum desc_type type)
{
	return types[type].size;
}

const char *desc_type_name(enum desc_type type)
{
	return types[type].name;
}

int desc_clock_id(const struct desc *d)
{
	static const struct {
		const char *word;
		int id;
	} clocks[] = {
		{ "realtime", CLOCK_REALTIME },
		{ "realtime_coarse", CLOCK_REALTIME_COARSE },
		{ "monotonic", CLOCK_MONOTONIC },
		{ "monotonic_coarse", CLOCK_MONOTONIC_COARSE },
		{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
		{ "boottime", CLOCK_BOOTTIME },
		{ "proc_cputime", CLOCK_PROCESS_CPUTIME_ID },
		{ "thread_cputime", CLOCK_THREAD_CPUTIME_ID },
	};
	size_t i;

	if (d->time == DESC_TIMEVAL)
		return CLOCK_REALTIME; /* gettimeofday */
	for (i = 0; d->time == DESC_TIMESPEC && i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (d->clock && !strcmp(d->clock, clocks[i].word))
			return clocks[i].id;
	}
	return -1;
}

/* ---- release -------------------------------------------------------------- */

static void values_free(struct desc_enum_value *values, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(values[i].name);
	free(values);
}

static void frame_release(struct desc_frame *f)
{
	size_t i;

	for (i = 0; i < f->nr_fields; i++) {
		free(f->fields[i].name);
		free(f->fields[i].member);
		free(f->fields[i].type_name);
		values_free(f->fields[i].values, f->fields[i].nr_values);
	}
	free(f->fields);
	for (i = 0; i < f->nr_members; i++) {
		free(f->members[i].name);
		free(f->members[i].type_name);
		values_free(f->members[i].values, f->members[i].nr_values);
	}
	free(f->members);
	free(f->name);
}

void desc_release(struct desc *d)
{
	size_t i;

	for (i = 0; i < d->nr_frames; i++)
		frame_release(&d->frames[i]);
	free(d->frames);
	for (i = 0; i < d->nr_tags; i++) {
		free(d->tags[i].key);
		free(d->tags[i].value);
	}
	free(d->tags);
	free(d->abi);
	free(d->name);
	free(d->language);
	free(d->generator);
	free(d->clock);
	memset(d, 0, sizeof(*d));
}
