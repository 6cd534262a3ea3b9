/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "source/source_burst.h"

#define RATE   8000000 /* bit/s: one byte a microsecond */
#define BURST  3000
#define WINDOW (3 * MS) /* BURST bytes pass in it */
#define SEEDS  4

static const enum meter_kind kinds[] = {METER_GCRA, METER_FIXED_WINDOW, METER_HYBRID};

#define KINDS (COUNT(kinds))

/*
 * Returns a profile whose burst is BURST bytes. With rate 0 a source stays busy forever once it has
 * sent anything.
 */
static union meter_profile profile_of(enum meter_kind kind, uint64_t rate_bps)
{
	struct meter_params params = {
		.kind = kind, .rate_bps = rate_bps, .burst = BURST, .window_ns = WINDOW};
	union meter_profile profile;

	if (rate_bps == 0 && kind != METER_GCRA) {
		params.rate_bps = RATE / 1000;
		params.window_ns = WINDOW * 1000;
	}
	assert_int_equal(meter_profile_init(&profile, &params, GHZ), 0);
	return profile;
}

static struct source_table *table_of(enum meter_kind kind, unsigned sources, uint64_t secret)
{
	void *memory = malloc(source_table_bytes(kind, sources) + SOURCE_LINE);
	struct source_table *table;

	assert_non_null(memory);
	/* Aligned, so that the table begins here. The word in front holds malloc's pointer. */
	table = source_table_init(
		(void *)(((uintptr_t)memory + SOURCE_LINE) & -(uintptr_t)SOURCE_LINE), kind,
		sources, secret);
	assert_non_null(table);
	((void **)table)[-1] = memory;
	return table;
}

static void table_free(struct source_table *table)
{
	free(((void **)table)[-1]);
}

END_POINTER(table_free, struct source_table *)

static struct source_table_stats stats_of(const struct source_table *table)
{
	struct source_table_stats stats;

	source_table_read_stats(table, &stats);
	return stats;
}

static uint64_t hash_of(const struct source_table *table, uint32_t source)
{
	return source_hash(table, (const uint8_t *)&source, 4, 32);
}

/* How tests request verdicts. All forms are tested. Without AVX2 the last equals the second. */
static enum form { SINGLY, BURST_PLAIN, BURST_AVX2, FORMS } form;

static uint64_t decide_source_burst(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, uint64_t now)
{
	uint64_t conforming = 0;

	table->avx2 &= form == BURST_AVX2;
	if (form != SINGLY)
		return source_table_conforms_burst(table, profile, burst, now);
	for (unsigned i = 0; i < burst->n; i++)
		conforming |= (uint64_t)source_table_conforms_at(table, profile, burst->home[i],
				      burst->tag[i], now, burst->cost[i])
			      << i;
	return conforming;
}

static bool conforms_hash(struct source_table *table, const union meter_profile *profile,
	uint64_t hash, uint64_t now, uint32_t cost)
{
	struct source_burst burst = {.n = 0};

	if (form == SINGLY)
		return source_table_conforms(table, profile, hash, now, cost);
	source_burst_add(&burst, table, hash, cost);
	return decide_source_burst(table, profile, &burst, now);
}

static bool source_conforms(struct source_table *table, const union meter_profile *profile,
	uint32_t source, uint64_t now, uint32_t cost)
{
	return conforms_hash(table, profile, hash_of(table, source), now, cost);
}

static void sweep_source_table(
	struct source_table *table, const union meter_profile *profile, uint64_t now)
{
	assert_true(source_table_age(table, profile, now, table->n_lines));
}

/* Counts the places in use, and checks that the headers of the lines are consistent. */
static void count_table_lines(const struct source_table *table, unsigned *used, unsigned *guests)
{
	unsigned away = 0;

	*used = *guests = 0;
	for (uint32_t i = 0; i < table->n_lines; i++) {
		const union source_line *line = &table->lines[i];

		for (unsigned way = 0; way < table->ways; way++) {
			bool guest = line->head.guests >> way & 1;

			*used += line->tag[way] != 0;
			*guests += guest;
			assert_false(guest && line->tag[way] == 0);
		}
		away += line->head.away;
	}
	assert_int_equal(away, *guests);
	assert_int_equal(table->guests, *guests);
}

