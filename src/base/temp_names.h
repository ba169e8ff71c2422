/* SPDX-License-Identifier: MIT */
/*
 * temp_names.h - remove temporary files when a signal ends the process.
 *
 * The first call installs handlers for SIGINT, SIGTERM, SIGHUP and SIGQUIT where these have their
 * default action; a signal that the process ignores, blocks or handles itself keeps its meaning.
 * The handler removes the files and ends the process by the same signal.  SIGXFSZ is ignored from
 * then on: a write beyond the limit of `ulimit -f` fails with EFBIG instead.
 */
#ifndef BASE_TEMP_NAMES_H
#define BASE_TEMP_NAMES_H

struct temp_name;

/*
 * As mkostemp(3) with O_CLOEXEC: replaces the XXXXXX at the end of @name.  Returns a descriptor and
 * *@entry, or -1 with errno.
 */
int temp_name_create(char *name, struct temp_name **entry);

/* The file was renamed or removed: do not remove it on a signal.  @entry may be NULL. */
void temp_name_forget(struct temp_name *entry);

#endif
