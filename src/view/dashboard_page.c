/* SPDX-License-Identifier: MIT */
/* dashboard_page.c - the embedded page. */
#include "view/dashboard_page.h"

#include <errno.h>

#include "view/view.h"

const unsigned char *view_page(size_t *size, struct err *err)
{
	*size = page_index_html_size;
	/* A C array has at least one byte: a single byte means that no page is embedded. */
	if (*size > 1)
		return page_index_html;
	err_set(err, -ENOTSUP, "this corotracer was built without the dashboard's page");
	err_hint(err, "build it with npm at hand and without -DWITH_WEB=OFF");
	return NULL;
}
