/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "netflow/netflow_text.h"

#include <stdbool.h>
#include <string.h>

#define DELETE 0x7f

/*
 * Returns the length in bytes of a UTF-8 character that begins with this byte; 0: invalid or
 * control.
 */
static unsigned bytes_begun(uint8_t first)
{
	if (first < 0x80)
		return first >= ' ' && first != DELETE;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

/* Rejects encodings longer than necessary, UTF-16 surrogates and codes above 0x10ffff. */
static bool is_character(uint32_t code, unsigned n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	return code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/*
 * Returns the bytes of the printable character at `at`, or 0 if there is none. Stops at the final
 * NUL.
 */
static unsigned character_bytes(const uint8_t *at)
{
	unsigned n = bytes_begun(at[0]);
	uint32_t code;

	if (n < 2)
		return n;
	code = at[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	return is_character(code, n) ? n : 0;
}

size_t netflow_text(uint8_t *out, size_t most, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t length = 0;

	while (*at) {
		unsigned n = character_bytes(at), taken = n ? n : 1;

		if (length + taken > most)
			break;
		if (n)
			memcpy(out + length, at, n);
		else
			out[length] = '?';
		length += taken;
		at += taken;
	}
	return length;
}
