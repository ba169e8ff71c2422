/* SPDX-License-Identifier: MIT */
/* live_buffer.c - a buffer in a running process. */
#include "frames/live/live_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <unistd.h>

#include "frames/live/fence.h"
#include "frames/spec/frames_abi.h"
#include "process/process_maps.h"

/* ---- the description ----------------------------------------------------- */

/* Read terminated text at @addr, at most DESC_JSON_MAX bytes; the caller frees it. */
static int live_read_text(struct target *t, uint64_t addr, char **out, size_t *len, struct err *err)
{
	size_t size = 0, used = 0;
	char *text = NULL, *more;

	for (;;) {
		/* Up to the end of a page: the next page may not be mapped. */
		size_t piece = 4096 - (size_t)((addr + used) & 4095);
		ssize_t got;

		if (!text || used + piece > size) {
			size = size ? size * 2 : 16384;
			more = size <= DESC_JSON_MAX ? realloc(text, size) : NULL;
			if (!more) {
				free(text);
				return err_set(err, -E2BIG,
					       "the description of the buffer is over "
					       "%u bytes long",
					       DESC_JSON_MAX / 2);
			}
			text = more;
		}
		got = target_read_some(t, addr + used, text + used, piece);
		if (got <= 0) {
			free(text);
			return target_read(t, addr + used, &piece, 1, err) < 0
				       ? err->code
				       : err_set(err, -EFAULT, "the description has no end");
		}
		more = memchr(text + used, '\0', (size_t)got);
		used = more ? (size_t)(more - text) : used + (size_t)got;
		if (more)
			break;
	}
	*out = text;
	*len = used;
	return 0;
}

static bool live_is_text(struct target *t, uint64_t addr)
{
	char first = 0;

	return target_read_some(t, addr, &first, 1) == 1 && first == '{';
}

/*
 * The symbol is a pointer to the text; a symbol that is the text itself is accepted, too.  In a
 * static position-independent program that is held before its first instruction, the pointer is
 * not relocated yet.
 */
static int find_text(struct target *t, const struct buffer_symbol *place, uint64_t *addr,
		     struct err *err)
{
	uint64_t word;
	int rc = target_read(t, place->json, &word, sizeof(word), err);

	if (rc < 0)
		return rc;
	*addr = (word & 0xff) == '{' ? place->json : word;
	if (!live_is_text(t, *addr) && live_is_text(t, place->bias + word))
		*addr = place->bias + word;
	return 0;
}

static int check_abi(const struct buffer_symbol *place, const struct desc *d, struct err *err)
{
	char *end = NULL;
	unsigned long major = d->abi ? strtoul(d->abi, &end, 10) : 0;

	if (d->abi && end != d->abi && major == PPT_ABI_MAJOR)
		return 0;
	err_set(err, -EPROTO, "buffer '%s' speaks version '%.32s' of the protocol, and we speak %d",
		place->name, d->abi ? d->abi : "?", PPT_ABI_MAJOR);
	err_hint(err, "use the corotracer whose 'generate' made the program's code");
	return -EPROTO;
}

int live_describe(struct target *t, const struct buffer_symbol *place, struct desc *d,
		  struct err *err)
{
	uint64_t addr;
	char *text = NULL, why[sizeof(err->text)];
	size_t len = 0;
	int rc = find_text(t, place, &addr, err);

	if (!rc)
		rc = live_read_text(t, addr, &text, &len, err);
	if (rc < 0)
		return rc;
	rc = desc_from_json(d, text, len, err);
	free(text);
	if (rc < 0) {
		memcpy(why, err->text, sizeof(why));
		return err_set(err, rc, "buffer '%s' of process %d: %.300s", place->name,
			       (int)t->pid, why);
	}
	rc = check_abi(place, d, err);
	/* The front and back numbers are read as aligned words. */
	if (!rc && (d->frame_size % 4 || d->stride % 4))
		rc = err_set(err, -EBADMSG, "buffer '%s': frames of %u bytes are not aligned",
			     place->name, d->frame_size);
	if (rc < 0)
		desc_release(d);
	return rc;
}

/* ---- open ---------------------------------------------------------------- */

/* In a container the program has another pid for itself: the last one of NSpid. */
static pid_t own_pid(pid_t pid)
{
	char path[64], line[256];
	pid_t own = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *last;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t');
		if (last)
			own = (pid_t)strtol(last, NULL, 10);
		break;
	}
	if (file)
		fclose(file);
	return own;
}

int live_open(struct live_buffer *b, pid_t pid, const char *name, struct err *err)
{
	int rc;

	memset(b, 0, sizeof(*b));
	b->target.pidfd = -1;
	rc = target_open(&b->target, pid, err);
	if (rc < 0)
		return rc;
	rc = places_find(&b->target, &b->places, err);
	if (!rc) {
		b->place = places_pick(&b->places, name, pid, err);
		rc = b->place ? live_describe(&b->target, b->place, &b->desc, err) : err->code;
	}
	if (rc < 0)
		live_release(b);
	return rc;
}

void live_release(struct live_buffer *b)
{
	target_close(&b->target);
	places_release(&b->places);
	desc_release(&b->desc);
}

/* ---- handle and owner ---------------------------------------------------- */

int live_get_handle(struct live_buffer *b, int32_t *id, struct err *err)
{
	int rc = target_read(&b->target, b->place->hmem, id, sizeof(*id), err);

	/* (ppt-D) pairs with swap_handle(): the error is stored before the handle is cleared. */
	fence_load_load();
	return rc;
}

