/* SPDX-License-Identifier: MIT */
/* test_varint_run.c - varints that are decoded together are those that are decoded one by one. */
#include "check.h"
#include "memory/format/unpack_stream.h"
#include "memory/format/varint_run.h"

#define VALUES 4096u

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 11;
}

/* A varint of 1 to 10 bytes; longer ones than the value needs are allowed. */
static uint8_t *put_varint(uint8_t *at, uint64_t value, uint32_t size)
{
	uint32_t i;

	for (i = 0; i + 1 < size; i++, value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)(value & 0x7f);
	return at;
}

/* @stream has @size bytes, in memory of just that size: to read past its end is a fault. */
static void both_decode_the_same(const uint8_t *stream, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct unpack_stream many = { copy, copy + size }, single = many;
	uint64_t values[VARINT_RUN * 3], value;
	uint32_t nr, i, all = 0;

	memcpy(copy, stream, size);
	for (;;) {
		nr = varint_run(&many, values, VARINT_RUN * 3 - all % 7);
		CHECK(nr <= VARINT_RUN * 3 - all % 7);
		for (i = 0; i < nr; i++) {
			CHECK(unpack_svarint(&single, &value));
			CHECK(value == values[i]);
		}
		CHECK(many.at == single.at);
		all += nr;
		if (!unpack_svarint(&single, &value))
			break;
		CHECK(nr > 0 || size < 64 || many.end - many.at < 64 || single.at - many.at > 8);
		many = single;
		all++;
	}
	free(copy);
}

/* One value in @wide has any size up to 10 bytes; the others have at most @most bytes. */
static void streams_are_decoded(uint32_t most, uint32_t wide, uint64_t state)
{
	static uint8_t stream[VALUES * 10];
	uint8_t *at = stream;
	uint32_t i;

	for (i = 0; i < VALUES; i++) {
		uint32_t up_to = wide && next_random(&state) % wide == 0 ? 10 : most;

		at = put_varint(at, next_random(&state) << 11 ^ next_random(&state),
				1 + (uint32_t)(next_random(&state) % up_to));
	}
	both_decode_the_same(stream, (size_t)(at - stream));
	for (i = 0; i < 140; i++)
		both_decode_the_same(stream, i);
}

static void values_of_all_sizes_are_decoded(void)
{
	uint32_t most;

	for (most = 1; most <= 10; most++) {
		streams_are_decoded(most, 0, most);
		streams_are_decoded(most, 50, most);
	}
}

static void bytes_without_an_end_are_no_value(void)
{
	uint8_t stream[200];
	struct unpack_stream s = { stream, stream + sizeof(stream) };
	uint64_t values[VARINT_RUN];

	memset(stream, 0x80, sizeof(stream));
	CHECK_EQ(varint_run(&s, values, VARINT_RUN), 0);
	CHECK(s.at == stream);
	memset(stream, 0, sizeof(stream));
	CHECK_EQ(varint_run(&s, values, VARINT_RUN - 1), 0); /* no room */
	CHECK(s.at == stream);
}

int main(void)
{
	if (!varint_run_works())
		SKIP("the processor has no AVX-512 VBMI2");
	RUN(values_of_all_sizes_are_decoded);
	RUN(bytes_without_an_end_are_no_value);
	return 0;
}