static void test_sizes(void **state)
{
	static const struct {
		enum meter_kind kind;
		unsigned sources;
		double bytes; /* per source */
	} cases[] = {
		{METER_GCRA, 5000000, 26.001},
		{METER_FIXED_WINDOW, 5000000, 50.001},
		{METER_HYBRID, 5000000, 68.001},
		{METER_GCRA, UINT32_MAX, 26.001},
		{METER_HYBRID, UINT32_MAX, 68.001},
		{METER_TOKEN_BUCKET, 1000, 0},
		{METER_RANDOM_DROP, 1000, 0},
		{METER_GCRA, 0, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t bytes = source_table_bytes(cases[i].kind, cases[i].sources);

		assert_true((double)bytes <= cases[i].bytes * cases[i].sources);
		assert_int_equal(bytes == 0, cases[i].bytes == 0);
		if (bytes == 0)
			assert_null(source_table_init(state, cases[i].kind, cases[i].sources, 1));
	}
}

/* A kind of meter has tables if METER_PER_SOURCE is in its row. */
static void test_kinds_of_tables(void **state)
{
	for (enum meter_kind kind = 0; kind < METER_KINDS; kind++)
		assert_int_equal(
			source_table_bytes(kind, 1000) > 0, meter_can(kind, METER_PER_SOURCE));
}

/* source_table_bytes() is enough for memory of any alignment, and nothing outside is written. */
static void test_memory_is_the_callers(void **state)
{
	enum { SOURCES = 1001, FENCE = 64 };
	size_t bytes = source_table_bytes(METER_GCRA, SOURCES);
	union meter_profile profile = profile_of(METER_GCRA, 0);
	ENDED_BY(free_at) uint8_t *memory = malloc(bytes + 3 * FENCE);

	assert_non_null(memory);
	for (unsigned gap = 0; gap < FENCE; gap++) {
		uint8_t *at = memory + FENCE + gap;
		struct source_table *table;

		memset(memory, 0xa5, bytes + 3 * FENCE);
		table = source_table_init(at, METER_GCRA, SOURCES, gap);
		assert_true(stats_of(table).capacity >= SOURCES);
		for (uint32_t source = 0; source < 2 * SOURCES; source++)
			source_conforms(table, &profile, source, 1, 1);
		sweep_source_table(table, &profile, 2);
		for (unsigned i = 0; i < FENCE + gap; i++)
			assert_int_equal(memory[i], 0xa5);
		for (unsigned i = 0; i < FENCE; i++)
			assert_int_equal(at[bytes + i], 0xa5);
	}
}

/* Packets without a verdict, and the expected verdicts. */
struct waiting {
	struct source_burst burst;
	uint64_t want;
};

/* Packets of one kind of traffic, checked by a table and by one meter for each source. */
struct race {
	struct waiting waiting;
	struct source_table *table;
	union meter_profile profile;
	union meter *own;
	unsigned sources, packets;
	uint64_t gap; /* maximum ticks between packets, on average half */
	uint64_t passed;
	unsigned longest; /* burst */
	struct prng prng;
};

/* A few sources send most of the traffic; most sources send little. */
static uint32_t skewed_source(struct race *race)
{
	double u = prng_unit(&race->prng);

	return (uint32_t)(pow(u, 8) * race->sources);
}

static void decide_race(struct race *race, uint64_t now, enum meter_kind kind, uint64_t seed)
{
	struct waiting *waiting = &race->waiting;
	uint64_t got = decide_source_burst(race->table, &race->profile, &waiting->burst, now);

	if (got != waiting->want)
		fail_msg("form %d kind %d seed %lu: burst of %u: %lx, not %lx", (int)form,
			(int)kind, seed, waiting->burst.n, got, waiting->want);
	race->passed += (unsigned)__builtin_popcountll(got);
	race->longest = waiting->burst.n > race->longest ? waiting->burst.n : race->longest;
	waiting->burst.n = 0;
	waiting->want = 0;
}

static void run_race(struct race *race, enum meter_kind kind, uint64_t seed)
{
	uint64_t now = GHZ;

	race->own = calloc(race->sources, sizeof(*race->own));
	assert_non_null(race->own);
	for (unsigned i = 0; i < race->sources; i++)
		meter_init(kind, &race->own[i], &race->profile, now, 0);
	prng_seed(&race->prng, seed);
	for (unsigned i = 0; i < race->packets; i++) {
		uint32_t source = skewed_source(race), cost = prng_below(&race->prng, 1500);
		bool want = meter_conforms(kind, &race->own[source], &race->profile, now, cost);

		race->waiting.want |= (uint64_t)want << race->waiting.burst.n;
		source_burst_add(
			&race->waiting.burst, race->table, hash_of(race->table, source), cost);
		if (race->waiting.burst.n == SOURCE_BURST)
			decide_race(race, now, kind, seed);
		if (prng_below(&race->prng, 16) == 0) { /* otherwise in one burst */
			decide_race(race, now, kind, seed);
			now += prng_below(&race->prng, (uint32_t)(16 * race->gap));
		}
		if (prng_below(&race->prng, 64) == 0)
			source_table_age(
				race->table, &race->profile, now, prng_below(&race->prng, 100));
	}
	free(race->own);
}

/*
 * If no shared meter is used, verdicts are those of one meter a source. The cases are many
 * more sources than places, mostly idle, and as many busy sources as places.
 */
static void test_verdicts_of_a_meter_a_source(void **state)
{
	static const struct {
		unsigned capacity, sources;
		uint64_t gap, rate;
		bool crowded;
	} cases[] = {
		{2000, 50000, 6000, RATE, false},
		{2000, 2000, 6000, 0, true},
	};

	for (size_t i = 0; i < KINDS * 2 * SEEDS; i++) {
		enum meter_kind kind = kinds[i % KINDS];
		size_t c = i / KINDS % 2;
		uint64_t seed = 1 + i / KINDS / 2;
		struct race race = {.table = table_of(kind, cases[c].capacity, seed),
			.profile = profile_of(kind, cases[c].rate),
			.sources = cases[c].sources,
			.packets = 200000,
			.gap = cases[c].gap};
		unsigned used, guests;

		run_race(&race, kind, seed);
		count_table_lines(race.table, &used, &guests);
		assert_int_equal(stats_of(race.table).overflows, 0);
		assert_int_equal(stats_of(race.table).displaced, 0);
		assert_true(race.longest == SOURCE_BURST);
		/*
		 * Both verdicts were common, places changed their owner, and sources were guests.
		 */
		assert_in_range(race.passed, race.packets / 100, race.packets * 95 / 100);
		if (cases[c].crowded)
			assert_true(guests > cases[c].capacity / 20);
		else
			assert_true(stats_of(race.table).new_sources > 4 * cases[c].capacity);
		table_free(race.table);
	}
}

/* A table has the requested capacity. Checks how full it is when the first source gets no place. */
static void test_capacity(void **state)
{
	static const double at_least[] = {0.9, 0.84, 0.74}; /* share of all ways, by kind */

	for (size_t i = 0; i < KINDS * SEEDS; i++) {
		enum meter_kind kind = kinds[i % KINDS];
		uint64_t seed = i / KINDS;
		union meter_profile profile = profile_of(kind, 0);
		struct source_table *table = table_of(kind, 100000, seed);
		double ways = (double)table->n_lines * table->ways;
		uint32_t source = 0;
		unsigned used, guests;

		while (stats_of(table).overflows == 0 && stats_of(table).displaced == 0 &&
			source < 1000000)
			source_conforms(table, &profile, source++, 1, 1);
		count_table_lines(table, &used, &guests);
		assert_int_equal(used, source - 1);
		assert_int_equal(
			stats_of(table).new_sources, source - 1 + stats_of(table).displaced);
		if (used < at_least[i % KINDS] * ways)
			fail_msg("kind %d seed %lu: full at %.3f", (int)kind, seed, used / ways);
		table_free(table);
	}
}

/*
 * A thousand clients have the same verdicts with millions of new sources around them as without. At
 * the end of a window its meter has no state and its source can lose its place. So only GCRA, whose
 * clients stay busy, runs in a table that the flood fills.
 */
static void test_flood(void **state)
{
	enum { CLIENTS = 1000, NEW = ROUNDS(2000000) };
	static const struct {
		enum meter_kind kind;
		unsigned clients, newcomers; /* packets of each every 50 µs */
		bool fills;
	} cases[] = {
		{METER_GCRA, 100, 40, false},
		{METER_FIXED_WINDOW, 100, 20, false},
		{METER_HYBRID, 100, 20, false},
		{METER_GCRA, CLIENTS, 1000, true},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		union meter_profile profile = profile_of(cases[c].kind, RATE);
		struct source_table *quiet = table_of(cases[c].kind, 4000, 1);
		struct source_table *flooded = table_of(cases[c].kind, 4000, 1);
		uint32_t newcomer = CLIENTS, client = 0;
		uint64_t now = GHZ, passed = 0, sent = 0;
		struct prng prng;

		prng_seed(&prng, c);
		for (; newcomer < NEW; now += MS / 20) {
			for (unsigned i = 0; i < cases[c].clients; i++, sent++) {
				uint32_t cost = 1 + prng_below(&prng, 1500);
				bool want;

				client = (client + 1) % CLIENTS;
				want = source_conforms(quiet, &profile, client, now, cost);
				assert_int_equal(
					source_conforms(flooded, &profile, client, now, cost),
					want);
				passed += want;
			}
			for (unsigned i = 0; i < cases[c].newcomers; i++)
				source_conforms(flooded, &profile, newcomer++, now, 1500);
		}
		assert_int_equal(stats_of(quiet).overflows, 0);
		assert_int_equal(stats_of(flooded).overflows > NEW / 2, cases[c].fills);
		assert_true(cases[c].fills || stats_of(flooded).overflows == 0);
		assert_in_range(passed, sent / 50, sent * 95 / 100);
		table_free(quiet);
		table_free(flooded);
	}
}

/*
 * Forged addresses of one packet each fill a table whose meters stay busy. Then clients send a few
 * packets while the forging continues. No client loses a packet, and none passes more than its
 * burst. Sources that used over half of their burst before the flood keep their places.
 */
static void test_forged_sources(void **state)
{
	enum { REGULARS = 500, FORGED = 60000, CLIENTS = 1000, SENT = 20, LATE = 2000000 };

	for (size_t k = 0; k < KINDS; k++) {
		union meter_profile profile = profile_of(kinds[k], 0); /* BURST in a long window */
		struct source_table *table = table_of(kinds[k], 10000, k);
		uint32_t forged = LATE;
		uint64_t now = GHZ;

		for (uint32_t source = 0; source < REGULARS; source++)
			assert_true(source_conforms(table, &profile, source, now, BURST / 2 + 1));
		for (uint32_t i = 0; i < FORGED; i++)
			source_conforms(table, &profile, forged++, now += 1000, 1);
		for (unsigned sent = 0; sent < SENT; sent++)
			for (uint32_t client = 0; client < CLIENTS; client++) {
				if (!source_conforms(
					    table, &profile, REGULARS + client, now += 1000, 60))
					fail_msg("kind %d: packet %u of client %u is lost",
						(int)kinds[k], sent, client);
				source_conforms(table, &profile, forged++, now, 1);
			}
		for (uint32_t source = 0; source < REGULARS; source++)
			assert_false(source_conforms(table, &profile, source, now, BURST / 2));
		assert_in_range(stats_of(table).overflows, FORGED - 20000, 2 * FORGED);
		assert_in_range(stats_of(table).displaced, CLIENTS / 10, CLIENTS + 1000);
		/*
		 * Clients that continue use over half of their burst, and keep their places from
		 * then on.
		 */
		for (uint32_t client = 0; client < CLIENTS; client++)
			source_conforms(table, &profile, REGULARS + client, now, BURST / 2 + 1);
		for (uint32_t i = 0; i < FORGED; i++)
			source_conforms(table, &profile, forged++, now += 1000, 1);
		for (uint32_t client = 0; client < CLIENTS; client++)
			assert_false(source_conforms(
				table, &profile, REGULARS + client, now, BURST / 2));
		table_free(table);
	}
}

/* Sources that lose their places again and again never pass more than the burst. */
static void test_displaced_are_remembered(void **state)
{
	for (size_t k = 0; k < KINDS; k++) {
		union meter_profile profile = profile_of(kinds[k], 0);
		struct source_table *table = table_of(kinds[k], 1000, k);
		uint32_t sources = table->n_lines * table->ways * 5 / 4;
		unsigned *passed = calloc(sources, sizeof(*passed));

		assert_non_null(passed);
		for (unsigned round = 0; round < 40; round++)
			for (uint32_t i = 0; i < 2 * sources; i++)
				passed[i / 2] += source_conforms(
					table, &profile, i / 2, GHZ + round, BURST / 12);
		for (uint32_t i = 0; i < sources; i++)
			assert_true(passed[i] <= 12);
		assert_in_range(stats_of(table).displaced, 50, UINT32_MAX);
		free(passed);
		table_free(table);
	}
}

/*
 * A flood of forged sources, and the packets of other senders that pass. The oracle is a table of
 * unlimited size: no sender passes more than with a meter of its own. Greedy senders send up to 16
 * times the limit to gain from each change of their meter. Honest ones send half of the limit. They
 * send single packets if the shared meters grant twice the flood (light). Otherwise they send
 * pairs, in a flood of up to 8 times that.
 */
enum { HONEST = 40, GREEDY = 10, COST = 100, EACH = 48 };

struct flood {
	enum meter_kind kind;
	union meter_profile profile;
	struct source_table *table;
	uint64_t packet; /* ticks in which the limit grants one */
	unsigned burst;  /* packets */
	unsigned again;  /* repeated sources in eight packets of the flood */
	bool light;
	union meter own[HONEST + GREEDY];
	uint64_t passed[HONEST + GREEDY], began[HONEST + GREEDY];
	uint64_t sent, got;
	uint32_t forged;
};

/* Windows pass at most the rate and two bursts. For GCRA the passed packets are replayed. */
static void check_sender(struct flood *flood, unsigned i, uint64_t now)
{
	uint64_t window = flood->packet * flood->burst;

	if (flood->kind == METER_GCRA) {
		assert_true(
			meter_conforms(flood->kind, &flood->own[i], &flood->profile, now, COST));
		return;
	}
	flood->began[i] = flood->passed[i] ? flood->began[i] : now;
	flood->passed[i]++;
	assert_true(flood->passed[i] <= ((now - flood->began[i]) / window + 2) * flood->burst);
}

static void send_own(struct flood *flood, unsigned i, uint64_t now)
{
	bool passes = source_conforms(flood->table, &flood->profile, i, now, COST);

	if (passes)
		check_sender(flood, i, now);
	flood->sent += i < HONEST;
	flood->got += i < HONEST && passes;
}

static void draw_flood(struct flood *flood, struct prng *prng)
{
	struct meter_params params = {.kind = kinds[prng_below(prng, KINDS)]};
	unsigned sources = 200 + prng_below(prng, 800);

	*flood = (struct flood){
		.kind = params.kind, .again = prng_below(prng, 8), .forged = 1000000};
	flood->burst = 8 + prng_below(prng, 40);
	flood->packet = GHZ / 1000 << prng_below(prng, 16);
	flood->light = params.kind != METER_GCRA || prng_below(prng, 2);
	params.rate_bps = 8 * COST * GHZ / flood->packet;
	flood->packet = 8 * COST * GHZ / params.rate_bps;
	params.burst = (uint64_t)flood->burst * COST;
	params.window_ns = flood->burst * flood->packet + 1;
	assert_int_equal(meter_profile_init(&flood->profile, &params, GHZ), 0);
	flood->table = table_of(params.kind, sources, prng_next(prng));
	for (unsigned i = 0; i < HONEST + GREEDY; i++)
		meter_init(params.kind, &flood->own[i], &flood->profile, GHZ, 0);
}

/* Sends one packet of the flood. */
static void send_forged(struct flood *flood, struct prng *prng, uint64_t now)
{
	source_conforms(flood->table, &flood->profile, flood->forged, now, COST);
	flood->forged += prng_below(prng, 8) >= flood->again;
}

static void run_flood(struct flood *flood, struct prng *prng)
{
	const unsigned load = flood->light ? 1 : 4 + prng_below(prng, 12);
	const unsigned pairs = flood->light ? 1 : 2;
	const uint64_t gap = 2 * flood->packet / flood->table->n_shared / load + 1;
	const uint64_t end = GHZ + EACH * 2 * flood->packet;
	const uint32_t odds = (uint32_t)(2 * flood->packet * pairs / gap) + 1;

	/* Starts with more sources than places. */
	for (uint64_t i = 0; i < 2 * flood->table->n_shared; i++)
		send_forged(flood, prng, GHZ);
	for (uint64_t now = GHZ; now < end; now += gap) {
		uint32_t lot = prng_below(prng, odds);

		send_forged(flood, prng, now);
		for (unsigned k = 0; lot < HONEST && k < pairs; k++)
			send_own(flood, lot, now);
		for (unsigned i = 0; i < GREEDY; i++) /* 1 to 16 times the limit */
			if (prng_below(prng, (uint32_t)(flood->packet / gap >> i % 5) + 1) == 0)
				send_own(flood, HONEST + i, now);
		source_table_age(flood->table, &flood->profile, now, 1);
	}
}

static void test_drawn_floods(void **state)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t first = text ? strtoull(text, NULL, 0) : 1;

	print_message("seeds from %lu (WEIR_SEED changes it)\n", first);
	for (uint64_t seed = first; seed < first + ROUNDS(40); seed++) {
		struct flood flood;
		struct prng prng;
		double share;

		prng_seed(&prng, seed);
		draw_flood(&flood, &prng);
		run_flood(&flood, &prng);
		share = (double)flood.got / (double)flood.sent;
		if (share < (!flood.light ? 0.15 : flood.kind == METER_GCRA ? 0.9 : 0.6))
			fail_msg("seed %lu kind %d: honest senders got %.3f", seed, flood.kind,
				share);
		table_free(flood.table);
	}
}

