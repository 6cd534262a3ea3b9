/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool option_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *out >= least &&
		*out <= most)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected %" PRIu64 " to %" PRIu64 "\n", name, text, least,
		most);
	return false;
}
