/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How long changes take until they are enforced in the XDP data plane, on its real maps. Needs
 * root.
 *
 *     bench_plane [POLICIES [ROUNDS]]
 *
 * Default: 100,000 policies. Times publishing the classifier, by the kinds of matches, from the
 * call until no CPU reads the previous one; of that, writing its lines alone, and their number.
 * Times another limit for every policy: the shared buckets alone, and the engine's whole work when
 * control updates only the kernel's CPUs and one worker. Prints median and worst, in ms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/libbpf.h>

#include <rte_eal.h>

#include "allocate/allocate.h"
#include "base/prng.h"
#include "classify/lines.h"
#include "engine/engine.h"
#include "meter/shared_bucket.h"
#include "plane.h"
#include "police/extended.h"
#include "police/try.h"
#include "policy/trial.h"

#include "bypass_maps.h"

#include "bypass.skel.h"

#define POLICIES   100000
#define ROUNDS     21
#define ROUNDS_MAX 1001
#define ROOM       (UINT32_C(1) << 20) /* lines */
#define HZ         UINT64_C(2500000000)
#define FRAME_MAX  1522
#define LIMIT_BPS  UINT64_C(10000000)
#define BURST      UINT64_C(131072)

enum shape { IPV4, IPV6_64, IPV6_MANY, RULES, SHAPES };

static const char *const names[SHAPES] = {
	[IPV4] = "IPv4, /20 to /32",
	[IPV6_64] = "IPv6, /64",
	[IPV6_MANY] = "IPv6, /24 to /128",
	[RULES] = "IPv4 and a port",
};

struct bench {
	unsigned n, rounds;
	struct policy *policies;
	struct plane *plane;
	struct bypass_bpf *program;
	struct engine engine;
	struct prng prng;
};

static void die_of(const char *what, int ret)
{
	fprintf(stderr, "bench_plane: %s: %s\n", what, strerror(-ret));
	exit(EXIT_FAILURE);
}

static void expect_done(const char *what, int ret)
{
	if (ret)
		die_of(what, ret);
}

static void *alloc_or_die(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		die_of("memory", -ENOMEM);
	return memory;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *what, double *times, unsigned n)
{
	qsort(times, n, sizeof(*times), compare_times);
	printf("| %s | %.2f | %.2f |\n", what, times[n / 2], times[n - 1]);
}

static struct prefix random_prefix(struct prng *prng, uint8_t family, unsigned least, unsigned most)
{
	struct prefix prefix = {.family = family};

	prefix.length = (uint8_t)(least + prng_next(prng) % (most - least + 1));
	for (unsigned bit = 0; bit < prefix.length; bit++)
		prefix.addr[bit / 8] |= (uint8_t)((prng_next(prng) & 1) << (7 - bit % 8));
	return prefix;
}

static struct match random_match(struct prng *prng, enum shape shape)
{
	struct match match = {.vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .wire = CONFIG_ANY};

	if (shape == IPV6_64)
		match.dst = random_prefix(prng, 6, 64, 64);
	else if (shape == IPV6_MANY)
		match.dst = random_prefix(prng, 6, 24, 128);
	else
		match.dst = random_prefix(prng, 4, 20, 32);
	if (shape == RULES) {
		match.proto = 6;
		match.dst_port = (struct port_range){443, 443};
	}
	return match;
}

static struct policy simple_policy(void)
{
	return (struct policy){.name = "simple",
		.match = {.vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .wire = CONFIG_ANY},
		.limit_bps = LIMIT_BPS,
		.burst_bytes = BURST,
		.allocator = allocator_find("fps")};
}

static void load_plane(struct bench *bench)
{
	const struct bypass_setup setup = {.plane = 1, .slots = 2 * bench->n};

	expect_done("plane_create", plane_create(2 * bench->n, ROOM, "/nowhere", &bench->plane));
	bench->program = bypass_bpf__open();
	if (!bench->program)
		die_of("the program", -errno);
	memcpy((void *)&bench->program->rodata->setup, &setup, sizeof(setup));
	bpf_program__set_autoload(bench->program->progs.see_unsent, false);
	expect_done("plane_share", plane_share(bench->plane, bench->program));
	expect_done("the program", bypass_bpf__load(bench->program));
	bench->program->bss->in_force = 1;
	expect_done("plane_map", plane_map(bench->plane, bench->program));
}

