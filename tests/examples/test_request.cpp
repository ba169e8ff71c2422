// SPDX-License-Identifier: MIT
// test_request.cpp - parsing of commands: both forms, every error message, every limit.
#include <cstring>
#include <string>
#include <vector>

#include "redis/request.h"
#include "redis/words.h"

#include "check.h"

using Words = std::vector<std::string>;

static Words next(RequestReader *in)
{
	CHECK_EQ(in->next(), RequestReader::COMMAND);
	return Words(in->args().begin(), in->args().end());
}

static void append(RequestReader *in, const std::string &bytes)
{
	in->append(bytes.data(), bytes.size());
}

// Bytes after the error are ignored.
static void check_broken(const std::string &bytes, const char *error)
{
	RequestReader in;

	append(&in, bytes);
	CHECK_EQ(in.next(), RequestReader::BROKEN);
	CHECK_STR(in.error().c_str(), error);
	append(&in, "PING\r\n");
	CHECK_EQ(in.next(), RequestReader::BROKEN);
	CHECK_EQ(in.size(), 0);
}

static void takes_arrays_and_lines_in_turn()
{
	RequestReader in;

	append(&in, "*2\r\n$3\r\nGET\r\n$1\r\nx\r\nping\r\n*1\r\n$4\r\nPING\r\n");
	CHECK((next(&in) == Words{ "GET", "x" }));
	CHECK((next(&in) == Words{ "ping" }));
	CHECK((next(&in) == Words{ "PING" }));
	CHECK_EQ(in.next(), RequestReader::MORE);
}

static void keeps_any_byte_of_an_argument()
{
	std::string value("\0\r\n*1\r\n$\xff", 10);
	RequestReader in;

	append(&in, "*2\r\n$4\r\nECHO\r\n$10\r\n" + value + "\r\n");
	CHECK((next(&in) == Words{ "ECHO", value }));
	append(&in, "*2\r\n$0\r\n\r\n$0\r\n\r\n");
	CHECK((next(&in) == Words{ "", "" }));
}

static void passes_over_what_asks_for_nothing()
{
	RequestReader in;

	append(&in, "\r\n\n   \r\n*0\r\n*-1\r\n*-7\r\nPING\r\n");
	CHECK((next(&in) == Words{ "PING" }));
	CHECK_EQ(in.next(), RequestReader::MORE);
}

static void unquotes_what_people_type()
{
	RequestReader in;

	append(&in, "set 'a b' \"\\x41\\n\\\"\" 'it\\'s' \"\" c\n");
	CHECK((next(&in) == Words{ "set", "a b", "A\n\"", "it's", "", "c" }));
	append(&in, "a\\b \"\\xZZ\" '\\n'\r\n");
	CHECK((next(&in) == Words{ "a\\b", "xZZ", "\\n" }));
}

static void tells_what_is_wrong_with_a_request()
{
	check_broken("*x\r\n", "ERR Protocol error: invalid multibulk length");
	check_broken("*1048577\r\n", "ERR Protocol error: invalid multibulk length");
	check_broken("*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length");
	check_broken("*1\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'");
	check_broken("*1\r\n\x1b[2J\r\n", "ERR Protocol error: expected '$', got '\\x1b'");
	check_broken("*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length");
	check_broken("*1\r\n$67108865\r\n", "ERR Protocol error: invalid bulk length");
	check_broken("*1\r\n$1x\r\n", "ERR Protocol error: invalid bulk length");
	check_broken("*1\r\n$1\r\nab\r\n",
		     "ERR Protocol error: expected an end of line after a bulk string");
	check_broken("get \"a\r\n", "ERR Protocol error: unbalanced quotes in request");
	check_broken("get 'a'b\r\n", "ERR Protocol error: unbalanced quotes in request");
	check_broken(std::string(70000, 'a'), "ERR Protocol error: too big inline request");
	check_broken(std::string(70000, 'a') + "\r\n",
		     "ERR Protocol error: too big inline request");
	check_broken("*" + std::string(70000, '1'),
		     "ERR Protocol error: too big mbulk count string");
	check_broken("*1\r\n$" + std::string(70000, '1'),
		     "ERR Protocol error: too big bulk count string");
}

// A command of a hundred megabytes is refused, however the input is divided.
static void ends_a_command_that_never_ends()
{
	std::string bulk = "$1048576\r\n" + std::string(1048576, 'x') + "\r\n";
	RequestReader in;
	unsigned nr = 0;

	append(&in, "*1000\r\n");
	while (in.next() == RequestReader::MORE) {
		CHECK(nr++ < 97);
		append(&in, bulk);
	}
	CHECK_STR(in.error().c_str(), "ERR Protocol error: too big request");
	CHECK_EQ(in.size(), 0);
	CHECK(nr > 90);
}

static void reserves_nothing_for_what_is_only_announced()
{
	RequestReader in;

	append(&in, "*1048576\r\n$67108864\r\nx");
	CHECK_EQ(in.next(), RequestReader::MORE);
	CHECK(in.size() < 100);
}

static void forgets_what_was_answered()
{
	RequestReader in;
	std::string many;

	for (int i = 0; i < 10000; i++)
		many += "*1\r\n$4\r\nPING\r\n";
	for (int round = 0; round < 50; round++) {
		append(&in, many);
		for (int i = 0; i < 10000; i++)
			CHECK_EQ(in.next(), RequestReader::COMMAND);
		CHECK_EQ(in.next(), RequestReader::MORE);
		CHECK(in.size() <= many.size());
	}
}

static void takes_numbers_as_redis_does()
{
	int64_t n;

	CHECK(parse_integer("0", &n) && n == 0);
	CHECK(parse_integer("-1", &n) && n == -1);
	CHECK(parse_integer("9223372036854775807", &n) && n == INT64_MAX);
	CHECK(parse_integer("-9223372036854775808", &n) && n == INT64_MIN);
	for (const char *bad : { "", "-", "+1", "01", "-0", " 1", "1 ", "1x", "0x1",
				 "9223372036854775808", "-9223372036854775809" })
		CHECK(!parse_integer(bad, &n));
	CHECK(!parse_integer(std::string_view("1\0", 2), &n));
}

int main()
{
	RUN(takes_arrays_and_lines_in_turn);
	RUN(keeps_any_byte_of_an_argument);
	RUN(passes_over_what_asks_for_nothing);
	RUN(unquotes_what_people_type);
	RUN(tells_what_is_wrong_with_a_request);
	RUN(ends_a_command_that_never_ends);
	RUN(reserves_nothing_for_what_is_only_announced);
	RUN(forgets_what_was_answered);
	RUN(takes_numbers_as_redis_does);
	return 0;
}
