/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The options of a command: each kind, at its ends and beyond, and missing or extra arguments.
 */
#include "check.h"

#include "command/option.h"

struct options {
	bool flag;
	const char *text, *argument;
	uint64_t number;
	unsigned little;
	double real;
	unsigned length;
};

static bool take_length(const char *text, void *options)
{
	((struct options *)options)->length = (unsigned)strlen(text);
	return text[0] != '-';
}

static const struct option_row rows[] = {
	OPTION_ROW_FLAG("flag", struct options, flag),
	OPTION_ROW_TEXT("text", struct options, text),
	OPTION_ROW_NUMBER("number", struct options, number, 3, UINT64_MAX),
	OPTION_ROW_UNSIGNED("little", struct options, little, 0, 5),
	OPTION_ROW_REAL("real", struct options, real, -0.5, 0.5),
	OPTION_ROW_OTHER("length", take_length),
};

static const struct option_set set = {
	.command = "do",
	.usage = "usage\n",
	.rows = rows,
	.n = COUNT(rows),
	.expected = "expected one file",
	.argument = true,
	.argument_at = offsetof(struct options, argument),
};

/* Parses a line of words separated by blanks, at most eight. */
static int parse(const struct option_set *of, const char *words, struct options *options)
{
	char *text = strdup(words), *rest = text, *word, *argv[10] = {(char[]){"do"}};
	int n = 1, ret;

	assert_non_null(text);
	while ((word = strsep(&rest, " ")) != NULL)
		if (*word)
			argv[n++] = word;
	*options = (struct options){0};
	ret = option_parse(of, n, argv, options);
	free(text); /* the options' pointers into it are not used any more */
	return ret;
}

TEST(test_each_kind)
{
	static const struct {
		const char *words;
		int ret;
		struct options expected;
	} lines[] = {
		{"f", -1, {0}},
		{"f --flag", -1, {.flag = true}},
		{"--number 3 f", -1, {.number = 3}},
		{"--number=18446744073709551615 f", -1, {.number = UINT64_MAX}},
		{"--little 0 --real -0.5 f", -1, {.real = -0.5}},
		{"--little 5 --real 0.5 f", -1, {.little = 5, .real = 0.5}},
		{"--length four f", -1, {.length = 4}},
		{"--help", EXIT_SUCCESS, {0}},
		{"--number 2 f", EXIT_BAD, {.number = 2}},
		{"--number 18446744073709551616 f", EXIT_BAD, {.number = UINT64_MAX}},
		{"--number -3 f", EXIT_BAD, {.number = (uint64_t)-3}},
		{"--number 3x f", EXIT_BAD, {.number = 3}},
		{"--number +3 f", EXIT_BAD, {.number = 3}},
		{"--little 6 f", EXIT_BAD, {0}},
		{"--real 0.51 f", EXIT_BAD, {.real = 0.51}},
		{"--real -0.51 f", EXIT_BAD, {.real = -0.51}},
		{"--real x f", EXIT_BAD, {0}},
		{"--real 0.1x f", EXIT_BAD, {.real = 0.1}},
		{"--length --f f", EXIT_BAD, {.length = 3}},
		{"--unknown f", EXIT_BAD, {0}},
		{"f g", EXIT_BAD, {0}},
		{"--flag", EXIT_BAD, {.flag = true}},
		{"", EXIT_BAD, {0}},
	};

	for (size_t i = 0; i < COUNT(lines); i++) {
		const struct options *want = &lines[i].expected;
		struct options got;

		print_message("%s\n", lines[i].words);
		assert_int_equal(parse(&set, lines[i].words, &got), lines[i].ret);
		assert_int_equal(got.argument != NULL, lines[i].ret < 0);
		assert_int_equal(got.flag, want->flag);
		assert_true(got.number == want->number);
		assert_int_equal(got.little, want->little);
		assert_true(got.real == want->real);
		assert_int_equal(got.length, want->length);
	}
}

TEST(test_texts)
{
	char *argv[] = {
		(char[]){"do"}, (char[]){"--text"}, (char[]){"a b"}, (char[]){"file"}, NULL};
	struct option_set none = set;
	struct options options = {0};

	assert_int_equal(option_parse(&set, 4, argv, &options), -1);
	assert_string_equal(options.text, "a b");
	assert_string_equal(options.argument, "file");
	none.argument = false;
	assert_int_equal(option_parse(&none, 3, argv, &options), -1);
	assert_int_equal(option_parse(&none, 4, argv, &options), EXIT_BAD);
	assert_int_equal(option_refuse(&set), EXIT_BAD);
}

enum { MAKE = 1, BREAK };

struct chosen {
	struct option_command command;
	bool loud;
	const char *text;
};

static const struct option_row chosen_rows[] = {
	{"make", .kind = OPTION_COMMAND, .least = MAKE, .brief = 'm', .of = 1, .help = "make it",
		.at = OPTION_AT(struct chosen, command, struct option_command)},
	{"break", .kind = OPTION_COMMAND_OF, .least = BREAK, .brief = 'b', .of = 2,
		.value = "THING", .help = "break one thing after another until none is left",
		.at = OPTION_AT(struct chosen, command, struct option_command)},
	OPTION_ROW_FLAG("loud", struct chosen, loud, .brief = 'l', .of = 4, .help = "loudly"),
	OPTION_ROW_TEXT("text", struct chosen, text, .once = true, .value = "T", .help = "a text"),
};

static const struct option_set chosen_set = {
	.program = "do", .rows = chosen_rows, .n = COUNT(chosen_rows)};

