/* SPDX-License-Identifier: MIT */
/*
 * spec_names.h - what may be a name in a spec, and what becomes of it in C.
 *
 * What would not compile, or mean something else than it looks like, is refused: C and
 * C++ keywords, names of the compiler's, two that become one when they are joined.
 */
#ifndef FRAMES_SPEC_NAMES_H
#define FRAMES_SPEC_NAMES_H

#include "frames/spec_lex.h"

/* Take a name; @what is what people are told when it is something else. */
bool spec_name(struct lexer *l, char out[SPEC_NAME_MAX + 1], const char *what);

/* Names of types that generated code of this language has itself are not free. */
bool spec_type_name_free(struct lexer *l, const struct desc *d, const char *text,
			 const char *where);

/* What a name of the spec becomes in C, behind the buffer's name. */
struct spec_symbol {
	char *name;
	const char *where;
};

struct spec_symbols {
	struct spec_symbol *at;
	size_t nr;
};

/* "first_second", which stands for what is at @where. */
bool spec_symbol_add(struct spec_symbols *s, struct lexer *l, const char *where, const char *first,
		     const char *second);

/* C has one space for all functions and enum values: no two may be the same. */
bool spec_symbols_differ(struct spec_symbols *s, struct lexer *l, const struct desc *d);
void spec_symbols_release(struct spec_symbols *s);

#endif
