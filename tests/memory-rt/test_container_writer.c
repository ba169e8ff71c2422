/* SPDX-License-Identifier: MIT */
/*
 * test_container_writer.c - the writer of containers, the newest blocks and the system calls of the
 * memory runtime, with a kernel of the test: writes that are short, are interrupted or fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static struct {
	int write_error;     /* errno of writes; 0: they work */
	unsigned write_from; /* this write fails, from 1, and all after it */
	unsigned fail_once;  /* only that one */
	unsigned nr_writes;
	size_t most; /* bytes of one write; 0: all */
	int cut_error, seek_error;
	unsigned nr_polls, nr_cuts;
	short poll_events;
	int64_t mapped; /* bytes of memory that is not given back */
	unsigned nr_maps, map_from;
	int advice_error;
} kernel;

static int kernel_refuses_write(void)
{
	kernel.nr_writes++;
	if (!kernel.write_error || kernel.nr_writes < kernel.write_from ||
	    (kernel.fail_once && kernel.nr_writes > kernel.write_from))
		return 0;
	errno = kernel.write_error;
	return 1;
}

static ssize_t kernel_writev(int fd, const struct iovec *part, int nr)
{
	int i;

	if (kernel_refuses_write())
		return -1;
	for (i = 0; kernel.most && i < nr; i++) {
		size_t size = part[i].iov_len < kernel.most ? part[i].iov_len : kernel.most;

		if (size)
			return write(fd, part[i].iov_base, size);
	}
	return writev(fd, part, nr);
}

static ssize_t kernel_write(int fd, const void *bytes, size_t size)
{
	if (kernel_refuses_write())
		return -1;
	return write(fd, bytes, kernel.most && kernel.most < size ? kernel.most : size);
}

static int kernel_ftruncate(int fd, off_t size)
{
	kernel.nr_cuts++;
	errno = kernel.cut_error;
	return kernel.cut_error ? -1 : ftruncate(fd, size);
}

static off_t kernel_lseek(int fd, off_t at, int whence)
{
	errno = kernel.seek_error;
	return kernel.seek_error ? -1 : lseek(fd, at, whence);
}

static int kernel_poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	CHECK(nr == 1 && timeout == -1);
	kernel.nr_polls++;
	kernel.poll_events = fds->events;
	return 1;
}

static void *kernel_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (kernel.map_from && ++kernel.nr_maps >= kernel.map_from) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	kernel.mapped += (int64_t)size;
	return mmap(at, size, prot, flags, fd, offset);
}

static int kernel_munmap(void *at, size_t size)
{
	kernel.mapped -= (int64_t)size;
	return munmap(at, size);
}

static int kernel_madvise(void *at, size_t size, int advice)
{
	errno = kernel.advice_error;
	return kernel.advice_error ? -1 : madvise(at, size, advice);
}

#define writev(...)    kernel_writev(__VA_ARGS__)
#define write(...)     kernel_write(__VA_ARGS__)
#define ftruncate(...) kernel_ftruncate(__VA_ARGS__)
#define lseek(...)     kernel_lseek(__VA_ARGS__)
#define poll(...)      kernel_poll(__VA_ARGS__)
#define mmap(...)      kernel_mmap(__VA_ARGS__)
#define munmap(...)    kernel_munmap(__VA_ARGS__)
#define madvise(...)   kernel_madvise(__VA_ARGS__)

#include "../../runtime/memory/sys.c"
#include "../../runtime/memory/block_maker.c"
#include "../../runtime/memory/container_writer.c"
#include "../../runtime/memory/newest_blocks.c"

#undef writev
#undef write
#undef ftruncate
#undef lseek
#undef poll
#undef mmap
#undef munmap
#undef madvise

static struct cray_writer *w;
static int file;
static uint8_t bytes[4 << 20];
static size_t nr_bytes;

static void writer_open(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";

	memset(&kernel, 0, sizeof(kernel));
	file = mkstemp(path);
	CHECK(file >= 0 && unlink(path) == 0);
	w = calloc(1, sizeof(*w));
	CHECK(cray_writer_begin(w, file, 0, 0, 11, 22));
}

static void writer_close(void)
{
	close(file);
	free(w);
}

static void file_read(void)
{
	ssize_t got = pread(file, bytes, sizeof(bytes), 0);

	CHECK(got >= 0 && got < (ssize_t)sizeof(bytes));
	nr_bytes = (size_t)got;
}

/* "TYPE:bytes" of the chunks in the file from @at on, in order; the foot is not a chunk. */
static const char *chunks(void)
{
	static char text[2000];
	size_t at = sizeof(struct cray_file), used = 0;
	struct cray_chunk c;

	file_read();
	text[0] = '\0';
	while (at + sizeof(c) <= nr_bytes && used < 1900) {
		memcpy(&c, bytes + at, sizeof(c));
		if (memcmp(c.magic, CRAY_CHUNK_MAGIC, 8) != 0)
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u=%u:%u",
					 used ? " " : "", c.number, c.type, c.plain);
		at += sizeof(c) + c.head + c.stored;
	}
	return text;
}

