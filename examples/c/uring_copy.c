/* SPDX-License-Identifier: MIT */
/*
 * uring_copy.c - copy a file through io_uring with several copiers, to be traced.
 *
 *	corotracer run -o trace.jsonl -- uring-copy FROM TO
 *
 * A copier is a small state machine: read a block, write it, take the next block.  It is suspended
 * when its operation is submitted (copier_submits()), and resumed by its completion (ring_serve()):
 * this is where any program on io_uring puts the calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <corotracer/corotracer.h>

#define NR_COPIERS 4
#define COPY_SIZE  4096

struct copier {
	struct corotracer_coro trace;
	uint64_t offset;
	unsigned size; /* of the block */
	unsigned done; /* bytes of it that are read, or written */
	int is_writing;
	char block[COPY_SIZE];
};

static struct io_uring ring;
static struct copier copiers[NR_COPIERS];
static int from_fd, to_fd;
static uint64_t next_offset, file_size;
static unsigned nr_running, nr_operations;

static void die_of(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "uring-copy: cannot %s: %s\n", what, strerror(-error));
	exit(error == -ENOSYS || error == -EPERM ? 77 : 1);
}

/* Submit the operation of @c for the rest of its block, and suspend it. */
static void copier_submits(struct copier *c)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	unsigned left = c->size - c->done;

	if (!sqe) /* the ring has an entry for every copier */
		die_of(-EBUSY, "get an entry of the ring");
	if (c->is_writing)
		io_uring_prep_write(sqe, to_fd, c->block + c->done, left, c->offset + c->done);
	else
		io_uring_prep_read(sqe, from_fd, c->block + c->done, left, c->offset + c->done);
	io_uring_sqe_set_data(sqe, c);
	nr_operations++;
	corotracer_await(&c->trace, c->is_writing ? CTP_REASON_IO_WRITE : CTP_REASON_IO_READ,
			 c->is_writing ? to_fd : from_fd);
}

static void copier_takes_block(struct copier *c)
{
	if (next_offset >= file_size) {
		corotracer_done(&c->trace);
		corotracer_end(&c->trace);
		nr_running--;
		return;
	}
	c->offset = next_offset;
	c->size = file_size - next_offset < COPY_SIZE ? (unsigned)(file_size - next_offset)
						      : COPY_SIZE;
	c->done = 0;
	c->is_writing = 0;
	next_offset += c->size;
	copier_submits(c);
}

/* The operation of @c has moved @bytes bytes. */
static void copier_continues(struct copier *c, int bytes)
{
	die_of(bytes, c->is_writing ? "write" : "read");
	if (!bytes)
		die_of(-EIO, "read a file that became shorter");
	c->done += (unsigned)bytes;
	if (c->done < c->size) {
		copier_submits(c);
	} else if (!c->is_writing) {
		c->is_writing = 1;
		c->done = 0;
		copier_submits(c);
	} else {
		copier_takes_block(c);
	}
}

/* Submit what the copiers have prepared, wait for one completion and resume its copier. */
static void ring_serve(void)
{
	struct io_uring_cqe *cqe;
	struct copier *c;
	int result;

	die_of(io_uring_submit(&ring), "submit");
	die_of(io_uring_wait_cqe(&ring, &cqe), "wait for a completion");
	c = io_uring_cqe_get_data(cqe);
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	corotracer_wake_by(&c->trace, NULL, NULL,
			   c->is_writing ? CTP_REASON_IO_WRITE : CTP_REASON_IO_READ,
			   (uint64_t)(c->is_writing ? to_fd : from_fd));
	corotracer_resume(&c->trace);
	copier_continues(c, result);
}

static void files_open(const char *from, const char *to)
{
	struct stat st;

	from_fd = open(from, O_RDONLY | O_CLOEXEC);
	if (from_fd < 0 || fstat(from_fd, &st) < 0)
		die_of(-errno, from);
	to_fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (to_fd < 0)
		die_of(-errno, to);
	file_size = (uint64_t)st.st_size;
}

int main(int argc, char **argv)
{
	char name[32];

	if (argc != 3) {
		fputs("usage: uring-copy FROM TO\n", stderr);
		return 2;
	}
	corotracer_init();
	files_open(argv[1], argv[2]);
	die_of(io_uring_queue_init(NR_COPIERS, &ring, 0), "create a ring");
	for (unsigned i = 0; i < NR_COPIERS; i++) {
		snprintf(name, sizeof(name), "copier %u", i);
		corotracer_spawn(&copiers[i].trace, name, NULL);
		corotracer_resume(&copiers[i].trace);
		nr_running++;
		copier_takes_block(&copiers[i]);
	}
	while (nr_running)
		ring_serve();
	io_uring_queue_exit(&ring);
	printf("%u operations\n", nr_operations);
	return close(to_fd) ? 1 : 0;
}
