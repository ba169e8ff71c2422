/* SPDX-License-Identifier: MIT */
/*
 * test_schema.c - every field of the schema, in every format.
 *
 * The tests name no field: a new one is covered by its row.
 */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "trace/ctf_facts.h"
#include "trace/schema.h"
#include "trace/sidecar.h"

static char path[] = "/tmp/test-schema-XXXXXX";
static const char *const command[] = { "./a program", "\"x\"" };

/* ---- items with a value in every field ------------------------------------ */

static uint64_t number_for(const struct schema_field *f, unsigned nr)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_U32:
		return UINT32_MAX - 1 - nr;
	case SCHEMA_INT:
		return INT32_MAX - nr;
	case SCHEMA_BOOL:
		return 1;
	case SCHEMA_REASON:
	case SCHEMA_STATE:
		return 3;
	default:
		return UINT64_MAX - nr;
	}
}

/* Another value for each field: @nr is its number. */
static void set_field(const struct schema_field *f, void *record, unsigned nr, char texts[][32])
{
	void *at = (char *)record + f->offset;

	switch ((enum schema_type)f->type) {
	case SCHEMA_TEXT:
		snprintf(texts[nr], 32, "text \"%u\"\n", nr);
		*(const char **)at = texts[nr];
		break;
	case SCHEMA_NAME:
		snprintf(texts[nr], 32, "name %u\\", nr);
		*(const char **)at = texts[nr];
		((struct trace_event *)record)->name_size = (uint32_t)strlen(texts[nr]);
		break;
	case SCHEMA_COMMAND:
		((struct sidecar_run *)record)->command = command;
		((struct sidecar_run *)record)->nr_command = 2;
		break;
	case SCHEMA_KIND:
	case SCHEMA_FLAGS:
		break; /* the type, and members of their own */
	default:
		CHECK(schema_set_number(f, record, number_for(f, nr)));
		schema_mark_reported(f, record);
	}
}

static void make_item(struct trace_item *item, enum trace_item_type type, char texts[][32])
{
	unsigned i;

	trace_item_init(item, type);
	for (i = 0; i < schema[type].nr; i++)
		set_field(&schema[type].fields[i], schema_record_of(item), i, texts);
	if (type == TRACE_ITEM_EVENT)
		item->event.kind = TRACE_WAKE;
	if (type == TRACE_ITEM_RUN)
		item->run.format = SIDECAR_FORMAT;
}

static void same_field(const struct schema_field *f, const void *a, const void *b)
{
	const char *at_a = (const char *)a + f->offset, *at_b = (const char *)b + f->offset;
	const struct trace_event *x = a, *y = b;
	const struct sidecar_run *m = a, *n = b;

	if (f->type == SCHEMA_TEXT) {
		CHECK_STR(*(const char *const *)at_a, *(const char *const *)at_b);
	} else if (f->type == SCHEMA_NAME) {
		CHECK(x->name_size == y->name_size && !memcmp(x->name, y->name, x->name_size));
	} else if (f->type == SCHEMA_COMMAND) {
		CHECK(m->nr_command == 2 && n->nr_command == 2);
		CHECK_STR(m->command[0], n->command[0]);
		CHECK_STR(m->command[1], n->command[1]);
	} else if (schema_number(f, a) != schema_number(f, b)) {
		fprintf(stderr, "%s differs\n", f->key ? f->key : f->ctf_name);
		exit(1);
	}
}

/* ---- rows ---------------------------------------------------------------- */

static void keys_are_unique_and_positions_have_no_gaps(void)
{
	unsigned type, i, k;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		const struct schema_record *r = &schema[type];
		uint64_t ctf = 0, columns = 0;

		for (i = 0; i < r->nr; i++) {
			const struct schema_field *f = &r->fields[i];

			CHECK(f->key ||
			      ((f->ctf_name || !f->ctf) && (f->column_name || !f->column)));
			CHECK(!f->ctf || !(ctf >> f->ctf & 1));
			CHECK(!f->column || !(columns >> f->column & 1));
			ctf |= (uint64_t) !!f->ctf << f->ctf;
			columns |= (uint64_t) !!f->column << f->column;
			for (k = 0; f->key && k < i; k++)
				CHECK(!r->fields[k].key || strcmp(r->fields[k].key, f->key) != 0);
		}
		/* Bits 1 to n are set: plus 2, it is a power of two. */
		CHECK(!((ctf + 2) & ctf) && !((columns + 2) & columns));
		CHECK((r->ctf >= 0) == (ctf != 0));
	}
}