static struct cray_maker *a_block(uint32_t thread, uint32_t accesses, size_t size)
{
	static const struct cray_zstd none;
	static struct cray_maker *m;

	if (!m)
		m = cray_maker_new(0, &none);
	m->head = (struct cray_block){ .thread = thread,
				       .nr_records = accesses + 1,
				       .nr_accesses = accesses,
				       .order_first = 5,
				       .time_first_ns = 6,
				       .lost = 3,
				       .left_out = 4 };
	memset(m->plain, 'b', size);
	m->stored = m->plain;
	m->stored_size = m->plain_size = size;
	m->codec = CRAY_CODEC_NONE;
	return m;
}

/* ---- writes ------------------------------------------------------------------------------ */

static void write_something(void)
{
	cray_writer_fact(w, CRAY_FACT_PID, "12345678", 8);
	CHECK(cray_writer_block(w, a_block(1, 10, 1000)));
	CHECK(cray_writer_block(w, a_block(2, 20, 333)));
}

static void short_and_interrupted_writes_go_on(void)
{
	static uint8_t whole[100000];
	size_t size;

	writer_open();
	write_something();
	file_read();
	size = nr_bytes;
	memcpy(whole, bytes, size);
	CHECK_EQ(w->at, size);
	writer_close();
	writer_open();
	kernel.most = 7;
	write_something();
	file_read();
	CHECK(nr_bytes == size && memcmp(bytes, whole, size) == 0);
	CHECK(kernel.nr_writes > size / 7 - 50);
	writer_close();
	writer_open();
	kernel.write_error = EINTR;
	kernel.write_from = kernel.fail_once = 2;
	write_something();
	file_read();
	CHECK(nr_bytes == size && memcmp(bytes, whole, size) == 0);
	CHECK_EQ(kernel.nr_polls, 0);
	writer_close();
	writer_open();
	kernel.write_error = EAGAIN; /* a pipe that is full */
	kernel.write_from = kernel.fail_once = 2;
	write_something();
	file_read();
	CHECK(nr_bytes == size && memcmp(bytes, whole, size) == 0);
	CHECK_EQ(kernel.nr_polls, 1);
	CHECK_EQ(kernel.poll_events, POLLOUT);
	writer_close();
}

static void a_write_that_fails_leaves_no_part_of_a_chunk(void)
{
	uint64_t at;

	writer_open();
	write_something();
	at = w->at;
	kernel.most = 100;
	kernel.nr_writes = 0;
	kernel.write_error = ENOSPC;
	kernel.write_from = 3; /* in the middle of the block */
	CHECK(!cray_writer_block(w, a_block(1, 10, 1000)));
	CHECK_EQ(w->error, ENOSPC);
	CHECK(!w->torn);
	CHECK_EQ(w->at, at);
	CHECK_EQ(w->number, 3);
	file_read();
	CHECK_EQ(nr_bytes, at);
	CHECK_EQ(cray_writer_refuses(w), CRAY_GAP_DISK);
	CHECK_EQ(w->nr_lost, 1);
	CHECK(w->lost[0].thread == 1 && w->lost[0].cause == CRAY_GAP_DISK &&
	      w->lost[0].count == 13);
	CHECK_EQ(w->end.lost, 13 + 6);
	CHECK_EQ(w->end.left_out, 3 * 4);
	CHECK_EQ(w->end.nr_blocks, 2);
	CHECK_EQ(w->end.nr_records, 32);
	CHECK_EQ(w->end.nr_accesses, 30);
	kernel.write_error = 0; /* no more is tried until the tail */
	kernel.nr_writes = 0;
	CHECK(!cray_writer_block(w, a_block(1, 1, 10)));
	CHECK_EQ(kernel.nr_writes, 0);
	CHECK_EQ(w->lost[0].count, 17);
	CHECK(cray_writer_tail(w)); /* which may still fit */
	CHECK_EQ(w->error, ENOSPC);
	CHECK_EQ(w->at, at);
	CHECK_EQ(w->number, 3);
	file_read();
	CHECK_EQ(nr_bytes, w->size);
	CHECK(w->complete);
	writer_close();
}

static void a_part_that_cannot_be_removed_is_known(void)
{
	writer_open();
	write_something();
	kernel.write_error = EIO;
	kernel.cut_error = EINVAL; /* a pipe */
	CHECK(!cray_writer_block(w, a_block(1, 10, 1000)));
	CHECK(w->torn);
	kernel.write_error = 0;
	kernel.nr_writes = kernel.nr_cuts = 0;
	CHECK(!cray_writer_tail(w)); /* it would not be found */
	CHECK(!w->complete);
	CHECK_EQ(kernel.nr_writes, 0);
	CHECK_EQ(kernel.nr_cuts, 0);
	CHECK_EQ(w->error, EIO);
	writer_close();
	writer_open();
	write_something();
	kernel.write_error = EIO;
	kernel.seek_error = EINVAL;
	CHECK(!cray_writer_block(w, a_block(1, 10, 1000)));
	CHECK(w->torn);
	CHECK(!cray_writer_restart(w));
	CHECK_EQ(w->error, EINVAL);
	kernel.seek_error = kernel.write_error = 0;
	CHECK(cray_writer_restart(w));
	CHECK(!w->torn && !w->error);
	writer_close();
}

