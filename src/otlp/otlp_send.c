/* SPDX-License-Identifier: MIT */
/* otlp_send.c - send requests to a receiver of OTLP over HTTP, by libcurl. */
#include "otlp/otlp_send.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/monotonic.h"
#include "fleet/libcurl_loader.h"
#include "page/bundle.h"

#define OTLP_PATH       "/v1/traces"
#define OTLP_CONNECT_MS 10000L
#define OTLP_ANSWER_MS  60000L
#define OTLP_ANSWER_MAX ((size_t)1 << 20)
#define OTLP_LONGEST_S  10u /* longest pause without Retry-After */

struct otlp_sender {
	CURL *curl;
	char *url;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
};

/* ---- begin and end ---------------------------------------------------------------- */

static char *otlp_make_url(const char *url)
{
	size_t size = strlen(url), path = strlen(OTLP_PATH);
	char *made;

	if (size >= path && !strcmp(url + size - path, OTLP_PATH))
		return strdup(url);
	while (size && url[size - 1] == '/')
		size--;
	return asprintf(&made, "%.*s" OTLP_PATH, (int)size, url) < 0 ? NULL : made;
}

static bool otlp_add_header(struct otlp_sender *s, const char *line)
{
	struct curl_slist *more = libcurl.curl_slist_append(s->headers, line);

	if (more)
		s->headers = more;
	return more;
}

/* "key=value,key=value", as the variable of the OpenTelemetry SDKs. */
static bool otlp_add_headers(struct otlp_sender *s, const char *list)
{
	char *copy = strdup(list), *rest = copy, *word;
	bool ok = copy;

	while (ok && (word = strsep(&rest, ",")) != NULL) {
		char *value = strchr(word, '='), *line;

		if (!value || value == word)
			continue;
		*value++ = '\0';
		word += strspn(word, " ");
		ok = asprintf(&line, "%s: %s", word, value) >= 0;
		if (ok) {
			ok = otlp_add_header(s, line);
			free(line);
		}
	}
	free(copy);
	return ok;
}

static bool otlp_set_headers(struct otlp_sender *s)
{
	const char *more = getenv("OTEL_EXPORTER_OTLP_HEADERS");

	return otlp_add_header(s, "Content-Type: application/x-protobuf") &&
	       otlp_add_header(s, "Content-Encoding: gzip") && otlp_add_header(s, "Expect:") &&
	       otlp_add_header(s, "User-Agent: corotracer") && (!more || otlp_add_headers(s, more));
}

struct otlp_sender *otlp_sender_new(const char *url, struct err *err)
{
	struct otlp_sender *s;

	if (libcurl_load(err) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s) {
		s->curl = libcurl.curl_easy_init();
		s->url = otlp_make_url(url);
	}
	if (s && s->curl && s->url && otlp_set_headers(s))
		return s;
	otlp_sender_free(s);
	err_set(err, -ENOMEM, "no memory to send to '%s'", url);
	return NULL;
}

void otlp_sender_free(struct otlp_sender *s)
{
	if (!s)
		return;
	if (s->curl)
		libcurl.curl_easy_cleanup(s->curl);
	libcurl.curl_slist_free_all(s->headers);
	free(s->url);
	free(s);
}

/* ---- one attempt --------------------------------------------------------------------- */

static size_t otlp_on_answer(char *from, size_t size, size_t nr, void *ctx)
{
	struct bytes *answer = ctx;

	if (answer->size + size * nr <= OTLP_ANSWER_MAX)
		bytes_add(answer, from, size * nr);
	return answer->error ? 0 : size * nr;
}

/* What is known after one attempt. */
struct otlp_attempt {
	long status;        /* of the answer; 0: there was none */
	curl_off_t pause_s; /* what Retry-After says */
	bool is_cut; /* the answer has not arrived completely, or there was no memory for it */
	bool may_have_come; /* no answer, and all of the request was sent */
	bool is_local;      /* no memory here: not the receiver's doing */
};

static void otlp_set_request(struct otlp_sender *s, const struct bytes *body, struct bytes *answer)
{
	CURL *c = s->curl;

	libcurl.curl_easy_reset(c);
	libcurl.curl_easy_setopt(c, CURLOPT_URL, s->url);
	libcurl.curl_easy_setopt(c, CURLOPT_POST, 1L);
	libcurl.curl_easy_setopt(c, CURLOPT_HTTPHEADER, s->headers);
	libcurl.curl_easy_setopt(c, CURLOPT_POSTFIELDS, body->data);
	libcurl.curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
	libcurl.curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	libcurl.curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, OTLP_CONNECT_MS);
	libcurl.curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, OTLP_ANSWER_MS);
	libcurl.curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, otlp_on_answer);
	libcurl.curl_easy_setopt(c, CURLOPT_WRITEDATA, answer);
	libcurl.curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->error);
}