static void time_publication(struct bench *bench, enum shape shape)
{
	double *whole = alloc_or_die(bench->rounds, sizeof(*whole));
	double *writing = alloc_or_die(bench->rounds, sizeof(*writing));
	struct classifier *classifier = NULL;
	struct classify_line *lines;
	char what[128];
	size_t n;

	for (unsigned i = 0; i < bench->n; i++)
		bench->policies[i].match = random_match(&bench->prng, shape);
	expect_done(
		"classifier_create", classifier_create(bench->policies, bench->n, -1, &classifier));
	n = classifier_lines_count(classifier);
	lines = alloc_or_die(n, sizeof(*lines));
	for (unsigned i = 0; i < bench->rounds; i++) {
		double began = now_ms();

		expect_done("plane_publish", plane_publish(bench->plane, classifier));
		whole[i] = now_ms() - began;
		began = now_ms();
		expect_done("classifier_lines_write", classifier_lines_write(classifier, lines, n));
		writing[i] = now_ms() - began;
	}
	snprintf(what, sizeof(what), "a classifier, %s, %zu lines", names[shape], n);
	print_times(what, whole, bench->rounds);
	print_times("of that, to write them", writing, bench->rounds);
	free(lines);
	free(whole);
	free(writing);
	classifier_destroy(classifier);
}

/* Updates a line like control does (app/weir/policies/kernel_lines.c). */
static void tell_line(void *context, unsigned worker, const struct limit_profile *profile)
{
	struct bench *bench = context;
	struct policy_state *line = &bench->engine.workers[worker].states[profile->policy];

	if (police_shift(line) != profile->sample_shift)
		token_bucket_set_owner(
			&line->bucket, police_owner(police_flags(line), profile->sample_shift,
					       police_accounting(line)));
}

static void begin_engine(struct bench *bench)
{
	struct engine *engine = &bench->engine;
	size_t slots = 2 * (size_t)bench->n;

	expect_done("engine_init", engine_init(engine, 1, plane_cpus(bench->plane)));
	engine->n_slots = (uint32_t)slots;
	engine->frame = FRAME_MAX;
	engine->slots = alloc_or_die(trial_lines(slots), sizeof(*engine->slots));
	engine->totals = alloc_or_die(
		trial_lines(slots) * engine_lines(engine), sizeof(*engine->totals));
	engine->shared_buckets = plane_buckets(bench->plane);
	engine->workers[0].states = aligned_alloc(64, slots * sizeof(struct policy_state));
	if (!engine->workers[0].states)
		die_of("memory", -ENOMEM);
	memset(engine->workers[0].states, 0, slots * sizeof(struct policy_state));
	for (unsigned cpu = 0; cpu < engine->n_cpus; cpu++)
		engine->workers[1 + cpu].states = plane_lines(bench->plane, cpu);
	engine->driver = (struct engine_driver){.context = bench, .publish = tell_line};
}

static struct engine_limit limit_of(const struct policy *policy, uint32_t slot, double part)
{
	return (struct engine_limit){
		.policy = policy,
		.slot = slot,
		.hz = HZ,
		.view = {.limit = (double)LIMIT_BPS / 8,
			.local_limit = part * (double)LIMIT_BPS / 8,
			.local_burst = (uint64_t)(part * (double)BURST)},
	};
}

static void begin_state(struct bench *bench, const struct engine_limit *limit, unsigned line)
{
	const struct policy_start start = {.now = 0, .hz = HZ};
	struct limit_profile profile;

	expect_done("engine_profile", engine_profile(&bench->engine, limit, 1, &profile));
	policy_state_init(&bench->engine.workers[line].states[limit->slot], NULL, limit->policy,
		&profile, &start);
}

