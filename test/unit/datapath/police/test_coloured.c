/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy whose packets have colours: from a configuration to verdicts, marks and counters. It
 * also runs over several limiters whose shares change. test_colours.c tests the colours against the
 * RFCs.
 */
#include "check.h"
#include "scope.h"
#include "config_cases.h"

#include "base/prng.h"
#include "config/describe.h"
#include "config/load.h"
#include "engine/counts.h"
#include "engine/states.h"
#include "lane.h"
#include "police/coloured.h"
#include "police/excerpt.h"
#include "police/expire.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/trial.h"

END_POINTER(config_free, struct config *)

#define METER(meter)      ", 'meter': '" meter "'"
#define TRTCM(more)       LIMITED(METER("trtcm") ", 'peak': {'limit': '20Mbit/s'}" more)
#define RFC4115(more)     LIMITED(METER("trtcm-4115") ", 'excess': {'limit': '5Mbit/s'}" more)
#define SRTCM(more)       LIMITED(METER("srtcm") more)
#define COLOURS_(members) TRTCM(", 'colours': {" members "}")

TEST(test_keys)
{
	static const struct config_case cases[] = {
		{TRTCM(""), ""},
		{RFC4115(""), ""},
		{SRTCM(""), ""},
		{SRTCM(", 'excess': {'burst': '1B'}"), ""},
		{TRTCM(", 'guarantee': 'hard'"), ""},
		{LIMITED(METER("trtcm")), "p0.peak: peak_missing: trtcm"},
		{LIMITED(METER("trtcm-4115")), "p0.excess: excess_missing: trtcm-4115"},
		{LIMITED(METER("trtcm") ", 'peak': {'burst': '5MB'}"),
			"p0.peak.limit: wrong_value"},
		{SRTCM(", 'excess': {'limit': '5Mbit/s', 'burst': '5MB'}"),
			"p0.excess.limit: srtcm_excess_limit"},
		{SRTCM(", 'peak': {'limit': '20Mbit/s'}"),
			"p0.peak: key_required: 'meter': 'trtcm'"},
		{LIMITED(METER("trtcm") ", 'peak': {'limit': '20Mbit/s'}, 'excess': {'limit': "
					"'5Mbit/s'}"),
			"p0.excess: key_required: 'meter': 'srtcm' or 'trtcm-4115'"},
		{LIMITED(", 'colours': {}"),
			"p0.colours: key_required: 'meter': 'srtcm', 'trtcm' or 'trtcm-4115'"},
		/*
		 * The peak must be at least the limit, and its burst at least the burst of the
		 * limit.
		 */
		{LIMITED(METER("trtcm") ", 'peak': {'limit': '10Mbit/s'}"), ""},
		{LIMITED(METER("trtcm") ", 'peak': {'limit': '9999999bit/s'}"),
			"p0.peak.limit: peak_below_limit: 10Mbit/s"},
		{LIMITED(METER(
			 "trtcm") ", 'burst': '500kB', 'peak': {'limit': '10Mbit/s', 'burst': "
				  "'500kB'}"),
			""},
		{LIMITED(METER(
			 "trtcm") ", 'burst': '500kB', 'peak': {'limit': '10Mbit/s', 'burst': "
				  "'499999B'}"),
			"p0.peak.burst: peak_burst_below_burst: 500kB"},
		{LIMITED(METER("trtcm-4115") ", 'excess': {'limit': '8kbit/s', 'burst': '1B'}"),
			""},
		{POLICY(METER(
			 "trtcm") ", 'count': 'packets', 'limit': '600/min', 'peak': {'limit': "
				  "'10/s'}"),
			""},
		{POLICY(METER(
			 "trtcm") ", 'count': 'packets', 'limit': '601/min', 'peak': {'limit': "
				  "'10/s'}"),
			"p0.peak.limit: peak_below_limit: 601/min"},
		{POLICY(METER("srtcm") ", 'count': 'flows', 'limit': '600/min'"),
			"p0.meter: meter_excludes_flows"},
		/* Keys that exclude each other. */
		{TRTCM(", 'per': 'src'"), "p0.meter: meter_excludes_per"},
		{TRTCM(", 'action': 'drop'"), "p0.action: key_excluded: 'meter': 'trtcm'*"},
		{TRTCM(", 'mark': 'ef'"), "p0.mark: key_excluded: 'meter': 'trtcm'*"},
		{TRTCM(", 'allocator': 'adaptor'"),
			"p0.meter: meter_of_allocator: 'token-bucket' or 'gcra', adaptor"},
		{TRTCM(", 'trial': {'limit': '5Mbit/s'}"),
			"p0.trial.meter: trial_meter: 'token-bucket', 'gcra', 'fixed-window', 'hybrid' or 'phantom', in a trial"},
		{TRTCM(", 'trial': {'meter': 'token-bucket', 'limit': '5Mbit/s'}"), ""},
		{LIMITED(", 'trial': {'meter': 'trtcm'}"),
			"p0.trial.meter: trial_meter: 'token-bucket', 'gcra', 'fixed-window', 'hybrid' or 'phantom', in a trial"},
		{TRTCM(", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', 'to': '18:00', "
		       "'limit': '20Mbit/s'}]}"),
			""},
		{TRTCM(", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', 'to': '18:00', "
		       "'limit': '21Mbit/s'}]}"),
			"p0.schedule.entries[0].limit: above_peak: 20Mbit/s"},
		/* Colours. */
		{COLOURS_("'green': 'pass', 'yellow': {'mark': 'af12'}, 'red': 'drop'"), ""},
		{COLOURS_("'green': {'mark': 10}, 'yellow': 'count', 'red': {'mark': 'ecn'}"), ""},
		{COLOURS_("'green': 'shape'"), "p0.colours.green: wrong_choice"},
		{COLOURS_("'red': 5"), "p0.colours.red: colour_action"},
		{COLOURS_("'yellow': {'mark': 'af99'}"), "p0.colours.yellow.mark: wrong_mark"},
		{COLOURS_("'yellow': {}"), "p0.colours.yellow.mark: wrong_mark"},
		{COLOURS_("'aware': true, 'dscp': {'ef': 'green', '0': 'red', 'note': 'x'}"), ""},
		{COLOURS_("'dscp': {'ef': 'green'}"),
			"p0.colours.dscp: key_required: 'aware': true"},
		{COLOURS_("'aware': true, 'dscp': {'ef': 'green', '46': 'red'}"),
			"p0.colours.dscp.46: colour_twice"},
		{COLOURS_("'aware': true, 'dscp': {'64': 'green'}"),
			"p0.colours.dscp.64: not_dscp_key"},
		{COLOURS_("'aware': true, 'dscp': {'0': 'blue'}"),
			"p0.colours.dscp.0: wrong_choice"},
		{COLOURS_("'aware': true, 'dscp': 'af11'"), "p0.colours.dscp: colours_type"},
		{0},
	};

	run_cases(cases);
}

