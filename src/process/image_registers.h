/* SPDX-License-Identifier: MIT */
/*
 * image_registers.h - the general registers of a thread: the kernel's order and DWARF's.
 *
 * The kernel's order is that of struct pt_regs, of PTRACE_GETREGSET and of core files: 64-bit
 * words, of which the first REGISTERS_RAW are used here.
 */
#ifndef PROCESS_IMAGE_REGISTERS_H
#define PROCESS_IMAGE_REGISTERS_H

#include "process/process_image.h"

#if defined(__aarch64__)
#define REGISTERS_RAW 34 /* x0 to x30, sp, pc, pstate */
#else
#define REGISTERS_RAW 21 /* r15 to ss */
#endif

/* Set the registers, sp and pc of @t. */
void registers_set(struct image_thread *t, const uint64_t raw[REGISTERS_RAW]);

/* The reverse; registers that are not known are 0. */
void registers_get(const struct image_thread *t, uint64_t raw[REGISTERS_RAW]);

/*
 * True if the thread was interrupted in a system call: sets its number and arguments.  On aarch64
 * the first argument is lost.
 */
bool registers_syscall(const uint64_t raw[REGISTERS_RAW], int64_t *nr, uint64_t args[6]);

#endif
