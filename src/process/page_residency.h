/* SPDX-License-Identifier: MIT */
/*
 * page_residency.h - which pages of another process are in memory, from /proc/PID/pagemap.
 *
 * Reading a page that is not resident would make the kernel allocate it or load it.  A page of
 * shared memory counts only if this process has used it since its last fork.
 */
#ifndef PROCESS_PAGE_RESIDENCY_H
#define PROCESS_PAGE_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct page_residency {
	int fd;         /* -1: unknown, all pages count as resident */
	bool by_scan;   /* the kernel has PAGEMAP_SCAN (Linux 6.7): holes cost nothing */
	size_t page;    /* bytes */
	uint64_t *room; /* entries of pagemap, or struct page_region */
};

/* Consecutive pages in the same state. */
struct page_run {
	uint64_t start, end;
	bool is_swapped; /* else resident */
	bool is_file;    /* resident: of a file, or shared; else the process has written it */
};

/* A process that may not be asked is not an error: fd is -1.  Returns 0 or -ENOMEM. */
int residency_open(struct page_residency *r, pid_t pid);
void residency_close(struct page_residency *r);

/*
 * Store the first runs of resident and of swapped pages in @start to @end, at most @max; pages
 * that were never written are in none.  *@after is set behind the last page that was looked at, and
 * is above @start.  Returns the number of runs, or a negative errno.
 */
ssize_t residency_find(struct page_residency *r, uint64_t start, uint64_t end,
		       struct page_run *runs, size_t max, uint64_t *after);

#endif
