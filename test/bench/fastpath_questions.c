/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The questions of the fast path's benchmark: for each, the contenders that take turns.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include <sodium.h>

#include "fastpath.h"
#include "publish.h"
#include "worker.h"

#define CONTENDERS 20
#define SILENT     99
#define TIMES      5 /* repetitions of a set-up that is measured itself */
#define PUBLISHED  15

static const char *const null_devices[] = {
	"net_null0,size=64", "net_null1,size=64", "net_null2,size=64", "net_null3,size=64"};

/* The set of contenders of one question, and the data that must outlive them. */
struct stage {
	struct lab *lab;
	struct contender contenders[CONTENDERS];
	unsigned n, n_traffic;
	struct traffic *traffic[CONTENDERS];
};

static struct contender *add_contender(
	struct stage *stage, const char *name, struct contender contender)
{
	struct contender *added = &stage->contenders[stage->n++];

	*added = contender;
	added->name = name;
	return added;
}

static const struct traffic *add_traffic(struct stage *stage, const struct prefixes *prefixes,
	enum frame_kind kind, enum drawing draw)
{
	struct traffic *made = traffic_make(prefixes, kind, draw, stage->lab->n_traffic);

	stage->traffic[stage->n_traffic++] = made;
	return made;
}

static void ask_question(struct stage *stage, const char *question)
{
	lab_ask(stage->lab, question, stage->contenders, stage->n);
	while (stage->n_traffic)
		traffic_free(stage->traffic[--stage->n_traffic]);
}

/* A group of one, which flow proportional share needs. */
static const char *group_of_one(void)
{
	static char text[128];

	snprintf(text, sizeof(text),
		"{\"roster\":[{\"name\":\"bench\",\"address\":\"127.0.0.1:%u\"}]}",
		free_udp_port());
	return text;
}

/*
 * A group whose other limiters are all silent, and keep their parts of the limits. So the smallest
 * limit passes nothing, and an emptied bucket stays empty.
 */
static const char *silent_group(void)
{
	static char text[64 * SILENT + 256];
	int at = snprintf(text, sizeof(text),
		"{\"insecure\":true,\"estimator\":\"state\",\"roster\":[{\"name\":\"bench\","
		"\"address\":\"127.0.0.1:%u\"}",
		free_udp_port());

	for (unsigned i = 1; i <= SILENT; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			",{\"name\":\"silent%u\",\"address\":\"127.0.0.2:%u\"}", i, i);
	snprintf(text + at, sizeof(text) - (size_t)at, "]}");
	return text;
}

static struct instance_params params_of(const struct lab *lab, const struct prefixes *prefixes)
{
	return (struct instance_params){.ports = lab->ports,
		.devices = null_devices,
		.prefixes = prefixes,
		.policies = prefixes ? prefixes->n : 1,
		.allocator = "fps",
		.workers = 1,
		.cpu = {lab->cpu[0], lab->cpu[1]},
		.directory = lab->directory,
		.gossip = group_of_one()};
}

static struct bench_instance *usual_instance(const struct lab *lab, const struct prefixes *prefixes)
{
	struct instance_params params = params_of(lab, prefixes);

	return bench_instance_open(&params);
}

/* An instance in which a share of the policies drops nearly all packets. */
static struct bench_instance *dropping_instance(
	const struct lab *lab, const struct prefixes *prefixes, double over)
{
	struct instance_params params = params_of(lab, prefixes);

	params.over = over;
	params.gossip = silent_group();
	return bench_instance_open(&params);
}

/* An instance that another contender prepares and closes. */
static struct contender same_instance_again(
	struct bench_instance *bench, const struct traffic *packets)
{
	struct contender contender = instance_contender("", bench, packets);

	contender.close = NULL;
	contender.commit = NULL;
	return contender;
}

static unsigned longer_slices(const struct lab *lab)
{
	return (unsigned)(rte_get_tsc_hz() / 1000000 * lab->long_us / lab->slice) + 1;
}

