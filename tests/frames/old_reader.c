/* SPDX-License-Identifier: MIT */
/*
 * old_reader.c - collectors of the existing tool's protocol, and code of --dialect ppt.
 *
 * Such a collector chooses the size of the ring itself, and finds slot 0 and the number of
 * slots in the control block.  Only ppt itself assumes 128 slots after 392 bytes, in a segment
 * of one particular size.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/shm.h>

#include "check.h"
#include "ppt-Old.h"

/* frame f { double d; int n; }: numbers in front and at the back. */
#define FRAME_SIZE ((size_t)24)

struct entry {
	uint32_t ecx, reserved;
	unsigned char attr[112];
};

struct block {
	uint64_t control_blk_sz, data_block_hmem, data_block_hmem_attached, data_block;
	uint64_t data_block_sz, client_flags;
	uint32_t nr_perf_ctrs, reserved;
	struct entry counterdata[3];
};

extern struct {
	int id, reserved;
} _ppt_hmem_Old;

static int make_segment(size_t size, void **map)
{
	int id;

	do {
		id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	} while (id == 0);
	CHECK(id > 0);
	*map = shmat(id, NULL, 0);
	CHECK(*map != (void *)-1); /* NOLINT(performance-no-int-to-ptr) */
	shmctl(id, IPC_RMID, NULL);
	return id;
}

static void set_handle(int id)
{
	__atomic_store_n(&_ppt_hmem_Old.id, id, __ATOMIC_SEQ_CST);
}

static void save(int n)
{
	struct ppt_Old_f f = { .d = n, .n = n };

	ppt_Old_f_save(&f);
}

/* What a collector finds in slot 0 and slot 1 after two frames. */
static void check_frames(const struct block *b, size_t size, uint64_t offset, uint64_t slots)
{
	const unsigned char *slot;
	uint32_t word;
	int i, n;

	CHECK_EQ(b->data_block & 4095, offset & 4095);
	CHECK_EQ(b->data_block_sz, slots);
	CHECK(offset + slots * FRAME_SIZE <= ((size + 4095) & ~(size_t)4095));
	for (i = 0; i < 2; i++) {
		slot = (const unsigned char *)b + offset + (size_t)i * FRAME_SIZE;
		memcpy(&word, slot, 4);
		CHECK_EQ(word, i + 1);
		memcpy(&word, slot + FRAME_SIZE - 4, 4);
		CHECK_EQ(word, i + 1);
		memcpy(&n, slot + offsetof(struct ppt_Old_f, n), 4);
		CHECK_EQ(n, 70 + i);
	}
}

static void attach_to(size_t size, uint64_t block_size, unsigned counters, uint64_t offset,
		      uint64_t slots)
{
	void *map;
	int id = make_segment(size, &map);
	struct block *b = map;

	b->control_blk_sz = block_size;
	b->nr_perf_ctrs = counters;
	set_handle(id);
	save(70);
	save(71);
	CHECK_EQ(_ppt_hmem_Old.id, id);
	CHECK_EQ(b->data_block_hmem_attached, id);
	check_frames(b, size, offset, slots);
	set_handle(0);
	save(72);
	CHECK_EQ(shmdt(map), 0);
}

static size_t behind(size_t block)
{
	return (block + FRAME_SIZE - 1) / FRAME_SIZE * FRAME_SIZE;
}

static void ppt_reads_128_slots_behind_392_bytes(void)
{
	/* No counter, one, three; attrs of 112 and of 136 bytes. */
	attach_to(behind(56) + 128 * FRAME_SIZE, 56, 0, behind(392), 128);
	attach_to(behind(176) + 128 * FRAME_SIZE, 176, 1, behind(392), 128);
	attach_to(behind(416) + 128 * FRAME_SIZE, 416, 3, behind(392), 128);
	attach_to(behind(488) + 128 * FRAME_SIZE, 488, 3, behind(392), 128);
}

static void a_ring_of_any_size_is_used(void)
{
	/* As many slots as fit, rounded down to a power of two. */
	attach_to(416 + 4100 * FRAME_SIZE, 56, 0, behind(392), 4096);
	attach_to(4096, 416, 0, behind(416), 128);
	attach_to(1000, 56, 0, behind(392), 16);
	attach_to((size_t)1 << 20, 488, 0, behind(488), 32768);
	attach_to(((size_t)1 << 20) + 12345, 176, 1, behind(392), 32768);
}

static void refuse(size_t size, uint64_t block_size, unsigned counters)
{
	void *map;
	int id = make_segment(size, &map);
	struct block *b = map;

	b->control_blk_sz = block_size;
	b->nr_perf_ctrs = counters;
	set_handle(id);
	save(1);
	CHECK_EQ(_ppt_hmem_Old.id, 0);
	CHECK_EQ(b->data_block, 0);
	CHECK_EQ(b->client_flags, 0);
	CHECK_EQ(shmdt(map), 0);
}

static void a_segment_without_a_control_block_stays_untouched(void)
{
	refuse(4096, 0, 0);
	refuse(4096, 55, 0);
	refuse(4096, 57, 0);
	refuse(4096, 1000000, 0);
	refuse(4096, 416, 4);
	refuse(4096, UINT64_MAX, UINT32_MAX);
	refuse(48, 0, 0);
	refuse(400, 56, 0);
}

int main(void)
{
	RUN(ppt_reads_128_slots_behind_392_bytes);
	RUN(a_ring_of_any_size_is_used);
	RUN(a_segment_without_a_control_block_stays_untouched);
	return 0;
}
