/* SPDX-License-Identifier: MIT */
/*
 * code_sweep.h - read the machine code of a coroutine: where it stores its resume index.
 *
 * Before it suspends, a coroutine stores a constant into its frame, which says where to continue.
 * The sweep goes through the code once, in the order of addresses, and follows constants and copies
 * of the frame's address through registers and stack slots.
 */
#ifndef SYMBOLS_CODE_SWEEP_H
#define SYMBOLS_CODE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_bytes {
	const uint8_t *data;
	size_t size;
	uint64_t addr;    /* in the process */
	unsigned machine; /* EM_X86_64 or EM_AARCH64 */
};

/* The frame's field that a coroutine function reads first, to know where to continue. */
struct code_field {
	uint32_t offset, size;
};

/* False: not recognized, or no disassembler. */
bool code_find_index(const struct code_bytes *code, struct code_field *out);

/* A store of the constant @value into the field; @is_frame: certainly into the frame. */
typedef void (*code_store_handler)(void *arg, uint64_t addr, uint64_t value, bool is_frame);

/* False: no disassembler for this machine. */
bool code_find_stores(const struct code_bytes *code, const struct code_field *field,
		      code_store_handler handler, void *arg);

/*
 * The register, by its DWARF number, that the store at the beginning of @code has its address from;
 * -1: not a store, or no disassembler.
 */
int code_store_base(const struct code_bytes *code);

#endif