TEST(test_defaults)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(POLICIES(
		"{'name': 'a', 'limit': '10Mbit/s', 'meter': 'srtcm', 'match': {'vlan': 1}},"
		"{'name': 'b', 'limit': '10Mbit/s', 'burst': '2MB', 'meter': 'trtcm',"
		" 'peak': {'limit': '20Mbit/s'}, 'match': {'vlan': 2}},"
		"{'name': 'c', 'limit': '10Mbit/s', 'meter': 'trtcm-4115',"
		" 'excess': {'limit': '20Mbit/s'}, 'colours': {'aware': true, 'dscp':"
		" {'af12': 'red', 'cs1': 'yellow'}, 'red': {'mark': 'cs1'}}}"));
	const struct policy *a = &config->policies[0], *b = a + 1, *c = a + 2;

	assert_int_equal(a->colours.second.burst_bytes, a->burst_bytes);
	assert_int_equal(a->burst_bytes, 312500);                 /* default of a token bucket */
	assert_int_equal(b->colours.second.burst_bytes, 2000000); /* no less than the burst */
	assert_int_equal(c->colours.second.burst_bytes, 625000);
	assert_int_equal(a->action, ACTION_DROP);
	assert_int_equal(c->action, ACTION_MARK);
	assert_int_equal(c->mark, 8);
	assert_false(a->colours.aware);
	for (unsigned dscp = 0; dscp < COLOUR_DSCPS; dscp++) {
		bool assured = dscp >= 10 && dscp <= 38 && dscp % 2 == 0;
		enum colour want = assured && dscp % 8 == 4   ? COLOUR_YELLOW
				   : assured && dscp % 8 == 6 ? COLOUR_RED
							      : COLOUR_GREEN;

		assert_int_equal(a->colours.of_dscp[dscp], want);
		want = dscp == 12 ? COLOUR_RED : dscp == 8 ? COLOUR_YELLOW : want;
		assert_int_equal(c->colours.of_dscp[dscp], want);
	}
	assert_string_equal(policy_needs_worker(a), "colours packets");
	assert_false(policy_is_one_bucket(a));
}

