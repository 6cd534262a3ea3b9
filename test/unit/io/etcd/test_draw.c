/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Draws from a quota, with an etcd of a few keys instead of HTTP. A request is fulfilled, and all
 * draws together never exceed the total. A limiter that was started elsewhere draws no more. Lost
 * requests and answers do no harm.
 */
#include "check.h"

#include <jansson.h>
#include <sodium.h>

#include "etcd/allocation.h"

#define KEYS  16
#define TOTAL 1000

struct key {
	char name[96], value[64];
	unsigned revision;
};

/* The fate of a transaction. */
enum fate { ARRIVES, REQUEST_LOST, ANSWER_LOST };

static struct {
	struct key keys[KEYS];
	unsigned n, revision, posts;
	enum fate fate;
	int error;            /* for lost ones */
	void (*before)(void); /* called before each transaction */
	bool given_up;
	char *answer;
} etcd;

static struct key *find_key(const char *name)
{
	for (unsigned i = 0; i < etcd.n; i++)
		if (strcmp(etcd.keys[i].name, name) == 0)
			return &etcd.keys[i];
	return NULL;
}

static void put_key(const char *name, const char *value)
{
	struct key *key = find_key(name);

	if (!key)
		key = &etcd.keys[etcd.n++];
	assert_true(etcd.n <= KEYS);
	snprintf(key->name, sizeof(key->name), "%s", name);
	snprintf(key->value, sizeof(key->value), "%s", value);
	key->revision = ++etcd.revision;
}

static const char *value_at(const char *name)
{
	const struct key *key = find_key(name);

	return key ? key->value : "";
}

static void plain_text(const json_t *base64, char *out, size_t size)
{
	const char *text = json_string_value(base64);
	size_t len;

	assert_non_null(text);
	assert_int_equal(sodium_base642bin((unsigned char *)out, size - 1, text, strlen(text), NULL,
				 &len, NULL, sodium_base64_VARIANT_ORIGINAL),
		0);
	out[len] = '\0';
}

static bool compare_holds(const json_t *compare)
{
	const char *target = json_string_value(json_object_get(compare, "target"));
	const char *result = json_string_value(json_object_get(compare, "result"));
	char name[96], value[64], revision[24];
	const struct key *key;

	plain_text(json_object_get(compare, "key"), name, sizeof(name));
	key = find_key(name);
	if (strcmp(target, "MOD") == 0) {
		snprintf(revision, sizeof(revision), "%u", key ? key->revision : 0);
		assert_string_equal(result, "EQUAL");
		return strcmp(json_string_value(json_object_get(compare, "mod_revision")),
			       revision) == 0;
	}
	assert_string_equal(target, "VALUE");
	plain_text(json_object_get(compare, "value"), value, sizeof(value));
	if (!key) /* a missing key has no value to compare */
		return false;
	return strcmp(result, "LESS") == 0 ? strcmp(key->value, value) < 0
					   : strcmp(key->value, value) == 0;
}

static json_t *found_of(const struct key *key)
{
	char text[128], revision[24];

	if (!key)
		return json_pack("{s:{s:{}}}", "response_range", "header");
	sodium_bin2base64(text, sizeof(text), (const unsigned char *)key->value, strlen(key->value),
		sodium_base64_VARIANT_ORIGINAL);
	snprintf(revision, sizeof(revision), "%u", key->revision);
	return json_pack("{s:{s:[{s:s,s:s}]}}", "response_range", "kvs", "mod_revision", revision,
		"value", text);
}

static json_t *done_of(const json_t *request)
{
	const json_t *put = json_object_get(request, "request_put");
	char name[96], value[64];

	plain_text(json_object_get(put ? put : json_object_get(request, "request_range"), "key"),
		name, sizeof(name));
	if (!put)
		return found_of(find_key(name));
	plain_text(json_object_get(put, "value"), value, sizeof(value));
	put_key(name, value);
	return json_pack("{s:{}}", "response_put");
}

static char *do_transaction(const char *body)
{
	json_t *root = json_loads(body, 0, NULL), *responses = json_array(), *answer, *item;
	bool holds = true;
	char *text;
	size_t i;

	assert_non_null(root);
	json_array_foreach (json_object_get(root, "compare"), i, item)
		holds = holds && compare_holds(item);
	json_array_foreach (json_object_get(root, holds ? "success" : "failure"), i, item)
		json_array_append_new(responses, done_of(item));
	answer = json_pack("{s:{},s:b,s:o}", "header", "succeeded", holds, "responses", responses);
	text = json_dumps(answer, 0);
	json_decref(answer);
	json_decref(root);
	return text;
}

