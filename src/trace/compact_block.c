/* SPDX-License-Identifier: MIT */
/* compact_block.c - make and read the blocks of a compact trace. */
#include "trace/compact_block.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* The fastest level: the columns hold what could not be predicted, more effort gains little. */
#define LEVEL 1

/* Readable bytes behind a column, which parsers of lines rely on (base/line_reader.h). */
#define SLACK 64

uint32_t compact_crc(const void *data, size_t size)
{
	return (uint32_t)crc32_z(0, data, size);
}

/* ---- write --------------------------------------------------------------- */

void compact_packer_release(struct compact_packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	bytes_release(&p->out);
	memset(p, 0, sizeof(*p));
}

static bool compact_is_zero(const struct compact_source *s)
{
	return s->data[0] == 0 && memcmp(s->data, s->data + 1, s->size - 1) == 0;
}

static bool compact_is_left_out(const struct compact_source *s)
{
	return !s->size || (s->may_be_left_out && compact_is_zero(s));
}

/* Appends a column, compressed if that makes it smaller.  Returns its size; 0: no memory. */
static size_t compact_pack(struct compact_packer *p, const struct compact_source *s,
			   struct compact_column *row)
{
	size_t bound = ZSTD_compressBound(s->size), size;
	unsigned char *at = bytes_more(&p->out, bound);

	if (!at)
		return 0;
	size = ZSTD_compressCCtx(p->zstd, at, bound, s->data, s->size, LEVEL);
	row->coding = COMPACT_ZSTD;
	if (ZSTD_isError(size) || size >= s->size) {
		memcpy(at, s->data, s->size);
		size = s->size;
		row->coding = COMPACT_RAW;
	}
	p->out.size -= bound - size;
	row->id = (uint8_t)s->id;
	row->raw_size = (uint32_t)s->size;
	row->stored_size = (uint32_t)size;
	return size;
}

static int compact_pack_all(struct compact_packer *p, const struct compact_source *columns,
			    unsigned nr, unsigned *used)
{
	struct compact_column rows[COMPACT_COLUMNS_MAX] = { 0 };
	size_t table = p->out.size;
	unsigned i;

	*used = 0;
	for (i = 0; i < nr; i++)
		*used += !compact_is_left_out(&columns[i]);
	if (!bytes_more(&p->out, *used * sizeof(rows[0])))
		return -ENOMEM;
	*used = 0;
	for (i = 0; i < nr; i++) {
		if (compact_is_left_out(&columns[i]))
			continue;
		if (columns[i].size > COMPACT_COLUMN_MAX)
			return -E2BIG;
		if (!compact_pack(p, &columns[i], &rows[(*used)++]))
			return -ENOMEM;
	}
	memcpy(p->out.data + table, rows, *used * sizeof(rows[0]));
	return p->out.size - table > COMPACT_PAYLOAD_MAX ? -E2BIG : 0;
}

int compact_block_make(struct compact_packer *p, struct compact_block_head *head,
		       const struct compact_source *columns, unsigned nr)
{
	unsigned used;
	int rc;

	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	bytes_clear(&p->out);
	if (!p->zstd || !bytes_more(&p->out, sizeof(*head)))
		return -ENOMEM;
	rc = compact_pack_all(p, columns, nr, &used);
	if (rc < 0)
		return rc;
	head->magic = COMPACT_BLOCK_MAGIC;
	head->nr_columns = (uint16_t)used;
	head->size = (uint32_t)(p->out.size - sizeof(*head));
	head->payload_crc = compact_crc(p->out.data + sizeof(*head), head->size);
	head->crc = compact_crc(head, offsetof(struct compact_block_head, crc));
	memcpy(p->out.data, head, sizeof(*head));
	return 0;
}

/* ---- read ---------------------------------------------------------------- */

bool compact_block_head_is_valid(const struct compact_block_head *head)
{
	return head->magic == COMPACT_BLOCK_MAGIC &&
	       head->crc == compact_crc(head, offsetof(struct compact_block_head, crc)) &&
	       head->size <= COMPACT_PAYLOAD_MAX && head->nr_columns <= COMPACT_COLUMNS_MAX &&
	       head->size >= head->nr_columns * sizeof(struct compact_column);
}