/* The counters of a policy continue. Its buckets continue if the colours stay the same. */
TEST(test_diff)
{
	static const struct {
		const char *from, *to;
		uint8_t change;
		bool lasts;
	} cases[] = {
		{TRTCM(""), COLOURS_("'aware': false, 'yellow': 'pass', 'red': 'drop'"), 0, true},
		{TRTCM(""), LIMITED(METER("trtcm") ", 'peak': {'limit': '30Mbit/s'}"), POLICY_TERMS,
			true},
		{SRTCM(""), SRTCM(", 'excess': {'burst': '5MB'}"), POLICY_TERMS, true},
		{TRTCM(""), COLOURS_("'aware': true"), POLICY_TERMS, false},
		{TRTCM(""), COLOURS_("'yellow': {'mark': 12}"), POLICY_TERMS, false},
		{COLOURS_("'yellow': {'mark': 12}"), COLOURS_("'yellow': {'mark': 14}"),
			POLICY_TERMS, false},
		{COLOURS_("'aware': true"), COLOURS_("'aware': true, 'dscp': {'0': 'red'}"),
			POLICY_TERMS, false},
		{TRTCM(""), RFC4115(""), POLICY_RESTARTS | POLICY_TERMS, true},
		{LIMITED(""), SRTCM(""), POLICY_RESTARTS | POLICY_TERMS, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *from = must_parse(cases[i].from), *to = must_parse(cases[i].to);
		struct config_diff *diff;

		assert_int_equal(config_diff(from, to, "w.json", stderr, &diff), 0);
		if (diff->changes[0] != cases[i].change)
			fail_msg("row %zu: %d", i, diff->changes[0]);
		assert_int_equal(
			policy_state_lasts(&from->policies[0], &to->policies[0]), cases[i].lasts);
		config_diff_free(diff);
		config_free(from);
		config_free(to);
	}
}

TEST(test_words)
{
	static const struct {
		const char *document, *words;
	} cases[] = {
		{COLOURS_("'yellow': {'mark': 'af12'}"),
			"  green: the limit, burst 312.5kB; passes\n"
			"  yellow: *20Mbit/s, burst 625kB; is marked (DSCP 12)*\n"
			"  red: *dropped\n"
			"    (two rates, three colours: RFC 2698)\n"},
		{RFC4115(", 'colours': {'aware': true, 'dscp': {'ef': 'red'}, 'red': 'count'}"),
			"  yellow: *5Mbit/s, burst 156.25kB; passes\n"
			"  red: *counted*\n"
			"    (two rates, three colours: RFC 4115)\n"
			"    no better than*by DSCP: 12 yellow, 14 "
			"red, 20 yellow, 22 red, 28 yellow, 30 red, 36 yellow, 38 red, 46 red, others "
			"green\n"},
		{SRTCM(""), "  yellow: *unused part*, burst 312.5kB; passes\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = must_parse(cases[i].document);
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		config_describe(config, out);
		fclose(out);
		if (!has_parts(text, cases[i].words))
			fail_msg("%s\nnot in\n%s", cases[i].words, text);
		free(text);
		config_free(config);
	}
}

/* In shadow mode no packet is dropped or marked, and green packets stay as they are. */
TEST(test_shadow)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(
		COLOURS_("'green': {'mark': 10}, 'yellow': {'mark': 'ecn'}, 'red': 'drop'"));
	const struct policy *policy = &config->policies[0];

	config_enter_shadow(config);
	assert_int_equal(policy->colours.actions[COLOUR_GREEN].action, ACTION_PASS);
	assert_int_equal(policy->colours.actions[COLOUR_YELLOW].action, ACTION_COUNT);
	assert_int_equal(policy->colours.actions[COLOUR_RED].action, ACTION_COUNT);
	assert_int_equal(policy->action, ACTION_COUNT);
}

/* ---- on a worker */

static const struct sampling every = {0}; /* every packet */

static struct limiter_view view_of(const struct policy *policy, double part)
{
	return (struct limiter_view){
		.limit = policy_rate(policy),
		.local_limit = policy_rate(policy) * part,
		.local_burst = (uint64_t)((double)policy->burst_bytes * part),
	};
}

static void lane_start(struct lane *lane, const char *document)
{
	ENDED_BY(config_free_at) struct config *config = must_parse(document);
	struct limiter_view view = view_of(&config->policies[0], 1);

	lane_make(lane, &config->policies[0], &view, &(struct policy_start){.hz = GHZ});
}

static enum verdict lane_police(
	struct lane *lane, uint32_t bytes, uint8_t dscp, bool markable, uint64_t now, int *mark)
{
	const struct packet packet = {.family = PACKET_IPV4, .dscp = dscp};
	enum verdict verdict = police_charge(&lane->state, &packet, NULL, bytes, now);

	*mark = 0;
	if (verdict != VERDICT_MARK)
		return verdict;
	*mark = police_mark(&lane->state);
	police_marked(&lane->state, &packet, NULL, bytes, now, markable);
	return verdict;
}

/* One packet of each colour: its verdict, mark and counters. */
TEST(test_actions)
{
#define SMALL \
	", 'burst': '2kB', 'match': {'proto': 'udp'}, 'peak': {'limit': '10Mbit/s', 'burst': '4kB'}"
#define ACTS(members) LIMITED(METER("trtcm") SMALL ", 'colours': {" members "}")
	static const struct {
		const char *document;
		bool markable;
		enum verdict verdicts[COLOURS];
		int marks[COLOURS];
		uint64_t dropped, over, beyond; /* bytes, except the last */
	} rows[] = {
		{ACTS(""), true, {VERDICT_PASS, VERDICT_PASS, VERDICT_DROP}, {0}, 1500, 0, 1},
		{ACTS("'green': {'mark': 10}, 'yellow': {'mark': 12}, 'red': {'mark': 'ecn'}"),
			true, {VERDICT_MARK, VERDICT_MARK, VERDICT_MARK}, {10, 12, MARK_ECN}, 0,
			1000 + 1500, 0},
		{ACTS("'green': {'mark': 10}, 'yellow': {'mark': 12}, 'red': {'mark': 'ecn'}"),
			false, {VERDICT_MARK, VERDICT_MARK, VERDICT_MARK}, {10, 12, MARK_ECN},
			2000 + 1000 + 1500, 0, 0},
		{ACTS("'yellow': 'count', 'red': 'count'"), true,
			{VERDICT_PASS, VERDICT_COUNT, VERDICT_COUNT}, {0}, 0, 2500, 0},
		{ACTS("'yellow': 'drop', 'red': 'pass'"), true,
			{VERDICT_PASS, VERDICT_DROP, VERDICT_PASS}, {0}, 1000, 0, 1},
		{ACTS("'green': 'drop', 'yellow': 'pass', 'red': 'pass'"), true,
			{VERDICT_DROP, VERDICT_PASS, VERDICT_PASS}, {0}, 2000, 0, 2},
	};
	static const uint32_t bytes[COLOURS] = {2000, 1000, 1500};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct policy_state *s;
		struct coloured *coloured;
		struct lane lane;

		lane_start(&lane, rows[i].document);
		s = &lane.state;
		coloured = police_coloured(s->other);
		for (unsigned c = 0; c < COLOURS; c++) {
			int mark;

			assert_int_equal(
				lane_police(&lane, bytes[c], 0, rows[i].markable, 0, &mark),
				rows[i].verdicts[c]);
			assert_int_equal(mark, rows[i].marks[c]);
			assert_int_equal(coloured->counts[c].packets, 1);
			assert_int_equal(coloured->counts[c].bytes, bytes[c]);
		}
		assert_int_equal(s->packets, 3);
		assert_int_equal(s->bytes, 4500);
		assert_int_equal(police_dropped_bytes(s), rows[i].dropped);
		assert_int_equal(police_over_bytes(s), rows[i].over);
		assert_int_equal(coloured->beyond, rows[i].beyond);
		lane_stop(&lane);
	}
}

