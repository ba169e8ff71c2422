/* SPDX-License-Identifier: MIT */
/*
 * fleet_ask_sql.h - the SQL of the questions: files with parameters.
 *
 * A file has parameters in ClickHouse's own form, {service:String}, so that clickhouse-client can
 * run it with --param_service=...  Old servers have no parameters: the tool replaces each one with
 * a quoted value, in the same way for every server.
 */
#ifndef FLEET_ASK_SQL_H
#define FLEET_ASK_SQL_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

struct ask_param {
	const char *name;
	const char *value; /* as text, not quoted */
};

/*
 * The text of the file @name ("ask_slowest.sql"): from the folder @dir if it has such a file, else
 * the one that the tool contains.  @dir may be NULL.  The text is added to @out, and its end is
 * marked with a zero byte that does not count.  -ENOENT: there is no such file.
 */
int ask_sql_read(struct bytes *out, const char *dir, const char *name, struct err *err);

/*
 * Add @text to @out, with every parameter replaced: {name:String} by a string in quotes,
 * {name:Identifier} by a name in quotes, {name:UInt64} and other numbers by digits.  Comments and
 * strings stay as they are.  -EINVAL: an unknown parameter, an unknown type, or a value that is not
 * of its type; @file is for the message.
 */
int ask_sql_fill(struct bytes *out, const char *file, const char *text,
		 const struct ask_param *params, size_t nr, struct err *err);

/* Write every file that the tool contains into the folder @dir. 0 or a negative errno. */
int ask_sql_save(const char *dir, struct err *err);

/* The names of the files that the tool contains, by number; NULL: no more. */
const char *ask_sql_name(size_t nr);

#endif
