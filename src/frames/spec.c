/* SPDX-License-Identifier: MIT */
/*
 * spec.c - read a spec.
 *
 * Words are recognised where they stand, not by the lexer, so that new ones (enum,
 * string, uint16) take no names away from old specs.  The first error ends it, with
 * the place it is at.  What would not compile, or mean something else than it looks
 * like, is refused here: C and C++ keywords, names twice, text after the last frame.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/abi.h"
#include "frames/spec.h"

enum token { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN, TOKEN_END };

struct spec_enum {
	char name[SPEC_NAME_MAX + 1];
	const char *where;
	struct desc_enum_value *values;
	size_t nr_values;
};

/* What a name of the spec becomes in C, behind the buffer's name. */
struct spec_symbol {
	char *name;
	const char *where;
};

struct parser {
	struct desc *d;
	struct spec_error *error;
	const char *text, *end;
	const char *at; /* next character */
	/* The token in hand. */
	enum token token;
	const char *start;
	size_t len; /* of its text, without quotes */
	/* What was there already. */
	bool has_emit, has_buffer, has_time, has_runtime, has_resize, overriding;
	struct spec_enum *enums;
	size_t nr_enums;
	struct spec_symbol *symbols;
	size_t nr_symbols;
	int code;
};

/* ---- saying what is wrong -------------------------------------------------- */

static void locate(struct parser *p, const char *where)
{
	const char *line = p->text, *c, *stop;
	struct spec_error *e = p->error;
	size_t before, from, len;

	e->line = 1;
	for (c = p->text; c < where; c++) {
		if (*c == '\n') {
			e->line++;
			line = c + 1;
		}
	}
	before = (size_t)(where - line);
	e->column = (unsigned)before + 1;
	stop = memchr(where, '\n', (size_t)(p->end - where));
	if (!stop)
		stop = p->end;
	/* Of a long line the part around the place. */
	from = before > 150 ? before - 100 : 0;
	len = (size_t)(stop - line) - from;
	if (len > sizeof(e->source) - 1)
		len = sizeof(e->source) - 1;
	memcpy(e->source, line + from, len);
	e->source[len] = 0;
	e->caret = (unsigned)(before - from);
}

