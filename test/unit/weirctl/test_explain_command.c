/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The note of "weirctl explain" about a policy that drops a part of its packets.
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

/* A limiter with one policy, whose counts grow while the client pauses. */
struct counting {
	struct source source;
	unsigned passed, dropped, more_passed, more_dropped;
	unsigned looks, pauses;
	bool matched;
};

static int answer(struct source *source, const char *request, json_t **value)
{
	struct counting *c = (struct counting *)source;

	if (strcmp(request, "/weir/policy,p") == 0) {
		c->looks++;
		*value = json_pack("{s:{s:i}, s:{s:i}}", "passed", "packets", (int)c->passed,
			"dropped", "packets", (int)c->dropped);
	} else if (strcmp(request, "/weir/explain,7") == 0) {
		*value = json_pack("{s:s, s:s?, s:[]}", "verdict", "pass", "policy",
			c->matched ? "p" : NULL, "notes");
	} else {
		*value = json_pack("{s:i}", "asked", 7);
	}
	return 0;
}

static double wait_a_second(struct source *source, unsigned ms)
{
	struct counting *c = (struct counting *)source;

	assert_int_equal(ms, 1000);
	c->pauses++;
	c->passed += c->more_passed;
	c->dropped += c->more_dropped;
	return 1;
}

static void expect_note(struct counting *c, const char *note, unsigned pauses)
{
	const char *words[] = {"10.9.9.9", "10.1.2.3", "udp", "53", "53"};
	const struct request request = {.words = words, .n_words = 5};
	const json_t *notes;
	json_t *document;

	c->source = (struct source){.ask = answer, .pause = wait_a_second};
	assert_int_equal(explain_gather(&c->source, &request, &document), 0);
	notes = json_object_get(json_array_get(document, 0), "notes");
	assert_int_equal(json_array_size(notes), note ? 1 : 0);
	if (note)
		assert_string_equal(json_string_value(json_array_get(notes, 0)), note);
	assert_int_equal(c->pauses, pauses);
	json_decref(document);
}

TEST(test_drops_a_part)
{
	struct counting c = {.matched = true,
		.passed = 1000,
		.dropped = 9,
		.more_passed = 122,
		.more_dropped = 244};

	expect_note(&c, "this policy dropped 244 of 366 packets in the second after this one", 1);
}

/* A policy that has never dropped is not observed, and one that no longer drops has no note. */
TEST(test_drops_nothing)
{
	struct counting never = {.matched = true, .passed = 1000, .more_dropped = 5};
	struct counting before = {.matched = true, .passed = 1000, .dropped = 9, .more_passed = 3};
	struct counting nobody = {.matched = false, .dropped = 9};

	expect_note(&never, NULL, 0);
	assert_int_equal(never.looks, 1);
	expect_note(&before, NULL, 1);
	assert_int_equal(before.looks, 2);
	expect_note(&nobody, NULL, 0);
	assert_int_equal(nobody.looks, 0);
}

TEST_GROUP(NULL, NULL)
