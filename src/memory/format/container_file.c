/* SPDX-License-Identifier: MIT */
/* container_file.c - a container that the tool writes: messages for errors, zstd that is linked. */
#include "memory/format/container_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "sys.h"

static size_t cfile_compress(void *context, void *to, size_t room, const void *from, size_t size,
			     int level)
{
	return ZSTD_compressCCtx(context, to, room, from, size, level);
}

static size_t cfile_compress2(void *context, void *to, size_t room, const void *from, size_t size)
{
	return ZSTD_compress2(context, to, room, from, size);
}

static size_t cfile_set(void *context, int parameter, int value)
{
	return ZSTD_CCtx_setParameter(context, (ZSTD_cParameter)parameter, value);
}

struct cray_maker *cfile_maker_new(int level)
{
	struct cray_zstd zstd = { .compress = cfile_compress,
				  .is_error = ZSTD_isError,
				  .set = cfile_set,
				  .compress2 = cfile_compress2 };
	struct cray_maker *m;

	if (level)
		zstd.context = ZSTD_createCCtx();
	m = level && !zstd.context ? NULL : cray_maker_new(level, &zstd);
	if (!m)
		ZSTD_freeCCtx(zstd.context);
	return m;
}

void cfile_maker_free(struct cray_maker *m)
{
	if (!m)
		return;
	ZSTD_freeCCtx(m->zstd.context);
	cray_maker_free(m);
}

struct cray_writer *cfile_no_writer(void)
{
	struct cray_writer *w = crt_memory(sizeof(*w));

	if (w) {
		w->fd = -1;
		w->error = EBADF;
	}
	return w;
}

void cfile_free_writer(struct cray_writer *w)
{
	crt_memory_free(w, sizeof(*w));
}

int cfile_open(struct cfile *f, int fd, const char *path, const struct cfile_config *config,
	       struct err *err)
{
	struct cray_writer *w = cfile_no_writer();

	memset(f, 0, sizeof(*f));
	f->writer = w;
	f->path = strdup(path);
	f->maker = cfile_maker_new(config->level);
	if (!w || !f->path || !f->maker || !(w->maker = cfile_maker_new(config->level))) {
		cfile_abandon(f);
		close(fd);
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	}
	w->error = 0;
	cray_writer_begin(w, fd, config->level ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE, config->flags,
			  config->start_ns, config->start_wall_ns);
	if (cfile_error(f, err) == 0)
		return 0;
	cfile_abandon(f);
	return err->code;
}

void cfile_block(struct cfile *f, struct cray_pack *p)
{
	if (cray_pack_empty(p))
		return;
	cray_maker_finish(f->maker, p, false);
	cray_maker_press(f->maker);
	cray_writer_block(f->writer, f->maker);
}

void cfile_fact(struct cfile *f, uint16_t key, const void *data, size_t size)
{
	cray_writer_fact(f->writer, key, data, size);
	cray_writer_flush(f->writer);
}

void cfile_module(struct cfile *f, const struct cray_module *m, const char *path)
{
	char both[sizeof(*m) + CRAY_NAME_MAX];
	size_t size = strlen(path);
	struct cray_module head = *m;

	head.path_size = (uint16_t)(size < CRAY_NAME_MAX ? size : CRAY_NAME_MAX);
	memcpy(both, &head, sizeof(head));
	memcpy(both + sizeof(head), path, head.path_size);
	cray_writer_module(f->writer, both, sizeof(head) + head.path_size);
	cray_writer_flush(f->writer);
}

void cfile_thread(struct cfile *f, const struct cray_thread *t, const char *name)
{
	cray_writer_thread(f->writer, t, name);
	cray_writer_flush(f->writer);
}

int cfile_error(const struct cfile *f, struct err *err)
{
	int error = f->writer->error;

	if (!error)
		return 0;
	errno = error;
	err_errno(err, "cannot write '%s'", f->path);
	if (error == ENOSPC || error == EDQUOT)
		err_hint(err, "the disk is full; what is in the file can be read");
	else if (error == EFBIG)
		err_hint(err, "the limit for file sizes is reached ('ulimit -f'); what is in the "
			      "file can be read");
	return err->code;
}

int cfile_close(struct cfile *f, int status, struct err *err)
{
	struct cray_writer *w = f->writer;
	uint64_t size;
	int ret;

	w->end.status = status < 0 ? 0 : (uint32_t)status;
	w->end.status_known = status >= 0;
	size = cray_writer_tail(w) ? w->size : w->at;
	if (close(w->fd) < 0 && !w->error)
		w->error = errno;
	w->fd = -1;
	ret = cfile_error(f, err);
	cfile_abandon(f);
	f->size = size;
	return ret;
}

void cfile_abandon(struct cfile *f)
{
	if (f->writer) {
		if (f->writer->fd >= 0)
			close(f->writer->fd);
		cfile_maker_free(f->writer->maker);
		cfile_free_writer(f->writer);
	}
	cfile_maker_free(f->maker);
	free(f->path);
	memset(f, 0, sizeof(*f));
}