/* Places of sources that became idle are free again, with or without a sweep. */
static void test_idle_give_way(void **state)
{
	for (size_t i = 0; i < KINDS * 2; i++) {
		enum meter_kind kind = kinds[i % KINDS];
		bool swept = i / KINDS;
		union meter_profile profile = profile_of(kind, RATE);
		struct source_table *table = table_of(kind, 10000, i);
		uint64_t capacity = stats_of(table).capacity, now = GHZ;
		uint32_t source = 0;
		unsigned used, guests;

		for (unsigned round = 0; round < 5; round++) {
			for (uint64_t n = 0; n < capacity; n++)
				assert_true(
					source_conforms(table, &profile, source++, now, BURST / 2));
			sweep_source_table(table, &profile, now);
			assert_int_equal(stats_of(table).sources, capacity);
			now += WINDOW;
			if (!swept)
				continue;
			sweep_source_table(table, &profile, now);
			assert_int_equal(stats_of(table).sources, 0);
		}
		sweep_source_table(table, &profile, now);
		count_table_lines(table, &used, &guests);
		assert_int_equal(used, 0);
		assert_int_equal(guests, 0);
		assert_int_equal(stats_of(table).overflows, 0);
		assert_int_equal(stats_of(table).new_sources, 5 * capacity);
		table_free(table);
	}
}

