/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Generated pages of policies, and the metrics that an oracle makes of the same rows as JSON.
 */
#include "check.h"

#include "answer_of.h"
#include "base/prng.h"
#include "metrics.h"

#define LIMITERS_MOST 3

static const char *const random_columns[] = {"name", "count", "limit_per_s", "local_limit_per_s",
	"peers_lost", "passed_packets", "passed_units", "dropped_units", "waiting_packets",
	"parent", "exceeding", "unknown", "demand_per_s", "red_units"};
#define RANDOM_COLUMNS (COUNT(random_columns))

static json_t *random_value(struct prng *prng, const char *column, unsigned row)
{
	static const char *const counts[] = {"bytes", "packets", "flows"};
	static const char *const words[] = {
		"up", "a \"b\" \\", "x\ty\n", "\xc3\xbc\xe2\x80\xae", ""};
	const char *word = words[prng_below(prng, 5)];

	if (strcmp(column, "name") == 0)
		return json_sprintf("%s%u", word, row);
	if (strcmp(column, "count") == 0)
		return json_string(counts[prng_below(prng, 3)]);
	if (prng_below(prng, 3) == 0)
		return json_null();
	if (strcmp(column, "parent") == 0 || strcmp(column, "exceeding") == 0)
		return json_string(word);
	if (prng_below(prng, 2))
		return json_real((prng_unit(prng) - 0.2) * (prng_below(prng, 2) ? 1e9 : 1e-9));
	return json_integer((json_int_t)(prng_next(prng) >> prng_below(prng, 64)));
}

/* Adds a page to the policies, and its rows to the list of all. */
static void add_random_page(
	struct prng *prng, const json_t *columns, struct policy_pages *policies, json_t *all)
{
	json_t *page = json_pack("{s:O, s:[]}", "columns", columns, "policies"), *column;
	json_t *rows = json_object_get(page, "policies");
	unsigned n = (unsigned)prng_below(prng, 40);
	size_t i;

	for (unsigned k = 0; k < n; k++) {
		json_t *row = json_array();

		json_array_foreach (columns, i, column)
			json_array_append_new(row, random_value(prng, json_string_value(column),
							   (unsigned)json_array_size(all)));
		json_array_append(rows, row);
		json_array_append_new(all, row);
	}
	assert_int_equal(policy_pages_add(policies, page, SIZE_MAX), 0);
	json_decref(page);
}

static const json_t *value_at(const json_t *columns, const json_t *row, const char *name)
{
	const json_t *column;
	size_t i;

	json_array_foreach (columns, i, column)
		if (strcmp(json_string_value(column), name) == 0)
			return json_array_get(row, i);
	return NULL;
}

/* The oracle: the samples of a metric, from the rows as JSON. */
static void expect_samples(struct text *text, const struct metric *metric, const char *limiter,
	const json_t *columns, const json_t *rows)
{
	static const char *const ends[] = {"", "_total", "_info"};
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *value = value_at(columns, row, metric->value);
		const char *count = json_string_value(value_at(columns, row, "count"));

		if (!value || json_is_null(value) ||
			(metric->count && strcmp(metric->count, count)))
			continue;
		text_print(text, "%s%s{limiter=\"%s\",policy=\"", metric->name, ends[metric->type],
			limiter);
		text_label(text, json_string_value(value_at(columns, row, "name")));
		if (metric->type == METRIC_INFO) {
			text_print(text, "\",%s=\"", metric->value);
			text_label(text, json_string_value(value));
			text_print(text, "\"} 1\n");
		} else if (json_is_real(value)) {
			text_print(text, "\"} %.15g\n", json_real_value(value));
		} else {
			text_print(text, "\"} %lld\n", (long long)json_integer_value(value));
		}
	}
}

/* Removes all lines that begin with a hash. */
static void remove_comments(char *text)
{
	for (char *at = text; at && *at;)
		if (*at == '#')
			memmove(at, strchr(at, '\n') + 1, strlen(strchr(at, '\n')));
		else
			at = strchr(at, '\n') + 1;
}