/* With "aware" a packet keeps its colour or gets a worse one. */
TEST(test_aware)
{
#define AWARE(aware) LIMITED(METER("trtcm") SMALL ", 'colours': {'aware': " aware "}")
	static const struct {
		uint8_t dscp;
		enum colour want;
	} rows[] = {{10, COLOUR_GREEN}, {12, COLOUR_YELLOW}, {14, COLOUR_RED}, {0, COLOUR_GREEN},
		{38, COLOUR_RED}, {46, COLOUR_GREEN}, {36, COLOUR_YELLOW}, {63, COLOUR_GREEN}};
	ENDED_BY(lane_stop) struct lane aware, blind;
	int mark;

	lane_start(&aware, AWARE("true"));
	lane_start(&blind, AWARE("false"));
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)lane_police(&aware, 100, rows[i].dscp, true, i * GHZ, &mark);
		(void)lane_police(&blind, 100, rows[i].dscp, true, i * GHZ, &mark);
		assert_int_equal(police_coloured(aware.state.other)->colour, rows[i].want);
		assert_int_equal(police_coloured(blind.state.other)->colour, COLOUR_GREEN);
	}
}

/* Both buckets follow a new limit, a limit of 0 and spending. */
TEST(test_limits)
{
	ENDED_BY(lane_stop) struct lane lane;
	struct limiter_view view;
	int mark;

	lane_start(&lane, ACTS(""));
	policy_state_spend(&lane.state, 0);
	assert_int_equal(lane_police(&lane, 1, 0, true, 0, &mark), VERDICT_DROP);
	view = view_of(&lane.policy, 0);
	lane_limit(&lane, &view, 700); /* less than one byte */
	assert_int_equal(lane_police(&lane, 1, 0, true, GHZ, &mark), VERDICT_DROP);
	view = view_of(&lane.policy, 0.5);
	lane_limit(&lane, &view, GHZ);
	assert_int_equal(lane_police(&lane, 1, 0, true, GHZ + 1000, &mark), VERDICT_DROP);
	assert_int_equal(lane_police(&lane, 1, 0, true, GHZ + 1601, &mark), VERDICT_PASS);
	assert_int_equal(police_coloured(lane.state.other)->colour, COLOUR_GREEN);
	police_expire(&lane.state, UINT8_MAX, GHZ + 1601); /* all of the limit ends */
	assert_int_equal(lane_police(&lane, 1, 0, true, 3 * GHZ, &mark), VERDICT_DROP);
}

