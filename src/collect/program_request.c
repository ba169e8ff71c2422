/* SPDX-License-Identifier: MIT */
/* program_request.c - ask a running program to attach: find its request blocks and write orders. */
#include "collect/program_request.h"

#include <corotracer/atomic.h>
#include <corotracer/ctp.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/region_list.h"
#include "process/elf_notes.h"
#include "process/process_maps.h"

/* ---- find the blocks ------------------------------------------------------ */

bool request_block_valid(const struct ctp_request *block)
{
	return block->magic == CTP_REQUEST_MAGIC && block->version == CTP_REQUEST_VERSION &&
	       block->size >= sizeof(*block) && block->size <= 65536;
}

static bool request_read_block(struct program_request *p, uint64_t address, struct ctp_request *out)
{
	struct err ignored;

	return target_read(&p->target, address, out, sizeof(*out), &ignored) == 0 &&
	       request_block_valid(out);
}

static void request_add_block(struct program_request *p, uint64_t address)
{
	size_t i;

	for (i = 0; i < p->nr_blocks; i++) {
		if (p->blocks[i].address == address)
			return;
	}
	if (p->nr_blocks < REQUEST_BLOCKS)
		p->blocks[p->nr_blocks++] = (struct request_block){ .address = address };
}

static bool request_take_note(void *ctx, const struct elf_note *note)
{
	struct program_request *p = ctx;
	struct ctp_request block;
	struct { /* a struct ctp_anchor, with an address of the program */
		uint64_t magic, request;
	} anchor;
	struct err ignored;
	int64_t distance;

	if (strcmp(note->name, CTP_NOTE_NAME) != 0 || note->type != CTP_NOTE_REQUEST ||
	    note->size != sizeof(distance))
		return true;
	memcpy(&distance, note->desc, sizeof(distance));
	if (target_read(&p->target, note->address + (uint64_t)distance, &anchor, sizeof(anchor),
			&ignored) == 0 &&
	    anchor.magic == CTP_ANCHOR_MAGIC && request_read_block(p, anchor.request, &block))
		request_add_block(p, anchor.request);
	return p->nr_blocks < REQUEST_BLOCKS;
}

static int request_find_blocks(struct program_request *p, struct err *err)
{
	char name[32];
	int rc = elf_notes_each(&p->target, request_take_note, p, err);

	if (rc < 0)
		return rc;
	if (p->target.by_ptrace)
		return err_set(err, -EPERM,
			       "process_vm_readv(2) is not allowed here: cannot ask process %d",
			       (int)p->target.pid);
	if (p->nr_blocks)
		return 0;
	err_set(err, -ENOENT, "process %d (%s) contains no corotracer SDK that can be asked",
		(int)p->target.pid, target_name(p->target.pid, name));
	err_hint(err,
		 "build it with the SDK of this version, or start it with 'corotracer run --'");
	return err->code;
}

/* ---- another collector ---------------------------------------------------- */

/* The file that is mapped at @address, opened through the root of the process; -1: not possible. */
static int request_open_mapped(struct program_request *p, uint64_t address)
{
	struct process_maps maps;
	const struct process_map *map;
	struct stat st;
	char *path = NULL;
	int fd = -1;

	if (process_maps_read(p->target.pid, &maps) < 0)
		return -1;
	map = process_maps_find(&maps, address);
	if (map && map->path && map->path[0] == '/' && !map->deleted &&
	    asprintf(&path, "/proc/%d/root%s", (int)p->target.pid, map->path) >= 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != map->inode)) {
		close(fd);
		fd = -1;
	}
	free(path);
	process_maps_free(&maps);
	return fd;
}

/*
 * True if the collector of the region at @region still runs.  It holds a lock on the file; if the
 * file cannot be opened, it was removed, and the collector is at its end or another user's.
 */
static bool request_has_collector(struct program_request *p, uint64_t region, uint32_t pid)
{
	int fd = request_open_mapped(p, region);
	bool runs;

	if (fd < 0)
		return false;
	runs = region_is_live(fd) && pid;
	close(fd);
	return runs;
}

