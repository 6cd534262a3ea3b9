/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The XDP data plane, run by the kernel, is compared with the workers' policing bit by bit for each
 * packet. Several CPUs together are compared with the limit. Also tests the packets that it leaves
 * to workers. Without the right to load programs the test is skipped.
 */
#include "classify_world.h"
#include "scope.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "allocate/allocate.h"
#include "base/prng.h"
#include "base/time.h"
#include "flow/flow_sample.h"
#include "meter/shared_bucket.h"
#include "packet/mark.h"
#include "packet/parse.h"
#include "police/borrow.h"
#include "police/charge.h"
#include "police/expire.h"
#include "police/sample.h"
#include "policy/kind.h"

#include "bypass_maps.h"
#include "plane.h"
#include "plane_maps.h"

#include "bypass.skel.h"

END_POINTER(plane_destroy, struct plane *)

#define BPF_FILES "/sys/fs/bpf"
#define KEPT      BPF_FILES "/weir-test"
#define SLOTS     8
#define SLOT      0  /* the only policy's */
#define LINES     64 /* maximum of a classifier, which needs fewer without addresses */
#define LOOPBACK  1  /* output interface; a test run sends nothing */
#define FRAME_MAX 1514
#define TICKS_HZ  UINT64_C(2500000000)
#define TRIALS    120
#define SPAN      (4 * TICKS_HZ)
#define PACKETS   600
#define LEASE     10 /* jiffies */
#define LEASES    5
#define VERIFIED  100000 /* maximum number of instructions verified */

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

static void open_world_in(
	struct world *world, const struct bypass_setup *setup, const char *directory)
{
	static const struct policy any = {.name = "any",
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY}};
	uint32_t only = 0;
	int partner = LOOPBACK;

	assert_int_equal(plane_create(SLOTS, LINES, directory, &world->plane), 0);
	world->program = bypass_bpf__open();
	assert_non_null(world->program);
	memcpy((void *)&world->program->rodata->setup, setup, sizeof(*setup));
	bpf_program__set_autoload(world->program->progs.see_unsent, false);
	assert_int_equal(plane_share(world->plane, world->program), 0);
	assert_int_equal(bypass_bpf__load(world->program), 0);
	world->program->bss->in_force = 1;
	assert_int_equal(plane_map(world->plane, world->program), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(world->program->maps.partner), &only,
				 &partner, BPF_ANY),
		0);
	assert_int_equal(classifier_create(&any, 1, -1, &world->classifier), 0);
	assert_int_equal(plane_publish(world->plane, world->classifier), 0);
}

static void open_world(struct world *world, const struct bypass_setup *setup)
{
	open_world_in(world, setup, "/nowhere");
}

static void close_world(struct world *world)
{
	classifier_destroy(world->classifier);
	bypass_bpf__destroy(world->program);
	plane_destroy(world->plane);
}

/* No worker or socket can be absent, because there are none. */
static const struct bypass_setup served = {.plane = 1, .slots = SLOTS, .direction = 1};

/* Makes UDP over IPv6 in Ethernet, always of one flow. Returns the offset of the IP header. */
static unsigned make_udp6(uint8_t *frame, unsigned bytes)
{
	memset(frame, 0, bytes);
	memcpy(frame + 12, "\x86\xdd\x60", 3);
	frame[18] = (uint8_t)((bytes - 54) >> 8);
	frame[19] = (uint8_t)(bytes - 54);
	frame[20] = 17;
	frame[53] = 1;
	return 14;
}

/* Makes UDP over IPv4 in Ethernet, always of one flow, perhaps tagged. */
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

/* Runs the program on a frame. Stores the resulting frame in `after`, unless it is NULL. */
static uint32_t run_and_see(
	const struct world *world, const uint8_t *frame, unsigned bytes, int times, uint8_t *after)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = bytes,
		.data_out = after, .data_size_out = after ? bytes : 0, .repeat = times);

	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(world->program->progs.xsk_def_prog), &opts),
		0);
	return opts.retval;
}

static uint32_t run_frame(
	const struct world *world, const uint8_t *frame, unsigned bytes, int times)
{
	return run_and_see(world, frame, bytes, times, NULL);
}

/* A worker's state of the policy. */
struct model {
	struct policy policy;
	struct policy_extended other; /* if it is not simple */
	struct policy_state line;
	struct shared_bucket shared;
	struct flow_sample sample;
	struct expiry lease;
	uint8_t ending;
	bool ipv6; /* family of its only flow */
};

static const struct allocator divides_evenly = {.name = "static"};

/* Returns a random policy that has one bucket. */
static struct policy random_policy(struct prng *prng)
{
	static const enum action actions[] = {ACTION_DROP, ACTION_MARK, ACTION_COUNT};
	static const enum counting counts[] = {COUNT_BYTES, COUNT_PACKETS};
	struct policy policy = {.name = "any",
		.meter = METER_TOKEN_BUCKET,
		.count = counts[prng_next(prng) % 2],
		.action = actions[prng_next(prng) % 3],
		.accounting = (enum accounting)(prng_next(prng) % 3),
		.weigh_tcp_only = prng_next(prng) % 4 == 0,
		.limit_bps = UINT64_C(8) << prng_next(prng) % 20,
		.burst_bytes = 1 + prng_next(prng) % (UINT64_C(1) << prng_next(prng) % 30),
		.allocator = &divides_evenly};

	if (prng_next(prng) % 2)
		policy.guarantee = GUARANTEE_HARD;
	policy.mark = prng_next(prng) % 2 ? MARK_ECN : (int)(prng_next(prng) % 64);
	return policy;
}

