/* SPDX-License-Identifier: MIT */
/*
 * weak_packer.c - what ring_consumer.c and ring_pack.c call: blocks that are made at once, files
 * that take everything, and no threads of their own.
 */
#include "weak_packer.h"

#include <string.h>

#include "sys.h"
#include "weak_machine.h"

#define SOURCES 1u

static struct crw_consumer consumer;
static struct crw_source sources[SOURCES];
static struct cray_pack pack;
static struct cray_maker maker;
static struct cray_writer file;
static void (*take_unit)(const struct crw_unit *u);

/* ---- memory, compression, threads ---- */

/* crw_consumer_open() allocates twice: the sources, then the packer. */
void *crt_memory(uint64_t size)
{
	if (size == sizeof(sources))
		return sources;
	return size == sizeof(pack) ? &pack : NULL;
}

void crt_memory_free(void *memory, uint64_t size)
{
	(void)memory;
	(void)size;
}

uint32_t crt_press_give(struct cray_maker *m, bool start)
{
	(void)m;
	(void)start;
	return 0;
}

bool crt_press_done(uint32_t ticket, bool wait)
{
	(void)ticket;
	(void)wait;
	return true;
}

bool crw_packer_open(struct crw_packer *k, const struct crw_region *r,
		     struct cray_maker *(*maker_new)(int level), int level)
{
	(void)k;
	(void)r;
	(void)maker_new;
	(void)level;
	return false;
}

void crw_packer_close(struct crw_packer *k, void (*maker_free)(struct cray_maker *m))
{
	(void)k;
	(void)maker_free;
}

bool crw_packer_give(struct crw_packer *k, struct crw_job *job, bool hurry)
{
	(void)k;
	(void)job;
	(void)hurry;
	return false;
}

bool crw_packer_done(struct crw_packer *k, bool wait)
{
	(void)k;
	(void)wait;
	return true;
}

const struct crw_packer_note *crw_packer_next_note(const struct crw_packer *k, uint64_t *at)
{
	(void)k;
	(void)at;
	return NULL;
}

/* ---- blocks ---- */

void cray_pack_init(struct cray_pack *p)
{
	(void)p;
}

void cray_pack_begin(struct cray_pack *p, uint32_t thread, uint64_t order, uint64_t time_ns)
{
	(void)thread;
	(void)order;
	(void)time_ns;
	p->nr_accesses = p->nr_events = 0;
}

void crw_feed_repeat(const struct crw_feed *f, struct cray_pack *p)
{
	(void)f;
	(void)p;
}

uint32_t crw_feed(struct crw_feed *f, struct cray_pack *p, const struct crw_taken *run)
{
	uint32_t i;

	(void)f;
	for (i = 0; i < run->nr; i++)
		take_unit(&run->units[i]);
	p->nr_accesses += run->nr;
	return run->nr;
}

uint64_t crw_untold(const struct crw_feed *f, const struct crw_slot_view *view, uint32_t cause)
{
	(void)f;
	(void)view;
	(void)cause;
	return 0;
}

void cray_maker_finish(struct cray_maker *m, struct cray_pack *p, bool hurry)
{
	(void)m;
	(void)p;
	(void)hurry;
}

/* ---- files ---- */

void cray_writer_fact(struct cray_writer *w, uint16_t key, const void *bytes, size_t size)
{
	(void)w;
	(void)key;
	(void)bytes;
	(void)size;
}

void cray_writer_module(struct cray_writer *w, const void *module_and_path, size_t size)
{
	(void)w;
	(void)module_and_path;
	(void)size;
}

void cray_writer_thread(struct cray_writer *w, const struct cray_thread *thread, const char *name)
{
	(void)w;
	(void)thread;
	(void)name;
}

void cray_writer_stack(struct cray_writer *w, uint64_t number, const void *frames, size_t size)
{
	(void)w;
	(void)number;
	(void)frames;
	(void)size;
}

void cray_writer_lost(struct cray_writer *w, uint32_t thread, uint32_t cause, uint64_t count)
{
	(void)w;
	(void)thread;
	weak_fail("%llu accesses are counted as lost: cause %u", (unsigned long long)count, cause);
}

/* ---- the consumer ---- */

static struct cray_writer *packer_file(void *context, const struct crw_slot_view *view)
{
	(void)context;
	(void)view;
	return &file;
}

static void packer_store(void *context, struct cray_writer *w, struct cray_maker *m)
{
	(void)context;
	(void)w;
	(void)m;
}

static bool packer_is_gone(void *context, const struct crw_slot_view *view)
{
	(void)context;
	(void)view;
	return false;
}

static struct cray_maker *packer_maker(int level)
{
	(void)level;
	return &maker;
}

static void packer_maker_free(struct cray_maker *m)
{
	(void)m;
}

struct crw_consumer *packer_make(struct crw_region *region, void (*take)(const struct crw_unit *u))
{
	take_unit = take;
	memset(sources, 0, sizeof(sources));
	memset(&pack, 0, sizeof(pack));
	consumer = (struct crw_consumer){ .region = region,
					  .file_of = packer_file,
					  .store = packer_store,
					  .is_gone = packer_is_gone,
					  .maker_new = packer_maker,
					  .maker_free = packer_maker_free,
					  .hold = true,
					  .late_ns = UINT64_MAX };
	if (!crw_consumer_open(&consumer))
		weak_fail("the consumer cannot be opened");
	weak_restore(&consumer, sizeof(consumer));
	weak_restore(sources, sizeof(sources));
	return &consumer;
}
