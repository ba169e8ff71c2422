/* SPDX-License-Identifier: MIT */
/* cfile.c - write a container: chunks, blocks from packers, index and end. */
#include "memory/cfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <zstd.h>

#include "base/clock.h"
#include "base/io.h"

#define SMALL 256u /* bytes of facts that are not worth compressing */

static bool put(struct cfile *f, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0 && !f->failed) {
		ssize_t done = io_write(f->fd, at, size);

		if (done < 0) {
			f->failed = true;
			if (f->err.code) /* the first one is the one to tell */
				return false;
			errno = (int)-done;
			err_errno(&f->err, "cannot write '%s'", f->path);
			if (done == -ENOSPC || done == -EDQUOT)
				err_hint(&f->err,
					 "the disk is full; what is in the file can be read");
			else if (done == -EFBIG)
				err_hint(&f->err,
					 "the limit for file sizes is reached ('ulimit -f'); "
					 "what is in the file can be read");
			return false;
		}
		at += done;
		size -= (size_t)done;
		f->offset += (uint64_t)done;
	}
	return !f->failed;
}

/* The half of a chunk that went to the file before the disk was full would be damage. */
static bool put_whole(struct cfile *f, const struct cray_chunk *chunk, const void *head,
		      const void *stored)
{
	uint64_t start = f->offset;

	if (put(f, chunk, sizeof(*chunk)) && put(f, head, chunk->head) &&
	    put(f, stored, chunk->stored)) {
		f->number++;
		return true;
	}
	/* Best effort: of a pipe there is nothing to take back. */
	if (ftruncate(f->fd, (off_t)start) == 0 && lseek(f->fd, (off_t)start, SEEK_SET) >= 0) {
		f->offset = start;
		f->taken_back = true;
	}
	return false;
}

static bool write_chunk(struct cfile *f, uint16_t type, const void *head, size_t head_size,
			const void *plain, size_t size)
{
	const void *stored = plain;
	struct cray_chunk chunk;
	size_t stored_size = size;
	uint8_t codec = CRAY_CODEC_NONE;

	if (f->failed)
		return false;
	if (f->level && (type == CRAY_BLOCK || size > SMALL)) {
		size_t got = ZSTD_compressCCtx(f->zstd, f->stored, f->stored_room, plain, size,
					       f->level);

		if (!ZSTD_isError(got) && got < size) {
			stored = f->stored;
			stored_size = got;
			codec = CRAY_CODEC_ZSTD;
		}
	}
	cray_chunk_seal(&f->crc, &chunk, type, codec, f->number, head, head_size, stored,
			stored_size, size);
	return put_whole(f, &chunk, head, stored);
}

int cfile_open(struct cfile *f, int fd, const char *path, const struct cfile_config *config,
	       struct err *err)
{
	struct cray_file header;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->level = config->level;
	f->max_size = config->max_size;
	f->stored_room = ZSTD_compressBound(CRAY_PLAIN_MAX);
	f->path = strdup(path);
	f->zstd = ZSTD_createCCtx();
	f->plain = malloc(CRAY_PACK_PLAIN_MAX);
	f->stored = malloc(f->stored_room);
	cray_crc_init(&f->crc);
	if (!f->path || !f->zstd || !f->plain || !f->stored) {
		f->failed = true;
		f->fd = -1;
		cfile_close(f, -1, err);
		close(fd);
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	}
	cray_file_seal(&f->crc, &header, config->level ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE,
		       config->flags, config->start_ns, config->start_wall_ns);
	put(f, &header, sizeof(header));
	if (f->failed) {
		*err = f->err;
		cfile_close(f, -1, &f->err);
		return err->code;
	}
	return 0;
}

void cfile_chunk(struct cfile *f, uint16_t type, const void *data, size_t size)
{
	if (size <= CRAY_PLAIN_MAX)
		write_chunk(f, type, NULL, 0, data, size);
}

/* ---- blocks -------------------------------------------------------------- */

