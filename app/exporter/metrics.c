/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include "ask/member.h"
#include "gather.h"

static const char *const suffixes[] = {
	[METRIC_GAUGE] = "", [METRIC_COUNTER] = "_total", [METRIC_INFO] = "_info"};

/* OpenMetrics knows a unit that a name ends in. */
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

/* In the older format a metric is called what its samples are, and an info is a gauge. */
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
	const char *told = metric_is_told(metric) ? json_string_value(value) : label;

	if (!told)
		return;
	begin_sample(text, metric, limiter, label);
	if (metric_is_told(metric))
		write_label(text, metric->value, told);
	text_print(text, "\"} 1\n");
}

/* Writes a line, or none for what has no value. */
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

static void write_members(
	struct text *text, const struct metric *metric, const char *limiter, const json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)object, name, value)
		write_sample(text, metric, limiter, name, value);
}

static void write_policies(
	struct text *text, const struct metric *metric, const char *limiter, const json_t *document)
{
	size_t name = gather_column(document, "name"), count = gather_column(document, "count");
	size_t value = gather_column(document, metric->value), i;
	const json_t *row;

	json_array_foreach (json_object_get(document, "policies"), i, row) {
		const char *policy = json_string_value(json_array_get(row, name));
		const char *counts = json_string_value(json_array_get(row, count));

		if (policy && (!metric->count || (counts && strcmp(counts, metric->count) == 0)))
			write_sample(text, metric, limiter, policy, json_array_get(row, value));
	}
}

static void write_of(struct text *text, const struct metric *metric, const struct metrics_of *of)
{
	const json_t *at = metric->at ? member_at(of->document, metric->at) : NULL;

	switch (metric->of) {
	case METRIC_OF_LIMITER:
		if (at)
			write_sample(text, metric, of->limiter, json_string_value(at), at);
		break;
	case METRIC_OF_MEMBERS:
		write_members(text, metric, of->limiter, at);
		break;
	case METRIC_OF_EACH:
		write_each(text, metric, of->limiter, at);
		break;
	case METRIC_OF_POLICY:
		write_policies(text, metric, of->limiter, of->document);
		break;
	}
}

/* A metric that no limiter has is not spoken of. */
static void write_metric(struct text *text, enum text_format format, const struct metric *metric,
	const struct metrics_of *of, size_t n)
{
	size_t before = text->length, head;

	write_head(text, format, metric);
	head = text->length;
	for (size_t i = 0; i < n; i++)
		write_of(text, metric, &of[i]);
	if (text->length == head)
		text_cut(text, before);
}

void metrics_write(
	struct text *text, enum text_format format, const struct metrics_of *of, size_t n)
{
	for (const struct metric *metric = metrics; metric->name; metric++)
		write_metric(text, format, metric, of, n);
	if (format == TEXT_OPENMETRICS)
		text_print(text, "# EOF\n");
}
