/* SPDX-License-Identifier: MIT */
/* clickhouse_errors.c - what an error of a ClickHouse server says, and what may be done about it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/clickhouse_client.h"

struct clickhouse_code {
	int code;
	enum clickhouse_fault fault;
};

static const struct clickhouse_code clickhouse_codes[] = {
	{ 8, CLICKHOUSE_SCHEMA },       /* THERE_IS_NO_COLUMN */
	{ 10, CLICKHOUSE_SCHEMA },      /* NOT_FOUND_COLUMN_IN_BLOCK */
	{ 16, CLICKHOUSE_SCHEMA },      /* NO_SUCH_COLUMN_IN_TABLE */
	{ 20, CLICKHOUSE_SCHEMA },      /* NUMBER_OF_COLUMNS_DOESNT_MATCH */
	{ 47, CLICKHOUSE_SCHEMA },      /* UNKNOWN_IDENTIFIER */
	{ 53, CLICKHOUSE_SCHEMA },      /* TYPE_MISMATCH */
	{ 60, CLICKHOUSE_SCHEMA },      /* UNKNOWN_TABLE */
	{ 81, CLICKHOUSE_NO_DATABASE }, /* UNKNOWN_DATABASE */
	{ 159, CLICKHOUSE_BUSY },       /* TIMEOUT_EXCEEDED */
	{ 164, CLICKHOUSE_DENIED },     /* READONLY */
	{ 192, CLICKHOUSE_DENIED },     /* UNKNOWN_USER */
	{ 193, CLICKHOUSE_DENIED },     /* WRONG_PASSWORD */
	{ 194, CLICKHOUSE_DENIED },     /* REQUIRED_PASSWORD */
	{ 195, CLICKHOUSE_DENIED },     /* IP_ADDRESS_NOT_ALLOWED */
	{ 202, CLICKHOUSE_BUSY },       /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{ 209, CLICKHOUSE_BUSY },       /* SOCKET_TIMEOUT, of another shard */
	{ 210, CLICKHOUSE_BUSY },       /* NETWORK_ERROR, of another shard */
	{ 216, CLICKHOUSE_RUNNING },    /* QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING */
	{ 241, CLICKHOUSE_BUSY },       /* MEMORY_LIMIT_EXCEEDED */
	{ 242, CLICKHOUSE_BUSY },       /* TABLE_IS_READ_ONLY */
	{ 243, CLICKHOUSE_BUSY },       /* NOT_ENOUGH_SPACE */
	{ 252, CLICKHOUSE_BUSY },       /* TOO_MANY_PARTS */
	{ 279, CLICKHOUSE_BUSY },       /* ALL_CONNECTION_TRIES_FAILED, of another shard */
	{ CLICKHOUSE_SESSION_NOT_FOUND, CLICKHOUSE_BUSY },
	{ 373, CLICKHOUSE_RUNNING }, /* SESSION_IS_LOCKED */
	{ 497, CLICKHOUSE_DENIED },  /* ACCESS_DENIED */
	{ 516, CLICKHOUSE_DENIED },  /* AUTHENTICATION_FAILED */
};

enum clickhouse_fault clickhouse_fault_of(int code)
{
	size_t i;

	for (i = 0; i < sizeof(clickhouse_codes) / sizeof(clickhouse_codes[0]); i++)
		if (clickhouse_codes[i].code == code)
			return clickhouse_codes[i].fault;
	return CLICKHOUSE_REFUSED;
}

/* Where @mark begins in the @size bytes at @at; NULL: it does not occur. */
static const char *clickhouse_find(const char *at, size_t size, const char *mark)
{
	return memmem(at, size, mark, strlen(mark));
}

/* The length of the message: up to the end of the line, the version, or a second copy of it. */
static size_t clickhouse_text_size(const char *at, size_t size)
{
	static const char *const ends[] = { ", e.what()", ", e.displayText()", " (version ",
					    ". Stack trace" };
	const char *end = memchr(at, '\n', size);
	size_t i;

	size = end ? (size_t)(end - at) : size;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		end = clickhouse_find(at, size, ends[i]);
		size = end ? (size_t)(end - at) : size;
	}
	return size;
}

int clickhouse_error_parse(const char *answer, size_t size, char *text, size_t room)
{
	static const char code_mark[] = "Code: ", text_mark[] = "DB::Exception: ";
	const char *code = clickhouse_find(answer, size, code_mark);
	const char *at = answer, *mark;
	int number = 0;
	size_t i;

	if (code) {
		size_t left;

		code += strlen(code_mark);
		left = size - (size_t)(code - answer);
		for (i = 0; i < left && i < 6 && isdigit((unsigned char)code[i]); i++)
			number = number * 10 + (code[i] - '0');
		at = code;
	}
	mark = clickhouse_find(at, size - (size_t)(at - answer), text_mark);
	at = mark ? mark + strlen(text_mark) : answer;
	snprintf(text, room, "%.*s", (int)clickhouse_text_size(at, size - (size_t)(at - answer)),
		 at);
	for (i = 0; text[i]; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	return number;
}

unsigned clickhouse_version_parse(const char *text, size_t size)
{
	unsigned parts[2] = { 0, 0 }, nr = 0;
	size_t i;

	for (i = 0; i < size && nr < 2; i++) {
		if (isdigit((unsigned char)text[i]) && parts[nr] < 1000)
			parts[nr] = parts[nr] * 10 + (unsigned)(text[i] - '0');
		else if (text[i] == '.')
			nr++;
		else
			break;
	}
	return nr && parts[0] && parts[0] < 1000 && parts[1] < 1000 ? parts[0] * 1000 + parts[1]
								    : 0;
}
