/* SPDX-License-Identifier: MIT */
/* recording_reader.c - read a recording. */
#include "frames/file/recording_reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_parse.h"
#include "base/memory_shortage.h"

#define BUF_SIZE (1u << 20)

/* ---- the header ---------------------------------------------------------- */

static char *recfile_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		memory_shortage_note();
	return copy;
}

static uint64_t recfile_count_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* Names beyond the number of counters in a frame are ignored. */
static void take_counters(struct recording_info *info, const json_t *names)
{
	size_t i;

	for (i = 0; i < json_array_size(names) && info->nr_counters < RECORDING_COUNTERS_MAX; i++) {
		const char *name = json_string_value(json_array_get(names, i));

		info->counters[info->nr_counters] = strdup(name ? name : "?");
		if (info->counters[info->nr_counters])
			info->nr_counters++;
	}
}

static void take_clock(struct recording_clock *clock, const json_t *json)
{
	double rate = json_number_value(json_object_get(json, "ns_per_tick"));

	if (!(rate > 1e-6 && rate < 1e6))
		return;
	clock->known = true;
	clock->ticks = recfile_count_of(json, "ticks");
	clock->ns = recfile_count_of(json, "ns");
	clock->ns_per_tick = rate;
}

static void take_ours(struct recording_info *info, const json_t *json)
{
	info->format = (uint32_t)recfile_count_of(json, "format");
	info->pid = (pid_t)recfile_count_of(json, "pid");
	info->program = recfile_text_of(json, "program");
	info->start_monotonic_ns = recfile_count_of(json, "start_monotonic_ns");
	info->start_realtime_ns = recfile_count_of(json, "start_realtime_ns");
	take_clock(&info->clock, json_object_get(json, "clock"));
}

static int take_header(struct recfile *f, const json_t *root, struct err *err)
{
	const json_t *json = json_object_get(root, "frJson");
	const int64_t century = INT64_C(100) * 366 * 86400;
	json_int_t delta = json_integer_value(json_object_get(root, "frDeltaTime"));

	if (!json_is_object(json))
		return err_set(err, -EBADMSG, "'%s': the header does not describe the buffer",
			       f->name);
	f->info.comment = recfile_text_of(root, "frComment");
	f->info.date = recfile_text_of(root, "frDate");
	f->info.delta_s = delta > -century && delta < century ? delta : 0;
	take_counters(&f->info, json_object_get(root, "frCounters"));
	take_ours(&f->info, json_object_get(root, "corotracer"));
	return desc_from_object(&f->desc, json, err);
}

static int parse_header(struct recfile *f, const char *text, size_t size, struct err *err)
{
	json_error_t why;
	int rc;
	json_t *root = json_parse(text, size, JSON_DISABLE_EOF_CHECK, &why, &rc);

	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory to parse the header of '%s'", f->name);
	if (!root)
		return err_set(err, -EBADMSG, "'%s': the header is not JSON: %s", f->name,
			       why.text);
	rc = take_header(f, root, err);
	json_decref(root);
	return rc;
}

/* ---- bytes --------------------------------------------------------------- */

/*
 * Read until there are at least @want bytes at f->at, or the file ends.  Returns a negative
 * errno on failure.
 */
static int recfile_fill(struct recfile *f, size_t want, struct err *err)
{
	if (f->at) {
		memmove(f->buf, f->buf + f->at, f->end - f->at);
		f->end -= f->at;
		f->at = 0;
	}
	while (f->end < want && !f->eof) {
		ssize_t got = io_read(f->fd, f->buf + f->end, f->size - f->end);

		if (got < 0)
			return err_set(err, (int)got, "cannot read '%s': %s", f->name,
				       strerror((int)-got));
		f->eof = got == 0;
		f->end += (size_t)got;
		f->read += (uint64_t)got;
	}
	return 0;
}

