/* SPDX-License-Identifier: MIT */
/*
 * fuzz_index.c - entries of the cache of coroutines against hostile content.
 *
 * The input is the content of an entry, after its checksum.  What is accepted is within its limits,
 * and writing it again gives an entry with the same meaning.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/coroutine_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

#define BUILD_ID "00112233445566778899aabbccddeeff00112233"

static uint64_t nr_accepted, nr_refused, nr_layouts;

static void check_layout(const struct coro_type *t)
{
	size_t i;

	MUST(!t->has_index || (t->index_size && t->index_size <= 8));
	MUST(!t->has_index || !t->has_layout || t->index_offset + t->index_size <= t->size);
	for (i = 0; i < t->nr_fields; i++) {
		MUST(t->fields[i].path && t->fields[i].type && t->fields[i].size <= 64);
		MUST(t->fields[i].kind <= CORO_FIELD_HANDLE);
		MUST(t->fields[i].nr_handles <= CORO_FIELD_HANDLES);
	}
	nr_layouts++;
}

static void check_index(const struct coro_index *index)
{
	size_t i;

	for (i = 0; i < index->nr; i++) {
		const struct coro_index_symbol *s = &index->symbols[i];

		MUST(s->base && (!s->is_resume || s->function) &&
		     s->is_loaded == (s->type != NULL));
		if (s->type)
			check_layout(s->type);
	}
}

/* Give the functions an address, as a process does. */
static void settle_all(const struct coro_index *index)
{
	size_t i;

	for (i = 0; i < index->nr; i++) {
		if (!index->symbols[i].type)
			continue;
		index->symbols[i].type->resume = 8192;
		coro_index_settle(index->symbols[i].type);
	}
}

/* The first writing may be shorter than the input; the second is equal to the first. */
static void check_written(const struct coro_index *index)
{
	struct coro_index again = { 0 };
	struct bytes first = { 0 }, second = { 0 }, copy = { 0 };

	settle_all(index);
	MUST(coro_index_put(index, BUILD_ID, &first));
	bytes_add(&copy, first.data, first.size);
	MUST(!coro_index_take(&again, &copy, BUILD_ID));
	settle_all(&again);
	MUST(coro_index_put(&again, BUILD_ID, &second));
	MUST(first.size == second.size && !memcmp(first.data, second.data, first.size));
	coro_index_release(&again);
	bytes_release(&first);
	bytes_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coro_index index = { 0 };
	struct bytes content = { .data = malloc(size ? size : 1), .size = size, .room = size };

	/* A copy of the exact size: the sanitizer sees a read past the end. */
	MUST(content.data != NULL);
	if (size)
		memcpy(content.data, data, size);
	if (!coro_index_take(&index, &content, BUILD_ID)) {
		check_index(&index);
		check_written(&index);
		nr_accepted++;
	} else {
		nr_refused++;
	}
	coro_index_release(&index);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static size_t roll(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % below);
}

/* An entry with @nr functions, some with a layout. */
static void make_entry(struct bytes *out, size_t nr)
{
	static struct coro_field fields[] = {
		{ .path = "fd",
		  .type = "int",
		  .root_type = "int",
		  .offset = 24,
		  .size = 4,
		  .kind = CORO_FIELD_INTEGER,
		  .is_signed = true },
		{ .path = "_Coro_promise.next",
		  .type = "void *",
		  .owner = "coroutine_handle<void>",
		  .offset = 16,
		  .size = 8,
		  .kind = CORO_FIELD_HANDLE,
		  .in_promise = true,
		  .nr_handles = 2,
		  .handles = { 0, 8 } },
	};
	static struct coro_point points[] = {
		{ .index = 2, .file = "a.cpp", .line = 7, .is_initial = true },
		{ .index = 4, .addr = 4096, .file = "a.cpp", .line = 9, .awaits = "Wait" },
	};
	struct coro_type type = { .has_layout = true,
				  .has_index = true,
				  .is_gcc = true,
				  .has_promise = true,
				  .size = 64,
				  .index_offset = 40,
				  .index_size = 2,
				  .promise_offset = 16,
				  .promise_size = 16,
				  .file = "a.cpp",
				  .line = 7,
				  .last_line = 12,
				  .fields = fields,
				  .nr_fields = 2,
				  .points = points,
				  .nr_points = 2 };
	struct module_companion dwo = { .path = "a.dwo", .size = 100, .mtime_s = 5 };
	struct coro_index index = { .flags = (uint32_t)roll(4) };
	size_t i;

	if (roll(3) == 0)
		MUST(module_companion_add(&index.companions, &dwo));
	for (i = 0; i < nr; i++) {
		struct coro_index_symbol s = { .base = "_Z1fv", .addr = 4096 + i * 64, .size = 64 };

		s.is_resume = roll(2);
		s.function = s.is_resume ? "f" : NULL;
		s.is_loaded = s.is_resume && roll(2);
		s.type = s.is_loaded ? &type : NULL;
		MUST(coro_index_add(&index, &s) == 0);
	}
	MUST(coro_index_put(&index, BUILD_ID, out));
	free(index.symbols);
	module_companions_release(&index.companions);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;

	MUST(coro_index_is_whole());
	for (i = 0; i < rounds; i++) {
		struct bytes entry = { 0 };
		size_t changes = roll(4);

		make_entry(&entry, roll(12));
		while (changes--)
			entry.data[roll(entry.size)] = (uint8_t)(roll(3) ? roll(256) : 0xff);
		if (roll(5) == 0)
			entry.size = roll(entry.size) + 1;
		own_input(entry.data, entry.size);
		bytes_release(&entry);
	}
	printf("%lu entries: %llu accepted, %llu refused, %llu layouts\n", rounds,
	       (unsigned long long)nr_accepted, (unsigned long long)nr_refused,
	       (unsigned long long)nr_layouts);
	if (rounds >= 1000)
		MUST(nr_accepted > rounds / 8 && nr_refused > rounds / 8 &&
		     nr_layouts > rounds / 4);
	return 0;
}

#endif
