/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests findings and their sum in text and JSON.
 */
#include "check.h"
#include "scope.h"

#include "checks.h"

struct sheet {
	struct doctor doctor;
	char *text;
	size_t size;
};

static void begin_sheet(struct sheet *sheet, bool json)
{
	*sheet = (struct sheet){.doctor = {.file = "f.json", .check = "it", .json = json}};
	sheet->doctor.out = open_memstream(&sheet->text, &sheet->size);
	assert_non_null(sheet->doctor.out);
}

static void expect_written(struct sheet *sheet, const char *text)
{
	fclose(sheet->doctor.out);
	assert_string_equal(sheet->text, text);
	free(sheet->text);
}

static const struct {
	struct finding finding;
	const char *text, *json;
} rows[] = {
	{{.verdict = DOCTOR_OK, .found = "well"}, "ok      it          well\n",
		"{\"verdict\":\"ok\",\"check\":\"it\",\"file\":\"f.json\",\"found\":\"well\"}\n"},
	{{.verdict = DOCTOR_UNSEEN, .place = "ports.a", .found = "dark"},
		"unseen  it          ports.a: dark\n",
		"{\"verdict\":\"unseen\",\"check\":\"it\",\"file\":\"f.json\",\"path\":\"ports.a\","
		"\"found\":\"dark\"}\n"},
	{{.verdict = DOCTOR_WARN, .found = "odd", .expected = "even"},
		"warn    it          odd: expected even\n",
		"{\"verdict\":\"warn\",\"check\":\"it\",\"file\":\"f.json\",\"found\":\"odd\","
		"\"expected\":\"even\"}\n"},
	{{.verdict = DOCTOR_FAIL, .place = "p", .found = "ill", .remedy = "rest \xc3\xa4"},
		"FAIL    it          p: ill\n            remedy: rest \xc3\xa4\n",
		"{\"verdict\":\"FAIL\",\"check\":\"it\",\"file\":\"f.json\",\"path\":\"p\","
		"\"found\":\"ill\",\"remedy\":\"rest \\u00E4\"}\n"},
};

/* One line for each finding, without the members that are NULL. */
TEST(test_forms)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		for (unsigned json = 0; json < 2; json++) {
			struct sheet sheet;

			begin_sheet(&sheet, json);
			assert_non_null(doctor_words(&sheet.doctor, "words"));
			assert_int_not_equal(sheet.doctor.words_at, 0);
			doctor_find(&sheet.doctor, &rows[i].finding);
			assert_true(sheet.doctor.found);
			assert_int_equal(sheet.doctor.words_at, 0);
			for (unsigned v = 0; v < DOCTOR_VERDICTS; v++)
				assert_int_equal(sheet.doctor.n[v], v == rows[i].finding.verdict);
			expect_written(&sheet, json ? rows[i].json : rows[i].text);
		}
}

TEST(test_not_text)
{
	struct sheet sheet;

	begin_sheet(&sheet, true);
	doctor_find(&sheet.doctor, &(struct finding){.place = "p", .found = "\xff"});
	expect_written(&sheet,
		"{\"verdict\":\"ok\",\"check\":\"it\",\"file\":\"f.json\",\"path\":\"p\"}\n");
}

/* Failures make a machine unfit, warnings do not. */
TEST(test_sum)
{
	static const struct {
		unsigned fail, warn;
		const char *text, *json;
	} sums[] = {
		{0, 1, "f.json: fit: 0 failures, 1 warning, 0 unseen\n",
			"{\"file\":\"f.json\",\"fit\":true,\"fail\":0,\"warn\":1,\"unseen\":0}\n"},
		{2, 3, "f.json: not fit: 2 failures, 3 warnings, 0 unseen\n",
			"{\"file\":\"f.json\",\"fit\":false,\"fail\":2,\"warn\":3,\"unseen\":0}\n"},
	};

	for (size_t i = 0; i < COUNT(sums); i++)
		for (unsigned json = 0; json < 2; json++) {
			struct sheet sheet;

			begin_sheet(&sheet, json);
			sheet.doctor.n[DOCTOR_FAIL] = sums[i].fail;
			sheet.doctor.n[DOCTOR_WARN] = sums[i].warn;
			doctor_sum_up(&sheet.doctor);
			expect_written(&sheet, json ? sums[i].json : sums[i].text);
		}
}

/* Log lines become findings with a place and without the name of the program. */
TEST(test_lines)
{
	static const struct {
		const char *text, *only, *written;
	} cases[] = {
		{"", NULL, ""},
		{"weir: ports.a: gone\n", NULL, "warn    it          ports.a: gone\n"},
		{"two words: gone", NULL, "warn    it          two words: gone\n"},
		{"no place\n\nkey: bad: worse\n", NULL,
			"warn    it          no place\nwarn    it          key: bad: worse\n"},
		{"EAL: no\nweir: ports.b: off\nweir: else\n", "weir: ports",
			"warn    it          ports.b: off\n"},
		{"weir: \n", NULL, ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = strdup(cases[i].text);
		struct sheet sheet;

		begin_sheet(&sheet, false);
		doctor_find_lines(&sheet.doctor, DOCTOR_WARN, text, cases[i].only);
		expect_written(&sheet, cases[i].written);
		free(text);
	}
	doctor_find_lines(NULL, DOCTOR_WARN, NULL, NULL);
}

/* Texts stay valid until the finding is written; a text without room is "". */
TEST(test_words)
{
	ENDED_BY(free_at) struct doctor *doctor = calloc(1, sizeof(*doctor));
	const char *one = doctor_words(doctor, "%d", 12), *two = doctor_words(doctor, "%s", "ab");

	assert_string_equal(one, "12");
	assert_string_equal(two, "ab");
	assert_int_equal(doctor->words_at, 6);
	assert_string_equal(doctor_words(doctor, "%*d", DOCTOR_WORDS - 6, 1), "");
	assert_int_equal(doctor->words_at, 6);
	assert_int_equal(
		strlen(doctor_words(doctor, "%*d", DOCTOR_WORDS - 7, 1)), DOCTOR_WORDS - 7);
	assert_int_equal(doctor->words_at, DOCTOR_WORDS);
	assert_string_equal(one, "12");
	assert_string_equal(doctor_plural(0), "s");
	assert_string_equal(doctor_plural(1), "");
	assert_string_equal(doctor_plural(2), "s");
}
