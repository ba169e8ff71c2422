/* SPDX-License-Identifier: MIT */
/* raw_sidecar.c - FILE.meta of a raw trace: the facts that raw records cannot store. */
#include "memory/format/raw_sidecar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "base/json_writer.h"
#include "base/memory_shortage.h"
#include "base/output_file.h"

#define SIDECAR_MAX (64u << 20) /* bytes; a longer one is not read */

/* ---- reading ------------------------------------------------------------- */

static uint64_t sidecar_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

static uint32_t sidecar_number32(const json_t *object, const char *key)
{
	uint64_t v = sidecar_number(object, key);

	return v > UINT32_MAX ? 0 : (uint32_t)v;
}

/* Addresses and ids need all 64 bits: they are stored as strings. */
static uint64_t sidecar_wide(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strtoull(text, NULL, 0) : sidecar_number(object, key);
}

static int sidecar_text(const json_t *object, const char *key, char **where)
{
	const char *value = json_string_value(json_object_get(object, key));
	char *copy;

	if (!value)
		return 0;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(*where);
	*where = copy;
	return 0;
}

static int sidecar_command(const json_t *root, struct mem_facts *f)
{
	const json_t *words = json_object_get(root, "command"), *word;
	size_t i, size = 0;
	char *at;

	json_array_foreach (words, i, word)
		size += json_string_length(word) + 1;
	if (!size)
		return 0;
	free(f->command);
	at = f->command = malloc(size + 1);
	if (!at)
		return -ENOMEM;
	json_array_foreach (words, i, word) {
		size_t len = json_string_length(word);

		if (len)
			memcpy(at, json_string_value(word), len);
		at[len] = '\0';
		at += len + 1;
	}
	*at = '\0';
	f->command_size = size;
	return 0;
}

static int sidecar_threads(const json_t *root, struct mem_facts *f)
{
	const json_t *entry;
	size_t i;
	int ret = 0;

	json_array_foreach (json_object_get(root, "threads"), i, entry) {
		struct cray_thread t = {
			.number = sidecar_number32(entry, "number"),
			.id = sidecar_wide(entry, "id"),
			.start_ns = sidecar_number(entry, "start_ns"),
			.end_ns = sidecar_number(entry, "end_ns"),
		};

		if (ret == 0)
			ret = mem_facts_set_thread(
				f, &t, json_string_value(json_object_get(entry, "name")));
	}
	return ret < 0 ? ret : mem_facts_know_ids(f);
}

static void sidecar_build_id(const json_t *entry, struct cray_module *m)
{
	const char *hex = json_string_value(json_object_get(entry, "build_id"));
	unsigned byte;

	while (hex && m->build_id_size < sizeof(m->build_id) && sscanf(hex, "%2x", &byte) == 1 &&
	       strlen(hex) >= 2) {
		m->build_id[m->build_id_size++] = (uint8_t)byte;
		hex += 2;
	}
}

static int sidecar_modules(const json_t *root, struct mem_facts *f)
{
	const json_t *entry;
	size_t i;
	int ret = 0;

	json_array_foreach (json_object_get(root, "modules"), i, entry) {
		const char *path = json_string_value(json_object_get(entry, "path"));
		struct cray_module m = {
			.bias = sidecar_wide(entry, "bias"),
			.start = sidecar_wide(entry, "start"),
			.end = sidecar_wide(entry, "end"),
			.order = sidecar_number(entry, "order"),
			.time_ns = sidecar_number(entry, "time_ns"),
			.gone = json_is_true(json_object_get(entry, "gone")),
		};

		sidecar_build_id(entry, &m);
		if (ret == 0)
			ret = mem_facts_add_module(f, &m, path ? path : "");
	}
	return ret;
}

static int sidecar_losses(const json_t *root, struct mem_facts *f)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(root, "missing"), i, entry) {
		uint64_t cause = sidecar_number(entry, "cause");

		if (json_object_get(entry, "count"))
			f->lost[cause < MEM_CAUSES ? cause : 0] = sidecar_number(entry, "count");
		f->lost_unknown |= json_is_true(json_object_get(entry, "unknown"));
	}
	return 0;
}

