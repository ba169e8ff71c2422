/* SPDX-License-Identifier: MIT */
/* open_page.c - show a URL in the user's browser without exposing it to other users. */
#include "open_page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

/* XDG_RUNTIME_DIR, if it belongs to this user and is private. */
static const char *runtime_folder(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!dir || dir[0] != '/' || lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & 077) || access(dir, W_OK | X_OK) < 0)
		return NULL;
	return dir;
}

static const char *parent_folder(void)
{
	const char *dir = runtime_folder();

	if (!dir)
		dir = getenv("TMPDIR");
	return dir && dir[0] == '/' ? dir : "/tmp";
}

static int make_folder(struct open_page *o, struct err *err)
{
	if (snprintf(o->folder, sizeof(o->folder), "%s/corotracer-XXXXXX", parent_folder()) >=
	    PATH_MAX - 16) {
		o->folder[0] = '\0';
		return err_set(err, -ENAMETOOLONG, "cannot make a private file: name too long");
	}
	if (mkdtemp(o->folder))
		return 0;
	err_errno(err, "cannot make a private file '%s'", o->folder);
	o->folder[0] = '\0';
	return err->code;
}

static int page_write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t put = io_write(fd, text, size);

		if (put < 0)
			return (int)put;
		text += put;
		size -= (size_t)put;
	}
	return 0;
}

/* The URL contains no character that needs escaping in HTML. */
static int page_write_file(struct open_page *o, const char *url, struct err *err)
{
	char text[1024];
	int fd, rc;

	snprintf(o->file, sizeof(o->file), "%.*s/open.html", PATH_MAX - 16, o->folder);
	snprintf(text, sizeof(text),
		 "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
		 "<meta name=\"referrer\" content=\"no-referrer\"><title>corotracer</title>"
		 "<meta http-equiv=\"refresh\" content=\"0; url=%s\">"
		 "<p><a href=\"%s\">the page</a></p>\n",
		 url, url);
	fd = open(o->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : page_write_all(fd, text, strlen(text));
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		err_set(err, rc, "cannot write '%s': %s", o->file, strerror(-rc));
	return rc;
}

/* Double fork, so that the browser is not a child of this process. */
static void start_browser(const char *file)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 &&
		    fork() == 0)
			execlp("xdg-open", "xdg-open", file, (char *)NULL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int open_page_show(struct open_page *o, const char *url, struct err *err)
{
	memset(o, 0, sizeof(*o));
	if (make_folder(o, err) < 0 || page_write_file(o, url, err) < 0) {
		open_page_remove(o);
		return err->code;
	}
	start_browser(o->file);
	return 0;
}

void open_page_remove(struct open_page *o)
{
	if (o->file[0])
		unlink(o->file);
	if (o->folder[0])
		rmdir(o->folder);
	o->file[0] = o->folder[0] = '\0';
}
