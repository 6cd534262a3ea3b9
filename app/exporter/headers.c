/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "headers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <unistd.h>

#define RANGE_MAX 256

#define NAME_CHARACTERS                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789-_."

/* --- Host ------------------------------------------------------------------------------------ */

void host_names_complete(struct host_names *names)
{
	if (gethostname(names->machine, sizeof(names->machine)))
		names->machine[0] = '\0';
	names->machine[sizeof(names->machine) - 1] = '\0';
}

bool host_name_valid(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < HOST_BYTES && strspn(name, NAME_CHARACTERS) == n;
}

/* Returns whether it is a colon and digits up to the end, or empty. */
static bool is_port(const char *text)
{
	return *text == '\0' ||
	       (*text == ':' && strspn(text + 1, "0123456789") == strlen(text + 1));
}

/* Recognizes "[::1]:9947". */
static bool is_address6(const char *header)
{
	const char *end = strchr(header, ']');
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	size_t n = end ? (size_t)(end - header - 1) : sizeof(text);

	if (n >= sizeof(text) || !is_port(end + 1))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, header + 1);
	return inet_pton(AF_INET6, text, &address) == 1;
}

/* Compares names: without regard to case or to a dot at the end. */
static bool is_name(const char *host, size_t n, const char *name)
{
	size_t len = strlen(name);

	n -= n > 1 && host[n - 1] == '.';
	len -= len > 1 && name[len - 1] == '.';
	return len > 0 && n == len && strncasecmp(host, name, len) == 0;
}

bool host_allowed(const struct host_names *names, const char *header)
{
	char text[HOST_BYTES];
	struct in_addr address;
	size_t n;

	if (!header)
		return true;
	if (header[0] == '[')
		return is_address6(header);
	n = strcspn(header, ":");
	if (n == 0 || n >= sizeof(text) || !is_port(header + n))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, header);
	if (inet_pton(AF_INET, text, &address) == 1 || is_name(text, n, "localhost") ||
		is_name(text, n, names->machine))
		return true;
	for (unsigned i = 0; i < names->n; i++)
		if (is_name(text, n, names->names[i]))
			return true;
	return false;
}

/* --- Accept ---------------------------------------------------------------------------------- */

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
