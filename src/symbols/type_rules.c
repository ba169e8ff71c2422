/* SPDX-License-Identifier: MIT */
/* type_rules.c - read description files. */
#include "symbols/type_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define RULES_MAX     10000
#define RULE_WORDS    6
#define RULE_LINE_MAX 1000
#define FILE_MAX      (1u << 20)
#define FILES_MAX     1000

struct type_rules {
	struct type_rule *list;
	size_t nr, room;
};

/* One line of a file, split into words. */
struct rule_words {
	const char *name; /* of the file */
	unsigned line;
	char text[RULE_LINE_MAX + 1];
	char *words[RULE_WORDS];
	size_t nr;
	struct err *err;
};

struct type_rules *type_rules_new(void)
{
	return calloc(1, sizeof(struct type_rules));
}

static int rule_refuse(const struct rule_words *w, const char *what, const char *word,
		       const char *hint)
{
	int rc = err_set(w->err, -EINVAL, "cannot read '%s': line %u: %s%s%s%s", w->name, w->line,
			 what, word ? " '" : "", word ? word : "", word ? "'" : "");

	err_hint(w->err, "%s", hint);
	return rc;
}

/* ---- words ------------------------------------------------------------------------ */

static bool rule_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '#' || c == '{' || c == '}' || c == '$';
}

/* "a.b->c", or "." */
static bool rule_path_is_valid(const char *path)
{
	if (!strcmp(path, "."))
		return true;
	for (;;) {
		size_t len = 0;

		while (rule_is_name_byte(path[len]))
			len++;
		if (!len)
			return false;
		path += len;
		if (!*path)
			return true;
		if (path[0] == '.')
			path++;
		else if (path[0] == '-' && path[1] == '>')
			path += 2;
		else
			return false;
	}
}

static const char *rule_kind_find(const char *word)
{
	static const char *const kinds[] = { "lock",   "channel",    "semaphore", "event",
					     "notify", "barrier",    "timer",     "task",
					     "child",  "descriptor", "yield" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(word, kinds[i]))
			return kinds[i];
	}
	return NULL;
}

/* The words of @text up to a comment; false: too long, or a byte that is not text. */
static bool rule_words_split(struct rule_words *w, const char *text, size_t len)
{
	char *at = w->text, *word;
	size_t i;

	w->nr = 0;
	for (i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	}
	if (len > RULE_LINE_MAX)
		return false;
	memcpy(w->text, text, len);
	w->text[len] = '\0';
	while ((word = strsep(&at, " \t\r"))) {
		if (!*word)
			continue;
		/* '#' is also part of names: "{async_fn_env#0}". */
		if (*word == '#')
			break;
		if (w->nr == RULE_WORDS)
			return false;
		w->words[w->nr++] = word;
	}
	return true;
}

