/* SPDX-License-Identifier: MIT */
/*
 * hold_log.h - which coroutine held which lock from when to when.
 *
 * The newest HOLD_LOG_MAX holds are kept.  When there is no more room, the older half of the ended
 * ones is dropped; if most have not ended, the older half of all.
 */
#ifndef VIEW_HOLD_LOG_H
#define VIEW_HOLD_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/u64map.h"

#define HOLD_LOG_MAX 65536u

struct lock_hold {
	uint64_t resource;
	uint64_t from, to; /* to 0: still held */
	uint32_t pid;
	uint32_t coro;  /* number in the view */
	uint32_t below; /* 1 + index of the hold of this lock that began before; 0: none is open */
};

/* All zero: empty. */
struct hold_log {
	struct lock_hold *holds; /* in the order of their begin */
	size_t nr, room;
	struct u64map open; /* lock to 1 + index of its last open hold; 0: none */
	uint64_t of;        /* holds of the trace */
	uint64_t since;     /* before this time some holds are missing; 0: none */
};

/* 0 or -ENOMEM. */
int hold_log_acquire(struct hold_log *log, const struct lock_hold *hold);

/* The hold of that coroutine ends; without one, the oldest of the lock. */
void hold_log_release(struct hold_log *log, const struct lock_hold *hold);

void hold_log_free(struct hold_log *log);

/* Append the section "holds" with the newest @max; times are relative to @origin.  0 or -ENOMEM. */
int hold_log_write(const struct hold_log *log, size_t max, uint64_t origin, struct bytes *out);

#endif
