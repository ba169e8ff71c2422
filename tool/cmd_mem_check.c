/* SPDX-License-Identifier: MIT */
/* cmd_mem_check.c - corotracer mem check: check a memory trace and count its records. */
#include <stdio.h>
#include <string.h>

#include "base/printer.h"
#include "base/text.h"
#include "json_file.h"
#include "mem.h"
#include "memory/stat/mem_check.h"

struct mem_check_options {
	const char *path;
	bool structure, json, quiet;
};

static const struct opt options[] = {
	{ 's', "structure", NULL, "accept annotations without a counterpart",
	  OPT_FLAG(struct mem_check_options, structure) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct mem_check_options, json) },
	{ 'q', "quiet", NULL, "print only faults", OPT_FLAG(struct mem_check_options, quiet) },
	{ .name = NULL },
};

/* ---- output ----------------------------------------------------------------- */

/* A count; in text a line of its own, unless it is 0. */
static void check_print_line(struct printer *p, const char *key, const char *what, uint64_t nr)
{
	if (!p->is_json && nr)
		print_text(p, "  %-34s", what);
	print_count(p, key, nr ? " %18s\n" : NULL, nr);
}

static void check_print_kinds(struct printer *p, const struct mem_check *c)
{
	static const char *const kinds[4][2] = { { "reads", "reads" },
						 { "writes", "writes" },
						 { "added", "annotations added" },
						 { "removed", "annotations removed" } };
	static const char *const flags[4][2] = { { "plain", "" },
						 { "atomic", ", atomic" },
						 { "unaligned", ", unaligned" },
						 { "atomic_unaligned", ", atomic and unaligned" } };
	unsigned kind, i;
	char what[64];

	for (kind = 0; kind < 4; kind++) {
		print_object(p, kinds[kind][0]);
		print_count(p, "all", NULL, mem_check_kind(c, kind));
		for (i = 0; i < 4; i++) {
			snprintf(what, sizeof(what), "%s%s", kinds[kind][1], flags[i][1]);
			check_print_line(p, flags[i][0], what, c->by_tag[kind | i << 6]);
		}
		print_object_end(p);
	}
	print_count(p, "bytes_read", NULL, c->bytes[0]);
	print_count(p, "bytes_written", NULL, c->bytes[1]);
	print_count(p, "with_code_address", NULL, c->with_pc);
	print_count(p, "with_attributes", NULL, c->with_attr);
	check_print_line(p, "annotations_left", "annotations left at the end", c->left);
	print_count(p, "annotations_most", NULL, c->most);
	check_print_line(p, "annotations_null", "annotations of address 0",
			 c->null_adds + c->null_removes);
	check_print_line(p, "marks", "marks", c->marks);
	check_print_line(p, "coroutine_resumes", "resumes of coroutines", c->resumes);
	check_print_line(p, "allocations", "blocks allocated", c->allocations);
	check_print_line(p, "frees", "blocks freed", c->releases);
	check_print_line(p, "calls", "function entries", c->calls);
	print_count(p, "bytes_allocated", NULL, c->allocated);
	print_count(p, "allocations_with_stack", NULL, c->with_stack);
	print_count(p, "gaps", NULL, c->gaps);
}

static void check_print_missing(struct printer *p, const struct mem_check *c, uint64_t accesses)
{
	bool shown = c->lost || c->lost_unknown;
	char share[TEXT_SIZE];
	uint32_t i;

	if (shown)
		print_text(p, "  %-34s", "lost");
	print_count(p, "lost", shown ? " %18s" : NULL, c->lost);
	if (shown)
		print_text(p, "%s", text_share(share, c->lost, accesses + c->lost));
	print_flag(p, "lost_unknown", ", and an unknown number", c->lost_unknown);
	if (shown)
		print_text(p, "\n");
	check_print_line(p, "left_out", "left out on purpose", c->left_out);
	print_list(p, "missing");
	for (i = 0; i < MEM_CAUSES; i++) {
		if (!c->by_cause[i])
			continue;
		print_row(p);
		print_count(p, "cause", NULL, i);
		print_text(p, "    ");
		print_name(p, "why", 32, mem_cause_name(i));
		print_count(p, "count", " %18s", c->by_cause[i]);
		print_row_end(p);
	}
	print_list_end(p);
}

static void check_print_sizes(struct printer *p, const struct mem_check *c, uint64_t accesses)
{
	unsigned size;

	if (accesses)
		print_text(p,
			   "  size                                   reads             writes\n");
	print_list(p, "sizes");
	for (size = 0; size < 256; size++) {
		if (!c->sizes[0][size] && !c->sizes[1][size])
			continue;
		print_row(p);
		print_number(p, "size", "  %4s  ", size);
		print_count(p, "reads", "%38s", c->sizes[0][size]);
		print_count(p, "writes", " %18s", c->sizes[1][size]);
		print_row_end(p);
	}
	print_list_end(p);
}

/* ---- in JSON only ------------------------------------------------------------ */

