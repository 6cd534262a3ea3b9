/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads facts about the machine from /proc and /sys, or from a copy of a test.
 */
#include "machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

/* "" of one that is too long, which is no file either. */
static void machine_path(char path[MACHINE_PATH], const char *root, const char *format, va_list ap)
{
	int at = snprintf(path, MACHINE_PATH, "%s", root);
	int len = at < MACHINE_PATH ? vsnprintf(path + at, (size_t)(MACHINE_PATH - at), format, ap)
				    : -1;

	if (len < 0 || at + len >= MACHINE_PATH)
		path[0] = '\0';
}

static bool first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool got = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

bool machine_line(const char *root, char *line, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH];
	va_list ap;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	return first_line(path, line, size);
}

long machine_number(const char *root, long otherwise, const char *format, ...)
{
	char path[MACHINE_PATH], line[32], *end;
	va_list ap;
	long number;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	if (!first_line(path, line, sizeof(line)))
		return otherwise;
	number = strtol(line, &end, 10);
	return end == line ? otherwise : number;
}

bool machine_has(const char *root, const char *format, ...)
{
	char path[MACHINE_PATH];
	va_list ap;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	return access(path, F_OK) == 0;
}

bool machine_link(const char *root, char *name, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH], target[MACHINE_PATH];
	const char *slash;
	va_list ap;
	ssize_t len;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : target);
	return true;
}

bool machine_row(const char *root, const char *file, const char *row, char *value, size_t size)
{
	char path[MACHINE_PATH], line[256];
	size_t len = strlen(row);
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s%s", root, file);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		found = strncmp(line, row, len) == 0 && line[len] == ':';
		if (found)
			snprintf(value, size, "%s", line + len + 1);
	}
	if (in)
		fclose(in);
	return found;
}

uint64_t machine_kilobytes(const char *root, const char *file, const char *row)
{
	char value[64];

	return machine_row(root, file, row, value, sizeof(value)) ? strtoull(value, NULL, 10) * 1024
								  : 0;
}

bool cpu_list_has(const char *list, unsigned cpu)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}
