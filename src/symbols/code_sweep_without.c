/* SPDX-License-Identifier: MIT */
/* code_sweep_without.c - code_sweep.h in a build without a disassembler. */
#include "symbols/code_sweep.h"

bool code_find_index(const struct code_bytes *code, struct code_field *out)
{
	(void)code;
	(void)out;
	return false;
}

bool code_find_stores(const struct code_bytes *code, const struct code_field *field,
		      code_store_handler handler, void *arg)
{
	(void)code;
	(void)field;
	(void)handler;
	(void)arg;
	return false;
}

int code_store_base(const struct code_bytes *code)
{
	(void)code;
	return -1;
}