/* The collector is gone: the program detaches at its next event, and then finds the order. */
static void request_release(struct program_request *p, uint64_t region)
{
	uint64_t ext = region + CTP_EXT_HEADER_OFFSET;
	uint32_t gone = CTP_DETACH_GONE, one = 1;
	struct err ignored;

	target_write(&p->target, ext + offsetof(struct ctp_ext_header, detach), &gone, sizeof(gone),
		     &ignored);
	target_write(&p->target, ext + offsetof(struct ctp_ext_header, sleeping), &one, sizeof(one),
		     &ignored);
}

/* Attached by this process, not by the one that it was forked from. */
static bool request_is_attached(const struct program_request *p, const struct ctp_request *block)
{
	return block->state == CTP_REQUEST_ATTACHED && block->pid == p->owner.inner;
}

static int request_refuse_second(struct program_request *p, struct err *err)
{
	struct ctp_ext_header ext;
	struct ctp_request block;
	struct err ignored;
	size_t i;

	for (i = 0; i < p->nr_blocks; i++) {
		if (!request_read_block(p, p->blocks[i].address, &block) ||
		    !request_is_attached(p, &block) ||
		    target_read(&p->target, block.region + CTP_EXT_HEADER_OFFSET, &ext, sizeof(ext),
				&ignored) < 0 ||
		    ext.magic != CTP_EXT_MAGIC)
			continue;
		if (!request_has_collector(p, block.region, ext.collector_pid)) {
			request_release(p, block.region);
			continue;
		}
		err_set(err, -EBUSY, "process %d is traced by another collector, process %u",
			(int)p->target.pid, ext.collector_pid);
		err_hint(err, "end that one first: kill -INT %u", ext.collector_pid);
		return err->code;
	}
	return 0;
}

/* A process that ended meanwhile fails anywhere: its end is the reason. */
static void request_give_up(struct program_request *p, struct err *err)
{
	pid_t pid = p->target.pid;

	if (!target_alive(&p->target) || target_is_leaving(&p->target))
		err_set(err, -ESRCH, "process %d has ended", (int)pid);
	request_close(p);
}

int request_open(struct program_request *p, pid_t pid, struct err *err)
{
	memset(p, 0, sizeof(*p));
	p->target.pidfd = -1;
	if (target_open(&p->target, pid, err) < 0)
		return err->code;
	if (elf_check_machine(pid, err) < 0 || file_owner_of(pid, &p->owner, err) < 0 ||
	    request_find_blocks(p, err) < 0 || request_refuse_second(p, err) < 0)
		request_give_up(p, err);
	return p->target.pid ? 0 : err->code;
}

bool request_peek(pid_t pid, uint32_t *why, uint64_t *address)
{
	struct program_request p = { 0 };
	struct err ignored = { 0 };
	struct ctp_request block;
	bool is_idle = false;
	size_t i;

	*why = 0;
	*address = 0;
	if (target_open(&p.target, pid, &ignored) < 0)
		return false;
	elf_notes_each(&p.target, request_take_note, &p, &ignored);
	for (i = 0; i < p.nr_blocks; i++) {
		if (!request_read_block(&p, p.blocks[i].address, &block))
			continue;
		is_idle = block.state != CTP_REQUEST_ATTACHED;
		if (!is_idle)
			break;
		if (*address && *why > CTP_WHY_ATTACHED)
			continue;
		*why = block.why;
		*address = p.blocks[i].address;
	}
	target_close(&p.target);
	return is_idle;
}

bool request_peek_again(pid_t pid, uint64_t address, uint32_t *why)
{
	struct ctp_request block;
	struct iovec here = { .iov_base = &block, .iov_len = sizeof(block) };
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = sizeof(block) };

	/* Not target_read(), which may stop the process. */
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(block) ||
	    !request_block_valid(&block))
		return false;
	*why = block.why;
	return true;
}

void request_close(struct program_request *p)
{
	target_close(&p->target);
	memset(p, 0, sizeof(*p));
	p->target.pidfd = -1;
}

/* ---- orders --------------------------------------------------------------- */

static int request_write_order(struct program_request *p, struct request_block *b,
			       struct ctp_order *order, struct err *err)
{
	uint64_t at = b->address + offsetof(struct ctp_request, order);
	uint32_t open = 1;

