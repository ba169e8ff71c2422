/* SPDX-License-Identifier: MIT */
/* decode_text.c - frames as CSV files, or as JSON lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/io.h"
#include "frames/decode.h"
#include "frames/rows.h"

#define BUF_SIZE (256u << 10)

/* One file that is written. */
struct out {
	int fd; /* -1: not yet */
	char *path;
	char *buf;
	size_t used, size;
};

struct text_state {
	struct out *outs; /* CSV: one per type; JSON lines: one */
	size_t nr;
	char *folder; /* CSV; NULL: standard output */
};

/* ---- one file ------------------------------------------------------------ */

static int out_open(struct out *o, const char *path, size_t room, struct err *err)
{
	o->size = BUF_SIZE + room + 64;
	o->buf = malloc(o->size);
	o->path = strdup(path);
	if (!o->buf || !o->path)
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	if (!strcmp(path, "-"))
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return o->fd < 0 ? err_errno(err, "cannot create '%s'", path) : 0;
}

static int out_flush(struct out *o, uint64_t *bytes, struct err *err)
{
	size_t at = 0;

	while (at < o->used) {
		ssize_t put = io_write(o->fd, o->buf + at, o->used - at);

		if (put <= 0) {
			int code = put < 0 ? (int)put : -EIO;

			return err_set(err, code, "cannot write '%s': %s", o->path,
				       strerror(-code));
		}
		at += (size_t)put;
		*bytes += (uint64_t)put;
	}
	o->used = 0;
	return 0;
}

static int out_close(struct out *o, uint64_t *bytes, struct err *err)
{
	int rc = 0;

	if (o->fd >= 0) {
		rc = out_flush(o, bytes, err);
		if (close(o->fd) < 0 && !rc)
			rc = err_errno(err, "cannot write '%s'", o->path);
	}
	free(o->buf);
	free(o->path);
	o->fd = -1;
	return rc;
}

static int text_close(struct decode_writer *w, bool complete, struct err *err)
{
	struct text_state *s = w->state;
	struct err ignored = { 0 };
	size_t i;
	int rc = 0;

	if (!s)
		return 0;
	for (i = 0; i < s->nr; i++) {
		int one = out_close(&s->outs[i], &w->bytes, complete && !rc ? err : &ignored);

		if (one < 0)
			rc = one;
	}
	free(s->outs);
	free(s->folder);
	free(s);
	w->state = NULL;
	return rc;
}

static int text_open(struct decode_writer *w, size_t nr, struct err *err)
{
	struct text_state *s = calloc(1, sizeof(*s));
	size_t i;

	if (s)
		s->outs = calloc(nr, sizeof(*s->outs));
	if (!s || !s->outs) {
		free(s);
		return err_set(err, -ENOMEM, "no memory to write '%s'", w->name);
	}
	s->nr = nr;
	for (i = 0; i < nr; i++)
		s->outs[i].fd = -1;
	w->state = s;
	return 0;
}

/* ---- CSV ----------------------------------------------------------------- */

static int csv_open(struct decode_writer *w, const char *out, struct err *err)
{
	struct text_state *s;
	int rc = text_open(w, w->file->desc.nr_frames, err);

	if (rc < 0 || !strcmp(out, "-"))
		return rc;
	s = w->state;
	s->folder = strdup(out);
	if (!s->folder)
		rc = err_set(err, -ENOMEM, "no memory for a file name");
	else if (mkdir(out, 0777) < 0 && errno != EEXIST)
		rc = err_errno(err, "cannot make the folder '%s'", out);
	if (rc < 0)
		text_close(w, false, err);
	return rc;
}

/* A file appears with its first frame: a type that has none has no file. */
static int csv_begin(struct decode_writer *w, unsigned type, struct err *err)
{
	struct text_state *s = w->state;
	const struct row_plan *p = &w->plans[type];
	struct out *o = &s->outs[type];
	size_t size = 0;
	char *heading = row_csv_heading(p, &size), *path = NULL;
	int rc = -ENOMEM;

	if (heading && (s->folder ? asprintf(&path, "%s/%s.csv", s->folder, p->frame->name)
				  : asprintf(&path, "-")) >= 0) {
		rc = out_open(o, path, p->text_max + size, err);
		if (!rc) {
			memcpy(o->buf, heading, size);
			o->used = size;
		}
		free(path);
	} else {
		err_set(err, rc, "no memory for the columns of '%s'", p->frame->name);
	}
	free(heading);
	return rc;
}

static int csv_frame(struct decode_writer *w, unsigned type, const uint8_t *image, uint64_t ticket,
		     struct err *err)
{
	struct text_state *s = w->state;
	struct out *o = &s->outs[type];
	int rc;

	if (o->fd < 0) {
		rc = csv_begin(w, type, err);
		if (rc < 0)
			return rc;
	}
	if (o->used >= BUF_SIZE) {
		rc = out_flush(o, &w->bytes, err);
		if (rc < 0)
			return rc;
	}
	o->used = (size_t)(row_csv(&w->plans[type], image, ticket, o->buf + o->used) - o->buf);
	return 0;
}

/* ---- JSON lines ---------------------------------------------------------- */

static int jsonl_open(struct decode_writer *w, const char *out, struct err *err)
{
	size_t i, room = 0;
	struct text_state *s;
	int rc = text_open(w, 1, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < w->file->desc.nr_frames; i++) {
		if (w->plans[i].text_max > room)
			room = w->plans[i].text_max;
	}
	s = w->state;
	rc = out_open(&s->outs[0], out, room, err);
	if (rc < 0)
		text_close(w, false, err);
	return rc;
}

static int jsonl_frame(struct decode_writer *w, unsigned type, const uint8_t *image,
		       uint64_t ticket, struct err *err)
{
	struct text_state *s = w->state;
	struct out *o = &s->outs[0];

	if (o->used >= BUF_SIZE) {
		int rc = out_flush(o, &w->bytes, err);

		if (rc < 0)
			return rc;
	}
	o->used = (size_t)(row_jsonl(&w->plans[type], image, ticket, o->buf + o->used) - o->buf);
	return 0;
}

const struct decode_writer decode_csv = {
	.name = "csv",
	.open = csv_open,
	.frame = csv_frame,
	.close = text_close,
};

const struct decode_writer decode_jsonl = {
	.name = "jsonl",
	.open = jsonl_open,
	.frame = jsonl_frame,
	.close = text_close,
};
