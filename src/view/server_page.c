/* SPDX-License-Identifier: MIT */
/*
 * server_page.c - the page as it is served: only its own scripts and styles may run.
 *
 * These are part of the one file, so the policy that goes with it names them by a number that
 * nobody can know beforehand; what somebody else may get into the page does not have it.
 */
#include "view/server_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static const char without[] =
	"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>corotracer</title>"
	"<p>This corotracer was built without the page (WITH_WEB=OFF, or no npm).</p>"
	"<p>What it would show is at <a href=\"api/meta\">api/meta</a>, "
	"<a href=\"api/report\">api/report</a> and the other sections.</p>";

bool page_nonce(char nonce[SERVER_NONCE_SIZE + 1])
{
	unsigned char bytes[SERVER_NONCE_SIZE / 2];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

static bool begins(const char *at, const char *end, const char *word)
{
	size_t size = strlen(word);

	return (size_t)(end - at) >= size && !strncasecmp(at, word, size);
}

static const char *find(const char *at, const char *end, const char *word)
{
	for (; at < end; at++) {
		at = memchr(at, '<', (size_t)(end - at));
		if (!at)
			return end;
		if (begins(at, end, word))
			return at;
	}
	return end;
}

/* What an element with this name has inside is text, up to where it is closed. */
static const char *closing_of(const char *at, const char *end, const char **open)
{
	static const struct {
		const char *open, *close;
	} raw[] = { { "<script", "</script" }, { "<style", "</style" }, { "<!--", "-->" } };
	size_t i;

	for (i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
		if (!begins(at, end, raw[i].open))
			continue;
		*open = raw[i].open;
		return raw[i].close;
	}
	return NULL;
}

static void put_element(struct bytes *out, const char *at, const char *stop, const char *open,
			const char *nonce)
{
	size_t size = strlen(open);

	bytes_add(out, at, size);
	if (strcmp(open, "<!--") != 0) {
		bytes_add_text(out, " nonce=\"");
		bytes_add_text(out, nonce);
		bytes_add_text(out, "\"");
	}
	bytes_add(out, at + size, (size_t)(stop - at) - size);
}

/* As a browser reads it: inside a script nothing is an element. */
static void put_page(struct bytes *out, const char *page, size_t size, const char *nonce)
{
	const char *at = page, *end = page + size;

	while (at < end) {
		const char *open = NULL, *next = memchr(at, '<', (size_t)(end - at)), *close, *stop;

		if (!next)
			next = end;
		bytes_add(out, at, (size_t)(next - at));
		at = next;
		close = at < end ? closing_of(at, end, &open) : NULL;
		if (close && close[0] == '<') {
			stop = find(at + 1, end, close);
		} else if (close) {
			stop = memmem(at, (size_t)(end - at), close, strlen(close));
			stop = stop ? stop : end;
		} else {
			stop = at < end ? at + 1 : end;
		}
		if (open)
			put_element(out, at, stop, open, nonce);
		else
			bytes_add(out, at, (size_t)(stop - at));
		at = stop;
	}
}

int page_make(const char *nonce, struct bytes *out)
{
	struct err err = { 0 };
	size_t size;
	const unsigned char *page = view_page(&size, &err);

	if (page)
		put_page(out, (const char *)page, size, nonce);
	else
		bytes_add_text(out, without);
	return out->error;
}
