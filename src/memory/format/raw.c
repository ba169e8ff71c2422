/* SPDX-License-Identifier: MIT */
/* raw.c - encode and decode records of the raw Cacheray format. */
#include "memory/format/raw.h"

/* Little-endian, like every supported machine. */
static void raw_put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void raw_put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static uint64_t raw_get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint32_t raw_get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

size_t raw_encode(uint8_t *out, const struct mem_record *r, uint64_t thread_id)
{
	out[0] = r->tag;
	raw_put64(out + 1, r->address);
	if (mem_is_access(r)) {
		out[9] = r->size;
		raw_put64(out + 10, thread_id);
		return RAW_ACCESS_SIZE;
	}
	raw_put64(out + 9, thread_id);
	if (r->kind == MEM_REMOVE)
		return RAW_REMOVE_SIZE;
	raw_put32(out + 17, r->elem_size);
	raw_put32(out + 21, r->elem_count);
	raw_put32(out + 25, r->name_size);
	if (r->name_size)
		memcpy(out + RAW_ADD_SIZE, r->name, r->name_size);
	return (size_t)RAW_ADD_SIZE + r->name_size;
}

static long decode_add(const uint8_t *in, size_t size, struct mem_record *out, const char **what)
{
	uint32_t name_size;

	if (size < RAW_ADD_SIZE)
		return 0;
	name_size = raw_get32(in + 25);
	if (name_size > CRAY_NAME_MAX) {
		*what = "a type name of more than 65,535 bytes";
		return -1;
	}
	if (size - RAW_ADD_SIZE < name_size)
		return 0;
	out->elem_size = raw_get32(in + 17);
	out->elem_count = raw_get32(in + 21);
	out->name = (const char *)in + RAW_ADD_SIZE;
	out->name_size = name_size;
	return (long)RAW_ADD_SIZE + (long)name_size;
}

long raw_decode(const uint8_t *in, size_t size, struct mem_record *out, uint64_t *thread_id,
		const char **what)
{
	unsigned kind;

	if (size == 0)
		return 0;
	kind = in[0] & CRAY_KIND;
	if (kind > CRAY_RTTA_REMOVE) {
		*what = "a kind of record that there is not";
		return -1;
	}
	/* The shortest record has 17 bytes: tag, address and thread. */
	if (size < RAW_REMOVE_SIZE)
		return 0;
	out->kind = (uint8_t)kind;
	out->tag = in[0];
	out->address = raw_get64(in + 1);
	if (kind > CRAY_WRITE) {
		*thread_id = raw_get64(in + 9);
		return kind == CRAY_RTTA_REMOVE ? RAW_REMOVE_SIZE : decode_add(in, size, out, what);
	}
	if (size < RAW_ACCESS_SIZE)
		return 0;
	out->size = in[9];
	*thread_id = raw_get64(in + 10);
	return RAW_ACCESS_SIZE;
}
