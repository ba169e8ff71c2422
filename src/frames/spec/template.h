/* SPDX-License-Identifier: MIT */
/*
 * template.h - templates for generated code.
 *
 * Lines that start with '@' are directives: "@if WORD", "@else", "@end", which nest, and "@call
 * WORD".  In other lines @word@ is replaced.
 */
#ifndef FRAMES_SPEC_TEMPLATE_H
#define FRAMES_SPEC_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct template_host {
	/* Meaning of the words; @context is passed to the callbacks. */
	bool (*holds)(const void *context, const char *word);
	const char *(*value)(const void *context, const char *word); /* NULL: no such word */
	bool (*call)(const void *context, const char *word, FILE *out);
	const void *context;
};

/* Returns 0, or -EINVAL if the template is invalid, which is a bug in this program. */
int template_write(const char *text, size_t size, const struct template_host *host, FILE *out);

#endif
