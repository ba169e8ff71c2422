/* SPDX-License-Identifier: MIT */
/*
 * sidecar_reader.c - read what a trace does not say itself.
 *
 * Trust
 *   None: the file may be of a newer tool, damaged, or made up.  A record is
 *   described by a table of its fields; a field that is missing or of another type
 *   keeps its default, and the rest of the record counts.
 */
#include "trace/sidecar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/json_line.h"

/* ---- fields -------------------------------------------------------------- */

enum kind { KIND_U64, KIND_INT, KIND_BOOL, KIND_STRING, KIND_COMMAND };

struct field {
	const char *key;
	enum kind kind;
	size_t offset; /* in struct sidecar_record */
};

#define FIELD(key, member, kind)                                   \
	{                                                          \
		key, kind, offsetof(struct sidecar_record, member) \
	}
#define END                       \
	{                         \
		NULL, KIND_U64, 0 \
	}

static const struct field run_fields[] = {
	FIELD("format", run.format, KIND_U64),
	FIELD("tool", run.tool, KIND_STRING),
	FIELD("command", run.command, KIND_COMMAND),
	FIELD("pid", run.pid, KIND_U64),
	FIELD("start_ts", run.start_ts, KIND_U64),
	FIELD("start_realtime", run.start_realtime, KIND_U64),
	FIELD("hostname", run.hostname, KIND_STRING),
	FIELD("arch", run.arch, KIND_STRING),
	FIELD("stations", run.stations, KIND_U64),
	END,
};

static const struct field process_fields[] = {
	FIELD("pid", process.pid, KIND_U64),
	FIELD("uid", process.uid, KIND_U64),
	FIELD("connected_ts", process.connected_ts, KIND_U64),
	END,
};

static const struct field coroutine_fields[] = {
	FIELD("station", coroutine.station, KIND_U64),
	FIELD("probe_id", coroutine.probe_id, KIND_U64),
	FIELD("pid", coroutine.pid, KIND_U64),
	FIELD("name", coroutine.name, KIND_STRING),
	FIELD("name_truncated", coroutine.name_truncated, KIND_BOOL),
	FIELD("birth_ts", coroutine.birth_ts, KIND_U64),
	FIELD("death_ts", coroutine.death_ts, KIND_U64),
	FIELD("dead", coroutine.dead, KIND_BOOL),
	FIELD("writer", coroutine.writer, KIND_STRING),
	FIELD("written", coroutine.written, KIND_U64),
	FIELD("collected", coroutine.collected, KIND_U64),
	FIELD("lost", coroutine.lost, KIND_U64),
	FIELD("garbage", coroutine.garbage, KIND_U64),
	END,
};

static const struct field totals_fields[] = {
	FIELD("complete", totals.complete, KIND_BOOL),
	FIELD("written", totals.written, KIND_U64),
	FIELD("collected", totals.collected, KIND_U64),
	FIELD("lost", totals.lost, KIND_U64),
	FIELD("lost_overwritten", totals.lost_overwritten, KIND_U64),
	FIELD("lost_output", totals.lost_output, KIND_U64),
	FIELD("garbage", totals.garbage, KIND_U64),
	FIELD("unfinished", totals.unfinished, KIND_U64),
	FIELD("coroutines", totals.coroutines, KIND_U64),
	FIELD("without_station", totals.without_station, KIND_U64),
	FIELD("exit_status", totals.exit_status, KIND_INT),
	FIELD("signal", totals.signal, KIND_INT),
	FIELD("end_ts", totals.end_ts, KIND_U64),
	END,
};

static const struct {
	const char *name;
	const struct field *fields;
} types[] = {
	[SIDECAR_RUN] = { "run", run_fields },
	[SIDECAR_PROCESS] = { "process", process_fields },
	[SIDECAR_COROUTINE] = { "coroutine", coroutine_fields },
	[SIDECAR_TOTALS] = { "totals", totals_fields },
};

