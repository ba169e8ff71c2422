/* SPDX-License-Identifier: MIT */
/*
 * top_snapshot.h - the state of a running program at one moment, with rates since the previous
 * picture.
 *
 * A picture is taken from outside: the region is read (recover.h: live coroutines, stations, the
 * newest chunk of each lane), and the collector is asked for its totals.  The program does not
 * wait, and nothing in the region is changed.
 */
#ifndef TOP_TOP_SNAPSHOT_H
#define TOP_TOP_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "collect/region_inspect.h"

/* Of the slices that were measured (`run --cpu`); slices is 0: none was. */
struct top_cpu {
	uint64_t slices, on_ns, ready_ns, blocked_ns;
};

/* Numbers of pictures in which a coroutine, or each one of a group, was in a state. */
struct top_looks {
	uint64_t running, ready, waiting;
};

struct top_row {
	const struct recover_coroutine *c;
	uint8_t state; /* enum trace_state; woken and not yet running is READY */
	double rate;   /* transitions per second, since the previous picture or since creation */
	struct top_cpu cpu;
	struct top_looks looks; /* including this picture */
};

/* All zero: no picture. */
struct top_picture {
	struct recover r;
	struct top_row *rows; /* unordered */
	size_t nr;
	size_t by_state[NR_TRACE_STATES];
	uint64_t moment;   /* ages are relative to this time; CLOCK_MONOTONIC */
	uint64_t up_ns;    /* since the collector started */
	uint64_t threads;  /* with an open lane */
	uint64_t programs; /* that are running */
	uint64_t births;   /* total of all lanes; 0 without lanes */
	uint64_t backlog;  /* events not yet read by the collector */
	bool told;         /* the collector answered: the next two values are its own */
	uint64_t events;   /* transitions, including lost ones */
	uint64_t lost;
	double event_rate, birth_rate; /* per second */
	json_t *status;                /* the collector's last answer; NULL: none so far */
	bool has_cpu;                  /* processor time is measured */
};

/* State of a coroutine or station in the previous picture. */
struct top_past {
	uint64_t id, events;
	struct top_looks looks;
};

struct top_pasts {
	struct top_past *at;
	uint32_t nr;
};

struct top_source {
	char *region; /* path */
	int fd;       /* -1: closed */
	struct top_pasts lives, stations;
	uint64_t at_ns; /* time of the previous picture; 0: none */
	uint64_t events, births;
	bool told;
	bool wants_events; /* pictures have the last events of each thread */
	bool was_active;   /* some ran or were ready: the next picture has these events, too */
	json_t *status;
};

/* @region: the file, or its directory.  Fails if no collector holds the region. */
int top_source_open(struct top_source *s, const char *region, struct err *err);
void top_source_close(struct top_source *s);

/*
 * Take the next picture; @of: keep the last events of this coroutine (0: none).  -ESRCH: the run is
 * over and its collector has exited; *@p is empty.
 */
int top_picture_take(struct top_source *s, struct top_picture *p, uint64_t of, struct err *err);
void top_picture_release(struct top_picture *p);

#endif
