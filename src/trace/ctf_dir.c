/* SPDX-License-Identifier: MIT */
/* ctf_dir.c - inspect and clear the output directory of a CTF trace. */
#include "trace/ctf_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/ctf.h"
#include "trace/ctf_metadata.h"

static bool has_our_metadata(int dir)
{
	int fd = openat(dir, CTF_METADATA, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum ctf_whose whose;
	char text[64];
	ssize_t size;

	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text));
	close(fd);
	whose = size > 0 ? ctf_metadata_whose(text, (size_t)size) : CTF_NONE;
	return whose == CTF_OURS || whose == CTF_NEWER;
}

static DIR *ctf_dir_list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

enum ctf_content ctf_dir_content(int dir)
{
	DIR *d = ctf_dir_list(dir);
	bool strange = !d, any = false;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		any = true;
		strange |= ctf_file_of(e->d_name) == CTF_FILE_STRANGE;
	}
	if (d)
		closedir(d);
	if (!any && !strange)
		return CTF_DIR_EMPTY;
	return !strange && has_our_metadata(dir) ? CTF_DIR_TRACE : CTF_DIR_SOMETHING;
}

void ctf_dir_clear(int dir)
{
	DIR *d = ctf_dir_list(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (ctf_file_of(e->d_name) > CTF_FILE_METADATA)
			unlinkat(dir, e->d_name, 0);
	}
	if (d)
		closedir(d);
	unlinkat(dir, CTF_METADATA, 0);
}

int ctf_dir_sync(int dir)
{
	DIR *d = ctf_dir_list(dir);
	struct dirent *e;
	int rc = d ? 0 : -errno;

	while (rc == 0 && (e = readdir(d))) {
		int fd = is_dot(e->d_name) ? -1 : openat(dir, e->d_name, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		rc = fsync(fd) < 0 ? -errno : 0;
		close(fd);
	}
	if (d)
		closedir(d);
	if (rc == 0)
		fsync(dir); /* some file systems cannot; the files are synced */
	return rc;
}
