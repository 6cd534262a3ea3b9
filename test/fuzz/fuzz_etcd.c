/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as what etcd answers to a transaction or a login, with any status: what is taken of it
 * is bounded, ended, and nothing that could become another line of a request's header.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/kv.h"
#include "etcd/login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEYS 4

static void must(int holds)
{
	if (!holds)
		abort();
}

static void fuzz_transaction(const char *answer, size_t len)
{
	struct kv got[KEYS];
	char why[ETCD_WHY_MAX];
	bool held;
	int err;

	memset(got, 0, sizeof(got));
	err = kv_read_answer(answer, len, &held, got, KEYS, why);
	must(err == 0 || err == -EPROTO);
	for (unsigned i = 0; i < KEYS; i++) {
		must(memchr(got[i].value, '\0', sizeof(got[i].value)) != NULL);
		must(memchr(got[i].revision, '\0', sizeof(got[i].revision)) != NULL);
	}
	must(err == 0 || memchr(why, '\0', sizeof(why)) != NULL);
}

static void fuzz_login(const char *answer, size_t len)
{
	char token[LOGIN_TOKEN_MAX];
	int err = login_token(answer, len, token);
	size_t n = strnlen(token, sizeof(token));

	must(n < sizeof(token) && (err == 0) == (n > 0));
	for (size_t i = 0; i < n; i++)
		must(token[i] > ' ' && token[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *answer = (const char *)data;

	if (size == 0)
		return 0;
	must(login_judge(200 + 2L * data[0], answer + 1, size - 1) <= LOGIN_OFF);
	fuzz_transaction(answer + 1, size - 1);
	fuzz_login(answer + 1, size - 1);
	return 0;
}
