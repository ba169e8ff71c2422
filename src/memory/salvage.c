/* SPDX-License-Identifier: MIT */
/*
 * salvage.c - what a program that traced itself had not yet written when it was killed.
 *
 * What overlaps: the program gives a chunk back when its block is in the file, and may die
 * between the two.  Blocks end where chunks end and say until when they reach, so a chunk that
 * began no later than its thread's last block ends is in the file.
 */
#include "memory/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "feed.h"
#include "memory/cfile.h"
#include "memory/walk.h"

/* A thread, as the trace so far knows it. */
struct known {
	uint64_t id, start_ns;
	uint64_t next_seq, reach_ns;
	bool named, has_blocks;
};

struct work {
	const char *path;
	char region_path[128];
	char *new_path;
	void *memory;
	uint64_t size;
	struct crw_region region;
	struct known *known;
	uint32_t nr_known;
	struct cfile file;
	bool open;
	struct cray_pack *pack;
};

/* The rings' file follows from the trace's own. */
static int map_region(struct work *w, const struct stat *trace, struct err *err)
{
	struct stat st;
	const char *wrong;
	int fd;

	snprintf(w->region_path, sizeof(w->region_path), "/dev/shm/cacheray-%u-%llx-%llx",
		 (unsigned)trace->st_uid, (unsigned long long)trace->st_dev,
		 (unsigned long long)trace->st_ino);
	fd = open(w->region_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		err_set(err, -ENOENT, "'%s' has nothing left to recover", w->path);
		err_hint(err, "either it is complete, or the machine was restarted since");
		return -ENOENT;
	}
	if (fd < 0)
		return err_errno(err, "cannot open '%s'", w->region_path);
	if (fstat(fd, &st) != 0 || st.st_size <= 0) {
		close(fd);
		return err_set(err, -EPROTO, "'%s' is empty", w->region_path);
	}
	/* Private: taking chunks writes to it, and it is evidence until we are done. */
	w->size = (uint64_t)st.st_size;
	w->memory = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	close(fd);
	if (w->memory == MAP_FAILED) {
		w->memory = NULL;
		return err_errno(err, "cannot map '%s'", w->region_path);
	}
	wrong = crw_region_open(w->memory, w->size, &w->region);
	return wrong ? err_set(err, -EPROTO, "'%s': %s", w->region_path, wrong) : 0;
}

/* Does the process that writes it still have it? */
static bool in_use(const struct work *w)
{
	char path[64], line[512];
	bool found = false;
	uint32_t i;
	FILE *f;

	for (i = 0; !found && i < w->region.nr_processes; i++) {
		snprintf(path, sizeof(path), "/proc/%u/maps", w->region.processes[i].pid);
		f = w->region.processes[i].pid ? fopen(path, "re") : NULL;
		while (f && !found && fgets(line, sizeof(line), f))
			found = strstr(line, w->region_path) != NULL;
		if (f)
			fclose(f);
	}
	return found;
}

/* The thread of that number, made if it is new; NULL: no memory, or no such number. */
static struct known *known_at(struct work *w, uint32_t number)
{
	struct known *more;

	if (number >= 1u << 20)
		return NULL;
	if (number >= w->nr_known) {
		more = reallocarray(w->known, number + 1, sizeof(*more));
		if (!more)
			return NULL;
		memset(more + w->nr_known, 0, (number + 1 - w->nr_known) * sizeof(*more));
		w->known = more;
		w->nr_known = number + 1;
	}
	return &w->known[number];
}

static void know_threads(struct work *w, const struct walk_buffer *b)
{
	struct cray_thread t;
	struct known *k;
	size_t at;

	for (at = 0; b->size - at >= sizeof(t); at += sizeof(t) + t.name_size) {
		memcpy(&t, b->data + at, sizeof(t));
		if (t.name_size > b->size - at - sizeof(t))
			return;
		k = known_at(w, t.number);
		if (k) {
			k->id = t.id;
			k->start_ns = t.start_ns;
			k->named = true;
		}
	}
}

static void know_block(struct work *w, const struct cray_block *head)
{
	struct known *k = known_at(w, head->thread);

	if (!k)
		return;
	k->has_blocks = true;
	k->next_seq = head->thread_seq + 1;
	k->reach_ns = head->time_last_ns;
}

/* What the trace has. */
static int copy_old(struct work *w, struct walk *old, struct salvage *out)
{
	struct walk_buffer b = { 0 };
	struct walk_chunk c;

	while (walk_next(old, &c)) {
		if (c.chunk.type == CRAY_INDEX || c.chunk.type == CRAY_END ||
		    !walk_payload(old, &c, &b))
			continue;
		if (c.chunk.type == CRAY_BLOCK) {
			cfile_copy(&w->file, &c.block, b.data, b.size);
			know_block(w, &c.block);
			out->accesses += c.block.nr_accesses;
			continue;
		}
		cfile_chunk(&w->file, c.chunk.type, b.data, b.size);
		if (c.chunk.type == CRAY_THREADS)
			know_threads(w, &b);
	}
	free(b.data);
	return w->file.failed ? -EIO : 0;
}

static void aside(void *context, unsigned code, uint64_t w0, const uint8_t *payload, uint32_t size)
{
	struct work *w = context;

	if (code == CRW_FACT)
		cfile_fact(&w->file, (uint16_t)w0, payload, size);
	else if (size >= sizeof(struct cray_module))
		cfile_chunk(&w->file, CRAY_MODULES, payload, size);
}