static bool fail_at(struct parser *p, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail_at(struct parser *p, const char *where, const char *fmt, ...)
{
	va_list ap;

	if (p->code)
		return false;
	p->code = -EINVAL;
	locate(p, where);
	va_start(ap, fmt);
	vsnprintf(p->error->text, sizeof(p->error->text), fmt, ap);
	va_end(ap);
	return false;
}

static bool hint(struct parser *p, const char *text)
{
	if (p->code == -EINVAL && !p->error->hint[0])
		snprintf(p->error->hint, sizeof(p->error->hint), "%s", text);
	return false;
}

static bool no_memory(struct parser *p)
{
	if (!p->code)
		p->code = -ENOMEM;
	return false;
}

/* "got 'x'", for people. */
static const char *got(const struct parser *p, char buf[64])
{
	if (p->token == TOKEN_END)
		snprintf(buf, 64, "the end");
	else if (p->token == TOKEN_TEXT)
		snprintf(buf, 64, "a quoted text");
	else
		snprintf(buf, 64, "'%.*s'", p->len > 40 ? 40 : (int)p->len, p->start);
	return buf;
}

static bool expected(struct parser *p, const char *what)
{
	char buf[64];

	return fail_at(p, p->start, "expected %s, got %s", what, got(p, buf));
}

/* ---- tokens ---------------------------------------------------------------- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_wordy(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

/* A comment in a comment ends before the outer one does. */
static bool skip_comment(struct parser *p)
{
	const char *begin = p->at;
	unsigned depth = 0;

	do {
		if (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '*') {
			depth++;
			p->at += 2;
		} else if (p->end - p->at >= 2 && p->at[0] == '*' && p->at[1] == '/') {
			depth--;
			p->at += 2;
		} else if (p->at < p->end) {
			p->at++;
		} else {
			p->start = begin;
			fail_at(p, begin, "this comment has no end");
			return hint(p, "comments nest: each '/*' in it wants a '*/'");
		}
	} while (depth);
	return true;
}

static bool skip_blank(struct parser *p)
{
	while (p->at < p->end) {
		if (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r')) {
			p->at++;
		} else if (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '/') {
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		} else if (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '*') {
			if (!skip_comment(p))
				return false;
		} else {
			break;
		}
	}
	return true;
}

static bool quoted(struct parser *p)
{
	const char *close = memchr(p->at, '"', (size_t)(p->end - p->at));

	if (!close || memchr(p->at, '\n', (size_t)(close - p->at)))
		return fail_at(p, p->start, "this text has no closing quote");
	p->token = TOKEN_TEXT;
	p->start = p->at;
	p->len = (size_t)(close - p->at);
	p->at = close + 1;
	return true;
}

/* The next token in hand. */
static bool advance(struct parser *p)
{
	if (p->code || !skip_blank(p))
		return false;
	p->start = p->at;
	p->len = 0;
	p->token = TOKEN_END;
	if (p->at == p->end)
		return true;
	if (*p->at == '"') {
		p->at++;
		return quoted(p);
	}
	if (is_letter(*p->at) || *p->at == '_') {
		p->token = TOKEN_WORD;
		while (p->at < p->end && is_wordy(*p->at))
			p->at++;
		/* C++ is a word, too. */
		if (p->at - p->start == 1 && *p->start == 'C' && p->end - p->at >= 2 &&
		    p->at[0] == '+' && p->at[1] == '+')
			p->at += 2;
	} else if (is_digit(*p->at)) {
		p->token = TOKEN_NUMBER;
		while (p->at < p->end && is_wordy(*p->at))
			p->at++;
	} else if (strchr("{}[];,=-", *p->at) && *p->at) {
		p->token = TOKEN_SIGN;
		p->at++;
	} else {
		if ((unsigned char)*p->at >= 0x80 || *p->at == '\'')
			fail_at(p, p->at, "a name takes ASCII letters, digits and '_' only");
		else if (*p->at < ' ' || *p->at == 0x7f)
			fail_at(p, p->at, "a character that does not belong here: \\x%02x",
				(unsigned char)*p->at);
		else
			fail_at(p, p->at, "a character that does not belong here: '%c'", *p->at);
		return false;
	}
	p->len = (size_t)(p->at - p->start);
	return true;
}

static bool is(const struct parser *p, enum token token, const char *text)
{
	return p->token == token && strlen(text) == p->len && !memcmp(text, p->start, p->len);
}

static bool is_word(const struct parser *p, const char *text)
{
	return is(p, TOKEN_WORD, text);
}

static bool is_sign(const struct parser *p, const char *text)
{
	return is(p, TOKEN_SIGN, text);
}

static bool take_sign(struct parser *p, const char *sign, const char *what)
{
	if (!is_sign(p, sign))
		return expected(p, what);
	return advance(p);
}

static bool semicolon(struct parser *p)
{
	if (p->overriding) {
		if (is_sign(p, ";"))
			advance(p);
		return p->token == TOKEN_END || expected(p, "the end of the option");
	}
	return take_sign(p, ";", "';'");
}

/* ---- names ------------------------------------------------------------------ */

static bool is_reserved(const char *word, size_t len)
{
	static const char words[] =
		" emit frame double int float option time default buffer counter "
		"interval calc gap var mean ";
	char padded[32];

	if (len + 3 > sizeof(padded))
		return false;
	snprintf(padded, sizeof(padded), " %.*s ", (int)len, word);
	return strstr(words, padded) != NULL;
}

/* Of C11 and C++20, and macros of the headers that generated code includes. */
static bool is_keyword(const char *word, size_t len)
{
	static const char words[] =
		" alignas alignof and and_eq asm auto bitand bitor bool break case catch char "
		"char8_t char16_t char32_t class compl concept const consteval constexpr constinit "
		"const_cast continue co_await co_return co_yield decltype default delete do double "
		"dynamic_cast else enum explicit export extern false float for friend goto if "
		"inline "
		"int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
		"private "
		"protected public register reinterpret_cast requires restrict return short signed "
		"sizeof static static_assert static_cast struct switch template this thread_local "
		"throw true try typedef typeid typename typeof union unsigned using virtual void "
		"volatile wchar_t while xor xor_eq asm fortran linux unix errno NULL EOF offsetof "
		"INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX "
		"SIZE_MAX PTRDIFF_MAX CLOCK_REALTIME CLOCK_MONOTONIC UINT64_C int8_t int16_t "
		"int32_t "
		"int64_t uint8_t uint16_t uint32_t uint64_t timespec timeval ";
	char padded[32];

	if (len + 3 > sizeof(padded))
		return false;
	snprintf(padded, sizeof(padded), " %.*s ", (int)len, word);
	return strstr(words, padded) != NULL;
}

static bool name(struct parser *p, char out[SPEC_NAME_MAX + 1], const char *what)
{
	if (p->token != TOKEN_WORD)
		return expected(p, what);
	if (*p->start == '_')
		return fail_at(p, p->start, "a name does not begin with '_'");
	if (p->len > SPEC_NAME_MAX)
		return fail_at(p, p->start, "a name of more than %d characters", SPEC_NAME_MAX);
	if (is_reserved(p->start, p->len))
		return fail_at(p, p->start, "'%.*s' is a word of this language, not a name",
			       (int)p->len, p->start);
	if (is_keyword(p->start, p->len) || p->start[p->len - 1] == '+')
		return fail_at(p, p->start, "'%.*s' means something else in C or C++", (int)p->len,
			       p->start);
	if (memmem(p->start, p->len, "__", 2)) {
		fail_at(p, p->start, "a name with '__' belongs to the compiler");
		return hint(p, "one '_' is fine");
	}
	memcpy(out, p->start, p->len);
	out[p->len] = 0;
	return advance(p);
}

static bool number(struct parser *p, uint64_t min, uint64_t max, const char *what, uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	if (p->token != TOKEN_NUMBER)
		return expected(p, what);
	for (i = 0; i < p->len; i++) {
		if (!is_digit(p->start[i]))
			return fail_at(p, p->start + i, "'%c' is no digit", p->start[i]);
		if (value > max / 10)
			value = max + 1;
		else
			value = value * 10 + (uint64_t)(p->start[i] - '0');
		if (value > max)
			break;
	}
	if (value < min || value > max)
		return fail_at(p, p->start, "%s is from %llu to %llu", what,
			       (unsigned long long)min, (unsigned long long)max);
	*out = value;
	return advance(p);
}

static bool set_text(struct parser *p, char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	return *to || no_memory(p);
}

/* An array one longer; NULL: no memory. */
static void *grow(struct parser *p, void *array, size_t nr, size_t size)
{
	void *grown = reallocarray(array, nr + 1, size);

	if (!grown) {
		no_memory(p);
		return NULL;
	}
	memset((char *)grown + nr * size, 0, size);
	return grown;
}

/* ---- what names become ------------------------------------------------------ */

static bool add_symbol(struct parser *p, const char *where, const char *first, const char *second)
{
	struct spec_symbol *symbols = grow(p, p->symbols, p->nr_symbols, sizeof(*symbols));

	if (!symbols)
		return false;
	p->symbols = symbols;
	symbols += p->nr_symbols;
	if (asprintf(&symbols->name, "%s_%s", first, second) < 0)
		return no_memory(p);
	symbols->where = where;
	p->nr_symbols++;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct spec_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->where > y->where) - (x->where < y->where);
}

