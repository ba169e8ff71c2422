/* SPDX-License-Identifier: MIT */
/*
 * load_session.h - a session of the server, without which an INSERT that arrives late is refused.
 *
 * A request may wait in a socket or in a proxy after its sender has given it up.  The server
 * executes it when it gets there: perhaps after the loader asked for its rows, found none, and sent
 * them again.  Servers with deduplication tokens drop one of the two, older ones count both. There,
 * every INSERT names a session that has to exist.  A loader in doubt waits until the server says
 * that the session is gone, and uses another one from then on: either the rows of the INSERT are
 * there by now, or it is refused whenever it arrives.
 *
 * While an INSERT may be on its way, the number of its session is in a file: a loader that is
 * killed leaves it to the next one.
 */
#ifndef FLEET_LOAD_SESSION_H
#define FLEET_LOAD_SESSION_H

#include "fleet/clickhouse_client.h"

#define LOAD_SESSION_SETTINGS_SIZE 160u

struct load_session {
	struct clickhouse *client;
	const char *name;     /* of the loader: prefix of the id */
	uint64_t number;      /* the rest of the id; 0: there is no session */
	uint64_t used_ns;     /* when it was opened or used last */
	unsigned char *state; /* of each shard; NULL: not used yet */
	int fd;               /* of the file with the number; -1: none */
	uint64_t noted;       /* the number in the file */
};

void load_session_init(struct load_session *s, struct clickhouse *client, const char *name);
void load_session_release(struct load_session *s);

/* Keep the number in @fd from byte @LOAD_SESSION_AT on; one that is there is of a killed loader. */
#define LOAD_SESSION_AT 32
int load_session_keep(struct load_session *s, int fd, struct err *err);

/* Before an INSERT on @shard: there is a session, no INSERT of an earlier one can be applied. */
int load_session_open(struct load_session *s, size_t shard, struct err *err);

/* The settings of an INSERT in the session: "&name=value...". */
void load_session_settings(const struct load_session *s, char text[LOAD_SESSION_SETTINGS_SIZE]);

/* An INSERT on @shard has failed; client->fault and client->code say how. */
void load_session_failed(struct load_session *s, size_t shard);

/* After it, no INSERT that was given up can be applied.  May take seconds.  0 or -errno. */
int load_session_end(struct load_session *s, struct err *err);

/* Every INSERT was answered. */
int load_session_rest(struct load_session *s, struct err *err);

#endif
