/* SPDX-License-Identifier: MIT */
/*
 * ship_file.c - the transport file:DIR: an envelope per file, DIR/HOST/RUN/NUMBER.ctblock.
 *
 * A file appears by a rename, whole, so that another tool may move it away at any time.
 */
#include "ship/ship_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ship/ship_envelope.h"

#define SHIP_FILE_WINDOW 64

struct ship_file {
	struct ship_transport transport; /* first member: cast to and from */
	char *dir;
	struct bytes envelope;
	uint64_t arrived[SHIP_FILE_WINDOW]; /* not reported yet */
	unsigned nr_arrived;
	char run[SHIP_RUN_SIZE]; /* whose directory exists */
};

static struct ship_file *ship_file_of(struct ship_transport *t)
{
	return (struct ship_file *)t;
}

static int ship_file_folder(struct ship_file *f, const char *host, const char *run, char *path,
			    size_t size, struct err *err)
{
	if ((size_t)snprintf(path, size, "%s/%s/%s", f->dir, host, run) >= size - 32)
		return err_set(err, -ENAMETOOLONG, "cannot ship to '%s': the path is too long",
			       f->dir);
	if (!strcmp(f->run, run))
		return 0;
	path[strlen(f->dir) + 1 + strlen(host)] = 0;
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_errno(err, "cannot make directory '%s'", path);
	path[strlen(path)] = '/';
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_errno(err, "cannot make directory '%s'", path);
	memcpy(f->run, run, strlen(run) + 1);
	return 0;
}

static int ship_file_write(const struct bytes *b, const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const uint8_t *at = b->data;
	size_t left = b->size;

	if (fd < 0)
		return err_errno(err, "cannot create '%s'", path);
	while (left) {
		ssize_t put = io_write(fd, at, left);

		if (put <= 0) {
			close(fd);
			unlink(path);
			return err_set(err, put ? (int)put : -EIO, "cannot write '%s': %s", path,
				       strerror(put ? (int)-put : EIO));
		}
		at += put;
		left -= (size_t)put;
	}
	if (close(fd) < 0 && errno != EINTR) {
		err_errno(err, "cannot write '%s'", path);
		unlink(path);
		return err->code;
	}
	return 0;
}

static int ship_file_put(struct ship_file *f, const struct ship_parcel *p, struct err *err)
{
	char host[SHIP_LABEL_SIZE], path[PATH_MAX], temporary[PATH_MAX + 8];
	size_t size;

	ship_plain_name(p->labels->host, host, sizeof(host));
	if (ship_file_folder(f, host, p->labels->run, path, sizeof(path), err) < 0)
		return err->code;
	size = strlen(path);
	snprintf(path + size, sizeof(path) - size, "/%020" PRIu64 ".ctblock", p->number);
	snprintf(temporary, sizeof(temporary), "%s.part", path);
	if (ship_file_write(&f->envelope, temporary, err) < 0)
		return err->code;
	if (rename(temporary, path) == 0)
		return 0;
	err_errno(err, "cannot rename '%s'", temporary);
	unlink(temporary);
	return err->code;
}

static int ship_file_send(struct ship_transport *t, const struct ship_parcel *p, struct err *err)
{
	struct ship_file *f = ship_file_of(t);
	struct ship_envelope e = {
		.number = p->number,
		.parts = 1,
		.labels = p->labels_text,
		.labels_size = p->labels_size,
		.block = p->block,
		.block_size = p->size,
	};
	int rc;

	if (f->nr_arrived == SHIP_FILE_WINDOW)
		return err_set(err, -EAGAIN, "too many files at once");
	bytes_clear(&f->envelope);
	rc = ship_envelope_encode(&f->envelope, &e);
	if (rc < 0)
		return err_set(err, rc, "cannot make the envelope of block %" PRIu64 ": %s",
			       p->number, strerror(-rc));
	rc = ship_file_put(f, p, err);
	if (rc < 0) {
		f->run[0] = 0; /* the directory may be gone */
		return rc;
	}
	f->arrived[f->nr_arrived++] = p->number;
	return 0;
}

static int ship_file_poll(struct ship_transport *t, int ms, ship_acked_fn acked, void *ctx,
			  struct err *err)
{
	struct ship_file *f = ship_file_of(t);
	unsigned i;

	(void)ms;
	(void)err;
	for (i = 0; i < f->nr_arrived; i++)
		acked(ctx, f->arrived[i]);
	f->nr_arrived = 0;
	return 0;
}

static void ship_file_close(struct ship_transport *t)
{
	struct ship_file *f = ship_file_of(t);

	bytes_release(&f->envelope);
	free(f->dir);
	free(f);
}

static const struct ship_transport_ops ship_file_ops = {
	.send = ship_file_send,
	.poll = ship_file_poll,
	.close = ship_file_close,
};

struct ship_transport *ship_file_open(const char *dir, struct err *err)
{
	struct ship_file *f;

	if (!dir[0]) {
		err_set(err, -EINVAL, "cannot ship to file: without a directory");
		err_hint(err, "name one: file:/var/spool/traces");
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	if (f)
		f->dir = strdup(dir);
	if (!f || !f->dir) {
		free(f);
		err_set(err, -ENOMEM, "no memory to ship to '%s'", dir);
		return NULL;
	}
	if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
		err_errno(err, "cannot make directory '%s'", dir);
		free(f->dir);
		free(f);
		return NULL;
	}
	f->transport.ops = &ship_file_ops;
	f->transport.window = SHIP_FILE_WINDOW;
	snprintf(f->transport.name, sizeof(f->transport.name), "file:%s", dir);
	return &f->transport;
}
