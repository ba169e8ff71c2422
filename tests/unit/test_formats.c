/* SPDX-License-Identifier: MIT */
/*
 * test_formats.c - a trace with every kind of item goes through all formats, and nothing changes.
 *
 * The items come from the tables of the schema: a kind of item, of event, or a field that is added
 * later is covered by its row.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/sqlite_code.h"
#include "check.h"
#include "export/export.h"
#include "trace/schema.h"
#include "trace/sidecar.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"
#include "trace_items.h"

#define NR_EVENTS 600
#define NR_MOST   2000

static const char *const formats[] = { "jsonl", "ctf", "ct" };
static const char *const command[] = { "./a program", "\"x\"" };
static char dir[] = "/tmp/test-formats-XXXXXX";

/* ---- items as text --------------------------------------------------------------- */

struct texts {
	char *at[NR_MOST];
	size_t nr;
	unsigned types, kinds; /* that occur, a bit for each */
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All members, by their rows; lanes and the version of the format are of one file. */
static void add_text(struct texts *to, const struct trace_item *item)
{
	struct trace_item copy = *item;
	struct json_writer j;
	size_t size;

	if (item->type == TRACE_ITEM_GAP && item->gap.lane != TRACE_LANE_STATIONS)
		copy.gap.lane = 0;
	if (item->type == TRACE_ITEM_RUN)
		copy.run.format = 0;
	if (item->type == TRACE_ITEM_TOTALS) /* CTF has both in one member */
		copy.totals.detached = totals_detached(&item->totals);
	jw_init_buffer(&j);
	jw_object_begin(&j);
	if (item->type == TRACE_ITEM_EVENT) {
		jw_field_string(&j, "type", trace_kind_name(item->event.kind));
		jw_field_bool(&j, "active", item->event.is_active);
		to->kinds |= 1u << item->event.kind;
	} else {
		jw_field_string(&j, "type", schema[item->type].name);
	}
	schema_put_json(&j, item->type, schema_const_record_of(&copy));
	jw_object_end(&j);
	CHECK(to->nr < NR_MOST);
	to->at[to->nr++] = strdup(jw_text(&j, &size));
	to->types |= 1u << item->type;
	jw_release(&j);
}

static void release_texts(struct texts *t)
{
	while (t->nr)
		free(t->at[--t->nr]);
	memset(t, 0, sizeof(*t));
}

static void same_texts(struct texts *a, struct texts *b, const char *what)
{
	size_t i;

	qsort(a->at, a->nr, sizeof(*a->at), compare_texts);
	qsort(b->at, b->nr, sizeof(*b->at), compare_texts);
	for (i = 0; i < a->nr && i < b->nr; i++) {
		if (strcmp(a->at[i], b->at[i]) != 0)
			fprintf(stderr, "%s:\n%s\n%s\n", what, a->at[i], b->at[i]);
		CHECK(!strcmp(a->at[i], b->at[i]));
	}
	CHECK_EQ(a->nr, b->nr);
}

/* ---- items ------------------------------------------------------------------------ */

static bool is_time(const struct schema_field *f)
{
	size_t size = f->key ? strlen(f->key) : 0;

	return size >= 2 && !strcmp(f->key + size - 2, "ts") && f->type == SCHEMA_U64;
}

/* A value that fits the type, another one for each field. */
static void set_value(const struct schema_field *f, void *record, unsigned nr, char texts[][32])
{
	void *at = (char *)record + f->offset;

	switch ((enum schema_type)f->type) {
	case SCHEMA_TEXT:
		snprintf(texts[nr], 32, "text\"%u\"\xc3\xa9", nr);
		*(const char **)at = texts[nr];
		return;
	case SCHEMA_COMMAND:
		((struct sidecar_run *)record)->command = command;
		((struct sidecar_run *)record)->nr_command = 2;
		return;
	case SCHEMA_BOOL:
		schema_set_number(f, record, 1);
		return;
	case SCHEMA_REASON:
	case SCHEMA_STATE:
		schema_set_number(f, record, 3);
		break;
	case SCHEMA_INT:
		schema_set_number(f, record, 100 + nr);
		break;
	case SCHEMA_U32:
		schema_set_number(f, record, 1000 + nr);
		break;
	default:
		schema_set_number(f, record, is_time(f) ? 5000 + nr : UINT64_MAX / 3 - nr);
	}
	schema_mark_reported(f, record);
}

/* With a value in every field, or (@is_bare) with none. */
static void make_fact(struct trace_item *item, enum trace_item_type type, bool is_bare,
		      char texts[][32])
{
	unsigned i;

	trace_item_init(item, type);
	for (i = 0; i < schema[type].nr && !is_bare; i++)
		set_value(&schema[type].fields[i], schema_record_of(item), i, texts);
	for (i = 0; i < schema[type].nr && is_bare; i++) {
		const struct schema_field *f = &schema[type].fields[i];

		if (f->type == SCHEMA_TEXT && f->otherwise) /* NULL is written as this */
			*(const char **)((char *)schema_record_of(item) + f->offset) = f->otherwise;
	}
}

static void put_fact(struct trace_writer *w, const struct trace_item *item, struct texts *texts)
{
	w->ops->fact(w, item);
	add_text(texts, item);
}

static void put_facts(struct trace_writer *w, struct texts *texts, bool is_bare)
{
	char values[64][32];
	struct trace_item item;
	unsigned type;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		if (type == TRACE_ITEM_RUN || type == TRACE_ITEM_EVENT || type == TRACE_ITEM_GAP ||
		    type == TRACE_ITEM_TOTALS || type == TRACE_ITEM_COROUTINE)
			continue;
		make_fact(&item, (enum trace_item_type)type, is_bare, values);
		if (type == TRACE_ITEM_SITE)
			item.site.id = is_bare ? 7 : 8;
		put_fact(w, &item, texts);
	}
}

