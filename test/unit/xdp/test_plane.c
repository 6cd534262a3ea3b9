/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the kernel's data plane makes of a packet, run by the kernel: against the workers' own way
 * to charge it, packet by packet and bit by bit; on several CPUs at once, against what a limit
 * allows; and what becomes of what it leaves to workers. Without the right to load programs it is
 * skipped.
 */
#include "classify_world.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/prng.h"
#include "base/time.h"
#include "flow/flow_sample.h"
#include "meter/shared_bucket.h"
#include "police/borrow.h"
#include "police/charge.h"
#include "police/sample.h"

#include "bypass_maps.h"
#include "plane.h"

#include "bypass.skel.h"

#define SLOTS     8
#define SLOT      0 /* of the one policy that there is */
#define LOOPBACK  1 /* the interface that takes what passes: nothing is sent in a test run */
#define FRAME_MAX 1514
#define TICKS_HZ  UINT64_C(2500000000)
#define TRIALS    60
#define PACKETS   600
#define VERIFIED  100000 /* instructions that the verifier may have to follow */

static bool may_load;
static uint64_t seed = 0x5eed0017;

struct world {
	struct plane *plane;
	struct bypass_bpf *program;
	struct classifier *classifier;
};

static int print_warnings(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static int start_test(void **state)
{
	if (start_eal(state) < 0)
		return -1;
	if (getenv("WEIR_SEED"))
		seed = strtoull(getenv("WEIR_SEED"), NULL, 0);
	may_load = bpf_map_create(BPF_MAP_TYPE_ARRAY, "may_we", 4, 4, 1, NULL) >= 0;
	if (!may_load)
		print_message("skipped: bpf(): %s\n", strerror(errno));
	libbpf_set_print(print_warnings);
	return 0;
}

static void open_world(struct world *world, const struct bypass_setup *setup)
{
	static const struct policy any = {.name = "any",
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY}};
	uint32_t only = 0;
	int partner = LOOPBACK;

	assert_int_equal(plane_create(SLOTS, "/nowhere", &world->plane), 0);
	world->program = bypass_bpf__open();
	assert_non_null(world->program);
	memcpy((void *)&world->program->rodata->setup, setup, sizeof(*setup));
	bpf_program__set_autoload(world->program->progs.see_unsent, false);
	assert_int_equal(plane_share(world->plane, world->program), 0);
	assert_int_equal(bypass_bpf__load(world->program), 0);
	assert_int_equal(plane_map(world->plane, world->program), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(world->program->maps.partner), &only,
				 &partner, BPF_ANY),
		0);
	assert_int_equal(classifier_create(&any, 1, -1, &world->classifier), 0);
	assert_int_equal(plane_publish(world->plane, world->classifier), 0);
}

static void close_world(struct world *world)
{
	classifier_destroy(world->classifier);
	bypass_bpf__destroy(world->program);
	plane_destroy(world->plane);
}

/* Nobody is away: there are no workers, and no sockets. */
static const struct bypass_setup served = {.plane = 1, .slots = SLOTS, .direction = 1};

/* UDP over IPv4 in Ethernet, perhaps tagged: one flow. */
static unsigned make_udp(uint8_t *frame, unsigned bytes, bool tagged)
{
	static const uint8_t ip[] = {
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 4, 0, 0, 9};
	unsigned at = 12;

	memset(frame, 0, bytes);
	if (tagged) {
		memcpy(frame + at, "\x81\x00\x00\x07", 4);
		at += 4;
	}
	memcpy(frame + at, "\x08\x00", 2);
	memcpy(frame + at + 2, ip, sizeof(ip));
	frame[at + 4] = (uint8_t)((bytes - at - 2) >> 8);
	frame[at + 5] = (uint8_t)(bytes - at - 2);
	return at + 2;
}

