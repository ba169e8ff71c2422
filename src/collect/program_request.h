/* SPDX-License-Identifier: MIT */
/*
 * program_request.h - ask a running program to attach to a region (corotracer/request.h).
 *
 * The program was started normally and contains an SDK.  The request is written into its memory,
 * without a signal and without a stop; the program takes it at its next event.  A program may have
 * several copies of the SDK: each has its own request block, and each attaches.
 */
#ifndef COLLECT_PROGRAM_REQUEST_H
#define COLLECT_PROGRAM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corotracer/request.h>

#include "base/err.h"
#include "process/file_owner.h"
#include "process/target_memory.h"

#define REQUEST_BLOCKS 64u

enum request_state {
	REQUEST_PENDING,  /* no event since it was sent */
	REQUEST_ATTACHED, /* at least one copy of the SDK has attached */
	REQUEST_FAILED,   /* every copy of the SDK has failed */
	REQUEST_LEFT,     /* it attached and is attached no more */
	REQUEST_ENDED,    /* the process has ended */
	REQUEST_REPLACED, /* the process has executed another program */
};

struct request_block {
	uint64_t address;
	uint64_t number; /* of the order that was sent; 0: none */
	bool attached;   /* was seen attached */
	int result;      /* errno; 0: none */
};

struct program_request {
	struct target target;
	struct file_owner owner;
	struct request_block blocks[REQUEST_BLOCKS];
	size_t nr_blocks;
	bool has_waited;         /* the first look found it pending */
	enum request_state seen; /* by the last look that could read the blocks */
};

/* 1 if @block, a copy from a program, can be one. */
bool request_block_valid(const struct ctp_request *block);

/*
 * Find the SDK in process @pid.  Fails without the rights, without an SDK, and if another collector
 * has attached the process.
 */
int request_open(struct program_request *p, pid_t pid, struct err *err);
void request_close(struct program_request *p);

/*
 * True if process @pid has the SDK, its memory may be read, and no copy of the SDK has attached;
 * then
 * *@why is that of a block, and *@address the address of the block.
 */
bool request_peek(pid_t pid, uint32_t *why, uint64_t *address);

/* Read `why` of the block again.  Returns false if there is no block any more. */
bool request_peek_again(pid_t pid, uint64_t address, uint32_t *why);

/* Ask the program to attach to the region @shm and the socket @sock, paths as it sees them. */
int request_send(struct program_request *p, const char *shm, const char *sock, uint32_t stations,
		 struct err *err);

enum request_state request_look(struct program_request *p);

/* Why the program could not attach (REQUEST_FAILED). */
int request_explain(const struct program_request *p, struct err *err);

/* Take back a request that the program has not seen. */
void request_withdraw(struct program_request *p);

#endif
