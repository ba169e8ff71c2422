/* SPDX-License-Identifier: MIT */
/* mem_writer.c - write records to a file in a given format. */
#include "memory/format/mem_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "base/output_file.h"
#include "memory/format/container_file.h"
#include "memory/format/site_predictor.h"
#include "memory/format/raw.h"

#define BUFFER_SIZE (1u << 20)

struct mem_writer {
	struct mem_writer_config config;
	const struct mem_facts *facts;
	char *path;
	bool standard;
	struct outfile target;
	struct err err; /* the first error */
	struct sidecar_missing missing;

	/* raw */
	uint8_t *buf, *out;
	size_t used, out_size;
	ZSTD_CCtx *zstd;

	/* container */
	struct cfile file;
	struct cray_pack *pack;
	struct guess guess;
	uint32_t thread;     /* thread of the last record */
	struct u64map known; /* threads that are in the file's table */
};

/* ---- raw ----------------------------------------------------------------- */

static int mem_writer_put_bytes(struct mem_writer *w, const uint8_t *at, size_t size)
{
	outfile_put(&w->target, at, size);
	return w->target.error ? outfile_settle(&w->target, &w->err) : 0;
}

static int flush_zstd(struct mem_writer *w, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { w->buf, w->used, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { w->out, w->out_size, 0 };

		left = ZSTD_compressStream2(w->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(&w->err, -EIO, "cannot compress '%s': %s", w->path,
				       ZSTD_getErrorName(left));
		if (mem_writer_put_bytes(w, w->out, out.pos) < 0)
			return w->err.code;
	} while (in.pos < in.size || (how == ZSTD_e_end && left > 0));
	return 0;
}

static int flush_raw(struct mem_writer *w, bool last)
{
	int ret = w->zstd ? flush_zstd(w, last ? ZSTD_e_end : ZSTD_e_continue)
			  : mem_writer_put_bytes(w, w->buf, w->used);

	w->used = 0;
	return ret;
}

static int put_raw(struct mem_writer *w, const struct mem_record *r)
{
	w->missing.pcs += mem_is_access(r) && r->pc;
	w->missing.attrs += mem_is_access(r) && r->attr;
	w->missing.marks += r->kind == MEM_MARK;
	w->missing.coroutines += r->kind == MEM_CORO && !mem_is_repeated(r);
	w->missing.gaps += r->kind == MEM_GAP;
	w->missing.allocations += r->kind == MEM_ALLOC;
	w->missing.calls += r->kind == MEM_ENTER && !r->cause;
	if (r->kind == MEM_GAP)
		*(r->cause < CRAY_GAP_SAMPLED ? &w->missing.lost
					      : &w->missing.left_out) += r->value;
	if (!mem_is_raw(r))
		return 0;
	if (w->used + RAW_RECORD_MAX > BUFFER_SIZE && flush_raw(w, false) < 0)
		return w->err.code;
	w->used += raw_encode(w->buf + w->used, r, mem_facts_id(w->facts, r->thread));
	return 0;
}

static int open_raw(struct mem_writer *w)
{
	w->buf = malloc(BUFFER_SIZE);
	if (w->config.format == MEM_FORMAT_RAW_ZSTD) {
		w->out_size = ZSTD_CStreamOutSize();
		w->out = malloc(w->out_size);
		w->zstd = ZSTD_createCCtx();
		if (!w->out || !w->zstd)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, w->config.level);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	}
	return w->buf ? 0 : -ENOMEM;
}

/* The sidecar is written before the trace gets its name: a trace without it would look complete. */
static int close_raw(struct mem_writer *w)
{
	if (!w->err.code && flush_raw(w, true) == 0 && outfile_settle(&w->target, &w->err) == 0 &&
	    !w->standard)
		sidecar_write(w->path, w->facts, &w->missing, &w->err);
	return w->err.code;
}

/* ---- container ----------------------------------------------------------- */

