/* SPDX-License-Identifier: MIT */
/*
 * target_memory.h - access to another process: its memory, and whether it is alive.
 *
 * Memory is read and written with process_vm_readv(2) and process_vm_writev(2), which do not
 * stop the process.  If a sandbox forbids them, ptrace(2) is used, and the time for which the
 * process is stopped is measured.  The data is untrusted: callers check it.
 */
#ifndef PROCESS_TARGET_MEMORY_H
#define PROCESS_TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TARGET_AUXV_MAX 1024

struct target {
	pid_t pid;
	int pidfd;           /* readable once the process has ended; -1: closed, or an old kernel */
	bool by_ptrace;      /* process_vm_readv() does not work here */
	uint64_t stopped_ns; /* time for which the collector stopped the process */
	unsigned stops;
	/* /proc/PID/auxv at the start: addresses of the program, which execve(2) changes. */
	uint8_t auxv[TARGET_AUXV_MAX];
	size_t auxv_size;
};

/* Fails if the collector may not access process @pid; the message gives the reason. */
int target_open(struct target *t, pid_t pid, struct err *err);
void target_close(struct target *t);

/* False once the process is dead, a zombie included. */
bool target_alive(const struct target *t);

/*
 * True if the main thread has no memory any more: the process is ending, which takes a while if it
 * has much memory, or its main thread has ended before the others.
 */
bool target_is_leaving(const struct target *t);

/* True if the process has executed another program since target_open(): its memory is new. */
bool target_replaced(const struct target *t);

/* Exactly @size bytes.  Returns 0 or a negative errno. */
int target_read(struct target *t, uint64_t addr, void *buf, size_t size, struct err *err);
int target_write(struct target *t, uint64_t addr, const void *buf, size_t size, struct err *err);

/* Read as many bytes as possible, at most @size.  Returns their number or a negative errno. */
ssize_t target_read_some(struct target *t, uint64_t addr, void *buf, size_t size);

/* Explain why ptrace(2) was refused for @pid.  Returns -EPERM, or -ESRCH. */
int target_ptrace_refused(pid_t pid, struct err *err);

/* The name in /proc/@pid/comm, or "?".  Returns @buf. */
const char *target_name(pid_t pid, char buf[32]);

/* True if both processes have the same namespace of that kind ("ipc", "user", "pid"). */
bool target_shares_namespace(pid_t pid, const char *kind);

#endif
