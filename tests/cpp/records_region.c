/* SPDX-License-Identifier: MIT */
/* records_region.c - the region of test_sdk_region.h and lanes_region.h, for a C++ program. */
#include "records_region.h"

#include "lanes_region.h"

static struct lanes_region lanes;

void records_prepare(void)
{
	scratch_make();
}

void records_open(uint32_t nr_lanes)
{
	struct shape shape = SHAPE;

	if (!nr_lanes) {
		memset(&lanes, 0, sizeof(lanes));
		region_open(&lanes.region, 4, REGION_EXT);
		return;
	}
	shape.lanes = nr_lanes;
	lanes_region_open(&lanes, shape);
	ctp_header_ext(lanes.region.header)->features |= CTP_EXT_CONTEXT;
}

const char *records_path(void)
{
	return lanes.region.shm;
}

const char *records_socket(void)
{
	return lanes.region.sock;
}

struct ctp_header *records_header(void)
{
	return lanes.region.header;
}

struct ctp_ext_lanes *records_ext(void)
{
	return lanes.ext;
}

struct ctp_lane *records_lane(uint32_t number)
{
	return lane_nr(&lanes, number);
}

const struct ctp_site *records_site(uint32_t number)
{
	return ctp_unit(&lanes.sites, number - 1);
}

int records_accept(void)
{
	return region_accept(&lanes.region);
}

int records_wakeups(int conn)
{
	return wakeups_count(conn);
}

uint64_t records_read(uint32_t lane, struct ctp_record *out, uint64_t room)
{
	return lane_records(&lanes, lane, out, room);
}

void records_run(const char *name, void (*test)(void))
{
	run_alone_or_only(name, test);
}
