/* SPDX-License-Identifier: MIT */
/* compact_index.c - where the blocks of a compact trace are. */
#include "trace/compact_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/compact_encode.h"

/* A damaged file is searched for the next head in pieces of this size. */
#define SEARCH_SIZE 65536u

void compact_index_release(struct compact_index *index)
{
	free(index->entries);
	bytes_release(&index->sets);
	memset(index, 0, sizeof(*index));
}

/* ---- write ------------------------------------------------------------------- */

bool compact_index_add(struct compact_index *index, const struct compact_block_head *head,
		       uint64_t offset)
{
	if (index->nr == index->room) {
		uint32_t room = index->room ? index->room * 2 : 64;
		struct compact_entry *more = reallocarray(index->entries, room,
							  sizeof(*index->entries));

		if (!more)
			return false;
		index->entries = more;
		index->room = room;
	}
	index->entries[index->nr++] = (struct compact_entry){
		.offset = offset,
		.min_ts = head->min_ts,
		.max_ts = head->max_ts,
		.size = (uint32_t)(sizeof(*head) + head->size),
		.items = head->items,
		.transitions = head->transitions,
		.others = head->others,
		.set = COMPACT_NO_SET,
		.type = head->type,
		.kinds = head->kinds,
	};
	return true;
}

static int compact_compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts @values.  Returns how many different ones there are, which are then in front. */
static size_t compact_sort_unique(uint64_t *values, size_t nr)
{
	size_t i, unique = 0;

	qsort(values, nr, sizeof(*values), compact_compare_u64);
	for (i = 0; i < nr; i++) {
		if (!unique || values[unique - 1] != values[i])
			values[unique++] = values[i];
	}
	return unique;
}

/* A list: twice its length, then differences.  Longer ones: 1, the lowest, and to the highest. */
static void compact_add_set(struct bytes *sets, uint64_t *values, size_t nr)
{
	uint64_t last = 0;
	size_t i;

	nr = compact_sort_unique(values, nr);
	if (nr > COMPACT_SET_MAX) {
		bytes_add_varint(sets, 1);
		bytes_add_varint(sets, values[0]);
		bytes_add_varint(sets, values[nr - 1] - values[0]);
		return;
	}
	bytes_add_varint(sets, nr * 2);
	for (i = 0; i < nr; i++) {
		bytes_add_varint(sets, values[i] - last);
		last = values[i];
	}
}

static size_t compact_coroutines_of(const struct compact_encoder *e, uint64_t *values)
{
	uint32_t i;

	for (i = 0; i < e->model.nr_coroutines; i++)
		values[i] = e->model.coroutines[i].id;
	return e->model.nr_coroutines;
}

/* Every site that is not 0 was stored in its column once: it is predicted only after that. */
static size_t compact_sites_of(const struct compact_encoder *e, uint64_t *values)
{
	const struct bytes *b = &e->columns[COMPACT_SITE];
	size_t at = 0, nr = 0;

	while (at < b->size && nr < COMPACT_ITEMS_MAX) {
		uint64_t value = 0;
		unsigned shift = 0;

		do {
			value |= (uint64_t)(b->data[at] & 0x7f) << shift;
			shift += 7;
		} while (b->data[at++] & 0x80);
		values[nr++] = value;
	}
	return nr;
}

void compact_index_add_sets(struct compact_index *index, struct compact_encoder *e)
{
	uint64_t *values = malloc(COMPACT_ITEMS_MAX * sizeof(*values));
	size_t at = index->sets.size;

	/* Without its sets, a block is read whenever its times fit. */
	if (values && at < COMPACT_COLUMN_MAX - 64 * COMPACT_SET_MAX && !index->sets.error) {
		compact_add_set(&index->sets, values, compact_coroutines_of(e, values));
		compact_add_set(&index->sets, values, compact_sites_of(e, values));
		if (!index->sets.error)
			index->entries[index->nr - 1].set = (uint32_t)at;
	}
	free(values);
}

void compact_index_columns(const struct compact_index *index, struct compact_source columns[2])
{
	columns[0] = (struct compact_source){ .id = COMPACT_ENTRIES,
					      .data = (const uint8_t *)index->entries,
					      .size = index->nr * sizeof(*index->entries) };
	columns[1] = (struct compact_source){ .id = COMPACT_SETS,
					      .data = index->sets.data,
					      .size = index->sets.size };
}

/* ---- read -------------------------------------------------------------------- */

static bool compact_end_is_valid(const struct compact_end *end)
{
	return !memcmp(end->magic, COMPACT_END_MAGIC, COMPACT_MAGIC_SIZE) &&
	       end->crc == compact_crc(end, offsetof(struct compact_end, crc));
}

/* The entries are one block after the other, up to the index. */
static bool compact_entries_fit(const struct compact_index *index, uint64_t end)
{
	uint64_t at = sizeof(struct compact_file_head);
	uint32_t i;

	for (i = 0; i < index->nr; i++) {
		const struct compact_entry *e = &index->entries[i];

		if (e->offset != at || e->size < sizeof(struct compact_block_head) ||
		    e->size > end - at || e->items > COMPACT_ITEMS_MAX)
			return false;
		at += e->size;
	}
	return at == end;
}

static int compact_index_take(struct compact_index *index, const struct compact_part *parts,
			      uint64_t end)
{
	const struct compact_part *entries = &parts[COMPACT_ENTRIES], *sets = &parts[COMPACT_SETS];

	if (entries->size % sizeof(*index->entries))
		return 0;
	index->entries = malloc(entries->size + 1);
	if (!index->entries || !bytes_put(&index->sets, sets->data, sets->size))
		return -ENOMEM;
	if (entries->size)
		memcpy(index->entries, entries->data, entries->size);
	index->nr = index->room = (uint32_t)(entries->size / sizeof(*index->entries));
	return compact_entries_fit(index, end);
}