static void a_file_has_room_for_its_tail_below_the_limit(void)
{
	const uint64_t tail = TAIL_ROOM,
		       size = sizeof(struct cray_chunk) + sizeof(struct cray_block) + 500;
	uint64_t at;

	writer_open();
	at = w->at;
	w->max = at + size + tail;
	CHECK(cray_writer_block(w, a_block(1, 10, 500)));
	CHECK_EQ(w->at, at + size);
	CHECK(!cray_writer_block(w, a_block(1, 10, 1)));
	CHECK(w->capped);
	CHECK_EQ(cray_writer_refuses(w), CRAY_GAP_CAP);
	CHECK(w->lost[0].cause == CRAY_GAP_CAP && w->lost[0].count == 13);
	CHECK(cray_writer_tail(w));
	CHECK(w->capped && w->max == at + size + tail);
	CHECK(w->size <= w->max);
	file_read();
	CHECK_EQ(nr_bytes, w->size);
	writer_close();
	writer_open();
	w->max = w->at + size + tail - 1;
	CHECK(!cray_writer_block(w, a_block(1, 10, 500)));
	w->error = ENOSPC; /* the first reason counts */
	CHECK_EQ(cray_writer_refuses(w), CRAY_GAP_CAP);
	writer_close();
}

/* ---- tails ----------------------------------------------------------------------------------- */

static void the_next_block_overwrites_the_tail(void)
{
	struct cray_index index;
	uint64_t at;

	writer_open();
	write_something();
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 5);
	index = w->index;
	at = w->at;
	CHECK_STR(chunks(), "0=1:16 1=4:1000 2=4:333");
	CHECK(cray_writer_tail(w));
	CHECK_STR(chunks(), "0=1:16 1=4:1000 2=4:333 3=5:16 4=6:80 5=7:64");
	CHECK(w->complete && w->at == at && w->number == 3);
	CHECK_EQ(w->index.nr, 2);
	CHECK(memcmp(&w->index, &index, sizeof(index)) == 0);
	CHECK(w->end.time_ns != 0);
	CHECK(cray_writer_block(w, a_block(3, 1, 9)));
	CHECK(!w->complete);
	CHECK_EQ(w->index.nr, 3);
	CHECK(cray_writer_tail(w));
	CHECK_STR(chunks(), "0=1:16 1=4:1000 2=4:333 3=4:9 4=5:16 5=6:112 6=7:64");
	file_read();
	CHECK_EQ(nr_bytes, w->size);
	kernel.write_error = ENOSPC;
	kernel.nr_writes = 0;
	kernel.write_from = 2;
	at = w->at;
	CHECK(!cray_writer_tail(w));
	CHECK(!w->complete && w->at == at);
	CHECK_EQ(w->error, ENOSPC);
	file_read();
	CHECK_EQ(nr_bytes, at); /* cut: no half of a tail */
	writer_close();
}

static void an_index_chain_names_the_one_before(void)
{
	uint64_t at = 0;
	uint32_t i;

	writer_open();
	for (i = 0; i < CRAY_WRITER_INDEX; i++) {
		CHECK_EQ(w->index.nr, i);
		at = w->at;
		CHECK(cray_writer_block(w, a_block(7, 1, 1)));
	}
	CHECK_EQ(w->index.nr, 0);
	CHECK_EQ(w->index.previous, at + sizeof(struct cray_chunk) + sizeof(struct cray_block) + 1);
	CHECK_EQ(w->entries[1023].offset, at);
	CHECK(w->entries[1023].thread == 7 && w->entries[1023].nr_records == 2);
	CHECK(w->entries[1023].order_first == 5 && w->entries[1023].time_first_ns == 6);
	CHECK_EQ(w->number, CRAY_WRITER_INDEX + 1);
	/* Only the index is lost if it cannot be written. */
	w->index.nr = CRAY_WRITER_INDEX - 1;
	at = w->index.previous;
	kernel.write_error = ENOSPC;
	kernel.nr_writes = 0;
	kernel.write_from = 2;
	CHECK(cray_writer_block(w, a_block(7, 1, 1)));
	CHECK_EQ(w->index.nr, 0);
	CHECK_EQ(w->index.previous, at);
	CHECK_EQ(w->error, ENOSPC);
	writer_close();
}

