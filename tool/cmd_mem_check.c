/* SPDX-License-Identifier: MIT */
/* cmd_mem_check.c - corotracer mem check: check a memory trace and count its records. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "mem.h"
#include "memory/stat/mem_check.h"

struct mem_check_options {
	const char *path;
	bool structure, json, quiet;
};

static const struct opt options[] = {
	{ 's', "structure", NULL, "annotations that do not pair are no fault",
	  OPT_FLAG(struct mem_check_options, structure) },
	{ 0, "json", NULL, "as one JSON object", OPT_FLAG(struct mem_check_options, json) },
	{ 'q', "quiet", NULL, "say nothing but faults", OPT_FLAG(struct mem_check_options, quiet) },
	{ .name = NULL },
};

static const char *const flag_names[4] = { "", ", atomic", ", unaligned",
					   ", atomic and unaligned" };
static const char *const kind_names[4] = { "reads", "writes", "annotations added",
					   "annotations removed" };

static void check_print_line(const char *what, const char *more, uint64_t nr)
{
	char left[64], text[TEXT_SIZE];

	if (!nr)
		return;
	snprintf(left, sizeof(left), "%s%s", what, more);
	printf("  %-34s %18s\n", left, text_count(text, nr));
}

static void print_kinds(const struct mem_check *c)
{
	unsigned kind, flags;

	for (kind = 0; kind < 4; kind++) {
		for (flags = 0; flags < 4; flags++)
			check_print_line(kind_names[kind], flag_names[flags],
					 c->by_tag[kind | flags << 6]);
	}
	check_print_line("annotations left at the end", "", c->left);
	check_print_line("annotations of address 0", "", c->null_adds + c->null_removes);
	check_print_line("marks", "", c->marks);
}

static void print_sizes(const struct mem_check *c)
{
	unsigned size;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	puts("  size                                   reads             writes");
	for (size = 0; size < 256; size++) {
		if (c->sizes[0][size] || c->sizes[1][size])
			printf("  %4u  %38s %18s\n", size, text_count(a, c->sizes[0][size]),
			       text_count(b, c->sizes[1][size]));
	}
}

static void print_missing(const struct mem_check *c)
{
	uint64_t all = mem_check_kind(c, MEM_READ) + mem_check_kind(c, MEM_WRITE);
	char text[TEXT_SIZE], share[TEXT_SIZE];
	uint32_t i;

	if (c->lost || c->lost_unknown)
		printf("  %-34s %18s%s%s\n", "lost", text_count(text, c->lost),
		       text_share(share, c->lost, all + c->lost),
		       c->lost_unknown ? ", and an unknown number" : "");
	check_print_line("left out on purpose", "", c->left_out);
	for (i = 0; i < MEM_CAUSES; i++) {
		if (c->by_cause[i])
			printf("    %-32s %18s\n", mem_cause_name(i),
			       text_count(text, c->by_cause[i]));
	}
}

static void check_print_text(const struct mem_check *c, const struct mem_check_options *q,
			     struct mem_reader *r)
{
	const struct mem_blocks *b = mem_reader_blocks(r);
	uint64_t all = mem_check_kind(c, MEM_READ) + mem_check_kind(c, MEM_WRITE);
	char text[TEXT_SIZE];

	text_put(stdout, q->path);
	printf(": %s", mem_reader_format_name(r));
	if (b->nr)
		printf(", %s blocks", text_count(text, b->nr));
	printf(", %zu threads", c->nr_threads);
	if (all && mem_reader_size(r))
		printf(", %.3f bytes per access", (double)mem_reader_size(r) / (double)all);
	putchar('\n');
	print_kinds(c);
	print_missing(c);
	if (all)
		print_sizes(c);
}

static void print_faults(const struct mem_faults *f)
{
	uint64_t i;
	char text[TEXT_SIZE];

	for (i = 0; i < f->nr && i < MEM_FAULTS_KEPT; i++)
		say("mem check", "%s at offset %llu: %s", mem_fault_name(f->first[i].kind),
		    (unsigned long long)f->first[i].offset, f->first[i].text);
	if (f->nr > MEM_FAULTS_KEPT)
		say("mem check", "and %s more", text_count(text, f->nr - MEM_FAULTS_KEPT));
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_tags(struct json_writer *w, const struct mem_check *c)
{
	static const char *const keys[4] = { "reads", "writes", "added", "removed" };
	static const char *const flags[4] = { "plain", "atomic", "unaligned", "atomic_unaligned" };
	unsigned kind, i;

	for (kind = 0; kind < 4; kind++) {
		jw_key(w, keys[kind]);
		jw_object_begin(w);
		jw_field_u64(w, "all", mem_check_kind(c, kind));
		for (i = 0; i < 4; i++)
			jw_field_u64(w, flags[i], c->by_tag[kind | i << 6]);
		jw_object_end(w);
	}
}

static void json_sizes(struct json_writer *w, const struct mem_check *c)
{
	unsigned size;

	jw_key(w, "sizes");
	jw_array_begin(w);
	for (size = 0; size < 256; size++) {
		if (!c->sizes[0][size] && !c->sizes[1][size])
			continue;
		jw_object_begin(w);
		jw_field_u64(w, "size", size);
		jw_field_u64(w, "reads", c->sizes[0][size]);
		jw_field_u64(w, "writes", c->sizes[1][size]);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_threads(struct json_writer *w, const struct mem_check *c,
			 const struct mem_facts *facts)
{
	size_t i;

	jw_key(w, "threads");
	jw_array_begin(w);
	for (i = 0; i < c->nr_threads; i++) {
		const struct mem_check_thread *t = &c->threads[i];
		const struct mem_thread *known = mem_facts_thread(facts, t->number);

		jw_object_begin(w);
		jw_field_u64(w, "number", t->number);
		jw_field_u64(w, "id", mem_facts_id(facts, t->number));
		jw_field_string(w, "name", known ? known->name : NULL);
		jw_field_u64(w, "reads", t->reads);
		jw_field_u64(w, "writes", t->writes);
		jw_field_u64(w, "annotations", t->annotations);
		jw_field_u64(w, "lost", t->lost);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_missing(struct json_writer *w, const struct mem_check *c)
{
	uint32_t i;

	jw_field_u64(w, "lost", c->lost);
	jw_field_bool(w, "lost_unknown", c->lost_unknown);
	jw_field_u64(w, "left_out", c->left_out);
	jw_key(w, "missing");
	jw_array_begin(w);
	for (i = 0; i < MEM_CAUSES; i++) {
		if (!c->by_cause[i])
			continue;
		jw_object_begin(w);
		jw_field_u64(w, "cause", i);
		jw_field_string(w, "why", mem_cause_name(i));
		jw_field_u64(w, "count", c->by_cause[i]);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_faults(struct json_writer *w, const struct mem_faults *f)
{
	uint64_t i;

	jw_field_u64(w, "nr_faults", f->nr);
	jw_key(w, "faults");
	jw_array_begin(w);
	for (i = 0; i < f->nr && i < MEM_FAULTS_KEPT; i++) {
		jw_object_begin(w);
		jw_field_string(w, "kind", mem_fault_name(f->first[i].kind));
		jw_field_u64(w, "offset", f->first[i].offset);
		jw_field_string(w, "text", f->first[i].text);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_facts(struct json_writer *w, const struct mem_facts *f)
{
	size_t i;

	jw_key(w, "command");
	jw_array_begin(w);
	for (i = 0; f->command && i < f->command_size; i += strlen(f->command + i) + 1)
		jw_string(w, f->command + i);
	jw_array_end(w);
	jw_field_u64(w, "pid", f->pid);
	jw_field_string(w, "exe", f->exe);
	jw_field_string(w, "writer", f->writer);
	jw_key(w, "notes");
	jw_array_begin(w);
	for (i = 0; i < f->nr_notes; i++)
		jw_string(w, f->notes[i]);
	jw_array_end(w);
	jw_key(w, "modules");
	jw_array_begin(w);
	for (i = 0; i < f->nr_modules; i++)
		jw_string(w, f->modules[i].path);
	jw_array_end(w);
}

static int check_print_json(const struct mem_check *c, const struct mem_check_options *q,
			    struct mem_reader *r, bool sound)
{
	const struct mem_blocks *b = mem_reader_blocks(r);
	struct json_writer w;

	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	jw_field_string(&w, "file", q->path);
	jw_field_string(&w, "format", mem_reader_format_name(r));
	jw_field_bool(&w, "sound", sound);
	jw_field_u64(&w, "size", mem_reader_size(r));
	jw_field_u64(&w, "blocks", b->nr);
	jw_field_u64(&w, "accesses", mem_check_kind(c, MEM_READ) + mem_check_kind(c, MEM_WRITE));
	json_tags(&w, c);
	jw_field_u64(&w, "bytes_read", c->bytes[0]);
	jw_field_u64(&w, "bytes_written", c->bytes[1]);
	jw_field_u64(&w, "with_code_address", c->with_pc);
	jw_field_u64(&w, "with_attributes", c->with_attr);
	jw_field_u64(&w, "annotations_left", c->left);
	jw_field_u64(&w, "annotations_most", c->most);
	jw_field_u64(&w, "annotations_null", c->null_adds + c->null_removes);
	jw_field_u64(&w, "marks", c->marks);
	jw_field_u64(&w, "gaps", c->gaps);
	json_missing(&w, c);
	json_sizes(&w, c);
	json_threads(&w, c, mem_reader_facts(r));
	json_facts(&w, mem_reader_facts(r));
	json_faults(&w, mem_reader_faults(r));
	jw_object_end(&w);
	jw_newline(&w);
	return jw_release(&w);
}

/* ---- the command --------------------------------------------------------- */

