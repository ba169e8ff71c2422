/* SPDX-License-Identifier: MIT */
/* test_metrics.c - what metrics count of the items of a trace; the items are the test's. */
#include "serve/metrics.h"

#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "held_locks.h"

#define ITEMS_MAX 5000
#define US        UINT64_C(1000)

static struct trace_item items[ITEMS_MAX];
static size_t nr_items, next_item;

static int take_item(struct trace_reader *r, struct trace_item *item, struct err *err)
{
	(void)r;
	(void)err;
	if (next_item == nr_items)
		return 0;
	*item = items[next_item++];
	return 1;
}

static const struct trace_reader_ops item_ops = { .next = take_item };
static struct trace_reader reader = { .ops = &item_ops };

/* ---- items ------------------------------------------------------------------------ */

static struct trace_item *add_item(enum trace_item_type type)
{
	CHECK(nr_items < ITEMS_MAX);
	trace_item_init(&items[nr_items], type);
	return &items[nr_items++];
}

static struct trace_event *add_metrics_event(enum trace_kind kind, uint64_t id, uint64_t ts,
					     uint32_t site)
{
	struct trace_event *ev = &add_item(TRACE_ITEM_EVENT)->event;

	trace_event_init(ev);
	ev->kind = (uint8_t)kind;
	ev->is_active = kind == TRACE_RESUME;
	ev->probe_id = id;
	ev->ts = ts;
	ev->site = site;
	return ev;
}

static void add_metrics_site(uint32_t id, const char *file, uint32_t line, const char *function)
{
	add_item(TRACE_ITEM_SITE)->site = (struct trace_site){ id, line, 1, file, function };
}

static void begin_metrics(struct metrics *m, size_t sites)
{
	struct err err = { 0 };

	CHECK_EQ(metrics_init(m, "trace.jsonl", sites, &err), 0);
	nr_items = next_item = 0;
	site_table_release(&reader.sites);
	reader = (struct trace_reader){ .ops = &item_ops };
}

static void read_items(struct metrics *m)
{
	struct err err = { 0 };

	CHECK_EQ(metrics_read(m, &reader, &err), 0);
	CHECK_EQ(next_item, nr_items);
}

/* The value of a sample in the text; -1: it has none. */
static long long sample(struct metrics *m, const char *name)
{
	struct bytes out = { 0 };
	const char *at;
	long long value = -1;

	metrics_render(m, false, &out);
	bytes_add(&out, "", 1);
	CHECK(!out.error);
	at = strstr((const char *)out.data, name);
	if (at)
		value = strtoll(at + strlen(name) + 1, NULL, 10);
	bytes_release(&out);
	return value;
}

/* ---- tests -------------------------------------------------------------------------- */

static void coroutines_are_counted_where_they_are(void)
{
	struct metrics m;

	begin_metrics(&m, 0);
	add_metrics_site(7, "a.c", 10, "make");
	add_metrics_site(8, "a.c", 20, "wait");
	add_metrics_event(TRACE_BIRTH, 1, 100, 7);
	add_metrics_event(TRACE_BIRTH, 2, 110, 7);
	add_metrics_event(TRACE_RESUME, 1, 120, 0);
	add_metrics_event(TRACE_SUSPEND, 1, 130, 8);
	read_items(&m);
	CHECK_EQ(m.nr_sites, 4);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_NEW], 1);
	CHECK_EQ(m.sites[3].states[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_RUNNING], 0);
	CHECK_STR(m.sites[2].label, "a.c:10 make");
	add_metrics_event(TRACE_WAKE, 1, 140, 0);
	add_metrics_event(TRACE_WAKE, 2, 140, 0);  /* has not run yet: it stays new */
	add_metrics_event(TRACE_WAKE, 99, 140, 0); /* does not exist */
	read_items(&m);
	CHECK_EQ(m.sites[3].states[TRACE_STATE_SUSPENDED], 0);
	CHECK_EQ(m.sites[3].states[TRACE_STATE_READY], 1);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_NEW], 1);
	add_metrics_event(TRACE_RESUME, 1, 150, 0);
	read_items(&m);
	CHECK_EQ(m.sites[3].states[TRACE_STATE_READY], 0);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_RUNNING], 1);
	add_metrics_event(TRACE_END, 1, 160, 0);
	read_items(&m);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_ENDED], 1);
	add_metrics_event(TRACE_DESTROY, 1, 170, 0);
	read_items(&m);
	CHECK_EQ(m.sites[2].states[TRACE_STATE_ENDED], 0);
	CHECK_EQ(coro_ids_count(&m.coroutines.ids), 2);
	CHECK_EQ(m.last_ts, 170);
	CHECK_EQ(m.collected[METRICS_TRANSITION], 3);
	CHECK_EQ(m.collected[METRICS_EVENT_OTHER], 7);
	metrics_release(&m);
}

