/* SPDX-License-Identifier: MIT */
/*
 * layout.c - print the layout of the region, as the compiler sees it.
 *
 * Compared with v1.txt, once as C and once as C++ (layout.cpp includes this file).
 * check-layout.sh checks that everything in ctp.h and lanes.h is listed here.
 */
#include <corotracer/ctp.h>
#include <corotracer/lanes.h>

#include <inttypes.h>
#include <stdio.h>

#define CONSTANT(name) printf(#name " 0x%" PRIx64 "\n", (uint64_t)(name))
#define TEXT(name)     printf(#name " %s\n", name)
#define STRUCT(type)   printf("struct " #type " size %zu\n", sizeof(struct type))
#define FIELD(type, field)                                                                  \
	printf(#type "." #field " offset 0x%03zx size %zu\n", offsetof(struct type, field), \
	       sizeof(((struct type *)0)->field))

static void print_constants(void)
{
	CONSTANT(CTP_MAGIC);
	CONSTANT(CTP_VERSION);
	CONSTANT(CTP_SLOTS);
	CONSTANT(CTP_MAX_STATIONS);
	CONSTANT(CTP_WAKE_BYTE);
	CONSTANT(CTP_EXT_MAGIC);
	CONSTANT(CTP_EXT_VERSION);
	CONSTANT(CTP_EXT_HEADER_OFFSET);
	CONSTANT(CTP_EXT_SLEEPING);
	CONSTANT(CTP_EXT_MEMBARRIER);
	CONSTANT(CTP_EXT_CLOCK);
	CONSTANT(CTP_DETACH_ASKED);
	CONSTANT(CTP_DETACH_GONE);
	CONSTANT(CTP_EXT_NAME_SIZE);
	TEXT(CTP_ENV_SHM);
	TEXT(CTP_ENV_SOCK);
	TEXT(CTP_ENV_STATIONS);
	TEXT(CTP_ENV_VERBOSE);
}

static void print_seed_structs(void)
{
	STRUCT(ctp_header);
	FIELD(ctp_header, magic_number);
	FIELD(ctp_header, version);
	FIELD(ctp_header, max_stations);
	FIELD(ctp_header, allocated_count);
	FIELD(ctp_header, tracer_sleeping);
	FIELD(ctp_header, reserved);

	STRUCT(ctp_epoch);
	FIELD(ctp_epoch, timestamp);
	FIELD(ctp_epoch, tid);
	FIELD(ctp_epoch, addr);
	FIELD(ctp_epoch, seq);
	FIELD(ctp_epoch, reserved);
	FIELD(ctp_epoch, is_active);

	STRUCT(ctp_station);
	FIELD(ctp_station, probe_id);
	FIELD(ctp_station, birth_ts);
	FIELD(ctp_station, is_dead);
	FIELD(ctp_station, pad);
	FIELD(ctp_station, slots);
	FIELD(ctp_station, flexible);
}

static void print_extensions(void)
{
	STRUCT(ctp_ext_header);
	FIELD(ctp_ext_header, magic);
	FIELD(ctp_ext_header, version);
	FIELD(ctp_ext_header, features);
	FIELD(ctp_ext_header, collector_pid);
	FIELD(ctp_ext_header, reserved0);
	FIELD(ctp_ext_header, sleeping);
	FIELD(ctp_ext_header, detach);
	FIELD(ctp_ext_header, clock_seq);
	FIELD(ctp_ext_header, clock_ticks);
	FIELD(ctp_ext_header, clock_ns);
	FIELD(ctp_ext_header, clock_mult);
	FIELD(ctp_ext_header, clock_window);
	FIELD(ctp_ext_header, reserved2);

	STRUCT(ctp_ext_station);
	FIELD(ctp_ext_station, magic);
	FIELD(ctp_ext_station, version);
	FIELD(ctp_ext_station, pid);
	FIELD(ctp_ext_station, death_ts);
	FIELD(ctp_ext_station, name_size);
	FIELD(ctp_ext_station, reserved0);
	FIELD(ctp_ext_station, reserved1);
	FIELD(ctp_ext_station, name);
}

