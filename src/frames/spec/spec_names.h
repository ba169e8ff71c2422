/* SPDX-License-Identifier: MIT */
/*
 * spec_names.h - valid names of a spec, and the C symbols made from them.
 *
 * Names that would not compile, or would be ambiguous, are errors: C and C++ keywords, names
 * reserved for the compiler, two names that give the same symbol.
 */
#ifndef FRAMES_SPEC_SPEC_NAMES_H
#define FRAMES_SPEC_SPEC_NAMES_H

#include "frames/spec/spec_lex.h"

/* Take a name; @what: the name of the expected token for an error message. */
bool spec_name(struct lexer *l, char out[SPEC_NAME_MAX + 1], const char *what);

/* Fails for names of types that generated code of this language defines itself. */
bool spec_type_name_free(struct lexer *l, const struct desc *d, const char *text,
			 const char *where);

/* The C symbol of a name of the spec, without the buffer's name. */
struct spec_symbol {
	char *name;
	const char *where;
};

struct spec_symbols {
	struct spec_symbol *at;
	size_t nr;
};

/* Add "first_second" for the name at @where. */
bool spec_symbol_add(struct spec_symbols *s, struct lexer *l, const char *where, const char *first,
		     const char *second);

/* C has one name space for functions and enum values: check that all symbols differ. */
bool spec_symbols_differ(struct spec_symbols *s, struct lexer *l, const struct desc *d);
void spec_symbols_release(struct spec_symbols *s);

#endif
