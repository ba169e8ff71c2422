/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/raw_stations.h - the region under the names and types of the existing coroTracer
 *header.
 *
 * For programs that write stations themselves, or look at them:
 *
 *	uint32_t i = g_header->allocated_count.fetch_add(1, std::memory_order_relaxed);
 *	if (i < g_header->max_stations)
 *		g_stations[i].header.probe_id = id;
 *
 * The layout is that of ctp.h.  The collector reads such stations, in addition to the lanes of the
 * SDK's own coroutines.
 */
#ifndef COROTRACER_CPP_RAW_STATIONS_H
#define COROTRACER_CPP_RAW_STATIONS_H

#include <corotracer/ctp.h>
#include <corotracer/thread_id.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <time.h>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

/* may_alias: the SDK accesses the same memory as struct ctp_epoch and so on. */
struct alignas(64) [[gnu::may_alias]] Epoch {
	uint64_t timestamp;
	uint64_t tid;
	uint64_t addr;
	std::atomic<uint64_t> seq;
	char reserved[31];
	bool is_active;
};

struct alignas(1024) [[gnu::may_alias]] StationData {
	struct {
		uint64_t probe_id;
		uint64_t birth_ts;
		bool is_dead;
		char _pad[47];
	} header;
	Epoch slots[8];
	char flexible[448];
};

struct alignas(1024) [[gnu::may_alias]] GlobalHeader {
	uint64_t magic_number;
	uint32_t version;
	uint32_t max_stations;
	std::atomic<uint32_t> allocated_count;
	std::atomic<uint32_t> tracer_sleeping;
	char _reserved[1000];
};

#define CTP_CPP_SAME(mine, field, theirs, name)                              \
	static_assert(offsetof(mine, field) == offsetof(theirs, name) &&     \
			      sizeof(mine::field) == sizeof(theirs::name) && \
			      sizeof(mine) == sizeof(theirs),                \
		      #mine "." #field " differs from " #theirs "." #name)
CTP_CPP_SAME(Epoch, timestamp, ctp_epoch, timestamp);
CTP_CPP_SAME(Epoch, tid, ctp_epoch, tid);
CTP_CPP_SAME(Epoch, addr, ctp_epoch, addr);
CTP_CPP_SAME(Epoch, seq, ctp_epoch, seq);
CTP_CPP_SAME(Epoch, is_active, ctp_epoch, is_active);
CTP_CPP_SAME(StationData, header.probe_id, ctp_station, probe_id);
CTP_CPP_SAME(StationData, header.birth_ts, ctp_station, birth_ts);
CTP_CPP_SAME(StationData, header.is_dead, ctp_station, is_dead);
CTP_CPP_SAME(StationData, slots, ctp_station, slots);
CTP_CPP_SAME(GlobalHeader, magic_number, ctp_header, magic_number);
CTP_CPP_SAME(GlobalHeader, version, ctp_header, version);
CTP_CPP_SAME(GlobalHeader, max_stations, ctp_header, max_stations);
CTP_CPP_SAME(GlobalHeader, allocated_count, ctp_header, allocated_count);
CTP_CPP_SAME(GlobalHeader, tracer_sleeping, ctp_header, tracer_sleeping);
#undef CTP_CPP_SAME

/* CLOCK_MONOTONIC in nanoseconds. */
inline uint64_t get_ns()
{
	timespec now = {};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/* The kernel's id of the calling thread; thread_id.h has what a sandbox may make of it. */
inline uint64_t get_tid()
{
	return ctp_thread_id();
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