static void chunks_of_another_file_are_copied(void)
{
	struct cray_chunk chunk = { .type = CRAY_BLOCK, .codec = 1, .stored = 4, .plain = 100 };
	struct cray_block head = { .nr_records = 8, .nr_accesses = 7, .lost = 2, .left_out = 1 };
	struct cray_chunk got;

	writer_open();
	cray_writer_fact(w, CRAY_FACT_PID, "1", 1);
	CHECK(cray_writer_copy(w, &chunk, &head, "abcd"));
	CHECK_EQ(w->end.nr_blocks, 1);
	CHECK(w->end.nr_records == 8 && w->end.nr_accesses == 7);
	CHECK(w->end.lost == 2 && w->end.left_out == 1);
	CHECK_EQ(w->index.nr, 1);
	chunk.type = CRAY_MODULES;
	CHECK(cray_writer_copy(w, &chunk, &head, "efgh"));
	CHECK_EQ(w->end.nr_blocks, 1);
	CHECK_STR(chunks(), "0=1:9 1=4:100 2=2:100");
	memcpy(&got, bytes + nr_bytes - 4 - sizeof(got), sizeof(got));
	CHECK(got.head == 0 && got.codec == 1 && got.stored == 4);
	kernel.write_error = ENOSPC;
	chunk.type = CRAY_BLOCK;
	CHECK(!cray_writer_copy(w, &chunk, &head, "abcd"));
	CHECK_EQ(w->end.nr_blocks, 1);
	cray_writer_fact(w, CRAY_FACT_PID, "1", 1);
	CHECK(!cray_writer_copy(w, &chunk, &head, "abcd"));
	writer_close();
}

static void a_file_may_be_written_again(void)
{
	writer_open();
	w->rewrites = true;
	write_something();
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 5);
	CHECK_EQ(w->facts.used, 16);
	CHECK_EQ(w->facts.written, 16);
	cray_writer_stack(w, 1, "12345678", 8);
	CHECK(cray_writer_flush(w));
	CHECK_STR(chunks(), "0=1:16 1=4:1000 2=4:333 3=8:16");
	CHECK(cray_writer_restart(w));
	CHECK_STR(chunks(), "0=1:16 1=8:16");
	CHECK(w->end.nr_blocks == 0 && w->end.nr_records == 0 && w->end.nr_accesses == 0);
	CHECK_EQ(w->end.lost, 11); /* losses stay */
	CHECK(w->index.nr == 0 && w->index.previous == 0);
	CHECK_EQ(w->number, 2);
	writer_close();
}

/* ---- entries ------------------------------------------------------------------------------------
 */

static void entries_are_whole_or_left_out(void)
{
	static char name[CRAY_NAME_MAX + 2];
	static char big[CRAY_WRITER_QUEUE];
	struct cray_thread t = { .number = 3, .name_size = 99 };
	struct {
		struct cray_module m;
		char path[4];
	} module = { .m = { .path_size = 4 }, .path = "abcd" };
	uint64_t frames[CRAY_FRAMES_MAX + 1] = { 1, 2 };
	uint32_t used;

	writer_open();
	w->facts.used = CRAY_WRITER_QUEUE - 18;
	cray_writer_fact(w, 1, big, 11);
	CHECK_EQ(w->facts.used, CRAY_WRITER_QUEUE - 18);
	cray_writer_fact(w, 1, big, 10);
	CHECK_EQ(w->facts.used, CRAY_WRITER_QUEUE);
	w->facts.used = 0;
	cray_writer_module(w, &module, sizeof(module.m) - 1);
	cray_writer_module(w, &module, sizeof(module.m) + 3);
	CHECK_EQ(w->modules.used, 0);
	cray_writer_module(w, &module, sizeof(module.m) + 4);
	CHECK_EQ(w->modules.used, sizeof(module.m) + 4);
	CHECK_EQ(memcmp(w->modules.bytes + sizeof(module.m), "abcd", 4), 0);
	cray_writer_module(w, &module, sizeof(module.m) + 5); /* more than its path */
	CHECK_EQ(w->modules.used, 2 * (sizeof(module.m) + 4));
	module.m.path_size = 0;
	cray_writer_module(w, &module, sizeof(module.m));
	CHECK_EQ(w->modules.used, 3 * sizeof(module.m) + 8);
	cray_writer_thread(w, &t, NULL);
	CHECK_EQ(w->threads.used, sizeof(t));
	cray_writer_thread(w, &t, "ab");
	CHECK_EQ(w->threads.used, 2 * sizeof(t) + 2);
	memcpy(&t, w->threads.bytes + sizeof(t), sizeof(t));
	CHECK(t.name_size == 2 && t.number == 3);
	memset(name, 'n', CRAY_NAME_MAX + 1);
	used = w->threads.used;
	cray_writer_thread(w, &t, name);
	CHECK_EQ(w->threads.used, used + sizeof(t) + CRAY_NAME_MAX);
	cray_writer_stack(w, 0, frames, 16);
	cray_writer_stack(w, UINT64_C(1) << 32, frames, 16);
	cray_writer_stack(w, 1, frames, sizeof(frames));
	CHECK_EQ(w->stacks.used, 0);
	cray_writer_stack(w, UINT32_MAX, frames, 17);
	CHECK_EQ(w->stacks.used, sizeof(struct cray_stack) + 16);
	cray_writer_stack(w, 1, frames, 8 * CRAY_FRAMES_MAX);
	CHECK_EQ(w->stacks.used, 2 * sizeof(struct cray_stack) + 16 + 8 * CRAY_FRAMES_MAX);
	writer_close();
}