/* C has one space for all functions and enum values: 'a_snapshot' 'x' and 'a' 'snapshot_x'. */
static bool symbols_differ(struct parser *p)
{
	size_t i;

	if (strcmp(p->d->language, "C") != 0 || !p->nr_symbols)
		return true;
	qsort(p->symbols, p->nr_symbols, sizeof(*p->symbols), compare_symbols);
	for (i = 1; i < p->nr_symbols; i++) {
		if (strcmp(p->symbols[i - 1].name, p->symbols[i].name) != 0)
			continue;
		fail_at(p, p->symbols[i].where, "something else becomes 'ppt_%s_%s' as well",
			p->d->name, p->symbols[i].name);
		return hint(p, "names of enums, frames and members are joined with '_' in C");
	}
	return true;
}

/* Names of types that generated code of this language has itself. */
static bool type_name_free(struct parser *p, const char *text, const char *where)
{
	bool taken = !strcmp(p->d->language, "C")
			     ? !strcmp(text, "handle")
			     : !strcmp(text, "attached") || !strcmp(text, "save");

	return !taken || fail_at(p, where, "'%s' is a name that generated %s has itself", text,
				 p->d->language);
}

/* ---- options ---------------------------------------------------------------- */

static bool boolean(struct parser *p, bool *out)
{
	*out = is_word(p, "true") || is_word(p, "True");
	if (!*out && !is_word(p, "false") && !is_word(p, "False"))
		return expected(p, "true or false");
	return advance(p);
}