static void put_events(struct trace_writer *w, struct texts *texts, struct sidecar_totals *totals)
{
	struct trace_item item = { .type = TRACE_ITEM_EVENT };
	unsigned i;

	for (i = 0; i < NR_EVENTS; i++) {
		item.event = any_event(10000 + i);
		if (item.event.kind == TRACE_BIRTH && i % 2)
			item.event.flags |= TRACE_ADOPTED;
		item.event.tid = 1000 + item.event.tid % 4;
		item.event.addr = item.event.kind == TRACE_END ? 0 : item.event.addr;
		trace_put_event(w, TRACE_LANE_STATIONS, &item.event);
		add_text(texts, &item);
		if (trace_is_transition(&item.event))
			totals->collected++;
		else
			totals->others_collected++;
	}
}

static void put_gap(struct trace_writer *w, struct texts *texts, uint32_t lane, uint64_t ts)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_GAP);
	item.gap = (struct trace_gap){ lane, lane ? 0 : 77, lane ? 0 : 1001, ts, ts + 5, 3, 4 };
	trace_put_gap(w, lane, item.gap.from_ts, item.gap.to_ts, 3, 4);
	add_text(texts, &item);
}

/* One of everything.  @is_detached: the program still ran at the end. */
static void make_trace(const char *format, bool is_detached, struct texts *texts)
{
	struct trace_output output = { .has_sidecar = true };
	struct trace_counts counts;
	struct trace_writer *w;
	struct trace_item item;
	struct err err = { 0 }, facts = { 0 };
	char path[64], values[64][32];

	snprintf(path, sizeof(path), "%s/source.%s", dir, format);
	output.path = path;
	output.fd = strcmp(format, "ctf") != 0 ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)
		    : mkdir(path, 0700) == 0   ? open(path, O_RDONLY | O_DIRECTORY)
					       : -1;
	CHECK(output.fd >= 0);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	make_fact(&item, TRACE_ITEM_RUN, false, values);
	put_fact(w, &item, texts);
	put_facts(w, texts, false);
	put_facts(w, texts, true);
	trace_put_lane(w, &(struct trace_lane){ 0, 77, 1001 });
	make_fact(&item, TRACE_ITEM_TOTALS, false, values);
	item.totals.collected = item.totals.others_collected = 0;
	put_events(w, texts, &item.totals);
	put_gap(w, texts, 0, 20000);
	put_gap(w, texts, TRACE_LANE_STATIONS, 20010);
	item.totals.detached = is_detached;
	item.totals.exit_status = is_detached ? TRACE_EXIT_DETACHED : 3; /* as a collector */
	item.totals.signal = is_detached ? 0 : 9;
	{
		struct trace_item coroutine;

		make_fact(&coroutine, TRACE_ITEM_COROUTINE, false, values);
		coroutine.coroutine.is_counted = false;
		put_fact(w, &coroutine, texts);
		make_fact(&coroutine, TRACE_ITEM_COROUTINE, true, values);
		put_fact(w, &coroutine, texts);
	}
	put_fact(w, &item, texts);
	trace_writer_close(w, &counts, &err, &facts);
	CHECK(!err.code && !facts.code);
	if (!strcmp(format, "ctf"))
		close(output.fd);
}