static int sidecar_notes(const json_t *root, struct mem_facts *f)
{
	const json_t *entry;
	size_t i;
	int ret = 0;

	json_array_foreach (json_object_get(root, "notes"), i, entry) {
		if (ret == 0 && json_is_string(entry))
			ret = mem_facts_add_note(f, json_string_value(entry),
						 json_string_length(entry));
	}
	return ret;
}

static int sidecar_take(const json_t *root, struct mem_facts *f)
{
	f->pid = sidecar_number(root, "pid");
	f->parent = sidecar_number(root, "parent");
	f->line_size = sidecar_number(root, "line_size");
	f->page_size = sidecar_number(root, "page_size");
	f->start_ns = sidecar_number(root, "start_ns");
	f->start_wall_ns = sidecar_number(root, "start_wall_ns");
	if (sidecar_text(root, "exe", &f->exe) < 0 || sidecar_text(root, "cwd", &f->cwd) < 0 ||
	    sidecar_text(root, "machine", &f->machine) < 0 ||
	    sidecar_text(root, "writer", &f->writer) < 0 ||
	    sidecar_text(root, "options", &f->options) < 0 || sidecar_command(root, f) < 0 ||
	    sidecar_threads(root, f) < 0 || sidecar_modules(root, f) < 0 ||
	    sidecar_losses(root, f) < 0 || sidecar_notes(root, f) < 0)
		return -ENOMEM;
	return 0;
}

static char *whole_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *data = NULL;
	size_t got;

	*size = 0;
	if (!file)
		return NULL;
	for (got = 1; got > 0 && *size < SIDECAR_MAX;) {
		char *more = realloc(data, *size + 65536);

		if (!more) {
			memory_shortage_note();
			break;
		}
		data = more;
		got = fread(data + *size, 1, 65536, file);
		*size += got;
	}
	if (ferror(file))
		memory_shortage_note();
	fclose(file);
	return data;
}

void sidecar_read(const char *path, struct mem_facts *facts, struct mem_faults *faults)
{
	json_error_t why;
	json_t *root;
	char *name, *data;
	size_t size;
	int rc;

	if (asprintf(&name, "%s.meta", path) < 0)
		return;
	data = whole_file(name, &size);
	free(name);
	if (!data)
		return;
	root = json_parse(data, size, 0, &why, &rc);
	if (rc == -ENOMEM)
		mem_fault_add(faults, MEM_FAULT_DAMAGE, 0,
			      "the sidecar %s.meta is left out: no memory to parse it", path);
	else if (!json_is_object(root))
		mem_fault_add(faults, MEM_FAULT_DAMAGE, root ? 0 : (uint64_t)why.position,
			      "the sidecar %s.meta is left out: %s", path,
			      root ? "it is no JSON object" : why.text);
	else if (strcmp(json_string_value(json_object_get(root, "byte_order"))
				? json_string_value(json_object_get(root, "byte_order"))
				: "little",
			"little") != 0)
		mem_fault_add(faults, MEM_FAULT_DAMAGE, 0,
			      "the sidecar says that the trace is in another byte order");
	else if (sidecar_take(root, facts) < 0)
		mem_fault_add(faults, MEM_FAULT_DAMAGE, 0,
			      "the sidecar has more than memory, or a trace, can hold");
	json_decref(root);
	free(data);
}

/* ---- writing ------------------------------------------------------------- */

static void field_wide(struct json_writer *w, const char *key, uint64_t value)
{
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)value);
	jw_field_string(w, key, hex);
}

static void field_text(struct json_writer *w, const char *key, const char *value)
{
	if (value)
		jw_field_string(w, key, value);
}

static void field_number(struct json_writer *w, const char *key, uint64_t value)
{
	if (value)
		jw_field_u64(w, key, value);
}

static void write_process(struct json_writer *w, const struct mem_facts *f)
{
	size_t i;

	field_number(w, "pid", f->pid);
	field_number(w, "parent", f->parent);
	field_text(w, "exe", f->exe);
	field_text(w, "cwd", f->cwd);
	field_text(w, "machine", f->machine);
	field_text(w, "writer", f->writer);
	field_text(w, "options", f->options);
	field_number(w, "line_size", f->line_size);
	field_number(w, "page_size", f->page_size);
	field_number(w, "start_ns", f->start_ns);
	field_number(w, "start_wall_ns", f->start_wall_ns);
	jw_key(w, "command");
	jw_array_begin(w);
	for (i = 0; i < f->command_size; i += strlen(f->command + i) + 1)
		jw_string(w, f->command + i);
	jw_array_end(w);
	jw_key(w, "notes");
	jw_array_begin(w);
	for (i = 0; i < f->nr_notes; i++)
		jw_string(w, f->notes[i]);
	jw_array_end(w);
}

