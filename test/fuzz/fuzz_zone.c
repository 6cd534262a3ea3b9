/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a file of tzdata: what is read of it answers at any time, and time goes on.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "policy/zone.h"

#define LOOKS 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_zone(const struct zone *zone, int64_t from)
{
	int64_t at = from;

	for (unsigned i = 0; i < LOOKS && at != ZONE_NEVER; i++) {
		struct zone_span span = zone_at(zone, at);

		if (span.until <= at || span.offset_s > 30 * 86400 || span.offset_s < -30 * 86400)
			abort();
		at = span.until;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zone *zone;

	if (zone_parse(data, size, "fuzz", &zone))
		return 0;
	if (zone_digest(zone) == 0)
		abort();
	check_zone(zone, INT64_MIN);
	check_zone(zone, 1700000000);
	zone_free(zone);
	return 0;
}