int compact_index_read(struct compact_index *index, struct compact_unpacker *u, int fd,
		       uint64_t size)
{
	struct compact_block_head head;
	struct compact_end end;
	int rc;

	if (size < sizeof(struct compact_file_head) + sizeof(head) + sizeof(end))
		return 0;
	rc = compact_read_at(fd, &end, sizeof(end), size - sizeof(end));
	if (rc <= 0 || !compact_end_is_valid(&end) || end.index > size - sizeof(end) - sizeof(head))
		return rc < 0 ? rc : 0;
	rc = compact_read_at(fd, &head, sizeof(head), end.index);
	if (rc <= 0 || !compact_block_head_is_valid(&head) || head.type != COMPACT_INDEX ||
	    end.index + sizeof(head) + head.size != size - sizeof(end))
		return rc < 0 ? rc : 0;
	rc = compact_block_load(u, fd, end.index, &head);
	if (rc > 0)
		rc = compact_index_take(index, u->parts, end.index);
	if (rc <= 0)
		compact_index_release(index);
	return rc;
}

/* ---- a file without an index ------------------------------------------------------ */

/*
 * 1: *@at is the next place from it on that begins like a block.  0: none does, or the file ends
 * before @size.
 */
static int compact_search(int fd, uint64_t *at, uint64_t size)
{
	const uint32_t magic = COMPACT_BLOCK_MAGIC;
	uint8_t piece[SEARCH_SIZE];
	struct compact_block_head head;

	while (size - *at >= sizeof(head)) {
		size_t nr = size - *at < sizeof(piece) ? (size_t)(size - *at) : sizeof(piece);
		int rc = compact_read_at(fd, piece, nr, *at);
		const uint8_t *found;

		if (rc <= 0)
			return rc;
		found = memmem(piece, nr, &magic, sizeof(magic));
		if (!found) {
			*at += nr - sizeof(magic) + 1;
			continue;
		}
		*at += (uint64_t)(found - piece);
		if (size - *at < sizeof(head))
			break;
		rc = compact_read_at(fd, &head, sizeof(head), *at);
		if (rc <= 0 || compact_block_head_is_valid(&head))
			return rc;
		*at += 1;
	}
	return 0;
}

/* Bytes behind the last block that are not a block. */
static int compact_scan_rest(struct compact_scan *scan, int fd, uint64_t size, bool grows)
{
	struct compact_end end;
	int rc;

	if (size - scan->at >= sizeof(end)) {
		rc = compact_read_at(fd, &end, sizeof(end), scan->at);
		if (rc < 0)
			return rc;
		scan->ended = rc > 0 && compact_end_is_valid(&end) &&
			      size - scan->at == sizeof(end);
	}
	if (scan->ended)
		scan->at = size;
	scan->torn = !scan->ended && !grows && size > scan->at;
	return 0;
}

static int compact_scan_add(struct compact_index *index, struct compact_scan *scan,
			    const struct compact_block_head *head)
{
	if (head->number > scan->next)
		scan->missing += head->number - scan->next;
	scan->next = head->number + 1;
	if (!compact_index_add(index, head, scan->at))
		return -ENOMEM;
	scan->at += sizeof(*head) + head->size;
	return 0;
}

int compact_index_scan(struct compact_index *index, struct compact_scan *scan, int fd,
		       uint64_t size, bool grows)
{
	struct compact_block_head head;
	int rc = 1;

	while (rc >= 0 && scan->at < size && size - scan->at >= sizeof(head)) {
		uint64_t from = scan->at, next = scan->at + 1;

		rc = compact_read_at(fd, &head, sizeof(head), scan->at);
		if (rc < 0)
			return rc;
		if (rc > 0 && compact_block_head_is_valid(&head)) {
			if (head.size > size - scan->at - sizeof(head))
				break; /* the last one, and not all of it */
			rc = compact_scan_add(index, scan, &head);
			continue;
		}
		if (grows)
			return 0;
		rc = compact_search(fd, &next, size);
		if (rc <= 0) /* none; or the file became shorter meanwhile */
			break;
		scan->damaged++;
		scan->skipped += next - from;
		scan->at = next;
	}
	return rc < 0 ? rc : compact_scan_rest(scan, fd, size, grows);
}

/* ---- sets --------------------------------------------------------------------- */

static uint64_t compact_set_number(const struct bytes *b, size_t *at)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && *at < b->size; shift += 7) {
		uint8_t byte = b->data[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static bool compact_set_has(const struct bytes *b, size_t *at, uint64_t wanted)
{
	uint64_t form = compact_set_number(b, at), value = 0, i;
	bool found = false;

	if (form & 1) {
		value = compact_set_number(b, at);
		return wanted - value <= compact_set_number(b, at) && wanted >= value;
	}
	for (i = 0; i < form / 2 && *at < b->size; i++) {
		value += compact_set_number(b, at);
		found |= value == wanted;
	}
	return found;
}

bool compact_index_has_coroutine(const struct compact_index *index, uint32_t entry, uint64_t id)
{
	size_t at = index->entries[entry].set;

	return at >= index->sets.size || compact_set_has(&index->sets, &at, id);
}

bool compact_index_has_site(const struct compact_index *index, uint32_t entry,
			    const uint32_t *sites, size_t nr)
{
	size_t at = index->entries[entry].set, begin, i;

	if (at >= index->sets.size)
		return true;
	compact_set_has(&index->sets, &at, 0); /* the coroutines */
	begin = at;
	for (i = 0; i < nr; i++) {
		at = begin;
		if (compact_set_has(&index->sets, &at, sites[i]))
			return true;
	}
	return false;
}
