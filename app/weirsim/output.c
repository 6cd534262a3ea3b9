/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "output.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

bool output_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int output_flush(FILE *out)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int output_write(const char *path, int (*write)(const void *what, FILE *out), const void *what)
{
	bool standard = output_is_standard(path);
	FILE *out = standard ? stdout : fopen(path, "w");
	int ret = out ? write(what, out) : -errno;
	int flushed = out ? output_flush(out) : 0;

	/* The second knows why, if it fails. */
	if (flushed)
		ret = flushed;
	if (out && !standard && fclose(out) && ret == 0)
		ret = -errno;
	if (ret)
		fprintf(stderr, "%s: %s\n", path, strerror(-ret));
	return ret;
}

int output_json(const void *what, FILE *out)
{
	if (json_dumpf(what, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)))
		return -EIO;
	fputc('\n', out);
	return 0;
}