static bool once(struct parser *p, bool *has, const char *what, const char *where)
{
	if (*has && !p->overriding)
		return fail_at(p, where, "%s was said before", what);
	*has = true;
	return true;
}

static bool clock_name(struct parser *p)
{
	/* The existing tool knows "monotonic_course" only. */
	static const char *const words[][2] = {
		{ "realtime", "realtime" },
		{ "realtime_coarse", "realtime_coarse" },
		{ "realtime_course", "realtime_coarse" },
		{ "monotonic", "monotonic" },
		{ "monotonic_coarse", "monotonic_coarse" },
		{ "monotonic_course", "monotonic_coarse" },
		{ "monotonic_raw", "monotonic_raw" },
		{ "boottime", "boottime" },
		{ "proc_cputime", "proc_cputime" },
		{ "thread_cputime", "thread_cputime" },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is_word(p, words[i][0]))
			return set_text(p, &p->d->clock, words[i][1]) && advance(p);
	}
	expected(p, "a clock");
	return hint(p, "realtime, realtime_coarse, monotonic, monotonic_coarse, monotonic_raw, "
		       "boottime, proc_cputime or thread_cputime");
}

static bool option_time(struct parser *p, const char *where)
{
	if (!once(p, &p->has_time, "the time's representation", where))
		return false;
	if (is_word(p, "timeval")) {
		p->d->time = DESC_TIMEVAL;
		return advance(p);
	}
	if (is_word(p, "counter")) {
		p->d->time = DESC_COUNTER_CLOCK;
		return advance(p);
	}
	if (!is_word(p, "timespec"))
		return expected(p, "timespec, timeval or counter");
	p->d->time = DESC_TIMESPEC;
	return advance(p) && clock_name(p);
}

static bool option_runtime(struct parser *p, const char *where)
{
	if (!is_word(p, "multithread"))
		return expected(p, "multithread");
	if (!once(p, &p->has_runtime, "multithread", where))
		return false;
	return advance(p) && boolean(p, &p->d->multithread);
}

static bool option_buffer(struct parser *p, const char *where)
{
	if (!is_word(p, "resize"))
		return expected(p, "resize");
	if (!once(p, &p->has_resize, "resize", where) || !advance(p))
		return false;
	if (!is_word(p, "on") && !is_word(p, "off"))
		return expected(p, "on or off");
	p->d->resize = is_word(p, "on");
	return advance(p);
}

/* A word, a number or a quoted text, or nothing where ';' comes. */
static bool tag_text(struct parser *p, char **out)
{
	if (p->token == TOKEN_SIGN || p->token == TOKEN_END) {
		*out = strdup("");
		return *out || no_memory(p);
	}
	if (memchr(p->start, 0, p->len))
		return fail_at(p, p->start, "a tag does not hold a NUL");
	*out = strndup(p->start, p->len);
	return (*out || no_memory(p)) && advance(p);
}

static bool option_tag(struct parser *p)
{
	struct desc_tag *tags = grow(p, p->d->tags, p->d->nr_tags, sizeof(*tags));

	if (!tags)
		return false;
	p->d->tags = tags;
	tags += p->d->nr_tags++;
	if (!tag_text(p, &tags->key) || !tag_text(p, &tags->value)) {
		/* Both are there, for whoever releases them. */
		return false;
	}
	return true;
}

static bool option(struct parser *p)
{
	const char *where = p->start;

	if (is_word(p, "time"))
		return advance(p) && option_time(p, where);
	if (is_word(p, "runtime"))
		return advance(p) && option_runtime(p, where);
	if (is_word(p, "buffer"))
		return advance(p) && option_buffer(p, where);
	if (is_word(p, "tag"))
		return advance(p) && option_tag(p);
	if (is_word(p, "native_counter")) {
		p->d->has_native_counter = true;
		return advance(p) && boolean(p, &p->d->native_counter);
	}
	if (is_word(p, "debug")) {
		p->d->has_debug = true;
		return advance(p) && boolean(p, &p->d->debug);
	}
	expected(p, "an option");
	return hint(p, "time, runtime multithread, buffer resize, native_counter, debug or tag");
}

