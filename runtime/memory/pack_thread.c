/* SPDX-License-Identifier: MIT */
/* pack_thread.c - a thread that packs and compresses the ring of one source at a time. */
#include "pack_thread.h"

#include <sys/prctl.h>

#include "compress_worker.h"
#include "sys.h"

/* Of a packer.  The consumer sets GIVEN and ENDING, the thread the others. */
enum { PACKER_IDLE, PACKER_GIVEN, PACKER_ENDING, PACKER_ENDED };

static uint64_t packer_note_size(uint32_t size)
{
	return sizeof(struct crw_packer_note) + (size + UINT64_C(7)) / 8 * 8;
}

/*
 * In place of the consumer's function for facts, modules and stacks.  There is always room: a note
 * is smaller than its units, and the notes have as much room as all units of CRW_GATHER chunks.
 */
static void packer_note(void *context, unsigned code, uint64_t w0, const uint8_t *payload,
			uint32_t size)
{
	struct crw_packer *k = context;
	struct crw_packer_note *note = (struct crw_packer_note *)(k->notes + k->notes_used);

	if (k->notes_size - k->notes_used < packer_note_size(size))
		return;
	*note = (struct crw_packer_note){ .w0 = w0, .code = code, .size = size };
	__builtin_memcpy(note + 1, payload, size);
	k->notes_used += packer_note_size(size);
}

const struct crw_packer_note *crw_packer_next_note(const struct crw_packer *k, uint64_t *at)
{
	const struct crw_packer_note *note = (const struct crw_packer_note *)(k->notes + *at);

	if (*at >= k->notes_used)
		return NULL;
	*at += packer_note_size(note->size);
	return note;
}

static bool packer_hurries(const struct crw_packer *k)
{
	const struct crw_slot *slot = &k->job->region->slots[k->job->view.index];

	return k->hurry && __atomic_load_n(&slot->waiting, __ATOMIC_RELAXED) != 0;
}

static void packer_work(struct crw_packer *k)
{
	void (*aside)(void *, unsigned, uint64_t, const uint8_t *, uint32_t) = k->job->feed.aside;
	void *context = k->job->feed.context;
	struct cray_maker *m;

	k->job->feed.aside = packer_note;
	k->job->feed.context = k;
	k->nr = 0;
	k->notes_used = 0;
	do {
		k->more = crw_job_pack(k->job, k->pack);
		if (cray_pack_empty(k->pack))
			continue;
		m = k->makers[k->nr++];
		cray_maker_finish(m, k->pack, packer_hurries(k));
		cray_maker_press(m);
	} while (k->more && k->nr < CRW_PACKER_BLOCKS);
	k->job->feed.aside = aside;
	k->job->feed.context = context;
}

static void packer_set(struct crw_packer *k, uint32_t state)
{
	/* (mem-L) pairs with the acquire in packer_run() and crw_packer_done(). */
	__atomic_store_n(&k->state, state, __ATOMIC_RELEASE);
	crt_futex_wake(&k->state);
}

static void *packer_run(void *argument)
{
	struct crw_packer *k = argument;
	uint32_t state;

	prctl(PR_SET_NAME, "cacheray-pack", 0, 0, 0);
	for (;;) {
		/* (mem-L) pairs with the release in packer_set(): the job is visible. */
		state = __atomic_load_n(&k->state, __ATOMIC_ACQUIRE);
		if (state == PACKER_ENDING)
			break;
		if (state != PACKER_GIVEN) {
			crt_futex_wait(&k->state, state, 1000);
			continue;
		}
		packer_work(k);
		packer_set(k, PACKER_IDLE);
		/* The consumer may sleep until a thread of a program rings. */
		__atomic_fetch_add(k->bell, 1, __ATOMIC_RELAXED);
		crt_futex_wake(k->bell);
	}
	packer_set(k, PACKER_ENDED);
	return NULL;
}

bool crw_packer_give(struct crw_packer *k, struct crw_job *job, bool hurry)
{
	if (!k->runs)
		k->runs = crt_start_thread(packer_run, k);
	if (!k->runs)
		return false;
	k->job = job;
	k->hurry = hurry;
	packer_set(k, PACKER_GIVEN);
	return true;
}

bool crw_packer_done(struct crw_packer *k, bool wait)
{
	/* (mem-L) pairs with the release in packer_set(): the blocks are visible. */
	while (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == PACKER_GIVEN) {
		if (!wait)
			return false;
		crt_futex_wait(&k->state, PACKER_GIVEN, 1000);
	}
	return true;
}

bool crw_packer_open(struct crw_packer *k, const struct crw_region *r,
		     struct cray_maker *(*maker_new)(int level), int level)
{
	bool good;
	uint32_t i;

	*k = (struct crw_packer){ .bell = &r->header->bell,
				  .notes_size = (uint64_t)r->chunk_size / 2 * CRW_GATHER };
	k->pack = crt_memory(sizeof(*k->pack));
	k->notes = crt_memory(k->notes_size);
	good = k->pack && k->notes;
	for (i = 0; i < CRW_PACKER_BLOCKS; i++) {
		k->makers[i] = maker_new(level);
		good = good && k->makers[i];
	}
	return good;
}

void crw_packer_close(struct crw_packer *k, void (*maker_free)(struct cray_maker *m))
{
	uint32_t i;

	if (k->runs && crw_packer_done(k, true)) {
		packer_set(k, PACKER_ENDING);
		/* (mem-L) pairs with the release in packer_set(): the thread uses nothing more. */
		while (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) != PACKER_ENDED)
			crt_futex_wait(&k->state, PACKER_ENDING, 1000);
	}
	for (i = 0; i < CRW_PACKER_BLOCKS; i++) {
		if (k->makers[i])
			maker_free(k->makers[i]);
	}
	crt_memory_free(k->pack, sizeof(*k->pack));
	crt_memory_free(k->notes, k->notes_size);
	*k = (struct crw_packer){ 0 };
}
