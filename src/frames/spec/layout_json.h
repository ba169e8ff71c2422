/* SPDX-License-Identifier: MIT */
/*
 * layout_json.h - the description of a buffer: the layout of its frames, and its options.
 *
 * `generate` makes a description from a spec (frame_layout.h); attach, decode and query make it
 * from the JSON of a program or a recording, which is untrusted input.  These invariants hold in
 * both cases:
 *
 *   - at least one frame, at most DESC_FRAMES_MAX; types are numbered from 1
 *   - each frame's fields are in memory order, do not overlap, and are inside frame_size
 *   - field 0 is the front sequence number at 0; if there are several frames, field 1 is
 *     the type at 4; the last is the back sequence number at frame_size - 4
 *   - size == count * size of the type's one element (strings: count characters)
 *   - names are C identifiers of at most DESC_NAME_MAX bytes
 *   - stride >= frame_size
 */
#ifndef FRAMES_SPEC_LAYOUT_JSON_H
#define FRAMES_SPEC_LAYOUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json_writer.h"

#define DESC_NAME_MAX   128
#define DESC_FRAMES_MAX 1024
#define DESC_FIELDS_MAX 4096        /* per frame */
#define DESC_FRAME_MAX  (1u << 20)  /* bytes of a frame */
#define DESC_JSON_MAX   (16u << 20) /* longest text that is parsed */

/* Dialect of symbols, JSON and control block. */
enum desc_dialect {
	DESC_SEED, /* base protocol: __ppt_<buffer>_hmem, buffer.emit, struct ppt_control */
	DESC_PPT,  /* existing ppt tool: _ppt_hmem_<buffer>, emit, struct ppt_old_control */
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
	DESC_TIME,    /* two int64_t: seconds, and nanoseconds or microseconds (desc.time) */
	DESC_TICKS,   /* uint64_t: "time" with the counter clock */
	DESC_COUNTER, /* uint64_t; counter says which of the three */
	DESC_ENUM,    /* int32_t with names */
	DESC_STRING,  /* count bytes, zeros after the text; not terminated if full */
	DESC_BYTES,   /* padding, or an unknown type: skip it */
	DESC_NR_TYPES
};

/* Purpose of a field. */
enum desc_role {
	DESC_FRONT_SEQ,
	DESC_FRAME_TYPE,
	DESC_BACK_SEQ,
	DESC_PADDING,
	DESC_PLAIN,
	DESC_START, /* of an interval */
	DESC_END,
	DESC_FOREIGN, /* of an unknown type; type_name is its name */
};

enum desc_time { DESC_TIMEVAL, DESC_TIMESPEC, DESC_COUNTER_CLOCK };

struct desc_enum_value {
	char *name;
	int32_t value;
};

/* A field in memory. */
struct desc_field {
	char *name;   /* "duration_start"; unique in its frame */
	char *member; /* name in the spec: "duration"; NULL for hidden fields */
	enum desc_type type;
	enum desc_role role;
	uint32_t offset, size, align;
	uint32_t count;                 /* elements: 1, or the length of the array or string */
	bool is_array;                  /* also true for an array of length 1 */
	uint32_t counter;               /* DESC_COUNTER: 0, 1 or 2 */
	char *type_name;                /* name of the enum or of the unknown type; else NULL */
	struct desc_enum_value *values; /* DESC_ENUM */
	size_t nr_values;
};

/* A member as declared in the spec. */
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
	struct desc_member *members; /* in the order of the spec; none if unknown */
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
	char *generator; /* of the code; NULL: the existing ppt tool */
	bool has_min_slots;
	uint64_t min_slots; /* size in the spec; may be unreasonably large */
	enum desc_time time;
	char *clock; /* DESC_TIMESPEC: the spec's word, e.g. "monotonic_raw" */
	bool multithread, resize;
	bool has_debug, debug, has_native_counter, native_counter;
	/* The client knows the extension of the control block, PPT_HMEM_DETACH and so on. */
	bool extended;
	bool stamps; /* the client can write a stamp beside each frame: struct ppt_stamp */
	struct desc_tag *tags;
	size_t nr_tags;
	struct desc_frame *frames;
	size_t nr_frames;
	uint32_t frame_size; /* bytes of a frame in a file */
	uint32_t stride;     /* bytes from slot to slot in memory */
};

/* Bytes of one element. */
uint32_t desc_type_size(enum desc_type type);

/* "uint16"; the same name as in the JSON. */
const char *desc_type_name(enum desc_type type);

/* The clock of the time members for clock_gettime(); -1: another clock or none. */
int desc_clock_id(const struct desc *d);

/*
 * Parse the text of a `_json` symbol or of a recording's frJson, in either dialect.  Overwrites
 * @d; on failure there is nothing to release.
 */
int desc_from_json(struct desc *d, const char *text, size_t size, struct err *err);

/* The same from parsed JSON (a json_t *; borrowed), for a description inside another object. */
int desc_from_object(struct desc *d, const void *json, struct err *err);

/*
 * Write the description as one JSON value, in the form of @dialect, whatever d->dialect is: the
 * form of DESC_PPT is what the existing ppt tool reads in a recording.  Types that it does not
 * know are padding there, with their real type in an extra key.
 */
void desc_to_json(const struct desc *d, enum desc_dialect dialect, struct json_writer *w);

/* Has no effect on a struct that is all zero, or released. */
void desc_release(struct desc *d);

#endif
