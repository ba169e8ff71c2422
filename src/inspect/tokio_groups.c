/* SPDX-License-Identifier: MIT */
/* tokio_groups.c - group Tokio's tasks by their stacks, and say what they wait for. */
#include "inspect/tokio_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "inspect/described_text.h"
#include "inspect/tokio_verdicts.h"
#include "inspect/wait_text.h"

#define DESCRIPTORS_TEXT 5
#define DESCRIPTORS_JSON 100

/* The level with that place and parent, searched among the levels of tasks; 0: no memory. */
static uint32_t tokio_level(struct inspection *in, size_t first, const struct rust_place *place,
			    uint32_t parent)
{
	size_t i;

	for (i = first; i < in->nr_levels; i++) {
		if (in->levels[i].rust == place && in->levels[i].parent == parent)
			return (uint32_t)i + 1;
	}
	return inspection_add_level(in, &(struct inspect_level){ .parent = parent, .rust = place });
}

static int task_by_places(const void *a, const void *b)
{
	const struct tokio_task *x = a, *y = b;

	if (x->places->places != y->places->places)
		return x->places->places < y->places->places ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool task_is_ready(const struct tokio_task *task)
{
	return task->state & TOKIO_TASK_NOTIFIED;
}

static int task_by_stack(const void *a, const void *b)
{
	const struct tokio_task *x = a, *y = b;

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (x->confidence != y->confidence)
		return x->confidence < y->confidence ? -1 : 1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	if (task_is_ready(x) != task_is_ready(y))
		return task_is_ready(x) ? 1 : -1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Tasks with the same stack, which are beside each other after task_by_places(). */
struct task_run {
	uint64_t addr; /* of the first task */
	size_t first;
};

static int run_by_address(const void *a, const void *b)
{
	const struct task_run *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Pointers of this program decide the order of runs in the list: the result is by address. */
static struct task_run *task_runs(const struct tokio_tasks *t, size_t *nr)
{
	struct task_run *runs = calloc(t->nr + 1, sizeof(*runs));
	size_t i;

	*nr = 0;
	for (i = 0; runs && i < t->nr; i++) {
		/* Equal stacks have the same array. */
		if (!i || t->tasks[i].places->places != t->tasks[i - 1].places->places)
			runs[(*nr)++] = (struct task_run){ t->tasks[i].addr, i };
	}
	if (runs && *nr)
		qsort(runs, *nr, sizeof(*runs), run_by_address);
	return runs;
}

/* The stack of the tasks from @first on that have the same one.  0 or -ENOMEM. */
static int task_run_resolve(struct inspection *in, size_t first, size_t first_level)
{
	struct tokio_task *tasks = in->tokio.tasks;
	const struct rust_stack *stack = tasks[first].places;
	uint32_t level = 0;
	size_t i;

	for (i = 0; i < stack->nr; i++) {
		level = tokio_level(in, first_level, stack->places[i], level);
		if (!level)
			return -ENOMEM;
	}
	for (i = first; i < in->tokio.nr && tasks[i].places->places == stack->places; i++)
		tasks[i].stack = level;
	return 0;
}

static int tokio_stacks_resolve(struct inspection *in)
{
	size_t first_level = in->nr_levels, i, nr;
	struct task_run *runs;
	int rc = 0;

	if (!in->tokio.nr)
		return 0;
	qsort(in->tokio.tasks, in->tokio.nr, sizeof(*in->tokio.tasks), task_by_places);
	runs = task_runs(&in->tokio, &nr);
	if (!runs)
		return -ENOMEM;
	for (i = 0; !rc && i < nr; i++)
		rc = task_run_resolve(in, runs[i].first, first_level);
	free(runs);
	qsort(in->tokio.tasks, in->tokio.nr, sizeof(*in->tokio.tasks), task_by_stack);
	return rc;
}

static bool task_is_alike(const struct tokio_task *x, const struct tokio_task *y)
{
	return x->stack == y->stack && x->verdict == y->verdict && x->confidence == y->confidence &&
	       x->reason == y->reason && task_is_ready(x) == task_is_ready(y);
}

int tokio_groups_make(struct inspection *in)
{
	const struct tokio_task *tasks = in->tokio.tasks;
	struct inspect_group *more, *g = NULL;
	size_t i;

	if (tokio_stacks_resolve(in) < 0)
		return -ENOMEM;
	more = reallocarray(in->groups, in->nr_groups + in->tokio.nr + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	in->groups = more;
	for (i = 0; i < in->tokio.nr; i++) {
		if (!i || !task_is_alike(&tasks[i], &tasks[i - 1])) {
			g = &in->groups[in->nr_groups++];
			*g = (struct inspect_group){
				.stack = tasks[i].stack - 1,
				.is_tokio = true,
				.is_ready = task_is_ready(&tasks[i]),
				.verdict = tasks[i].verdict,
				.confidence = tasks[i].confidence,
				.reason = tasks[i].reason,
				.first = i,
			};
		}
		g->count++;
		g->bytes += tasks[i].size;
	}
	return 0;
}

void tokio_tasks_count(struct inspection *in)
{
	in->nr_suspended += in->tokio.nr;
	in->nr_running += in->tokio.nr_running;
	in->nr_changed += in->tokio.nr_changed;
}

struct inspect_place tokio_place(const struct rust_place *place)
{
	return (struct inspect_place){
		.function = place->function,
		.file = place->file,
		.line = place->line,
		.is_exact = place->is_exact,
		.is_initial = place->is_initial,
		.awaits = place->awaits,
		.rust = place,
	};
}

/* The earliest deadline of a task and its branches; *@left is in seconds from now. */
static bool task_first_deadline(const struct inspection *in, const struct tokio_task *task,
				double *left)
{
	const struct rust_stack *stack = task->places;
	double one;
	bool has = tokio_wait_left(in, &stack->wait, left);
	size_t i;

	for (i = 0; i < stack->nr_branch_waits; i++) {
		if (!tokio_wait_left(in, &stack->branch_waits[i], &one) || (has && one >= *left))
			continue;
		*left = one;
		has = true;
	}
	return has;
}

/* The earliest deadline of the group; a core file has no now. */
static void print_tokio_deadline(struct inspection *in, struct printer *p,
				 const struct inspect_group *g)
{
	double first = 0, left;
	bool has = false;
	size_t i;

	for (i = 0; i < g->count; i++) {
		if (!task_first_deadline(in, &in->tokio.tasks[g->first + i], &left) ||
		    (has && left >= first))
			continue;
		first = left;
		has = true;
	}
	if (has && first >= 0)
		print_text(p, ", the first in %.1f s", first);
	else if (has)
		print_text(p, ", the first was due %.1f s ago", -first);
	if (has && p->is_json)
		print_integer(p, "due_in_ms", NULL, (int64_t)(first * 1000));
}

/* The descriptors of all futures of the group, those in branches as well. */
static void print_tokio_descriptors(struct inspection *in, struct printer *p,
				    const struct inspect_group *g)
{
	size_t i, k, shown = 0, most = p->is_json ? DESCRIPTORS_JSON : DESCRIPTORS_TEXT, more = 0;
	bool has_list = false;

	for (i = 0; i < g->count; i++) {
		const struct rust_stack *stack = in->tokio.tasks[g->first + i].places;

		for (k = 0; k <= stack->nr_branch_waits; k++) {
			const struct rust_wait *wait = k ? &stack->branch_waits[k - 1]
							 : &stack->wait;

			if (wait->fd < 0)
				continue;
			if (!has_list)
				print_list(p, "descriptors");
			has_list = true;
			if (shown++ < most) {
				print_text(p, "\n              ");
				print_descriptor(in, p, wait->fd, wait->is_registered);
			} else {
				more++;
			}
		}
	}
	if (has_list)
		print_list_end(p);
	if (more)
		print_text(p, "\n              and %zu more", more);
}

void print_tokio_wait(struct inspection *in, struct printer *p, const struct inspect_group *g)
{
	const struct rust_wait *wait = &in->tokio.tasks[g->first].places->wait;
	struct inspect_place place = inspection_place(in, g->stack);
	const char *kind = wait->kind ? wait->kind : place.rust->nr_branches ? "futures" : NULL;
	char text[32];

	if (g->is_ready) {
		print_object(p, "waits_for");
		print_string(p, "kind", "processor");
		print_text(p, "   ready: it was woken, and waits for a thread of the runtime\n");
		print_object_end(p);
		return;
	}
	if (!kind && !place.awaits) {
		print_string(p, "waits_for", NULL);
		return;
	}
	print_object(p, "waits_for");
	print_string(p, "kind", kind ? kind : "awaiter");
	print_string(p, "type", wait->kind ? wait->type : place.awaits);
	if (kind)
		print_text(p, "   waits for: %s", kind);
	print_tokio_deadline(in, p, g);
	print_tokio_descriptors(in, p, g);
	if (wait->object && g->count == 1) {
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)wait->object);
		print_text(p, " %s", text);
		print_string(p, "task", text);
	}
	print_text(p, kind ? "\n" : "");
	print_described_objects(in, p, g);
	print_object_end(p);
}
