/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a time: the limit in force, its reason, and its end.
 */
#include "show.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "clock.h"
#include "instance.h"
#include "timed.h"
#include "policy/schedule.h"

static const char *const by_names[] = {
	[TIMED_PLAIN] = "configuration",
	[TIMED_SCHEDULE] = "schedule",
	[TIMED_OVERRIDE] = "override",
};

struct policy show_policy_now(const struct instance *inst, unsigned policy)
{
	struct timed_view view = timed_of(inst, policy);
	struct policy now = inst->policies[policy];

	now.limit_bps = view.terms.limit_bps;
	now.limit_s = view.terms.limit_s;
	now.burst_bytes = view.terms.burst_bytes;
	return now;
}

const char *timed_name(enum timed_by by)
{
	return by_names[by];
}

const char *timed_until(const struct timed_view *view, char text[ZONE_TEXT_MAX])
{
	if (!view->known || view->until == ZONE_NEVER)
		return NULL;
	return zone_format(view->zone, view->until, text);
}

void show_timed(json_t *json, const struct instance *inst, unsigned policy)
{
	struct timed_view view = timed_of(inst, policy);
	char text[ZONE_TEXT_MAX];
	const char *until = timed_until(&view, text);

	json_object_set_new(json, "limit_by", json_string(by_names[view.by]));
	json_object_set_new(json, "limit_until", until ? json_string(until) : json_null());
	if (view.by == TIMED_OVERRIDE)
		json_object_set_new(json, "limit_uid", json_uint(view.uid));
	json_object_set_new(json, "configured_limit", show_limit(&inst->policies[policy]));
}

static json_t *timed_json(const void *context, unsigned index)
{
	const struct instance *inst = context;
	unsigned policy = timed_policy(inst, index);
	struct policy now = show_policy_now(inst, policy);
	json_t *json = json_pack("{s:s, s:o}", "name", now.name, "limit", show_limit(&now));

	show_units(json, &now, "burst", now.burst_bytes);
	show_timed(json, inst, policy);
	return json;
}

json_t *show_limits(const char *params, void *context)
{
	const struct instance *inst = context;
	struct timed_request request;
	char time[ZONE_TEXT_MAX];
	int64_t wall_s;
	json_t *json = show_page(
		"limits", params, timed_count(inst), TELEMETRY_PAGE, timed_json, inst);

	if (!json)
		return NULL;
	json_object_set_new(json, "by_schedule", json_uint(timed_count_by(inst, TIMED_SCHEDULE)));
	json_object_set_new(json, "by_override", json_uint(timed_count_by(inst, TIMED_OVERRIDE)));
	request = timed_last_request(inst);
	json_object_set_new(json, "saving", json_boolean(request.saving));
	json_object_set_new(
		json, "error", request.error[0] ? json_string(request.error) : json_null());
	/* The time that times of day are compared with; null while it is unknown. */
	wall_s = limiter_wall_s(inst->limiter, control_now());
	json_object_set_new(json, "time",
		wall_s == TIME_UNKNOWN ? json_null()
				       : json_string(zone_format(NULL, wall_s, time)));
	return json;
}

/* --- overrides -------------------------------------------------------------------------------- */

/*
 * Another limit for a policy until a time: "POLICY,limit=5Gbit/s,burst=1MB,until=1795453200",
 * "POLICY,limit=5Gbit/s,for=7200" or "POLICY,off".
 */

/* Longest time of an override, a year; a longer one is invalid. */
#define LONGEST_S (366 * INT64_C(86400))

struct override_words {
	const char *limit, *burst, *until, *lasts;
	bool off, wrong;
};

static void read_word(struct override_words *words, char *word)
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
		{"limit=", offsetof(struct override_words, limit)},
		{"burst=", offsetof(struct override_words, burst)},
		{"until=", offsetof(struct override_words, until)},
		{"for=", offsetof(struct override_words, lasts)},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i].name);

		if (strncmp(word, names[i].name, len) == 0) {
			const char *value = word + len;

			memcpy((char *)words + names[i].at, &value, sizeof(value));
			return;
		}
	}
	if (strcmp(word, "off") == 0)
		words->off = true;
	else
		words->wrong = true;
}

/* Returns a number of seconds above 0; 0 if the text is not one. */
static int64_t read_seconds(const char *text)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	return *end || end == text || errno || value < 0 ? 0 : value;
}

static int64_t ends_at(const struct override_words *words, int64_t wall_s)
{
	int64_t lasts = words->lasts ? read_seconds(words->lasts) : 0;

	if (words->until && !words->lasts)
		return read_seconds(words->until);
	return lasts > 0 && lasts <= LONGEST_S ? wall_s + lasts : 0;
}

/* Returns false if the text is longer than any valid one. */
static bool write_terms(const struct override_words *words, char *out, size_t size)
{
	json_t *json = json_pack("{s:s}", "limit", words->limit);
	char *text;
	bool fits;

	if (words->burst)
		json_object_set_new(json, "burst", json_string(words->burst));
	text = json_dumps(json, JSON_COMPACT);
	fits = text && strlen(text) < size;
	if (fits)
		memcpy(out, text, strlen(text) + 1);
	free(text);
	json_decref(json);
	return fits;
}

static int give_override(struct instance *inst, struct override *override,
	const struct override_words *words, FILE *err)
{
	int64_t wall_s = limiter_wall_s(inst->limiter, control_now());

	override->until = wall_s == TIME_UNKNOWN ? INT64_MAX : ends_at(words, wall_s);
	if (!words->limit || (!words->until && !words->lasts) ||
		!write_terms(words, override->terms, sizeof(override->terms)) ||
		override->until == 0) {
		fputs("expected limit=LIMIT, burst=BURST if it is to have one, and "
		      "until=UNIX_TIME or for=SECONDS, of a year at most\n",
			err);
		return -EINVAL;
	}
	return timed_override(inst, override, err);
}

static int take_request(struct instance *inst, char *params, FILE *err)
{
	struct override override = {.uid = telemetry_asker(inst->telemetry)};
	struct override_words words = {0};
	char *rest = params, *name = strsep(&rest, ","), *word;

	while ((word = strsep(&rest, ",")) != NULL)
		read_word(&words, word);
	if (strlen(name) >= sizeof(override.policy) || words.wrong) {
		fputs("expected a policy, and limit=, burst=, until=, for= or off\n", err);
		return -EINVAL;
	}
	memcpy(override.policy, name, strlen(name) + 1);
	if (words.off)
		return timed_override_off(inst, override.policy, override.uid, err);
	return give_override(inst, &override, &words, err);
}

json_t *show_override(const char *params, void *context)
{
	struct instance *inst = context;
	char *messages = NULL, *copy = strdup(params ? params : ""), *rest, *line;
	json_t *lines;
	size_t size;
	FILE *err = open_memstream(&messages, &size);
	int ret = -ENOMEM;

	if (copy && err)
		ret = take_request(inst, copy, err);
	if (err)
		fclose(err);
	free(copy);
	if (ret == 0) {
		free(messages);
		return json_pack("{s:o}", "request", json_uint(timed_last_request(inst).number));
	}
	lines = json_array();
	rest = messages;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line)
			json_array_append_new(lines, json_string(line));
	free(messages);
	return json_pack("{s:o}", "refused", lines);
}
