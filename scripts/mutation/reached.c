/* SPDX-License-Identifier: MIT */
/*
 * reached.c - one bit for each byte of the code that was reached.
 *
 * Linked into every program and library of an instrumented build (reached.py), whose blocks call
 * __sanitizer_cov_trace_pc().  The bits are in a file that is mapped: they stay when the process is
 * killed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char __etext[] __attribute__((visibility("hidden")));

static uint8_t *reached_bits;
static size_t nr_reached_bits;

void __sanitizer_cov_trace_pc(void) __attribute__((visibility("hidden")));

void __sanitizer_cov_trace_pc(void)
{
	size_t at = (size_t)((const char *)__builtin_return_address(0) - __ehdr_start);

	if (reached_bits && at < nr_reached_bits && !(reached_bits[at / 8] & 1 << at % 8))
		__atomic_fetch_or(&reached_bits[at / 8], (uint8_t)(1 << at % 8), __ATOMIC_RELAXED);
}

__attribute__((constructor(101))) static void reached_open(void)
{
	const char *dir = getenv("MUTATE_REACHED");
	char path[4096];
	Dl_info info;
	void *map;
	int fd;

	if (!dir || !dladdr(__ehdr_start, &info) || !info.dli_fname)
		return;
	const char *slash = strrchr(info.dli_fname, '/');

	nr_reached_bits = (size_t)(__etext - __ehdr_start);
	snprintf(path, sizeof(path), "%s/%s", dir, slash ? slash + 1 : info.dli_fname);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)(nr_reached_bits / 8 + 1)) == 0) {
		map = mmap(NULL, nr_reached_bits / 8 + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   0);
		if (map != MAP_FAILED)
			reached_bits = map;
	}
	close(fd);
}
