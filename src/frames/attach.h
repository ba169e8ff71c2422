/* SPDX-License-Identifier: MIT */
/*
 * attach.h - attach to a buffer of a running program, and hand on its frames.
 *
 *	attach_open()	find and describe the buffer; the program does not notice
 *	attach_start()	claim it, make the ring, set the handle
 *	attach_run()	hand on frames until something ends it
 *	attach_stop()	take the handle away, take the rest, give the buffer back
 *
 * Nothing stops the program: its memory is written with process_vm_writev(2), and the
 * program maps the ring itself at its next save().  Whatever ends us, no shared memory
 * stays behind (segment.h).
 */
#ifndef FRAMES_ATTACH_H
#define FRAMES_ATTACH_H

#include "frames/control.h"
#include "frames/live.h"
#include "frames/recording.h"
#include "frames/ring.h"
#include "frames/segment.h"

/* Who wants the frames.  A call that returns a negative errno, with words, ends the run. */
struct attach_sink {
	void *arg;
	/* The program has mapped the ring: frames may come. */
	int (*begin)(void *arg, struct err *err);
	void (*frame)(void *arg, uint64_t ticket, const uint8_t *image);
	void (*lost)(void *arg, uint64_t nr);
	void (*resized)(void *arg, uint32_t from, uint32_t to);
	/* After each look into the ring. */
	int (*flush)(void *arg, struct err *err);
	/* What happens, for people: 1 the main things, 2 every look.  May be NULL. */
	void (*say)(void *arg, int level, const char *text);
};

struct attach_config {
	pid_t pid;
	const char *buffer; /* NULL: the only one */
	bool force;
	bool auto_resize;
	uint64_t slots;       /* 0: choose */
	uint64_t duration_ns; /* 0: no limit */
	uint64_t count;       /* frames; 0: no limit */
	struct counters counters;
	struct attach_sink sink;
};

enum attach_end {
	ATTACH_ASKED,    /* a signal */
	ATTACH_DURATION, /* as long as wanted */
	ATTACH_COUNT,    /* as many as wanted */
	ATTACH_EXITED,   /* the program ended */
	ATTACH_EXEC,     /* the process executes another program */
	ATTACH_TAKEN,    /* another collector took over */
	ATTACH_FAILED,
};

struct attach_stats {
	bool attached;     /* the program mapped the ring and said where its slots are */
	bool mapped;       /* the program mapped the ring */
	uint64_t issued;   /* save() calls of the program while it was attached */
	uint64_t recorded; /* frames handed on */
	uint64_t lost;
	uint64_t dropped; /* of the lost ones: given up by the program itself */
	uint64_t polls;
	uint64_t fullest; /* frames waiting at a look, at most */
	uint32_t slots, first_slots;
	unsigned resizes;
	uint32_t threads;
	bool counters_failed; /* some thread could not open one: */
	unsigned counter_slot;
	int counter_error;
	unsigned unmeasured; /* counters that the program did not open, as bits, at any time */
	bool parked;         /* the program of the existing tool keeps the ring */
	uint64_t ran_ns;     /* from the handle to the end */
	uint64_t stopped_ns; /* how long the program stood still because of us */
	unsigned stops;
	enum attach_end end;
};

struct attach {
	struct attach_config config;
	struct live_buffer live;
	struct segment control_segment, data_segment, old_segment;
	struct control control;
	struct ring ring;
	int32_t handle; /* what we wrote; 0: nothing */
	bool adopted;   /* the segment was there already */
	bool ring_open, begun;
	bool settling;         /* the last look: nothing will be clearer later */
	uint32_t wanted_slots; /* of a resize under way; 0: none */
	uint32_t queued_slots; /* of the next one, asked for while it could not be; 0: none */
	unsigned unmeasured;   /* counters that the program does not measure, as bits */
	uint64_t head;         /* tickets issued, as last seen */
	uint64_t missed_told;  /* losses that the sink knows of */
	uint64_t overrun_seen; /* losses that a larger ring would have spared us */
	uint64_t start_ns, delay_ns, last_check_ns;
	uint64_t rate_ticks, rate_ns; /* cycle counter and clock at the start */
	struct recording_clock clock; /* as last known */
	int signal_fd;
	struct attach_stats stats;
};

/* @config is copied; what it points to is borrowed. */
int attach_open(struct attach *a, const struct attach_config *config, struct err *err);
int attach_start(struct attach *a, struct err *err);

/* 0, or why it could not go on; a->stats.end tells what ended it. */
int attach_run(struct attach *a, struct err *err);

/* After attach_start(), whatever came of it. */
void attach_stop(struct attach *a);
void attach_release(struct attach *a);

/* Cycle counter to nanoseconds, as well as it is known by now. */
const struct recording_clock *attach_clock(struct attach *a);

/*
 * Ask the collector that is attached to change the number of slots, by a signal (SIGUSR1
 * with the number as its value), and wait until the program uses them.
 */
int attach_ask_resize(pid_t pid, const char *buffer, uint32_t slots, struct err *err);

#endif
