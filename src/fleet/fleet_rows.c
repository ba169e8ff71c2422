/* SPDX-License-Identifier: MIT */
/* fleet_rows.c - the columns of the store's tables that the loader fills, and rows from events. */
#include "fleet/fleet_rows.h"

#include <stddef.h>

#define REASON_TYPE                                                                           \
	"Enum8('unknown' = 0, 'io-read' = 1, 'io-write' = 2, 'accept' = 3, 'connect' = 4, "   \
	"'timer' = 5, 'mutex' = 6, 'semaphore' = 7, 'channel-send' = 8, 'channel-recv' = 9, " \
	"'join' = 10, 'yield' = 11, 'signal' = 12, 'user' = 13)"
#define STATE_TYPE "Enum8('resumed' = 0, 'woken' = 1, 'open' = 2, 'closed' = 3, 'lost' = 4)"
#define KIND_TYPE                                                                 \
	"Enum8('suspend' = 0, 'resume' = 1, 'birth' = 2, 'wake' = 3, 'end' = 4, " \
	"'destroy' = 5, 'close' = 6, 'acquire' = 7, 'release' = 8)"

#define ROW_LABEL(name, member)                                                                \
	{                                                                                      \
		name, "LowCardinality(String)", .is_label = true,                              \
						.offset = offsetof(struct ship_labels, member) \
	}
#define ROW_U64(name)                       \
	{                                   \
		name, "UInt64", 8, false, 0 \
	}
#define ROW_I64(name)                      \
	{                                  \
		name, "Int64", 8, false, 0 \
	}
#define ROW_U32(name)                       \
	{                                   \
		name, "UInt32", 4, false, 0 \
	}
#define ROW_U8(name)                       \
	{                                  \
		name, "UInt8", 1, false, 0 \
	}
#define ROW_TIME(name)                        \
	{                                     \
		name, "DateTime", 4, false, 0 \
	}
#define ROW_TEXT(name)                      \
	{                                   \
		name, "String", 0, false, 0 \
	}
#define ROW_MAX(name)                                               \
	{                                                           \
		name, "AggregateFunction(max, UInt64)", 0, false, 0 \
	}
#define ROW_ENUM(name, type)            \
	{                               \
		name, type, 1, false, 0 \
	}

static const struct native_column wait_rows_columns[NR_WAIT_COLUMNS] = {
	[WAIT_COLUMN_SERVICE] = ROW_LABEL("service", service),
	[WAIT_COLUMN_BUILD] = ROW_LABEL("build", build),
	[WAIT_COLUMN_VERSION] = ROW_LABEL("version", version),
	[WAIT_COLUMN_HOST] = ROW_LABEL("host", host),
	[WAIT_COLUMN_REGION] = ROW_LABEL("region", region),
	[WAIT_COLUMN_RUN] = ROW_LABEL("run", run),
	[WAIT_COLUMN_BLOCK] = ROW_U64("block"),
	[WAIT_COLUMN_TS] = ROW_I64("ts"),
	[WAIT_COLUMN_SITE] = ROW_U64("site"),
	[WAIT_COLUMN_WAKE_SITE] = ROW_U64("wake_site"),
	[WAIT_COLUMN_PROBE_ID] = ROW_U64("probe_id"),
	[WAIT_COLUMN_WAKER] = ROW_U64("waker"),
	[WAIT_COLUMN_REASON] = ROW_ENUM("reason", REASON_TYPE),
	[WAIT_COLUMN_RESOURCE] = ROW_U64("resource"),
	[WAIT_COLUMN_WAIT_NS] = ROW_U64("wait_ns"),
	[WAIT_COLUMN_READY_NS] = ROW_U64("ready_ns"),
	[WAIT_COLUMN_STATE] = ROW_ENUM("state", STATE_TYPE),
	[WAIT_COLUMN_SAMPLE] = ROW_U32("sample"),
};

static const struct native_column event_rows_columns[NR_EVENT_COLUMNS] = {
	[EVENT_COLUMN_SERVICE] = ROW_LABEL("service", service),
	[EVENT_COLUMN_HOST] = ROW_LABEL("host", host),
	[EVENT_COLUMN_RUN] = ROW_LABEL("run", run),
	[EVENT_COLUMN_BLOCK] = ROW_U64("block"),
	[EVENT_COLUMN_TS] = ROW_I64("ts"),
	[EVENT_COLUMN_KIND] = ROW_ENUM("kind", KIND_TYPE),
	[EVENT_COLUMN_PROBE_ID] = ROW_U64("probe_id"),
	[EVENT_COLUMN_TID] = ROW_U64("tid"),
	[EVENT_COLUMN_SITE] = ROW_U64("site"),
	[EVENT_COLUMN_REASON] = ROW_ENUM("reason", REASON_TYPE),
	[EVENT_COLUMN_RESOURCE] = ROW_U64("resource"),
	[EVENT_COLUMN_PEER] = ROW_U64("peer"),
	[EVENT_COLUMN_FLAGS] = ROW_U8("flags"),
	[EVENT_COLUMN_NAME] = ROW_TEXT("name"),
	[EVENT_COLUMN_SAMPLE] = ROW_U32("sample"),
};

