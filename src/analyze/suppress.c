/* SPDX-License-Identifier: MIT */
/* suppress.c - suppress known findings. */
#include "analyze/suppress.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detector.h"

static char *suppressions_trim(char *line)
{
	size_t size;

	line += strspn(line, " \t");
	size = strlen(line);
	while (size && strchr(" \t\r\n", line[size - 1]))
		line[--size] = '\0';
	return line;
}

/* Skip the word that says what the glob is compared with. */
static enum suppression_of suppression_split(const char **glob)
{
	static const char *const words[] = {
		[SUPPRESS_FUNCTION] = "function:", [SUPPRESS_KIND] = "kind:"
	};
	enum suppression_of of;

	for (of = SUPPRESS_FUNCTION; of <= SUPPRESS_KIND; of++) {
		size_t size = strlen(words[of]);

		if (!strncmp(*glob, words[of], size)) {
			*glob += size;
			return of;
		}
	}
	return SUPPRESS_PLACE;
}

static int suppressions_add(struct suppressions *s, const char *detector, const char *glob,
			    uint32_t line)
{
	enum suppression_of of = suppression_split(&glob);
	struct suppression *rule;

	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct suppression *rules = realloc(s->rules, room * sizeof(*rules));

		if (!rules)
			return -ENOMEM;
		s->rules = rules;
		s->room = room;
	}
	rule = &s->rules[s->nr];
	*rule = (struct suppression){ .line = line, .of = of };
	rule->detector = strdup(detector);
	rule->glob = strdup(glob);
	if (!rule->detector || !rule->glob) {
		free(rule->detector);
		free(rule->glob);
		return -ENOMEM;
	}
	s->nr++;
	return 0;
}

static int suppressions_parse(struct suppressions *s, const char *path, char *text, uint32_t line,
			      struct err *err)
{
	char *glob = strchr(text, ':');

	if (!glob || !glob[1]) {
		err_set(err, -EINVAL, "%s:%u: '%s' is not a suppression", path, line, text);
		err_hint(err,
			 "a line is DETECTOR:function:GLOB, as in  lost-wakeup:function:accept_*");
		return err->code;
	}
	*glob++ = '\0';
	if (strcmp(text, "*") != 0 && !detector_find(text)) {
		err_set(err, -EINVAL, "%s:%u: unknown detector '%s'", path, line, text);
		err_hint(err, "'corotracer report --list' names them");
		return err->code;
	}
	if (suppressions_add(s, text, glob, line) < 0)
		return err_set(err, -ENOMEM, "no memory for the suppressions of '%s'", path);
	return 0;
}

int suppressions_read(struct suppressions *s, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	uint32_t nr = 0;
	int rc = 0;

	if (!file)
		return err_errno(err, "cannot open '%s'", path);
	while (!rc && getline(&line, &room, file) >= 0) {
		char *text = suppressions_trim(line);

		nr++;
		if (*text && *text != '#')
			rc = suppressions_parse(s, path, text, nr, err);
	}
	if (!rc && ferror(file))
		rc = err_errno(err, "cannot read '%s'", path);
	free(line);
	fclose(file);
	return rc;
}

uint32_t suppressions_match(struct suppressions *s, const struct suppression_subject *subject)
{
	const char *const texts[] = { [SUPPRESS_PLACE] = subject->place,
				      [SUPPRESS_FUNCTION] = subject->function,
				      [SUPPRESS_KIND] = subject->kind };
	size_t i;

	for (i = 0; i < s->nr; i++) {
		struct suppression *rule = &s->rules[i];
		const char *text = texts[rule->of];

		if (strcmp(rule->detector, "*") != 0 &&
		    strcmp(rule->detector, subject->detector) != 0)
			continue;
		if (fnmatch(rule->glob, text ? text : "", 0) != 0)
			continue;
		rule->used++;
		return (uint32_t)i + 1;
	}
	return 0;
}

void suppressions_release(struct suppressions *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		free(s->rules[i].detector);
		free(s->rules[i].glob);
	}
	free(s->rules);
	*s = (struct suppressions){ 0 };
}
