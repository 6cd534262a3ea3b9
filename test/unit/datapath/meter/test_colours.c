/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares meters with colours with a model in exact arithmetic, written from the texts of their
 * RFCs. Sizes, gaps, bursts of packets, their previous colours and changes of limits are random.
 * `test_colours [SEED [PACKETS]]` runs this many packets of each meter and mode, from SEED on. A
 * difference prints its seed.
 */
#include "check.h"

#include "base/prng.h"
#include "meter/meter.h"
#include "datapath/meter/meter_checks.h"

typedef __int128 exact_t;

static uint64_t first_seed = 1, n_packets = 1000000;

/* Packets with one counter and one origin of time, before the next seed. */
#define PACKETS_OF_SEED 20000

static const struct {
	const char *name;
	enum meter_kind kind;
	bool aware;
} modes[] = {
	{"srtcm", METER_SRTCM, false},
	{"srtcm, aware", METER_SRTCM, true},
	{"trtcm", METER_TRTCM, false},
	{"trtcm, aware", METER_TRTCM, true},
	{"trtcm-4115", METER_TRTCM_4115, false},
	{"trtcm-4115, aware", METER_TRTCM_4115, true},
};

#define MODES (COUNT(modes))

/* The configured rates and sizes. */
struct rates {
	uint64_t cir, cbs; /* bit/s, bytes */
	uint64_t pir, pbs; /* or EIR and EBS */
};

/*
 * The model. Tokens are counted in parts of a byte. A byte has `byte` parts, and a tick earns whole
 * parts.
 */
struct model {
	enum meter_kind kind;
	exact_t byte;
	exact_t per_tick[2], size[2], tokens[2]; /* C, and E or P */
	uint64_t at;
};

enum { C, E, P = E };

/*
 * A counter of 2^k ticks per second earns bps / 8 / 2^k bytes a tick, which is a whole number of
 * parts. For other counters the rate is the one that the meter uses: rounded up to 2^-56 bytes a
 * tick.
 */
static void model_set(struct model *m, const struct rates *rates, uint64_t hz)
{
	bool exact = (hz & (hz - 1)) == 0;
	uint64_t bps[2] = {rates->cir, rates->pir}, bytes[2] = {rates->cbs, rates->pbs};

	m->byte = exact ? (exact_t)8 * hz : (exact_t)1 << 56;
	for (unsigned b = C; b <= E; b++) {
		m->per_tick[b] = exact ? (exact_t)bps[b]
				       : (((exact_t)bps[b] << 53) + (exact_t)hz - 1) / (exact_t)hz;
		m->size[b] = bytes[b] * m->byte;
		if (m->tokens[b] > m->size[b])
			m->tokens[b] = m->size[b];
	}
}

static exact_t smaller(exact_t a, exact_t b)
{
	return a < b ? a : b;
}

static void model_earn(struct model *m, uint64_t now)
{
	exact_t ticks = now > m->at ? (exact_t)(now - m->at) : 0, earned = ticks * m->per_tick[C];
	exact_t room = m->size[C] - m->tokens[C], fills = smaller(earned, room);

	m->at = now > m->at ? now : m->at;
	m->tokens[C] += fills;
	if (m->kind == METER_SRTCM)
		m->tokens[E] = smaller(m->tokens[E] + earned - fills, m->size[E]);
	else
		m->tokens[E] = smaller(m->tokens[E] + ticks * m->per_tick[E], m->size[E]);
}

/* RFC 2697, 3: "colour-blind" and "colour-aware"; RFC 4115, 3, with >= in place of >. */
static enum colour model_c_then_e(struct model *m, exact_t b, enum colour pre)
{
	if (pre == COLOUR_GREEN && m->tokens[C] - b >= 0) {
		m->tokens[C] -= b;
		return COLOUR_GREEN;
	}
	if ((pre == COLOUR_GREEN || pre == COLOUR_YELLOW) && m->tokens[E] - b >= 0) {
		m->tokens[E] -= b;
		return COLOUR_YELLOW;
	}
	return COLOUR_RED;
}

/* RFC 2698, 3. */
static enum colour model_p_then_c(struct model *m, exact_t b, enum colour pre)
{
	if (pre == COLOUR_RED || m->tokens[P] - b < 0)
		return COLOUR_RED;
	if (pre == COLOUR_YELLOW || m->tokens[C] - b < 0) {
		m->tokens[P] -= b;
		return COLOUR_YELLOW;
	}
	m->tokens[P] -= b;
	m->tokens[C] -= b;
	return COLOUR_GREEN;
}

static enum colour model_packet(struct model *m, uint64_t now, uint32_t bytes, enum colour pre)
{
	exact_t b = bytes * m->byte;

