/* SPDX-License-Identifier: MIT */
/*
 * ctf_reader.c - read a corotracer CTF trace.
 *
 * Reads exactly what ctf_writer.c writes; the second line of the metadata identifies it.
 * Traces of other tools need babeltrace2.
 */
#include "trace/ctf_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/ctf_decode.h"
#include "trace/ctf.h"
#include "trace/ctf_facts.h"
#include "trace/ctf_metadata.h"

/* Size of the windows of all streams together; maximum and minimum of one window. */
#define WINDOWS     ((size_t)64 * 1024 * 1024)
#define WINDOW_MAX  ((size_t)256 * 1024)
#define WINDOW_MIN  ((size_t)4 * 1024)
#define STREAMS_MAX ((size_t)1 << 17)
#define OPEN_MAX    ((size_t)256)
#define NR_FACTS    2 /* number of files */

enum ctf_phase { FACTS, EVENTS, REST, DONE };

struct ctf_reader {
	struct trace_reader reader; /* first member: cast to and from */
	enum ctf_phase phase;
	struct ctf_walk walk;
	char *path;

	struct ctf_cursor facts[NR_FACTS];
	unsigned fact; /* index of the file that is being read */
	const char **words;
	struct ctf_stats counted; /* statistics of the second pass over the facts, discarded */
	uint64_t counted_bytes;

	struct ctf_cursor *streams;
	size_t nr_streams, room;
	/*
	 * Min-heap of the streams by the time of their next item; handed_out: the item of
	 * heap[0] was returned.
	 */
	struct ctf_cursor **heap;
	size_t nr_heap;
	bool handed_out;
};

static struct ctf_reader *reader_of(struct trace_reader *r)
{
	return (struct ctf_reader *)r;
}

static int ctf_reader_cannot_read(const struct ctf_reader *r, const char *name, int rc,
				  struct err *err)
{
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory to read '%s'", r->path);
	return err_set(err, rc, "cannot read '%s/%s': %s", r->path, name, strerror(-rc));
}

/* ---- facts --------------------------------------------------------------- */

/* Returns 1: *@item is the fact at the cursor; 0: no fact, call again; -errno. */
static int take_fact(struct ctf_reader *r, struct ctf_cursor *c, struct trace_item *item)
{
	const uint8_t *p;
	uint32_t size;
	uint8_t id;
	int rc = ctf_cursor_need(&r->walk, c, CTF_FACT_HEADER);

	if (rc > 0) {
		p = ctf_cursor_at(c);
		id = p[8];
		memcpy(&size, p + 9, sizeof(size));
		rc = ctf_cursor_need(&r->walk, c, CTF_FACT_HEADER + (size_t)size);
	}
	if (rc <= 0) {
		if (rc == 0)
			ctf_cursor_leave(&r->walk, c, true);
		return rc;
	}
	p = ctf_cursor_at(c) + CTF_FACT_HEADER;
	ctf_cursor_skip(c, CTF_FACT_HEADER + (size_t)size);
	if (id >= NR_CTF_FACTS) {
		r->walk.stats->unknown++;
		return 0;
	}
	rc = ctf_fact_decode(p, size, id, item, &r->words);
	r->walk.stats->damaged += rc == 0;
	return rc;
}

static int next_of_cursor(struct ctf_reader *r, struct ctf_cursor *c, struct trace_item *item)
{
	for (;;) {
		int rc;

		if (c->in_packet && !ctf_cursor_at_end(c)) {
			rc = take_fact(r, c, item);
			if (rc != 0)
				return rc;
			continue;
		}
		if (c->in_packet) {
			ctf_cursor_leave(&r->walk, c, false);
			continue;
		}
		rc = ctf_cursor_packet(&r->walk, c);
		if (rc <= 0)
			return rc;
		if (c->packet.stream_id != CTF_STREAM_FACTS)
			ctf_cursor_leave(&r->walk, c, true);
	}
}

