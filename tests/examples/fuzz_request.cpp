// SPDX-License-Identifier: MIT
// fuzz_request.cpp - any bytes of a client, divided in any way: the same commands, no more memory
// than the limits allow, and only valid answers.
//
//	fuzz_request [ROUNDS [SEED]]
//
// Built with -DFUZZ_LIBFUZZER and clang the same function runs under libFuzzer.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "redis/reply.h"
#include "redis/request.h"
#include "redis/session.h"

#define CHECK(cond)                                                                               \
	do {                                                                                      \
		if (!(cond)) {                                                                    \
			std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			std::abort();                                                             \
		}                                                                                 \
	} while (0)

// Small, so that inputs reach them.
static const Limits tight = { .line = 64, .args = 16, .bulk = 100, .command = 300 };

using Commands = std::vector<std::vector<std::string>>;

struct Outcome {
	Commands commands;
	std::string error;
	bool operator==(const Outcome &) const = default;
};

static bool take_all(RequestReader *in, Outcome *out)
{
	RequestReader::Result result;

	while ((result = in->next()) == RequestReader::COMMAND) {
		CHECK(!in->args().empty());
		CHECK(in->args().size() <= tight.args || in->args().size() <= tight.line);
		out->commands.emplace_back(in->args().begin(), in->args().end());
	}
	if (result == RequestReader::BROKEN)
		out->error = in->error();
	return result == RequestReader::MORE;
}

// Divided into pieces of @size bytes, or of random sizes.
static Outcome read_in_pieces(const std::string &bytes, size_t size, std::mt19937 *random)
{
	RequestReader in(tight);
	Outcome out;
	size_t at = 0, piece;

	for (; at < bytes.size(); at += piece) {
		piece = size ? size : 1 + (*random)() % 40;
		if (piece > bytes.size() - at)
			piece = bytes.size() - at;
		in.append(bytes.data() + at, piece);
		if (!take_all(&in, &out))
			break;
		// It holds at most a command that may still become valid, and the last input.
		CHECK(in.size() <= tight.command + tight.bulk + tight.line + 2 * piece + 64 * 1024);
	}
	return out;
}

// A reply, or several in a row: each complete, and of a known kind.
static size_t skip_reply(const std::string &text, size_t at)
{
	size_t end = text.find("\r\n", at), nr;

	CHECK(end != std::string::npos);
	switch (text[at]) {
	case '+':
	case '-':
	case ':':
		CHECK(text.find('\n', at) == end + 1);
		return end + 2;
	case '$':
		if (text.compare(at, 3, "$-1") == 0)
			return end + 2;
		end += 2 + std::strtoull(text.c_str() + at + 1, nullptr, 10);
		CHECK(text.compare(end, 2, "\r\n") == 0);
		return end + 2;
	case '*':
		nr = std::strtoull(text.c_str() + at + 1, nullptr, 10);
		for (at = end + 2; nr > 0; nr--)
			at = skip_reply(text, at);
		return at;
	default:
		CHECK(!"a reply of a kind that there is");
		return 0;
	}
}

static size_t count_replies(const std::string &text)
{
	size_t nr = 0;

	for (size_t at = 0; at < text.size(); nr++)
		at = skip_reply(text, at);
	return nr;
}

// A whole session: one reply for every command, and one for the error at the end.
static void answer_all(const std::string &bytes, const Outcome &outcome)
{
	static Keyspace keys;
	RequestReader in(tight);
	ClientState client;
	std::string out;
	size_t nr = 0;

	in.append(bytes.data(), bytes.size());
	while (in.next() == RequestReader::COMMAND) {
		run_command(&keys, &client, in.args(), &out);
		nr++;
		CHECK(count_replies(out) == 1);
		out.clear();
	}
	CHECK(nr == outcome.commands.size());
	if (!in.error().empty()) {
		reply_error(&out, in.error());
		CHECK(count_replies(out) == 1);
	}
	keys.store.clear();
}

static void check(const std::string &bytes, std::mt19937 *random)
{
	Outcome whole = read_in_pieces(bytes, bytes.size() + 1, random);

	CHECK(read_in_pieces(bytes, 1, random) == whole);
	CHECK(read_in_pieces(bytes, 0, random) == whole);
	answer_all(bytes, whole);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	std::mt19937 random(static_cast<unsigned>(size));

	check(std::string(reinterpret_cast<const char *>(data), size), &random);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "../fuzz/own_input.h"

static void check_own(const std::string &bytes)
{
	own_input(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}

static const char *const seeds[] = {
	"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n",
	"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n",
	"*1\r\n$4\r\nPING\r\n*0\r\n*-1\r\n\r\nPING\r\n",
	"SET key 'it\\'s' \r\nGET \"k\\x65y\\n\"\r\n",
	"*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nNX\r\n$3\r\nGET\r\n",
	"*2\r\n$4\r\nINCR\r\n$1\r\na\r\nINCRBY a -9223372036854775808\r\nDEL a b c\n",
	"*2\r\n$7\r\nCOMMAND\r\n$4\r\nDOCS\r\nCOMMAND\r\nCONFIG GET *\r\nINFO\r\n",
	"*16\r\n$0\r\n\r\n*17\r\n",
	"*1\r\n$101\r\n",
	"*2147483648\r\n",
	"*1\r\n$-1\r\n",
	"*1\r\nx\r\n",
	"CLIENT ID\r\nCLIENT \"\r\n",
	"ECHO 'a\\",
};

static std::string mutate(std::string s, std::mt19937 *random)
{
	static const char spice[] = "*$\r\n\"'\\x- 0123456789\0\xff";
	unsigned nr = (*random)() % 8;

	while (nr-- > 0) {
		size_t at = s.empty() ? 0 : (*random)() % s.size();

		switch ((*random)() % 5) {
		case 0:
			s.insert(at, 1, spice[(*random)() % (sizeof(spice) - 1)]);
			break;
		case 1:
			if (!s.empty())
				s[at] = static_cast<char>((*random)());
			break;
		case 2:
			if (!s.empty())
				s.erase(at, 1 + (*random)() % 4);
			break;
		case 3:
			s += seeds[(*random)() % std::size(seeds)];
			break;
		case 4:
			s.insert(at, std::string((*random)() % 150, spice[(*random)() % 20]));
		}
	}
	return s;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
	auto seed = static_cast<unsigned>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
	std::mt19937 random(seed);

	for (const char *one : seeds)
		check_own(one);
	for (unsigned long i = 0; i < rounds; i++)
		check_own(mutate(seeds[random() % std::size(seeds)], &random));
	std::printf("%lu inputs, seed %u\n", rounds, seed);
	return 0;
}
#endif
