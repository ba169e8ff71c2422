/* SPDX-License-Identifier: MIT */
/* load_batch.c - collect the rows of several blocks, by table, shard and partition. */
#include "fleet/load_batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOAD_ANY_PARTITION INT64_MIN

static const struct ship_labels load_no_labels;

int load_batch_init(struct load_batch *b, struct clickhouse *client, const char *name)
{
	*b = (struct load_batch){ .client = client };
	snprintf(b->name, sizeof(b->name), "%s", name);
	load_session_init(&b->session, client, b->name);
	return load_batch_label(b, &load_no_labels) == 0 && b->nr_labels ? 0 : -ENOMEM;
}

uint32_t load_batch_label(struct load_batch *b, const struct ship_labels *labels)
{
	size_t i;

	for (i = b->nr_labels; i > 0; i--)
		if (b->labels[i - 1] == labels)
			return (uint32_t)(i - 1);
	if (b->nr_labels == b->room_labels) {
		size_t room = b->room_labels ? b->room_labels * 2 : 16;
		const struct ship_labels **more = reallocarray(b->labels, room,
							       sizeof(struct ship_labels *));

		if (!more)
			return 0;
		b->labels = more;
		b->room_labels = room;
	}
	b->labels[b->nr_labels++] = labels;
	return (uint32_t)(b->nr_labels - 1);
}

/* ---- inserts --------------------------------------------------------------------- */

static struct load_insert *load_insert_new(struct load_batch *b, enum fleet_table table)
{
	struct load_insert **more;
	struct load_insert *insert;
	size_t i;

	for (i = 0; i < b->nr_inserts; i++)
		if (!b->inserts[i]->in_use && b->inserts[i]->table == table)
			return b->inserts[i];
	more = reallocarray(b->inserts, b->nr_inserts + 1, sizeof(struct load_insert *));
	if (!more)
		return NULL;
	b->inserts = more;
	insert = calloc(1, sizeof(*insert));
	if (!insert)
		return NULL;
	insert->table = table;
	insert->block.table = &fleet_tables[table];
	b->inserts[b->nr_inserts++] = insert;
	return insert;
}

/* Rows of these tables have times that no one has checked; the others follow from them. */
static bool load_is_limited(enum fleet_table table)
{
	return table == FLEET_WAITS || table == FLEET_EVENTS;
}

/* NULL: no memory, or too many partitions of waits and events. */
static struct load_insert *load_insert_find(struct load_batch *b, enum fleet_table table,
					    size_t shard, int64_t partition)
{
	struct load_insert *insert;
	size_t i;

	for (i = 0; i < b->nr_inserts; i++) {
		insert = b->inserts[i];
		if (insert->in_use && insert->table == table && insert->shard == shard &&
		    insert->partition == partition)
			return insert;
	}
	if (load_is_limited(table) && b->nr_limited == LOAD_INSERTS_MAX)
		return NULL;
	insert = load_insert_new(b, table);
	if (!insert)
		return NULL;
	b->nr_limited += load_is_limited(table);
	insert->in_use = true;
	insert->is_done = false;
	insert->shard = shard;
	insert->partition = partition;
	return insert;
}