/* A client that was a guest while the table was crowded soon returns to its home line. */
static void test_guests_go_home(void **state)
{
	union meter_profile profile = profile_of(METER_GCRA, RATE);
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 1000, 1);
	unsigned used, guests;

	for (uint32_t source = 0; source < 1000; source++)
		source_conforms(table, &profile, source, GHZ, source % 2 ? BURST : 1000);
	count_table_lines(table, &used, &guests);
	assert_true(guests > 20);
	assert_true(table->crowded);
	/* Now the even sources are idle, and the odd ones are busy where they are. */
	sweep_source_table(table, &profile, GHZ + 2 * MS);
	for (uint32_t source = 1; source < 1000; source += 2)
		assert_false(source_conforms(table, &profile, source, GHZ + 2 * MS, 2001));
	count_table_lines(table, &used, &guests);
	assert_int_equal(used, 500);
	assert_in_range(guests, 0, 20);
	assert_false(table->crowded);
}

/* Sends a burst of new sources; returns the bytes that pass. */
static uint64_t pass_newcomers(struct source_table *table, const union meter_profile *profile,
	uint32_t source, uint64_t now)
{
	struct source_burst burst = {.n = 0};
	uint64_t conforming, passed = 0;

	for (; burst.n < SOURCE_BURST; source++)
		source_burst_add(&burst, table, hash_of(table, source), 1 + source % 1500);
	conforming = decide_source_burst(table, profile, &burst, now);
	for (unsigned i = 0; i < burst.n; i++)
		passed += conforming >> i & 1 ? burst.cost[i] : 0;
	return passed;
}

