/* SPDX-License-Identifier: MIT */
/*
 * report_sarif.c - the report for code scanning, as SARIF 2.1.0.
 *
 * Files are relative to the source root, so that a checkout elsewhere finds them.  A fingerprint is
 * made of detector, file name, function and kind of coroutine: it survives edits that move lines.
 * Groups with the same fingerprint are numbered in the order of their lines.
 */
#include <corotracer/version.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/report.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/io.h"

#define SARIF_BASE  "SRCROOT"
#define SARIF_NAMES 20

/* ---- texts ------------------------------------------------------------------ */

/* "key": { "text": ... }; viewers show the text unchanged, so it must be safe. */
static void sarif_message(struct json_writer *j, const char *key, const char *text)
{
	size_t size = 6 * strlen(text) + 1;
	char *safe = malloc(size);

	jw_key(j, key);
	jw_object_begin(j);
	jw_field_string(j, "text", safe ? text_safe(text, safe, size) : "");
	jw_object_end(j);
	free(safe);
}

/* ---- files ------------------------------------------------------------------ */

/* The part of @file below the source root; NULL: it is elsewhere. */
static const char *sarif_below_root(const struct report *r, const char *file)
{
	size_t size = r->source_root ? strlen(r->source_root) : 0;

	if (file[0] != '/') {
		/* Relative to the folder of the build, which is usually below the root. */
		while (!strncmp(file, "../", 3) || !strncmp(file, "./", 2))
			file = strchr(file, '/') + 1;
		return file;
	}
	if (!size || strncmp(file, r->source_root, size) != 0 || file[size] != '/')
		return NULL;
	return file + size + 1;
}

/* Percent-encode everything that is not allowed in the path of a URI. */
static void sarif_encode(const char *prefix, const char *path, char *buf, size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._~/!$&'()*+,;=@";
	size_t used = (size_t)snprintf(buf, size, "%s", prefix);

	for (; *path && used + 4 < size; path++) {
		if (strchr(allowed, *path))
			buf[used++] = *path;
		else
			used += (size_t)snprintf(buf + used, 4, "%%%02X", (unsigned char)*path);
	}
	buf[used] = '\0';
}

static void sarif_artifact(struct json_writer *j, const struct report *r, const char *file)
{
	char uri[3 * SITE_NAME_SIZE + 8];
	struct site_names names;
	const char *below;

	site_names_of(&names, file, NULL);
	below = sarif_below_root(r, names.file);
	sarif_encode(below ? "" : "file://", below ? below : names.file, uri, sizeof(uri));
	jw_key(j, "artifactLocation");
	jw_object_begin(j);
	jw_field_string(j, "uri", uri);
	if (below)
		jw_field_string(j, "uriBaseId", SARIF_BASE);
	jw_object_end(j);
}

static void sarif_bases(struct json_writer *j, const struct report *r)
{
	char uri[3 * SITE_NAME_SIZE + 8];
	size_t size;

	jw_key(j, "originalUriBaseIds");
	jw_object_begin(j);
	jw_key(j, SARIF_BASE);
	jw_object_begin(j);
	if (r->source_root) {
		sarif_encode("file://", r->source_root, uri, sizeof(uri) - 1);
		size = strlen(uri);
		if (uri[size - 1] != '/')
			snprintf(uri + size, sizeof(uri) - size, "/");
		jw_field_string(j, "uri", uri);
	}
	sarif_message(j, "description", "The root of the source tree");
	jw_object_end(j);
	jw_object_end(j);
}

/* The members of a location object. */
static void sarif_location(struct json_writer *j, const struct report *r,
			   const struct report_place *where)
{
	char safe[6 * sizeof(where->text)];

	if (where->file) {
		jw_key(j, "physicalLocation");
		jw_object_begin(j);
		sarif_artifact(j, r, where->file);
		jw_key(j, "region");
		jw_object_begin(j);
		jw_field_u64(j, "startLine", where->line ? where->line : 1);
		jw_object_end(j);
		jw_object_end(j);
	}
	jw_key(j, "logicalLocations");
	jw_array_begin(j);
	jw_object_begin(j);
	jw_field_string(j, "fullyQualifiedName",
			text_safe(where->function ? where->function : where->text, safe,
				  sizeof(safe)));
	if (where->function)
		jw_field_string(j, "kind", "function");
	jw_object_end(j);
	jw_array_end(j);
}

