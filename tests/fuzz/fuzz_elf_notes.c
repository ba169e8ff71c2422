/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf_notes.c - the reader of ELF headers, notes and request blocks against a hostile program.
 *
 * The input is what the tool reads from the memory of a program: the start of a mapped file, and
 * its notes.  Note segments are limited, each note is inside its segment, and a block is valid only
 * with its magic and a possible size.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corotracer/request.h>

#include "collect/program_request.h"
#include "process/elf_notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

#define START UINT64_C(0x7f0000000000)

struct walk {
	const uint8_t *bytes;
	size_t size;
};

static uint64_t nr_segments, nr_notes, nr_ours, nr_blocks;

static bool check_note(void *ctx, const struct elf_note *note)
{
	const struct walk *w = ctx;

	MUST(note->desc >= w->bytes && note->size <= w->size &&
	     note->desc + note->size <= w->bytes + w->size);
	MUST(note->address == START + (uint64_t)(note->desc - w->bytes));
	MUST(strlen(note->name) < ELF_NOTES_DESC);
	nr_notes++;
	nr_ours += !strcmp(note->name, CTP_NOTE_NAME) && note->type == CTP_NOTE_REQUEST;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct note_segment segments[ELF_NOTES_SEGMENTS];
	/* Copies of the exact size: the sanitizer sees a read past the end. */
	uint8_t *copy = malloc(size ? size : 1);
	struct walk w = { copy, size };
	struct ctp_request block;
	size_t nr, i;

	MUST(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	nr = elf_note_segments(copy, size, START, segments);
	MUST(nr <= ELF_NOTES_SEGMENTS);
	for (i = 0; i < nr; i++) {
		MUST(segments[i].size && segments[i].size <= ELF_NOTES_BYTES);
		MUST(segments[i].align == 4 || segments[i].align == 8);
		nr_segments++;
	}
	elf_notes_walk(copy, size, START, 4, check_note, &w);
	elf_notes_walk(copy, size, START, 8, check_note, &w);
	if (size >= sizeof(block)) {
		memcpy(&block, copy + size - sizeof(block), sizeof(block));
		if (request_block_valid(&block)) {
			MUST(block.magic == CTP_REQUEST_MAGIC && block.size >= sizeof(block));
			nr_blocks++;
		}
	}
	free(copy);
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

/* This program's own ELF header and program headers. */
static size_t make_head(uint8_t *buf, size_t room)
{
	FILE *file = fopen("/proc/self/exe", "re");
	size_t got = file ? fread(buf, 1, room, file) : 0;

	if (file)
		fclose(file);
	MUST(got == room);
	return got;
}

/* A few notes, one of them ours. */
static size_t make_notes(uint8_t *buf)
{
	static const uint32_t ours[] = { 11, 8, CTP_NOTE_REQUEST };
	static const uint32_t others[] = { 4, 20, 3 };
	size_t size = 0;

	memcpy(buf, others, sizeof(others));
	memcpy(buf + 12, "GNU", 4);
	memset(buf + 16, 7, 20);
	size = 36;
	memcpy(buf + size, ours, sizeof(ours));
	memcpy(buf + size + 12, CTP_NOTE_NAME "\0", 12);
	memset(buf + size + 24, 1, 8);
	return size + 32;
}

static size_t make_block(uint8_t *buf)
{
	struct ctp_request block = CTP_REQUEST_INIT;

	memcpy(buf, &block, sizeof(block));
	return sizeof(block);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	uint8_t buf[4096];

	for (i = 0; i < rounds; i++) {
		size_t size, changes = roll(5);

		if (i % 3 == 0)
			size = make_head(buf, 1024);
		else
			size = i % 3 == 1 ? make_notes(buf) : make_block(buf);
		while (changes--) {
			size_t at = roll(size);

			/* Mostly the fields in front, which are counts and offsets. */
			if (roll(2))
				at %= 64;
			buf[at % size] = (uint8_t)(roll(3) ? roll(256) : 0xff);
		}
		if (roll(4) == 0)
			size = roll(size) + 1;
		own_input(buf, size);
	}
	printf("%lu inputs: %llu segments, %llu notes, %llu of the SDK, %llu blocks\n", rounds,
	       (unsigned long long)nr_segments, (unsigned long long)nr_notes,
	       (unsigned long long)nr_ours, (unsigned long long)nr_blocks);
	if (rounds >= 1000)
		MUST(nr_segments > rounds / 6 && nr_notes > rounds / 3 && nr_ours > rounds / 12 &&
		     nr_blocks > rounds / 12);
	return 0;
}

#endif
