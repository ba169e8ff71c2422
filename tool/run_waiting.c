/* SPDX-License-Identifier: MIT */
/* run_waiting.c - where the coroutines wait that existed before `run -p` attached. */
#include "run_waiting.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/path.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "cmd.h"
#include "process_look.h"

#define GROUPS_MAX 10000

static struct process_look first_look;

/* Why facts are missing; empty: they are not. */
static char waiting_missing[192];

/* ---- stacks --------------------------------------------------------------------------- */

static const char *waiting_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* "read server.cpp:7 <- serve server.cpp:20"; the caller frees it. */
static char *waiting_stack(const json_t *group)
{
	const json_t *level;
	struct bytes text = { 0 };
	size_t i;

	json_array_foreach (json_object_get(group, "stack"), i, level) {
		const char *function = waiting_text(level, "function");
		const char *file = waiting_text(level, "file");
		char line[32];

		snprintf(line, sizeof(line), ":%lld",
			 (long long)json_integer_value(json_object_get(level, "line")));
		bytes_add_text(&text, i ? " <- " : "");
		bytes_add_text(&text, function ? function : "?");
		if (file) {
			bytes_add_text(&text, " ");
			bytes_add_text(&text, path_base(file));
			bytes_add_text(&text, line);
		}
	}
	bytes_add(&text, "", 1);
	if (!text.error)
		return (char *)text.data;
	bytes_release(&text);
	return NULL;
}

static uint64_t waiting_address(const json_t *text)
{
	const char *digits = json_string_value(text);

	return digits ? strtoull(digits, NULL, 16) : 0;
}

/* ---- the second look ------------------------------------------------------------------- */

/* Frames that the SDK could trace and the collector does not know: address to 1 + stack. */
struct waiting_frames {
	struct u64map at;
	struct strtab stacks;
};

static bool waiting_frames_add(struct waiting_frames *f, const json_t *group)
{
	char *stack = waiting_stack(group);
	int64_t number = stack ? strtab_intern(&f->stacks, stack) : -1;
	const json_t *one;
	size_t i;

	free(stack);
	if (number < 0)
		return false;
	json_array_foreach (json_object_get(group, "untraced"), i, one) {
		if (u64map_put(&f->at, waiting_address(one), (uint64_t)number + 1) < 0)
			return false;
	}
	return true;
}

/* False: the second look cannot be used, and the reason is in @why. */
static bool waiting_frames_read(struct waiting_frames *f, pid_t pid, bool has_attached,
				char why[LOOK_WHY_SIZE])
{
	struct process_look look = { 0 };
	json_t *found;
	const json_t *group;
	/*
	 * A program that has attached has the region mapped; without it, it is not known which
	 * frames the collector knows.
	 */
	bool ok;
	size_t i;

	process_look_begin(&look, pid);
	found = process_look_take(&look, why);
	if (found)
		snprintf(why, LOOK_WHY_SIZE, "the look at the program did not find the collector");
	ok = found && (!has_attached || json_is_object(json_object_get(found, "collector")));
	json_array_foreach (json_object_get(found, "groups"), i, group)
		ok = ok && waiting_frames_add(f, group);
	json_decref(found);
	return ok;
}

static void waiting_frames_release(struct waiting_frames *f)
{
	u64map_release(&f->at);
	strtab_release(&f->stacks);
}

/* ---- facts ------------------------------------------------------------------------------ */

/* Count the frames of @group that no other group had, and those that have not moved. */
static void waiting_count(const json_t *group, const char *stack, struct u64map *counted,
			  const struct waiting_frames *later, struct trace_waiting *out)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(group, "untraced"), i, one) {
		uint64_t addr = waiting_address(one), number, *known = u64map_at(counted, addr);

		if (!known || *known)
			continue;
		*known = 1;
		out->count++;
		if (u64map_get(&later->at, addr, &number) &&
		    !strcmp(strtab_text(&later->stacks, number - 1), stack))
			out->unmoved++;
	}
}

static void waiting_put(struct trace_writer *writer, const json_t *groups, pid_t pid,
			const struct waiting_frames *later, bool is_checked)
{
	struct u64map counted = { 0 };
	const json_t *group;
	size_t i;

	json_array_foreach (groups, i, group) {
		const json_t *leaf = json_array_get(json_object_get(group, "stack"), 0);
		char *stack = waiting_stack(group);
		struct trace_waiting fact = {
			.pid = (uint64_t)pid,
			.ts = first_look.ts,
			.is_checked = is_checked,
			.function = waiting_text(leaf, "function"),
			.file = waiting_text(leaf, "file"),
			.line = (uint64_t)json_integer_value(json_object_get(leaf, "line")),
			.stack = stack,
			.verdict = waiting_text(group, "verdict"),
		};

		if (stack)
			waiting_count(group, stack, &counted, later, &fact);
		if (fact.count)
			trace_put_waiting(writer, &fact);
		free(stack);
		if (i == GROUPS_MAX)
			break;
	}
	u64map_release(&counted);
}

void run_waiting_begin(pid_t pid)
{
	process_look_begin(&first_look, pid);
}

void run_waiting_end(void)
{
	process_look_end(&first_look);
}

/* True if a group has a frame that is not known to the collector. */
static bool waiting_is_any(const json_t *groups)
{
	const json_t *group;
	size_t i;

	json_array_foreach (groups, i, group) {
		if (json_array_size(json_object_get(group, "untraced")))
			return true;
	}
	return false;
}

/* In the trace and in the summary. */
static void waiting_note_missing(struct trace_writer *writer, pid_t pid, const char *what,
				 const char *why)
{
	snprintf(waiting_missing, sizeof(waiting_missing), "%s: %s", what, why);
	trace_put_waiting(writer, &(struct trace_waiting){ .pid = (uint64_t)pid,
							   .ts = first_look.ts,
							   .missing = waiting_missing });
}

const char *run_waiting_missing(void)
{
	return waiting_missing[0] ? waiting_missing : NULL;
}

void run_waiting_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			   bool has_attached)
{
	struct waiting_frames later = { 0 };
	bool is_checked = false;
	char why[LOOK_WHY_SIZE] = "";
	json_t *found = process_look_take(&first_look, why);
	const json_t *groups = json_object_get(found, "groups");

	if (!found)
		waiting_note_missing(writer, pid,
				     "cannot tell where coroutines wait that existed before the "
				     "attach",
				     why);
	if (waiting_is_any(groups)) {
		is_checked = is_running && waiting_frames_read(&later, pid, has_attached, why);
		if (is_running && !is_checked)
			waiting_note_missing(writer, pid,
					     "cannot tell which coroutines ran that existed before "
					     "the attach",
					     why);
		waiting_put(writer, groups, pid, &later, is_checked);
	}
	waiting_frames_release(&later);
	json_decref(found);
}