/* Replaces the HTTP client, which is not linked. */
int http_post(struct http *http, const char *path, const char *body, const char **answer,
	size_t *len, char why[ETCD_WHY_MAX])
{
	enum fate fate;

	assert_string_equal(path, "/v3/kv/txn");
	etcd.posts++;
	if (etcd.before)
		etcd.before();
	fate = etcd.fate;
	free(etcd.answer);
	etcd.answer = fate == REQUEST_LOST ? NULL : do_transaction(body);
	if (fate != ARRIVES) {
		snprintf(why, ETCD_WHY_MAX, "lost\x1f\x7f\n.");
		return etcd.error;
	}
	*answer = etcd.answer;
	*len = strlen(etcd.answer);
	return 0;
}

bool http_given_up(const struct http *http)
{
	return etcd.given_up;
}

bool http_logged_in(const struct http *http)
{
	return true;
}

static void begin_etcd(void)
{
	free(etcd.answer);
	memset(&etcd, 0, sizeof(etcd));
	etcd.error = -ETIMEDOUT;
}

struct drawer {
	struct allocation_session session;
	struct drawn drawn;
	struct etcd_answer answer;
};

static struct drawer drawer_of(const char *limiter, uint64_t epoch, uint64_t lot)
{
	const struct etcd_params params = {.prefix = "/weir", .limiter = limiter, .epoch = epoch};
	struct drawer d = {0};

	assert_int_equal(allocation_session_init(&d.session, NULL, &params, lot), 0);
	return d;
}

static int draw_of(struct drawer *d, uint64_t units)
{
	const struct etcd_draw what = {.budget = "b", .period = 7, .total = TOTAL, .units = units};

	draw(&d->session, &what, &d->drawn, &d->answer);
	assert_int_equal(d->answer.period, 7);
	assert_string_equal(d->answer.budget, "b");
	if (d->answer.result == 0) {
		assert_true(d->answer.logged_in);
		assert_string_equal(d->answer.why, "");
	}
	return d->answer.result;
}

static void check_answer(const struct drawer *d, uint64_t total, uint64_t drawn, uint64_t left)
{
	assert_int_equal(d->answer.result, 0);
	assert_int_equal(d->answer.total, total);
	assert_int_equal(d->answer.drawn, drawn);
	assert_int_equal(d->answer.left, left);
}

#define B "/weir/quotas/b/"

TEST(test_drawn)
{
	struct drawer a = drawer_of("a", 10, 3), b = drawer_of("b", 1, 4);

	begin_etcd();
	draw_of(&a, 0);
	check_answer(&a, TOTAL, 0, TOTAL);
	assert_string_equal(value_at("/weir/limiters/a"), "000000000000000a-0000000000000003");
	assert_string_equal(value_at(B "7/drawn"), "");
	draw_of(&a, 300);
	check_answer(&a, TOTAL, 300, TOTAL - 300);
	assert_string_equal(value_at(B "7/drawn"), "300");
	assert_string_equal(value_at(B "7/drawn/a"), "300");
	draw_of(&b, 500);
	check_answer(&b, TOTAL, 500, 200);
	assert_string_equal(value_at(B "7/drawn"), "800");
	assert_string_equal(value_at(B "7/drawn/b"), "500");
	draw_of(&a, 0);
	check_answer(&a, TOTAL, 300, 200);
	draw_of(&a, 201);
	check_answer(&a, TOTAL, 500, 0);
	etcd.posts = 0;
	draw_of(&b, 1); /* nothing is left, and nothing is written */
	check_answer(&b, TOTAL, 500, 0);
	assert_int_equal(etcd.posts, 1);
}

