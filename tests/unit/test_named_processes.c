/* SPDX-License-Identifier: MIT */
/*
 * test_named_processes.c - processes that shared memory names by their number: whether they still
 * exist, which number they have here, and whose files they have.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/file_owner.h"
#include "process/pid_alias.h"
#include "process/process_check.h"

static struct err err;

/* ---- does it exist? ----------------------------------------------------------------- */

static void a_zombie_and_a_missing_thread_have_ended(void)
{
	uint32_t self = (uint32_t)getpid();
	siginfo_t info;
	pid_t pid;

	CHECK(!process_thread_ended(self, self));
	CHECK(process_thread_ended(self, 1)); /* a process, and no thread of this one */
	CHECK(process_thread_ended(4194305, 4194305));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, ") S 1 (");
		_exit(0);
	}
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CHECK(process_thread_ended((uint32_t)pid, (uint32_t)pid)); /* a zombie */
	waitpid(pid, NULL, 0);
	CHECK(process_thread_ended((uint32_t)pid, (uint32_t)pid));
}

/* ---- its number here ------------------------------------------------------------------ */

static void a_number_stands_for_itself_until_another_is_known(void)
{
	struct pid_aliases a = { 0 };

	CHECK_EQ(pid_alias_outer(NULL, 7), 7);
	CHECK_EQ(pid_alias_outer(&a, 7), 7);
	pid_alias_set(&a, 7, 7007);
	pid_alias_set(&a, 8, 8008);
	CHECK_EQ(pid_alias_outer(&a, 7), 7007);
	CHECK_EQ(pid_alias_outer(&a, 8), 8008);
	CHECK_EQ(pid_alias_outer(&a, 9), 9);
	/* A number that is used again belongs to the newest process. */
	pid_alias_set(&a, 7, 7777);
	CHECK_EQ(pid_alias_outer(&a, 7), 7777);
	CHECK_EQ(a.nr, 2);
	/* The same number on both sides, or none, needs no entry. */
	pid_alias_set(&a, 5, 5);
	pid_alias_set(&a, 0, 5);
	CHECK_EQ(a.nr, 2);
}

static void a_full_table_replaces_one_entry(void)
{
	struct pid_aliases a = { 0 };
	uint32_t i;

	for (i = 1; i <= PID_ALIASES; i++)
		pid_alias_set(&a, i, 1000 + i);
	CHECK_EQ(a.nr, PID_ALIASES);
	pid_alias_set(&a, 900, 64 * 20 + 3);
	CHECK_EQ(a.nr, PID_ALIASES);
	CHECK_EQ(pid_alias_outer(&a, 900), 64 * 20 + 3);
	CHECK_EQ(pid_alias_outer(&a, 4), 4); /* it had entry 3 */
	CHECK_EQ(pid_alias_outer(&a, 3), 1003);
	CHECK_EQ(pid_alias_outer(&a, 5), 1005);
}

struct lesson {
	struct pid_aliases *a;
	int calls;
};

static void learn(void *ctx)
{
	struct lesson *l = ctx;

	l->calls++;
	pid_alias_set(l->a, 20, 2020);
}

static void nothing_is_asked_twice(void)
{
	struct pid_aliases a = { .learn = learn };
	struct lesson l = { .a = &a };
	uint32_t i;

	a.ctx = &l;
	CHECK_EQ(pid_alias_outer(&a, 20), 2020);
	CHECK_EQ(l.calls, 1);
	CHECK_EQ(pid_alias_outer(&a, 20), 2020);
	CHECK_EQ(l.calls, 1);
	CHECK_EQ(pid_alias_outer(&a, 30), 30);
	CHECK_EQ(l.calls, 2);
	CHECK_EQ(pid_alias_outer(&a, 30), 30);
	CHECK_EQ(l.calls, 2);
	/* The last eight are remembered. */
	for (i = 31; i < 30 + PID_OWN; i++)
		CHECK_EQ(pid_alias_outer(&a, i), i);
	CHECK_EQ(l.calls, 2 + (int)PID_OWN - 1);
	CHECK_EQ(pid_alias_outer(&a, 30), 30);
	CHECK_EQ(l.calls, 2 + (int)PID_OWN - 1);
	CHECK_EQ(pid_alias_outer(&a, 99), 99); /* in the place of 30 */
	CHECK_EQ(pid_alias_outer(&a, 30), 30);
	CHECK_EQ(l.calls, 2 + (int)PID_OWN + 1);
}

static void a_process_of_this_namespace_needs_no_entry(void)
{
	struct pid_aliases a = { 0 };

	pid_alias_add(&a, (uint32_t)getpid());
	pid_alias_add(&a, 4194305); /* does not exist */
	CHECK_EQ(a.nr, 0);
}

/* ---- whose files ------------------------------------------------------------------------ */

