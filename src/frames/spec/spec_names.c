/* SPDX-License-Identifier: MIT */
/* spec_names.c - valid names of a spec, and the C symbols made from them. */
#include "frames/spec/spec_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------ */

static bool is_reserved(const char *word, size_t len)
{
	static const char words[] =
		" emit frame double int float option time default buffer counter "
		"interval calc gap var mean ";
	char padded[32];

	if (len + 3 > sizeof(padded))
		return false;
	snprintf(padded, sizeof(padded), " %.*s ", (int)len, word);
	return strstr(words, padded) != NULL;
}

/* Keywords of C11 and C++20, and macros of the headers that generated code includes. */
static bool is_keyword(const char *word, size_t len)
{
	static const char words[] =
		" alignas alignof and and_eq asm auto bitand bitor bool break case catch char "
		"char8_t char16_t char32_t class compl concept const consteval constexpr constinit "
		"const_cast continue co_await co_return co_yield decltype default delete do double "
		"dynamic_cast else enum explicit export extern false float for friend goto if "
		"inline "
		"int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
		"private "
		"protected public register reinterpret_cast requires restrict return short signed "
		"sizeof static static_assert static_cast struct switch template this thread_local "
		"throw true try typedef typeid typename typeof union unsigned using virtual void "
		"volatile wchar_t while xor xor_eq asm fortran linux unix errno NULL EOF offsetof "
		"INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX "
		"SIZE_MAX PTRDIFF_MAX CLOCK_REALTIME CLOCK_MONOTONIC UINT64_C int8_t int16_t "
		"int32_t "
		"int64_t uint8_t uint16_t uint32_t uint64_t timespec timeval ";
	char padded[32];

	if (len + 3 > sizeof(padded))
		return false;
	snprintf(padded, sizeof(padded), " %.*s ", (int)len, word);
	return strstr(words, padded) != NULL;
}

bool spec_name(struct lexer *l, char out[SPEC_NAME_MAX + 1], const char *what)
{
	if (l->token != TOKEN_WORD)
		return lex_expected(l, what);
	if (*l->start == '_')
		return lex_fail_at(l, l->start, "a name does not begin with '_'");
	if (l->len > SPEC_NAME_MAX)
		return lex_fail_at(l, l->start, "a name of more than %d characters", SPEC_NAME_MAX);
	if (is_reserved(l->start, l->len))
		return lex_fail_at(l, l->start, "'%.*s' is a word of this language, not a name",
				   (int)l->len, l->start);
	if (is_keyword(l->start, l->len) || l->start[l->len - 1] == '+')
		return lex_fail_at(l, l->start, "'%.*s' means something else in C or C++",
				   (int)l->len, l->start);
	if (memmem(l->start, l->len, "__", 2)) {
		lex_fail_at(l, l->start, "a name with '__' belongs to the compiler");
		return lex_hint(l, "one '_' is fine");
	}
	memcpy(out, l->start, l->len);
	out[l->len] = 0;
	return lex_advance(l);
}

/* ---- symbols ---------------------------------------------------------------- */

bool spec_symbol_add(struct spec_symbols *s, struct lexer *l, const char *where, const char *first,
		     const char *second)
{
	struct spec_symbol *symbols = lex_grow(l, s->at, s->nr, sizeof(*symbols));

	if (!symbols)
		return false;
	s->at = symbols;
	symbols += s->nr;
	if (asprintf(&symbols->name, "%s_%s", first, second) < 0)
		return lex_no_memory(l);
	symbols->where = where;
	s->nr++;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct spec_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->where > y->where) - (x->where < y->where);
}

/* C has one name space for functions and enum values: 'a_snapshot' 'x' equals 'a' 'snapshot_x'. */
bool spec_symbols_differ(struct spec_symbols *s, struct lexer *l, const struct desc *d)
{
	size_t i;

	if (strcmp(d->language, "C") != 0 || !s->nr)
		return true;
	qsort(s->at, s->nr, sizeof(*s->at), compare_symbols);
	for (i = 1; i < s->nr; i++) {
		if (strcmp(s->at[i - 1].name, s->at[i].name) != 0)
			continue;
		lex_fail_at(l, s->at[i].where, "something else becomes 'ppt_%s_%s' as well",
			    d->name, s->at[i].name);
		return lex_hint(l, "names of enums, frames and members are joined with '_' in C");
	}
	return true;
}

/* Names of types that generated code of this language defines itself. */
bool spec_type_name_free(struct lexer *l, const struct desc *d, const char *text, const char *where)
{
	bool taken = !strcmp(d->language, "C") ? !strcmp(text, "handle")
					       : !strcmp(text, "attached") || !strcmp(text, "save");

	return !taken || lex_fail_at(l, where, "'%s' is a name that generated %s has itself", text,
				     d->language);
}

void spec_symbols_release(struct spec_symbols *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->at[i].name);
	free(s->at);
}
