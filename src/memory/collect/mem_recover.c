/* SPDX-License-Identifier: MIT */
/*
 * mem_recover.c - complete the trace of a program that was killed while it ran alone, or whose
 * collector was killed.
 *
 * The chunks of the trace are copied unchanged; the records of the region follow, a few blocks
 * per thread.  The region has the number of chunks of a ring that are completely in the file; the
 * file may also have the first records of the next chunk.  Every chunk starts with a time stamp,
 * so these records are the ones that the file has of this thread from that time on.
 */
#include "memory/collect/mem_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "ring_pack.h"
#include "memory/collect/left_region.h"
#include "memory/format/container_file.h"
#include "memory/format/mem_reader.h"
#include "memory/format/block_unpack.h"
#include "memory/format/chunk_walk.h"
#include "process/process_maps.h"

/* What the trace already has of a thread. */
struct had {
	uint32_t number;
	uint64_t next_seq;
	uint64_t order, time_ns; /* at the end of its last block */
	bool known;
};

struct mem_recover {
	const char *path;
	int trace_fd, region_fd;
	char region_path[128];
	bool is_left; /* a killed collector left the region; its processes have a trace each */
	struct left_region left;
	uint64_t size;
	void *map;
	struct crw_region region;
	struct mem_reader *reader; /* of the existing trace: facts, times */
	struct cfile file;
	struct outfile target;
	struct u64map seqs; /* thread number to number of its blocks in the trace */
	struct cray_pack *in, *out;
	uint8_t *plain;
	struct unpack unpack;
	struct mem_recovered *result;
	uint32_t next_number;
};

/* ---- the region ---------------------------------------------------------- */

static int no_region(struct mem_recover *r, struct err *err)
{
	err_set(err, -ENOENT, "there is nothing to recover for '%s'", r->path);
	err_hint(err, "a program that ends by itself, or whose 'mem run' was not killed, leaves "
		      "nothing behind; nor does a tmpfs after a restart");
	return err->code;
}

