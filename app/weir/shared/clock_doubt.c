/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reasons to doubt the TSC as a clock. A file of its own, because tests replace its function.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* Returns true if the TSC of the first CPU continues in deep sleep, or if no flags are listed. */
static bool has_nonstop_tsc(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	bool found = false, has_flags = false;
	char line[8192];

	while (file && !has_flags && fgets(line, sizeof(line), file)) {
		has_flags = strncmp(line, "flags", 5) == 0;
		found = has_flags && strstr(line, " nonstop_tsc");
	}
	if (file)
		fclose(file);
	return found || !has_flags;
}

const char *tsc_clock_doubt(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[32];
	FILE *file;
	bool read;

	if (!has_nonstop_tsc())
		return "this CPU's TSC stops in deep sleep (no nonstop_tsc)";
	file = fopen(path, "r");
	read = file && fgets(source, sizeof(source), file);
	if (file)
		fclose(file);
	if (read && strcmp(source, "tsc\n") != 0 && strcmp(source, "tsc") != 0)
		return "the kernel does not keep time by the TSC (clocksource)";
	return NULL;
}
