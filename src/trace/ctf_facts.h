/* SPDX-License-Identifier: MIT */
/* ctf_facts.h - facts about a run as records of a CTF stream: one table, three uses of it. */
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
	CTF_COMMAND, /* a u32, and so many strings */
};

struct ctf_member {
	const char *name; /* NULL: the end */
	enum ctf_type type;
	size_t offset; /* in struct trace_item */
};

struct ctf_fact {
	const char *name;
	enum trace_item_type type;
	const struct ctf_member *members;
};

extern const struct ctf_fact ctf_facts[NR_CTF_FACTS];

/* The fact that says @type; -1: none does. */
int ctf_fact_of(enum trace_item_type type);

/* Bytes of the payload. */
size_t ctf_fact_size(const struct trace_item *item);

/* The payload to @p.  Returns its end. */
uint8_t *ctf_fact_encode(uint8_t *p, const struct trace_item *item);

/*
 * A payload of @size bytes that anybody may have written.  What is not there is missing in
 * @item; what is there more is left alone.  Strings point into the payload; @words is for
 * those of a command, to be freed by the caller also on failure.  1; 0: it makes no sense; -ENOMEM.
 */
int ctf_fact_decode(const uint8_t *p, size_t size, unsigned id, struct trace_item *item,
		    const char ***words);

#endif
