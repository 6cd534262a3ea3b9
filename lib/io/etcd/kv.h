/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Transactions of etcd v3 in the JSON of its gateway: keys and values in base64, 64-bit numbers as
 * strings, and what is zero left out.
 */
#ifndef WEIR_ETCD_KV_H
#define WEIR_ETCD_KV_H

#include <jansson.h>

#include "etcd/http.h"

#define KV_VALUE_MAX 64 /* bytes of a value that is understood, with a terminator */

/* What a key has. */
struct kv {
	char value[KV_VALUE_MAX]; /* "" when it is not there */
	char revision[24];        /* of the last change; "0" when it is not there */
};

/* A transaction's parts; each function returns NULL when there is no memory. */
json_t *kv_if_unchanged(const char *key, const struct kv *kv);
json_t *kv_if_equal(const char *key, const char *value);
json_t *kv_if_less(const char *key, const char *value); /* what is there, and in bytes */
json_t *kv_put(const char *key, const char *value);
json_t *kv_get(const char *key);

/*
 * Reads an answer to a transaction, whatever its bytes: `held` and `got` as kv_transact() has them.
 * 0 or -EPROTO, and `why` shows how it begins.
 */
int kv_read_answer(const char *answer, size_t len, bool *held, struct kv *got, unsigned n,
	char why[ETCD_WHY_MAX]);

/*
 * Takes the three lists, also when it fails or one of them is NULL. `got` are what the n kv_get()
 * found, if the list that was done consists of them; otherwise they stay what they were. 0; what
 * http_post() says; -EPROTO or -ENOMEM.
 */
int kv_transact(struct http *http, json_t *ifs, json_t *then, json_t *otherwise, bool *held,
	struct kv *got, unsigned n, char why[ETCD_WHY_MAX]);

#endif
