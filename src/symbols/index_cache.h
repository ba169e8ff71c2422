/* SPDX-License-Identifier: MIT */
/*
 * index_cache.h - a directory with what was derived from program files, for the next look.
 *
 * An entry is a file with a checksum: the content is the caller's.  The directory is
 * $XDG_CACHE_HOME/corotracer or ~/.cache/corotracer of the user who runs the tool; it is used only
 * if it and its parent belong to that user, so that `sudo` does not leave files in the home of
 * another user.  Entries are written under a temporary name and renamed.  When all of them together
 * exceed INDEX_CACHE_BYTES or INDEX_CACHE_ENTRIES, those that were used longest ago are removed.
 *
 * Failures are silent: everything works without the cache.
 */
#ifndef SYMBOLS_INDEX_CACHE_H
#define SYMBOLS_INDEX_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define INDEX_CACHE_BYTES     ((uint64_t)256 << 20)
#define INDEX_CACHE_ENTRIES   1024u
#define INDEX_CACHE_ENTRY_MAX ((uint64_t)64 << 20)
#define INDEX_CACHE_NAME_MAX  192

/* Use the cache from now on, or not; it is off at first. */
void index_cache_set(bool is_used);
bool index_cache_is_used(void);

/*
 * The content of entry @name, into @out; false: there is none that can be used.  @note (of
 * @note_size bytes) gets a sentence if an entry is there and is ignored because it is damaged or
 * belongs to another user; it is left alone otherwise.
 */
bool index_cache_read(const char *name, struct bytes *out, char *note, size_t note_size);

/* Write entry @name, or replace it. */
void index_cache_write(const char *name, const struct bytes *content);

/*
 * Version and build-id of this tool: what it derives from the same file may change with any build.
 */
const char *index_cache_version(void);

#define INDEX_HASH_START UINT64_C(0xcbf29ce484222325)

/* Continue the hash @hash with more bytes. */
uint64_t index_hash(uint64_t hash, const void *data, size_t size);

#endif