	model_earn(m, now);
	return m->kind == METER_TRTCM ? model_p_then_c(m, b, pre) : model_c_then_e(m, b, pre);
}

/* The meter. */
struct meters {
	enum meter_kind kind;
	struct token_bucket committed, second;
	struct colour_profile profile;
};

static struct colour_profile colour_profile_of(
	enum meter_kind kind, const struct rates *rates, uint64_t hz)
{
	struct meter_params params = {.kind = kind, .rate_bps = rates->cir, .burst = rates->cbs};
	union meter_profile profile;

	assert_int_equal(meter_profile_init(&profile, &params, hz), 0);
	params.rate_bps = rates->pir;
	params.burst = rates->pbs;
	assert_int_equal(colour_second_set(&profile.trtcm, &params, hz), 0);
	return profile.trtcm;
}

static void meters_begin(struct meters *m, enum meter_kind kind, const struct rates *rates,
	uint64_t hz, uint64_t now)
{
	*m = (struct meters){.kind = kind, .profile = colour_profile_of(kind, rates, hz)};
	colours_init(&m->committed, &m->second, &m->profile, now);
}

static enum colour meters_packet(struct meters *m, uint64_t now, uint32_t bytes, enum colour pre)
{
	return colour_packet(m->kind, &m->committed, &m->second, &m->profile, now, bytes, pre);
}

static uint64_t any_magnitude(struct prng *prng, unsigned bits)
{
	return 1 + (prng_next(prng) >> (64 - 1 - prng_below(prng, bits)));
}

/* From 8 kbit/s to 400 Gbit/s, and a peak that is not lower. */
static struct rates random_rates(struct prng *prng, enum meter_kind kind)
{
	struct rates rates = {
		.cir = 8000 + any_magnitude(prng, 38),
		.cbs = any_magnitude(prng, prng_below(prng, 4) ? 18 : 32),
		.pir = 8000 + any_magnitude(prng, 38),
		.pbs = any_magnitude(prng, prng_below(prng, 4) ? 18 : 32),
	};

	if (kind == METER_TRTCM) {
		rates.pir = rates.pir > rates.cir ? rates.pir : rates.cir;
		rates.pbs = rates.pbs > rates.cbs ? rates.pbs : rates.cbs;
	}
	return rates;
}

/* Often draws the largest size that fits one of the buckets, or one byte more. */
static uint32_t random_bytes(struct prng *prng, const struct model *m)
{
	exact_t fits = m->tokens[prng_below(prng, 2)] / m->byte;

	if (prng_below(prng, 4) == 0 && fits < UINT32_MAX)
		return (uint32_t)fits + prng_below(prng, 2);
	return 1 + prng_below(prng, prng_below(prng, 8) ? 1500 : 65535);
}

/* Half of all packets arrive with the previous one. Pauses have every length up to hours. */
static uint64_t random_gap(struct prng *prng, const struct rates *rates, uint64_t hz)
{
	unsigned __int128 packet = (unsigned __int128)8 * 700 * hz / rates->cir;

	if (prng_below(prng, 2) == 0)
		return 0;
	if (prng_below(prng, 1000) == 0)
		return any_magnitude(prng, 44);
	return (uint64_t)(packet * prng_below(prng, 4096) >> 10);
}

struct tally {
	uint64_t packets, differences, colours[COLOURS], worse[COLOURS], changes;
};

static uint64_t random_counter(struct prng *prng)
{
	static const uint64_t hz[] = {
		1 << 30, UINT64_C(1) << 31, UINT64_C(1) << 32, GHZ, 2500000000, 3693249999};

	return hz[prng_below(prng, COUNT(hz))];
}

static void compare_of_seed(
	enum meter_kind kind, bool aware, uint64_t seed, uint64_t n, struct tally *tally)
{
	struct prng prng;
	struct meters meters;
	struct model model = {.kind = kind};
	struct rates rates;
	uint64_t hz, now;

