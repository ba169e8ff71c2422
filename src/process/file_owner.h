/* SPDX-License-Identifier: MIT */
/*
 * file_owner.h - create files for another user, and in another process's mount namespace.
 *
 * A collector with the rights of root creates the files of a program of another user as that user:
 * the program can open them, the file system of a user namespace accepts them, and names that the
 * user controls lead nowhere that the user could not go.
 */
#ifndef PROCESS_FILE_OWNER_H
#define PROCESS_FILE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct file_owner {
	pid_t pid;    /* the process whose files they are; 0: the caller's own */
	uint32_t uid; /* as this process sees it */
	uint32_t gid;
	bool own_root;  /* the process has another root directory, or another mount namespace */
	uint32_t inner; /* the pid that the process sees, in its own pid namespace */
};

int file_owner_of(pid_t pid, struct file_owner *out, struct err *err);

/*
 * Between the two calls files are created and opened as the owner.  Only one thread's rights
 * change.  Nothing happens if the owner is this process's user.
 */
int file_owner_enter(const struct file_owner *owner, struct err *err);
void file_owner_leave(const struct file_owner *owner);

/* A descriptor of directory @path as the owner's process sees it, or a negative errno. */
int file_owner_open_dir(const struct file_owner *owner, const char *path);

#endif
