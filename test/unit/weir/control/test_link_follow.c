/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The end of a wire that goes down because of the other, and its return.
 */
#include "check.h"

#include "base/prng.h"
#include "links.h"

#define STEP (SECOND_NS / 4)

/* Two cables, and the ends that we switch. An end that we took down has no link. */
struct cables {
	struct link_follow follow;
	bool plugged[2], down[2];
	unsigned acts;
	uint64_t now;
};

static void begin(struct cables *c)
{
	*c = (struct cables){.plugged = {true, true}, .now = 1000 * SECOND_NS};
	link_follow_begin(&c->follow, c->now);
}

static void run_for(struct cables *c, uint64_t ns)
{
	for (uint64_t end = c->now + ns; c->now < end;) {
		const bool up[2] = {c->plugged[0] && !c->down[0], c->plugged[1] && !c->down[1]};
		enum link_end end_of = LINK_END_NONE;
		enum link_act act = link_follow_turn(&c->follow, up, c->now, &end_of);

		if (act != LINK_LEAVE) {
			assert_in_range(end_of, LINK_END_A, LINK_END_B);
			assert_int_equal(c->down[end_of], act == LINK_BRING_UP);
			c->down[end_of] = act == LINK_TAKE_DOWN;
			c->acts++;
		}
		c->now += STEP;
		assert_false(c->down[0] && c->down[1]);
	}
}

TEST(loss_is_passed_on)
{
	for (unsigned end = 0; end < 2; end++) {
		struct cables c;

		begin(&c);
		run_for(&c, SECOND_NS);
		c.plugged[end] = false;
		run_for(&c, SECOND_NS);
		assert_true(c.down[!end]);
		c.plugged[end] = true;
		run_for(&c, LINK_FOLLOW_UP_NS - STEP);
		assert_true(c.down[!end]);
		run_for(&c, SECOND_NS);
		assert_false(c.down[!end]);
		run_for(&c, 60 * SECOND_NS);
		assert_int_equal(c.acts, 2);
	}
}

TEST(short_losses_are_not)
{
	struct cables c;

	begin(&c);
	run_for(&c, SECOND_NS);
	for (unsigned i = 0; i < 20; i++) {
		c.plugged[0] = false;
		run_for(&c, LINK_FOLLOW_DOWN_NS);
		c.plugged[0] = true;
		run_for(&c, STEP);
	}
	assert_int_equal(c.acts, 0);
	/* A flapping link does not bring the other end up again. */
	c.plugged[0] = false;
	run_for(&c, SECOND_NS);
	assert_int_equal(c.acts, 1);
	for (unsigned i = 0; i < 20; i++) {
		c.plugged[0] = true;
		run_for(&c, LINK_FOLLOW_UP_NS - STEP);
		c.plugged[0] = false;
		run_for(&c, STEP);
	}
	assert_int_equal(c.acts, 1);
}

/* A link that was just brought up negotiates for seconds. Meanwhile it does not count as lost. */
TEST(slow_links_do_not_flap)
{
	struct cables c;

	begin(&c);
	run_for(&c, SECOND_NS);
	c.plugged[0] = false;
	run_for(&c, SECOND_NS);
	c.plugged[0] = true;
	c.plugged[1] = false;
	run_for(&c, LINK_FOLLOW_UP_NS + STEP);
	assert_int_equal(c.acts, 2);
	run_for(&c, LINK_FOLLOW_GRACE_NS - SECOND_NS);
	assert_int_equal(c.acts, 2);
	c.plugged[1] = true;
	run_for(&c, 60 * SECOND_NS);
	assert_int_equal(c.acts, 2);
}

/* Links at a start are followed, too. A link that stays down counts as lost. */
TEST(slow_at_the_start)
{
	struct cables c;

	begin(&c);
	c.plugged[0] = false;
	run_for(&c, LINK_FOLLOW_GRACE_NS - STEP);
	assert_int_equal(c.acts, 0);
	run_for(&c, 2 * SECOND_NS);
	assert_int_equal(c.acts, 1);
	assert_true(c.down[1]);
}

/* After any events, both ends are up once both cables were plugged in for long enough. */
TEST(never_stuck)
{
	struct prng prng;

	prng_seed(&prng, 7);
	for (unsigned run = 0; run < 200; run++) {
		struct cables c;

		begin(&c);
		for (unsigned i = 0; i < 100; i++) {
			c.plugged[prng_next(&prng) % 2] = prng_next(&prng) % 2;
			run_for(&c, prng_next(&prng) % 16 * STEP);
		}
		c.plugged[0] = c.plugged[1] = true;
		run_for(&c, 2 * (LINK_FOLLOW_GRACE_NS + LINK_FOLLOW_UP_NS));
		assert_false(c.down[0] || c.down[1]);
		/* With one cable out for good, the other end is down. */
		c.plugged[run % 2] = false;
		run_for(&c, 2 * LINK_FOLLOW_GRACE_NS);
		assert_true(c.down[!(run % 2)]);
	}
}

/*
 * An end that stays up despite the switch is switched again immediately, and then at growing
 * intervals.
 */
TEST(told_in_vain)
{
	static const uint64_t seconds[] = {0, 0, 1, 3, 7, 15, 31, 63, 127, 191, 255};
	const bool up[2] = {false, true};
	uint64_t now = 1000 * SECOND_NS, began = 0;
	enum link_end end = LINK_END_NONE;
	struct link_follow follow;
	unsigned told = 0;

	link_follow_begin(&follow, now - LINK_FOLLOW_GRACE_NS);
	for (; told < COUNT(seconds); now += STEP) {
		enum link_act act = link_follow_turn(&follow, up, now, &end);

		if (act == LINK_LEAVE)
			continue;
		assert_int_equal(act, LINK_TAKE_DOWN);
		assert_int_equal(end, LINK_END_B);
		began = told == 0 ? now : began;
		assert_int_equal((now - began) / SECOND_NS, seconds[told]);
		told++;
	}
	/*
	 * The end is brought up when the other one returns. A new loss starts again with short
	 * intervals.
	 */
	assert_int_equal(link_follow_turn(&follow, (bool[]){true, true}, now, &end), LINK_LEAVE);
	now += LINK_FOLLOW_UP_NS;
	assert_int_equal(link_follow_turn(&follow, (bool[]){true, true}, now, &end), LINK_BRING_UP);
	assert_int_equal(link_follow_turn(&follow, up, now, &end), LINK_LEAVE);
	for (unsigned i = 0; i < 2; i++) {
		now += LINK_FOLLOW_DOWN_NS;
		assert_int_equal(link_follow_turn(&follow, up, now, &end), LINK_TAKE_DOWN);
	}
}