/* A total that an operator sets, raises or lowers; and invalid ones. */
TEST(test_totals)
{
	static const char *const bad[] = {"", "x", "1x", "-1", " 1", "18446744073709551616",
		"99999999999999999999", "1\x01\x7f"};
	struct drawer a = drawer_of("a", 1, 1);

	begin_etcd();
	put_key(B "total", "18446744073709551615");
	draw_of(&a, 600);
	check_answer(&a, UINT64_MAX, 600, UINT64_MAX - 600);
	put_key(B "total", "500");
	draw_of(&a, 1);
	check_answer(&a, 500, 600, 0);
	put_key(B "total", "0601");
	draw_of(&a, 2);
	check_answer(&a, 601, 601, 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		put_key(B "total", bad[i]);
		assert_int_equal(draw_of(&a, 1), -EPROTO);
		assert_non_null(strstr(a.answer.why, "/weir/quotas/b/total: \""));
		for (const char *c = a.answer.why; *c; c++)
			assert_true(*c >= ' ' && *c < 0x7f);
	}
	assert_non_null(strstr(a.answer.why, "\"1??\" is not a number of units"));
	put_key(B "total", "700");
	put_key(B "7/drawn/a", "602"); /* more than the total */
	assert_int_equal(draw_of(&a, 1), -EPROTO);
	put_key(B "7/drawn/a", "601");
	put_key(B "7/drawn", "");
	assert_int_equal(draw_of(&a, 1), -EPROTO);
	put_key(B "7/drawn", "601");
	assert_int_equal(draw_of(&a, 1), 0);
	check_answer(&a, 700, 602, 98);
}

/* Only the newest start of a name draws; an earlier one, or a copy, does not. */
TEST(test_fenced)
{
	static const struct {
		uint64_t epoch, lot;
		bool fenced;
	} rows[] = {{5, 1, true}, {4, 9, true}, {5, 3, true}, {6, 0, false}, {16, 0, false}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct drawer first = drawer_of("a", 5, 2);
		struct drawer other = drawer_of("a", rows[i].epoch, rows[i].lot);
		struct drawer *one = rows[i].fenced ? &other : &first;
		struct drawer *winner = rows[i].fenced ? &first : &other;

		begin_etcd();
		assert_int_equal(draw_of(&first, 10), 0);
		assert_int_equal(draw_of(&other, 10), rows[i].fenced ? -ESTALE : 0);
		assert_int_equal(draw_of(&first, 10), rows[i].fenced ? 0 : -ESTALE);
		etcd.posts = 0;
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(draw_of(one, 10), -ESTALE);
		assert_int_equal(etcd.posts, 0); /* permanently */
		assert_int_equal(draw_of(winner, 10), 0);
		check_answer(winner, TOTAL, 30, TOTAL - 30);
	}
}

static struct drawer *rival;
static unsigned rivals;

static void rival_draws(void)
{
	if (rivals == 0)
		return;
	rivals--;
	etcd.before = NULL;
	assert_int_equal(draw_of(rival, 1), 0);
	etcd.before = rival_draws;
}

/* Others draw between the read and the write: it is tried again, up to a limit. */
TEST(test_races)
{
	static const unsigned times[] = {1, 7, 64, 65};

	for (size_t i = 0; i < COUNT(times); i++) {
		struct drawer a = drawer_of("a", 1, 1), b = drawer_of("b", 1, 2);
		bool lost = times[i] > 64;

		begin_etcd();
		rival = &b;
		assert_int_equal(draw_of(&a, 10), 0);
		assert_int_equal(draw_of(&b, 10), 0);
		rivals = times[i];
		etcd.before = rival_draws;
		assert_int_equal(draw_of(&a, 100), lost ? -EAGAIN : 0);
		rivals = 0;
		if (lost)
			assert_non_null(strstr(a.answer.why, "others drew first, 64 times"));
		else
			check_answer(&a, TOTAL, 110, TOTAL - 110 - 10 - times[i]);
	}
}

/* Between the read and the write. */
static void newer_start(void)
{
	if (etcd.posts == 2)
		put_key("/weir/limiters/a", "0000000000000002-0000000000000000");
}

static void lower_total(void)
{
	if (etcd.posts == 2)
		put_key(B "total", "15");
}

/* A change at the last moment is detected. */
TEST(test_last_moment)
{
	static void (*const changes[])(void) = {newer_start, lower_total};

	for (size_t i = 0; i < 2; i++) {
		struct drawer a = drawer_of("a", 1, 1);

		begin_etcd();
		assert_int_equal(draw_of(&a, 10), 0);
		etcd.before = changes[i];
		etcd.posts = 0;
		if (i == 0) {
			assert_int_equal(draw_of(&a, 10), -ESTALE);
			assert_string_equal(value_at(B "7/drawn"), "10");
		} else {
			draw_of(&a, 10);
			check_answer(&a, 15, 15, 0);
		}
	}
}

