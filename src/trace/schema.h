/* SPDX-License-Identifier: MIT */
/*
 * schema.h - the fields of a trace's items: one table for JSON, CTF and the columns of an export.
 *
 * A field is one row in schema.c.  The row has its key in JSON, its type, its place in the struct
 * of item.h, what a missing value looks like, its position in CTF and its column.  The sidecar's
 * writer and reader, the facts of CTF with their metadata and the tables of an export walk these
 * rows: none of them names a field.
 */
#ifndef TRACE_SCHEMA_H
#define TRACE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "trace/item.h"

enum schema_type {
	SCHEMA_U64,
	SCHEMA_ID,   /* uint64_t of which all bits count, as the number of a coroutine */
	SCHEMA_ADDR, /* uint64_t; in JSON "0x" and sixteen digits */
	SCHEMA_U32,
	SCHEMA_INT,     /* int; a file has no negative one */
	SCHEMA_BOOL,    /* the bit `bit` of a byte: a bool, or one flag of several */
	SCHEMA_REASON,  /* uint8_t, enum trace_reason; in JSON by name */
	SCHEMA_STATE,   /* uint8_t, enum trace_state; in JSON by name */
	SCHEMA_TEXT,    /* const char *, terminated */
	SCHEMA_NAME,    /* of an event: const char *, with its size in name_size */
	SCHEMA_KIND,    /* of an event: uint8_t, enum trace_kind; the "type" in JSON */
	SCHEMA_FLAGS,   /* of an event: uint8_t, enum trace_flag; in JSON a member for each */
	SCHEMA_COMMAND, /* of a run: list of texts, their number in nr_command */
};

/* What a JSON object has for a field that was not reported. */
enum schema_absent {
	SCHEMA_WRITTEN, /* its value: every item has one */
	SCHEMA_OMITTED, /* nothing */
	SCHEMA_NULL,    /* null */
};

struct schema_field {
	const char *key;         /* in JSON; NULL: in other formats only */
	const char *member;      /* the key as text of a member: ,"key": */
	const char *ctf_name;    /* NULL: the key */
	const char *column_name; /* NULL: the key */
	const char *otherwise;   /* text that is written for NULL; NULL: the text may be missing */
	uint64_t missing;        /* value if it was not reported; for an int, the largest such */
	uint16_t offset;         /* in the struct of the item's type */
	uint16_t kinds;          /* of an event: bit k: kind k writes it; 0: all kinds */
	/*
	 * With `has`, another member says whether the field was reported: a byte at has_offset, of
	 * which has_bit is set (0: any bit).  Otherwise it was reported if it is not `missing`.
	 */
	uint16_t has_offset;
	uint8_t has_bit;
	bool has;
	uint8_t member_size; /* of the text `member` */
	uint8_t type;        /* enum schema_type */
	uint8_t absent;      /* enum schema_absent */
	uint8_t bit;         /* of a SCHEMA_BOOL */
	uint8_t ctf;         /* position in the fact of CTF, from 1; 0: not there.  See ctf.h */
	uint8_t column;      /* in the table of an export, from 1; 0: not there */
	bool column_null;    /* a missing value is NULL there, though not in JSON */
};

struct schema_record {
	const char *name; /* "type" in JSON; NULL: the name of the event's kind */
	const struct schema_field *fields;
	size_t nr;
	int ctf; /* enum ctf_fact_id; -1: not a fact */
};

extern const struct schema_record schema[NR_TRACE_ITEM_TYPES];

struct schema_kind {
	const char *name;       /* "type" in JSON */
	const char *plural;     /* key of its count */
	const char *one, *many; /* what is counted, for people */
};

extern const struct schema_kind schema_kinds[NR_TRACE_KINDS];

/* The struct of @item's type in it. */
static inline void *schema_record_of(struct trace_item *item)
{
	return &item->run;
}

static inline const void *schema_const_record_of(const struct trace_item *item)
{
	return &item->run;
}