static bool ctf_reader_is_own(const struct ctf_reader *r, const struct trace_item *item)
{
	bool is_rest = item->type == TRACE_ITEM_COROUTINE || item->type == TRACE_ITEM_TOTALS;

	return is_rest == (r->phase == REST);
}

static int next_fact(struct ctf_reader *r, struct trace_item *item, struct err *err)
{
	while (r->fact < NR_FACTS) {
		struct ctf_cursor *c = &r->facts[r->fact];
		int rc = c->name[0] ? next_of_cursor(r, c, item) : 0;

		if (rc < 0)
			return ctf_reader_cannot_read(r, c->name, rc, err);
		if (rc == 0)
			r->fact++;
		else if (ctf_reader_is_own(r, item))
			return 1;
	}
	return 0;
}

/* Reads the facts a second time.  Their problems were counted in the first pass. */
static void rewind_facts(struct ctf_reader *r)
{
	unsigned i;

	for (i = 0; i < NR_FACTS; i++)
		ctf_cursor_rewind(&r->facts[i]);
	r->fact = 0;
	r->walk.stats = &r->counted;
	r->walk.bytes = &r->counted_bytes;
}

/* ---- events -------------------------------------------------------------- */

static uint64_t ctf_reader_time_of(const struct ctf_cursor *c)
{
	return c->last_ts; /* of the last decoded record, which is the item */
}

/* At equal times the stream that comes first in the list wins. */
static bool ctf_reader_is_earlier(const struct ctf_cursor *a, const struct ctf_cursor *b)
{
	return ctf_reader_time_of(a) != ctf_reader_time_of(b)
		       ? ctf_reader_time_of(a) < ctf_reader_time_of(b)
		       : a < b;
}

static void ctf_reader_swap(struct ctf_cursor **a, struct ctf_cursor **b)
{
	struct ctf_cursor *c = *a;

	*a = *b;
	*b = c;
}

static void ctf_reader_sink(struct ctf_reader *r, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= r->nr_heap)
			return;
		if (child + 1 < r->nr_heap &&
		    ctf_reader_is_earlier(r->heap[child + 1], r->heap[child]))
			child++;
		if (!ctf_reader_is_earlier(r->heap[child], r->heap[at]))
			return;
		ctf_reader_swap(&r->heap[child], &r->heap[at]);
		at = child;
	}
}

/* Decodes the first item of every stream and builds the heap. */
static int begin_events(struct ctf_reader *r, struct err *err)
{
	size_t i;

	r->heap = calloc(r->nr_streams + 1, sizeof(struct ctf_cursor *));
	if (!r->heap)
		return ctf_reader_cannot_read(r, "", -ENOMEM, err);
	for (i = 0; i < r->nr_streams; i++) {
		struct ctf_cursor *c = &r->streams[i];
		int rc = ctf_decode_next(&r->walk, c);

		if (rc < 0)
			return ctf_reader_cannot_read(r, c->name, rc, err);
		if (rc > 0)
			r->heap[r->nr_heap++] = c;
		else
			ctf_cursor_close(c);
	}
	for (i = r->nr_heap / 2; i-- > 0;)
		ctf_reader_sink(r, i);
	return 0;
}

static int ctf_reader_next_event(struct ctf_reader *r, struct trace_item *item, struct err *err)
{
	struct ctf_cursor *c;
	int rc;

	if (!r->heap && begin_events(r, err) < 0)
		return err->code;
	if (r->handed_out) {
		c = r->heap[0];
		rc = ctf_decode_next(&r->walk, c);
		if (rc < 0)
			return ctf_reader_cannot_read(r, c->name, rc, err);
		if (rc == 0) {
			ctf_cursor_close(c);
			r->heap[0] = r->heap[--r->nr_heap];
		}
		ctf_reader_sink(r, 0);
	}
	c = r->nr_heap ? r->heap[0] : NULL;
	r->handed_out = c != NULL;
	if (!c)
		return 0;
	*item = c->item;
	return 1;
}

/* ---- the reader ---------------------------------------------------------- */

