/* SPDX-License-Identifier: MIT */
/*
 * top_picture.h - a run that goes on as of one moment, and how fast since the moment before.
 *
 * A picture is taken from outside: the region is read (recover.h: lives, stations, the newest
 * chunk of each lane), its collector is asked for its totals.  Nobody waits for us, and nothing
 * is changed.
 */
#ifndef VIEW_TOP_PICTURE_H
#define VIEW_TOP_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "ctp/recover.h"

struct top_row {
	const struct recover_coroutine *c;
	uint8_t state; /* enum trace_state: woken and not yet seen to run is ready */
	double rate;   /* transitions a second, since the picture before or since its birth */
};

/* All zero is none. */
struct top_picture {
	struct recover r;
	struct top_row *rows; /* in no order */
	size_t nr;
	size_t by_state[NR_TRACE_STATES];
	uint64_t moment;   /* what ages are counted to; CLOCK_MONOTONIC */
	uint64_t up_ns;    /* since the collector began */
	uint64_t threads;  /* with a lane, not ended */
	uint64_t programs; /* that are there */
	uint64_t births;   /* ever, of lanes; 0 where there are none */
	uint64_t backlog;  /* records that the collector has not read yet */
	bool told;         /* the collector answered: the next two are its own */
	uint64_t events;   /* transitions, lost ones too */
	uint64_t lost;
	double event_rate, birth_rate; /* a second */
	json_t *status;                /* the collector's last answer; NULL: none so far */
};

/* What was known of a life or station at the picture before. */
struct top_past {
	uint64_t id, events;
};

struct top_pasts {
	struct top_past *at;
	uint32_t nr;
};

struct top_source {
	char *region; /* its path */
	int fd;       /* -1: closed */
	struct top_pasts lives, stations;
	uint64_t at_ns; /* of the picture before; 0: there was none */
	uint64_t events, births;
	bool told;
	json_t *status;
};

/* @region: the file, or its directory.  Refuses one that no collector has. */
int top_source_open(struct top_source *s, const char *region, struct err *err);
void top_source_close(struct top_source *s);

/*
 * The next picture; @of: keep the last events of this coroutine (0: of none).  -ESRCH: the run
 * is over, its collector gone: then *@p is nothing.
 */
int top_picture_take(struct top_source *s, struct top_picture *p, uint64_t of, struct err *err);
void top_picture_release(struct top_picture *p);

#endif
