/* SPDX-License-Identifier: MIT */
/* test_output_file.c - the buffer of an output file. */
#include <stdlib.h>
#include <unistd.h>

#include "base/output_file.h"
#include "check.h"

/* Writing in place may end past the limit; what follows must still fit the buffer. */
static void text_in_place_then_a_large_piece_stay_in_the_buffer(void)
{
	static char large[OUTFILE_ROOM + 100];
	struct err err = { 0 };
	struct outfile f;
	size_t i;

	memset(large, 'x', sizeof(large));
	CHECK_EQ(outfile_open(&f, "/dev/null", &err), 0);
	while (f.at < f.limit)
		outfile_put(&f, "y", 1);
	f.at--;
	for (i = 0; i < 20; i++)
		*f.at++ = 'z';
	CHECK(f.at > f.limit);
	outfile_put(&f, large, sizeof(large));
	CHECK(f.at <= f.limit + OUTFILE_ROOM);
	CHECK_EQ(f.bytes + (uint64_t)(f.at - f.buf), OUTFILE_BUFFER + 19 + sizeof(large));
	CHECK_EQ(outfile_commit(&f, &err), 0);
	outfile_close(&f);
}

int main(void)
{
	RUN(text_in_place_then_a_large_piece_stay_in_the_buffer);
	return 0;
}
