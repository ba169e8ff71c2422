/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls and messages of the runtime.
 *
 * The runtime runs inside the traced program: it preserves errno around its system calls, prints
 * only with write(2), and never aborts.
 */
#ifndef RUNTIME_MEMORY_SYS_H
#define RUNTIME_MEMORY_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, ns; and CLOCK_REALTIME. */
uint64_t crt_now(void);
uint64_t crt_wall(void);

uint32_t crt_tid(void);
uint32_t crt_pid(void);

/* True while this process has a thread with this tid. */
bool crt_thread_lives(uint32_t tid);

/* Wait while *@word equals @value, at most @ms.  Works between processes. */
void crt_futex_wait(uint32_t *word, uint32_t value, uint32_t ms);
void crt_futex_wake(uint32_t *word);

/* Block all signals and restore the mask; errno is preserved. */
struct crt_mask {
	uint64_t old;
	int saved_errno;
};
struct crt_mask crt_signals_off(void);
void crt_signals_back(struct crt_mask mask);

/* Zeroed memory from mmap, or NULL. */
void *crt_memory(uint64_t size);
void crt_memory_free(void *memory, uint64_t size);

/*
 * Give memory of a file its pages, with their content.  False: there is no room for them; the first
 * access would raise SIGBUS.
 */
bool crt_fault_in(void *at, uint64_t size);

/* A table that all threads share: zeroed memory, made on first use, stored in *@made.  Or NULL. */
void *crt_memory_once(void **made, uint64_t size);

/* Write all bytes; false with errno. */
bool crt_write_all(int fd, const void *data, uint64_t size);

/* Read a file into @out and add a NUL.  Returns the bytes read; 0 on failure. */
size_t crt_read_file(const char *path, char *out, size_t size);

/* Append text to a buffer of fixed size; excess text is cut. */
struct crt_text {
	char *at;
	char *end; /* position of the NUL when the buffer is full */
};
void crt_text_init(struct crt_text *t, char *buffer, size_t size);
void crt_text_add(struct crt_text *t, const char *text);
void crt_text_number(struct crt_text *t, uint64_t n);
void crt_text_hex(struct crt_text *t, uint64_t n);

/* Print "cacheray[pid]: ..." as one line on stderr; the list of texts ends with NULL. */
void crt_say(const char *first, ...);

size_t crt_length(const char *s);
bool crt_equal(const char *a, const char *b);

#endif
