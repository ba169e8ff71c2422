/* SPDX-License-Identifier: MIT */
/*
 * sys.h - the few things that the runtime asks of the system, and how it says something.
 *
 * The runtime lives in somebody else's program: it preserves errno around its system calls,
 * prints with write(2) only, and never aborts.
 */
#ifndef MEMORY_RT_SYS_H
#define MEMORY_RT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, ns; and CLOCK_REALTIME. */
uint64_t crt_now(void);
uint64_t crt_wall(void);

uint32_t crt_tid(void);
uint32_t crt_pid(void);

/* True while a thread of this process with that tid is there. */
bool crt_thread_lives(uint32_t tid);

/* Wait until *@word is no longer @value, for @ms at most.  Shared between processes. */
void crt_futex_wait(uint32_t *word, uint32_t value, uint32_t ms);
void crt_futex_wake(uint32_t *word);

/* All signals off, and back; errno stays as it was. */
struct crt_mask {
	uint64_t old;
	int saved_errno;
};
struct crt_mask crt_signals_off(void);
void crt_signals_back(struct crt_mask mask);

/* Zeros, or NULL. */
void *crt_memory(uint64_t size);
void crt_memory_free(void *memory, uint64_t size);

/* All of it, or false with errno. */
bool crt_write_all(int fd, const void *data, uint64_t size);

/* A file's text, with a NUL; how many bytes, 0 if there are none. */
size_t crt_read_file(const char *path, char *out, size_t size);

/* Text in a buffer that never overflows. */
struct crt_text {
	char *at;
	char *end; /* where the NUL goes when it is full */
};
void crt_text_init(struct crt_text *t, char *buffer, size_t size);
void crt_text_add(struct crt_text *t, const char *text);
void crt_text_number(struct crt_text *t, uint64_t n);
void crt_text_hex(struct crt_text *t, uint64_t n);

/* "cacheray[pid]: ..." in one line on stderr; the list of texts ends with NULL. */
void crt_say(const char *first, ...);

size_t crt_length(const char *s);
bool crt_equal(const char *a, const char *b);

#endif
