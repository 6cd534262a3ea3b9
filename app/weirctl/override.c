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

#define LOOK_MS 50
#define LOOKS   (60 * 1000 / LOOK_MS)
#define DAY_S   86400

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

/* "90s", "30min", "2h", "3d" in seconds; 0: none of these. */
static unsigned long time_lasts(const char *text)
{
	static const struct {
		const char *name;
		unsigned long s;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", DAY_S}};
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	for (size_t i = 0; *text >= '0' && *text <= '9' && i < 4; i++)
		if (strcmp(end, units[i].name) == 0 && n <= 366UL * DAY_S / units[i].s)
			return n * units[i].s;
	return 0;
}

/* "until" or "for" and what is behind it. */
static bool add_end(const char *const *words, char *out, size_t size)
{
	bool lasts = strcmp(words[0], "for") == 0;
	long long value = lasts ? (long long)time_lasts(words[1]) : (long long)time_meant(words[1]);

	snprintf(out, size, ",%s=%lld", lasts ? "for" : "until", value);
	return value > 0 && (lasts || strcmp(words[0], "until") == 0);
}

/* What the server is asked, for free(); NULL: it makes no sense. */
static char *request_of(const struct request *request)
{
	const char *const *words = request->words;
	unsigned n = request->n_words, terms = n > 3 ? n - 3 : 0;
	char end[64], *out = NULL;
	bool good = terms == 1 || terms == 2;

	if (n == 2 && strcmp(words[1], "off") == 0)
		return asprintf(&out, "/weir/override,%s,off", words[0]) < 0 ? NULL : out;
	good = good && strncmp(words[1], "limit=", 6) == 0 &&
	       add_end(words + n - 2, end, sizeof(end));
	good = good && (terms < 2 || strncmp(words[2], "burst=", 6) == 0);
	for (unsigned i = 0; i < n; i++)
		good = good && !strchr(words[i], ',');
	if (!good)
		return NULL;
	return asprintf(&out, "/weir/override,%s,%s%s%s%s", words[0], words[1],
		       terms == 2 ? "," : "", terms == 2 ? words[2] : "", end) < 0
		       ? NULL
		       : out;
}

bool override_check(const struct request *request)
{
	char *text = request_of(request);

	if (!text)
		fputs("weirctl: override: expected POLICY limit=LIMIT [burst=BURST] and until "
		      "18:00, until 2026-11-23T18:00 or for 2h; or POLICY off\n",
			stderr);
	free(text);
	return text != NULL;
}

/* Until it is on the disk, or is not. */
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
	char *text = request_of(request);
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
	const char *needs = json_string_value(json_object_get(document, "needs"));
	const char *error = json_string_value(json_object_get(document, "error"));
	const json_t *lines = json_object_get(document, "refused"), *line;
	size_t i;

	if (json_object_get(document, "denied")) {
		if (err)
			fprintf(err, "weirctl: not permitted: it takes %s\n",
				needs ? needs : "more rights");
		return true;
	}
	if (err) {
		json_array_foreach (lines, i, line)
			fprintf(err, "weirctl: %s\n", json_string_value(line));
		if (error)
			fprintf(err, "weirctl: it cannot be kept, and does not hold: %s\n", error);
	}
	return lines || error;
}
