/* SPDX-License-Identifier: MIT */
/* gzip.c - compress sections with gzip. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "page/bundle.h"

#define GZIP_WINDOW (15 + 16) /* the largest window, with a gzip header */

int page_gzip(const struct bytes *in, struct bytes *out, struct err *err)
{
	z_stream z = { 0 };
	unsigned char *to;
	size_t room;
	int rc;

	if (in->size > UINT_MAX / 2)
		return err_set(err, -EFBIG, "a section of %zu bytes is too large", in->size);
	if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "no memory to compress");
	room = deflateBound(&z, (uLong)in->size);
	to = bytes_more(out, room);
	if (!to) {
		deflateEnd(&z);
		return err_set(err, -ENOMEM, "no memory to compress");
	}
	z.next_in = in->data;
	z.avail_in = (uInt)in->size;
	z.next_out = to;
	z.avail_out = (uInt)room;
	rc = deflate(&z, Z_FINISH);
	out->size -= z.avail_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : err_set(err, -EIO, "cannot compress");
}
