/* SPDX-License-Identifier: MIT */
/*
 * ctf_metadata.c - the metadata text that describes the streams to other tools.
 *
 * The text is TSDL, generated from the tables that writer and reader use.  The corotracer
 * reader does not parse it: the second line names the format, and ctf.h defines that format;
 * the reader searches only the uuid.
 */
#include "trace/ctf_metadata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/ctf.h"
#include "trace/ctf_facts.h"
#include "trace/ctf_forms.h"
#include "base/io.h"

/* ---- strings ------------------------------------------------------------- */

/* Writes valid UTF-8 in quotes for any input; control characters become octal escapes. */
static void ctf_put_string(FILE *f, const char *text)
{
	size_t size = strlen(text), at, len;
	uint32_t cp;

	putc('"', f);
	for (at = 0; at < size; at += len) {
		len = utf8_next(text + at, size - at, &cp);
		if (cp == UTF8_BAD)
			fputs("\xef\xbf\xbd", f);
		else if (cp == '"' || cp == '\\')
			fprintf(f, "\\%c", (char)cp);
		else if (cp < ' ' || cp == 0x7f)
			fprintf(f, "\\%03o", (unsigned)cp);
		else
			fwrite(text + at, 1, len, f);
	}
	putc('"', f);
}

static void put_env(FILE *f, const char *key, const char *value)
{
	if (!value)
		return;
	fprintf(f, "\t%s = ", key);
	ctf_put_string(f, value);
	fputs(";\n", f);
}

static int put_env_command(FILE *f, const struct sidecar_run *run)
{
	char *line = NULL;
	size_t size, i;
	FILE *text = open_memstream(&line, &size);

	if (!text)
		return -ENOMEM;
	for (i = 0; i < run->nr_command; i++)
		fprintf(text, "%s%s", i ? " " : "", run->command[i]);
	if (io_end_memory(text, &line) < 0)
		return -ENOMEM;
	if (run->nr_command)
		put_env(f, "command", line);
	free(line);
	return 0;
}

/* ---- blocks -------------------------------------------------------------- */

static void put_uuid(FILE *f, const uint8_t uuid[16])
{
	int i;

	for (i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := utf8;\n"
	"typealias string { encoding = UTF8; } := text;\n";

static void ctf_put_trace(FILE *f, const uint8_t uuid[16])
{
	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", f);
	put_uuid(f, uuid);
	fputs("\";\n\tbyte_order = le;\n"
	      "\tpacket.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; };\n};\n\n",
	      f);
}

/*
 * Times are CLOCK_MONOTONIC; the offset converts them to times of day.  It is the offset at the
 * start of the run: the trace does not jump if the system time is set during the run.
 */
static void ctf_put_clock(FILE *f, const struct sidecar_run *run)
{
	int64_t offset = (int64_t)(run->start_realtime - run->start_ts);

	if (offset < 0)
		offset = 0;
	fprintf(f,
		"clock {\n\tname = monotonic;\n\tdescription = \"CLOCK_MONOTONIC\";\n"
		"\tfreq = 1000000000;\n\tprecision = 1;\n\toffset_s = %lld;\n\toffset = %lld;\n"
		"\tabsolute = true;\n};\n\n",
		(long long)(offset / 1000000000), (long long)(offset % 1000000000));
	fputs("typealias integer { size = 32; align = 8; signed = false;\n"
	      "\tmap = clock.monotonic.value; } := time32;\n"
	      "typealias integer { size = 64; align = 8; signed = false;\n"
	      "\tmap = clock.monotonic.value; } := time64;\n\n",
	      f);
}

static int put_environment(FILE *f, const struct sidecar_run *run)
{
	int rc;

	fputs("env {\n\ttracer_name = \"corotracer\";\n", f);
	fprintf(f, "\tformat = %d;\n", CTF_FORMAT);
	put_env(f, "tool", run->tool);
	put_env(f, "hostname", run->hostname);
	put_env(f, "arch", run->arch);
	rc = put_env_command(f, run);
	fprintf(f, "\tstart_ts = %llu;\n\tstart_realtime = %llu;\n};\n\n",
		(unsigned long long)run->start_ts, (unsigned long long)run->start_realtime);
	return rc;
}

static void ctf_put_enum(FILE *f, const char *name, const char *(*name_of)(unsigned), unsigned nr)
{
	unsigned i, shown = 0;

	fprintf(f, "typealias enum : u8 {");
	for (i = 0; i < nr; i++) {
		const char *word = name_of(i);

		fprintf(f, "%s \"%s\" = %u", shown++ ? "," : "", word ? word : "unknown", i);
	}
	fprintf(f, " } := %s;\n", name);
}

static const char packet_context[] = "\tpacket.context := struct {\n"
				     "\t\ttime64 timestamp_begin;\n\t\ttime64 timestamp_end;\n"
				     "\t\tu64 content_size;\n\t\tu64 packet_size;\n"
				     "\t\tu64 packet_seq_num;\n\t\tu64 events_discarded;\n"
				     "\t\tu32 lane;\n\t\tu32 pid;\n\t\tu64 tid;\n\t};\n";

static void put_stream(FILE *f, unsigned id, const char *header, const char *event_context)
{
	fprintf(f, "stream {\n\tid = %u;\n%s\tevent.header := struct { %s };\n%s};\n\n", id,
		packet_context, header, event_context);
}

/* ---- events -------------------------------------------------------------- */

/* The texts of the fields become one. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define CTF_METADATA_ROW(id, name, kind, form, more) { id, name, CTF_TEXT_OF(form) more },

static const struct {
	unsigned id;
	const char *name, *fields;
} events[] = {
	/* clang-format off */
	CTF_CHOSEN_EVENTS(CTF_METADATA_ROW)
	CTF_KIND_EVENTS(CTF_METADATA_ROW)
	CTF_METADATA_ROW(CTF_GAP, "gap", 0, gap, "")
	/* clang-format on */
};

static void ctf_put_events(FILE *f)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		fprintf(f,
			"event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %d;\n"
			"\tfields := struct { %s%s};\n};\n\n",
			events[i].name, events[i].id, CTF_STREAM_EVENTS,
			events[i].id >= CTF_FIRST_SIZED ? "u16 size; " : "", events[i].fields);
}

