/* SPDX-License-Identifier: MIT */
/*
 * sys.c - system calls and text output, without stdio and without allocation.
 */
#include "sys.h"

#include <corotracer/thread_id.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uint64_t sys_clock_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t crt_now(void)
{
	return sys_clock_ns(CLOCK_MONOTONIC);
}

uint64_t crt_wall(void)
{
	return sys_clock_ns(CLOCK_REALTIME);
}

uint32_t crt_tid(void)
{
	return ctp_thread_id();
}

uint32_t crt_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

bool crt_thread_lives(uint32_t tid)
{
	int saved = errno;
	bool lives = tid >= CTP_TID_OWN || syscall(SYS_tgkill, crt_pid(), tid, 0) == 0 ||
		     errno != ESRCH;

	errno = saved;
	return lives;
}

void crt_futex_wait(uint32_t *word, uint32_t value, uint32_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	int saved = errno;

	/* Woken, value changed, timed out or interrupted: the caller checks again in any case. */
	syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
	errno = saved;
}

void crt_futex_wake(uint32_t *word)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	errno = saved;
}

/*
 * For kernels before 5.14.  To find the key of a futex in a file the kernel needs its page: without
 * room for it the call fails, and no signal is raised.
 */
static bool sys_fault_in_pages(uint8_t *at, uint64_t size)
{
	uint64_t i;

	for (i = 0; i < size; i += 4096) {
		if (syscall(SYS_futex, at + i, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
			return false;
	}
	return true;
}

bool crt_fault_in(void *at, uint64_t size)
{
	int saved = errno;
	bool done = madvise(at, size, MADV_POPULATE_WRITE) == 0 ||
		    (errno == EINVAL && sys_fault_in_pages(at, size));

	errno = saved;
	return done;
}

struct crt_mask crt_signals_off(void)
{
	struct crt_mask m = { .saved_errno = errno };
	uint64_t all = ~UINT64_C(0);

	/* The raw system call: libc's wrapper leaves some signals enabled. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &m.old, sizeof(all));
	return m;
}

void crt_signals_back(struct crt_mask m)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &m.old, NULL, sizeof(m.old));
	errno = m.saved_errno;
}

void *crt_memory(uint64_t size)
{
	int saved = errno;
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return m == MAP_FAILED ? NULL : m;
}

void crt_memory_free(void *memory, uint64_t size)
{
	if (memory)
		munmap(memory, size);
}

void *crt_memory_once(void **made, uint64_t size)
{
	/* (mem-I) pairs with the release below. */
	void *none = NULL, *t = __atomic_load_n(made, __ATOMIC_ACQUIRE);

	if (t)
		return t;
	t = crt_memory(size);
	if (!t)
		return NULL;
	/* (mem-I) pairs with the acquire above: a thread that sees the table sees it zeroed. */
	if (!__atomic_compare_exchange_n(made, &none, t, false, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		crt_memory_free(t, size);
		return none;
	}
	return t;
}

bool crt_write_all(int fd, const void *data, uint64_t size)
{
	const uint8_t *at = data;

	while (size) {
		ssize_t n = write(fd, at, size > (1u << 30) ? 1u << 30 : size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (uint64_t)n;
	}
	return true;
}

size_t crt_read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n;

	out[0] = '\0';
	if (fd < 0)
		return 0;
	while (have + 1 < size && (n = read(fd, out + have, size - 1 - have)) > 0)
		have += (size_t)n;
	out[have] = '\0';
	close(fd);
	return have;
}

size_t crt_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

bool crt_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

void crt_text_init(struct crt_text *t, char *buffer, size_t size)
{
	t->at = buffer;
	t->end = buffer + size - 1;
	*t->at = '\0';
}

void crt_text_add(struct crt_text *t, const char *text)
{
	while (*text && t->at < t->end)
		*t->at++ = *text++;
	*t->at = '\0';
}

static void sys_number(struct crt_text *t, uint64_t n, unsigned base)
{
	char digits[24], *d = digits + sizeof(digits) - 1;

	*d = '\0';
	do {
		*--d = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	crt_text_add(t, d);
}

void crt_text_number(struct crt_text *t, uint64_t n)
{
	sys_number(t, n, 10);
}

void crt_text_hex(struct crt_text *t, uint64_t n)
{
	sys_number(t, n, 16);
}

void crt_say(const char *first, ...)
{
	char line[1024];
	struct crt_text t;
	const char *text;
	va_list ap;
	int saved = errno;

	crt_text_init(&t, line, sizeof(line) - 1);
	crt_text_add(&t, "cacheray[");
	crt_text_number(&t, crt_pid());
	crt_text_add(&t, "]: ");
	va_start(ap, first);
	for (text = first; text; text = va_arg(ap, const char *))
		crt_text_add(&t, text);
	va_end(ap);
	*t.at++ = '\n';
	crt_write_all(STDERR_FILENO, line, (uint64_t)(t.at - line));
	errno = saved;
}
