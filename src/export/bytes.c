/* SPDX-License-Identifier: MIT */
/* bytes.c - a buffer that rows are made in, and a spool for rows whose turn comes later. */
#include "export/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/io.h"

#define FIRST_SIZE ((size_t)64 * 1024)
#define SETTLE_AT  ((size_t)256 * 1024)

char *bytes_room(struct bytes *b, size_t size)
{
	size_t wanted = b->used + size + FMT_SLACK, bigger = b->size ? b->size : FIRST_SIZE;
	char *data;

	if (wanted > b->size) {
		while (bigger < wanted)
			bigger *= 2;
		data = realloc(b->data, bigger);
		if (!data)
			return NULL;
		b->data = data;
		b->size = bigger;
	}
	return b->data + b->used;
}

bool bytes_put(struct bytes *b, const void *data, size_t size)
{
	char *room = bytes_room(b, size);

	if (!room)
		return false;
	memcpy(room, data, size);
	b->used += size;
	return true;
}

void bytes_release(struct bytes *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

/* ---- spool --------------------------------------------------------------- */

/* A file that nobody else can see, and that is gone with us. */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char name[] = "/tmp/corotracer-XXXXXX";
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static int write_all(struct spool *s, struct err *err)
{
	size_t done = 0;

	while (done < s->bytes.used) {
		ssize_t put = io_write(s->fd, s->bytes.data + done, s->bytes.used - done);

		if (put < 0) {
			errno = (int)-put;
			err_errno(err, "cannot write a temporary file");
			err_hint(err, "TMPDIR names a directory with more space");
			return err->code;
		}
		done += (size_t)put;
	}
	s->size += done;
	s->bytes.used = 0;
	return 0;
}

int spool_settle(struct spool *s, struct err *err)
{
	if (s->bytes.used < SETTLE_AT)
		return 0;
	if (!s->has_file) {
		s->fd = open_file();
		if (s->fd < 0)
			return err_errno(err, "cannot make a temporary file");
		s->has_file = true;
	}
	return write_all(s, err);
}

bool spool_is_empty(const struct spool *s)
{
	return !s->size && !s->bytes.used;
}

int64_t spool_read(struct spool *s, void *data, size_t size)
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
	left = s->bytes.used - from;
	if (size > left)
		size = left;
	if (size)
		memcpy(data, s->bytes.data + from, size);
	s->at += size;
	return (int64_t)size;
}

void spool_release(struct spool *s)
{
	if (s->has_file)
		close(s->fd);
	bytes_release(&s->bytes);
	memset(s, 0, sizeof(*s));
}
