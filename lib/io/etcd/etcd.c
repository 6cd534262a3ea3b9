/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas stored in etcd (v3, through its JSON gateway), so that no limiter owns them.
 */
#include "etcd/etcd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <sodium.h>

#include "etcd/login.h"
#include "etcd/request_table.h"

/* Wait in etcd_close(): a cancelled request ends immediately, but a name lookup might not. */
#define PATIENCE_MS 2000

struct etcd {
	struct http *http;
	struct allocation_session allocation_session; /* used by the thread */
	struct asks asks;                             /* used by the caller, except a pending one */
	struct offload offload;
};

static void draw_ask(void *context)
{
	struct ask *ask = context;

	draw(ask->allocation_session, &ask->draw, &ask->drawn, &ask->answer);
}

static int set_up_etcd(struct etcd *etcd, const struct etcd_params *params)
{
	uint64_t lot;
	int err = http_open(params, &etcd->http);

	if (err)
		return err;
	randombytes_buf(&lot, sizeof(lot));
	err = allocation_session_init(&etcd->allocation_session, etcd->http, params, lot);
	if (err == 0)
		err = offload_start(&etcd->offload);
	if (err)
		http_close(etcd->http);
	else
		offload_name(&etcd->offload, "weir-etcd");
	return err;
}

/* libcurl counts the initializations. The first must precede other threads that use it. */
int etcd_open(const struct etcd_params *params, struct etcd **out)
{
	struct etcd *etcd;
	int err;

	if (params->n_endpoints == 0 || params->epoch == 0 || params->timeout_ms == 0)
		return -EINVAL;
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	etcd = calloc(1, sizeof(*etcd));
	err = etcd ? set_up_etcd(etcd, params) : -ENOMEM;
	if (err) {
		free(etcd);
		curl_global_cleanup();
		return err;
	}
	*out = etcd;
	return 0;
}

int etcd_password_check(const char *file, uid_t user, char why[ETCD_WHY_MAX])
{
	char *body = sodium_init() < 0 ? NULL : login_body("", file, user, why);

	sodium_free(body);
	return body ? 0 : -EACCES;
}

void etcd_close(struct etcd *etcd)
{
	if (!etcd)
		return;
	http_give_up(etcd->http);
	if (!offload_stop(&etcd->offload, PATIENCE_MS))
		return;
	http_close(etcd->http);
	asks_free(&etcd->asks);
	free(etcd);
	curl_global_cleanup();
}

int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw)
{
	size_t len = strnlen(draw->budget, sizeof(draw->budget));
	struct ask *ask;

	if (len == 0 || len == sizeof(draw->budget) || memchr(draw->budget, '/', len))
		return -EINVAL;
	ask = asks_find(&etcd->asks, draw->budget);
	if (!ask)
		return -ENOMEM;
	if (ask->busy)
		return -EBUSY;
	ask->busy = true;
	ask->draw.period = draw->period;
	ask->draw.total = draw->total;
	ask->draw.units = draw->units;
	ask->allocation_session = &etcd->allocation_session;
	ask->job = (struct offload_job){.work = draw_ask, .context = ask};
	offload_submit(&etcd->offload, &ask->job);
	return 0;
}

int etcd_fd(const struct etcd *etcd)
{
	return offload_fd(&etcd->offload);
}

int etcd_answer(struct etcd *etcd, struct etcd_answer *answer)
{
	struct ask *ask = offload_collect(&etcd->offload);

	if (!ask)
		return -EAGAIN;
	*answer = ask->answer;
	ask->busy = false;
	return 0;
}
