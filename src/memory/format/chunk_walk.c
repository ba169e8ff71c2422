/* SPDX-License-Identifier: MIT */
/* chunk_walk.c - iterate over the chunks of a container and skip corrupt bytes. */
#include "memory/format/chunk_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/io.h"
#include "base/memory_shortage.h"

#define SEARCH_SIZE (256u << 10) /* bytes searched at a time after corrupt data */
#define HEAD_MAX    1024u        /* bytes of a head; later versions may have longer heads */

/* Read up to @size bytes; fewer at the end of the file.  A failed read is a fault of its own. */
static size_t walk_read_at(const struct walk *w, void *buf, size_t size, uint64_t offset)
{
	ssize_t got;

	if (offset >= w->size)
		return 0;
	if (size > w->size - offset)
		size = (size_t)(w->size - offset);
	got = io_pread(w->fd, buf, size, (off_t)offset);
	if (got < 0) {
		mem_fault_add(w->faults, MEM_FAULT_DAMAGE, offset, "cannot read %zu bytes: %s",
			      size, strerror(errno));
		memory_shortage_note();
	}
	return got < 0 ? 0 : (size_t)got;
}

static int check_file(struct walk *w, size_t got, struct err *err)
{
	const struct cray_file *f = &w->file;

	if (got < sizeof(*f) || memcmp(f->magic, CRAY_MAGIC, sizeof(f->magic)) != 0) {
		err_set(err, -EBADMSG, "'%s' is no container of a memory trace", w->path);
		return err->code;
	}
	if (f->byte_order == __builtin_bswap32(CRAY_BYTE_ORDER)) {
		err_set(err, -EPROTO, "'%s' was written in the other byte order", w->path);
		err_hint(err, "read it on a machine like the one that wrote it");
		return err->code;
	}
	if (f->major != CRAY_MAJOR && f->crc == cray_crc32c(&w->crc, 0, f, sizeof(*f) - 4)) {
		err_set(err, -EPROTO, "'%s' has format %u, this is for format %u", w->path,
			f->major, CRAY_MAJOR);
		err_hint(err, "use the release of corotracer that wrote it, or a later one");
		return err->code;
	}
	if (f->crc != cray_crc32c(&w->crc, 0, f, sizeof(*f) - 4)) {
		mem_fault_add(w->faults, MEM_FAULT_DAMAGE, 0, "the file's header is damaged");
		w->file.size = sizeof(*f); /* misleads the walk if it is corrupt */
	}
	w->offset = f->size >= sizeof(*f) ? f->size : sizeof(*f);
	return 0;
}

static void read_foot(struct walk *w)
{
	struct cray_foot *foot = &w->foot;

	if (w->size < sizeof(w->file) + sizeof(*foot) ||
	    walk_read_at(w, foot, sizeof(*foot), w->size - sizeof(*foot)) != sizeof(*foot))
		return;
	w->has_foot = !memcmp(foot->magic, CRAY_FOOT_MAGIC, sizeof(foot->magic)) &&
		      foot->crc == cray_crc32c(&w->crc, 0, foot, sizeof(*foot) - 4);
}

int walk_open(struct walk *w, int fd, const char *path, struct mem_faults *faults, struct err *err)
{
	struct stat st;

	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->path = path;
	w->faults = faults;
	cray_crc_init(&w->crc);
	if (fstat(fd, &st) < 0)
		return err_errno(err, "cannot look at '%s'", path);
	w->size = (uint64_t)st.st_size;
	if (check_file(w, walk_read_at(w, &w->file, sizeof(w->file), 0), err) < 0)
		return err->code;
	read_foot(w);
	w->zstd = ZSTD_createDCtx();
	if (!w->zstd)
		return err_set(err, -ENOMEM, "no memory to decompress '%s'", path);
	return 0;
}

void walk_close(struct walk *w)
{
	ZSTD_freeDCtx(w->zstd);
	free(w->stored);
	w->zstd = NULL;
	w->stored = NULL;
}

/* ---- chunks -------------------------------------------------------------- */

static bool is_foot(const struct walk *w, const void *bytes, uint64_t offset)
{
	return w->has_foot && offset + sizeof(struct cray_foot) == w->size &&
	       !memcmp(bytes, CRAY_FOOT_MAGIC, 8);
}

bool walk_chunk_at(const struct walk *w, uint64_t offset, struct walk_chunk *out)
{
	uint8_t head[HEAD_MAX];
	struct cray_chunk *c = &out->chunk;
	uint32_t crc;

	if (walk_read_at(w, c, sizeof(*c), offset) != sizeof(*c) ||
	    memcmp(c->magic, CRAY_CHUNK_MAGIC, sizeof(c->magic)) != 0)
		return false;
	if (c->head > HEAD_MAX || walk_read_at(w, head, c->head, offset + sizeof(*c)) != c->head)
		return false;
	crc = cray_crc32c(&w->crc, 0, c, sizeof(*c) - 4);
	if (cray_crc32c(&w->crc, crc, head, c->head) != c->crc)
		return false;
	if (c->stored > CRAY_STORED_MAX || c->plain > CRAY_PLAIN_MAX)
		return false;
	if (c->type == CRAY_BLOCK && c->head < sizeof(out->block))
		return false;
	if (c->type == CRAY_BLOCK)
		memcpy(&out->block, head, sizeof(out->block));
	out->offset = offset;
	return true;
}

static uint64_t chunk_size(const struct walk_chunk *c)
{
	return sizeof(c->chunk) + (uint64_t)c->chunk.head + c->chunk.stored;
}