static void check_json_threads(struct printer *p, const struct mem_check *c,
			       const struct mem_facts *facts)
{
	size_t i;

	print_list(p, "threads");
	for (i = 0; i < c->nr_threads; i++) {
		const struct mem_check_thread *t = &c->threads[i];
		const struct mem_thread *known = mem_facts_thread(facts, t->number);

		print_object(p, NULL);
		print_count(p, "number", NULL, t->number);
		print_count(p, "id", NULL, mem_facts_id(facts, t->number));
		print_string(p, "name", known ? known->name : NULL);
		print_count(p, "reads", NULL, t->reads);
		print_count(p, "writes", NULL, t->writes);
		print_count(p, "annotations", NULL, t->annotations);
		print_count(p, "lost", NULL, t->lost);
		print_object_end(p);
	}
	print_list_end(p);
}

static void check_json_facts(struct printer *p, const struct mem_facts *f)
{
	size_t i;

	print_list(p, "command");
	for (i = 0; f->command && i < f->command_size; i += strlen(f->command + i) + 1)
		jw_string(&p->json, f->command + i);
	print_list_end(p);
	print_count(p, "pid", NULL, f->pid);
	print_string(p, "exe", f->exe);
	print_string(p, "writer", f->writer);
	print_list(p, "notes");
	for (i = 0; i < f->nr_notes; i++)
		jw_string(&p->json, f->notes[i]);
	print_list_end(p);
	print_list(p, "modules");
	for (i = 0; i < f->nr_modules; i++)
		jw_string(&p->json, f->modules[i].path);
	print_list_end(p);
}

static void check_json_faults(struct printer *p, const struct mem_faults *f)
{
	uint64_t i;

	print_count(p, "nr_faults", NULL, f->nr);
	print_list(p, "faults");
	for (i = 0; i < f->nr && i < MEM_FAULTS_KEPT; i++) {
		print_object(p, NULL);
		print_string(p, "kind", mem_fault_name(f->first[i].kind));
		print_count(p, "offset", NULL, f->first[i].offset);
		print_string(p, "text", f->first[i].text);
		print_object_end(p);
	}
	print_list_end(p);
}

/* ---- the whole result -------------------------------------------------------- */

static void check_print_head(struct printer *p, const struct mem_check *c, const char *path,
			     struct mem_reader *r, bool sound)
{
	uint64_t all = mem_check_kind(c, MEM_READ) + mem_check_kind(c, MEM_WRITE);
	uint64_t blocks = mem_reader_blocks(r)->nr;

	print_string(p, "file", path);
	print_safe(p, path, 0);
	print_string(p, "format", mem_reader_format_name(r));
	print_text(p, ": %s", mem_reader_format_name(r));
	print_flag(p, "sound", NULL, sound);
	print_count(p, "size", NULL, mem_reader_size(r));
	print_count(p, "blocks", blocks ? ", %s blocks" : NULL, blocks);
	print_count(p, "accesses", NULL, all);
	print_text(p, ", %zu threads", c->nr_threads);
	if (all && mem_reader_size(r))
		print_text(p, ", %.3f bytes per access", (double)mem_reader_size(r) / (double)all);
	print_text(p, "\n");
}

static int check_print(const struct mem_check *c, const struct mem_check_options *q,
		       struct mem_reader *r, bool sound)
{
	uint64_t all = mem_check_kind(c, MEM_READ) + mem_check_kind(c, MEM_WRITE);
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), q->json);
	check_print_head(&p, c, q->path, r, sound);
	check_print_kinds(&p, c);
	check_print_missing(&p, c, all);
	check_print_sizes(&p, c, all);
	if (q->json) {
		check_json_threads(&p, c, mem_reader_facts(r));
		check_json_facts(&p, mem_reader_facts(r));
		check_json_faults(&p, mem_reader_faults(r));
	}
	return printer_end(&p);
}

/* ---- the command --------------------------------------------------------- */

static void check_say_faults(const struct mem_faults *f)
{
	uint64_t i;
	char text[TEXT_SIZE];

	for (i = 0; i < f->nr && i < MEM_FAULTS_KEPT; i++)
		message_print("mem check", "%s at offset %llu: %s",
			      mem_fault_name(f->first[i].kind),
			      (unsigned long long)f->first[i].offset, f->first[i].text);
	if (f->nr > MEM_FAULTS_KEPT)
		message_print("mem check", "and %s more",
			      text_count(text, f->nr - MEM_FAULTS_KEPT));
}

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
	if ((q->json || !q->quiet) && check_print(&c, q, r, sound) < 0)
		message_print("mem check", "cannot write the result");
	if (!q->json)
		check_say_faults(mem_reader_faults(r));
	if (err.code)
		message_error("mem check", &err);
	if (!q->json && !q->quiet)
		puts(sound ? "sound" : "not sound");
	mem_check_release(&c);
	mem_reader_close(r);
	return sound ? EXIT_OK : EXIT_FAILED; /* main() reports output that cannot be written */
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
	.summary = "check a memory trace for errors, and count its records",
	.details =
		"Checks structure, checksums, missing blocks, truncation and order, and "
		"annotations\n"
		"that overlap or are removed without having been added.  Exit status 1 on a "
		"fault.\n"
		"Accesses that were lost while tracing are printed and are not a fault.  TRACE: a\n"
		"container, a raw trace, or one inside zstd frames; - is standard input.\n",
	.opts = options,
	.run = run_mem_check,
};
