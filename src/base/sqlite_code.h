/* SPDX-License-Identifier: MIT */
/* sqlite_code.h - map SQLite's last failure to a negative errno. */
#ifndef BASE_SQLITE_CODE_H
#define BASE_SQLITE_CODE_H

#include <errno.h>
#include <sqlite3.h>

/* Call right after the failure: for failed writes sqlite3_system_errno() is 0, errno is set. */
static inline int sqlite_code(sqlite3 *db)
{
	int number = errno, code = sqlite3_errcode(db);

	if (code == SQLITE_FULL)
		return -ENOSPC;
	return code == SQLITE_IOERR && number > 0 ? -number : -EIO;
}

#endif