/* ---- header lines ------------------------------------------------------------ */

static bool emit(struct parser *p, const char *where)
{
	if (!once(p, &p->has_emit, "the language", where))
		return false;
	if (!is_word(p, "C") && !is_word(p, "C++"))
		return expected(p, "C or C++");
	return set_text(p, &p->d->language, is_word(p, "C") ? "C" : "C++") && advance(p) &&
	       semicolon(p);
}

static bool buffer(struct parser *p, const char *where)
{
	char text[SPEC_NAME_MAX + 1];

	if (!once(p, &p->has_buffer, "the buffer", where) || !name(p, text, "the buffer's name") ||
	    !set_text(p, &p->d->name, text))
		return false;
	if (is_word(p, "default"))
		return advance(p) && semicolon(p);
	p->d->has_min_slots = true;
	return number(p, 1, PPT_SLOTS_MAX, "the buffer's size", &p->d->min_slots) && semicolon(p);
}

static const struct spec_enum *find_enum(const struct parser *p)
{
	size_t i;

	for (i = 0; i < p->nr_enums; i++) {
		if (is_word(p, p->enums[i].name))
			return &p->enums[i];
	}
	return NULL;
}

static bool enum_value(struct parser *p, struct spec_enum *e, int64_t *next)
{
	struct desc_enum_value *values = grow(p, e->values, e->nr_values, sizeof(*values));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->start;
	uint64_t value;
	bool minus;
	size_t i;

	if (!values)
		return false;
	e->values = values;
	if (!name(p, text, "a name or '}'"))
		return false;
	for (i = 0; i < e->nr_values; i++) {
		if (!strcmp(values[i].name, text))
			return fail_at(p, where, "'%s' is in this enum before", text);
	}
	values[e->nr_values].name = strdup(text);
	if (!values[e->nr_values].name)
		return no_memory(p);
	e->nr_values++;
	if (!add_symbol(p, where, e->name, text))
		return false;
	if (is_sign(p, "=")) {
		if (!advance(p))
			return false;
		minus = is_sign(p, "-");
		if (minus && !advance(p))
			return false;
		where = p->start;
		if (!number(p, 0, (uint64_t)INT32_MAX + minus, "an enum's value", &value))
			return false;
		*next = minus ? -(int64_t)value : (int64_t)value;
	}
	if (*next > INT32_MAX)
		return fail_at(p, where, "this value does not fit into 32 bits");
	values[e->nr_values - 1].value = (int32_t)(*next)++;
	return true;
}

static bool enumeration(struct parser *p)
{
	struct spec_enum *e = grow(p, p->enums, p->nr_enums, sizeof(*e));
	int64_t next = 0;

	if (!e)
		return false;
	p->enums = e;
	if (find_enum(p))
		return fail_at(p, p->start, "there is an enum of this name before");
	e += p->nr_enums++;
	e->where = p->start;
	if (!name(p, e->name, "the enum's name") || !take_sign(p, "{", "'{'"))
		return false;
	do {
		if (is_sign(p, "}"))
			break;
		if (e->nr_values >= 1000)
			return fail_at(p, p->start, "an enum with more than 1000 values");
		if (!enum_value(p, e, &next))
			return false;
	} while (is_sign(p, ",") && advance(p));
	if (!e->nr_values)
		return fail_at(p, p->start, "an enum without values");
	return take_sign(p, "}", "',' or '}'") && semicolon(p);
}

/* ---- frames ------------------------------------------------------------------ */

