/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The alarm of the overshoot meter in virtual time. Local limits of peers, traffic and limits
 * change at random. An oracle keeps the comparisons of each policy and expects the alarm exactly if
 * all of them were above the threshold for 10 s, and the policy did not idle meanwhile.
 */
#include "show_world.h"
#include "scope.h"

#include "base/prng.h"
#include "base/time.h"
#include "control_clock.h"
#include "flow/flow_sample.h"
#include "gossip/gossip.h"
#include "limiter/limiter.h"
#include "show.h"
#include "timed.h"

#define POLICY(name, vlan, more) \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '8Mbit/s'" more "}"

#define ALARM_NS   (10 * SECOND_NS)
#define POLICIES   3
#define PEERS      3
#define TICK_NS    (50 * MS_NS)
#define TICKS      12000
#define MOST_TICKS 16  /* from one comparison to the next */
#define QUIET      100 /* ticks until policies without traffic idle, and the peers are lost */
#define LINES      8   /* at least the flow samples of this instance */

struct policy_drawn {
	double newest[PEERS], reported[PEERS]; /* local limits, bytes per second */
	double rate;                           /* limit, bytes per second */
	bool traffic;
	uint64_t turns_ns; /* next change of `traffic` */
	uint64_t arrived;
	/* The last tick. */
	bool measured, compared, above;
	uint64_t compared_ns;
	/* The oracle, and the alarm of the last tick. */
	uint64_t above_since_ns;
	bool due;
	char expected[160], shown[160];
};

static struct policy_drawn drawn[POLICIES];
static double alarm_part; /* part of the limit, at first as in GROUP; 0: no alarm */
static bool ticking;
static unsigned n_raised, n_fell, n_idled;

/* The linker puts these in the place of the real ones. */
struct timed_view __wrap_timed_of(const struct instance *inst, unsigned policy);
struct gossip_enforced __wrap_gossip_enforced(const struct gossip *gossip, unsigned policy);

struct timed_view __wrap_timed_of(const struct instance *inst, unsigned policy)
{
	struct timed_view view = {.terms = {.limit_s = 1, .burst_bytes = 100000}};

	view.terms.limit_bps = (uint64_t)(drawn[policy].rate * 8);
	return view;
}

static double sum_of(const double limits[PEERS])
{
	double sum = 0;

	for (unsigned i = 0; i < PEERS; i++)
		sum += limits[i];
	return sum;
}

/* During a tick the limiter reads the sums only to compare them. */
struct gossip_enforced __wrap_gossip_enforced(const struct gossip *gossip, unsigned policy)
{
	struct policy_drawn *p = &drawn[policy];
	double bound = sum_of(p->reported), estimate = sum_of(p->newest);

	if (ticking) {
		assert_false(p->compared);
		p->compared = true;
		p->above = fmax(bound, estimate) > p->rate * (1 + alarm_part);
	}
	return (struct gossip_enforced){.at_ns = clock_ns, .most = bound, .now = estimate};
}

/* The limiter measures a policy in each tick until it idles. */
static void measure_drawn(void *context, unsigned policy, struct limiter_sample *sample)
{
	static const uint64_t none[LINES * FLOW_SLOTS];

	drawn[policy].measured = true;
	*sample = (struct limiter_sample){.arrived_bytes = drawn[policy].arrived, .slots = none};
}

/* Redraws limits of peers, each on average every 10 s: sums are around the threshold. */
static void draw_limits(struct prng *prng, struct policy_drawn *p)
{
	for (unsigned i = 0; i < PEERS; i++) {
		if (prng_below(prng, 200) == 0)
			p->newest[i] = 1e6 / PEERS * 2.6 * prng_unit(prng);
		if (prng_below(prng, 100) == 0)
			p->reported[i] = p->newest[i];
	}
}

/* A limit changes only during traffic, because a change wakes a policy that has just idled. */
static void draw_terms(struct prng *prng, struct limiter *limiter, unsigned policy)
{
	struct policy_drawn *p = &drawn[policy];
	struct limiter_change_terms change = {.policy = policy, .override = 1};

	if (!p->traffic || !p->measured || prng_below(prng, 1000) != 0)
		return;
	p->rate = 5e5 + 1e6 * prng_unit(prng);
	change.terms = (struct limiter_terms){(uint64_t)(p->rate * 8), 1, 100000};
	p->rate = (double)change.terms.limit_bps / 8;
	assert_int_equal(limiter_set_terms(limiter, &change, 1, clock_ns), 0);
}

static void draw_traffic(struct prng *prng, struct limiter *limiter, unsigned policy)
{
	struct policy_drawn *p = &drawn[policy];

	if (clock_ns >= p->turns_ns) {
		p->traffic = !p->traffic;
		p->turns_ns = clock_ns + prng_below(prng, 60) * SECOND_NS;
	}
	p->arrived += p->traffic ? 10000 : 0;
	if (p->traffic && !p->measured)
		limiter_wake(limiter, policy);
}