/* Shows whether `io` is comparable to others' bare forwarding, which writes MAC addresses. */
static void ask_bare(struct lab *lab)
{
	struct stage stage = {.lab = lab};

	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	add_contender(&stage, "mac", mac_contender(lab->ports, NULL));
	ask_question(&stage, "bare");
}

/* Cost by number of policies (one, some, many), and of each stage of the packet path. */
static void ask_policies(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct prefixes one, some, many;
	const struct traffic *to_one, *to_some, *to_many;
	struct instance_params unsampled, levels;
	struct bench_instance *bench;

	prefixes_make(&one, 1);
	prefixes_make(&some, lab->policies);
	prefixes_make(&many, lab->scale);
	to_one = add_traffic(&stage, &one, FRAME_V4, DRAW_UNIFORM);
	to_some = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	to_many = add_traffic(&stage, &many, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	add_contender(&stage, "io_with_headers", io_contender(lab->ports, to_some));
	add_contender(&stage, "mac", mac_contender(lab->ports, NULL));
	add_contender(
		&stage, "full_any", instance_contender("", usual_instance(lab, NULL), to_one));
	add_contender(&stage, "full_1", instance_contender("", usual_instance(lab, &one), to_one));
	bench = usual_instance(lab, &some);
	add_contender(&stage, "full_10k", instance_contender("", bench, to_some));
	add_contender(&stage, "full_10k_zipf",
		same_instance_again(bench, add_traffic(&stage, &some, FRAME_V4, DRAW_ZIPF)));
	add_contender(&stage, "portable_10k", portable_contender(bench, to_some));
	add_contender(&stage, "classify_10k", classify_contender(bench, to_some));
	levels = params_of(lab, &some);
	levels.clients = 10;
	bench = bench_instance_open(&levels);
	add_contender(&stage, "levels_10k", instance_contender("", bench, to_some));
	unsampled = params_of(lab, &some);
	unsampled.allocator = "static";
	add_contender(&stage, "unsampled_10k",
		instance_contender("", bench_instance_open(&unsampled), to_some));
	bench = usual_instance(lab, &many);
	add_contender(&stage, "full_100k", instance_contender("", bench, to_many));
	add_contender(&stage, "portable_100k", portable_contender(bench, to_many));
	add_contender(&stage, "classify_100k", classify_contender(bench, to_many));
	unsampled.prefixes = &many;
	unsampled.policies = many.n;
	add_contender(&stage, "unsampled_100k",
		instance_contender("", bench_instance_open(&unsampled), to_many));
	add_contender(&stage, "library_10k", library_contender(lab->ports, to_some, &some, 0));
	add_contender(&stage, "library_100k", library_contender(lab->ports, to_many, &many, 0));
	ask_question(&stage, "policies");
	prefixes_free(&one);
	prefixes_free(&some);
	prefixes_free(&many);
}

/* Few policies, so that a burst has several packets of one policy: uniform traffic, and Zipf's. */
static void ask_few(struct lab *lab)
{
	static const struct {
		const char *full, *library;
		unsigned policies;
		enum drawing draw;
	} rows[] = {{"full_2", "library_2", 2, DRAW_UNIFORM},
		{"full_4", "library_4", 4, DRAW_UNIFORM},
		{"full_20", "library_20", 20, DRAW_UNIFORM},
		{"full_200", "library_200", 200, DRAW_UNIFORM},
		{"full_200_zipf", "library_200_zipf", 200, DRAW_ZIPF}};
	struct stage stage = {.lab = lab};
	struct prefixes few[RTE_DIM(rows)], some;

	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		const struct traffic *packets;

		prefixes_make(&few[i], rows[i].policies);
		packets = add_traffic(&stage, &few[i], FRAME_V4, rows[i].draw);
		add_contender(&stage, rows[i].full,
			instance_contender("", usual_instance(lab, &few[i]), packets));
		add_contender(&stage, rows[i].library,
			library_contender(lab->ports, packets, &few[i], 0));
	}
	prefixes_make(&some, lab->policies);
	add_contender(&stage, "full_10k",
		instance_contender("", usual_instance(lab, &some),
			add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM)));
	ask_question(&stage, "few");
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		prefixes_free(&few[i]);
	prefixes_free(&some);
}

