/* SPDX-License-Identifier: MIT */
/* printer.c - print one result as text or as one JSON object, from one set of calls. */
#include "base/printer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "base/text.h"

void printer_begin(struct printer *p, FILE *file, bool is_json)
{
	p->file = file;
	p->is_json = is_json;
	p->error = 0;
	if (!is_json)
		return;
	jw_init_file(&p->json, file);
	jw_object_begin(&p->json);
}

int printer_end(struct printer *p)
{
	int rc;

	if (p->is_json) {
		jw_object_end(&p->json);
		jw_newline(&p->json);
		rc = jw_release(&p->json);
		return p->error ? p->error : rc;
	}
	errno = 0;
	if (fflush(p->file) == 0 && !ferror(p->file))
		return p->error;
	return errno ? -errno : -EIO;
}

void print_failed(struct printer *p, int error)
{
	if (!p->error)
		p->error = error;
}

/* ---- text only ----------------------------------------------------------------- */

void print_text(struct printer *p, const char *fmt, ...)
{
	va_list ap;

	if (p->is_json)
		return;
	va_start(ap, fmt);
	vfprintf(p->file, fmt, ap);
	va_end(ap);
}

void print_safe(struct printer *p, const char *text, int columns)
{
	if (p->is_json)
		return;
	if (columns)
		text_put_short(p->file, text, columns);
	else
		text_put(p->file, text);
}

/* ---- structure ----------------------------------------------------------------- */

void print_object(struct printer *p, const char *key)
{
	if (!p->is_json)
		return;
	if (key)
		jw_key(&p->json, key);
	jw_object_begin(&p->json);
}

void print_object_end(struct printer *p)
{
	if (p->is_json)
		jw_object_end(&p->json);
}

void print_list(struct printer *p, const char *key)
{
	if (!p->is_json)
		return;
	jw_key(&p->json, key);
	jw_array_begin(&p->json);
}

void print_list_end(struct printer *p)
{
	if (p->is_json)
		jw_array_end(&p->json);
}

void print_row(struct printer *p)
{
	print_object(p, NULL);
}

void print_row_end(struct printer *p)
{
	print_object_end(p);
	print_text(p, "\n");
}

/* ---- values ----------------------------------------------------------------------- */

/* @fmt comes from the callers of this file, which are trusted. */
static void print_value(struct printer *p, const char *fmt, const char *text)
{
	if (fmt)
		fprintf(p->file, fmt, text);
}

void print_count(struct printer *p, const char *key, const char *fmt, uint64_t value)
{
	char text[TEXT_SIZE];

	if (p->is_json)
		jw_field_u64(&p->json, key, value);
	else
		print_value(p, fmt, text_count(text, value));
}

void print_nonzero(struct printer *p, const char *key, const char *fmt, uint64_t value)
{
	print_count(p, key, value ? fmt : NULL, value);
}

void print_number(struct printer *p, const char *key, const char *fmt, uint64_t value)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (p->is_json)
		jw_field_u64(&p->json, key, value);
	else
		print_value(p, fmt, text);
}

void print_integer(struct printer *p, const char *key, const char *fmt, int64_t value)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "%" PRIi64, value);
	if (p->is_json)
		jw_field_i64(&p->json, key, value);
	else
		print_value(p, fmt, text);
}

void print_known(struct printer *p, const char *key, const char *fmt, bool known, uint64_t value,
		 const char *unknown)
{
	if (known)
		print_number(p, key, fmt, value);
	else if (p->is_json)
		jw_field_null(&p->json, key);
	else
		print_value(p, fmt, unknown);
}

void print_address(struct printer *p, const char *key, const char *fmt, uint64_t value)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	if (p->is_json)
		jw_field_string(&p->json, key, text);
	else
		print_value(p, fmt, text);
}

void print_real(struct printer *p, const char *key, const char *fmt, double value)
{
	if (p->is_json)
		jw_field_double(&p->json, key, value);
	else if (fmt)
		fprintf(p->file, fmt, value);
}

void print_flag(struct printer *p, const char *key, const char *text, bool value)
{
	if (p->is_json)
		jw_field_bool(&p->json, key, value);
	else if (value && text)
		fputs(text, p->file);
}

void print_string(struct printer *p, const char *key, const char *text)
{
	if (p->is_json)
		jw_field_string(&p->json, key, text);
}

void print_name(struct printer *p, const char *key, int columns, const char *text)
{
	int width;

	if (p->is_json) {
		jw_field_string(&p->json, key, text);
		return;
	}
	width = text_width(text);
	text_put_short(p->file, text, columns);
	fprintf(p->file, "%*s", width < columns ? columns - width : 0, "");
}