/* The value of a number: an integer, an address, a flag, a reason or a state. */
static inline uint64_t schema_number(const struct schema_field *f, const void *record)
{
	const char *at = (const char *)record + f->offset;

	switch ((enum schema_type)f->type) {
	case SCHEMA_U64:
	case SCHEMA_ID:
	case SCHEMA_ADDR:
		return *(const uint64_t *)at;
	case SCHEMA_U32:
		return *(const uint32_t *)at;
	case SCHEMA_INT:
		return (uint64_t)(unsigned)*(const int *)at;
	case SCHEMA_BOOL:
		return (*(const uint8_t *)at & f->bit) != 0;
	case SCHEMA_REASON:
	case SCHEMA_STATE:
	case SCHEMA_KIND:
	case SCHEMA_FLAGS:
		return *(const uint8_t *)at;
	case SCHEMA_TEXT:
	case SCHEMA_NAME:
	case SCHEMA_COMMAND:
		break;
	}
	return 0;
}

/* True if @record, the struct that @f is a field of, has a value there. */
static inline bool schema_is_reported(const struct schema_field *f, const void *record)
{
	const char *at = (const char *)record + f->offset;

	if (f->has) {
		uint8_t byte = *((const uint8_t *)record + f->has_offset);

		return f->has_bit ? byte & f->has_bit : byte;
	}
	switch ((enum schema_type)f->type) {
	case SCHEMA_TEXT:
		return *(const char *const *)at != NULL;
	case SCHEMA_NAME:
		return *(const char *const *)at && ((const struct trace_event *)record)->name_size;
	case SCHEMA_INT:
		return *(const int *)at > (int)f->missing;
	case SCHEMA_COMMAND:
		return true;
	default:
		return schema_number(f, record) != f->missing;
	}
}

/* The largest value of a number. */
static inline uint64_t schema_most(const struct schema_field *f)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_U64:
	case SCHEMA_ID:
	case SCHEMA_ADDR:
		return UINT64_MAX;
	case SCHEMA_U32:
		return UINT32_MAX;
	case SCHEMA_INT:
		return INT32_MAX;
	case SCHEMA_BOOL:
		return 1;
	default:
		return UINT8_MAX;
	}
}

/* Sets a number.  False: it does not fit, and *@record is unchanged. */
static inline bool schema_set_number(const struct schema_field *f, void *record, uint64_t value)
{
	char *at = (char *)record + f->offset;

	if (value > schema_most(f))
		return false;
	if (f->type <= SCHEMA_ADDR)
		*(uint64_t *)at = value;
	else if (f->type == SCHEMA_U32)
		*(uint32_t *)at = (uint32_t)value;
	else if (f->type == SCHEMA_INT)
		*(int *)at = (int)value;
	else if (f->type == SCHEMA_BOOL)
		*(uint8_t *)at |= value ? f->bit : 0; /* a missing one is clear */
	else
		*(uint8_t *)at = (uint8_t)value;
	return true;
}

/* Where another member says that the field was reported, let it say so. */
static inline void schema_mark_reported(const struct schema_field *f, void *record)
{
	if (f->has)
		*((uint8_t *)record + f->has_offset) |= f->has_bit;
}

/* False: an event of this kind has another field in its place. */
static inline bool schema_is_of_kind(const struct schema_field *f, unsigned kind)
{
	return !f->kinds || f->kinds >> kind & 1;
}

static inline bool schema_column_may_be_null(const struct schema_field *f)
{
	return f->column_null || f->absent != SCHEMA_WRITTEN;
}

/* Name of a reason, a state or a kind; NULL: there is none. */
const char *schema_word(const struct schema_field *f, uint64_t value);

/* The fields of @record, a struct of item.h for @type, into an object that is open in @j. */
void schema_put_json(struct json_writer *j, enum trace_item_type type, const void *record);

/* The field after @f by position in CTF; @f NULL: the first.  NULL: there is none. */
const struct schema_field *schema_next_in_ctf(const struct schema_record *r,
					      const struct schema_field *f);

#endif
