/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * POST of a JSON text to the first of several endpoints that answers; the one that did is asked
 * first the next time. A request may reach more than one of them: it has to be one that may.
 *
 * One thread, but for http_give_up().
 */
#ifndef WEIR_ETCD_HTTP_H
#define WEIR_ETCD_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "etcd/request.h"

struct http;

/* Takes the endpoints, files and the timeout of params, which are copied. 0, -EINVAL or -ENOMEM. */
int http_open(const struct etcd_params *params, struct http **out);
void http_close(struct http *http);

/* From now on requests end soon, and in vain. Any thread. */
void http_give_up(struct http *http);
bool http_given_up(const struct http *http);

/* Whether requests are sent with a token. The thread that posts. */
bool http_logged_in(const struct http *http);

/*
 * The answer's body, valid until the next request. 0; -ENETUNREACH (none could be asked),
 * -ETIMEDOUT (one was, and did not answer), -EACCES (the login was refused, or there is a need of
 * one and nobody to log in), -EPERM (the user has no right to this), -EPROTO (one answered with
 * something else; in `why`, in words) or -ENOMEM.
 */
int http_post(struct http *http, const char *path, const char *body, const char **answer,
	size_t *len, char why[ETCD_WHY_MAX]);

#endif
