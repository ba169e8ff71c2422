/* SPDX-License-Identifier: MIT */
/* site_hash.c - one number for a source location, equal in all runs and on all hosts. */
#include "trace/site_hash.h"

#include "trace/trace_site.h"

/* FNV-1a over the bytes of a text and its terminator. */
static uint64_t site_hash_text(uint64_t hash, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	do
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	while (*at++);
	return hash;
}

/* FNV-1a mixes its upper bits badly: two multiplications spread them over all bits. */
static uint64_t site_hash_spread(uint64_t hash)
{
	hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
	return hash ^ (hash >> 31);
}

uint64_t site_hash(const char *file, uint32_t line, const char *function)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct site_names names;
	int shift;

	site_names_of(&names, file, function);
	hash = site_hash_text(hash, names.file);
	for (shift = 0; shift < 32; shift += 8)
		hash = (hash ^ (line >> shift & 0xff)) * UINT64_C(0x100000001b3);
	hash = site_hash_spread(site_hash_text(hash, names.function));
	return hash ? hash : 1;
}
