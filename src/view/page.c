/* SPDX-License-Identifier: MIT */
/* page.c - the page that was built in. */
#include "view/page.h"

#include <errno.h>

#include "view/view.h"

const unsigned char *view_page(size_t *size, struct err *err)
{
	*size = page_index_html_size;
	/* An array of C has a byte at least: that one is no page. */
	if (*size > 1)
		return page_index_html;
	err_set(err, -ENOTSUP, "this corotracer was built without the dashboard's page");
	err_hint(err, "build it with npm at hand and without -DWITH_WEB=OFF");
	return NULL;
}