/* `explain` uses a copy of all state that decides a packet. */
TEST(test_excerpt)
{
	const struct packet packet = {.family = PACKET_IPV4};
	struct extents extents = {0};
	struct police_secondary secondary;
	struct policy_state copy;
	ENDED_BY(lane_stop) struct lane lane;
	ENDED_BY(free_at) uint8_t *memory;
	size_t bytes;
	int mark;

	lane_start(&lane, ACTS("'red': {'mark': 'cs1'}"));
	(void)lane_police(&lane, 2000, 0, true, 0, &mark);
	bytes = policy_extended_bytes(&lane.policy);
	memory = aligned_alloc(CACHE_LINE, bytes);
	memset(memory, 0, bytes);
	police_excerpt(&lane.state, &packet, NULL, &extents);
	for (unsigned i = 0; i < extents.n; i++)
		memcpy(memory + ((const uint8_t *)extents.of[i].at - (uint8_t *)lane.memory),
			extents.of[i].at, extents.of[i].bytes);
	copy = lane.state;
	secondary = (struct police_secondary){.from = lane.memory, .to = memory};
	police_excerpt_settle(&copy, &secondary);
	assert_int_equal(police_charge(&copy, &packet, NULL, 2001, 0), VERDICT_MARK);
	assert_int_equal(police_mark(&copy), 8);
	assert_int_equal(police_charge(&copy, &packet, NULL, 2000, 0), VERDICT_PASS);
	assert_int_equal(police_coloured(copy.other)->colour, COLOUR_YELLOW);
	assert_int_equal(police_coloured(lane.state.other)->colour, COLOUR_GREEN);
}