static bool member_type(struct parser *p, struct desc_member *m, const struct spec_enum **e)
{
	static const struct {
		const char *word;
		enum desc_type type;
	} words[] = {
		{ "int", DESC_INT32 },       { "float", DESC_FLOAT },   { "double", DESC_DOUBLE },
		{ "counter", DESC_COUNTER }, { "int8", DESC_INT8 },     { "int16", DESC_INT16 },
		{ "int32", DESC_INT32 },     { "int64", DESC_INT64 },   { "uint8", DESC_UINT8 },
		{ "uint16", DESC_UINT16 },   { "uint32", DESC_UINT32 }, { "uint64", DESC_UINT64 },
		{ "uint", DESC_UINT32 },     { "bool", DESC_BOOL },     { "string", DESC_STRING },
	};
	size_t i;

	if (is_word(p, "time")) {
		m->type = p->d->time == DESC_COUNTER_CLOCK ? DESC_TICKS : DESC_TIME;
		return advance(p);
	}
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is_word(p, words[i].word)) {
			m->type = words[i].type;
			return advance(p);
		}
	}
	if (!is_word(p, "enum")) {
		expected(p, "a type");
		return hint(p,
			    "int, uint, int8 to int64, uint8 to uint64, float, double, bool, time, "
			    "counter, string NAME[N] or enum NAME");
	}
	m->type = DESC_ENUM;
	if (!advance(p))
		return false;
	*e = find_enum(p);
	if (!*e)
		return expected(p, "an enum that was declared before");
	return advance(p);
}

static bool copy_enum(struct parser *p, struct desc_member *m, const struct spec_enum *e)
{
	size_t i;

	if (!set_text(p, &m->type_name, e->name))
		return false;
	m->values = calloc(e->nr_values, sizeof(*m->values));
	if (!m->values)
		return no_memory(p);
	for (i = 0; i < e->nr_values; i++) {
		m->values[i].value = e->values[i].value;
		m->values[i].name = strdup(e->values[i].name);
		if (!m->values[i].name)
			return no_memory(p);
		m->nr_values = i + 1;
	}
	return true;
}

static bool length(struct parser *p, struct desc_member *m, const char *where)
{
	uint64_t count;

	m->count = 1;
	if (!is_sign(p, "[")) {
		if (m->type != DESC_STRING)
			return true;
		fail_at(p, where, "a string has a length");
		return hint(p, "string path[32];");
	}
	if (m->type == DESC_TIME || m->type == DESC_TICKS || m->type == DESC_COUNTER)
		return fail_at(p, p->start, "there are no arrays of times or counters");
	if (m->interval)
		return fail_at(p, p->start, "an interval has a start and an end, not a length");
	if (!advance(p) || !number(p, 1, 65536, "a length", &count))
		return false;
	m->count = (uint32_t)count;
	m->is_array = m->type != DESC_STRING;
	return take_sign(p, "]", "']'");
}

/* The names that @m takes in its frame, one after the other; NULL: no more. */
static const char *name_of(const struct desc_member *m, unsigned i, char buf[DESC_NAME_MAX + 32])
{
	static const char *const interval[] = { "_start", "_end" };
	bool timed = m->type == DESC_TIME || m->type == DESC_TICKS || m->type == DESC_COUNTER;
	unsigned ends = m->interval ? 2 : 1, fields = m->type == DESC_COUNTER ? 3 * ends : ends;

	if (i < fields && m->type == DESC_COUNTER)
		snprintf(buf, DESC_NAME_MAX + 32, "%s_%u%s", m->name, i / ends,
			 m->interval ? interval[i % 2] : "");
	else if (i < fields)
		snprintf(buf, DESC_NAME_MAX + 32, "%s%s", m->name, m->interval ? interval[i] : "");
	else if (timed && i < fields + ends)
		snprintf(buf, DESC_NAME_MAX + 32, "snapshot_%s%s", m->name,
			 m->interval ? interval[i - fields] : "");
	else
		return NULL;
	return buf;
}

/* Does a name of @m collide with one of an earlier member, or with what is generated? */
static bool names_free(struct parser *p, const struct desc_frame *f, const char *where)
{
	const struct desc_member *m = &f->members[f->nr_members - 1];
	char mine[DESC_NAME_MAX + 32], theirs[DESC_NAME_MAX + 32];
	unsigned i, k;
	size_t j;

	for (i = 0; name_of(m, i, mine); i++) {
		if (!strcmp(mine, "save") || !strcmp(mine, "save_"))
			return fail_at(p, where, "'save' is what frames are saved with");
		if (!strcmp(mine, f->name) && !strcmp(p->d->language, "C++"))
			return fail_at(p, where, "a member is not called like its class in C++");
		if (!strcmp(mine, "attached") || !strcmp(mine, "now_"))
			return fail_at(p, where, "'%s' is the name of a function", mine);
		for (j = 0; j + 1 < f->nr_members; j++) {
			for (k = 0; name_of(&f->members[j], k, theirs); k++) {
				if (strcmp(mine, theirs) != 0)
					continue;
				if (!strcmp(m->name, f->members[j].name))
					return fail_at(p, where, "'%s' is in this frame before",
						       m->name);
				return fail_at(p, where, "'%s' and '%s' both become '%s'",
					       f->members[j].name, m->name, mine);
			}
		}
	}
	return true;
}