static uint32_t run_frame(
	const struct world *world, const uint8_t *frame, unsigned bytes, int times)
{
	LIBBPF_OPTS(
		bpf_test_run_opts, opts, .data_in = frame, .data_size_in = bytes, .repeat = times);

	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(world->program->progs.xsk_def_prog), &opts),
		0);
	return opts.retval;
}

/* As a worker has it. */
struct model {
	struct policy_state line;
	struct shared_bucket shared;
	struct flow_sample sample;
};

static struct shared_bucket_profile random_limit(struct prng *prng)
{
	struct token_bucket_params params = {.rate_bps = UINT64_C(8000) << prng_next(prng) % 20,
		.burst_bytes = 100 + prng_next(prng) % (UINT64_C(1000) << prng_next(prng) % 12)};
	struct shared_bucket_profile profile;
	uint32_t frame = prng_next(prng) % 4 ? FRAME_MAX : 0;

	assert_int_equal(shared_bucket_profile_init(&profile, &params,
				 1 + (unsigned)(prng_next(prng) % 8), frame, TICKS_HZ),
		0);
	return profile;
}

static void begin_model(struct model *model, struct prng *prng, uint64_t now)
{
	const struct shared_bucket_profile profile = random_limit(prng);
	unsigned flags = POLICE_SIMPLE | (prng_next(prng) % 4 ? 0 : POLICE_TCP_ONLY);
	unsigned shift = prng_next(prng) % 2 ? POLICE_UNSAMPLED : (unsigned)prng_next(prng) % 5;

	*model = (struct model){.line.limit = police_borrow_profile()};
	token_bucket_set_owner(&model->line.bucket,
		police_owner(flags, shift, (enum accounting)(prng_next(prng) % 3)));
	shared_bucket_init(&model->shared, &profile, now);
	police_borrow_init(&model->line, &profile);
}

/* The way of a packet on a worker. */
static bool model_passes(struct model *model, unsigned l2, unsigned bytes, uint64_t now)
{
	struct policy_state *line = &model->line;
	uint32_t cost = police_bytes(line, (uint16_t)l2, bytes);

	if (police_samples(line) && !police_samples_tcp_only(line))
		flow_sample_add(&model->sample, 0, police_sample_bytes(line, cost));
	police_borrow(line, &model->shared, cost, now);
	return police_over(line, cost, now) == 0;
}

/* Flows are told by another hash: it is one, so its bytes are in one slot, whichever that is. */
static uint64_t sampled_bytes(const struct flow_sample *sample)
{
	uint64_t bytes = 0;
	unsigned used = 0;

	for (unsigned i = 0; i < FLOW_SLOTS; i++) {
		bytes += flow_slot_count(sample->slot[i]);
		used += sample->slot[i] != 0;
	}
	assert_in_range(used, 0, 1);
	return bytes;
}

static void expect_equal(const struct model *model, struct plane *plane)
{
	const struct policy_state *line = &plane_lines(plane, 0)[SLOT];

	assert_int_equal(line->bucket.tokens, model->line.bucket.tokens);
	assert_int_equal(line->bytes, model->line.bytes);
	assert_int_equal(line->dropped_bytes, model->line.dropped_bytes);
	assert_int_equal(line->packets, model->line.packets);
	assert_int_equal(line->dropped_packets, model->line.dropped_packets);
	assert_int_equal(plane_buckets(plane)[SLOT].state.allow_at, model->shared.state.allow_at);
	assert_int_equal(
		sampled_bytes(plane_sample_of(plane, 0, 0)), sampled_bytes(&model->sample));
}

static void take_packet(struct world *world, struct model *model, struct prng *prng, uint64_t now)
{
	uint8_t frame[FRAME_MAX];
	unsigned bytes = 60 + (unsigned)(prng_next(prng) % (FRAME_MAX - 59));
	unsigned l2 = make_udp(frame, bytes, prng_next(prng) % 4 == 0);
	bool passes = model_passes(model, l2, bytes, now);

	plane_tell_time(world->plane, 0, now, 0);
	assert_int_equal(run_frame(world, frame, bytes, 1), passes ? XDP_REDIRECT : XDP_DROP);
}