/* A limiter has the same share of the peak as of the limit, and so does each worker. */
TEST(test_parts)
{
	static const struct {
		const char *document;
		double part, share;
		uint64_t rate, second; /* byte/s */
		uint64_t burst, deep;
	} rows[] = {
#define PARTS(guarantee)                                                    \
	LIMITED(METER("trtcm") ", 'burst': '1MB', 'guarantee': '" guarantee \
			       "', 'peak': {'limit': '20Mbit/s', 'burst': '4MB'}")
		{PARTS("soft"), 1, 1, 1250000, 2500000, 1000000, 4000000},
		{PARTS("soft"), 0.5, 1, 625000, 1250000, 500000, 2000000},
		{PARTS("soft"), 0.5, 0.25, 156250, 312500, 125000, 500000},
		{PARTS("hard"), 0.25, 0.5, 156250, 312500, 125000, 500000},
		{PARTS("soft"), 0.001, 1, 1250, 2500, 1000, 9084}, /* six frames */
		{PARTS("hard"), 0, 1, 0, 0, 0, 0},
		{SRTCM(", 'burst': '1MB', 'excess': {'burst': '2MB'}"), 0.5, 0.5, 312500, 0, 250000,
			500000},
		{LIMITED(METER("trtcm-4115") ", 'burst': '1MB', 'excess': {'limit': '5Mbit/s', "
					     "'burst': '100kB'}"),
			0.5, 0.5, 312500, 156250, 250000, 25000},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].document);
		const struct policy *policy = &config->policies[0];
		struct limiter_view view = view_of(policy, rows[i].part);
		const struct colour_profile *got;
		struct limit_profile profile;

		assert_int_equal(limit_profile_init(&profile, policy, 0, &view, &every,
					 rows[i].share, UINT64_C(1) << 30),
			0);
		got = &profile.meter.trtcm;
		if ((uint64_t)got->committed.rate != rows[i].rate << 26 ||
			(uint64_t)got->second.rate != rows[i].second << 26 ||
			got->committed.burst != rows[i].burst << TOKEN_BYTE ||
			got->second.burst != rows[i].deep << TOKEN_BYTE)
			fail_msg("row %zu: %g %g, %" PRIu64 " %" PRIu64, i,
				(double)got->committed.rate / (1 << 26),
				(double)got->second.rate / (1 << 26),
				got->committed.burst >> TOKEN_BYTE,
				got->second.burst >> TOKEN_BYTE);
		config_free(config);
	}
}

/* A limit of one packet an hour with a peak of 100,000 a second: each has its own units. */
TEST(test_far_apart)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(POLICY(METER(
		"trtcm") ", 'count': 'packets', 'limit': '1/h', 'peak': {'limit': '100k/s'}"));
	const struct policy *policy = &config->policies[0];
	struct limiter_view view = view_of(policy, 1);
	struct limit_profile profile;

	assert_int_equal(
		limit_profile_init(&profile, policy, 0, &view, &every, 1, UINT64_C(1) << 30), 0);
	assert_near((double)profile.meter.trtcm.second.rate /
			    (double)profile.meter.trtcm.committed.rate,
		3.6e8, 3.6e4);
}

/* ---- over limiters */

#define LIMITERS 2
#define WORKERS  3
#define RATE     1250000 /* byte/s, committed */
#define PEAK     2500000
#define BURST    60000
#define DEEP     150000
#define MOST     1514

struct limiters {
	const struct policy *policy;
	struct engine engines[LIMITERS];
	struct limiter_view views[LIMITERS];
	double rate; /* moving share of the limit, byte/s */
	uint64_t burst;
	struct prng prng;
};

static void enforce_part(struct limiters *l, unsigned i, uint64_t now)
{
	const struct engine_limit limit = {.policy = l->policy, .hz = GHZ, .view = l->views[i]};

	assert_int_equal(engine_enforce(&l->engines[i], &limit, now), 0);
}

/* A limiter releases a part of its share, or a released part arrives. Never both in one call. */
static void move_parts(struct limiters *l, uint64_t now)
{
	unsigned i = prng_below(&l->prng, LIMITERS);
	struct limiter_view *view = &l->views[i];

	if (prng_below(&l->prng, 2)) {
		double rate = view->local_limit * prng_below(&l->prng, 1000) / 1000;
		uint64_t burst = view->local_burst * prng_below(&l->prng, 1000) / 1000;

		view->local_limit -= rate;
		view->local_burst -= burst;
		l->rate += rate;
		l->burst += burst;
	} else {
		view->local_limit += l->rate;
		view->local_burst += l->burst;
		l->rate = 0;
		l->burst = 0;
	}
	enforce_part(l, i, now);
}

