/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * CoDel, alone and with a bucket, compared with RFC 8289.
 */
#include "shape_world.h"

#include "shape/codel.h"

#define TARGET   (5 * MS)
#define INTERVAL (100 * MS)

static struct shape_codel codel_make(void)
{
	return (struct shape_codel){.target = TARGET, .interval = INTERVAL};
}

/*
 * All packets wait too long: the distance of drops is the interval over the square root of their
 * count.
 */
TEST(test_pace)
{
	enum { DROPS = 1000 };
	struct shape_codel codel = codel_make();
	double due = INTERVAL; /* after the first packet, at 0 */
	unsigned drops = 0;

	for (uint64_t now = 0; drops < DROPS; now += MS / 10) {
		if (!codel_drops(&codel, now, TARGET, true))
			continue;
		drops++;
		assert_near((double)now, due, 0.002 * due + MS / 5);
		/* The law counts from the time when a drop was due, not from the drop itself. */
		due += INTERVAL / sqrt(drops);
	}
	assert_int_equal(codel.count, DROPS);
}

/*
 * No drops for delays just below the target, for less than an interval, or without a packet behind.
 */
TEST(test_none)
{
	struct shape_codel codel = codel_make();

	for (uint64_t now = 0; now < 5 * GHZ; now += MS)
		assert_false(codel_drops(&codel, now, TARGET - 1, true));
	for (uint64_t now = 5 * GHZ; now < 10 * GHZ; now += MS)
		assert_false(codel_drops(&codel, now, now / MS % 99 ? TARGET : TARGET - 1, true));
	for (uint64_t now = 10 * GHZ; now < 15 * GHZ; now += MS)
		assert_false(codel_drops(&codel, now, GHZ, now / MS % 99));
}

/* After a short pause the count continues, and after a long one it starts again. */
TEST(test_memory)
{
	for (unsigned late = 0; late < 2; late++) {
		struct shape_codel codel = codel_make();
		uint64_t now = 0;

		while (codel.count < 100)
			codel_drops(&codel, now += MS / 10, TARGET, true);
		assert_false(codel_drops(&codel, ++now, 0, true));
		assert_false(codel.dropping);
		now += (late ? 17 : 15) * INTERVAL;
		codel_drops(&codel, now, TARGET, true);
		assert_true(codel_drops(&codel, now + INTERVAL, TARGET, true));
		assert_int_equal(codel.count, late ? 1 : 99);
		assert_near(codel.inverse / 0x1p32, late ? 1 : 1 / sqrt(99), 1e-3);
	}
}

struct result {
	unsigned left, dropped, marked;
	uint64_t worst, last; /* ticks of waiting, in total and in the last second */
};

/*
 * Runs 20 s of packets of 1000 bytes at a limit of 8 Mbit/s, with `load` thousandths of it offered.
 */
static struct result run_overload(unsigned load, bool codel, bool ecn)
{
	struct shape_params params = {.delay = 2 * GHZ,
		.codel = codel,
		.ecn = ecn,
		.target = TARGET,
		.interval = INTERVAL};
	struct token_bucket_profile limit = profile_of(8000000, 2000);
	struct shape_packet *packets = calloc(60000, sizeof(*packets)), *out[OUT];
	struct shaper *shaper = shaper_make(60000, 0);
	struct result r = {0};
	struct shape_queue queue;
	uint64_t gap = 1000 * MS / load;

	assert_non_null(packets);
	shape_queue_init(&queue, &params, &limit, NULL, 0);
	for (unsigned i = 0; i * gap < 20 * GHZ; i++) {
		uint64_t now = i * gap;

		packets[i] = (struct shape_packet){.cost = 1000, .flags = ecn ? SHAPE_ECN : 0};
		r.left += shape_arrive(shaper, &queue, &packets[i], packets[i].cost, now, now) ==
			  SHAPE_PASSES;
		for (unsigned n = shaper_release(shaper, now, out, OUT); n-- > 0;) {
			uint64_t waited = now - out[n]->arrival;

			assert_int_equal(out[n]->flags & SHAPE_ECN, ecn ? SHAPE_ECN : 0);
			r.left += !(out[n]->flags & SHAPE_DROP);
			r.dropped += out[n]->flags & SHAPE_DROP ? 1 : 0;
			r.marked += out[n]->flags & SHAPE_MARK ? 1 : 0;
			r.worst = waited > r.worst ? waited : r.worst;
			if (now > 19 * GHZ)
				r.last = waited > r.last ? waited : r.last;
		}
	}
	free(packets);
	free(shaper);
	return r;
}

/* Under a constant load drops become frequent enough to keep the queue short. */
TEST(test_overload)
{
	struct result tail = run_overload(1050, false, false),
		      codel = run_overload(1050, true, false);

	assert_int_equal(tail.dropped, 0);
	assert_true(tail.last > 900 * MS);
	assert_true(codel.last < 3 * TARGET + INTERVAL);
	assert_near(codel.dropped, 20 * 50, 300);
	assert_int_equal(codel.marked, 0);
	/* The whole limit is used, because a drop costs no tokens. */
	assert_near(codel.left, 20000, 20);
}

TEST(test_no_overload)
{
	struct result codel = run_overload(999, true, false);

	assert_int_equal(codel.dropped, 0);
	assert_int_equal(codel.marked, 0);
}

/* Packets that can be marked are marked instead of dropped, and leave. */
TEST(test_marks)
{
	struct result ecn = run_overload(1050, true, true);

	assert_int_equal(ecn.dropped, 0);
	assert_true(ecn.marked > 500);
	assert_near(ecn.left, 20000, 20);
}
