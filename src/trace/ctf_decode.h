/* SPDX-License-Identifier: MIT */
/* ctf_decode.h - the next event or gap of a stream of events. */
#ifndef TRACE_CTF_DECODE_H
#define TRACE_CTF_DECODE_H

#include "trace/ctf_cursor.h"

/*
 * Into c->item, its name valid until the next call.  1, 0: the end of the stream, -errno.
 * What is damaged or unknown on the way is counted and passed over.
 */
int ctf_decode_next(const struct ctf_walk *walk, struct ctf_cursor *c);

#endif
