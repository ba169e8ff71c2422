/* SPDX-License-Identifier: MIT */
/*
 * block_maker.h - make a block of the container from a packer: finish and compress it.
 *
 * Compressing is the slowest part of writing a trace, and needs no access to the packer or the
 * file: another thread can do it (compress_worker.h).
 */
#ifndef RUNTIME_MEMORY_BLOCK_MAKER_H
#define RUNTIME_MEMORY_BLOCK_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack.h"

/* zstd, which a traced program loads at run time and the tool is linked with. */
struct cray_zstd {
	void *context; /* NULL: no compression */
	size_t (*compress)(void *context, void *to, size_t room, const void *from, size_t size,
			   int level);
	unsigned (*is_error)(size_t code);
	/* NULL in old versions: no CRAY_ZSTD_LITERALS. */
	size_t (*set)(void *context, int parameter, int value);
	size_t (*compress2)(void *context, void *to, size_t room, const void *from, size_t size);
};

/* Parameters for set(): numbers that zstd keeps. */
#define CRAY_ZSTD_LEVEL    100  /* ZSTD_c_compressionLevel */
#define CRAY_ZSTD_LITERALS 1002 /* ZSTD_c_literalCompressionMode; 1: always */

#define CRAY_MAKER_ROOM \
	(CRAY_PACK_PLAIN_MAX + (CRAY_PACK_PLAIN_MAX >> 7) + 1024u) /* zstd's bound */

/*
 * A block is compressed in parts, a frame each, because their bytes have different frequencies:
 * symbols and sites; addresses relative to the site; all other streams.
 */
#define CRAY_MAKER_PARTS 3u

/* What the last try of a part showed; see cray_maker_press(). */
struct cray_maker_part {
	bool random;    /* it has few repetitions */
	bool is_coding; /* a search for repetitions saves next to nothing */
};

struct cray_maker {
	struct cray_zstd zstd;
	int level;     /* 0: no compression */
	bool hurry;    /* the finished block shall take little time */
	uint32_t turn; /* of blocks, until the next one is tried */
	struct cray_maker_part parts[CRAY_MAKER_PARTS];
	uint8_t codec; /* of `stored` */
	struct cray_block head;
	size_t plain_size, stored_size;
	const uint8_t *stored; /* in plain[] or out[] */
	uint8_t plain[CRAY_PACK_PLAIN_MAX];
	uint8_t out[CRAY_MAKER_ROOM];
};

/* NULL: no memory.  The memory is zeros from mmap, touched as needed. */
struct cray_maker *cray_maker_new(int level, const struct cray_zstd *zstd);
void cray_maker_free(struct cray_maker *m);

/* Finish the packer's block, uncompressed, in @m.  @hurry: the program waits for room. */
void cray_maker_finish(struct cray_maker *m, struct cray_pack *p, bool hurry);

/* Compress the finished block if that is worth it. */
void cray_maker_press(struct cray_maker *m);

/* The same for other bytes, at most CRAY_PACK_PLAIN_MAX, which replace the block. */
void cray_maker_press_bytes(struct cray_maker *m, const void *plain, size_t size);

#endif
