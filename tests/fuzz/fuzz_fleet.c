/* SPDX-License-Identifier: MIT */
/*
 * fuzz_fleet.c - what comes from users, servers and files of the loader, against hostile bytes.
 *
 * The first byte chooses: an address, an answer of a server, the open waits of a saved state.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/clickhouse_client.h"
#include "trace/wait_pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t nr_addresses, nr_errors, nr_states;

static void check_address(const char *text)
{
	struct clickhouse_url url;
	struct err err = { 0 };
	size_t i;

	/* Files are not read here. */
	if (strstr(text, "password_file"))
		return;
	if (clickhouse_url_parse(&url, text, NULL, &err) == 0) {
		nr_addresses++;
		MUST(url.nr_hosts && url.nr_hosts <= CLICKHOUSE_SHARDS_MAX);
		MUST(url.user[0] && url.database[0]);
		MUST(!strpbrk(url.database, "'\"`;. /") && !strpbrk(url.cluster, "'\"`;. /"));
		for (i = 0; i < url.nr_hosts; i++)
			MUST(url.hosts[i].name[0] && url.hosts[i].port &&
			     !strpbrk(url.hosts[i].name, "/@ ?#"));
	} else {
		MUST(err.code < 0 && err.text[0]);
	}
	clickhouse_url_release(&url);
}

static void check_answer(const char *text, size_t size)
{
	char line[64];
	int code = clickhouse_error_parse(text, size, line, sizeof(line));

	MUST(code >= 0 && code <= 999999 && strlen(line) < sizeof(line));
	MUST(!strpbrk(line, "\n\r\t\033"));
	nr_errors += code > 0;
	MUST(clickhouse_fault_of(code) > CLICKHOUSE_NO_FAULT);
	MUST(clickhouse_version_parse(text, size) < 1000000);
}

/* What is accepted is saved as the same state. */
static void check_state(const uint8_t *data, size_t size)
{
	struct wait_pairs p, q;
	struct bytes once = { 0 }, twice = { 0 };
	int rc;

	wait_pairs_init(&p);
	wait_pairs_init(&q);
	rc = wait_pairs_load(&p, data, size);
	MUST(rc == 0 || rc == -EINVAL);
	if (rc == 0) {
		nr_states++;
		MUST(wait_pairs_save(&p, &once) == 0 && once.size == size);
		MUST(wait_pairs_load(&q, once.data, once.size) == 0);
		MUST(wait_pairs_save(&q, &twice) == 0 && twice.size == size);
		MUST(!memcmp(once.data, twice.data, size));
	}
	wait_pairs_release(&p);
	wait_pairs_release(&q);
	bytes_release(&once);
	bytes_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	MUST(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] % 3 == 0)
		check_address(text);
	else if (data[0] % 3 == 1)
		check_answer(text, size - 1);
	else
		check_state(data + 1, size - 1);
	free(text);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

static uint64_t fuzz_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void suspend_some(struct wait_pairs *p, uint64_t nr)
{
	struct trace_event ev;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		trace_event_init(&ev);
		ev.probe_id = i * 3;
		ev.ts = 100 - i;
		MUST(wait_pairs_event(p, &ev, NULL, NULL) == 0);
	}
}

static size_t make_input(uint8_t *to, size_t room, uint64_t *seed)
{
	static const char *const texts[] = {
		"clickhouse://u:p@h:1,[::1]:2/base?cluster=c&tls=1",
		"clickhouse://h%41/x",
		"Code: 81, e.displayText() = DB::Exception: no, e.what() = x\n",
		"Code: 516. DB::Exception: x (version 24.1.1.1)\n",
		"18.16.1\n",
	};
	unsigned kind = (unsigned)(fuzz_next(seed) % 6), i, nr;
	size_t size;

	if (kind == 5) {
		struct wait_pairs p;
		struct bytes b = { 0 };

		wait_pairs_init(&p);
		suspend_some(&p, fuzz_next(seed) % 4);
		MUST(wait_pairs_save(&p, &b) == 0 && b.size < room);
		to[0] = 2;
		memcpy(to + 1, b.data, b.size);
		size = b.size + 1;
		bytes_release(&b);
		wait_pairs_release(&p);
	} else {
		to[0] = kind >= 2;
		size = strlen(texts[kind]) + 1;
		memcpy(to + 1, texts[kind], size - 1);
	}
	nr = (unsigned)(fuzz_next(seed) % 4);
	for (i = 0; i < nr; i++)
		to[1 + fuzz_next(seed) % (size - 1)] =
			fuzz_next(seed) % 2 ? (uint8_t)fuzz_next(seed)
					    : (uint8_t) "%/:@?,&=[]0"[fuzz_next(seed) % 11];
	return fuzz_next(seed) % 4 ? size : 1 + fuzz_next(seed) % size;
}

int main(int argc, char **argv)
{
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, i;
	uint8_t input[1024];

	for (i = 0; i < rounds; i++)
		own_input(input, make_input(input, sizeof(input), &seed));
	printf("%llu addresses, %llu errors, %llu states accepted\n",
	       (unsigned long long)nr_addresses, (unsigned long long)nr_errors,
	       (unsigned long long)nr_states);
	return nr_addresses && nr_errors && nr_states ? 0 : 1;
}

#endif
