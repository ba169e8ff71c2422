/* SPDX-License-Identifier: MIT */
/* fleet_rows.h - the columns of the store's tables that the loader fills, and rows from events. */
#ifndef FLEET_FLEET_ROWS_H
#define FLEET_FLEET_ROWS_H

#include "fleet/native_block.h"
#include "ship/ship_labels.h"
#include "trace/wait_pairs.h"

enum fleet_table {
	FLEET_WAITS,
	FLEET_EVENTS,
	FLEET_SUMS, /* waits_10s */
	FLEET_SITES,
	FLEET_BLOCKS,
	FLEET_RUNS,
	NR_FLEET_TABLES,
};

extern const struct native_table fleet_tables[NR_FLEET_TABLES];

/* A partition of waits and events is a day, of sums and blocks ten days. */
#define FLEET_DAY_NS    INT64_C(86400000000000)
#define FLEET_PERIOD_NS INT64_C(864000000000000)
#define FLEET_SUM_NS    INT64_C(10000000000)

enum fleet_wait_column {
	WAIT_COLUMN_SERVICE,
	WAIT_COLUMN_BUILD,
	WAIT_COLUMN_VERSION,
	WAIT_COLUMN_HOST,
	WAIT_COLUMN_REGION,
	WAIT_COLUMN_RUN,
	WAIT_COLUMN_BLOCK,
	WAIT_COLUMN_TS,
	WAIT_COLUMN_SITE,
	WAIT_COLUMN_WAKE_SITE,
	WAIT_COLUMN_PROBE_ID,
	WAIT_COLUMN_WAKER,
	WAIT_COLUMN_REASON,
	WAIT_COLUMN_RESOURCE,
	WAIT_COLUMN_WAIT_NS,
	WAIT_COLUMN_READY_NS,
	WAIT_COLUMN_STATE,
	WAIT_COLUMN_SAMPLE,
	NR_WAIT_COLUMNS,
};

enum fleet_event_column {
	EVENT_COLUMN_SERVICE,
	EVENT_COLUMN_HOST,
	EVENT_COLUMN_RUN,
	EVENT_COLUMN_BLOCK,
	EVENT_COLUMN_TS,
	EVENT_COLUMN_KIND,
	EVENT_COLUMN_PROBE_ID,
	EVENT_COLUMN_TID,
	EVENT_COLUMN_SITE,
	EVENT_COLUMN_REASON,
	EVENT_COLUMN_RESOURCE,
	EVENT_COLUMN_PEER,
	EVENT_COLUMN_FLAGS,
	EVENT_COLUMN_NAME,
	EVENT_COLUMN_SAMPLE,
	NR_EVENT_COLUMNS,
};

enum fleet_sum_column {
	SUM_COLUMN_SERVICE,
	SUM_COLUMN_BUILD,
	SUM_COLUMN_VERSION,
	SUM_COLUMN_SITE,
	SUM_COLUMN_REASON,
	SUM_COLUMN_TS,
	SUM_COLUMN_MARK,
	SUM_COLUMN_MARKS,
	SUM_COLUMN_COUNT,
	SUM_COLUMN_STATES, /* five, in the order of enum wait_state */
	SUM_COLUMN_READIED = SUM_COLUMN_STATES + NR_WAIT_STATES,
	SUM_COLUMN_WAIT_NS,
	SUM_COLUMN_READY_NS,
	SUM_COLUMN_MAX_WAIT,
	SUM_COLUMN_MAX_READY,
	SUM_COLUMN_WAIT_BUCKETS,
	SUM_COLUMN_WAIT_COUNTS,
	SUM_COLUMN_READY_BUCKETS,
	SUM_COLUMN_READY_COUNTS,
	NR_SUM_COLUMNS,
};

enum fleet_site_column {
	SITE_COLUMN_SITE,
	SITE_COLUMN_FILE,
	SITE_COLUMN_LINE,
	SITE_COLUMN_FUNCTION,
	NR_SITE_COLUMNS,
};

enum fleet_block_column {
	BLOCK_COLUMN_RUN,
	BLOCK_COLUMN_BLOCK,
	BLOCK_COLUMN_TS,
	BLOCK_COLUMN_TRANSITIONS,
	BLOCK_COLUMN_OTHERS,
	BLOCK_COLUMN_WAITS,
	BLOCK_COLUMN_LOADED,
	NR_BLOCK_COLUMNS,
};

/* A wait, with its times as they are stored. */
struct fleet_wait {
	const struct wait_pair *pair;
	int64_t ts; /* wall clock of the suspend */
	uint64_t site, wake_site;
	uint64_t wait_ns, ready_ns;
	bool is_ended, is_readied; /* wait_ns and ready_ns are known */
};

void fleet_wait_set(struct fleet_wait *w, const struct wait_pair *pair, int64_t ts, uint64_t site,
		    uint64_t wake_site);

/* Add a row.  @label: of the run.  0 or -ENOMEM. */
int fleet_rows_add_wait(struct native_block *b, unsigned label, uint64_t block, uint32_t sample,
			const struct fleet_wait *w);
int fleet_rows_add_event(struct native_block *b, unsigned label, uint64_t block, uint32_t sample,
			 const struct trace_event *ev, int64_t ts, uint64_t site);

#endif
