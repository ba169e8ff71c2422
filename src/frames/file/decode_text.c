/* SPDX-License-Identifier: MIT */
/* decode_text.c - frames as CSV files, or as JSON lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "frames/file/decode.h"
#include "frames/file/frame_columns.h"

/* One output file. */
struct out {
	struct outfile file;
	size_t room; /* length of the longest row */
	char *row;   /* buffer for rows longer than OUTFILE_ROOM; else NULL */
	bool open;
};

struct text_state {
	struct out *outs; /* CSV: one per type; JSON lines: one */
	size_t nr;
	char *folder; /* CSV; NULL: standard output */
	bool made;    /* the folder was created: it is removed on failure */
};

/* ---- one file ------------------------------------------------------------ */

static int out_open(struct out *o, const char *path, size_t room, struct err *err)
{
	int rc = outfile_open(&o->file, path, err);

	if (rc < 0)
		return rc;
	o->open = true;
	o->room = room + 64; /* fmt.h writes past the end that it returns */
	o->row = o->room > OUTFILE_ROOM ? malloc(o->room) : NULL;
	if (o->room > OUTFILE_ROOM && !o->row)
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	return 0;
}

/* The buffer for the next row. */
static char *out_begin(struct out *o)
{
	return o->row ? o->row : outfile_room(&o->file);
}

static int out_end(struct out *o, const char *end, struct err *err)
{
	if (o->row)
		outfile_put(&o->file, o->row, (size_t)(end - o->row));
	else
		o->file.at = (char *)end;
	return o->file.error ? outfile_settle(&o->file, err) : 0;
}

/* Commit all files, or none. */
static int commit_all(struct decode_writer *w, struct err *err)
{
	struct text_state *s = w->state;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->nr && !rc; i++)
		rc = s->outs[i].open ? outfile_settle(&s->outs[i].file, err) : 0;
	for (i = 0; i < s->nr && !rc; i++) {
		if (!s->outs[i].open)
			continue;
		rc = outfile_commit(&s->outs[i].file, err);
		w->bytes += s->outs[i].file.bytes;
	}
	return rc;
}

static int text_close(struct decode_writer *w, bool complete, struct err *err)
{
	struct text_state *s = w->state;
	size_t i;
	int rc;

	if (!s)
		return 0;
	rc = complete ? commit_all(w, err) : 0;
	for (i = 0; i < s->nr; i++) {
		outfile_close(&s->outs[i].file);
		free(s->outs[i].row);
	}
	if (s->made && (!complete || rc < 0))
		rmdir(s->folder);
	free(s->outs);
	free(s->folder);
	free(s);
	w->state = NULL;
	return rc;
}

static int text_open(struct decode_writer *w, size_t nr, struct err *err)
{
	struct text_state *s = calloc(1, sizeof(*s));

	if (s)
		s->outs = calloc(nr, sizeof(*s->outs));
	if (!s || !s->outs) {
		free(s);
		return err_set(err, -ENOMEM, "no memory to write '%s'", w->name);
	}
	s->nr = nr;
	w->state = s;
	return 0;
}

/* ---- CSV ----------------------------------------------------------------- */

static int decode_text_csv_open(struct decode_writer *w, const char *out, struct err *err)
{
	struct text_state *s;
	int rc = text_open(w, w->file->desc.nr_frames, err);

	if (rc < 0 || !strcmp(out, "-"))
		return rc;
	s = w->state;
	s->folder = strdup(out);
	if (!s->folder)
		rc = err_set(err, -ENOMEM, "no memory for a file name");
	else if (mkdir(out, 0777) == 0)
		s->made = true;
	else if (errno != EEXIST)
		rc = err_errno(err, "cannot make the folder '%s'", out);
	if (rc < 0)
		text_close(w, false, err);
	return rc;
}

/* A file is created with its first frame: a type without frames has no file. */
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
		rc = out_open(o, path, p->text_max, err);
		if (!rc)
			outfile_put(&o->file, heading, size);
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

	if (!o->open && csv_begin(w, type, err) < 0)
		return err->code;
	return out_end(o, row_csv(&w->plans[type], image, ticket, out_begin(o)), err);
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

	return out_end(o, row_jsonl(&w->plans[type], image, ticket, out_begin(o)), err);
}

const struct decode_writer decode_csv = {
	.name = "csv",
	.open = decode_text_csv_open,
	.frame = csv_frame,
	.close = text_close,
};

const struct decode_writer decode_jsonl = {
	.name = "jsonl",
	.open = jsonl_open,
	.frame = jsonl_frame,
	.close = text_close,
};