/* Map the region privately: other processes that map it do not see changes made here. */
static int open_region(struct mem_recover *r, struct err *err)
{
	const char *wrong;
	struct stat st;

	if (fstat(r->trace_fd, &st) < 0)
		return err_errno(err, "cannot look at '%s'", r->path);
	snprintf(r->region_path, sizeof(r->region_path), "/dev/shm/cacheray-%u-%llx-%llx",
		 (unsigned)st.st_uid, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	r->region_fd = open(r->region_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (r->region_fd < 0 && left_region_find(&r->left, st.st_dev, st.st_ino)) {
		r->is_left = true;
		snprintf(r->region_path, sizeof(r->region_path), "%s/region", r->left.dir);
		r->region_fd = open(r->region_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (r->region_fd < 0)
		return no_region(r, err);
	if (fstat(r->region_fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return no_region(r, err);
	r->size = (uint64_t)st.st_size;
	r->map = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		      r->region_fd, 0);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return err_errno(err, "cannot map '%s'", r->region_path);
	}
	wrong = crw_region_open(r->map, r->size, &r->region);
	return wrong ? err_set(err, -EPROTO, "'%s': %s", r->region_path, wrong) : 0;
}

/* Of a region with several processes, the slots of the one whose trace is completed. */
static bool mem_recover_is_wanted(const struct mem_recover *r, const struct crw_slot_view *view)
{
	return !r->is_left || view->serial == r->left.serial;
}

/*
 * Fail if the program still runs.  The pid may have been reused: only a process that maps the
 * region counts.
 */
static int still_runs(struct mem_recover *r, struct err *err)
{
	pid_t collector = r->region.header ? (pid_t)r->region.header->consumer_pid : 0;
	struct crw_slot_view view;
	uint32_t i;

	if (r->is_left && process_maps_file(collector, r->region_path)) {
		err_set(err, -EBUSY, "the collector of '%s' still runs (pid %d)", r->path,
			(int)collector);
		err_hint(err, "wait for its end: it completes the trace itself");
		return err->code;
	}
	for (i = 0; i < r->region.nr_slots; i++) {
		crw_slot_look(&r->region, i, &view);
		if (!mem_recover_is_wanted(r, &view))
			continue;
		if (view.state == CRW_LIVE && process_maps_file((pid_t)view.pid, r->region_path)) {
			err_set(err, -EBUSY, "the program that writes '%s' still runs (pid %u)",
				r->path, view.pid);
			err_hint(err, "wait for its end: it completes the trace itself");
			return err->code;
		}
	}
	return 0;
}

/* ---- the existing trace --------------------------------------------------- */

static int copy_trace(struct mem_recover *r, struct err *err)
{
	struct mem_faults ignored = { 0 }; /* the reader reports them */
	struct walk_chunk c;
	struct walk w;
	int ret = 0;

	if (walk_open(&w, r->trace_fd, r->path, &ignored, err) < 0)
		return err->code;
	while (ret == 0 && walk_next(&w, &c)) {
		const uint8_t *stored;
		uint64_t *seq;

		if (c.chunk.type == CRAY_INDEX || c.chunk.type == CRAY_END)
			continue;
		stored = walk_stored(&w, &c);
		if (!stored)
			continue;
		cray_writer_copy(r->file.writer, &c.chunk, &c.block, stored);
		if (c.chunk.type != CRAY_BLOCK)
			continue;
		seq = u64map_at(&r->seqs, c.block.thread);
		if (!seq)
			ret = err_set(err, -ENOMEM, "no memory for the threads of '%s'", r->path);
		else
			*seq = c.block.thread_seq + 1;
		r->result->before += c.block.nr_records;
	}
	walk_close(&w);
	return ret;
}

/* Find the number of the thread in the trace.  False: not in the trace. */
static bool find_thread(const struct mem_recover *r, const struct crw_slot_view *view,
			uint32_t *number)
{
	const struct mem_facts *f = mem_reader_facts(r->reader);
	size_t i;

	for (i = 0; i < f->nr_threads; i++) {
		if (f->threads[i].id == view->tid && f->threads[i].start_ns == view->start_ns) {
			*number = f->threads[i].number;
			return true;
		}
	}
	return false;
}

/* Count the records of thread @number in the trace from @time_ns on. */
static int count_since(struct mem_recover *r, uint32_t number, uint64_t time_ns, uint64_t *count,
		       struct err *err)
{
	struct mem_reader *reader = mem_reader_open(r->path, err);
	const struct mem_record *rec;

	*count = 0;
	if (!reader)
		return err->code;
	while ((rec = mem_reader_next(reader)))
		*count += rec->thread == number && rec->time_ns >= time_ns && !mem_is_repeated(rec);
	mem_reader_close(reader);
	return 0;
}

/* ---- records of the region ------------------------------------------------ */

static void mem_put_record(struct mem_recover *r, uint32_t number, const struct mem_record *rec)
{
	uint64_t ticket = rec->has_ticket ? rec->order : 0;
	struct cray_pack *p = r->out;
	bool fits;

	do {
		fits = cray_pack_room(p) >= 2 && p->head.weight_256 == rec->weight_256;
		if (fits && !(ticket && !mem_is_access(rec)))
			fits = cray_pack_stamp(p, rec->order, rec->time_ns);
		if (fits && mem_is_access(rec))
			cray_pack_access(p, rec->pc, rec->address,
					 CRAY_HOW(rec->tag, rec->size, rec->attr));
		else if (fits && rec->kind == MEM_ADD)
			fits = cray_pack_add(p, rec->tag, ticket, rec->pc, rec->address,
					     rec->elem_size, rec->elem_count, rec->name,
					     rec->name_size);
		else if (fits && rec->kind == MEM_REMOVE)
			fits = cray_pack_remove(p, rec->tag, ticket, rec->pc, rec->address);
		else if (fits && rec->kind == MEM_MARK)
			fits = cray_pack_mark(p, rec->value, rec->name, rec->name_size);
		else if (fits && rec->kind == MEM_GAP)
			fits = cray_pack_gap(p, rec->cause, rec->value);
		else if (fits && rec->kind == MEM_CORO)
			fits = cray_pack_coroutine(p, rec->value, rec->cause, rec->name,
						   rec->name_size);
		else if (fits && rec->kind == MEM_ALLOC)
			fits = cray_pack_alloc(p, ticket, rec->pc, rec->address, rec->value,
					       rec->stack);
		else if (fits && rec->kind == MEM_FREE)
			fits = cray_pack_free(p, ticket, rec->pc, rec->address);
		else if (fits && rec->kind == MEM_ENTER)
			fits = cray_pack_enter(p, rec->pc, rec->value, rec->cause != 0);
		else if (fits && rec->kind == MEM_EXIT)
			fits = cray_pack_exit(p, rec->value);
		if (!fits) {
			cfile_block(&r->file, p);
			cray_pack_begin(p, number, ticket ? rec->order - 1 : rec->order,
					rec->time_ns);
			cray_pack_weight(p, rec->weight_256);
		}
	} while (!fits);
	r->result->records += mem_is_raw(rec);
}

/*
 * Decode the block in r->in and write its records; skip the first *@skip, which the trace already
 * has.
 */
static void pass_on(struct mem_recover *r, uint32_t number, uint64_t *skip)
{
	struct cray_block head;
	struct mem_record rec;
	size_t size;

	if (cray_pack_empty(r->in))
		return;
	size = cray_pack_finish(r->in, r->plain, &head);
	if (!unpack_begin(&r->unpack, &head, false, r->plain, size))
		return;
	while (unpack_next(&r->unpack, &rec)) {
		if (*skip > 0)
			*skip -= !mem_is_repeated(&rec);
		else
			mem_put_record(r, number, &rec);
	}
}

static void mem_aside(void *context, unsigned code, uint64_t key, const uint8_t *payload,
		      uint32_t size)
{
	struct mem_recover *r = context;

	if (code == CRW_FACT)
		cray_writer_fact(r->file.writer, (uint16_t)key, payload, size);
	else if (code == CRW_STACK)
		cray_writer_stack(r->file.writer, key, payload, size);
	else
		cray_writer_module(r->file.writer, payload, size);
}

static void mem_tell_thread(struct mem_recover *r, const struct crw_slot_view *view,
			    uint32_t number)
{
	struct cray_thread t = { .number = number, .id = view->tid, .start_ns = view->start_ns };

	cfile_thread(&r->file, &t, view->name);
}

/* The records of the first chunk of the job that the trace already has. */
static int mem_count_known(struct mem_recover *r, const struct crw_job *job, uint64_t *count,
			   struct err *err)
{
	struct crw_job peek = *job;
	struct crw_taken run;

	if (!crw_take(&r->region, &peek.view, &peek.cursor, UINT32_MAX, true, &run))
		return 0;
	return count_since(r, job->thread, run.head.time_ns, count, err);
}

/* Take all units of one ring, from the first chunk that is not completely in the trace. */
static int mem_take_slot(struct mem_recover *r, const struct crw_slot_view *view, struct err *err)
{
	uint64_t skip = 0, before = r->result->records;
	struct crw_job job;
	uint32_t number;
	bool known, full;

	known = find_thread(r, view, &number);
	if (!known)
		number = r->next_number++;
	crw_job_init(&job, &r->region, view, number);
	job.feed.aside = mem_aside;
	job.feed.context = r;
	job.gone = true;
	job.cursor.taken = __atomic_load_n(&r->region.slots[view->index].taken, __ATOMIC_RELAXED);
	job.end = job.cursor.taken + r->region.nr_chunks + 1;
	if (known && mem_count_known(r, &job, &skip, err) < 0)
		return err->code;
	cray_pack_init(r->out);
	u64map_get(&r->seqs, number, &r->out->thread_seq);
	cray_pack_begin(r->out, number, 0, 0);
	do {
		full = crw_job_pack(&job, r->in);
		pass_on(r, number, &skip);
	} while (full);
	if (r->result->records > before) {
		if (!known)
			mem_tell_thread(r, view, number);
		cfile_block(&r->file, r->out);
		r->result->threads++;
	}
	r->result->broken += job.feed.broken + job.cursor.broken + job.feed.ranges;
	return 0;
}

static int mem_take_all(struct mem_recover *r, struct err *err)
{
	const struct mem_facts *f = mem_reader_facts(r->reader);
	struct crw_slot_view view;
	uint32_t i;
	size_t k;

	for (k = 0; k < f->nr_threads; k++) {
		if (f->threads[k].number >= r->next_number)
			r->next_number = f->threads[k].number + 1;
	}
	for (i = 0; i < r->region.nr_slots; i++) {
		crw_slot_look(&r->region, i, &view);
		if ((view.state == CRW_LIVE || view.state == CRW_ENDED) &&
		    mem_recover_is_wanted(r, &view) && mem_take_slot(r, &view, err) < 0)
			return err->code;
	}
	if (r->result->broken)
		cray_writer_lost(r->file.writer, ~0u, CRAY_GAP_BROKEN, r->result->broken);
	/* The collector returns chunks before they are in the file: some may be in neither. */
	if (r->is_left)
		cray_writer_lost(r->file.writer, ~0u, CRAY_GAP_BROKEN, 0);
	return 0;
}

/* ---- recovery ------------------------------------------------------------- */

static int begin_file(struct mem_recover *r, struct err *err)
{
	const struct mem_facts *f = mem_reader_facts(r->reader);
	struct cfile_config config = {
		.level = 1,
		.flags = f->ordered ? CRAY_ORDERED : 0,
		.start_ns = f->start_ns,
		.start_wall_ns = f->start_wall_ns,
	};
	int fd;

	if (outfile_reserve(&r->target, r->path, err) < 0)
		return err->code;
	fd = fcntl(r->target.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return err_errno(err, "cannot write '%s'", r->path);
	return cfile_open(&r->file, fd, r->path, &config, err);
}

static int recover_to_file(struct mem_recover *r, struct err *err)
{
	static const char note[] = "completed by mem recover: the program or collector was killed";
	struct err ignored = { 0 };
	int ret;

	if (begin_file(r, err) < 0)
		return err->code;
	ret = copy_trace(r, err);
	if (ret == 0)
		ret = mem_take_all(r, err);
	cfile_fact(&r->file, CRAY_FACT_NOTE, note, sizeof(note) - 1);
	if (cfile_close(&r->file, -1, ret < 0 ? &ignored : err) < 0 && ret == 0)
		ret = err->code;
	if (ret == 0)
		ret = outfile_commit(&r->target, err);
	if (ret < 0)
		outfile_hint(err);
	else if (r->is_left)
		left_region_remove(&r->left);
	else
		unlink(r->region_path);
	return ret;
}

static int mem_recover_recover(struct mem_recover *r, struct err *err)
{
	r->trace_fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (r->trace_fd < 0)
		return err_errno(err, "cannot open '%s'", r->path);
	if (open_region(r, err) < 0 || still_runs(r, err) < 0)
		return err->code;
	r->reader = mem_reader_open(r->path, err);
	if (!r->reader)
		return err->code;
	if (mem_reader_format(r->reader) != MEM_FORMAT_CONTAINER)
		return err_set(err, -EPROTO, "'%s' is no container", r->path);
	r->in = malloc(sizeof(*r->in));
	r->out = malloc(sizeof(*r->out));
	r->plain = malloc(CRAY_PACK_PLAIN_MAX);
	if (!r->in || !r->out || !r->plain)
		return err_set(err, -ENOMEM, "no memory to recover '%s'", r->path);
	return recover_to_file(r, err);
}

int mem_recover(const char *path, struct mem_recovered *result, struct err *err)
{
	struct mem_recover r = { .path = path, .trace_fd = -1, .region_fd = -1, .result = result };
	int ret;

	memset(result, 0, sizeof(*result));
	ret = mem_recover_recover(&r, err);
	outfile_close(&r.target);
	mem_reader_close(r.reader);
	unpack_release(&r.unpack);
	u64map_release(&r.seqs);
	free(r.in);
	free(r.out);
	free(r.plain);
	if (r.map)
		munmap(r.map, r.size);
	if (r.region_fd >= 0)
		close(r.region_fd);
	if (r.trace_fd >= 0)
		close(r.trace_fd);
	return ret;
}
