/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "override": another limit for a policy until a time.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "field.h"
#include "ctl_options.h"

#define LOOK_MS 50
#define LOOKS   (60 * 1000 / LOOK_MS)
#define DAY_S   86400

#define LASTS_MOST_S (366UL * DAY_S)

/* "18:00", the next one by this machine's clocks, or "2026-11-23T18:00". 0: neither. */
static time_t time_meant(const char *text)
{
	time_t now = time(NULL), at;
	struct tm tm;
	const char *end;

	localtime_r(&now, &tm);
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	end = strptime(text, "%Y-%m-%dT%H:%M", &tm);
	if (end && !*end)
		return mktime(&tm);
	localtime_r(&now, &tm);
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	end = strptime(text, "%H:%M", &tm);
	if (!end || *end)
		return 0;
	at = mktime(&tm);
	if (at > now)
		return at;
	tm.tm_mday++;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* The words of an override; a word that is not there is NULL. */
struct override_words {
	const char *policy, *limit, *burst;
	char end[64]; /* "until=1795453200" or "for=7200" */
	bool off;
};

static bool refuse_word(FILE *err, const char *word, const char *expected)
{
	fprintf(err, "weirctl: override: \"%s\": expected %s\n", word, expected);
	return false;
}

static bool refuse_missing(FILE *err, const char *missing, const char *after)
{
	fprintf(err, "weirctl: override: missing %s after \"%s\"\n", missing, after);
	return false;
}

/* Reads "until TIME" or "for TIME", which n words are left for. */
static bool read_end(const char *const *words, unsigned n, const char *before,
	struct override_words *out, FILE *err)
{
	bool lasts = n > 0 && strcmp(words[0], "for") == 0;
	long long value;

	if (n == 0)
		return refuse_missing(err, "\"until TIME\" or \"for TIME\"", before);
	if (!lasts && strcmp(words[0], "until") != 0)
		return refuse_word(err, words[0], "\"until TIME\" or \"for TIME\"");
	if (n == 1)
		return refuse_missing(
			err, lasts ? "a time such as 2h" : "a time such as 18:00", words[0]);
	if (n > 2)
		return refuse_word(err, words[2], "nothing after the time");
	value = lasts ? (long long)typed_seconds(words[1], TYPED_UNIT_NEEDED, LASTS_MOST_S)
		      : (long long)time_meant(words[1]);
	snprintf(out->end, sizeof(out->end), "%s=%lld", words[0], value);
	if (value > 0)
		return true;
	fprintf(err, "weirctl: override: %s \"%s\": expected %s\n", words[0], words[1],
		lasts ? "a time such as 90s, 30min, 2h or 3d, of a year at most"
		      : "a time such as 18:00 or 2026-11-23T18:00");
	return false;
}

/* Reads the words; a wrong or missing one is reported. */
static bool read_words(const struct request *request, struct override_words *out, FILE *err)
{
	const char *const *words = request->words;
	unsigned n = request->n_words, at = 2;

	*out = (struct override_words){.policy = n > 0 ? words[0] : NULL};
	if (n == 0)
		return refuse_missing(err, "POLICY", "override");
	for (unsigned i = 0; i < n; i++)
		if (strchr(words[i], ','))
			return refuse_word(err, words[i], "a word without a comma");
	if (n == 1)
		return refuse_missing(err, "limit=LIMIT or \"off\"", words[0]);
	out->off = strcmp(words[1], "off") == 0;
	if (out->off)
		return n == 2 || refuse_word(err, words[2], "nothing after \"off\"");
	if (strncmp(words[1], "limit=", 6) != 0)
		return refuse_word(err, words[1], "limit=LIMIT or \"off\"");
	out->limit = words[1];
	if (n > 2 && strncmp(words[2], "burst=", 6) == 0)
		out->burst = words[at++];
	else if (n > 2 && strchr(words[2], '='))
		return refuse_word(err, words[2], "burst=BURST, \"until TIME\" or \"for TIME\"");
	return read_end(words + at, n - at, words[at - 1], out, err);
}

/* Returns the request, for free(). NULL without memory. */
static char *request_of(const struct override_words *words)
{
	char *out = NULL;
	int n;

	if (words->off)
		n = asprintf(&out, "/weir/override,%s,off", words->policy);
	else
		n = asprintf(&out, "/weir/override,%s,%s%s%s,%s", words->policy, words->limit,
			words->burst ? "," : "", words->burst ? words->burst : "", words->end);
	return n < 0 ? NULL : out;
}

bool override_check(const struct request *request)
{
	struct override_words words;

	return read_words(request, &words, stderr);
}

/* Waits until the disk has it, or has failed. */
static int wait_for_override(struct source *source, json_t **document)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		int ret = source_get(source, "/weir/limits", document);

		if (ret || !json_is_true(json_object_get(*document, "saving")))
			return ret;
		json_decref(*document);
		*document = NULL;
		source->pause(source, LOOK_MS);
	}
	return -ETIMEDOUT;
}

int override_gather(struct source *source, const struct request *request, json_t **document)
{
	struct override_words words;
	char *text = read_words(request, &words, stderr) ? request_of(&words) : NULL;
	json_t *answer = NULL;
	int ret = text ? source_get(source, text, &answer) : -EINVAL;

	free(text);
	*document = NULL;
	if (ret == 0 && json_object_get(answer, "request"))
		ret = wait_for_override(source, document);
	else if (ret == 0)
		*document = json_incref(answer);
	json_decref(answer);
	return ret;
}

bool override_refused(const json_t *document, FILE *err)
{
	const char *error = json_string_value(json_object_get(document, "error"));
	const json_t *lines = json_object_get(document, "refused"), *line;
	size_t i;

	if (request_denied(document, err))
		return true;
	if (err) {
		json_array_foreach (lines, i, line)
			fprintf(err, "weirctl: %s\n", json_string_value(line));
		if (error)
			fprintf(err, "weirctl: the override is not saved and not in force: %s\n",
				error);
	}
	return lines || error;
}