	prng_seed(&prng, seed);
	hz = random_counter(&prng);
	now = seed % 8 ? prng_next(&prng) : 0;
	now = now > UINT64_MAX / 2 ? now / 2 : now;
	rates = random_rates(&prng, kind);
	meters_begin(&meters, kind, &rates, hz, now);
	model_set(&model, &rates, hz);
	model.at = now;
	model.tokens[C] = model.size[C];
	model.tokens[E] = model.size[E];
	for (uint64_t i = 0; i < n; i++) {
		enum colour pre = aware ? (enum colour)prng_below(&prng, COLOURS) : COLOUR_GREEN;
		enum colour want, got;
		uint32_t bytes;

		now += random_gap(&prng, &rates, hz);
		if (prng_below(&prng, 2000) == 0) {
			struct colour_profile next;

			rates = random_rates(&prng, kind);
			next = colour_profile_of(kind, &rates, hz);
			colours_change(kind, &meters.committed, &meters.second, &meters.profile,
				&next, now);
			model_earn(&model, now);
			model_set(&model, &rates, hz);
			tally->changes++;
		}
		bytes = random_bytes(&prng, &model);
		want = model_packet(&model, now, bytes, pre);
		got = meters_packet(&meters, now, bytes, pre);
		tally->packets++;
		tally->colours[got]++;
		tally->worse[got] += got > pre;
		if (got != want && tally->differences++ == 0)
			print_error("seed %" PRIu64 ", packet %" PRIu64 ": %d, not %d\n", seed, i,
				got, want);
	}
}

/* Each packet has the colour of the model, for all meters, colour-blind and aware. */
TEST(test_exact)
{
	for (size_t i = 0; i < MODES; i++) {
		struct tally tally = {0};
		uint64_t seed = first_seed;

		for (; tally.packets < n_packets; seed++) {
			uint64_t left = n_packets - tally.packets;

			compare_of_seed(modes[i].kind, modes[i].aware, seed,
				left < PACKETS_OF_SEED ? left : PACKETS_OF_SEED, &tally);
		}
		print_message("%s: %" PRIu64 " packets, %" PRIu64 " limits, green %" PRIu64
			      " yellow %" PRIu64 " red %" PRIu64 ", %" PRIu64 " differences\n",
			modes[i].name, tally.packets, tally.changes, tally.colours[COLOUR_GREEN],
			tally.colours[COLOUR_YELLOW], tally.colours[COLOUR_RED], tally.differences);
		assert_int_equal(tally.differences, 0);
		for (unsigned c = 0; c < COLOURS && n_packets >= 100000; c++)
			assert_true(tally.colours[c] > n_packets / 50);
		assert_true(tally.worse[COLOUR_RED] > 0 && tally.worse[COLOUR_YELLOW] > 0);
	}
}

/* A clock that steps back earns nothing. A clock that was set back continues from there. */
TEST(test_clock)
{
	static const struct rates rates = {8 * GHZ, 1000, 8 * GHZ, 1000};
	const uint64_t late = 100 * GHZ;

	for (size_t i = 0; i < MODES; i++) {
		struct meters m;

		meters_begin(&m, modes[i].kind, &rates, GHZ, late);
		assert_int_equal(meters_packet(&m, late, 1000, COLOUR_GREEN), COLOUR_GREEN);
		(void)meters_packet(&m, late, 1000, COLOUR_GREEN);
		assert_int_equal(meters_packet(&m, late - 500, 1, COLOUR_GREEN), COLOUR_RED);
		assert_int_equal(meters_packet(&m, late + 10, 10, COLOUR_GREEN), COLOUR_GREEN);
		assert_int_equal(meters_packet(&m, GHZ, 1, COLOUR_GREEN),
			modes[i].kind == METER_TRTCM_4115 ? COLOUR_YELLOW : COLOUR_RED);
		assert_int_equal(meters_packet(&m, GHZ + 10, 10, COLOUR_GREEN), COLOUR_GREEN);
	}
}

/* A change of either bucket makes profiles different. The second bucket of srtcm has no rate. */
TEST(test_limits)
{
	static const struct rates base = {8000, 1000, 16000, 3000};
	static const struct rates others[] = {
		{8008, 1000, 16000, 3000},
		{8000, 1001, 16000, 3000},
		{8000, 1000, 16008, 3000},
		{8000, 1000, 16000, 3001},
	};
	struct rates too_fast = {8000, 1000, 400 * GHZ, 1000};
	struct meter_params params = {.kind = METER_TRTCM, .rate_bps = too_fast.pir, .burst = 1000};
	struct colour_profile profile;

	for (size_t i = 0; i < MODES; i++)
		for (size_t k = 0; k < COUNT(others); k++) {
			union meter_profile a = {
				.trtcm = colour_profile_of(modes[i].kind, &base, GHZ)};
			union meter_profile b = {
				.trtcm = colour_profile_of(modes[i].kind, &others[k], GHZ)};

			assert_int_equal(meter_profile_equal(modes[i].kind, &a, &b),
				k == 2 && modes[i].kind == METER_SRTCM);
		}
	assert_int_equal(colour_second_set(&profile, &params, 390625000), -ERANGE);
	assert_int_equal(colour_second_set(&profile, &params, 390625001), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		n_packets = strtoull(argv[2], NULL, 0);
	return run_all_tests();
}