static int ctf_reader_next(struct trace_reader *tr, struct trace_item *item, struct err *err)
{
	struct ctf_reader *r = reader_of(tr);

	while (r->phase != DONE) {
		int rc = r->phase == EVENTS ? ctf_reader_next_event(r, item, err)
					    : next_fact(r, item, err);

		if (rc != 0)
			return rc;
		if (r->phase == EVENTS)
			rewind_facts(r);
		r->phase++;
	}
	return 0;
}

static void close_reader(struct trace_reader *tr)
{
	struct ctf_reader *r = reader_of(tr);
	size_t i;

	for (i = 0; i < NR_FACTS; i++)
		ctf_cursor_close(&r->facts[i]);
	for (i = 0; i < r->nr_streams; i++)
		ctf_cursor_close(&r->streams[i]);
	if (r->walk.dir >= 0)
		close(r->walk.dir);
	free(r->streams);
	free((void *)r->heap);
	free((void *)r->words);
	free(r->path);
	free(r);
}

static const struct trace_reader_ops ctf_reader_ops = { .next = ctf_reader_next,
							.close = close_reader };

/* ---- open ---------------------------------------------------------------- */

/*
 * Reads an open file up to CTF_METADATA_MAX; the caller frees it.  Returns NULL and sets *@rc
 * on failure.
 */
static char *ctf_reader_read_text(int fd, size_t *size, int *rc)
{
	struct stat st;
	char *text;
	ssize_t got = 1;
	size_t room;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		*rc = -EINVAL;
		return NULL;
	}
	room = (uint64_t)st.st_size < CTF_METADATA_MAX ? (size_t)st.st_size : CTF_METADATA_MAX;
	text = malloc(room + 1);
	*rc = -ENOMEM;
	*size = 0;
	while (text && got > 0 && *size < room) {
		got = io_read(fd, text + *size, room - *size);
		*size += got > 0 ? (size_t)got : 0;
	}
	if (got >= 0)
		return text;
	*rc = (int)got;
	free(text);
	return NULL;
}

