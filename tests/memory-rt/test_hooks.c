/* SPDX-License-Identifier: MIT */
/*
 * test_hooks.c - what stands in front of libc's functions in a traced program: blocks of the heap
 * are recorded, and the trace is complete however the program ends.
 */
#include <corotracer/cacheray.h>

#include <malloc.h>

#include "container.h"
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

/* operator new and delete of C++, which call malloc and free. */
void *new_one(size_t n) __asm__("_Znwm");
void *new_array(size_t n) __asm__("_Znam");
void *new_or_null(size_t n, const void *t) __asm__("_ZnwmRKSt9nothrow_t");
void *new_array_or_null(size_t n, const void *t) __asm__("_ZnamRKSt9nothrow_t");
void *new_aligned(size_t n, size_t a) __asm__("_ZnwmSt11align_val_t");
void *new_array_aligned(size_t n, size_t a) __asm__("_ZnamSt11align_val_t");
void delete_one(void *p) __asm__("_ZdlPv");
void delete_array(void *p) __asm__("_ZdaPv");
void delete_sized(void *p, size_t n) __asm__("_ZdlPvm");
void delete_array_sized(void *p, size_t n) __asm__("_ZdaPvm");
void delete_aligned(void *p, size_t a) __asm__("_ZdlPvSt11align_val_t");
void delete_sized_aligned(void *p, size_t n, size_t a) __asm__("_ZdlPvmSt11align_val_t");

static void objects(void)
{
	block[0] = new_one(10);
	block[1] = new_array(11);
	block[2] = new_or_null(12, NULL);
	block[3] = new_array_or_null(13, NULL);
	block[4] = new_aligned(64, 32);
	block[5] = new_array_aligned(128, 64);
	CHECK((uintptr_t)block[4] % 32 == 0 && (uintptr_t)block[5] % 64 == 0);
	block[6] = new_one(0); /* not NULL */
	CHECK(block[6] != NULL);
	delete_one(block[0]);
	delete_array(block[1]);
	delete_sized(block[2], 12);
	delete_array_sized(block[3], 13);
	delete_aligned(block[4], 32);
	delete_sized_aligned(block[5], 128, 64);
	delete_one(block[6]);
	delete_one(NULL);
}

static void objects_are_blocks_of_the_heap(void)
{
	records(objects, "",
		"alloc block 1: 10\nalloc block 2: 11\nalloc block 3: 12\nalloc block 4: 13\n"
		"alloc block 5: 64\nalloc block 6: 128\nalloc block 7: 1\nfree block 1\n"
		"free block 2\nfree block 3\nfree block 4\nfree block 5\nfree block 6\n"
		"free block 7\n");
}

/* ---- call stacks of blocks ------------------------------------------------------------ */

void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);

static char callers[512];

/* The stack of each block, as the functions that the test entered. */
static void read_stacks(void)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	const struct mem_record *rec;
	const uint64_t *frames;
	size_t nr, i, used = 0;

	CHECK(r != NULL);
	while ((rec = mem_reader_next(r))) {
		if (rec->kind != MEM_ALLOC)
			continue;
		nr = mem_reader_stack(r, rec->stack, &frames);
		used += (size_t)snprintf(callers + used, sizeof(callers) - used, "%" PRIu64 ":",
					 rec->value);
		for (i = 0; i < nr; i++) {
			if (frames[i] < 0x10000)
				used += (size_t)snprintf(callers + used, sizeof(callers) - used,
							 " %" PRIx64, frames[i]);
		}
		used += (size_t)snprintf(callers + used, sizeof(callers) - used, "\n");
	}
	mem_reader_close(r);
}

static __attribute__((noinline)) void allocate_in(uintptr_t caller, size_t size)
{
	__tsan_func_entry((void *)caller); // NOLINT(performance-no-int-to-ptr)
	block[size % 8] = malloc(size);
	__tsan_func_exit();
	__asm__ volatile("");
}

static __attribute__((noinline)) void allocate_below(uintptr_t caller, size_t size)
{
	__tsan_func_entry((void *)caller); // NOLINT(performance-no-int-to-ptr)
	allocate_in(0x2222, size);
	__tsan_func_exit();
	__asm__ volatile("");
}

static void allocates_in_functions(void)
{
	block[0] = malloc(40);
	allocate_in(0x1111, 41);
	allocate_below(0x3333, 42);
	allocate_in(0x1112, 43);
	allocate_in(0x1111, 44); /* the stack of the first one */
	allocate_below(0x3333, 45);
}

static void a_block_has_the_stack_of_its_allocation(void)
{
	CHECK_EQ(run(allocates_in_functions, ""), 0);
	CHECK_STR(said, "");
	read_stacks();
	CHECK_STR(callers, "40:\n41: 1111\n42: 2222 3333\n43: 1112\n44: 1111\n45: 2222 3333\n");
}

/* ---- copies, linked with --wrap ----------------------------------------------------------- */

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int c, size_t n, size_t room);

static volatile size_t amount; /* the compiler must not know it */

static void wrapped_copies(void)
{
	amount = 10;
	CHECK(memset(at(0), 'a', amount) == at(0));
	CHECK(memcpy(at(100), at(0), amount) == at(100));
	CHECK(data.bytes[109] == 'a' && data.bytes[110] == 0);
	amount = 11;
	CHECK(memmove(at(101), at(100), amount) == at(101));
	CHECK(data.bytes[110] == 'a' && data.bytes[111] == 0);
	CHECK(__memset_chk(at(200), 'b', amount, 500) == at(200));
	CHECK(data.bytes[210] == 'b' && data.bytes[211] == 0);
	CHECK(__memcpy_chk(at(300), at(200), amount, 500) == at(300));
	CHECK(data.bytes[310] == 'b' && data.bytes[311] == 0);
	CHECK(__memmove_chk(at(301), at(300), amount, 500) == at(301));
	CHECK(data.bytes[311] == 'b' && data.bytes[312] == 0);
}