static void write_index(struct cfile *f)
{
	struct {
		struct cray_index head;
		struct cray_entry entries[CFILE_INDEX];
	} index = { { f->last_index, f->nr_index }, { { 0 } } };
	uint64_t at = f->offset;

	if (!f->nr_index)
		return;
	memcpy(index.entries, f->index, f->nr_index * sizeof(index.entries[0]));
	if (write_chunk(f, CRAY_INDEX, NULL, 0, &index,
			sizeof(index.head) + f->nr_index * sizeof(index.entries[0])))
		f->last_index = at;
	f->nr_index = 0;
}

static void note_block(struct cfile *f, const struct cray_block *head, uint64_t at)
{
	f->index[f->nr_index++] = (struct cray_entry){
		.offset = at,
		.thread = head->thread,
		.nr_records = head->nr_records,
		.order_first = head->order_first,
		.time_first_ns = head->time_first_ns,
	};
	f->end.nr_blocks++;
	f->end.nr_records += head->nr_records;
	f->end.nr_accesses += head->nr_accesses;
	f->end.lost += head->lost;
	f->end.left_out += head->left_out;
	if (f->nr_index == CFILE_INDEX)
		write_index(f);
}

void cfile_block(struct cfile *f, struct cray_pack *p)
{
	struct cray_block head;
	size_t size;
	uint64_t at = f->offset;

	if (cray_pack_empty(p))
		return;
	size = cray_pack_finish(p, f->plain, &head);
	if (f->max_size && f->offset >= f->max_size)
		f->capped = true;
	if (!f->capped && write_chunk(f, CRAY_BLOCK, &head, sizeof(head), f->plain, size)) {
		note_block(f, &head, at);
		return;
	}
	/* Its gaps are lost with it, and still losses. */
	if (head.nr_accesses + head.lost)
		cfile_lost(f, f->capped ? CRAY_GAP_CAP : CRAY_GAP_DISK,
			   head.nr_accesses + head.lost);
	f->end.left_out += head.left_out;
}

void cfile_copy(struct cfile *f, const struct cray_chunk *chunk, const struct cray_block *head,
		const void *stored)
{
	size_t head_size = chunk->type == CRAY_BLOCK ? sizeof(*head) : 0;
	uint64_t at = f->offset;
	struct cray_chunk copy;

	if (f->failed)
		return;
	cray_chunk_seal(&f->crc, &copy, chunk->type, chunk->codec, f->number, head, head_size,
			stored, chunk->stored, chunk->plain);
	if (put_whole(f, &copy, head, stored) && head_size)
		note_block(f, head, at);
}

/* ---- facts --------------------------------------------------------------- */

void cfile_fact(struct cfile *f, uint16_t key, const void *data, size_t size)
{
	struct cray_fact fact = { .key = key, .size = (uint32_t)size };
	char *both;

	if (size > CRAY_PLAIN_MAX / 2)
		return;
	both = malloc(sizeof(fact) + size);
	if (!both)
		return; /* a fact less; records matter more */
	memcpy(both, &fact, sizeof(fact));
	if (size)
		memcpy(both + sizeof(fact), data, size);
	cfile_chunk(f, CRAY_INFO, both, sizeof(fact) + size);
	free(both);
}

void cfile_thread(struct cfile *f, const struct cray_thread *t, const char *name)
{
	size_t size = name ? strlen(name) : 0;
	struct cray_thread head = *t;
	char *both;

	if (size > CRAY_NAME_MAX)
		size = CRAY_NAME_MAX;
	head.name_size = (uint32_t)size;
	both = malloc(sizeof(head) + size);
	if (!both)
		return;
	memcpy(both, &head, sizeof(head));
	if (size)
		memcpy(both + sizeof(head), name, size); /* NOLINT: no text, so many bytes */
	cfile_chunk(f, CRAY_THREADS, both, sizeof(head) + size);
	free(both);
}

static void fact_text(struct cfile *f, uint16_t key, const char *text)
{
	if (text)
		cfile_fact(f, key, text, strlen(text));
}

static void fact_number(struct cfile *f, uint16_t key, uint64_t number)
{
	if (number)
		cfile_fact(f, key, &number, sizeof(number));
}

