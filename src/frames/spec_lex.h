/* SPDX-License-Identifier: MIT */
/*
 * spec_lex.h - the words of a spec, and the place of what is wrong with it.
 *
 * One token is in hand at a time.  Words are recognised where they stand, not here, so that
 * new ones (enum, string, uint16) take no names away from old specs.  Functions that can
 * fail return false, always, once something is wrong: the first error is the one that
 * counts, and whoever calls just returns.
 */
#ifndef FRAMES_SPEC_LEX_H
#define FRAMES_SPEC_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames/spec.h"

enum token { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN, TOKEN_END };

struct lexer {
	struct spec_error *error;
	const char *text, *end;
	const char *at; /* next character */
	/* The token in hand. */
	enum token token;
	const char *start;
	size_t len; /* of its text, without quotes */
	int code;   /* 0, or what went wrong first: -EINVAL with *error, -ENOMEM */
};

/* The next token in hand. */
bool lex_advance(struct lexer *l);

bool lex_is_word(const struct lexer *l, const char *text);
bool lex_is_sign(const struct lexer *l, const char *text);

/* @what is what people are told when it is something else. */
bool lex_take_sign(struct lexer *l, const char *sign, const char *what);
bool lex_number(struct lexer *l, uint64_t min, uint64_t max, const char *what, uint64_t *out);

/* All of these return false. */
bool lex_fail_at(struct lexer *l, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool lex_expected(struct lexer *l, const char *what);
bool lex_hint(struct lexer *l, const char *text);
bool lex_no_memory(struct lexer *l);

/* @array with room for one more than @nr, zeroed; NULL: no memory. */
void *lex_grow(struct lexer *l, void *array, size_t nr, size_t size);

#endif
