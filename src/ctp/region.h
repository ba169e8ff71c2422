/* SPDX-License-Identifier: MIT */
/*
 * region.h - the collector's side of the shared region and where it lives.
 *
 * By default region and socket lie in a fresh directory of ours (mode 0700) on
 * tmpfs, so that nobody else can have been there before, and two collectors never
 * meet.  A path that the user names must not exist: what is there may be somebody's.
 *
 * The backing store is reserved up front: a full tmpfs is an error of ours at the
 * start, not a SIGBUS in the program later.
 *
 * The stations are mapped read-only; the header's page is the only one we write.
 * A program can still shorten the file under us; then zeros are read instead, and
 * region_shrunk() says so.
 */
#ifndef CTP_REGION_H
#define CTP_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <corotracer/ctp.h>

#include "base/err.h"

/* What a private place consists of. */
#define REGION_DIR_PREFIX "corotracer-"
#define REGION_FILE       "region"
#define REGION_SOCKET     "wake"

struct region {
	char *dir;  /* our own directory, or NULL when the user named both paths */
	char *shm;  /* absolute */
	char *sock; /* absolute; created by the endpoint */
	int fd;
	uint32_t nr_stations;
	uint64_t size;
	bool has_membarrier;
	struct ctp_header *header;          /* writable: the first page */
	const struct ctp_station *stations; /* read-only */
	void *map;                          /* the read-only mapping */
};

/*
 * @shm and @sock are what the user asked for, or NULL: then a place is chosen that has room for
 * @buffer bytes beside the stations, as far as there is one (room.h).
 */
int region_create(struct region *r, uint32_t nr_stations, uint64_t buffer, const char *shm,
		  const char *sock, struct err *err);

/* Unmaps, and removes everything region_create() made (and the socket).  NULL-safe parts. */
void region_close(struct region *r);

/* From now on a file that ends before this mapping does reads as zeros there. */
void region_guard(void *map, uint64_t size, int prot);

/* Before @map is unmapped: another mapping may get its address. */
void region_unguard(void *map);

/* Did somebody cut the file while we read it? */
bool region_shrunk(void);

#endif
