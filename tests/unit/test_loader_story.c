/* SPDX-License-Identifier: MIT */
/*
 * test_loader_story.c - what the loader asks and inserts, call by call, on servers that answer,
 * fail, or are away; compared with a golden file.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/loader_transport.h"
#include "golden.h"
#include "ship/ship_whole.h"
#include "store_bed.h"

#define DAY_NS      UINT64_C(86400000000000)
#define LOADER_NAME "0123456789abcdef0123456789abcdef"
#define INSERT_SETTINGS                                                    \
	"max_insert_block_size=1048576&min_insert_block_size_rows=1048576" \
	"&min_insert_block_size_bytes=1073741824"

static char dir[] = "/tmp/ct-loader-XXXXXX";
static struct loader *loader;
static FILE *told;

static struct ship_labels labels_of(const char *host, char digit)
{
	struct ship_labels labels = { .sample = 1,
				      .start_ts = 1000,
				      .start_realtime = STORE_REALTIME };

	snprintf(labels.service, sizeof(labels.service), "shop");
	snprintf(labels.build, sizeof(labels.build), "b1");
	snprintf(labels.host, sizeof(labels.host), "%s", host);
	memset(labels.run, digit, SHIP_RUN_SIZE - 1);
	return labels;
}

/* Calls that are too many to tell. */
static void silence(void)
{
	told = story;
	story = fopen("/dev/null", "w");
	CHECK(story);
}

static void speak(void)
{
	fclose(story);
	story = told;
}

static void tell_waiting(void *ctx, const struct err *err)
{
	(void)ctx;
	fprintf(story, "  waiting: %s\n", err->text);
}

static struct loader_options usual_options(void)
{
	return (struct loader_options){ .url = "clickhouse://a/db",
					.name = LOADER_NAME,
					.keep = FLEET_KEEP_DEFAULT,
					.waiting = tell_waiting };
}

static void tell_result(const char *what, int rc, struct err *err)
{
	fprintf(story, "  %s: %d %s\n", what, rc, rc < 0 ? err->text : "");
	if (rc < 0 && err->hint[0])
		fprintf(story, "  hint: %s\n", err->hint);
	*err = (struct err){ 0 };
}

static void open_loader(const struct loader_options *o)
{
	struct err err = { 0 };

	loader = loader_open(o, &err);
	if (!loader)
		tell_result("open", err.code, &err);
}

static void flush(void)
{
	struct err err = { 0 };
	int rc = loader_flush(loader, &err);

	tell_result("flush", rc, &err);
}

static void close_loader(void)
{
	struct loader_totals t = loader_totals_of(loader);

	fprintf(story,
		"  runs %" PRIu64 " complete %" PRIu64 " blocks %" PRIu64 " duplicates %" PRIu64
		" missing %" PRIu64 " damaged %" PRIu64 " transitions %" PRIu64 " others %" PRIu64
		" waits %" PRIu64 " inserts %" PRIu64 " found %" PRIu64 " rows %" PRIu64
		" repeated %" PRIu64 " dropped %" PRIu64 "\n",
		t.runs, t.complete_runs, t.blocks, t.duplicates, t.missing, t.damaged,
		t.transitions, t.others, t.waits, t.inserts, t.found, t.rows, t.repeated,
		t.dropped);
	loader_close(loader);
	loader = NULL;
}

static void put_event(enum trace_kind kind, uint64_t id, uint64_t ts, uint32_t site)
{
	struct trace_item item;
	struct err err = { 0 };

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.probe_id = id;
	item.event.tid = 7;
	item.event.ts = ts;
	item.event.site = site;
	CHECK_EQ(loader_item(loader, &item, &err), 0);
}

static void put_site(uint32_t id, const char *function)
{
	struct trace_item item;
	struct err err = { 0 };

	trace_item_init(&item, TRACE_ITEM_SITE);
	item.site = (struct trace_site){
		.id = id, .file = "shop.c", .line = 10 + id, .function = function
	};
	CHECK_EQ(loader_item(loader, &item, &err), 0);
}

