/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Transactions for etcd 3.4, and its answers, valid and invalid.
 */
#include "check.h"

#include <sodium.h>

#include "etcd/kv.h"

static void check_json(json_t *json, const char *expected)
{
	char *text = json_dumps(json, JSON_COMPACT);

	assert_string_equal(text, expected);
	free(text);
	json_decref(json);
}

/* Keys and values of each length modulo three, because of base64. */
TEST(test_parts)
{
	const struct kv kv = {.value = "12", .revision = "41"};

	check_json(kv_if_unchanged("a", &kv),
		"{\"key\":\"YQ==\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"41\"}");
	check_json(kv_if_equal("ab", "1"),
		"{\"key\":\"YWI=\",\"target\":\"VALUE\",\"result\":\"EQUAL\",\"value\":\"MQ==\"}");
	check_json(kv_if_less("abc", ""),
		"{\"key\":\"YWJj\",\"target\":\"VALUE\",\"result\":\"LESS\",\"value\":\"\"}");
	check_json(kv_put("/weir/\xc3\xbf", "123"),
		"{\"request_put\":{\"key\":\"L3dlaXIvw78=\",\"value\":\"MTIz\"}}");
	check_json(kv_get("a"), "{\"request_range\":{\"key\":\"YQ==\"}}");
}

#define HEADER            "\"header\":{\"revision\":\"9\"}"
#define RANGE(found)      "{\"response_range\":{\"header\":{}" found "}}"
#define FOUND(kv)         RANGE(",\"kvs\":[{" kv "}],\"count\":\"1\"")
#define ANSWER(responses) "{" HEADER ",\"succeeded\":true,\"responses\":[" responses "]}"
/* The longest valid value, 63 bytes, and one more. */
#define X60     "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4"
#define LONGEST X60 "eHh4"
#define VALUE63 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct answer_row {
	const char *answer;
	bool held;
	const char *value, *revision; /* the first key's; NULL: unchanged */
};

static const struct answer_row understood[] = {
	/* The comparison failed, without other contents. */
	{"{" HEADER "}", false, NULL, NULL},
	{"{" HEADER ",\"succeeded\":true}", true, NULL, NULL},
	{"{" HEADER ",\"succeeded\":false}", false, NULL, NULL},
	{ANSWER("{\"response_put\":{}}"), true, NULL, NULL},
	{ANSWER(RANGE("")), true, "", "0"},
	{ANSWER(RANGE(",\"kvs\":[]")), true, "", "0"},
	{ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"MTIz\"")), true, "123", "7"},
	{ANSWER(FOUND("\"mod_revision\":\"7\"")), true, "", "7"},
	{ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"\"")), true, "", "7"},
	{ANSWER(FOUND("\"mod_revision\":\"9223372036854775807\",\"value\":\"MQ==\"")), true, "1",
		"9223372036854775807"},
	{ANSWER(FOUND("\"mod_revision\":\"12345678901234567890123\",\"value\":\"MQ==\"")), true,
		"1", "12345678901234567890123"},
	{ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"" LONGEST "\"")), true, VALUE63, "7"},
};

static const char *const refused[] = {
	ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"" LONGEST "eA==\"")),
	ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"M*==\"")),
	ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"MQ\"")),
	ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":12")),
	/* A NUL inside. */
	ANSWER(FOUND("\"mod_revision\":\"7\",\"value\":\"MQAx\"")),
	ANSWER(FOUND("\"value\":\"MQ==\"")),
	ANSWER(FOUND("\"mod_revision\":7,\"value\":\"MQ==\"")),
	ANSWER(FOUND("\"mod_revision\":\"123456789012345678901234\",\"value\":\"MQ==\"")),
	ANSWER("{\"response_range\":[]}"),
	"{\"succeeded\":true}",
	"{\"header\":7,\"succeeded\":true}",
	"{" HEADER "," HEADER "}",
	"[]",
	"{" HEADER "} more",
	"<html>",
	"",
};

TEST(test_understood)
{
	for (size_t i = 0; i < COUNT(understood); i++) {
		const struct answer_row *row = &understood[i];
		struct kv got = {.value = "before", .revision = "1"};
		char why[ETCD_WHY_MAX] = "";
		bool held = !row->held;

		if (kv_read_answer(row->answer, strlen(row->answer), &held, &got, 1, why))
			fail_msg("%s: refused", row->answer);
		assert_string_equal(why, "");
		assert_int_equal(held, row->held);
		assert_string_equal(got.value, row->value ? row->value : "before");
		assert_string_equal(got.revision, row->revision ? row->revision : "1");
	}
}

TEST(test_refused)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		char why[ETCD_WHY_MAX] = "";
		struct kv got;
		bool held;

		if (kv_read_answer(refused[i], strlen(refused[i]), &held, &got, 1, why) != -EPROTO)
			fail_msg("%s: not refused", refused[i]);
		assert_non_null(strstr(why, "not understood: "));
	}
}

/* Each key gets the contents of its own response, and each must have one. */
TEST(test_several_keys)
{
	static const char three[] = ANSWER(
		FOUND("\"mod_revision\":\"7\",\"value\":\"MQ==\"") "," RANGE("") "," FOUND(
			"\"mod_revision\":\"8\",\"value\":\"Mg==\""));
	char why[ETCD_WHY_MAX];
	struct kv got[4];
	bool held;

	assert_int_equal(kv_read_answer(three, sizeof(three) - 1, &held, got, 3, why), 0);
	assert_string_equal(got[0].value, "1");
	assert_string_equal(got[0].revision, "7");
	assert_string_equal(got[1].value, "");
	assert_string_equal(got[1].revision, "0");
	assert_string_equal(got[2].value, "2");
	assert_string_equal(got[2].revision, "8");
	assert_int_equal(kv_read_answer(three, sizeof(three) - 1, &held, got, 4, why), -EPROTO);
	assert_int_equal(kv_read_answer(three, sizeof(three) - 2, &held, got, 3, why), -EPROTO);
}

/* A message shows enough of an answer to identify its sender, and not more than was received. */
TEST(test_what_is_shown)
{
	char text[121], why[ETCD_WHY_MAX], expected[ETCD_WHY_MAX];
	struct kv got;
	bool held;

	memset(text, 'x', sizeof(text));
	assert_int_equal(kv_read_answer(text, 3, &held, &got, 1, why), -EPROTO);
	assert_string_equal(why, "not understood: xxx");
	snprintf(expected, sizeof(expected), "not understood: %.120s", text);
	assert_int_equal(kv_read_answer(text, sizeof(text), &held, &got, 1, why), -EPROTO);
	assert_string_equal(why, expected);
}

static int start_sodium(void **state)
{
	return sodium_init() < 0;
}

TEST_GROUP(start_sodium, NULL)
