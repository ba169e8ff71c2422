/* SPDX-License-Identifier: MIT */
/* loader.c - put blocks of traces into the store, each exactly once. */
#include "fleet/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "base/strtab.h"
#include "fleet/load_batch.h"
#include "fleet/loader_run.h"
#include "fleet/loader_rows.h"
#include "ship/ship_whole.h"
#include "trace/compact_decode.h"
#include "trace/sidecar.h"

#define LOADER_FLUSH_NS NS_PER_SEC
#define LOADER_PAUSE_MS 500
#define LOADER_LOCK     "lock"
#define LOADER_RUNS_MAX 1000000u

struct loader {
	struct clickhouse *client;
	struct loader_options options;
	char *state_dir;
	int lock_fd;
	struct load_batch batch;
	struct loader_run **runs;
	size_t nr_runs;
	struct strtab names; /* numbers of runs */
	struct loader_run *last;
	struct loader_rows rows; /* of the block that is being added */
	struct compact_unpacker unpacker;
	struct compact_decoder *decoder;
	struct sidecar_reader lines;
	struct loader_totals totals;
	uint64_t first_ns; /* when the first row of the batch came */
	int64_t clock_offset;
	bool must_flush;    /* the last flush failed: go on with it first */
	uint64_t expire_ns; /* when old rows are dropped next */
};

static int loader_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for a block");
}

/* ---- open and close ------------------------------------------------------------------ */

/* The name of the loader is in the file that is locked: it stays the same after a restart. */
static int loader_read_name(struct loader *l, char name[SHIP_RUN_SIZE], struct err *err)
{
	ssize_t size = io_pread(l->lock_fd, name, SHIP_RUN_SIZE - 1, 0);

	name[SHIP_RUN_SIZE - 1] = '\0';
	if (size == SHIP_RUN_SIZE - 1 && ship_run_is_valid(name))
		return 0;
	if (ship_run_new(name, err) < 0)
		return err->code;
	if (io_pwrite(l->lock_fd, name, SHIP_RUN_SIZE - 1, 0) < 0)
		return err_errno(err, "cannot write to '%s/" LOADER_LOCK "'", l->state_dir);
	return 0;
}