/* ---- one line ----------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum rule_role role;
} roles[] = {
	{ "await", RULE_AWAIT },       { "operation", RULE_OPERATION }, { "guard", RULE_GUARD },
	{ "resource", RULE_RESOURCE }, { "through", RULE_THROUGH },
};

#define ROLE_BIT(role) (1u << (role))
#define ROLES_WAIT     (ROLE_BIT(RULE_AWAIT) | ROLE_BIT(RULE_OPERATION))

static const struct {
	const char *word;
	enum rule_key key;
	unsigned roles;
	bool is_condition;
} keys[] = {
	{ "object", RULE_OBJECT, ROLES_WAIT | ROLE_BIT(RULE_GUARD), false },
	{ "descriptor", RULE_DESCRIPTOR, ROLES_WAIT, false },
	{ "deadline", RULE_DEADLINE, ROLES_WAIT | ROLE_BIT(RULE_THROUGH), false },
	{ "task", RULE_TASK, ROLES_WAIT, false },
	{ "while", RULE_WHILE, ROLES_WAIT | ROLE_BIT(RULE_GUARD), true },
	{ "holder", RULE_HOLDER, ROLE_BIT(RULE_RESOURCE), false },
	{ "held", RULE_HELD, ROLE_BIT(RULE_RESOURCE), true },
	{ "queue", RULE_QUEUE, ROLE_BIT(RULE_RESOURCE), false },
	{ "to", RULE_TO, ROLE_BIT(RULE_THROUGH), false },
};

static struct type_rule *rule_more(struct type_rules *rules)
{
	if (rules->nr == RULES_MAX)
		return NULL;
	if (rules->nr == rules->room) {
		size_t room = rules->room ? rules->room * 2 : 64;
		struct type_rule *more = reallocarray(rules->list, room, sizeof(*more));

		if (!more)
			return NULL;
		rules->list = more;
		rules->room = room;
	}
	rules->list[rules->nr] = (struct type_rule){ 0 };
	return &rules->list[rules->nr++];
}

/* "await PATTERN" */
static int rule_begin(struct type_rules *rules, const struct rule_words *w)
{
	struct type_rule *rule;
	size_t i;

	for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(w->words[0], roles[i].word) != 0)
			continue;
		if (w->nr != 2)
			return rule_refuse(w, "expected one type after", w->words[0],
					   "types are written as a::b::c, without <>");
		rule = rule_more(rules);
		if (!rule)
			return err_set(w->err, -ENOMEM, "no memory for '%s'", w->name);
		rule->role = roles[i].role;
		rule->pattern = strdup(w->words[1]);
		return rule->pattern ? 0 : err_set(w->err, -ENOMEM, "no memory for '%s'", w->name);
	}
	return rule_refuse(w, "unknown word", w->words[0],
			   "a line is await, operation, guard, resource or through with a type, "
			   "or is indented");
}

static int rule_parse_condition(struct rule_line *line, const struct rule_words *w)
{
	static const char *const tests[] = {
		[RULE_EQUAL] = "==",  [RULE_NOT_EQUAL] = "!=", [RULE_LESS] = "<",
		[RULE_GREATER] = ">", [RULE_HAS_BITS] = "&",
	};
	unsigned long long number;
	char *end;
	size_t i;

	if (w->nr == 2)
		return 0;
	for (i = RULE_EQUAL; w->nr == 4 && i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(w->words[2], tests[i]) != 0)
			continue;
		errno = 0;
		number = strtoull(w->words[3], &end, 0);
		if (errno || *end || w->words[3][0] == '-')
			return rule_refuse(w, "invalid number", w->words[3], "write 1 or 0x1f");
		line->test = (enum rule_test)i;
		line->number = number;
		return 0;
	}
	return rule_refuse(w, "invalid condition after", w->words[1],
			   "write MEMBER, or MEMBER == NUMBER; also !=, <, > and &");
}

