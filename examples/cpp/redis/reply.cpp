// SPDX-License-Identifier: MIT
// reply.cpp - the replies of a Redis server (RESP2), appended to a string.
#include "reply.h"

#include <charconv>

static void put_number(std::string *out, char type, int64_t value)
{
	char text[24];
	auto end = std::to_chars(text, text + sizeof(text), value).ptr;

	out->push_back(type);
	out->append(text, static_cast<size_t>(end - text));
	out->append("\r\n");
}

void reply_status(std::string *out, std::string_view text)
{
	out->push_back('+');
	out->append(text);
	out->append("\r\n");
}

// The text may quote the client: an end of line in it would end the reply.
void reply_error(std::string *out, std::string_view text)
{
	out->push_back('-');
	for (char c : text)
		out->push_back(c == '\r' || c == '\n' ? ' ' : c);
	out->append("\r\n");
}

void reply_integer(std::string *out, int64_t value)
{
	put_number(out, ':', value);
}

void reply_bulk(std::string *out, std::string_view bytes)
{
	put_number(out, '$', static_cast<int64_t>(bytes.size()));
	out->append(bytes);
	out->append("\r\n");
}

void reply_nil(std::string *out)
{
	out->append("$-1\r\n");
}

void reply_array(std::string *out, size_t nr)
{
	put_number(out, '*', static_cast<int64_t>(nr));
}
