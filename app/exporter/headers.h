/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Headers of requests: Host and Accept.
 *
 * A foreign page can make its own name resolve to
 * this address (DNS rebinding), and a browser would then let it read the answers. But such a
 * request has the foreign name in its Host header. Only addresses and the names of this exporter
 * are allowed there.
 */
#ifndef WEIR_EXPORTER_HEADERS_H
#define WEIR_EXPORTER_HEADERS_H

#include <stdbool.h>

#include "text.h"

#define HOSTS_MOST 16
#define HOST_BYTES 256 /* most bytes of a name, with its end */

struct host_names {
	const char *names[HOSTS_MOST]; /* other than addresses, localhost and the machine's name */
	unsigned n;
	char machine[HOST_BYTES]; /* "" until host_names_complete() */
};

/* Adds the machine's name. */
void host_names_complete(struct host_names *names);

/* Returns whether a word of the command line can be a name: it has no port. */
bool host_name_valid(const char *name);

/*
 * Returns whether a Host header has a name of this exporter, with any port: a proxy or tunnel can
 * have another port. A request without the header (NULL) is allowed, because every browser sends
 * one.
 */
bool host_allowed(const struct host_names *names, const char *header);

/*
 * Returns the format that a request's Accept header (NULL: none) prefers. It is OpenMetrics only if
 * the header names it, with version 1.0.0, 0.0.1 or none, and does not prefer plain text. So
 * browsers and old scrapers get the older format.
 */
enum text_format accept_format(const char *header);

/* Returns the value of Content-Type. */
const char *accept_content_type(enum text_format format);

#endif