static bool add_snapshots(struct parser *p, const struct desc_frame *f, const char *where)
{
	char text[DESC_NAME_MAX + 32];
	unsigned i;

	for (i = 0; name_of(&f->members[f->nr_members - 1], i, text); i++) {
		if (!strncmp(text, "snapshot_", 9) && !add_symbol(p, where, f->name, text))
			return false;
	}
	return true;
}

/* One of the names behind a type; *@like has the type. */
static bool one_member(struct parser *p, struct desc_frame *f, const struct desc_member *like,
		       const struct spec_enum *e)
{
	struct desc_member *m = grow(p, f->members, f->nr_members, sizeof(*m));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->start;

	if (!m)
		return false;
	f->members = m;
	m += f->nr_members;
	m->type = like->type;
	m->interval = like->interval;
	if (f->nr_members >= 400)
		return fail_at(p, where, "a frame with more than 400 members");
	if (!name(p, text, "a name"))
		return false;
	m->name = strdup(text);
	if (!m->name)
		return no_memory(p);
	f->nr_members++;
	if (e && !copy_enum(p, m, e))
		return false;
	return names_free(p, f, where) && add_snapshots(p, f, where) && length(p, m, where);
}

static bool member(struct parser *p, struct desc_frame *f)
{
	struct desc_member like = { 0 };
	const struct spec_enum *e = NULL;
	const char *where;

	like.interval = is_word(p, "interval");
	if (like.interval && !advance(p))
		return false;
	where = p->start;
	if (!member_type(p, &like, &e))
		return false;
	if (like.interval &&
	    (like.type == DESC_STRING || like.type == DESC_BOOL || like.type == DESC_ENUM)) {
		fail_at(p, where, "there is no interval between two of these");
		return hint(p, "an interval is of numbers, times or counters");
	}
	if (!one_member(p, f, &like, e))
		return false;
	while (is_sign(p, ",")) {
		if (!advance(p) || !one_member(p, f, &like, e))
			return false;
	}
	return take_sign(p, ";", "',' or ';'");
}

static bool frame(struct parser *p)
{
	struct desc_frame *f = grow(p, p->d->frames, p->d->nr_frames, sizeof(*f));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->start;
	size_t i;

	if (!f)
		return false;
	p->d->frames = f;
	if (p->d->nr_frames >= DESC_FRAMES_MAX)
		return fail_at(p, where, "more than %d frames", DESC_FRAMES_MAX);
	if (!name(p, text, "the frame's name"))
		return false;
	for (i = 0; i < p->d->nr_frames; i++) {
		if (!strcmp(f[i].name, text))
			return fail_at(p, where, "there is a frame '%s' before", text);
	}
	for (i = 0; i < p->nr_enums; i++) {
		if (!strcmp(p->enums[i].name, text))
			return fail_at(p, where, "there is an enum '%s' before", text);
	}
	if (!type_name_free(p, text, where) || !add_symbol(p, where, text, "save") ||
	    !add_symbol(p, where, text, "save_"))
		return false;
	f += p->d->nr_frames;
	f->name = strdup(text);
	if (!f->name)
		return no_memory(p);
	p->d->nr_frames++;
	if (!take_sign(p, "{", "'{'"))
		return false;
	while (!is_sign(p, "}")) {
		if (p->token == TOKEN_END)
			return expected(p, "a member or '}'");
		if (!member(p, f))
			return false;
	}
	return advance(p);
}

/* ---- the file ----------------------------------------------------------------- */