static struct shared_bucket_profile random_limit(struct prng *prng, const struct model *model)
{
	bool packets = model->policy.count == COUNT_PACKETS;
	struct token_bucket_params params = {.rate_bps = UINT64_C(8000) << prng_next(prng) % 20,
		.burst_bytes = 100 + prng_next(prng) % (UINT64_C(1000) << prng_next(prng) % 12)};
	struct shared_bucket_profile profile;
	uint32_t frame = !model->ending && prng_next(prng) % 4 ? FRAME_MAX : 0;

	if (packets) {
		params.rate_bps = UINT64_C(8) << prng_next(prng) % 15;
		params.burst_bytes = 1 + prng_next(prng) % (UINT64_C(1) << prng_next(prng) % 8);
		params.unit_bits = (uint8_t)policy_unit_bits(&model->policy);
		frame = 0;
	}
	assert_int_equal(shared_bucket_profile_init(&profile, &params,
				 1 + (unsigned)(prng_next(prng) % 8), frame, TICKS_HZ),
		0);
	return profile;
}

/* The kernel's line is simple, for control. */
static uint32_t owner_of(const struct model *model, unsigned shift, bool simple)
{
	unsigned flags = (simple ? POLICE_SIMPLE : 0) |
			 (model->policy.weigh_tcp_only ? POLICE_TCP_ONLY : 0);

	return police_owner(flags, shift, model->policy.accounting);
}

static void begin_state(struct model *model, unsigned shift)
{
	const struct policy *policy = &model->policy;

	token_bucket_set_owner(
		&model->line.bucket, owner_of(model, shift, policy_is_simple(policy)));
	model->line.limit = police_borrow_profile();
	if (policy_is_simple(policy))
		return;
	model->other = (struct policy_extended){.kind = METER_TOKEN_BUCKET,
		.profile.bucket = police_borrow_profile(),
		.count = (uint8_t)policy->count,
		.action = (uint8_t)policy->action,
		.mark = (int8_t)policy->mark,
		.unit_bits = (uint8_t)policy_unit_bits(policy)};
	model->line.other = &model->other;
}

static void begin_model(struct model *model, struct prng *prng, uint64_t now)
{
	unsigned shift = prng_next(prng) % 2 ? POLICE_UNSAMPLED : (unsigned)prng_next(prng) % 5;
	struct shared_bucket_profile profile;

	*model = (struct model){.policy = random_policy(prng),
		.lease = {now, SPAN},
		.ending = prng_next(prng) % 2 ? (uint8_t)prng_next(prng) : 0,
		.ipv6 = prng_next(prng) % 4 == 0};
	begin_state(model, shift);
	profile = random_limit(prng, model);
	shared_bucket_init(&model->shared, &profile, now);
	police_borrow_init(&model->line, &profile);
}

static const struct token_bucket *bucket_of(const struct model *model)
{
	return police_borrows(&model->line) ? &model->other.meter.bucket : &model->line.bucket;
}

/* Returns the units of a burst that remain after the lease of a limit has expired. */
static uint64_t least_of(const struct policy *policy)
{
	if (policy_is_hard(policy))
		return 0;
	return policy->count == COUNT_BYTES ? POLICE_LEAST_BYTES
					    : POLICE_LEAST_PACKETS << policy_unit_bits(policy);
}

/*
 * Tokens in the worker's bucket need no lease. With a time before the span of the lease, soft
 * limits can borrow and hard limits cannot.
 */
static void model_borrows(struct model *model, uint32_t cost, uint64_t now)
{
	uint64_t until = expiry_until(&model->lease);

	bool past = model->ending && expiry_is_past(&model->lease, now);

	if (past && (int64_t)(now - until) < 0)
		past = policy_is_hard(&model->policy);
	if (past) {
		const struct police_end end = {until, least_of(&model->policy), model->ending};

		if ((int64_t)(now - until) >= 0)
			police_borrow_ended(&model->line, &model->shared, cost, now, &end);
	} else if (police_borrows(&model->line)) {
		police_borrow_other(&model->line, &model->shared, cost, now);
	} else {
		police_borrow(&model->line, &model->shared, cost, now);
	}
}

/* Charges a packet like a worker, which can mark it. */
static bool model_passes(struct model *model, uint8_t *frame, unsigned bytes, uint64_t now)
{
	struct policy_state *line = &model->line;
	struct packet packet;
	enum verdict verdict;
	uint32_t cost;
	bool marked;

	packet_parse(frame, bytes, &packet);
	cost = police_cost(line, &packet, frame, bytes, now);
	if (police_samples(line) && !police_samples_tcp_only(line))
		flow_sample_add(&model->sample, 0, police_sample_bytes(line, cost));
	model_borrows(model, cost, now);
	verdict = police_charge(line, &packet, frame, cost, now);
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = mark_frame(frame, bytes, &packet, police_mark(line));
	police_marked(line, &packet, frame, cost, now, marked);
	return marked;
}

/*
 * The program hashes flows differently. There is one flow, so all bytes are in one slot, at any
 * index.
 */
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

	assert_int_equal(line->bucket.tokens, bucket_of(model)->tokens);
	assert_int_equal(line->bytes, model->line.bytes);
	assert_int_equal(line->dropped_bytes, model->line.dropped_bytes);
	assert_int_equal(line->over.packets, police_over_packets(&model->line));
	assert_int_equal(line->over.bytes, police_over_bytes(&model->line));
	assert_int_equal(line->packets, model->line.packets);
	assert_int_equal(line->dropped_packets, model->line.dropped_packets);
	assert_int_equal(plane_buckets(plane)[SLOT].state.allow_at, model->shared.state.allow_at);
	assert_int_equal(
		sampled_bytes(plane_sample_of(plane, 0, 0)), sampled_bytes(&model->sample));
}