static void copies_are_recorded(void)
{
	records(wrapped_copies, "heap=0",
		"w10 +0 library\nr10 +0 library\nw10 +100 library\n"
		"r11 +100 library\nw11 +101 library\nw11 +200 library\n"
		"r11 +200 library\nw11 +300 library\nr11 +300 library\nw11 +301 library\n");
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

/* ---- exec in all its forms ---------------------------------------------------------------- */

static char *const status_args[] = { (char *)"sh", (char *)"-c", (char *)"exit $CODE", NULL };
static char *const status_env[] = { (char *)"CODE=9", NULL };

static void execute_execv(void)
{
	setenv("CODE", "6", 1);
	__tsan_read1(at(1));
	execv("/bin/sh", status_args);
}

static void execute_execve(void)
{
	__tsan_read1(at(1));
	execve("/bin/sh", status_args, status_env);
}

static void execute_execl(void)
{
	setenv("CODE", "7", 1);
	__tsan_read1(at(1));
	execl("/bin/sh", "sh", "-c", "exit $CODE", NULL);
}

static void execute_execle(void)
{
	__tsan_read1(at(1));
	execle("/bin/sh", "sh", "-c", "exit $CODE", NULL, status_env);
}

static void execute_execvpe(void)
{
	setenv("PATH", "/nowhere::/bin:/usr/bin", 1);
	__tsan_read1(at(1));
	execvpe("sh", status_args, status_env);
}

static void execute_fexecve(void)
{
	int fd = open("/bin/sh", O_RDONLY);

	__tsan_read1(at(1));
	fexecve(fd, status_args, status_env);
}

static void leaves_by_Exit(void)
{
	__tsan_read1(at(1));
	_Exit(8);
}

/* What fails: a directory, a file that is not executable, an empty name, and no PATH. */
static void execute_in_vain(void)
{
	__tsan_read1(at(1));
	CHECK(execv("/", status_args) == -1 && errno == EACCES);
	CHECK(execvp("", status_args) == -1 && errno == ENOENT);
	CHECK(execvp("/etc/passwd", status_args) == -1 && errno == EACCES);
	setenv("PATH", "/etc:/nowhere", 1);
	CHECK(execvp("passwd", status_args) == -1 && errno == EACCES);
	setenv("PATH", "/nowhere:/etc/passwd", 1); /* ENOTDIR is not the last word */
	CHECK(execvp("sh", status_args) == -1 && errno == ENOENT);
	unsetenv("PATH"); /* then /bin and /usr/bin */
	setenv("CODE", "3", 1);
	execvp("sh", status_args);
}

static void each_exec_completes_the_trace(void)
{
	static const struct {
		void (*program)(void);
		int status;
	} programs[] = { { execute_execv, 6 },  { execute_execve, 9 },  { execute_execl, 7 },
			 { execute_execle, 9 }, { execute_execvpe, 9 }, { execute_fexecve, 9 },
			 { leaves_by_Exit, 8 }, { execute_in_vain, 3 } };
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		CHECK_EQ(run(programs[i].program, "heap=0"), programs[i].status);
		read_back(path);
		CHECK_STR(text, "r1 +1\n");
	}
}

/* A program that executes itself does not overwrite what it recorded before. */
static void executes_itself(void)
{
	__tsan_read1(at(1));
	execl("/proc/self/exe", "again", NULL);
}

static void the_next_program_has_another_file(void)
{
	char next[200];

	CHECK_EQ(run(executes_itself, "heap=0"), 0);
	read_back(path);
	CHECK_STR(text, "r1 +1\n");
	snprintf(next, sizeof(next), "%s.1", path);
	read_back(next);
	CHECK_STR(text, "r1 4d\n");
	CHECK_EQ(unlink(next), 0);
}

/* A trace of an earlier process that had the same number. */
static void executes_after_another(void)
{
	uint64_t start_ns = 1;
	int fd;

	__tsan_read1(at(1));
	CHECK_EQ(execl("/no/such/program", "x", NULL), -1); /* the file is complete */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK_EQ(pwrite(fd, &start_ns, 8, offsetof(struct cray_file, start_ns)), 8);
	close(fd);
	execl("/proc/self/exe", "again", NULL);
}

static void a_trace_of_an_earlier_process_is_kept_as_old(void)
{
	char old[200];

	CHECK_EQ(run(executes_after_another, "heap=0"), 0);
	CHECK_STR(said, "");
	read_back(path);
	CHECK_STR(text, "r1 4d\n");
	snprintf(old, sizeof(old), "%s.old", path);
	CHECK_EQ(unlink(old), 0);
	snprintf(old, sizeof(old), "%s.1", path);
	CHECK(access(old, F_OK) < 0);
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

int main(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], "again")) {
		__tsan_init();
		__tsan_read1((void *)(uintptr_t)77); // NOLINT(performance-no-int-to-ptr)
		return 0;
	}
	bed_begin();
	RUN(blocks_of_the_heap_are_recorded);
	RUN(objects_are_blocks_of_the_heap);
	RUN(a_block_has_the_stack_of_its_allocation);
	RUN(copies_are_recorded);
	RUN(a_freed_block_has_no_type);
	RUN(each_exec_completes_the_trace);
	RUN(the_next_program_has_another_file);
	RUN(a_trace_of_an_earlier_process_is_kept_as_old);
	RUN(the_trace_is_complete_however_the_program_ends);
	bed_end();
	return 0;
}
