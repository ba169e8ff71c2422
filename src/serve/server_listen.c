/* SPDX-License-Identifier: MIT */
/* server_listen.c - where the page is served: an address, a port, and a secret. */
#include "serve/server_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

/* ---- the secret ------------------------------------------------------------------- */

static int make_token(struct listener *l, struct err *err)
{
	unsigned char bytes[SERVER_TOKEN_BYTES];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_errno(err, "the system has no random numbers");
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(l->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool listener_token_is(const struct listener *l, const char *token)
{
	unsigned char wrong = 0;
	size_t i;

	if (strnlen(token, SERVER_TOKEN_SIZE + 1) != SERVER_TOKEN_SIZE)
		return false;
	for (i = 0; i < SERVER_TOKEN_SIZE; i++)
		wrong |= (unsigned char)(token[i] ^ l->token[i]);
	return !wrong;
}

/* ---- the address ------------------------------------------------------------------- */

static int listener_resolve(const char *address, uint16_t port, struct addrinfo **found,
			    struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(address, service, &hints, found);
	if (!rc)
		return 0;
	err_set(err, -EINVAL, "'%s' is not an address: %s", address, gai_strerror(rc));
	err_hint(err,
		 "127.0.0.1, ::1, or one of this machine's, in numbers; 0.0.0.0 is all of them");
	return err->code;
}

static void listener_check_address(struct listener *l, const struct sockaddr_storage *at)
{
	const struct sockaddr_in *v4 = (const void *)at;
	struct sockaddr_in6 copy, *v6 = &copy;
	char text[INET6_ADDRSTRLEN] = "";

	memcpy(&copy, at, sizeof(copy));
	if (at->ss_family == AF_INET) {
		l->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		l->is_any = v4->sin_addr.s_addr == htonl(INADDR_ANY);
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(l->name, sizeof(l->name), "%s", l->is_any ? "127.0.0.1" : text);
		l->port = ntohs(v4->sin_port);
	} else {
		l->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		l->is_any = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(l->name, sizeof(l->name), "[%s]", l->is_any ? "::1" : text);
		l->port = ntohs(v6->sin6_port);
	}
}

static int listener_listen_at(struct listener *l, const struct addrinfo *at)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t size = sizeof(bound);
	int one = 1;

	/* Close on exec: the traced program must not inherit the socket. */
	l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -1;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(l->fd, at->ai_addr, at->ai_addrlen) < 0 || listen(l->fd, BACKLOG) < 0 ||
	    getsockname(l->fd, (struct sockaddr *)&bound, &size) < 0)
		return -1;
	listener_check_address(l, &bound);
	return 0;
}

int listener_open(struct listener *l, const char *address, uint16_t port, struct err *err)
{
	struct addrinfo *found = NULL;

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	if (!address)
		address = "127.0.0.1";
	if (make_token(l, err) < 0 || listener_resolve(address, port, &found, err) < 0)
		return err->code;
	if (listener_listen_at(l, found) < 0) {
		err_errno(err, "cannot serve at %s port %u", address, port);
		if (err->code == -EADDRINUSE)
			err_hint(err, "choose another port; without one a free one is taken");
		else if (err->code == -EACCES)
			err_hint(err, "ports below 1024 are for root");
		listener_close(l);
	}
	freeaddrinfo(found);
	if (!err->code)
		snprintf(l->url, sizeof(l->url), "http://%s:%u/%s/", l->name, l->port, l->token);
	return err->code;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* ---- the host name ---------------------------------------------------------------- */

/* A literal address: DNS cannot redirect it to this server. */
static bool listener_is_number(const char *name)
{
	unsigned char ignored[sizeof(struct in6_addr)];
	char inner[INET6_ADDRSTRLEN];
	size_t size = strlen(name);

	if (name[0] != '[')
		return inet_pton(AF_INET, name, ignored) == 1;
	if (size < 3 || size - 2 >= sizeof(inner) || name[size - 1] != ']')
		return false;
	memcpy(inner, name + 1, size - 2);
	inner[size - 2] = '\0';
	return inet_pton(AF_INET6, inner, ignored) == 1;
}

bool listener_is_called(const struct listener *l, const char *host)
{
	char name[128], port[8];
	const char *colon = strrchr(host, ':');
	size_t size = colon ? (size_t)(colon - host) : 0;

	/* Without the port, the name belongs to another server. */
	snprintf(port, sizeof(port), "%u", l->port);
	if (!colon || size >= sizeof(name) || strcmp(colon + 1, port) != 0)
		return false;
	memcpy(name, host, size);
	name[size] = '\0';
	if (!strcasecmp(name, l->name))
		return true;
	if (l->is_any)
		return listener_is_number(name) || !strcasecmp(name, "localhost");
	return l->is_loopback && (!strcasecmp(name, "localhost") || !strcmp(name, "127.0.0.1") ||
				  !strcmp(name, "[::1]"));
}
