/* SPDX-License-Identifier: MIT */
/*
 * test_program_request.c - orders to a running program with the SDK: taken at its next event,
 * refused, withdrawn, and what is said about programs that cannot be asked.
 *
 * "test_program_request child" is the program: it makes an event for each byte of its input.
 */
#include <corotracer/corotracer.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "collect/program_request.h"
#include "collect/region.h"

static struct err err;

/* ---- the program ----------------------------------------------------------------- */

struct program {
	pid_t pid;
	int input, output;
};

static int run_child(void)
{
	struct corotracer_coro co = { 0 }, each = { 0 };
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	corotracer_begin(&co, "asked");
	CHECK_EQ(write(1, "", 1), 1);
	while (read(0, &byte, 1) == 1) {
		if (byte == 'x')
			execl("/bin/cat", "cat", (char *)NULL);
		/* A new one: without lanes, earlier coroutines are not taken over. */
		corotracer_begin(&each, "each");
		corotracer_resume(&each);
		corotracer_suspend(&each, NULL);
		corotracer_end(&each);
		CHECK_EQ(write(1, "", 1), 1);
	}
	return 0;
}

static void program_start(struct program *p, const char *path, const char *word)
{
	int in[2], out[2];
	char byte;

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	p->pid = fork();
	if (!p->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, word, (char *)NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	p->input = in[1];
	p->output = out[0];
	if (word)
		CHECK_EQ(read(p->output, &byte, 1), 1);
}

static void program_event(const struct program *p)
{
	char byte;

	CHECK_EQ(write(p->input, "e", 1), 1);
	CHECK_EQ(read(p->output, &byte, 1), 1);
}

static void program_end(struct program *p)
{
	kill(p->pid, SIGKILL);
	CHECK_EQ(waitpid(p->pid, NULL, 0), p->pid);
	close(p->input);
	close(p->output);
}

/* What the program has in its block. */
static struct ctp_request block_of(struct program_request *q)
{
	struct ctp_request block;

	CHECK(q->nr_blocks == 1 && q->blocks[0].address);
	CHECK_EQ(target_read(&q->target, q->blocks[0].address, &block, sizeof(block), &err), 0);
	CHECK(request_block_valid(&block));
	return block;
}

/* ---- tests ------------------------------------------------------------------------ */

static void an_order_that_fails_is_explained(void)
{
	struct program_request q;
	struct program p;
	char words[200];
	uint64_t first;

	program_start(&p, "/proc/self/exe", "child");
	CHECK_EQ(request_open(&q, p.pid, &err), 0);
	CHECK_EQ(request_send(&q, "/nonexistent/region", "", 4, &err), 0);
	CHECK_EQ(request_look(&q), REQUEST_PENDING);
	CHECK_EQ(block_of(&q).gate, 1);
	CHECK_EQ(block_of(&q).order.stations, 4);
	CHECK_STR(block_of(&q).order.shm, "/nonexistent/region");
	first = q.blocks[0].number;
	CHECK(first & 1);
	program_event(&p);
	CHECK_EQ(request_look(&q), REQUEST_FAILED);
	CHECK(block_of(&q).handled == first && block_of(&q).gate == 0);
	CHECK_EQ(request_explain(&q, &err), -ENOENT);
	snprintf(words, sizeof(words),
		 "process %d cannot use the shared memory: No such file or directory", (int)p.pid);
	CHECK_STR(err.text, words);
	CHECK_STR(err.hint, "name a file that the program can create and open with --shm PATH");
	q.blocks[0].result = ENOMEM;
	CHECK_EQ(request_explain(&q, &err), -ENOMEM);
	CHECK(strstr(err.hint, "ulimit -v") != NULL);
	/* Another order is another number. */
	CHECK_EQ(request_send(&q, "/nonexistent/other", "", 4, &err), 0);
	CHECK(q.blocks[0].number != first && block_of(&q).order.number == q.blocks[0].number);
	CHECK_EQ(request_look(&q), REQUEST_PENDING);
	request_close(&q);
	CHECK(q.nr_blocks == 0 && q.target.pidfd == -1);
	program_end(&p);
}

static void an_order_that_is_withdrawn_is_not_taken(void)
{
	struct program_request q;
	struct ctp_request block;
	struct program p;
	uint64_t handled;

	program_start(&p, "/proc/self/exe", "child");
	CHECK_EQ(request_open(&q, p.pid, &err), 0);
	request_withdraw(&q); /* there is none */
	CHECK_EQ(block_of(&q).order.number, 0);
	CHECK_EQ(request_send(&q, "/nonexistent/first", "", 4, &err), 0);
	program_event(&p);
	handled = block_of(&q).handled;
	CHECK_EQ(handled, q.blocks[0].number);
	request_withdraw(&q); /* too late: it stays as it is */
	CHECK_STR(block_of(&q).order.shm, "/nonexistent/first");
	CHECK_EQ(block_of(&q).gate, 0);
	CHECK_EQ(request_send(&q, "/nonexistent/second", "", 4, &err), 0);
	request_withdraw(&q);
	block = block_of(&q);
	CHECK_EQ(block.order.number, handled);
	CHECK_EQ(block.gate, 1); /* the next event closes it */
	CHECK_EQ(block.order.check, ctp_order_sum(&block.order));
	program_event(&p);
	block = block_of(&q);
	CHECK(block.gate == 0 && block.handled == handled && block.state == CTP_REQUEST_IDLE);
	CHECK_EQ(request_look(&q), REQUEST_PENDING); /* the order was never handled */
	request_close(&q);
	program_end(&p);
}

static void a_program_attaches_to_one_collector(void)
{
	struct program_request q, second;
	struct region region;
	struct program p;
	char words[200];
	uint64_t address;
	uint32_t why;

	program_start(&p, "/proc/self/exe", "child");
	CHECK(request_peek(p.pid, &why, &address));
	CHECK_EQ(why & 0xff, CTP_WHY_NO_ENVIRONMENT);
	CHECK_EQ(region_create(&region, 64, 0, NULL, NULL, NULL, &err), 0);
	CHECK_EQ(request_open(&q, p.pid, &err), 0);
	CHECK_EQ(address, q.blocks[0].address);
	CHECK_EQ(request_send(&q, region.shm, region.sock, 64, &err), 0);
	CHECK_EQ(request_look(&q), REQUEST_PENDING);
	program_event(&p);
	CHECK_EQ(request_look(&q), REQUEST_ATTACHED);
	CHECK(q.blocks[0].attached && q.seen == REQUEST_ATTACHED);
	CHECK(!request_peek(p.pid, &why, &address)); /* it is attached */
	CHECK(request_peek_again(p.pid, q.blocks[0].address, &why));
	CHECK_EQ(why & 0xff, CTP_WHY_ATTACHED);
	CHECK(!request_peek_again(p.pid, q.blocks[0].address + 8, &why));
	CHECK(!request_peek_again(p.pid, 16, &why));
	/* This process is the collector. */
	CHECK_EQ(request_open(&second, p.pid, &err), -EBUSY);
	snprintf(words, sizeof(words), "process %d is traced by another collector, process %d",
		 (int)p.pid, (int)getpid());
	CHECK_STR(err.text, words);
	snprintf(words, sizeof(words), "end that one first: kill -INT %d", (int)getpid());
	CHECK_STR(err.hint, words);
	/* It ends without a word: the program detaches at its next event, for the next one. */
	CHECK_EQ(flock(region.fd, LOCK_UN), 0);
	CHECK_EQ(request_open(&second, p.pid, &err), 0);
	program_event(&p);
	CHECK_EQ(block_of(&second).state, CTP_REQUEST_IDLE);
	CHECK_EQ(request_look(&q), REQUEST_LEFT);
	request_close(&second);
	request_close(&q);
	region_close(&region);
	program_end(&p);
}

static void programs_that_cannot_be_asked_are_named(void)
{
	struct program_request q;
	struct program p;
	char words[200], long_path[CTP_REQUEST_SHM_SIZE + 1];
	uint64_t address;
	uint32_t why;

	program_start(&p, "/bin/cat", NULL);
	while (request_peek(p.pid, &why, &address)) /* until it has executed it */
		usleep(1000);
	CHECK(why == 0 && address == 0);
	CHECK_EQ(request_open(&q, p.pid, &err), -ENOENT);
	snprintf(words, sizeof(words),
		 "process %d (cat) contains no corotracer SDK that can be asked", (int)p.pid);
	CHECK_STR(err.text, words);
	CHECK(strstr(err.hint, "corotracer run --") != NULL);
	program_end(&p);
	CHECK_EQ(request_open(&q, p.pid, &err), -ESRCH);
	CHECK(!request_peek(p.pid, &why, &address));
	program_start(&p, "/proc/self/exe", "child");
	CHECK_EQ(request_open(&q, p.pid, &err), 0);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	CHECK_EQ(request_send(&q, long_path, "", 4, &err), -ENAMETOOLONG);
	CHECK_EQ(request_send(&q, "/x", long_path, 4, &err), -ENAMETOOLONG);
	long_path[CTP_REQUEST_SHM_SIZE - 1] = '\0';
	CHECK_EQ(request_send(&q, long_path, "", 4, &err), 0);
	CHECK_STR(block_of(&q).order.shm, long_path);
	request_close(&q);
	program_end(&p);
}

static void the_end_of_a_program_is_seen(void)
{
	struct program_request q;
	struct program p;
	char byte;

	program_start(&p, "/proc/self/exe", "child");
	CHECK_EQ(request_open(&q, p.pid, &err), 0);
	CHECK_EQ(write(p.input, "x", 1), 1); /* it becomes cat, */
	CHECK_EQ(write(p.input, "y", 1), 1);
	CHECK_EQ(read(p.output, &byte, 1), 1); /* which writes what it reads */
	CHECK_EQ(byte, 'y');
	CHECK_EQ(request_look(&q), REQUEST_REPLACED);
	program_end(&p);
	CHECK_EQ(request_look(&q), REQUEST_ENDED);
	request_close(&q);
}

static void a_block_that_is_none_is_refused(void)
{
	struct ctp_request block = { .magic = CTP_REQUEST_MAGIC,
				     .version = CTP_REQUEST_VERSION,
				     .size = sizeof(block) };

	CHECK(request_block_valid(&block));
	block.size = 65536;
	CHECK(request_block_valid(&block));
	block.size++;
	CHECK(!request_block_valid(&block));
	block.size = sizeof(block) - 1;
	CHECK(!request_block_valid(&block));
	block.size++;
	block.version++;
	CHECK(!request_block_valid(&block));
	block.version--;
	block.magic++;
	CHECK(!request_block_valid(&block));
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 2)
		return run_child();
	unsetenv("LD_PRELOAD"); /* a leak checker is for this program, not for the others */
	RUN(an_order_that_fails_is_explained);
	RUN(an_order_that_is_withdrawn_is_not_taken);
	RUN(a_program_attaches_to_one_collector);
	RUN(programs_that_cannot_be_asked_are_named);
	RUN(the_end_of_a_program_is_seen);
	RUN(a_block_that_is_none_is_refused);
	return 0;
}