static void print_lane_constants(void)
{
	CONSTANT(CTP_EXT_LANES);
	CONSTANT(CTP_EXT_HANDOVER);
	CONSTANT(CTP_EXT_CONTEXT);
	CONSTANT(CTP_LANES_MAGIC);
	CONSTANT(CTP_LANES_VERSION);
	CONSTANT(CTP_EXT_LANES_OFFSET);
	CONSTANT(CTP_ON_FULL_DROP);
	CONSTANT(CTP_ON_FULL_BLOCK);
	CONSTANT(CTP_TICKS_NS);
	CONSTANT(CTP_TICKS_COUNTER);
	CONSTANT(CTP_LANE_FREE);
	CONSTANT(CTP_LANE_OPEN);
	CONSTANT(CTP_LANE_CLOSED);
	CONSTANT(CTP_REC_SUSPEND);
	CONSTANT(CTP_REC_RESUME);
	CONSTANT(CTP_REC_BIRTH);
	CONSTANT(CTP_REC_WAKE);
	CONSTANT(CTP_REC_END);
	CONSTANT(CTP_REC_DESTROY);
	CONSTANT(CTP_REC_GAP);
	CONSTANT(CTP_REC_PAD);
	CONSTANT(CTP_REC_MORE);
	CONSTANT(CTP_REC_TEXT);
	CONSTANT(CTP_REC_CLOSE);
	CONSTANT(CTP_REC_ACQUIRE);
	CONSTANT(CTP_REC_RELEASE);
	CONSTANT(CTP_REC_THREAD);
	CONSTANT(CTP_REC_CONTEXT);
	CONSTANT(CTP_REC_KINDS);
	CONSTANT(CTP_REC_HAS_MORE);
	CONSTANT(CTP_REASON_UNKNOWN);
	CONSTANT(CTP_REASON_IO_READ);
	CONSTANT(CTP_REASON_IO_WRITE);
	CONSTANT(CTP_REASON_ACCEPT);
	CONSTANT(CTP_REASON_CONNECT);
	CONSTANT(CTP_REASON_TIMER);
	CONSTANT(CTP_REASON_MUTEX);
	CONSTANT(CTP_REASON_SEMAPHORE);
	CONSTANT(CTP_REASON_CHANNEL_SEND);
	CONSTANT(CTP_REASON_CHANNEL_RECV);
	CONSTANT(CTP_REASON_JOIN);
	CONSTANT(CTP_REASON_YIELD);
	CONSTANT(CTP_REASON_SIGNAL);
	CONSTANT(CTP_REASON_USER);
	CONSTANT(CTP_REASONS);
	CONSTANT(CTP_END_DESTROYED);
	CONSTANT(CTP_END_SUSPENDED);
	CONSTANT(CTP_END_CANCELLED);
	CONSTANT(CTP_BIRTH_NAME_CUT);
	CONSTANT(CTP_BIRTH_ADOPTED);
	CONSTANT(CTP_WAKERS_DROPPED);
	CONSTANT(CTP_WAKERS_DROPPED_INNER);
	CONSTANT(CTP_TEXT_SIZE);
	CONSTANT(CTP_MAX_SITES);
	CONSTANT(CTP_CHUNK_SIZE);
	CONSTANT(CTP_CHUNK_RECORDS);
	CONSTANT(CTP_LIFE_NAME_SIZE);
	CONSTANT(CTP_LIFE_UNREPORTED);
	CONSTANT(CTP_SITE_FILE_SIZE);
	CONSTANT(CTP_SITE_FUNCTION_SIZE);
	CONSTANT(CTP_LIFE_STATE(0xab, 0xcd, 0x1234));
}