static bool header(struct parser *p)
{
	const char *where = p->start;

	if (is_word(p, "emit"))
		return advance(p) && emit(p, where);
	if (is_word(p, "buffer"))
		return advance(p) && buffer(p, where);
	if (is_word(p, "enum"))
		return advance(p) && enumeration(p);
	if (is_word(p, "option"))
		return advance(p) && option(p) && semicolon(p);
	expected(p, "emit, buffer, option, enum or frame");
	if (is_sign(p, ";"))
		hint(p, "no ';' goes behind a frame's '}'");
	return false;
}

static bool late(struct parser *p)
{
	fail_at(p, p->start, "'%.*s' comes before the first frame", (int)p->len, p->start);
	return false;
}

static bool file(struct parser *p)
{
	size_t i;

	if (!advance(p))
		return false;
	while (p->token != TOKEN_END && !is_word(p, "frame")) {
		if (!header(p))
			return false;
	}
	if (!p->has_emit) {
		fail_at(p, p->start, "the language is missing");
		return hint(p, "emit C; or emit C++;");
	}
	if (p->token == TOKEN_END)
		return fail_at(p, p->start, "no frames");
	for (i = 0; i < p->nr_enums; i++) {
		if (!type_name_free(p, p->enums[i].name, p->enums[i].where))
			return false;
	}
	while (p->token != TOKEN_END) {
		if (is_word(p, "emit") || is_word(p, "buffer") || is_word(p, "option") ||
		    is_word(p, "enum"))
			return late(p);
		if (!is_word(p, "frame")) {
			expected(p, "frame or the end");
			if (is_sign(p, ";"))
				hint(p, "no ';' goes behind a frame's '}'");
			return false;
		}
		if (!advance(p) || !frame(p))
			return false;
	}
	return symbols_differ(p);
}

static void names_release(struct parser *p)
{
	size_t i, j;

	for (i = 0; i < p->nr_enums; i++) {
		for (j = 0; j < p->enums[i].nr_values; j++)
			free(p->enums[i].values[j].name);
		free(p->enums[i].values);
	}
	free(p->enums);
	for (i = 0; i < p->nr_symbols; i++)
		free(p->symbols[i].name);
	free(p->symbols);
}

int spec_parse(struct desc *d, const char *text, size_t size, struct spec_error *error)
{
	struct parser p = {
		.d = d, .error = error, .text = text, .end = text + size, .at = text, .start = text
	};

	memset(d, 0, sizeof(*d));
	memset(error, 0, sizeof(*error));
	d->time = DESC_TIMESPEC;
	d->extended = true;
	if (!set_text(&p, &d->abi, PPT_ABI) || !set_text(&p, &d->name, "unlisted") ||
	    !set_text(&p, &d->language, "C") || !set_text(&p, &d->clock, "monotonic"))
		p.code = -ENOMEM;
	else if (size > SPEC_SIZE_MAX)
		fail_at(&p, text, "a spec of more than %u bytes", SPEC_SIZE_MAX);
	else
		file(&p);
	names_release(&p);
	if (p.code)
		desc_release(d);
	return p.code;
}

/* A time that was counted in ticks, or was not, is so for all members. */
static void retype_times(struct desc *d)
{
	size_t i, j;

	for (i = 0; i < d->nr_frames; i++) {
		for (j = 0; j < d->frames[i].nr_members; j++) {
			enum desc_type *type = &d->frames[i].members[j].type;

			if (*type == DESC_TIME || *type == DESC_TICKS)
				*type = d->time == DESC_COUNTER_CLOCK ? DESC_TICKS : DESC_TIME;
		}
	}
}

int spec_override(struct desc *d, const char *words, struct spec_error *error)
{
	struct parser p = { .d = d,
			    .error = error,
			    .text = words,
			    .at = words,
			    .start = words,
			    .end = words + strlen(words),
			    .overriding = true };

	memset(error, 0, sizeof(*error));
	if (advance(&p) && option(&p))
		semicolon(&p);
	retype_times(d);
	return p.code;
}

int spec_add_tag(struct desc *d, const char *key, const char *value)
{
	struct desc_tag *tags = reallocarray(d->tags, d->nr_tags + 1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	d->tags = tags;
	tags[d->nr_tags].key = strdup(key);
	tags[d->nr_tags].value = strdup(value);
	d->nr_tags++;
	return tags[d->nr_tags - 1].key && tags[d->nr_tags - 1].value ? 0 : -ENOMEM;
}
