/* SPDX-License-Identifier: MIT */
/*
 * test_ship_nats.c - blocks on their way to a NATS server: what is published and where, which
 * answers count, and what happens when the server refuses, is silent or goes away.
 *
 * The library is a table of functions; here they are the test's.
 */
#include <errno.h>
#include <stdarg.h>
#include <time.h>

#include "check.h"
#include "ship/nats_connection.h"
#include "ship/ship_envelope.h"
#include "ship/ship_transport.h"

struct __natsMsg {
	char subject[256], reply[256], id[128], data[256];
	int size;
	bool has_data;
};

static uint64_t skipped_ns; /* time that the test says has passed */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = __real_clock_gettime(id, ts);

	ts->tv_sec += (time_t)(skipped_ns / UINT64_C(1000000000));
	return rc;
}

/* ---- the library --------------------------------------------------------------------------- */

static char told[16384];

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
	size_t size = strlen(told);
	va_list args;

	va_start(args, fmt);
	vsnprintf(told + size, sizeof(told) - size, fmt, args);
	va_end(args);
}

static struct {
	natsStatus connect, jetstream, info, add, inbox, subscribe, create, header, publish, next;
	jsErrCode code;
	int64_t max_bytes, max_msgs, max_per_subject;
	bool is_lost; /* the connection */
	int64_t payload;
	const char *error;
	struct __natsMsg *answers[128];
	unsigned nr_answers, at, nr_open, nr_msgs;
} nats;

static natsStatus fake_options_create(natsOptions **o)
{
	*o = (natsOptions *)&nats;
	nats.nr_open++;
	return NATS_OK;
}

static void fake_options_destroy(natsOptions *o)
{
	CHECK(o == (natsOptions *)&nats);
	nats.nr_open--;
}

static natsStatus fake_servers(natsOptions *o, const char **servers, int nr)
{
	int i;

	(void)o;
	for (i = 0; i < nr; i++)
		tell("%s ", servers[i]);
	return NATS_OK;
}

static natsStatus fake_user(natsOptions *o, const char *user, const char *password)
{
	(void)o;
	tell("user %s password %s ", user, password);
	return NATS_OK;
}

static natsStatus fake_name(natsOptions *o, const char *name)
{
	(void)o;
	tell("name %s ", name);
	return NATS_OK;
}

static natsStatus fake_number(natsOptions *o, int64_t number)
{
	(void)o;
	tell("%lld ", (long long)number);
	return NATS_OK;
}

static natsStatus fake_pings(natsOptions *o, int number)
{
	return fake_number(o, number);
}

static natsStatus fake_reconnect(natsOptions *o, bool is_allowed)
{
	(void)o;
	tell("reconnect %d ", is_allowed);
	return NATS_OK;
}

static natsStatus fake_connect(natsConnection **nc, natsOptions *o)
{
	(void)o;
	tell("connect\n");
	nats.is_lost = false;
	if (nats.connect == NATS_OK) {
		*nc = (natsConnection *)&nats;
		nats.nr_open++;
	}
	return nats.connect;
}

static void fake_disconnect(natsConnection *nc)
{
	if (!nc)
		return;
	nats.nr_open--;
	tell("disconnect\n");
}

static natsConnStatus fake_status(natsConnection *nc)
{
	CHECK(nc == (natsConnection *)&nats);
	return nats.is_lost ? NATS_CONN_STATUS_CLOSED : NATS_CONN_STATUS_CONNECTED;
}

static int64_t fake_payload(natsConnection *nc)
{
	(void)nc;
	return nats.payload;
}

static natsStatus fake_js_options(jsOptions *o)
{
	memset(o, 0, sizeof(*o));
	return NATS_OK;
}

static natsStatus fake_jetstream(jsCtx **js, natsConnection *nc, jsOptions *o)
{
	(void)nc;
	CHECK_EQ(o->Wait, 2000);
	if (nats.jetstream == NATS_OK) {
		*js = (jsCtx *)&nats;
		nats.nr_open++;
	}
	return nats.jetstream;
}

static void fake_js_destroy(jsCtx *js)
{
	nats.nr_open -= js != NULL;
}

static jsStreamConfig stream_config;
static jsStreamInfo stream_info = { .Config = &stream_config };

