/* SPDX-License-Identifier: MIT */
/*
 * forged.c - a hostile program: notes and request blocks that lead nowhere, to itself, or claim to
 * be attached.  "forged KIND" prints "ready" and waits for the end of its standard input.
 */
#include <corotracer/request.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE(target)                                                                            \
	__asm__(".pushsection .note.corotracer,\"a\",%note\n\t.balign 4\n\t.4byte 11, 8, 1\n\t" \
		".asciz \"corotracer\"\n\t.balign 4\n\t.8byte " target "\n\t.popsection")

struct ctp_anchor forged_anchor, forged_loop;
static struct ctp_request block = CTP_REQUEST_INIT;

NOTE("0x7fffffffffffffff"); /* far out */
NOTE("-1");
NOTE("0");
NOTE("forged_anchor - .");
NOTE("forged_loop - .");

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	forged_anchor.magic = forged_loop.magic = CTP_ANCHOR_MAGIC;
	forged_loop.request = (struct ctp_request *)(void *)&forged_loop;
	if (!strcmp(kind, "wild"))
		forged_anchor.request = (struct ctp_request *)(uintptr_t)0x10; // NOLINT
	else
		forged_anchor.request = &block;
	if (!strcmp(kind, "size"))
		block.size = 0xffffffff;
	if (!strcmp(kind, "version"))
		block.version = 99;
	if (!strcmp(kind, "attached")) {
		block.state = CTP_REQUEST_ATTACHED;
		block.pid = (uint32_t)strtoul(argc > 2 ? argv[2] : "0", NULL, 10);
		block.region = UINT64_C(0xfffffffffffffff0);
	}
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