static void a_coroutine_without_a_birth_is_at_no_known_site(void)
{
	struct metrics m;

	begin_metrics(&m, 0);
	add_metrics_event(TRACE_RESUME, 5, 100, 0);
	add_metrics_event(TRACE_SUSPEND, 6, 100, 42);
	read_items(&m);
	CHECK_EQ(m.sites[METRICS_UNKNOWN].states[TRACE_STATE_RUNNING], 1);
	CHECK_EQ(m.sites[METRICS_UNKNOWN].states[TRACE_STATE_SUSPENDED], 1);
	CHECK_STR(m.sites[METRICS_UNKNOWN].label, "unknown");
	CHECK_STR(m.sites[METRICS_OTHER].label, "other");
	metrics_release(&m);
}

/* A wait of @ns at site 7, with a wake @woken_ns before its end (0: none). */
static void add_metrics_wait(uint64_t id, uint64_t ns, uint64_t woken_ns)
{
	static uint64_t now = 1000;
	struct trace_event *ev;

	ev = add_metrics_event(TRACE_SUSPEND, id, now, 7);
	ev->reason = TRACE_REASON_MUTEX;
	now += ns;
	if (woken_ns)
		add_metrics_event(TRACE_WAKE, id, now - woken_ns, 0);
	add_metrics_event(TRACE_RESUME, id, now, 0);
	now++;
}

static void waits_are_in_their_buckets(void)
{
	struct metrics m;
	const struct metrics_waits *w;
	unsigned i;

	begin_metrics(&m, 0);
	add_metrics_site(7, "a.c", 10, "wait");
	add_metrics_event(TRACE_RESUME, 1, 1, 0);
	add_metrics_wait(1, 1 * US, 0); /* a bound belongs to its bucket */
	add_metrics_wait(1, 1 * US + 1, 0);
	add_metrics_wait(1, 3 * US, 2 * US);
	add_metrics_wait(1, 100 * 1000 * 1000 * US, 0);
	add_metrics_wait(1, 100 * 1000 * 1000 * US + 1, 1);
	read_items(&m);
	CHECK_EQ(m.nr_waits, 2);
	w = &m.waits[1];
	CHECK_EQ(w->site, 2);
	CHECK_EQ(w->reason, TRACE_REASON_MUTEX);
	CHECK_EQ(w->wait.count, 5);
	CHECK_EQ(w->wait.sum_ns, 5 * US + 2 + 200 * 1000 * 1000 * US);
	CHECK_EQ(w->wait.buckets[0], 1);
	CHECK_EQ(w->wait.buckets[1], 1);
	CHECK_EQ(w->wait.buckets[2], 1);
	for (i = 3; i < METRICS_BUCKETS - 1; i++)
		CHECK_EQ(w->wait.buckets[i], 0);
	CHECK_EQ(w->wait.buckets[METRICS_BUCKETS - 1], 1);
	CHECK_EQ(w->wait.buckets[METRICS_BUCKETS], 1);
	CHECK_EQ(w->ready.count, 2);
	CHECK_EQ(w->ready.sum_ns, 2 * US + 1);
	CHECK_EQ(m.wait_states[WAIT_RESUMED], 5);
	metrics_release(&m);
}

