/* SPDX-License-Identifier: MIT */
/*
 * json_writer.h - write JSON as a stream, to a FILE or into memory.
 *
 *	struct json_writer w;
 *
 *	jw_init_file(&w, stdout);
 *	jw_object_begin(&w);
 *	jw_field_u64(&w, "events", 3);
 *	jw_key(&w, "threads");
 *	jw_array_begin(&w);
 *	jw_u64(&w, 17);
 *	jw_array_end(&w);
 *	jw_object_end(&w);
 *	jw_newline(&w);
 *	if (jw_release(&w))
 *		...
 *
 * The writer adds commas and escapes: the output is valid JSON and valid UTF-8 for any input
 * strings.  Bytes that are not UTF-8 become U+FFFD, control characters \u00XX. The first failure (a
 * full disk, no memory, a key in the wrong position) is kept, and nothing is written after it:
 * callers check once, at the end.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JW_DEPTH_MAX 64

struct json_writer {
	FILE *file; /* NULL: into memory */
	char *buf;  /* the text so far, terminated; NULL while empty */
	size_t used, size;
	int error; /* negative errno of the first failure */
	unsigned depth;
	uint64_t in_object;  /* bit d: level d is an object, otherwise an array */
	uint64_t has_member; /* bit d: level d needs a comma before its next member */
	bool after_key;
};

void jw_init_file(struct json_writer *w, FILE *file);
void jw_init_buffer(struct json_writer *w);

/* Returns 0 or the first error.  Flushes the FILE (does not close it), frees the memory. */
int jw_release(struct json_writer *w);

/* The text so far, terminated; owned by the writer until jw_release().  NULL after a failure. */
const char *jw_text(const struct json_writer *w, size_t *size);

/* The caller has taken the text: empty the buffer; the document continues with the next call. */
void jw_text_taken(struct json_writer *w);

void jw_object_begin(struct json_writer *w);
void jw_object_end(struct json_writer *w);
void jw_array_begin(struct json_writer *w);
void jw_array_end(struct json_writer *w);
void jw_key(struct json_writer *w, const char *key);

void jw_string(struct json_writer *w, const char *text); /* NULL: writes null */
void jw_string_n(struct json_writer *w, const char *text, size_t size);
void jw_u64(struct json_writer *w, uint64_t value);
void jw_i64(struct json_writer *w, int64_t value);
void jw_double(struct json_writer *w, double value);        /* NaN and infinity: null */
void jw_thousandths(struct json_writer *w, uint64_t value); /* 1234 becomes "1.234", exactly */
void jw_bool(struct json_writer *w, bool value);
void jw_null(struct json_writer *w);

/* End a document, for one document per line. */
void jw_newline(struct json_writer *w);

void jw_field_string(struct json_writer *w, const char *key, const char *text);
void jw_field_u64(struct json_writer *w, const char *key, uint64_t value);
void jw_field_i64(struct json_writer *w, const char *key, int64_t value);
void jw_field_double(struct json_writer *w, const char *key, double value);
void jw_field_bool(struct json_writer *w, const char *key, bool value);
void jw_field_null(struct json_writer *w, const char *key);

#endif
