/* SPDX-License-Identifier: MIT */
/* ship_transport.c - choose a transport by its URL. */
#include "ship/ship_transport.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct ship_transport *ship_transport_open(const char *url, struct err *err)
{
	if (!strncmp(url, "file:", 5))
		return ship_file_open(url + 5, err);
	if (!strncmp(url, "nats://", 7))
		return ship_nats_open(url + 7, err);
	/* Not the URL itself: it may have a password. */
	err_set(err, -EINVAL, "cannot ship to %.*s: unknown kind of receiver",
		(int)strcspn(url, "/@"), url);
	err_hint(err, "expected nats://HOST[:PORT] or file:DIRECTORY");
	return NULL;
}

static bool ship_is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

void ship_plain_name(const char *text, char *to, size_t size)
{
	size_t i;

	for (i = 0; text[i] && i + 1 < size; i++)
		to[i] = ship_is_plain(text[i]) ? text[i] : '_';
	if (!i)
		to[i++] = '_';
	to[i] = 0;
}