/*
 * In a table that stays full, new sources share meters and are counted. They pass no more than the
 * shared meters grant.
 */
static void test_full_table(void **state)
{
	enum { NEWCOMERS = 3200 * SOURCE_BURST };

	for (size_t k = 0; k < KINDS; k++) {
		enum meter_kind kind = kinds[k];
		union meter_profile profile = profile_of(kind, RATE);
		struct source_table *table = table_of(kind, 1000, k);
		uint64_t now = GHZ, passed = 0, most, placed, shared;
		uint32_t regulars = 100000;

		/*
		 * Enough sources for every way. All spend their burst immediately, so they stay
		 * busy.
		 */
		for (uint32_t packet = 0; packet < 2 * regulars; packet++)
			source_conforms(table, &profile, packet / 2, now, BURST);
		now += WINDOW / 3;
		assert_int_equal(stats_of(table).full, 1);
		placed = stats_of(table).new_sources;
		shared = stats_of(table).overflows;
		assert_int_equal(placed, (uint64_t)table->n_lines * table->ways);
		assert_in_range(shared, 2 * (regulars - placed), 2 * regulars - placed);
		for (uint32_t i = 0; i < NEWCOMERS; i += SOURCE_BURST)
			passed += pass_newcomers(table, &profile, regulars + i, now);
		assert_int_equal(stats_of(table).new_sources, placed);
		assert_int_equal(stats_of(table).overflows, shared + NEWCOMERS);
		/* A GCRA has earned a third of its burst since then. A window has not ended yet. */
		most = kind == METER_GCRA ? BURST / 3 * table->n_shared : 0;
		assert_in_range(passed, most - most / 10, most);
		/*
		 * When the sources are idle, there are places again and the shared meters are full.
		 */
		now += 2 * WINDOW;
		sweep_source_table(table, &profile, now);
		assert_int_equal(table->shared_used, 0);
		assert_int_equal(stats_of(table).full, 0);
		assert_true(source_conforms(table, &profile, UINT32_MAX, now, BURST));
		assert_int_equal(stats_of(table).new_sources, placed + 1);
		table_free(table);
	}
}