/* The next row of @insert is the first one of @unit there. */
static int load_insert_claim(struct load_insert *insert, uint32_t unit)
{
	if (insert->nr_claims && insert->claims[insert->nr_claims - 1].unit == unit)
		return 0;
	if (insert->nr_claims == insert->room_claims) {
		uint32_t room = insert->room_claims ? insert->room_claims * 2 : 4;
		struct load_claim *more = reallocarray(insert->claims, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		insert->claims = more;
		insert->room_claims = room;
	}
	insert->claims[insert->nr_claims++] = (struct load_claim){
		.unit = unit, .row = (uint32_t)insert->block.nr
	};
	return 0;
}

struct native_block *load_batch_rows(struct load_batch *b, enum fleet_table table, size_t shard)
{
	struct load_insert *insert = load_insert_find(b, table, shard, LOAD_ANY_PARTITION);

	return insert ? &insert->block : NULL;
}

/* ---- units ------------------------------------------------------------------------- */

int load_batch_unit(struct load_batch *b, uint32_t label, size_t shard, uint64_t block,
		    uint32_t part, uint32_t sample, bool in_doubt)
{
	struct load_unit *more;

	if (b->nr_units == b->room_units) {
		uint32_t room = b->room_units ? b->room_units * 2 : 16;

		more = reallocarray(b->units, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + b->room_units, 0, (room - b->room_units) * sizeof(*more));
		b->units = more;
		b->room_units = room;
	}
	more = &b->units[b->nr_units++];
	bytes_clear(&more->periods);
	more->block = block;
	more->label = label;
	more->part = part;
	more->sample = sample;
	more->shard = shard;
	more->in_doubt = in_doubt;
	more->was_found = more->was_sent = false;
	return 0;
}

/* Notes that the sums of the last unit have a row in the partition of @ts. */
static int load_unit_note(struct load_unit *u, int64_t ts)
{
	int64_t partition = ts / FLEET_PERIOD_NS, known;
	size_t at;

	for (at = u->periods.size; at; at -= sizeof(known)) {
		memcpy(&known, u->periods.data + at - sizeof(known), sizeof(known));
		if (known / FLEET_PERIOD_NS == partition)
			return 0;
	}
	ts = wait_sums_ts(ts);
	bytes_add(&u->periods, &ts, sizeof(ts));
	return u->periods.error;
}

static struct load_insert *load_batch_insert_at(struct load_batch *b, enum fleet_table table,
						int64_t ts)
{
	const struct load_unit *u = &b->units[b->nr_units - 1];
	/* As intDiv() of the server, which rounds towards 0. */
	int64_t partition = ts / FLEET_DAY_NS;
	struct load_insert *insert = b->last;

	if (insert && insert->table == table && insert->partition == partition &&
	    insert->shard == u->shard)
		return insert;
	insert = load_insert_find(b, table, u->shard, partition);
	b->last = insert;
	return insert;
}

/* Rows that are dropped because of their times are counted; they are no reason to stop. */
static int load_batch_drop(struct load_batch *b)
{
	if (b->nr_limited < LOAD_INSERTS_MAX)
		return -ENOMEM;
	b->dropped++;
	return 0;
}

int load_batch_wait(struct load_batch *b, const struct fleet_wait *w)
{
	struct load_unit *u = &b->units[b->nr_units - 1];
	struct load_insert *insert = load_batch_insert_at(b, FLEET_WAITS, w->ts);
	int rc;

	if (!insert)
		return load_batch_drop(b);
	rc = load_insert_claim(insert, b->nr_units - 1);
	if (rc == 0)
		rc = fleet_rows_add_wait(&insert->block, u->label, u->block, u->sample, w);
	if (rc == 0)
		rc = wait_sums_add(&b->sums, u->label, u->sample, w);
	b->nr_rows++;
	return rc < 0 ? rc : load_unit_note(u, w->ts);
}

int load_batch_event(struct load_batch *b, const struct trace_event *ev, int64_t ts, uint64_t site)
{
	struct load_unit *u = &b->units[b->nr_units - 1];
	struct load_insert *insert = load_insert_find(b, FLEET_EVENTS, u->shard, ts / FLEET_DAY_NS);
	int rc;

	if (!insert)
		return load_batch_drop(b);
	rc = load_insert_claim(insert, b->nr_units - 1);
	b->nr_rows++;
	return rc < 0 ? rc
		      : fleet_rows_add_event(&insert->block, u->label, u->block, u->sample, ev, ts,
					     site);
}

/* ---- sums ---------------------------------------------------------------------------- */

void load_unit_mark(const struct load_batch *b, const struct load_unit *u,
		    char mark[LOAD_MARK_SIZE])
{
	const char *run = b->labels[u->label]->run;

	if (u->part)
		snprintf(mark, LOAD_MARK_SIZE, "%s/%llu.%u", run, (unsigned long long)u->block,
			 u->part);
	else
		snprintf(mark, LOAD_MARK_SIZE, "%s/%llu", run, (unsigned long long)u->block);
}

static size_t load_shard_of_label(const struct load_batch *b, uint32_t label)
{
	return clickhouse_shard_of(b->client, b->labels[label]->host);
}

static int load_batch_mark_unit(struct load_batch *b, uint32_t number)
{
	const struct load_unit *u = &b->units[number];
	char mark[LOAD_MARK_SIZE];
	size_t at;
	int rc = 0;

	load_unit_mark(b, u, mark);
	for (at = 0; rc == 0 && at < u->periods.size; at += sizeof(int64_t)) {
		struct load_insert *insert;
		int64_t ts;

		memcpy(&ts, u->periods.data + at, sizeof(ts));
		insert = load_insert_find(b, FLEET_SUMS, u->shard, ts / FLEET_PERIOD_NS);
		if (!insert)
			return -ENOMEM;
		rc = load_insert_claim(insert, number);
		if (rc == 0)
			rc = wait_sums_put_mark(&insert->block, ts, mark);
	}
	return rc;
}

/* Makes rows of the sums, and a mark for every unit that they have. */
int load_batch_sum_up(struct load_batch *b)
{
	size_t i;
	uint32_t u;
	int rc = 0;

	for (u = 0; rc == 0 && u < b->nr_units; u++)
		rc = load_batch_mark_unit(b, u);
	for (i = 0; rc == 0 && i < b->sums.size; i++) {
		const struct wait_sum *sum = &b->sums.slots[i];
		struct load_insert *insert;

		if (!sum->in_use)
			continue;
		insert = load_insert_find(b, FLEET_SUMS, load_shard_of_label(b, sum->label),
					  sum->ts / FLEET_PERIOD_NS);
		rc = insert ? wait_sums_put_row(&insert->block, sum) : -ENOMEM;
	}
	b->is_summed = true;
	return rc;
}

/* ---- clear and release ----------------------------------------------------------------- */

void load_batch_clear(struct load_batch *b)
{
	size_t i;

	for (i = 0; i < b->nr_inserts; i++) {
		native_block_clear(&b->inserts[i]->block);
		b->inserts[i]->nr_claims = 0;
		b->inserts[i]->in_use = false;
	}
	wait_sums_clear(&b->sums);
	b->last = NULL;
	b->nr_limited = 0;
	b->nr_units = 0;
	b->nr_rows = 0;
	b->nr_labels = 1;
	b->is_summed = false;
}

void load_batch_release(struct load_batch *b)
{
	size_t i;

	for (i = 0; i < b->nr_inserts; i++) {
		native_block_release(&b->inserts[i]->block);
		free(b->inserts[i]->claims);
		free(b->inserts[i]);
	}
	for (i = 0; i < b->room_units; i++)
		bytes_release(&b->units[i].periods);
	free(b->inserts);
	free(b->units);
	free(b->labels);
	wait_sums_release(&b->sums);
	load_session_release(&b->session);
	*b = (struct load_batch){ .client = NULL };
}
