/* SPDX-License-Identifier: MIT */
/*
 * test_hooks.c - what stands in front of libc's functions in a traced program: blocks of the heap
 * are recorded, and the trace is complete however the program ends.
 */
#include <corotracer/cacheray.h>

#include <malloc.h>

#include "recorded_bed.h"

void __tsan_read1(void *p);

/* The compiler must not pair these calls. */
static void *volatile block[8];
static volatile size_t too_many = SIZE_MAX / 2;

static void heap_blocks(void)
{
	block[0] = malloc(100);
	block[1] = calloc(3, 8);
	block[0] = realloc(block[0], 20000); /* moves or not: the first one ends */
	free(block[1]);
	free(NULL);
	block[2] = aligned_alloc(64, 128);
	block[3] = memalign(32, 32);
	CHECK_EQ(posix_memalign((void **)&block[4], 64, 77), 0);
	block[5] = reallocarray(NULL, 5, 6);
	errno = 0;
	CHECK(reallocarray(block[5], too_many, 3) == NULL); /* it stays */
	CHECK_EQ(errno, ENOMEM);
	free(block[5]);
	free(block[4]);
	free(block[3]);
	free(block[2]);
	free(block[0]);
}

static void blocks_of_the_heap_are_recorded(void)
{
	records(heap_blocks, "",
		"alloc block 1: 100\nalloc block 2: 24\nfree block 1\nalloc block 3: 20000\n"
		"free block 2\nalloc block 4: 128\nalloc block 5: 32\nalloc block 6: 77\n"
		"alloc block 7: 30\nfree block 7\nfree block 6\nfree block 5\nfree block 4\nfree "
		"block 3\n");
	records(heap_blocks, "heap=0", "");
}

static void typed_block(void)
{
	block[0] = malloc(64);
	cacheray_rtta_add(block[0], 8, 8, "struct node");
	free(block[0]);
	block[0] = malloc(8);
	cacheray_rtta_add(block[0], 8, 1, "long");
	block[0] = realloc(block[0], 16);
	free(block[0]);
}

/* The annotation of a block ends with it. */
static void a_freed_block_has_no_type(void)
{
	CHECK_EQ(run(typed_block, "heap=0"), 0);
	read_back(path);
	CHECK(strstr(text, "8x8 'struct node'\nremove ") != NULL);
	CHECK(strstr(text, "1x8 'long'\nremove ") != NULL);
}

static void leaves_at_once(void)
{
	__tsan_read1(at(1));
	_exit(3);
}

static void executes(void)
{
	__tsan_read1(at(1));
	execlp("no-such-program-here", "no-such-program-here", NULL);
	CHECK_EQ(errno, ENOENT);
	__tsan_read1(at(2));
	execlp("sh", "sh", "-c", "exit $1", "sh", "4", NULL);
}

static char script[128];

/* A file without "#!" is run by the shell. */
static void executes_a_script(void)
{
	char *argv[] = { script, (char *)"5", NULL };

	__tsan_read1(at(1));
	execvp(script, argv);
}

static void the_trace_is_complete_however_the_program_ends(void)
{
	FILE *f;

	CHECK_EQ(run(leaves_at_once, "heap=0"), 3);
	read_back(path);
	CHECK_STR(text, "r1 +1\n");
	CHECK_EQ(run(executes, "heap=0"), 4);
	read_back(path);
	CHECK_STR(text, "r1 +1\nr1 +2\n");
	snprintf(script, sizeof(script), "%s/script", scratch);
	f = fopen(script, "w");
	CHECK(f != NULL);
	fputs("exit $1\n", f);
	fclose(f);
	CHECK_EQ(chmod(script, 0700), 0);
	CHECK_EQ(run(executes_a_script, "heap=0"), 5);
	read_back(path);
	CHECK_STR(text, "r1 +1\n");
	unlink(script);
}

int main(void)
{
	bed_begin();
	RUN(blocks_of_the_heap_are_recorded);
	RUN(a_freed_block_has_no_type);
	RUN(the_trace_is_complete_however_the_program_ends);
	bed_end();
	return 0;
}