int live_set_handle(struct live_buffer *b, int32_t id, struct err *err)
{
	/* (ppt-D) pairs with the load in catch_up_locked(): the control block is filled before. */
	fence_store_store();
	return target_write(&b->target, b->place->hmem, &id, sizeof(id), err);
}

static int get_stat(struct live_buffer *b, int32_t *pid, struct err *err)
{
	return target_read(&b->target, b->place->stat, pid, sizeof(*pid), err);
}

static int set_stat(struct live_buffer *b, int32_t pid, struct err *err)
{
	return target_write(&b->target, b->place->stat, &pid, sizeof(pid), err);
}

bool live_has_other_owner(struct live_buffer *b, pid_t *owner)
{
	struct err ignored = { 0 };
	int32_t pid = 0;

	if (get_stat(b, &pid, &ignored) < 0)
		return false;
	*owner = pid;
	return pid != getpid();
}

pid_t live_owner(struct live_buffer *b)
{
	struct err ignored = { 0 };
	int32_t pid = 0;

	get_stat(b, &pid, &ignored);
	return pid;
}

int live_client_error(struct live_buffer *b)
{
	struct ppt_stat stat = { 0 };
	struct err ignored = { 0 };

	if (!b->desc.extended ||
	    target_read(&b->target, b->place->stat, &stat, sizeof(stat), &ignored) < 0)
		return 0;
	return stat.client_error;
}

/* ---- check the owner ----------------------------------------------------- */

/* A System V segment has its id in place of the inode.  *@known: the mappings could be read. */
static bool live_maps_segment(pid_t pid, int32_t id, bool *known)
{
	struct process_maps maps;
	bool found = false;
	size_t i;

	*known = process_maps_read(pid, &maps) == 0 && maps.nr;
	for (i = 0; i < maps.nr && !found; i++) {
		const struct process_map *map = &maps.list[i];

		found = map->inode == (uint64_t)id && map->path && !strncmp(map->path, "/SYSV", 5);
	}
	process_maps_free(&maps);
	return found;
}

/* A forked child has its parent's handle and owner in its memory until its first save(). */
static bool handle_is_inherited(struct live_buffer *b, int32_t id)
{
	const struct ppt_control *c = shmat(id, NULL, SHM_RDONLY);
	struct shmid_ds ds;
	bool inherited = false;

	if ((intptr_t)c == -1) // NOLINT(performance-no-int-to-ptr)
		return false;
	if (shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_segsz >= sizeof(*c) &&
	    c->magic == PPT_EXT_MAGIC) {
		pid_t client = __atomic_load_n(&c->client_pid, __ATOMIC_RELAXED);

		inherited = client && client != own_pid(b->target.pid);
	}
	shmdt(c);
	return inherited;
}

bool live_owner_works(struct live_buffer *b, pid_t owner)
{
	struct err ignored = { 0 };
	char name[32];
	int32_t id = 0;
	bool known, mapped;

	if (kill(owner, 0) < 0 && errno == ESRCH)
		return false;
	if (live_get_handle(b, &id, &ignored) < 0)
		return true;
	if (id > 0) {
		mapped = live_maps_segment(owner, id, &known);
		return known ? mapped && !(b->desc.extended && handle_is_inherited(b, id)) : true;
	}
	/* No ring yet, or no longer: go by the name. */
	target_name(owner, name);
	return !strcmp(name, "corotracer") || !strcmp(name, "ppt");
}

bool live_is_attached(struct live_buffer *b, pid_t owner)
{
	struct err ignored = { 0 };
	int32_t id = 0;

	return owner && live_get_handle(b, &id, &ignored) == 0 && id > 0 &&
	       live_owner_works(b, owner);
}

static int live_refuse(struct live_buffer *b, pid_t owner, struct err *err)
{
	char name[32];

	err_set(err, -EBUSY, "buffer '%s' of process %d: process %d (%s) is attached already",
		b->place->name, (int)b->target.pid, (int)owner, target_name(owner, name));
	err_hint(err, "end that one, or take over with --force-attach");
	return -EBUSY;
}

/* Serializes two collectors that start at the same time.  The close releases the lock. */
static int lock_target(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

static int claim_locked(struct live_buffer *b, bool force, struct err *err)
{
	int32_t owner = 0, again = 0;
	char name[32];
	int rc = get_stat(b, &owner, err);

	if (rc < 0)
		return rc;
	if (owner && owner != getpid()) {
		bool works = live_owner_works(b, owner);

		if (works && !force)
			return live_refuse(b, owner, err);
		if (works)
			snprintf(b->notice, sizeof(b->notice),
				 "taking over from process %d (%s), as you asked", (int)owner,
				 target_name(owner, name));
		else if (kill(owner, 0) == 0)
			snprintf(b->notice, sizeof(b->notice),
				 "process %d (%s) is not attached here, though it says so; taking "
				 "over",
				 (int)owner, target_name(owner, name));
		else
			snprintf(b->notice, sizeof(b->notice),
				 "its last collector, process %d, went without detaching; taking "
				 "over",
				 (int)owner);
	}
	rc = set_stat(b, getpid(), err);
	if (!rc)
		rc = get_stat(b, &again, err);
	if (!rc && again != getpid())
		return live_refuse(b, again, err);
	b->owned = !rc;
	return rc;
}

int live_claim(struct live_buffer *b, bool force, struct err *err)
{
	int lock = lock_target(b->target.pid), rc;

	rc = claim_locked(b, force, err);
	if (lock >= 0)
		close(lock);
	return rc;
}

void live_unclaim(struct live_buffer *b)
{
	struct err ignored = { 0 };

	if (b->owned && live_owner(b) == getpid())
		set_stat(b, 0, &ignored);
	b->owned = false;
}
