/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The TSC compared with a clock that the test sets: the accepted rate, and the detection of jumps.
 */
#include "check.h"

#include <sys/syscall.h>
#include <time.h>

#include "base/time.h"
#include "clock.h"

#define HZ   UINT64_C(3000000000)
#define TICK (50 * MS_NS)

/* --- the simulated machine -------------------------------------------------------------------- */

static struct {
	bool on;
	uint64_t now_ns, step_ns[64], slept_ns;
	unsigned looks;
} machine;

/* Replaces the function of the C library. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	if (!machine.on || id != CLOCK_BOOTTIME)
		return (int)syscall(SYS_clock_gettime, id, now);
	machine.now_ns += machine.step_ns[machine.looks++ % 64];
	*now = (struct timespec){
		(time_t)(machine.now_ns / SECOND_NS), (long)(machine.now_ns % SECOND_NS)};
	return 0;
}

int nanosleep(const struct timespec *rest, struct timespec *left)
{
	if (!machine.on)
		return (int)syscall(SYS_nanosleep, rest, left);
	machine.slept_ns += (uint64_t)rest->tv_sec * SECOND_NS + (uint64_t)rest->tv_nsec;
	machine.now_ns += machine.slept_ns;
	return 0;
}

static const char *cpuinfo, *clocksource; /* contents of these files; NULL: there is no file */

FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	const char *text = strcmp(path, "/proc/cpuinfo") == 0 ? cpuinfo : clocksource;

	return text ? fmemopen((void *)(uintptr_t)text, strlen(text), mode) : NULL;
}

/* Both clocks, and the rate of the TSC. */
struct clocks {
	struct tsc_clock clock;
	uint64_t tsc, ns;
	double hz;
};

static struct tsc_reading read_clocks(const struct clocks *c)
{
	return (struct tsc_reading){c->tsc, c->ns, 100};
}

static void clocks_start(struct clocks *c, uint64_t tsc)
{
	struct tsc_reading now;

	*c = (struct clocks){.tsc = tsc, .ns = 5 * SECOND_NS, .hz = (double)HZ};
	now = read_clocks(c);
	tsc_clock_begin(&c->clock, &now, HZ);
}

static enum tsc_news step(struct clocks *c, uint64_t ns)
{
	struct tsc_reading now;

	c->ns += ns;
	c->tsc += (uint64_t)(c->hz * (double)ns / 1e9);
	now = read_clocks(c);
	return tsc_clock_take(&c->clock, &now);
}

/* Runs checks for this time. Returns the number of detected jumps. */
static unsigned run(struct clocks *c, uint64_t ns)
{
	unsigned jumps = 0;

	for (uint64_t end = c->ns + ns; c->ns < end;)
		jumps += step(c, TICK) >= TSC_JUMPED;
	return jumps;
}

static void expect_rate(const char *what, const struct clocks *c, double hz, double ppm)
{
	double off = ((double)c->clock.hz / hz - 1) * 1e6;

	if (off > ppm || off < -ppm)
		fail_msg("%s: %" PRIu64 " Hz, %.1f ppm off", what, c->clock.hz, off);
}

/* A slowly changing rate, as with temperature and NTP, is followed. A late check is not a jump. */
TEST(test_rate_is_refined)
{
	static const double ppm[] = {0, 10, -10, 100, -100, 400, -400};

	for (unsigned i = 0; i < COUNT(ppm); i++) {
		struct clocks c;

		clocks_start(&c, 12345);
		c.hz = (double)HZ * (1 + ppm[i] / 1e6);
		assert_int_equal(run(&c, 100 * SECOND_NS), 0);
		assert_true(step(&c, 3600 * SECOND_NS) <= TSC_REFINED);
		expect_rate("refined", &c, c.hz, 0.01);
		assert_int_equal(c.clock.jumps, 0);
	}
}

