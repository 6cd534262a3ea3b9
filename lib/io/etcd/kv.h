/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Transactions of etcd v3 in the JSON of its gateway: keys and values are base64, 64-bit numbers
 * are strings, and zeros are missing.
 */
#ifndef WEIR_ETCD_KV_H
#define WEIR_ETCD_KV_H

#include <jansson.h>

#include "etcd/http.h"

#define KV_VALUE_MAX 64 /* bytes of the longest supported value, with a terminator */

/* The value of a key. */
struct kv {
	char value[KV_VALUE_MAX]; /* "" if the key does not exist */
	char revision[24];        /* revision of the last change; "0" if it does not exist */
};

/* Return the parts of a transaction, or NULL if there is no memory. */
json_t *kv_if_unchanged(const char *key, const struct kv *kv);
json_t *kv_if_equal(const char *key, const char *value);
json_t *kv_if_less(const char *key, const char *value); /* the key exists; compares bytes */
json_t *kv_put(const char *key, const char *value);
json_t *kv_get(const char *key);

/*
 * Reads the answer to a transaction, which can be any bytes. See kv_transact() for `held` and
 * `got`. Returns 0, or -EPROTO with the beginning of the answer in `why`.
 */
int kv_read_answer(const char *answer, size_t len, bool *held, struct kv *got, unsigned n,
	char why[ETCD_WHY_MAX]);

/*
 * Executes a transaction. Takes over the three lists, also if it fails or one of them is NULL. Sets
 * *held if the conditions held. Sets `got` to the results of n kv_get(), if the executed list
 * consists of them. Returns 0, the error of http_post(), -EPROTO or -ENOMEM.
 */
int kv_transact(struct http *http, json_t *ifs, json_t *then, json_t *otherwise, bool *held,
	struct kv *got, unsigned n, char why[ETCD_WHY_MAX]);

#endif
