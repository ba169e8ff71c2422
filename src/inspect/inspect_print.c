/* SPDX-License-Identifier: MIT */
/* inspect_print.c - print the groups of an inspection. */
#include "inspect/inspect_print.h"

#include "base/text.h"
#include "inspect/local_print.h"
#include "inspect/thread_locks.h"
#include "inspect/tokio_block_on.h"
#include "inspect/tokio_branches.h"
#include "inspect/tokio_groups.h"
#include "inspect/wait_text.h"
#include "process/system_calls.h"

/* The object of the place stays open. */
static void print_place_open(struct printer *p, const struct inspect_place *at, const char *indent,
			     bool is_leaf)
{
	struct inspect_place place = *at;

	print_object(p, NULL);
	print_text(p, "%s%s", indent, is_leaf ? "   " : "<- ");
	print_safe(p, place.function, 0);
	print_string(p, "function", place.function);
	print_string(p, "file", place.file);
	if (place.file) {
		print_text(p, "  ");
		print_safe(p, place.file, 0);
		print_text(p, ":%u", place.line);
		print_known(p, "line", NULL, true, place.line, NULL);
	} else {
		print_known(p, "line", NULL, false, 0, NULL);
	}
	print_flag(p, "exact", NULL, place.is_exact);
	if (place.is_initial)
		print_text(p, "  (not started)");
	else if (place.file && !place.is_exact)
		print_text(p, "  (the function; the line of the %s is unknown)",
			   place.rust ? ".await" : "co_await");
	else if (is_leaf && place.awaits) {
		print_text(p, place.rust ? "  awaits " : "  co_await ");
		print_safe(p, place.awaits, 60);
	}
	if (place.awaits)
		print_string(p, "awaits", place.awaits);
	print_text(p, "\n");
}

static void print_place_close(struct printer *p, const struct inspect_place *place,
			      const char *indent)
{
	if (place->rust)
		print_tokio_branches(p, place->rust, indent);
	print_object_end(p);
}

void print_place(struct printer *p, const struct inspect_place *place, const char *indent,
		 bool is_leaf)
{
	print_place_open(p, place, indent, is_leaf);
	print_place_close(p, place, indent);
}

/* @locals: the variables of this stack, or NULL. */
static void print_stack(struct inspection *in, struct printer *p, uint32_t stack,
			const struct local_values *locals)
{
	uint32_t level = stack + 1;
	size_t depth;

	print_list(p, "stack");
	for (depth = 0; level; depth++) {
		struct inspect_place place = inspection_place(in, level - 1);

		print_place_open(p, &place, "   ", !depth);
		if (locals)
			print_locals(locals, p, depth);
		print_place_close(p, &place, "   ");
		level = in->levels[level - 1].parent;
	}
	print_list_end(p);
}

static uint64_t group_member(const struct inspection *in, const struct inspect_group *g, size_t i)
{
	return g->is_tokio ? in->tokio.tasks[g->first + i].addr
			   : in->table.frames[in->members[g->first + i]].addr;
}

static void print_members(const struct inspection *in, struct printer *p,
			  const struct inspect_group *g)
{
	size_t i;

	print_list(p, "members");
	for (i = 0; p->is_json && i < g->count; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%#llx", (unsigned long long)group_member(in, g, i));
		jw_string(&p->json, text);
	}
	print_list_end(p);
}

static void print_group(struct inspection *in, struct printer *p, const struct inspect_group *g,
			struct local_values *locals, const struct inspect_print_options *options)
{
	if (locals)
		local_values_read(locals, g, 0);
	print_object(p, NULL);
	print_count(p, "count", "\n%s x ", g->count);
	print_text(p, "%s", g->is_ready ? "ready" : inspect_verdict_name(g->verdict));
	if (g->confidence != INSPECT_NONE)
		print_text(p, ", %s", inspect_confidence_name(g->confidence));
	print_count(p, "bytes", "  (%s bytes of frames)\n", g->bytes);
	print_string(p, "verdict", inspect_verdict_name(g->verdict));
	print_string(p, "confidence", inspect_confidence_name(g->confidence));
	if (g->is_tokio)
		print_string(p, "state", g->is_ready ? "ready" : "waiting");
	if (locals && g->count > 1)
		print_text(p, "   with the variables of %#llx, one of them\n",
			   (unsigned long long)group_member(in, g, 0));
	print_stack(in, p, g->stack, locals);
	if (g->reason) {
		print_text(p, "   %s\n", g->reason);
		print_string(p, "reason", g->reason);
	}
	if (g->doubt) {
		print_text(p, "   not proven: %s\n", g->doubt);
		print_string(p, "doubt", g->doubt);
	}
	print_waits_for(in, p, g);
	print_traced_group(in, p, g);
	print_members(in, p, g);
	if (locals)
		print_member_locals(locals, p, g,
				    options->locals_max ? options->locals_max : SIZE_MAX);
	print_object_end(p);
}

static void print_thread_state(struct printer *p, const struct image_thread *thread)
{
	const char *call = thread->has_syscall && thread->syscall_nr >= 0
				   ? system_call_name(thread->syscall_nr)
				   : NULL;

	if (call)
		print_text(p, "  blocked in %s", call);
	else if (thread->state == 'R')
		print_text(p, "  running");
	else
		print_text(p, "  state %c", thread->state ? thread->state : '?');
	print_string(p, "state", (char[]){ thread->state ? thread->state : '?', 0 });
	print_string(p, "system_call", call);
}

