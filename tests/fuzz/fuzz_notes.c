/* SPDX-License-Identifier: MIT */
/*
 * fuzz_notes.c - notes of readers, as JSON and as a section of a page, against hostile input.
 *
 * What is accepted keeps the bounds, and is the same after it was written and read again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/section_read.h"
#include "view/note_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t nr_notes, nr_dropped, nr_errors, nr_sections;

static void check_note(const struct view_note *note)
{
	MUST(note->text[0] && strlen(note->text) <= NOTE_TEXT_MAX && strlen(note->made) <= 40);
	MUST(strlen(note->id) <= 20 && strspn(note->id, "0123456789") == strlen(note->id));
	MUST(note->has_from || note->id[0]);
	MUST(!note->has_to || (note->has_from && note->to >= note->from));
	nr_notes++;
}

static void check_again(const struct note_list *list)
{
	struct note_list again = { .nr = 0 };
	struct bytes text = { 0 };
	struct err err = { 0 };
	size_t i;

	MUST(note_list_write(list, "t", list->origin, &text) == 0);
	MUST(note_list_parse(&again, "t", (const char *)text.data, text.size, &err) == 0);
	MUST(again.nr == list->nr && again.dropped == 0 && again.origin == list->origin);
	for (i = 0; i < list->nr; i++) {
		MUST(!strcmp(again.all[i].text, list->all[i].text));
		MUST(!strcmp(again.all[i].id, list->all[i].id));
		MUST(again.all[i].from == list->all[i].from && again.all[i].to == list->all[i].to);
	}
	note_list_release(&again);
	bytes_release(&text);
}

static void read_section(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct bytes out = { 0 };
	struct err err = { 0 };
	int rc;

	if (!in)
		return;
	rc = page_section_read(in, "p", "notes", 4096, &out, &err);
	MUST(rc == 0 || rc == 1 || (rc == err.code && err.text[0]));
	MUST(rc != 1 || out.size <= 4096);
	nr_sections += rc == 1;
	bytes_release(&out);
	fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct note_list list = { .nr = 0 };
	struct err err = { 0 };
	size_t i;
	int rc = note_list_parse(&list, "a", (const char *)data, size, &err);

	MUST(rc == 0 || (rc == -EINVAL && err.text[0] && err.hint[0]));
	for (i = 0; i < list.nr; i++)
		check_note(&list.all[i]);
	MUST(list.nr <= NOTES_MAX);
	note_list_outside(&list, 0, UINT64_MAX);
	if (!rc)
		check_again(&list);
	nr_errors += rc != 0;
	nr_dropped += list.dropped;
	note_list_release(&list);
	read_section(data, size);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static const char *const notes_seeds[] = {
	"{\"format\":1,\"trace\":\"t\",\"origin\":\"81234\",\"notes\":[{\"from\":12,\"to\":20,"
	"\"id\":"
	"\"42\",\"text\":\"slow\",\"made\":\"2026\"},{\"from\":null,\"to\":null,\"id\":\"7\","
	"\"text\":"
	"\"x\"},{\"from\":-3.5,\"text\":\"early\"}]}",
	/* The text "{}" in gzip. */
	"<script type=\"application/octet-stream\" "
	"id=\"ct-notes\">H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==</script>",
};

static const char *const notes_words[] = { "\"from\":",
					   "null",
					   "-",
					   "1e300",
					   "{",
					   "]",
					   "id=\"ct-",
					   "\"id\":",
					   "\"",
					   "<",
					   "=",
					   ",",
					   "99999999999999999999" };
static uint64_t notes_state = UINT64_C(0x9e3779b97f4a7c15);

static size_t notes_roll(size_t below)
{
	notes_state ^= notes_state << 13;
	notes_state ^= notes_state >> 7;
	notes_state ^= notes_state << 17;
	return (size_t)(notes_state % below);
}

static size_t notes_mutate(char *buf, size_t size, size_t max)
{
	const char *word = notes_words[notes_roll(sizeof(notes_words) / sizeof(notes_words[0]))];
	size_t at = notes_roll(size + 1), len = strlen(word);

	if (notes_roll(2)) {
		if (at < size)
			buf[at] = (char)notes_roll(256);
		return size;
	}
	if (size + len > max)
		return size;
	memmove(buf + at + len, buf + at, size - at);
	memcpy(buf + at, word, len);
	return size + len;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	char buf[2048];

	for (i = 0; i < rounds; i++) {
		const char *seed = notes_seeds[i % 2];
		size_t size = strlen(seed), changes = notes_roll(4);

		memcpy(buf, seed, size);
		while (changes--)
			size = notes_mutate(buf, size, sizeof(buf));
		own_input((const uint8_t *)buf, size);
	}
	printf("%lu inputs: %llu notes, %llu dropped, %llu errors, %llu sections\n", rounds,
	       (unsigned long long)nr_notes, (unsigned long long)nr_dropped,
	       (unsigned long long)nr_errors, (unsigned long long)nr_sections);
	if (rounds >= 1000)
		MUST(nr_notes > rounds / 4 && nr_dropped && nr_errors > rounds / 4 && nr_sections);
	return 0;
}

#endif
