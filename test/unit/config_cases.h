/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tables for tests of the configuration: a document, and every message about it, without its words
 * (message_lines.h). In them ' stands for ", and * for any text within a line.
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

#include "message_lines.h"

#include "config/load.h"
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

struct config_case {
	const char *document;
	const char *messages; /* all, in order; a document with warnings only is accepted */
};

static inline char *with_quotes(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	return copy;
}

/* Reads the text as file "w.json". The caller frees the messages: see message_lines.h. */
static inline int parse_config_case(
	const char *text, size_t len, char **messages, struct config **out)
{
	struct message_lines lines;
	struct config_load load = {.path = "w.json", .text = text, .len = len};
	int rc;

	load.diagnostics = message_lines_begin(&lines);
	rc = config_load_with(&load, out);
	*messages = message_lines_end(&lines);
	if (rc != (lines.diagnostics.errors > 0 ? -EINVAL : 0) || (rc == 0) != (*out != NULL))
		fail_msg("%s\nrc %d", text, rc);
	return rc;
}

/* Checks all messages about the text. */
static inline void expect_messages(const char *text, size_t len, const char *expected)
{
	struct config *config;
	char *got;

	parse_config_case(text, len, &got, &config);
	assert_lines(got, expected);
	config_free(config);
	free(got);
}

static inline void run_cases(const struct config_case *cases)
{
	unsigned failures = 0;

	for (; cases->document != NULL; cases++) {
		char *text = with_quotes(cases->document), *got;
		struct config *config;

		parse_config_case(text, strlen(text), &got, &config);
		if (!message_lines_fit(got, cases->messages)) {
			print_error("%s\ngot:\n%sexpected:\n%s\n", text, got, cases->messages);
			failures++;
		}
		config_free(config);
		free(got);
		free(text);
	}
	assert_int_equal(failures, 0);
}

/* Returns the configuration of a valid document, which has no messages except those expected. */
static inline struct config *must_accept(const char *document, const char *warnings)
{
	char *text = with_quotes(document), *messages;
	struct config *config;

	parse_config_case(text, strlen(text), &messages, &config);
	if (config == NULL || !message_lines_fit(messages, warnings))
		fail_msg("%s\n%s", text, messages);
	free(text);
	free(messages);
	return config;
}

/* Like must_accept(), with any warnings. */
static inline struct config *must_read(const char *document)
{
	char *text = with_quotes(document), *messages;
	struct config *config;

	parse_config_case(text, strlen(text), &messages, &config);
	if (config == NULL)
		fail_msg("%s\n%s", text, messages);
	free(text);
	free(messages);
	return config;
}

static inline struct config *must_parse(const char *document)
{
	return must_accept(document, "");
}

#endif