static int loader_open_state(struct loader *l, char name[SHIP_RUN_SIZE], struct err *err)
{
	char path[4096];

	if (!l->options.state_dir)
		return 0;
	l->state_dir = strdup(l->options.state_dir);
	if (!l->state_dir)
		return loader_no_memory(err);
	if (mkdir(l->state_dir, 0700) < 0 && errno != EEXIST)
		return err_errno(err, "cannot create the state directory '%s'", l->state_dir);
	snprintf(path, sizeof(path), "%s/" LOADER_LOCK, l->state_dir);
	l->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock_fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (flock(l->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		err_errno(err, "cannot lock '%s'", path);
		err_hint(err, "another loader uses this directory; name another one by --state");
		return err->code;
	}
	return loader_read_name(l, name, err);
}

/* A host whose clock is off by more than a second against the store. */
static int loader_compare_clocks(struct loader *l, struct err *err)
{
	uint64_t there = 0;
	int64_t here = (int64_t)monotonic_clock_ns(CLOCK_REALTIME), offset;
	int rc = clickhouse_number(l->client, 0, "SELECT toUInt64(toUnixTimestamp(now()))", &there,
				   err);

	offset = here - (int64_t)(there * NS_PER_SEC);
	/* The store's clock has whole seconds. */
	if (rc == 0 && (offset > 2 * (int64_t)NS_PER_SEC || offset < -(int64_t)NS_PER_SEC))
		l->clock_offset = offset;
	return rc;
}

/* The schema, on servers that may still have to start. */
static int loader_prepare(struct loader *l, struct err *err)
{
	const struct loader_options *o = &l->options;
	uint64_t deadline = clock_now_ns() + o->retry_s * NS_PER_SEC;
	struct timespec pause = { .tv_nsec = LOADER_PAUSE_MS * (long)NS_PER_MS };
	int rc;

	for (;;) {
		rc = fleet_schema_prepare(l->client, o->has_keep ? &o->keep : NULL, err);
		if (rc == 0 && o->expires)
			rc = fleet_schema_expire(l->client, &o->keep, err);
		if (rc == 0 || !clickhouse_may_pass(l->client->fault) || clock_now_ns() >= deadline)
			return rc;
		if (o->waiting)
			o->waiting(o->waiting_ctx, err);
		nanosleep(&pause, NULL);
		*err = (struct err){ 0 };
	}
}

static int loader_begin_all(struct loader *l, struct err *err)
{
	const struct loader_options *o = &l->options;
	char name[SHIP_RUN_SIZE] = "";
	int rc = loader_open_state(l, name, err);

	if (rc == 0 && o->name)
		snprintf(name, sizeof(name), "%s", o->name);
	if (rc == 0 && !name[0])
		rc = ship_run_new(name, err);
	if (rc < 0)
		return rc;
	l->client = clickhouse_open(o->url, err);
	l->decoder = compact_decoder_new();
	if (!l->client)
		return err->code;
	if (!l->decoder || load_batch_init(&l->batch, l->client, name) < 0)
		return loader_no_memory(err);
	l->batch.retry_s = o->retry_s;
	l->batch.with_events = o->with_events;
	l->batch.waiting = o->waiting;
	l->batch.waiting_ctx = o->waiting_ctx;
	rc = l->lock_fd < 0 ? 0 : load_session_keep(&l->batch.session, l->lock_fd, err);
	rc = rc < 0 ? rc : loader_prepare(l, err);
	l->expire_ns = clock_now_ns() + 3600 * NS_PER_SEC;
	return rc < 0 || !o->is_host ? rc : loader_compare_clocks(l, err);
}

struct loader *loader_open(const struct loader_options *o, struct err *err)
{
	struct loader *l = calloc(1, sizeof(*l));

	if (!l) {
		loader_no_memory(err);
		return NULL;
	}
	l->options = *o;
	l->lock_fd = -1;
	if (loader_begin_all(l, err) == 0)
		return l;
	loader_close(l);
	return NULL;
}

void loader_close(struct loader *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; i < l->nr_runs; i++)
		loader_run_free(l->runs[i]);
	free(l->runs);
	strtab_release(&l->names);
	load_batch_release(&l->batch);
	compact_unpacker_release(&l->unpacker);
	compact_decoder_free(l->decoder);
	sidecar_forget(&l->lines);
	clickhouse_close(l->client);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	free(l->state_dir);
	free(l);
}

/* ---- runs ------------------------------------------------------------------------------- */

static int loader_add_run(struct loader *l, const struct ship_labels *labels, struct err *err)
{
	struct loader_run **more = reallocarray(l->runs, l->nr_runs + 1,
						sizeof(struct loader_run *));
	struct loader_run *run;

	if (!more)
		return loader_no_memory(err);
	l->runs = more;
	run = loader_run_new(labels);
	if (!run)
		return loader_no_memory(err);
	if (l->state_dir && loader_run_load(run, l->state_dir, err) < 0) {
		loader_run_free(run);
		return err->code;
	}
	run->shard = clickhouse_shard_of(l->client, run->labels.host);
	if (!run->clock_offset)
		run->clock_offset = l->clock_offset;
	l->runs[l->nr_runs++] = run;
	return 0;
}

/* NULL with a message in @err. */
static struct loader_run *loader_find_run(struct loader *l, const struct ship_labels *labels,
					  struct err *err)
{
	int64_t number;

	if (l->last && !strcmp(l->last->labels.run, labels->run))
		return l->last;
	number = strtab_intern(&l->names, labels->run);
	if (number < 0 || l->nr_runs >= LOADER_RUNS_MAX) {
		loader_no_memory(err);
		return NULL;
	}
	if ((size_t)number == l->nr_runs && loader_add_run(l, labels, err) < 0)
		return NULL;
	if ((size_t)number >= l->nr_runs) {
		err_set(err, -EPROTO, "cannot use the state of run %s", labels->run);
		return NULL;
	}
	l->last = l->runs[number];
	return l->last;
}

struct loader_next loader_next(struct loader *l, const struct ship_labels *labels, struct err *err)
{
	const struct loader_run *run = loader_find_run(l, labels, err);

	return (struct loader_next){ run ? run->next : 0, run ? run->next_whole : 0 };
}

/* ---- flush -------------------------------------------------------------------------------- */

static int loader_save(struct loader *l, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < l->nr_runs; i++) {
		struct loader_run *run = l->runs[i];

		if (!run->has_changed)
			continue;
		if (l->state_dir)
			rc = loader_run_save(run, l->state_dir, err);
		if (rc == 0)
			run->has_changed = run->is_in_batch = false;
	}
	return rc;
}