static const struct native_column sum_rows_columns[NR_SUM_COLUMNS] = {
	[SUM_COLUMN_SERVICE] = ROW_LABEL("service", service),
	[SUM_COLUMN_BUILD] = ROW_LABEL("build", build),
	[SUM_COLUMN_VERSION] = ROW_LABEL("version", version),
	[SUM_COLUMN_SITE] = ROW_U64("site"),
	[SUM_COLUMN_REASON] = ROW_ENUM("reason", REASON_TYPE),
	[SUM_COLUMN_TS] = ROW_I64("ts"),
	[SUM_COLUMN_MARK] = ROW_TEXT("mark"),
	[SUM_COLUMN_MARKS] = ROW_U64("marks"),
	[SUM_COLUMN_COUNT] = ROW_U64("count"),
	[SUM_COLUMN_STATES + WAIT_RESUMED] = ROW_U64("resumed"),
	[SUM_COLUMN_STATES + WAIT_WOKEN] = ROW_U64("woken"),
	[SUM_COLUMN_STATES + WAIT_OPEN] = ROW_U64("open"),
	[SUM_COLUMN_STATES + WAIT_CLOSED] = ROW_U64("closed"),
	[SUM_COLUMN_STATES + WAIT_LOST] = ROW_U64("lost"),
	[SUM_COLUMN_READIED] = ROW_U64("readied"),
	[SUM_COLUMN_WAIT_NS] = ROW_U64("wait_ns"),
	[SUM_COLUMN_READY_NS] = ROW_U64("ready_ns"),
	[SUM_COLUMN_MAX_WAIT] = ROW_MAX("max_wait"),
	[SUM_COLUMN_MAX_READY] = ROW_MAX("max_ready"),
	[SUM_COLUMN_WAIT_BUCKETS] = { "waitMap.bucket", "Array(UInt8)", 0, false, 0 },
	[SUM_COLUMN_WAIT_COUNTS] = { "waitMap.n", "Array(UInt64)", 0, false, 0 },
	[SUM_COLUMN_READY_BUCKETS] = { "readyMap.bucket", "Array(UInt8)", 0, false, 0 },
	[SUM_COLUMN_READY_COUNTS] = { "readyMap.n", "Array(UInt64)", 0, false, 0 },
};

static const struct native_column site_rows_columns[NR_SITE_COLUMNS] = {
	[SITE_COLUMN_SITE] = ROW_U64("site"),
	[SITE_COLUMN_FILE] = ROW_TEXT("file"),
	[SITE_COLUMN_LINE] = ROW_U32("line"),
	[SITE_COLUMN_FUNCTION] = ROW_TEXT("function"),
};

static const struct native_column block_rows_columns[NR_BLOCK_COLUMNS] = {
	[BLOCK_COLUMN_RUN] = ROW_LABEL("run", run),
	[BLOCK_COLUMN_BLOCK] = ROW_U64("block"),
	[BLOCK_COLUMN_TS] = ROW_I64("ts"),
	[BLOCK_COLUMN_TRANSITIONS] = ROW_U32("transitions"),
	[BLOCK_COLUMN_OTHERS] = ROW_U32("others"),
	[BLOCK_COLUMN_WAITS] = ROW_U32("waits"),
	[BLOCK_COLUMN_LOADED] = ROW_TIME("loaded"),
};

/* Texts first, then numbers: loader_rows.c fills them in this order. */
static const struct native_column run_rows_columns[] = {
	ROW_TEXT("run"),
	ROW_TEXT("service"),
	ROW_TEXT("build"),
	ROW_TEXT("version"),
	ROW_TEXT("host"),
	ROW_TEXT("region"),
	ROW_U32("sample"),
	ROW_U8("complete"),
	ROW_I64("start_ts"),
	ROW_I64("last_ts"),
	ROW_U64("blocks"),
	ROW_U64("blocks_total"),
	ROW_U64("blocks_missing"),
	ROW_U64("blocks_damaged"),
	ROW_U64("transitions"),
	ROW_U64("others"),
	ROW_U64("waits"),
	ROW_U64("written"),
	ROW_U64("collected"),
	ROW_U64("lost"),
	ROW_U64("given_up"),
	ROW_U64("given_up_others"),
	ROW_U64("left_out"),
	ROW_U64("left_out_others"),
	ROW_U64("whole"),
	ROW_U64("whole_others"),
	ROW_I64("clock_offset_ns"),
	ROW_U64("updated"),
};

