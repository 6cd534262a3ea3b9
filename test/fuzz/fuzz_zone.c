/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a file of tzdata: a parsed zone has an offset at any time, and time advances. Also
 * as a name: a valid one does not lead out of the folder.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/zone.h"

#define LOOKS          2000
#define FORMATTED_MOST INT64_C(60000000000) /* seconds: years of at most four digits */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_zone(const struct zone *zone, int64_t from)
{
	char text[ZONE_TEXT_MAX];
	int64_t at = from;

	for (unsigned i = 0; i < LOOKS && at != ZONE_NEVER; i++) {
		struct zone_span span = zone_at(zone, at);

		if (at > -FORMATTED_MOST && at < FORMATTED_MOST &&
			strlen(zone_format(zone, at, text)) < sizeof("1970-01-01T00:00:00"))
			abort();
		if (span.until <= at || span.offset_s > 30 * 86400 || span.offset_s < -30 * 86400)
			abort();
		at = span.until;
	}
}

static void check_name(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size);

	if (zone_name_valid(name) && (name[0] == '/' || strstr(name, "..") != NULL))
		abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zone *zone;

	check_name(data, size);
	if (zone_parse(data, size, "fuzz", &zone))
		return 0;
	if (zone_digest(zone) == 0)
		abort();
	check_zone(zone, INT64_MIN);
	check_zone(zone, 1700000000);
	zone_free(zone);
	return 0;
}
