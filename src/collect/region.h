/* SPDX-License-Identifier: MIT */
/*
 * region.h - create, map and remove the shared region.
 *
 * By default region and socket are in a new private directory (mode 0700) on tmpfs, so that no
 * other user can create files there first, and two collectors never collide.  A path that the
 * user names must not exist: an existing file may belong to another program.  The socket of a
 * region that the user named is beside it, unless its path would be too long for a socket.
 *
 * The backing store is reserved in advance: a full tmpfs is an error of the collector at the
 * start, not a SIGBUS in the program later.
 *
 * Stations are mapped read-only; the collector writes only the header's page.  A program can
 * still truncate the file while it is mapped; the collector then reads zeros, and
 * map_guard_shrunk() returns true.
 */
#ifndef COLLECT_REGION_H
#define COLLECT_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <corotracer/ctp.h>

#include "base/err.h"
#include "process/file_owner.h"

/* Names in a private directory. */
#define REGION_DIR_PREFIX "corotracer-"
#define REGION_FILE       "region"
#define REGION_SOCKET     "wake"

struct region {
	char *dir;                  /* private directory, or NULL if the user named the region */
	char *shm;                  /* absolute */
	char *sock;                 /* absolute; created by the endpoint */
	char *seen_shm, *seen_sock; /* the paths as the program sees them */
	bool is_sock_beside;        /* the user named the region, and not the socket */
	int place_fd;               /* directory of dir in another mount namespace; -1: none */
	int fd;
	uint32_t nr_stations;
	uint64_t size;
	bool has_membarrier;
	bool unlinked;
	struct ctp_header *header;          /* writable: the first page */
	const struct ctp_station *stations; /* read-only */
	void *map;                          /* the read-only mapping */
};

/* The path of the socket of a region that the user named; the caller frees it.  NULL: no memory. */
char *region_socket_beside(const char *region);

/*
 * @shm and @sock are the paths that the user named, or NULL: then a directory is chosen that
 * has room for @buffer bytes in addition to the stations, if there is one (shm_space.h).  With
 * an @owner that has its own root, the directory is in that process's mount namespace.
 */
int region_create(struct region *r, uint32_t nr_stations, uint64_t buffer, const char *shm,
		  const char *sock, const struct file_owner *owner, struct err *err);

/* Remove the file's name; the mappings stay. */
void region_unlink(struct region *r);

/*
 * Unmap, and remove the file and the directory.  Accepts a partly created region; close the
 * endpoint first.
 */
void region_close(struct region *r);

#endif
