/* SPDX-License-Identifier: MIT */
/* block_stream.c - the envelopes of a NATS stream, in the order of the stream. */
#include "fleet/block_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "ship/nats_connection.h"

#define STREAM_CONSUMER    "corotracer-load"
#define STREAM_FETCH       32
#define STREAM_ACK_PENDING 8192
#define STREAM_ACK_WAIT_NS INT64_C(3600000000000)
#define STREAM_FLUSH_MS    10000

struct block_stream {
	struct nats_address address;
	struct nats_connection connection;
	jsCtx *js;
	natsSubscription *subscription;
	natsMsg **held; /* fetched and not acknowledged */
	size_t nr, room;
	size_t next;    /* the first one that was not returned */
	uint64_t first; /* id of held[0] */
};

static int stream_failed(const struct block_stream *s, natsStatus status, const char *what,
			 struct err *err)
{
	return nats_failed(err, status, what, s->address.name);
}

static natsStatus stream_subscribe(struct block_stream *s)
{
	jsSubOptions options;
	jsErrCode code = 0;
	natsStatus status = libnats.natsConnection_JetStream(&s->js, s->connection.nc, NULL);

	if (status != NATS_OK)
		return status;
	/* It is no error if there is none. */
	libnats.js_DeleteConsumer(s->js, NATS_STREAM, STREAM_CONSUMER, NULL, &code);
	status = libnats.jsSubOptions_Init(&options);
	if (status != NATS_OK)
		return status;
	options.Stream = NATS_STREAM;
	options.Config.AckPolicy = js_AckExplicit;
	options.Config.DeliverPolicy = js_DeliverAll;
	options.Config.AckWait = STREAM_ACK_WAIT_NS;
	options.Config.MaxAckPending = STREAM_ACK_PENDING;
	return libnats.js_PullSubscribe(&s->subscription, s->js, NATS_SUBJECTS, STREAM_CONSUMER,
					NULL, &options, &code);
}

struct block_stream *block_stream_open(const char *rest, struct err *err)
{
	struct block_stream *s = calloc(1, sizeof(*s));
	natsStatus status;

	if (!s) {
		err_set(err, -ENOMEM, "no memory for a stream");
		return NULL;
	}
	if (libnats_load(err) < 0 || nats_address_parse(&s->address, rest, err) < 0 ||
	    nats_connection_open(&s->connection, &s->address, err) < 0) {
		free(s);
		return NULL;
	}
	status = stream_subscribe(s);
	if (status == NATS_OK)
		return s;
	stream_failed(s, status, "read the stream of", err);
	block_stream_close(s);
	return NULL;
}

static int stream_reserve(struct block_stream *s)
{
	size_t room = s->room ? s->room * 2 : 256;
	natsMsg **more;

	if (s->nr + STREAM_FETCH <= s->room)
		return 0;
	more = reallocarray(s->held, room, sizeof(natsMsg *));
	if (!more)
		return -ENOMEM;
	s->held = more;
	s->room = room;
	return 0;
}

/* Takes over the messages of the list. */
static void stream_hold(struct block_stream *s, natsMsgList *list)
{
	int i;

	for (i = 0; i < list->Count; i++) {
		s->held[s->nr++] = list->Msgs[i];
		list->Msgs[i] = NULL;
	}
	libnats.natsMsgList_Destroy(list);
}

static int64_t stream_arrival(natsMsg *message)
{
	jsMsgMetaData *about = NULL;
	int64_t arrived = 0;

	if (libnats.natsMsg_GetMetaData(&about, message) != NATS_OK)
		return 0;
	arrived = about->Timestamp;
	libnats.jsMsgMetaData_Destroy(about);
	return arrived;
}

static int stream_fetch(struct block_stream *s, int ms, struct err *err)
{
	natsMsgList list = { 0 };
	jsErrCode code = 0;
	natsStatus status;

	if (stream_reserve(s) < 0)
		return err_set(err, -ENOMEM, "no memory for messages");
	status = libnats.natsSubscription_Fetch(&list, s->subscription, STREAM_FETCH, ms, &code);
	if (status == NATS_TIMEOUT &&
	    libnats.natsConnection_Status(s->connection.nc) == NATS_CONN_STATUS_CONNECTED)
		return 0;
	if (status != NATS_OK)
		return stream_failed(s, status, "read the stream of", err);
	stream_hold(s, &list);
	return 0;
}

int block_stream_next(struct block_stream *s, int ms, struct stream_message *m, struct err *err)
{
	natsMsg *message;
	int rc = s->next == s->nr ? stream_fetch(s, ms, err) : 0;

	if (rc < 0 || s->next == s->nr)
		return rc;
	message = s->held[s->next];
	m->data = libnats.natsMsg_GetData(message);
	m->size = (size_t)libnats.natsMsg_GetDataLength(message);
	m->id = s->first + s->next++;
	m->arrived = stream_arrival(message);
	return 1;
}

int block_stream_ack(struct block_stream *s, uint64_t id, struct err *err)
{
	size_t i, nr = id > s->first ? (size_t)(id - s->first) : 0;
	natsStatus status = NATS_OK;

	nr = nr < s->next ? nr : s->next;
	for (i = 0; i < nr && status == NATS_OK; i++)
		status = libnats.natsMsg_Ack(s->held[i], NULL);
	if (status == NATS_OK && nr)
		status = libnats.natsConnection_FlushTimeout(s->connection.nc, STREAM_FLUSH_MS);
	if (status != NATS_OK)
		return stream_failed(s, status, "acknowledge messages of", err);
	for (i = 0; i < nr; i++)
		libnats.natsMsg_Destroy(s->held[i]);
	for (i = nr; i < s->nr; i++)
		s->held[i - nr] = s->held[i];
	s->nr -= nr;
	s->next -= nr;
	s->first += nr;
	return 0;
}

void block_stream_close(struct block_stream *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr; i++)
		libnats.natsMsg_Destroy(s->held[i]);
	free(s->held);
	libnats.natsSubscription_Destroy(s->subscription);
	libnats.jsCtx_Destroy(s->js);
	nats_connection_close(&s->connection);
	free(s);
}
