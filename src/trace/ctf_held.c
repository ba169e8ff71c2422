/* SPDX-License-Identifier: MIT */
/* ctf_held.c - hold records back until no earlier record can arrive. */
#include "trace/ctf_held.h"

#include <stdlib.h>
#include <string.h>

static bool grow_bytes(struct ctf_held *h, size_t size)
{
	size_t wanted = h->size ? h->size * 2 : 65536;
	uint8_t *more;

	while (wanted < h->used + size)
		wanted *= 2;
	more = realloc(h->bytes, wanted);
	if (!more)
		return false;
	h->bytes = more;
	h->size = wanted;
	return true;
}

static bool grow_records(struct ctf_held *h)
{
	size_t wanted = h->room ? h->room * 2 : 1024;
	struct held_record *more = reallocarray(h->records, wanted, sizeof(*more));

	if (!more)
		return false;
	h->records = more;
	h->room = wanted;
	return true;
}

uint8_t *held_room(struct ctf_held *h, size_t size)
{
	if (h->size - h->used < size && !grow_bytes(h, size))
		return NULL;
	if (h->nr == h->room && !grow_records(h))
		return NULL;
	return h->bytes + h->used;
}

void held_keep(struct ctf_held *h, uint64_t ts, size_t size, bool is_transition)
{
	h->records[h->nr++] = (struct held_record){
		.ts = ts,
		.at = h->used,
		.size = (uint32_t)size,
		.is_transition = is_transition,
	};
	h->used += size;
}

/* A record that was added later has a higher offset. */
static int held_compare(const void *a, const void *b)
{
	const struct held_record *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void held_sort(struct ctf_held *h)
{
	size_t i;

	for (i = 1; i < h->nr; i++) {
		if (h->records[i].ts < h->records[i - 1].ts) {
			qsort(h->records, h->nr, sizeof(*h->records), held_compare);
			return;
		}
	}
}

/* The remaining records are compacted; they are few. */
void held_drop(struct ctf_held *h, size_t nr)
{
	size_t left = h->nr - nr, used = 0, i;
	uint8_t *bytes;

	if (!nr)
		return;
	memmove(h->records, h->records + nr, left * sizeof(*h->records));
	h->nr = left;
	if (!left) {
		h->used = 0;
		return;
	}
	bytes = malloc(h->size);
	if (!bytes)
		return; /* the bytes are not compacted */
	for (i = 0; i < left; i++) {
		struct held_record *r = &h->records[i];

		memcpy(bytes + used, h->bytes + r->at, r->size);
		r->at = used;
		used += r->size;
	}
	free(h->bytes);
	h->bytes = bytes;
	h->used = used;
}

void held_release(struct ctf_held *h)
{
	free(h->records);
	free(h->bytes);
	*h = (struct ctf_held){ 0 };
}
