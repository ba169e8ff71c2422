/* SPDX-License-Identifier: MIT */
/*
 * template.h - text with holes, for code that is written by a program.
 *
 * Lines that begin with '@' are for us: "@if WORD", "@else", "@end", which nest, and
 * "@call WORD".  Elsewhere @word@ is replaced.
 */
#ifndef FRAMES_TEMPLATE_H
#define FRAMES_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct template_host {
	/* What is behind the words; @context is for them. */
	bool (*holds)(const void *context, const char *word);
	const char *(*value)(const void *context, const char *word); /* NULL: no such word */
	bool (*call)(const void *context, const char *word, FILE *out);
	const void *context;
};

/* 0, or -EINVAL: the template is wrong, which is a fault of this program. */
int template_write(const char *text, size_t size, const struct template_host *host, FILE *out);

#endif
