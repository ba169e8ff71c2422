/* SPDX-License-Identifier: MIT */
/* container_writer.c - write a container: chunks, blocks from packers, index and end. */
#include "memory/format/container_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <zstd.h>

#include "base/monotonic.h"
#include "base/io.h"

#define SMALL 256u /* facts up to this size are not compressed */

static bool cfile_put(struct cfile *f, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0 && !f->failed) {
		ssize_t done = io_write(f->fd, at, size);

		if (done < 0) {
			f->failed = true;
			if (f->err.code) /* keep the first error */
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

/* Write a chunk; on failure truncate the file, because a partial chunk would be corrupt. */
static bool put_whole(struct cfile *f, const struct cray_chunk *chunk, const void *head,
		      const void *stored)
{
	uint64_t start = f->offset;

	if (cfile_put(f, chunk, sizeof(*chunk)) && cfile_put(f, head, chunk->head) &&
	    cfile_put(f, stored, chunk->stored)) {
		f->number++;
		return true;
	}
	/* Best effort: a pipe cannot be truncated. */
	if (ftruncate(f->fd, (off_t)start) == 0 && lseek(f->fd, (off_t)start, SEEK_SET) >= 0) {
		f->offset = start;
		f->taken_back = true;
	}
	return false;
}

static bool write_stored(struct cfile *f, uint16_t type, const void *head, size_t head_size,
			 const void *plain, size_t size, const void *stored, size_t stored_size)
{
	bool is_smaller = stored_size > 0;
	struct cray_chunk chunk;

	cray_chunk_seal(&f->crc, &chunk, type, is_smaller ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE,
			f->number, head, head_size, is_smaller ? stored : plain,
			is_smaller ? stored_size : size, size);
	return put_whole(f, &chunk, head, is_smaller ? stored : plain);
}

static bool write_chunk(struct cfile *f, uint16_t type, const void *plain, size_t size)
{
	struct press_job job = {
		.plain = plain,
		.size = size,
		.stored = f->stored,
		.room = f->stored_room,
		.level = f->level,
	};

	if (f->failed)
		return false;
	if (f->level && size > SMALL)
		press_job_do(&job, f->zstd);
	return write_stored(f, type, NULL, 0, plain, size, f->stored, job.stored_size);
}

/* Allocate the buffers of a job.  False: out of memory. */
static bool job_room(struct cfile *f, struct cfile_job *job)
{
	if (!job->plain)
		job->plain = malloc(CRAY_PACK_PLAIN_MAX);
	if (!job->stored)
		job->stored = malloc(f->stored_room);
	job->press.plain = job->plain;
	job->press.stored = job->stored;
	job->press.room = f->stored_room;
	job->press.level = f->level;
	return job->plain && job->stored;
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
	f->stored = malloc(f->stored_room);
	f->press = config->press;
	cray_crc_init(&f->crc);
	if (!f->path || !f->zstd || !f->stored || !job_room(f, &f->jobs[0])) {
		f->failed = true;
		f->fd = -1;
		cfile_close(f, -1, err);
		close(fd);
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	}
	cray_file_seal(&f->crc, &header, config->level ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE,
		       config->flags, config->start_ns, config->start_wall_ns);
	cfile_put(f, &header, sizeof(header));
	if (f->failed) {
		*err = f->err;
		cfile_close(f, -1, &f->err);
		return err->code;
	}
	return 0;
}

void cfile_chunk(struct cfile *f, uint16_t type, const void *data, size_t size)
{
	if (size > CRAY_PLAIN_MAX)
		return;
	cfile_settle(f);
	write_chunk(f, type, data, size);
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
	if (write_chunk(f, CRAY_INDEX, &index,
			sizeof(index.head) + f->nr_index * sizeof(index.entries[0])))
		f->last_index = at;
	f->nr_index = 0;
}

static void cfile_note_block(struct cfile *f, const struct cray_block *head, uint64_t at)
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

/* The accesses of the block and its gaps are lost. */
static void block_lost(struct cfile *f, const struct cray_block *head)
{
	if (head->nr_accesses + head->lost)
		cfile_lost(f, f->capped ? CRAY_GAP_CAP : CRAY_GAP_DISK,
			   head->nr_accesses + head->lost);
	f->end.left_out += head->left_out;
}

/* Write the oldest block in progress. */
static void cfile_write_block(struct cfile *f)
{
	struct cfile_job *job = &f->jobs[f->first_job];
	uint64_t at = f->offset;

	if (f->press)
		press_wait(f->press, &job->press);
	f->first_job = (f->first_job + 1) % CFILE_JOBS;
	f->nr_jobs--;
	if (!f->failed && write_stored(f, CRAY_BLOCK, &job->head, sizeof(job->head), job->plain,
				       job->press.size, job->stored, job->press.stored_size))
		cfile_note_block(f, &job->head, at);
	else
		block_lost(f, &job->head);
}

void cfile_settle(struct cfile *f)
{
	while (f->nr_jobs)
		cfile_write_block(f);
}

/* The next free job; writes older blocks until there is one. */
static struct cfile_job *cfile_next_job(struct cfile *f)
{
	unsigned most = f->press ? CFILE_JOBS : 1;
	struct cfile_job *job;

	while (f->nr_jobs >= most)
		cfile_write_block(f);
	job = &f->jobs[(f->first_job + f->nr_jobs) % CFILE_JOBS];
	if (job_room(f, job))
		return job;
	/* No memory for another job: reuse the first one. */
	cfile_settle(f);
	f->first_job = 0;
	return &f->jobs[0];
}

void cfile_block(struct cfile *f, struct cray_pack *p)
{
	struct cfile_job *job;

	if (cray_pack_empty(p))
		return;
	job = cfile_next_job(f);
	job->press.size = cray_pack_finish(p, job->plain, &job->head);
	job->press.stored_size = 0;
	if (f->max_size && f->offset >= f->max_size)
		f->capped = true;
	if (f->capped || f->failed) {
		block_lost(f, &job->head);
		return;
	}
	f->nr_jobs++;
	if (f->press) {
		press_give(f->press, &job->press);
		return;
	}
	if (f->level)
		press_job_do(&job->press, f->zstd);
	cfile_write_block(f);
}

void cfile_copy(struct cfile *f, const struct cray_chunk *chunk, const struct cray_block *head,
		const void *stored)
{
	size_t head_size = chunk->type == CRAY_BLOCK ? sizeof(*head) : 0;
	struct cray_chunk copy;
	uint64_t at;

	cfile_settle(f);
	if (f->failed)
		return;
	at = f->offset;
	cray_chunk_seal(&f->crc, &copy, chunk->type, chunk->codec, f->number, head, head_size,
			stored, chunk->stored, chunk->plain);
	if (put_whole(f, &copy, head, stored) && head_size)
		cfile_note_block(f, head, at);
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
		return; /* this fact is lost; records matter more */
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
		memcpy(both + sizeof(head), name, size); /* NOLINT: bytes, not a string */
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
	if (!write_chunk(f, CRAY_END, &f->end, sizeof(f->end)))
		return;
	cray_foot_seal(&f->crc, &foot, f->last_index, at);
	cfile_put(f, &foot, sizeof(foot));
}

int cfile_close(struct cfile *f, int status, struct err *err)
{
	unsigned i;
	int ret;

	cfile_settle(f);
	if (f->failed && f->taken_back) {
		/* The space of the truncated chunk may suffice for the losses and the end. */
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
	for (i = 0; i < CFILE_JOBS; i++) {
		free(f->jobs[i].plain);
		free(f->jobs[i].stored);
	}
	memset(f->jobs, 0, sizeof(f->jobs));
	free(f->stored);
	ret = f->failed ? f->err.code : 0;
	if (ret < 0 && err != &f->err)
		*err = f->err;
	f->fd = -1;
	f->zstd = NULL;
	f->path = NULL;
	f->stored = NULL;
	return ret;
}
