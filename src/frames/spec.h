/* SPDX-License-Identifier: MIT */
/*
 * spec.h - the language in which buffers are specified.
 *
 *	emit C;
 *	buffer Server 4096;
 *	option runtime multithread true;
 *	enum method { get, put = 5 };
 *	frame request {
 *		interval time took;
 *		interval counter work;
 *		uint16 status;
 *		enum method how;
 *		string path[32];
 *	}
 *
 * The parser makes a description whose frames have members and no places yet: that is
 * the layout's part (layout.h).
 */
#ifndef FRAMES_SPEC_H
#define FRAMES_SPEC_H

#include "frames/desc.h"

#define SPEC_SIZE_MAX (4u << 20) /* bytes of a spec */
#define SPEC_NAME_MAX 100        /* leaves room for what is put behind a name */

/* What is wrong, and where: line and column count from 1, columns in bytes. */
struct spec_error {
	unsigned line, column;
	char text[256];
	char hint[256];
	char source[256]; /* the line, or what fits of it, and ... */
	unsigned caret;   /* ... the place in it, from 0 */
};

/*
 * Parse @text.  0, or -EINVAL with *@error, or -ENOMEM.  On failure there is nothing to
 * release.
 */
int spec_parse(struct desc *d, const char *text, size_t size, struct spec_error *error);

/* One option as in the file, without "option" and ';', on top of what the file says. */
int spec_override(struct desc *d, const char *words, struct spec_error *error);

/* A tag more. */
int spec_add_tag(struct desc *d, const char *key, const char *value);

#endif