static void write_threads(struct json_writer *w, const struct mem_facts *f)
{
	size_t i;

	jw_key(w, "threads");
	jw_array_begin(w);
	for (i = 0; i < f->nr_threads; i++) {
		const struct mem_thread *t = &f->threads[i];

		jw_object_begin(w);
		jw_field_u64(w, "number", t->number);
		field_wide(w, "id", t->id);
		field_text(w, "name", t->name);
		field_number(w, "start_ns", t->start_ns);
		field_number(w, "end_ns", t->end_ns);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void write_modules(struct json_writer *w, const struct mem_facts *f)
{
	size_t i, k;

	jw_key(w, "modules");
	jw_array_begin(w);
	for (i = 0; i < f->nr_modules; i++) {
		const struct cray_module *m = &f->modules[i].m;
		char hex[2 * sizeof(m->build_id) + 1] = "";

		for (k = 0; k < m->build_id_size; k++)
			snprintf(hex + 2 * k, 3, "%02x", m->build_id[k]);
		jw_object_begin(w);
		jw_field_string(w, "path", f->modules[i].path);
		field_wide(w, "bias", m->bias);
		field_wide(w, "start", m->start);
		field_wide(w, "end", m->end);
		jw_field_string(w, "build_id", hex);
		field_number(w, "order", m->order);
		field_number(w, "time_ns", m->time_ns);
		if (m->gone)
			jw_field_bool(w, "gone", true);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void write_losses(struct json_writer *w, const struct mem_facts *f)
{
	uint32_t i;

	jw_key(w, "missing");
	jw_array_begin(w);
	if (f->lost_unknown) {
		jw_object_begin(w);
		jw_field_bool(w, "unknown", true);
		jw_object_end(w);
	}
	for (i = 0; i < MEM_CAUSES; i++) {
		if (!f->lost[i])
			continue;
		jw_object_begin(w);
		jw_field_u64(w, "cause", i);
		jw_field_string(w, "why", mem_cause_name(i));
		jw_field_u64(w, "count", f->lost[i]);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void write_missing(struct json_writer *w, const struct sidecar_missing *m)
{
	jw_key(w, "not_in_raw");
	jw_object_begin(w);
	jw_field_u64(w, "code_addresses", m->pcs);
	jw_field_u64(w, "attributes", m->attrs);
	jw_field_u64(w, "marks", m->marks);
	jw_field_u64(w, "coroutines", m->coroutines);
	jw_field_u64(w, "allocations", m->allocations);
	jw_field_u64(w, "calls", m->calls);
	jw_field_u64(w, "gaps", m->gaps);
	jw_field_u64(w, "lost_in_gaps", m->lost);
	jw_field_u64(w, "left_out_in_gaps", m->left_out);
	jw_object_end(w);
}

static void write_facts(FILE *file, const struct mem_facts *facts,
			const struct sidecar_missing *missing)
{
	struct json_writer w;

	jw_init_file(&w, file);
	jw_object_begin(&w);
	jw_field_string(&w, "format", "cacheray-raw");
	jw_field_u64(&w, "version", 1);
	jw_field_string(&w, "byte_order", "little");
	jw_field_u64(&w, "pointer", 8);
	write_process(&w, facts);
	write_threads(&w, facts);
	write_modules(&w, facts);
	write_losses(&w, facts);
	write_missing(&w, missing);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

int sidecar_write(const char *path, const struct mem_facts *facts,
		  const struct sidecar_missing *missing, struct err *err)
{
	struct outfile out;
	char *name;
	FILE *file;
	int ret;

	if (asprintf(&name, "%s.meta", path) < 0)
		return err_set(err, -ENOMEM, "no memory for a file name");
	ret = outfile_open(&out, name, err);
	free(name);
	if (ret < 0)
		return ret;
	file = outfile_stream(&out, err);
	if (!file) {
		outfile_close(&out);
		return err->code;
	}
	write_facts(file, facts, missing);
	outfile_end_stream(&out, file);
	ret = outfile_commit(&out, err);
	outfile_close(&out);
	return ret;
}
