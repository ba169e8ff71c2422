// SPDX-License-Identifier: MIT
// listen.h - a listening socket on the loopback interface.
#pragma once

#include <cstdint>
#include <string>

// A listening socket on 127.0.0.1; @port 0 is replaced by the chosen port.  -1: see errno.
int listen_on_loopback(uint16_t *port);

// For a script that waits for the file: it appears only when the port is in it.
bool write_port(const std::string &path, uint16_t port);
