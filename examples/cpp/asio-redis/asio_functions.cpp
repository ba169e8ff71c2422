// SPDX-License-Identifier: MIT
// asio_functions.cpp - Asio's functions that are no templates, for ASIO_SEPARATE_COMPILATION.
#include <asio/impl/src.hpp>
