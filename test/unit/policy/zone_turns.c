/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prints the offset from UTC of tzdata files, from 1970 to 2100, for check_zones.py. A line for
 * each file, then one for each change: its time, and the offset from then on.
 */
#include <inttypes.h>
#include <stdio.h>

#include "policy/zone.h"

#define FROM INT64_C(0)
#define TO   INT64_C(4102444800) /* 1 January 2100 */

static struct zone *read_zone(const char *path)
{
	static uint8_t bytes[ZONE_FILE_MAX];
	FILE *file = fopen(path, "rb");
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	struct zone *zone;

	if (file)
		fclose(file);
	return zone_parse(bytes, len, path, &zone) ? NULL : zone;
}

static void print_turns(const struct zone *zone)
{
	int32_t last = INT32_MIN;

	for (int64_t at = FROM; at < TO;) {
		struct zone_span span = zone_at(zone, at);

		if (span.offset_s != last)
			printf("%" PRId64 " %" PRId32 "\n", at, span.offset_s);
		last = span.offset_s;
		if (span.until <= at)
			printf("stands still at %" PRId64 "\n", at);
		at = span.until > at ? span.until : TO;
	}
}

int main(int argc, char **argv)
{
	int ret = 0;

	for (int i = 1; i < argc; i++) {
		struct zone *zone = read_zone(argv[i]);

		printf("%s\n", argv[i]);
		if (zone)
			print_turns(zone);
		ret |= !zone;
		zone_free(zone);
	}
	return ret;
}