/* One jump is one event. It never affects the rate. */
TEST(test_jumps)
{
	static const struct {
		const char *what;
		int64_t ticks;    /* jump of the TSC */
		uint64_t ns;      /* jump of the other clock, as in a suspend */
		uint64_t begins;  /* first value of the TSC */
		bool reset, back; /* restarts at 0; goes back */
	} rows[] = {
		{"an hour asleep, and the TSC stood still", 0, 3600 * SECOND_NS, 1 << 20, false,
			false},
		{"a second asleep, and it stood still", 0, SECOND_NS, 1 << 20, false, false},
		{"it is written ahead", (int64_t)(HZ / 100), 0, 1 << 20, false, false},
		{"it is written far ahead", INT64_MAX / 2, 0, 1 << 20, false, false},
		{"it is written back", -(int64_t)(10 * HZ), 0, 100 * HZ, false, true},
		{"it starts again", 0, 0, 1000000 * HZ, true, true},
		{"it starts again after an hour asleep", 0, 3600 * SECOND_NS, 1000000 * HZ, true,
			true},
		{"it wraps", 0, 0, UINT64_MAX - 90 * HZ, false, false},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		bool jumps = rows[i].ticks || rows[i].ns || rows[i].reset;
		struct clocks c;
		enum tsc_news news;

		clocks_start(&c, rows[i].begins);
		assert_int_equal(run(&c, 60 * SECOND_NS), 0);
		c.tsc += (uint64_t)rows[i].ticks;
		if (rows[i].reset)
			c.tsc = 1000;
		c.ns += rows[i].ns;
		news = step(&c, TICK);
		if (news != (!jumps ? TSC_SAME : rows[i].back ? TSC_SET_BACK : TSC_JUMPED))
			fail_msg("%s: %u", rows[i].what, news);
		expect_rate(rows[i].what, &c, HZ, 1);
		if (run(&c, 3600 * SECOND_NS) != 0)
			fail_msg("%s: once more", rows[i].what);
		expect_rate(rows[i].what, &c, HZ, 1);
		assert_int_equal(c.clock.jumps, jumps);
		assert_false(c.clock.doubted);
	}
}

/*
 * Two checks in the same tick, or in the same nanosecond, show no jump. A single tick back is a
 * jump, also while a new rate is being measured.
 */