static void begin_limits(struct bench *bench, const struct policy *policy)
{
	for (unsigned i = 0; i < bench->n; i++) {
		const struct engine_limit limit = limit_of(policy, i, 1);

		bench->engine.slots[i].kernel = true;
		for (unsigned line = 0; line < engine_lines(&bench->engine); line++)
			begin_state(bench, &limit, line);
		expect_done("engine_begin", engine_begin(&bench->engine, &limit, 0, 0, false));
	}
}

static double enforce_all(
	struct bench *bench, const struct policy *policy, double part, uint64_t at)
{
	struct engine_limit limit = limit_of(policy, 0, part);
	double began = now_ms();

	for (limit.slot = 0; limit.slot < bench->n; limit.slot++)
		expect_done("engine_enforce", engine_enforce(&bench->engine, &limit, at));
	return now_ms() - began;
}

static double change_all(struct bench *bench, double part, uint64_t at)
{
	double began = now_ms();

	for (unsigned i = 0; i < bench->n; i++) {
		const struct token_bucket_params params = {
			.rate_bps = (uint64_t)(part * (double)LIMIT_BPS) + i, .burst_bytes = BURST};
		struct shared_bucket_profile profile;

		expect_done("shared_bucket_profile_init",
			shared_bucket_profile_init(
				&profile, &params, plane_cpus(bench->plane) + 1, FRAME_MAX, HZ));
		shared_bucket_change(&bench->engine.shared_buckets[i], &profile, at);
	}
	return now_ms() - began;
}

static void time_limits(struct bench *bench)
{
	double *times = alloc_or_die(bench->rounds, sizeof(*times));
	const struct policy policy = simple_policy();
	char what[128];

	begin_engine(bench);
	begin_limits(bench, &policy);
	for (unsigned i = 0; i < bench->rounds; i++)
		times[i] = change_all(bench, 0.5 + 0.01 * (i % 50), (i + 1) * HZ / 20);
	snprintf(what, sizeof(what), "%u limits, the shared buckets alone", bench->n);
	print_times(what, times, bench->rounds);
	for (unsigned i = 0; i < bench->rounds; i++)
		times[i] = enforce_all(
			bench, &policy, 0.5 + 0.01 * (i % 50), (bench->rounds + i + 1) * HZ / 20);
	snprintf(what, sizeof(what), "%u limits, by the engine", bench->n);
	print_times(what, times, bench->rounds);
	free(times);
	free(bench->engine.workers[0].states);
	free(bench->engine.slots);
	free(bench->engine.totals);
	engine_free(&bench->engine);
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

int main(int argc, char **argv)
{
	const char *arguments[] = {"bench_plane", "--no-huge", "--no-pci", "--no-shconf",
		"--no-telemetry", "--log-level=1", "-m", "512", NULL};
	struct bench bench = {.n = POLICIES, .rounds = ROUNDS};

	if (argc > 1)
		bench.n = (unsigned)strtoul(argv[1], NULL, 0);
	if (argc > 2)
		bench.rounds = (unsigned)strtoul(argv[2], NULL, 0);
	if (argc > 3 || bench.n == 0 || bench.rounds == 0 || bench.rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench_plane [POLICIES [ROUNDS]]\n");
		return 2;
	}
	if (rte_eal_init((int)(sizeof(arguments) / sizeof(*arguments)) - 1,
		    (char **)(uintptr_t)arguments) < 0)
		return EXIT_FAILURE;
	libbpf_set_print(print_nothing);
	prng_seed(&bench.prng, 1);
	bench.policies = alloc_or_die(bench.n, sizeof(*bench.policies));
	load_plane(&bench);
	printf("| of %u policies, ms | median | worst |\n|---|---|---|\n", bench.n);
	for (enum shape shape = 0; shape < SHAPES; shape++)
		time_publication(&bench, shape);
	time_limits(&bench);
	bypass_bpf__destroy(bench.program);
	plane_destroy(bench.plane);
	free(bench.policies);
	rte_eal_cleanup();
	return 0;
}
