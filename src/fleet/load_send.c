/* SPDX-License-Identifier: MIT */
/* load_send.c - insert a batch, each of its INSERTs exactly once, whatever fails on the way. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/monotonic.h"
#include "fleet/load_batch.h"

#define LOAD_PAUSE_MS     250u
#define LOAD_PAUSE_MAX_MS 5000u
/* After a lost connection: the server may still read a request that waits in its socket. */
#define LOAD_GRACE_MS 1000u

static void load_sleep_ms(unsigned ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&pause, NULL);
}

/* ---- was it applied? -------------------------------------------------------------------- */

static void load_sql_number(struct bytes *sql, const char *name, uint64_t value)
{
	char text[96];

	snprintf(text, sizeof(text), " AND %s = %" PRIu64, name, value);
	bytes_add_text(sql, text);
}

static void load_sql_text(struct bytes *sql, const char *name, const char *value)
{
	bytes_add_text(sql, name);
	bytes_add_text(sql, " = ");
	clickhouse_quote(sql, value);
}

static void load_sql_time(struct bytes *sql, uint64_t ts)
{
	char text[64];

	snprintf(text, sizeof(text), " AND ts = %" PRId64, (int64_t)ts);
	bytes_add_text(sql, text);
}

static void load_sql_wait(struct bytes *sql, const struct native_block *b, size_t row,
			  const struct ship_labels *labels)
{
	load_sql_text(sql, "service", labels->service);
	load_sql_number(sql, "site", native_u64_at(b, WAIT_COLUMN_SITE, row));
	load_sql_time(sql, native_u64_at(b, WAIT_COLUMN_TS, row));
	load_sql_text(sql, " AND run", labels->run);
	load_sql_number(sql, "block", native_u64_at(b, WAIT_COLUMN_BLOCK, row));
	load_sql_number(sql, "probe_id", native_u64_at(b, WAIT_COLUMN_PROBE_ID, row));
}

static void load_sql_event(struct bytes *sql, const struct native_block *b, size_t row,
			   const struct ship_labels *labels)
{
	load_sql_text(sql, "service", labels->service);
	load_sql_text(sql, " AND host", labels->host);
	load_sql_text(sql, " AND run", labels->run);
	load_sql_time(sql, native_u64_at(b, EVENT_COLUMN_TS, row));
	load_sql_number(sql, "block", native_u64_at(b, EVENT_COLUMN_BLOCK, row));
	load_sql_number(sql, "probe_id", native_u64_at(b, EVENT_COLUMN_PROBE_ID, row));
}

static void load_sql_mark(struct bytes *sql, const struct load_batch *batch,
			  const struct native_block *b, const struct load_claim *claim)
{
	char mark[LOAD_MARK_SIZE];

	load_unit_mark(batch, &batch->units[claim->unit], mark);
	load_sql_text(sql, "service", "");
	load_sql_number(sql, "site", 0);
	load_sql_time(sql, native_u64_at(b, SUM_COLUMN_TS, claim->row));
	load_sql_text(sql, " AND mark", mark);
}

/* Asks for the row of the first claim: an INSERT is applied whole or not at all. */
static int load_insert_ask(const struct load_batch *b, const struct load_insert *insert,
			   bool *is_there, struct err *err)
{
	const struct load_claim *claim = &insert->claims[0];
	const struct ship_labels *labels = b->labels[b->units[claim->unit].label];
	struct bytes sql = { 0 };
	uint64_t nr = 0;
	int rc;

	bytes_add_text(&sql, "SELECT count() FROM ");
	bytes_add_text(&sql, insert->block.table->name);
	bytes_add_text(&sql, " WHERE ");
	if (insert->table == FLEET_WAITS)
		load_sql_wait(&sql, &insert->block, claim->row, labels);
	else if (insert->table == FLEET_EVENTS)
		load_sql_event(&sql, &insert->block, claim->row, labels);
	else
		load_sql_mark(&sql, b, &insert->block, claim);
	bytes_add(&sql, "", 1);
	rc = sql.error ? err_set(err, -ENOMEM, "no memory for a question")
		       : clickhouse_number(b->client, insert->shard, (const char *)sql.data, &nr,
					   err);
	bytes_release(&sql);
	*is_there = nr > 0;
	return rc;
}

