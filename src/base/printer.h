/* SPDX-License-Identifier: MIT */
/*
 * printer.h - print one result as text or as one JSON object, from one set of calls.
 *
 *	printer_begin(&p, stdout, wants_json);
 *	print_count(&p, "events", "%s events", 1234);           1,234 events | "events": 1234
 *	print_text(&p, "\nthread        reads\n");
 *	print_list(&p, "threads");
 *	for (...) {
 *		print_row(&p);
 *		print_name(&p, "name", 12, name);
 *		print_count(&p, "reads", "%16s", reads);
 *		print_count(&p, "bytes", NULL, bytes);          JSON only
 *		print_row_end(&p);
 *	}
 *	print_list_end(&p);
 *	rc = printer_end(&p);
 *
 * A call with a key prints a member of the JSON object, and in text the value by its format; a NULL
 * format leaves it out of the text.  print_text() and print_safe() print nothing in JSON.
 */
#ifndef BASE_PRINTER_H
#define BASE_PRINTER_H

#include "base/json_writer.h"

struct printer {
	FILE *file;
	bool is_json;
	int error; /* of print_failed(); 0: none */
	struct json_writer json;
};

/* JSON: also opens the object. */
void printer_begin(struct printer *p, FILE *file, bool is_json);

/* Returns 0 or a negative errno of the first failure. */
int printer_end(struct printer *p);

/* What was to be printed next does not exist, as @error says: printer_end() returns it. */
void print_failed(struct printer *p, int error);

/* ---- text only ----------------------------------------------------------------- */

void print_text(struct printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Untrusted text, sanitized for a terminal; cut to @columns columns ("..." included) if not 0. */
void print_safe(struct printer *p, const char *text, int columns);

/* ---- structure, in JSON only ------------------------------------------------------ */

/* @key NULL: an element of a list. */
void print_object(struct printer *p, const char *key);
void print_object_end(struct printer *p);
void print_list(struct printer *p, const char *key);
void print_list_end(struct printer *p);

/* A row of a table: in JSON an object in a list; in text a line, whose end print_row_end() adds. */
void print_row(struct printer *p);
void print_row_end(struct printer *p);

/* ---- values ----------------------------------------------------------------------- */

/* @fmt has one %s, which gets the number with separators: 1,234. */
void print_count(struct printer *p, const char *key, const char *fmt, uint64_t value);

/* The same; 0 prints nothing in text. */
void print_nonzero(struct printer *p, const char *key, const char *fmt, uint64_t value);

/* @fmt has one %s, which gets the number without separators. */
void print_number(struct printer *p, const char *key, const char *fmt, uint64_t value);
void print_integer(struct printer *p, const char *key, const char *fmt, int64_t value);

/* As print_number(); if not @known, null in JSON and @unknown in text. */
void print_known(struct printer *p, const char *key, const char *fmt, bool known, uint64_t value,
		 const char *unknown);

/* @fmt has one %s, which gets 0x12ab; in JSON a string. */
void print_address(struct printer *p, const char *key, const char *fmt, uint64_t value);

/* @fmt has one %f. */
void print_real(struct printer *p, const char *key, const char *fmt, double value);

/* @text is printed in text if @value is true. */
void print_flag(struct printer *p, const char *key, const char *text, bool value);

/* JSON only; NULL becomes null. */
void print_string(struct printer *p, const char *key, const char *text);

/* Untrusted text, in text a cell of @columns columns, filled with blanks or cut. */
void print_name(struct printer *p, const char *key, int columns, const char *text);

#endif