	order->check = ctp_order_sum(order);
	if (target_write(&p->target, at, order, sizeof(*order), err) < 0)
		return err->code;
	/*
	 * (ctp-Q) pairs with the fence in ctp_gate_close(): the order is in memory before the gate
	 * is opened.
	 */
	ctp_fence_full();
	return target_write(&p->target, b->address + offsetof(struct ctp_request, gate), &open,
			    sizeof(open), err);
}

int request_send(struct program_request *p, const char *shm, const char *sock, uint32_t stations,
		 struct err *err)
{
	struct ctp_order order = { .stations = stations };
	struct ctp_request block;
	size_t i;

	if (strlen(shm) >= sizeof(order.shm) || strlen(sock) >= sizeof(order.sock))
		return err_set(err, -ENAMETOOLONG, "the path of the region is too long: '%s'", shm);
	memcpy(order.shm, shm, strlen(shm));
	memcpy(order.sock, sock, strlen(sock));
	for (i = 0; i < p->nr_blocks; i++) {
		/* The program may have handled an order with any number. */
		order.number = clock_now_ns() | 1;
		if (!request_read_block(p, p->blocks[i].address, &block))
			continue;
		if (order.number == block.handled)
			order.number += 2;
		if (request_write_order(p, &p->blocks[i], &order, err) < 0)
			return err->code;
		p->blocks[i].number = order.number;
	}
	return 0;
}

void request_withdraw(struct program_request *p)
{
	struct ctp_request block;
	struct err ignored;
	size_t i;

	for (i = 0; i < p->nr_blocks; i++) {
		struct request_block *b = &p->blocks[i];

		if (!b->number || !request_read_block(p, b->address, &block) ||
		    block.handled == b->number || block.order.number != b->number)
			continue;
		/* An order that was handled already: the next event closes the gate. */
		block.order.number = block.handled;
		request_write_order(p, b, &block.order, &ignored);
	}
}

/* ---- look ----------------------------------------------------------------- */

static void request_look_at(struct program_request *p, struct request_block *b, unsigned *pending,
			    unsigned *attached, unsigned *left, unsigned *gone)
{
	struct ctp_request block;

	if (!request_read_block(p, b->address, &block)) {
		(*gone)++;
	} else if (block.handled != b->number) {
		(*pending)++;
	} else if (request_is_attached(p, &block)) {
		b->attached = true;
		(*attached)++;
	} else if (block.result) {
		b->result = block.result;
	} else {
		(*left)++;
	}
}

/* By what the blocks say; @pending, @attached, @left: their number. */
static enum request_state request_judge(unsigned pending, unsigned attached, unsigned left)
{
	if (attached)
		return REQUEST_ATTACHED;
	if (left)
		return REQUEST_LEFT;
	return pending ? REQUEST_PENDING : REQUEST_FAILED;
}

enum request_state request_look(struct program_request *p)
{
	unsigned pending = 0, attached = 0, left = 0, gone = 0;
	size_t i;

	if (!target_alive(&p->target))
		return REQUEST_ENDED;
	if (target_replaced(&p->target))
		return REQUEST_REPLACED;
	for (i = 0; i < p->nr_blocks; i++)
		request_look_at(p, &p->blocks[i], &pending, &attached, &left, &gone);
	if (gone < p->nr_blocks)
		return p->seen = request_judge(pending, attached, left);
	/* Blocks that cannot be read say nothing new until it has ended. */
	if (target_is_leaving(&p->target))
		return target_alive(&p->target) ? p->seen : REQUEST_ENDED;
	return target_alive(&p->target) ? REQUEST_REPLACED : REQUEST_ENDED;
}

int request_explain(const struct program_request *p, struct err *err)
{
	int why = EPROTO;
	size_t i;

	for (i = 0; i < p->nr_blocks; i++)
		why = p->blocks[i].result ? p->blocks[i].result : why;
	err_set(err, -why, "process %d cannot use the shared memory: %s", (int)p->target.pid,
		strerror(why));
	if (why == ENOMEM)
		err_hint(err, "its address space is limited (ulimit -v): use a smaller --buffer");
	else
		err_hint(err, "name a file that the program can create and open with --shm PATH");
	return err->code;
}