/* A share of the policies is over its limit. */
static void ask_drops(struct lab *lab)
{
	static const struct {
		const char *name, *library;
		double over;
	} rows[] = {{"full_0", "library_0", 0}, {"full_10", NULL, 0.1},
		{"full_33", "library_33", 1 / 3.0}, {"full_50", "library_50", 0.5},
		{"full_90", NULL, 0.9}, {"full_100", NULL, 1}};
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *packets;

	prefixes_make(&some, lab->policies);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		add_contender(&stage, rows[i].name,
			instance_contender(
				"", dropping_instance(lab, &some, rows[i].over), packets));
		if (rows[i].library)
			add_contender(&stage, rows[i].library,
				library_contender(lab->ports, packets, &some, rows[i].over));
	}
	ask_question(&stage, "drops");
	prefixes_free(&some);
}

/* Sets whether the devices report flow hashes, regardless of their driver. */
static struct bench_instance *set_rx_hash(struct bench_instance *bench, bool hashes)
{
	struct worker *worker = &bench->inst.workers[0];

	for (unsigned i = 0; i < worker->n_paths; i++)
		worker->paths[i].rx_hash = hashes;
	return bench;
}

/*
 * Flows that share a limit, compared with a token bucket, which needs no flows: below the limit and
 * above it. With the device's hash, which all devices with RSS report, and without.
 */
static void ask_phantom(struct lab *lab)
{
	static const struct {
		const char *name, *meter;
		bool pressed, one, hashes;
	} rows[] = {{"bucket_1", "token-bucket", false, true, true},
		{"phantom_1", "phantom", false, true, true},
		{"unhashed_1", "phantom", false, true, false},
		{"bucket_10k", "token-bucket", false, false, true},
		{"phantom_10k", "phantom", false, false, true},
		{"unhashed_10k", "phantom", false, false, false},
		{"bucket_10k_pressed", "token-bucket", true, false, true},
		{"phantom_10k_pressed", "phantom", true, false, true}};
	struct stage stage = {.lab = lab};
	struct prefixes one, some;
	const struct traffic *to_one, *to_some;

	prefixes_make(&one, 1);
	prefixes_make(&some, lab->policies);
	to_one = add_traffic(&stage, &one, FRAME_HASHED, DRAW_UNIFORM);
	to_some = add_traffic(&stage, &some, FRAME_HASHED, DRAW_UNIFORM);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct instance_params params = params_of(lab, rows[i].one ? &one : &some);
		const struct traffic *packets = rows[i].one ? to_one : to_some;
		struct bench_instance *bench;

		params.allocator = "static";
		params.meter = rows[i].meter;
		params.limit = rows[i].pressed ? "1Gbit/s" : NULL; /* at first */
		params.burst = rows[i].pressed ? "2kB" : NULL;
		bench = set_rx_hash(bench_instance_open(&params), rows[i].hashes);
		if (rows[i].pressed)
			add_contender(&stage, rows[i].name, pressed_contender(bench, packets))
				->longer = longer_slices(lab);
		else
			add_contender(&stage, rows[i].name, instance_contender("", bench, packets));
	}
	ask_question(&stage, "phantom");
	prefixes_free(&one);
	prefixes_free(&some);
}

/* A group of two, whose limiters lend each other tokens or do not. */
static const char *group_of_two(bool loans)
{
	static char text[2][256];

	snprintf(text[loans], sizeof(text[loans]),
		"{\"insecure\":true,\"estimator\":\"state\",\"loans\":\"%s\",\"roster\":["
		"{\"name\":\"bench\",\"address\":\"127.0.0.1:%u\"},"
		"{\"name\":\"other\",\"address\":\"127.0.0.2:9\"}]}",
		loans ? "soft" : "none", free_udp_port());
	return text[loans];
}