/* Makes IPv6, IPv4 or tagged IPv4, with any class and, for IPv4, any checksum. */
static void random_frame(uint8_t *frame, unsigned bytes, bool ipv6, struct prng *prng)
{
	uint8_t class = (uint8_t)prng_next(prng);
	unsigned at;

	if (ipv6) {
		at = make_udp6(frame, bytes);
		frame[at] |= class >> 4;
		frame[at + 1] = (uint8_t)(class << 4);
		return;
	}
	at = make_udp(frame, bytes, prng_next(prng) % 4 == 0);
	frame[at + 1] = class;
	frame[at + 10] = (uint8_t)prng_next(prng);
	frame[at + 11] = (uint8_t)prng_next(prng);
}

static void take_packet(struct world *world, struct model *model, struct prng *prng, uint64_t now)
{
	uint8_t frame[FRAME_MAX], expected[FRAME_MAX], after[FRAME_MAX];
	unsigned bytes = 62 + (unsigned)(prng_next(prng) % (FRAME_MAX - 61)), ip = bytes;
	bool passes;

	if (prng_next(prng) % 4 == 0) { /* short, and perhaps padded */
		ip = (model->ipv6 ? 54 : 46) + (unsigned)(prng_next(prng) % 8);
		bytes = ip + (unsigned)(prng_next(prng) % 16);
	}
	memset(frame, 0xa5, sizeof(frame));
	random_frame(frame, ip, model->ipv6, prng);
	memcpy(expected, frame, bytes);
	passes = model_passes(model, expected, bytes, now);
	plane_set_time(world->plane, 0, now, 0);
	assert_int_equal(
		run_and_see(world, frame, bytes, 1, after), passes ? XDP_REDIRECT : XDP_DROP);
	assert_memory_equal(after, expected, bytes);
}

static void change_limit(struct world *world, struct model *model, struct prng *prng, uint64_t now)
{
	const struct shared_bucket_profile next = random_limit(prng, model);
	uint64_t until = expiry_until(&model->lease), at = now;

	if (model->ending && expiry_is_past(&model->lease, now))
		at = expiry_slowed(until, now, model->ending);
	shared_bucket_change_since(&model->shared, &next, at, now);
	shared_bucket_change_since(&plane_buckets(world->plane)[SLOT], &next, at, now);
	if (model->ending)
		model->ending = (uint8_t)prng_next(prng);
	plane_set_ending(world->plane, 0, SLOT, model->ending);
}

static void renew_lease(struct world *world, struct model *model, struct prng *prng, uint64_t now)
{
	uint64_t until = now + prng_next(prng) % (SPAN / 2);
	struct expiry *lease = plane_lease(world->plane);
	struct expiry *membership = plane_membership(world->plane);
	bool hard = policy_is_hard(&model->policy);

	expiry_init(&model->lease, until, SPAN);
	expiry_init(hard ? lease : membership, until, SPAN);
	expiry_init(hard ? membership : lease, prng_next(prng), SPAN); /* is not read */
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
	struct policy_state *line = &plane_lines(world->plane, 0)[SLOT];
	struct model model;

	begin_model(&model, prng, now);
	*line = (struct policy_state){.bucket.tokens = bucket_of(&model)->tokens};
	token_bucket_set_owner(&line->bucket, owner_of(&model, police_shift(&model.line), true));
	plane_set_terms(world->plane, 0, SLOT, &model.policy);
	plane_buckets(world->plane)[SLOT] = model.shared;
	*plane_sample_of(world->plane, 0, 0) = model.sample;
	plane_hold(world->plane, 0, SLOT, 0);
	plane_set_ending(world->plane, 0, SLOT, model.ending);
	renew_lease(world, &model, prng, now);
	for (unsigned i = 0; i < PACKETS; i++) {
		now += prng_next(prng) >> (34 + prng_next(prng) % 20);
		/* The clock of another CPU can be late. If it is very late, it is another clock. */
		back = prng_next(prng) % 16 ? 0 : prng_next(prng) >> (24 + prng_next(prng) % 30);
		take_packet(world, &model, prng, now - back);
		if (prng_next(prng) % 64 == 0)
			change_limit(world, &model, prng, now);
		if (prng_next(prng) % 64 == 0)
			renew_lease(world, &model, prng, now);
	}
	expect_equal(&model, world->plane);
}

/* Includes clocks that have run for years and clocks that start at 0. */
TEST(test_as_workers)
{
	ENDED_BY(close_world) struct world world;

	need_kernel();
	open_world(&world, &served);
	for (unsigned i = 0; i < TRIALS; i++) {
		struct prng prng;

		prng_seed(&prng, seed + i);
		print_message("seed %" PRIu64 "\n", seed + i);
		play_trial(&world, &prng);
	}
}

TEST(test_verified)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	ENDED_BY(close_world) struct world world;

	need_kernel();
	open_world(&world, &served);
	assert_int_equal(bpf_obj_get_info_by_fd(
				 bpf_program__fd(world.program->progs.xsk_def_prog), &info, &bytes),
		0);
	print_message("%u instructions verified\n", info.verified_insns);
	assert_in_range(info.verified_insns, 1, VERIFIED);
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
	unsigned bytes = FRAME_MAX;

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

static void begin_limit(struct plane *plane, uint64_t rate_bps, uint64_t depth, uint64_t now)
{
	const struct token_bucket_params params = {.rate_bps = rate_bps, .burst_bytes = depth};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(
				 &profile, &params, plane_cpus(plane), FRAME_MAX, SECOND_NS),
		0);
	plane_set_time(plane, now, now, SECOND_NS);
	shared_bucket_init(&plane_buckets(plane)[SLOT], &profile, now);
	for (unsigned cpu = 0; cpu < plane_cpus(plane); cpu++) {
		struct policy_state *line = &plane_lines(plane, cpu)[SLOT];

		*line = (struct policy_state){0};
		token_bucket_set_owner(&line->bucket,
			police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
		police_borrow_init(line, &profile);
		plane_hold(plane, cpu, SLOT, PLANE_UNSAMPLED);
	}
}

