/* SPDX-License-Identifier: MIT */
/*
 * parquet_fields.h - the files of `export parquet`, and the columns of each.
 *
 * events, waits and run are written here column by column; the others are the tables of tables.h,
 * with a column more for sites and coroutines.
 */
#ifndef EXPORT_PARQUET_FIELDS_H
#define EXPORT_PARQUET_FIELDS_H

#include "export/parquet_writer.h"
#include "export/tables.h"

enum parquet_file {
	PARQUET_EVENTS,
	PARQUET_WAITS,
	PARQUET_SITES,
	PARQUET_COROUTINES,
	PARQUET_SWITCHES,
	PARQUET_FRAMES,
	PARQUET_RUN,
	NR_PARQUET_FILES,
};

enum parquet_event_column {
	PE_TS,
	PE_KIND,
	PE_PROBE_ID,
	PE_TID,
	PE_ADDR,
	PE_SEQ,
	PE_STATION,
	PE_SITE,
	PE_REASON,
	PE_RESOURCE,
	PE_PEER,
	PE_FLAGS,
	PE_RUN,
	PE_TIME, /* the last: --full only */
};

enum parquet_wait_column {
	PW_FROM_TIME,
	PW_FROM_TS,
	PW_TO_TS,
	PW_DURATION,
	PW_WOKEN_TS,
	PW_READY,
	PW_STATE,
	PW_PROBE_ID,
	PW_WAKER,
	PW_TID,
	PW_TO_TID,
	PW_SITE,
	PW_WAKE_SITE,
	PW_REASON,
	PW_RESOURCE,
	PW_ADDR,
	PW_STATION,
	PW_RUN,
};

enum parquet_run_column {
	PR_RUN,
	PR_START_TIME,
	PR_START_TS,
	PR_END_TS,
	PR_TOOL,
	PR_COMMAND,
	PR_HOSTNAME,
	PR_ARCH,
	PR_PID,
	PR_EXIT_STATUS,
	PR_SIGNAL,
	PR_WRITTEN,
	PR_COLLECTED,
	PR_LOST,
	PR_OTHERS_WRITTEN,
	PR_OTHERS_COLLECTED,
	PR_OTHERS_LOST,
	PR_VERDICT,
};

#define PARQUET_FIELDS_MAX (TABLE_COLUMNS_MAX + 2)

/* The name without ".parquet". */
const char *parquet_file_name(enum parquet_file file);

/* The file of a table; -1: events have columns of their own. */
int parquet_file_of(enum table_id table);

/*
 * Writes the fields of @file to @fields, which has PARQUET_FIELDS_MAX; returns their number.
 * @tables: all of a trace.  @full: events have the time of day.
 */
unsigned parquet_fields_of(enum parquet_file file, const struct table *tables, bool full,
			   struct parquet_field *fields);

#endif
