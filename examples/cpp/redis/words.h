// SPDX-License-Identifier: MIT
// words.h - a line as people type it, cut into words; and numbers as Redis takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// "set x 'two words' \"\\x41\\n\"".  False: a quote is open at the end, or closes amid a word.
bool split_words(std::string_view line, std::vector<std::string> *words);

// Decimal, all of it, no space, no sign but '-', no leading zero, in the range.
bool parse_integer(std::string_view text, int64_t *out);

// Of a command's name or option, whichever way it is spelt.
bool same_word(std::string_view a, std::string_view lower);
