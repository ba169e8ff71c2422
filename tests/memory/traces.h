/* SPDX-License-Identifier: MIT */
/*
 * traces.h - synthetic memory traces for tests, written to files.
 *
 * A synthetic program has threads that walk over arrays, jump, and annotate; its accesses
 * follow from a seed, so that the records read can be compared with those written.
 */
#ifndef TRACES_H
#define TRACES_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/format/container_file.h"
#include "memory/format/mem_reader.h"
#include "pack.h"

static inline uint64_t traces_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static const char *const traces_names[] = {
	"struct.Node", "int", "", "struct Point", "void*", "std::vector<std::pair<int, char>>"
};

/* Of 24 bytes, with NULs: kind, file, function, line. */
static const char *const traces_coroutines[] = { "reader\0dir/a.c\0function\012",
						 "writer\0dir/b.c\0other_one\07",
						 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" };

/*
 * Record @n of the synthetic program: any kind, any address.  Deterministic in (@seed, @n).
 * Annotations have no tickets here; a caller that needs some sets them.
 */
static inline void traces_record(uint64_t seed, uint64_t n, struct mem_record *r)
{
	static const uint8_t sizes[] = { 1, 2, 4, 8, 16, 0, 255, 64 };
	uint64_t s = (seed + 1) * 0x9E3779B97F4A7C15u ^ n * 0xD1B54A32D192ED03u, what, i;

	for (i = 0; i < 3; i++)
		traces_random(&s);
	what = traces_random(&s) % 1000;
	memset(r, 0, sizeof(*r));
	r->weight_256 = 256;
	r->tag = (uint8_t)(traces_random(&s) & 1);
	if (what < 700) { /* a walk: one of a few sites, addresses that grow */
		i = n % 5;
		r->pc = 0x401000 + i * 16;
		r->tag = (uint8_t)(i == 3);
		r->size = 8;
		r->address = 0x7f0000000000u + i * 0x100000 + n * 8;
	} else if (what < 950) { /* a jump */
		r->pc = 0x500000 + traces_random(&s) % 64 * 4;
		r->size = sizes[traces_random(&s) % 8];
		r->address = traces_random(&s) >> traces_random(&s) % 64;
		r->tag |= (uint8_t)(traces_random(&s) % 4 << 6);
		r->attr = (uint8_t)(traces_random(&s) % 8 == 0);
	} else if (what < 970) {
		r->tag = MEM_ADD;
		r->address = 0x600000 + traces_random(&s) % 4096 * 64;
		r->elem_size = (uint32_t)traces_random(&s) % 4096;
		r->elem_count = (uint32_t)traces_random(&s) % 16;
		r->name = traces_names[traces_random(&s) % 6];
		r->name_size = (uint32_t)strlen(r->name);
		r->pc = 0x700000;
	} else if (what < 990) {
		r->tag = MEM_REMOVE;
		r->address = 0x600000 + traces_random(&s) % 4096 * 64;
	} else if (what < 993) {
		r->kind = MEM_CORO;
		r->value = traces_random(&s) % 100;
		r->cause = 1 + (uint32_t)(traces_random(&s) % 3);
		r->name = traces_coroutines[traces_random(&s) % 3];
		r->name_size = 24;
	} else if (what < 994) {
		r->kind = traces_random(&s) % 2 ? MEM_ALLOC : MEM_FREE;
		r->address = 0x800000 + traces_random(&s) % 4096 * 16;
		r->pc = 0x700000 + traces_random(&s) % 64;
		r->value = r->kind == MEM_ALLOC ? traces_random(&s) % 10000 : 0;
		r->stack = r->kind == MEM_ALLOC ? (uint32_t)(traces_random(&s) % 5) : 0;
	} else if (what < 995 && traces_random(&s) % 2) {
		r->kind = traces_random(&s) % 2 ? MEM_ENTER : MEM_EXIT;
		r->pc = r->kind == MEM_ENTER ? 0x400000 + traces_random(&s) % 4096 * 64 : 0;
		r->value = r->kind == MEM_ENTER ? 0x400000 + traces_random(&s) % 64
						: traces_random(&s) % 3;
		r->cause = r->kind == MEM_ENTER && traces_random(&s) % 4 == 0;
	} else if (what < 995) {
		r->kind = MEM_MARK;
		r->value = traces_random(&s);
		r->name = "phase";
		r->name_size = 5;
	} else {
		r->kind = MEM_GAP;
		r->cause = CRAY_GAP_FULL + (uint32_t)(traces_random(&s) % 2) * 15;
		r->value = traces_random(&s) % 1000;
	}
	if (r->kind == 0)
		r->kind = r->tag & CRAY_KIND;
	else
		r->tag = 0;
}

/* Into @p; false if it needs a new block. */
static inline bool traces_pack(struct cray_pack *p, const struct mem_record *r)
{
	uint64_t ticket = r->has_ticket ? r->order : 0;

	switch (r->kind) {
	case MEM_READ:
	case MEM_WRITE:
		if (!cray_pack_room(p))
			return false;
		cray_pack_access(p, r->pc, r->address, CRAY_HOW(r->tag, r->size, r->attr));
		return true;
	case MEM_ADD:
		return cray_pack_add(p, r->tag, ticket, r->pc, r->address, r->elem_size,
				     r->elem_count, r->name, r->name_size);
	case MEM_REMOVE:
		return cray_pack_remove(p, r->tag, ticket, r->pc, r->address);
	case MEM_MARK:
		return cray_pack_mark(p, r->value, r->name, r->name_size);
	case MEM_CORO:
		return cray_pack_coroutine(p, r->value, r->cause, r->name, r->name_size);
	case MEM_ALLOC:
		return cray_pack_alloc(p, ticket, r->pc, r->address, r->value, r->stack);
	case MEM_FREE:
		return cray_pack_free(p, ticket, r->pc, r->address);
	case MEM_ENTER:
		return cray_pack_enter(p, r->pc, r->value, r->cause != 0);
	case MEM_EXIT:
		return cray_pack_exit(p, r->value);
	default:
		return cray_pack_gap(p, r->cause, r->value);
	}
}

/* Compares all fields of a record except order, time and thread. */
static inline bool traces_same(const struct mem_record *a, const struct mem_record *b)
{
	if (a->kind != b->kind || a->tag != b->tag)
		return false;
	if ((mem_has_address(a) || a->kind == MEM_ENTER) &&
	    (a->address != b->address || a->pc != b->pc))
		return false;
	if (mem_is_access(a))
		return a->size == b->size && a->attr == b->attr;
	if (a->kind == MEM_ADD || a->kind == MEM_MARK || a->kind == MEM_CORO) {
		if (a->name_size != b->name_size || memcmp(a->name, b->name, a->name_size) != 0)
			return false;
	}
	return a->value == b->value && a->elem_size == b->elem_size &&
	       a->elem_count == b->elem_count && a->cause == b->cause && a->stack == b->stack;
}

/* A new file for a container; exits on failure. */
static inline void traces_begin(struct cfile *f, const char *path, int level, uint64_t flags)
{
	struct cfile_config config = { .level = level, .flags = flags, .start_ns = 1000 };
	struct err err = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || cfile_open(f, fd, path, &config, &err) < 0) {
		fprintf(stderr, "cannot write %s: %s\n", path, err.text);
		exit(1);
	}
}

static inline void traces_end(struct cfile *f)
{
	struct err err = { 0 };

	if (cfile_close(f, 0, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

#endif
