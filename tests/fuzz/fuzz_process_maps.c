/* SPDX-License-Identifier: MIT */
/*
 * fuzz_process_maps.c - the parser of /proc/PID/maps against hostile text.
 *
 * Every mapping it returns has a start below its end, they are sorted, each is found by its start,
 * and paths are inside the text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/process_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t nr_maps, nr_deleted, nr_newlines;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct process_maps maps;
	size_t i;

	MUST(text != NULL);
	if (size)
		memcpy(text, data, size);
	MUST(process_maps_parse(text, size, &maps) == 0);
	for (i = 0; i < maps.nr; i++) {
		const struct process_map *map = &maps.list[i];

		MUST(map->start < map->end && (!i || maps.list[i - 1].start < map->start));
		MUST(process_maps_find(&maps, map->start) == map);
		nr_maps++;
		nr_deleted += map->deleted;
		if (!map->path)
			continue;
		MUST(map->path > text && map->path + strlen(map->path) < text + size);
		nr_newlines += strchr(map->path, '\n') != NULL;
	}
	process_maps_free(&maps);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static const char seed_text[] =
	"55d0c8a5f000-55d0c8a61000 r--p 00000000 fe:01 1835047     /usr/bin/cat\n"
	"55d0c8a61000-55d0c8a66000 r-xp 00002000 fe:01 1835047     /usr/bin/cat (deleted)\n"
	"55d0ca3b4000-55d0ca3d5000 rw-p 00000000 00:00 0           [heap]\n"
	"7f3e30000000-7f3e30021000 rw-p 00000000 00:00 0 \n"
	"7f3e38a1c000-7f3e38a1d000 rw-s 00000000 00:01 5           /SYSV00000000 (deleted)\n"
	"7f3e38a1d000-7f3e38a1e000 r-xp 00001000 fe:01 77          /tmp/a\\012b\\012 (deleted)\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n";

static const char *const words[] = { " (deleted)", "\\012", "\n", " ", "-", ":", "\\", "f", "0" };
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static size_t roll(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % below);
}

/* Change a byte, insert a word, or remove a piece.  Returns the new size. */
static size_t mutate(char *buf, size_t size, size_t max)
{
	const char *word = words[roll(sizeof(words) / sizeof(words[0]))];
	size_t at = roll(size + 1), len = strlen(word);

	switch (roll(3)) {
	case 0:
		if (at < size)
			buf[at] = (char)roll(256);
		return size;
	case 1:
		len = roll(32) + 1;
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	default:
		if (size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	char buf[2048];

	for (i = 0; i < rounds; i++) {
		size_t size = sizeof(seed_text) - 1, changes = roll(6);

		memcpy(buf, seed_text, size);
		while (changes--)
			size = mutate(buf, size, sizeof(buf));
		own_input((const uint8_t *)buf, size);
	}
	printf("%lu inputs: %llu mappings, %llu deleted, %llu names with a newline\n", rounds,
	       (unsigned long long)nr_maps, (unsigned long long)nr_deleted,
	       (unsigned long long)nr_newlines);
	if (rounds >= 1000)
		MUST(nr_maps > rounds * 3 && nr_deleted > rounds && nr_newlines > rounds / 4);
	return 0;
}

#endif
