/* SPDX-License-Identifier: MIT */
/*
 * region_copy.h - a private copy of the region of another process.
 *
 * For inspecting a region that a run left behind, or that of a current run.  The needed parts
 * are read once, with pread(2): nothing is mapped, so a file that is truncated or changes
 * meanwhile is safe, and holes are not filled.  The collector's own code (lane_scan.h,
 * station_scan.h, coroutine_table.h) then reads private memory.
 *
 * A lane in the image begins with its oldest chunk; earlier chunks were given back.  image_lane
 * says how many records these had.
 *
 * Trust
 *   The file may hold anything.  Sizes and counts are limited to possible values; a chunk that
 *   cannot belong to a lane ends the lane.
 */
#ifndef COLLECT_REGION_COPY_H
#define COLLECT_REGION_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "collect/lane_memory.h"
#include "collect/tickclock.h"

struct image_lane {
	bool used;     /* a thread owns it, or owned it and records are left to read */
	bool broken;   /* its chunks do not fit together */
	uint64_t skip; /* records given back: the image begins after them */
	uint64_t read; /* records that the collector has read, of all ever written */
	uint64_t head; /* records ever written */
};

/* How times were determined. */
enum image_clock {
	IMAGE_CLOCK_PUBLISHED, /* the collector's last reading, and one of now */
	IMAGE_CLOCK_ELSEWHERE, /* only the collector's: another counter, or set back */
	IMAGE_CLOCK_MEASURED,  /* only readings of now */
};

struct image {
	char *map;
	uint64_t size;
	struct ctp_header *header;
	uint32_t nr_stations;   /* claimed stations in the file */
	bool live;              /* a collector holds its lock */
	bool cut;               /* the file is shorter than its header says */
	uint32_t collector_pid; /* 0: unknown */
	time_t made;
	uint64_t last_look_ns; /* CLOCK_MONOTONIC of the last published clock; 0: never */
	struct lanes lanes;    /* over the map; all zero without lanes */
	struct err no_lanes;   /* why the lanes cannot be read */
	struct image_lane *at; /* by lane */
	uint32_t nr_lanes;
	struct tickclock clock;
	enum image_clock clock_from;
};

/*
 * @path is a region, or a directory that contains one.  Only the @newest chunks of each lane
 * are copied (0: all), so that the cost does not grow when the collector is far behind.
 */
int region_copy_open(struct image *im, const char *path, uint32_t newest, struct err *err);

/* The same for an open file, which remains the caller's; @path is for messages. */
int region_copy_read(struct image *im, int fd, const char *path, uint32_t newest, struct err *err);
void region_copy_close(struct image *im);

/* Maximum error of a time: the clock can be slewed by 500 ppm. */
uint64_t region_copy_clock_error_ns(const struct image *im, uint64_t ts);

/* Path of the region for @path; the caller frees it. */
char *region_copy_path(const char *path);

#endif