/* Threads and stacks may come for hours before there is a block. */
static void many_entries_are_written_early(void)
{
	static char name[CRAY_NAME_MAX];
	struct cray_thread t = { 0 };
	uint64_t frame = 1;
	uint32_t room;

	writer_open();
	memset(name, 'n', sizeof(name) - 1);
	while (w->threads.used <= CRAY_WRITER_QUEUE / 2 - sizeof(name) - sizeof(t))
		cray_writer_thread(w, &t, name);
	CHECK_EQ(w->number, 0);
	room = CRAY_WRITER_QUEUE / 2 - w->threads.used - (uint32_t)sizeof(t);
	memset(name, 0, sizeof(name));
	memset(name, 'n', room);
	cray_writer_thread(w, &t, name); /* half of it: not yet */
	CHECK_EQ(w->threads.used, CRAY_WRITER_QUEUE / 2);
	CHECK_EQ(w->number, 0);
	cray_writer_thread(w, &t, NULL);
	CHECK_EQ(w->threads.used, 0);
	CHECK_EQ(w->number, 1);
	w->stacks.used = CRAY_WRITER_QUEUE / 2 - 16;
	cray_writer_stack(w, 1, &frame, 8);
	CHECK_EQ(w->number, 1);
	cray_writer_stack(w, 1, &frame, 8);
	CHECK_EQ(w->number, 2);
	CHECK_EQ(w->stacks.used, 0);
	writer_close();
}

static size_t half(void *context, void *to, size_t room, const void *from, size_t size, int level)
{
	(void)context, (void)room, (void)level;
	memcpy(to, from, size / 2);
	return size / 2;
}

static unsigned is_never_error(size_t code)
{
	(void)code;
	return 0;
}

static void large_entries_are_compressed(void)
{
	struct cray_zstd zstd = { .context = &zstd, .compress = half, .is_error = is_never_error };
	static char fact[300];
	struct cray_chunk c;

	writer_open();
	w->maker = cray_maker_new(3, &zstd);
	cray_writer_fact(w, 1, fact, 256 - sizeof(struct cray_fact));
	CHECK(cray_writer_flush(w));
	file_read();
	memcpy(&c, bytes + sizeof(struct cray_file), sizeof(c));
	CHECK(c.codec == CRAY_CODEC_NONE && c.stored == 256 && c.plain == 256);
	cray_writer_fact(w, 1, fact, 257 - sizeof(struct cray_fact));
	CHECK(cray_writer_flush(w));
	file_read();
	memcpy(&c, bytes + sizeof(struct cray_file) + sizeof(c) + 256, sizeof(c));
	CHECK(c.codec == CRAY_CODEC_ZSTD && c.stored == 128 && c.plain == 257);
	CHECK_EQ(c.number, 1);
	cray_maker_free(w->maker);
	writer_close();
}

/* ---- losses -------------------------------------------------------------------------------------
 */

static void losses_have_a_thread_and_a_cause(void)
{
	uint32_t i;

	writer_open();
	CHECK(!cray_writer_lost_unknown(w));
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 5);
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 6);
	CHECK(w->nr_lost == 1 && w->lost[0].count == 11);
	CHECK(!cray_writer_lost_unknown(w));
	cray_writer_lost(w, 2, CRAY_GAP_FULL, 1);
	cray_writer_lost(w, 1, CRAY_GAP_RING, 1);
	CHECK_EQ(w->nr_lost, 3);
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 0); /* beside the known number */
	CHECK(w->nr_lost == 4 && w->lost[3].count == 0 && w->lost[0].count == 11);
	CHECK(cray_writer_lost_unknown(w));
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 0);
	CHECK_EQ(w->nr_lost, 4);
	CHECK(w->end.lost == 13 && w->end.left_out == 0);
	cray_writer_lost(w, 1, CRAY_GAP_SAMPLED, 9);
	CHECK(w->end.lost == 13 && w->end.left_out == 9);
	cray_writer_lost(w, 1, CRAY_GAP_SAMPLED - 1, 2);
	CHECK(w->end.lost == 15 && w->end.left_out == 9);
	/* The last places are for losses without a thread. */
	for (i = w->nr_lost; i < CRAY_WRITER_LOST - 2 * CAUSES; i++)
		cray_writer_lost(w, 100 + i, CRAY_GAP_FULL, 1);
	CHECK_EQ(w->nr_lost, CRAY_WRITER_LOST - 2 * CAUSES);
	CHECK(w->lost[w->nr_lost - 1].thread != ~0u);
	cray_writer_lost(w, 5000, CRAY_GAP_FULL, 3);
	cray_writer_lost(w, 5001, CRAY_GAP_FULL, 4);
	CHECK_EQ(w->nr_lost, CRAY_WRITER_LOST - 2 * CAUSES + 1);
	CHECK(w->lost[w->nr_lost - 1].thread == ~0u && w->lost[w->nr_lost - 1].count == 7);
	cray_writer_lost(w, 1, CRAY_GAP_FULL, 1); /* has its place */
	CHECK_EQ(w->lost[0].count, 12);
	w->nr_lost = CRAY_WRITER_LOST; /* no place at all: the sum counts it */
	i = (uint32_t)w->end.lost;
	memset(w->lost, 0xff, sizeof(w->lost));
	cray_writer_lost(w, 7, CRAY_GAP_FULL, 2);
	CHECK_EQ(w->nr_lost, CRAY_WRITER_LOST);
	CHECK_EQ(w->end.lost, i + 2);
	writer_close();
}