static void start_senders(struct sender *senders, unsigned n, const struct world *world, bool *stop)
{
	if (plane_cpus(world->plane) < n)
		skip();
	for (unsigned i = 0; i < n; i++) {
		senders[i] = (struct sender){.world = world, .cpu = i, .stop = stop};
		assert_int_equal(
			pthread_create(&senders[i].thread, NULL, send_frames, &senders[i]), 0);
	}
}

static void stop_senders(struct sender *senders, unsigned n, bool *stop)
{
	__atomic_store_n(stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n; i++)
		pthread_join(senders[i].thread, NULL);
}

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)}, NULL);
}

/* Passes at most the burst, which includes quanta, and the earnings of the rate. */
TEST(test_together)
{
	struct sender senders[SENDERS];
	ENDED_BY(close_world) struct world world;
	uint64_t began, passed, most;
	bool stop = false;

	need_kernel();
	open_world(&world, &served);
	began = boot_ns();
	begin_limit(world.plane, RATE_BPS, DEPTH, began);
	start_senders(senders, SENDERS, &world, &stop);
	while (boot_ns() - began < SEND_NS)
		sched_yield();
	stop_senders(senders, SENDERS, &stop);
	most = DEPTH + (boot_ns() - began) * (RATE_BPS / 8) / SECOND_NS;
	passed = passed_bytes(world.plane);
	print_message("%" PRIu64 " of %" PRIu64 " bytes\n", passed, most);
	assert_in_range(passed, DEPTH / 2, most);
}

/* A low rate and a deep bucket, so that other load on the machine has no effect. */
#define SETTLED_BPS   UINT64_C(20000000)
#define SETTLED_DEPTH UINT64_C(10000000)
#define ENDED_CPUS    4
#define ENDED_S       4
#define ENDED_FRAMES  8   /* in 10 ms: more than any of these limits */
#define SETTLED_PARTS 500 /* error: one part in this number, plus the tokens that CPUs hold */
#define PATIENCE_NS   (60 * SECOND_NS)

struct reading {
	uint64_t at, bytes;
};

static uint64_t dropped_packets(struct plane *plane)
{
	uint64_t packets = 0;

	for (unsigned cpu = 0; cpu < plane_cpus(plane); cpu++)
		packets += counter_read32(&plane_lines(plane, cpu)[SLOT].dropped_packets);
	return packets;
}

/*
 * Reads the counters shortly after a drop. Without a drop, senders can have unused tokens because
 * they did not run.
 */
static struct reading read_passed(struct plane *plane)
{
	struct reading reading, before;
	uint64_t dropped;

	do {
		before.at = boot_ns();
		dropped = dropped_packets(plane);
		sleep_ns(SECOND_NS / 1000);
		reading = (struct reading){boot_ns(), passed_bytes(plane)};
	} while (boot_ns() - before.at > 3 * SECOND_NS / 1000 || dropped_packets(plane) == dropped);
	return reading;
}

/* With an empty bucket the rate passes. In total no more passes than the rate and the burst. */
static void settle_with(unsigned n_senders)
{
	const char *seconds = getenv("WEIR_SETTLED_S");
	uint64_t ns = (seconds ? strtoull(seconds, NULL, 10) : 1) * SECOND_NS;
	struct sender senders[SENDERS];
	struct reading from, to;
	ENDED_BY(close_world) struct world world;
	uint64_t began, granted, error;
	bool stop = false;

	open_world(&world, &served);
	began = boot_ns();
	begin_limit(world.plane, SETTLED_BPS, SETTLED_DEPTH, began);
	start_senders(senders, n_senders, &world, &stop);
	do
		sleep_ns(SECOND_NS / 100);
	while (plane_lines(world.plane, 0)[SLOT].dropped_packets < 1000 &&
		boot_ns() - began < PATIENCE_NS);
	from = read_passed(world.plane);
	sleep_ns(ns);
	to = read_passed(world.plane);
	stop_senders(senders, n_senders, &stop);
	for (unsigned cpu = 0; cpu < n_senders; cpu++)
		assert_true(plane_lines(world.plane, cpu)[SLOT].bytes > 0);
	granted = (to.at - from.at) * (SETTLED_BPS / 8) / SECOND_NS;
	print_message("%u CPUs: %.5f of the limit\n", n_senders,
		(double)(to.bytes - from.bytes) / (double)granted);
	error = granted / SETTLED_PARTS + n_senders * SHARED_BUCKET_QUANTUM;
	assert_in_range(to.bytes - from.bytes, granted - error, granted + error);
	assert_true(to.bytes <= SETTLED_DEPTH + (to.at - began) * (SETTLED_BPS / 8) / SECOND_NS +
					SETTLED_BPS / 8 / 10000);
}

TEST(test_settled)
{
	need_kernel();
	for (unsigned n = 1; n <= SENDERS; n++)
		settle_with(n);
}

/*
 * Begins a limit on one CPU. Its membership has ended at the tick `at`. The test publishes the
 * time.
 */
