/* SPDX-License-Identifier: MIT */
/*
 * server_page.c - the page as it is served, and its content security policy.
 *
 * Scripts and styles are inline, and the page allows only these, by their hashes.  The server sends
 * the same policy as a header: it then applies from the first byte, and can also forbid framing,
 * which a policy in the file cannot.
 */
#include "serve/server_internal.h"

#include <stdio.h>
#include <string.h>

#include "page/page.h"

#define POLICY_MARK "http-equiv=\"Content-Security-Policy\" content=\""

static const char without[] =
	"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>corotracer</title>"
	"<p>This corotracer was built without the page (WITH_WEB=OFF, or no npm).</p>"
	"<p>What it would show is at <a href=\"api/meta\">api/meta</a>, "
	"<a href=\"api/report\">api/report</a> and the other sections.</p>";

/* The policy in the page; "default-src 'none'" if the page has none. */
static void find_policy(const char *page, size_t size, char *policy, size_t room)
{
	const char *at = memmem(page, size, POLICY_MARK, strlen(POLICY_MARK)), *end;

	snprintf(policy, room, "default-src 'none'");
	if (!at)
		return;
	at += strlen(POLICY_MARK);
	end = memchr(at, '"', size - (size_t)(at - page));
	if (end && (size_t)(end - at) < room)
		snprintf(policy, room, "%.*s", (int)(end - at), at);
}

void page_find(const void **page, size_t *size, char policy[PAGE_POLICY_SIZE])
{
	struct html_page own = { (const unsigned char *)without, sizeof(without) - 1 };
	struct err err = { 0 };
	char own_policy[PAGE_POLICY_SIZE / 2];

	page_embedded("index", &own, &err); /* leaves it alone if there is none */
	*page = own.data;
	*size = own.size;
	find_policy(*page, *size, own_policy, sizeof(own_policy));
	snprintf(policy, PAGE_POLICY_SIZE, "%s; frame-ancestors 'none'", own_policy);
}
