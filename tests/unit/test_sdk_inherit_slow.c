/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_inherit_slow.c - descriptors that a program inherits from its collector: which are used,
 * what is sent through the door, and what stays open.
 */
#include "sdk_kernel.h"

#include <corotracer/inherit_slow.h>

static struct ctp_inherited inherited(int fd)
{
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	return (struct ctp_inherited){ fd, (uint64_t)st.st_dev, (uint64_t)st.st_ino };
}

static int some_file(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	return fd;
}

/* ---- one descriptor ---------------------------------------------------------------------- */

static void a_descriptor_is_known_by_device_and_inode(void)
{
	int fd = some_file("known");
	struct ctp_inherited in = inherited(fd), other = in;

	CHECK_EQ(ctp_inherited_is(fd, &in), 1);
	other.dev++;
	CHECK_EQ(ctp_inherited_is(fd, &other), 0);
	other = in;
	other.ino++;
	CHECK_EQ(ctp_inherited_is(fd, &other), 0);
	other = (struct ctp_inherited){ fd, 0, 0 }; /* there is none */
	CHECK_EQ(ctp_inherited_is(fd, &other), 0);
	CHECK_EQ(ctp_inherited_is(-1, &in), 0);
	close(fd);
	CHECK_EQ(ctp_inherited_is(fd, &in), 0);
}

static void a_duplicate_has_a_high_number_if_there_is_one(void)
{
	int fd = some_file("high"), high = ctp_fd_duplicate(fd);

	CHECK(high >= CTP_HIGH_FD);
	CHECK_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
	close(high);
	kernel_fail(CALL_DUP, EINVAL, 1); /* both: the first and the second attempt */
	CHECK_EQ(ctp_fd_duplicate(fd), -1);
	CHECK_EQ(kernel.nr[CALL_DUP], 2);
	kernel_reset();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 100, 100 }), 0);
	high = ctp_fd_duplicate(fd);
	CHECK(high >= 3 && high < 100);
	CHECK_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
}

static void only_the_same_file_is_opened(void)
{
	int fd = some_file("same"), other = some_file("other"), got;
	struct ctp_inherited in = inherited(fd), wrong = in;
	unsigned before = count_open();

	got = ctp_inherited_open(&in);
	CHECK(got >= CTP_HIGH_FD);
	CHECK_EQ(ctp_inherited_is(got, &in), 1);
	close(got);
	wrong.ino++;
	kernel_reset();
	CHECK_EQ(ctp_inherited_open(&wrong), -1);
	CHECK_EQ(kernel.nr[CALL_DUP], 0); /* a close of a duplicate would release locks */
	/* The program reuses the number between the check and the duplicate. */
	kernel.other_fd = other;
	CHECK_EQ(ctp_inherited_open(&in), -1);
	kernel_fail(CALL_DUP, EMFILE, 1);
	CHECK_EQ(ctp_inherited_open(&in), -1);
	CHECK_EQ(count_open(), before);
}

/* ---- CTP_FDS ------------------------------------------------------------------------------ */

static void numbers_are_hexadecimal_and_end_with_a_colon(void)
{
	const char *text = "1f:rest", *at = text;
	uint64_t number = 0;

	CHECK_EQ(ctp_inherited_number(&at, &number), 1);
	CHECK_EQ(number, 0x1f);
	CHECK_STR(at, "rest");
	at = "1f";
	CHECK_EQ(ctp_inherited_number(&at, &number), 0);
	at = "1f;";
	CHECK_EQ(ctp_inherited_number(&at, &number), 0);
	at = ":";
	CHECK_EQ(ctp_inherited_number(&at, &number), 0);
	at = "";
	CHECK_EQ(ctp_inherited_number(&at, &number), 0);
}

static void a_descriptor_is_three_numbers(void)
{
	struct ctp_inherited in = { 0 };
	const char *at = "7fffffff:fe00:10:x";

	CHECK_EQ(ctp_inherited_parse(&at, &in), 1);
	CHECK_EQ(in.fd, INT32_MAX);
	CHECK_EQ(in.dev, 0xfe00);
	CHECK_EQ(in.ino, 16);
	CHECK_STR(at, "x");
	at = "80000000:1:1:";
	CHECK_EQ(ctp_inherited_parse(&at, &in), 0);
	at = "1:1:";
	CHECK_EQ(ctp_inherited_parse(&at, &in), 0);
	at = "1:";
	CHECK_EQ(ctp_inherited_parse(&at, &in), 0);
	at = ":1:1:";
	CHECK_EQ(ctp_inherited_parse(&at, &in), 0);
}

static void expect_found(const char *value, int is_found)
{
	struct ctp_session s;

	memset(&s, 0, sizeof(s));
	if (value)
		setenv(CTP_ENV_FDS, value, 1);
	else
		unsetenv(CTP_ENV_FDS);
	ctp_inherited_find(&s, "/dev/shm/region");
	CHECK_EQ(s.region_fd.fd, is_found ? 5 : 0);
	CHECK_EQ(s.region_fd.dev, is_found ? 6 : 0);
	CHECK_EQ(s.region_fd.ino, is_found ? 7 : 0);
	CHECK_EQ(s.door.fd, is_found ? 8 : 0);
	CHECK_EQ(s.door.dev, is_found ? 9 : 0);
	CHECK_EQ(s.door.ino, is_found ? 10 : 0);
}

static void descriptors_are_for_the_region_with_their_path(void)
{
	expect_found("5:6:7:8:9:a:/dev/shm/region", 1);
	expect_found("5:6:7:8:9:a:/dev/shm/region2", 0);
	expect_found("5:6:7:8:9:a:/dev/shm/regio", 0);
	expect_found("5:6:7:8:9:a:", 0);
	expect_found("5:6:7:8:9:/dev/shm/region", 0);
	expect_found("5:6:/dev/shm/region", 0);
	expect_found("", 0);
	expect_found(NULL, 0);
}

