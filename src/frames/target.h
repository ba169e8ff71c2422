/* SPDX-License-Identifier: MIT */
/*
 * target.h - somebody else's process: its memory, and whether it still lives.
 *
 * Memory is read and written with process_vm_readv(2) and process_vm_writev(2), which
 * stop nothing.  Where a sandbox forbids those two, ptrace(2) does it; then the time
 * that the process stood still is measured.  Everything read is a stranger's: callers
 * check it.
 */
#ifndef FRAMES_TARGET_H
#define FRAMES_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TARGET_AUXV_MAX 1024

struct target {
	pid_t pid;
	int pidfd;           /* readable once the process is gone; -1: closed, or an old kernel */
	bool by_ptrace;      /* process_vm_readv() does not work here */
	uint64_t stopped_ns; /* how long the process stood still because of us */
	unsigned stops;
	/* /proc/PID/auxv at the start: addresses of the program, which execve(2) changes. */
	uint8_t auxv[TARGET_AUXV_MAX];
	size_t auxv_size;
};

/* @pid must be a process that we may look into; if not, the words say whose fault that is. */
int target_open(struct target *t, pid_t pid, struct err *err);
void target_close(struct target *t);

/* False once the process is dead, a zombie included. */
bool target_alive(const struct target *t);

/* True if the process executes another program since target_open(): its memory is another one. */
bool target_replaced(const struct target *t);

/* Exactly @size bytes, or a negative errno. */
int target_read(struct target *t, uint64_t addr, void *buf, size_t size, struct err *err);
int target_write(struct target *t, uint64_t addr, const void *buf, size_t size, struct err *err);

/* As many as can be read from there on, at most @size. */
ssize_t target_read_some(struct target *t, uint64_t addr, void *buf, size_t size);

/* "name" of /proc/@pid/comm, or "?".  Returns @buf. */
const char *target_name(pid_t pid, char buf[32]);

/* True if both processes have the same namespace of that kind ("ipc", "user", "pid"). */
bool target_shares_namespace(pid_t pid, const char *kind);

#endif
