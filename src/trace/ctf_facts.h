/* SPDX-License-Identifier: MIT */
/* ctf_facts.h - facts about a run as records of a CTF stream, by the rows of schema.h. */
#ifndef TRACE_CTF_FACTS_H
#define TRACE_CTF_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/schema.h"

/* The record of the fact @id; NULL: unknown. */
const struct schema_record *ctf_fact_record(unsigned id);

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
