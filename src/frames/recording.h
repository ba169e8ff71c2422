/* SPDX-License-Identifier: MIT */
/*
 * recording.h - the file that frames are recorded in.
 *
 *	"PPT1"        4 bytes
 *	k             4 bytes, big-endian
 *	header        k bytes of JSON; blanks behind it are room for what is known later
 *	records       frame_size bytes each, until the end
 *
 * The header has the six keys of the existing tool (frFormat, frDate, frComment,
 * frDeltaTime, frCounters, frJson), so that it can read the file, and one of ours,
 * "corotracer", which it skips.
 *
 * A record is a frame as it lay in its slot: front number, type where there are several
 * frames, members, back number; front and back are equal.  Between frames there may be
 * *marks*, which tell what happened meanwhile: a frame was lost, the ring was resized,
 * the recording ended.  A mark's records have front 0 and back 0xffffffff (and type 0), so
 * that a reader that knows only frames drops them as torn; what is between is the
 * mark's piece of a struct recording_mark, cut into as many records as it takes.  Frames that are
 * too small to carry a byte have no marks.
 *
 * The sequence numbers in the file are 32 bits of a ticket that has 64: each belongs to
 * the ticket nearest to that of the frame before it; where that would be wrong a mark
 * says so (RECORDING_TICKET).  A file without the last mark, RECORDING_END, is of a
 * collector that was killed, or is being written.
 */
#ifndef FRAMES_RECORDING_H
#define FRAMES_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "frames/counters.h"
#include "frames/desc.h"

#define RECORDING_MAGIC      "PPT1"
#define RECORDING_HEADER_MAX (32u << 20)
#define RECORDING_FORMAT     1 /* of our key and our marks */

#define RECORDING_MARK_BACK  UINT32_MAX
#define RECORDING_MARK_MAGIC UINT32_C(0x4b4d5443) /* "CTMK" */

enum recording_mark_kind {
	RECORDING_TICKET = 1, /* a: ticket of the next frame */
	RECORDING_LOSS = 2,   /* a: frames lost since the last such mark */
	RECORDING_RESIZE = 3, /* a: slots before, b: slots from now on */
	RECORDING_END = 4, /* a: frames issued, b: recorded, c: lost, d: given up by the program */
};

/* As it lies in the file; little-endian. */
struct recording_mark {
	uint32_t magic;
	uint32_t kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t a, b, c, d;
};

/* Cycle counter to nanoseconds: ns + (t - ticks) * ns_per_tick. */
struct recording_clock {
	bool known;
	uint64_t ticks, ns;
	double ns_per_tick;
};

/* What the header says beside the description. */
struct recording_info {
	char *comment;
	char *date;      /* of the start, as written */
	int64_t delta_s; /* to be added to every time */
	char *counters[COUNTERS_MAX];
	unsigned nr_counters;
	/* Ours; zero in a file of the existing tool. */
	uint32_t format;
	pid_t pid;
	char *program;
	uint64_t start_monotonic_ns, start_realtime_ns;
	struct recording_clock clock;
};

void recording_info_release(struct recording_info *info);

/* Bytes of a mark that one record of @d carries; 0: none. */
uint32_t recording_mark_room(const struct desc *d);

/* Where the members begin: behind the front number and the type. */
uint32_t recording_front_size(const struct desc *d);

/* ---- writing ------------------------------------------------------------- */

struct recording {
	int fd;
	char *path;
	char *kept; /* what the earlier file is called now; NULL: there was none */
	const struct desc *desc;
	uint8_t *buf;
	size_t used;
	off_t header_at; /* where the JSON begins; -1: cannot be patched */
	size_t header_size;
	uint64_t last_ticket;
	uint64_t frames, bytes;
	int error; /* of the first write that failed; everything after it is dropped */
};

/* Creates @path ("-": standard output); an earlier file is kept as PATH.old. */
int recording_create(struct recording *r, const char *path, struct err *err);

/* Before the first frame.  @desc is borrowed until the close. */
int recording_begin(struct recording *r, const struct desc *desc, const struct recording_info *info,
		    struct err *err);

void recording_frame(struct recording *r, uint64_t ticket, const uint8_t *image);
void recording_mark(struct recording *r, enum recording_mark_kind kind, uint64_t a, uint64_t b,
		    uint64_t c, uint64_t d);

/* So that those who read the file meanwhile see it.  0, or what went wrong. */
int recording_flush(struct recording *r, struct err *err);

/* Writes the header anew, with what is known at the end, where the file allows it. */
int recording_close(struct recording *r, const struct recording_info *info, struct err *err);

/* Nothing was recorded, and nothing will: as if there had been no recording. */
void recording_abandon(struct recording *r);

#endif
