/* SPDX-License-Identifier: MIT */
/*
 * process_image.h - a process to be looked at: running, or in a core file.
 *
 * A running process is neither stopped nor changed: memory is read with process_vm_readv(2), and
 * pages that are not resident are not touched (pagemap).  All data is untrusted.
 */
#ifndef PROCESS_PROCESS_IMAGE_H
#define PROCESS_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum image_kind {
	IMAGE_RUNNING,
	IMAGE_CORE,
};

struct image_range {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	bool can_read, can_write, can_execute, is_shared;
	const char *path; /* as the process sees it; "" for anonymous memory; "[heap]", "[stack]" */
};

/* A mapped ELF file.  It has the build-id that is in the process's memory. */
struct image_module {
	const char *path;      /* as the process sees it */
	const char *open_path; /* to open it here: /proc/PID/map_files/... or the path; "": none */
	const char *build_id;  /* in hexadecimal; NULL: none */
	uint64_t start, end;   /* from its first to its last mapping */
	uint64_t bias;         /* address in the process = address in the file + bias */
};

/* General registers by DWARF number: 0 to 15 and the return address on x86_64; x0-x30, sp, pc. */
#define IMAGE_REGISTERS 34

struct image_thread {
	pid_t tid;
	char name[16];
	char state;         /* as in /proc/PID/stat: R, S, D, T ... */
	bool has_syscall;   /* it is blocked in a system call */
	int64_t syscall_nr; /* -1: blocked outside a system call */
	uint64_t args[6];
	uint64_t sp, pc;       /* 0: unknown */
	bool has_registers;    /* core files; a running thread after image_read_registers() */
	unsigned nr_registers; /* used of the array */
	uint64_t registers[IMAGE_REGISTERS];
	uint64_t switches; /* context switches so far: the same number twice means it has not run */
	uint64_t cpu_ns;
	uint64_t stopped_ns; /* time for which image_stop_threads() stopped it */
	bool is_settled;     /* ... and it blocked again in the same call: it has not run since */
	bool has_vectors;    /* its vector registers are in process_image.vectors */
};

struct process_image {
	enum image_kind kind;
	pid_t pid;
	unsigned machine; /* EM_X86_64, EM_AARCH64 */
	char name[32];
	const char *exe; /* path of the program */
	struct image_range *ranges;
	size_t nr_ranges; /* sorted by address */
	struct image_module *modules;
	size_t nr_modules;
	struct image_thread *threads;
	size_t nr_threads;
	bool has_io_uring;  /* it has an io_uring, or an aio context: roots may be in the kernel */
	bool has_pagemap;   /* running; false: pages that are not resident are read as well */
	bool is_truncated;  /* core files: a part of the file is missing */
	char *kernel_state; /* text of the caller, from malloc(); image_save() stores it; or NULL */
	uint64_t stopped_ns; /* sum over the threads */
	uint64_t *vectors;   /* words of vector registers, of all threads: they may be pointers */
	size_t nr_vectors, room_vectors;
	/* of the last image_visit() */
	uint64_t bytes_read, bytes_absent, bytes_swapped, bytes_failed;
	/*
	 * Memory that may hold pointers and cannot be read: of devices, without read permission,
	 * or shared and not mapped by the process at this moment; of a core, what it leaves out.
	 */
	uint64_t bytes_hidden;
	bool has_run; /* a saved process: its threads ran while its memory was saved */
	struct image_backend *backend;
};

int image_open_process(struct process_image *image, pid_t pid, struct err *err);

/* @exe: the program, if its path is not the one in the core; may be NULL. */
int image_open_core(struct process_image *image, const char *path, const char *exe,
		    struct err *err);
void image_close(struct process_image *image);

/* Read the list of threads again (running: their state now). */
int image_read_threads(struct process_image *image, struct err *err);

/* Read the maps again; the set of modules may have changed. */
int image_read_ranges(struct process_image *image, struct err *err);

/* Read the maps again, and leave the modules as they are. */
int image_refresh_ranges(struct process_image *image, struct err *err);

/* The range that contains @addr, or NULL. */
const struct image_range *image_find_range(const struct process_image *image, uint64_t addr);

/* True if the range has no file: it has no name, or one in brackets. */
bool image_range_anonymous(const struct image_range *range);

/* As many bytes as are there, at most @size; a negative errno. */
ssize_t image_read(const struct process_image *image, uint64_t addr, void *buf, size_t size);

/*
 * Call @visit for all memory that is writable, shared or anonymous, and resident, in ascending
 * order; @addr and @size are multiples of the page size except at the end of a core's segment.
 * @data is valid during the call, and aligned to 4096 bytes for a running process.  Stops when
 * @visit returns a value that is not 0, and returns it.  A negative errno: -ESRCH if the process
 * has ended, -ESTALE if it has executed another program.
 */
typedef int (*image_visitor)(void *arg, const struct image_range *range, uint64_t addr,
			     const void *data, size_t size);
int image_visit(struct process_image *image, image_visitor visit, void *arg);

/*
 * As image_visit(), for pages that the process has written and that are read-only now: constants
 * that the loader relocated, and data that the program protects.
 */
int image_visit_protected(struct process_image *image, image_visitor visit, void *arg);

/*
 * Write a running process to a core file that image_open_core() and gdb can read: memory as by
 * image_visit(), threads as in image->threads, and image->kernel_state.  The file is sparse,
 * private to its owner, and appears complete or not at all.
 */
int image_save(struct process_image *image, const char *path, struct err *err);

/* ---- registers of running threads ------------------------------------------- */

enum image_registers_mode {
	IMAGE_REGISTERS_BPF,  /* nothing is stopped; blocked threads only */
	IMAGE_REGISTERS_STOP, /* ptrace(2): stop the threads, one after the other */
};

/*
 * Read the threads again, with their registers; `has_registers` says which are known.  Core files:
 * nothing to do.  BPF: -EPERM without CAP_BPF and CAP_PERFMON, -ENOTSUP if the kernel cannot do it;
 * threads that run meanwhile have no registers.  STOP: -EPERM if the process may not be traced.
 */
int image_read_registers(struct process_image *image, enum image_registers_mode mode,
			 struct err *err);

/*
 * Stop the threads in image->threads one after the other, read their registers, and call @stopped
 * (may be NULL) while the thread is stopped; it runs on another thread of this program.  System
 * calls that the stop interrupts are restarted, also those that would return EINTR; a timeout of
 * epoll_wait(2) begins again then.  A thread that cannot be stopped within a second is left out;
 * the third one ends the list.
 */
typedef void (*image_stopped)(void *arg, struct image_thread *thread);
int image_stop_threads(struct process_image *image, image_stopped stopped, void *arg,
		       struct err *err);

/*
 * True if no thread has run since @earlier was read: both lists have the same threads, all of them
 * blocked, with the same number of context switches.
 */
bool image_threads_idle(const struct image_thread *earlier, size_t nr_earlier,
			const struct image_thread *now, size_t nr_now);

#endif