static bool check_is_sound(const struct mem_faults *f, bool structure_only)
{
	return f->nr == (structure_only ? f->by_kind[MEM_FAULT_PAIRING] : 0);
}

static int check_trace(const struct mem_check_options *q)
{
	struct mem_reader *r = mem_open(&command_mem_check, q->path);
	struct mem_check c = { 0 };
	struct err err = { 0 };
	bool sound;

	if (!r)
		return EXIT_FAILED;
	mem_check_run(&c, r, &err);
	if (!err.code)
		mem_reader_error(r, &err);
	sound = !err.code && check_is_sound(mem_reader_faults(r), q->structure);
	if (q->json && check_print_json(&c, q, r, sound) < 0)
		say("mem check", "cannot write the result");
	if (!q->json && !q->quiet)
		check_print_text(&c, q, r);
	if (!q->json)
		print_faults(mem_reader_faults(r));
	if (err.code)
		say_error("mem check", &err);
	if (!q->json && !q->quiet)
		puts(sound ? "sound" : "not sound");
	mem_check_release(&c);
	mem_reader_close(r);
	return sound && fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int run_mem_check(int argc, char **argv)
{
	struct mem_check_options q = { 0 };
	int first, status = opts_parse(&command_mem_check, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	q.path = opts_operand(&command_mem_check, argc, argv, first);
	return q.path ? check_trace(&q) : EXIT_USAGE;
}

const struct command command_mem_check = {
	.name = "mem check",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "tell whether a memory trace is sound, and count what is in it",
	.details = "Structure, checksums, missing blocks, truncation, order; annotations that "
		   "overlap\n"
		   "or are removed without being there.  Exit status 1 if there is a fault.  What "
		   "was\n"
		   "lost when the trace was made is told, and is no fault.  TRACE: a container, a "
		   "raw\n"
		   "trace, one inside zstd frames; - is standard input.\n",
	.opts = options,
	.run = run_mem_check,
};