void compact_unpacker_release(struct compact_unpacker *u)
{
	unsigned i;

	ZSTD_freeDCtx(u->zstd);
	bytes_release(&u->payload);
	for (i = 0; i < COMPACT_COLUMNS_MAX; i++)
		bytes_release(&u->raw[i]);
	memset(u, 0, sizeof(*u));
}

int compact_read_at(int fd, void *to, size_t size, uint64_t offset)
{
	char *at = to;

	while (size) {
		ssize_t got = pread(fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 1;
}

/* 1; 0: the column is damaged; -ENOMEM. */
static int compact_unpack(struct compact_unpacker *u, const struct compact_column *row,
			  const uint8_t *stored)
{
	struct bytes *raw = &u->raw[row->id];
	size_t size;

	if (row->coding == COMPACT_RAW) {
		u->parts[row->id] = (struct compact_part){ stored, row->stored_size };
		return row->raw_size == row->stored_size;
	}
	/* The frame says the size, too: a table that lies about it allocates nothing. */
	if (row->coding != COMPACT_ZSTD ||
	    ZSTD_getFrameContentSize(stored, row->stored_size) != row->raw_size)
		return 0;
	bytes_clear(raw);
	if (!bytes_more(raw, (size_t)row->raw_size + SLACK))
		return -ENOMEM;
	memset(raw->data + row->raw_size, 0, SLACK);
	size = ZSTD_decompressDCtx(u->zstd, raw->data, row->raw_size, stored, row->stored_size);
	u->parts[row->id] = (struct compact_part){ raw->data, row->raw_size };
	return !ZSTD_isError(size) && size == row->raw_size;
}

static int compact_unpack_all(struct compact_unpacker *u, const struct compact_block_head *head)
{
	const uint8_t *table = u->payload.data;
	size_t at = head->nr_columns * sizeof(struct compact_column);
	unsigned i;

	memset(u->parts, 0, sizeof(u->parts));
	for (i = 0; i < head->nr_columns; i++) {
		struct compact_column row;
		int rc;

		memcpy(&row, table + i * sizeof(row), sizeof(row));
		if (row.stored_size > head->size - at || row.raw_size > COMPACT_COLUMN_MAX ||
		    !row.raw_size)
			return 0;
		/* A column of a later version is not for this reader. */
		rc = row.id < COMPACT_COLUMNS_MAX ? compact_unpack(u, &row, table + at) : 1;
		if (rc <= 0)
			return rc;
		at += row.stored_size;
	}
	return at == head->size;
}

/* Room for the payload, with zeros behind it.  0 or -ENOMEM. */
static int compact_unpacker_reserve(struct compact_unpacker *u,
				    const struct compact_block_head *head)
{
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	bytes_clear(&u->payload);
	if (!u->zstd || !bytes_more(&u->payload, (size_t)head->size + SLACK))
		return -ENOMEM;
	memset(u->payload.data + head->size, 0, SLACK);
	return 0;
}

static int compact_unpack_payload(struct compact_unpacker *u, const struct compact_block_head *head)
{
	if (compact_crc(u->payload.data, head->size) != head->payload_crc)
		return 0;
	return compact_unpack_all(u, head);
}

int compact_block_load(struct compact_unpacker *u, int fd, uint64_t offset,
		       const struct compact_block_head *head)
{
	int rc = compact_unpacker_reserve(u, head);

	if (rc == 0)
		rc = compact_read_at(fd, u->payload.data, head->size, offset + sizeof(*head));
	return rc <= 0 ? rc : compact_unpack_payload(u, head);
}

int compact_block_unpack(struct compact_unpacker *u, const void *block, size_t size,
			 struct compact_block_head *head)
{
	int rc;

	if (size < sizeof(*head))
		return 0;
	memcpy(head, block, sizeof(*head));
	if (!compact_block_head_is_valid(head) || size - sizeof(*head) != head->size)
		return 0;
	rc = compact_unpacker_reserve(u, head);
	if (rc < 0)
		return rc;
	memcpy(u->payload.data, (const uint8_t *)block + sizeof(*head), head->size);
	return compact_unpack_payload(u, head);
}