/* The coroutine that the thread runs. */
static void print_runs(struct inspection *in, struct printer *p, const struct native_stack *s)
{
	const char *function = s && s->type >= 0
				       ? coro_types_get(in->types, (size_t)s->type)->function
				       : NULL;
	char text[32];

	if (function) {
		print_text(p, ", runs ");
		print_safe(p, function, 0);
	}
	print_string(p, "runs", function);
	if (s && s->frame != FRAME_NONE)
		snprintf(text, sizeof(text), "%#llx",
			 (unsigned long long)in->table.frames[s->frame].addr);
	print_string(p, "frame", s && s->frame != FRAME_NONE ? text : NULL);
}

static void print_native_frame(const struct inspection *in, struct printer *p, uint64_t pc)
{
	struct symbol found = { 0 };

	symbols_find(in->native.symbols, in->native.pid, pc, &found);
	print_object(p, NULL);
	print_text(p, "\n             ");
	print_safe(p, found.function ? found.function : "?", 0);
	print_string(p, "function", found.function);
	print_string(p, "file", found.file);
	if (found.file) {
		print_text(p, "  ");
		print_safe(p, found.file, 0);
		print_text(p, ":%u", found.line);
	}
	print_known(p, "line", NULL, found.file, found.line, NULL);
	print_object_end(p);
}

static void print_native_stack(const struct inspection *in, struct printer *p,
			       const struct native_stack *s)
{
	size_t i;

	print_list(p, "stack");
	for (i = 0; s && i < s->nr_frames; i++)
		print_native_frame(in, p, s->frames[i].pc);
	print_list_end(p);
	if (s && s->nr_frames && !s->is_complete)
		print_text(p, "\n             (the rest is unknown)");
}

static void print_threads(struct inspection *in, struct printer *p)
{
	size_t i;

	print_text(p, "\nthreads\n");
	print_list(p, "threads");
	for (i = 0; i < in->image->nr_threads; i++) {
		const struct image_thread *thread = &in->image->threads[i];
		const struct native_stack *stack = native_stacks_find(&in->native, thread->tid);

		print_row(p);
		print_integer(p, "tid", "  %7s  ", thread->tid);
		print_name(p, "name", 15, thread->name);
		print_thread_state(p, thread);
		print_thread_wait(in, p, thread);
		print_runs(in, p, stack);
		print_tokio_block_on(in, p, stack);
		if (in->may_stop)
			print_native_stack(in, p, stack);
		print_row_end(p);
	}
	print_list_end(p);
}

void inspection_print(struct inspection *in, struct printer *p,
		      const struct inspect_print_options *options)
{
	struct local_values *locals = options->locals ? local_values_new(in, options->show_values)
						      : NULL;
	size_t i, shown = in->nr_groups;
	const char *problem;

	print_text(p, "process %d (", (int)in->image->pid);
	print_safe(p, in->image->name, 0);
	print_text(p, "), %zu threads\n", in->image->nr_threads);
	print_integer(p, "pid", NULL, in->image->pid);
	print_string(p, "name", in->image->name);
	print_count(p, "coroutines", "%s suspended coroutines", in->nr_suspended);
	print_count(p, "finished", in->nr_finished ? ", %s at their end and not destroyed" : NULL,
		    in->nr_finished);
	print_count(p, "running", in->nr_running ? ", %s running" : NULL, in->nr_running);
	print_count(p, "changed", in->nr_changed ? ", %s that ran while they were read" : NULL,
		    in->nr_changed);
	print_text(p, "\n");
	if (options->groups_max && shown > options->groups_max)
		shown = options->groups_max;
	print_list(p, "groups");
	for (i = 0; i < (p->is_json ? in->nr_groups : shown); i++)
		print_group(in, p, &in->groups[i], locals, options);
	print_list_end(p);
	local_values_free(locals);
	if (shown < in->nr_groups)
		print_text(p, "\nand %zu more groups (--all)\n", in->nr_groups - shown);
	deadlocks_print(in, p);
	print_traced_rest(in, p);
	print_threads(in, p);
	print_count(p, "stopped_ns", NULL, in->image->stopped_ns);
	if (in->image->stopped_ns)
		print_text(p, "\nThe threads were stopped for %.3f ms in total.\n",
			   (double)in->image->stopped_ns / 1e6);
	print_flag(p, "busy",
		   "\nThreads ran all the time: the state of descriptors was not used.\n",
		   in->is_busy);
	if (in->table.is_full)
		print_text(p, "\nMore than %u places look like frames: the others were left out.\n",
			   FRAMES_MAX);
	print_flag(p, "incomplete", NULL, in->table.is_full);
	problem = coro_types_problem(in->types);
	if (!problem)
		problem = rust_futures_problem(in->tokio.futures);
	if (!problem && !in->tokio.nr && !in->tokio.nr_running && !coro_types_count(in->types))
		problem = "The program has no C++20 coroutines, and no tasks of Tokio.";
	if (problem)
		print_text(p, "\n%s\n", problem);
	print_string(p, "problem", problem);
}
