/* SPDX-License-Identifier: MIT */
/*
 * sidecar_reader.c - read the sidecar of a trace.
 *
 * Trust
 *   The input is not trusted: the file may be written by a newer tool, damaged, or forged.
 *   A table describes the fields of a record; a field that is missing or has another type
 *   keeps its default, and the rest of the record is used.
 */
#include "trace/sidecar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "trace/json_line.h"

/* ---- fields -------------------------------------------------------------- */

enum sidecar_kind {
	KIND_U64,
	KIND_U32,
	KIND_INT,
	KIND_BOOL,
	KIND_STRING,
	KIND_COMMAND,
	KIND_REASON,
	KIND_STATE,
	KIND_RESOURCE, /* of an event: sets TRACE_HAS_RESOURCE */
	KIND_WAITED,   /* of a coroutine: sets has_resource */
	KIND_NAME,     /* of an event: with its size */
	KIND_FLAG,
};

struct field {
	const char *key;
	size_t offset; /* in struct trace_item */
	enum sidecar_kind kind;
	uint8_t flag;
};

#define FIELD(key, member, kind)                                  \
	{                                                         \
		key, offsetof(struct trace_item, member), kind, 0 \
	}
#define FLAG(key, flag)                                                        \
	{                                                                      \
		key, offsetof(struct trace_item, event.flags), KIND_FLAG, flag \
	}
