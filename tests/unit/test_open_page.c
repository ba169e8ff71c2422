/* SPDX-License-Identifier: MIT */
/*
 * test_open_page.c - the private file that takes a browser to a URL: where it is, who can read it,
 * and that nothing of it stays.
 */
#include "open_page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "count_open.h"

#define URL "http://127.0.0.1:8080/0123456789abcdef/"

static char scratch[64], private_folder[128], shared_folder[128], seen_path[128], text[8192];

static const char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t size = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	CHECK(f && fclose(f) == 0);
	text[size] = '\0';
	return text;
}

/* A browser that writes down what it was given. */
static void install_browser(void)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/xdg-open", scratch);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fprintf(f,
		"#!/bin/sh\n"
		"exec 3> %s.new\n"
		"echo \"$# $1\" >&3\n"
		"cat \"$1\" >&3\n"
		"fds=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)\n"
		"echo \"$fds\" >&3\n"
		"grep SigBlk /proc/self/status >&3\n"
		"mv %s.new %s\n",
		seen_path, seen_path, seen_path);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(chmod(path, 0700), 0);
	snprintf(text, sizeof(text), "%s:/usr/bin:/bin", scratch);
	setenv("PATH", text, 1);
}

/* What the browser saw. */
static const char *await_browser(void)
{
	unsigned i;

	for (i = 0; i < 2000 && access(seen_path, F_OK) < 0; i++)
		usleep(5000);
	read_text(seen_path);
	CHECK_EQ(unlink(seen_path), 0);
	return text;
}

/* Show the page; the folder must be in @parent. */
static void show_in(const char *parent)
{
	static struct open_page o;
	char wanted[4096], line[PATH_MAX + 8];
	struct err err = { 0 };
	unsigned before = count_open();
	struct stat st;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL); /* as the server has it */
	CHECK_EQ(open_page_show(&o, URL, &err), 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1); /* the browser is not a child */
	CHECK_EQ(errno, ECHILD);

	snprintf(wanted, sizeof(wanted), "%s/corotracer-", parent);
	CHECK_EQ(strncmp(o.folder, wanted, strlen(wanted)), 0);
	CHECK_EQ(strlen(o.folder), strlen(wanted) + 6);
	CHECK_EQ(stat(o.folder, &st), 0);
	CHECK(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
	CHECK_EQ(strncmp(o.file, o.folder, strlen(o.folder)), 0);
	CHECK_STR(o.file + strlen(o.folder), "/open.html");
	CHECK_EQ(stat(o.file, &st), 0);
	CHECK(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);

	await_browser();
	snprintf(line, sizeof(line), "1 %s\n", o.file);
	CHECK_EQ(strncmp(text, line, strlen(line)), 0);
	snprintf(wanted, sizeof(wanted),
		 "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
		 "<meta name=\"referrer\" content=\"no-referrer\"><title>corotracer</title>"
		 "<meta http-equiv=\"refresh\" content=\"0; url=" URL "\">"
		 "<p><a href=\"" URL "\">the page</a></p>\n"
		 "/dev/null\n/dev/null\n/dev/null\nSigBlk:\t0000000000000000\n");
	CHECK_STR(text + strlen(line), wanted);

	snprintf(line, sizeof(line), "%s", o.folder);
	open_page_remove(&o);
	CHECK(access(line, F_OK) < 0);
	CHECK_EQ(o.file[0] + o.folder[0], 0);
	open_page_remove(&o);
}

static void the_private_folder_of_the_user_is_first(void)
{
	setenv("TMPDIR", shared_folder, 1);
	setenv("XDG_RUNTIME_DIR", private_folder, 1);
	show_in(private_folder);
}

static void a_folder_that_others_can_read_is_not_taken(void)
{
	CHECK_EQ(chmod(private_folder, 0710), 0);
	show_in(shared_folder);
	CHECK_EQ(chmod(private_folder, 0701), 0);
	show_in(shared_folder);
	CHECK_EQ(chmod(private_folder, 0700), 0);
}