/* Grows with the data that is really there: a length in the file is not trusted. */
static int recfile_grow(struct recfile *f, size_t want, struct err *err)
{
	while (f->end - f->at < want && !f->eof) {
		size_t size = f->size * 2 < want ? f->size * 2 : want;
		uint8_t *more;
		int rc;

		if (size > f->size) {
			more = realloc(f->buf, size);
			if (!more)
				return err_set(err, -ENOMEM, "no memory for the header of '%s'",
					       f->name);
			f->buf = more;
			f->size = size;
		}
		rc = recfile_fill(f, f->size < want ? f->size : want, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int not_a_recording(struct recfile *f, struct err *err)
{
	err_set(err, -EBADMSG, "'%s' is not a recording of frames", f->name);
	err_hint(err, "use a file of 'corotracer attach -o'");
	return -EBADMSG;
}

static int recfile_read_header(struct recfile *f, struct err *err)
{
	uint32_t size;
	int rc = recfile_fill(f, 8, err);

	if (rc < 0)
		return rc;
	if (f->end < 8 || memcmp(f->buf, RECORDING_MAGIC, 4) != 0)
		return not_a_recording(f, err);
	memcpy(&size, f->buf + 4, 4);
	size = ntohl(size);
	f->at = 8;
	if (size > RECORDING_HEADER_MAX)
		return err_set(err, -EBADMSG, "'%s': a header of %u bytes is not valid", f->name,
			       size);
	rc = recfile_grow(f, size, err);
	if (rc < 0)
		return rc;
	if (f->end - f->at < size)
		return err_set(err, -EBADMSG, "'%s' ends in the middle of its header", f->name);
	rc = parse_header(f, (const char *)f->buf + f->at, size, err);
	f->at += size;
	return rc;
}

/* Make the buffer large enough for records. */
static int size_for_records(struct recfile *f, struct err *err)
{
	size_t size = BUF_SIZE > 2 * (size_t)f->desc.frame_size ? BUF_SIZE
								: 2 * (size_t)f->desc.frame_size;
	uint8_t *more;

	if (size <= f->size)
		return 0;
	more = realloc(f->buf, size);
	if (!more)
		return err_set(err, -ENOMEM, "no memory to read '%s'", f->name);
	f->buf = more;
	f->size = size;
	return 0;
}

int recfile_open_fd(struct recfile *f, int fd, const char *name, struct err *err)
{
	struct stat st;
	int rc;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->size = 4096;
	f->buf = malloc(f->size);
	f->name = strdup(name);
	if (!f->buf || !f->name)
		rc = err_set(err, -ENOMEM, "no memory to read a recording");
	else
		rc = recfile_read_header(f, err);
	if (rc == 0)
		rc = size_for_records(f, err);
	if (rc < 0) {
		recfile_close(f);
		return rc;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f->total = (uint64_t)st.st_size;
	return 0;
}

int recfile_open(struct recfile *f, const char *path, struct err *err)
{
	int fd;

	memset(f, 0, sizeof(*f));
	f->fd = -1;
	if (!strcmp(path, "-"))
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	return recfile_open_fd(f, fd, path, err);
}

void recfile_close(struct recfile *f)
{
	if (f->buf || f->name)
		close(f->fd);
	f->fd = -1;
	free(f->buf);
	free(f->name);
	f->buf = NULL;
	f->name = NULL;
	desc_release(&f->desc);
	recording_info_release(&f->info);
}

/* Peek at the first bytes of a pipe; waits for them and leaves them in it. */
static ssize_t peek_pipe(int fd, char *data, size_t size)
{
	int copy[2];
	ssize_t got;

	if (pipe2(copy, O_CLOEXEC) < 0)
		return -1;
	got = tee(fd, copy[1], size, 0);
	if (got > 0)
		got = read(copy[0], data, (size_t)got);
	close(copy[0]);
	close(copy[1]);
	return got;
}

static ssize_t peek_stdin(char *data, size_t size)
{
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);

	return at < 0 ? peek_pipe(STDIN_FILENO, data, size)
		      : io_pread(STDIN_FILENO, data, size, at);
}

/* Only regular files: opening a named pipe would unblock its writer. */
static ssize_t peek_file(const char *path, char *data, size_t size)
{
	struct stat st;
	int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode)
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			 : -1;
	ssize_t got;

	if (fd < 0)
		return -1;
	got = io_pread(fd, data, size, 0);
	close(fd);
	return got;
}

bool recfile_sniff(const char *path)
{
	char magic[4] = "";
	ssize_t got = strcmp(path, "-") != 0 ? peek_file(path, magic, sizeof(magic))
					     : peek_stdin(magic, sizeof(magic));

	return got == sizeof(magic) && !memcmp(magic, RECORDING_MAGIC, sizeof(magic));
}

/* ---- records ------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *record, size_t at)
{
	uint32_t word;

	memcpy(&word, record + at, 4);
	return word;
}

static bool is_mark(const struct recfile *f, const uint8_t *record)
{
	return f->info.format && recording_mark_room(&f->desc) && !word_at(record, 0) &&
	       word_at(record, f->desc.frame_size - 4) == RECORDING_MARK_BACK;
}

/* Returns 1 if the mark is complete and valid. */
static int add_to_mark(struct recfile *f, const uint8_t *record, struct recording_mark *mark)
{
	size_t room = recording_mark_room(&f->desc), left = sizeof(f->mark) - f->mark_used;
	size_t part = left < room ? left : room;

	memcpy(f->mark + f->mark_used, record + recording_front_size(&f->desc), part);
	f->mark_used += part;
	if (f->mark_used < sizeof(f->mark))
		return 0;
	f->mark_used = 0;
	memcpy(mark, f->mark, sizeof(*mark));
	if (mark->magic == RECORDING_MARK_MAGIC)
		return 1;
	f->stats.torn++;
	return 0;
}

static void heed_mark(struct recfile *f, const struct recording_mark *mark)
{
	f->stats.marks++;
	switch (mark->kind) {
	case RECORDING_TICKET:
		f->ticket = mark->a - 1;
		f->placed = true;
		break;
	case RECORDING_LOSS:
		f->stats.lost_marked += mark->a;
		break;
	case RECORDING_RESIZE:
		f->stats.resizes++;
		break;
	case RECORDING_END:
		f->stats.ended = true;
		f->stats.end = *mark;
		break;
	default: /* of a later version */
		break;
	}
}

static void follow_ticket(struct recfile *f, uint32_t seqno)
{
	/* For the first frame, only its 32-bit number is known. */
	if (f->any || f->placed)
		f->ticket += (uint64_t)(int64_t)(int32_t)(seqno - (uint32_t)f->ticket);
	else
		f->ticket = seqno;
	if (!f->any)
		f->highest = f->ticket;
	else if (f->ticket > f->highest) {
		f->stats.gaps += f->ticket - f->highest - 1;
		f->highest = f->ticket;
	} else if (f->stats.gaps) {
		f->stats.gaps--; /* a late frame: it was counted as a gap */
		f->stats.repeated++;
	} else {
		f->stats.repeated++;
	}
	f->any = true;
}

/* Returns 1 for a valid frame. */
static int sort_frame(struct recfile *f, const uint8_t *record, struct recfile_item *item)
{
	uint32_t front = word_at(record, 0), type = 1;

	if (front != word_at(record, f->desc.frame_size - 4)) {
		f->stats.torn++;
		return 0;
	}
	if (f->desc.nr_frames > 1)
		type = word_at(record, 4);
	if (!type || type > f->desc.nr_frames) {
		f->stats.foreign++;
		return 0;
	}
	follow_ticket(f, front);
	f->stats.frames++;
	item->mark = NULL;
	item->image = record;
	item->type = type - 1;
	item->ticket = f->ticket;
	return 1;
}

int recfile_next(struct recfile *f, struct recfile_item *item, struct err *err)
{
	static _Thread_local struct recording_mark mark;
	uint32_t size = f->desc.frame_size;

	for (;;) {
		const uint8_t *record;

		if (f->end - f->at < size) {
			int rc = recfile_fill(f, size, err);

			if (rc < 0)
				return rc;
			if (f->end - f->at < size)
				break;
		}
		record = f->buf + f->at;
		f->at += size;
		f->stats.records++;
		if (is_mark(f, record)) {
			if (add_to_mark(f, record, &mark)) {
				heed_mark(f, &mark);
				item->mark = &mark;
				return 1;
			}
			continue;
		}
		if (f->mark_used) { /* interrupted by another record */
			f->mark_used = 0;
			f->stats.torn++;
		}
		if (sort_frame(f, record, item))
			return 1;
	}
	f->stats.cut_bytes = f->end - f->at;
	return 0;
}