/* The text of generated policies is the oracle's, byte for byte, without a policy left out. */
static void check_generated(struct prng *prng)
{
	static const char *const names[LIMITERS_MOST] = {"a", "b", "c"};
	struct metrics_of of[LIMITERS_MOST] = {{0}};
	json_t *columns[LIMITERS_MOST], *rows[LIMITERS_MOST];
	size_t n = 1 + prng_below(prng, LIMITERS_MOST);
	struct text expected = {0};
	char *text;

	for (size_t i = 0; i < n; i++) {
		size_t from = prng_below(prng, RANDOM_COLUMNS);

		columns[i] = json_array();
		rows[i] = json_array();
		of[i].limiter = names[i];
		for (size_t k = 0; k < RANDOM_COLUMNS; k++)
			json_array_append_new(columns[i],
				json_string(random_columns[(from + k) % RANDOM_COLUMNS]));
		for (uint64_t pages = prng_below(prng, 4); pages > 0; pages--)
			add_random_page(prng, columns[i], &of[i].policies, rows[i]);
	}
	for (const struct metric *metric = metrics; metric->name; metric++)
		for (size_t i = 0; i < n && metric->of == METRIC_OF_POLICY; i++)
			expect_samples(&expected, metric, of[i].limiter, columns[i], rows[i]);
	text = text_of(TEXT_PROMETHEUS, of, n);
	remove_comments(text);
	assert_string_equal(text ? text : "", expected.bytes ? expected.bytes : "");
	free(text);
	free(expected.bytes);
	for (size_t i = 0; i < n; i++) {
		json_decref(columns[i]);
		json_decref(rows[i]);
		policy_pages_free(&of[i].policies);
	}
}

static int read_page(const char *text, size_t most, size_t *n)
{
	struct policy_pages policies = {0};
	json_t *page = json_loads(text, JSON_DECODE_ANY, NULL);
	int ret = policy_pages_add(&policies, page, most);

	*n = policies.n;
	json_decref(page);
	policy_pages_free(&policies);
	return ret;
}

TEST(test_malformed)
{
	static const char good[] =
		"{\"columns\":[1,2,3,4],\"policies\":[[\"a\",-1,2.5e3,null],[]]}";
	static const char *const bad[] = {"null", "3", "{}", "{\"policies\":[]}",
		"{\"columns\":[]}", "{\"columns\":3,\"policies\":[]}",
		"{\"columns\":[],\"policies\":[[1]]}", "{\"columns\":[1],\"policies\":[[true]]}",
		"{\"columns\":[1],\"policies\":[[[]]]}", "{\"columns\":[1],\"policies\":[{}]}"};
	size_t n;

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(read_page(bad[i], SIZE_MAX, &n), -EBADMSG);
	for (size_t most = 0; most < 4; most++) {
		assert_int_equal(read_page(good, most, &n), 0);
		assert_int_equal(n, most < 2 ? most : 2);
	}
}

/* A page has room for all values that a limiter sends, and never more. */
TEST(test_long)
{
	for (size_t length = UINT16_MAX - 9; length <= UINT16_MAX + 9; length++) {
		char *name = malloc(length + 1);
		json_t *page;
		struct policy_pages policies = {0};

		memset(name, 'x', length);
		name[length] = '\0';
		page = json_pack("{s:[s], s:[[s]]}", "columns", "name", "policies", name);
		assert_int_equal(policy_pages_add(&policies, page, SIZE_MAX),
			length <= UINT16_MAX - 2 ? 0 : -EBADMSG);
		if (policies.n)
			assert_string_equal(policy_text(policies.first, 0, 0), name);
		policy_pages_free(&policies);
		json_decref(page);
		free(name);
	}
}

TEST(test_generated)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 0x9a6e5;
	struct prng prng;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	prng_seed(&prng, seed);
	for (unsigned i = 0; i < ROUNDS(400); i++)
		check_generated(&prng);
}