/* Queries of this loader, or of a killed one with its name, that the server still works on. */
static int load_running(const struct load_batch *b, size_t shard, uint64_t *nr, struct err *err)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM system.processes WHERE query_id LIKE 'corotracer/%s/%%'",
		 b->name);
	return clickhouse_number(b->client, shard, sql, nr, err);
}

/* ---- one INSERT --------------------------------------------------------------------------- */

/* Equal for equal units: a hash of their names. */
static uint64_t load_insert_hash(const struct load_batch *b, const struct load_insert *insert)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char mark[LOAD_MARK_SIZE];
	const char *at;
	uint32_t i;

	for (i = 0; i < insert->nr_claims; i++) {
		load_unit_mark(b, &b->units[insert->claims[i].unit], mark);
		for (at = mark; *at; at++)
			hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
		hash = (hash ^ '\n') * UINT64_C(0x100000001b3);
	}
	return hash;
}

/* A block is one part if it is not divided: the limits of the user's profile must not do so. */
#define LOAD_SETTINGS                                                      \
	"max_insert_block_size=1048576&min_insert_block_size_rows=1048576" \
	"&min_insert_block_size_bytes=1073741824"

static int load_insert_call(const struct load_batch *b, const struct load_insert *insert,
			    const struct native_pieces *pieces, struct err *err)
{
	char sql[128], id[192], settings[512], session[LOAD_SESSION_SETTINGS_SIZE] = "";
	struct clickhouse_call call = {
		.sql = sql, .settings = settings, .body = pieces->list, .nr_body = pieces->nr
	};
	int size;

	snprintf(sql, sizeof(sql), "INSERT INTO %s FORMAT Native", insert->block.table->name);
	snprintf(id, sizeof(id), "corotracer/%s/%016" PRIx64 "/%s/%" PRId64, b->name,
		 load_insert_hash(b, insert), insert->block.table->name, insert->partition);
	size = snprintf(settings, sizeof(settings), "%s", LOAD_SETTINGS);
	if (insert->nr_claims) {
		call.query_id = id;
		if (b->client->is_old)
			load_session_settings(&b->session, session);
		if (b->client->is_old)
			snprintf(settings + size, sizeof(settings) - (size_t)size, "%s", session);
		else
			snprintf(settings + size, sizeof(settings) - (size_t)size,
				 "&async_insert=0&insert_deduplication_token=%016" PRIx64
				 "-%s-%" PRId64,
				 load_insert_hash(b, insert), insert->block.table->name,
				 insert->partition);
	}
	return clickhouse_send(b->client, insert->shard, &call, NULL, err);
}

/* In a session of a server without deduplication tokens; one that ended meanwhile is replaced. */
static int load_insert_in_session(struct load_batch *b, const struct load_insert *insert,
				  const struct native_pieces *pieces, struct err *err)
{
	bool is_first = true;
	int rc;

	if (!b->client->is_old || !insert->nr_claims)
		return load_insert_call(b, insert, pieces, err);
	for (;; is_first = false) {
		rc = load_session_open(&b->session, insert->shard, err);
		if (rc < 0)
			return rc;
		rc = load_insert_call(b, insert, pieces, err);
		if (rc == 0)
			return 0;
		load_session_failed(&b->session, insert->shard);
		if (b->client->code != CLICKHOUSE_SESSION_NOT_FOUND || !is_first)
			return rc;
		*err = (struct err){ 0 };
	}
}

