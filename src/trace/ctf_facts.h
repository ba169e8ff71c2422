/* SPDX-License-Identifier: MIT */
/*
 * ctf_facts.h - facts about a run as records of a CTF stream: one table for writer, reader,
 * metadata.
 */
#ifndef TRACE_CTF_FACTS_H
#define TRACE_CTF_FACTS_H

#include <stdbool.h>

#include "trace/ctf.h"
#include "trace/item.h"

enum ctf_type {
	CTF_U64,
	CTF_U32,
	CTF_BOOL,    /* a u8 */
	CTF_INT,     /* an i32 */
	CTF_REASON,  /* a u8, enum trace_reason */
	CTF_STATE,   /* a u8, enum trace_state */
	CTF_TEXT,    /* a string with its NUL */
	CTF_TEXT_OR, /* the same; empty for NULL */
	CTF_COMMAND, /* a u32 count, and that number of strings */
};

struct ctf_member {
	const char *name; /* NULL: the end of the table */
	enum ctf_type type;
	size_t offset; /* in struct trace_item */
};

struct ctf_fact {
	const char *name;
	enum trace_item_type type;
	const struct ctf_member *members;
};

extern const struct ctf_fact ctf_facts[NR_CTF_FACTS];

/* Returns the fact id for @type; -1: there is none. */
int ctf_fact_of(enum trace_item_type type);

/* Size of the payload in bytes. */
size_t ctf_fact_size(const struct trace_item *item);

/* Writes the payload to @p.  Returns its end. */
uint8_t *ctf_fact_encode(uint8_t *p, const struct trace_item *item);

/*
 * Decodes an untrusted payload of @size bytes.  Members that the payload does not have keep the
 * value for "missing" in @item; bytes after the last known member are ignored.  Strings point
 * into the payload.  @words holds the strings of a command; the caller frees it, also on
 * failure.  Returns 1; 0: the payload is corrupt; -ENOMEM.
 */
int ctf_fact_decode(const uint8_t *p, size_t size, unsigned id, struct trace_item *item,
		    const char ***words);

#endif
