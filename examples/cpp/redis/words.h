// SPDX-License-Identifier: MIT
// words.h - splits a line into words, with quotes; and parses integers as Redis does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// "set x 'two words' \"\\x41\\n\"".  False: a quote is not closed, or closes inside a word.
bool split_words(std::string_view line, std::vector<std::string> *words);

// Decimal, the whole text, no space, no sign but '-', no leading zero, within the range.
bool parse_integer(std::string_view text, int64_t *out);

// Compares a command name or option, ignoring case.
bool same_word(std::string_view a, std::string_view lower);
