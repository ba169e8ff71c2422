/* SPDX-License-Identifier: MIT */
/* page.c - the embedded pages, and files made of them. */
#include "page/page.h"

#include <errno.h>
#include <string.h>

#include "base/output_file.h"
#include "page/page_data.h"

#define PAGE_ENTRY(name) { #name, page_##name##_html, &page_##name##_html_size },

static const struct embedded_page {
	const char *name;
	const unsigned char *data;
	const size_t *size;
} embedded[] = { PAGES(PAGE_ENTRY) };

int page_embedded(const char *name, struct html_page *page, struct err *err)
{
	size_t i;

	for (i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++) {
		/* A C array has at least one byte: a single byte means that no page is embedded. */
		if (strcmp(embedded[i].name, name) != 0 || *embedded[i].size <= 1)
			continue;
		*page = (struct html_page){ embedded[i].data, *embedded[i].size };
		return 0;
	}
	err_set(err, -ENOTSUP, "this corotracer was built without its pages");
	err_hint(err, "build it with npm at hand and without -DWITH_WEB=OFF");
	return -ENOTSUP;
}

int page_write_bundle(const struct html_page *page, const struct bundle *b, FILE *out,
		      struct err *err)
{
	const char *mark = memmem(page->data, page->size, PAGE_MARK, strlen(PAGE_MARK));
	size_t before = mark ? (size_t)(mark - (const char *)page->data) : 0;
	size_t behind = before + strlen(PAGE_MARK);

	if (!mark)
		return err_set(err, -EINVAL, "the page has no %s to put the data in its place",
			       PAGE_MARK);
	errno = 0;
	fwrite(page->data, 1, before, out);
	bundle_write(b, out);
	fwrite(page->data + behind, 1, page->size - behind, out);
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return err_errno(err, "cannot write the page");
}

static int page_fill_json(const struct html_page *page, const char *json, size_t size, FILE *out,
			  struct err *err)
{
	struct bytes section = { 0 };
	struct bundle b = { 0 };
	int rc;

	bytes_add(&section, json, size);
	if (section.error)
		rc = err_set(err, -ENOMEM, "no memory for the page");
	else
		rc = bundle_put(&b, "data", &section, err);
	if (!rc)
		rc = page_write_bundle(page, &b, out, err);
	bundle_release(&b);
	bytes_release(&section);
	return rc;
}

int page_save_json(const char *path, const char *name, const char *json, size_t size,
		   struct err *err)
{
	struct html_page page;
	struct outfile file;
	FILE *stream;
	int rc;

	if (page_embedded(name, &page, err) < 0 || outfile_open(&file, path, err) < 0)
		return err->code;
	stream = outfile_stream(&file, err);
	rc = stream ? page_fill_json(&page, json, size, stream, err) : err->code;
	if (stream)
		outfile_end_stream(&file, stream);
	/* A failed write has its reason in the file. */
	if (!rc || file.error)
		rc = outfile_commit(&file, err);
	outfile_close(&file);
	return rc;
}