/* ---- the newest blocks
 * ----------------------------------------------------------------------------- */

#define HEAD ((uint64_t)sizeof(struct newest_head))

static void memory_of_the_newest_blocks_is_given_back(void)
{
	struct cray_newest n = { 0 };
	unsigned from;

	writer_open();
	CHECK(cray_newest_open(&n, 100000));
	cray_newest_close(&n);
	CHECK_EQ(kernel.mapped, 0);
	CHECK(!n.kept && !n.seqs && !n.maker && !n.size);
	for (from = 1; from <= 3; from++) {
		kernel.nr_maps = 0;
		kernel.map_from = from;
		CHECK(!cray_newest_open(&n, 100000));
		kernel.map_from = 0;
	}
	CHECK_EQ(kernel.mapped, 0);
	writer_close();
}

static void old_blocks_make_room_for_new_ones(void)
{
	struct cray_newest n = { 0 };
	uint64_t size = 3 * (HEAD + 100);
	uint32_t i;

	writer_open();
	w->rewrites = true;
	CHECK(cray_newest_open(&n, size));
	cray_newest_keep(&n, w, a_block(9, 1, size - HEAD + 1)); /* larger than all */
	CHECK_EQ(n.newest, 0);
	CHECK(w->lost[0].cause == CRAY_GAP_RING && w->lost[0].thread == 9 && w->lost[0].count == 1);
	CHECK_EQ(w->end.lost, 1 + 3);
	CHECK_EQ(w->end.left_out, 4);
	for (i = 0; i < 3; i++)
		cray_newest_keep(&n, w, a_block(i, 10 + i, 100));
	CHECK(n.oldest == 0 && n.newest == size);    /* exactly full */
	cray_newest_keep(&n, w, a_block(3, 13, 90)); /* behind the end and from the start on */
	CHECK_EQ(n.oldest, HEAD + 100);
	CHECK_EQ(w->end.lost, 4 + 10 + 3);
	CHECK_EQ(w->end.left_out, 8);
	cray_newest_keep(&n, w, a_block(2, 14, 100));
	CHECK_EQ(n.oldest, 2 * (HEAD + 100));
	CHECK_EQ(n.newest, size + 2 * HEAD + 190);
	CHECK(cray_newest_complete(&n, w));
	CHECK_STR(chunks(), "0=4:100 1=4:90 2=4:100 3=5:48 4=6:112 5=7:64");
	CHECK(w->end.nr_blocks == 3 && w->end.nr_accesses == 12 + 13 + 14);
	CHECK_EQ(w->end.lost, 4 + 10 + 3 + 11 + 3); /* as before: they count again next time */
	CHECK_EQ(w->end.left_out, 12);
	CHECK(cray_newest_complete(&n, w));
	CHECK_STR(chunks(), "0=4:100 1=4:90 2=4:100 3=5:48 4=6:112 5=7:64");
	cray_newest_keep(&n, w, a_block(0, 1, size - HEAD)); /* the only one */
	CHECK_EQ(n.newest - n.oldest, size);
	CHECK(cray_newest_complete(&n, w));
	CHECK_EQ(w->end.nr_blocks, 1);
	cray_newest_close(&n);
	writer_close();
}

/* The number of a block within its thread, from the file. */
static uint64_t seq_of(size_t at)
{
	struct cray_block b;

	memcpy(&b, bytes + sizeof(struct cray_file) + at + sizeof(struct cray_chunk), sizeof(b));
	return b.thread_seq;
}

static void blocks_of_a_thread_are_numbered_again(void)
{
	const size_t each = sizeof(struct cray_chunk) + sizeof(struct cray_block) + 10;
	static const uint32_t threads[] = { 5, 5, 0, 65535, 65536, 5 };
	static const uint64_t seqs[] = { 0, 1, 0, 0, 77, 2 };
	struct cray_newest n = { 0 };
	size_t i;

	writer_open();
	w->rewrites = true;
	CHECK(cray_newest_open(&n, 100000));
	for (i = 0; i < 6; i++) {
		struct cray_maker *m = a_block(threads[i], 1, 10);

		m->head.thread_seq = 77;
		memset(m->plain, 'a' + (int)i, 10);
		cray_newest_keep(&n, w, m);
	}
	CHECK(cray_newest_complete(&n, w));
	CHECK(cray_newest_complete(&n, w));
	file_read();
	for (i = 0; i < 6; i++) {
		CHECK_EQ(seq_of(i * each), seqs[i]);
		CHECK_EQ(bytes[sizeof(struct cray_file) + (i + 1) * each - 10], 'a' + (int)i);
		CHECK_EQ(bytes[sizeof(struct cray_file) + (i + 1) * each - 1], 'a' + (int)i);
	}
	kernel.write_error = ENOSPC;
	kernel.nr_writes = 0;
	kernel.write_from = kernel.fail_once = 3;
	CHECK(!cray_newest_complete(&n, w));
	kernel.cut_error = EIO;
	kernel.nr_writes = 9;
	CHECK(!cray_newest_complete(&n, w)); /* cannot begin again */
	cray_newest_close(&n);
	writer_close();
}

