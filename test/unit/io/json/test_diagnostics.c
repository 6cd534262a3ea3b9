/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Diagnostics for people: the parts of a line, the source line with a caret below, and the number
 * of further errors.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "json/diagnostics.h"

struct written {
	struct diagnostics d;
	char *text;
	size_t size;
	FILE *out;
};

static void begin_writing(struct written *w)
{
	w->out = open_memstream(&w->text, &w->size);
	assert_non_null(w->out);
	diagnostics_init(&w->d, w->out, DIAGNOSTICS_TEXT);
}

static void end_writing(struct written *w)
{
	fclose(w->out);
	free(w->text);
}

/* Checks the text written since the last call. */
static void check_written(struct written *w, const char *expected)
{
	fflush(w->out);
	assert_string_equal(w->text, expected);
	fclose(w->out);
	free(w->text);
	w->out = w->d.out = open_memstream(&w->text, &w->size);
	assert_non_null(w->out);
}

TEST(test_lines)
{
	static const struct {
		struct diagnostic what;
		const char *expected;
	} rows[] = {
		{{.file = "w.json", .text = "no such file"}, "w.json: no such file\n"},
		{{.file = "w.json", .line = 7, .text = "x"}, "w.json:7: x\n"},
		{{.file = "w.json", .line = 7, .column = 3, .text = "x"}, "w.json:7:3: x\n"},
		{{.file = "w.json", .line = 7, .warning = true, .text = "x"},
			"w.json:7: warning: x\n"},
		{{.file = "w.json",
			 .line = 7,
			 .place = "p",
			 .found = "f",
			 .expected = "e",
			 .remedy = "r"},
			"w.json:7: p: f: expected e: r\n"},
	};
	struct written w;

	begin_writing(&w);
	for (size_t i = 0; i < COUNT(rows); i++) {
		diagnostic_write(&w.d, &rows[i].what);
		check_written(&w, rows[i].expected);
	}
	end_writing(&w);
}

/* 72 characters of a longer line are shown, up to 64 of them before the caret. */
static void check_source(const struct diagnostic_source *source)
{
	size_t start = source->column > 65 ? source->column - 65 : 0, left = source->len - start;
	const struct diagnostic what = {.file = "w", .line = 12, .source = source};
	char *shown, *below;
	struct written w;
	size_t column;

	begin_writing(&w);
	diagnostic_write(&w.d, &what);
	fflush(w.out);
	shown = strstr(w.text, "\n    12 | ");
	assert_non_null(shown);
	shown++;
	below = strchr(shown, '\n');
	assert_non_null(below);
	below++;
	assert_int_equal(strncmp(below, "       | ", 9), 0);
	column = strcspn(below, "^");
	assert_string_equal(below + column, "^\n");
	assert_int_equal(strspn(below + 9, " "), column - 9);
	if (source->column <= source->len)
		assert_int_equal(shown[column], source->text[source->column - 1]);
	assert_int_equal(shown[9], start < source->len ? source->text[start] : '\n');
	assert_int_equal(below - 1 - shown, 9 + (left < 72 ? left : 72));
	end_writing(&w);
}

TEST(test_source_lines)
{
	char text[400];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('!' + i % 90);
	for (size_t len = 1; len <= sizeof(text); len += 1 + len / 8)
		for (unsigned column = 1; column <= len + 1; column++)
			check_source(&(struct diagnostic_source){text, len, column});
}

/*
 * A tab becomes a blank; a byte that controls a terminal, or is not printable, becomes a question
 * mark.
 */
TEST(test_source_bytes)
{
	static const struct diagnostic_source source = {"\ta\x80\x1f~ \x7f\xff", 8, 2};
	struct written w;

	begin_writing(&w);
	diagnostic_write(&w.d, &(struct diagnostic){.file = "w", .line = 1, .source = &source});
	check_written(&w, "w:1\n     1 |  a??~ ??\n       |  ^\n");
	end_writing(&w);
}

/* A line with the parts that are present, and no others. */
TEST(test_for_programs)
{
	static const struct {
		struct diagnostic what;
		const char *expected;
	} rows[] = {
		{{.file = "w", .text = "x"},
			"{\"severity\":\"error\",\"file\":\"w\",\"message\":\"w: x\"}\n"},
		{{.file = "w", .line = 1, .column = 1, .warning = true, .text = "x"},
			"{\"severity\":\"warning\",\"file\":\"w\",\"line\":1,\"column\":1,"
			"\"message\":\"w:1:1: warning: x\"}\n"},
		{{.file = "w",
			 .path = "a",
			 .policy = "p",
			 .place = "b",
			 .found = "\xc3\xa4",
			 .expected = "e",
			 .remedy = "r"},
			"{\"severity\":\"error\",\"file\":\"w\",\"path\":\"a\",\"policy\":\"p\","
			"\"found\":\"\\u00E4\",\"expected\":\"e\",\"remedy\":\"r\","
			"\"message\":\"w: b: \\u00E4: expected e: r\"}\n"},
	};
	struct written w;

	begin_writing(&w);
	w.d.form = DIAGNOSTICS_JSON;
	for (size_t i = 0; i < COUNT(rows); i++) {
		diagnostic_write(&w.d, &rows[i].what);
		check_written(&w, rows[i].expected);
	}
	end_writing(&w);
}

