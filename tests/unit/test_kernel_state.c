/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_state.c - the descriptors of a process that sleeps: asked twice, changed in between,
 * saved and loaded again.
 *
 * The process is a child, which shares its descriptors with this one.
 */
#include "inspect/kernel_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"
#include "inspect/kernel_roots.h"

static int set, event, ends[2];
static pid_t child;

static void watch(int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = { .events = events, .data.u64 = data };

	CHECK_EQ(epoll_ctl(set, op, fd, &e), 0);
}

static void start_child(void)
{
	set = epoll_create1(EPOLL_CLOEXEC);
	event = eventfd(5, EFD_CLOEXEC);
	CHECK(set >= 0 && event >= 0 && pipe2(ends, O_CLOEXEC) == 0);
	watch(EPOLL_CTL_ADD, ends[0], EPOLLIN, 0xabcdef0102);
	watch(EPOLL_CTL_ADD, event, EPOLLIN | EPOLLONESHOT | EPOLLET, 77);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

/* When the child sleeps. */
static void open_quiet(struct kernel_state *k)
{
	int i;

	kernel_state_open(k, child);
	for (i = 0; i < 5000 && k->is_open && !k->is_quiet; i++) {
		kernel_state_close(k);
		usleep(1000);
		kernel_state_open(k, child);
	}
	CHECK(!k->is_open || k->is_quiet);
}

static void descriptors_and_their_watches_are_asked(void)
{
	const struct kernel_descriptor *d;
	unsigned before = count_open();
	struct kernel_state k;

	open_quiet(&k);
	d = kernel_state_ask(&k, ends[0]);
	if (!k.is_open || !d || d->error == -EPERM || d->error == -ENOSYS)
		SKIP("descriptors of another process cannot be asked here");
	CHECK_EQ(d->error, 0);
	CHECK_EQ(d->state.fd, ends[0]);
	CHECK_EQ(d->state.kind, DESCRIPTOR_PIPE);
	CHECK(d->state.is_asked && !d->state.can_read && d->is_watched);
	CHECK_EQ(d->watch.epoll_fd, set);
	CHECK_EQ(d->watch.data, 0xabcdef0102);
	CHECK_EQ(d->watch.events & (EPOLLIN | EPOLLOUT), EPOLLIN);
	CHECK(!d->watch.is_edge && !d->watch.is_one_shot);
	CHECK(kernel_state_ask(&k, ends[0]) == d && k.nr_known == 1);
	d = kernel_state_ask(&k, event);
	CHECK_EQ(d->state.kind, DESCRIPTOR_EVENTFD);
	CHECK_EQ(d->state.unread, 5);
	CHECK(d->is_watched && d->watch.is_edge && d->watch.is_one_shot && d->state.can_read);
	d = kernel_state_ask(&k, ends[1]);
	CHECK(!d->error && !d->is_watched && d->state.can_write);
	CHECK_EQ(kernel_state_ask(&k, 900)->error, -EBADF);
	CHECK(!kernel_state_ask(&k, -1));
	CHECK_EQ(k.nr_watches, 2);
	CHECK_EQ(k.nr_known, 4);
	CHECK(!k.has_failed && !k.is_saved);
	kernel_state_close(&k);
	CHECK(!k.known && !k.is_open);
	CHECK_EQ(count_open(), before);
}

static void what_changes_is_noticed(void)
{
	struct kernel_state k;

	open_quiet(&k);
	kernel_state_ask(&k, ends[0]);
	kernel_state_ask(&k, ends[1]);
	kernel_state_ask(&k, event);
	CHECK(kernel_state_confirm(&k) && kernel_state_confirm(&k));
	CHECK_EQ(k.nr_watches, 2);
	CHECK_EQ(write(ends[1], "abc", 3), 3);
	CHECK(!kernel_state_confirm(&k));
	CHECK(k.is_quiet);
	CHECK(kernel_state_confirm(&k)); /* the same as the last time */
	CHECK_EQ(kernel_state_ask(&k, ends[0])->state.unread, 3);
	CHECK(kernel_state_ask(&k, ends[0])->state.can_read);
	watch(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLOUT, 1);
	CHECK(!kernel_state_confirm(&k));
	CHECK(kernel_state_confirm(&k));
	watch(EPOLL_CTL_DEL, ends[0], 0, 0);
	CHECK(!kernel_state_confirm(&k));
	CHECK(!kernel_state_ask(&k, ends[0])->is_watched);
	CHECK_EQ(k.nr_watches, 1);
	watch(EPOLL_CTL_ADD, ends[0], EPOLLIN, 0xabcdef0102);
	CHECK(!kernel_state_confirm(&k) && kernel_state_confirm(&k));
	kernel_state_close(&k);
	CHECK(!kernel_state_confirm(&k));
	kernel_state_open(&k, 0x7ffffff0); /* there is no such process */
	CHECK(!k.is_open && !kernel_state_ask(&k, 0));
	kernel_state_close(&k);
}

static void a_state_is_saved_and_loaded(void)
{
	const struct kernel_descriptor *d;
	struct kernel_state k, loaded;
	char *text;

	open_quiet(&k);
	kernel_state_ask_all(&k);
	CHECK(k.nr_known >= 4 && kernel_state_ask(&k, 900)->error == -EBADF);
	text = kernel_state_save(&k, true);
	CHECK(text != NULL);
	CHECK_EQ(kernel_state_load(&loaded, text), 0);
	free(text);
	CHECK(loaded.is_saved && !loaded.is_open && loaded.is_quiet && !loaded.has_failed);
	CHECK_EQ(loaded.nr_known, k.nr_known - 1); /* the closed one is not in it */
	CHECK_EQ(loaded.nr_watches, 2);
	CHECK_STR(loaded.doubt, "a pipe or a local socket has unread bytes: they may be pointers");
	d = kernel_state_ask(&loaded, ends[0]);
	CHECK_EQ(d->state.kind, DESCRIPTOR_PIPE);
	CHECK_EQ(d->state.inode, kernel_state_ask(&k, ends[0])->state.inode);
	CHECK_EQ(d->state.unread, 3);
	CHECK(d->is_watched && d->state.can_read && d->state.is_asked && !d->state.can_write);
	CHECK_EQ(d->watch.data, 0xabcdef0102);
	CHECK_EQ(d->watch.epoll_fd, set);
	d = kernel_state_ask(&loaded, event);
	CHECK(d->watch.is_edge && d->watch.is_one_shot && d->state.unread == 5);
	CHECK(d->state.can_write && !d->state.has_error && !d->state.has_hung_up);
	CHECK_EQ(kernel_state_ask(&loaded, 900)->error, -EBADF);
	CHECK(!kernel_state_confirm(&loaded));
	kernel_state_close(&loaded);
	text = kernel_state_save(&k, false);
	CHECK_EQ(kernel_state_load(&loaded, text), 0);
	CHECK(!loaded.is_quiet);
	free(text);
	kernel_state_close(&loaded);
	kernel_state_close(&k);
	/* Of a process that could not be asked, nothing is known. */
	text = kernel_state_save(&k, false);
	CHECK_EQ(kernel_state_load(&loaded, text), 0);
	CHECK(loaded.has_failed && loaded.is_saved);
	CHECK_EQ(kernel_state_ask(&loaded, 5)->error, -EPERM);
	free(text);
	kernel_state_close(&loaded);
}

/* Counts of eventfds are words of the program; as many as there is room for. */
static void counts_of_events_are_words_of_the_program(void)
{
	struct kernel_roots *roots = calloc(1, sizeof(*roots));
	static int events[KERNEL_ROOTS_MAX + 8];
	struct rlimit usual, large;
	struct descriptors self;
	struct err err = { 0 };
	size_t i, nr = 0;

	CHECK(roots != NULL);
	if (descriptors_open(&self, getpid(), &err) < 0)
		SKIP("descriptors cannot be asked here");
	kernel_roots_read(roots, &self);
	CHECK_EQ(roots->nr, 1);
	CHECK_EQ(roots->words[0], 5);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
	large = usual;
	large.rlim_cur = usual.rlim_max < 8192 ? usual.rlim_max : 8192;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &large), 0);
	while (nr < KERNEL_ROOTS_MAX + 8 && (events[nr] = eventfd(nr & 1, EFD_CLOEXEC)) >= 0)
		nr++;
	kernel_roots_read(roots, &self);
	CHECK_EQ(roots->nr, 1 + nr / 2); /* an empty one is no word */
	for (i = 0; i < nr; i += 2)
		CHECK_EQ(write(events[i], &(uint64_t){ 7 }, 8), 8);
	kernel_roots_read(roots, &self);
	CHECK_EQ(roots->nr, nr < KERNEL_ROOTS_MAX ? 1 + nr : KERNEL_ROOTS_MAX);
	while (nr)
		close(events[--nr]);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
	descriptors_close(&self);
	free(roots);
}

