/* SPDX-License-Identifier: MIT */
/* trace_reader.c - open a trace for reading: detect its format. */
#include "trace/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/compact_reader.h"
#include "trace/ctf_metadata.h"
#include "trace/ctf_reader.h"
#include "trace/jsonl_input.h"

static bool begins_like_metadata(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[64];
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return size > 0 && ctf_metadata_whose(text, (size_t)size) != CTF_NONE;
}

/*
 * Returns the directory of the metadata file, which the caller frees.  NULL: @path is not the
 * metadata of a CTF trace, or memory ran out.
 */
static char *directory_of_metadata(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strcmp(name, CTF_METADATA) != 0 || !begins_like_metadata(path))
		return NULL;
	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static bool is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && io_is_locked(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

static struct trace_reader *open_ctf(const char *dir, bool may_grow, struct err *err)
{
	if (!may_grow || !is_being_written(dir))
		return ctf_reader_open(dir, err);
	err_set(err, -EBUSY,
		"'%s' is still being written, and of CTF only a finished trace can be read", dir);
	err_hint(err, "wait for its end, or have JSON lines written (-o FILE.jsonl): these can be "
		      "followed");
	return NULL;
}

/* Rejects files of the other instruments, by their first bytes. */
static int refuse_others(const char *path, struct err *err)
{
	static const struct {
		const char *magic, *what, *hint;
	} others[] = {
		{ "PPT1", "a recording of frames",
		  "'corotracer query -f FILE' describes it; 'corotracer decode' and 'corotracer "
		  "export' (csv, jsonl, sqlite, perfetto, chrome) convert it" },
		{ "\211CRT\r\n\032\n", "a memory trace",
		  "'corotracer mem' reads it: mem stat, mem sim, mem layout, mem html" },
	};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char begin[8] = "";
	ssize_t size = fd < 0 ? -1 : io_pread(fd, begin, sizeof(begin), 0);
	size_t i;

	if (fd >= 0)
		close(fd);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (size < (ssize_t)strlen(others[i].magic) ||
		    memcmp(begin, others[i].magic, strlen(others[i].magic)) != 0)
			continue;
		err_set(err, -EINVAL, "cannot read '%s': it is %s, not a trace of coroutines", path,
			others[i].what);
		err_hint(err, "%s", others[i].hint);
		return err->code;
	}
	return 0;
}

/* 1: it is; 0: it is not; or a negative errno: a file that cannot be read must not pass as text. */
static int is_compact(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char begin[8];
	ssize_t size;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	size = io_pread(fd, begin, sizeof(begin), 0);
	if (size < 0)
		err_errno(err, "cannot read '%s'", path);
	close(fd);
	if (size < 0)
		return err->code;
	return size > 0 && compact_begins(begin, (size_t)size);
}

static struct trace_reader *open_any(const char *path, bool may_grow, struct err *err)
{
	struct trace_reader *r;
	struct stat st;
	char *dir;
	int rc;

	if (!strcmp(path, "-") || stat(path, &st) < 0)
		return jsonl_input_open(path, false, err); /* reports that it does not exist */
	if (S_ISDIR(st.st_mode))
		return open_ctf(path, may_grow, err);
	if (S_ISREG(st.st_mode) && refuse_others(path, err) < 0)
		return NULL;
	rc = S_ISREG(st.st_mode) ? is_compact(path, err) : 0;
	if (rc < 0)
		return NULL;
	if (rc > 0)
		return compact_reader_open(path, may_grow, err);
	dir = S_ISREG(st.st_mode) ? directory_of_metadata(path) : NULL;
	if (!dir)
		return jsonl_input_open(path, may_grow && S_ISREG(st.st_mode), err);
	r = open_ctf(dir, may_grow, err);
	free(dir);
	return r;
}

struct trace_reader *trace_reader_open(const char *path, struct err *err)
{
	return open_any(path, false, err);
}

struct trace_reader *trace_reader_follow(const char *path, struct err *err)
{
	return open_any(path, true, err);
}

bool trace_stats_are_clean(const struct trace_stats *stats)
{
	return !stats->lines.garbage && !stats->sidecar.garbage && !stats->ctf.damaged &&
	       !stats->ctf.torn && !stats->ctf.missing && !stats->ct.damaged && !stats->ct.torn &&
	       !stats->ct.missing && !stats->packed_cut;
}

bool trace_reader_settle(struct trace_reader *r, struct trace_item *item)
{
	uint32_t id;

	switch (item->type) {
	case TRACE_ITEM_SITE:
		id = site_table_add(&r->sites, &item->site);
		return !id || id == item->site.id;
	case TRACE_ITEM_EVENT:
		item->event.site = site_table_id(&r->sites, item->event.site);
		break;
	case TRACE_ITEM_COROUTINE:
		item->coroutine.site = site_table_id(&r->sites, item->coroutine.site);
		item->coroutine.birth_site = site_table_id(&r->sites, item->coroutine.birth_site);
		break;
	default:
		break;
	}
	return true;
}

bool trace_reader_filter(struct trace_reader *r, struct trace_item *item)
{
	trace_filter_note(r->filter, item);
	return trace_reader_settle(r, item) && trace_filter_passes(r->filter, item);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	site_table_release(&r->sites);
	trace_filter_release(&r->part);
	r->ops->close(r);
}
