/* SPDX-License-Identifier: MIT */
/*
 * desc.h - a buffer described: what its frames look like, and how it was made.
 *
 * `generate` makes one from a spec (layout.h); attach, decode and query make one from
 * the JSON of a program or a recording, which is hostile input.  Both end up with the
 * same struct, and what holds for it holds wherever it came from:
 *
 *   - at least one frame, at most DESC_FRAMES_MAX; types are numbered from 1
 *   - each frame's fields are in memory order, do not overlap, and lie in frame_size
 *   - field 0 is the front sequence number at 0; where there are several frames,
 *     field 1 is the type at 4; the last is the back sequence number at frame_size - 4
 *   - size == count * size of the type's one element (strings: count characters)
 *   - names are C identifiers of at most DESC_NAME_MAX bytes
 *   - stride >= frame_size
 */
#ifndef FRAMES_DESC_H
#define FRAMES_DESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json_writer.h"

#define DESC_NAME_MAX   128
#define DESC_FRAMES_MAX 1024
#define DESC_FIELDS_MAX 4096        /* per frame */
#define DESC_FRAME_MAX  (1u << 20)  /* bytes of a frame */
#define DESC_JSON_MAX   (16u << 20) /* bytes of text that we look at */

/* Whose symbols, JSON and control block. */
enum desc_dialect {
	DESC_SEED, /* seed 003: __ppt_<buffer>_hmem, buffer.emit, struct ppt_control */
	DESC_PPT,  /* the existing tool: _ppt_hmem_<buffer>, emit, struct ppt_old_control */
};

enum desc_type {
	DESC_INT8,
	DESC_INT16,
	DESC_INT32, /* the spec's "int" */
	DESC_INT64,
	DESC_UINT8,
	DESC_UINT16,
	DESC_UINT32,
	DESC_UINT64,
	DESC_BOOL, /* one byte, 0 or 1 */
	DESC_FLOAT,
	DESC_DOUBLE,
	DESC_TIME,    /* two int64_t: seconds, and nanoseconds or microseconds (time_kind) */
	DESC_TICKS,   /* uint64_t: "time" with the counter clock */
	DESC_COUNTER, /* uint64_t; counter says which of the three */
	DESC_ENUM,    /* int32_t with names */
	DESC_STRING,  /* count bytes, zeros behind the text; not terminated if full */
	DESC_BYTES,   /* padding, or a type that we do not know: skip it */
	DESC_NR_TYPES
};

/* What a field is for. */
enum desc_role {
	DESC_FRONT_SEQ,
	DESC_FRAME_TYPE,
	DESC_BACK_SEQ,
	DESC_PADDING,
	DESC_PLAIN,
	DESC_START, /* of an interval */
	DESC_END,
	DESC_FOREIGN, /* of a type that we do not know; type_name says which */
};

enum desc_time { DESC_TIMEVAL, DESC_TIMESPEC, DESC_COUNTER_CLOCK };

struct desc_enum_value {
	char *name;
	int32_t value;
};

/* A field as it lies in memory. */
struct desc_field {
	char *name;   /* "duration_start"; unique in its frame */
	char *member; /* as declared: "duration"; NULL for hidden ones */
	enum desc_type type;
	enum desc_role role;
	uint32_t offset, size, align;
	uint32_t count;                 /* of elements: 1, or the array's or string's length */
	bool is_array;                  /* an array also when its length is 1 */
	uint32_t counter;               /* DESC_COUNTER: 0, 1 or 2 */
	char *type_name;                /* the enum's name, or the unknown type's; else NULL */
	struct desc_enum_value *values; /* DESC_ENUM */
	size_t nr_values;
};

/* A member as it was declared. */
struct desc_member {
	char *name;
	enum desc_type type;
	bool interval;
	bool is_array;
	uint32_t count;
	char *type_name;
	struct desc_enum_value *values;
	size_t nr_values;
};

struct desc_frame {
	char *name;
	struct desc_field *fields;
	size_t nr_fields;
	struct desc_member *members; /* in the order of the spec; may be unknown: none */
	size_t nr_members;
};

struct desc_tag {
	char *key, *value;
};

struct desc {
	enum desc_dialect dialect;
	char *abi;       /* "1.1.0" */
	char *name;      /* of the buffer */
	char *language;  /* "C" or "C++" */
	char *generator; /* who made the code; NULL: the existing tool */
	bool has_min_slots;
	uint64_t min_slots; /* what the spec wants; see the fact that it may be absurd */
	enum desc_time time;
	char *clock; /* DESC_TIMESPEC: the spec's word, e.g. "monotonic_raw" */
	bool multithread, resize;
	bool has_debug, debug, has_native_counter, native_counter;
	/* Does the client know our part of the control block, PPT_HMEM_DETACH and the rest? */
	bool extended;
	struct desc_tag *tags;
	size_t nr_tags;
	struct desc_frame *frames;
	size_t nr_frames;
	uint32_t frame_size; /* L: a frame in a file */
	uint32_t stride;     /* from slot to slot in memory */
};

/* Bytes of one element. */
uint32_t desc_type_size(enum desc_type type);

/* "uint16"; what the JSON calls it, too. */
const char *desc_type_name(enum desc_type type);

/* The clock of the time members for clock_gettime(); -1: another clock or none. */
int desc_clock_id(const struct desc *d);

/*
 * From the text of a `_json` symbol or of a recording's frJson, in either dialect.
 * @d is overwritten; on failure there is nothing to release.
 */
int desc_from_json(struct desc *d, const char *text, size_t size, struct err *err);

/*
 * The same from what jansson parsed (a json_t *; borrowed).  For those who found the
 * description inside something else.
 */
int desc_from_object(struct desc *d, const void *json, struct err *err);

/*
 * As one JSON value, in the shape of @dialect, whatever d->dialect is: DESC_PPT's shape
 * is what the existing tool reads in a recording.  Types that it does not know are
 * padding there, with what they really are beside it.
 */
void desc_to_json(const struct desc *d, enum desc_dialect dialect, struct json_writer *w);

/* Harmless on a struct that is all zero, or released. */
void desc_release(struct desc *d);

#endif
