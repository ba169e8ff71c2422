// SPDX-License-Identifier: MIT
// reply.h - the replies of a Redis server (RESP2), appended to a string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

void reply_status(std::string *out, std::string_view text); // +OK
void reply_error(std::string *out, std::string_view text);  // -ERR ..., always one line
void reply_integer(std::string *out, int64_t value);
void reply_bulk(std::string *out, std::string_view bytes);
void reply_nil(std::string *out);
void reply_array(std::string *out, size_t nr); // nr more replies follow
