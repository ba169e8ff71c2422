/* SPDX-License-Identifier: MIT */
/* region_processes.c - the processes that wrote into a region: which of them still run. */
#include "collect/region_processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "process/process_check.h"
#include "process/process_maps.h"
#include "process/target_memory.h"

static void find_process(uint32_t pid, const char *path, struct recover_process *p)
{
	bool mine = pid <= INT32_MAX && kill((pid_t)pid, 0) == 0;

	p->pid = pid;
	/* Those of other users may be invisible in /proc. */
	if (pid > INT32_MAX || (mine ? process_thread_ended(pid, pid) : errno == ESRCH))
		return;
	p->life = process_maps_file((pid_t)pid, path) ? PROCESS_THERE : PROCESS_OTHER;
	if (p->life == PROCESS_THERE)
		target_name((pid_t)pid, p->command);
}

static int by_pid(const void *a, const void *b)
{
	const struct recover_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void recover_find_processes(struct recover *r, const char *path, const struct u64map *pids)
{
	uint64_t pid, ignored;
	size_t pos = 0;

	r->processes = calloc(u64map_count(pids) + 1, sizeof(*r->processes));
	if (!r->processes) {
		r->short_of_memory = true;
		return;
	}
	while (u64map_next(pids, &pos, &pid, &ignored))
		find_process((uint32_t)pid, path, &r->processes[r->nr_processes++]);
	qsort(r->processes, r->nr_processes, sizeof(*r->processes), by_pid);
}

bool recover_goes_on(const struct recover *r)
{
	size_t i;

	for (i = 0; i < r->nr_processes; i++) {
		if (r->processes[i].life == PROCESS_THERE)
			return true;
	}
	return false;
}