/* One worker's bucket with token loans and without: below the limit, and far above it. */
static void ask_loans(struct lab *lab)
{
	static const struct {
		const char *name, *limit, *burst;
		bool loans;
	} rows[] = {{"private_1", "400Gbit/s", "64MiB", false},
		{"lending_1", "400Gbit/s", "64MiB", true},
		{"private_1_slow", "40Gbit/s", "64kB", false},
		{"lending_1_slow", "40Gbit/s", "64kB", true},
		{"private_1_pressed", "8kbit/s", "64kB", false},
		{"lending_1_pressed", "8kbit/s", "64kB", true}};
	struct stage stage = {.lab = lab};
	const struct traffic *packets;
	struct prefixes one;

	prefixes_make(&one, 1);
	packets = add_traffic(&stage, &one, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct instance_params params = params_of(lab, &one);

		params.allocator = "static";
		params.gossip = group_of_two(rows[i].loans);
		params.limit = rows[i].limit;
		params.burst = rows[i].burst;
		add_contender(&stage, rows[i].name,
			instance_contender("", bench_instance_open(&params), packets));
	}
	ask_question(&stage, "loans");
	prefixes_free(&one);
}

/*
 * There are as many such policies as rte_sched has pipes. Together they pass most of the packets
 * that one core can forward.
 */
#define SHAPED_LIMIT "600kbit/s"

/*
 * Shaped packets, a few in each of PIPES queues, compared with a token bucket that drops and with
 * rte_sched, whose pipes are never filled.
 */
static void ask_shape(struct lab *lab)
{
	static const struct {
		const char *name, *keys;
	} rows[] = {{"bucket", NULL},
		{"shaped_timed", "\"action\":\"shape\",\"shape\":{\"delay\":\"5ms\"}"},
		{"shaped_listed", "\"action\":\"shape\",\"shape\":{\"delay\":\"5ms\","
				  "\"drop\":\"codel\",\"target\":\"4ms\"}"}};
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *packets;

	prefixes_make(&some, PIPES);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct instance_params params = params_of(lab, &some);

		params.allocator = "static";
		params.limit = SHAPED_LIMIT;
		params.burst = rows[i].keys ? "64B" : "2kB"; /* shaping needs no burst */
		params.keys = rows[i].keys;
		add_contender(&stage, rows[i].name,
			instance_contender("", bench_instance_open(&params), packets));
	}
	add_contender(&stage, "rte_sched", sched_contender(lab->ports, packets));
	ask_question(&stage, "shape");
	prefixes_free(&some);
}

static void ask_ipv6(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct prefixes some;
	struct instance_params params;

	prefixes_make(&some, lab->policies);
	params = params_of(lab, &some);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	add_contender(&stage, "ipv4",
		instance_contender("", bench_instance_open(&params),
			add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM)));
	params.v6 = true;
	add_contender(&stage, "ipv6",
		instance_contender("", bench_instance_open(&params),
			add_traffic(&stage, &some, FRAME_V6, DRAW_UNIFORM)));
	ask_question(&stage, "ipv6");
	prefixes_free(&some);
}

/* A single policy, or one within a plan within a link. */
static struct bench_instance *source_instance(
	const struct lab *lab, const struct prefixes *one, bool below)
{
	struct instance_params params = params_of(lab, one);

	params.sources = true;
	params.clients = below;
	params.allocator = "static";
	return bench_instance_open(&params);
}