/* Write the thread's table entry before its first block. */
static int know_thread(struct mem_writer *w, uint32_t number)
{
	const struct mem_thread *t = mem_facts_thread(w->facts, number);
	struct cray_thread entry = { .number = number, .id = number };
	uint64_t *known = u64map_at(&w->known, number);

	if (!known)
		return err_set(&w->err, -ENOMEM, "no memory for the threads of '%s'", w->path);
	if (*known)
		return 0;
	*known = 1;
	if (t) {
		entry.id = t->id;
		entry.start_ns = t->start_ns;
		entry.end_ns = t->end_ns;
	}
	cfile_thread(&w->file, &entry, t ? t->name : NULL);
	return 0;
}

static void mem_writer_next_block(struct mem_writer *w, const struct mem_record *r)
{
	cfile_block(&w->file, w->pack);
	cray_pack_begin(w->pack, r->thread, r->order, r->time_ns);
	cray_pack_weight(w->pack, r->weight_256);
	guess_begin(&w->guess);
	w->thread = r->thread;
}

/* Pack a record.  False: it needs a new block. */
static bool pack_record(struct mem_writer *w, const struct mem_record *r)
{
	struct cray_pack *p = w->pack;
	uint64_t ticket = r->has_ticket ? r->order : 0;

	/* Room for a stamp, a thread event and the record. */
	if (cray_pack_room(p) < 4 || p->head.weight_256 != r->weight_256)
		return false;
	if (r->thread != w->thread && !cray_pack_thread(p, r->thread))
		return false;
	w->thread = r->thread;
	if (mem_is_access(r)) {
		uint32_t how = CRAY_HOW(r->tag, r->size, r->attr);

		if (!cray_pack_stamp(p, r->order, r->time_ns))
			return false;
		if (r->pc)
			cray_pack_access(p, r->pc, r->address, how);
		else
			guess_access(&w->guess, p, r->address, how);
		return true;
	}
	if (!cray_pack_stamp(p, ticket ? p->order : r->order, r->time_ns))
		return false;
	switch (r->kind) {
	case MEM_ADD:
		return cray_pack_add(p, r->tag, ticket, r->pc, r->address, r->elem_size,
				     r->elem_count, r->name, r->name_size);
	case MEM_REMOVE:
		return cray_pack_remove(p, r->tag, ticket, r->pc, r->address);
	case MEM_MARK:
		return cray_pack_mark(p, r->value, r->name, r->name_size);
	case MEM_CORO:
		return cray_pack_coroutine(p, r->value, r->cause, r->name, r->name_size);
	case MEM_ALLOC:
		return cray_pack_alloc(p, ticket, r->pc, r->address, r->value, r->stack);
	case MEM_FREE:
		return cray_pack_free(p, ticket, r->pc, r->address);
	case MEM_ENTER:
		return cray_pack_enter(p, r->pc, r->value, r->cause != 0);
	case MEM_EXIT:
		return cray_pack_exit(p, r->value);
	default:
		return cray_pack_gap(p, r->cause, r->value);
	}
}

static int put_container(struct mem_writer *w, const struct mem_record *r)
{
	if (know_thread(w, r->thread) < 0)
		return w->err.code;
	if (!pack_record(w, r)) {
		mem_writer_next_block(w, r);
		pack_record(w, r); /* every record fits into an empty block */
	}
	return w->file.writer->error ? cfile_error(&w->file, &w->err) : 0;
}

static void put_text(struct mem_writer *w, uint16_t key, const char *text)
{
	if (text)
		cfile_fact(&w->file, key, text, strlen(text));
}

static void put_number(struct mem_writer *w, uint16_t key, uint64_t number)
{
	if (number)
		cfile_fact(&w->file, key, &number, sizeof(number));
}