static void begin_ended(struct plane *plane, const struct policy *policy,
	const struct token_bucket_params *params, uint8_t ending, uint64_t at)
{
	uint32_t frame = policy->count == COUNT_BYTES ? FRAME_MAX : 0;
	struct policy_state *line = &plane_lines(plane, 0)[SLOT];
	struct shared_bucket_profile profile;

	assert_int_equal(
		shared_bucket_profile_init(&profile, params, ENDED_CPUS, frame, SECOND_NS), 0);
	shared_bucket_init(&plane_buckets(plane)[SLOT], &profile, at);
	*line = (struct policy_state){0};
	token_bucket_set_owner(
		&line->bucket, police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
	plane_set_terms(plane, 0, SLOT, policy);
	plane_set_ending(plane, 0, SLOT, ending);
	plane_hold(plane, 0, SLOT, PLANE_UNSAMPLED);
	expiry_init(plane_membership(plane), at, 2 * SECOND_NS);
}

/*
 * Sends a backlog of full-sized frames for this many seconds, and once more. Returns the packets
 * that pass.
 */
static uint64_t pass_for(struct world *world, uint64_t from, unsigned seconds)
{
	uint8_t frame[FRAME_MAX];
	uint64_t passed = 0;

	make_udp(frame, FRAME_MAX, false);
	for (unsigned ms = 0; ms <= 1000 * seconds; ms += 10) {
		plane_set_time(world->plane, 0, from + ms * (SECOND_NS / 1000), 0);
		for (unsigned i = 0; i < ENDED_FRAMES; i++)
			passed += run_frame(world, frame, FRAME_MAX, 1) == XDP_REDIRECT;
	}
	return passed;
}

/*
 * The Nth part of a soft limit passes after its end. This also holds if a small burst divided by N
 * is smaller than a full-sized frame.
 */
TEST(test_soft_end)
{
	static const struct {
		enum counting count;
		uint64_t rate, burst; /* units, units/s */
		unsigned n;
	} rows[] = {
		{COUNT_BYTES, 1000000, 20000, 2},
		{COUNT_BYTES, 1000000, 20000, 16},
		{COUNT_BYTES, 1000000, 20000, 50},
		{COUNT_BYTES, 1000000, 3000, 50},
		{COUNT_BYTES, 1000000, 1000000, 50},
		{COUNT_PACKETS, 1000, 10, 11},
		{COUNT_PACKETS, 1000, 10, 50},
		{COUNT_PACKETS, 1000, 1, 50},
	};
	const uint64_t at = UINT64_C(1) << 50;
	ENDED_BY(close_world) struct world world;

	need_kernel();
	open_world(&world, &served);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = {.count = rows[i].count, .allocator = &divides_evenly};
		uint64_t unit = rows[i].count == COUNT_BYTES ? FRAME_MAX : 1, passed, part;
		struct token_bucket_params params = {
			.rate_bps = 8 * rows[i].rate, .burst_bytes = rows[i].burst};

		policy.limit_bps = params.rate_bps;
		policy.burst_bytes = params.burst_bytes;
		params.unit_bits = (uint8_t)policy_unit_bits(&policy);
		begin_ended(world.plane, &policy, &params,
			expiry_ending(rows[i].rate, rows[i].rate / rows[i].n), at);
		(void)pass_for(&world, at, 1);
		passed = pass_for(&world, at + SECOND_NS, ENDED_S) * unit;
		part = rows[i].rate * ENDED_S / rows[i].n;
		print_message("row %u: %" PRIu64 " of %" PRIu64 "\n", i, passed, part);
		assert_in_range(passed, part * 3 / 4, part + 10 * unit);
	}
}

/*
 * CPUs and a worker draw from a bucket whose limit ended long ago. If they use the same slow clock,
 * they get the Nth part together, independent of their loads. A worker that has not yet seen the
 * end uses its own clock and gets its tokens. CPUs must not take this for a time of long ago.
 */
TEST(test_two_clocks)
{
	static const uint64_t since_s[] = {0, 100, 1000, 1200, 2400, 100000, 3000000};
	const struct token_bucket_params params = {.rate_bps = 8000000, .burst_bytes = 20000};
	const uint64_t rate = params.rate_bps / 8, at = UINT64_C(1) << 50;
	const struct policy policy = {.burst_bytes = 20000, .allocator = &divides_evenly};
	ENDED_BY(close_world) struct world world;

	need_kernel();
	open_world(&world, &served);
	for (unsigned i = 0; i < 2 * COUNT(since_s); i++) {
		const struct police_end end = {at, POLICE_LEAST_BYTES, expiry_ending(2, 1)};
		uint64_t from = at + since_s[i / 2] * SECOND_NS, passed = 0, worker = 0;
		struct shared_bucket *shared = &plane_buckets(world.plane)[SLOT];
		bool slows = i % 2;

		begin_ended(world.plane, &policy, &params, end.ending, at);
		for (unsigned ms = 0; ms < 1000 * ENDED_S; ms += 10) {
			struct policy_state line = plane_lines(world.plane, 0)[SLOT];
			uint64_t now = from + ms * (SECOND_NS / 1000);

			line.bucket.tokens = 0;
			if (slows)
				police_borrow_ended(&line, shared, 100, now, &end);
			else
				police_borrow(&line, shared, 100, now);
			worker += line.bucket.tokens >> TOKEN_BYTE;
			passed += pass_for(&world, now, 0);
		}
		print_message("%" PRIu64 " s: %" PRIu64 " and %" PRIu64 "\n", since_s[i / 2],
			passed * FRAME_MAX, worker);
		passed = passed * FRAME_MAX + worker;
		assert_true(passed <= rate * ENDED_S / 2 + params.burst_bytes);
		assert_true(!slows || passed >= rate * ENDED_S * 3 / 8);
	}
}

/* Mounts a BPF file system for this process alone. */
static void make_kept(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("bpf", BPF_FILES, "bpf", 0, NULL) || mkdir(KEPT, 0700))
		skip();
}

/* Returns the number of frames that pass at this moment. */
static unsigned pass_now(const struct world *world)
{
	uint8_t frame[FRAME_MAX];
	unsigned n = 0;

	make_udp(frame, FRAME_MAX, false);
	for (unsigned i = 0; i < ENDED_FRAMES; i++)
		n += run_frame(world, frame, FRAME_MAX, 1) == XDP_REDIRECT;
	return n;
}