#define ROW_TABLE(name, columns)                                      \
	{                                                             \
		name, columns, sizeof(columns) / sizeof((columns)[0]) \
	}

const struct native_table fleet_tables[NR_FLEET_TABLES] = {
	[FLEET_WAITS] = ROW_TABLE("waits", wait_rows_columns),
	[FLEET_EVENTS] = ROW_TABLE("events", event_rows_columns),
	[FLEET_SUMS] = ROW_TABLE("waits_10s", sum_rows_columns),
	[FLEET_SITES] = ROW_TABLE("sites", site_rows_columns),
	[FLEET_BLOCKS] = ROW_TABLE("blocks", block_rows_columns),
	[FLEET_RUNS] = ROW_TABLE("runs", run_rows_columns),
};

static unsigned fleet_reason(unsigned reason)
{
	return reason < NR_TRACE_REASONS ? reason : TRACE_REASON_UNKNOWN;
}

void fleet_wait_set(struct fleet_wait *w, const struct wait_pair *pair, int64_t ts, uint64_t site,
		    uint64_t wake_site)
{
	w->pair = pair;
	w->ts = ts;
	w->site = site;
	w->wake_site = wake_site;
	w->is_ended = pair->end_ts >= pair->ts && pair->end_ts;
	w->is_readied = pair->state == WAIT_RESUMED && pair->woken_ts &&
			pair->woken_ts <= pair->end_ts;
	w->wait_ns = w->is_ended ? pair->end_ts - pair->ts : 0;
	w->ready_ns = w->is_readied ? pair->end_ts - pair->woken_ts : 0;
}

int fleet_rows_add_wait(struct native_block *b, unsigned label, uint64_t block, uint32_t sample,
			const struct fleet_wait *w)
{
	const struct wait_pair *pair = w->pair;
	int rc = native_block_add(b, label);

	if (rc < 0)
		return rc;
	native_put_u64(b, WAIT_COLUMN_BLOCK, block);
	native_put_u64(b, WAIT_COLUMN_TS, (uint64_t)w->ts);
	native_put_u64(b, WAIT_COLUMN_SITE, w->site);
	native_put_u64(b, WAIT_COLUMN_WAKE_SITE, w->wake_site);
	native_put_u64(b, WAIT_COLUMN_PROBE_ID, pair->probe_id);
	native_put_u64(b, WAIT_COLUMN_WAKER, pair->waker);
	native_put_u8(b, WAIT_COLUMN_REASON, fleet_reason(pair->reason));
	native_put_u64(b, WAIT_COLUMN_RESOURCE, pair->resource);
	native_put_u64(b, WAIT_COLUMN_WAIT_NS, w->wait_ns);
	native_put_u64(b, WAIT_COLUMN_READY_NS, w->ready_ns);
	native_put_u8(b, WAIT_COLUMN_STATE, pair->state);
	native_put_u32(b, WAIT_COLUMN_SAMPLE, sample);
	return 0;
}

int fleet_rows_add_event(struct native_block *b, unsigned label, uint64_t block, uint32_t sample,
			 const struct trace_event *ev, int64_t ts, uint64_t site)
{
	int rc = native_block_add(b, label);

	if (rc < 0)
		return rc;
	native_put_u64(b, EVENT_COLUMN_BLOCK, block);
	native_put_u64(b, EVENT_COLUMN_TS, (uint64_t)ts);
	native_put_u8(b, EVENT_COLUMN_KIND, ev->kind);
	native_put_u64(b, EVENT_COLUMN_PROBE_ID, ev->probe_id);
	native_put_u64(b, EVENT_COLUMN_TID, ev->tid);
	native_put_u64(b, EVENT_COLUMN_SITE, site);
	native_put_u8(b, EVENT_COLUMN_REASON, fleet_reason(ev->reason));
	native_put_u64(b, EVENT_COLUMN_RESOURCE, ev->resource);
	native_put_u64(b, EVENT_COLUMN_PEER, ev->peer);
	native_put_u8(b, EVENT_COLUMN_FLAGS, ev->flags);
	native_put_text(b, EVENT_COLUMN_NAME, ev->name ? ev->name : "",
			ev->name ? ev->name_size : 0);
	native_put_u32(b, EVENT_COLUMN_SAMPLE, sample);
	return 0;
}