static natsStatus fake_info(jsStreamInfo **info, jsCtx *js, const char *stream, jsOptions *o,
			    jsErrCode *code)
{
	CHECK(js && !o);
	tell("stream %s\n", stream);
	*code = nats.code;
	if (nats.info != NATS_OK)
		return nats.info;
	stream_config.MaxBytes = nats.max_bytes;
	stream_config.MaxMsgs = nats.max_msgs;
	stream_config.MaxMsgsPerSubject = nats.max_per_subject;
	*info = &stream_info;
	nats.nr_open++;
	return NATS_OK;
}

static void fake_info_destroy(jsStreamInfo *info)
{
	CHECK(info == &stream_info);
	nats.nr_open--;
}

static natsStatus fake_stream_init(jsStreamConfig *c)
{
	memset(c, 0, sizeof(*c));
	return NATS_OK;
}

static natsStatus fake_add(jsStreamInfo **info, jsCtx *js, jsStreamConfig *c, jsOptions *o,
			   jsErrCode *code)
{
	CHECK(!info && js && !o);
	*code = nats.add == NATS_OK ? 0 : *code;
	tell("add %s %s %d storage %d retention %d discard %d duplicates %lld\n", c->Name,
	     c->Subjects[0], c->SubjectsLen, c->Storage, c->Retention, c->Discard,
	     (long long)c->Duplicates);
	return nats.add;
}

static natsStatus fake_inbox(natsInbox **inbox)
{
	if (nats.inbox == NATS_OK) {
		*inbox = strdup("IN.x");
		nats.nr_open++;
	}
	return nats.inbox;
}

static void fake_inbox_destroy(natsInbox *inbox)
{
	nats.nr_open -= inbox != NULL;
	free(inbox);
}

static natsStatus fake_subscribe(natsSubscription **s, natsConnection *nc, const char *subject)
{
	(void)nc;
	tell("subscribe %s\n", subject);
	if (nats.subscribe == NATS_OK) {
		*s = (natsSubscription *)&nats;
		nats.nr_open++;
	}
	return nats.subscribe;
}

static void fake_unsubscribe(natsSubscription *s)
{
	nats.nr_open -= s != NULL;
}

static natsStatus fake_msg(natsMsg **msg, const char *subject, const char *reply, const char *data,
			   int size)
{
	struct __natsMsg *m;

	if (nats.create != NATS_OK)
		return nats.create;
	m = calloc(1, sizeof(*m));
	CHECK(m);
	snprintf(m->subject, sizeof(m->subject), "%s", subject);
	snprintf(m->reply, sizeof(m->reply), "%s", reply ? reply : "");
	m->size = size;
	if (reply) {
		struct ship_envelope e;
		struct err err = { 0 };

		CHECK_EQ(ship_envelope_decode((const uint8_t *)data, (size_t)size, &e, &err), 0);
		tell("part %u of %u: %u bytes, labels %.*s ", e.part + 1, e.parts,
		     (unsigned)e.block_size, (int)e.labels_size, e.labels);
	} else if (data) {
		m->has_data = true;
		snprintf(m->data, sizeof(m->data), "%s", data);
	}
	nats.nr_msgs++;
	*msg = m;
	return NATS_OK;
}

static void fake_msg_destroy(natsMsg *msg)
{
	free(msg);
	nats.nr_msgs--;
}

static natsStatus fake_header(natsMsg *msg, const char *key, const char *value)
{
	CHECK_STR(key, "Nats-Msg-Id");
	snprintf(msg->id, sizeof(msg->id), "%s", value);
	return nats.header;
}

static natsStatus fake_publish(natsConnection *nc, natsMsg *msg)
{
	(void)nc;
	tell("publish %s reply %s id %s\n", msg->subject, msg->reply, msg->id);
	return nats.publish;
}

static const char *fake_data(const natsMsg *msg)
{
	return msg->has_data ? msg->data : NULL;
}

static int fake_size(const natsMsg *msg)
{
	return msg->has_data ? (int)strlen(msg->data) : 0;
}

static const char *fake_subject(const natsMsg *msg)
{
	return msg->subject[0] ? msg->subject : NULL;
}

