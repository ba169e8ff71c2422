/* SPDX-License-Identifier: MIT */
/* profile_print.c - print a profile of waiting as a table or as JSON. */
#include "inspect/profile_files.h"

#define LEVELS_SHOWN 50 /* of a stack, in the text */

static double profile_percent(const struct wait_profile *p, uint64_t samples)
{
	uint64_t all = wait_profile_samples(p);

	return all ? 100.0 * (double)samples / (double)all : 0;
}

static double profile_mean(const struct wait_profile *p, uint64_t samples)
{
	return p->looks ? (double)samples / (double)p->looks : 0;
}

/* ---- head -------------------------------------------------------------------------- */

static void print_profile_states(const struct wait_profile *p, struct printer *out)
{
	const char *before = ": ";
	int state;

	print_object(out, "states");
	for (state = 0; state < PROFILE_STATES; state++) {
		print_object(out, profile_state_name((enum profile_state)state));
		print_count(out, "samples", NULL, p->samples[state]);
		print_real(out, "task_seconds", NULL, wait_profile_seconds(p, p->samples[state]));
		print_real(out, "percent", NULL, profile_percent(p, p->samples[state]));
		if (p->samples[state]) {
			print_text(out, "%s%.1f %s", before, profile_mean(p, p->samples[state]),
				   profile_state_name((enum profile_state)state));
			before = ", ";
		}
		print_object_end(out);
	}
	print_object_end(out);
	print_text(out, "\n");
}

static void print_profile_head(const struct profile_run *run, struct printer *out)
{
	const struct wait_profile *p = run->profile;

	print_integer(out, "pid", "process %s (", run->pid);
	print_safe(out, run->name, 0);
	print_string(out, "name", run->name);
	print_count(out, "looks", "), %s looks", p->looks);
	print_text(out, " in %.1f s, each stands for %.3g ms\n", (double)run->elapsed_ns / 1e9,
		   (double)p->period_ns / 1e6);
	print_count(out, "elapsed_ns", NULL, run->elapsed_ns);
	print_count(out, "period_ns", NULL, p->period_ns);
	print_string(out, "ended_by", run->ended_by);
	print_count(out, "samples", NULL, wait_profile_samples(p));
	print_real(out, "tasks", "%.1f tasks on average", profile_mean(p, wait_profile_samples(p)));
	print_real(out, "task_seconds", NULL, wait_profile_seconds(p, wait_profile_samples(p)));
	print_profile_states(p, out);
}

/* ---- stacks ------------------------------------------------------------------------- */

static void print_profile_level(const struct profile_place *place, struct printer *out,
				bool is_leaf, bool is_running)
{
	print_object(out, NULL);
	if (!is_leaf)
		print_text(out, "\n                                        <- ");
	print_safe(out, place->function, 0);
	print_string(out, "function", place->function);
	print_string(out, "file", place->file);
	if (place->file) {
		print_text(out, "  ");
		print_safe(out, place->file, 0);
		print_text(out, ":%u", place->line);
	}
	print_known(out, "line", NULL, place->file != NULL, place->line, NULL);
	print_flag(out, "exact", NULL, place->is_exact);
	if (place->is_initial)
		print_text(out, "  (not started)");
	else if (place->file && !place->is_exact && !(is_leaf && is_running))
		print_text(out, "  (the function)");
	else if (is_leaf && place->awaits) {
		print_text(out, "  awaits ");
		print_safe(out, place->awaits, 60);
	}
	if (place->awaits)
		print_string(out, "awaits", place->awaits);
	print_object_end(out);
}

static void print_profile_stack(const struct wait_profile *p, const struct profile_stack *s,
				struct printer *out)
{
	uint32_t level = s->level, shown = 0;

	print_row(out);
	print_real(out, "percent", "%7.2f %%", profile_percent(p, s->samples));
	print_real(out, "task_seconds", "%14.1f", wait_profile_seconds(p, s->samples));
	print_real(out, "tasks", "%10.1f", profile_mean(p, s->samples));
	print_text(out, "  %-8s", profile_state_name(s->state));
	print_string(out, "state", profile_state_name(s->state));
	print_count(out, "samples", NULL, s->samples);
	print_count(out, "most", NULL, s->most);
	print_list(out, "stack");
	for (; level && (out->is_json || shown < LEVELS_SHOWN); shown++) {
		print_profile_level(wait_profile_place_at(p, level), out, level == s->level,
				    s->state == PROFILE_RUNNING);
		level = wait_profile_level_at(p, level)->parent;
	}
	if (level)
		print_text(out, "\n                                        and %u more levels",
			   wait_profile_level_at(p, level)->depth);
	print_list_end(out);
	print_row_end(out);
}

static void print_profile_stacks(const struct wait_profile *p, struct printer *out, size_t most)
{
	size_t i, shown = most && p->nr_stacks > most && !out->is_json ? most : p->nr_stacks;

	if (shown)
		print_text(out, "\n  percent  task-seconds     tasks  state   stack\n");
	print_list(out, "stacks");
	for (i = 0; i < shown; i++)
		print_profile_stack(p, &p->stacks[i], out);
	print_list_end(out);
	if (shown < p->nr_stacks)
		print_text(out, "and %zu more stacks (--all)\n", p->nr_stacks - shown);
}

/* ---- what was not seen ---------------------------------------------------------------- */

static void print_profile_losses(const struct profile_run *run, struct printer *out)
{
	const struct profile_losses *l = &run->profile->losses;

	print_text(out, "\n");
	print_nonzero(out, "late", "%s looks left out: the one before took too long\n", l->late);
	print_nonzero(out, "failed", "%s looks failed\n", l->failed);
	print_nonzero(out, "changed", "%s times a task ran while it was read, and was left out\n",
		      l->changed);
	print_nonzero(
		out, "threads_unknown",
		run->has_stacks
			? "%s times the stack of a thread was not known\n"
			: "%s times the stack of a thread was not known, most of them because it "
			  "ran; a coroutine\non it counts as waiting where it was suspended "
			  "last (--stacks)\n",
		l->threads);
	print_nonzero(out, "frames_unknown",
		      "%s times a thread ran one of several coroutines of a function: they count "
		      "as waiting\n",
		      l->unnamed);
	print_nonzero(out, "bytes_failed", "%s bytes could not be read\n", l->bytes_failed);
	print_nonzero(out, "reloads", "%s times the modules of the program changed\n", l->reloads);
}

static void print_profile_cost(const struct profile_run *run, struct printer *out)
{
	const struct wait_profile *p = run->profile;
	uint64_t looks = p->looks ? p->looks : 1;
	uint64_t mean = p->look_ns / looks, cpu = p->look_cpu_ns / looks;

	print_count(out, "look_ns", NULL, mean);
	print_count(out, "look_max_ns", NULL, p->look_max_ns);
	print_count(out, "look_cpu_ns", NULL, cpu);
	print_text(out, "A look took %.1f ms, at most %.1f ms, and %.1f ms of CPU.\n",
		   (double)mean / 1e6, (double)p->look_max_ns / 1e6, (double)cpu / 1e6);
	print_count(out, "stopped_ns", NULL, run->stopped_ns);
	if (run->stopped_ns)
		print_text(out, "The threads were stopped for %.3f ms in total.\n",
			   (double)run->stopped_ns / 1e6);
	if (run->problem)
		print_text(out, "%s\n", run->problem);
	print_string(out, "problem", run->problem);
}

void profile_print(const struct profile_run *run, struct printer *p, size_t most)
{
	print_profile_head(run, p);
	print_profile_stacks(run->profile, p, most);
	print_profile_losses(run, p);
	print_profile_cost(run, p);
}