/* ---- the door ------------------------------------------------------------------------------ */

/* The next message, and the descriptor that comes with it; -1: none. */
static int hello_read(int door, struct ctp_hello *hello)
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec io = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr message = { .msg_iov = &io,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	int fd = -1;

	memset(hello, 0xa5, sizeof(*hello));
	CHECK_EQ(recvmsg(door, &message, MSG_DONTWAIT), (ssize_t)sizeof(*hello));
	cmsg = CMSG_FIRSTHDR(&message);
	if (!cmsg)
		return -1;
	CHECK_EQ(cmsg->cmsg_level, SOL_SOCKET);
	CHECK_EQ(cmsg->cmsg_type, SCM_RIGHTS);
	CHECK_EQ(cmsg->cmsg_len, CMSG_LEN(sizeof(fd)));
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static void expect_hello(const struct ctp_hello *hello, uint32_t kind, uint32_t why)
{
	CHECK_EQ(hello->magic, CTP_HELLO_MAGIC);
	CHECK_EQ(hello->kind, kind);
	CHECK_EQ(hello->why, why);
	CHECK_EQ(hello->pid, getpid());
	CHECK_EQ(hello->reserved, 0);
}

static int door_pair(struct ctp_session *s)
{
	int pair[2];

	memset(s, 0, sizeof(*s));
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	s->door = inherited(pair[1]);
	return pair[0];
}

static void a_connection_is_one_end_of_a_pair(void)
{
	struct ctp_session s;
	struct ctp_hello hello;
	int door = door_pair(&s), own, theirs, type = 0;
	unsigned before = count_open();
	socklen_t size = sizeof(type);
	char byte = 'a';

	own = ctp_door_connect(&s);
	CHECK(own >= CTP_HIGH_FD);
	CHECK_EQ(count_open(), before + 1);
	theirs = hello_read(door, &hello);
	expect_hello(&hello, CTP_HELLO_CONNECT, 0);
	CHECK(theirs >= 0);
	CHECK_EQ(getsockopt(own, SOL_SOCKET, SO_TYPE, &type, &size), 0);
	CHECK_EQ(type, SOCK_STREAM);
	CHECK_EQ(fcntl(own, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(own, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(write(own, &byte, 1), 1);
	CHECK_EQ(recv(theirs, &byte, 1, MSG_DONTWAIT), 1);
	close(own);
	CHECK_EQ(recv(theirs, &byte, 1, MSG_DONTWAIT), 0); /* no copy of it is left */
	CHECK_EQ(recv(door, &byte, 1, MSG_DONTWAIT), -1);
}

static void a_connection_that_fails_leaves_nothing_open(void)
{
	struct ctp_session s;
	int door = door_pair(&s);
	unsigned before = count_open();
	char byte;

	kernel_fail(CALL_SOCKETPAIR, EMFILE, 1);
	CHECK_EQ(ctp_door_connect(&s), -1);
	CHECK_EQ(count_open(), before);
	kernel_reset();
	kernel_fail(CALL_SEND, EAGAIN, 1);
	CHECK_EQ(ctp_door_connect(&s), -1);
	CHECK_EQ(count_open(), before);
	kernel_reset();
	CHECK_EQ(recv(door, &byte, 1, MSG_DONTWAIT), -1);
	/* The collector has ended: no signal. */
	close(door);
	CHECK_EQ(ctp_door_connect(&s), -1);
	CHECK_EQ(count_open(), before - 1);
	ctp_door_report(&s, 1);
	CHECK_EQ(count_open(), before - 1);
	/* The program has closed the door. */
	close(s.door.fd);
	CHECK_EQ(ctp_door_connect(&s), -1);
	kernel_reset();
	ctp_door_report(&s, 1);
	CHECK_EQ(kernel.nr[CALL_SEND], 0);
	CHECK_EQ(kernel.nr[CALL_CLOSE], 0);
}

static void a_report_has_the_reason_and_no_descriptor(void)
{
	struct ctp_session s;
	struct ctp_hello hello;
	int door = door_pair(&s);
	unsigned before = count_open();

	ctp_door_report(&s, CTP_WHY_NOT_OPENED | (uint32_t)EACCES << 8);
	CHECK_EQ(hello_read(door, &hello), -1);
	expect_hello(&hello, CTP_HELLO_FAILED, CTP_WHY_NOT_OPENED | (uint32_t)EACCES << 8);
	CHECK_EQ(count_open(), before);
}

/* It would block the program. */
static void a_door_with_no_room_is_left(void)
{
	struct ctp_hello hello = { .magic = 1 };
	struct ctp_session s;
	int i;

	door_pair(&s);
	for (i = 0; i < 100000 && ctp_door_send(s.door.fd, &hello, -1); i++)
		;
	CHECK(i > 0 && i < 100000);
	CHECK_EQ(errno, EAGAIN);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(a_descriptor_is_known_by_device_and_inode);
	RUN_ALONE(a_duplicate_has_a_high_number_if_there_is_one);
	RUN_ALONE(only_the_same_file_is_opened);
	RUN_ALONE(numbers_are_hexadecimal_and_end_with_a_colon);
	RUN_ALONE(a_descriptor_is_three_numbers);
	RUN_ALONE(descriptors_are_for_the_region_with_their_path);
	RUN_ALONE(a_connection_is_one_end_of_a_pair);
	RUN_ALONE(a_connection_that_fails_leaves_nothing_open);
	RUN_ALONE(a_report_has_the_reason_and_no_descriptor);
	RUN_ALONE(a_door_with_no_room_is_left);
	return 0;
}