static int loader_put_accounts(struct loader *l)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < l->nr_runs; i++) {
		if (l->runs[i]->has_changed && !l->runs[i]->is_in_batch)
			rc = loader_rows_put_account(&l->batch, l->runs[i]);
		l->runs[i]->is_in_batch = l->runs[i]->has_changed;
	}
	return rc;
}

/* A run whose block was not in the store at all: what comes after it is not, either. */
static void loader_settle_doubt(struct loader *l)
{
	const struct load_unit *u = l->batch.units;

	if (l->batch.nr_units && l->rows.run && u->was_sent && !u->was_found)
		l->rows.run->is_in_doubt = false;
}

static int loader_expire(struct loader *l, struct err *err)
{
	if (!l->options.expires || clock_now_ns() < l->expire_ns)
		return 0;
	l->expire_ns = clock_now_ns() + 3600 * NS_PER_SEC;
	return fleet_schema_expire(l->client, &l->options.keep, err);
}

int loader_flush(struct loader *l, struct err *err)
{
	int rc;

	if (loader_put_accounts(l) < 0)
		return loader_no_memory(err);
	rc = load_batch_send(&l->batch, err);
	if (rc == 0)
		rc = loader_save(l, err);
	l->must_flush = rc < 0;
	if (rc < 0)
		return rc;
	loader_settle_doubt(l);
	load_batch_clear(&l->batch);
	l->first_ns = 0;
	return loader_expire(l, err);
}

