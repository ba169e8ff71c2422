/* SPDX-License-Identifier: MIT */
/*
 * recorded_bed.h - run a function as a traced program, in a child, and read its trace as text.
 *
 * Addresses are offsets in `data`, numbers of blocks of the heap ("block 1"), or small numbers.
 */
#ifndef RECORDED_BED_H
#define RECORDED_BED_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "memory/format/mem_reader.h"

void __tsan_init(void);

static union {
	uint8_t bytes[4096];
	uint32_t words[1024];
	uint64_t longs[512];
	void *pointers[512];
} data __attribute__((aligned(64)));

static inline void *at(size_t offset)
{
	return data.bytes + offset;
}

/* ---- a trace as text ------------------------------------------------------------ */

static char scratch[64], text[65536];
static size_t text_size;
static struct mem_blocks blocks;
static bool is_quiet; /* the records of a long trace are only counted */

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_size += (size_t)vsnprintf(text + text_size, sizeof(text) - text_size, fmt, args);
	va_end(args);
	CHECK(text_size < sizeof(text));
}

static void say_address(uint64_t address)
{
	uint64_t start = (uint64_t)(uintptr_t)data.bytes;

	if (address >= start && address < start + sizeof(data))
		say(" +%" PRIu64, address - start);
	else
		say(" %" PRIx64, address);
}

/* Blocks are numbered as they are allocated; an address may be used again. */
static uint64_t heap_at[64];
static unsigned nr_heap;

static void say_block(const struct mem_record *rec)
{
	unsigned i = nr_heap;

	if (rec->kind == MEM_ALLOC) {
		CHECK(nr_heap < 64);
		heap_at[nr_heap++] = rec->address;
		say(" block %u:", nr_heap);
		return;
	}
	while (i > 0 && heap_at[i - 1] != rec->address)
		i--;
	say(" block %u", i);
	if (i)
		heap_at[i - 1] = 0;
}

static void say_access(const struct mem_record *rec)
{
	static const char *const attributes[] = { "volatile", "vptr", "range", "library",
						  "compound" };
	unsigned i;

	say("%s%u", rec->kind == MEM_WRITE ? "w" : "r", rec->size);
	say_address(rec->address);
	for (i = 0; i < 5; i++) {
		if (rec->attr >> i & 1)
			say(" %s", attributes[i]);
	}
	if (rec->tag & 0x80)
		say(" unaligned");
	if (rec->tag & 0x40)
		say(" atomic");
	if (rec->pc && rec->pc < 0x100000)
		say(" pc %" PRIx64, rec->pc);
	if (rec->weight_256 != 256)
		say(" weight %u/256", rec->weight_256);
	say("\n");
}

/* Parts of a name end with NUL. */
static void say_name(const struct mem_record *rec)
{
	uint32_t i;

	say(" '");
	for (i = 0; i < rec->name_size; i++)
		say("%c", rec->name[i] >= ' ' ? rec->name[i] : '|');
	say("'");
}

static void say_record(const struct mem_record *rec)
{
	static const char *const kinds[] = { "read", "write", "add",  "remove", "mark",  "gap",
					     "coro", "alloc", "free", "stack",  "enter", "exit" };

	if (mem_is_access(rec)) {
		say_access(rec);
		return;
	}
	say("%s", kinds[rec->kind]);
	if (rec->kind == MEM_ALLOC || rec->kind == MEM_FREE)
		say_block(rec);
	if (rec->kind == MEM_ADD || rec->kind == MEM_REMOVE)
		say_address(rec->address);
	if (rec->kind == MEM_ADD)
		say(" %ux%u", rec->elem_count, rec->elem_size);
	if (rec->kind >= MEM_MARK && rec->kind != MEM_ENTER && rec->kind != MEM_FREE)
		say(" %" PRIu64, rec->value);
	if (rec->kind == MEM_ENTER)
		say(" %s%" PRIx64, rec->cause ? "again " : "", rec->value);
	if (rec->kind == MEM_GAP || rec->kind == MEM_CORO)
		say(" cause %u", rec->cause & CRAY_CORO_CAUSE);
	if (rec->name)
		say_name(rec);
	say("\n");
}

static void read_back(const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	const struct mem_record *rec;

	CHECK_STR(err.text, "");
	CHECK(r != NULL);
	text_size = nr_heap = 0;
	text[0] = '\0';
	while ((rec = mem_reader_next(r))) {
		if (!is_quiet)
			say_record(rec);
	}
	CHECK_EQ(mem_reader_error(r, &err), 0);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	blocks = *mem_reader_blocks(r);
	CHECK(blocks.complete);
	mem_reader_close(r);
}

/* ---- a program -------------------------------------------------------------------- */

static char path[128], said[4096];

/* Run @program with @options in a child, and read its trace.  Returns its exit status. */
static int run(void (*program)(void), const char *options)
{
	char all[512];
	int status, up[2];
	ssize_t got, size = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/trace", scratch);
	snprintf(all, sizeof(all), "tracefile=%s:%s", path, options);
	unlink(path);
	CHECK_EQ(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		setenv("CACHERAY_OPTIONS", all, 1);
		dup2(up[1], 2);
		__tsan_init();
		program();
		exit(0);
	}
	close(up[1]);
	while ((got = read(up[0], said + size, sizeof(said) - 1 - (size_t)size)) > 0)
		size += got;
	said[size] = '\0';
	close(up[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static inline void records(void (*program)(void), const char *options, const char *expected)
{
	int status = run(program, options);

	CHECK_STR(said, "");
	CHECK_EQ(status, 0);
	read_back(path);
	CHECK_STR(text, expected);
}

static void bed_begin(void)
{
	snprintf(scratch, sizeof(scratch), "/tmp/memory-rt-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	unsetenv("CACHERAY_REGION");
}

static void bed_end(void)
{
	unlink(path);
	rmdir(scratch);
}

#endif