static natsStatus fake_next(natsMsg **msg, natsSubscription *s, int64_t ms)
{
	CHECK(s);
	tell("next %d\n", (int)ms);
	if (nats.at == nats.nr_answers)
		return nats.next;
	*msg = nats.answers[nats.at++];
	return NATS_OK;
}

static const char *fake_error(natsStatus *status)
{
	CHECK(!status);
	return nats.error;
}

static const char *fake_text(natsStatus status)
{
	return status == NATS_TIMEOUT ? "Timeout" : "Failed";
}

int __wrap_libnats_load(struct err *err);
int __wrap_libnats_load(struct err *err)
{
	(void)err;
	libnats.natsOptions_Create = fake_options_create;
	libnats.natsOptions_Destroy = fake_options_destroy;
	libnats.natsOptions_SetServers = fake_servers;
	libnats.natsOptions_SetUserInfo = fake_user;
	libnats.natsOptions_SetName = fake_name;
	libnats.natsOptions_SetTimeout = fake_number;
	libnats.natsOptions_SetAllowReconnect = fake_reconnect;
	libnats.natsOptions_SetPingInterval = fake_number;
	libnats.natsOptions_SetMaxPingsOut = fake_pings;
	libnats.natsOptions_SetWriteDeadline = fake_number;
	libnats.natsConnection_Connect = fake_connect;
	libnats.natsConnection_Destroy = fake_disconnect;
	libnats.natsConnection_Status = fake_status;
	libnats.natsConnection_GetMaxPayload = fake_payload;
	libnats.jsOptions_Init = fake_js_options;
	libnats.natsConnection_JetStream = fake_jetstream;
	libnats.jsCtx_Destroy = fake_js_destroy;
	libnats.js_GetStreamInfo = fake_info;
	libnats.jsStreamInfo_Destroy = fake_info_destroy;
	libnats.jsStreamConfig_Init = fake_stream_init;
	libnats.js_AddStream = fake_add;
	libnats.natsInbox_Create = fake_inbox;
	libnats.natsInbox_Destroy = fake_inbox_destroy;
	libnats.natsConnection_SubscribeSync = fake_subscribe;
	libnats.natsSubscription_Destroy = fake_unsubscribe;
	libnats.natsMsg_Create = fake_msg;
	libnats.natsMsg_Destroy = fake_msg_destroy;
	libnats.natsMsgHeader_Set = fake_header;
	libnats.natsConnection_PublishMsg = fake_publish;
	libnats.natsMsg_GetData = fake_data;
	libnats.natsMsg_GetDataLength = fake_size;
	libnats.natsMsg_GetSubject = fake_subject;
	libnats.natsSubscription_NextMsg = fake_next;
	libnats.nats_GetLastError = fake_error;
	libnats.natsStatus_GetText = fake_text;
	return 0;
}

/* ---- the shipper's side ---------------------------------------------------------------------- */

static struct ship_transport *transport;
static const struct ship_labels labels = { .service = "shop.a",
					   .host = "h 1",
					   .run = "0123456789abcdef0123456789abcdef" };
static uint8_t block[3000000];

static void begin(const char *url)
{
	struct err err = { 0 };

	memset(&nats, 0, sizeof(nats));
	nats.next = NATS_TIMEOUT;
	nats.payload = 1 << 20;
	told[0] = '\0';
	skipped_ns = 0;
	transport = ship_transport_open(url, &err);
	CHECK(transport != NULL);
}

static void end(void)
{
	ship_transport_close(transport);
	CHECK_EQ(nats.nr_open, 0);
	CHECK_EQ(nats.nr_msgs, 0);
}

static int send_block(uint64_t number, size_t size, struct err *err)
{
	struct ship_parcel p = { .labels = &labels,
				 .labels_text = "{}",
				 .labels_size = 2,
				 .number = number,
				 .block = size ? block : NULL,
				 .size = size };

	*err = (struct err){ 0 };
	return transport->ops->send(transport, &p, err);
}

static void check_sent(uint64_t number, size_t size)
{
	struct err err;
	int rc = send_block(number, size, &err);

	if (rc)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
}

static void answer(const char *subject, const char *data)
{
	CHECK_EQ(fake_msg(&nats.answers[nats.nr_answers++], subject, NULL, data, 0), 0);
}

