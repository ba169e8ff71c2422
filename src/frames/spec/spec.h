/* SPDX-License-Identifier: MIT */
/*
 * spec.h - the language that specifies buffers.
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
 * The parser makes a description whose frames have members without offsets; frame_layout.h computes
 * the offsets.
 */
#ifndef FRAMES_SPEC_SPEC_H
#define FRAMES_SPEC_SPEC_H

#include "frames/spec/layout_json.h"

#define SPEC_SIZE_MAX (4u << 20) /* maximum size of a spec in bytes */
#define SPEC_NAME_MAX 100        /* leaves room for suffixes */

/* An error and its location: line and column count from 1, columns in bytes. */
struct spec_error {
	unsigned line, column;
	char text[256];
	char hint[256];
	char source[256]; /* the line, or the part of it that fits */
	unsigned caret;   /* position of the error in source, from 0 */
};

/*
 * Parse @text.  Returns 0, -EINVAL with *@error, or -ENOMEM.  On failure there is nothing to
 * release.
 */
int spec_parse(struct desc *d, const char *text, size_t size, struct spec_error *error);

/* Apply one option as in the file, without "option" and ';', in addition to the file's. */
int spec_override(struct desc *d, const char *words, struct spec_error *error);

/* Add a tag. */
int spec_add_tag(struct desc *d, const char *key, const char *value);

#endif