static void print_lane_pools(void)
{
	STRUCT(ctp_pool);
	FIELD(ctp_pool, free);
	FIELD(ctp_pool, used);
	FIELD(ctp_pool, committed);
	FIELD(ctp_pool, limit);
	FIELD(ctp_pool, unit);
	FIELD(ctp_pool, offset);
	FIELD(ctp_pool, refused);
	FIELD(ctp_pool, reserved);

	STRUCT(ctp_ext_lanes);
	FIELD(ctp_ext_lanes, magic);
	FIELD(ctp_ext_lanes, version);
	FIELD(ctp_ext_lanes, on_full);
	FIELD(ctp_ext_lanes, map_size);
	FIELD(ctp_ext_lanes, lane_chunks);
	FIELD(ctp_ext_lanes, block_ms);
	FIELD(ctp_ext_lanes, homeless);
	FIELD(ctp_ext_lanes, homeless_marks);
	FIELD(ctp_ext_lanes, untraced);
	FIELD(ctp_ext_lanes, later);
	FIELD(ctp_ext_lanes, last_id);
	FIELD(ctp_ext_lanes, reserved1);
	FIELD(ctp_ext_lanes, lanes);
	FIELD(ctp_ext_lanes, chunks);
	FIELD(ctp_ext_lanes, lives);
	FIELD(ctp_ext_lanes, sites);
}

static void print_lane_records(void)
{
	STRUCT(ctp_lane);
	FIELD(ctp_lane, link);
	FIELD(ctp_lane, state);
	FIELD(ctp_lane, head);
	FIELD(ctp_lane, dropped);
	FIELD(ctp_lane, dropped_at);
	FIELD(ctp_lane, dropped_marks);
	FIELD(ctp_lane, blocked_ns);
	FIELD(ctp_lane, blocked);
	FIELD(ctp_lane, taken);
	FIELD(ctp_lane, last_ticks);
	FIELD(ctp_lane, tid);
	FIELD(ctp_lane, pid);
	FIELD(ctp_lane, first);
	FIELD(ctp_lane, ticks);
	FIELD(ctp_lane, returned);
	FIELD(ctp_lane, tail);
	FIELD(ctp_lane, oldest);
	FIELD(ctp_lane, reserved1);

	STRUCT(ctp_record);
	FIELD(ctp_record, ticks);
	FIELD(ctp_record, id);
	FIELD(ctp_record, value);
	FIELD(ctp_record, seq);
	FIELD(ctp_record, site);
	FIELD(ctp_record, kind);
	FIELD(ctp_record, reason);

	STRUCT(ctp_record_more);
	FIELD(ctp_record_more, resource);
	FIELD(ctp_record_more, lost);
	FIELD(ctp_record_more, reserved0);
	FIELD(ctp_record_more, reserved1);
	FIELD(ctp_record_more, reserved2);
	FIELD(ctp_record_more, kind);
	FIELD(ctp_record_more, reserved3);

	STRUCT(ctp_record_text);
	FIELD(ctp_record_text, text);
	FIELD(ctp_record_text, reserved0);
	FIELD(ctp_record_text, reserved1);
	FIELD(ctp_record_text, kind);
	FIELD(ctp_record_text, reserved2);

	STRUCT(ctp_chunk);
	FIELD(ctp_chunk, link);
	FIELD(ctp_chunk, lane);
	FIELD(ctp_chunk, tid);
	FIELD(ctp_chunk, pid);
	FIELD(ctp_chunk, nr);
	FIELD(ctp_chunk, reserved);
	FIELD(ctp_chunk, records);
}

static void print_lives_and_sites(void)
{
	STRUCT(ctp_life);
	FIELD(ctp_life, link);
	FIELD(ctp_life, state);
	FIELD(ctp_life, id);
	FIELD(ctp_life, events);
	FIELD(ctp_life, last_ticks);
	FIELD(ctp_life, addr);
	FIELD(ctp_life, resource);
	FIELD(ctp_life, dropped);
	FIELD(ctp_life, site);
	FIELD(ctp_life, birth_site);
	FIELD(ctp_life, birth_ticks);
	FIELD(ctp_life, parent);
	FIELD(ctp_life, pid);
	FIELD(ctp_life, name_size);
	FIELD(ctp_life, ticks);
	FIELD(ctp_life, birth);
	FIELD(ctp_life, name);

	STRUCT(ctp_site);
	FIELD(ctp_site, link);
	FIELD(ctp_site, ready);
	FIELD(ctp_site, line);
	FIELD(ctp_site, pid);
	FIELD(ctp_site, file);
	FIELD(ctp_site, function);
}

int main(void)
{
	print_constants();
	print_seed_structs();
	print_extensions();
	print_lane_constants();
	print_lane_pools();
	print_lane_records();
	print_lives_and_sites();
	return 0;
}