static void note_ack(void *ctx, uint64_t number)
{
	CHECK(ctx == told);
	tell("ack %u\n", (unsigned)number);
}

static int poll_answers(struct err *err)
{
	*err = (struct err){ 0 };
	return transport->ops->poll(transport, 50, note_ack, told, err);
}

static void check_told(const char *expected)
{
	CHECK_STR(told, expected);
	told[0] = '\0';
}

#define GOOD    "{\"stream\":\"COROTRACER\",\"seq\":1}"
#define OPENED  "connect\nstream COROTRACER\nsubscribe IN.x.>\n"
#define OPTIONS "name corotracer 2000 reconnect 0 2000 2 2000 "

/* What is told of a message; @index: of the part, from 0. */
static const char *message(unsigned parts, unsigned bytes, unsigned round, unsigned number,
			   unsigned index)
{
	static char lines[4][256];
	static unsigned next;
	char *line = lines[next++ % 4];

	snprintf(line, sizeof(lines[0]),
		 "part %u of %u: %u bytes, labels {} publish corotracer.blocks.shop_a.h_1 "
		 "reply IN.x.%u.%u.%u id 0123456789abcdef0123456789abcdef/%u/%u\n",
		 index + 1, parts, bytes, round, number, index, number, index);
	return line;
}

static void check_messages(const char *before, const char *first, const char *second,
			   const char *third)
{
	char expected[2048];

	snprintf(expected, sizeof(expected), "%s%s%s%s", before, first, second, third);
	check_told(expected);
}

static void blocks_are_published_and_acknowledged(void)
{
	struct err err;

	begin("nats://me:pass@one:1,two");
	CHECK_EQ(transport->window, 64);
	CHECK_EQ(poll_answers(&err), 0); /* nothing is on its way */
	check_told("");
	check_sent(7, 100);
	check_messages("nats://one:1 nats://two user me password pass " OPTIONS OPENED,
		       message(1, 100, 1, 7, 0), "", "");
	check_sent(8, 0); /* the account has no block */
	check_messages("", message(1, 0, 1, 8, 0), "", "");
	answer("IN.x.1.8.0", GOOD);
	answer("IN.x.0.7.0", GOOD); /* of an earlier round */
	answer("IN.x", GOOD);       /* of none */
	answer("", GOOD);
	answer("IN.x.1.9.0", GOOD); /* not on its way */
	CHECK_EQ(poll_answers(&err), 0);
	check_told("next 50\nack 8\nnext 0\nnext 0\nnext 0\nnext 0\nnext 0\n");
	answer("IN.x.1.7.0", GOOD);
	CHECK_EQ(poll_answers(&err), 0);
	check_told("next 50\nack 7\n");
	end();
	check_told("disconnect\n");
}

static void large_blocks_have_parts(void)
{
	struct err err;

	begin("nats://h");
	check_sent(1, 2000000);
	check_messages("nats://h " OPTIONS OPENED, message(3, 921600, 1, 1, 0),
		       message(3, 921600, 1, 1, 1), message(3, 156800, 1, 1, 2));
	answer("IN.x.1.1.2", GOOD);
	answer("IN.x.1.1.0", GOOD);
	CHECK_EQ(poll_answers(&err), 0);
	check_told("next 50\nnext 0\nnext 0\n");
	answer("IN.x.1.1.1", GOOD);
	CHECK_EQ(poll_answers(&err), 0);
	check_told("next 50\nack 1\n");
	end();
	begin("nats://h");
	nats.payload = 100; /* parts are not smaller than 16 KiB */
	told[0] = '\0';
	check_sent(1, 16385);
	CHECK(strstr(told, "part 1 of 2: 16384 bytes") && strstr(told, "part 2 of 2: 1 bytes"));
	end();
}

