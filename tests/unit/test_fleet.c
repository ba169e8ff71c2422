/* SPDX-License-Identifier: MIT */
/* test_fleet.c - addresses of ClickHouse, its errors, Native blocks, sums, and the saved state of a
 * run. */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "fleet/clickhouse_client.h"
#include "fleet/fleet_schema.h"
#include "fleet/loader_run.h"
#include "fleet/wait_sums.h"

static struct clickhouse_url url_of(const char *text)
{
	struct clickhouse_url url;
	struct err err = { 0 };

	if (clickhouse_url_parse(&url, text, "from the environment", &err) < 0) {
		fprintf(stderr, "%s: %s\n", text, err.text);
		exit(1);
	}
	return url;
}

static void an_address_has_defaults(void)
{
	struct clickhouse_url url = url_of("clickhouse://db");

	CHECK_EQ(url.nr_hosts, 1);
	CHECK_STR(url.hosts[0].name, "db");
	CHECK_EQ(url.hosts[0].port, 8123);
	CHECK_STR(url.user, "default");
	CHECK_STR(url.password, "from the environment");
	CHECK_STR(url.database, "corotracer");
	CHECK_STR(url.cluster, "");
	clickhouse_url_release(&url);
	url = url_of("clickhouse://db/x?tls=1");
	CHECK_EQ(url.hosts[0].port, 8443);
	CHECK(url.has_tls);
	clickhouse_url_release(&url);
}

static void an_address_has_shards_and_escapes(void)
{
	struct clickhouse_url url = url_of(
		"clickhouse://me%40home:p%2Fw%3a@a:1,[::1]:2,c-1.net/base_2?cluster=all");

	CHECK_EQ(url.nr_hosts, 3);
	CHECK_STR(url.user, "me@home");
	CHECK_STR(url.password, "p/w:");
	CHECK_STR(url.hosts[0].name, "a");
	CHECK_EQ(url.hosts[0].port, 1);
	CHECK_STR(url.hosts[1].name, "[::1]");
	CHECK_EQ(url.hosts[1].port, 2);
	CHECK_STR(url.hosts[2].name, "c-1.net");
	CHECK_EQ(url.hosts[2].port, 8123);
	CHECK_STR(url.database, "base_2");
	CHECK_STR(url.cluster, "all");
	clickhouse_url_release(&url);
}

static void wrong_addresses_are_refused_without_their_password(void)
{
	static const char *const wrong[] = {
		"",
		"http://h/x",
		"clickhouse://",
		"clickhouse:///x",
		"clickhouse://u:SECRET@/x",
		"clickhouse://u:SECRET@h:0/x",
		"clickhouse://u:SECRET@h:65536/x",
		"clickhouse://u:SECRET@h:/x",
		"clickhouse://u:SECRET@h:1x/x",
		"clickhouse://u:SECRET%@h/x",
		"clickhouse://u:SECRET%0@h/x",
		"clickhouse://u:SECRET%00@h/x",
		"clickhouse://u:SECRET%zz@h/x",
		"clickhouse://u:SECRET@h,,k/x",
		"clickhouse://u:SECRET@[::1/x",
		"clickhouse://u:SECRET@[::1]2/x",
		"clickhouse://u:SECRET@h h/x",
		"clickhouse://u:SECRET@h/x y",
		"clickhouse://u:SECRET@h/1x",
		"clickhouse://u:SECRET@h/x?",
		"clickhouse://u:SECRET@h/x?cluster=",
		"clickhouse://u:SECRET@h/x?cluster=a'b",
		"clickhouse://u:SECRET@h/x?tls=2",
		"clickhouse://u:SECRET@h/x?password_file=/does/not/exist",
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct clickhouse_url url;
		struct err err = { 0 };
		int rc = clickhouse_url_parse(&url, wrong[i], NULL, &err);

		/* An empty list of options is none. */
		if (!strcmp(wrong[i], "clickhouse://u:SECRET@h/x?"))
			CHECK_EQ(rc, 0);
		else
			CHECK(rc < 0 && err.code == rc && err.text[0]);
		CHECK(!strstr(err.text, "SECRET") && !strstr(err.hint, "SECRET"));
		clickhouse_url_release(&url);
	}
}

