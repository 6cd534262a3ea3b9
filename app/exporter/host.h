/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Names of this exporter that a request can have. A foreign page can make its own name resolve to
 * this address (DNS rebinding), and a browser would then let it read the answers. But such a
 * request has the foreign name in its Host header. Only addresses and the names of this exporter
 * are allowed there.
 */
#ifndef WEIR_EXPORTER_HOST_H
#define WEIR_EXPORTER_HOST_H

#include <stdbool.h>

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

#endif
