/* SPDX-License-Identifier: MIT */
/*
 * corotracer/request.h - the request block: how a tool asks a running program to attach.
 *
 * Each copy of an SDK in a program has one block.  The tool finds it through an ELF note in an
 * allocated segment, which `strip` keeps:
 *
 *	PT_NOTE: name "corotracer", type CTP_NOTE_REQUEST, 8 bytes: the distance from these bytes
 *		to a struct ctp_anchor
 *	struct ctp_anchor: the address of the struct ctp_request, set by the dynamic linker, because
 *		a program may have its own copy of a library's variable
 *
 * The tool writes `order` and then sets `gate`, with process_vm_writev(2).  The program reads the
 * gate at each event, and nothing else while it is 0.  The next event finds it set and calls the
 * slow path, which checks the order and attaches to the region that it names (request_slow.h).
 *
 * The copies of the kernel are not atomic: `check` shows whether an order is complete.  Only the
 * gate is written by both sides, and the tool only ever sets it.
 *
 * The rules of ctp.h for editing apply, except that the block has addresses of the program.
 */
#ifndef COROTRACER_REQUEST_H
#define COROTRACER_REQUEST_H

#include <corotracer/atomic.h>
#include <corotracer/ctp.h>

#include <corotracer/header_begin.h>

#define CTP_REQUEST_MAGIC     UINT64_C(0x3130514552505443) /* "CTPREQ01" in memory */
#define CTP_REQUEST_VERSION   1u
#define CTP_NOTE_NAME         "corotracer"
#define CTP_NOTE_REQUEST      1u
#define CTP_ANCHOR_MAGIC      UINT64_C(0x31434e4152505443) /* "CTPRANC1" in memory */

#define CTP_REQUEST_SHM_SIZE  1024u
#define CTP_REQUEST_SOCK_SIZE 112u

/* Values of ctp_request.state. */
#define CTP_REQUEST_IDLE     0u /* not attached */
#define CTP_REQUEST_ATTACHED 1u

/*
 * Values of the lowest byte of ctp_request.why: why the process is not attached.  The other bytes
 * are an errno, or 0.  0: an SDK that does not say.
 */
#define CTP_WHY_NO_COROUTINE   1u /* none was created, and the SDK was not initialized */
#define CTP_WHY_ATTACHED       2u
#define CTP_WHY_NO_ENVIRONMENT 3u /* CTP_SHM_PATH is not set */
#define CTP_WHY_SECURE         4u /* a setuid, setgid or privileged program: it must not be read */
#define CTP_WHY_NOT_OPENED     5u /* no descriptor, and the file cannot be opened: an errno */
#define CTP_WHY_NOT_REGION     6u /* the file is not a region, or shorter than it should be */
#define CTP_WHY_VERSION        7u /* a region of another version */
#define CTP_WHY_NOT_MAPPED     8u /* an errno */
#define CTP_WHY_NO_MEMORY      9u

/* Written by the tool. */
struct ctp_order {
	uint64_t number; /* differs from that of the last order; never 0 */
	uint32_t stations;
	uint32_t reserved;
	char shm[CTP_REQUEST_SHM_SIZE];   /* path of the region, as the program sees it */
	char sock[CTP_REQUEST_SOCK_SIZE]; /* path of the socket; may be empty */
	uint64_t check;                   /* ctp_order_sum() of the bytes before it */
};

struct ctp_request {
	uint64_t magic;
	uint32_t version;
	uint32_t size;     /* of this struct */
	uint32_t gate;     /* [shared] 0: an event has nothing to do */
	uint32_t state;    /* [shared] CTP_REQUEST_* */
	uint32_t pid;      /* [shared] process that wrote state; differs in a forked child */
	int32_t result;    /* [shared] of the last order: 0, or a positive errno */
	uint64_t handled;  /* [shared] number of the last order that was handled */
	uint64_t region;   /* [shared] address of the mapped region while attached */
	uint32_t taker;    /* pid of the process in which a thread handles an order; 0: none */
	uint32_t by_order; /* 1: attached by an order, not by the environment */
	uint32_t sites;    /* tag of the current region's site numbers, from 1 to 65535 */
	uint32_t why;      /* [shared] CTP_WHY_* */
	uint64_t first;    /* generation of the first session with the current region */
	uint64_t reserved[2];
	struct ctp_order order; /* [shared] */
};

struct ctp_anchor {
	uint64_t magic;
	struct ctp_request *request;
};

CTP_SIZE(ctp_order, 1160);
CTP_FIELD(ctp_order, number, 0x00, 8);
CTP_FIELD(ctp_order, stations, 0x08, 4);
CTP_FIELD(ctp_order, shm, 0x10, CTP_REQUEST_SHM_SIZE);
CTP_FIELD(ctp_order, sock, 0x410, CTP_REQUEST_SOCK_SIZE);
CTP_FIELD(ctp_order, check, 0x480, 8);
CTP_SIZE(ctp_request, 1248);
CTP_FIELD(ctp_request, magic, 0x00, 8);
CTP_FIELD(ctp_request, version, 0x08, 4);
CTP_FIELD(ctp_request, size, 0x0C, 4);
CTP_FIELD(ctp_request, gate, 0x10, 4);
CTP_FIELD(ctp_request, state, 0x14, 4);
CTP_FIELD(ctp_request, pid, 0x18, 4);
CTP_FIELD(ctp_request, result, 0x1C, 4);
CTP_FIELD(ctp_request, handled, 0x20, 8);
CTP_FIELD(ctp_request, region, 0x28, 8);
CTP_FIELD(ctp_request, taker, 0x30, 4);
CTP_FIELD(ctp_request, by_order, 0x34, 4);
CTP_FIELD(ctp_request, sites, 0x38, 4);
CTP_FIELD(ctp_request, why, 0x3C, 4);
CTP_FIELD(ctp_request, first, 0x40, 8);
CTP_FIELD(ctp_request, order, 0x58, sizeof(struct ctp_order));

/* FNV-1a over the order without its check. */
static inline uint64_t ctp_order_sum(const struct ctp_order *order)
{
	const unsigned char *at = (const unsigned char *)order;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	size_t i;

	for (i = 0; i < offsetof(struct ctp_order, check); i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

#define CTP_REQUEST_INIT                                                                           \
	{                                                                                          \
		CTP_REQUEST_MAGIC, CTP_REQUEST_VERSION, sizeof(struct ctp_request), 0, 0, 0, 0, 0, \
			0, 0, 0, 1, CTP_WHY_NO_COROUTINE, 0, { 0 },                                \
		{                                                                                  \
			0, 0, 0, { 0 }, { 0 }, 0                                                   \
		}                                                                                  \
	}

/*
 * Emit the note for the anchor with this symbol, a hidden one.  In a function body, so that a
 * linker that discards unused sections keeps the note with the function: "?" makes it a member of
 * the function's group, and a note outside of groups is always kept.
 */
#define CTP_REQUEST_NOTE(anchor)                                           \
	__asm__ volatile(".pushsection .note.corotracer,\"a?\",%%note\n\t" \
			 ".balign 4\n\t"                                   \
			 ".4byte 11, 8, 1\n\t"                             \
			 ".asciz \"" CTP_NOTE_NAME "\"\n\t"                \
			 ".balign 4\n\t"                                   \
			 ".8byte " anchor " - .\n\t"                       \
			 ".popsection" ::)

#include <corotracer/header_end.h>

#endif
