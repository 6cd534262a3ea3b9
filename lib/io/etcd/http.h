/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Posts a JSON text to the first of several endpoints that answers, and starts with that one the
 * next time. A request can reach several endpoints, so it must be safe to repeat.
 *
 * One thread, except for http_give_up().
 */
#ifndef WEIR_ETCD_HTTP_H
#define WEIR_ETCD_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "etcd/request.h"

struct http;

/* Copies the endpoints, files and the timeout of params. Returns 0, -EINVAL or -ENOMEM. */
int http_open(const struct etcd_params *params, struct http **out);
void http_close(struct http *http);

/* Makes present and later requests fail soon. Any thread. */
void http_give_up(struct http *http);
bool http_given_up(const struct http *http);

/* Returns true if requests carry a token. Called by the thread that posts. */
bool http_logged_in(const struct http *http);

/*
 * Returns the body of the answer, valid until the next request.
 *
 *   0             success
 *   -ENETUNREACH  no endpoint was reachable
 *   -ETIMEDOUT    an endpoint received the request, and did not answer
 *   -EACCES       the login failed, or one is necessary and there is no user
 *   -EPERM        the user has no right to these keys
 *   -EPROTO       another answer, in words in `why`
 *   -ENOMEM
 */
int http_post(struct http *http, const char *path, const char *body, const char **answer,
	size_t *len, char why[ETCD_WHY_MAX]);

#endif