/*
 * While searches for a place fail, they become rare, independent of time. But they do not
 * stop, and all ways fill up.
 */
static void test_searches_become_rare(void **state)
{
	union meter_profile profile = profile_of(METER_GCRA, 0);
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 1000, 3);
	unsigned used, guests, gap = 0;

	for (uint32_t source = 0; source < 50000; source++) {
		source_conforms(table, &profile, source, source, BURST);
		source_conforms(table, &profile, source, source, BURST);
		gap = table->search_gap > gap ? table->search_gap : gap;
		assert_true(table->search_in <= table->search_gap);
		assert_true(table->search_gap == 0 || stats_of(table).overflows > 0);
	}
	assert_in_range(gap, 500, 2000);
	count_table_lines(table, &used, &guests);
	assert_int_equal(used, table->n_lines * table->ways);
}

/* The capacity is the number of sources. Most keep their places while they are idle. */
static void test_idle_are_seldom_forgotten(void **state)
{
	enum { SOURCES = 10000, ROUNDS = 50 };
	union meter_profile profile = profile_of(METER_GCRA, RATE);
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, SOURCES, 3);

	for (unsigned round = 0; round < ROUNDS; round++)
		for (uint32_t source = 0; source < SOURCES; source++)
			source_conforms(table, &profile, source, GHZ + round * MS + source, 1);
	assert_in_range(stats_of(table).new_sources, SOURCES, ROUNDS * SOURCES / 4);
}

/* Returns a hash with this line and tag. */
static uint64_t hash_at(const struct source_table *table, uint32_t line, uint32_t tag)
{
	uint64_t first = (((uint64_t)line << 32) + table->n_lines - 1) / table->n_lines;

	assert_int_equal(source_home(table, first << 32) - table->lines, line);
	return first << 32 | tag;
}

/* With fewer ways a line has meters in place of some tags. Their state is not compared as tags. */
static void test_state_is_no_tag(void **state)
{
	for (size_t k = 0; k < KINDS; k++) {
		union meter_profile profile = profile_of(kinds[k], 0);
		struct source_table *table = table_of(kinds[k], 100, 1);
		uint64_t now = UINT64_C(0x3333333322222222);
		const uint32_t *word = (const uint32_t *)&table->lines[7];

		conforms_hash(table, &profile, hash_at(table, 7, 1), now, 0x1111);
		for (unsigned i = 1; i < SOURCE_LINE / sizeof(*word); i++) {
			uint64_t hash = hash_at(table, 7, word[i]);
			unsigned used, guests;

			if (word[i] <= 1)
				continue;
			table_free(table);
			table = table_of(kinds[k], 100, 1);
			word = (const uint32_t *)&table->lines[7];
			conforms_hash(table, &profile, hash_at(table, 7, 1), now, 0x1111);
			conforms_hash(table, &profile, hash, now, 1);
			count_table_lines(table, &used, &guests);
			assert_int_equal(used, 2);
		}
		table_free(table);
	}
}

/* Returns the second line of a source with this tag and home line 0. */
static uint32_t other_of(uint32_t tag)
{
	union meter_profile profile = profile_of(METER_GCRA, 0);
	struct source_table *table = table_of(METER_GCRA, 100, 1);
	uint32_t other = 0;

	for (unsigned way = 0; way < table->ways; way++)
		conforms_hash(table, &profile, hash_at(table, 0, 1000000 + way), 1, 1);
	conforms_hash(table, &profile, hash_at(table, 0, tag), 1, 1);
	while (other < table->n_lines && table->lines[other].head.guests == 0)
		other++;
	assert_in_range(other, 1, table->n_lines - 1);
	table_free(table);
	return other;
}

/* Two sources with one tag, each at home in the other's second line, are distinct. */
static void test_guest_and_resident(void **state)
{
	const uint32_t tag = 12345, other = other_of(tag), crowd = 1000000;
	union meter_profile profile = profile_of(METER_GCRA, 0);
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 100, 1);
	unsigned used, guests;

	assert_true(conforms_hash(table, &profile, hash_at(table, other, tag), 1, BURST));
	for (uint32_t i = 0; i < table->ways + 1u; i++)
		conforms_hash(table, &profile, hash_at(table, 0, crowd + i), 1, 1);
	assert_int_equal(table->lines[0].head.away, 1);
	assert_true(conforms_hash(table, &profile, hash_at(table, 0, tag), 1, BURST));
	assert_int_equal(table->lines[0].head.away, 2);
	assert_false(conforms_hash(table, &profile, hash_at(table, 0, tag), 1, 1));
	assert_false(conforms_hash(table, &profile, hash_at(table, other, tag), 1, 1));
	count_table_lines(table, &used, &guests);
	assert_int_equal(used, table->ways + 3);
	assert_int_equal(guests, 2);
}

