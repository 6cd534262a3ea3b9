/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "check": a line and an exit status as plugins of Nagios and Icinga have them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "ask/source.h"
#include "health.h"
#include "json/suggest.h"

struct limits {
	struct health_limits of[HEALTH_METRICS];
};

static bool refuse_metric(const char *text)
{
	struct suggestion near = {0};
	char name[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
	fprintf(stderr, "weirctl: %s: no such value", text);
	for (unsigned i = 0; i < HEALTH_METRICS; i++)
		suggest_offer(&near, name, health_metrics[i].name);
	if (suggest_remedy(near.word, remedy))
		fprintf(stderr, ": %s", remedy);
	fputs("; expected one of", stderr);
	for (unsigned i = 0; i < HEALTH_METRICS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", health_metrics[i].name);
	fputc('\n', stderr);
	return false;
}

/* "losing=100", "alarms=off". */
static bool take_threshold(const struct threshold *threshold, struct limits *limits)
{
	size_t len = strcspn(threshold->text, "=");
	unsigned i = 0;
	const char *value = threshold->text + len + 1;
	char *end;
	double number = NAN;

	while (i < HEALTH_METRICS && (strncmp(health_metrics[i].name, threshold->text, len) != 0 ||
					     health_metrics[i].name[len] != '\0'))
		i++;
	if (i == HEALTH_METRICS)
		return refuse_metric(threshold->text);
	if (!threshold->text[len] || strcmp(value, "off") != 0) {
		number = threshold->text[len] ? strtod(value, &end) : NAN;
		if (!isfinite(number) || end == value || *end) {
			fprintf(stderr, "weirctl: %s: expected NAME=N or NAME=off\n",
				threshold->text);
			return false;
		}
	}
	*(threshold->critical ? &limits->of[i].critical : &limits->of[i].warning) = number;
	return true;
}

static bool take_thresholds(const struct request *request, struct limits *limits)
{
	for (unsigned i = 0; i < HEALTH_METRICS; i++)
		limits->of[i] = health_metrics[i].limits;
	for (unsigned i = 0; i < request->n_thresholds; i++)
		if (!take_threshold(&request->thresholds[i], limits))
			return false;
	return true;
}

bool check_thresholds(const struct request *request)
{
	struct limits limits;

	return take_thresholds(request, &limits);
}

/* Returns a threshold; null: off. */
static json_t *limit_json(double limit)
{
	return isnan(limit) ? json_null() : json_real(limit);
}

/* Returns the findings about one limiter: its state, its problems in words, and each value. */
static json_t *findings_of_status(const json_t *status, const struct limits *limits)
{
	json_t *words = json_array(), *values = json_object();
	const json_t *alarms = member_at(status, "health.alarms");
	enum health_state worst = HEALTH_OK;

	for (unsigned i = 0; i < HEALTH_METRICS; i++) {
		const struct health_metric *metric = &health_metrics[i];
		double value = metric->of(status);
		enum health_state is = health_of(value, &limits->of[i]);

		if (isnan(value))
			continue;
		if (is != HEALTH_OK)
			json_array_append_new(words, health_word(metric, status));
		if (is != HEALTH_OK && i == 0)
			json_array_extend(words, (json_t *)alarms);
		json_object_set_new(values, metric->name,
			json_pack("{s:f, s:s, s:o, s:o}", "value", value, "unit", metric->unit,
				"warning", limit_json(limits->of[i].warning), "critical",
				limit_json(limits->of[i].critical)));
		worst = health_worse(worst, is);
	}
	return json_pack("{s:s, s:i, s:o, s:o}", "state", health_names[worst], "status", (int)worst,
		"wrong", words, "values", values);
}

/* A limiter without a reply is CRITICAL; UNKNOWN if this user has no permission to connect. */
static json_t *findings_of_silence(const struct target *target)
{
	enum health_state is = target->last.error == EACCES || target->last.error == EPERM
				       ? HEALTH_UNKNOWN
				       : HEALTH_CRITICAL;

	return json_pack("{s:s, s:i, s:[s], s:{}}", "state", health_names[is], "status", (int)is,
		"wrong", target->last.why ? target->last.why : "out of memory", "values");
}

int check_gather(struct source *source, const struct request *request, json_t **document)
{
	return status_gather(source, request, document);
}

/* A text on one line, in which perfdata does not begin. */
static void put_words(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == '|' || (unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void put_wrong(const json_t *found, FILE *out)
{
	const json_t *word;
	size_t i;

	json_array_foreach (json_object_get(found, "wrong"), i, word) {
		fputs(i ? ", " : "", out);
		put_words(json_string_value(word), out);
	}
	if (json_array_size(json_object_get(found, "wrong")) == 0)
		fputs("nothing is wrong", out);
}

static void put_limit(const json_t *value, const char *key, FILE *out)
{
	const json_t *limit = json_object_get(value, key);

	fputc(';', out);
	if (json_is_number(limit))
		fprintf(out, "%.10g", json_number_value(limit));
}

/* 'fra.alarms'=0;1; of each. */
static void put_values(const json_t *found, const char *box, FILE *out)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_object_get(found, "values"), name, value) {
		fprintf(out, " '");
		if (box) {
			for (const char *c = box; *c; c++)
				fputc(*c == '\'' || *c == '=' || *c == '|' ? '_' : *c, out);
			fputc('.', out);
		}
		fprintf(out, "%s'=%.6g%s", name, json_number_value(json_object_get(value, "value")),
			json_string_value(json_object_get(value, "unit")));
		put_limit(value, "warning", out);
		put_limit(value, "critical", out);
		fputs(";0", out);
	}
}

static void put_check(
	const struct targets *targets, json_t *const *found, enum health_state worst, FILE *out)
{
	fprintf(out, "%s - ", health_names[worst]);
	for (unsigned i = 0; i < targets->n; i++) {
		if (i)
			fputs("; ", out);
		put_words(targets->each[i].name, out);
		fputs(": ", out);
		put_wrong(found[i], out);
	}
	fputs(" |", out);
	for (unsigned i = 0; i < targets->n; i++)
		put_values(found[i], targets->n > 1 ? targets->each[i].name : NULL, out);
	fputc('\n', out);
}

static int put_check_json(const struct targets *targets, json_t **found)
{
	json_t *all = targets->n == 1 ? json_incref(found[0]) : json_object();
	int ret;

	for (unsigned i = 0; targets->n > 1 && i < targets->n; i++)
		json_object_set(all, targets->each[i].name, found[i]);
	ret = answers_write_json(all, stdout);
	json_decref(all);
	return ret;
}

static bool is_taken(const struct targets *targets, unsigned except, const char *name)
{
	for (unsigned i = 0; i < targets->n; i++)
		if (i != except && strcmp(targets->each[i].name, name) == 0)
			return true;
	return false;
}

/* Replaces names of socket files by the configured names of the limiters. */
static void name_boxes(struct targets *targets, const struct options *options)
{
	for (unsigned i = 0; i < targets->n; i++) {
		struct target *target = &targets->each[i];
		const char *own = json_string_value(
			member_at(target->last.document, "process.limiter"));
		/* The operator gave its socket, or nothing. */
		const bool has_no_name = i < options->n_boxes
						 ? options->boxes[i].socket != NULL
						 : options->n_boxes == 0 && !options->group;
		char *name;

		if (!own || !has_no_name || is_taken(targets, i, own))
			continue;
		name = strdup(own);
		if (!name)
			continue;
		free(target->name);
		target->name = name;
	}
}

static int check_boxes(struct targets *targets, const struct options *options)
{
	json_t *found[2 * BOXES_MAX];
	struct limits limits;
	enum health_state worst = HEALTH_OK;
	int ret = 0;

	take_thresholds(&options->request, &limits);
	targets_begin(targets);
	targets_finish(targets);
	name_boxes(targets, options);
	for (unsigned i = 0; i < targets->n; i++) {
		struct target *target = &targets->each[i];

		found[i] = target->last.document
				   ? findings_of_status(target->last.document, &limits)
				   : findings_of_silence(target);
		worst = health_worse(worst,
			(enum health_state)json_integer_value(json_object_get(found[i], "status")));
	}
	if (options->json)
		ret = put_check_json(targets, found);
	else
		put_check(targets, found, worst, stdout);
	for (unsigned i = 0; i < targets->n; i++)
		json_decref(found[i]);
	return answers_end(0, ret) ? HEALTH_UNKNOWN : (int)worst;
}

int check_run(const struct options *options)
{
	struct targets targets;
	int status = HEALTH_UNKNOWN;

	if (answers_find(options, &targets))
		status = check_boxes(&targets, options);
	else
		puts("UNKNOWN - no limiter found: name one with -n or -s |");
	targets_free(&targets);
	return status;
}
