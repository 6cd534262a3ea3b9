/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <stdio.h>

#include "config/meters_that.h"

const char *meters_that_but(unsigned abilities, unsigned without, char text[METERS_TEXT_MAX])
{
	const char *last = NULL;
	int end = 0;

	text[0] = '\0';
	for (enum meter_kind kind = 0; kind < METER_CREDIT; kind++) { /* not for users */
		if (!meter_can(kind, abilities) || meter_can(kind, without))
			continue;
		if (last != NULL)
			end += snprintf(text + end, METERS_TEXT_MAX - (size_t)end, "%s\"%s\"",
				end > 0 ? ", " : "", last);
		last = meter_name(kind);
	}
	if (last != NULL)
		snprintf(text + end, METERS_TEXT_MAX - (size_t)end, "%s\"%s\"",
			end > 0 ? " or " : "", last);
	return text;
}
