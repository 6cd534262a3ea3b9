/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_NETFLOW_TEXT_H
#define WEIR_NETFLOW_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies at most `most` bytes of a text, in whole UTF-8 characters, and returns how many. Each byte
 * that is invalid or not printable becomes a question mark. Adds no terminator. Pure.
 */
size_t netflow_text(uint8_t *out, size_t most, const char *text);

#endif