static char *ctf_reader_read_metadata(struct ctf_reader *r, size_t *size, struct err *err)
{
	int rc, fd = openat(r->walk.dir, CTF_METADATA, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text;

	if (fd < 0) {
		err_errno(err, "'%s' holds no trace: cannot open '" CTF_METADATA "' in it",
			  r->path);
		err_hint(err, "'corotracer run -o %s -- PROGRAM' writes one", r->path);
		return NULL;
	}
	text = ctf_reader_read_text(fd, size, &rc);
	close(fd);
	if (!text)
		ctf_reader_cannot_read(r, CTF_METADATA, rc, err);
	return text;
}

static int check_metadata(struct ctf_reader *r, struct err *err)
{
	size_t size;
	char *text = ctf_reader_read_metadata(r, &size, err);
	enum ctf_whose whose;
	bool found;

	if (!text)
		return err->code;
	whose = ctf_metadata_whose(text, size);
	found = ctf_metadata_uuid(text, size, r->walk.uuid);
	free(text);
	if (whose == CTF_OURS && found)
		return 0;
	if (whose == CTF_OF_OTHERS) {
		err_set(err, -EPROTO, "'%s' is a CTF trace of another tool", r->path);
		err_hint(err, "'babeltrace2 %s' reads it", r->path);
	} else if (whose == CTF_NEWER) {
		err_set(err, -EPROTO, "'%s' has a later format than this tool knows", r->path);
		err_hint(err, "use the corotracer that wrote it, or 'babeltrace2 %s'", r->path);
	} else {
		err_set(err, -EPROTO, "the metadata of '%s' is damaged", r->path);
		err_hint(err, "without it the contents of the streams are unknown");
	}
	return err->code;
}

static int add_stream(struct ctf_reader *r, const char *name, struct err *err)
{
	struct ctf_cursor *more;

	if (r->nr_streams == STREAMS_MAX)
		return err_set(err, -E2BIG, "'%s' has more than %zu streams", r->path, STREAMS_MAX);
	if (r->nr_streams == r->room) {
		size_t room = r->room ? r->room * 2 : 64;

		more = reallocarray(r->streams, room, sizeof(*more));
		if (!more)
			return ctf_reader_cannot_read(r, name, -ENOMEM, err);
		r->streams = more;
		r->room = room;
	}
	more = &r->streams[r->nr_streams++];
	memset(more, 0, sizeof(*more));
	memcpy(more->name, name, strlen(name) + 1); /* ctf_file_of() has checked its length */
	more->fd = -1;
	return 0;
}

/* Collects the names only: their number decides how the files are opened. */
static int list_streams(struct ctf_reader *r, struct err *err)
{
	int fd = openat(r->walk.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		rc = err_errno(err, "cannot list '%s'", r->path);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (e = readdir(d))) {
		if (ctf_file_of(e->d_name) == CTF_FILE_EVENTS)
			rc = add_stream(r, e->d_name, err);
	}
	closedir(d);
	return rc;
}

/* lane_2 before lane_10, independent of the directory order. */
static int compare_names(const void *a, const void *b)
{
	const struct ctf_cursor *x = a, *y = b;
	size_t nx = strlen(x->name), ny = strlen(y->name);

	if (nx != ny)
		return nx < ny ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void choose_window(struct ctf_reader *r)
{
	size_t window = WINDOWS / (r->nr_streams + NR_FACTS);

	if (window > WINDOW_MAX)
		window = WINDOW_MAX;
	r->walk.window = window < WINDOW_MIN ? WINDOW_MIN : window;
	r->walk.keep_open = r->nr_streams <= OPEN_MAX;
}

static void note_unreadable(struct ctf_reader *r, const char *name, int rc)
{
	struct trace_completeness *c = &r->reader.stats.completeness;

	if (!c->unreadable++) {
		snprintf(c->unreadable_name, sizeof(c->unreadable_name), "%s", name);
		c->unreadable_errno = -rc;
	}
}

/* A file that cannot be read is recorded, and the other files are read. */
static void ctf_reader_open_cursor(struct ctf_reader *r, struct ctf_cursor *c, const char *name)
{
	int rc = ctf_cursor_open(&r->walk, c, name);

	if (rc <= 0) {
		c->name[0] = '\0';
		if (rc < 0)
			note_unreadable(r, name, rc);
		return;
	}
	r->reader.stats.total += c->file_size;
	r->reader.stats.ctf.streams++;
}

static int open_streams(struct ctf_reader *r, struct err *err)
{
	static const char *const facts[NR_FACTS] = { CTF_FACTS, CTF_TOTALS };
	char name[CTF_NAME_SIZE];
	size_t i;

	if (list_streams(r, err) < 0)
		return err->code;
	if (r->nr_streams)
		qsort(r->streams, r->nr_streams, sizeof(*r->streams), compare_names);
	choose_window(r);
	for (i = 0; i < NR_FACTS; i++)
		ctf_reader_open_cursor(r, &r->facts[i], facts[i]);
	for (i = 0; i < r->nr_streams; i++) {
		memcpy(name, r->streams[i].name, sizeof(name));
		ctf_reader_open_cursor(r, &r->streams[i], name);
	}
	return 0;
}

static int ctf_reader_begin(struct ctf_reader *r, const char *path, struct err *err)
{
	r->path = strdup(path);
	if (!r->path)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	r->walk.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->walk.dir < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (check_metadata(r, err) < 0)
		return err->code;
	return open_streams(r, err);
}

struct trace_reader *ctf_reader_open(const char *path, struct err *err)
{
	struct ctf_reader *r = calloc(1, sizeof(*r));
	unsigned i;

	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
		return NULL;
	}
	r->reader.ops = &ctf_reader_ops;
	r->reader.stats.format = TRACE_FORMAT_CTF;
	r->walk.dir = -1;
	r->walk.stats = &r->reader.stats.ctf;
	r->walk.bytes = &r->reader.stats.bytes;
	for (i = 0; i < NR_FACTS; i++)
		r->facts[i].fd = -1;
	if (ctf_reader_begin(r, path, err) == 0)
		return &r->reader;
	close_reader(&r->reader);
	return NULL;
}