/* The number of a slot's thread in the file; a new one if it never got there. */
static uint32_t number_of(struct work *w, const struct crw_slot_view *v)
{
	struct cray_thread t = { .id = v->tid, .start_ns = v->start_ns, .end_ns = v->end_ns };
	uint32_t i;

	for (i = 0; i < w->nr_known; i++) {
		if (w->known[i].named && w->known[i].id == v->tid &&
		    w->known[i].start_ns == v->start_ns)
			return i;
	}
	t.number = i;
	known_at(w, i);
	cfile_thread(&w->file, &t, v->name);
	return i;
}

static void begin(struct work *w, uint32_t number, const struct crw_feed *feed)
{
	cray_pack_begin(w->pack, number, feed->order, feed->time_ns);
	cray_pack_weight(w->pack, feed->weight_256);
}

/* What a slot's ring holds that the file does not. */
static void take_slot(struct work *w, uint32_t index, struct salvage *out)
{
	struct crw_feed feed = { .weight_256 = 256, .aside = aside, .context = w };
	struct crw_cursor cursor = { .hold = 1 };
	struct crw_slot_view v;
	struct crw_taken run;
	struct known k = { 0 };
	uint32_t number, used, rounds = 0;
	uint64_t before = w->file.end.nr_accesses;
	static const uint32_t causes[] = { CRAY_GAP_FULL, CRAY_GAP_SAMPLED, CRAY_GAP_FILTERED };
	bool there = false;
	size_t i;

	crw_slot_look(&w->region, index, &v);
	if (v.state != CRW_LIVE && v.state != CRW_ENDED)
		return;
	number = number_of(w, &v);
	if (number < w->nr_known)
		k = w->known[number];
	cursor.taken = w->region.slots[index].taken;
	cray_pack_init(w->pack);
	w->pack->thread_seq = k.next_seq;
	begin(w, number, &feed);
	while (rounds++ < 4 * w->region.nr_chunks &&
	       crw_take(&w->region, &v, &cursor, UINT32_MAX, true, &run)) {
		if (run.new_chunk)
			there = k.has_blocks && run.head.time_ns <= k.reach_ns;
		if (there) { /* in the file */
			crw_give_back(&w->region, &v, &cursor, run.nr);
			continue;
		}
		used = crw_feed(&feed, w->pack, &run);
		crw_give_back(&w->region, &v, &cursor, used);
		if (used < run.nr || feed.piece_left) {
			cfile_block(&w->file, w->pack);
			begin(w, number, &feed);
		}
	}
	cfile_block(&w->file, w->pack);
	for (i = 0; i < 3; i++) {
		if (!k.has_blocks && crw_untold(&feed, &v, causes[i]))
			cfile_lost(&w->file, causes[i], crw_untold(&feed, &v, causes[i]));
	}
	if (feed.broken + cursor.broken)
		cfile_lost(&w->file, CRAY_GAP_BROKEN, feed.broken + cursor.broken);
	out->threads += w->file.end.nr_accesses > before;
	out->recovered += w->file.end.nr_accesses - before;
}

static int make_new(struct work *w, const struct walk *old, const struct stat *st, struct err *err)
{
	struct cfile_config config = { .level = 1,
				       .start_ns = old->file.start_ns,
				       .start_wall_ns = old->file.start_wall_ns };
	int fd;

	if (asprintf(&w->new_path, "%s.recovering", w->path) < 0) {
		w->new_path = NULL;
		return err_set(err, -ENOMEM, "no memory");
	}
	fd = open(w->new_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777);
	if (fd < 0)
		return err_errno(err, "cannot make '%s'", w->new_path);
	w->pack = malloc(sizeof(*w->pack));
	if (!w->pack) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory");
	}
	if (cfile_open(&w->file, fd, w->new_path, &config, err) < 0)
		return err->code;
	w->open = true;
	return 0;
}

static int salvage(struct work *w, struct walk *old, const struct stat *st, struct salvage *out,
		   struct err *err)
{
	int rc = make_new(w, old, st, err);
	uint32_t i;

	if (rc < 0)
		return rc;
	copy_old(w, old, out);
	for (i = 0; i < w->region.nr_slots; i++)
		take_slot(w, i, out);
	out->accesses += out->recovered;
	w->open = false;
	rc = cfile_close(&w->file, -1, err);
	if (rc < 0)
		return rc;
	if (rename(w->new_path, w->path) != 0)
		return err_errno(err, "cannot replace '%s'", w->path);
	unlink(w->region_path);
	return 0;
}

static void release(struct work *w, bool failed)
{
	struct err ignored = { 0 };

	if (w->open)
		cfile_close(&w->file, -1, &ignored);
	if (failed && w->new_path && w->pack)
		unlink(w->new_path);
	if (w->memory)
		munmap(w->memory, w->size);
	free(w->new_path);
	free(w->known);
	free(w->pack);
}

int salvage_trace(const char *path, struct salvage *out, struct err *err)
{
	struct work *w = calloc(1, sizeof(*w));
	struct mem_faults faults = { 0 };
	struct walk old;
	struct stat st;
	int fd, rc;

	*out = (struct salvage){ 0 };
	if (!w)
		return err_set(err, -ENOMEM, "no memory");
	w->path = path;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		rc = err_errno(err, "cannot open '%s'", path);
		free(w);
		return rc;
	}
	rc = map_region(w, &st, err);
	if (rc == 0 && in_use(w)) {
		rc = err_set(err, -EBUSY, "the program that writes '%s' is still running", path);
		err_hint(err, "it completes its trace when it ends");
	}
	if (rc == 0)
		rc = walk_open(&old, fd, path, &faults, err);
	if (rc == 0) {
		rc = salvage(w, &old, &st, out, err);
		walk_close(&old);
	}
	release(w, rc < 0);
	close(fd);
	free(w);
	return rc;
}