static void run_tick(struct instance_world *w, struct prng *prng, bool quiet)
{
	clock_ns += TICK_NS;
	for (unsigned i = 0; i < POLICIES && !quiet; i++) {
		draw_limits(prng, &drawn[i]);
		draw_terms(prng, w->inst.limiter, i);
		draw_traffic(prng, w->inst.limiter, i);
	}
	for (unsigned i = 0; i < POLICIES; i++)
		drawn[i].measured = drawn[i].compared = false;
	ticking = true;
	limiter_tick(w->inst.limiter, clock_ns, measure_drawn, NULL);
	ticking = false;
}

/* The alarm at the last tick, now that this tick has shown whether the policy idled in it. */
static void check_last_alarm(struct policy_drawn *p, uint64_t seed)
{
	bool idled = !p->measured;

	n_idled += p->due && idled;
	if (strcmp(p->shown, p->due && !idled ? p->expected : "") != 0)
		fail_msg("seed %llu at %.2f s: \"%s\", expected \"%s\"%s", (unsigned long long)seed,
			(double)(clock_ns - TICK_NS) / SECOND_NS, p->shown,
			p->due && !idled ? p->expected : "", idled ? ": idle" : "");
	if (idled)
		p->above_since_ns = 0;
}

static void expect_alarm(struct policy_drawn *p, const char *name)
{
	bool was_due = p->due;

	if (!p->measured || alarm_part == 0)
		p->compared_ns = clock_ns;
	if (p->compared) {
		p->compared_ns = clock_ns;
		n_fell += was_due && !p->above;
		if (!p->above)
			p->above_since_ns = 0;
		else if (p->above_since_ns == 0)
			p->above_since_ns = clock_ns;
	}
	assert_in_range(clock_ns - p->compared_ns, 0, MOST_TICKS * TICK_NS);
	p->due = p->above_since_ns && clock_ns - p->above_since_ns >= ALARM_NS;
	n_raised += p->due && !was_due;
	snprintf(p->expected, sizeof(p->expected),
		"policy %s: the group may enforce %.2f times its limit", name,
		fmax(sum_of(p->newest), sum_of(p->reported)) / p->rate);
}

/* Keeps the alarm of each policy. There is no other alarm. */
static void look_at_alarms(struct instance_world *w)
{
	json_t *alarms = json_array();
	size_t n = 0;

	alarm_overshoots(&w->inst, alarms);
	for (unsigned i = 0; i < POLICIES; i++) {
		const char *text = json_string_value(json_array_get(alarms, n));
		char start[80];

		snprintf(start, sizeof(start), "policy %s: ", w->inst.policies[i].name);
		drawn[i].shown[0] = '\0';
		if (text && strncmp(text, start, strlen(start)) == 0) {
			snprintf(drawn[i].shown, sizeof(drawn[i].shown), "%s", text);
			n++;
		}
	}
	assert_int_equal(json_array_size(alarms), n);
	json_decref(alarms);
}

/* Another alarm, or none, as after a reload. It starts again for all policies. */
static void draw_alarm(struct prng *prng, struct limiter *limiter)
{
	static const double parts[] = {0, 0.05, 0.25, 0.6};
	double part = parts[prng_below(prng, 4)];

	if (prng_below(prng, 1000) != 0)
		return;
	limiter_set_overshoot_alarm(limiter, part);
	if (part == alarm_part)
		return; /* present alarms continue */
	alarm_part = part;
	for (unsigned i = 0; i < POLICIES; i++)
		drawn[i].above_since_ns = 0;
}

static void run_alarms(uint64_t seed)
{
	struct prng prng;

	prng_seed(&prng, seed);
	memset(drawn, 0, sizeof(drawn));
	alarm_part = 0.25;
	for (unsigned i = 0; i < POLICIES; i++)
		drawn[i].rate = 1e6;
	WORLD(w,
		POLICY("fps", "1", "") ", " POLICY("static", "2",
			", 'allocator': 'static'") ", " POLICY("wide", "3", ", 'burst': '300kB'"),
		.group = 3, .gossip = ", 'overshoot_alarm': 0.25");
	for (unsigned i = 0; i < QUIET; i++)
		run_tick(w, &prng, true);
	for (unsigned i = 0; i < POLICIES; i++)
		drawn[i].compared_ns = clock_ns;
	for (unsigned i = 0; i < TICKS; i++) {
		run_tick(w, &prng, false);
		for (unsigned k = 0; k < POLICIES; k++) {
			check_last_alarm(&drawn[k], seed);
			expect_alarm(&drawn[k], w->inst.policies[k].name);
		}
		look_at_alarms(w);
		draw_alarm(&prng, w->inst.limiter);
	}
}

TEST(test_drawn_groups)
{
	for (uint64_t seed = 1; seed <= ROUNDS(16); seed++)
		run_alarms(seed);
	print_message("%u alarms: %u fell below, %u idled\n", n_raised, n_fell, n_idled);
	assert_true(n_raised > ROUNDS(100) && n_fell > ROUNDS(20) && n_idled > ROUNDS(20));
}

TEST_GROUP(instance_world_start, instance_world_stop)