static void sites_beyond_the_limit_are_one(void)
{
	struct metrics m;

	begin_metrics(&m, 2);
	add_metrics_site(7, "a.c", 1, "one");
	add_metrics_site(7, "a.c", 1, "one"); /* again */
	add_metrics_site(9, "a.c", 1, "one"); /* of another process: the same series */
	add_metrics_site(10, "b.c", 2, "two");
	add_metrics_site(11, "c.c", 3, "three");
	add_metrics_site(12, "d.c", 4, "four");
	add_metrics_event(TRACE_SUSPEND, 1, 100, 9);
	add_metrics_event(TRACE_SUSPEND, 2, 100, 11);
	add_metrics_event(TRACE_SUSPEND, 3, 100, 12);
	add_metrics_event(TRACE_RESUME, 2, 200, 0);
	read_items(&m);
	CHECK_EQ(m.nr_sites, 4);
	CHECK_EQ(m.sites_beyond, 2);
	CHECK_STR(m.sites[3].label, "b.c:2 two");
	CHECK_EQ(m.sites[2].states[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(m.sites[METRICS_OTHER].states[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(m.waits[0].wait.count, 1);
	CHECK_EQ(m.nr_waits, 1);
	metrics_release(&m);
}

/* There are series for twice as many waits as sites. */
static void waits_beyond_the_limit_are_one(void)
{
	struct metrics m;
	unsigned reason;

	begin_metrics(&m, 1);
	add_metrics_event(TRACE_RESUME, 1, 1, 0);
	for (reason = 0; reason < 8; reason++) {
		add_metrics_event(TRACE_SUSPEND, 1, 10 + 2 * reason, 0)->reason = (uint8_t)reason;
		add_metrics_event(TRACE_RESUME, 1, 11 + 2 * reason, 0);
	}
	read_items(&m);
	CHECK_EQ(m.nr_waits, 6); /* (2 + 1) * 2, with that of all others */
	CHECK_EQ(m.waits[0].reason, NR_TRACE_REASONS);
	CHECK_EQ(m.waits[0].wait.count, 3);
	CHECK_EQ(m.waits[5].wait.count, 1);
	CHECK_EQ(m.waits[5].reason, 4);
	metrics_release(&m);
}

static void lost_events_are_counted_once(void)
{
	struct metrics m;
	struct trace_item *item;

	begin_metrics(&m, 0);
	item = add_item(TRACE_ITEM_GAP);
	item->gap.transitions = 5;
	item->gap.others = 2;
	item = add_item(TRACE_ITEM_GAP);
	item->gap.transitions = 1;
	read_items(&m);
	CHECK_EQ(m.lost[METRICS_TRANSITION], 6);
	CHECK_EQ(m.lost[METRICS_EVENT_OTHER], 2);
	item = add_item(TRACE_ITEM_TOTALS); /* contain the gaps */
	item->totals.lost = 8;
	item->totals.others_lost = 1;
	item->totals.end_ts = 999;
	reader.stats.ct.missing = 3;
	read_items(&m);
	CHECK_EQ(m.lost[METRICS_TRANSITION], 8);
	CHECK_EQ(m.lost[METRICS_EVENT_OTHER], 2);
	CHECK_EQ(m.last_ts, 999);
	CHECK_EQ(m.missed, 3);
	CHECK_EQ(sample(&m, "corotracer_events_lost_total{kind=\"transition\"}"), 8);
	metrics_release(&m);
}

static void labels_follow_from_the_trace(void)
{
	static const char *command[] = { "/usr/bin/server", "-v" };
	struct metrics m;
	struct trace_item *item;

	begin_metrics(&m, 0);
	item = add_item(TRACE_ITEM_RUN);
	item->run.hostname = "host1";
	item->run.command = command;
	item->run.nr_command = 2;
	add_item(TRACE_ITEM_MODULE)->module.build_id = "abcd";
	add_item(TRACE_ITEM_MODULE)->module.build_id = "ffff"; /* a library */
	read_items(&m);
	CHECK_STR(m.labels.host, "host1");
	CHECK_STR(m.labels.service, "server");
	CHECK_STR(m.labels.build, "abcd");
	metrics_release(&m);
	begin_metrics(&m, 0);
	snprintf(m.labels.service, sizeof(m.labels.service), "shop");
	item = add_item(TRACE_ITEM_RUN);
	item->run.command = command;
	item->run.nr_command = 2;
	read_items(&m);
	CHECK_STR(m.labels.service, "shop"); /* as the user says */
	CHECK_STR(m.labels.host, "");
	metrics_release(&m);
}

/* More items than are added at once. */
static void all_items_are_read_in_one_call(void)
{
	struct metrics m;
	unsigned i;

	begin_metrics(&m, 0);
	for (i = 0; i < ITEMS_MAX; i++)
		add_metrics_event(i % 2 ? TRACE_SUSPEND : TRACE_RESUME, 1, 100 + i, 0);
	read_items(&m);
	CHECK_EQ(m.collected[METRICS_TRANSITION], ITEMS_MAX);
	CHECK(!m.has_ended);
	metrics_finish(&m);
	CHECK(m.has_ended);
	CHECK_EQ(m.behind_ns, 0);
	metrics_release(&m);
}

/* ---- the page ----------------------------------------------------------------------- */

static char *fixture_text(const char *name)
{
	char path[512], *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
	f = fopen(path, "re");
	CHECK(f != NULL && text != NULL);
	CHECK(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

/* The text of the metrics is that of the fixture, but for the version. */
static void check_page(struct metrics *m, bool is_openmetrics, const char *fixture)
{
	char *expected = fixture_text(fixture), *text, *version;
	struct bytes out = { 0 };

	metrics_render(m, is_openmetrics, &out);
	bytes_add(&out, "", 1);
	CHECK(!out.error);
	text = (char *)out.data;
	version = strstr(text, "corotracer_version=\"");
	CHECK(version != NULL);
	version += strlen("corotracer_version=\"");
	memmove(version, strchr(version, '"'), strlen(strchr(version, '"')) + 1);
	CHECK_STR(text, expected);
	free(expected);
	bytes_release(&out);
}

static void every_family_is_written_exactly(void)
{
	struct trace_event *ev;
	struct metrics m;

	begin_metrics(&m, 2);
	/* Quotes, backslashes and newlines are escaped, what is no text is replaced. */
	snprintf(m.labels.service, sizeof(m.labels.service), "sh\"o\\p\n\xff");
	snprintf(m.labels.version, sizeof(m.labels.version), "1.0");
	snprintf(m.labels.region, sizeof(m.labels.region), "eu");
	add_metrics_site(7, "a.c", 10, "make");
	add_metrics_site(8, "b.c", 20, "wait");
	add_metrics_site(9, "c.c", 30, "more");
	add_metrics_event(TRACE_BIRTH, 1, 1000, 7);
	ev = add_metrics_event(TRACE_CONTEXT, 1, 1500, 0);
	ev->resource = 0x1122;
	ev->written = 0xa1;
	ev->lost = 0xb2;
	add_metrics_event(TRACE_RESUME, 1, 2000, 0);
	ev = add_metrics_event(TRACE_SUSPEND, 1, 3000, 8);
	ev->reason = TRACE_REASON_IO_READ;
	add_metrics_event(TRACE_WAKE, 1, 4500, 0);
	add_metrics_event(TRACE_RESUME, 1, 6000, 0);
	ev = add_metrics_event(TRACE_SUSPEND, 1, 7000, 8);
	ev->reason = TRACE_REASON_IO_READ;
	add_metrics_event(TRACE_BIRTH, 2, 8000, 9);
	add_metrics_event(TRACE_SUSPEND, 3, 8500, 8); /* not the oldest there */
	add_metrics_event(TRACE_SUSPEND, 4, 9000, 0);
	add_metrics_event(TRACE_END, 4, 9500, 0);
	add_metrics_event(TRACE_RESUME, 5, 2000010000, 7);
	add_item(TRACE_ITEM_GAP)->gap = (struct trace_gap){ .transitions = 5, .others = 2 };
	read_items(&m);
	m.missed = 3;
	m.behind_ns = 1250000000;
	check_page(&m, false, "metrics.txt");
	check_page(&m, true, "metrics.openmetrics");
	metrics_finish(&m);
	CHECK_EQ(sample(&m, "corotracer_collecting{service=\"sh\\\"o\\\\p\\n\xef\xbf\xbd\""
			    ",version=\"1.0\",region=\"eu\"}"),
		 0);
	/* The processor time of the collector, if it is known. */
	CHECK_EQ(sample(&m, "# TYPE corotracer_collector_cpu_seconds_total"), -1);
	m.collector = getpid();
	CHECK(sample(&m, "# TYPE corotracer_collector_cpu_seconds_total") != -1);
	metrics_release(&m);
}

/* The shipper of a trace writes TRACE.shipped. */
static void what_is_shipped_is_read_from_the_file_beside_the_trace(void)
{
	static const char text[] =
		"{\"shipped\":{\"blocks\":1,\"bytes\":2,\"transitions\":3,\"others\":4},"
		"\"spooled\":{\"blocks\":5,\"bytes\":6,\"transitions\":7,\"others\":8},"
		"\"given_up\":{\"blocks\":9,\"bytes\":-10,\"transitions\":11},"
		"\"trouble\":%s}";
	char dir[] = "/tmp/corotracer-test-XXXXXX", trace[64], path[80];
	struct metrics_spool spool;
	struct err err = { 0 };
	struct metrics m;
	FILE *f;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	snprintf(path, sizeof(path), "%s.shipped", trace);
	CHECK(!metrics_spool_read(&spool, trace)); /* there is none */
	f = fopen(path, "w");
	CHECK(f != NULL);
	CHECK(!metrics_spool_read(&spool, trace)); /* empty */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(f, text, "null");
	fclose(f);
	CHECK_EQ(metrics_init(&m, trace, 0, &err), 0);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_up"), 1);
	CHECK_EQ(sample(&m, "\ncorotracer_spool_blocks"), 5);
	CHECK_EQ(sample(&m, "\ncorotracer_spool_bytes"), 6);
	CHECK_EQ(sample(&m, "\ncorotracer_spool_events{kind=\"transition\"}"), 7);
	CHECK_EQ(sample(&m, "\ncorotracer_spool_events{kind=\"other\"}"), 8);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_blocks_total{result=\"acknowledged\"}"), 1);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_blocks_total{result=\"given_up\"}"), 9);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_bytes_total{result=\"acknowledged\"}"), 2);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_bytes_total{result=\"given_up\"}"), 0);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_events_total{result=\"acknowledged\",kind="
			    "\"transition\"}"),
		 3);
	CHECK_EQ(sample(&m,
			"\ncorotracer_ship_events_total{result=\"acknowledged\",kind=\"other\"}"),
		 4);
	CHECK_EQ(sample(&m,
			"\ncorotracer_ship_events_total{result=\"given_up\",kind=\"transition\"}"),
		 11);
	CHECK_EQ(sample(&m, "\ncorotracer_ship_events_total{result=\"given_up\",kind=\"other\"}"),
		 0);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fprintf(f, text, "\"the receiver does not answer\"");
	fclose(f);
#pragma GCC diagnostic pop
	CHECK_EQ(sample(&m, "\ncorotracer_ship_up"), 0);
	metrics_release(&m);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	RUN(what_is_shipped_is_read_from_the_file_beside_the_trace);
	RUN(every_family_is_written_exactly);
	RUN(coroutines_are_counted_where_they_are);
	RUN(a_coroutine_without_a_birth_is_at_no_known_site);
	RUN(waits_are_in_their_buckets);
	RUN(sites_beyond_the_limit_are_one);
	RUN(waits_beyond_the_limit_are_one);
	RUN(lost_events_are_counted_once);
	RUN(labels_follow_from_the_trace);
	RUN(all_items_are_read_in_one_call);
	site_table_release(&reader.sites);
	return 0;
}
