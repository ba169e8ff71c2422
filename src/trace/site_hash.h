/* SPDX-License-Identifier: MIT */
/*
 * site_hash.h - one number for a source location, equal in all runs and on all hosts.
 *
 * The ids of sites are numbers of one run.  Rows of many runs refer to a location by the hash of
 * its file, line and function; the value is part of what databases store and must not change.
 */
#ifndef TRACE_SITE_HASH_H
#define TRACE_SITE_HASH_H

#include <stdint.h>

/*
 * Hashes the normalized names (trace_site.h); either may be NULL.  Never 0, which means "no site".
 */
uint64_t site_hash(const char *file, uint32_t line, const char *function);

#endif