static void change_limit(struct world *world, struct model *model, struct prng *prng, uint64_t now)
{
	const struct shared_bucket_profile next = random_limit(prng);

	shared_bucket_change(&model->shared, &next, now);
	shared_bucket_change(&plane_buckets(world->plane)[SLOT], &next, now);
}

static void pin_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		skip();
}

static void need_kernel(void)
{
	if (!may_load)
		skip();
	pin_to(0);
}

static void play_trial(struct world *world, struct prng *prng)
{
	uint64_t now = prng_next(prng) >> prng_next(prng) % 40, back;
	struct model model;

	begin_model(&model, prng, now);
	plane_lines(world->plane, 0)[SLOT] = model.line;
	plane_buckets(world->plane)[SLOT] = model.shared;
	*plane_sample_of(world->plane, 0, 0) = model.sample;
	plane_hold(world->plane, 0, SLOT, 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		now += prng_next(prng) >> (34 + prng_next(prng) % 20);
		/* Another CPU's clock may be behind; if by much, it is another clock. */
		back = prng_next(prng) % 16 ? 0 : prng_next(prng) >> (24 + prng_next(prng) % 30);
		take_packet(world, &model, prng, now - back);
		if (prng_next(prng) % 64 == 0)
			change_limit(world, &model, prng, now);
	}
	expect_equal(&model, world->plane);
}

/* Also where time has gone on for years, or begins at nothing. */
static void test_as_workers(void **state)
{
	struct world world;

	(void)state;
	need_kernel();
	open_world(&world, &served);
	for (unsigned i = 0; i < TRIALS; i++) {
		struct prng prng;

		prng_seed(&prng, seed + i);
		print_message("seed %" PRIu64 "\n", seed + i);
		play_trial(&world, &prng);
	}
	close_world(&world);
}

static void test_verified(void **state)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	struct world world;

	(void)state;
	need_kernel();
	open_world(&world, &served);
	assert_int_equal(bpf_obj_get_info_by_fd(
				 bpf_program__fd(world.program->progs.xsk_def_prog), &info, &bytes),
		0);
	print_message("%u instructions verified\n", info.verified_insns);
	assert_in_range(info.verified_insns, 1, VERIFIED);
	close_world(&world);
}

/* A CPU that sends as fast as it can. */
struct sender {
	const struct world *world;
	unsigned cpu;
	bool *stop;
	pthread_t thread;
};