static void errors_of_old_and_new_servers_are_understood(void)
{
	static const char old[] = "Code: 81, e.displayText() = DB::Exception: Database x doesn't "
				  "exist, e.what() = DB::Exception\n";
	static const char current[] = "Code: 516. DB::Exception: default: Authentication failed. "
				      "(AUTHENTICATION_FAILED) (version 24.1.1.1)\n";
	char text[128];

	CHECK_EQ(clickhouse_error_parse(old, strlen(old), text, sizeof(text)), 81);
	CHECK_STR(text, "Database x doesn't exist");
	CHECK_EQ(clickhouse_fault_of(81), CLICKHOUSE_NO_DATABASE);
	CHECK_EQ(clickhouse_error_parse(current, strlen(current), text, sizeof(text)), 516);
	CHECK_STR(text, "default: Authentication failed. (AUTHENTICATION_FAILED)");
	CHECK_EQ(clickhouse_fault_of(516), CLICKHOUSE_DENIED);
	CHECK_EQ(clickhouse_error_parse("<html>\n", 7, text, sizeof(text)), 0);
	CHECK_STR(text, "<html>");
	CHECK_EQ(clickhouse_error_parse("", 0, text, sizeof(text)), 0);
	CHECK_STR(text, "");
	CHECK_EQ(clickhouse_fault_of(252), CLICKHOUSE_BUSY);
	CHECK(clickhouse_may_pass(CLICKHOUSE_BUSY) && !clickhouse_may_pass(CLICKHOUSE_DENIED));
	CHECK_EQ(clickhouse_version_parse("18.16.1\n", 8), 18016);
	CHECK_EQ(clickhouse_version_parse("26.9.2.1", 8), 26009);
	CHECK_EQ(clickhouse_version_parse("nginx", 5), 0);
	CHECK_EQ(clickhouse_version_parse("18", 2), 0);
}

static void times_to_keep_are_parsed(void)
{
	struct fleet_keep keep = FLEET_KEEP_DEFAULT;

	CHECK(fleet_keep_parse(&keep, "sums=365,waits=3"));
	CHECK_EQ(keep.sums, 365);
	CHECK_EQ(keep.waits, 3);
	CHECK_EQ(keep.events, 2);
	CHECK(!fleet_keep_parse(&keep, ""));
	CHECK(!fleet_keep_parse(&keep, "waits"));
	CHECK(!fleet_keep_parse(&keep, "waits=0"));
	CHECK(!fleet_keep_parse(&keep, "waits=-1"));
	CHECK(!fleet_keep_parse(&keep, "waits=+5"));
	CHECK(!fleet_keep_parse(&keep, "waits= 5"));
	CHECK(!fleet_keep_parse(&keep, "waits=36501"));
	CHECK_EQ(keep.waits, 3);
	CHECK(fleet_keep_parse(&keep, "waits=36500,events=9"));
	CHECK_EQ(keep.waits, 36500);
	CHECK_EQ(keep.events, 9);
	CHECK(!fleet_keep_parse(&keep, "waits=1,"));
	CHECK(!fleet_keep_parse(&keep, "other=1"));
}

static struct fleet_wait wait_of(struct wait_pair *pair, uint64_t wait_ns, uint64_t ready_ns)
{
	struct fleet_wait w;

	*pair = (struct wait_pair){ .ts = 1000,
				    .end_ts = 1000 + wait_ns,
				    .woken_ts = 1000 + wait_ns - ready_ns,
				    .state = WAIT_RESUMED };
	fleet_wait_set(&w, pair, 123456789012345, 7, 0);
	return w;
}

static void sums_count_by_site_and_ten_seconds(void)
{
	struct wait_sums sums = { .slots = NULL };
	struct wait_pair pair;
	struct fleet_wait w = wait_of(&pair, 1000, 10);
	struct native_block b = { .table = &fleet_tables[FLEET_SUMS] };
	const struct wait_sum *sum = NULL;
	size_t i;

	CHECK_EQ(wait_sums_add(&sums, 1, 10, &w), 0);
	w = wait_of(&pair, 1023, 1);
	CHECK_EQ(wait_sums_add(&sums, 1, 10, &w), 0);
	CHECK_EQ(sums.nr, 1);
	w.site = 8;
	CHECK_EQ(wait_sums_add(&sums, 1, 1, &w), 0);
	w.ts += FLEET_SUM_NS;
	CHECK_EQ(wait_sums_add(&sums, 1, 1, &w), 0);
	CHECK_EQ(wait_sums_add(&sums, 2, 1, &w), 0);
	CHECK_EQ(sums.nr, 4);
	for (i = 0; i < sums.size; i++)
		if (sums.slots[i].in_use && sums.slots[i].site == 7)
			sum = &sums.slots[i];
	CHECK(sum);
	CHECK_EQ(sum->ts, 123450000000000);
	CHECK_EQ(sum->count, 20);
	CHECK_EQ(sum->wait_ns, 20230);
	CHECK_EQ(sum->ready_ns, 110);
	CHECK_EQ(sum->max_wait, 1023);
	CHECK_EQ(sum->max_ready, 10);
	CHECK_EQ(sum->waits[10], 20);
	CHECK_EQ(sum->readies[4], 10);
	CHECK_EQ(sum->readies[1], 10);
	CHECK_EQ(wait_sums_put_row(&b, sum), 0);
	CHECK_EQ(wait_sums_put_mark(&b, sum->ts, "run/1"), 0);
	CHECK_EQ(b.nr, 2);
	/* One bucket of waits in the first row, none in the second. */
	CHECK_EQ(b.texts[SUM_COLUMN_WAIT_BUCKETS].size, 1);
	CHECK_EQ(b.ends[SUM_COLUMN_WAIT_BUCKETS].size, 16);
	native_block_release(&b);
	for (i = 0; i < 10000; i++) {
		w.site = i;
		CHECK_EQ(wait_sums_add(&sums, 1, 1, &w), 0);
	}
	CHECK_EQ(sums.nr, 10003); /* one of them was there */
	wait_sums_clear(&sums);
	CHECK_EQ(sums.nr, 0);
	wait_sums_release(&sums);
}