static void begin_limiters(struct limiters *l, const struct policy *policy, uint64_t seed)
{
	*l = (struct limiters){.policy = policy};
	prng_seed(&l->prng, seed);
	for (unsigned i = 0; i < LIMITERS; i++) {
		struct engine_limit limit = {
			.policy = policy, .hz = GHZ, .view = view_of(policy, 1.0 / LIMITERS)};

		l->views[i] = limit.view;
		assert_int_equal(engine_states_alloc(&l->engines[i], WORKERS, 1), 0);
		l->engines[i].frame = MOST;
		for (unsigned w = 0; w < WORKERS; w++)
			assert_int_equal(engine_states_add(&l->engines[i], w, &limit,
						 &(struct policy_start){.hz = GHZ}),
				0);
		assert_int_equal(engine_begin(&l->engines[i], &limit, 0, 0, false), 0);
	}
}

static struct policy_totals totals_of(struct limiters *l)
{
	struct policy_totals all = {0};

	for (unsigned i = 0; i < LIMITERS; i++) {
		struct policy_totals totals;

		(void)engine_totals(&l->engines[i], 0, &totals);
		all.passed_bytes += totals.passed_bytes;
		all.dropped_bytes += totals.dropped_bytes;
		all.beyond_packets += totals.beyond_packets;
		for (unsigned c = 0; c < COLOURS; c++)
			all.colours[c].bytes += totals.colours[c].bytes;
	}
	return all;
}

static void offer_packets(struct limiters *l, uint64_t now)
{
	static const struct packet packet = {.family = PACKET_IPV4};

	for (unsigned n = prng_below(&l->prng, 8); n > 0; n--) {
		struct engine *engine = &l->engines[prng_below(&l->prng, LIMITERS)];
		uint32_t cost;

		(void)engine_states_police(engine, prng_below(&l->prng, WORKERS), 0, &packet, NULL,
			60 + prng_below(&l->prng, MOST - 59), now, &cost);
	}
}

/*
 * The limit is hard. With any shares, also while they move, green packets stay within the limit and
 * its burst over any time. The peak is soft: its shares follow those of the limit. So here only the
 * rounding of bursts can exceed it.
 */
TEST(test_hard)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(LIMITED(METER(
		"trtcm") ", 'accounting': 'l2', 'guarantee': 'hard', 'match': {'proto': 'udp'}, 'burst': "
			 "'60kB', 'peak': {'limit': '20Mbit/s', 'burst': '150kB'}"));

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t now = 0, steps = 20000, green_room = BURST, room = DEEP * 2, before = 0;
		struct policy_totals totals = {0};
		uint64_t passed = 0;
		struct limiters l;

		begin_limiters(&l, &config->policies[0], seed);
		for (uint64_t i = 0; i < steps; i++) {
			uint64_t gap = prng_below(&l.prng, 4000000);
			uint64_t earned = (uint64_t)RATE * (now + gap) / GHZ -
					  (uint64_t)RATE * now / GHZ;

			now += gap;
			if (prng_below(&l.prng, 10) == 0)
				move_parts(&l, now);
			offer_packets(&l, now);
			totals = totals_of(&l);
			/* The model's bucket, which never holds less than 0. */
			green_room += earned;
			green_room = green_room < BURST ? green_room : BURST;
			room += 2 * earned;
			room = room < 2 * DEEP ? room : 2 * DEEP;
			if (totals.colours[COLOUR_GREEN].bytes - before > green_room + 1)
				fail_msg("seed %" PRIu64 ": green beyond the limit", seed);
			green_room -= totals.colours[COLOUR_GREEN].bytes - before;
			before = totals.colours[COLOUR_GREEN].bytes;
			if (totals.passed_bytes - passed > room + 2)
				fail_msg("seed %" PRIu64 ": passed beyond the peak", seed);
			room -= totals.passed_bytes - passed;
			passed = totals.passed_bytes;
		}
		assert_true(totals.colours[COLOUR_GREEN].bytes > RATE * (now / GHZ) / 4);
		assert_true(totals.colours[COLOUR_YELLOW].bytes > 0 && totals.dropped_bytes > 0);
		assert_true(totals.beyond_packets > 0);
		assert_int_equal(totals.dropped_bytes, totals.colours[COLOUR_RED].bytes);
		for (unsigned i = 0; i < LIMITERS; i++)
			engine_states_free(&l.engines[i], 1);
	}
}

