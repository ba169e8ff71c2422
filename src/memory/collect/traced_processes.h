/* SPDX-License-Identifier: MIT */
/*
 * traced_processes.h - the processes in a region: their files, and when they have ended.
 *
 * runtime/memory/ring_consumer.h moves the records of their threads to the files.
 */
#ifndef MEMORY_COLLECT_TRACED_PROCESSES_H
#define MEMORY_COLLECT_TRACED_PROCESSES_H

#include "memory/collect/trace_files.h"
#include "ring_consumer.h"

struct traced {
	struct crw_consumer consumer;
	struct crw_region *region;
	struct outputs *outputs;
	struct cray_writer *nowhere; /* for processes whose file is not open */
	uint64_t broken;
	bool no_memory;
	const char *dir; /* of the region; NULL: no notes for a recovery (left_region.h) */
	uint64_t noted;  /* the highest serial with a note */
};

int traced_open(struct traced *t, struct crw_region *region, struct outputs *outputs,
		struct err *err);

/* Complete the files of ended processes (@last: of all).  @child: the pid that @status is for. */
void traced_end_files(struct traced *t, uint32_t child, int status, bool last);

void traced_close(struct traced *t);

#endif
