/* SPDX-License-Identifier: MIT */
/*
 * fuzz_type_json.c - types from any JSON file: refused with a message, or consistent.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() changes bytes of a valid file:
 * fuzz_type_json [ROUNDS].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "memory/layout/members.h"
#include "memory/types/type_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void json_ask_leaves(const struct types *t, uint32_t number)
{
	const struct type *type = types_get(t, number);
	uint64_t at = 0, end;
	unsigned steps = 0;

	while (at < type->size && steps++ < 5000) {
		uint32_t leaf = types_leaf_at(t, number, at, 4, &end);

		CHECK(end > at);
		CHECK(leaf >= LEAF_BEYOND || leaf < type->nr_leaves);
		if (leaf < LEAF_BEYOND)
			CHECK(type->leaves[leaf].path && type->leaves[leaf].type_name);
		at = end;
	}
}

static void json_ask_pieces(const struct types *t, uint32_t number)
{
	struct pieces p;
	struct shape *s;
	char *text;

	if (pieces_obstacle(types_get(t, number)))
		return;
	CHECK(pieces_init(&p, t, number) == 0);
	s = shape_new(&p, "as it is");
	CHECK(s != NULL);
	text = shape_text(s, 64);
	CHECK(text != NULL);
	free(text);
	shape_free(s);
	pieces_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct types *t = types_new();
	struct err err = { 0 };
	uint32_t i;

	CHECK(t != NULL);
	if (types_parse_json(t, (const char *)data, size, "input", &err) < 0)
		CHECK(err.code < 0 && err.text[0]);
	types_by_name(t, "struct deep");
	types_by_name(t, "pair_t");
	for (i = 1; i < types_count(t); i++) {
		CHECK(types_get(t, i)->name != NULL);
		json_ask_leaves(t, i);
		json_ask_pieces(t, i);
	}
	types_free(t);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include <unistd.h>

#include "../../fuzz/own_input.h"

/* With ' in place of ". */
static const char valid[] =
	"{'version':4,'structs':[{'id':45,'name':'struct basic','members':["
	"{'id':9,'memberName':'a','name':'int','offset':0,'size':4},"
	"{'id':9,'memberName':'b','name':'long int','offset':8,'size':8},"
	"{'id':9,'memberName':'c','name':'char*','offset':16,'size':8}]},"
	"{'id':90,'name':'struct deep','members':["
	"{'id':9,'memberName':'id','name':'int','offset':0,'size':4},"
	"{'id':45,'memberName':'in','name':'struct basic','offset':8,'size':24},"
	"{'id':9,'memberName':'name','name':'char[]','offset':32,'size':1},"
	"{'id':120,'memberName':'n','name':'struct number','offset':56,'size':8},"
	"{'id':45,'memberName':'x','name':'struct basic[]','offset':64,'size':96},"
	"{'id':7,'memberName':'<anon_union>','name':'<anon_union>','offset':160,'size':-1},"
	"{'id':7,'memberName':'z','name':'int*[]','offset':168,'size':40}]}],"
	"'unions':[{'id':120,'name':'number','members':["
	"{'id':9,'memberName':'w','name':'long int','size':8},"
	"{'id':9,'memberName':'r','name':'double','size':8}]}],"
	"'typedefs':[{'type':'pair_t','def':'struct basic'}]}";

static uint64_t seed = 1;

static uint32_t random_below(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
	uint8_t data[sizeof(valid)], *at;
	unsigned changes;

	for (i = 0; i < count; i++) {
		seed = i;
		memcpy(data, valid, sizeof(valid));
		for (at = data; *at; at++)
			*at = *at == '\'' ? '"' : *at;
		for (changes = i ? 1 + random_below(6) : 0; changes; changes--) {
			at = &data[random_below(sizeof(valid) - 1)];
			/* Mostly digits: other changes are no JSON. */
			if (random_below(5))
				while (at < data + sizeof(valid) - 1 && (*at < '0' || *at > '9'))
					at++;
			*at = random_below(5) ? (uint8_t)('0' + random_below(10))
					      : (uint8_t)random_below(256);
		}
		alarm(60); /* an endless loop is a failure */
		own_input(data, sizeof(valid) - 1);
	}
	printf("%lu files\n", count);
	return 0;
}
#endif
