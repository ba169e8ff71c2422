/* SPDX-License-Identifier: MIT */
/* records_region.h - a region with lanes for a C++ program, without a collector. */
#ifndef RECORDS_REGION_H
#define RECORDS_REGION_H

#include <corotracer/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Call first in main(). */
void records_prepare(void);

/* Make a region of 4 stations with lanes, and set the environment to it; 0 lanes: stations only. */
void records_open(uint32_t nr_lanes);

/* Of the last region. */
const char *records_path(void);
const char *records_socket(void);
struct ctp_header *records_header(void);
struct ctp_ext_lanes *records_ext(void);
struct ctp_lane *records_lane(uint32_t number);
const struct ctp_site *records_site(uint32_t number);
/* The program's connection; -1: none.  And the bytes that arrived there. */
int records_accept(void);
int records_wakeups(int conn);
/* The records of a lane; returns how many. */
uint64_t records_read(uint32_t lane, struct ctp_record *out, uint64_t room);

/* Run @test in a child, and fail if it fails. */
void records_run(const char *name, void (*test)(void));

#ifdef __cplusplus
}
#endif

#endif
