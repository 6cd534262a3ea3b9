/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tables for tests of the configuration: a document, and the parts of every message about it. In
 * them ' stands for ", * for any text within a line, @ for the names of the allocators, and ^ for
 * the names of the meters in a message about an unknown one.
 */
#ifndef WEIR_TEST_CONFIG_CASES_H
#define WEIR_TEST_CONFIG_CASES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "message_parts.h"

#include "allocate/allocate.h"
#include "config/load.h"
#include "meter/meters.h"
#include "policy/config.h"

#define PORTS  "'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}, "
#define WIRES  "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan'}]"
#define GROUP2 "{'name': 'me', 'address': '10.0.0.1:1'}, {'name': 'you', 'address': '10.0.0.2:1'}"

/* Documents that are complete except the part under test. */
#define DOC(members)                                                     \
	"{'limiter': 'me', " PORTS WIRES ", 'policies': [{'name': 'p', " \
	"'limit': '10Mbit/s'}]" members "}"
#define POLICY(members)  POLICIES("{'name': 'p'" members "}")
#define LIMITED(members) POLICY(", 'limit': '10Mbit/s'" members)
#define MATCH(members)   LIMITED(", 'match': {" members "}")
#define POLICIES(list)   "{'limiter': 'me', " PORTS WIRES ", 'policies': [" list "]}"
#define GOSSIP(members)  DOC(", 'gossip': {" members "}")
#define NET(members)                                                 \
	"{'limiter': 'me', " members ", 'policies': [{'name': 'p', " \
	"'limit': '10Mbit/s'}]}"

#define NAME63    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define TEN(text) text text text text text text text text text text

#define EXPECTED_RATE    "expected bit/s such as '10Mbit/s'\n"
#define MEANT(text)      ": did you mean '" text "'?\n"
#define MEANT_RATE(text) "expected bit/s such as '10Mbit/s'" MEANT(text)
#define RATE_RANGE       "expected 8kbit/s to 400Gbit/s\n"
#define EXPECTED_PREFIX  "expected a prefix such as '192.0.2.0/24' or '2001:db8::/32'\n"

#define UNKNOWN_KEY "unknown key: expected*see*\n" /* not similar to any key */
#define DUPLICATE   ": duplicate key: expected it once: line 1 has it too\n"

struct config_case {
	const char *document;
	const char *messages; /* all, in order; a document with warnings only is accepted */
};

static inline void put_meter_names(FILE *out)
{
#define METER_QUOTED(constant, member, prefix, state, profile, set, name, ...) "\"" name "\"",
	static const char *const names[] = {METERS_TO_CHOOSE(METER_QUOTED, METER_QUOTED)};
#undef METER_QUOTED

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fprintf(out, "%s%s", i > 0 ? " or " : "", names[i]);
}

static inline char *with_quotes(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	assert_non_null(out);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			fputs(allocator_names(), out);
		else if (*text == '^')
			put_meter_names(out);
		else
			fputc(*text == '\'' ? '"' : *text, out);
	}
	fclose(out);
	return copy;
}

/* Parses the text as file "w.json". The caller frees the messages. */
static inline int parse_config_case(
	const char *text, size_t len, char **messages, struct config **out)
{
	size_t size;
	FILE *err = open_memstream(messages, &size);
	int rc;

	assert_non_null(err);
	rc = config_parse(text, len, "w.json", err, out);
	fclose(err);
	assert_true((rc == 0) == (*out != NULL));
	return rc;
}

static inline bool has_error(const char *messages)
{
	for (const char *line = messages; *line != '\0'; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "w.json:1: warning: ", strlen("w.json:1: warning: ")) != 0)
			return true;
	}
	return false;
}

static inline unsigned print_case(const char *document, const char *got, const char *expected)
{
	print_error("%s\ngot:\n%sexpected the parts:\n%s", document, got, expected);
	return 1;
}

static inline void run_cases(const struct config_case *cases)
{
	unsigned failures = 0;

	for (; cases->document != NULL; cases++) {
		char *document = with_quotes(cases->document),
		     *expected = with_quotes(cases->messages);
		char *messages;
		struct config *config;
		int rc = parse_config_case(document, strlen(document), &messages, &config);

		if (!parts_fit(messages, expected))
			failures += print_case(document, messages, expected);
		if (rc != (has_error(expected) ? -EINVAL : 0))
			fail_msg("%s\nrc %d", document, rc);
		config_free(config);
		free(messages);
		free(document);
		free(expected);
	}
	assert_int_equal(failures, 0);
}

static inline struct config *must_parse(const char *document)
{
	char *text = with_quotes(document), *messages;
	struct config *config;

	parse_config_case(text, strlen(text), &messages, &config);
	if (config == NULL || *messages != '\0')
		fail_msg("%s\n%s", text, messages);
	free(text);
	free(messages);
	return config;
}

#endif
