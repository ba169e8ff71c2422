/* SPDX-License-Identifier: MIT */
/*
 * page.h - pages for a browser: templates that the build embeds, and files made of them.
 *
 * web/ has the sources of the pages; npm builds each into one file, web/dist/NAME.html, with its
 * script and style inside.  A page with data is that file with sections (bundle.h) at PAGE_MARK;
 * most pages have a single section, "data", with a JSON object:
 *
 *	page_save_json("app.trace.html", "memory", json, size, &err);
 *
 * docs/howto-add.md says how to add a page.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "page/bundle.h"

/* The embedded pages; "index" is the dashboard.  The build has the same list. */
#define PAGES(PAGE)  \
	PAGE(index)  \
	PAGE(memory) \
	PAGE(why)    \
	PAGE(compare)

/* Replaced by the sections; occurs once in a page. */
#define PAGE_MARK "<!--corotracer-data-->"

struct html_page {
	const unsigned char *data;
	size_t size;
};

/* The embedded page @name.  -ENOTSUP: the build has left the pages out (WITH_WEB=OFF). */
int page_embedded(const char *name, struct html_page *page, struct err *err);

/* Write @page with the sections of @b in it.  0 or a negative errno. */
int page_write_bundle(const struct html_page *page, const struct bundle *b, FILE *out,
		      struct err *err);

/*
 * Make the file @path ("-": standard output) of the embedded page @name and the JSON text @json.  0
 * or a negative errno; a file that was there stays if it fails.
 */
int page_save_json(const char *path, const char *name, const char *json, size_t size,
		   struct err *err);

#endif
