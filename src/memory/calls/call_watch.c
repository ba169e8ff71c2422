/* SPDX-License-Identifier: MIT */
/* call_watch.c - follow a simulated trace: its modules, the calls of its threads, its accesses. */
#include "memory/calls/call_watch.h"

#include <errno.h>
#include <string.h>

#include "memory/blame/blame.h"

static int watch_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the functions of the program");
}

int call_watch_begin(struct call_watch *w, const struct sim_config *config,
		     const struct mem_facts *facts, struct err *err)
{
	*w = (struct call_watch){ .facts = facts,
				  .tree = call_tree_new(config),
				  .symbols = symbols_new() };
	return w->tree && w->symbols ? 0 : watch_no_memory(err);
}

/* Take the modules that the trace has added since. */
static int watch_add_modules(struct call_watch *w)
{
	for (; w->nr_modules < w->facts->nr_modules; w->nr_modules++) {
		if (blame_add_symbols(w->symbols, &w->facts->modules[w->nr_modules]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int call_watch_each(void *watch, const struct mem_record *r, const struct sim_outcome *out)
{
	struct call_watch *w = watch;

	if (out)
		return call_tree_access(w->tree, r, out);
	if (r->kind == MEM_ENTER)
		return (mem_is_repeated(r) ? call_tree_repeat : call_tree_enter)(w->tree, r->thread,
										 r->pc, r->value);
	if (r->kind == MEM_EXIT)
		return r->value ? call_tree_leave(w->tree, r->thread, r->value)
				: call_tree_clear(w->tree, r->thread);
	return 0;
}

struct replay_tally *call_watch_alike(void *watch, const struct mem_record *r, uint64_t *start,
				      uint64_t *end)
{
	(void)watch;
	(void)r;
	*start = 0;
	*end = UINT64_MAX;
	return NULL;
}

const struct call_profile *call_watch_profile(struct call_watch *w, struct err *err)
{
	if (w->profile)
		return w->profile;
	if (watch_add_modules(w) == 0)
		w->profile = call_profile_new(w->tree, w->symbols);
	if (!w->profile)
		watch_no_memory(err);
	return w->profile;
}

const char *call_watch_problem(const struct call_watch *w)
{
	return symbols_problem(w->symbols);
}

void call_watch_end(struct call_watch *w)
{
	call_profile_free(w->profile);
	call_tree_free(w->tree);
	symbols_free(w->symbols);
	memset(w, 0, sizeof(*w));
}