TEST(test_a_tick_back)
{
	static const struct {
		int64_t ticks;
		uint64_t ns;
		enum tsc_news news;
	} rows[] = {
		{0, 0, TSC_SAME},
		{0, 100, TSC_SAME},
		{1, 0, TSC_SAME},
		{-1, 0, TSC_SET_BACK},
		{-1, 100, TSC_SET_BACK},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		for (unsigned doubted = 0; doubted < 2; doubted++) {
			unsigned back = rows[i].news == TSC_SET_BACK;
			struct tsc_reading now;
			struct clocks c;

			clocks_start(&c, 1 << 20);
			assert_int_equal(run(&c, SECOND_NS), 0);
			if (doubted) {
				c.ns += SECOND_NS;
				assert_int_equal(step(&c, TICK), TSC_JUMPED);
			}
			c.tsc += (uint64_t)rows[i].ticks;
			c.ns += rows[i].ns;
			now = read_clocks(&c);
			assert_int_equal(tsc_clock_take(&c.clock, &now), rows[i].news);
			assert_int_equal(c.clock.set_back, back);
			assert_int_equal(c.clock.jumps, doubted + back);
		}
}

/*
 * A virtual machine moves to another host: the old rate is used until two measurements agree on a
 * new one.
 */
TEST(test_another_rate)
{
	struct clocks c;

	clocks_start(&c, 77);
	assert_int_equal(run(&c, 60 * SECOND_NS), 0);
	c.hz = 2.4e9;
	assert_int_equal(step(&c, TICK), TSC_JUMPED);
	expect_rate("at first", &c, HZ, 1);
	assert_int_equal(run(&c, SECOND_NS), 0);
	expect_rate("after one measurement", &c, HZ, 1);
	assert_int_equal(run(&c, 2 * SECOND_NS), 0);
	expect_rate("after two", &c, 2.4e9, 1);
	assert_int_equal(run(&c, 3600 * SECOND_NS), 0);
	expect_rate("after an hour", &c, 2.4e9, 0.1);
}

/* The TSC jumps again during the measurement: a measurement across a jump is discarded. */
TEST(test_jumps_in_a_row)
{
	struct clocks c;

	clocks_start(&c, 77);
	assert_int_equal(run(&c, 60 * SECOND_NS), 0);
	for (unsigned i = 0; i < 5; i++) {
		c.ns += 10 * SECOND_NS;
		(void)step(&c, TICK);
		(void)run(&c, 700 * MS_NS);
		expect_rate("between", &c, HZ, 1);
	}
	assert_int_equal(run(&c, 600 * SECOND_NS), 0);
	expect_rate("in the end", &c, HZ, 1);
}

/* The first estimate uses the time since the start, and waits only for the missing part. */
TEST(first_estimate)
{
	struct tsc_reading from = tsc_clock_read();
	struct tsc_clock clock;

	for (unsigned i = 0; i < 2; i++) { /* the time is too short at first, then long enough */
		tsc_clock_start(&clock, &from);
		assert_int_equal(clock.first.ns, from.ns);
		assert_int_equal(clock.first.tsc, from.tsc);
		assert_true(clock.last.ns - from.ns >= 50 * MS_NS);
		assert_true(clock.hz > 0);
	}
}

/* --- to the nanosecond ------------------------------------------------------------------------ */

#define EVEN  SECOND_NS /* ticks per second: a tick is a nanosecond */
#define FIRST UINT64_C(1000000000000)

static enum tsc_news take(struct tsc_clock *clock, uint64_t after_ns, int64_t ahead)
{
	const struct tsc_reading now = {FIRST + after_ns + (uint64_t)ahead, FIRST + after_ns, 100};

	return tsc_clock_take(clock, &now);
}

static void begin_even(struct tsc_clock *clock)
{
	const struct tsc_reading first = {FIRST, FIRST, 100};

	tsc_clock_begin(clock, &first, EVEN);
}

/* The largest accepted deviation: that of an accepted rate, and the precision of both readings. */
TEST(test_edge_of_a_jump)
{
	static const uint64_t steps[] = {0, 999999, 1000000, 50 * MS_NS};

	for (unsigned i = 0; i < COUNT(steps); i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t most = (int64_t)(steps[i] / 1000000 * TSC_ACCEPTED_PPM) + 50200;
			struct tsc_clock clock;

			if (sign < 0 && steps[i] < 1000000)
				continue; /* would be a step back */
			begin_even(&clock);
			assert_int_equal(take(&clock, steps[i], sign * most), TSC_SAME);
			begin_even(&clock);
			assert_int_equal(take(&clock, steps[i], sign * (most + 1)), TSC_JUMPED);
			assert_int_equal(clock.jumped_ns, sign * (most + 1));
			assert_int_equal(clock.jumps, 1);
			assert_int_equal(clock.set_back, 0);
			assert_true(clock.doubted);
		}
}

/* A rate is measured after 150 ms, then after three times as long, and accepted if it is close. */
TEST(test_edge_of_a_rate)
{
	const int64_t near = EVEN / 1000000 * TSC_ACCEPTED_PPM;

	for (int sign = -1; sign <= 1; sign += 2) {
		struct tsc_clock clock;

		begin_even(&clock);
		assert_int_equal(take(&clock, 150 * MS_NS - 1, 300), TSC_SAME);
		assert_int_equal(take(&clock, 150 * MS_NS, 300), TSC_REFINED);
		assert_int_equal(clock.hz, EVEN + 2000);
		assert_int_equal(take(&clock, 450 * MS_NS - 1, 900), TSC_SAME);
		assert_int_equal(take(&clock, 450 * MS_NS, 900), TSC_SAME); /* the same rate */
		assert_int_equal(take(&clock, 1350 * MS_NS - 1, 1350), TSC_SAME);
		assert_int_equal(take(&clock, 1350 * MS_NS, 1350), TSC_REFINED);
		assert_int_equal(clock.hz, EVEN + 1000);
		begin_even(&clock);
		assert_int_equal(take(&clock, SECOND_NS, sign * near), TSC_REFINED);
		assert_int_equal(clock.hz, (int64_t)EVEN + sign * near);
		begin_even(&clock);
		assert_int_equal(take(&clock, SECOND_NS, sign * (near + 1)), TSC_JUMPED);
		assert_int_equal(clock.jumped_ns, sign * (near + 1));
		assert_int_equal(clock.hz, EVEN);
	}
}

/* After a jump two full seconds are measured, which must agree. */
TEST(test_edge_of_remeasuring)
{
	struct tsc_clock clock;

	begin_even(&clock);
	assert_int_equal(take(&clock, MS_NS, (int64_t)SECOND_NS), TSC_JUMPED);
	assert_int_equal(take(&clock, MS_NS + SECOND_NS - 1, (int64_t)SECOND_NS), TSC_SAME);
	assert_int_equal(clock.measured, 0);
	assert_int_equal(take(&clock, MS_NS + SECOND_NS, (int64_t)SECOND_NS), TSC_SAME);
	assert_int_equal(clock.measured, EVEN);
	assert_int_equal(take(&clock, MS_NS + 2 * SECOND_NS - 1, (int64_t)SECOND_NS), TSC_SAME);
	assert_true(clock.doubted);
	assert_int_equal(take(&clock, MS_NS + 2 * SECOND_NS, (int64_t)SECOND_NS), TSC_SAME);
	assert_false(clock.doubted);
	assert_int_equal(clock.refine_ns, FIRST + MS_NS + SECOND_NS + 3 * SECOND_NS);
	assert_int_equal(clock.jumps, 1);
}

/* A jump between these two seconds restarts the measurement. */
TEST(test_jump_after_another)
{
	const int64_t ahead = (int64_t)SECOND_NS, further = 5 * ahead;
	const uint64_t again = SECOND_NS + 3 * MS_NS;
	struct tsc_clock clock;

	begin_even(&clock);
	assert_int_equal(take(&clock, MS_NS, ahead), TSC_JUMPED);
	assert_int_equal(take(&clock, MS_NS + SECOND_NS, ahead), TSC_SAME);
	assert_int_equal(clock.measured, EVEN);
	assert_int_equal(take(&clock, again - MS_NS, ahead), TSC_SAME);
	assert_int_equal(take(&clock, again, further), TSC_SAME);
	assert_int_equal(take(&clock, again + SECOND_NS, further), TSC_SAME);
	assert_true(clock.doubted);
	assert_int_equal(take(&clock, again + 2 * SECOND_NS, further), TSC_SAME);
	assert_false(clock.doubted);
	assert_int_equal(clock.jumps, 1);
}

/* If two seconds do not agree, the second one is compared with a third. */
TEST(test_remeasures_until_they_agree)
{
	const int64_t ahead = (int64_t)SECOND_NS, off = EVEN / 1000000 * TSC_ACCEPTED_PPM;
	struct tsc_clock clock;

	begin_even(&clock);
	assert_int_equal(take(&clock, MS_NS, ahead), TSC_JUMPED);
	assert_int_equal(take(&clock, MS_NS + SECOND_NS, ahead), TSC_SAME);
	assert_int_equal(take(&clock, MS_NS + 2 * SECOND_NS, ahead + off + 1), TSC_SAME);
	assert_true(clock.doubted);
	assert_int_equal(clock.measured, (int64_t)EVEN + off + 1);
	assert_int_equal(take(&clock, MS_NS + 3 * SECOND_NS, ahead + 2 * off + 2), TSC_REFINED);
	assert_false(clock.doubted);
	assert_int_equal(clock.hz, (int64_t)EVEN + off + 1);
}

/* A TSC that stands still gives no rate. */
TEST(test_stands_still)
{
	struct tsc_clock clock;

	begin_even(&clock);
	assert_int_equal(take(&clock, MS_NS, (int64_t)SECOND_NS), TSC_JUMPED);
	for (uint64_t s = 1; s < 10; s++) {
		const struct tsc_reading now = {
			FIRST + MS_NS + SECOND_NS, FIRST + MS_NS + s * SECOND_NS, 100};

		assert_int_equal(tsc_clock_take(&clock, &now), TSC_SAME);
		assert_true(clock.doubted);
		assert_int_equal(clock.hz, EVEN);
	}
}

/* A jump beyond the range of the number is limited to it. */
TEST(test_far_jumps)
{
	const struct tsc_reading first = {UINT64_C(1) << 63, FIRST, 100};

	for (unsigned back = 0; back < 2; back++) {
		struct tsc_reading now = {back ? 1 : first.tsc + INT64_MAX, FIRST + MS_NS, 100};
		struct tsc_clock clock;

		tsc_clock_begin(&clock, &first, 1000);
		assert_int_equal(tsc_clock_take(&clock, &now), back ? TSC_SET_BACK : TSC_JUMPED);
		assert_true(clock.jumped_ns == (back ? INT64_MIN : INT64_MAX));
	}
}

/*
 * The reading with the smallest uncertainty counts, the first of several, with the middle of its
 * times.
 */
TEST(test_tightest)
{
	struct tsc_reading got;

	for (unsigned tight = 0; tight < 16; tight++) {
		memset(&machine, 0, sizeof(machine));
		machine.on = true;
		machine.now_ns = 7 * SECOND_NS + 5;
		for (unsigned i = 0; i < 32; i++)
			machine.step_ns[i] = i % 2 ? 1000 : 10;
		machine.step_ns[2 * tight + 1] = machine.step_ns[31] = 600;
		got = tsc_clock_read();
		machine.on = false;
		assert_int_equal(machine.looks, 32);
		assert_int_equal(got.within_ns, 600);
		assert_int_equal(got.ns, 7 * SECOND_NS + 5 + tight * 1010 + 10 + 300);
	}
}

/* Only the rest of 50 ms is waited for. */
TEST(test_rest)
{
	static const struct {
		uint64_t ago_ns, slept_ns;
	} rows[] = {{0, 50 * MS_NS}, {49 * MS_NS, MS_NS}, {50 * MS_NS - 1, 1}, {50 * MS_NS, 0}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct tsc_reading from = {1, 9 * SECOND_NS, 100};
		struct tsc_clock clock;

		memset(&machine, 0, sizeof(machine));
		machine.on = true;
		machine.now_ns = from.ns + rows[i].ago_ns;
		tsc_clock_start(&clock, &from);
		machine.on = false;
		assert_int_equal(machine.slept_ns, rows[i].slept_ns);
		assert_int_equal(clock.last.ns, from.ns + rows[i].ago_ns + rows[i].slept_ns);
		assert_int_equal(clock.refine_ns, from.ns + 150 * MS_NS);
	}
}

/* --- trust of the kernel ---------------------------------------------------------------------- */

#define STOPS  "this CPU's TSC stops in deep sleep (no nonstop_tsc)"
#define OTHER  "the kernel does not keep time by the TSC (clocksource)"
#define STEADY "processor\t: 0\nflags\t\t: fpu tsc nonstop_tsc sse\n"
#define STOPPY "processor\t: 0\nflags\t\t: fpu tsc sse\n"

TEST(test_doubt)
{
	static const struct {
		const char *cpuinfo, *clocksource, *doubt;
	} rows[] = {
		{STEADY, "tsc\n", NULL},
		{STEADY, "tsc", NULL},
		{STEADY, NULL, NULL},
		{STEADY, "hpet\n", OTHER},
		{STEADY, "tsc-early\n", OTHER},
		{STOPPY, "tsc\n", STOPS},
		{STOPPY, "hpet\n", STOPS},
		{STEADY STOPPY, "tsc\n", NULL},
		{STOPPY STEADY, "tsc\n", STOPS},
		{"model name\t: x nonstop_tsc\n" STOPPY, "tsc\n", STOPS},
		{"Features\t: fp asimd\n", "tsc\n", NULL},
		{"Features\t: fp asimd\n", "arch_sys_counter\n", OTHER},
		{NULL, "tsc\n", NULL},
		{NULL, NULL, NULL},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const char *doubt;

		cpuinfo = rows[i].cpuinfo;
		clocksource = rows[i].clocksource;
		doubt = tsc_clock_doubt();
		if (!doubt != !rows[i].doubt || (doubt && strcmp(doubt, rows[i].doubt) != 0))
			fail_msg("row %u: %s", i, doubt ? doubt : "no doubt");
	}
}
