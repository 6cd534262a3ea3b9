/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Times on a command line, by all options and words that have one: one grammar.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "command.h"
#include "ctl_options.h"

static const struct {
	const char *name;
	double seconds;
} units[] = {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"ms", 0.001}, {"", 1},
	{"months", 0}, {"M", 0}, {"minutes", 0}, {"x", 0}};

/* Returns the seconds that an option of a command line gets; 0: it is refused. */
static double option_seconds(const char *command, const char *option, const char *time)
{
	char words[5][32] = {"weirctl", "", "f", "", ""};
	bool file = strcmp(command, "apply") == 0;
	char *line[] = {words[0], words[1], words[3], words[4], file ? words[2] : NULL, NULL};
	static struct options options;

	snprintf(words[1], sizeof(words[1]), "%s", command);
	snprintf(words[3], sizeof(words[3]), "%s", option);
	snprintf(words[4], sizeof(words[4]), "%s", time);
	if (!options_parse(file ? 5 : 4, line, commands, &options))
		return 0;
	if (strcmp(option, "--confirm-within") == 0)
		return options.request.within_s;
	if (strcmp(option, "--for") == 0)
		return options.request.for_s;
	return options.request.interval_s;
}

/* Compares a text with its meaning, in each place that reads times. */
static void check_everywhere(const char *text, double seconds, bool bare)
{
	bool whole = seconds >= 1 && fmod(seconds, 1) == 0, day = seconds <= 86400;
	double strict = bare ? 0 : seconds;

	if (seconds > 0)
		assert_true(fabs(typed_time(text, TYPED_UNIT_OPTIONAL) - seconds) < 1e-9);
	else
		assert_true(isnan(typed_time(text, TYPED_UNIT_OPTIONAL)));
	assert_int_equal(typed_seconds(text, TYPED_UNIT_NEEDED, UINT32_MAX), whole ? strict : 0);
	assert_true(
		option_seconds("apply", "--confirm-within", text) == (whole && day ? seconds : 0));
	assert_true(option_seconds("talkers", "--for", text) == (whole && day ? seconds : 0));
	assert_true(fabs(option_seconds("top", "--interval", text) -
			    (seconds >= 0.1 && day ? seconds : 0)) < 1e-9);
}

/* Random numbers with each unit, and with words that are none. */
TEST(test_one_grammar)
{
	struct prng rng;

	prng_seed(&rng, 5);
	for (unsigned round = 0; round < 3000; round++) {
		unsigned unit = prng_below(&rng, COUNT(units)), number = 1 + prng_below(&rng, 2000);
		bool half = prng_percent(&rng, 20);
		char text[32];

		snprintf(text, sizeof(text), "%u%s%s", number, half ? ".5" : "", units[unit].name);
		check_everywhere(text, (number + (half ? 0.5 : 0)) * units[unit].seconds,
			units[unit].name[0] == '\0');
	}
}

TEST(test_no_times)
{
	static const char *const texts[] = {"", "s", "-1s", "+1s", "0x10", "inf", "nan", "1s1s",
		"1 ", "1e400", "99999999999999999999s", "18:00", "1,5s"};

	for (size_t i = 0; i < COUNT(texts); i++)
		if (!isnan(typed_time(texts[i], TYPED_UNIT_OPTIONAL)) ||
			typed_seconds(texts[i], TYPED_UNIT_NEEDED, UINT32_MAX))
			fail_msg("%s is a time", texts[i]);
}

TEST_GROUP(NULL, NULL)
