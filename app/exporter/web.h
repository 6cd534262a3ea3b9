/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The HTTP side, by libmicrohttpd, in one thread that waits for no limiter: GET and HEAD of
 * "/metrics", and of "/", the page, with what that loads.
 */
#ifndef WEIR_EXPORTER_WEB_H
#define WEIR_EXPORTER_WEB_H

#include "host.h"
#include "reporter.h"

struct web;

/*
 * Listens at "127.0.0.1:9947" or "[::1]:9947"; an empty host is every address. 0 and *web, or a
 * negative errno: -EINVAL for what is no address. interval_ms: between two events of the page.
 * reporter: of which metrics tell; NULL: none. Requests that take it for another host than `names`
 * get status 421.
 */
int web_open(const char *address, const struct boxes_options *options,
	const struct host_names *names, unsigned interval_ms, struct reporter *reporter,
	struct web **web);

/* Serves until something is to be read from signal_fd. */
void web_run(struct web *web, int signal_fd);

void web_close(struct web *web);

#endif
