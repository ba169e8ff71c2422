// SPDX-License-Identifier: MIT
// request.cpp - splits the bytes of a Redis client into commands as they arrive.
#include "request.h"

#include <cstdint>

#include "words.h"

// Answered bytes are removed when that is worth a memmove(), or when nothing else is left.
static constexpr size_t DROP_AT = 64 * 1024;
// A buffer that one large command needed is not kept for small ones.
static constexpr size_t KEEP_ROOM = 256 * 1024;
static constexpr size_t KEEP_ARGS = 1024;

void RequestReader::drop_answered()
{
	if (start_ < buffer_.size() && start_ < DROP_AT)
		return;
	buffer_.erase(0, start_);
	at_ -= start_;
	scanned_ -= start_;
	start_ = 0;
	if (buffer_.empty() && buffer_.capacity() > KEEP_ROOM)
		buffer_.shrink_to_fit();
	if (args_.capacity() > KEEP_ARGS) {
		std::vector<std::string_view>().swap(args_);
		std::vector<Span>().swap(spans_);
		std::vector<std::string>().swap(words_);
	}
}

void RequestReader::append(const char *bytes, size_t size)
{
	if (is_broken_)
		return; // the rest is never read
	if (spans_.empty())
		drop_answered();
	buffer_.append(bytes, size);
}

RequestReader::Result RequestReader::broken(std::string why)
{
	is_broken_ = true;
	error_ = "ERR Protocol error: " + why;
	args_.clear();
	std::string().swap(buffer_);
	return BROKEN;
}

// A line from at_ on, without its end; the CR is optional, as in Redis.  A line that is too long is
// an error whether or not its end has arrived.
RequestReader::Result RequestReader::take_line(std::string_view *line, const char *too_long)
{
	size_t end = buffer_.find('\n', scanned_);

	if (end == std::string::npos) {
		scanned_ = buffer_.size();
		return buffer_.size() - at_ > limits_.line + 1 ? broken(too_long) : MORE;
	}
	*line = std::string_view(buffer_).substr(at_, end - at_);
	if (!line->empty() && line->back() == '\r')
		line->remove_suffix(1);
	if (line->size() > limits_.line)
		return broken(too_long);
	at_ = scanned_ = end + 1;
	return COMMAND;
}

// "*3": three bulk strings follow.  Zero or a negative number is not a command.
RequestReader::Result RequestReader::read_array_header()
{
	std::string_view line;
	Result result = take_line(&line, "too big mbulk count string");
	int64_t nr;

	if (result != COMMAND)
		return result;
	if (!parse_integer(line.substr(1), &nr) || nr > static_cast<int64_t>(limits_.args))
		return broken("invalid multibulk length");
	in_array_ = nr > 0;
	bulks_left_ = nr > 0 ? static_cast<size_t>(nr) : 0;
	if (!in_array_)
		start_ = at_;
	return COMMAND;
}

static std::string printable(char c)
{
	static const char hex[] = "0123456789abcdef";
	auto byte = static_cast<uint8_t>(c);

	if (byte >= 0x20 && byte < 0x7f)
		return std::string(1, c);
	return std::string("\\x") + hex[byte >> 4] + hex[byte & 15];
}

// "$3", then three bytes and an end of line; until all of them have arrived.
RequestReader::Result RequestReader::read_bulks()
{
	while (bulks_left_) {
		std::string_view line;
		Result result;
		int64_t size;

		if (!has_bulk_size_) {
			if (at_ < buffer_.size() && buffer_[at_] != '$')
				return broken("expected '$', got '" + printable(buffer_[at_]) +
					      "'");
			result = take_line(&line, "too big bulk count string");
			if (result != COMMAND)
				return result;
			if (!parse_integer(line.substr(1), &size) || size < 0 ||
			    size > static_cast<int64_t>(limits_.bulk))
				return broken("invalid bulk length");
			bulk_size_ = static_cast<size_t>(size);
			has_bulk_size_ = true;
			if (at_ - start_ + bulk_size_ + 2 > limits_.command)
				return broken("too big request");
		}
		if (buffer_.size() - at_ < bulk_size_ + 2)
			return MORE;
		if (buffer_[at_ + bulk_size_] != '\r' || buffer_[at_ + bulk_size_ + 1] != '\n')
			return broken("expected an end of line after a bulk string");
		spans_.push_back({ at_, bulk_size_ });
		at_ = scanned_ = at_ + bulk_size_ + 2;
		has_bulk_size_ = false;
		bulks_left_--;
	}
	return finish();
}

RequestReader::Result RequestReader::finish()
{
	args_.clear();
	for (const Span &span : spans_)
		args_.push_back(std::string_view(buffer_).substr(span.start, span.size));
	spans_.clear();
	in_array_ = false;
	start_ = at_;
	return COMMAND;
}

RequestReader::Result RequestReader::read_inline()
{
	std::string_view line;
	Result result = take_line(&line, "too big inline request");

	if (result != COMMAND)
		return result;
	if (!split_words(line, &words_))
		return broken("unbalanced quotes in request");
	args_.assign(words_.begin(), words_.end());
	start_ = at_;
	return COMMAND;
}

// Empty lines and empty arrays are skipped: they have no answer.
RequestReader::Result RequestReader::next()
{
	Result result;

	if (is_broken_)
		return BROKEN;
	for (;;) {
		if (in_array_)
			return read_bulks();
		if (at_ == buffer_.size())
			return MORE;
		if (buffer_[at_] == '*') {
			result = read_array_header();
			if (result != COMMAND)
				return result;
			continue;
		}
		result = read_inline();
		if (result != COMMAND || !args_.empty())
			return result;
	}
}
