/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"

static const char *const suffixes[] = {
	[METRIC_GAUGE] = "", [METRIC_COUNTER] = "_total", [METRIC_INFO] = "_info"};

const char *metrics_of_name(const struct metrics_of *of)
{
	const char *name = json_string_value(member_at(of->document, "process.limiter"));

	return name ? name : of->limiter;
}

/* Returns the unit that a name ends in, for OpenMetrics. */
static const char *unit_of(const char *name)
{
	static const char *const units[] = {
		"bytes_per_second", "packets_per_second", "flows_per_second", "seconds", "bytes"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t n = strlen(units[i]);

		if (length > n && name[length - n - 1] == '_' &&
			strcmp(name + length - n, units[i]) == 0)
			return units[i];
	}
	return NULL;
}

/*
 * Writes the head of a metric. In the older format a metric has the name of its samples, and an
 * info is a gauge.
 */
static void write_head(struct text *text, enum text_format format, const struct metric *metric)
{
	static const char *const types[] = {
		[METRIC_GAUGE] = "gauge", [METRIC_COUNTER] = "counter", [METRIC_INFO] = "info"};
	bool open = format == TEXT_OPENMETRICS;
	const char *suffix = open ? "" : suffixes[metric->type];
	const char *unit = open ? unit_of(metric->name) : NULL;

	text_print(text, "# HELP %s%s ", metric->name, suffix);
	text_help(text, metric->help, format);
	text_print(text, "\n# TYPE %s%s %s\n", metric->name, suffix,
		open || metric->type != METRIC_INFO ? types[metric->type] : "gauge");
	if (unit)
		text_print(text, "# UNIT %s %s\n", metric->name, unit);
}

static void write_label(struct text *text, const char *name, const char *value)
{
	text_print(text, "\",%s=\"", name);
	text_label(text, value);
}

static void begin_sample(
	struct text *text, const struct metric *metric, const char *limiter, const char *label)
{
	text_print(text, "%s%s{limiter=\"", metric->name, suffixes[metric->type]);
	text_label(text, limiter);
	if (metric->label)
		write_label(text, metric->label, label);
}

static void write_info(struct text *text, const struct metric *metric, const char *limiter,
	const char *label, const json_t *value)
{
	const char *label_value = metric_has_label(metric) ? json_string_value(value) : label;

	if (!label_value)
		return;
	begin_sample(text, metric, limiter, label);
	if (metric_has_label(metric))
		write_label(text, metric->value, label_value);
	text_print(text, "\"} 1\n");
}

/* Writes a line, or none if there is no value. */
static void write_sample(struct text *text, const struct metric *metric, const char *limiter,
	const char *label, const json_t *value)
{
	size_t before = text->length;

	if (metric->type == METRIC_INFO) {
		write_info(text, metric, limiter, label, value);
		return;
	}
	begin_sample(text, metric, limiter, label);
	text_add(text, "\"} ", 3);
	if (text_value(text, value, metric->scale ? metric->scale : 1))
		text_add(text, "\n", 1);
	else
		text_cut(text, before);
}

static void write_each(
	struct text *text, const struct metric *metric, const char *limiter, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *name = json_string_value(json_object_get(item, "name"));
		char place[24];

		snprintf(place, sizeof(place), "%zu", i);
		write_sample(
			text, metric, limiter, name ? name : place, member_at(item, metric->value));
	}
}

/* Returns the text of a sample's value, or NULL. */
static const char *sample_of(const struct metrics_cursor *cursor, size_t row)
{
	const struct metric *metric = cursor->metric;
	const char *value = policy_value(cursor->page, row, cursor->value_at);
	const char *count = policy_text(cursor->page, row, cursor->count_at);

	if (!value || (*value == '"') != (metric->type == METRIC_INFO))
		return NULL;
	return !metric->count || (count && strcmp(count, metric->count) == 0) ? value : NULL;
}

