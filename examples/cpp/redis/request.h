// SPDX-License-Identifier: MIT
// request.h - splits the bytes of a Redis client into commands as they arrive.
//
//	RequestReader in;
//	in.append(bytes, n);
//	while (in.next() == RequestReader::COMMAND)
//		answer(in.args());
//
// Both forms of a command: an array of bulk strings ("*2\r\n$3\r\nGET\r\n$1\r\nx\r\n"),
// and a line of words ("GET x\r\n", for telnet).
//
// The bytes are untrusted.  No memory is reserved for an announced size: only bytes that have
// arrived are kept, up to Limits::command, and each byte is scanned once, however small the
// pieces are in which it arrives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

struct Limits {
	size_t line = 64 * 1024;           // of an inline command, or of a length
	size_t args = 1024 * 1024;         // of one command
	size_t bulk = 64 * 1024 * 1024;    // of one argument
	size_t command = 96 * 1024 * 1024; // of all bytes of one command
};

class RequestReader
{
      public:
	enum Result {
		MORE,    // incomplete
		COMMAND, // args() are its words, until the next call of any other function
		BROKEN,  // corrupt, and no command can follow: error() says why
	};

	explicit RequestReader(const Limits &limits = Limits()) : limits_(limits)
	{
	}

	void append(const char *bytes, size_t size);
	Result next();

	const std::vector<std::string_view> &args() const
	{
		return args_;
	}

	// In the form that is sent to the client: "ERR Protocol error: ..."
	const std::string &error() const
	{
		return error_;
	}

	// The number of bytes that it holds.
	size_t size() const
	{
		return buffer_.size();
	}

      private:
	struct Span {
		size_t start, size;
	};

	void drop_answered();
	Result take_line(std::string_view *line, const char *too_long);
	Result read_array_header();
	Result read_bulks();
	Result read_inline();
	Result finish();
	Result broken(std::string why);

	Limits limits_;
	std::string buffer_;
	size_t start_ = 0;   // of the command that is being read
	size_t at_ = 0;      // the end of the parsed bytes
	size_t scanned_ = 0; // no end of line between at_ and here
	bool in_array_ = false;
	size_t bulks_left_ = 0;
	bool has_bulk_size_ = false;
	size_t bulk_size_ = 0;
	bool is_broken_ = false;
	std::vector<Span> spans_;
	std::vector<std::string> words_; // of an inline command, unquoted
	std::vector<std::string_view> args_;
	std::string error_;
};