/* Maps with another layout are not used, and are reported. */
static void expect_other_layout(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "plane_books_0", sizeof(uint32_t),
		sizeof(struct plane_book), SLOTS, &opts);
	struct plane_previous previous;
	ENDED_BY(plane_destroy_at) struct plane *next;

	assert_true(fd >= 0);
	assert_int_equal(unlink(KEPT "/plane/books"), 0);
	assert_int_equal(bpf_obj_pin(fd, KEPT "/plane/books"), 0);
	close(fd);
	assert_int_equal(plane_create(SLOTS, LINES, KEPT, &next), 0);
	assert_string_equal(plane_refused(next), "have another layout");
	assert_int_equal(plane_look_back(next, 0, &previous), -ENOENT);
}

/*
 * A new process takes tokens of a previous process's bucket with the clock of the previous
 * programs. Its own clock and the end of a limit have no influence. The previous programs continue
 * with half of the tokens and half of the limit. Maps of a process that was killed before the
 * switch are not used.
 */
TEST(test_previous)
{
	static const uint64_t ago_s[] = {0, 10, 3000};
	const struct token_bucket_params params = {.rate_bps = 800000, .burst_bytes = 20000};
	const struct policy policy = {.burst_bytes = 20000, .allocator = &divides_evenly};
	const uint64_t at = UINT64_C(1) << 50;

	need_kernel();
	make_kept();
	for (unsigned i = 0; i < COUNT(ago_s); i++) {
		struct plane_previous previous;
		struct plane *next;
		struct world world, killed;
		uint64_t units, rate, now = at + ago_s[i] * SECOND_NS;

		open_world_in(&world, &served, KEPT);
		open_world_in(&killed, &served, KEPT);
		strcpy(plane_book(world.plane, SLOT)->name, "soft");
		strcpy(plane_book(killed.plane, SLOT)->name, "killed");
		plane_set_time(world.plane, boot_ns(), now, SECOND_NS);
		begin_ended(world.plane, &policy, &params, expiry_ending(16, 1), at);
		assert_in_range(pass_now(&world), 5, ENDED_FRAMES);
		shared_bucket_init(&plane_buckets(world.plane)[SLOT],
			&plane_buckets(world.plane)[SLOT].profiles[0],
			expiry_slowed(at, now, expiry_ending(16, 1)));
		rate = shared_bucket_read(&plane_buckets(world.plane)[SLOT]).rate;
		assert_int_equal(plane_keep(world.plane), 0);
		assert_int_equal(plane_keep_aside(killed.plane), 0);
		assert_int_equal(access(KEPT "/plane-next/books", F_OK), 0);
		assert_int_equal(plane_create(SLOTS, LINES, KEPT, &next), 0);
		assert_int_equal(plane_look_back(next, SLOT, &previous), 0);
		assert_string_equal(previous.book.name, "soft");
		units = plane_take_half(next, SLOT, rate / 2);
		assert_in_range(units, 8000, 10000);
		assert_int_equal(
			shared_bucket_read(&plane_buckets(world.plane)[SLOT]).rate, rate / 2);
		assert_in_range(pass_now(&world), 4, 6);
		plane_set_time(world.plane, boot_ns(), now + 4 * SECOND_NS, SECOND_NS);
		assert_in_range(pass_now(&world), 4, 6); /* has earned by then */
		(void)plane_take_half(next, SLOT, rate);
		assert_int_equal(
			shared_bucket_read(&plane_buckets(world.plane)[SLOT]).rate, rate / 2);
		(void)plane_take_all(next, SLOT);
		assert_int_equal(pass_now(&world), 0);
		plane_drop_aside(world.plane);
		assert_int_not_equal(access(KEPT "/plane-next", F_OK), 0);
		assert_null(plane_refused(next));
		plane_destroy(next);
		expect_other_layout();
		close_world(&killed);
		close_world(&world);
	}
	assert_int_equal(umount(BPF_FILES), 0);
}

/* A process that is killed while it publishes the time leaves the previous time in use. */
TEST(test_half_told)
{
	uint8_t frame[FRAME_MAX];
	struct plane_clock *clock;
	ENDED_BY(close_world) struct world world;
	uint64_t end;

	need_kernel();
	open_world(&world, &served);
	begin_limit(world.plane, 800000, 10000, boot_ns()); /* one in 3 ms */
	clock = mmap(NULL, sizeof(*clock), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(world.program->maps.plane_clocks), 0);
	assert_ptr_not_equal(clock, MAP_FAILED);
	/* With this time the clock would stand still. */
	clock->times[(clock->written + 1) & 1] = clock->times[clock->written & 1];
	clock->times[(clock->written + 1) & 1].rate = 0;
	make_udp(frame, 300, false);
	for (unsigned n = 0; run_frame(&world, frame, 300, 1) == XDP_REDIRECT; n++)
		assert_true(n < 100000);
	for (end = boot_ns() + 10 * SECOND_NS; run_frame(&world, frame, 300, 1) != XDP_REDIRECT;)
		assert_true(boot_ns() < end);
	munmap(clock, sizeof(*clock));
}

static uint32_t table_in_force(const struct world *world)
{
	uint32_t only = 0, id = 0;

	assert_int_equal(
		bpf_map_lookup_elem(bpf_map__fd(world->program->maps.plane_tables), &only, &id), 0);
	return id;
}

/*
 * A classifier that is too large leaves packets to workers. The next one that fits comes into
 * force.
 */