static void write_module(struct cfile *f, const struct mem_module *m)
{
	char both[sizeof(m->m) + CRAY_NAME_MAX];
	size_t size = strlen(m->path);
	struct cray_module head = m->m;

	if (size > CRAY_NAME_MAX)
		size = CRAY_NAME_MAX;
	head.path_size = (uint16_t)size;
	memcpy(both, &head, sizeof(head));
	memcpy(both + sizeof(head), m->path, size);
	cfile_chunk(f, CRAY_MODULES, both, sizeof(head) + size);
}

void cfile_facts(struct cfile *f, const struct mem_facts *facts)
{
	size_t i;

	fact_number(f, CRAY_FACT_PID, facts->pid);
	fact_number(f, CRAY_FACT_PARENT, facts->parent);
	fact_number(f, CRAY_FACT_LINE, facts->line_size);
	fact_number(f, CRAY_FACT_PAGE, facts->page_size);
	fact_text(f, CRAY_FACT_EXE, facts->exe);
	if (facts->command)
		cfile_fact(f, CRAY_FACT_COMMAND, facts->command, facts->command_size);
	fact_text(f, CRAY_FACT_CWD, facts->cwd);
	fact_text(f, CRAY_FACT_MACHINE, facts->machine);
	fact_text(f, CRAY_FACT_WRITER, facts->writer);
	fact_text(f, CRAY_FACT_OPTIONS, facts->options);
	for (i = 0; i < facts->nr_notes; i++)
		fact_text(f, CRAY_FACT_NOTE, facts->notes[i]);
	for (i = 0; i < facts->nr_modules; i++)
		write_module(f, &facts->modules[i]);
}

void cfile_lost(struct cfile *f, uint32_t cause, uint64_t count)
{
	f->lost[cause < MEM_CAUSES ? cause : 0] += count;
	f->lost_unknown |= count == 0;
	if (cause < CRAY_GAP_SAMPLED)
		f->end.lost += count;
	else
		f->end.left_out += count;
}

/* ---- the end ------------------------------------------------------------- */

static void write_lost(struct cfile *f)
{
	struct cray_lost lost[MEM_CAUSES + 1];
	uint32_t i, nr = 0;

	for (i = 0; i < MEM_CAUSES; i++) {
		if (f->lost[i])
			lost[nr++] = (struct cray_lost){ ~0u, i, f->lost[i] };
	}
	if (f->lost_unknown)
		lost[nr++] = (struct cray_lost){ ~0u, CRAY_GAP_BROKEN, 0 };
	if (nr)
		cfile_chunk(f, CRAY_LOST, lost, nr * sizeof(lost[0]));
}

static void write_end(struct cfile *f, int status)
{
	struct cray_foot foot;
	uint64_t at;

	write_lost(f);
	write_index(f);
	f->end.time_ns = clock_now_ns();
	f->end.status = status < 0 ? 0 : (uint32_t)status;
	f->end.status_known = status >= 0;
	at = f->offset;
	if (!write_chunk(f, CRAY_END, NULL, 0, &f->end, sizeof(f->end)))
		return;
	cray_foot_seal(&f->crc, &foot, f->last_index, at);
	put(f, &foot, sizeof(foot));
}

int cfile_close(struct cfile *f, int status, struct err *err)
{
	int ret;

	if (f->failed && f->taken_back) {
		/* What the half chunk had taken may be room enough to tell what is missing. */
		f->failed = false;
		write_end(f, status);
		f->failed = true;
	} else if (!f->failed) {
		write_end(f, status);
	}
	if (f->fd >= 0 && close(f->fd) < 0 && !f->failed) {
		err_errno(&f->err, "cannot write '%s'", f->path);
		f->failed = true;
	}
	ZSTD_freeCCtx(f->zstd);
	free(f->path);
	free(f->plain);
	free(f->stored);
	ret = f->failed ? f->err.code : 0;
	if (ret < 0 && err != &f->err)
		*err = f->err;
	f->fd = -1;
	f->zstd = NULL;
	f->path = NULL;
	f->plain = f->stored = NULL;
	return ret;
}
