/* SPDX-License-Identifier: MIT */
/* blame_learn.c - how heap blocks get their types, and which share of them has one. */
#include <errno.h>
#include <string.h>

#include "base/progress.h"
#include "memory/blame/blame_state.h"
#include "memory/format/mem_reader.h"
#include "memory/types/vote_sample.h"

static int learn_all(struct blame *b, struct mem_reader *reader)
{
	struct typed_memory *typed = mem_places_typed(b->places);
	struct progress progress;
	struct mem_run run;
	uint32_t n = 0;
	int ret = 0;

	progress_start(&progress, "finding the types of heap blocks", mem_reader_size(reader));
	while (ret == 0 && mem_reader_run(reader, &run)) {
		ret = blame_modules(b, mem_reader_facts(reader));
		if (ret == 0)
			ret = run.record ? typed_memory_vote(typed, run.record)
					 : typed_memory_vote_run(typed, run.access, run.nr,
								 run.stands_for);
		if (++n % 64 == 0)
			progress_update(&progress, mem_reader_done(reader));
	}
	progress_end(&progress);
	typed_memory_decide(typed);
	return ret;
}

int blame_learn(struct blame *b, const char *path, struct err *err)
{
	struct vote_sample *sample;
	struct mem_reader *reader;
	int ret;

	if (!strcmp(path, "-"))
		return 0;
	reader = mem_reader_open(path, err);
	if (!reader)
		return err->code;
	sample = vote_sample_new();
	if (sample)
		mem_reader_choose_blocks(reader, vote_sample_wants, sample);
	ret = sample ? learn_all(b, reader) : -ENOMEM;
	vote_sample_free(sample);
	if (ret < 0)
		err_set(err, ret, "no memory to find the types of heap blocks");
	else
		ret = mem_reader_error(reader, err);
	mem_reader_close(reader);
	return ret;
}

struct blame_counts *blame_heap_counts(struct blame *b, const struct address_owner *place)
{
	enum owner_kind kind = mem_places_owner(b->places, place->owner)->kind;

	if (place->annotated)
		return &b->heap[BLAME_ANNOTATED];
	if (place->typed)
		return &b->heap[place->typed == TYPED_BY_VOTE ? BLAME_BY_VOTE : BLAME_BY_CODE];
	if (kind == OWNER_SITE)
		return &b->heap[BLAME_BY_SITE];
	return kind == OWNER_HEAP || kind == OWNER_MAPPING ? &b->heap[BLAME_UNNAMED] : NULL;
}

const struct blame_counts *blame_heap(struct blame *b, enum blame_naming naming)
{
	blame_memos_settle(b);
	return &b->heap[naming];
}

double blame_certainty(const struct blame *b, const struct blame_owner *owner)
{
	const struct owner *known = mem_places_owner(b->places, owner->owner);
	uint64_t agreeing, votes;

	if (!owner->by_vote)
		return -1;
	votes = typed_memory_votes(mem_places_typed(b->places), known->type, &agreeing);
	return votes ? (double)agreeing / (double)votes : 1; /* the allocating call names it */
}