TEST(test_room)
{
	static struct policy policies[2 * LINES];
	struct classifier *large = NULL;
	uint8_t frame[FRAME_MAX];
	ENDED_BY(close_world) struct world world;
	uint32_t before;

	need_kernel();
	open_world(&world, &served);
	begin_limit(world.plane, RATE_BPS, DEPTH, boot_ns());
	make_udp(frame, 300, false);
	for (unsigned i = 0; i < 2 * LINES; i++) {
		policies[i].match = (struct match){.wire = CONFIG_ANY,
			.vlan = CONFIG_ANY,
			.dscp = CONFIG_ANY,
			.proto = 17,
			.dst_port = {(uint16_t)(1 + i), (uint16_t)(1 + i)}};
	}
	assert_int_equal(classifier_create(policies, 2 * LINES, -1, &large), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(plane_publish(world.plane, large), -E2BIG);
		assert_int_equal(run_frame(&world, frame, 300, 1), XDP_PASS);
		assert_int_equal(plane_publish(world.plane, world.classifier), 0);
		assert_int_equal(run_frame(&world, frame, 300, 1), XDP_REDIRECT);
	}
	/* Each is written into the map that is not in use. */
	before = table_in_force(&world);
	assert_int_equal(plane_publish(world.plane, world.classifier), 0);
	assert_int_not_equal(table_in_force(&world), before);
	assert_int_equal(run_frame(&world, frame, 300, 1), XDP_REDIRECT);
	classifier_destroy(large);
}

enum { HELD, SOFT, NEVER, UNKNOWN, UNKNOWN_NEVER, KINDS };

static void set_kind(struct plane *plane, unsigned kind)
{
	plane_leave_unknown(plane, kind == UNKNOWN_NEVER);
	if (kind == HELD)
		plane_hold(plane, 0, SLOT, PLANE_UNSAMPLED);
	else
		plane_leave(plane, 0, SLOT, kind == NEVER);
}

/* Runs a frame of this kind. Only workers can charge later fragments. */
static uint32_t run_kind(const struct world *world, unsigned kind)
{
	uint8_t frame[FRAME_MAX];
	unsigned l2 = make_udp(frame, 100, false);

	if (kind == UNKNOWN || kind == UNKNOWN_NEVER)
		frame[l2 + 7] = 100;
	return run_frame(world, frame, 100, 1);
}

/* The worker is stalled. */
TEST(test_unserved)
{
	static const struct {
		uint32_t fail, answers[KINDS];
	} rows[] = {
		{BYPASS_CLOSED, {XDP_DROP, XDP_DROP, XDP_DROP, XDP_DROP, XDP_DROP}},
		{BYPASS_OPEN,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT}},
		{BYPASS_LAST_LIMITS,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_DROP, XDP_REDIRECT, XDP_DROP}},
	};

	need_kernel();
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct bypass_setup away = served;
		struct world world;

		away.fail = rows[i].fail;
		away.workers = 1;
		away.sockets = 1;
		open_world(&world, &away);
		begin_limit(world.plane, RATE_BPS, DEPTH, boot_ns());
		for (unsigned kind = 0; kind < KINDS; kind++) {
			set_kind(world.plane, kind);
			print_message("fail %u, kind %u\n", rows[i].fail, kind);
			assert_int_equal(run_kind(&world, kind), rows[i].answers[kind]);
		}
		/* With the limits spent only unlimited packets pass. */
		set_kind(world.plane, HELD);
		plane_lines(world.plane, 0)[SLOT].bucket.tokens = 0;
		shared_bucket_spend(&plane_buckets(world.plane)[SLOT]);
		shared_bucket_spend(&plane_buckets(world.plane)[SLOT]);
		assert_int_equal(run_kind(&world, HELD),
			rows[i].fail == BYPASS_OPEN ? XDP_REDIRECT : XDP_DROP);
		close_world(&world);
	}
}

/*
 * Before its start is complete the program leaves packets to the host. Without a classifier, or
 * with lines that were never written, it leaves packets to workers. These packets are lost while
 * workers are absent.
 */
TEST(test_empty)
{
	static const uint32_t fails[] = {BYPASS_CLOSED, BYPASS_OPEN, BYPASS_LAST_LIMITS};
	uint8_t frame[100];

	need_kernel();
	make_udp(frame, sizeof(frame), false);
	for (unsigned i = 0; i < 3; i++) {
		bool wire = fails[i] == BYPASS_OPEN;
		struct bypass_setup away = served;
		struct world world;
		uint32_t only = 0;

		away.fail = fails[i];
		away.workers = 1;
		away.sockets = 1;
		open_world(&world, &away);
		for (unsigned published = 0; published < 2; published++) {
			if (!published)
				bpf_map_delete_elem(
					bpf_map__fd(world.program->maps.plane_tables), &only);
			else
				assert_int_equal(plane_publish(world.plane, world.classifier), 0);
			world.program->bss->in_force = 0;
			assert_int_equal(run_frame(&world, frame, sizeof(frame), 1), XDP_PASS);
			world.program->bss->in_force = 1;
			assert_int_equal(run_frame(&world, frame, sizeof(frame), 1),
				wire ? XDP_REDIRECT : XDP_DROP);
		}
		close_world(&world);
	}
}

#define LINK_FRAMES 20000

enum { UDP4, OSPF, BROADCAST, UDP6, LOCAL6, PING6, NOT_IP, FRAMES };

static void make_of_nobody(uint8_t *frame, unsigned which)
{
	const unsigned l2 = which < UDP6 ? make_udp(frame, 100, false) : make_udp6(frame, 100);

	if (which == OSPF)
		memcpy(frame + l2 + 16, "\xe0\x00\x00\x05", 4);
	if (which == BROADCAST)
		memcpy(frame + l2 + 16, "\xff\xff\xff\xff", 4);
	if (which == LOCAL6)
		memcpy(frame + l2 + 8, "\xfe\x80", 2);
	if (which == PING6)
		frame[l2 + 6] = 58;
	if (which == NOT_IP)
		memcpy(frame + 12, "\x08\x06", 2);
}

/*
 * Packets without a policy on a wire that drops them are left to workers, and lost while these are
 * absent. Exceptions are packets that are, or can be, link-local.
 */