/* Traffic that an attacker would send. */
static void ask_hostile(struct lab *lab)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
		enum drawing draw;
	} rows[] = {{"all_distinct", FRAME_V4, DRAW_CYCLE}, {"unmatched", FRAME_V4, DRAW_NONE},
		{"fragments", FRAME_FRAGMENT, DRAW_UNIFORM},
		{"options", FRAME_OPTIONS, DRAW_UNIFORM},
		{"smallest", FRAME_SMALLEST, DRAW_UNIFORM}};
	struct stage stage = {.lab = lab};
	struct prefixes some, one;
	const struct traffic *usual, *scan;
	struct bench_instance *bench;

	prefixes_make(&some, lab->policies);
	prefixes_make(&one, 1);
	usual = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	bench = usual_instance(lab, &some);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	add_contender(&stage, "full_10k", instance_contender("", bench, usual));
	add_contender(&stage, "one_policy",
		instance_contender("", usual_instance(lab, &some),
			add_traffic(&stage, &some, FRAME_V4, DRAW_FIRST)));
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		add_contender(&stage, rows[i].name,
			same_instance_again(
				bench, add_traffic(&stage, &some, rows[i].kind, rows[i].draw)));
	add_contender(&stage, "all_over",
		instance_contender("", dropping_instance(lab, &some, 1), usual));
	scan = add_traffic(&stage, &one, FRAME_V4, DRAW_SCAN);
	add_contender(&stage, "source_scan",
		instance_contender("", source_instance(lab, &one, false), scan));
	add_contender(&stage, "plan_scan",
		instance_contender("", source_instance(lab, &one, true), scan));
	ask_question(&stage, "hostile");
	prefixes_free(&some);
	prefixes_free(&one);
}

/* ---- packets in rings ---- */

/* Two ports on two rings, and an instance that has started them. */
struct rings {
	const char *name;
	unsigned n; /* buffers in both */
	struct rte_ring *ring[2];
	struct rte_mempool *pool;
	struct bench_instance *bench;
};

/* Fills the rings, which return the buffers that they are given. */
static void rings_fill(struct rings *rings, const struct traffic *packets)
{
	unsigned n = rings->n;
	struct rte_mbuf **mbufs = need(n * sizeof(*mbufs));
	struct prng prng;

	rings->pool = rte_pktmbuf_pool_create(
		rings->name, n, 0, 0, RTE_PKTMBUF_HEADROOM + 2 * FRAME_BYTES, (int)rte_socket_id());
	if (!rings->pool || rte_pktmbuf_alloc_bulk(rings->pool, mbufs, n))
		die("no memory for %u buffers in rings", n);
	prng_seed(&prng, 3);
	/* Shuffled in memory, like a pool in use. */
	for (unsigned i = n - 1; i > 0; i--) {
		unsigned k = prng_below(&prng, i + 1);
		struct rte_mbuf *kept = mbufs[i];

		mbufs[i] = mbufs[k];
		mbufs[k] = kept;
	}
	for (unsigned i = 0; i < n; i++) {
		traffic_frame(packets, i & (packets->n - 1), mbufs[i]);
		if (rte_ring_enqueue(rings->ring[i % 2], mbufs[i]))
			die("a ring is full");
	}
	free(mbufs);
}

static void rings_close(struct rings *rings)
{
	for (unsigned k = 0; k < 2; k++) {
		void *mbuf;

		while (rte_ring_dequeue(rings->ring[k], &mbuf) == 0)
			rte_pktmbuf_free(mbuf);
	}
	if (!rte_mempool_full(rings->pool))
		die("buffers of the rings are missing");
	bench_instance_close(rings->bench);
	rte_mempool_free(rings->pool);
}

static struct rings rings_open(
	struct lab *lab, const char *name, const struct prefixes *prefixes, unsigned n)
{
	struct rings rings = {.name = name, .n = n};
	struct instance_params params = params_of(lab, prefixes);
	char device[2][32];
	const char *const devices[] = {device[0], device[1]};

	for (unsigned k = 0; k < 2; k++) {
		char ring[16];

		snprintf(ring, sizeof(ring), "%s%u", name, k);
		snprintf(device[k], sizeof(device[k]), "net_ring_%s", ring);
		rings.ring[k] = rte_ring_create(ring, rte_align32pow2(n + 1), (int)rte_socket_id(),
			RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings.ring[k] || rte_eth_from_ring(rings.ring[k]) < 0)
			die("no ring of %u buffers", n);
	}
	params.ports = NULL; /* its own */
	params.devices = devices;
	rings.bench = bench_instance_open(&params);
	return rings;
}

