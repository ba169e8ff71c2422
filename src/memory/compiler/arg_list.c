/* SPDX-License-Identifier: MIT */
/* arg_list.c - a growable list of words; response files. */
#include "arg_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void words_take(struct words *w, char *word)
{
	if (word && w->nr + 2 > w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		char **more = reallocarray(w->word, room, sizeof(*more));

		if (more) {
			w->word = more;
			w->room = room;
		}
	}
	if (!word || w->nr + 2 > w->room) {
		free(word);
		w->failed = 1;
		return;
	}
	w->word[w->nr++] = word;
	w->word[w->nr] = NULL;
}

void words_add(struct words *w, const char *word)
{
	words_take(w, strdup(word));
}

void words_add_all(struct words *w, char *const *words, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		words_add(w, words[i]);
}

void words_join(struct words *w, const char *a, const char *b)
{
	char *both;

	words_take(w, asprintf(&both, "%s%s", a, b) < 0 ? NULL : both);
}

void words_release(struct words *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct words){ 0 };
}

static char *words_read_all(FILE *f)
{
	size_t used = 0, room = 0, n;
	char *text = NULL, *more;

	do {
		if (room - used < 4096) {
			room = room ? 2 * room : 16384;
			more = realloc(text, room);
			if (!more) {
				free(text);
				return NULL;
			}
			text = more;
		}
		n = fread(text + used, 1, room - used - 1, f);
		used += n;
	} while (n > 0);
	text[used] = '\0';
	return text;
}

/* The next word, unquoted in place; NULL at the end. */
static char *next_word(char **at)
{
	char *in = *at, *out, *word, quote = 0;

	while (isspace((unsigned char)*in))
		in++;
	if (!*in)
		return NULL;
	for (word = out = in; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (*in == '\\' && in[1]) {
			*out++ = *++in;
		} else if (quote ? *in == quote : *in == '"' || *in == '\'') {
			quote = quote ? 0 : *in;
		} else {
			*out++ = *in;
		}
	}
	*at = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

int words_from_file(struct words *w, const char *path, int depth, struct err *err)
{
	FILE *f = fopen(path, "r");
	char *text, *at, *word;
	int rc = 0;

	if (!f)
		return err_errno(err, "cannot open '%s'", path);
	text = at = words_read_all(f);
	fclose(f);
	if (!text)
		return err_set(err, -ENOMEM, "no memory for '%s'", path);
	while (rc == 0 && (word = next_word(&at))) {
		if (word[0] != '@' || !word[1])
			words_add(w, word);
		else if (depth >= 16)
			rc = err_set(err, -ELOOP, "'%s' leads to itself", path);
		else
			rc = words_from_file(w, word + 1, depth + 1, err);
	}
	free(text);
	return rc;
}
