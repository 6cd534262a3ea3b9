/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The readers of the keys of hard limits and quotas; the rows are in policy_keys.c.
 */
#include <errno.h>
#include <string.h>

#include "allocate/gdrl.h"
#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "json/suggest.h"
#include "json/vocabulary.h"
#include "policy/kind.h"
#include "policy/units.h"

const struct choice guarantees[] = {
	{"soft", GUARANTEE_SOFT},
	{"hard", GUARANTEE_HARD},
	{0},
};

void read_indicator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct gdrl_indicator *indicator = text != NULL ? gdrl_indicator_find(text) : NULL;
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];

	if (indicator == NULL)
		reader_report(reader, path, MESSAGE(NOT_ONE_OF), gdrl_indicator_names(),
			message_part(suggest_remedy(
				suggest_of_list(gdrl_indicator_names(), text ? text : "", word),
				remedy)));
	else
		memcpy(key_field(key, base), &indicator, sizeof(indicator));
}

static const struct key byte_total = {
	.expected = "bytes such as \"500GB\"",
	.detail = &(const struct quantity_range){units_parse_size, 1, CONFIG_TOTAL_MAX,
		"1B to 1000PB", "B"},
	KEY_FIELD(struct policy, total),
};

static const struct key count_total = {
	.expected = "a number such as 5000000 or \"5M\" with \"count\": \"packets\" or \"flows\"",
	.detail = &(const struct quantity_range){units_parse_count, 1, CONFIG_TOTAL_MAX,
		"1 to 1000000000G", "packets or flows"},
	KEY_FIELD(struct policy, total),
};

/* The table has "count" and "allocator" before this key. */
void read_total(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct policy *policy = base;

	(void)key;
	if (value == NULL && !policy_is_quota(policy))
		return;
	if (policy->count == COUNT_BYTES)
		read_quantity(reader, path, value, &byte_total, base);
	else if (policy->count != CHOICE_REFUSED)
		read_count(reader, path, value, &count_total, base);
}

static const struct key fixed_period = {
	.expected = "\"none\", \"month\" or a time such as \"24h\"",
	.detail = &(const struct quantity_range){units_parse_time, 60 * SECOND_NS,
		366 * 24 * 3600 * SECOND_NS, "1min to 8784h", "ns"},
	KEY_FIELD(struct policy, period_ns),
};

/* Periods start at whole seconds of the wall clock. */
static void read_fixed(
	struct reader *reader, const struct json_path *path, json_t *value, struct policy *policy)
{
	const char *text = json_string_value(value);
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];
	const char *meant = text ? reader_meant(reader, path, text) : NULL;

	if (meant == NULL && text != NULL)
		meant = suggest_of_list("none, month", text, word);
	if (meant != NULL) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), fixed_period.expected,
			message_part(suggest_remedy(meant, remedy)));
		return;
	}
	read_quantity(reader, path, value, &fixed_period, policy);
	if (policy->period_ns % SECOND_NS != 0)
		reader_report(reader, path, MESSAGE(NOT_WHOLE_SECONDS));
	else if (policy->period_ns > 0)
		policy->period = PERIOD_FIXED;
}

void read_period(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct policy *policy = base;

	(void)key;
	if (text != NULL && strcmp(text, "none") == 0)
		policy->period = PERIOD_NONE;
	else if (text != NULL && strcmp(text, "month") == 0)
		policy->period = PERIOD_MONTH;
	else
		read_fixed(reader, path, value, policy);
}
