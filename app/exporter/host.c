/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "host.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <unistd.h>

#define NAME_CHARACTERS                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789-_."

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
