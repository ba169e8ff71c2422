/* SPDX-License-Identifier: MIT */
/*
 * image.h - a private copy of a region that somebody else has, or had.
 *
 * For looking at what a run left behind, or at one that goes on.  What is of interest is
 * read once, with pread(2): nothing is mapped, so a file that is cut short, or changes
 * under us, is no danger, and holes are not filled.  What the collector's own code then
 * reads (drain.h, harvest.h, lives.h) is memory that nobody else writes.
 *
 * A lane in the image begins with the oldest chunk that is still there: what came before
 * was given back.  image_lane says how much that was.
 *
 * Trust
 *   The file may hold anything.  Sizes and counts are cut to what can be; a chunk that
 *   cannot be a lane's ends its lane.
 */
#ifndef CTP_IMAGE_H
#define CTP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "ctp/lanes.h"
#include "ctp/tickclock.h"

struct image_lane {
	bool used;     /* a thread has it, or had it and not all of it is read */
	bool broken;   /* its chunks do not fit together */
	uint64_t skip; /* records that were given back: the image begins behind them */
	uint64_t read; /* records that the collector has read, of all ever written */
	uint64_t head; /* records ever written */
};

/* How times came about. */
enum image_clock {
	IMAGE_CLOCK_PUBLISHED, /* the collector's last reading, and ours of now */
	IMAGE_CLOCK_ELSEWHERE, /* the collector's only: the counter is not this machine's, or was
				  set back */
	IMAGE_CLOCK_MEASURED,  /* ours only */
};

struct image {
	char *map;
	uint64_t size;
	struct ctp_header *header;
	uint32_t nr_stations;   /* that were claimed, and are in the file */
	bool live;              /* a collector has it */
	bool cut;               /* the file is shorter than it says */
	uint32_t collector_pid; /* 0: not told */
	time_t made;
	uint64_t last_look_ns; /* CLOCK_MONOTONIC, when the collector last kept the clock; 0: never
				*/
	struct lanes lanes;    /* over the map; none if there are none */
	struct err no_lanes;   /* why there are none, if there should be */
	struct image_lane *at; /* by lane */
	uint32_t nr_lanes;
	struct tickclock clock;
	enum image_clock clock_from;
};

/*
 * @path is the region, or a directory with one.  Of each lane only the @newest chunks are
 * copied (0: all there are): so a look at a run that is far behind costs no more than others.
 */
int image_open(struct image *im, const char *path, uint32_t newest, struct err *err);

/* The same of an open file, which stays the caller's; @path is for messages. */
int image_read(struct image *im, int fd, const char *path, uint32_t newest, struct err *err);
void image_close(struct image *im);

/* By so much a time may be wrong, at worst: the clock can be slewed by 500 ppm. */
uint64_t image_clock_error_ns(const struct image *im, uint64_t ts);

/* Where the region of @path is; to be freed. */
char *image_path(const char *path);

#endif