/* Checks a burst that was made for another table with the same secret. */
static uint64_t conforms_elsewhere(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, const struct source_table *was, uint64_t now)
{
	struct source_burst moved = *burst;

	for (unsigned i = 0; i < burst->n; i++)
		moved.home[i] = table->lines + (burst->home[i] - was->lines);
	return source_table_conforms_burst(table, profile, &moved, now);
}

/* Bursts of every size with few sources: each source gets one place. */
static void test_newcomers_of_a_burst(void **state)
{
	for (unsigned n = 0; n <= SOURCE_BURST; n++) {
		union meter_profile profile = profile_of(METER_GCRA, 0);
		struct source_table *table = table_of(METER_GCRA, 100, n);
		struct source_burst burst = {.n = 0};
		unsigned sources = n < 5 ? n : 5, used, guests;
		uint64_t want = 0;

		for (unsigned k = 0; k < n; k++) {
			/* Two packets of each source pass, and all packets without a cost. */
			uint32_t cost = k % 7 == 6 ? 0 : BURST / 2;

			source_burst_add(&burst, table, hash_of(table, k % 5), cost);
		}
		for (unsigned k = 0, paid[5] = {0}; k < n; k++) {
			paid[k % 5] += burst.cost[k] != 0;
			want |= (uint64_t)(burst.cost[k] == 0 || paid[k % 5] <= 2) << k;
		}
		assert_int_equal(decide_source_burst(table, &profile, &burst, 1), want);
		assert_int_equal(stats_of(table).new_sources, sources);
		count_table_lines(table, &used, &guests);
		assert_int_equal(used, sources);
		table_free(table);
	}
}

/*
 * The AVX2 path and the plain path leave the same table, with any states of the meters and with
 * clocks that step back or far ahead.
 */
static void test_bursts_agree(void **state)
{
	enum { SOURCES = 500, BURSTS = ROUNDS(20000) };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		union meter_profile profile = profile_of(METER_GCRA, RATE);
		struct source_table *a = table_of(METER_GCRA, SOURCES, seed);
		struct source_table *b = table_of(METER_GCRA, SOURCES, seed);
		uint64_t now = GHZ;
		struct prng prng;

		b->avx2 = false;
		prng_seed(&prng, seed);
		for (unsigned i = 0; i < BURSTS; i++) {
			struct source_burst burst = {.n = 0};
			unsigned n = prng_below(&prng, SOURCE_BURST + 1);
			uint32_t line = prng_below(&prng, a->n_lines);
			uint64_t allow_at = gcra_time(&profile.gcra, now) - (1 << 20) +
					    prng_below(&prng, 1 << 21);

			allow_at = prng_below(&prng, 4) ? allow_at : prng_next(&prng);
			a->lines[line].gcra.state[i % 5].allow_at = allow_at;
			b->lines[line].gcra.state[i % 5].allow_at = allow_at;
			while (burst.n < n)
				source_burst_add(&burst, a,
					hash_of(a, prng_below(&prng, 2 * SOURCES)),
					prng_below(&prng, 4) ? prng_below(&prng, 1500) : 0);
			now += prng_below(&prng, 100) ? prng_below(&prng, MS / 4)
						      : prng_next(&prng) >> prng_below(&prng, 64);
			if (source_table_conforms_burst(a, &profile, &burst, now) !=
				conforms_elsewhere(b, &profile, &burst, a, now))
				fail_msg("seed %lu burst %u", seed, i);
			assert_memory_equal(a->lines, b->lines, a->n_lines * sizeof(*a->lines));
		}
		table_free(a);
		table_free(b);
	}
}

/*
 * Testing a source's meter and then charging it gives the same result as charging through the
 * table.
 */
static void test_meters_agree(void **state)
{
	enum { SOURCES = 300, PACKETS = ROUNDS(60000) };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		union meter_profile profile = profile_of(METER_GCRA, RATE);
		struct source_table *a = table_of(METER_GCRA, SOURCES, seed);
		struct source_table *b = table_of(METER_GCRA, SOURCES, seed);
		unsigned refused = 0;
		uint64_t now = GHZ;
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned i = 0; i < PACKETS; i++) {
			uint32_t source = prng_below(&prng, 2 * SOURCES);
			uint32_t cost = prng_below(&prng, 1500);
			struct gcra *meter;
			struct gcra_now at;
			bool has;

			now += prng_below(&prng, MS / 1000);
			meter = source_table_meter(a, &profile, hash_of(a, source), now);
			at = gcra_now(&profile.gcra, now);
			has = gcra_tokens(meter, &at) >= (int64_t)((uint64_t)cost << GCRA_SHIFT);
			assert_int_equal(gcra_conforms_now(meter, &at, cost), has);
			assert_int_equal(
				source_table_conforms(b, &profile, hash_of(b, source), now, cost),
				has);
			refused += !has;
		}
		assert_memory_equal(a->lines, b->lines, a->n_lines * sizeof(*a->lines));
		assert_memory_equal(a->shared, b->shared, a->n_shared * sizeof(struct gcra));
		assert_true(refused > PACKETS / 100 && refused < PACKETS);
		table_free(a);
		table_free(b);
	}
}