static struct otlp_attempt otlp_attempt(struct otlp_sender *s, const struct bytes *body,
					struct bytes *answer)
{
	struct otlp_attempt a = { 0 };
	curl_off_t uploaded = 0;
	CURLcode rc;

	bytes_release(answer);
	s->error[0] = '\0';
	otlp_set_request(s, body, answer);
	rc = libcurl.curl_easy_perform(s->curl);
	libcurl.curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &a.status);
	if (a.status < 200)
		a.status = 0;
	libcurl.curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &a.pause_s);
	libcurl.curl_easy_getinfo(s->curl, CURLINFO_SIZE_UPLOAD_T, &uploaded);
	a.is_cut = rc != CURLE_OK && a.status;
	a.may_have_come = !a.status && uploaded >= (curl_off_t)body->size;
	a.is_local = rc == CURLE_OUT_OF_MEMORY || answer->error;
	if (rc != CURLE_OK && !s->error[0])
		snprintf(s->error, sizeof(s->error), "%s", libcurl.curl_easy_strerror(rc));
	return a;
}

/* ---- attempts ------------------------------------------------------------------------ */

static bool otlp_may_retry(const struct otlp_attempt *a)
{
	long status = a->status;

	/* The receiver may have the request.  Another receiver's silence is worth another try. */
	if (a->may_have_come && a->is_local)
		return false;
	return !status || status == 429 || status == 502 || status == 503 || status == 504;
}

static int otlp_fail(const struct otlp_sender *s, const struct otlp_attempt *a, struct err *err)
{
	long status = a->status;

	if (!status) {
		err_set(err, -ECONNREFUSED, "cannot send to '%s': %s%s", s->url,
			s->error[0] ? s->error : "no answer",
			a->may_have_come ? "; the last request may have arrived" : "");
		err_hint(err, "start the receiver, or write a file with -o FILE");
		return err->code;
	}
	err_set(err, -EPROTO, "cannot send to '%s': the receiver answered with status %ld", s->url,
		status);
	if (status == 404 || status == 405)
		err_hint(err, "is it a receiver of OTLP over HTTP? its usual port is 4318");
	else if (status == 401 || status == 403)
		err_hint(err, "set OTEL_EXPORTER_OTLP_HEADERS=authorization=...");
	return err->code;
}

static int otlp_send_packed(struct otlp_sender *s, const struct bytes *body, struct otlp_sent *sent,
			    struct err *err)
{
	uint64_t start = clock_now_ns(), pause = 1;
	struct bytes answer = { 0 };
	struct otlp_attempt a;
	bool is_accepted;

	for (;;) {
		a = otlp_attempt(s, body, &answer);
		if (!otlp_may_retry(&a))
			break;
		if (a.pause_s > 0)
			pause = (uint64_t)a.pause_s;
		if (clock_now_ns() - start + pause * NS_PER_SEC > OTLP_PATIENCE_NS)
			break;
		sent->retries++;
		sent->maybe_twice += a.may_have_come;
		nanosleep(&(struct timespec){ .tv_sec = (time_t)pause }, NULL);
		pause = 2 * pause < OTLP_LONGEST_S ? 2 * pause : OTLP_LONGEST_S;
	}
	sent->requests++;
	sent->bytes += body->size;
	is_accepted = a.status >= 200 && a.status < 300;
	if (is_accepted && a.is_cut)
		sent->unread_answers++;
	else if (is_accepted)
		otlp_parse_answer(answer.data, answer.size, sent);
	bytes_release(&answer);
	return is_accepted ? 0 : otlp_fail(s, &a, err);
}

int otlp_send(struct otlp_sender *s, const void *body, size_t size, struct otlp_sent *sent,
	      struct err *err)
{
	struct bytes plain = { .data = (unsigned char *)body, .size = size }, packed = { 0 };
	int rc = page_gzip(&plain, &packed, err);

	if (!rc && packed.error)
		rc = err_set(err, packed.error, "no memory to send to '%s'", s->url);
	if (!rc)
		rc = otlp_send_packed(s, &packed, sent, err);
	bytes_release(&packed);
	return rc;
}
