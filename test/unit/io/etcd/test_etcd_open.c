/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parameters that open a client of etcd, before it sends a request.
 */
#include "check.h"
#include "scope.h"

#include "etcd/etcd.h"

END_POINTER(etcd_close, struct etcd *)

static const char *const endpoints[] = {"http://127.0.0.1:1/"};

static struct etcd_params good_params(void)
{
	return (struct etcd_params){.endpoints = endpoints,
		.n_endpoints = 1,
		.prefix = "/weir",
		.limiter = "a",
		.epoch = 1,
		.timeout_ms = 100};
}

TEST(test_good)
{
	struct etcd_params params = good_params();
	ENDED_BY(etcd_close_at) struct etcd *etcd = NULL;

	assert_int_equal(etcd_open(&params, &etcd), 0);
	assert_non_null(etcd);
}

TEST(test_refused)
{
	/* Longer than libcurl accepts. */
	const size_t much = 9 * 1000 * 1000;
	char *path = malloc(much + 1);
	struct etcd_params rows[7];

	assert_non_null(path);
	memset(path, 'x', much);
	path[much] = '\0';
	for (unsigned i = 0; i < 7; i++)
		rows[i] = good_params();
	rows[0].n_endpoints = 0;
	rows[1].epoch = 0;
	rows[2].timeout_ms = 0;
	rows[3].ca_file = path;
	/* The other files are valid. */
	rows[4].ca_file = path;
	rows[4].cert_file = rows[4].key_file = "/k";
	rows[5].cert_file = path;
	rows[5].ca_file = rows[5].key_file = "/k";
	rows[6].key_file = path;
	rows[6].ca_file = rows[6].cert_file = "/k";
	for (unsigned i = 0; i < 7; i++) {
		struct etcd *etcd = NULL;

		assert_int_equal(etcd_open(&rows[i], &etcd), -EINVAL);
		assert_null(etcd);
	}
	free(path);
}
