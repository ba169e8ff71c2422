/* SPDX-License-Identifier: MIT */
/* test_program_door.c - descriptors for a launched program, and the messages of its processes. */
#include "collect/program_door.h"

#include <corotracer/inherit.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"

static char path[] = "/tmp/corotracer-test-XXXXXX";
static struct door d;

static void open_door(void)
{
	struct err err = { 0 };

	CHECK_EQ(door_open(&d, path, &err), 0);
}

/* As a process of the program does; @nr of @fds go along. */
static void send_hello(const void *hello, size_t size, const int *fds, size_t nr)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec io = { .iov_base = (void *)hello, .iov_len = size };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };

	if (nr) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(nr * sizeof(int)) };
		memcpy(CMSG_DATA(&control.head), fds, nr * sizeof(int));
	}
	CHECK_EQ(sendmsg(d.program_fd, &message, 0), (ssize_t)size);
}

static struct ctp_hello hello_of(uint32_t kind)
{
	return (struct ctp_hello){ .magic = CTP_HELLO_MAGIC, .kind = kind, .why = 17, .pid = 4711 };
}

static struct door_guest receive(void)
{
	struct door_guest guest;
	bool is_over = true;

	CHECK(door_receive(&d, &guest, &is_over));
	CHECK(!is_over);
	return guest;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void descriptors_have_high_numbers_and_names(void)
{
	struct stat region, door;
	unsigned open_before = count_open();
	char wanted[256];

	open_door();
	CHECK_EQ(count_open(), open_before + 3);
	CHECK(d.region_fd >= CTP_HIGH_FD && d.program_fd >= CTP_HIGH_FD);
	CHECK(fcntl(d.region_fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(d.program_fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fcntl(d.region_fd, F_GETFL) & O_ACCMODE, O_RDWR);
	CHECK(!fstat(d.region_fd, &region) && !fstat(d.program_fd, &door));
	snprintf(wanted, sizeof(wanted), "%x:%" PRIx64 ":%" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%s",
		 (unsigned)d.region_fd, (uint64_t)region.st_dev, (uint64_t)region.st_ino,
		 (unsigned)d.program_fd, (uint64_t)door.st_dev, (uint64_t)door.st_ino, path);
	CHECK_STR(d.value, wanted);
	door_launched(&d);
	CHECK_EQ(d.region_fd, -1);
	CHECK_EQ(d.program_fd, -1);
	CHECK(d.fd >= 0);
	CHECK_EQ(count_open(), open_before + 1);
	door_close(&d);
	CHECK_EQ(d.fd, -1);
	CHECK(!d.value);
	CHECK_EQ(count_open(), open_before);
}

static void a_region_that_is_gone_is_an_error(void)
{
	struct err err = { 0 };
	unsigned open_before = count_open();

	CHECK_EQ(door_open(&d, "/nonexistent/region", &err), -ENOENT);
	CHECK_STR(err.text, "cannot open '/nonexistent/region' for the program: No such file or "
			    "directory");
	CHECK_EQ(d.fd, -1);
	CHECK_EQ(count_open(), open_before);
}

static void a_process_connects_with_a_socket(void)
{
	struct ctp_hello hello = hello_of(CTP_HELLO_CONNECT);
	struct door_guest guest;
	unsigned open_before;
	int pair[2];
	char byte;

	open_door();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	open_before = count_open();
	send_hello(&hello, sizeof(hello), &pair[1], 1);
	guest = receive();
	CHECK(guest.fd >= 0);
	CHECK_EQ(guest.pid, getpid());
	CHECK_EQ(guest.uid, geteuid());
	CHECK_EQ(guest.inner, 4711);
	CHECK_EQ(guest.why, 0);
	CHECK(!guest.is_no_room);
	CHECK(fcntl(guest.fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(write(pair[0], "x", 1), 1);
	CHECK_EQ(read(guest.fd, &byte, 1), 1); /* it is that connection */
	close(guest.fd);
	CHECK_EQ(count_open(), open_before);
	/* Of several the first is used. */
	send_hello(&hello, sizeof(hello), (const int[]){ pair[1], pair[0], pair[0] }, 3);
	guest = receive();
	CHECK_EQ(write(pair[0], "y", 1), 1);
	CHECK_EQ(read(guest.fd, &byte, 1), 1);
	close(guest.fd);
	CHECK_EQ(count_open(), open_before);
	close(pair[0]);
	close(pair[1]);
	door_close(&d);
}

/* Nothing else is a connection; what came along is closed. */
static void other_messages_are_ignored(void)
{
	struct ctp_hello hello = hello_of(CTP_HELLO_CONNECT), other = hello_of(3);
	int file = open(path, O_RDWR | O_CLOEXEC), pair[2], packets[2];
	unsigned open_before;
	char large[64] = { 0 };

	open_door();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets), 0);
	open_before = count_open();
	send_hello(&hello, sizeof(hello), &file, 1);
	CHECK_EQ(receive().pid, 0);
	send_hello(&hello, sizeof(hello), &packets[0], 1); /* not a stream */
	CHECK_EQ(receive().pid, 0);
	send_hello(&other, sizeof(other), &pair[0], 1);
	CHECK_EQ(receive().pid, 0);
	send_hello(&hello, sizeof(hello) - 1, &pair[0], 1);
	CHECK_EQ(receive().pid, 0);
	hello.magic++;
	send_hello(&hello, sizeof(hello), &pair[0], 1);
	CHECK_EQ(receive().pid, 0);
	send_hello(large, sizeof(large), NULL, 0);
	CHECK_EQ(receive().pid, 0);
	CHECK_EQ(count_open(), open_before);
	close(file);
	close(pair[0]);
	close(pair[1]);
	close(packets[0]);
	close(packets[1]);
	door_close(&d);
}

static void a_process_may_have_failed(void)
{
	struct ctp_hello failed = hello_of(CTP_HELLO_FAILED), hello = hello_of(CTP_HELLO_CONNECT);
	struct door_guest guest;

	open_door();
	send_hello(&failed, sizeof(failed), NULL, 0);
	guest = receive();
	CHECK_EQ(guest.fd, -1);
	CHECK_EQ(guest.pid, getpid());
	CHECK_EQ(guest.why, 17);
	CHECK(!guest.is_no_room);
	/* The kernel drops a connection if this process has no descriptor for it. */
	send_hello(&hello, sizeof(hello), NULL, 0);
	guest = receive();
	CHECK_EQ(guest.fd, -1);
	CHECK_EQ(guest.pid, getpid());
	CHECK(guest.is_no_room);
	CHECK_EQ(guest.why, 0);
	door_close(&d);
}

static void messages_end_with_the_last_process(void)
{
	struct door_guest guest;
	bool is_over = true;

	open_door();
	CHECK(!door_receive(&d, &guest, &is_over)); /* none yet */
	CHECK(!is_over);
	CHECK_EQ(guest.fd, -1);
	door_launched(&d); /* nothing has the other end */
	CHECK(!door_receive(&d, &guest, &is_over));
	CHECK(is_over);
	door_close(&d);
	is_over = true;
	CHECK(!door_receive(&d, &guest, &is_over)); /* closed */
	CHECK(!is_over);
}

static void open_and_close(void)
{
	open_door();
	door_close(&d);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	door_init(&d);
	CHECK(d.fd == -1 && d.program_fd == -1 && d.region_fd == -1 && !d.value);
	RUN(descriptors_have_high_numbers_and_names);
	RUN(a_region_that_is_gone_is_an_error);
	RUN(a_process_connects_with_a_socket);
	RUN(other_messages_are_ignored);
	RUN(a_process_may_have_failed);
	RUN(messages_end_with_the_last_process);
	check_keeps_no_memory(open_and_close);
	unlink(path);
	return 0;
}
