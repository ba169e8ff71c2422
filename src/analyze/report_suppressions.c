/* SPDX-License-Identifier: MIT */
/* report_suppressions.c - rules that suppress the findings of a report, by detector and function.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/io.h"

/*
 * Write a pattern that matches @text, on one line: a name may contain a newline followed by a rule,
 * and characters that mean something in a pattern (operator*, operator[]).
 */
static void rule_put_glob(FILE *out, const char *text)
{
	size_t size = strlen(text), taken;
	uint32_t cp;

	for (; size; text += taken, size -= taken) {
		taken = utf8_next(text, size, &cp);
		if (cp == UTF8_BAD || text_is_unsafe(cp)) {
			fputc('*', out);
			continue;
		}
		if (strchr("*?[\\", *text))
			fputc('\\', out);
		fwrite(text, 1, taken, out);
	}
}

/* By the name of the kind or the function that creates it; false: neither is known. */
static bool rule_put_kind(const struct report *r, const struct group *g, FILE *out)
{
	const struct model *m = &r->analysis->model;
	const struct spawn *s = &m->spawns[g->spawn];
	struct report_place where;

	if (!g->spawn)
		return false;
	if (s->name) {
		fputs("kind:", out);
		rule_put_glob(out, strtab_text(&m->names, s->name - 1));
		fputs(s->site ? ",*" : "", out);
		return true;
	}
	if (!s->site)
		return false;
	report_place_of(r, 0, s->site, 0, &where);
	if (!where.function)
		return false;
	fputs("kind:* ", out);
	rule_put_glob(out, where.function);
	return true;
}

static void rule_put(const struct report *r, const struct group *g, FILE *out)
{
	struct report_place where;
	bool has_place = report_group_place(r, g, &where);

	fprintf(out, "%s:", g->detector->name);
	if (has_place && where.function) {
		fputs("function:", out);
		rule_put_glob(out, where.function);
	} else if (!rule_put_kind(r, g, out)) {
		if (has_place)
			rule_put_glob(out, where.text);
		else
			fputs("function:", out); /* matches only findings without a function */
	}
}

/* Write the rule of @g unless the same rule was written before. */
static int rule_put_once(const struct report *r, const struct group *g, struct strtab *known,
			 FILE *out)
{
	char *rule = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&rule, &size);
	int rc = 0;

	if (!memory)
		return -ENOMEM;
	rule_put(r, g, memory);
	if (io_end_memory(memory, &rule) < 0)
		return -ENOMEM;
	if (strtab_find(known, rule) < 0) {
		fprintf(out, "%s\n", rule);
		if (strtab_intern(known, rule) < 0)
			rc = -ENOMEM;
	}
	free(rule);
	return rc;
}

int report_suppressions(const struct report *r, FILE *out)
{
	struct strtab known = { 0 };
	size_t i;
	int rc = 0;

	for (; r && !rc; r = r->next) {
		const struct findings *f = &r->analysis->findings;

		for (i = 0; !rc && i < f->nr; i++) {
			if (report_shows(r, &f->groups[i]))
				rc = rule_put_once(r, &f->groups[i], &known, out);
		}
	}
	strtab_release(&known);
	if (!rc && ferror(out))
		rc = -EIO;
	return rc;
}