/* Every error is counted, and written if there is an output for it. */
TEST(test_unsaid)
{
	struct diagnostics nowhere;
	struct written w;

	begin_writing(&w);
	w.d.errors_only = true;
	for (unsigned i = 0; i <= DIAGNOSTICS_MOST; i++) {
		assert_false(diagnostics_shows(&w.d, true));
		assert_false(diagnostics_count(&w.d, true));
		assert_int_equal(diagnostics_shows(&w.d, false), i < DIAGNOSTICS_MOST);
		assert_int_equal(diagnostics_count(&w.d, false), i < DIAGNOSTICS_MOST);
	}
	diagnostics_rest(&w.d, "w");
	check_written(&w, "w: and 1 more error, 21 in all\n");
	assert_int_equal(w.d.warnings, DIAGNOSTICS_MOST + 1);
	end_writing(&w);
	diagnostics_init(&nowhere, NULL, DIAGNOSTICS_TEXT);
	assert_false(diagnostics_shows(&nowhere, false));
	for (unsigned i = 0; i <= DIAGNOSTICS_MOST; i++)
		assert_false(diagnostics_count(&nowhere, false));
	diagnostics_rest(&nowhere, "w");
	assert_int_equal(nowhere.errors, DIAGNOSTICS_MOST + 1);
}

/* Each document has its own number of errors and of warnings, and a maximum that is written. */
TEST(test_rest)
{
	static const struct {
		unsigned errors, warnings;
		const char *said;
	} documents[] = {
		{DIAGNOSTICS_MOST, DIAGNOSTICS_MOST, ""},
		{DIAGNOSTICS_MOST + 1, 0, "w: and 1 more error, 21 in all\n"},
		{3, DIAGNOSTICS_MOST + 5, "w: warning: and 5 more warnings, 25 in all\n"},
		{1, 1, ""},
		{DIAGNOSTICS_MOST + 2, DIAGNOSTICS_MOST + 3,
			"w: and 2 more errors, 22 in all\n"
			"w: warning: and 3 more warnings, 23 in all\n"},
	};
	unsigned errors = 0, warnings = 0;
	struct written w;

	begin_writing(&w);
	for (size_t i = 0; i < COUNT(documents); i++) {
		assert_true(diagnostics_shows(&w.d, false));
		assert_true(diagnostics_shows(&w.d, true));
		for (unsigned k = 0; k < documents[i].errors; k++)
			assert_int_equal(diagnostics_count(&w.d, false), k < DIAGNOSTICS_MOST);
		for (unsigned k = 0; k < documents[i].warnings; k++)
			assert_int_equal(diagnostics_count(&w.d, true), k < DIAGNOSTICS_MOST);
		diagnostics_rest(&w.d, "w");
		check_written(&w, documents[i].said);
		errors += documents[i].errors;
		warnings += documents[i].warnings;
		assert_int_equal(w.d.errors, errors);
		assert_int_equal(w.d.warnings, warnings);
	}
	end_writing(&w);
}

#define MESSAGES 12

/*
 * Random lists of errors and warnings, some with source lines, against the same lists written one
 * kind after the other.
 */
TEST(test_errors_first)
{
	static const struct {
		bool warning;
		const char *text;
	} forms[] = {
		{false, "f:%u: a: \"x\": expected y\n"},
		{true, "f:%u: warning: a: \"x\": late\n"},
		{true, "warning: f: %u changes are lost\n"},
		{false, "f:%u:7: no JSON\n     2 | {\n       | ^\n"},
		{true, "the file: warning: b %u\n     2 | {\n"},
		{false, "f:%u: a: \": warning: \": expected y\n"},
		{false, "gossip.key_file: /k%u: No such file\n"},
		{false, "warn%u\n"},
	};
	struct prng rng;

	prng_seed(&rng, 4);
	for (unsigned round = 0; round < 2000; round++) {
		char lines[MESSAGES * 64] = "", parts[2][sizeof(lines)] = {"", ""};
		unsigned n = prng_below(&rng, MESSAGES + 1);

		for (unsigned i = 0; i < n; i++) {
			unsigned form = prng_below(&rng, COUNT(forms));
			char line[64];

			snprintf(line, sizeof(line), forms[form].text, i);
			assert_int_equal(diagnostics_is_warning(line, strcspn(line, "\n")),
				forms[form].warning);
			strcat(lines, line);
			strcat(parts[forms[form].warning], line);
		}
		strcat(parts[0], parts[1]);
		diagnostics_errors_first(lines);
		assert_string_equal(lines, parts[0]);
	}
}
