/* SPDX-License-Identifier: MIT */
/* image_hidden.c - count memory that may hold pointers and is not read. */
#include "process/image_hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/image_backend.h"

#define HIDDEN_RUNS        512
#define HIDDEN_PAGEMAP_MAX (UINT64_C(1) << 30)

uint64_t hidden_shared(int fd, const struct image_range *range, uint64_t from, uint64_t to)
{
	off_t at = (off_t)(range->offset + (from - range->start));
	off_t end = at + (off_t)(to - from), data;
	uint64_t sum = 0;

	while (fd >= 0 && at < end) {
		data = lseek(fd, at, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			return to - from;
		if (data < 0 || data >= end)
			return sum;
		at = lseek(fd, data, SEEK_HOLE);
		if (at <= data)
			return to - from;
		sum += (uint64_t)((at < end ? at : end) - data);
	}
	return fd >= 0 ? sum : to - from;
}

int hidden_open(const struct process_image *image, const struct image_range *range)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)image->pid,
		 (unsigned long long)range->start, (unsigned long long)range->end);
	return image_file_opens(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* Pages of the process in memory that it cannot read itself, at this moment. */
static void hidden_unreadable(struct process_image *image, struct page_residency *residency,
			      const struct image_range *range)
{
	struct page_run runs[HIDDEN_RUNS];
	uint64_t at = range->start, after = at;
	ssize_t nr, i;

	if (!residency->by_scan && range->end - range->start > HIDDEN_PAGEMAP_MAX)
		return;
	for (; at < range->end && residency->fd >= 0; at = after) {
		nr = residency_find(residency, at, range->end, runs, HIDDEN_RUNS, &after);
		for (i = 0; i < nr; i++)
			image->bytes_hidden += runs[i].end - runs[i].start;
		if (nr < 0)
			break;
	}
}

void hidden_range(struct process_image *image, struct page_residency *residency,
		  const struct image_range *range)
{
	if (image_range_visited(range) || !strncmp(range->path, "[v", 2))
		return;
	if (range->can_write && range->can_read)
		image->bytes_hidden += range->end - range->start; /* a device */
	else if (!range->can_read && !range->is_shared)
		hidden_unreadable(image, residency, range);
}
