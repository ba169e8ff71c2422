/* SPDX-License-Identifier: MIT */
/* kernel_roots.c - pointers that a program has given to the kernel. */
#include "inspect/kernel_roots.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *roots_open(const struct descriptors *process, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)process->pid, name);
	return fopen(path, "re");
}

/* ---- words ------------------------------------------------------------------------ */

static void roots_add(struct kernel_roots *roots, uint64_t word)
{
	if (word && roots->nr < KERNEL_ROOTS_MAX)
		roots->words[roots->nr++] = word;
}

/* "signal: 60/00007fff86e452a8": sigev_value of timer_create(2). */
static void roots_read_timers(struct kernel_roots *roots, const struct descriptors *process)
{
	FILE *file = roots_open(process, "timers");
	char line[256];
	uint64_t word;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "signal: %*d/%" SCNx64, &word) == 1)
			roots_add(roots, word);
	}
	if (file)
		fclose(file);
}

struct roots_visit {
	const struct descriptors *process;
	struct kernel_roots *roots; /* NULL: only unread bytes are searched */
	bool has_unread;
};

static bool roots_is_local(const struct descriptor_state *state)
{
	return state->kind == DESCRIPTOR_PIPE ||
	       (state->kind == DESCRIPTOR_SOCKET && !strchr(state->peer, '.') &&
		state->peer[0] != '[');
}

static bool roots_visit_descriptor(void *ctx, int fd)
{
	struct roots_visit *v = ctx;
	struct descriptor_state state;

	if (descriptors_kind(v->process, fd, &state) < 0 ||
	    (v->roots ? state.kind != DESCRIPTOR_EVENTFD
		      : state.kind != DESCRIPTOR_PIPE && state.kind != DESCRIPTOR_SOCKET) ||
	    descriptors_look(v->process, fd, &state) < 0)
		return true;
	if (v->roots)
		roots_add(v->roots, state.unread);
	else
		v->has_unread = v->has_unread || (state.unread && roots_is_local(&state));
	return !v->has_unread;
}

void kernel_roots_read(struct kernel_roots *roots, const struct descriptors *process)
{
	struct roots_visit v = { .process = process, .roots = roots };

	roots->nr = 0;
	roots_read_timers(roots, process);
	descriptors_each(process, roots_visit_descriptor, &v);
}

/* ---- what cannot be seen ------------------------------------------------------------ */

static bool roots_has_signals(const struct descriptors *process)
{
	FILE *file = roots_open(process, "status");
	bool is_pending = false;
	char line[256];
	uint64_t set;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigPnd: %" SCNx64, &set) == 1 ||
		    sscanf(line, "ShdPnd: %" SCNx64, &set) == 1)
			is_pending = is_pending || set;
	}
	if (file)
		fclose(file);
	return is_pending;
}

const char *kernel_roots_doubt(const struct descriptors *process)
{
	struct roots_visit v = { .process = process };
	FILE *timers = roots_open(process, "timers");

	if (!timers)
		return "the kernel does not list the timers of the program";
	fclose(timers);
	if (roots_has_signals(process))
		return "a signal is pending: its value may be a pointer";
	descriptors_each(process, roots_visit_descriptor, &v);
	if (v.has_unread)
		return "a pipe or a local socket has unread bytes: they may be pointers";
	return NULL;
}
