/* SPDX-License-Identifier: MIT */
/*
 * weak_collector.h - the collector's session with the process of weak_frame_process.h: the
 * functions of src/frames/live, whose system calls are those of the search.
 */
#ifndef WEAK_COLLECTOR_H
#define WEAK_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLLECTOR_VALUES 8u /* of frames; each is saved once */

/* A collector that wants @slots and has not attached.  @resizes: the spec allows a resize. */
void collector_make(unsigned slots, bool resizes);

/* In set_up(), before collector_start(): with stamps, and blocks of two tickets. */
void collector_wants_blocks(void);

/* In set_up(): another collector's segment @nr; its id. */
int collector_second(unsigned nr, size_t size);

/* attach_start(): the next save() attaches. */
void collector_start(void);

/* A step of attach_run(), without its waiting.  False: the process has refused the ring, and said
 * why. */
bool collector_step(void);

/* resize_start() */
void collector_resize(unsigned slots);

/* Look at the flags twice.  Once the process has cleared its flag, no more tickets are taken. */
void collector_watch(void);

/* attach_stop(): detach, wait a short time, read what is there. */
void collector_stop(void);

/* From now on the process is dead, as the collector sees it. */
void collector_process_died(void);

/* After all threads have ended. */
struct collector_result {
	uint64_t issued, recorded, lost; /* at the end of the session */
	uint64_t final;   /* next ticket, when it saw that the process has left; or 0 */
	uint64_t tickets; /* that were taken ever; with blocks: frames saved */
	unsigned resizes;
	int32_t handle; /* the last one that the collector read */
	bool was_attached;
	bool is_mapped; /* the process has the ring, as its flag says */
	int refused;    /* errno of a resize that the process refused */
};

void collector_result(struct collector_result *out);

#endif