/* ---- JSON ---------------------------------------------------------------- */

static void write_item(const struct trace_item *item)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	if (item->type == TRACE_ITEM_EVENT)
		sidecar_put_event(&w, &item->event);
	else if (item->type == TRACE_ITEM_TOTALS)
		sidecar_put_totals(&w, &item->totals);
	else
		sidecar_put_fact(&w, item);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

static void every_field_is_in_the_sidecar_and_comes_back(void)
{
	struct trace_item item, back;
	struct sidecar_reader r;
	struct err err = { 0 };
	char texts[64][32];
	unsigned type, i;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		make_item(&item, (enum trace_item_type)type, texts);
		write_item(&item);
		CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
		CHECK_EQ(sidecar_next(&r, &back, &err), 1);
		CHECK(back.type == type && !r.stats.unknown_keys && !r.stats.bad_fields);
		for (i = 0; i < schema[type].nr; i++) {
			if (schema[type].fields[i].key)
				same_field(&schema[type].fields[i], schema_record_of(&item),
					   schema_record_of(&back));
		}
		sidecar_reader_close(&r);
	}
}

/* The line of an event is written without a JSON writer; it is the same, member by member. */
static void events_are_written_as_the_schema_says(void)
{
	struct trace_item item;
	char texts[64][32], line[2048];
	struct json_writer j;
	const char *text;
	unsigned kind;
	ssize_t got;
	size_t size;
	int fd;

	for (kind = TRACE_BIRTH; kind < NR_TRACE_KINDS; kind++) {
		make_item(&item, TRACE_ITEM_EVENT, texts);
		item.event.kind = (uint8_t)kind;
		write_item(&item);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		got = read(fd, line, sizeof(line) - 1);
		CHECK(got > 0);
		line[got] = '\0';
		line[strcspn(line, "\n")] = '\0';
		close(fd);
		jw_init_buffer(&j);
		jw_object_begin(&j);
		jw_field_string(&j, "type", trace_kind_name(kind));
		schema_put_json(&j, TRACE_ITEM_EVENT, &item.event);
		jw_object_end(&j);
		text = jw_text(&j, &size);
		CHECK_STR(line, text);
		jw_release(&j);
	}
}

static void a_missing_field_is_missing_again(void)
{
	struct trace_item item, back;
	struct sidecar_reader r;
	struct err err = { 0 };
	unsigned type, i;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		trace_item_init(&item, (enum trace_item_type)type);
		if (type == TRACE_ITEM_EVENT)
			item.event.kind = TRACE_WAKE;
		write_item(&item);
		CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
		CHECK_EQ(sidecar_next(&r, &back, &err), 1);
		for (i = 0; i < schema[type].nr; i++) {
			const struct schema_field *f = &schema[type].fields[i];

			if (f->key && f->absent != SCHEMA_WRITTEN)
				CHECK(!schema_is_reported(f, schema_record_of(&back)));
		}
		sidecar_reader_close(&r);
	}
}

/* ---- CTF ----------------------------------------------------------------- */

static void every_fact_survives_ctf(void)
{
	struct trace_item item, back;
	const char **words = NULL;
	char texts[64][32];
	uint8_t bytes[4096];
	unsigned type, i;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		size_t size;

		if (schema[type].ctf < 0)
			continue;
		make_item(&item, (enum trace_item_type)type, texts);
		size = ctf_fact_size(&item);
		CHECK(size < sizeof(bytes) && ctf_fact_encode(bytes, &item) == bytes + size);
		CHECK(ctf_fact_record((unsigned)schema[type].ctf) == &schema[type]);
		CHECK_EQ(ctf_fact_decode(bytes, size, (unsigned)schema[type].ctf, &back, &words),
			 1);
		for (i = 0; i < schema[type].nr; i++) {
			if (schema[type].fields[i].ctf)
				same_field(&schema[type].fields[i], schema_record_of(&item),
					   schema_record_of(&back));
		}
	}
	free((void *)words);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(keys_are_unique_and_positions_have_no_gaps);
	RUN(every_field_is_in_the_sidecar_and_comes_back);
	RUN(events_are_written_as_the_schema_says);
	RUN(a_missing_field_is_missing_again);
	RUN(every_fact_survives_ctf);
	unlink(path);
	return 0;
}
