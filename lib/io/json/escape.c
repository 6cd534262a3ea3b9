/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t read_hex4(const char *at)
{
	char digits[5] = {at[0], at[1], at[2], at[3]};

	return (uint32_t)strtoul(digits, NULL, 16);
}

static char *put_utf8(char *out, uint32_t code)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	unsigned bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (unsigned i = bytes - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	out[0] = (char)(lead[bytes] | code);
	return out + bytes;
}

/* Stands behind the u of \uXXXX or \uXXXX\uXXXX. */
static const char *decode_unicode(const char *at, char **out)
{
	uint32_t code = read_hex4(at);

	at += 4;
	if (code >= 0xd800 && code < 0xdc00) {
		uint32_t low = read_hex4(at + 2);

		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	}
	*out = put_utf8(*out, code);
	return at;
}

const char *json_decode_character(const char *at, char **out)
{
	static const char escapes[] = "bfnrt\"\\/", meanings[] = "\b\f\n\r\t\"\\/";

	if (at[0] != '\\') {
		*(*out)++ = at[0];
		return at + 1;
	}
	if (at[1] == 'u')
		return decode_unicode(at + 2, out);
	*(*out)++ = meanings[strchr(escapes, at[1]) - escapes];
	return at + 2;
}

bool json_escaped_equals(const char *at, const char *text)
{
	for (at++; *at != '"';) {
		char bytes[JSON_CHARACTER_MAX], *end = bytes;

		at = json_decode_character(at, &end);
		if (strncmp(text, bytes, (size_t)(end - bytes)) != 0)
			return false;
		text += end - bytes;
	}
	return *text == '\0';
}
