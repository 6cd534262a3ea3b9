/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares the findings of a doctor by their parts: verdict, place, problem and remedy.
 */
#ifndef WEIR_TEST_PARTS_H
#define WEIR_TEST_PARTS_H

#include "check.h"

/* Cuts the next finding off the text: its line and the lines of its remedy, which are indented. */
static inline char *next_finding(char **text)
{
	char *start = *text, *end = start;

	if (!*start)
		return NULL;
	do
		end += strcspn(end, "\n") + 1;
	while (end[-1] && *end == ' ');
	if (end[-1])
		end[-1] = '\0';
	else
		end--;
	*text = end;
	return start;
}

/* Asserts one finding: `want` is "VERDICT|PART|PART"; a warning or failure has a remedy. */
static inline void assert_finding(const char *finding, const char *want)
{
	char *parts = strdup(want), *rest = parts, *part = strsep(&rest, "|");
	const char *remedy = strstr(finding, "remedy: ");

	if (strncmp(finding, part, strlen(part)) != 0)
		fail_msg("expected %s, got: %s", want, finding);
	if ((strcmp(part, "FAIL") == 0 || strcmp(part, "warn") == 0) &&
		(!remedy || strlen(remedy) <= strlen("remedy: ")))
		fail_msg("no remedy: %s", finding);
	while ((part = strsep(&rest, "|")))
		if (!strstr(finding, part))
			fail_msg("no \"%s\" in: %s", part, finding);
	free(parts);
}

/* Asserts all findings in their order: `want` has a line for each, "" for none. */
static inline void assert_findings(const char *text, const char *want)
{
	char *got = strdup(text), *got_rest = got, *finding;
	char *wanted = strdup(want), *rest = *wanted ? wanted : NULL, *line;

	while ((line = strsep(&rest, "\n"))) {
		finding = next_finding(&got_rest);
		if (!finding)
			fail_msg("no finding for %s in: %s", line, text);
		assert_finding(finding, line);
	}
	finding = next_finding(&got_rest);
	if (finding)
		fail_msg("one finding too many: %s", finding);
	free(wanted);
	free(got);
}

#endif
