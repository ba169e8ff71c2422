/* SPDX-License-Identifier: MIT */
/*
 * registers_bpf.h - read the registers of all threads of a process with a BPF program.
 *
 * The program is an iterator over tasks: the kernel runs it when its file is read.  It copies the
 * registers that a thread had when it entered the kernel, so the result is right for threads that
 * are blocked.  No thread is stopped.
 */
#ifndef PROCESS_REGISTERS_BPF_H
#define PROCESS_REGISTERS_BPF_H

#include <sys/types.h>

#include "base/err.h"
#include "process/image_registers.h"

struct registers_bpf {
	int link; /* -1: not loaded */
};

/*
 * Load the program for process @pid.  -EPERM: without CAP_BPF and CAP_PERFMON; -ENOTSUP: the kernel
 * cannot do it.
 */
int registers_bpf_open(struct registers_bpf *b, pid_t pid, struct err *err);
void registers_bpf_close(struct registers_bpf *b);

/* Set the registers of the @threads that the kernel lists.  Returns their number. */
ssize_t registers_bpf_read(struct registers_bpf *b, struct image_thread *threads, size_t nr,
			   struct err *err);

#endif