/* The bytes of a block in one piece. */
static struct bytes bytes_of(const struct native_block *b, const struct ship_labels *labels)
{
	const void *entries[] = { labels };
	struct native_pieces p;
	struct bytes all = { 0 };
	size_t i;

	CHECK_EQ(native_block_pieces(b, entries, 1, &p), 0);
	for (i = 0; i < p.nr; i++)
		bytes_add(&all, p.list[i]->data, p.list[i]->size);
	native_pieces_release(&p);
	return all;
}

static void a_native_block_has_the_bytes_that_the_server_expects(void)
{
	static const struct native_column columns[] = {
		{ "s", "LowCardinality(String)", 0, true, offsetof(struct ship_labels, service) },
		{ "n", "UInt32", 4, false, 0 },
		{ "t", "String", 0, false, 0 },
	};
	static const struct native_table table = { "t", columns, 3 };
	static const unsigned char want[] =
		"\3\2"                                  /* columns, rows */
		"\1s\26LowCardinality(String)"          /* */
		"\1\0\0\0\0\0\0\0\1\6\0\0\0\0\0\0"      /* version, flags */
		"\1\0\0\0\0\0\0\0\3svc\2\0\0\0\0\0\0\0" /* one text, two numbers */
		"\0\0\0\0"                              /* which are 0 */
		"\1n\6UInt32\7\0\0\0\10\0\0\0"          /* */
		"\1t\6String\1a\0";
	struct ship_labels labels = { .service = "svc" };
	struct native_block b = { .table = &table };
	struct bytes all;

	CHECK_EQ(native_block_add(&b, 0), 0);
	native_put_u32(&b, 1, 7);
	native_put_text(&b, 2, "a", 1);
	CHECK_EQ(native_block_add(&b, 0), 0);
	native_put_u32(&b, 1, 8);
	native_put_text(&b, 2, "", 0);
	all = bytes_of(&b, &labels);
	CHECK_EQ(all.size, sizeof(want) - 1);
	CHECK(!memcmp(all.data, want, all.size));
	bytes_release(&all);
	native_block_release(&b);
}

static void a_run_is_saved_and_loaded(void)
{
	struct ship_labels labels = { .service = "svc",
				      .host = "h",
				      .run = "0123456789abcdef0123456789abcdef" };
	char dir[] = "/tmp/ct-fleet-XXXXXX", path[128];
	struct loader_run *a = loader_run_new(&labels), *b = loader_run_new(&labels);
	struct trace_event ev;
	struct err err = { 0 };
	FILE *f;

	CHECK(mkdtemp(dir) && a && b);
	CHECK_EQ(loader_run_load(b, dir, &err), 0);
	trace_event_init(&ev);
	ev.probe_id = 5;
	ev.ts = 10;
	CHECK_EQ(wait_pairs_event(&a->pairs, &ev, NULL, NULL), 0);
	CHECK_EQ(u64map_put(&a->sites, 3, 99), 0);
	a->next = 17;
	a->counts.waits = 4;
	a->is_complete = true;
	CHECK_EQ(loader_run_save(a, dir, &err), 0);
	CHECK_EQ(loader_run_load(b, dir, &err), 1);
	CHECK_EQ(b->next, 17);
	CHECK_EQ(b->counts.waits, 4);
	CHECK(b->is_complete && b->is_in_doubt);
	CHECK_EQ(loader_run_site(b, 3), 99);
	CHECK_EQ(loader_run_site(b, 4), 0);
	CHECK_EQ(b->pairs.nr_open, 1);
	loader_run_free(b);
	/* One flipped byte. */
	snprintf(path, sizeof(path), "%s/%s.state", dir, labels.run);
	f = fopen(path, "r+");
	CHECK(f && fseek(f, 200, SEEK_SET) == 0 && fputc('!', f) == '!' && fclose(f) == 0);
	b = loader_run_new(&labels);
	CHECK_EQ(loader_run_load(b, dir, &err), -EPROTO);
	CHECK(strstr(err.hint, "remove it"));
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(dir), 0);
	loader_run_free(a);
	loader_run_free(b);
}

int main(void)
{
	RUN(an_address_has_defaults);
	RUN(an_address_has_shards_and_escapes);
	RUN(wrong_addresses_are_refused_without_their_password);
	RUN(errors_of_old_and_new_servers_are_understood);
	RUN(times_to_keep_are_parsed);
	RUN(sums_count_by_site_and_ten_seconds);
	RUN(a_native_block_has_the_bytes_that_the_server_expects);
	RUN(a_run_is_saved_and_loaded);
	return 0;
}
