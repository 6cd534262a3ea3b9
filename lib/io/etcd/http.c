/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Posts a JSON text to the first of several endpoints that answers, and starts with that one the
 * next time.
 */
#include "etcd/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <curl/curl.h>
#include <sodium.h>

#include "etcd/login.h"

#define URL_MAX     2048
#define WHY_OF_BODY 120
#define ANSWER_MAX  65536 /* for four short values */
#define HTTP_OK     200
#define HTTP_SERVER 500 /* or above: temporary failure, another endpoint might work */

struct http {
	CURL *easy;
	struct curl_slist *headers;
	char **endpoints;
	unsigned n_endpoints, current;
	char *user, *password_file;  /* NULL: no login */
	char token[LOGIN_TOKEN_MAX]; /* token of the last login; "": none */
	bool open;                   /* the last login found that authentication is off */
	bool given_up;
	size_t len;
	char answer[ANSWER_MAX];
	char error[CURL_ERROR_SIZE];
};

static size_t collect_body(char *data, size_t size, size_t n, void *context)
{
	struct http *http = context;
	size_t len = size * n;

	if (len > sizeof(http->answer) - http->len)
		return 0; /* aborts with CURLE_WRITE_ERROR */
	memcpy(http->answer + http->len, data, len);
	http->len += len;
	return len;
}

static int curl_progress(
	void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) /* unused */
{
	(void)a, (void)b, (void)c, (void)d;
	return http_given_up(context);
}

/*
 * Disables proxies from the environment, and redirects: requests go only to configured endpoints.
 */
static CURLcode set_behaviour(struct http *http, unsigned timeout_ms)
{
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_NOPROGRESS, 0},
		{CURLOPT_TCP_KEEPALIVE, 1},
		{CURLOPT_TIMEOUT_MS, (long)timeout_ms},
		{CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms},
	};
	CURLcode code = curl_easy_setopt(http->easy, CURLOPT_PROXY, "");

	for (size_t i = 0; code == CURLE_OK && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		code = curl_easy_setopt(http->easy, numbers[i].option, numbers[i].value);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	return code;
}

static CURLcode set_callbacks(struct http *http)
{
	CURLcode code = curl_easy_setopt(http->easy, CURLOPT_WRITEFUNCTION, collect_body);

	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_WRITEDATA, http);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_XFERINFOFUNCTION, curl_progress);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_XFERINFODATA, http);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_ERRORBUFFER, http->error);
	return code;
}

/* curl copies strings. */
static CURLcode set_files(struct http *http, const struct etcd_params *params)
{
	CURLcode code = CURLE_OK;

	if (params->ca_file)
		code = curl_easy_setopt(http->easy, CURLOPT_CAINFO, params->ca_file);
	if (code == CURLE_OK && params->cert_file)
		code = curl_easy_setopt(http->easy, CURLOPT_SSLCERT, params->cert_file);
	if (code == CURLE_OK && params->key_file)
		code = curl_easy_setopt(http->easy, CURLOPT_SSLKEY, params->key_file);
	return code;
}

static int add_header(struct http *http, const char *line)
{
	struct curl_slist *longer = curl_slist_append(http->headers, line);

	if (!longer)
		return -ENOMEM;
	http->headers = longer;
	return 0;
}

/*
 * Sets the headers, with the token if there is one. Removes "Expect: 100-continue", for which curl
 * would wait.
 */
static int set_headers(struct http *http, const char *token)
{
	char line[LOGIN_TOKEN_MAX + 32];

	curl_slist_free_all(http->headers);
	http->headers = NULL;
	snprintf(line, sizeof(line), "Authorization: %s", token);
	if (add_header(http, "Content-Type: application/json") || add_header(http, "Expect:") ||
		(token[0] && add_header(http, line)))
		return -ENOMEM;
	return curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, http->headers) ? -ENOMEM : 0;
}

static int copy_endpoints(struct http *http, const struct etcd_params *params)
{
	http->endpoints = calloc(params->n_endpoints, sizeof(*http->endpoints));
	if (!http->endpoints)
		return -ENOMEM;
	http->n_endpoints = params->n_endpoints;
	for (unsigned i = 0; i < params->n_endpoints; i++) {
		size_t len = strlen(params->endpoints[i]);

		while (len > 0 && params->endpoints[i][len - 1] == '/')
			len--;
		http->endpoints[i] = strndup(params->endpoints[i], len);
		if (!http->endpoints[i])
			return -ENOMEM;
	}
	return 0;
}

static int set_up_http(struct http *http, const struct etcd_params *params)
{
	int err = copy_endpoints(http, params);
	CURLcode code;

	if (err == 0 && params->user) {
		http->user = strdup(params->user);
		http->password_file = strdup(params->password_file);
		if (!http->user || !http->password_file)
			err = -ENOMEM;
	}
	if (err)
		return err;
	http->easy = curl_easy_init();
	if (!http->easy)
		return -ENOMEM;
	code = set_behaviour(http, params->timeout_ms);
	if (code == CURLE_OK)
		code = set_callbacks(http);
	if (code == CURLE_OK)
		code = set_files(http, params);
	if (code != CURLE_OK)
		return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
	return set_headers(http, http->token);
}

int http_open(const struct etcd_params *params, struct http **out)
{
	struct http *http = calloc(1, sizeof(*http));
	int err;

	if (!http)
		return -ENOMEM;
	err = set_up_http(http, params);
	if (err) {
		http_close(http);
		return err;
	}
	*out = http;
	return 0;
}