TEST(test_of_nobody)
{
	static const struct {
		uint32_t drops;
		bool away;
		uint32_t answers[FRAMES];
	} rows[] = {
		{0, false,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT,
				XDP_REDIRECT, XDP_REDIRECT}},
		{2, false,
			{XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT, XDP_REDIRECT,
				XDP_REDIRECT, XDP_REDIRECT}},
		{1, false,
			{XDP_PASS, XDP_REDIRECT, XDP_REDIRECT, XDP_PASS, XDP_REDIRECT, XDP_PASS,
				XDP_REDIRECT}},
		{1, true,
			{XDP_DROP, XDP_REDIRECT, XDP_REDIRECT, XDP_DROP, XDP_REDIRECT, XDP_REDIRECT,
				XDP_REDIRECT}},
	};
	static const struct policy other = {
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .proto = 89}};

	need_kernel();
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct classifier *classifier = NULL;
		struct bypass_setup setup = served;
		struct world world;

		setup.fail = BYPASS_LAST_LIMITS;
		setup.workers = setup.sockets = rows[i].away;
		open_world(&world, &setup);
		assert_int_equal(classifier_create(&other, 1, -1, &classifier), 0);
		classifier_set_drops(classifier, rows[i].drops);
		assert_int_equal(plane_publish(world.plane, classifier), 0);
		for (unsigned which = 0; which < FRAMES; which++) {
			uint8_t frame[FRAME_MAX];

			make_of_nobody(frame, which);
			print_message("row %u, frame %u\n", i, which);
			assert_int_equal(run_frame(&world, frame, 100, 1), rows[i].answers[which]);
		}
		classifier_destroy(classifier);
		close_world(&world);
	}
}

/* Writes a link-local address, and flips up to two of its first bits. */
static void random_address(struct prng *prng, uint8_t *addr, bool ipv6)
{
	static const uint8_t of_links[2][4][4] = {
		{{224, 0, 0, 5}, {255, 255, 255, 255}, {224, 0, 0, 0}, {224, 0, 0, 255}},
		{{0xff, 0x02}, {0xff, 0xf2, 1, 2}, {0xfe, 0x80}, {0xfe, 0xbf, 0xff, 0xff}}};

	memcpy(addr, of_links[ipv6][prng_next(prng) % 4], 4);
	for (unsigned n = (unsigned)(prng_next(prng) % 3); n > 0; n--) {
		unsigned bit = (unsigned)(prng_next(prng) % 32);

		addr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* The program recognises link-local packets by the bits of their addresses, like workers. */
TEST(test_link_addresses)
{
	struct bypass_setup setup = served;
	struct classifier *classifier = NULL;
	static const struct policy other = {
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .proto = 89}};
	unsigned seen[2] = {0};
	ENDED_BY(close_world) struct world world;
	struct prng prng;

	need_kernel();
	prng_seed(&prng, seed);
	open_world(&world, &setup);
	assert_int_equal(classifier_create(&other, 1, -1, &classifier), 0);
	classifier_set_drops(classifier, 1);
	assert_int_equal(plane_publish(world.plane, classifier), 0);
	for (unsigned i = 0; i < LINK_FRAMES; i++) {
		bool ipv6 = i % 2, of_link;
		uint8_t frame[FRAME_MAX];
		const unsigned l2 = ipv6 ? make_udp6(frame, 100) : make_udp(frame, 100, i % 4);
		struct packet packet;

		random_address(&prng, frame + l2 + (ipv6 ? 24 : 16), ipv6);
		if (ipv6 && prng_next(&prng) % 2) {
			memcpy(frame + l2 + 8, frame + l2 + 24, 4);
			memset(frame + l2 + 24, 0, 4);
		}
		packet_parse(frame, 100, &packet);
		of_link = packet_is_of_link(&packet, frame);
		seen[of_link]++;
		assert_int_equal(
			run_frame(&world, frame, 100, 1), of_link ? XDP_REDIRECT : XDP_PASS);
	}
	assert_in_range(seen[true], LINK_FRAMES / 8, LINK_FRAMES - LINK_FRAMES / 8);
	classifier_destroy(classifier);
}

/* Returns the time in jiffies, from the coarse clock, which advances with them. */
static uint64_t jiffies_now(void)
{
	struct timespec now, jiffy;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	clock_getres(CLOCK_MONOTONIC_COARSE, &jiffy);
	return ((uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec) / (uint64_t)jiffy.tv_nsec;
}

/*
 * A worker counts as present for one lease after the program has seen a new turn, and no longer.
 * Clock readings before and after a packet bound its time. One jiffy allows for their rounding.
 */
TEST(test_lease)
{
	const struct bypass_setup setup = {.plane = 1,
		.slots = SLOTS,
		.direction = 1,
		.workers = 1,
		.lease = LEASE,
		.fail = BYPASS_CLOSED};
	uint8_t frame[FRAME_MAX];
	ENDED_BY(close_world) struct world world;

	need_kernel();
	make_udp(frame, 100, false);
	open_world(&world, &setup);
	set_kind(world.plane, SOFT); /* left to workers, no limit here */
	for (uint32_t turn = 1; turn <= LEASES; turn++) {
		const struct bypass_beat beat = {.turn = turn};
		uint64_t begun = jiffies_now(), seen, before, after;
		uint32_t first = 0, answer;

		assert_int_equal(bpf_map_update_elem(bpf_map__fd(world.program->maps.beats), &first,
					 &beat, BPF_ANY),
			0);
		assert_int_equal(run_frame(&world, frame, 100, 1), XDP_PASS);
		seen = jiffies_now();
		do {
			before = jiffies_now();
			answer = run_frame(&world, frame, 100, 1);
			after = jiffies_now();
			if (after - begun < LEASE)
				assert_int_equal(answer, XDP_PASS);
		} while (answer == XDP_PASS && before <= seen + LEASE + 1);
		assert_int_equal(answer, XDP_DROP);
	}
}

TEST_GROUP(start_test, stop_eal)