/* A block with @nr waits of @wait_ns each, @step apart from @ts on; one more is left open. */
static void put_block(const struct ship_labels *labels, uint64_t number, uint64_t ts, unsigned nr,
		      uint64_t step)
{
	struct err err = { 0 };
	int rc = loader_begin(loader, labels, number, &err);
	unsigned i;

	if (rc != 0) {
		tell_result("begin", rc, &err);
		return;
	}
	put_site(1, "serve");
	put_site(2, "wake");
	for (i = 0; i < nr; i++, ts += step) {
		put_event(TRACE_SUSPEND, 5, ts, 1);
		put_event(TRACE_WAKE, 5, ts + 300, 2);
		put_event(TRACE_RESUME, 5, ts + 700 + i, 1);
	}
	put_event(TRACE_SUSPEND, 6 + number, ts, 1);
	CHECK_EQ(loader_end(loader, &err), 0);
}

/* The account of a run whose blocks are there. */
static void put_account(struct ship_labels *labels, uint64_t number)
{
	struct err err = { 0 };
	int rc;

	labels->has_final = true;
	labels->final = (struct ship_final){
		.written = 90, .collected = 80, .lost = 10, .blocks = number, .ended = true
	};
	rc = loader_block(loader, labels, number, NULL, 0, 0, &err);
	tell_result("account", rc, &err);
}

static void blocks_of_two_runs_are_inserted_together(unsigned version)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1'), b = labels_of("b", '2');

	store_begin("two runs on two shards, three days", version, 2);
	o.with_events = version == 25008;
	open_loader(&o);
	CHECK(!loader_is_due(loader));
	put_block(&a, 0, 2000, 3, DAY_NS);
	CHECK(!loader_is_due(loader));
	put_block(&b, 0, 2000, 2, 500);
	flush();
	put_block(&a, 1, 3 * DAY_NS, 2, 1000);
	put_block(&b, 1, 5000, 2, 11 * DAY_NS);
	put_block(&a, 2, 4 * DAY_NS, 1, 1000);
	flush();
	put_block(&a, 2, 4 * DAY_NS, 1, 1000);
	put_block(&a, 4, 5 * DAY_NS, 1, 1000);
	put_account(&a, 5);
	put_account(&b, 2);
	flush();
	flush();
	close_loader();
}

static void a_block_is_asked_for_once_it_is_in_doubt(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	store_begin("the store has the waits of the first block, and not its sums", 25008, 1);
	store_says("FROM waits WHERE", 1, "1\n");
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	put_block(&a, 1, 9000, 2, 500); /* still in doubt: alone */
	put_block(&a, 2, 99000, 2, 500);
	flush();
	close_loader();
}

