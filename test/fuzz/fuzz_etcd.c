/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as the answer of etcd to a transaction or a login, with any status. Every accepted text
 * is bounded, terminated, and cannot add a line to a request's header. Also as a value, a user and
 * a password: each is the same after it was written and read.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

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

/* A server answers with the value that a transaction wrote. */
static void check_value(const char *text)
{
	json_t *put = kv_put("/weir/key", text), *head = json_object(), *found;
	const json_t *value = json_object_get(json_object_get(put, "request_put"), "value");
	bool held, fits = strlen(text) < KV_VALUE_MAX;
	char why[ETCD_WHY_MAX], *answer;
	struct kv got;

	found = json_pack("{s:o, s:[{s:{s:[{s:s, s:O}]}}]}", "header", head, "responses",
		"response_range", "kvs", "mod_revision", "7", "value", value);
	answer = json_dumps(found, JSON_COMPACT);
	must((kv_read_answer(answer, strlen(answer), &held, &got, 1, why) == 0) == fits);
	must(!fits || strcmp(got.value, text) == 0);
	free(answer);
	json_decref(found);
	json_decref(put);
}

static void check_conditions(const char *text)
{
	struct kv unchanged = {.revision = "7"};
	json_t *ifs[] = {kv_if_unchanged(text, &unchanged), kv_if_equal(text, "v"),
		kv_if_less("k", text), kv_get(text)};

	for (unsigned i = 0; i < sizeof(ifs) / sizeof(ifs[0]); i++) {
		must(json_is_object(ifs[i]));
		json_decref(ifs[i]);
	}
}

/* The words before and after a space are the user and the contents of the password file. */
static void check_body(char *user, const char *password)
{
	static int file = -1;
	static char path[32];
	char why[ETCD_WHY_MAX] = "", *body;
	size_t len = strlen(password);
	json_t *login;

	if (file < 0) {
		file = memfd_create("password", MFD_CLOEXEC);
		must(file >= 0 && fchmod(file, 0600) == 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	must(ftruncate(file, 0) == 0 && pwrite(file, password, len, 0) == (ssize_t)len);
	body = login_body(user, path, geteuid(), why);
	must(body != NULL || why[0] != '\0');
	login = body != NULL ? json_loads(body, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (login != NULL) { /* the body must be UTF-8 */
		const char *read = json_string_value(json_object_get(login, "password"));

		must(strcmp(json_string_value(json_object_get(login, "name")), user) == 0);
		must(strncmp(read, password, strlen(read)) == 0 && len - strlen(read) <= 1);
	}
	json_decref(login);
	sodium_free(body);
}

static void fuzz_texts(const char *bytes, size_t len)
{
	char *text = strndup(bytes, len), *space = strchr(text, ' ');

	check_value(text);
	check_conditions(text);
	if (space != NULL) {
		*space = '\0';
		for (const char *at = text; *at; at++)
			if ((unsigned char)*at < ' ')
				*space = ' '; /* the configuration refuses it */
		if (*space == '\0')
			check_body(text, space + 1);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *answer = (const char *)data;

	if (size == 0)
		return 0;
	must(sodium_init() >= 0);
	must(login_interpret(200 + 2L * data[0], answer + 1, size - 1) <= LOGIN_OFF);
	fuzz_transaction(answer + 1, size - 1);
	fuzz_login(answer + 1, size - 1);
	fuzz_texts(answer + 1, size - 1);
	return 0;
}