/* ---- convert ---------------------------------------------------------------------- */

static void read_texts(const char *path, struct texts *to)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct trace_item item;

	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0)
		add_text(to, &item);
	CHECK(!err.code);
	CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_COMPLETE);
	trace_reader_close(r);
}

static void convert(const char *from, const char *to, const char *format)
{
	struct export_options options = { .trace = from, .output = to, .quiet = true };
	struct export_result result;
	struct err err = { 0 };

	if (export_run(sink_find(format), &options, &result, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		CHECK(false);
	}
	export_result_release(&result);
}

/* From @source through the two other formats, in both orders, and back. */
static void go_around(unsigned source, unsigned first, struct texts *wanted)
{
	unsigned way[] = { first, 3 - source - first, source };
	char from[80], to[80], what[200];
	struct texts got = { .nr = 0 };
	unsigned i;

	snprintf(from, sizeof(from), "%s/source.%s", dir, formats[source]);
	for (i = 0; i < 3; i++) {
		snprintf(to, sizeof(to), "%s/%u%u%u.%s", dir, source, first, i, formats[way[i]]);
		convert(from, to, formats[way[i]]);
		read_texts(to, &got);
		snprintf(what, sizeof(what), "from %s to %s", from, to);
		same_texts(wanted, &got, what);
		release_texts(&got);
		memcpy(from, to, sizeof(from));
	}
}

static void clear_dir(void)
{
	char remove[64];

	snprintf(remove, sizeof(remove), "rm -rf %s/*", dir);
	CHECK(system(remove) == 0); /* NOLINT(cert-env33-c): a directory of this test */
}

static void check_formats(bool is_detached)
{
	struct texts wanted = { .nr = 0 }, got = { .nr = 0 };
	char path[64];
	unsigned source;

	for (source = 0; source < 3; source++) {
		make_trace(formats[source], is_detached, &wanted);
		CHECK_EQ(wanted.types, (1u << NR_TRACE_ITEM_TYPES) - 1);
		CHECK_EQ(wanted.kinds, (1u << NR_TRACE_KINDS) - 1);
		snprintf(path, sizeof(path), "%s/source.%s", dir, formats[source]);
		read_texts(path, &got);
		same_texts(&wanted, &got, path);
		go_around(source, (source + 1) % 3, &wanted);
		go_around(source, (source + 2) % 3, &wanted);
		release_texts(&wanted);
		release_texts(&got);
	}
	clear_dir();
}

static void every_kind_of_item_goes_through_all_formats(void)
{
	check_formats(false);
}

static void a_detached_program_stays_detached_in_all_formats(void)
{
	check_formats(true);
}

/* ---- a database that is full ---------------------------------------------------------- */

static void a_full_database_is_a_full_disk(void)
{
	sqlite3 *db;

	CHECK_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, "pragma max_page_count = 3; create table t (x)", NULL, NULL,
			      NULL),
		 SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, "insert into t values (zeroblob(100000))", NULL, NULL, NULL),
		 SQLITE_FULL);
	CHECK_EQ(sqlite_code(db), -ENOSPC);
	errno = EACCES;
	CHECK_EQ(sqlite3_exec(db, "no SQL", NULL, NULL, NULL), SQLITE_ERROR);
	errno = EACCES;
	CHECK_EQ(sqlite_code(db), -EIO); /* the number is of something else */
	CHECK_EQ(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	RUN(every_kind_of_item_goes_through_all_formats);
	RUN(a_detached_program_stays_detached_in_all_formats);
	RUN(a_full_database_is_a_full_disk);
	rmdir(dir);
	return 0;
}