/* ---- fingerprints ----------------------------------------------------------- */

struct sarif_mark {
	uint64_t hash;
	uint32_t line;
	const struct group *group; /* NULL: not shown */
};

static uint64_t sarif_hash(uint64_t hash, const char *text)
{
	/* FNV-1a; the terminating zero separates the parts. */
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++);
	return hash;
}

static uint64_t sarif_hash_place(uint64_t hash, const struct report_place *where)
{
	const char *slash = where->file ? strrchr(where->file, '/') : NULL;

	if (where->file)
		hash = sarif_hash(hash, slash ? slash + 1 : where->file);
	return sarif_hash(hash, where->function ? where->function : "");
}

static struct sarif_mark sarif_mark_of(const struct report *r, const struct group *g)
{
	const struct model *m = &r->analysis->model;
	const struct spawn *s = &m->spawns[g->spawn];
	struct sarif_mark mark = { .hash = UINT64_C(0xcbf29ce484222325), .group = g };
	struct report_place where;

	mark.hash = sarif_hash(mark.hash, g->detector->name);
	if (report_group_place(r, g, &where)) {
		mark.hash = sarif_hash_place(mark.hash, &where);
		mark.line = where.line;
	}
	if (!g->spawn)
		return mark;
	if (s->name)
		mark.hash = sarif_hash(mark.hash, strtab_text(&m->names, s->name - 1));
	if (s->site) {
		report_place_of(r, 0, s->site, 0, &where);
		mark.hash = sarif_hash_place(mark.hash, &where);
	}
	return mark;
}

/* Marks of all groups, by the number of the group; NULL: no memory. */
static struct sarif_mark *sarif_marks(const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	struct sarif_mark *marks = calloc(f->nr + 1, sizeof(*marks));
	size_t i;

	for (i = 0; marks && i < f->nr; i++) {
		if (report_shows(r, &f->groups[i]))
			marks[i] = sarif_mark_of(r, &f->groups[i]);
	}
	return marks;
}

static void sarif_fingerprint_text(const struct report *r, const struct sarif_mark *marks,
				   size_t nr, struct report_fingerprint *out)
{
	size_t i, before = 0;

	for (i = 0; i < r->analysis->findings.nr; i++) {
		if (marks[i].group && marks[i].hash == marks[nr].hash)
			before += marks[i].line < marks[nr].line ||
				  (marks[i].line == marks[nr].line && i < nr);
	}
	snprintf(out->text, sizeof(out->text), "%016" PRIx64 ":%zu", marks[nr].hash, before + 1);
}

static void sarif_fingerprint(struct json_writer *j, const struct report *r,
			      const struct sarif_mark *marks, size_t nr)
{
	struct report_fingerprint fingerprint;

	sarif_fingerprint_text(r, marks, nr, &fingerprint);
	jw_key(j, "partialFingerprints");
	jw_object_begin(j);
	jw_field_string(j, "corotracerFinding/v1", fingerprint.text);
	jw_object_end(j);
}

struct report_fingerprint *report_fingerprints(const struct report *r)
{
	size_t i, nr = r->analysis->findings.nr;
	struct report_fingerprint *list = calloc(nr + 1, sizeof(*list));
	struct sarif_mark *marks = list ? sarif_marks(r) : NULL;

	for (i = 0; marks && i < nr; i++) {
		if (marks[i].group)
			sarif_fingerprint_text(r, marks, i, &list[i]);
	}
	if (!marks) {
		free(list);
		return NULL;
	}
	free(marks);
	return list;
}

/* ---- code flows ------------------------------------------------------------- */

