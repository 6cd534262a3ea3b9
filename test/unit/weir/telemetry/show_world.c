/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show_world.h"

#include "limiter/limiter.h"
#include "show.h"

json_t *show_ask(struct instance_world *w, const char *path, const char *params)
{
	for (const struct telemetry_command *row = show_commands; row->path; row++)
		if (strcmp(row->path, path) == 0)
			return row->handler(params, &w->inst);
	fail_msg("no command %s", path);
	return NULL;
}

static bool is_any(const json_t *expected)
{
	return json_is_string(expected) && strcmp(json_string_value(expected), "*") == 0;
}

/* Returns true for "*part*" if the string has this part. */
static bool has_part(const json_t *got, const json_t *expected)
{
	const char *text = json_string_value(got), *part = json_string_value(expected);
	size_t len = part ? strlen(part) : 0;
	char *middle;
	bool found;

	if (!text || len < 3 || part[0] != '*' || part[len - 1] != '*')
		return false;
	middle = strndup(part + 1, len - 2);
	assert_non_null(middle);
	found = strstr(text, middle) != NULL;
	free(middle);
	return found;
}

static bool is_same(json_t *got, json_t *expected);

static bool is_same_object(json_t *got, json_t *expected)
{
	bool some = json_object_get(expected, "...") != NULL;
	const char *key;
	json_t *value;

	json_object_foreach (expected, key, value) {
		json_t *member = json_object_get(got, key);

		if (strcmp(key, "...") != 0 && (!member || !is_same(member, value)))
			return false;
	}
	return some || json_object_size(got) == json_object_size(expected);
}

static bool is_same(json_t *got, json_t *expected)
{
	if (is_any(expected) || has_part(got, expected))
		return true;
	if (json_is_object(got) && json_is_object(expected))
		return is_same_object(got, expected);
	if (!json_is_array(got) || !json_is_array(expected))
		return json_equal(got, expected);
	if (json_array_size(got) != json_array_size(expected))
		return false;
	for (size_t i = 0; i < json_array_size(got); i++)
		if (!is_same(json_array_get(got, i), json_array_get(expected, i)))
			return false;
	return true;
}

static json_t *parse(const char *quoted)
{
	char *text = strdup(quoted);
	json_t *json;

	assert_non_null(text);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!json)
		fail_msg("no JSON: %s", text);
	free(text);
	return json;
}

void show_expect(json_t *reply, const char *expected)
{
	json_t *want = parse(expected);

	if (!reply || !is_same(reply, want)) {
		char *got = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

		fail_msg("got      %s\nexpected %s", got ? got : "nothing", expected);
	}
	json_decref(want);
	json_decref(reply);
}

static void measure_nothing(void *context, unsigned policy, struct limiter_sample *sample)
{
	*sample = (struct limiter_sample){.slots = context};
}

void show_tick(struct instance_world *w, uint64_t now_ns)
{
	static uint64_t slots[INSTANCE_WORKERS * FLOW_SLOTS];

	limiter_tick(w->inst.limiter, now_ns, measure_nothing, slots);
}

void show_expect_rows(struct instance_world *w, const struct show_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *reply = show_ask(w, rows[i].path, rows[i].params);

		print_message("%s,%s\n", rows[i].path, rows[i].params ? rows[i].params : "");
		if (rows[i].expected)
			show_expect(reply, rows[i].expected);
		else
			assert_null(reply);
	}
}