bool loader_is_due(const struct loader *l)
{
	return l->first_ns && (l->batch.nr_rows >= LOAD_ROWS_MAX ||
			       clock_now_ns() - l->first_ns >= LOADER_FLUSH_NS);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The number that the next block of this kind should have. */
static uint64_t loader_expected(const struct loader_run *run, uint64_t number)
{
	return number < SHIP_WHOLE_FIRST ? run->next : run->next_whole;
}

/* True if the block is one to load; a number that was passed over is counted. */
static bool loader_take_number(struct loader *l, struct loader_run *run, uint64_t number)
{
	uint64_t expected = loader_expected(run, number);

	if (number < expected) {
		l->totals.duplicates++;
		return false;
	}
	run->counts.missing += number - expected;
	l->totals.missing += number - expected;
	return true;
}

/* A unit in doubt is alone in its batch, and so is one that may be sent in parts. */
static int loader_make_room(struct loader *l, const struct loader_run *run, bool is_alone,
			    struct err *err)
{
	if (l->must_flush)
		return loader_flush(l, err);
	if (!l->batch.nr_units)
		return 0;
	if (run->is_in_doubt || is_alone || l->batch.units[0].in_doubt ||
	    l->batch.nr_rows >= LOAD_ROWS_MAX || l->batch.nr_labels >= NATIVE_LABELS_MAX - 1)
		return loader_flush(l, err);
	return 0;
}

int loader_begin(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 struct err *err)
{
	struct loader_run *run = loader_find_run(l, labels, err);
	bool is_gap;
	int rc;

	if (!run)
		return err->code;
	is_gap = number > loader_expected(run, number);
	rc = loader_make_room(l, run, is_gap || labels->has_final, err);
	if (rc < 0 || !loader_take_number(l, run, number))
		return rc < 0 ? rc : 1;
	rc = loader_rows_begin(&l->rows, &l->batch, run, labels, number);
	if (rc == 0 && is_gap)
		rc = loader_rows_lose(&l->rows, err);
	if (!l->first_ns)
		l->first_ns = clock_now_ns();
	return rc < 0 && !err->code ? loader_no_memory(err) : rc;
}

int loader_item(struct loader *l, const struct trace_item *item, struct err *err)
{
	int rc = loader_rows_item(&l->rows, item);

	return rc < 0 ? loader_no_memory(err) : 0;
}

static int loader_end_block(struct loader *l, bool is_block, struct err *err)
{
	int rc = loader_rows_end(&l->rows, is_block);

	if (rc < 0)
		return loader_no_memory(err);
	l->totals.blocks += is_block;
	l->totals.transitions += l->rows.transitions;
	l->totals.others += l->rows.others;
	return 0;
}

int loader_end(struct loader *l, struct err *err)
{
	return loader_end_block(l, true, err);
}

/* ---- blocks of compact traces ------------------------------------------------------------------
 */

static int loader_line(struct loader *l, const char *text, size_t size, struct err *err)
{
	struct line line = { .text = text, .size = size };
	struct trace_item item;
	int rc = sidecar_take_line(&l->lines, &line, &item);

	if (rc < 0)
		return loader_no_memory(err);
	return rc ? loader_item(l, &item, err) : 0;
}

/* 1; 0: it is damaged; or a negative errno. */
static int loader_facts(struct loader *l, struct err *err)
{
	const struct compact_part *lines = &l->unpacker.parts[COMPACT_LINES];
	const char *at = (const char *)lines->data, *end;
	int rc = 0;

	if (!lines->size || lines->data[lines->size - 1] != '\n')
		return 0;
	end = at + lines->size;
	while (rc == 0 && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		rc = loader_line(l, at, (size_t)(newline - at), err);
		at = newline + 1;
	}
	return rc < 0 ? rc : 1;
}

static int loader_events(struct loader *l, const struct compact_block_head *head, struct err *err)
{
	struct trace_item item = { .type = TRACE_ITEM_EVENT };
	const char *gap;
	size_t size;
	int rc = 0;

	if (!compact_decoder_begin(l->decoder, head, l->unpacker.parts))
		return 0;
	while (rc == 0) {
		switch (compact_decode_next(l->decoder, &item.event, &gap, &size)) {
		case COMPACT_DECODED_EVENT:
			rc = loader_item(l, &item, err);
			break;
		case COMPACT_DECODED_GAP:
			rc = loader_line(l, gap, size, err);
			break;
		case COMPACT_DECODED_UNKNOWN:
			break;
		case COMPACT_DECODED_DAMAGED:
			return 0;
		case COMPACT_DECODED_NO_MEMORY:
			return loader_no_memory(err);
		case COMPACT_DECODED_END:
			return 1;
		}
	}
	return rc;
}

static int loader_unpack(struct loader *l, const void *block, size_t size, struct err *err)
{
	struct compact_block_head head;
	int rc = compact_block_unpack(&l->unpacker, block, size, &head);

	if (rc <= 0)
		return rc < 0 ? loader_no_memory(err) : 0;
	if (head.type == COMPACT_FACTS)
		return loader_facts(l, err);
	return head.type == COMPACT_EVENTS ? loader_events(l, &head, err) : 1;
}

/* A broker got the block before its last event happened: the clock of the host is ahead. */
static void loader_note_clock(struct loader *l, int64_t arrived)
{
	struct loader_run *run = l->rows.run;
	int64_t ahead = run->last_ts - arrived;

	if (arrived && ahead > (int64_t)NS_PER_SEC && ahead > run->clock_offset)
		run->clock_offset = ahead;
}

int loader_block(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 const void *block, size_t size, int64_t arrived, struct err *err)
{
	int rc = loader_begin(l, labels, number, err);

	if (rc != 0)
		return rc < 0 ? rc : 0; /* 1: it was loaded before */
	rc = size ? loader_unpack(l, block, size, err) : 1;
	if (rc == 0) {
		l->rows.run->counts.damaged++;
		l->totals.damaged++;
	}
	if (rc >= 0 && labels->has_final)
		rc = loader_rows_finish(&l->rows, labels, err);
	if (rc >= 0) {
		loader_note_clock(l, arrived);
		rc = loader_end_block(l, size > 0, err);
	}
	return rc < 0 && !err->code ? loader_no_memory(err) : rc < 0 ? rc : 0;
}

/* ---- for the user
 * -------------------------------------------------------------------------------- */

struct loader_totals loader_totals_of(const struct loader *l)
{
	struct loader_totals t = l->totals;
	size_t i;

	t.runs = l->nr_runs;
	t.waits = l->rows.all_waits;
	t.inserts = l->batch.sent_inserts;
	t.found = l->batch.found_inserts;
	t.rows = l->batch.sent_rows;
	t.repeated = l->batch.repeated;
	t.dropped = l->batch.dropped;
	t.bytes = l->client->sent;
	for (i = 0, t.complete_runs = 0; i < l->nr_runs; i++)
		t.complete_runs += l->runs[i]->is_complete;
	return t;
}

enum clickhouse_fault loader_fault(const struct loader *l)
{
	return l->client->fault;
}
