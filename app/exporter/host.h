/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whom a request may take this exporter for. A page of somebody else's can have its own name lead
 * here (DNS rebinding), and a browser would let it read what is served; but the request has that
 * name in its Host header, which is neither an address nor one of ours.
 */
#ifndef WEIR_EXPORTER_HOST_H
#define WEIR_EXPORTER_HOST_H

#include <stdbool.h>

#define HOSTS_MOST 16
#define HOST_BYTES 256 /* of a name, with its end */

struct host_names {
	const char *names[HOSTS_MOST]; /* beside addresses, localhost and the machine's name */
	unsigned n;
	char machine[HOST_BYTES]; /* ""; host_names_complete() */
};

/* Adds the machine's name. */
void host_names_complete(struct host_names *names);

/* Whether a word of the command line can be a name: without a port. */
bool host_name_valid(const char *name);

/*
 * Whether a Host header names this exporter, at whatever port: a proxy or a tunnel may have
 * another. Without one (NULL) it does, since every browser sends it.
 */
bool host_allowed(const struct host_names *names, const char *header);

#endif