static void *send_frames(void *context)
{
	struct sender *sender = context;
	uint8_t frame[FRAME_MAX];
	unsigned bytes = 300;

	pin_to(sender->cpu);
	make_udp(frame, bytes, false);
	while (!__atomic_load_n(sender->stop, __ATOMIC_RELAXED))
		run_frame(sender->world, frame, bytes, 1000);
	return NULL;
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static uint64_t passed_bytes(struct plane *plane)
{
	uint64_t bytes = 0;

	for (unsigned cpu = 0; cpu < plane_cpus(plane); cpu++) {
		const struct policy_state *line = &plane_lines(plane, cpu)[SLOT];

		bytes += counter_read(&line->bytes) - counter_read(&line->dropped_bytes);
	}
	return bytes;
}

#define SENDERS  2
#define RATE_BPS UINT64_C(400000000)
#define DEPTH    UINT64_C(1000000)
#define SEND_NS  (SECOND_NS / 2)

static void begin_limit(struct plane *plane, uint64_t now)
{
	const struct token_bucket_params params = {.rate_bps = RATE_BPS, .burst_bytes = DEPTH};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(
				 &profile, &params, plane_cpus(plane), FRAME_MAX, SECOND_NS),
		0);
	plane_tell_time(plane, now, now, SECOND_NS);
	shared_bucket_init(&plane_buckets(plane)[SLOT], &profile, now);
	for (unsigned cpu = 0; cpu < plane_cpus(plane); cpu++) {
		struct policy_state *line = &plane_lines(plane, cpu)[SLOT];

		*line = (struct policy_state){.limit = police_borrow_profile()};
		token_bucket_set_owner(&line->bucket,
			police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
		police_borrow_init(line, &profile);
		plane_hold(plane, cpu, SLOT, PLANE_UNSAMPLED);
	}
}

/* The whole burst, quanta included, and what the rate grants: never more. */
static void test_together(void **state)
{
	struct sender senders[SENDERS];
	struct world world;
	uint64_t began, passed, most;
	bool stop = false;

	(void)state;
	need_kernel();
	open_world(&world, &served);
	if (plane_cpus(world.plane) < SENDERS)
		skip();
	began = boot_ns();
	begin_limit(world.plane, began);
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){.world = &world, .cpu = i, .stop = &stop};
		assert_int_equal(
			pthread_create(&senders[i].thread, NULL, send_frames, &senders[i]), 0);
	}
	while (boot_ns() - began < SEND_NS)
		sched_yield();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(senders[i].thread, NULL);
	most = DEPTH + (boot_ns() - began) * (RATE_BPS / 8) / SECOND_NS;
	passed = passed_bytes(world.plane);
	print_message("%" PRIu64 " of %" PRIu64 " bytes\n", passed, most);
	assert_in_range(passed, DEPTH / 2, most);
	close_world(&world);
}

enum { HELD, SOFT, NEVER, UNKNOWN, UNKNOWN_NEVER, KINDS };

static void set_kind(struct plane *plane, unsigned kind)
{
	plane_leave_unknown(plane, kind == UNKNOWN_NEVER);
	if (kind == HELD)
		plane_hold(plane, 0, SLOT, PLANE_UNSAMPLED);
	else
		plane_leave(plane, SLOT, kind == NEVER);
}

/* A later fragment is what only workers understand. */
static uint32_t run_kind(const struct world *world, unsigned kind)
{
	uint8_t frame[FRAME_MAX];
	unsigned l2 = make_udp(frame, 100, false);

	if (kind == UNKNOWN || kind == UNKNOWN_NEVER)
		frame[l2 + 7] = 100;
	return run_frame(world, frame, 100, 1);
}

/* Its worker does not come round. */
static void test_unserved(void **state)
{
	static const struct {
		uint32_t fail, answers[KINDS];
	} rows[] = {
		{BYPASS_CLOSED, {XDP_DROP, XDP_DROP, XDP_DROP, XDP_DROP, XDP_DROP}},
		{BYPASS_WIRE,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT}},
		{BYPASS_LAST_LIMITS,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_DROP, XDP_REDIRECT, XDP_DROP}},
	};

	(void)state;
	need_kernel();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bypass_setup away = served;
		struct world world;

		away.fail = rows[i].fail;
		away.workers = 1;
		away.sockets = 1;
		open_world(&world, &away);
		begin_limit(world.plane, boot_ns());
		for (unsigned kind = 0; kind < KINDS; kind++) {
			set_kind(world.plane, kind);
			print_message("fail %u, kind %u\n", rows[i].fail, kind);
			assert_int_equal(run_kind(&world, kind), rows[i].answers[kind]);
		}
		/* And with the limits spent only what is unlimited then passes. */
		set_kind(world.plane, HELD);
		plane_lines(world.plane, 0)[SLOT].bucket.tokens = 0;
		shared_bucket_spend(&plane_buckets(world.plane)[SLOT]);
		shared_bucket_spend(&plane_buckets(world.plane)[SLOT]);
		assert_int_equal(run_kind(&world, HELD),
			rows[i].fail == BYPASS_WIRE ? XDP_REDIRECT : XDP_DROP);
		close_world(&world);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_workers),
		cmocka_unit_test(test_verified),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_unserved),
	};

	return cmocka_run_group_tests(tests, start_test, stop_eal);
}
