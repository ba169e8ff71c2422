/* SPDX-License-Identifier: MIT */
/* fleet_ask_sql.c - the SQL of the questions: files with parameters. */
#include "fleet/fleet_ask_sql.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/fleet_ask_files.h"

#define SQL_FILE_MAX   (1 << 20)

#define SQL_FILE(name) { #name ".sql", sql_##name##_sql, &sql_##name##_sql_size },

static const struct ask_sql_file {
	const char *name;
	const unsigned char *data;
	const size_t *size;
} ask_sql_files[] = { FLEET_ASK_FILES(SQL_FILE) };

#define NR_SQL_FILES (sizeof(ask_sql_files) / sizeof(ask_sql_files[0]))

const char *ask_sql_name(size_t nr)
{
	return nr < NR_SQL_FILES ? ask_sql_files[nr].name : NULL;
}

/* ---- reading ------------------------------------------------------------------ */

static void ask_sql_terminate(struct bytes *out)
{
	bytes_add(out, "", 1);
	if (!out->error)
		out->size--;
}

static int ask_sql_read_stream(struct bytes *out, FILE *file, const char *path, struct err *err)
{
	char buf[4096];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), file)) > 0 && out->size <= SQL_FILE_MAX)
		bytes_add(out, buf, n);
	if (ferror(file))
		return err_errno(err, "cannot read '%s'", path);
	if (out->size > SQL_FILE_MAX)
		return err_set(err, -EFBIG, "cannot use '%s': it is larger than 1 MiB", path);
	return 0;
}

/* 0: there is no such file; 1: read. */
static int ask_sql_read_own(struct bytes *out, const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];
	FILE *file;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	if (!file && errno == ENOENT && access(dir, F_OK) == 0)
		return 0;
	if (!file) {
		rc = err_errno(err, "cannot open '%s'", path);
		err_hint(err, "'corotracer fleet --write-sql DIR' makes a folder with all files");
		return rc;
	}
	rc = ask_sql_read_stream(out, file, path, err);
	fclose(file);
	return rc < 0 ? rc : 1;
}

int ask_sql_read(struct bytes *out, const char *dir, const char *name, struct err *err)
{
	int rc = dir ? ask_sql_read_own(out, dir, name, err) : 0;
	size_t i;

	for (i = 0; !rc && i < NR_SQL_FILES; i++) {
		if (strcmp(ask_sql_files[i].name, name) != 0)
			continue;
		bytes_add(out, ask_sql_files[i].data, *ask_sql_files[i].size);
		rc = 1;
	}
	if (rc < 0)
		return rc;
	if (!rc)
		return err_set(err, -ENOENT, "cannot find the SQL file '%s'", name);
	ask_sql_terminate(out);
	return out->error ? err_set(err, -ENOMEM, "no memory for '%s'", name) : 0;
}

static int ask_sql_save_one(const char *dir, const struct ask_sql_file *f, struct err *err)
{
	char path[PATH_MAX];
	FILE *file;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, f->name);
	file = fopen(path, "wxe");
	if (!file) {
		rc = err_errno(err, "cannot write '%s'", path);
		if (rc == -EEXIST)
			err_hint(err, "choose an empty folder, or remove the file");
		return rc;
	}
	if (fwrite(f->data, 1, *f->size, file) != *f->size)
		rc = err_errno(err, "cannot write '%s'", path);
	if (fclose(file) != 0 && !rc)
		rc = err_errno(err, "cannot write '%s'", path);
	return rc;
}

int ask_sql_save(const char *dir, struct err *err)
{
	size_t i;
	int rc = 0;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return err_errno(err, "cannot make directory '%s'", dir);
	for (i = 0; !rc && i < NR_SQL_FILES; i++)
		rc = ask_sql_save_one(dir, &ask_sql_files[i], err);
	return rc;
}

/* ---- quoting ------------------------------------------------------------------ */

static void ask_sql_quote_with(struct bytes *out, const char *value, char quote)
{
	const char *p;

	bytes_add(out, &quote, 1);
	for (p = value; *p; p++) {
		if (*p == '\n') {
			bytes_add(out, "\\n", 2);
			continue;
		}
		if (*p == quote || *p == '\\')
			bytes_add(out, "\\", 1);
		bytes_add(out, p, 1);
	}
	bytes_add(out, &quote, 1);
}

