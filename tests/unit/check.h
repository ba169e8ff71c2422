/* SPDX-License-Identifier: MIT */
/*
 * check.h - a minimal test harness that prints failures.
 *
 * A test is a program; its functions are named as sentences.  Exit status 0
 * passed, 1 failed, 77 skipped (with the reason on stdout).
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

#define CHECK_EQ(a, b)                                                                       \
	do {                                                                                 \
		long long check_a = (long long)(a), check_b = (long long)(b);                \
		if (check_a != check_b) {                                                    \
			fprintf(stderr, "%s:%d: %s is %lld, expected %lld (%s)\n", __FILE__, \
				__LINE__, #a, check_a, check_b, #b);                         \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

#define CHECK_STR(a, b)                                                                   \
	do {                                                                              \
		const char *check_a = (a), *check_b = (b);                                \
		if (strcmp(check_a, check_b) != 0) {                                      \
			fprintf(stderr, "%s:%d: %s is\n  %s\nexpected\n  %s\n", __FILE__, \
				__LINE__, #a, check_a, check_b);                          \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

#define RUN(test)                           \
	do {                                \
		test();                     \
		printf("ok - %s\n", #test); \
		fflush(stdout);             \
	} while (0)

#define SKIP(why)                             \
	do {                                  \
		printf("skipped: %s\n", why); \
		exit(77);                     \
	} while (0)

#endif
