/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "flow/flow_sample.h"

#define SLOT    5u
#define FLOW(n) ((uint32_t)(n) << 8 | SLOT)

static uint64_t count_of(const struct flow_sample *s)
{
	return flow_slot_count(flow_slot_read(s, SLOT));
}

TEST(test_counts_its_holder)
{
	struct flow_sample s = {0};

	flow_sample_add(&s, FLOW(1), 1500);
	flow_sample_add(&s, FLOW(1), 500);
	assert_int_equal(count_of(&s), 2000);
	assert_int_equal(flow_slot_tag(flow_slot_read(&s, SLOT)), flow_tag(FLOW(1)));
	flow_sample_add(&s, FLOW(2), 9000);
	assert_int_equal(count_of(&s), 2000);
	for (unsigned i = 0; i < FLOW_SLOTS; i++)
		assert_true(i == SLOT || flow_slot_read(&s, i) == 0);
}

/* A holder with v votes survives v packets of other flows, and not one more. */
TEST(test_displacement)
{
	for (unsigned votes = 1; votes <= FLOW_SCORE_MAX + 3; votes++) {
		unsigned saved = votes < FLOW_SCORE_MAX ? votes : FLOW_SCORE_MAX;
		struct flow_sample s = {0};

		for (unsigned i = 0; i < votes; i++)
			flow_sample_add(&s, FLOW(1), 100);
		for (unsigned i = 0; i < saved; i++)
			flow_sample_add(&s, FLOW(2), 100);
		assert_int_equal(flow_slot_tag(flow_slot_read(&s, SLOT)), flow_tag(FLOW(1)));
		flow_sample_add(&s, FLOW(2), 70);
		assert_int_equal(flow_slot_tag(flow_slot_read(&s, SLOT)), flow_tag(FLOW(2)));
		assert_int_equal(count_of(&s), 70);
	}
}

/* A flow that ended gives way to one that continues. Small flows do not displace a large one. */
TEST(test_the_large_stays)
{
	struct flow_sample s = {0};
	struct prng prng;
	unsigned held = 0;

	prng_seed(&prng, 3);
	for (int i = 0; i < 100; i++)
		flow_sample_add(&s, FLOW(1), 1500);
	for (int i = 0; i < 10000; i++) {
		uint32_t flow = prng_below(&prng, 10) < 7 ? 2 : 100 + prng_below(&prng, 1000);

		flow_sample_add(&s, FLOW(flow), 1500);
		held += flow_slot_tag(flow_slot_read(&s, SLOT)) == flow_tag(FLOW(2));
	}
	assert_true(held > 9500);
}

TEST(test_tag_of_zero_is_not_free)
{
	struct flow_sample s = {0};

	flow_sample_add(&s, SLOT, 1);
	assert_true(flow_slot_read(&s, SLOT) != 0);
	assert_int_equal(count_of(&s), 1);
}

TEST(test_count_wraps_in_its_bits)
{
	struct flow_sample s = {0};

	flow_sample_add(&s, FLOW(1), FLOW_COUNT_MASK);
	flow_sample_add(&s, FLOW(1), 11);
	assert_int_equal(count_of(&s), 10);
	assert_int_equal(flow_slot_tag(flow_slot_read(&s, SLOT)), flow_tag(FLOW(1)));
}