/* The first offset after @from with a valid chunk header; the size of the file if there is none. */
static uint64_t walk_search(const struct walk *w, uint64_t from, struct walk_chunk *out)
{
	uint8_t *buf = malloc(SEARCH_SIZE);
	uint64_t offset = from + 1;
	size_t got;

	while (buf &&
	       (got = walk_read_at(w, buf, SEARCH_SIZE, offset)) >= sizeof(struct cray_chunk)) {
		uint8_t *at = buf;

		while ((at = memmem(at, got - (size_t)(at - buf), CRAY_CHUNK_MAGIC, 8))) {
			if (walk_chunk_at(w, offset + (uint64_t)(at - buf), out)) {
				offset += (uint64_t)(at - buf);
				free(buf);
				return offset;
			}
			at++;
		}
		offset += got - 7; /* the magic may cross the buffer boundary */
	}
	free(buf);
	return w->size;
}

/* Skip bytes that are not a valid chunk.  False: no chunk follows. */
static bool over_damage(struct walk *w, struct walk_chunk *out)
{
	uint64_t found = walk_search(w, w->offset, out);

	if (found < w->size) {
		mem_fault_add(w->faults, MEM_FAULT_DAMAGE, w->offset,
			      "%llu bytes are no chunk; went on behind them",
			      (unsigned long long)(found - w->offset));
		w->offset = found;
		return true;
	}
	mem_fault_add(w->faults, w->has_foot ? MEM_FAULT_DAMAGE : MEM_FAULT_TRUNCATED, w->offset,
		      "the last %llu bytes are no chunk",
		      (unsigned long long)(w->size - w->offset));
	w->offset = w->size;
	return false;
}

static void check_number(struct walk *w, const struct walk_chunk *c)
{
	uint32_t missing = c->chunk.number - w->next_number;

	if (missing)
		mem_fault_add(w->faults, MEM_FAULT_MISSING, c->offset,
			      "chunk %u comes where %u should: %s", c->chunk.number, w->next_number,
			      missing < UINT32_MAX / 2 ? "some are missing" : "out of order");
	w->next_number = c->chunk.number + 1;
}

bool walk_next(struct walk *w, struct walk_chunk *out)
{
	uint8_t magic[8];

	if (w->offset >= w->size || w->ended)
		return false;
	if (!walk_chunk_at(w, w->offset, out)) {
		if (walk_read_at(w, magic, sizeof(magic), w->offset) == sizeof(magic) &&
		    is_foot(w, magic, w->offset)) {
			w->ended = true;
			return false;
		}
		if (!over_damage(w, out))
			return false;
	}
	if (out->offset + chunk_size(out) > w->size) {
		mem_fault_add(w->faults, MEM_FAULT_TRUNCATED, out->offset,
			      "the file ends inside a chunk of %llu bytes",
			      (unsigned long long)chunk_size(out));
		w->offset = w->size;
		return false;
	}
	check_number(w, out);
	w->offset = out->offset + chunk_size(out);
	return true;
}

/* ---- payloads ------------------------------------------------------------ */

static bool walk_room(uint8_t **data, size_t *have, size_t size)
{
	uint8_t *more;

	if (size <= *have)
		return true;
	more = realloc(*data, size);
	if (!more) {
		memory_shortage_note();
		return false;
	}
	*data = more;
	*have = size;
	return true;
}

static bool walk_set_damaged(struct walk *w, const struct walk_chunk *c, const char *what)
{
	mem_fault_add(w->faults, MEM_FAULT_DAMAGE, c->offset, "a chunk of %u bytes is left out: %s",
		      c->chunk.stored, what);
	return false;
}

static bool walk_decompress(struct walk *w, const struct walk_chunk *c, struct walk_buffer *out)
{
	size_t got = ZSTD_decompressDCtx(w->zstd, out->data, c->chunk.plain, w->stored,
					 c->chunk.stored);

	if (ZSTD_isError(got) || got != c->chunk.plain)
		return walk_set_damaged(w, c, "it does not decompress");
	return true;
}

bool walk_payload(struct walk *w, const struct walk_chunk *c, struct walk_buffer *out)
{
	bool zstd = c->chunk.codec == CRAY_CODEC_ZSTD;
	uint64_t at = c->offset + sizeof(c->chunk) + c->chunk.head;
	size_t stored = c->chunk.stored;
	uint8_t *bytes;

	if (c->chunk.codec > CRAY_CODEC_ZSTD)
		return walk_set_damaged(w, c, "it has an unknown codec");
	if (!zstd && c->chunk.plain != stored)
		return walk_set_damaged(w, c, "it is not as long as it says");
	if (!walk_room(&out->data, &out->room, c->chunk.plain + 1u) ||
	    (zstd && !walk_room(&w->stored, &w->stored_size, stored + 1)))
		return walk_set_damaged(w, c, "no memory for it");
	bytes = zstd ? w->stored : out->data;
	if (walk_read_at(w, bytes, stored, at) != stored)
		return walk_set_damaged(w, c, "it cannot be read");
	if (cray_crc32c(&w->crc, 0, bytes, stored) != c->chunk.stored_crc)
		return walk_set_damaged(w, c, "its checksum is wrong");
	out->size = c->chunk.plain;
	return !zstd || walk_decompress(w, c, out);
}

const uint8_t *walk_stored(struct walk *w, const struct walk_chunk *c)
{
	uint64_t at = c->offset + sizeof(c->chunk) + c->chunk.head;

	if (!walk_room(&w->stored, &w->stored_size, c->chunk.stored + 1u) ||
	    walk_read_at(w, w->stored, c->chunk.stored, at) != c->chunk.stored)
		return NULL;
	return w->stored;
}
