/* SPDX-License-Identifier: MIT */
/* ctf_decode.h - decode the next event or gap of a stream of events. */
#ifndef TRACE_CTF_DECODE_H
#define TRACE_CTF_DECODE_H

#include "trace/ctf_cursor.h"

/*
 * Stores the item in c->item; its name is valid until the next call.  Returns 1; 0: the end of
 * the stream; -errno.  Corrupt and unknown records are counted and skipped.
 */
int ctf_decode_next(const struct ctf_walk *walk, struct ctf_cursor *c);

#endif