/* One step: a place and what happens there. */
static void sarif_step(struct json_writer *j, const struct report *r,
		       const struct report_place *where, const char *text)
{
	jw_object_begin(j);
	jw_key(j, "location");
	jw_object_begin(j);
	sarif_location(j, r, where);
	sarif_message(j, "message", text);
	jw_object_end(j);
	jw_object_end(j);
}

static void sarif_flow_begin(struct json_writer *j, const char *text)
{
	jw_object_begin(j);
	sarif_message(j, "message", text);
	jw_key(j, "threadFlows");
	jw_array_begin(j);
	jw_object_begin(j);
	jw_key(j, "locations");
	jw_array_begin(j);
}

static void sarif_flow_end(struct json_writer *j)
{
	jw_array_end(j);
	jw_object_end(j);
	jw_array_end(j);
	jw_object_end(j);
}

/* From the outermost waiter to the coroutine of the finding. */
static void sarif_chain(struct json_writer *j, const struct report *r, const struct group *g)
{
	struct report_place where;
	char name[300], text[400];
	unsigned i;

	sarif_flow_begin(j, "the chain of waits");
	for (i = g->nr_chain; i > 0; i--) {
		const struct link *l = &g->chain[i - 1];

		report_coroutine(r, l->probe_id, l->name, name, sizeof(name));
		snprintf(text, sizeof(text), "%s awaits the next", name);
		report_place_of(r, g->example.pid, l->site, l->addr, &where);
		sarif_step(j, r, &where, text);
	}
	report_coroutine(r, g->example.probe_id, g->example.name, name, sizeof(name));
	if (report_group_place(r, g, &where))
		sarif_step(j, r, &where, name);
	sarif_flow_end(j);
}

static unsigned sarif_nr_places(const struct group *g)
{
	unsigned i, nr = 0;

	for (i = 0; i < g->finding.nr_evidence; i++)
		nr += g->finding.evidence[i].site || g->finding.evidence[i].addr;
	return nr;
}

/* The evidence that has a place: waker, holder, resource. */
static void sarif_evidence(struct json_writer *j, const struct report *r, const struct group *g)
{
	struct report_place where;
	unsigned i;

	sarif_flow_begin(j, "the evidence");
	for (i = 0; i < g->finding.nr_evidence; i++) {
		const struct evidence *e = &g->finding.evidence[i];

		if (!e->site && !e->addr)
			continue;
		report_place_of(r, g->has_coro ? g->example.pid : 0, e->site, e->addr, &where);
		sarif_step(j, r, &where, e->text);
	}
	if (report_group_place(r, g, &where))
		sarif_step(j, r, &where, g->finding.detail);
	sarif_flow_end(j);
}

static void sarif_flows(struct json_writer *j, const struct report *r, const struct group *g)
{
	bool has_chain = g->has_coro && g->nr_chain, has_evidence = sarif_nr_places(g) > 0;

	if (!has_chain && !has_evidence)
		return;
	jw_key(j, "codeFlows");
	jw_array_begin(j);
	if (has_evidence)
		sarif_evidence(j, r, g);
	if (has_chain)
		sarif_chain(j, r, g);
	jw_array_end(j);
}

/* ---- results ---------------------------------------------------------------- */

static void sarif_text(const struct report *r, const struct group *g, FILE *out)
{
	char line[2048];
	unsigned i;

	fprintf(out, "%s (%s, %" PRIu64 " times): %s.", g->detector->title,
		confidence_name(g->confidence), g->count, g->finding.detail);
	for (i = 0; report_evidence(r, g, i, line, sizeof(line)); i++)
		fprintf(out, " %s.", line);
	if (g->finding.doubt)
		fprintf(out, " But %s.", g->finding.doubt);
	if (report_names(r, g, SARIF_NAMES, line, sizeof(line)))
		fprintf(out, " Coroutines: %s.", line);
	fprintf(out, " Next: %s", report_hint(g));
}

static int sarif_result_message(struct json_writer *j, const struct report *r,
				const struct group *g)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	sarif_text(r, g, out);
	if (io_end_memory(out, &text) < 0)
		return -ENOMEM;
	sarif_message(j, "message", text);
	free(text);
	return 0;
}

