/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_NETFLOW_TEXT_H
#define WEIR_NETFLOW_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies at most so many bytes of a text, and returns how many: whole characters of UTF-8, and for
 * each byte that is of none, or no printable one, a question mark. Adds no terminator. Pure.
 */
size_t netflow_text(uint8_t *out, size_t most, const char *text);

#endif
