/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The HTTP server, with libmicrohttpd, in one thread that waits for no limiter. Serves GET and HEAD
 * of "/metrics", and of "/", the page, with the files and data that it loads.
 */
#ifndef WEIR_EXPORTER_WEB_H
#define WEIR_EXPORTER_WEB_H

#include "headers.h"
#include "reporter.h"

struct web;

/*
 * Listens at an address like "127.0.0.1:9947" or "[::1]:9947"; an empty host means every address.
 * Returns 0 and *web, or a negative errno: -EINVAL for an invalid address. interval_ms: between two
 * events of the page. reporter: its totals become metrics; NULL: none. Requests with a host not in
 * `names` get status 421.
 */
int web_open(const char *address, const struct boxes_options *options,
	const struct host_names *names, unsigned interval_ms, struct reporter *reporter,
	struct web **web);

/* Serves until signal_fd is readable. */
void web_run(struct web *web, int signal_fd);

void web_close(struct web *web);

#endif