static int load_insert_send(struct load_batch *b, const struct load_insert *insert, struct err *err)
{
	const struct native_table *t = insert->block.table;
	struct native_pieces pieces;
	int rc = native_block_pieces(&insert->block, (const void *const *)b->labels, b->nr_labels,
				     &pieces);

	if (rc < 0) {
		b->client->fault = CLICKHOUSE_LOCAL;
		err_set(err, rc, "no memory for rows of %s", t->name);
	} else {
		rc = load_insert_in_session(b, insert, &pieces, err);
	}
	native_pieces_release(&pieces);
	if (rc == 0) {
		b->sent_rows += insert->block.nr;
		b->sent_inserts++;
	}
	return rc;
}

/* One attempt.  0: the rows are there; or a negative errno, see client->fault. */
static int load_insert_try(struct load_batch *b, const struct load_insert *insert, bool in_doubt,
			   bool *is_there, struct err *err)
{
	uint64_t running = 0;
	int rc;

	*is_there = false;
	if (in_doubt && insert->nr_claims) {
		rc = load_session_end(&b->session, err);
		if (rc == 0)
			rc = load_running(b, insert->shard, &running, err);
		if (rc == 0 && running) {
			b->client->fault = CLICKHOUSE_RUNNING;
			return err_set(err, -EBUSY,
				       "an earlier insert of this loader is still running");
		}
		if (rc == 0)
			rc = load_insert_ask(b, insert, is_there, err);
		if (rc < 0 || *is_there)
			return rc;
	}
	return load_insert_send(b, insert, err);
}

static int load_insert_settle(struct load_batch *b, struct load_insert *insert, bool in_doubt,
			      bool *is_there, struct err *err)
{
	uint64_t deadline = clock_now_ns() + b->retry_s * NS_PER_SEC;
	unsigned pause = LOAD_PAUSE_MS;
	int rc;

	for (;;) {
		enum clickhouse_fault fault;

		rc = load_insert_try(b, insert, in_doubt, is_there, err);
		fault = b->client->fault;
		if (rc == 0 || !clickhouse_may_pass(fault) || clock_now_ns() >= deadline)
			return rc;
		if (b->waiting)
			b->waiting(b->waiting_ctx, err);
		b->repeated++;
		load_sleep_ms(fault == CLICKHOUSE_UNCERTAIN && pause < LOAD_GRACE_MS ? LOAD_GRACE_MS
										     : pause);
		pause = pause * 2 < LOAD_PAUSE_MAX_MS ? pause * 2 : LOAD_PAUSE_MAX_MS;
		in_doubt = true;
		*err = (struct err){ 0 };
	}
}

/* ---- all of them ------------------------------------------------------------------------------
 */

/* Blocks, sites and runs come last: a row of them says that the others are there. */
static bool load_is_last(const struct load_insert *insert)
{
	return insert->table >= FLEET_SITES;
}

static int load_batch_send_some(struct load_batch *b, bool last, struct err *err)
{
	bool in_doubt = b->nr_units && b->units[0].in_doubt, is_there;
	size_t i;
	int rc;

	for (i = 0; i < b->nr_inserts; i++) {
		struct load_insert *insert = b->inserts[i];

		if (!insert->in_use || insert->is_done || !insert->block.nr ||
		    load_is_last(insert) != last)
			continue;
		rc = load_insert_settle(b, insert, in_doubt, &is_there, err);
		if (rc < 0) {
			/* The next call does not know whether this one was applied. */
			if (b->nr_units)
				b->units[0].in_doubt = true;
			return rc;
		}
		insert->is_done = true;
		b->found_inserts += is_there;
		if (last || !b->nr_units)
			continue;
		b->units[0].was_found |= is_there;
		b->units[0].was_sent |= !is_there;
	}
	return 0;
}

int load_batch_send(struct load_batch *b, struct err *err)
{
	int rc = 0;

	if (!b->is_summed && load_batch_sum_up(b) < 0)
		return err_set(err, -ENOMEM, "no memory for the sums of a block");
	rc = load_batch_send_some(b, false, err);
	if (rc == 0)
		rc = load_session_rest(&b->session, err);
	return rc < 0 ? rc : load_batch_send_some(b, true, err);
}
