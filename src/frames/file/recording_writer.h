/* SPDX-License-Identifier: MIT */
/*
 * recording_writer.h - the file format of recorded frames.
 *
 *	"PPT1"        4 bytes
 *	k             4 bytes, big-endian
 *	header        k bytes of JSON; blanks after it are room for a later update
 *	records       frame_size bytes each, until the end
 *
 * The header has the six keys of the existing ppt tool (frFormat, frDate, frComment,
 * frDeltaTime, frCounters, frJson), so that it can read the file, and the key "corotracer",
 * which it skips.
 *
 * A record is a frame as it was in its slot: front number, type if there are several frames,
 * members, back number; front and back are equal.  Between frames there may be *marks* for
 * events: frames were lost, the ring was resized, the recording ended.  A mark's records have
 * front 0 and back 0xffffffff (and type 0), so that a reader that knows only frames drops them
 * as torn.  The bytes between hold part of a struct recording_mark, split over as many records
 * as necessary.  If frames are too small to carry a byte, there are no marks.
 *
 * The sequence numbers in the file are the low 32 bits of a 64-bit ticket: each belongs to the
 * ticket nearest to that of the previous frame; a mark (RECORDING_TICKET) precedes a frame for
 * which that would be wrong.  A file without the last mark, RECORDING_END, is still being
 * written, or its collector was killed.
 */
#ifndef FRAMES_FILE_RECORDING_WRITER_H
#define FRAMES_FILE_RECORDING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "frames/spec/layout_json.h"

#define RECORDING_MAGIC      "PPT1"
#define RECORDING_HEADER_MAX (32u << 20)
#define RECORDING_FORMAT     1 /* of the key "corotracer" and the marks */

#define RECORDING_MARK_BACK  UINT32_MAX
#define RECORDING_MARK_MAGIC UINT32_C(0x4b4d5443) /* "CTMK" */

enum recording_mark_kind {
	RECORDING_TICKET = 1, /* a: ticket of the next frame */
	RECORDING_LOSS = 2,   /* a: frames lost since the last such mark */
	RECORDING_RESIZE = 3, /* a: slots before, b: slots from now on */
	RECORDING_END = 4,    /* a: issued, b: recorded, c: lost, d: dropped by the program */
};

/* A mark as stored in the file; little-endian. */
struct recording_mark {
	uint32_t magic;
	uint32_t kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t a, b, c, d;
};

/* Counters of the processor that a frame may contain. */
#define RECORDING_COUNTERS_MAX 3

/* Cycle counter to nanoseconds: ns + (t - ticks) * ns_per_tick. */
struct recording_clock {
	bool known;
	uint64_t ticks, ns;
	double ns_per_tick;
};

/* Data of the header besides the description. */
struct recording_info {
	char *comment;
	char *date;      /* of the start, as written */
	int64_t delta_s; /* to add to every time */
	char *counters[RECORDING_COUNTERS_MAX];
	unsigned nr_counters;
	/* From the key "corotracer"; zero in a file of the existing ppt tool. */
	uint32_t format;
	pid_t pid;
	char *program;
	uint64_t start_monotonic_ns, start_realtime_ns;
	struct recording_clock clock;
};

void recording_info_release(struct recording_info *info);

/* Bytes of a mark that one record of @d carries; 0: none. */
uint32_t recording_mark_room(const struct desc *d);

/* Offset of the members: after the front number and the type. */
uint32_t recording_front_size(const struct desc *d);

/* ---- writing ------------------------------------------------------------- */

struct recording {
	int fd;
	char *path;
	char *kept; /* new name of the earlier file; NULL: there was none */
	const struct desc *desc;
	uint8_t *buf;
	size_t used;
	off_t header_at; /* offset of the JSON; -1: it cannot be updated */
	size_t header_size;
	uint64_t last_ticket;
	uint64_t frames, bytes;
	int error; /* of the first write that failed; later data is discarded */
};

/* Creates @path ("-": standard output); an earlier file is kept as PATH.old. */
int recording_create(struct recording *r, const char *path, struct err *err);

/* Call it before the first frame.  Borrows @desc until the close. */
int recording_begin(struct recording *r, const struct desc *desc, const struct recording_info *info,
		    struct err *err);

void recording_frame(struct recording *r, uint64_t ticket, const uint8_t *image);
void recording_mark(struct recording *r, enum recording_mark_kind kind, uint64_t a, uint64_t b,
		    uint64_t c, uint64_t d);

/*
 * Write buffered records, so that other readers of the file see them.  Returns 0 or a negative
 * errno.
 */
int recording_flush(struct recording *r, struct err *err);

/* Also rewrites the header with the final values, if the file is seekable. */
int recording_close(struct recording *r, const struct recording_info *info, struct err *err);

/* Remove the file, because nothing was recorded, and restore an earlier file. */
void recording_abandon(struct recording *r);

#endif
