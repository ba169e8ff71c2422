// SPDX-License-Identifier: MIT
// listen.h - a port of this machine's, for clients of this machine.
#pragma once

#include <cstdint>
#include <string>

// A listening socket on 127.0.0.1; @port 0 becomes the one that was free.  -1: see errno.
int listen_on_loopback(uint16_t *port);

// For a script that waits for it: the file is there only when the port is in it.
bool write_port(const std::string &path, uint16_t port);