/* What may follow the path. */
static int rule_parse_rest(struct rule_line *line, const struct rule_words *w)
{
	static const struct {
		const char *word;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	const char *word = w->nr > 2 ? w->words[2] : NULL;
	size_t i;

	if (line->key == RULE_DEADLINE)
		line->number = 1;
	if (!word)
		return 0;
	if (line->key == RULE_QUEUE && w->nr == 4 && !strcmp(word, "next") &&
	    rule_path_is_valid(w->words[3])) {
		line->next = strdup(w->words[3]);
		return line->next ? 0 : err_set(w->err, -ENOMEM, "no memory for '%s'", w->name);
	}
	if (line->key == RULE_DESCRIPTOR && w->nr == 3 &&
	    (!strcmp(word, "read") || !strcmp(word, "write"))) {
		line->to = *word == 'r' ? RULE_READ : RULE_WRITE;
		return 0;
	}
	for (i = 0; line->key == RULE_DEADLINE && w->nr == 3 && i < 4; i++) {
		if (!strcmp(word, units[i].word)) {
			line->number = units[i].ns;
			return 0;
		}
	}
	return rule_refuse(w, "unexpected word", word,
			   "descriptor: read or write; deadline: ns, us, ms or s; queue: next "
			   "MEMBER");
}

static int rule_parse_kind(struct type_rule *rule, const struct rule_words *w)
{
	static const char hint[] = "lock, channel, semaphore, event, notify, barrier, timer, "
				   "task, child, descriptor or yield";

	if (!(ROLES_WAIT & ROLE_BIT(rule->role)))
		return rule_refuse(w, "unexpected word", w->words[0],
				   "kind belongs to await or operation");
	rule->kind = w->nr == 2 ? rule_kind_find(w->words[1]) : NULL;
	return rule->kind ? 0 : rule_refuse(w, "unknown kind", w->nr > 1 ? w->words[1] : "", hint);
}

/* "object m_mutex" */
static int rule_parse_line(struct type_rule *rule, const struct rule_words *w)
{
	struct rule_line *more, *line;
	size_t i, nr = sizeof(keys) / sizeof(keys[0]);

	if (!strcmp(w->words[0], "kind"))
		return rule_parse_kind(rule, w);
	for (i = 0; i < nr && strcmp(w->words[0], keys[i].word) != 0; i++)
		;
	if (i == nr || !(keys[i].roles & ROLE_BIT(rule->role)))
		return rule_refuse(
			w, i == nr ? "unknown word" : "unexpected word", w->words[0],
			"await, operation: kind, object, descriptor, deadline, task, while; guard: "
			"object, while; resource: holder, held, queue; through: to, deadline");
	if (w->nr < 2 || !rule_path_is_valid(w->words[1]))
		return rule_refuse(w, "expected members after", w->words[0],
				   "write a.b, or a->b where a is a pointer");
	if (rule->nr_lines == RULE_LINES_MAX)
		return rule_refuse(w, "too many lines for one type", NULL, "at most 32");
	more = reallocarray(rule->lines, rule->nr_lines + 1, sizeof(*more));
	if (!more)
		return err_set(w->err, -ENOMEM, "no memory for '%s'", w->name);
	rule->lines = more;
	line = &rule->lines[rule->nr_lines];
	*line = (struct rule_line){ .key = keys[i].key, .path = strdup(w->words[1]) };
	if (!line->path)
		return err_set(w->err, -ENOMEM, "no memory for '%s'", w->name);
	rule->nr_lines++;
	return keys[i].is_condition ? rule_parse_condition(line, w) : rule_parse_rest(line, w);
}

/* ---- files ---------------------------------------------------------------------------- */

static void rule_release(struct type_rule *rule)
{
	size_t i;

	for (i = 0; i < rule->nr_lines; i++) {
		free(rule->lines[i].path);
		free(rule->lines[i].next);
	}
	free(rule->lines);
	free(rule->pattern);
}

static int rules_parse_text(struct type_rules *rules, struct rule_words *w, const char *text,
			    size_t size)
{
	size_t before = rules->nr;
	const char *end = text + size;
	int rc = 0;

	for (w->line = 1; !rc && text < end; w->line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((stop ? stop : end) - text);
		bool is_indented = len && (*text == ' ' || *text == '\t');

		if (!rule_words_split(w, text, len))
			return rule_refuse(w, "too long, or not text", NULL,
					   "a line has at most 6 words and 1000 bytes");
		text += len + 1;
		if (!w->nr)
			continue;
		if (!is_indented)
			rc = rule_begin(rules, w);
		else if (rules->nr == before)
			rc = rule_refuse(w, "no type before", w->words[0],
					 "begin with: await TYPE");
		else
			rc = rule_parse_line(&rules->list[rules->nr - 1], w);
	}
	return rc;
}

int type_rules_parse(struct type_rules *rules, const char *name, const char *text, size_t size,
		     struct err *err)
{
	struct rule_words w = { .name = name, .err = err };
	size_t before = rules->nr;
	int rc = rules_parse_text(rules, &w, text, size);

	while (rc && rules->nr > before)
		rule_release(&rules->list[--rules->nr]);
	return rc;
}

/* At most FILE_MAX + 1 bytes, or a negative errno. */
static ssize_t rules_read_file(int fd, char *text)
{
	size_t size = 0;
	ssize_t got = 1;

	while (got > 0 && size <= FILE_MAX) {
		got = io_read(fd, text + size, FILE_MAX + 1 - size);
		size += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? got : (ssize_t)size;
}

static int rules_add_file(struct type_rules *rules, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(FILE_MAX + 1);
	ssize_t size;
	int rc;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	size = text ? rules_read_file(fd, text) : -ENOMEM;
	close(fd);
	if (size < 0)
		rc = err_set(err, (int)size, "cannot read '%s': %s", path, strerror((int)-size));
	else if (size > (ssize_t)FILE_MAX)
		rc = err_set(err, -EFBIG, "cannot read '%s': larger than 1 MiB", path);
	else
		rc = type_rules_parse(rules, path, text, (size_t)size, err);
	free(text);
	return rc;
}

static int rule_file_filter(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 6 && entry->d_name[0] != '.' && !strcmp(entry->d_name + len - 6, ".types");
}

static int rules_add_directory(struct type_rules *rules, const char *path, struct err *err)
{
	struct dirent **entries = NULL;
	int nr = scandir(path, &entries, rule_file_filter, alphasort), i, rc = 0;
	char *file;

	if (nr < 0)
		return err_errno(err, "cannot open '%s'", path);
	for (i = 0; i < nr; i++) {
		if (!rc && i < FILES_MAX) {
			if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
				rc = err_set(err, -ENOMEM, "no memory for '%s'", path);
			} else {
				rc = rules_add_file(rules, file, err);
				free(file);
			}
		}
		free(entries[i]);
	}
	free(entries);
	return rc;
}

int type_rules_add(struct type_rules *rules, const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	return S_ISDIR(st.st_mode) ? rules_add_directory(rules, path, err)
				   : rules_add_file(rules, path, err);
}

/* ---- lookups ---------------------------------------------------------------------------- */

/* '*' stands for any text; time is at most the product of the lengths. */
static bool rule_glob(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	size_t p = 0, t = 0, star = SIZE_MAX, kept = 0;

	while (t < len) {
		if (p < pattern_len && pattern[p] == '*') {
			star = p++;
			kept = t;
		} else if (p < pattern_len && pattern[p] == text[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++kept;
		} else {
			return false;
		}
	}
	while (p < pattern_len && pattern[p] == '*')
		p++;
	return p == pattern_len;
}

size_t type_rules_count(const struct type_rules *rules)
{
	return rules->nr;
}

const struct type_rule *type_rules_get(const struct type_rules *rules, size_t number)
{
	return &rules->list[number];
}

const struct type_rule *type_rules_find(const struct type_rules *rules, enum rule_role role,
					const char *path)
{
	size_t i, len = strlen(path);

	for (i = 0; i < rules->nr; i++) {
		const struct type_rule *rule = &rules->list[i];

		if (rule->role == role &&
		    rule_glob(rule->pattern, strlen(rule->pattern), path, len))
			return rule;
	}
	return NULL;
}

bool type_rules_have_name(const struct type_rules *rules, enum rule_role role, const char *name,
			  size_t len)
{
	size_t i;

	for (i = 0; i < rules->nr; i++) {
		const struct type_rule *rule = &rules->list[i];
		const char *last = strrchr(rule->pattern, ':');

		last = last ? last + 1 : rule->pattern;
		if (rule->role == role && strcmp(last, "*") != 0 &&
		    rule_glob(last, strlen(last), name, len))
			return true;
	}
	return false;
}

bool rule_line_holds(const struct rule_line *line, uint64_t value)
{
	switch (line->test) {
	case RULE_EQUAL:
		return value == line->number;
	case RULE_NOT_EQUAL:
		return value != line->number;
	case RULE_LESS:
		return value < line->number;
	case RULE_GREATER:
		return value > line->number;
	case RULE_HAS_BITS:
		return (value & line->number) != 0;
	default:
		return value != 0;
	}
}

void type_rules_free(struct type_rules *rules)
{
	if (!rules)
		return;
	while (rules->nr)
		rule_release(&rules->list[--rules->nr]);
	free(rules->list);
	free(rules);
}
