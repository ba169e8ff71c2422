// SPDX-License-Identifier: MIT
// words.cpp - splits a line into words, with quotes; and parses integers as Redis does.
#include "words.h"

#include <charconv>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r' || !c;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static char unescape(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'a':
		return '\a';
	default:
		return c;
	}
}

// The escape sequence after a backslash in double quotes; @at is at its start, then behind it.
static void take_escape(std::string_view line, size_t *at, std::string *word)
{
	size_t i = *at;

	if (line[i] == 'x' && i + 2 < line.size() && hex_digit(line[i + 1]) >= 0 &&
	    hex_digit(line[i + 2]) >= 0) {
		word->push_back(
			static_cast<char>(hex_digit(line[i + 1]) * 16 + hex_digit(line[i + 2])));
		*at = i + 3;
		return;
	}
	word->push_back(unescape(line[i]));
	*at = i + 1;
}

// @at is behind the opening quote, and then behind the closing one.
static bool take_quoted(std::string_view line, char quote, size_t *at, std::string *word)
{
	while (*at < line.size()) {
		char c = line[(*at)++];

		if (c == quote)
			return *at == line.size() || is_space(line[*at]);
		if (c != '\\' || *at == line.size()) {
			word->push_back(c);
		} else if (quote == '"') {
			take_escape(line, at, word);
		} else if (line[*at] == '\'') {
			word->push_back('\'');
			(*at)++;
		} else {
			word->push_back(c);
		}
	}
	return false;
}

static bool take_word(std::string_view line, size_t *at, std::string *word)
{
	while (*at < line.size() && !is_space(line[*at])) {
		char c = line[(*at)++];

		if (c == '"' || c == '\'')
			return take_quoted(line, c, at, word);
		word->push_back(c);
	}
	return true;
}

bool split_words(std::string_view line, std::vector<std::string> *words)
{
	size_t at = 0;

	words->clear();
	for (;;) {
		while (at < line.size() && is_space(line[at]))
			at++;
		if (at == line.size())
			return true;
		if (!take_word(line, &at, &words->emplace_back()))
			return false;
	}
}

bool parse_integer(std::string_view text, int64_t *out)
{
	std::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);

	if (digits.empty() || (digits[0] == '0' && text.size() > 1))
		return false;
	auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *out);
	return failure == std::errc() && end == text.data() + text.size();
}

bool same_word(std::string_view a, std::string_view lower)
{
	if (a.size() != lower.size())
		return false;
	for (size_t i = 0; i < a.size(); i++) {
		char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];

		if (c != lower[i])
			return false;
	}
	return true;
}
