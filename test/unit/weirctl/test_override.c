/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The requests of "weirctl override", and lines that it refuses.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"

#define WORDS_MOST 8

/* A limiter that answers "refused" to every request, and stores it. */
struct listener {
	struct source source;
	char request[256];
};

static int keep_request(struct source *source, const char *request, json_t **value)
{
	struct listener *listener = (struct listener *)source;

	snprintf(listener->request, sizeof(listener->request), "%s", request);
	*value = json_pack("{s:[s]}", "refused", "no");
	return 0;
}

/* Returns the request for a line of words; NULL if the line is refused. */
static const char *request_for(const char *line)
{
	static struct listener listener;
	const char *words[WORDS_MOST];
	char *text = strdup(line), *rest = text, *word;
	struct request request = {.words = words};
	json_t *document = NULL;
	bool good;

	listener = (struct listener){.source = {.ask = keep_request}};
	while ((word = strsep(&rest, " ")) != NULL)
		words[request.n_words++] = word;
	good = override_check(&request);
	assert_int_equal(
		override_gather(&listener.source, &request, &document), good ? 0 : -EINVAL);
	json_decref(document);
	free(text);
	assert_true(good == (listener.request[0] != '\0'));
	return good ? listener.request : NULL;
}

static void assert_requests(const char *line, const char *want)
{
	const char *got = request_for(line);

	if (!got || strcmp(got, want) != 0)
		fail_msg("%s: %s, expected %s", line, got ? got : "refused", want);
}

TEST(lasts)
{
	assert_requests("p limit=1Mbit/s for 90s", "/weir/override,p,limit=1Mbit/s,for=90");
	assert_requests("p limit=1Mbit/s for 1s", "/weir/override,p,limit=1Mbit/s,for=1");
	assert_requests("p limit=1Mbit/s for 30min", "/weir/override,p,limit=1Mbit/s,for=1800");
	assert_requests("p limit=1Mbit/s for 30m", "/weir/override,p,limit=1Mbit/s,for=1800");
	assert_requests("p limit=1Mbit/s for 1.5h", "/weir/override,p,limit=1Mbit/s,for=5400");
	assert_requests("p limit=1Mbit/s for 2h", "/weir/override,p,limit=1Mbit/s,for=7200");
	assert_requests("p limit=1Mbit/s for 366d", "/weir/override,p,limit=1Mbit/s,for=31622400");
	assert_requests("p limit=1Mbit/s burst=1MB for 8784h",
		"/weir/override,p,limit=1Mbit/s,burst=1MB,for=31622400");
	assert_requests("p off", "/weir/override,p,off");
}

/* In this machine's time zone, also if that is not UTC. */
TEST(until)
{
	static const struct {
		const char *zone, *want;
	} dates[] = {{"UTC", "1795456800"}, {"CET-1", "1795453200"}, {"EST5", "1795474800"}};
	char line[96], want[96];

	for (size_t i = 0; i < COUNT(dates); i++) {
		setenv("TZ", dates[i].zone, 1);
		tzset();
		snprintf(want, sizeof(want), "/weir/override,p,limit=1Mbit/s,until=%s",
			dates[i].want);
		assert_requests("p limit=1Mbit/s until 2026-11-23T18:00", want);
		snprintf(line, sizeof(line), "p limit=1Mbit/s burst=1MB until 2026-11-23T18:00");
		snprintf(want, sizeof(want), "/weir/override,p,limit=1Mbit/s,burst=1MB,until=%s",
			dates[i].want);
		assert_requests(line, want);
	}
}

/* The next time of day: after now, and within a day. */
TEST(until_next)
{
	static const char *const zones[] = {"UTC", "CET-1", "EST5"};

	for (unsigned i = 0; i < 3 * 48; i++) {
		unsigned hour = i % 48 / 2, minute = i % 2 ? 59 : 0;
		time_t before, after, at;
		const char *request;
		char line[64];
		struct tm tm;

		setenv("TZ", zones[i / 48], 1);
		tzset();
		snprintf(line, sizeof(line), "p limit=1Mbit/s until %02u:%02u", hour, minute);
		before = time(NULL);
		request = request_for(line);
		after = time(NULL);
		assert_non_null(request);
		at = strtoll(strstr(request, "until=") + 6, NULL, 10);
		assert_true(at > before && at <= after + 86400);
		localtime_r(&at, &tm);
		assert_int_equal(tm.tm_hour, hour);
		assert_int_equal(tm.tm_min, minute);
		assert_int_equal(tm.tm_sec, 0);
	}
}

TEST(refused)
{
	static const char *const lines[] = {
		"p",
		"p on",
		"p off now",
		"p limit=1Mbit/s",
		"p limit=1Mbit/s for",
		"p limit=1Mbit/s 2h",
		"p limit=1Mbit/s for 0s",
		"p limit=1Mbit/s for 2",
		"p limit=1Mbit/s for h",
		"p limit=1Mbit/s for -2h",
		"p limit=1Mbit/s for +2h",
		"p limit=1Mbit/s for 1.5s",
		"p limit=1Mbit/s for 2months",
		"p limit=1Mbit/s for 2hours",
		"p limit=1Mbit/s for 367d",
		"p limit=1Mbit/s for 8785h",
		"p limit=1Mbit/s for 99999999999999999999s",
		"p limit=1Mbit/s for 18:00",
		"p limit=1Mbit/s until 2h",
		"p limit=1Mbit/s until 25:00",
		"p limit=1Mbit/s until 18:60",
		"p limit=1Mbit/s until 18:00x",
		"p limit=1Mbit/s until 18",
		"p limit=1Mbit/s until tomorrow",
		"p limit=1Mbit/s until 2026-11-23",
		"p limit=1Mbit/s until 2026-11-23 18:00",
		"p limit=1Mbit/s until 2026-13-23T18:00",
		"p limit=1Mbit/s until 2026-11-23T18:00Z",
		"p limit=1Mbit/s in 2h",
		"p rate=1Mbit/s for 2h",
		"p burst=1MB limit=1Mbit/s for 2h",
		"p limit=1Mbit/s limit=2Mbit/s for 2h",
		"p limit=1Mbit/s burst=1MB x=1 for 2h",
		"p,q limit=1Mbit/s for 2h",
		"p limit=1,5Mbit/s for 2h",
		"p limit=1Mbit/s burst=1,5MB for 2h",
	};

	for (size_t i = 0; i < COUNT(lines); i++)
		if (request_for(lines[i]))
			fail_msg("%s is taken", lines[i]);
}