static void the_owner_is_the_user_of_the_process(void)
{
	struct file_owner owner;

	CHECK_EQ(file_owner_of(getpid(), &owner, &err), 0);
	CHECK_EQ(owner.pid, getpid());
	CHECK_EQ(owner.uid, geteuid());
	CHECK_EQ(owner.gid, getegid());
	CHECK_EQ(owner.inner, getpid());
	CHECK(!owner.own_root);
	CHECK_EQ(file_owner_of(4194305, &owner, &err), -ENOENT);
	CHECK_STR(err.text, "cannot read '/proc/4194305/status': No such file or directory");
}

/* The fourth number of the line counts: files are created with it. */
static void the_user_of_files_counts(void)
{
	struct file_owner owner;

	if (geteuid() != 0)
		return;
	setfsgid(4321);
	setfsuid(1234);
	CHECK_EQ(file_owner_of(getpid(), &owner, &err), 0);
	setfsuid(0);
	setfsgid(0);
	CHECK_EQ(owner.uid, 1234);
	CHECK_EQ(owner.gid, 4321);
}

static void check_created_by(uint32_t uid, uint32_t gid)
{
	char path[64] = "/tmp/corotracer-owner-XXXXXX";
	struct stat st;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	close(fd);
	unlink(path);
	CHECK_EQ(st.st_uid, uid);
	CHECK_EQ(st.st_gid, gid);
}

static void files_are_created_as_the_owner_in_between(void)
{
	struct file_owner other = { .pid = 1, .uid = 1234, .gid = 4321 }, own = { 0 };

	if (geteuid() != 0) {
		CHECK_EQ(file_owner_enter(&other, &err), -EPERM);
		CHECK_STR(err.text, "cannot create files for user 1234, who runs process 1");
		return;
	}
	CHECK_EQ(file_owner_enter(&other, &err), 0);
	check_created_by(1234, 4321);
	file_owner_leave(&other);
	check_created_by(0, 0);
	/* Only the group differs. */
	other.uid = 0;
	CHECK_EQ(file_owner_enter(&other, &err), 0);
	check_created_by(0, 4321);
	file_owner_leave(&other);
	/* Without a process: the caller's own. */
	own.uid = 1234;
	CHECK_EQ(file_owner_enter(&own, &err), 0);
	check_created_by(0, 0);
	file_owner_leave(&own);
}

static void other_users_need_rights(void)
{
	struct file_owner other = { .pid = 77, .uid = 1234, .gid = 4321 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setuid(4444) < 0)
			_exit(2);
		if (file_owner_enter(&other, &err) != -EPERM)
			_exit(3);
		if (!strstr(err.text, "cannot create files for user 1234, who runs process 77"))
			_exit(4);
		_exit((uint32_t)setfsuid((uid_t)-1) == geteuid() ? 0 : 5);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* ---- directories of the process ------------------------------------------------------------ */

static char folder[64];

static bool opens(const char *name)
{
	struct file_owner self = { .pid = getpid() };
	struct stat st, wanted;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = file_owner_open_dir(&self, path);
	if (fd < 0)
		return false;
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(stat(path, &wanted), 0);
	CHECK_EQ(st.st_ino, wanted.st_ino);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return true;
}

/* From here on openat2(2) is not there, as before Linux 5.6. */
static bool forbid_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void directories_are_opened_as_the_process_sees_them(void)
{
	struct file_owner missing = { .pid = 4194305 };
	char name[300], shortened[300], path[400];

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	snprintf(shortened, sizeof(shortened), "%.255s", name);
	snprintf(path, sizeof(path), "%s/one", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/one/two", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/link", folder);
	CHECK_EQ(symlink("one", path), 0);
	snprintf(path, sizeof(path), "%s/%s", folder, shortened);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(file_owner_open_dir(&missing, "/"), -ENOENT);
	CHECK(opens("one") && opens("one/two") && opens("one//two/") && opens("link/two"));
	CHECK(!opens("three") && !opens(name));
	if (forbid_openat2()) {
		CHECK(opens("one") && opens("one/two") && opens("one//two/"));
		CHECK(!opens("link/two")); /* no link may lead out of the root */
		CHECK(!opens("three"));
		CHECK(!opens(name)); /* not the directory with the first 255 bytes of its name */
		CHECK(opens(shortened));
	}
	rmdir(path);
	snprintf(path, sizeof(path), "%s/link", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/one/two", folder);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/one", folder);
	rmdir(path);
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/corotracer-named-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	RUN(a_zombie_and_a_missing_thread_have_ended);
	RUN(a_number_stands_for_itself_until_another_is_known);
	RUN(a_full_table_replaces_one_entry);
	RUN(nothing_is_asked_twice);
	RUN(a_process_of_this_namespace_needs_no_entry);
	RUN(the_owner_is_the_user_of_the_process);
	RUN(the_user_of_files_counts);
	RUN(files_are_created_as_the_owner_in_between);
	RUN(other_users_need_rights);
	RUN(directories_are_opened_as_the_process_sees_them);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
