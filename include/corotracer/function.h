/* SPDX-License-Identifier: MIT */
/*
 * corotracer/function.h - the plain name of a C or C++ function, independent of the compiler.
 *
 * gcc, clang and demanglers write the name of one function in different ways:
 *
 *	Task net::Pool<T>::serve(int) [T = long]			clang, source_location
 *	void net::Pool<T>::serve(net::Pool<T>::serve(int)::_Z1fi.Frame*)	gcc, in a coroutine
 *	net::Pool<long>::serve(int) [clone .resume]			demangled symbol
 *
 * The plain name is "net::Pool::serve": scopes and name, without the return type, parameters,
 * template arguments, qualifiers and compiler suffixes.  A lambda is "<lambda>".
 *
 * Text only: no allocation, no system call, no state.
 */
#ifndef COROTRACER_FUNCTION_H
#define COROTRACER_FUNCTION_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include <corotracer/header_begin.h>

/* Same linkage as the rest of the slow path, if that is included, too. */
#ifdef CTP_SLOW
#define CTP_FUNCTION_CODE CTP_SLOW
#else
#define CTP_FUNCTION_CODE static __attribute__((unused, noinline, cold))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ctp_function_out {
	char *to;
	size_t size, len;
};

CTP_FUNCTION_CODE void ctp_function_put(struct ctp_function_out *o, const char *text, size_t len)
{
	while (len--) {
		if (o->len + 1 < o->size)
			o->to[o->len++] = *text;
		text++;
	}
}

/* Returns the position after the bracket that closes the one at @p, or the end of the text. */
CTP_FUNCTION_CODE const char *ctp_function_skip(const char *p)
{
	const char *from = p;
	int depth = 0;

	for (; *p; p++) {
		if (strchr("(<[{", *p))
			depth++;
		else if (strchr(")>]}", *p) && !(*p == '>' && p > from && p[-1] == '-') && !--depth)
			return p + 1;
	}
	return p;
}

/*
 * Write the placeholder of a lambda or an unnamed namespace at @p.  Returns the position after it,
 * or NULL if there is neither at @p.
 */
CTP_FUNCTION_CODE const char *ctp_function_nameless(struct ctp_function_out *o, const char *p)
{
	static const char *const lambdas[] = { "<lambda", "{lambda", "(lambda", "(anonymous class",
					       "'lambda" };
	static const char *const spaces[] = { "(anonymous namespace)", "{anonymous}", "<unnamed>" };
	size_t i;

	for (i = 0; i < sizeof(lambdas) / sizeof(lambdas[0]); i++) {
		if (strncmp(p, lambdas[i], strlen(lambdas[i])) != 0)
			continue;
		ctp_function_put(o, "<lambda>", 8);
		if (*p != '\'')
			return ctp_function_skip(p);
		p += strcspn(p + 1, "'") + 1;
		return *p ? p + 1 : p;
	}
	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (strncmp(p, spaces[i], strlen(spaces[i])) != 0)
			continue;
		ctp_function_put(o, "(anonymous namespace)", 21);
		return p + strlen(spaces[i]);
	}
	if (p[0] == '$' && p[1] == '_') {
		ctp_function_put(o, "<lambda>", 8);
		return p + 2 + strspn(p + 2, "0123456789");
	}
	return NULL;
}

/*
 * Copy "operator()", "operator<<", "operator new[]" or "operator bool".  Returns the position after
 * it.
 */
CTP_FUNCTION_CODE const char *ctp_function_operator(struct ctp_function_out *o, const char *p)
{
	size_t len;

	ctp_function_put(o, p, 8);
	p += 8;
	len = p[0] == '(' && p[1] == ')' ? 2 : strcspn(p, "(");
	ctp_function_put(o, p, len);
	return p + len;
}

CTP_FUNCTION_CODE int ctp_function_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

CTP_FUNCTION_CODE int ctp_function_is_operator(const char *p)
{
	return strncmp(p, "operator", 8) == 0 && !ctp_function_is_word(p[8]);
}

/* Copy one word, or one operator name.  Returns the position after it. */
CTP_FUNCTION_CODE const char *ctp_function_word(struct ctp_function_out *o, const char *p)
{
	size_t len = 0;

	if (ctp_function_is_operator(p))
		return ctp_function_operator(o, p);
	while (ctp_function_is_word(p[len]))
		len++;
	len += !len;
	ctp_function_put(o, p, len);
	return p + len;
}

/* 1 if the output is "decltype": "decltype(auto)" is a return type, not a function. */
CTP_FUNCTION_CODE int ctp_function_is_decltype(const struct ctp_function_out *o)
{
	return o->len == 8 && memcmp(o->to, "decltype", 8) == 0;
}

/* Terminate the output.  "main::<lambda>::operator()" becomes "main::<lambda>". */
CTP_FUNCTION_CODE void ctp_function_end(struct ctp_function_out *o)
{
	static const char call[] = "<lambda>::operator()";
	size_t len = sizeof(call) - 1;

	if (o->len >= len && memcmp(o->to + o->len - len, call, len) == 0)
		o->len -= len - 8;
	o->to[o->len] = '\0';
}

/*
 * Write the plain name of @name to @to, terminated; truncated if @size is too small (the length of
 * @name plus 1 is enough, unless an unnamed scope gets a longer placeholder).  If the plain name is
 * empty, @name is copied unchanged.
 */
/* NOLINTNEXTLINE(readability-non-const-parameter): written through o.to */
CTP_FUNCTION_CODE void ctp_function_plain(const char *name, char *to, size_t size)
{
	struct ctp_function_out o = { to, size, 0 };
	const char *p = name, *next;
	int had_parameters = 0;

	if (!size)
		return;
	while (*p) {
		int at_start = p == name || strchr(": *&", p[-1]) != NULL;

		next = at_start ? ctp_function_nameless(&o, p) : NULL;
		if (next) {
			p = next;
		} else if (*p == ' ') {
			/* In front of the name: the return type.  After it: const, [T = int]. */
			if (had_parameters || p[1] == '[')
				break;
			o.len = 0;
			p++;
		} else if (strchr("(<[{", *p)) {
			had_parameters = *p == '(' && !ctp_function_is_decltype(&o);
			p = ctp_function_skip(p);
		} else if (*p == '*' || *p == '&') {
			o.len = 0;
			p++;
		} else {
			had_parameters = 0;
			p = ctp_function_word(&o, p);
		}
	}
	ctp_function_end(&o);
	if (!o.len) {
		ctp_function_put(&o, name, strlen(name));
		o.to[o.len] = '\0';
	}
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