static void write_policy_value(struct text *text, const struct metric *metric, const char *value)
{
	if (metric->type == METRIC_INFO) {
		write_label(text, metric->value, value + 1);
		text_add(text, "\"} 1\n", 5);
		return;
	}
	text_add(text, "\"} ", 3);
	if (strpbrk(value, ".eE"))
		text_print(text, "%.15g", strtod(value, NULL));
	else
		text_add(text, value, strlen(value));
	text_add(text, "\n", 1);
}

/* Writes a page. All samples of a metric and limiter begin with the same text. */
static void write_page(struct metrics_cursor *cursor, struct text *text)
{
	struct text words = {0};

	begin_sample(&words, cursor->metric, cursor->of[cursor->limiter].limiter, "");
	for (size_t i = 0; i < cursor->page->n; i++) {
		const char *policy = policy_text(cursor->page, i, cursor->name_at);
		const char *value = sample_of(cursor, i);

		if (!policy || !value)
			continue;
		if (!cursor->headed)
			write_head(text, cursor->format, cursor->metric);
		cursor->headed = true;
		text_add(text, words.bytes, words.length);
		text_label(text, policy);
		write_policy_value(text, cursor->metric, value);
	}
	text->failed |= words.failed;
	free(words.bytes);
}

/* Writes a metric of a limiter. A metric without samples has no head. */
static void write_limiter(struct metrics_cursor *cursor, struct text *text)
{
	const struct metrics_of *of = &cursor->of[cursor->limiter];
	const struct metric *metric = cursor->metric;
	const json_t *at = member_at(of->document, metric->at);
	size_t before = text->length, head;
	const char *name;
	json_t *value;

	if (!at)
		return;
	if (!cursor->headed)
		write_head(text, cursor->format, metric);
	head = text->length;
	if (metric->of == METRIC_OF_MEMBERS) {
		json_object_foreach ((json_t *)at, name, value)
			write_sample(text, metric, of->limiter, name, value);
	} else if (metric->of == METRIC_OF_EACH) {
		write_each(text, metric, of->limiter, at);
	} else {
		write_sample(text, metric, of->limiter, json_string_value(at), at);
	}
	cursor->headed |= text->length > head;
	if (!cursor->headed)
		text_cut(text, before);
}

/* --- the text, part by part ------------------------------------------------------------------- */

/*
 * Goes on to the next limiter, and its first page of policies. Most columns are null for all
 * policies; then it visits no page.
 */
static void next_limiter(struct metrics_cursor *cursor)
{
	const struct policy_pages *policies;

	if (++cursor->limiter >= cursor->n) {
		cursor->limiter = 0;
		cursor->headed = false;
		cursor->metric++;
	}
	cursor->page = NULL;
	if (cursor->limiter == cursor->n || cursor->metric->of != METRIC_OF_POLICY)
		return;
	policies = &cursor->of[cursor->limiter].policies;
	cursor->name_at = policy_number_column(policies, NUMBER_name_TEXT);
	cursor->count_at = policy_number_column(policies, NUMBER_count_TEXT);
	cursor->value_at = policy_column(policies, cursor->metric->value);
	if (policies->has >> cursor->value_at % 64 & 1)
		cursor->page = policies->first;
}

void metrics_begin(struct metrics_cursor *cursor, enum text_format format,
	const struct metrics_of *of, size_t n)
{
	*cursor = (struct metrics_cursor){.format = format, .of = of, .n = n, .metric = metrics};
}

bool metrics_next(struct metrics_cursor *cursor, struct text *text)
{
	if (cursor->over)
		return false;
	cursor->over = cursor->n == 0 || !cursor->metric->name;
	if (cursor->over) {
		if (cursor->format == TEXT_OPENMETRICS)
			text_print(text, "# EOF\n");
	} else if (cursor->page) {
		write_page(cursor, text);
		cursor->page = cursor->page->next;
		if (!cursor->page)
			next_limiter(cursor);
	} else {
		if (cursor->metric->of != METRIC_OF_POLICY)
			write_limiter(cursor, text);
		next_limiter(cursor);
	}
	return true;
}
