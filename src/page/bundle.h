/* SPDX-License-Identifier: MIT */
/* bundle.h - the compressed sections of a page, and their size in the file. */
#ifndef PAGE_BUNDLE_H
#define PAGE_BUNDLE_H

#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"

struct bundle_section {
	char name[32];
	struct bytes gzip;
};

/* All zero: empty. */
struct bundle {
	struct bundle_section *sections;
	size_t nr, room;
	uint64_t size; /* of all sections, as in the file */
};

/* gzip without a time or a name: the same input gives the same output. */
int page_gzip(const struct bytes *in, struct bytes *out, struct err *err);

/* Size of a section in the file: its element with base64 content. */
uint64_t bundle_cost(const char *name, size_t gzip_size);

/* Compress @section and store it as @name; replaces a section of the same name. */
int bundle_put(struct bundle *b, const char *name, const struct bytes *section, struct err *err);

/* As bundle_put(), for compressed data; takes ownership of @gzip. */
int bundle_put_gzip(struct bundle *b, const char *name, struct bytes *gzip, struct err *err);

/* Write the sections in the order of insertion. 0 or a negative errno. */
int bundle_write(const struct bundle *b, FILE *out);

void bundle_release(struct bundle *b);

#endif
