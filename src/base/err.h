/* SPDX-License-Identifier: MIT */
/*
 * err.h - an error code with a message.
 *
 * A function that can fail takes a `struct err *` as its last parameter and returns 0 (or a
 * positive count) on success and a negative errno on failure; a constructor returns NULL. The
 * message is set once, where the name of the object is known:
 *
 *	fd = open(path, O_RDONLY | O_CLOEXEC);
 *	if (fd < 0)
 *		return err_errno(err, "cannot open '%s'", path);
 *
 * A hint says what the user can do.  Nothing here allocates, prints or exits; the tool prints
 * errors in one place.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	int code; /* a negative errno; 0: no failure */
	char text[512];
	char hint[512];
	int exit_status; /* that a shell has for this failure; 0: none in particular */
};

/* Record a failure detected by the caller.  Returns @code, so that the caller can return it. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Record a failed system call: appends strerror(errno) and returns -errno. */
int err_errno(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set the hint: what the user can do.  Replaces an earlier hint. */
void err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
