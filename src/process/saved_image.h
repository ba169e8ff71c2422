/* SPDX-License-Identifier: MIT */
/*
 * saved_image.h - notes that corotracer adds to the core files it writes.
 *
 * They hold what a core file has no place for.  The owner is "corotracer"; numbers are in the byte
 * order of the machine.  A reader accepts a longer struct and ignores its end.
 */
#ifndef PROCESS_SAVED_IMAGE_H
#define PROCESS_SAVED_IMAGE_H

#include <stdint.h>

#define SAVED_OWNER "corotracer"

enum saved_type {
	SAVED_PROCESS = 1,
	SAVED_THREAD = 2,
	SAVED_RANGES = 3,
	SAVED_KERNEL_STATE = 4, /* text of the caller, not terminated */
};

struct saved_process {
	int32_t pid;
	uint32_t flags; /* SAVED_IO_URING, SAVED_RAN */
	uint64_t bytes_swapped, bytes_failed;
	uint64_t bytes_hidden;
};
#define SAVED_IO_URING 1u
#define SAVED_RAN      2u /* threads ran while the memory was saved */

struct saved_thread {
	int32_t tid;
	char state;
	uint8_t flags; /* SAVED_HAS_* */
	uint8_t reserved[2];
	char name[16];
	int64_t syscall_nr;
	uint64_t args[6];
	uint64_t sp, pc, switches, cpu_ns;
};
#define SAVED_HAS_SYSCALL   1u
#define SAVED_HAS_REGISTERS 2u

/* The note is a 64-bit count, that many of these, and that many terminated paths. */
struct saved_range {
	uint64_t start, end, offset;
	uint64_t flags; /* SAVED_READ ... */
};
#define SAVED_READ   UINT64_C(1)
#define SAVED_WRITE  UINT64_C(2)
#define SAVED_EXEC   UINT64_C(4)
#define SAVED_SHARED UINT64_C(8)

#endif
