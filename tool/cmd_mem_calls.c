/* SPDX-License-Identifier: MIT */
/* cmd_mem_calls.c - corotracer mem calls: misses by function, without and with its callees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/printer.h"
#include "mem_calls.h"

#define MEM_CALLS_TOP_MAX 100000u

enum mem_calls_order { MEM_CALLS_EXCLUSIVE, MEM_CALLS_INCLUSIVE };

struct mem_calls_options {
	struct mem_calls calls;
	const char *function; /* NULL: the table of all */
	enum mem_calls_order order;
	unsigned top;
	bool json;
};

static const struct opt options[] = {
	MEM_MACHINE_CACHE(struct mem_calls_options, calls.machine),
	MEM_MACHINE_CONFIG(struct mem_calls_options, calls.machine,
			   "machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct mem_calls_options, calls.machine),
	MEM_MACHINE_CORES(struct mem_calls_options, calls.machine),
	{ 's', "sort", "ORDER", "by exclusive (default) or inclusive cost",
	  OPT_CHOICE(struct mem_calls_options, order, "exclusive or inclusive",
		     MEM_CALLS_EXCLUSIVE) },
	{ 'f', "function", "NAME", "only this function, its callers and its callees",
	  OPT_NAME(struct mem_calls_options, function) },
	{ 'n', "top", "N", "functions to print (default 20)",
	  OPT_NUMBER(struct mem_calls_options, top, 1, MEM_CALLS_TOP_MAX) },
	{ 0, "json", NULL, "print one JSON object", OPT_FLAG(struct mem_calls_options, json) },
	{ .name = NULL },
};

/* ---- cells ---------------------------------------------------------------------- */

static void calls_json_counts(struct printer *p, const char *key, const struct call_profile *c,
			      const struct call_counts *n)
{
	uint32_t i;

	print_object(p, key);
	print_count(p, "reads", NULL, n->n[CALL_READS]);
	print_count(p, "writes", NULL, n->n[CALL_WRITES]);
	print_list(p, "misses");
	for (i = 0; i < c->nr_levels; i++)
		jw_u64(&p->json, call_counts_misses(n, i));
	print_list_end(p);
	print_count(p, "from_peer", NULL, n->n[CALL_FROM_PEER]);
	print_count(p, "cost", NULL, call_profile_cost(c, n));
	print_object_end(p);
}

/* Cost and its share of all cost. */
static void calls_text_cost(struct printer *p, const struct call_profile *c,
			    const struct call_counts *n)
{
	uint64_t cost = call_profile_cost(c, n);

	print_text(p, " %14s %5.1f %%", number_text(cost),
		   number_percent(cost, call_profile_cost(c, call_profile_total(c))));
}

static void calls_text_place(struct printer *p, const struct call_function *f)
{
	if (f->file)
		print_text(p, "  ");
	if (f->file)
		print_safe(p, path_base(f->file), 30);
	if (f->file && f->line)
		print_text(p, ":%u", f->line);
}

static void calls_print_calls(struct printer *p, uint64_t calls)
{
	if (calls)
		print_count(p, "calls", " %11s", calls);
	else
		print_known(p, "calls", " %11s", false, 0, "-");
}

/* ---- callers and callees ---------------------------------------------------------- */

static void calls_text_call_site(struct printer *p, const struct call_place *at)
{
	if (!at || !at->file)
		return;
	print_text(p, "  ");
	print_safe(p, path_base(at->file), 30);
	print_text(p, ":%u", at->line);
}

static void calls_print_arc(struct printer *p, const struct call_profile *c,
			    const struct call_arc *a, bool is_caller)
{
	const struct call_function *f = &c->functions[is_caller ? a->caller : a->callee];
	const struct call_place *at = a->place == UINT32_MAX ? NULL : &c->places[a->place];

	print_row(p);
	print_text(p, is_caller ? "  from " : "    to ");
	print_name(p, "name", 23, f->name);
	print_string(p, "file", at ? at->file : NULL);
	print_known(p, "line", NULL, at && at->line, at ? at->line : 0, NULL);
	calls_print_calls(p, a->calls);
	if (p->is_json) {
		calls_json_counts(p, "inclusive", c, &a->whole);
	} else {
		print_text(p, "%23s", "");
		calls_text_cost(p, c, &a->whole);
		print_text(p, "%14s", "");
		calls_text_call_site(p, at);
	}
	print_row_end(p);
}

static void calls_print_arcs(struct printer *p, const struct call_profile *c, uint32_t function,
			     bool callers)
{
	uint32_t i;

	print_list(p, callers ? "callers" : "callees");
	for (i = 0; i < c->nr_arcs; i++) {
		if ((callers ? c->arcs[i].callee : c->arcs[i].caller) == function)
			calls_print_arc(p, c, &c->arcs[i], callers);
	}
	print_list_end(p);
}

/* ---- functions -------------------------------------------------------------------- */

static void calls_text_function(struct printer *p, const struct call_profile *c,
				const struct call_function *f)
{
	calls_text_cost(p, c, &f->self);
	if (c->has_stacks)
		calls_text_cost(p, c, &f->whole);
	print_text(p, " %13s", number_text(call_counts_misses(&f->self, c->nr_levels - 1)));
	calls_text_place(p, f);
	print_text(p, "\n");
}

static void calls_print_function(struct printer *p, const struct mem_calls_options *q,
				 uint32_t number)
{
	const struct call_profile *c = q->calls.profile;
	const struct call_function *f = &c->functions[number];

	print_object(p, NULL);
	print_name(p, "name", 30, f->name);
	print_string(p, "file", f->file);
	print_known(p, "line", NULL, f->line != 0, f->line, NULL);
	print_string(p, "module", f->module);
	calls_print_calls(p, f->calls);
	if (!p->is_json)
		calls_text_function(p, c, f);
	else
		calls_json_counts(p, "exclusive", c, &f->self);
	if (p->is_json && c->has_stacks)
		calls_json_counts(p, "inclusive", c, &f->whole);
	if (q->function && c->has_stacks) {
		calls_print_arcs(p, c, number, true);
		calls_print_arcs(p, c, number, false);
	}
	print_object_end(p);
}

static bool calls_wants(const struct mem_calls_options *q, uint32_t function)
{
	return !q->function || !strcmp(q->calls.profile->functions[function].name, q->function);
}

/* Keeps the functions that are wanted.  Returns how many. */
static uint32_t calls_select(const struct mem_calls_options *q, uint32_t *list, uint32_t nr)
{
	uint32_t i, kept = 0;

	for (i = 0; i < nr; i++) {
		if (calls_wants(q, list[i]))
			list[kept++] = list[i];
	}
	return kept;
}

static void calls_print_functions(struct printer *p, const struct mem_calls_options *q,
				  const uint32_t *list, uint32_t nr)
{
	const struct call_profile *c = q->calls.profile;
	const struct sim_config *config = sim_config_of(q->calls.sim);
	uint32_t i;

	print_text(p, "\n%-30s %11s %22s%s %6s misses\n", "function", "calls", "exclusive cost",
		   c->has_stacks ? "         inclusive cost" : "",
		   config->level[config->nr_levels - 1].name);
	print_list(p, "functions");
	for (i = 0; i < nr && i < q->top; i++)
		calls_print_function(p, q, list[i]);
	print_list_end(p);
	print_count(p, "functions_of", NULL, nr);
	if (nr > q->top)
		print_text(p, "and %u more\n", nr - q->top);
}

/* ---- the command ------------------------------------------------------------------ */

static int calls_print(const struct mem_calls_options *q, const uint32_t *list, uint32_t nr)
{
	const struct call_profile *c = q->calls.profile;
	struct printer p;

	printer_begin(&p, stdout, q->json);
	print_string(&p, "trace", q->calls.trace);
	print_string(&p, "machine_from", q->calls.machine.words);
	print_count(&p, "accesses", "%s accesses", q->calls.replay.accesses);
	print_text(&p, ", caches of %s; cost is misses weighted in cycles\n",
		   q->calls.machine.words);
	print_count(&p, "lost", NULL, q->calls.replay.lost);
	print_count(&p, "merged_calls", NULL, c->merged_calls);
	print_flag(&p, "has_stacks", NULL, c->has_stacks);
	if (q->json)
		calls_json_counts(&p, "total", c, call_profile_total(c));
	calls_print_functions(&p, q, list, nr);
	return printer_end(&p) < 0 ? EXIT_FAILED : EXIT_OK;
}

static int calls_show(const struct mem_calls_options *q)
{
	const struct call_profile *c = q->calls.profile;
	/* A function without own accesses may be what was asked for. */
	bool by_whole = c->has_stacks && (q->order == MEM_CALLS_INCLUSIVE || q->function);
	uint32_t nr, *list = call_profile_sorted(c, by_whole, &nr);
	int status = EXIT_FAILED;

	if (!list) {
		message_print("mem calls", "no memory for the functions of the program");
		return EXIT_FAILED;
	}
	nr = calls_select(q, list, nr);
	if (nr || !q->function) {
		status = calls_print(q, list, nr);
	} else {
		message_print("mem calls", "there is no function '%s' with accesses in the trace",
			      q->function);
		fputs("hint: 'corotracer mem calls -n 1000 TRACE' lists the functions\n", stderr);
	}
	free(list);
	return status;
}

static int run_mem_calls(int argc, char **argv)
{
	static struct mem_calls_options q; /* static: too large for the stack */
	int first, status, end;

	q.top = 20;
	status = opts_parse(&command_mem_calls, &q, argc, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	q.calls.trace = opts_operand(&command_mem_calls, argc, argv, first);
	if (!q.calls.trace || !mem_machine_settle(&q.calls.machine, &command_mem_calls))
		return EXIT_USAGE;
	status = EXIT_FAILED;
	if (mem_calls_read(&q.calls, &command_mem_calls)) {
		status = calls_show(&q);
		mem_calls_remark(&q.calls, &command_mem_calls);
	}
	end = mem_calls_end(&q.calls, &command_mem_calls);
	return status == EXIT_OK ? end : status;
}

const struct command command_mem_calls = {
	.name = "mem calls",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "simulate caches, and print the misses by function",
	.details =
		"Exclusive cost: misses of the function itself; inclusive cost: with those of\n"
		"the functions that it calls (a trace of 'mem run --stacks').  'export callgrind'\n"
		"writes the same for KCachegrind, 'export folded' for flame graphs.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_calls,
};
