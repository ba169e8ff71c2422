/* SPDX-License-Identifier: MIT */
/* image_registers.c - convert registers between the kernel's order and DWARF's. */
#include "process/image_registers.h"

#include <errno.h>
#include <string.h>

#define REGISTERS_COUNT (sizeof(dwarf_to_raw) / sizeof(dwarf_to_raw[0]))

#if defined(__aarch64__)

enum {
	RAW_RESULT = 0,
	RAW_NUMBER = 8,
	RAW_SP = 31,
	RAW_PC = 32,
};

static const unsigned char dwarf_to_raw[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
static const unsigned char raw_arguments[] = { 0, 1, 2, 3, 4, 5 };

#else

enum {
	RAW_RESULT = 10, /* rax */
	RAW_NUMBER = 15, /* orig_rax */
	RAW_PC = 16,
	RAW_CS = 17,
	RAW_SP = 19,
	RAW_SS = 20,
};

/* rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 rip */
static const unsigned char dwarf_to_raw[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
					      8,  7,  6,  3, 2,  1,  0, 16 };
static const unsigned char raw_arguments[] = { 14, 13, 12, 7, 9, 8 }; /* rdi rsi rdx r10 r8 r9 */

#endif

_Static_assert(sizeof(dwarf_to_raw) <= IMAGE_REGISTERS, "room in struct image_thread");

void registers_set(struct image_thread *t, const uint64_t raw[REGISTERS_RAW])
{
	size_t i;

	for (i = 0; i < REGISTERS_COUNT; i++)
		t->registers[i] = raw[dwarf_to_raw[i]];
	t->nr_registers = REGISTERS_COUNT;
	t->has_registers = true;
	t->sp = raw[RAW_SP];
	t->pc = raw[RAW_PC];
}

void registers_get(const struct image_thread *t, uint64_t raw[REGISTERS_RAW])
{
	size_t i;

	memset(raw, 0, REGISTERS_RAW * sizeof(*raw));
	for (i = 0; t->has_registers && i < REGISTERS_COUNT; i++)
		raw[dwarf_to_raw[i]] = t->registers[i];
	raw[RAW_SP] = t->sp;
	raw[RAW_PC] = t->pc;
#if !defined(__aarch64__)
	/* Debuggers read it as "not in a system call" if it is negative. */
	raw[RAW_NUMBER] = (uint64_t)(t->has_syscall ? t->syscall_nr : -1);
	raw[RAW_CS] = 0x33; /* of every 64-bit program */
	raw[RAW_SS] = 0x2b;
#endif
}

/* EINTR, or ERESTARTSYS to ERESTART_RESTARTBLOCK, which only debuggers see. */
static bool result_is_interrupted(int64_t result)
{
	return result == -EINTR || (result <= -512 && result >= -516);
}

bool registers_syscall(const uint64_t raw[REGISTERS_RAW], int64_t *nr, uint64_t args[6])
{
	int64_t number = (int64_t)raw[RAW_NUMBER];
	size_t i;

	if (number < 0 || number > 4095 || !result_is_interrupted((int64_t)raw[RAW_RESULT]))
		return false;
	*nr = number;
	for (i = 0; i < 6; i++)
		args[i] = raw[raw_arguments[i]];
#if defined(__aarch64__)
	args[0] = 0;
#endif
	return true;
}