static bool ask_sql_is_number(const char *value, bool is_signed, bool is_real)
{
	const char *p = value + (is_signed && *value == '-');
	unsigned digits = 0, points = 0;

	for (; *p; p++) {
		digits += isdigit((unsigned char)*p) != 0;
		points += *p == '.';
		if (!isdigit((unsigned char)*p) && !(is_real && *p == '.'))
			return false;
	}
	return digits > 0 && points <= 1;
}

/* False: the value is not of the type.  *@is_known is cleared if there is no such type. */
static bool ask_sql_put_value(struct bytes *out, const char *type, const char *value,
			      bool *is_known)
{
	bool is_real = !strncmp(type, "Float", 5);
	bool is_signed = is_real || !strncmp(type, "Int", 3);

	if (!strcmp(type, "String")) {
		ask_sql_quote_with(out, value, '\'');
		return true;
	}
	if (!strcmp(type, "Identifier")) {
		ask_sql_quote_with(out, value, '`');
		return true;
	}
	*is_known = is_signed || !strncmp(type, "UInt", 4);
	if (!*is_known || !ask_sql_is_number(value, is_signed, is_real))
		return false;
	bytes_add_text(out, value);
	return true;
}

/* ---- parameters --------------------------------------------------------------- */

struct ask_sql_hole {
	char name[64], type[64];
};

/* The length of a parameter that begins at @p, which is a brace; 0: it is none. */
static size_t ask_sql_hole_at(const char *p, struct ask_sql_hole *hole)
{
	int size = 0;

	if (sscanf(p, "{%63[A-Za-z0-9_]:%63[A-Za-z0-9_]}%n", hole->name, hole->type, &size) != 2)
		return 0;
	return (size_t)size;
}

/* The length of a comment, or of a quoted text, that begins at @p; 0: neither. */
static size_t ask_sql_verbatim(const char *p)
{
	const char *end = NULL;

	if (p[0] == '-' && p[1] == '-') {
		end = strchr(p, '\n');
		return end ? (size_t)(end - p) : strlen(p);
	}
	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		return end ? (size_t)(end + 2 - p) : strlen(p);
	}
	if (p[0] != '\'' && p[0] != '`' && p[0] != '"')
		return 0;
	for (end = p + 1; *end && *end != p[0]; end++)
		end += end[0] == '\\' && end[1];
	return (size_t)(end - p) + (*end != '\0');
}

static int ask_sql_fill_hole(struct bytes *out, const char *file, const struct ask_sql_hole *hole,
			     const struct ask_param *params, size_t nr, struct err *err)
{
	bool is_known = true;
	size_t i;

	for (i = 0; i < nr && strcmp(params[i].name, hole->name) != 0; i++)
		;
	if (i == nr) {
		err_set(err, -EINVAL, "cannot use '%s': unknown parameter '%s'", file, hole->name);
		err_hint(err, "the files that 'corotracer fleet --write-sql DIR' writes show every "
			      "parameter");
		return err->code;
	}
	if (ask_sql_put_value(out, hole->type, params[i].value, &is_known))
		return 0;
	if (!is_known)
		return err_set(err, -EINVAL, "cannot use '%s': unknown type '%s' of parameter '%s'",
			       file, hole->type, hole->name);
	return err_set(err, -EINVAL, "cannot use '%s' as %s for %s", params[i].value, hole->type,
		       hole->name);
}

int ask_sql_fill(struct bytes *out, const char *file, const char *text,
		 const struct ask_param *params, size_t nr, struct err *err)
{
	struct ask_sql_hole hole;
	const char *p = text;
	int rc = 0;

	while (*p && !rc) {
		size_t size = ask_sql_verbatim(p);
		size_t hole_size = size || *p != '{' ? 0 : ask_sql_hole_at(p, &hole);

		if (hole_size) {
			rc = ask_sql_fill_hole(out, file, &hole, params, nr, err);
			p += hole_size;
			continue;
		}
		size = size ? size : 1;
		bytes_add(out, p, size);
		p += size;
	}
	if (rc)
		return rc;
	ask_sql_terminate(out);
	return out->error ? err_set(err, -ENOMEM, "no memory for '%s'", file) : 0;
}