static void few_are_on_their_way_at_a_time(void)
{
	struct err err;
	unsigned i;

	begin("nats://h");
	for (i = 0; i < 64; i++)
		check_sent(i, 10);
	CHECK_EQ(send_block(64, 10, &err), -EAGAIN);
	end();
	begin("nats://h"); /* 16 MiB */
	for (i = 0; i < 5; i++)
		check_sent(i, 3000000);
	CHECK_EQ(send_block(5, 3000000, &err), -EAGAIN);
	check_sent(5, 1777216);
	CHECK_EQ(send_block(6, 1, &err), -EAGAIN);
	end();
	for (i = 0; i < 3; i++) { /* a stream that may refuse one */
		begin("nats://h");
		nats.max_bytes = i == 0;
		nats.max_msgs = i == 1;
		nats.max_per_subject = i == 2;
		check_sent(1, 10);
		CHECK_EQ(send_block(2, 10, &err), -EAGAIN);
		end();
	}
}

static void a_refused_block_is_sent_alone(void)
{
	struct err err;

	begin("nats://me:secret@h");
	check_sent(1, 10);
	check_sent(2, 10);
	answer("IN.x.1.1.0", "{\"error\":{\"code\":1,\"description\":\"maximum bytes exceeded\"}}");
	CHECK_EQ(poll_answers(&err), -ENOSPC);
	CHECK_STR(err.text, "nats://me@h refuses blocks: maximum bytes exceeded");
	CHECK(strstr(err.hint, "spool") != NULL);
	told[0] = '\0';
	check_sent(1, 10); /* in another round, on the same connection */
	check_messages("", message(1, 10, 2, 1, 0), "", "");
	CHECK_EQ(send_block(2, 10, &err), -EAGAIN);
	answer("IN.x.2.1.0", "{\"error\":{}}");
	CHECK_EQ(poll_answers(&err), -ENOSPC);
	CHECK_STR(err.text, "nats://me@h refuses blocks: no reason given");
	end();
}

static void a_stream_that_is_gone_is_made_again(void)
{
	static const char *const texts[] = { NULL, "", "no", "[]" };
	struct err err;
	size_t i;

	for (i = 0; i < 5; i++) {
		begin("nats://h");
		check_sent(1, 10);
		if (i < 4)
			answer("IN.x.1.1.0", texts[i]);
		else
			nats.next = NATS_NO_RESPONDERS;
		CHECK_EQ(poll_answers(&err), -ENOTSUP);
		CHECK_STR(err.text, "cannot ship to nats://h: no stream takes the blocks");
		CHECK(strstr(err.hint, "COROTRACER") != NULL);
		nats.info = i % 2 ? NATS_NOT_FOUND : NATS_ERR;
		nats.code = i % 2 ? 0 : JSStreamNotFoundErr;
		told[0] = '\0';
		check_sent(1, 10);
		CHECK(strstr(told, "stream COROTRACER\nadd COROTRACER corotracer.blocks.> 1 "
				   "storage 0 retention 2 discard 1 duplicates 600000000000\n"));
		end();
	}
}

static void a_server_that_is_away_is_explained(void)
{
	static const struct {
		natsStatus status;
		const char *error;
		int code;
		const char *text, *hint;
	} cases[] = {
		{ NATS_NO_SERVER, "(conn.c:2088): No server available", -ECONNREFUSED,
		  "cannot connect to nats://h: No server available", "spool" },
		{ NATS_NO_SERVER, "(no place", -ECONNREFUSED,
		  "cannot connect to nats://h: (no place", "spool" },
		{ NATS_NO_SERVER, "plain): text", -ECONNREFUSED,
		  "cannot connect to nats://h: plain): text", "spool" },
		{ NATS_TIMEOUT, NULL, -ETIMEDOUT, "cannot connect to nats://h: Timeout", "spool" },
		{ NATS_TIMEOUT, "", -ETIMEDOUT, "cannot connect to nats://h: Timeout", "spool" },
		{ NATS_CONNECTION_AUTH_FAILED, "no", -EACCES, "cannot connect to nats://h: no",
		  "password" },
		{ NATS_NOT_PERMITTED, "no", -EACCES, "cannot connect to nats://h: no", "password" },
		{ NATS_NO_MEMORY, "no", -ENOMEM, "cannot connect to nats://h: no", "" },
	};
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin("nats://h");
		nats.connect = cases[i].status;
		nats.error = cases[i].error;
		CHECK_EQ(send_block(1, 10, &err), cases[i].code);
		CHECK_STR(err.text, cases[i].text);
		CHECK(strstr(err.hint, cases[i].hint) && !err.hint[0] == !cases[i].hint[0]);
		end();
	}
}