/* ---- facts --------------------------------------------------------------- */

static const char *ctf_type_name(const struct schema_field *f)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_U64:
	case SCHEMA_ID:
	case SCHEMA_ADDR:
		return "u64";
	case SCHEMA_U32:
		return "u32";
	case SCHEMA_INT:
		return "i32";
	case SCHEMA_REASON:
		return "reason_t";
	case SCHEMA_STATE:
		return "state_t";
	case SCHEMA_TEXT:
	case SCHEMA_COMMAND:
		return "text";
	default:
		return "u8";
	}
}

static void ctf_put_fact(FILE *f, unsigned id)
{
	const struct schema_record *r = ctf_fact_record(id);
	const struct schema_field *field = NULL;

	fprintf(f,
		"event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %d;\n"
		"\tfields := struct {",
		r->name, id, CTF_STREAM_FACTS);
	while ((field = schema_next_in_ctf(r, field))) {
		const char *name = field->ctf_name ? field->ctf_name : field->key;

		if (field->type == SCHEMA_COMMAND)
			fprintf(f, " u32 %s_size; text %s[%s_size];", name, name, name);
		else
			fprintf(f, " %s %s;", ctf_type_name(field), name);
	}
	fputs(" };\n};\n\n", f);
}

/* ---- all ----------------------------------------------------------------- */

char *ctf_metadata_text(const uint8_t uuid[16], const struct sidecar_run *run, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	unsigned i;
	int rc;

	if (!f)
		return NULL;
	fprintf(f, CTF_FIRST_LINE CTF_SECOND_LINE "%d */\n\n", CTF_FORMAT);
	fputs(types, f);
	ctf_put_enum(f, "reason_t", trace_reason_name, NR_TRACE_REASONS);
	ctf_put_enum(f, "state_t", trace_state_name, NR_TRACE_STATES);
	putc('\n', f);
	ctf_put_trace(f, uuid);
	ctf_put_clock(f, run);
	rc = put_environment(f, run);
	put_stream(f, CTF_STREAM_EVENTS, "time32 timestamp; u8 id;", "");
	put_stream(f, CTF_STREAM_FACTS, "time64 timestamp; u8 id;",
		   "\tevent.context := struct { u32 size; };\n");
	ctf_put_events(f);
	for (i = 0; i < NR_CTF_FACTS; i++)
		ctf_put_fact(f, i);
	if (io_end_memory(f, &text) < 0 || rc < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- read ---------------------------------------------------------------- */

static const char *ctf_find(const char *text, size_t size, const char *what)
{
	return memmem(text, size, what, strlen(what));
}

enum ctf_whose ctf_metadata_whose(const char *text, size_t size)
{
	static const char head[] = CTF_FIRST_LINE CTF_SECOND_LINE;
	size_t at = strlen(head);
	/* The packetised form of other tracers begins with another magic number. */
	static const unsigned char packetised[] = { 0x57, 0x1d, 0xd1, 0x75 };

	if (size > at + 3 && !memcmp(text, head, at)) {
		if (!memcmp(text + at, "1 */", 4))
			return CTF_OURS;
		return CTF_NEWER;
	}
	if ((size >= 9 && ctf_find(text, size < 64 ? size : 64, "/* CTF ")) ||
	    (size >= 4 &&
	     (!memcmp(text, packetised, 4) || (text[0] == 0x75 && (unsigned char)text[1] == 0xd1))))
		return CTF_OF_OTHERS;
	return CTF_NONE;
}

enum ctf_file ctf_file_of(const char *name)
{
	size_t prefix = strlen(CTF_LANE_PREFIX), size = strlen(name);

	if (!strcmp(name, CTF_METADATA))
		return CTF_FILE_METADATA;
	if (!strcmp(name, CTF_FACTS) || !strcmp(name, CTF_TOTALS))
		return CTF_FILE_FACTS;
	if (!strcmp(name, CTF_STATIONS) || !strcmp(name, CTF_LATE))
		return CTF_FILE_EVENTS;
	if (size > prefix && size < CTF_NAME_SIZE && !strncmp(name, CTF_LANE_PREFIX, prefix) &&
	    strspn(name + prefix, "0123456789") == size - prefix)
		return CTF_FILE_EVENTS;
	return CTF_FILE_STRANGE;
}

static int ctf_nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ctf_metadata_uuid(const char *text, size_t size, uint8_t uuid[16])
{
	static const char key[] = "\tuuid = \"";
	const char *p = ctf_find(text, size, key), *end = text + size;
	int i;

	if (!p)
		return false;
	p += strlen(key);
	for (i = 0; i < 16; i++) {
		if (p < end && *p == '-')
			p++;
		if (end - p < 2 || ctf_nibble(p[0]) < 0 || ctf_nibble(p[1]) < 0)
			return false;
		uuid[i] = (uint8_t)(ctf_nibble(p[0]) << 4 | ctf_nibble(p[1]));
		p += 2;
	}
	return true;
}