#define WATCH(fd)                                                                         \
	"{\"epoll\":9,\"fd\":" #fd ",\"inode\":4,\"events\":1,\"data\":8,\"edge\":false," \
	"\"one_shot\":true,\"disarmed\":true}"
#define KNOWN(fd, kind)                                                                    \
	"{\"fd\":" #fd ",\"kind\":" #kind ",\"inode\":4,\"asked\":true,\"read\":false,"    \
	"\"write\":false,\"error\":true,\"hung_up\":true,\"listening\":true,\"unread\":6," \
	"\"peer\":\"1.2.3.4:5\"}"

static void a_file_that_makes_no_sense_is_read_as_far_as_possible(void)
{
	struct kernel_state k;
	const struct kernel_descriptor *d;
	char *many = malloc(3 * 4100);
	int i, size = 0;

	CHECK_EQ(kernel_state_load(&k, "nothing"), -EINVAL);
	CHECK(!k.is_saved && !k.is_quiet && !kernel_state_ask(&k, 1));
	kernel_state_close(&k);
	CHECK_EQ(kernel_state_load(&k, "{}"), 0);
	CHECK(k.is_saved && !k.nr_known && !k.is_quiet);
	kernel_state_close(&k);
	CHECK_EQ(kernel_state_load(
			 &k,
			 "{\"descriptors\":[" KNOWN(1, 1) ",{}," KNOWN(2, 6) "," KNOWN(
				 -1, 1) "," KNOWN(3, 5) "," KNOWN(4, -1) "],\"watches\":[{}"
									 "," WATCH(3) "],"
										      "\"words\":["
										      "1,-2],"
										      "\"doubt\":"
										      "\"io_"
										      "uring\","
										      "\"settled\""
										      ":true}"),
		 0);
	CHECK_EQ(k.nr_known, 2);
	CHECK_EQ(k.nr_watches, 1);
	d = kernel_state_ask(&k, 3);
	CHECK(d->is_watched && d->watch.is_disarmed && d->watch.is_one_shot && !d->watch.is_edge);
	CHECK(d->state.has_error && d->state.has_hung_up && d->state.is_listening);
	CHECK_STR(d->state.peer, "1.2.3.4:5");
	CHECK(!kernel_state_ask(&k, 1)->is_watched);
	CHECK_EQ(k.nr_words, 2);
	CHECK(k.words[1] == (uint64_t)-2);
	CHECK_STR(k.doubt, "io_uring");
	kernel_state_close(&k);
	/* As many words as there may be, and one more. */
	CHECK(many != NULL);
	size += sprintf(many, "{\"words\":[1");
	for (i = 1; i < 4096; i++)
		size += sprintf(many + size, ",1");
	strcpy(many + size, "]}");
	CHECK_EQ(kernel_state_load(&k, many), 0);
	CHECK_EQ(k.nr_words, 4096);
	kernel_state_close(&k);
	strcpy(many + size, ",1]}");
	CHECK_EQ(kernel_state_load(&k, many), -EINVAL);
	kernel_state_close(&k);
	free(many);
}

static void ask_and_close(void)
{
	struct kernel_state k, loaded;
	char *text;

	open_quiet(&k);
	kernel_state_ask_all(&k);
	kernel_state_confirm(&k);
	text = kernel_state_save(&k, true);
	CHECK_EQ(kernel_state_load(&loaded, text), 0);
	free(text);
	kernel_state_close(&loaded);
	kernel_state_close(&k);
}

static void nothing_is_kept(void)
{
	unsigned before = count_open();

	check_keeps_no_memory(ask_and_close);
	CHECK_EQ(count_open(), before);
}

int main(void)
{
	start_child();
	RUN(descriptors_and_their_watches_are_asked);
	RUN(what_changes_is_noticed);
	RUN(a_state_is_saved_and_loaded);
	RUN(counts_of_events_are_words_of_the_program);
	RUN(a_file_that_makes_no_sense_is_read_as_far_as_possible);
	RUN(nothing_is_kept);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	return 0;
}
