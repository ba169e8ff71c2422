/* SPDX-License-Identifier: MIT */
/* section_read.c - a section out of a page that was written before. */
#include "page/section_read.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define SECTION_WINDOW (15 + 16) /* the largest window, with a gzip header */

/* ---- the element ------------------------------------------------------------------------ */

/* Skip to behind @mark.  False: it is not there. */
static bool section_skip_to(FILE *in, const char *mark)
{
	size_t size = strlen(mark), nr = 0;
	char seen[64]; /* the last @nr bytes, as far as they are like the mark */
	int byte;

	while (nr < size && (byte = getc_unlocked(in)) != EOF) {
		seen[nr++] = (char)byte;
		while (nr && memcmp(seen, mark, nr) != 0)
			memmove(seen, seen + 1, --nr);
	}
	return nr == size;
}

/* The text up to the next element. */
static int section_text(FILE *in, const char *path, size_t max, struct bytes *text, struct err *err)
{
	int byte;

	while ((byte = getc_unlocked(in)) != EOF && byte != '<') {
		unsigned char one = (unsigned char)byte;

		if (text->size >= max)
			return err_set(err, -EFBIG, "a section of '%s' is too large", path);
		bytes_add(text, &one, 1);
	}
	if (text->error)
		return err_set(err, -ENOMEM, "no memory for '%s'", path);
	return 0;
}

/* ---- its content ------------------------------------------------------------------------ */

static int base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* In place: the bytes are fewer than the digits.  False: not base64. */
static bool section_decode(struct bytes *text)
{
	size_t in, out = 0;
	uint32_t bits = 0;
	unsigned nr = 0;

	while (text->size && strchr("=\r\n", text->data[text->size - 1]))
		text->size--;
	for (in = 0; in < text->size; in++) {
		int value = base64_value(text->data[in]);

		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		nr += 6;
		if (nr >= 8) {
			nr -= 8;
			text->data[out++] = (unsigned char)(bits >> nr);
		}
	}
	text->size = out;
	return true;
}

/* 1: unpacked; 0: damaged or more than @max bytes; -ENOMEM. */
static int section_unpack(const struct bytes *packed, size_t max, struct bytes *out)
{
	z_stream z = { .next_in = packed->data, .avail_in = (uInt)packed->size };
	int rc = inflateInit2(&z, SECTION_WINDOW);
	unsigned char *to;

	if (rc != Z_OK)
		return -ENOMEM;
	while (rc == Z_OK && out->size <= max) {
		to = bytes_more(out, 65536);
		if (!to)
			break;
		z.next_out = to;
		z.avail_out = 65536;
		rc = inflate(&z, Z_NO_FLUSH);
		out->size -= z.avail_out;
	}
	inflateEnd(&z);
	if (out->error)
		return -ENOMEM;
	return rc == Z_STREAM_END && out->size <= max;
}

int page_section_read(FILE *in, const char *path, const char *name, size_t max, struct bytes *out,
		      struct err *err)
{
	struct bytes packed = { 0 };
	char mark[64];
	int rc;

	snprintf(mark, sizeof(mark), " id=\"ct-%s\">", name);
	if (!section_skip_to(in, mark))
		return ferror(in) ? err_errno(err, "cannot read '%s'", path) : 0;
	rc = section_text(in, path, max, &packed, err);
	if (!rc) {
		rc = section_decode(&packed) ? section_unpack(&packed, max, out) : 0;
		if (rc == -ENOMEM)
			err_set(err, rc, "no memory for '%s'", path);
		else if (!rc)
			rc = err_set(err, -EINVAL, "section '%s' of '%s' is damaged", name, path);
	}
	bytes_release(&packed);
	return rc;
}