static void what_is_not_a_folder_is_not_taken(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/file", scratch);
	CHECK(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
	setenv("XDG_RUNTIME_DIR", path, 1);
	show_in(shared_folder);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(symlink(private_folder, path), 0);
	show_in(shared_folder);
	CHECK_EQ(unlink(path), 0);
	show_in(shared_folder); /* it does not exist */
	CHECK_EQ(chdir(scratch), 0);
	setenv("XDG_RUNTIME_DIR", "private", 1); /* it exists, but is not absolute */
	show_in(shared_folder);
	unsetenv("XDG_RUNTIME_DIR");
	show_in(shared_folder);
	setenv("TMPDIR", "shared", 1);
	show_in("/tmp");
	unsetenv("TMPDIR");
	show_in("/tmp");
	CHECK_EQ(chdir("/"), 0);
}

/* Another user's folder; only root can make one. */
static void a_folder_of_another_user_is_not_taken(void)
{
	if (geteuid() != 0)
		return;
	CHECK_EQ(chown(private_folder, 12345, (gid_t)-1), 0);
	setenv("TMPDIR", shared_folder, 1);
	setenv("XDG_RUNTIME_DIR", private_folder, 1);
	show_in(shared_folder);
	CHECK_EQ(chown(private_folder, 0, (gid_t)-1), 0);
}

static void a_failure_leaves_nothing(void)
{
	static struct open_page o;
	static char longest[PATH_MAX];
	struct rlimit before, small;
	struct err err = { 0 };
	unsigned fds = count_open();
	char wanted[256], nothing[128];

	unsetenv("XDG_RUNTIME_DIR");
	snprintf(nothing, sizeof(nothing), "%s/nothing", scratch);
	setenv("TMPDIR", nothing, 1);
	CHECK_EQ(open_page_show(&o, URL, &err), -ENOENT);
	snprintf(wanted, sizeof(wanted), "cannot make a private file '%s/corotracer-", nothing);
	CHECK_EQ(strncmp(err.text, wanted, strlen(wanted)), 0);
	CHECK_EQ(o.folder[0] + o.file[0], 0);

	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	setenv("TMPDIR", longest, 1);
	err = (struct err){ 0 };
	CHECK_EQ(open_page_show(&o, URL, &err), -ENAMETOOLONG);
	CHECK_STR(err.text, "cannot make a private file: name too long");
	CHECK_EQ(o.folder[0] + o.file[0], 0);

	/* Room for a part of the file. */
	setenv("TMPDIR", shared_folder, 1);
	err = (struct err){ 0 };
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 50, before.rlim_max };
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(open_page_show(&o, URL, &err), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	snprintf(wanted, sizeof(wanted), "cannot write '%s/corotracer-", shared_folder);
	CHECK_EQ(strncmp(err.text, wanted, strlen(wanted)), 0);
	CHECK(strstr(err.text, "/open.html': File too large") != NULL);
	CHECK_EQ(rmdir(shared_folder), 0); /* it is empty */
	CHECK_EQ(mkdir(shared_folder, 0755), 0);
	CHECK_EQ(count_open(), fds);
}

static void without_a_browser_the_file_exists(void)
{
	static struct open_page o;
	struct err err = { 0 };

	snprintf(text, sizeof(text), "%s/xdg-open", scratch);
	CHECK_EQ(unlink(text), 0);
	setenv("PATH", scratch, 1);
	CHECK_EQ(open_page_show(&o, URL, &err), 0);
	CHECK_EQ(access(o.file, F_OK), 0);
	open_page_remove(&o);
}

int main(void)
{
	alarm(60);
	umask(022);
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	snprintf(private_folder, sizeof(private_folder), "%s/private", scratch);
	snprintf(shared_folder, sizeof(shared_folder), "%s/shared", scratch);
	snprintf(seen_path, sizeof(seen_path), "%s/seen", scratch);
	CHECK(!mkdir(private_folder, 0700) && !mkdir(shared_folder, 0755));
	install_browser();
	RUN(the_private_folder_of_the_user_is_first);
	RUN(a_folder_that_others_can_read_is_not_taken);
	RUN(what_is_not_a_folder_is_not_taken);
	RUN(a_folder_of_another_user_is_not_taken);
	RUN(a_failure_leaves_nothing);
	RUN(without_a_browser_the_file_exists);
	CHECK(!rmdir(private_folder) && !rmdir(shared_folder) && !rmdir(scratch));
	return 0;
}
