/* SPDX-License-Identifier: MIT */
/* page_residency.c - ask the kernel for resident and swapped pages. */
#include "process/page_residency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- PAGEMAP_SCAN, as in linux/fs.h of Linux 6.7 ---------------------------- */

struct residency_region {
	uint64_t start, end, categories;
};

struct residency_scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define RESIDENCY_SCAN     _IOWR('f', 16, struct residency_scan)
#define CATEGORY_FILE      (UINT64_C(1) << 2)
#define CATEGORY_PRESENT   (UINT64_C(1) << 3)
#define CATEGORY_SWAPPED   (UINT64_C(1) << 4)
#define CATEGORY_ZERO_PAGE (UINT64_C(1) << 5)

/* Entries of pagemap. */
#define ENTRY_PRESENT  (UINT64_C(1) << 63)
#define ENTRY_SWAPPED  (UINT64_C(1) << 62)
#define ENTRY_FILE     (UINT64_C(1) << 61)

#define RESIDENCY_ROOM 32768 /* 64-bit words */
/* Without PAGEMAP_SCAN every page costs: the 20 TB of an AddressSanitizer would take minutes. */
#define RESIDENCY_PAGEMAP_MAX (UINT64_C(1) << 40)

static int residency_call(struct page_residency *r, uint64_t start, uint64_t end, size_t max,
			  uint64_t *after)
{
	struct residency_scan scan = {
		.size = sizeof(scan),
		.start = start,
		.end = end,
		.vec = (uint64_t)(uintptr_t)r->room,
		.vec_len = max,
		.category_anyof_mask = CATEGORY_PRESENT | CATEGORY_SWAPPED,
		.return_mask = CATEGORY_PRESENT | CATEGORY_SWAPPED | CATEGORY_ZERO_PAGE |
			       CATEGORY_FILE,
	};
	int nr = ioctl(r->fd, RESIDENCY_SCAN, &scan);

	if (nr < 0)
		return -errno;
	*after = scan.walk_end;
	return nr;
}

int residency_open(struct page_residency *r, pid_t pid)
{
	char path[64];
	uint64_t after;

	*r = (struct page_residency){ .page = (size_t)sysconf(_SC_PAGESIZE) };
	r->room = malloc(RESIDENCY_ROOM * sizeof(*r->room));
	if (!r->room)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd >= 0)
		r->by_scan = residency_call(r, 0, r->page, 1, &after) >= 0;
	return 0;
}

void residency_close(struct page_residency *r)
{
	if (r->room && r->fd >= 0)
		close(r->fd);
	free(r->room);
	*r = (struct page_residency){ .fd = -1 };
}

/* ---- runs ---------------------------------------------------------------- */

static ssize_t residency_by_scan(struct page_residency *r, uint64_t start, uint64_t end,
				 struct page_run *runs, size_t max, uint64_t *after)
{
	const size_t room = RESIDENCY_ROOM * sizeof(*r->room) / sizeof(struct residency_region);
	const struct residency_region *regions = (const struct residency_region *)r->room;
	size_t nr_runs = 0;
	int nr, i;

	nr = residency_call(r, start, end, max < room ? max : room, after);
	for (i = 0; i < nr; i++) {
		if (!(regions[i].categories & CATEGORY_ZERO_PAGE))
			runs[nr_runs++] = (struct page_run){
				.start = regions[i].start,
				.end = regions[i].end,
				.is_swapped = regions[i].categories & CATEGORY_SWAPPED,
				.is_file = regions[i].categories & CATEGORY_FILE,
			};
	}
	return nr < 0 ? nr : (ssize_t)nr_runs;
}

static ssize_t residency_by_pagemap(struct page_residency *r, uint64_t start, uint64_t end,
				    struct page_run *runs, size_t max, uint64_t *after)
{
	uint64_t pages = (end - start) / r->page, i;
	size_t nr = 0;
	ssize_t got;

	if (end - start > RESIDENCY_PAGEMAP_MAX)
		return -EFBIG;
	if (pages > RESIDENCY_ROOM)
		pages = RESIDENCY_ROOM;
	got = pread(r->fd, r->room, pages * sizeof(*r->room),
		    (off_t)(start / r->page * sizeof(*r->room)));
	if (got < (ssize_t)sizeof(*r->room))
		return got < 0 ? -errno : -ESRCH;
	pages = (uint64_t)got / sizeof(*r->room);
	for (i = 0; i < pages; i++) {
		uint64_t entry = r->room[i], at = start + i * r->page;
		bool is_swapped = entry & ENTRY_SWAPPED, is_file = entry & ENTRY_FILE;

		if (!(entry & (ENTRY_PRESENT | ENTRY_SWAPPED)))
			continue;
		if (nr && runs[nr - 1].end == at && runs[nr - 1].is_swapped == is_swapped &&
		    runs[nr - 1].is_file == is_file) {
			runs[nr - 1].end += r->page;
			continue;
		}
		if (nr == max)
			break;
		runs[nr++] = (struct page_run){ at, at + r->page, is_swapped, is_file };
	}
	*after = start + i * r->page;
	return (ssize_t)nr;
}

ssize_t residency_find(struct page_residency *r, uint64_t start, uint64_t end,
		       struct page_run *runs, size_t max, uint64_t *after)
{
	ssize_t nr;

	*after = end;
	if (r->fd < 0) {
		*runs = (struct page_run){ .start = start, .end = end };
		return 1;
	}
	nr = r->by_scan ? residency_by_scan(r, start, end, runs, max, after)
			: residency_by_pagemap(r, start, end, runs, max, after);
	if (nr >= 0 && (*after <= start || *after > end))
		*after = end;
	return nr;
}