static void test_prefixes(void **state)
{
	static const struct {
		unsigned family, bits;
	} cases[] = {{4, 0}, {4, 1}, {4, 24}, {4, 31}, {4, 32}, {6, 0}, {6, 1}, {6, 48}, {6, 63},
		{6, 64}, {6, 65}, {6, 127}, {6, 128}};
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 1, 9);
	uint8_t addr[16];
	struct prng prng;

	prng_seed(&prng, 5);
	for (size_t c = 0; c < COUNT(cases); c++) {
		unsigned family = cases[c].family, bits = cases[c].bits;
		uint64_t hash;

		for (unsigned i = 0; i < 16; i++)
			addr[i] = (uint8_t)prng_next(&prng);
		hash = source_hash(table, addr, family, bits);
		for (unsigned bit = 0; bit < (family == 4 ? 32u : 128u); bit++) {
			addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			assert_int_equal(
				source_hash(table, addr, family, bits) == hash, bit >= bits);
			addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		}
	}
}

/* Equal bits in another family are another source: ::, a.b.c.d:: and ::ffff:a.b.c.d. */
static void test_families(void **state)
{
	static const uint8_t v4[2][4] = {{0, 0, 0, 0}, {192, 0, 2, 1}};
	static const uint8_t v6[5][16] = {{0}, {192, 0, 2, 1}, {[12] = 192, 0, 2, 1},
		{[10] = 255, 255, 192, 0, 2, 1}, {[4] = 192, 0, 2, 1}};
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 1, 9);

	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 5; j++)
			assert_int_not_equal(source_hash(table, v4[i], 4, 32),
				source_hash(table, v6[j], 6, 128));
}

/* The lines of sources under one secret reveal nothing about those under another. */
static void test_secret(void **state)
{
	enum { N = 10000 };
	ENDED_BY(table_free_at)
	struct source_table *a = table_of(METER_GCRA, 4 * N, 1),
			    *b = table_of(METER_GCRA, 4 * N, 2);
	ENDED_BY(table_free_at) struct source_table *again = table_of(METER_GCRA, 4 * N, 1);
	unsigned homes = 0, tags = 0;

	for (uint32_t source = 0; source < N; source++) {
		uint64_t x = hash_of(a, source), y = hash_of(b, source);

		assert_int_equal(hash_of(again, source), x);
		homes += source_home(a, x) - a->lines == source_home(b, y) - b->lines;
		tags += source_tag(x) == source_tag(y);
	}
	assert_int_equal(a->n_lines, N);
	assert_in_range(homes, 0, 8); /* 1 on average */
	assert_int_equal(tags, 0);
}

/* Returns chi squared of 4096 cells with 16 each on average. Expected: 4095 ± 90 (one sigma). */
static double chi_squared(const struct source_table *table, const uint8_t (*addr)[16], unsigned n,
	unsigned family, unsigned shift)
{
	enum { CELLS = 4096 };
	static unsigned cells[CELLS];
	double sum = 0, mean = (double)n / CELLS;

	memset(cells, 0, sizeof(cells));
	for (unsigned i = 0; i < n; i++)
		cells[source_hash(table, addr[i], family, family == 4 ? 32 : 128) >> shift &
			(CELLS - 1)]++;
	for (unsigned i = 0; i < CELLS; i++)
		sum += (cells[i] - mean) * (cells[i] - mean) / mean;
	return sum;
}

/* Addresses that differ in one bit or many spread like random ones, in both home line and tag. */
static void test_spread(void **state)
{
	enum { N = 65536 };
	uint8_t(*addr)[16] = calloc(N, 16);
	ENDED_BY(table_free_at) struct source_table *table = table_of(METER_GCRA, 1, 12);

	assert_non_null(addr);
	for (unsigned family = 4; family <= 6; family += 2) {
		for (unsigned at = 0; at + 1 < (family == 4 ? 4u : 16u); at++) {
			memset(addr, 0, (size_t)N * 16);
			for (unsigned i = 0; i < N; i++) {
				addr[i][at] = (uint8_t)(i >> 8);
				addr[i][at + 1] = (uint8_t)i;
			}
			for (unsigned shift = 0; shift <= 52; shift += 13) {
				double chi = chi_squared(table, addr, N, family, shift);

				if (chi > 4095 + 6 * 90)
					fail_msg("family %u byte %u shift %u: %.0f", family, at,
						shift, chi);
			}
		}
	}
	free(addr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_kinds_of_tables),
		cmocka_unit_test(test_memory_is_the_callers),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_bursts_agree),
		cmocka_unit_test(test_meters_agree),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_secret),
		cmocka_unit_test(test_spread),
	};
	const struct CMUnitTest in_each_form[] = {
		cmocka_unit_test(test_verdicts_of_a_meter_a_source),
		cmocka_unit_test(test_forged_sources),
		cmocka_unit_test(test_displaced_are_remembered),
		cmocka_unit_test(test_drawn_floods),
		cmocka_unit_test(test_idle_give_way),
		cmocka_unit_test(test_guests_go_home),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_searches_become_rare),
		cmocka_unit_test(test_idle_are_seldom_forgotten),
		cmocka_unit_test(test_state_is_no_tag),
		cmocka_unit_test(test_guest_and_resident),
		cmocka_unit_test(test_newcomers_of_a_burst),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	for (form = SINGLY; form < FORMS; form++)
		failed += cmocka_run_group_tests(in_each_form, NULL, NULL);
	return failed;
}
