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

/* The status, or 0 if there was no answer; *@pause_s: what Retry-After says. */
static long otlp_attempt(struct otlp_sender *s, const struct bytes *body, struct bytes *answer,
			 curl_off_t *pause_s)
{
	CURL *c = s->curl;
	long status = 0;

	answer->size = 0;
	s->error[0] = '\0';
	*pause_s = 0;
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
	if (libcurl.curl_easy_perform(c) != CURLE_OK)
		return 0;
	libcurl.curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	libcurl.curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, pause_s);
	return status;
}

/* ---- attempts ------------------------------------------------------------------------ */

static bool otlp_may_retry(long status)
{
	return !status || status == 429 || status == 502 || status == 503 || status == 504;
}

static int otlp_fail(const struct otlp_sender *s, long status, struct err *err)
{
	if (!status) {
		err_set(err, -ECONNREFUSED, "cannot send to '%s': %s", s->url,
			s->error[0] ? s->error : "no answer");
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
	curl_off_t asked;
	long status;

	for (;;) {
		status = otlp_attempt(s, body, &answer, &asked);
		if (!otlp_may_retry(status))
			break;
		if (asked > 0)
			pause = (uint64_t)asked;
		if (clock_now_ns() - start + pause * NS_PER_SEC > OTLP_PATIENCE_NS)
			break;
		sent->retries++;
		nanosleep(&(struct timespec){ .tv_sec = (time_t)pause }, NULL);
		pause = 2 * pause < OTLP_LONGEST_S ? 2 * pause : OTLP_LONGEST_S;
	}
	sent->requests++;
	sent->bytes += body->size;
	if (status >= 200 && status < 300)
		otlp_parse_answer(answer.data, answer.size, sent);
	bytes_release(&answer);
	return status >= 200 && status < 300 ? 0 : otlp_fail(s, status, err);
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