/* ---- system calls
 * -------------------------------------------------------------------------------- */

static void texts_are_compared_and_cut(void)
{
	char buffer[9];
	struct crt_text t;

	CHECK(crt_equal("", "") && crt_equal("abc", "abc"));
	CHECK(!crt_equal("abc", "ab") && !crt_equal("ab", "abc") && !crt_equal("abd", "abc"));
	CHECK(!crt_equal("", "a") && !crt_equal("a", ""));
	CHECK(crt_length("") == 0 && crt_length("abc") == 3);
	memset(buffer, '#', sizeof(buffer));
	crt_text_init(&t, buffer, 8);
	CHECK_STR(buffer, "");
	crt_text_add(&t, "abcd");
	CHECK_STR(buffer, "abcd");
	crt_text_add(&t, "efgh");
	CHECK_STR(buffer, "abcdefg");
	crt_text_add(&t, "i");
	CHECK_STR(buffer, "abcdefg");
	CHECK_EQ(buffer[8], '#');
}

static void numbers_are_written_with_all_digits(void)
{
	char buffer[100];
	struct crt_text t;

	crt_text_init(&t, buffer, sizeof(buffer));
	crt_text_number(&t, 0);
	crt_text_add(&t, " ");
	crt_text_number(&t, UINT64_MAX);
	crt_text_add(&t, " ");
	crt_text_hex(&t, 0xdeadbeef);
	crt_text_add(&t, " ");
	crt_text_hex(&t, UINT64_MAX);
	CHECK_STR(buffer, "0 18446744073709551615 deadbeef ffffffffffffffff");
}

static void files_are_read_as_far_as_they_fit(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX", out[20];
	int fd = mkstemp(path), next;

	memset(&kernel, 0, sizeof(kernel));
	CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
	close(fd);
	memset(out, '#', sizeof(out));
	CHECK_EQ(crt_read_file(path, out, 11), 10);
	CHECK_STR(out, "0123456789");
	memset(out, '#', sizeof(out));
	CHECK_EQ(crt_read_file(path, out, 10), 9);
	CHECK_STR(out, "012345678");
	CHECK_EQ(out[10], '#');
	CHECK_EQ(crt_read_file(path, out, 1), 0);
	CHECK_STR(out, "");
	out[0] = '#';
	CHECK_EQ(crt_read_file("/nowhere/at/all", out, 5), 0);
	CHECK_STR(out, "");
	CHECK_EQ(unlink(path), 0);
	next = open("/dev/null", O_RDONLY);
	CHECK_EQ(next, fd); /* all are closed */
	close(next);
}

static void bytes_are_written_completely_or_not(void)
{
	char got[20] = "";
	int fds[2];

	memset(&kernel, 0, sizeof(kernel));
	CHECK_EQ(pipe(fds), 0);
	kernel.most = 3;
	kernel.write_error = EINTR;
	kernel.write_from = kernel.fail_once = 2;
	CHECK(crt_write_all(fds[1], "0123456789", 10));
	CHECK_EQ(read(fds[0], got, sizeof(got)), 10);
	CHECK_STR(got, "0123456789");
	CHECK_EQ(kernel.nr_writes, 5);
	memset(&kernel, 0, sizeof(kernel));
	kernel.write_error = EIO;
	CHECK(!crt_write_all(fds[1], "0123456789", 10));
	CHECK_EQ(kernel.nr_writes, 1);
	CHECK(crt_write_all(fds[1], "", 0));
	close(fds[0]);
	close(fds[1]);
}

static void a_message_is_one_line_with_the_process(void)
{
	static char long_text[2000];
	char got[3000] = "", expected[100];
	int fds[2], saved = dup(2);

	memset(&kernel, 0, sizeof(kernel));
	CHECK_EQ(pipe(fds), 0);
	memset(long_text, 'x', sizeof(long_text) - 1);
	dup2(fds[1], 2);
	errno = 12345;
	crt_say("one ", "two", NULL);
	CHECK_EQ(errno, 12345);
	dup2(saved, 2);
	CHECK(read(fds[0], got, sizeof(got)) > 0);
	snprintf(expected, sizeof(expected), "cacheray[%d]: one two\n", (int)getpid());
	CHECK_STR(got, expected);
	memset(got, 0, sizeof(got));
	dup2(fds[1], 2);
	crt_say(long_text, NULL);
	dup2(saved, 2);
	CHECK_EQ(read(fds[0], got, sizeof(got)), 1023);
	CHECK(got[1022] == '\n' && got[1021] == 'x');
	CHECK_EQ(kernel.nr_writes, 2);
	close(saved);
	close(fds[0]);
	close(fds[1]);
}