static int sarif_result(struct json_writer *j, const struct report *r,
			const struct sarif_mark *marks, size_t nr)
{
	static const char *const levels[] = { "note", "warning", "error", "error" };
	const struct group *g = marks[nr].group;
	struct report_place where;
	int rc;

	jw_object_begin(j);
	jw_field_string(j, "ruleId", g->detector->name);
	jw_field_u64(j, "ruleIndex", detector_number(g->detector));
	jw_field_string(j, "level", levels[g->confidence]);
	rc = sarif_result_message(j, r, g);
	jw_field_u64(j, "occurrenceCount", g->count);
	if (report_group_place(r, g, &where)) {
		jw_key(j, "locations");
		jw_array_begin(j);
		jw_object_begin(j);
		sarif_location(j, r, &where);
		jw_object_end(j);
		jw_array_end(j);
	}
	sarif_fingerprint(j, r, marks, nr);
	sarif_flows(j, r, g);
	jw_key(j, "properties");
	jw_object_begin(j);
	jw_field_string(j, "confidence", confidence_name(g->confidence));
	jw_object_end(j);
	jw_object_end(j);
	return rc;
}

/* ---- the run ---------------------------------------------------------------- */

static void sarif_driver(struct json_writer *j)
{
	const struct detector *const *d;

	jw_key(j, "tool");
	jw_object_begin(j);
	jw_key(j, "driver");
	jw_object_begin(j);
	jw_field_string(j, "name", "corotracer");
	jw_field_string(j, "version", COROTRACER_VERSION);
	jw_key(j, "rules");
	jw_array_begin(j);
	for (d = detectors; *d; d++) {
		jw_object_begin(j);
		jw_field_string(j, "id", (*d)->name);
		sarif_message(j, "shortDescription", (*d)->title);
		sarif_message(j, "fullDescription", (*d)->meaning);
		sarif_message(j, "help", (*d)->advice);
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
	jw_object_end(j);
}

/* An incomplete trace must not look like "nothing found" in a viewer that shows only results. */
static void sarif_invocation(struct json_writer *j, const struct report *r)
{
	char text[TRACE_SHORTAGE_SIZE];

	if (!report_is_incomplete(r))
		return;
	jw_key(j, "invocations");
	jw_array_begin(j);
	jw_object_begin(j);
	jw_field_bool(j, "executionSuccessful", false);
	jw_key(j, "toolExecutionNotifications");
	jw_array_begin(j);
	jw_object_begin(j);
	jw_field_string(j, "level", "error");
	sarif_message(j, "message", trace_shortage(r->stats, text, sizeof(text)));
	jw_object_end(j);
	jw_array_end(j);
	jw_object_end(j);
	jw_array_end(j);
}

static int sarif_results(struct json_writer *j, const struct report *r)
{
	struct sarif_mark *marks = sarif_marks(r);
	size_t i;
	int rc = marks ? 0 : -ENOMEM;

	jw_key(j, "results");
	jw_array_begin(j);
	for (i = 0; !rc && i < r->analysis->findings.nr; i++) {
		if (marks[i].group)
			rc = sarif_result(j, r, marks, i);
	}
	jw_array_end(j);
	free(marks);
	return rc;
}

int report_sarif(const struct report *r, FILE *out)
{
	struct json_writer j;
	int rc = 0, error;

	jw_init_file(&j, out);
	jw_object_begin(&j);
	jw_field_string(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	jw_field_string(&j, "version", "2.1.0");
	jw_key(&j, "runs");
	jw_array_begin(&j);
	for (; r && !rc; r = r->next) {
		jw_object_begin(&j);
		sarif_driver(&j);
		sarif_invocation(&j, r);
		sarif_bases(&j, r);
		rc = sarif_results(&j, r);
		jw_object_end(&j);
	}
	jw_array_end(&j);
	jw_object_end(&j);
	jw_newline(&j);
	error = jw_release(&j);
	return rc ? rc : error;
}
