/* SPDX-License-Identifier: MIT */
/* parquet_fields.c - the files of `export parquet`, and the columns of each. */
#include "export/parquet_fields.h"

#include <string.h>

static const struct {
	const char *name;
	enum table_id table; /* NR_TABLES: none */
} parquet_files[NR_PARQUET_FILES] = {
	[PARQUET_EVENTS] = { "events", NR_TABLES },
	[PARQUET_WAITS] = { "waits", NR_TABLES },
	[PARQUET_SITES] = { "sites", TABLE_SITES },
	[PARQUET_COROUTINES] = { "coroutines", TABLE_COROUTINES },
	[PARQUET_SWITCHES] = { "switches", TABLE_SWITCHES },
	[PARQUET_FRAMES] = { "frames", TABLE_FRAMES },
	[PARQUET_RUN] = { "run", NR_TABLES },
};

static const struct parquet_field event_fields[] = {
	[PE_TS] = { "ts", PARQUET_U64, true, true },
	[PE_KIND] = { "kind", PARQUET_TEXT, true, false },
	[PE_PROBE_ID] = { "probe_id", PARQUET_U64, true, false },
	[PE_TID] = { "tid", PARQUET_U64, true, false },
	[PE_ADDR] = { "addr", PARQUET_U64, false, false },
	[PE_SEQ] = { "seq", PARQUET_U64, false, false },
	[PE_STATION] = { "station", PARQUET_U64, false, false },
	[PE_SITE] = { "site", PARQUET_U64, false, false },
	[PE_REASON] = { "reason", PARQUET_TEXT, false, false },
	[PE_RESOURCE] = { "resource", PARQUET_U64, false, false },
	[PE_PEER] = { "peer", PARQUET_U64, false, false },
	[PE_FLAGS] = { "flags", PARQUET_TEXT, false, false },
	[PE_RUN] = { "run", PARQUET_U64, true, false },
	[PE_TIME] = { "time", PARQUET_TIME, false, true },
};

static const struct parquet_field wait_fields[] = {
	[PW_FROM_TIME] = { "from_time", PARQUET_TIME, false, true },
	[PW_FROM_TS] = { "from_ts", PARQUET_U64, true, true },
	[PW_TO_TS] = { "to_ts", PARQUET_U64, false, true },
	[PW_DURATION] = { "duration_ns", PARQUET_U64, false, true },
	[PW_WOKEN_TS] = { "woken_ts", PARQUET_U64, false, true },
	[PW_READY] = { "ready_ns", PARQUET_U64, false, true },
	[PW_STATE] = { "state", PARQUET_TEXT, true, false },
	[PW_PROBE_ID] = { "probe_id", PARQUET_U64, true, false },
	[PW_WAKER] = { "waker", PARQUET_U64, false, false },
	[PW_TID] = { "tid", PARQUET_U64, true, false },
	[PW_TO_TID] = { "to_tid", PARQUET_U64, false, false },
	[PW_SITE] = { "site", PARQUET_U64, false, false },
	[PW_WAKE_SITE] = { "wake_site", PARQUET_U64, false, false },
	[PW_REASON] = { "reason", PARQUET_TEXT, false, false },
	[PW_RESOURCE] = { "resource", PARQUET_U64, false, false },
	[PW_ADDR] = { "addr", PARQUET_U64, true, false },
	[PW_STATION] = { "station", PARQUET_U64, false, false },
	[PW_RUN] = { "run", PARQUET_U64, true, false },
};

static const struct parquet_field run_fields[] = {
	[PR_RUN] = { "run", PARQUET_U64, true, false },
	[PR_START_TIME] = { "start_time", PARQUET_TIME, false, false },
	[PR_START_TS] = { "start_ts", PARQUET_U64, false, false },
	[PR_END_TS] = { "end_ts", PARQUET_U64, false, false },
	[PR_TOOL] = { "tool", PARQUET_TEXT, false, false },
	[PR_COMMAND] = { "command", PARQUET_TEXT, false, false },
	[PR_HOSTNAME] = { "hostname", PARQUET_TEXT, false, false },
	[PR_ARCH] = { "arch", PARQUET_TEXT, false, false },
	[PR_PID] = { "pid", PARQUET_U64, false, false },
	[PR_EXIT_STATUS] = { "exit_status", PARQUET_I64, false, false },
	[PR_SIGNAL] = { "signal", PARQUET_I64, false, false },
	[PR_WRITTEN] = { "written", PARQUET_U64, false, false },
	[PR_COLLECTED] = { "collected", PARQUET_U64, false, false },
	[PR_LOST] = { "lost", PARQUET_U64, false, false },
	[PR_OTHERS_WRITTEN] = { "others_written", PARQUET_U64, false, false },
	[PR_OTHERS_COLLECTED] = { "others_collected", PARQUET_U64, false, false },
	[PR_OTHERS_LOST] = { "others_lost", PARQUET_U64, false, false },
	[PR_VERDICT] = { "verdict", PARQUET_TEXT, true, false },
};

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *parquet_file_name(enum parquet_file file)
{
	return parquet_files[file].name;
}

int parquet_file_of(enum table_id table)
{
	int file;

	for (file = 0; file < NR_PARQUET_FILES; file++) {
		if (parquet_files[file].table == table)
			return file;
	}
	return -1;
}

static unsigned fields_copy(struct parquet_field *to, const struct parquet_field *from, size_t nr)
{
	memcpy(to, from, nr * sizeof(*to));
	return (unsigned)nr;
}

/* Any value may be missing in a damaged trace, but for the run. */
static unsigned fields_of_table(const struct table *t, struct parquet_field *fields)
{
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];

		fields[i] = (struct parquet_field){
			.name = c->name,
			.type = c->type == COLUMN_TEXT   ? PARQUET_TEXT
				: c->type == COLUMN_BOOL ? PARQUET_BOOL
							 : PARQUET_U64,
			.is_required = i == 0,
		};
	}
	return (unsigned)t->nr_columns;
}

unsigned parquet_fields_of(enum parquet_file file, const struct table *tables, bool full,
			   struct parquet_field *fields)
{
	unsigned nr;

	if (file == PARQUET_EVENTS)
		return fields_copy(fields, event_fields, NR_OF(event_fields) - !full);
	if (file == PARQUET_WAITS)
		return fields_copy(fields, wait_fields, NR_OF(wait_fields));
	if (file == PARQUET_RUN)
		return fields_copy(fields, run_fields, NR_OF(run_fields));
	nr = fields_of_table(&tables[parquet_files[file].table], fields);
	if (file == PARQUET_SITES)
		fields[nr++] = (struct parquet_field){ "hash", PARQUET_U64, false, true };
	if (file == PARQUET_COROUTINES)
		fields[nr++] = (struct parquet_field){ "birth_time", PARQUET_TIME, false, true };
	return nr;
}
