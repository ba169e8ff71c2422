/* SPDX-License-Identifier: MIT */
/*
 * attach_session.h - attach to a buffer of a running program, and pass on its frames.
 *
 *	attach_open()	find and describe the buffer; the program does not notice
 *	attach_start()	claim it, make the ring, set the handle
 *	attach_run()	pass on frames until something ends the run
 *	attach_stop()	remove the handle, read the remaining frames, release the buffer
 *
 * Nothing stops the program: the collector writes its memory with process_vm_writev(2), and the
 * program maps the ring itself at its next save().  However the collector ends, no shared memory
 * stays behind (ring_segment.h).
 */
#ifndef FRAMES_LIVE_ATTACH_SESSION_H
#define FRAMES_LIVE_ATTACH_SESSION_H

#include "frames/live/control_block.h"
#include "frames/live/live_buffer.h"
#include "frames/file/recording_writer.h"
#include "frames/live/frame_ring.h"
#include "frames/live/ring_segment.h"

/*
 * Receiver of the frames.  A callback that returns a negative errno, with a message, ends the
 * run.
 */
struct attach_sink {
	void *arg;
	/* The program has mapped the ring: frames may follow. */
	int (*begin)(void *arg, struct err *err);
	void (*frame)(void *arg, uint64_t ticket, const uint8_t *image);
	void (*lost)(void *arg, uint64_t nr);
	void (*resized)(void *arg, uint32_t from, uint32_t to);
	/* After each poll. */
	int (*flush)(void *arg, struct err *err);
	/* Progress messages: level 1 for the main steps, 2 for every poll.  May be NULL. */
	void (*say)(void *arg, int level, const char *text);
};

struct attach_config {
	pid_t pid;
	const char *buffer; /* NULL: the only one of the process */
	bool force;
	bool auto_resize;
	uint64_t slots;       /* 0: default */
	uint64_t ring_bytes;  /* for the default; 0: 4 MiB */
	uint64_t duration_ns; /* 0: no limit */
	uint64_t count;       /* frames; 0: no limit */
	struct counters counters;
	unsigned stamp_kind; /* PPT_STAMP_*: a stamp with each frame, if the program knows them */
	bool is_hosted;      /* the caller waits, and handles signals; no attach_run() */
	struct attach_sink sink;
};

enum attach_end {
	ATTACH_ASKED,    /* a signal */
	ATTACH_DURATION, /* the duration is over */
	ATTACH_COUNT,    /* the number of frames is reached */
	ATTACH_EXITED,   /* the program ended */
	ATTACH_EXEC,     /* the process executed another program */
	ATTACH_TAKEN,    /* another collector took over */
	ATTACH_FAILED,
};

struct attach_stats {
	bool attached;     /* the program mapped the ring and stored where its slots are */
	bool mapped;       /* the program mapped the ring */
	uint64_t issued;   /* save() calls of the program while attached */
	uint64_t recorded; /* frames passed on */
	uint64_t lost;
	uint64_t dropped; /* of the lost frames: those that the program itself dropped */
	uint64_t polls;
	uint64_t fullest; /* highest number of frames that waited at a poll */
	uint32_t slots, first_slots;
	unsigned resizes;
	uint32_t threads;
	bool counters_failed; /* a thread could not open this counter: */
	unsigned counter_slot;
	int counter_error;
	unsigned
		unmeasured; /* counters that the program did not measure at some time, a bit each */
	bool parked;        /* a program of the existing ppt tool keeps the ring */
	uint64_t ran_ns;    /* from setting the handle to the end */
	uint64_t stopped_ns; /* time that the collector stopped the program */
	unsigned stops;
	enum attach_end end;
};

struct attach {
	struct attach_config config;
	struct live_buffer live;
	struct segment control_segment, data_segment, old_segment;
	struct frames_control control;
	struct ring ring;
	int32_t handle; /* value that this collector wrote; 0: none */
	bool adopted;   /* the program already had the segment */
	bool ring_open, begun;
	bool settling;         /* the last poll: nothing more will be known later */
	uint32_t wanted_slots; /* of a resize in progress; 0: none */
	uint32_t
		queued_slots; /* of the next resize, requested while one was in progress; 0: none */
	unsigned unmeasured;  /* counters that the program does not measure now, a bit each */
	uint64_t head;        /* next_ticket, as last seen */
	uint64_t missed_told; /* losses reported to the sink */
	uint64_t overrun_seen; /* losses that a larger ring would have avoided */
	uint64_t start_ns, delay_ns, last_check_ns;
	uint64_t rate_ticks, rate_ns; /* cycle counter and clock at the start */
	struct recording_clock clock; /* as last computed */
	int signal_fd;
	struct attach_stats stats;
};

/* Copies @config, but not what it points to. */
int attach_open(struct attach *a, const struct attach_config *config, struct err *err);
int attach_start(struct attach *a, struct err *err);

/* Returns 0, or the error that ended the run; a->stats.end is the reason of the end. */
int attach_run(struct attach *a, struct err *err);

/*
 * With config.is_hosted, in place of attach_run(): pass on what there is.  Call it again after
 * a->delay_ns.  Returns 0 to continue, 1 at the end (a->stats.end), or a negative errno.
 */
int attach_step_hosted(struct attach *a, uint64_t now_ns, struct err *err);

/* Call it after attach_start(), even if that failed. */
void attach_stop(struct attach *a);
void attach_release(struct attach *a);

/* Conversion of the cycle counter to nanoseconds, as exact as it is known now. */
const struct recording_clock *attach_clock(struct attach *a);

/*
 * Ask the attached collector to change the number of slots, by a signal (SIGUSR1 with the number
 * as its value), and wait until the program uses them.
 */
int attach_ask_resize(pid_t pid, const char *buffer, uint32_t slots, struct err *err);

#endif
