/* SPDX-License-Identifier: MIT */
/*
 * crc32c.h - the checksum of the container (Castagnoli), eight bytes at a time.
 *
 *	struct cray_crc t;
 *
 *	cray_crc_init(&t);
 *	crc = cray_crc32c(&t, 0, data, size);
 *	crc = cray_crc32c(&t, crc, more, more_size);
 *
 * The caller owns the table: no constructor, no lock.
 */
#ifndef RUNTIME_MEMORY_CRC32C_H
#define RUNTIME_MEMORY_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

struct cray_crc {
	uint32_t t[8][256];
	bool has_instruction;
};

#if defined(__x86_64__)
/* As cray_crc32c(), for processors that have an instruction for it; @crc is inverted. */
__attribute__((target("sse4.2"))) static inline uint32_t
cray_crc32c_instruction(uint32_t crc, const unsigned char *p, size_t size)
{
	uint64_t w, sum = crc;

	for (; size >= 8; size -= 8, p += 8) {
		__builtin_memcpy(&w, p, 8);
		sum = __builtin_ia32_crc32di(sum, w);
	}
	crc = (uint32_t)sum;
	for (; size > 0; size--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}

static inline bool cray_crc_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__)
/* The same; assembled for processors that have it, whatever the compiler assumes. */
static inline uint32_t cray_crc32c_instruction(uint32_t crc, const unsigned char *p, size_t size)
{
	uint64_t w;

	for (; size >= 8; size -= 8, p += 8) {
		__builtin_memcpy(&w, p, 8);
		__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(w));
	}
	for (; size > 0; size--) {
		w = *p++;
		__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(w));
	}
	return crc;
}

static inline bool cray_crc_has_instruction(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#else
static inline uint32_t cray_crc32c_instruction(uint32_t crc, const unsigned char *p, size_t size)
{
	(void)p;
	(void)size;
	return crc;
}

static inline bool cray_crc_has_instruction(void)
{
	return false;
}
#endif

static inline void cray_crc_init(struct cray_crc *c)
{
	uint32_t i, j, k;

	for (i = 0; i < 256; i++) {
		uint32_t r = i;

		for (j = 0; j < 8; j++)
			r = r >> 1 ^ (UINT32_C(0x82F63B78) & (0u - (r & 1)));
		c->t[0][i] = r;
	}
	for (k = 1; k < 8; k++) {
		for (i = 0; i < 256; i++)
			c->t[k][i] = c->t[k - 1][i] >> 8 ^ c->t[0][c->t[k - 1][i] & 0xff];
	}
	c->has_instruction = cray_crc_has_instruction();
}

/* Extend @crc, the checksum of the preceding bytes (0: none), by @data. */
static inline uint32_t cray_crc32c(const struct cray_crc *c, uint32_t crc, const void *data,
				   size_t size)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t w;

	crc = ~crc;
	if (c->has_instruction)
		return ~cray_crc32c_instruction(crc, p, size);
	for (; size >= 8; size -= 8, p += 8) {
		__builtin_memcpy(&w, p, 8);
		w ^= crc;
		crc = c->t[7][w & 0xff] ^ c->t[6][w >> 8 & 0xff] ^ c->t[5][w >> 16 & 0xff] ^
		      c->t[4][w >> 24 & 0xff] ^ c->t[3][w >> 32 & 0xff] ^ c->t[2][w >> 40 & 0xff] ^
		      c->t[1][w >> 48 & 0xff] ^ c->t[0][w >> 56];
	}
	for (; size > 0; size--)
		crc = crc >> 8 ^ c->t[0][(crc ^ *p++) & 0xff];
	return ~crc;
}

#endif