/* The words of the command line; what is no string in it is an empty one. */
static bool get_command(struct sidecar_reader *r, const json_t *value, struct sidecar_record *rec)
{
	size_t i, nr = json_array_size(value);

	if (!json_is_array(value))
		return false;
	r->command = calloc(nr + 1, sizeof(*r->command));
	if (!r->command)
		return false;
	for (i = 0; i < nr; i++) {
		const char *word = json_string_value(json_array_get(value, i));

		r->command[i] = word ? word : "";
	}
	rec->run.command = r->command;
	rec->run.nr_command = nr;
	return true;
}

static bool get_int(const json_t *value, int *out)
{
	uint64_t number;

	if (!json_u64(value, &number) || number > INT32_MAX)
		return false;
	*out = (int)number;
	return true;
}

/* False: the value is not what belongs there, and nothing was stored. */
static bool get_field(struct sidecar_reader *r, const struct field *f, const json_t *value,
		      struct sidecar_record *rec)
{
	void *out = (char *)rec + f->offset;

	switch (f->kind) {
	case KIND_U64:
		return json_u64(value, out);
	case KIND_INT:
		return get_int(value, out);
	case KIND_BOOL:
		*(bool *)out = json_is_true(value);
		return json_is_boolean(value);
	case KIND_STRING:
		*(const char **)out = json_string_value(value); /* NULL if it is none */
		return json_is_string(value);
	case KIND_COMMAND:
		return get_command(r, value, rec);
	}
	return false;
}

static void get_record(struct sidecar_reader *r, const json_t *object, struct sidecar_record *rec)
{
	const struct field *f;
	size_t known = 1; /* the type */

	for (f = types[rec->type].fields; f->key; f++) {
		const json_t *value = json_object_get(object, f->key);

		if (!value)
			continue;
		known++;
		if (!json_is_null(value) && !get_field(r, f, value, rec))
			r->stats.bad_fields++;
	}
	r->stats.unknown_keys += json_object_size(object) - known;
}

/* ---- lines --------------------------------------------------------------- */

/* The index in types[], or -1. */
static int find_type(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(types[i].name, name))
			return (int)i;
	}
	return -1;
}

static void forget_record(struct sidecar_reader *r)
{
	json_decref(r->object);
	r->object = NULL;
	free(r->command);
	r->command = NULL;
}

/* True: the line is a record, now in *@rec. */
static bool parse(struct sidecar_reader *r, const struct line *line, struct sidecar_record *rec)
{
	const char *name;
	int type;

	r->object = line->too_long ? NULL : json_line_parse(line->text, line->size);
	name = json_string_value(json_object_get(r->object, "type"));
	if (!name) {
		r->stats.garbage++;
		return false;
	}
	type = find_type(name);
	if (type < 0) {
		r->stats.unknown_types++;
		return false;
	}
	memset(rec, 0, sizeof(*rec));
	rec->type = (enum sidecar_type)type;
	if (type == SIDECAR_TOTALS)
		rec->totals.exit_status = -1;
	get_record(r, r->object, rec);
	r->stats.records++;
	return true;
}

int sidecar_next(struct sidecar_reader *r, struct sidecar_record *rec, struct err *err)
{
	struct line line;
	int rc;

	while ((rc = lines_next(&r->lines, &line, err)) > 0) {
		forget_record(r);
		r->stats.lines++;
		if (!line_is_blank(&line) && parse(r, &line, rec))
			return 1;
	}
	forget_record(r);
	return rc;
}

/* ---- life ---------------------------------------------------------------- */

int sidecar_reader_open(struct sidecar_reader *r, const char *path, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return lines_open(&r->lines, path, SIDECAR_LINE_MAX, err);
}

int sidecar_reader_open_fd(struct sidecar_reader *r, int fd, const char *name, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return lines_open_fd(&r->lines, fd, name, SIDECAR_LINE_MAX, err);
}

void sidecar_reader_close(struct sidecar_reader *r)
{
	forget_record(r);
	lines_close(&r->lines);
}
