/* SPDX-License-Identifier: MIT */
/* demangle.c - demangle C++ and Rust symbols, with bounded output. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct demangle_output {
	char *text;
	size_t len;
	jmp_buf full;
};

/*
 * The demanglers cannot be stopped; they own nothing when they call back, so longjmp() out of them
 * is safe.
 */
static void demangle_take(const char *part, size_t len, void *arg)
{
	struct demangle_output *o = arg;

	if (len > DEMANGLED_MAX - o->len)
		longjmp(o->full, 1);
	memcpy(o->text + o->len, part, len);
	o->len += len;
	o->text[o->len] = '\0';
}

static int demangle_run(const char *name, struct demangle_output *o)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(o->full))
		return 0;
	/* Legacy Rust symbols look like C++, so Rust is tried first. */
	o->len = 0;
	if (rust_demangle_callback(name, options, demangle_take, o))
		return 1;
	o->len = 0;
	return cplus_demangle_v3_callback(name, options, demangle_take, o);
}

char *symbol_demangle(const char *name)
{
	struct demangle_output o = { 0 };

	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	o.text = malloc(DEMANGLED_MAX + 1);
	if (!o.text || (demangle_run(name, &o) && o.len))
		return o.text;
	free(o.text);
	return NULL;
}
