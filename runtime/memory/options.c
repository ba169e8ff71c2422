/* SPDX-License-Identifier: MIT */
/*
 * options.c - CACHERAY_OPTIONS: key=value, separated by colons.
 *
 * An invalid option is reported and tracing stays off: a trace other than the requested one is
 * worse than none, and the runtime never ends a program because of an option.
 */
#include "options.h"

#include "sys.h"

static bool options_number(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (n > (UINT64_MAX - 9) / 10)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*out = n;
	return *text == '\0';
}

/* 4096, 64K, 100M, 2G. */
static bool options_size(const char *text, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	char digits[24];
	size_t n = crt_length(text);
	unsigned shift = 0, i;

	if (n == 0 || n >= sizeof(digits))
		return false;
	__builtin_memcpy(digits, text, n + 1);
	for (i = 0; suffixes[i]; i++) {
		if (digits[n - 1] == suffixes[i] || digits[n - 1] == suffixes[i] + 32) {
			shift = 10 * (i + 1);
			digits[n - 1] = '\0';
			break;
		}
	}
	if (!options_number(digits, out) || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *options_hex(const char *text, uint64_t *out)
{
	uint64_t n = 0;
	int digits = 0;

	if (text[0] == '0' && (text[1] | 32) == 'x')
		text += 2;
	for (; hex_digit(*text) >= 0 && digits < 17; text++, digits++)
		n = n << 4 | (uint64_t)hex_digit(*text);
	*out = n;
	return digits >= 1 && digits <= 16 ? text : NULL;
}

static bool options_flag(const char *text, bool *out)
{
	/*
	 * As in the existing Cacheray runtime, everything but 0 is on; an empty value is an error
	 * here.
	 */
	if (!*text)
		return false;
	*out = !crt_equal(text, "0") && !crt_equal(text, "no") && !crt_equal(text, "off");
	return true;
}

/* LO-HI, hexadecimal, comma-separated; HI is the first byte outside. */
static bool options_regions(struct crt_options *o, const char *text)
{
	for (;;) {
		uint64_t from, to;

		text = options_hex(text, &from);
		if (!text || *text++ != '-')
			return false;
		text = options_hex(text, &to);
		if (!text || to <= from || o->nr_regions == CRT_REGIONS_MAX)
			return false;
		o->regions[o->nr_regions].from = from;
		o->regions[o->nr_regions++].to = to;
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}

/* lines/N */
static bool options_sample_lines(struct crt_options *o, const char *text)
{
	return options_size(text, &o->lines) && o->lines >= 2 && o->lines <= CRT_LINE_CLASSES &&
	       (o->lines & (o->lines - 1)) == 0;
}

/* BURST/PERIOD, or lines/N */
static bool options_sample(struct crt_options *o, const char *text)
{
	static const char lines[] = "lines/";
	char first[24];
	size_t n;

	o->lines = o->burst = o->period = 0;
	for (n = 0; n < sizeof(lines) - 1 && text[n] == lines[n]; n++)
		;
	if (n == sizeof(lines) - 1)
		return options_sample_lines(o, text + n);

	for (n = 0; text[n] && text[n] != '/' && n < sizeof(first) - 1; n++)
		first[n] = text[n];
	first[n] = '\0';
	/* The weight is stored in 32 bits, in 1/256. */
	return text[n] == '/' && options_size(first, &o->burst) &&
	       options_size(text + n + 1, &o->period) && o->burst >= 1 && o->burst <= o->period &&
	       o->period / o->burst < (1u << 23);
}

/* A time such as 10ms or 2s.  Returns what follows it; NULL: it is none. */
static const char *options_time(const char *text, uint64_t *ms)
{
	uint64_t n = 0;
	int digits;

	for (digits = 0; *text >= '0' && *text <= '9' && digits < 8; digits++)
		n = n * 10 + (uint64_t)(*text++ - '0');
	if (!digits || n == 0)
		return NULL;
	if (text[0] == 'm' && text[1] == 's') {
		*ms = n;
		return text + 2;
	}
	*ms = n * 1000;
	return text[0] == 's' ? text + 1 : NULL;
}

/* ON/PERIOD, times */
static bool options_burst(struct crt_options *o, const char *text)
{
	text = options_time(text, &o->on_ms);
	if (!text || *text != '/')
		return false;
	text = options_time(text + 1, &o->every_ms);
	return text && !*text && o->on_ms <= o->every_ms && o->every_ms <= CRT_PERIOD_MAX_MS;
}

static bool options_path(struct crt_options *o, const char *text)
{
	size_t n = crt_length(text);

	if (n == 0 || n >= sizeof(o->tracefile))
		return false;
	__builtin_memcpy(o->tracefile, text, n + 1);
	return true;
}

static bool on_full(struct crt_options *o, const char *text)
{
	o->drop = crt_equal(text, "drop");
	return o->drop || crt_equal(text, "block");
}

static bool options_level(struct crt_options *o, const char *text)
{
	uint64_t n;

	if (!options_number(text, &n) || n > 19)
		return false;
	o->level = (int)n;
	return true;
}

static bool options_buffer(struct crt_options *o, const char *text)
{
	return options_size(text, &o->buffer) && o->buffer >= (256u << 10) &&
	       o->buffer <= (UINT64_C(4) << 30);
}

/* NULL: valid; else a description of valid values. */
static const char *options_set(struct crt_options *o, const char *key, const char *value)
{
	if (crt_equal(key, "tracefile"))
		return options_path(o, value) ? NULL : "a path of 1 to 1023 bytes";
	if (crt_equal(key, "enabled"))
		return options_flag(value, &o->enabled) ? NULL : "0 or 1";
	if (crt_equal(key, "start"))
		return options_flag(value, &o->start) ? NULL : "0 or 1";
	if (crt_equal(key, "heap"))
		return options_flag(value, &o->heap) ? NULL : "0 or 1";
	if (crt_equal(key, "stacks"))
		return options_flag(value, &o->stacks) ? NULL : "0 or 1";
	if (crt_equal(key, "control"))
		return options_flag(value, &o->control) ? NULL : "0 or 1";
	if (crt_equal(key, "onfull"))
		return on_full(o, value) ? NULL : "block or drop";
	if (crt_equal(key, "maxsize"))
		return options_size(value, &o->max_size) ? NULL : "a size such as 500M";
	if (crt_equal(key, "ring"))
		return options_size(value, &o->ring_size) ? NULL : "a size such as 64M";
	if (crt_equal(key, "sample"))
		return options_sample(o, value)
			       ? NULL
			       : "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8";
	if (crt_equal(key, "burst"))
		return options_burst(o, value) ? NULL : "ON/PERIOD, times such as 10ms/1s";
	if (crt_equal(key, "region"))
		return options_regions(o, value)
			       ? NULL
			       : "LO-HI in hexadecimal, up to 16, comma-separated";
	if (crt_equal(key, "buffer"))
		return options_buffer(o, value) ? NULL : "256K to 4G";
	if (crt_equal(key, "level"))
		return options_level(o, value) ? NULL : "0 (not compressed) to 19";
	return "one of tracefile, enabled, start, heap, stacks, control, onfull, maxsize, ring, "
	       "sample, burst, region, buffer, level";
}

static bool options_item(struct crt_options *o, const char *text, size_t n)
{
	char copy[CRT_PATH_MAX + 64], *value;
	const char *wanted;
	size_t i;

	if (n >= sizeof(copy)) {
		crt_say("CACHERAY_OPTIONS: an item is too long; not tracing", NULL);
		return false;
	}
	__builtin_memcpy(copy, text, n);
	copy[n] = '\0';
	for (i = 0; i < n && copy[i] != '='; i++)
		;
	if (i == n) {
		crt_say("CACHERAY_OPTIONS: '", copy, "' has no '='; not tracing", NULL);
		return false;
	}
	copy[i] = '\0';
	value = copy + i + 1;
	wanted = options_set(o, copy, value);
	if (wanted)
		crt_say("CACHERAY_OPTIONS: '", copy, "=", value, "' should be ", wanted,
			"; not tracing", NULL);
	return !wanted;
}

bool crt_options_read(struct crt_options *o, const char *text)
{
	size_t n;

	__builtin_memset(o, 0, sizeof(*o));
	options_path(o, "cacheray.trace");
	o->enabled = true;
	o->start = true;
	o->heap = true;
	o->level = 1;
	o->buffer = (uint64_t)CRT_BUFFER;
	while (text && *text) {
		for (n = 0; text[n] && text[n] != ':'; n++)
			;
		if (n && !options_item(o, text, n))
			return false;
		text += n + (text[n] == ':');
	}
	if (o->on_ms && (o->period || o->lines)) {
		crt_say("CACHERAY_OPTIONS: burst and sample exclude each other; not tracing", NULL);
		return false;
	}
	return true;
}

bool crt_options_path(const struct crt_options *o, uint32_t pid, bool child, char *out,
		      uint64_t out_size)
{
	struct crt_text t;
	bool has_pid = false;
	const char *c;

	crt_text_init(&t, out, out_size);
	for (c = o->tracefile; *c; c++) {
		char one[2] = { *c, '\0' };

		if (c[0] == '%' && c[1] == 'p') {
			crt_text_number(&t, pid);
			has_pid = true;
			c++;
			continue;
		}
		if (c[0] == '%' && c[1] == '%')
			c++;
		crt_text_add(&t, one);
	}
	if (child && !has_pid) {
		crt_text_add(&t, ".");
		crt_text_number(&t, pid);
	}
	return t.at < t.end; /* full: the name may be truncated */
}
