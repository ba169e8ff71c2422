/* SPDX-License-Identifier: MIT */
/* bundle.c - the compressed sections of a page, and their size in the file. */
#include "page/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_1 "<script type=\"application/octet-stream\" id=\"ct-"
#define OPEN_2 "\">"
#define CLOSE  "</script>\n"

uint64_t bundle_cost(const char *name, size_t gzip_size)
{
	return sizeof(OPEN_1) - 1 + strlen(name) + sizeof(OPEN_2) - 1 + sizeof(CLOSE) - 1 +
	       (gzip_size + 2) / 3 * 4;
}

static struct bundle_section *section_of(struct bundle *b, const char *name)
{
	struct bundle_section *sections;
	size_t i;

	for (i = 0; i < b->nr; i++) {
		if (!strcmp(b->sections[i].name, name))
			return &b->sections[i];
	}
	if (b->nr == b->room) {
		size_t room = b->room ? b->room * 2 : 32;

		sections = reallocarray(b->sections, room, sizeof(*sections));
		if (!sections)
			return NULL;
		b->sections = sections;
		b->room = room;
	}
	memset(&b->sections[b->nr], 0, sizeof(*b->sections));
	snprintf(b->sections[b->nr].name, sizeof(b->sections->name), "%s", name);
	return &b->sections[b->nr++];
}

int bundle_put_gzip(struct bundle *b, const char *name, struct bytes *gzip, struct err *err)
{
	struct bundle_section *s = section_of(b, name);

	if (!s) {
		bytes_release(gzip);
		return err_set(err, -ENOMEM, "no memory for section '%s'", name);
	}
	if (s->gzip.data)
		b->size -= bundle_cost(name, s->gzip.size);
	bytes_release(&s->gzip);
	s->gzip = *gzip;
	*gzip = (struct bytes){ 0 };
	b->size += bundle_cost(name, s->gzip.size);
	return 0;
}

int bundle_put(struct bundle *b, const char *name, const struct bytes *section, struct err *err)
{
	struct bytes gzip = { 0 };

	if (page_gzip(section, &gzip, err) < 0) {
		bytes_release(&gzip);
		return err->code;
	}
	return bundle_put_gzip(b, name, &gzip, err);
}

/* ---- base64 ------------------------------------------------------------------ */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Encode up to three bytes as four characters. */
static void bundle_encode(const unsigned char *in, size_t nr, char out[4])
{
	uint32_t bits = (uint32_t)in[0] << 16;

	if (nr > 1)
		bits |= (uint32_t)in[1] << 8;
	if (nr > 2)
		bits |= in[2];
	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = nr > 1 ? digits[bits >> 6 & 63] : '=';
	out[3] = nr > 2 ? digits[bits & 63] : '=';
}

static void put_base64(const struct bytes *b, FILE *out)
{
	char text[4 * 1024];
	size_t at, used = 0;

	for (at = 0; at < b->size; at += 3) {
		bundle_encode(b->data + at, b->size - at < 3 ? b->size - at : 3, text + used);
		used += 4;
		if (used == sizeof(text)) {
			fwrite(text, 1, used, out);
			used = 0;
		}
	}
	fwrite(text, 1, used, out);
}

int bundle_write(const struct bundle *b, FILE *out)
{
	size_t i;

	for (i = 0; i < b->nr; i++) {
		const char *at;

		fputs(OPEN_1, out);
		/* The section "slices/3" has the id slices-3. */
		for (at = b->sections[i].name; *at; at++)
			fputc(*at == '/' ? '-' : *at, out);
		fputs(OPEN_2, out);
		put_base64(&b->sections[i].gzip, out);
		fputs(CLOSE, out);
	}
	return ferror(out) ? -EIO : 0;
}

void bundle_release(struct bundle *b)
{
	size_t i;

	for (i = 0; i < b->nr; i++)
		bytes_release(&b->sections[i].gzip);
	free(b->sections);
	*b = (struct bundle){ 0 };
}
