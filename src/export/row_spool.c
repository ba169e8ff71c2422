/* SPDX-License-Identifier: MIT */
/* row_spool.c - temporary storage for rows that are loaded later. */
#include "export/row_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define SETTLE_AT ((size_t)256 * 1024)

static int row_spool_write_all(struct row_spool *s, struct err *err)
{
	size_t done = 0;

	while (done < s->bytes.size) {
		ssize_t put = io_write(s->fd, s->bytes.data + done, s->bytes.size - done);

		if (put < 0) {
			errno = (int)-put;
			err_errno(err, "cannot write a temporary file");
			err_hint(err, "TMPDIR names a directory with more space");
			return err->code;
		}
		done += (size_t)put;
	}
	s->size += done;
	s->bytes.size = 0;
	return 0;
}

int row_spool_settle(struct row_spool *s, struct err *err)
{
	if (s->bytes.size < SETTLE_AT)
		return 0;
	if (!s->has_file) {
		s->fd = io_temporary(err);
		if (s->fd < 0)
			return err->code;
		s->has_file = true;
	}
	return row_spool_write_all(s, err);
}

bool row_spool_is_empty(const struct row_spool *s)
{
	return !s->size && !s->bytes.size;
}

int64_t row_spool_read(struct row_spool *s, void *data, size_t size)
{
	size_t from, left;
	ssize_t got;

	if (s->at < s->size) {
		got = pread(s->fd, data, size, (off_t)s->at);
		if (got <= 0)
			return got ? -errno : -EIO;
		s->at += (uint64_t)got;
		return got;
	}
	from = (size_t)(s->at - s->size);
	left = s->bytes.size - from;
	if (size > left)
		size = left;
	if (size)
		memcpy(data, s->bytes.data + from, size);
	s->at += size;
	return (int64_t)size;
}

void row_spool_release(struct row_spool *s)
{
	if (s->has_file)
		close(s->fd);
	bytes_release(&s->bytes);
	memset(s, 0, sizeof(*s));
}