static void ask_cold(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct rings cold;
	struct prefixes some;
	const struct port *ports;

	prefixes_make(&some, lab->policies);
	cold = rings_open(lab, "cold", &some, lab->cold);
	rings_fill(&cold, add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM));
	ports = cold.bench->inst.ports;
	add_contender(&stage, "io", io_contender(ports, NULL));
	add_contender(&stage, "mac", mac_contender(ports, NULL));
	add_contender(&stage, "full_10k", instance_contender("", cold.bench, NULL))->close = NULL;
	add_contender(&stage, "portable_10k", portable_contender(cold.bench, NULL));
	add_contender(&stage, "library_10k", library_contender(ports, NULL, &some, 0));
	ask_question(&stage, "cold");
	rings_close(&cold);
	prefixes_free(&some);
}

/* Adds a contender whose packets get their addresses on transmission. */
static struct contender *add_cached(
	struct stage *stage, const char *name, struct contender contender)
{
	struct contender *added = add_contender(stage, name, contender);

	added->on_send = true;
	return added;
}

/*
 * Packets from rings that fit in a cache. A card with access to the cache delivers them like that:
 * in the second or third cache, and with other addresses each time.
 */
static void ask_cached(struct lab *lab)
{
	static const struct {
		const char *ring, *full, *library;
	} rows[] = {{"few", "full_few", "library_few"}, {"some", "full_10k", "library_10k"},
		{"many", "full_100k", "library_100k"}};
	const unsigned policies[RTE_DIM(rows)] = {10, lab->policies, lab->scale};
	struct stage stage = {.lab = lab};
	struct prefixes prefixes[RTE_DIM(rows)];
	struct rings rings[RTE_DIM(rows)];
	const struct traffic *packets[RTE_DIM(rows)];

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct bench_instance *bench;
		const struct port *ports;

		prefixes_make(&prefixes[i], policies[i]);
		rings[i] = rings_open(lab, rows[i].ring, &prefixes[i], lab->cached);
		packets[i] = add_traffic(&stage, &prefixes[i], FRAME_V4, DRAW_UNIFORM);
		rings_fill(&rings[i], packets[i]);
		bench = rings[i].bench;
		ports = bench->inst.ports;
		add_cached(&stage, rows[i].full, instance_contender("", bench, packets[i]))->close =
			NULL;
		add_cached(&stage, rows[i].library,
			library_contender(ports, packets[i], &prefixes[i], 0));
		if (i != 1)
			continue;
		add_contender(&stage, "io", io_contender(ports, NULL));
		add_cached(&stage, "io_with_headers", io_contender(ports, packets[i]));
		add_cached(&stage, "portable_10k", portable_contender(bench, packets[i]));
	}
	ask_question(&stage, "cached");
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		rings_close(&rings[i]);
		prefixes_free(&prefixes[i]);
	}
}

static void ask_waits(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct instance_params params;
	struct prefixes some;
	const struct traffic *packets;

	prefixes_make(&some, lab->policies);
	params = params_of(lab, &some);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	ask_latency(lab, &params, packets);
	traffic_free(stage.traffic[0]);
	prefixes_free(&some);
}

/* ---- activity around the workers ---- */

/* All observers at the same time, compared with an unobserved token bucket. */
static void ask_observed(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *packets;
	struct instance_params params;
	struct bench_instance *bench;

	prefixes_make(&some, lab->policies);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	params = params_of(lab, &some);
	params.allocator = "static";
	add_contender(
		&stage, "bucket", instance_contender("", bench_instance_open(&params), packets))
		->longer = longer_slices(lab);
	bench = usual_instance(lab, &some);
	around_open(bench, AROUND_CONTROL | AROUND_READERS, NULL, 0);
	add_contender(&stage, "observed", instance_contender("", bench, packets))->longer =
		longer_slices(lab);
	ask_question(&stage, "observed");
	prefixes_free(&some);
}

static void write_key(const char *path)
{
	uint8_t key[DATAGRAM_KEY];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	randombytes_buf(key, sizeof(key));
	for (unsigned i = 0; i < sizeof(key); i++)
		if (fd < 0 || dprintf(fd, "%02x", key[i]) < 0)
			die("%s: cannot be written", path);
	dprintf(fd, "\n");
	close(fd);
}

