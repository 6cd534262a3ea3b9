/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter has no room for is asked of it less and less often, and what it has room for is
 * not kept waiting.
 */
#include "check.h"

#include "keep_pace.h"

/* So many that add, and that remove, in this order. */
static json_t *edits_of(unsigned removals, unsigned adds)
{
	json_t *edits = json_array();

	for (unsigned i = 0; i < adds; i++)
		json_array_append_new(edits, json_pack("{s:s}", "do", "add"));
	for (unsigned i = 0; i < removals; i++)
		json_array_append_new(edits, json_pack("{s:s}", "do", "remove"));
	return edits;
}

struct pace_step {
	long long at_ms;
	unsigned removals, adds; /* that there are to be sent */
	size_t sent;
	bool taken; /* else it refuses one by itself */
	bool due;   /* then, of what waits */
};

static const struct pace_step steps[] = {
	/* All is sent, until there is no room. */
	{0, 2, 900, 902, true, false},
	{10, 0, 900, 900, false, false},
	/* Then nothing but what takes some away. */
	{11, 0, 900, 0, true, false},
	{1009, 0, 900, 0, true, false},
	/* After a second one goes ahead; the next pause is two, four ... seconds. */
	{1010, 0, 900, 1, false, false},
	{3009, 0, 900, 0, true, false},
	{3010, 0, 900, 1, false, false},
	/* What has been removed makes room, at once. */
	{3011, 3, 900, 3, true, true},
	{3012, 1, 900, 4, true, true},
	{3013, 0, 897, 1, true, false},
	{3014, 0, 896, 0, true, false},
	/* One that goes ahead and is taken lets all go, which need not be taken. */
	{7010, 0, 896, 1, true, true},
	{7011, 0, 895, 895, false, false},
	{15010, 0, 895, 0, true, false},
	{15011, 0, 895, 1, true, true},
	{15012, 0, 894, 894, true, false},
	/* It begins anew. */
	{15013, 0, 1, 1, false, false},
	{16012, 0, 1, 0, true, false},
	{16013, 0, 1, 1, false, false},
	/* Nothing waits that nobody wants any more. */
	{16014, 5, 0, 5, true, false},
	{16015, 0, 7, 7, true, false},
};

static void each_step(void **state)
{
	struct keep_pace pace = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const struct pace_step *step = &steps[i];
		json_t *edits = edits_of(step->removals, step->adds);
		size_t waiting = pace_hold(&pace, edits, step->at_ms),
		       sent = json_array_size(edits);

		if (step->taken)
			pace_taken(&pace, edits, waiting, step->at_ms);
		else
			pace_refused(&pace, step->at_ms);
		if (sent != step->sent || waiting != step->removals + step->adds - sent ||
			pace_is_due(&pace, step->at_ms) != step->due)
			fail_msg("at %lld: %zu sent, %zu wait", step->at_ms, sent, waiting);
		json_decref(edits);
	}
}

/* Twice as long each time, and no longer than a minute. */
static void each_pause(void **state)
{
	static const long long pauses[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
	struct keep_pace pace = {0};
	long long now_ms = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		pace_refused(&pace, now_ms);
		assert_int_equal(pace.until_ms, now_ms + pauses[i]);
		assert_false(pace_is_due(&pace, pace.until_ms - 1));
		assert_true(pace_is_due(&pace, pace.until_ms));
		now_ms = pace.until_ms;
	}
}

/* What takes no room goes, and what makes some goes first. */
static void what_takes_no_room(void **state)
{
	json_t *edits = json_pack(
		"[{s:s}, {s:s}, {s:s}]", "do", "add", "do", "set", "do", "remove");
	json_t *want = json_pack("[{s:s}, {s:s}]", "do", "remove", "do", "set");
	struct keep_pace pace = {0};

	(void)state;
	pace_refused(&pace, 0);
	assert_int_equal(pace_hold(&pace, edits, 1), 1);
	assert_true(json_equal(edits, want));
	json_decref(edits);
	json_decref(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step),
		cmocka_unit_test(each_pause),
		cmocka_unit_test(what_takes_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