static void a_server_without_streams_is_explained(void)
{
	struct err err;
	unsigned i;

	for (i = 0; i < 6; i++) {
		begin("nats://h");
		nats.info = i == 0 ? NATS_NO_RESPONDERS : i < 4 ? NATS_ERR : NATS_OK;
		nats.code = i == 1 ? JSNotEnabledErr : i == 2 ? JSNotEnabledForAccountErr : 0;
		nats.inbox = i == 4 ? NATS_NO_MEMORY : NATS_OK;
		nats.subscribe = i == 5 ? NATS_ERR : NATS_OK;
		CHECK(send_block(1, 10, &err) < 0);
		if (i < 3)
			CHECK_STR(err.text, "cannot ship to nats://h: the server has no JetStream");
		else if (i == 3)
			CHECK_STR(err.text, "cannot use stream COROTRACER of nats://h: Failed");
		else
			CHECK_STR(err.text, "cannot subscribe at nats://h: Failed");
		end();
	}
}

static void what_cannot_be_published_closes_the_connection(void)
{
	struct err err;
	unsigned i;

	for (i = 0; i < 3; i++) {
		begin("nats://h");
		check_sent(1, 10);
		nats.create = i == 0 ? NATS_NO_MEMORY : NATS_OK;
		nats.header = i == 1 ? NATS_ERR : NATS_OK;
		nats.publish = i == 2 ? NATS_CONNECTION_CLOSED : NATS_OK;
		CHECK_EQ(send_block(2, 10, &err), i ? -ECONNREFUSED : -ENOMEM);
		CHECK_STR(err.text, "cannot send a block to nats://h: Failed");
		CHECK_EQ(nats.nr_open, 0);
		CHECK_EQ(poll_answers(&err), 0); /* nothing is on its way any more */
		end();
	}
}

static void a_lost_connection_is_noticed(void)
{
	struct err err;

	begin("nats://h");
	check_sent(1, 10);
	nats.is_lost = true;
	CHECK_EQ(send_block(2, 10, &err), -ENOTCONN); /* first it is told */
	CHECK_STR(err.text, "the connection to nats://h was lost");
	told[0] = '\0';
	check_sent(1, 10); /* then it is opened again */
	CHECK(strstr(told, OPENED) && strstr(told, "IN.x.3.1.0"));
	nats.is_lost = true;
	CHECK_EQ(poll_answers(&err), -ENOTCONN);
	CHECK_EQ(nats.nr_open, 0);
	check_sent(1, 10);
	nats.next = NATS_CONNECTION_CLOSED;
	CHECK_EQ(poll_answers(&err), -ECONNREFUSED);
	CHECK_STR(err.text, "cannot hear from nats://h: Failed");
	end();
}

static void a_silent_server_is_left_after_ten_seconds(void)
{
	struct err err;

	begin("nats://h");
	check_sent(1, 10);
	skipped_ns = UINT64_C(9000000000);
	CHECK_EQ(poll_answers(&err), 0);
	check_sent(2, 10); /* does not count: the first one waits */
	answer("IN.x.1.2.0", GOOD);
	CHECK_EQ(poll_answers(&err), 0);
	skipped_ns = UINT64_C(18000000000);
	CHECK_EQ(poll_answers(&err), 0);
	skipped_ns = UINT64_C(20000000000);
	CHECK_EQ(poll_answers(&err), -ETIMEDOUT);
	CHECK_STR(err.text, "nats://h has not answered for 10 s");
	CHECK_EQ(nats.nr_open, 0);
	end();
}

int main(void)
{
	RUN(blocks_are_published_and_acknowledged);
	RUN(large_blocks_have_parts);
	RUN(few_are_on_their_way_at_a_time);
	RUN(a_refused_block_is_sent_alone);
	RUN(a_stream_that_is_gone_is_made_again);
	RUN(a_server_that_is_away_is_explained);
	RUN(a_server_without_streams_is_explained);
	RUN(what_cannot_be_published_closes_the_connection);
	RUN(a_lost_connection_is_noticed);
	RUN(a_silent_server_is_left_after_ten_seconds);
	return 0;
}
