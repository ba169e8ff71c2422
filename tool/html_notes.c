/* SPDX-License-Identifier: MIT */
/* html_notes.c - notes of an earlier page for the page that `corotracer html` writes. */
#include "html_notes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "cmd.h"

/* True for a regular file that begins as a page does. */
static bool is_old_page(const char *path)
{
	struct stat st;
	FILE *file;
	int first;

	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	file = fopen(path, "re");
	first = file ? getc(file) : EOF;
	if (file)
		fclose(file);
	return first == '<';
}

/* A page without notes, or one that cannot be read, has nothing to keep. */
static int keep_old_notes(struct html_notes *n, const char *output, struct err *err)
{
	struct err ignored = { 0 };
	int rc = note_list_read(&n->list, output, &ignored);

	if (rc == -ENOMEM) {
		*err = ignored;
		return rc;
	}
	n->from = rc ? NULL : output;
	n->is_replaced = true;
	return 0;
}

int html_notes_load(struct html_notes *n, const char *given, const char *output, struct err *err)
{
	if (given) {
		n->from = given;
		return note_list_read(&n->list, given, err);
	}
	return is_old_page(output) ? keep_old_notes(n, output, err) : 0;
}

int html_notes_check(const struct html_notes *n, const struct view *v, const char *command,
		     bool quiet, struct err *err)
{
	size_t outside;

	if (!n->from)
		return 0;
	if (n->is_replaced && n->list.nr && n->list.origin != v->origin) {
		err_set(err, -EEXIST, "'%s' has notes about another run: %zu", n->from, n->list.nr);
		err_hint(err,
			 "-o FILE writes another page; --notes '%s' adds the notes to this one",
			 n->from);
		return -EEXIST;
	}
	outside = note_list_outside(&n->list, v->origin, v->end_ts);
	if (!quiet)
		message_print(command, "notes of '%s' in the page: %s", n->from,
			      number_text(n->list.nr));
	if (n->list.dropped)
		message_print(command, "entries of '%s' that are no notes, and left out: %s",
			      n->from, number_text(n->list.dropped));
	if (outside)
		message_print(command, "notes about times outside of this trace: %s",
			      number_text(outside));
	return 0;
}
