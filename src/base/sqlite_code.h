/* SPDX-License-Identifier: MIT */
/* sqlite_code.h - the negative errno that stands for SQLite's last failure. */
#ifndef BASE_SQLITE_CODE_H
#define BASE_SQLITE_CODE_H

#include <errno.h>
#include <sqlite3.h>

/* To be called right after the failure: sqlite3_system_errno() is 0 for writes, errno is not. */
static inline int sqlite_code(sqlite3 *db)
{
	int number = errno, code = sqlite3_errcode(db);

	if (code == SQLITE_FULL)
		return -ENOSPC;
	return code == SQLITE_IOERR && number > 0 ? -number : -EIO;
}

#endif