static unsigned lose_at;
static enum fate lose_how;

static void lose_one(void)
{
	etcd.fate = etcd.posts == lose_at + 1 ? lose_how : ARRIVES;
}

/*
 * For any lost request or answer: the draw is repeated, happens once, and its amount is correct in
 * the end.
 */
TEST(test_lost)
{
	for (unsigned how = REQUEST_LOST; how <= ANSWER_LOST; how++)
		for (unsigned at = 0; at < 4; at++) {
			struct drawer a = drawer_of("a", 1, 1);

			begin_etcd();
			lose_how = how;
			lose_at = at;
			etcd.before = lose_one;
			if (draw_of(&a, 100)) {
				assert_int_equal(a.answer.result, -ETIMEDOUT);
				assert_string_equal(a.answer.why, "lost???.");
				etcd.before = NULL;
				etcd.fate = ARRIVES;
				assert_int_equal(draw_of(&a, 100), 0);
			}
			check_answer(&a, TOTAL, 100, TOTAL - 100);
			etcd.before = NULL;
			etcd.fate = ARRIVES;
			assert_int_equal(draw_of(&a, 50), 0);
			check_answer(&a, TOTAL, 150, TOTAL - 150);
		}
}

TEST(test_rights)
{
	struct drawer a = drawer_of("a", 1, 1);

	begin_etcd();
	etcd.fate = REQUEST_LOST;
	etcd.error = -EPERM;
	assert_int_equal(draw_of(&a, 1), -EPERM);
	assert_string_equal(a.answer.why,
		"permission denied: the user has to read and write /weir/limiters/a, "
		"/weir/quotas/b/7/drawn and below, and to read /weir/quotas/b/total");
}

/* A restart finds the amount drawn before; a period starts with nothing drawn. */
TEST(test_after_restart)
{
	struct drawer a = drawer_of("a", 1, 1), again = drawer_of("a", 2, 1);
	struct etcd_draw what = {.budget = "b", .period = 8, .total = TOTAL, .units = 5};

	begin_etcd();
	assert_int_equal(draw_of(&a, 100), 0);
	assert_int_equal(draw_of(&again, 7), 0);
	check_answer(&again, TOTAL, 107, TOTAL - 107);
	draw(&again.session, &what, &again.drawn, &again.answer);
	check_answer(&again, TOTAL, 5, TOTAL - 5);
	assert_string_equal(value_at(B "8/drawn"), "5");
	/* The whole rest, if the wanted amount is beyond any number. */
	assert_int_equal(draw_of(&again, UINT64_MAX), 0);
	check_answer(&again, TOTAL, TOTAL, 0);
}

TEST(test_given_up)
{
	struct drawer a = drawer_of("a", 1, 1);

	begin_etcd();
	etcd.given_up = true;
	assert_int_equal(draw_of(&a, 1), -EAGAIN);
	assert_string_equal(value_at(B "7/drawn"), "");
}

TEST(test_bad_names)
{
	char name[DRAW_PREFIX_MAX + 1];
	struct etcd_params params = {.prefix = name, .limiter = "a", .epoch = 1};
	struct allocation_session session;

	memset(name, 'x', sizeof(name));
	name[DRAW_PREFIX_MAX] = '\0';
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), -EINVAL);
	name[DRAW_PREFIX_MAX - 1] = '\0';
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), 0);
	params = (struct etcd_params){.prefix = "", .limiter = name, .epoch = 1};
	name[ETCD_NAME_MAX] = '\0';
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), -EINVAL);
	name[ETCD_NAME_MAX - 1] = '\0';
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), 0);
	params.limiter = "";
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), -EINVAL);
	params.limiter = "a/b";
	assert_int_equal(allocation_session_init(&session, NULL, &params, 1), -EINVAL);
}

static int start_sodium(void **state)
{
	return sodium_init() < 0;
}

static int end_etcd(void **state)
{
	begin_etcd();
	return 0;
}

TEST_GROUP(start_sodium, end_etcd)
