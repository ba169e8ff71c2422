/* SPDX-License-Identifier: MIT */
/*
 * own_input.h - run an input that a fuzzer's own main() made.
 *
 * With FUZZ_CORPUS=DIRECTORY in the environment the input is also written to a file there:
 * libFuzzer starts from these files (tests/fuzz/run).  LLVMFuzzerTestOneInput() is declared before
 * this file is included.
 */
#ifndef FUZZ_OWN_INPUT_H
#define FUZZ_OWN_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void own_input(const uint8_t *data, size_t size)
{
	static unsigned nr;
	const char *corpus = getenv("FUZZ_CORPUS");
	char path[4096];
	FILE *file;

	if (corpus) {
		snprintf(path, sizeof(path), "%s/%u", corpus, nr++);
		file = fopen(path, "we");
		if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
			fprintf(stderr, "cannot write '%s'\n", path);
			exit(1);
		}
	}
	LLVMFuzzerTestOneInput(data, size);
}

#endif
