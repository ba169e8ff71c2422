/* SPDX-License-Identifier: MIT */
/*
 * emit.h - generate C or C++ from a buffer's description.
 *
 * Code that is the same for all buffers is in template/; emit_frames.c writes the code that
 * depends on the frames.
 */
#ifndef FRAMES_SPEC_EMIT_H
#define FRAMES_SPEC_EMIT_H

#include <stdio.h>

#include "frames/spec/layout_json.h"

struct emit {
	const struct desc *d;
	const char *file; /* "ppt-Server": name of the files, without suffix */
	const char *spec; /* path of the spec, for a comment */
};

/* ".h" or ".hh", ".c" or ".cc" */
const char *emit_header_suffix(const struct desc *d);
const char *emit_source_suffix(const struct desc *d);

/* Returns 0, or -EINVAL if a template is invalid.  The caller checks the FILEs for errors. */
int emit_header(const struct emit *e, FILE *out);
int emit_source(const struct emit *e, FILE *out);

/* ---- emit_frames.c --------------------------------------------------------- */

bool emit_is_cpp(const struct desc *d);
bool emit_has_type(const struct desc *d, enum desc_type type);

void emit_usage(const struct emit *e, FILE *out);  /* lines of a comment */
void emit_enums(const struct emit *e, FILE *out);  /* their declarations */
void emit_frames(const struct emit *e, FILE *out); /* structs and inline functions */
void emit_puts(const struct emit *e, FILE *out);   /* functions that store fields */
void emit_saves(const struct emit *e, FILE *out);  /* the functions behind save() */

#endif
