/* SPDX-License-Identifier: MIT */
/* test_proto.c - the output of the protocol buffer writer, byte for byte. */
#include "base/proto.h"

#include <errno.h>

#include "check.h"

static void is_bytes(struct proto *p, const char *wanted, size_t size)
{
	size_t i;

	CHECK_EQ(p->error, 0);
	CHECK_EQ(p->used, size);
	for (i = 0; i < size; i++)
		CHECK_EQ(p->buf[i], (uint8_t)wanted[i]);
	proto_release(p);
}

#define IS_BYTES(p, text) is_bytes(p, text, sizeof(text) - 1)

static void writes_numbers_as_short_as_they_are(void)
{
	struct proto p = { 0 };

	proto_u64(&p, 1, 0);
	proto_u64(&p, 1, 127);
	proto_u64(&p, 1, 128);
	proto_u64(&p, 15, 300);
	proto_u64(&p, 16, 1);
	proto_u64(&p, 2047, 1);
	proto_u64(&p, 2048, 1);
	IS_BYTES(&p, "\x08\x00"
		     "\x08\x7f"
		     "\x08\x80\x01"
		     "\x78\xac\x02"
		     "\x80\x01\x01"
		     "\xf8\x7f\x01"
		     "\x80\x80\x01\x01");
	proto_u64(&p, 1, UINT64_MAX);
	proto_i64(&p, 2, -1);
	proto_i64(&p, 2, INT64_MIN);
	IS_BYTES(&p, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		     "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		     "\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
}

static void writes_fixed_numbers_from_the_low_end(void)
{
	struct proto p = { 0 };

	proto_fixed64(&p, 47, UINT64_C(0x0807060504030201));
	proto_double(&p, 1, 1.0);
	IS_BYTES(&p, "\xf9\x02\x01\x02\x03\x04\x05\x06\x07\x08"
		     "\x09\x00\x00\x00\x00\x00\x00\xf0\x3f");
}

static void nests_messages(void)
{
	struct proto p = { 0 };

	proto_begin(&p, 1);
	proto_begin(&p, 2);
	proto_end(&p);
	proto_u64(&p, 3, 5);
	proto_begin(&p, 4);
	proto_string(&p, 1, "abc", 3);
	proto_end(&p);
	proto_end(&p);
	IS_BYTES(&p, "\x0a\x0b"
		     "\x12\x00"
		     "\x18\x05"
		     "\x22\x05\x0a\x03"
		     "abc");
}

/* The length of a message is known at its end, and is inserted before it. */
static void long_messages_have_long_lengths(void)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 129, 16383, 16384, 2097151, 2097152 };
	static char text[2097152];
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct proto p = { 0 };
		size_t at = 1, length = 0;
		unsigned shift = 0;

		memset(text, 'a' + (int)i, sizeof(text));
		/* A string that is not UTF-8 is written in the same way: raw bytes. */
		proto_begin(&p, 1);
		for (k = 0; k < sizes[i]; k++)
			text[k] = (char)('a' + k % 26);
		proto_string(&p, 2, text, sizes[i]);
		proto_u64(&p, 3, 7);
		proto_end(&p);
		CHECK_EQ(p.error, 0);
		CHECK_EQ(p.buf[0], 0x0a);
		do {
			length |= (size_t)(p.buf[at] & 0x7f) << shift;
			shift += 7;
		} while (p.buf[at++] & 0x80);
		CHECK_EQ(length, p.used - at);
		CHECK_EQ(p.buf[at - 1] != 0, length >= 1); /* the shortest form */
		CHECK_EQ(p.buf[p.used - 2], 0x18);
		CHECK_EQ(p.buf[p.used - 1], 7);
		CHECK(!memcmp(p.buf + p.used - 2 - sizes[i], text, sizes[i]));
		proto_release(&p);
	}
}

static void mends_what_is_not_utf8(void)
{
	struct proto p = { 0 };

	proto_string(&p, 1,
		     "a\xff"
		     "b",
		     3);
	IS_BYTES(&p, "\x0a\x05"
		     "a\xef\xbf\xbd"
		     "b");
	proto_string(&p, 1, "\xe2\x82", 2);
	IS_BYTES(&p, "\x0a\x03\xef\xbf\xbd");
	/* Valid text is unchanged, including the replacement character and NUL. */
	proto_string(&p, 1, "\xef\xbf\xbd\xe2\x82\xac\0z", 8);
	IS_BYTES(&p, "\x0a\x08\xef\xbf\xbd\xe2\x82\xac\0z");
}

static void a_failure_stays(void)
{
	struct proto p = { 0 };
	int i;

	for (i = 0; i < PROTO_DEPTH_MAX; i++)
		proto_begin(&p, 1);
	CHECK_EQ(p.error, 0);
	proto_begin(&p, 1);
	CHECK_EQ(p.error, -E2BIG);
	proto_u64(&p, 1, 1);
	proto_string(&p, 1, "x", 1);
	proto_end(&p);
	CHECK_EQ(p.error, -E2BIG);
	proto_release(&p);
	proto_end(&p);
	CHECK_EQ(p.error, -EINVAL);
	proto_release(&p);
}

static void goes_on_when_it_was_emptied(void)
{
	struct proto p = { 0 };

	proto_u64(&p, 1, 1);
	p.used = 0;
	proto_begin(&p, 1);
	proto_u64(&p, 1, 2);
	proto_end(&p);
	IS_BYTES(&p, "\x0a\x02\x08\x02");
}

int main(void)
{
	RUN(writes_numbers_as_short_as_they_are);
	RUN(writes_fixed_numbers_from_the_low_end);
	RUN(nests_messages);
	RUN(long_messages_have_long_lengths);
	RUN(mends_what_is_not_utf8);
	RUN(a_failure_stays);
	RUN(goes_on_when_it_was_emptied);
	return 0;
}
