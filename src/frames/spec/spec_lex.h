/* SPDX-License-Identifier: MIT */
/*
 * spec_lex.h - tokens of a spec, and locations of errors.
 *
 * There is one current token.  The parser recognizes keywords where they are expected, so that
 * new ones (enum, string, uint16) do not break names in old specs.  After an error, all
 * functions that can fail return false: the first error is kept, and callers just return.
 */
#ifndef FRAMES_SPEC_SPEC_LEX_H
#define FRAMES_SPEC_SPEC_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames/spec/spec.h"

enum token { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN, TOKEN_END };

struct lexer {
	struct spec_error *error;
	const char *text, *end;
	const char *at; /* next character */
	/* The current token. */
	enum token token;
	const char *start;
	size_t len; /* of its text, without quotes */
	int code;   /* 0, or the first error: -EINVAL with *error, or -ENOMEM */
};

/* Move to the next token. */
bool lex_advance(struct lexer *l);

bool lex_is_word(const struct lexer *l, const char *text);
bool lex_is_sign(const struct lexer *l, const char *text);

/* @what: the name of the expected token for an error message. */
bool lex_take_sign(struct lexer *l, const char *sign, const char *what);
bool lex_number(struct lexer *l, uint64_t min, uint64_t max, const char *what, uint64_t *out);

/* All of these return false. */
bool lex_fail_at(struct lexer *l, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool lex_expected(struct lexer *l, const char *what);
bool lex_hint(struct lexer *l, const char *text);
bool lex_no_memory(struct lexer *l);

/* @array with room for one more than @nr elements, zeroed; NULL: no memory. */
void *lex_grow(struct lexer *l, void *array, size_t nr, size_t size);

#endif
