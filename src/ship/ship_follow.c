/* SPDX-License-Identifier: MIT */
/* ship_follow.c - the next whole block of a compact trace that grows or has ended. */
#include "ship/ship_follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static int ship_follow_failed(const struct ship_follow *f, int rc, struct err *err)
{
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory to read '%s'", f->path);
	return err_set(err, rc, "cannot read '%s': %s", f->path, strerror(-rc));
}

/* ---- open ------------------------------------------------------------------------ */

static int ship_follow_check(struct ship_follow *f, struct err *err)
{
	struct compact_file_head head;
	int rc = compact_read_at(f->fd, &head, sizeof(head), 0);

	if (rc < 0)
		return ship_follow_failed(f, rc, err);
	if (rc == 0 || memcmp(head.magic, COMPACT_MAGIC, COMPACT_MAGIC_SIZE) != 0) {
		err_set(err, -EPROTO, "cannot ship '%s': it is not a compact trace (.ct)", f->path);
		err_hint(err, "convert it: corotracer export ct -i %s -o trace.ct", f->path);
		return err->code;
	}
	if (head.crc != compact_crc(&head, offsetof(struct compact_file_head, crc)))
		return err_set(err, -EPROTO, "cannot read '%s': its first %zu bytes are damaged",
			       f->path, sizeof(head));
	if (head.version == COMPACT_VERSION && head.size == sizeof(head))
		return 0;
	err_set(err, -EPROTO, "cannot read '%s': it has format version %u, this tool knows %u",
		f->path, head.version, COMPACT_VERSION);
	err_hint(err, "use the corotracer that wrote it");
	return err->code;
}

int ship_follow_open(struct ship_follow *f, const char *path, bool may_grow, struct err *err)
{
	memset(f, 0, sizeof(*f));
	f->may_grow = may_grow;
	f->scan.at = sizeof(struct compact_file_head);
	f->path = strdup(path);
	f->fd = f->path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (!f->path)
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
	else if (f->fd < 0)
		err_errno(err, "cannot open '%s'", path);
	else if (ship_follow_check(f, err) == 0)
		return 0;
	ship_follow_close(f);
	return err->code;
}

void ship_follow_close(struct ship_follow *f)
{
	if (!f->path)
		return;
	if (f->fd >= 0)
		close(f->fd);
	compact_index_release(&f->index);
	bytes_release(&f->bytes);
	free(f->path);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

void ship_follow_seek(struct ship_follow *f, const struct ship_place *place)
{
	if (!place->offset)
		return;
	f->scan.at = place->offset;
	f->scan.next = f->next = place->next;
	f->transitions = place->transitions;
	f->others = place->others;
}

struct ship_place ship_place_behind(const struct ship_block *block)
{
	const struct compact_block_head *head = &block->head;

	return (struct ship_place){
		.offset = block->offset + sizeof(*head) + head->size,
		.next = head->number + 1,
		.transitions = head->transitions_before + head->transitions,
		.others = head->others_before + head->others,
	};
}

/* ---- find blocks ------------------------------------------------------------------ */

/* Look for blocks behind those that were found.  1: there are some; 0: the end; -EAGAIN; -errno. */
static int ship_follow_look(struct ship_follow *f)
{
	/* The lock first: what was written before it was released is found below. */
	bool grows = f->may_grow && io_is_locked(f->fd);
	struct stat st;
	int rc;

	f->index.nr = f->entry = 0;
	if (fstat(f->fd, &st) < 0)
		return -errno;
	rc = compact_index_scan(&f->index, &f->scan, f->fd, (uint64_t)st.st_size, grows);
	f->damage.places += f->scan.damaged;
	f->scan.damaged = 0;
	if (rc < 0)
		return rc;
	if (f->index.nr)
		return 1;
	f->damage.places += f->scan.torn;
	f->ended = !grows;
	return grows ? -EAGAIN : 0;
}

static uint64_t ship_gap(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Count what is missing in front of @head. */
static void ship_follow_count(struct ship_follow *f, const struct compact_block_head *head)
{
	f->damage.blocks += ship_gap(f->next, head->number);
	f->damage.transitions += ship_gap(f->transitions, head->transitions_before);
	f->damage.others += ship_gap(f->others, head->others_before);
}

static void ship_follow_passed(struct ship_follow *f, const struct compact_block_head *head)
{
	f->next = head->number + 1;
	f->transitions = head->transitions_before + head->transitions;
	f->others = head->others_before + head->others;
}

static void ship_follow_damaged(struct ship_follow *f, const struct compact_block_head *head)
{
	f->damage.places++;
	f->damage.blocks++;
	f->damage.transitions += head->transitions;
	f->damage.others += head->others;
}

int ship_follow_head(struct ship_follow *f, struct ship_block *block, struct err *err)
{
	int rc = 1;

	*block = (struct ship_block){ 0 };
	for (;;) {
		if (f->entry >= f->index.nr)
			rc = f->ended ? 0 : ship_follow_look(f);
		if (rc == -EAGAIN || rc == 0)
			return rc;
		block->offset = rc > 0 ? f->index.entries[f->entry++].offset : 0;
		if (rc > 0)
			rc = compact_read_at(f->fd, &block->head, sizeof(block->head),
					     block->offset);
		if (rc < 0)
			return ship_follow_failed(f, rc, err);
		/* False only if the file was changed since the look. */
		if (rc == 0 || !compact_block_head_is_valid(&block->head)) {
			f->damage.places++;
			rc = 1;
			continue;
		}
		ship_follow_count(f, &block->head);
		if (block->head.type == COMPACT_INDEX)
			continue;
		ship_follow_passed(f, &block->head);
		return 1;
	}
}

/* ---- their bytes ------------------------------------------------------------------ */

int ship_follow_load(struct ship_follow *f, struct ship_block *block, struct err *err)
{
	size_t size = sizeof(block->head) + block->head.size;
	int rc;

	bytes_clear(&f->bytes);
	if (!bytes_more(&f->bytes, size))
		return ship_follow_failed(f, -ENOMEM, err);
	rc = compact_read_at(f->fd, f->bytes.data, size, block->offset);
	if (rc < 0)
		return ship_follow_failed(f, rc, err);
	if (rc == 0 || memcmp(f->bytes.data, &block->head, sizeof(block->head)) != 0 ||
	    compact_crc(f->bytes.data + sizeof(block->head), block->head.size) !=
		    block->head.payload_crc)
		return 0;
	block->data = f->bytes.data;
	block->size = size;
	return 1;
}

int ship_follow_next(struct ship_follow *f, struct ship_block *block, struct err *err)
{
	int rc;

	do {
		rc = ship_follow_head(f, block, err);
		if (rc <= 0)
			return rc;
		rc = ship_follow_load(f, block, err);
		if (rc == 0)
			ship_follow_damaged(f, &block->head);
	} while (rc == 0);
	return rc;
}