static void put_all_facts(struct mem_writer *w)
{
	const struct mem_facts *facts = w->facts;
	const uint64_t *frames;
	uint32_t number;
	size_t i, nr;

	put_number(w, CRAY_FACT_PID, facts->pid);
	put_number(w, CRAY_FACT_PARENT, facts->parent);
	put_number(w, CRAY_FACT_LINE, facts->line_size);
	put_number(w, CRAY_FACT_PAGE, facts->page_size);
	put_text(w, CRAY_FACT_EXE, facts->exe);
	if (facts->command)
		cfile_fact(&w->file, CRAY_FACT_COMMAND, facts->command, facts->command_size);
	put_text(w, CRAY_FACT_CWD, facts->cwd);
	put_text(w, CRAY_FACT_MACHINE, facts->machine);
	put_text(w, CRAY_FACT_WRITER, facts->writer);
	put_text(w, CRAY_FACT_OPTIONS, facts->options);
	for (i = 0; i < facts->nr_notes; i++)
		put_text(w, CRAY_FACT_NOTE, facts->notes[i]);
	for (i = 0; i < facts->nr_modules; i++)
		cfile_module(&w->file, &facts->modules[i].m, facts->modules[i].path);
	for (i = 0; (nr = stack_table_entry(&facts->stacks, i, &number, &frames)) > 0; i++)
		cray_writer_stack(w->file.writer, number, frames, nr * sizeof(*frames));
}

static int open_container(struct mem_writer *w)
{
	struct cfile_config config = {
		.level = w->config.level,
		.flags = CRAY_ORDERED,
		.start_ns = w->facts->start_ns,
		.start_wall_ns = w->facts->start_wall_ns,
	};
	int fd;

	w->pack = malloc(sizeof(*w->pack));
	if (!w->pack)
		return -ENOMEM;
	cray_pack_init(w->pack);
	cray_pack_begin(w->pack, 0, 0, 0);
	w->pack->head.weight_256 = 0; /* matches no record: the first record starts a new block */
	fd = fcntl(w->target.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return err_errno(&w->err, "cannot write '%s'", w->path);
	if (cfile_open(&w->file, fd, w->path, &config, &w->err) < 0)
		return w->err.code;
	put_all_facts(w);
	return 0;
}

static int close_container(struct mem_writer *w)
{
	const struct mem_facts *f = w->facts;
	uint32_t i;

	cfile_block(&w->file, w->pack);
	for (i = 0; i < MEM_CAUSES; i++) {
		if (f->lost[i])
			cray_writer_lost(w->file.writer, ~0u, i, f->lost[i]);
	}
	if (f->lost_unknown)
		cray_writer_lost(w->file.writer, ~0u, CRAY_GAP_BROKEN, 0);
	return cfile_close(&w->file,
			   f->has_end && f->end.status_known ? (int)(f->end.status & 0xffff) : -1,
			   &w->err);
}

/* ---- both ---------------------------------------------------------------- */

static void writer_free(struct mem_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	outfile_close(&w->target);
	u64map_release(&w->known);
	free(w->buf);
	free(w->out);
	free(w->pack);
	free(w->path);
	free(w);
}

struct mem_writer *mem_writer_open(const char *path, const struct mem_writer_config *config,
				   const struct mem_facts *facts, struct err *err)
{
	struct mem_writer *w = calloc(1, sizeof(*w));
	int ret;

	if (!w || !(w->path = strdup(path))) {
		free(w);
		err_set(err, -ENOMEM, "no memory to write '%s'", path);
		return NULL;
	}
	w->config = *config;
	w->facts = facts;
	w->standard = !strcmp(path, "-");
	if (outfile_open(&w->target, path, err) < 0) {
		writer_free(w);
		return NULL;
	}
	ret = config->format == MEM_FORMAT_CONTAINER ? open_container(w) : open_raw(w);
	if (ret < 0) {
		if (!w->err.code)
			err_set(&w->err, -ENOMEM, "no memory to write '%s'", path);
		*err = w->err;
		writer_free(w);
		return NULL;
	}
	return w;
}

int mem_writer_put(struct mem_writer *w, const struct mem_record *r)
{
	if (w->err.code)
		return w->err.code;
	return w->config.format == MEM_FORMAT_CONTAINER ? put_container(w, r) : put_raw(w, r);
}

const struct sidecar_missing *mem_writer_missing(const struct mem_writer *w)
{
	return &w->missing;
}

int mem_writer_close(struct mem_writer *w, struct err *err)
{
	int ret = w->config.format == MEM_FORMAT_CONTAINER ? close_container(w) : close_raw(w);

	if (ret == 0)
		ret = outfile_commit(&w->target, &w->err);
	outfile_hint(&w->err);
	if (ret < 0)
		*err = w->err;
	writer_free(w);
	return ret;
}