static void pages_are_made_also_by_old_kernels(void)
{
	const size_t size = 3 * 4096;
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memset(&kernel, 0, sizeof(kernel));
	CHECK(map != MAP_FAILED);
	map[4096] = 'k';
	errno = 12345;
	kernel.advice_error = EINVAL;
	CHECK(crt_fault_in(map, size));
	CHECK_EQ(errno, 12345);
	CHECK_EQ(map[4096], 'k');
	CHECK_EQ(munmap(map + 4096, 4096), 0);
	CHECK(!crt_fault_in(map, size)); /* a page is missing */
	CHECK(crt_fault_in(map, 4096));
	kernel.advice_error = EFAULT; /* there is no room */
	CHECK(!crt_fault_in(map, 4096));
	CHECK_EQ(errno, 12345);
}

static void memory_is_shared_once(void)
{
	void *made = NULL, *first;

	memset(&kernel, 0, sizeof(kernel));
	kernel.map_from = 1;
	errno = 12345;
	CHECK(!crt_memory(4096));
	CHECK_EQ(errno, 12345);
	CHECK(!crt_memory_once(&made, 4096) && !made);
	kernel.map_from = 0;
	first = crt_memory_once(&made, 4096);
	CHECK(first && made == first);
	CHECK(crt_memory_once(&made, 4096) == first);
	CHECK_EQ(kernel.mapped, 4096);
	crt_memory_free(first, 4096);
	crt_memory_free(NULL, 4096);
	CHECK_EQ(kernel.mapped, 0);
}

static void signals_are_off_and_on_again(void)
{
	struct crt_mask m;
	sigset_t now;

	errno = 12345;
	m = crt_signals_off();
	CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	CHECK(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSEGV) == 1);
	errno = 1;
	crt_signals_back(m);
	CHECK_EQ(errno, 12345);
	CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	CHECK_EQ(sigismember(&now, SIGUSR1), 0);
}

static void threads_and_times_are_those_of_the_system(void)
{
	struct timespec ts;
	uint32_t word = 5;
	uint64_t before;

	errno = 12345;
	CHECK(crt_thread_lives((uint32_t)syscall(SYS_gettid)));
	CHECK(!crt_thread_lives(0x3ffffff));  /* no such thread */
	CHECK(crt_thread_lives(CTP_TID_OWN)); /* not a number of the kernel */
	CHECK_EQ(errno, 12345);
	CHECK_EQ(crt_pid(), getpid());
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	before = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	CHECK(crt_now() >= before && crt_now() < before + UINT64_C(60000000000));
	CHECK_EQ(clock_gettime(CLOCK_REALTIME, &ts), 0);
	before = (uint64_t)ts.tv_sec;
	CHECK(crt_wall() / 1000000000u >= before && crt_wall() / 1000000000u < before + 60);
	before = crt_now();
	crt_futex_wait(&word, 4, 60000); /* it has another value: at once */
	CHECK(crt_now() - before < UINT64_C(30000000000));
	before = crt_now();
	crt_futex_wait(&word, 5, 3);
	CHECK(crt_now() - before >= 3000000 && crt_now() - before < UINT64_C(30000000000));
	CHECK_EQ(errno, 12345);
	before = crt_now();
	crt_futex_wait(&word, 5, 1002);
	CHECK(crt_now() - before >= 1002000000);
	crt_futex_wake(&word);
	CHECK_EQ(errno, 12345);
}

int main(void)
{
	RUN(short_and_interrupted_writes_go_on);
	RUN(a_write_that_fails_leaves_no_part_of_a_chunk);
	RUN(a_part_that_cannot_be_removed_is_known);
	RUN(a_file_has_room_for_its_tail_below_the_limit);
	RUN(the_next_block_overwrites_the_tail);
	RUN(an_index_chain_names_the_one_before);
	RUN(chunks_of_another_file_are_copied);
	RUN(a_file_may_be_written_again);
	RUN(entries_are_whole_or_left_out);
	RUN(many_entries_are_written_early);
	RUN(large_entries_are_compressed);
	RUN(losses_have_a_thread_and_a_cause);
	RUN(memory_of_the_newest_blocks_is_given_back);
	RUN(old_blocks_make_room_for_new_ones);
	RUN(blocks_of_a_thread_are_numbered_again);
	RUN(texts_are_compared_and_cut);
	RUN(numbers_are_written_with_all_digits);
	RUN(files_are_read_as_far_as_they_fit);
	RUN(bytes_are_written_completely_or_not);
	RUN(a_message_is_one_line_with_the_process);
	RUN(pages_are_made_also_by_old_kernels);
	RUN(memory_is_shared_once);
	RUN(signals_are_off_and_on_again);
	RUN(threads_and_times_are_those_of_the_system);
	return 0;
}
