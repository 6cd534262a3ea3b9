/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Transactions of etcd v3 in the JSON of its gateway: keys and values are base64, 64-bit numbers
 * are strings, and zeros are missing.
 */
#include "etcd/kv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define TRANSACTION "/v3/kv/txn"
#define VARIANT     sodium_base64_VARIANT_ORIGINAL

static json_t *encode_base64(const char *text)
{
	size_t len = strlen(text), room = sodium_base64_encoded_len(len, VARIANT);
	char *base64 = malloc(room);
	json_t *string;

	if (!base64)
		return NULL;
	sodium_bin2base64(base64, room, (const unsigned char *)text, len, VARIANT);
	string = json_string(base64);
	free(base64);
	return string;
}

static int decode_base64(const json_t *string, char value[KV_VALUE_MAX])
{
	const char *base64 = json_string_value(string);
	size_t len = 0;

	value[0] = '\0';
	if (!string)
		return 0; /* an empty value is missing */
	if (!base64 || sodium_base642bin((unsigned char *)value, KV_VALUE_MAX - 1, base64,
			       strlen(base64), NULL, &len, NULL, VARIANT))
		return -EPROTO;
	value[len] = '\0';
	return strlen(value) == len ? 0 : -EPROTO;
}

json_t *kv_if_unchanged(const char *key, const struct kv *kv)
{
	return json_pack("{s:o, s:s, s:s, s:s}", "key", encode_base64(key), "target", "MOD",
		"result", "EQUAL", "mod_revision", kv->revision);
}

static json_t *if_value(const char *key, const char *result, const char *value)
{
	return json_pack("{s:o, s:s, s:s, s:o}", "key", encode_base64(key), "target", "VALUE",
		"result", result, "value", encode_base64(value));
}

json_t *kv_if_equal(const char *key, const char *value)
{
	return if_value(key, "EQUAL", value);
}

json_t *kv_if_less(const char *key, const char *value)
{
	return if_value(key, "LESS", value);
}

json_t *kv_put(const char *key, const char *value)
{
	return json_pack("{s:{s:o, s:o}}", "request_put", "key", encode_base64(key), "value",
		encode_base64(value));
}

json_t *kv_get(const char *key)
{
	return json_pack("{s:{s:o}}", "request_range", "key", encode_base64(key));
}

/*
 * Reads {"response_range": {"kvs": [{"mod_revision": "7", "value": "..."}]}}; kvs is missing if
 * empty.
 */
static int read_one(const json_t *response, struct kv *kv)
{
	const json_t *range = json_object_get(response, "response_range");
	const json_t *found = json_array_get(json_object_get(range, "kvs"), 0);
	const char *revision = json_string_value(json_object_get(found, "mod_revision"));

	if (!json_is_object(range))
		return -EPROTO;
	*kv = (struct kv){.revision = "0"};
	if (!found)
		return 0;
	if (!revision || strlen(revision) >= sizeof(kv->revision))
		return -EPROTO;
	strncpy(kv->revision, revision, sizeof(kv->revision) - 1);
	return decode_base64(json_object_get(found, "value"), kv->value);
}

/* Reads the responses of gets; a put has one response, too. */
static int read_answer(const json_t *root, bool *held, struct kv *got, unsigned n)
{
	const json_t *responses = json_object_get(root, "responses");
	int err = 0;

	if (!json_is_object(json_object_get(root, "header")))
		return -EPROTO;
	*held = json_is_true(json_object_get(root, "succeeded"));
	if (json_object_get(json_array_get(responses, 0), "response_range") == NULL)
		return 0;
	for (unsigned i = 0; i < n && err == 0; i++)
		err = read_one(json_array_get(responses, i), &got[i]);
	return err;
}

int kv_read_answer(const char *answer, size_t len, bool *held, struct kv *got, unsigned n,
	char why[ETCD_WHY_MAX])
{
	json_t *root = json_loadb(answer, len, JSON_REJECT_DUPLICATES, NULL);
	int err = read_answer(root, held, got, n);

	if (err)
		snprintf(why, ETCD_WHY_MAX, "not understood: %.*s", (int)(len < 120 ? len : 120),
			answer);
	json_decref(root);
	return err;
}

int kv_transact(struct http *http, json_t *ifs, json_t *then, json_t *otherwise, bool *held,
	struct kv *got, unsigned n, char why[ETCD_WHY_MAX])
{
	json_t *root = json_pack(
		"{s:o, s:o, s:o}", "compare", ifs, "success", then, "failure", otherwise);
	char *body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	const char *answer;
	size_t len;
	int err = body ? http_post(http, TRANSACTION, body, &answer, &len, why) : -ENOMEM;

	if (err == 0)
		err = kv_read_answer(answer, len, held, got, n, why);
	free(body);
	json_decref(root);
	return err;
}