void http_close(struct http *http)
{
	for (unsigned i = 0; i < http->n_endpoints; i++)
		free(http->endpoints[i]);
	free(http->endpoints);
	curl_easy_cleanup(http->easy);
	curl_slist_free_all(http->headers);
	free(http->user);
	free(http->password_file);
	sodium_memzero(http->token, sizeof(http->token));
	free(http);
}

void http_give_up(struct http *http)
{
	__atomic_store_n(&http->given_up, true, __ATOMIC_RELAXED);
}

bool http_given_up(const struct http *http)
{
	return __atomic_load_n(&http->given_up, __ATOMIC_RELAXED);
}

static int errno_of_curl(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		return -ENETUNREACH;
	case CURLE_WRITE_ERROR:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION:
		return -EPROTO;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return -ETIMEDOUT;
	}
}

bool http_logged_in(const struct http *http)
{
	return http->token[0] != '\0';
}

/* Returns the errno for the status. etcd has the reason in its body. */
static int interpret_status(struct http *http, const char *url, char why[ETCD_WHY_MAX])
{
	static const int errors[] = {
		[LOGIN_FINE] = -EPROTO,
		[LOGIN_NEEDED] = -ENOKEY,
		[LOGIN_REFUSED] = -EACCES,
		[LOGIN_DENIED] = -EPERM,
		[LOGIN_OFF] = -EOPNOTSUPP,
	};
	int len = (int)(http->len < WHY_OF_BODY ? http->len : WHY_OF_BODY);
	long status = 0;

	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == HTTP_OK)
		return 0;
	snprintf(why, ETCD_WHY_MAX, "%.80s: HTTP %ld: %.*s", url, status, len, http->answer);
	if (status >= HTTP_SERVER)
		return -ETIMEDOUT;
	return errors[login_interpret(status, http->answer, http->len)];
}

static int post_to(struct http *http, const char *endpoint, const char *path, const char *body,
	char why[ETCD_WHY_MAX])
{
	char url[URL_MAX];
	CURLcode code;

	if (snprintf(url, sizeof(url), "%s%s", endpoint, path) >= (int)sizeof(url))
		return -EPROTO;
	http->len = 0;
	http->error[0] = '\0';
	code = curl_easy_setopt(http->easy, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, body);
	if (code == CURLE_OK)
		code = curl_easy_perform(http->easy);
	if (code == CURLE_OK)
		return interpret_status(http, url, why);
	snprintf(why, ETCD_WHY_MAX, "%.80s: %.150s", endpoint,
		code == CURLE_WRITE_ERROR ? "the answer is too long"
		: http->error[0]          ? http->error
					  : curl_easy_strerror(code));
	return errno_of_curl(code);
}

/*
 * Replaces the token by a new one; keeps it if there is no answer. The request does not carry the
 * old token, because etcd rejects a login with an invalid one.
 */
static int log_in(struct http *http, const char *endpoint, char why[ETCD_WHY_MAX])
{
	char *body = login_body(http->user, http->password_file, geteuid(), why);
	int err = body ? set_headers(http, "") : -EACCES, again;

	if (err == 0)
		err = post_to(http, endpoint, LOGIN_PATH, body, why);
	sodium_free(body);
	http->open = err == -EOPNOTSUPP;
	if (err == 0)
		err = login_token(http->answer, http->len, http->token);
	else if (http->open)
		http->token[0] = '\0', err = 0;
	else if (err == -ENOKEY || err == -EPERM)
		err = -EACCES;
	sodium_memzero(http->answer, http->len);
	again = set_headers(http, http->token);
	return err ? err : again;
}

/* Posts with a token, and logs in again if the token is no longer valid. */
static int post_as_user(struct http *http, const char *endpoint, const char *path, const char *body,
	char why[ETCD_WHY_MAX])
{
	bool first = http->user && !http_logged_in(http) && !http->open;
	int err = first ? log_in(http, endpoint, why) : 0;

	if (err == 0)
		err = post_to(http, endpoint, path, body, why);
	if (err == -ENOKEY && http->user && !first) {
		err = log_in(http, endpoint, why);
		if (err == 0)
			err = post_to(http, endpoint, path, body, why);
	}
	if (err == -EOPNOTSUPP)
		return -EPROTO;
	return err == -ENOKEY ? -EACCES : err;
}

/*
 * Returns the more informative of two errors: the first in the table. -ETIMEDOUT precedes
 * -ENETUNREACH, because the request might have had an effect.
 */
static int worse_error(int a, int b)
{
	static const int order[] = {-EPROTO, -ENOMEM, -ETIMEDOUT, -ENETUNREACH};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

int http_post(struct http *http, const char *path, const char *body, const char **answer,
	size_t *len, char why[ETCD_WHY_MAX])
{
	int err = 0;

	for (unsigned tries = 0; tries < http->n_endpoints && !http_given_up(http); tries++) {
		int now = post_as_user(http, http->endpoints[http->current], path, body, why);

		if (now == 0) {
			*answer = http->answer;
			*len = http->len;
			return 0;
		}
		if (now == -EACCES || now == -EPERM)
			return now; /* same on every member */
		err = worse_error(now, err);
		http->current = (http->current + 1) % http->n_endpoints;
	}
	return err ? err : -ENETUNREACH;
}
