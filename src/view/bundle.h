/* SPDX-License-Identifier: MIT */
/* bundle.h - the sections of a file, compressed, and how much room they take in it. */
#ifndef VIEW_BUNDLE_H
#define VIEW_BUNDLE_H

#include <stdio.h>

#include "view/view_data.h"

struct bundle_section {
	char name[32];
	struct bytes gzip;
};

/* All zero is empty. */
struct bundle {
	struct bundle_section *sections;
	size_t nr, room;
	uint64_t size; /* in the file, of all */
};

/* So much room a section takes: its element, with base64 inside. */
uint64_t bundle_cost(const char *name, size_t gzip_size);

/* @section compressed, under that name; one of the same name is replaced. */
int bundle_put(struct bundle *b, const char *name, const struct bytes *section, struct err *err);

/* The same of what is compressed already; takes @gzip. */
int bundle_put_gzip(struct bundle *b, const char *name, struct bytes *gzip, struct err *err);

/* In the order in which they were put.  0 or a negative errno. */
int bundle_write(const struct bundle *b, FILE *out);

void bundle_release(struct bundle *b);

#endif