static void an_insert_without_an_answer_is_asked_for(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	o.retry_s = 60;
	store_begin("no answer to an INSERT: it is there", 25008, 1);
	store_fault("INSERT INTO waits ", 1, CLICKHOUSE_UNCERTAIN, 0);
	store_says("system.processes", 1, "0\n");
	store_says("system.processes", 1, "1\n");
	store_says("FROM waits WHERE", 1, "0\n");
	store_says("FROM waits WHERE", 1, "1\n");
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	flush();
	close_loader();

	store_begin("no answer to an INSERT of an old server: it is not there", 18016, 1);
	store_fault("INSERT INTO waits ", 2, CLICKHOUSE_UNCERTAIN, 0);
	store_fault("session_timeout=1&", 1, CLICKHOUSE_NO_FAULT, 0);
	store_fault("session_timeout=1&", 2, CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	flush();
	close_loader();
}

static void a_server_that_is_away_is_waited_for(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	o.retry_s = 7;
	store_begin("away for longer than seven seconds", 25008, 1);
	store_fault("hello", 3, CLICKHOUSE_UNREACHABLE, 0);
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	store_fault("INSERT INTO waits ", 6, CLICKHOUSE_UNREACHABLE, 0);
	flush();
	flush();
	close_loader();
	store_begin("away at the start, and not waited for", 25008, 1);
	o.retry_s = 0;
	store_fault("hello", 1, CLICKHOUSE_UNREACHABLE, 0);
	open_loader(&o);
	CHECK(!loader);
}

static void an_error_stops_and_the_rest_is_sent_later(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	o.retry_s = 60;
	store_begin("sums are refused, then not", 25008, 1);
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	flush();
	store_fault("INSERT INTO waits_10s", 1, CLICKHOUSE_REFUSED, 33);
	put_block(&a, 1, 9000, 2, 500);
	flush();
	fprintf(story, "  fault %d\n", (int)loader_fault(loader));
	put_block(&a, 2, 99000, 1, 500);
	flush();
	close_loader();
}

static void rows_of_too_many_days_are_dropped(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	store_begin("waits of 4100 days", 25008, 1);
	open_loader(&o);
	silence();
	put_block(&a, 0, 2000, 4100, DAY_NS);
	flush();
	speak();
	close_loader();
}

static void a_block_of_many_open_waits_is_sent_in_parts(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');
	struct err err = { 0 };
	unsigned i;

	store_begin("262150 open waits at the end of a run", 25008, 1);
	open_loader(&o);
	CHECK_EQ(loader_begin(loader, &a, 0, &err), 0);
	for (i = 0; i < 262150; i++)
		put_event(TRACE_SUSPEND, 10 + i, 2000 + i, 0);
	CHECK_EQ(loader_end(loader, &err), 0);
	put_account(&a, 1);
	flush();
	close_loader();
}

static void whole_coroutines_stand_for_themselves(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');

	store_begin("a sample of one in four, and whole coroutines", 25008, 1);
	a.sample = 4;
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	a.sample = 1;
	put_block(&a, SHIP_WHOLE_FIRST, 2000, 3, 500);
	a.sample = 4;
	put_account(&a, 1);
	flush();
	close_loader();
}

static void damaged_blocks_are_counted(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');
	struct err err = { 0 };
	int rc;

	store_begin("a block of nonsense; clocks", 25008, 1);
	store_says("toUnixTimestamp", 1, "1699999990\n");
	o.is_host = true;
	open_loader(&o);
	rc = loader_block(loader, &a, 0, "nonsense", 8, 0, &err);
	tell_result("block", rc, &err);
	put_block(&a, 1, 2000, 1, 500);
	flush();
	close_loader();
}

static void a_state_is_continued(void)
{
	struct loader_options o = usual_options();
	struct ship_labels a = labels_of("a", '1');
	char state[64], path[128];
	struct err err = { 0 };

	snprintf(state, sizeof(state), "%s/state", dir);
	o.state_dir = state;
	store_begin("a loader, another one with its state", 18016, 1);
	open_loader(&o);
	put_block(&a, 0, 2000, 2, 500);
	flush();
	put_block(&a, 1, 9000, 2, 500);
	store_fault("INSERT INTO waits_10s", 1, CLICKHOUSE_UNCERTAIN, 0);
	flush();
	close_loader();
	store_fault("session_timeout=1&", 1, CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	store_says("FROM waits WHERE", 1, "1\n");
	open_loader(&o);
	CHECK_EQ(loader_next(loader, &a, &err).block, 1);
	CHECK_EQ(loader_next(loader, &a, &err).whole, SHIP_WHOLE_FIRST);
	put_block(&a, 0, 2000, 2, 500);
	put_block(&a, 1, 9000, 2, 500);
	{
		struct loader *first = loader;

		open_loader(&o);
		CHECK(!loader);
		loader = first;
	}
	flush();
	close_loader();
	snprintf(path, sizeof(path), "%s/%s.state", state, a.run);
	CHECK_EQ(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/lock", state);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(state), 0);
}

/* ---- shipping --------------------------------------------------------------------- */

static void tell_arrived(void *ctx, uint64_t number)
{
	(void)ctx;
	fprintf(story, "  arrived %" PRIu64 "\n", number);
}

static void ship(struct ship_transport *t, const struct ship_labels *labels, uint64_t number)
{
	struct ship_parcel parcel = { .labels = labels, .number = number };
	struct err err = { 0 };
	int rc = t->ops->send(t, &parcel, &err);

	if (rc < 0)
		tell_result("send", rc, &err);
}

static void poll_transport(struct ship_transport *t, int ms)
{
	struct err err = { 0 };
	int rc = t->ops->poll(t, ms, tell_arrived, NULL, &err);

	tell_result("poll", rc, &err);
}

static void a_shipper_loads_by_itself(void)
{
	struct ship_labels a = labels_of("a", '1');
	struct ship_transport *t;
	struct err err = { 0 };
	char state[64], path[160];
	unsigned i;

	store_begin("shipped to the store", 25008, 1);
	snprintf(state, sizeof(state), "%s/ship", dir);
	t = loader_transport_open("clickhouse://me:secret@h1:99,h2/db", state, &err);
	CHECK(t);
	fprintf(story, "  %s, %u blocks at once\n", t->name, t->window);
	poll_transport(t, 100);
	ship(t, &a, 0);
	poll_transport(t, 0);
	poll_transport(t, 120);
	poll_transport(t, 2000);
	silence();
	for (i = 1; i <= 63; i++)
		ship(t, &a, i);
	speak();
	ship(t, &a, 64);
	ship(t, &a, 65);
	store_fault("INSERT INTO runs", 1, CLICKHOUSE_BUSY, 252);
	poll_transport(t, 100);
	ship(t, &a, 63);
	ship(t, &a, 64);
	a.has_final = true;
	ship(t, &a, 65);
	poll_transport(t, 100);
	store_fault("hello", 1, CLICKHOUSE_UNREACHABLE, 0);
	ship(t, &a, 3);
	ship_transport_close(t);
	CHECK_EQ(loader_transport_open("clickhouse://", NULL, &err) == NULL, 1);
	/* The state of a run that is complete was removed; that of the last one is there. */
	snprintf(path, sizeof(path), "%s/%s/lock", state, a.run);
	CHECK_EQ(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(rmdir(state), 0);
}

/* ---- schema -------------------------------------------------------------------------- */

static void prepare(struct loader_options *o)
{
	has_short_story = false;
	open_loader(o);
	if (loader)
		loader_close(loader);
	loader = NULL;
}

static void tables_are_made_or_refused(void)
{
	struct loader_options o = usual_options();

	store_begin("new tables on two shards of a cluster, with times", 25008, 2);
	nr_rules = 0;
	store_cluster = "fleet";
	o.has_keep = true;
	store_says("position(create_table_query, 'toIntervalDay(2)')", 1, "1\n");
	prepare(&o);
	store_begin("tables of version 1 on an old server; old rows", 18016, 1);
	rules[1].answer = "1\n";
	o.expires = true;
	store_says("table = 'waits' AND active", 1, "19000\n19001\n");
	store_says("table = 'blocks' AND active", 1, "1900");
	prepare(&o);
	o.has_keep = o.expires = false;
	store_begin("tables of a newer version", 25008, 1);
	rules[1].answer = "3\n";
	prepare(&o);
	store_begin("a column is missing", 25008, 1);
	store_says("table = 'sites'", 1, "site\tUInt64\nfile\tString\n");
	prepare(&o);
	store_begin("a column has another type", 25008, 1);
	store_says("table = 'sites'", 1, "fil\tString\nsite\tUInt64\nfile2\tString\nfile\tUInt8");
	prepare(&o);
	store_begin("a statement is denied", 25008, 1);
	store_fault("CREATE DATABASE", 1, CLICKHOUSE_DENIED, 497);
	prepare(&o);
}

static void an_hour_later_old_rows_are_dropped(void)
{
	struct loader_options o = usual_options();

	store_begin("an hour", 18016, 1);
	o.expires = true;
	open_loader(&o);
	now_ns += UINT64_C(3599000000000);
	flush();
	now_ns += UINT64_C(1000000000);
	flush();
	flush();
	close_loader();
}

static void calls_are_as_in_the_golden_file(void)
{
	char *text = NULL;
	size_t size;

	story = open_memstream(&text, &size);
	CHECK(story);
	blocks_of_two_runs_are_inserted_together(25008);
	blocks_of_two_runs_are_inserted_together(18016);
	a_block_is_asked_for_once_it_is_in_doubt();
	an_insert_without_an_answer_is_asked_for();
	a_server_that_is_away_is_waited_for();
	an_error_stops_and_the_rest_is_sent_later();
	rows_of_too_many_days_are_dropped();
	a_block_of_many_open_waits_is_sent_in_parts();
	whole_coroutines_stand_for_themselves();
	damaged_blocks_are_counted();
	a_state_is_continued();
	a_shipper_loads_by_itself();
	tables_are_made_or_refused();
	an_hour_later_old_rows_are_dropped();
	fclose(story);
	store_shorten(text, dir, "DIR");
	store_shorten(text, LOADER_NAME, "NAME");
	store_shorten(text, INSERT_SETTINGS, "SETTINGS");
	golden_check("loader.txt", text);
	free(text);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	RUN(calls_are_as_in_the_golden_file);
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
