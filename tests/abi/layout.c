/* SPDX-License-Identifier: MIT */
/*
 * layout.c - print the layout of the region, as the compiler sees it.
 *
 * Compared with v1.txt, once as C and once as C++ (layout.cpp includes this file).
 * check-layout.sh sees to it that nothing in ctp.h is forgotten here.
 */
#include <corotracer/ctp.h>

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
	CONSTANT(CTP_EXT_CLOCK);
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
	FIELD(ctp_ext_header, reserved1);
	FIELD(ctp_ext_header, clock_seq);
	FIELD(ctp_ext_header, clock_ticks);
	FIELD(ctp_ext_header, clock_ns);
	FIELD(ctp_ext_header, clock_mult);
	FIELD(ctp_ext_header, clock_window);
	FIELD(ctp_ext_header, reserved2);
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

int main(void)
{
	print_constants();
	print_seed_structs();
	print_extensions();
	return 0;
}