/*
 * Limits that change all the time, by a peer's gossip. The peer has a long timeout, because it
 * receives nothing in the slices of other contenders.
 */
static void ask_updates(struct lab *lab)
{
	uint16_t own = free_udp_port(), peer;
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *packets;
	struct instance_params params;
	struct bench_instance *bench;
	char gossip[512], key[128];

	do
		peer = free_udp_port();
	while (peer == own);
	snprintf(key, sizeof(key), "%s/weir-bench-%d.key", lab->directory, (int)getpid());
	write_key(key);
	snprintf(gossip, sizeof(gossip),
		"{\"roster\":[{\"name\":\"bench\",\"address\":\"127.0.0.1:%u\"},"
		"{\"name\":\"peer\",\"address\":\"127.0.0.1:%u\"}],\"key_file\":\"%s\","
		"\"timeout\":\"3600s\"}",
		own, peer, key);
	prefixes_make(&some, lab->policies);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "quiet", instance_contender("", usual_instance(lab, &some), packets))
		->longer = longer_slices(lab);
	params = params_of(lab, &some);
	params.gossip = gossip;
	bench = bench_instance_open(&params);
	around_open(bench, AROUND_CONTROL | AROUND_PEER, key, peer);
	add_contender(&stage, "updated", instance_contender("", bench, packets))->longer =
		longer_slices(lab);
	ask_question(&stage, "updates");
	unlink(key);
	prefixes_free(&some);
}

/* ---- two workers ---- */

/* Another instance; its second worker runs on the other CPU, if there is one. */
static struct contender workers_instance(const struct instance_params *params)
{
	struct bench_instance *bench = bench_instance_open(params);

	bench->launched = params->workers > 1;
	return instance_contender("", bench, NULL);
}

/* Adds instances of one worker and two, otherwise equal. */
static void add_workers(struct stage *stage, const char *one, const char *two,
	struct instance_params params, const struct traffic *packets)
{
	params.workers = 1;
	add_contender(stage, one, workers_instance(&params))->traffic = packets;
	params.workers = 2;
	params.wires = 2;
	add_contender(stage, two, workers_instance(&params))->traffic = packets;
}

/*
 * Each worker has its own ports, or two workers have two queues of one port; all workers enforce
 * all policies. Two queues of one net_null write to one cache line, unlike those of a card. That
 * cost is also measured, for bare forwarding and for the instance.
 */
static void ask_workers(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *packets;
	struct instance_params params;
	struct port single[PORTS_MAX];

	if (lab->cpu[0] == lab->cpu[1])
		return;
	for (unsigned i = 0; i < PORTS_MAX; i++) {
		single[i] = lab->ports[i];
		single[i].queues = 1;
	}
	prefixes_make(&some, lab->policies);
	packets = add_traffic(&stage, &some, FRAME_V4, DRAW_UNIFORM);
	add_contender(&stage, "io_one", io_contender(lab->ports, NULL));
	add_contender(&stage, "io_two", io_two_contender(lab->ports, 2, NULL));
	add_contender(&stage, "io_two_queues", io_two_contender(lab->ports, 0, NULL));
	params = params_of(lab, &some);
	params.ports = single;
	add_workers(&stage, "one", "two", params, packets);
	params.allocator = "static";
	add_workers(&stage, "static_one", "static_two", params, packets);
	params.burst = "9084B";
	add_workers(&stage, "small_one", "small_two", params, packets);
	params = params_of(lab, &some);
	params.workers = 2;
	add_contender(&stage, "two_queues", workers_instance(&params))->traffic = packets;
	ask_question(&stage, "workers");
	prefixes_free(&some);
}

/* ---- other parts of DPDK ---- */