#define END                          \
	{                            \
		NULL, 0, KIND_U64, 0 \
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

static const struct field module_fields[] = {
	FIELD("pid", module.pid, KIND_U64),
	FIELD("start", module.start, KIND_U64),
	FIELD("end", module.end, KIND_U64),
	FIELD("offset", module.offset, KIND_U64),
	FIELD("path", module.path, KIND_STRING),
	FIELD("build_id", module.build_id, KIND_STRING),
	END,
};

static const struct field cpu_fields[] = {
	FIELD("pid", cpu.pid, KIND_U64),
	FIELD("tid", cpu.tid, KIND_U64),
	FIELD("from_ts", cpu.from_ts, KIND_U64),
	FIELD("to_ts", cpu.to_ts, KIND_U64),
	FIELD("cpu_ns", cpu.cpu_ns, KIND_U64),
	FIELD("queued_ns", cpu.queued_ns, KIND_U64),
	FIELD("state", cpu.state, KIND_STRING),
	FIELD("call", cpu.call, KIND_STRING),
	END,
};

static const struct field descriptor_fields[] = {
	FIELD("pid", descriptor.pid, KIND_U64),
	FIELD("probe_id", descriptor.probe_id, KIND_U64),
	FIELD("fd", descriptor.fd, KIND_U64),
	FIELD("from_ts", descriptor.from_ts, KIND_U64),
	FIELD("to_ts", descriptor.to_ts, KIND_U64),
	FIELD("unread", descriptor.unread, KIND_U64),
	FIELD("kind", descriptor.kind, KIND_STRING),
	FIELD("ready", descriptor.ready, KIND_STRING),
	FIELD("watch", descriptor.watch, KIND_STRING),
	END,
};

static const struct field site_fields[] = {
	FIELD("id", site.id, KIND_U32),     FIELD("file", site.file, KIND_STRING),
	FIELD("line", site.line, KIND_U32), FIELD("function", site.function, KIND_STRING),
	FIELD("pid", site.pid, KIND_U32),   END,
};

static const struct field event_fields[] = {
	FIELD("ts", event.ts, KIND_U64),
	FIELD("probe_id", event.probe_id, KIND_U64),
	FIELD("tid", event.tid, KIND_U64),
	FIELD("addr", event.addr, KIND_U64),
	FIELD("seq", event.seq, KIND_U64),
	FIELD("station", event.station, KIND_U32),
	FIELD("site", event.site, KIND_U32),
	FIELD("reason", event.reason, KIND_REASON),
	FIELD("resource", event.resource, KIND_RESOURCE),
	FIELD("parent", event.peer, KIND_U64),
	FIELD("waker", event.peer, KIND_U64),
	FIELD("seen", event.seen, KIND_U32),
	FIELD("pid", event.pid, KIND_U32),
	FIELD("written", event.written, KIND_U64),
	FIELD("lost", event.lost, KIND_U64),
	FLAG("destroyed", TRACE_DESTROYED),
	FLAG("was_suspended", TRACE_WAS_SUSPENDED),
	FLAG("cancelled", TRACE_CANCELLED),
	FIELD("name", event.name, KIND_NAME),
	FLAG("name_truncated", TRACE_NAME_CUT),
	END,
};

static const struct field gap_fields[] = {
	FIELD("from_ts", gap.from_ts, KIND_U64), FIELD("to_ts", gap.to_ts, KIND_U64),
	FIELD("lane", gap.lane, KIND_U32),       FIELD("pid", gap.pid, KIND_U32),
	FIELD("tid", gap.tid, KIND_U64),         FIELD("transitions", gap.transitions, KIND_U64),
	FIELD("others", gap.others, KIND_U64),   END,
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
	FIELD("parent", coroutine.parent, KIND_U64),
	FIELD("birth_site", coroutine.birth_site, KIND_U32),
	FIELD("state", coroutine.state, KIND_STATE),
	FIELD("since_ts", coroutine.since_ts, KIND_U64),
	FIELD("addr", coroutine.addr, KIND_U64),
	FIELD("site", coroutine.site, KIND_U32),
	FIELD("reason", coroutine.reason, KIND_REASON),
	FIELD("resource", coroutine.resource, KIND_WAITED),
	END,
};

static const struct field totals_fields[] = {
	FIELD("complete", totals.complete, KIND_BOOL),
	FIELD("written", totals.written, KIND_U64),
	FIELD("collected", totals.collected, KIND_U64),
	FIELD("lost", totals.lost, KIND_U64),
	FIELD("lost_overwritten", totals.lost_overwritten, KIND_U64),
	FIELD("lost_full", totals.lost_full, KIND_U64),
	FIELD("lost_output", totals.lost_output, KIND_U64),
	FIELD("garbage", totals.garbage, KIND_U64),
	FIELD("unfinished", totals.unfinished, KIND_U64),
	FIELD("coroutines", totals.coroutines, KIND_U64),
	FIELD("without_station", totals.without_station, KIND_U64),
	FIELD("others_written", totals.others_written, KIND_U64),
	FIELD("others_collected", totals.others_collected, KIND_U64),
	FIELD("others_lost", totals.others_lost, KIND_U64),
	FIELD("forgotten", totals.forgotten, KIND_U64),
	FIELD("others_forgotten", totals.others_forgotten, KIND_U64),
	FIELD("waits", totals.waits, KIND_U64),
	FIELD("wait_ns", totals.wait_ns, KIND_U64),
	FIELD("exit_status", totals.exit_status, KIND_INT),
	FIELD("signal", totals.signal, KIND_INT),
	FIELD("end_ts", totals.end_ts, KIND_U64),
	END,
};

struct sidecar_type {
	const char *name;
	enum trace_item_type type;
	uint8_t kind; /* of an event */
	const struct field *fields;
};

/* The frequent types first. */
static const struct sidecar_type types[] = {
	{ "wake", TRACE_ITEM_EVENT, TRACE_WAKE, event_fields },
	{ "birth", TRACE_ITEM_EVENT, TRACE_BIRTH, event_fields },
	{ "end", TRACE_ITEM_EVENT, TRACE_END, event_fields },
	{ "destroy", TRACE_ITEM_EVENT, TRACE_DESTROY, event_fields },
	{ "close", TRACE_ITEM_EVENT, TRACE_CLOSE, event_fields },
	{ "acquire", TRACE_ITEM_EVENT, TRACE_ACQUIRE, event_fields },
	{ "release", TRACE_ITEM_EVENT, TRACE_RELEASE, event_fields },
	{ "coroutine", TRACE_ITEM_COROUTINE, 0, coroutine_fields },
	{ "site", TRACE_ITEM_SITE, 0, site_fields },
	{ "gap", TRACE_ITEM_GAP, 0, gap_fields },
	{ "cpu", TRACE_ITEM_CPU, 0, cpu_fields },
	{ "descriptor", TRACE_ITEM_DESCRIPTOR, 0, descriptor_fields },
	{ "process", TRACE_ITEM_PROCESS, 0, process_fields },
	{ "module", TRACE_ITEM_MODULE, 0, module_fields },
	{ "run", TRACE_ITEM_RUN, 0, run_fields },
	{ "totals", TRACE_ITEM_TOTALS, 0, totals_fields },
};

/* The words of the command line; a word that is not a string becomes an empty one. */
static bool get_command(struct sidecar_reader *r, const json_t *value, struct trace_item *item)
{
	size_t i, nr = json_array_size(value);

	if (!json_is_array(value))
		return false;
	r->command = calloc(nr + 1, sizeof(*r->command));
	if (!r->command) {
		r->no_memory = true;
		return false;
	}
	for (i = 0; i < nr; i++) {
		const char *word = json_string_value(json_array_get(value, i));

		r->command[i] = word ? word : "";
	}
	item->run.command = r->command;
	item->run.nr_command = nr;
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

static bool sidecar_get_u32(const json_t *value, uint32_t *out)
{
	uint64_t number;

	if (!json_u64(value, &number) || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

/* By name, or by number if its writer is newer and has more reasons. */
static bool get_reason(const json_t *value, uint8_t *out)
{
	const char *name = json_string_value(value);
	uint64_t number = 0;
	int known = name ? trace_reason_from_name(name) : -1;

	if (known < 0 && (name || !json_u64(value, &number) || number > UINT8_MAX))
		return false;
	*out = (uint8_t)(known < 0 ? number : (uint64_t)known);
	return true;
}

static bool sidecar_get_state(const json_t *value, uint8_t *out)
{
	const char *name = json_string_value(value);

	*out = name ? trace_state_from_name(name) : TRACE_STATE_UNKNOWN;
	return *out != TRACE_STATE_UNKNOWN;
}

static bool sidecar_get_name(const json_t *value, struct trace_event *ev)
{
	size_t size = json_string_length(value);

	if (!json_is_string(value) || size > UINT32_MAX)
		return false;
	ev->name = json_string_value(value);
	ev->name_size = (uint32_t)size;
	return true;
}

static bool get_flag(const json_t *value, uint8_t flag, uint8_t *out)
{
	if (json_is_true(value))
		*out |= flag;
	return json_is_boolean(value);
}

/* False: the value has the wrong type and the field counts as missing. */
static bool get_field(struct sidecar_reader *r, const struct field *f, const json_t *value,
		      struct trace_item *item)
{
	void *out = (char *)item + f->offset;

	switch (f->kind) {
	case KIND_U64:
		return json_u64(value, out);
	case KIND_U32:
		return sidecar_get_u32(value, out);
	case KIND_INT:
		return get_int(value, out);
	case KIND_BOOL:
		*(bool *)out = json_is_true(value);
		return json_is_boolean(value);
	case KIND_STRING:
		*(const char **)out = json_string_value(value); /* NULL if it is not a string */
		return json_is_string(value);
	case KIND_COMMAND:
		return get_command(r, value, item);
	case KIND_REASON:
		return get_reason(value, out);
	case KIND_STATE:
		return sidecar_get_state(value, out);
	case KIND_RESOURCE:
		if (!json_u64(value, out))
			return false;
		item->event.flags |= TRACE_HAS_RESOURCE;
		return true;
	case KIND_WAITED:
		item->coroutine.has_resource = json_u64(value, out);
		return item->coroutine.has_resource;
	case KIND_NAME:
		return sidecar_get_name(value, &item->event);
	case KIND_FLAG:
		return get_flag(value, f->flag, out);
	}
	return false;
}

static void sidecar_get_item(struct sidecar_reader *r, const json_t *object,
			     const struct sidecar_type *type, struct trace_item *item)
{
	const struct field *f;
	size_t known = 1; /* the type */

	for (f = type->fields; f->key; f++) {
		const json_t *value = json_object_get(object, f->key);

		if (!value)
			continue;
		known++;
		if (!json_is_null(value) && !get_field(r, f, value, item))
			r->stats.bad_fields++;
	}
	r->stats.unknown_keys += json_object_size(object) - known;
}

/* ---- our own form -------------------------------------------------------- */

/*
 * Events may be as many as transitions, so events in the form of sidecar_writer.c are read
 * without a tree: a flat object, members in the order of the table, names without escapes.
 * Other lines take the general path.  Every line ends with a newline followed by slack, so no
 * step checks for the end of the line.
 */
static const char head[] = "{\"type\":\"";

/* Returns the type of the line, and in *@behind the text after it; NULL: needs the general path. */
static const struct sidecar_type *type_of_ours(const struct line *line, const char **behind)
{
	const char *p = line->text;
	size_t i;

	if (line->too_long || line->size < sizeof(head) || memcmp(p, head, sizeof(head) - 1) != 0)
		return NULL;
	p += sizeof(head) - 1;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t size = strlen(types[i].name);

		if (!strncmp(p, types[i].name, size) && p[size] == '"') {
			*behind = p + size + 1;
			return &types[i];
		}
	}
	return NULL;
}

/* Returns the position after ,"key": if it is at @p; NULL otherwise. */
static const char *past_key(const char *p, const char *key)
{
	size_t size = strlen(key);

	if (p[0] != ',' || p[1] != '"' || strncmp(p + 2, key, size) != 0 || p[size + 2] != '"' ||
	    p[size + 3] != ':')
		return NULL;
	return p + size + 4;
}

static const char *scan_number(const char *p, uint64_t max, uint64_t *out)
{
	bool is_hex = !strncmp(p, "\"0x", 3);

	p = is_hex ? scan_hex16(p + 3, out) : scan_u64(p, out);
	if (!p || *out > max || (is_hex && *p != '"'))
		return NULL;
	return p + is_hex;
}

/* A string without escapes. */
static const char *scan_plain(const char *p, const char **text, size_t *size)
{
	if (*p++ != '"')
		return NULL;
	*text = p;
	while (*p != '"') {
		unsigned char c = (unsigned char)*p++;

		if (c < ' ' || c >= 0x7f || c == '\\')
			return NULL;
	}
	*size = (size_t)(p - *text);
	return p + 1;
}

static const char *scan_reason(const char *p, uint8_t *out)
{
	char name[16];
	const char *text;
	uint64_t number;
	size_t size;
	int known;

	if (*p != '"') {
		p = scan_number(p, UINT8_MAX, &number);
		*out = p ? (uint8_t)number : 0;
		return p;
	}
	p = scan_plain(p, &text, &size);
	if (!p || size >= sizeof(name))
		return NULL;
	memcpy(name, text, size);
	name[size] = '\0';
	known = trace_reason_from_name(name);
	*out = known < 0 ? 0 : (uint8_t)known;
	return known < 0 ? NULL : p;
}

static const char *scan_name(const char *p, struct trace_event *ev)
{
	size_t size = 0;

	p = scan_plain(p, &ev->name, &size);
	ev->name_size = (uint32_t)size; /* a line is shorter than 2^32 bytes */
	return p;
}

static const char *scan_field(const char *p, const struct field *f, struct trace_item *item)
{
	void *out = (char *)item + f->offset;
	uint64_t number;

	switch (f->kind) {
	case KIND_U64:
		return scan_number(p, UINT64_MAX, out);
	case KIND_U32:
		p = scan_number(p, UINT32_MAX, &number);
		if (p)
			*(uint32_t *)out = (uint32_t)number;
		return p;
	case KIND_RESOURCE:
		item->event.flags |= TRACE_HAS_RESOURCE;
		return scan_number(p, UINT64_MAX, out);
	case KIND_REASON:
		return scan_reason(p, out);
	case KIND_NAME:
		return scan_name(p, &item->event);
	case KIND_FLAG:
		item->event.flags |= f->flag;
		return strncmp(p, "true", 4) != 0 ? NULL : p + 4;
	default:
		return NULL; /* not used in events */
	}
}

/* False: the line has another form, and *@item is undefined. */
static bool sidecar_parse_ours(const struct line *line, const char *p, struct trace_event *ev,
			       struct trace_item *item)
{
	const struct field *f;

	trace_event_init(ev);
	for (f = event_fields; f->key; f++) {
		const char *value = past_key(p, f->key);

		if (!value)
			continue;
		p = scan_field(value, f, item);
		if (!p)
			return false;
	}
	return *p == '}' && p + 1 == line->text + line->size;
}

/* ---- lines --------------------------------------------------------------- */

static const struct sidecar_type *sidecar_find_type(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(types[i].name, name))
			return &types[i];
	}
	return NULL;
}

static void forget_item(struct sidecar_reader *r)
{
	json_decref(r->object);
	r->object = NULL;
	free(r->command);
	r->command = NULL;
}

/* Reserved for the totals; not counted as unknown. */
static bool is_room(const char *name)
{
	return !strcmp(name, "room");
}

static bool sidecar_is_wanted(const struct sidecar_reader *r, const struct sidecar_type *type)
{
	return !r->wanted || r->wanted & 1u << type->type;
}

/* True: the line is an item, stored in *@item. */
static bool parse_any(struct sidecar_reader *r, const struct line *line, bool has_begun,
		      struct trace_item *item)
{
	const struct sidecar_type *type;
	const char *name;
	int rc = 0;

	r->object = line->too_long ? NULL : json_line_parse(line->text, line->size, &rc);
	r->no_memory = rc == -ENOMEM;
	if (r->no_memory)
		return false;
	name = json_string_value(json_object_get(r->object, "type"));
	if (!name) {
		r->stats.garbage++;
		r->stats.damaged += has_begun;
		return false;
	}
	type = sidecar_find_type(name);
	if (!type) {
		r->stats.unknown_types += !is_room(name);
		return false;
	}
	if (!sidecar_is_wanted(r, type))
		return false;
	trace_item_init(item, type->type);
	if (type->type == TRACE_ITEM_EVENT)
		item->event.kind = type->kind;
	sidecar_get_item(r, r->object, type, item);
	return true;
}

static bool sidecar_parse(struct sidecar_reader *r, const struct line *line,
			  struct trace_item *item)
{
	const char *behind;
	const struct sidecar_type *type = type_of_ours(line, &behind);

	if (type && !sidecar_is_wanted(r, type))
		return false;
	if (type && type->type == TRACE_ITEM_EVENT &&
	    sidecar_parse_ours(line, behind, &item->event, item)) {
		item->type = TRACE_ITEM_EVENT;
		item->event.kind = type->kind;
		return true;
	}
	return parse_any(r, line, type != NULL, item);
}

int sidecar_next(struct sidecar_reader *r, struct trace_item *item, struct err *err)
{
	struct line line;
	bool is_item;
	int rc;

	while ((rc = lines_next(&r->lines, &line, err)) > 0) {
		if (r->object)
			forget_item(r);
		r->stats.lines++;
		if (line_is_blank(&line))
			continue;
		is_item = sidecar_parse(r, &line, item);
		if (r->no_memory)
			return err_set(err, -ENOMEM, "no memory to parse line %" PRIu64 " of '%s'",
				       r->stats.lines, r->lines.name);
		if (is_item) {
			r->stats.records++;
			return 1;
		}
	}
	forget_item(r);
	return rc;
}

/* ---- open and close ------------------------------------------------------ */

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
	forget_item(r);
	lines_close(&r->lines);
}

/* ---- one that grows --------------------------------------------------------- */

static bool sidecar_begins(const char *line, const char *type)
{
	return !strncmp(line, head, sizeof(head) - 1) &&
	       !strncmp(line + sizeof(head) - 1, type, strlen(type));
}

bool sidecar_final_end(int fd, uint64_t *end)
{
	char tail[SIDECAR_ROOM_SIZE + 1] = "";
	const char *last;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < SIDECAR_ROOM_SIZE ||
	    pread(fd, tail, SIDECAR_ROOM_SIZE, st.st_size - SIDECAR_ROOM_SIZE) !=
		    SIDECAR_ROOM_SIZE ||
	    tail[SIDECAR_ROOM_SIZE - 1] != '\n')
		return false;
	*end = (uint64_t)st.st_size - SIDECAR_ROOM_SIZE;
	if (sidecar_begins(tail, "room\""))
		return true;
	/* The totals have replaced the room: the file is complete. */
	last = memrchr(tail, '\n', SIDECAR_ROOM_SIZE - 1);
	*end = (uint64_t)st.st_size;
	return last && sidecar_begins(last + 1, "totals\"");
}