#define FLOWS 20

/* Flows of constant rates, together three times the limit, that can change their worker. */
struct crowd {
	struct engine engine;
	struct engine_limit limit;
	struct prng prng;
	uint64_t next[FLOWS], looked;
	unsigned worker[FLOWS];
};

static void begin_crowd(struct crowd *c, const struct policy *policy, unsigned workers)
{
	*c = (struct crowd){.limit = {.policy = policy, .hz = GHZ, .view = view_of(policy, 1)}};
	prng_seed(&c->prng, workers);
	assert_int_equal(engine_states_alloc(&c->engine, workers, 1), 0);
	c->engine.frame = MOST;
	engine_share_begin(&c->engine, policy, 1, 0);
	for (unsigned w = 0; w < workers; w++)
		assert_int_equal(engine_states_add(&c->engine, w, &c->limit,
					 &(struct policy_start){.hz = GHZ}),
			0);
	assert_int_equal(engine_begin(&c->engine, &c->limit, 0, 0, false), 0);
	for (unsigned f = 0; f < FLOWS; f++)
		c->worker[f] = prng_below(&c->prng, workers);
}

/* Every interval the workers get their current shares of the limit. */
static void look_at_crowd(struct crowd *c, uint64_t now)
{
	struct limiter_sample sample;

	for (; c->looked + GHZ / 20 <= now; c->looked += GHZ / 20) {
		(void)engine_measure(&c->engine, 0, c->limit.policy, c->looked + GHZ / 20, &sample);
		assert_int_equal(engine_enforce(&c->engine, &c->limit, c->looked + GHZ / 20), 0);
	}
}

/* Sends the next packet of 1000 bytes and returns its time. */
static uint64_t send_of_crowd(struct crowd *c)
{
	static const struct packet packet = {.family = PACKET_IPV4};
	const uint64_t gap = GHZ * 1000 * FLOWS / (3 * RATE);
	unsigned f = 0;
	uint64_t now;
	uint32_t cost;

	for (unsigned k = 1; k < FLOWS; k++)
		f = c->next[k] < c->next[f] ? k : f;
	now = c->next[f];
	c->next[f] += gap / 2 + prng_below(&c->prng, (uint32_t)gap);
	if (prng_below(&c->prng, 3 * RATE / 1000) == 0) /* once a second on average */
		c->worker[f] = prng_below(&c->prng, c->engine.n_workers);
	look_at_crowd(c, now);
	(void)engine_states_police(&c->engine, c->worker[f], 0, &packet, NULL, 1000, now, &cost);
	return now;
}

/* Workers share both rates by demand and use all of both, even if flows move between workers. */
TEST(test_workers)
{
	ENDED_BY(config_free_at) struct config *config = must_parse(TRTCM(", 'accounting': 'l2'"));

	for (unsigned workers = 1; workers <= 8; workers *= 2) {
		struct policy_totals before, after;
		struct crowd c;
		double green, yellow;

		begin_crowd(&c, &config->policies[0], workers);
		while (send_of_crowd(&c) < 2 * GHZ)
			;
		(void)engine_totals(&c.engine, 0, &before);
		while (send_of_crowd(&c) < 12 * GHZ)
			;
		(void)engine_totals(&c.engine, 0, &after);
		green = (double)(after.colours[COLOUR_GREEN].bytes -
				 before.colours[COLOUR_GREEN].bytes);
		yellow = (double)(after.colours[COLOUR_YELLOW].bytes -
				  before.colours[COLOUR_YELLOW].bytes);
		print_message("%u workers: green %.4f of the limit, with yellow %.4f of the peak\n",
			workers, green / (10 * RATE), (green + yellow) / (10 * PEAK));
		assert_true(green > 0.99 * 10 * RATE && green < 1.01 * 10 * RATE);
		assert_true(green + yellow > 0.99 * 10 * PEAK && green + yellow < 1.01 * 10 * PEAK);
		engine_states_free(&c.engine, 1);
	}
}

/* Yellow packets pass, and they count as demand above the limit. */
TEST(test_evidence)
{
	struct policy_totals totals = {
		.dropped_packets = 1, .over_packets = 10, .beyond_packets = 100};

	assert_int_equal(policy_totals_evidence(&totals), 111);
}