static void ask_peers(struct lab *lab)
{
	struct stage stage = {.lab = lab};
	struct prefixes some;
	const struct traffic *tuples;

	prefixes_make(&some, lab->policies);
	tuples = add_traffic(&stage, &some, FRAME_V4, DRAW_TUPLES);
	add_contender(&stage, "io", io_contender(lab->ports, NULL));
	add_contender(
		&stage, "full_10k", instance_contender("", usual_instance(lab, &some), tuples));
	add_contender(&stage, "library_10k", library_contender(lab->ports, tuples, &some, 0));
	add_contender(&stage, "rte_hash_10k", hash_contender(lab->ports, tuples, &some));
	add_contender(&stage, "rte_sched", sched_contender(lab->ports, tuples));
	ask_question(&stage, "peers");
	prefixes_free(&some);
}

/* ---- many policies, at rest ---- */

/* Returns the memory of an instance with that many workers, in bytes. */
static double memory_of(const struct instance_params *params, unsigned workers)
{
	struct instance_params more = *params;
	double before = memory_taken(), taken;
	struct bench_instance *bench;

	more.workers = workers;
	bench = bench_instance_open(&more);
	taken = memory_taken() - before;
	bench_instance_close(bench);
	return taken;
}

/*
 * Returns bytes of a policy for each worker after the first. Uses the mean of two workers, because
 * the second also adds data that workers share.
 */
static double further_worker(const struct instance_params *params)
{
	return (memory_of(params, 3) - memory_of(params, 1)) / 2 / params->policies;
}

static void note_once(struct lab *lab, const char *name, double value)
{
	json_t *values = json_object_get(lab->once, name);

	if (!values) {
		values = json_array();
		json_object_set_new(lab->once, name, values);
	}
	json_array_append_new(values, json_real(value));
}

/* Returns milliseconds of control's CPU time to publish all settings to a worker again. */
static double publish_all(struct bench_instance *bench)
{
	struct worker *worker = &bench->inst.workers[0];
	double began, spent;
	bool told;

	/* Invalidates the worker's published settings, so that all of them differ. */
	memset(worker->limit_ring.sent, UINT8_MAX,
		bench->params.policies * sizeof(*worker->limit_ring.sent));
	began = cpu_seconds();
	publish_all_later(&bench->inst);
	told = publish(&bench->inst);
	spent = cpu_seconds() - began;
	while (!told) {
		/* The worker reads its ring; that is its time, not control's. */
		while (!rte_ring_empty(worker->limit_ring.ring))
			worker_turn(worker);
		began = cpu_seconds();
		told = publish_rest(&bench->inst);
		spent += cpu_seconds() - began;
	}
	return spent * 1e3;
}

static void time_publishing(struct lab *lab, struct bench_instance *bench)
{
	worker_begin(&bench->inst.workers[0]);
	for (unsigned i = 0; i < PUBLISHED; i++)
		note_once(lab, "publish_ms", publish_all(bench));
	worker_end(&bench->inst.workers[0]);
}

static void ask_scale(struct lab *lab)
{
	struct prefixes many;
	struct instance_params params;
	struct bench_instance *bench;

	prefixes_make(&many, lab->scale);
	params = params_of(lab, &many);
	for (unsigned i = 0; i < TIMES; i++) {
		bench = bench_instance_open(&params);
		note_once(lab, "load_s", bench->load_s + bench->prepare_s);
		if (i == 0)
			time_publishing(lab, bench);
		bench_instance_close(bench);
	}
	note_once(lab, "sampled_policy_bytes", further_worker(&params));
	params.allocator = "static";
	note_once(lab, "policy_bytes", further_worker(&params));
	note_once(lab, "policy_box_bytes", memory_of(&params, 2) / many.n);
	prefixes_free(&many);
}

const struct question questions[] = {
	{"bare", ask_bare},
	{"policies", ask_policies},
	{"few", ask_few},
	{"drops", ask_drops},
	{"loans", ask_loans},
	{"phantom", ask_phantom},
	{"shape", ask_shape},
	{"ipv6", ask_ipv6},
	{"hostile", ask_hostile},
	{"cached", ask_cached},
	{"cold", ask_cold},
	{"latency", ask_waits},
	{"observed", ask_observed},
	{"updates", ask_updates},
	{"workers", ask_workers},
	{"peers", ask_peers},
	{"scale", ask_scale},
	{NULL, NULL},
};
