/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "accept.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RANGE_MAX 256

/* Takes the next part of a list, without surrounding blanks. Returns false at the end. */
static bool next_part(const char **list, char separator, char part[RANGE_MAX])
{
	const char ends[] = {separator, '\0'};
	size_t n;

	if (!**list)
		return false;
	n = strcspn(*list, ends);
	while (n && isspace((unsigned char)**list)) {
		(*list)++;
		n--;
	}
	snprintf(part, RANGE_MAX, "%.*s", (int)(n < RANGE_MAX ? n : RANGE_MAX - 1), *list);
	*list += n + ((*list)[n] == separator);
	for (n = strlen(part); n && isspace((unsigned char)part[n - 1]); n--)
		part[n - 1] = '\0';
	return true;
}

/* Returns a quality from 0 to 1. Text that is not a number counts as 0, so the type is not sent. */
static double quality_of(const char *text)
{
	char *end;
	double q = strtod(text, &end);

	return end != text && *end == '\0' && q > 0 ? (q < 1 ? q : 1) : 0;
}

/* Returns the quality that a range of the list gives a type; below 0 if it is for another type. */
static double range_quality(const char *range, const char *type, bool versions)
{
	char part[RANGE_MAX];
	double q = 1;

	if (!next_part(&range, ';', part) || strcasecmp(part, type) != 0)
		return -1;
	while (next_part(&range, ';', part)) {
		const char *version = part + strlen("version=");

		if (strncasecmp(part, "q=", 2) == 0)
			q = quality_of(part + 2);
		else if (versions && strncasecmp(part, "version=", strlen("version=")) == 0 &&
			 strcmp(version, "1.0.0") != 0 && strcmp(version, "0.0.1") != 0)
			return -1;
	}
	return q;
}

/* Returns the best quality that any range of the header gives a type, or 0. */
static double header_quality(const char *header, const char *type, bool versions)
{
	char range[RANGE_MAX];
	double best = 0;

	while (next_part(&header, ',', range)) {
		double q = range_quality(range, type, versions);

		best = q > best ? q : best;
	}
	return best;
}

enum text_format accept_format(const char *header)
{
	double open, plain;

	if (!header)
		return TEXT_PROMETHEUS;
	open = header_quality(header, "application/openmetrics-text", true);
	plain = header_quality(header, "text/plain", false);
	return open > 0 && open >= plain ? TEXT_OPENMETRICS : TEXT_PROMETHEUS;
}

const char *accept_content_type(enum text_format format)
{
	return format == TEXT_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