/* Letters, several in a word, shortened names, and options that exclude each other. */
TEST(test_read)
{
	static const struct {
		const char *words;
		int at; /* -1: refused */
		unsigned is, given;
		bool loud;
		const char *value;
	} lines[] = {
		{"", 1, 0, 0, false, NULL},
		{"x y", 1, 0, 0, false, NULL},
		{"-m", 2, MAKE, 1, false, NULL},
		{"-lm x", 2, MAKE, 5, true, NULL},
		{"x -lbcup", 2, BREAK, 6, true, "cup"},
		{"--bre cup x --lo", 4, BREAK, 6, true, "cup"},
		{"--break=cup -- -x", 3, BREAK, 2, false, "cup"},
		{"--make --make", -1, 0, 0, false, NULL},
		{"-m -b cup", -1, 0, 0, false, NULL},
		{"--text a --text b", -1, 0, 0, false, NULL},
		{"--make=1", -1, 0, 0, false, NULL},
		{"-b", -1, 0, 0, false, NULL},
		{"-x", -1, 0, 0, false, NULL},
		{"-h", -1, 0, 0, false, NULL},
		{"--help", -1, 0, 0, false, NULL},
	};

	for (size_t i = 0; i < COUNT(lines); i++) {
		char *text = strdup(lines[i].words), *rest = text, *word;
		char *argv[10] = {(char[]){"do"}};
		struct chosen got = {0};
		unsigned given = 0;
		int n = 1, at;

		while ((word = strsep(&rest, " ")) != NULL)
			if (*word)
				argv[n++] = word;
		print_message("%s\n", lines[i].words);
		at = option_read(&chosen_set, n, argv, &got, &given);
		assert_int_equal(at, lines[i].at);
		if (at > 0) {
			assert_int_equal(got.command.is, lines[i].is);
			assert_int_equal(given, lines[i].given);
			assert_int_equal(got.loud, lines[i].loud);
			assert_int_equal(got.command.value != NULL, lines[i].value != NULL);
			if (lines[i].value)
				assert_string_equal(got.command.value, lines[i].value);
		}
		free(text);
	}
}

TEST(test_rows_printed)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	option_print_rows(&chosen_set, 6, 17, 40, out);
	option_print_rows(&chosen_set, 0, 12, 0, out);
	fclose(out);
	assert_string_equal(text, "  -b, --break THING\n"
				  "                 break one thing after\n"
				  "                 another until none is\n"
				  "                 left\n"
				  "  -l, --loud     loudly\n"
				  "      --text T  a text\n");
	free(text);
}

TEST(test_numbers)
{
	static const struct {
		const char *text;
		unsigned n;
		uint64_t last;
	} lists[] = {{"1", 1, 1}, {"1,9", 2, 9}, {"3,2,1", 3, 1}, {"1,2,3,4", 0, 0}, {"", 0, 0},
		{"1,", 0, 0}, {",1", 0, 0}, {"0", 0, 0}, {"10", 0, 0}, {"1,x", 0, 0},
		{"1;2", 0, 0}};

	for (size_t i = 0; i < COUNT(lists); i++) {
		uint64_t out[4] = {0, 0, 0, 77};

		assert_int_equal(option_numbers("list", lists[i].text, 1, 9, out, 3), lists[i].n);
		if (lists[i].n)
			assert_int_equal(out[lists[i].n - 1], lists[i].last);
		assert_int_equal(out[3], 77);
	}
}

static struct {
	FILE *real;
	char *text;
	size_t size;
} heard[2];

/* Captures the output of a stream from now on. */
static void hear(FILE **stream)
{
	unsigned i = stream == &stderr;

	heard[i].real = *stream;
	*stream = open_memstream(&heard[i].text, &heard[i].size);
	assert_non_null(*stream);
}

static void expect_heard(FILE **stream, const char *expected)
{
	unsigned i = stream == &stderr;

	fclose(*stream);
	*stream = heard[i].real;
	assert_string_equal(heard[i].text, expected);
	free(heard[i].text);
}

/* Messages about a number, or too many of them. */
TEST(test_said)
{
	static const struct {
		const char *text, *said;
	} lists[] = {
		{"1,2,3", ""},
		{"1,10", "--list: \"10\": expected 1 to 9\n"},
		{"0", "--list: \"0\": expected 1 to 9\n"},
		{"1,,2", "--list: \"\": expected 1 to 9\n"},
		{"1,2,3,4", "--list: expected at most 3 numbers\n"},
	};

	for (size_t i = 0; i < COUNT(lists); i++) {
		uint64_t out[3];

		hear(&stderr);
		option_numbers("list", lists[i].text, 1, 9, out, 3);
		expect_heard(&stderr, lists[i].said);
	}
}

/* Messages about a whole line, and their stream. */
TEST(test_lines_said)
{
	static const struct {
		const char *words, *out, *err;
	} lines[] = {
		{"--help", "usage\n", ""},
		{"f", "", ""},
		{"--little 6 f", "", "--little: \"6\": expected 0 to 5\n"},
		{"--real 0.6 f", "", "--real: \"0.6\": expected -0.5 to 0.5\n"},
		{"f g", "", "expected one file; see test_option do --help\n"},
		{"--nubmer 3", "", "--nubmer: no such option: did you mean \"--number\"?\n"},
		{"--l 3", "", "--l: several options begin with this: give more of it\n"},
		{"--unheard", "", "--unheard: no such option\n"},
		{"--number", "", "--number: expected a value after it\n"},
	};

	for (size_t i = 0; i < COUNT(lines); i++) {
		struct options options;

		hear(&stdout);
		hear(&stderr);
		parse(&set, lines[i].words, &options);
		expect_heard(&stderr, lines[i].err);
		expect_heard(&stdout, lines[i].out);
	}
}
