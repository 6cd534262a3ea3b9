/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t printable_control(const char *text, uint32_t *code)
{
	const unsigned char *at = (const unsigned char *)text;

	*code = at[0];
	if ((at[0] < ' ' && at[0] != '\0') || at[0] == 0x7f)
		return 1;
	if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) {
		*code = at[1];
		return 2;
	}
	if (at[0] != 0xe2 || (at[1] != 0x80 && at[1] != 0x81) || (at[2] & 0xc0) != 0x80)
		return 0;
	*code = 0x2000 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
	if (*code == 0x200e || *code == 0x200f || (*code >= 0x202a && *code <= 0x202e) ||
		(*code >= 0x2066 && *code <= 0x2069))
		return 3;
	return 0;
}

char *printable_copy(const char *text, const char *mark)
{
	/* Each byte becomes a mark and its digits at most. */
	size_t most = strlen(mark) + 4;
	char *copy = malloc(strlen(text) * most + 1), *out = copy;

	while (copy != NULL && *text != '\0') {
		uint32_t code;
		size_t n = printable_control(text, &code);

		if (n == 0)
			*out++ = *text++;
		else
			out += snprintf(out, most + 1, "%s%04x", mark, (unsigned)code);
		text += n;
	}
	if (copy != NULL)
		*out = '\0';
	return copy;
}
