/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters of a group of three, each with its socket, at a clock that the test turns.
 */
#include "instance_world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/wire.h"
#include "brain.h"
#include "config/load.h"
#include "delays.h"
#include "differs.h"
#include "event.h"
#include "gossip/datagram.h"
#include "gossip_socket.h"
#include "publish.h"
#include "refusals.h"
#include "tick.h"
#include "worker.h"

#define STEP_NS (10 * MS_NS)
#define TIMEOUT SECOND_NS
#define BOTH(limit, burst)                                                    \
	"{'name': 'soft', 'match': {'direction': 'a-to-b'}, 'limit': '" limit \
	"', 'burst': '" burst "'}"
#define LIMIT(limit) BOTH(limit, "20MB")

#define NAMED(name, vlan) \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '1Mbit/s', 'allocator': 'fps'}"

static uint64_t now_ns;

/* The linker puts it in the place of the real one. */
uint64_t __wrap_control_now(void);

uint64_t __wrap_control_now(void)
{
	return now_ns;
}

struct pair {
	struct instance_world w;
	struct config *config;
	struct instance other;
	bool other_is_up;
	uint64_t since; /* number of the next event */
};

/* Addresses of this process alone, as others run the same test. */
static char *group_of(const char *roster_more)
{
	unsigned id = (unsigned)getpid();
	char *text;

	if (asprintf(&text,
		    "'gossip': {'listen': '127.%1$u.%2$u.83:7946', 'insecure': true, "
		    "'timeout': '1s', 'roster': ["
		    "{'name': 'test', 'address': '127.%1$u.%2$u.83:7946'}, "
		    "{'name': 'peer', 'address': '127.%1$u.%2$u.84:7946'}%3$s]}, ",
		    1 + id / 254 % 254, 1 + id % 254, roster_more) < 0)
		abort();
	return text;
}

static void start_other(struct pair *pair)
{
	pair->config->gossip.self = 1;
	pair->config->gossip.listen = pair->config->gossip.roster[1].address;
	strcpy(pair->config->limiter, "peer");
	assert_int_equal(instance_prepare(&pair->other, pair->config, instance_world_ports()), 0);
	pair->other_is_up = true;
}

static void open_other(struct pair *pair, const char *more, const char *policies)
{
	pair->config = instance_world_config(more, policies);
	start_other(pair);
}

static void close_other(struct pair *pair)
{
	instance_stop(&pair->other);
	config_free(pair->config);
	pair->other_is_up = false;
}

/* With more limiters in the roster, of which there are none. */
static void open_group(
	struct pair *pair, const char *roster_more, const char *ours, const char *theirs)
{
	char *more = group_of(roster_more);

	now_ns = 1000 * SECOND_NS;
	instance_world_open_more(&pair->w, more, ours);
	open_other(pair, more, theirs);
	pair->since = events_number();
	free(more);
}

static void open_pair(struct pair *pair, const char *ours, const char *theirs)
{
	open_group(pair, "", ours, theirs);
}

static void close_pair(struct pair *pair)
{
	if (pair->other_is_up)
		close_other(pair);
	instance_world_close(&pair->w);
}

static void step_box(struct instance *inst)
{
	gossip_take(inst);
	assert_false(brain_run(inst, now_ns));
}

/* Both go on for so long; the other one does not if it stands still. */
static void pass_time(struct pair *pair, uint64_t for_ns, bool other)
{
	for (uint64_t end = now_ns + for_ns; now_ns < end;) {
		now_ns += STEP_NS;
		step_box(&pair->w.inst);
		if (other)
			step_box(&pair->other);
		instance_world_turn_all(&pair->w);
	}
}

static json_t *next_said(struct pair *pair)
{
	while (pair->since < events_number()) {
		json_t *row = events_get(pair->since++);
		const char *name = json_string_value(json_object_get(row, "event"));

		if (strncmp(name, "tsc_", 4) != 0) /* which is the machine's */
			return row;
		json_decref(row);
	}
	return NULL;
}

/* The next text that was said; NULL: nothing was. */
static void expect_said(struct pair *pair, const char *text)
{
	json_t *row = next_said(pair);
	const char *said = json_string_value(json_object_get(row, "text"));

	if (!said != !text || (text && strcmp(said, text) != 0))
		fail_msg("said \"%s\", expected \"%s\"", said ? said : "", text ? text : "");
	json_decref(row);
}

/* Both of them, in any order: each box says its own. */
static void expect_both(struct pair *pair, const char *one, const char *another)
{
	json_t *row = next_said(pair);
	const char *said = json_string_value(json_object_get(row, "text"));
	bool first = said && strcmp(said, one) == 0;

	if (!first && (!said || strcmp(said, another) != 0))
		fail_msg("said \"%s\", expected \"%s\" or \"%s\"", said ? said : "", one, another);
	json_decref(row);
	expect_said(pair, first ? another : one);
}

static double local_limit(const struct instance *inst)
{
	struct limiter_view view;

	limiter_view(inst->limiter, 0, &view);
	return view.local_limit;
}

/* Each is heard; one that stands still is lost after the timeout, and is heard again. */
static void test_peers(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, 2 * SECOND_NS, true);
	expect_both(&pair, "peer peer: heard", "peer test: heard");
	expect_said(&pair, NULL);
	/* All that comes, comes here: the other one has next to nothing of the limit. */
	assert_true(local_limit(&pair.w.inst) > 0.9e9);
	assert_true(local_limit(&pair.other) < 0.1e9);
	pass_time(&pair, TIMEOUT / 2, false);
	expect_said(&pair, NULL);
	pass_time(&pair, TIMEOUT, false);
	expect_said(&pair, "peer peer: lost; its 1/2 of each limit is not used");
	expect_said(&pair, NULL);
	assert_near(local_limit(&pair.w.inst), 0.5e9, 1);
	pass_time(&pair, SECOND_NS, true);
	expect_said(&pair, "peer peer: heard");
	expect_said(&pair, NULL);
	close_pair(&pair);
}

/* What becomes of one says nothing of another, which is as it was. */
static void test_third_peer(void **state)
{
	struct pair pair;

	(void)state;
	open_group(&pair, ", {'name': 'third', 'address': '127.5.3.85:7946'}", LIMIT("8Gbit/s"),
		LIMIT("8Gbit/s"));
	pass_time(&pair, 4 * SECOND_NS + SECOND_NS / 2, true);
	expect_both(&pair, "peer peer: heard", "peer test: heard");
	expect_said(&pair, NULL);
	pass_time(&pair, SECOND_NS, true);
	expect_both(&pair, "peer third: differs: never heard; see weirctl peers",
		"peer third: differs: never heard; see weirctl peers");
	expect_said(&pair, NULL);
	pass_time(&pair, TIMEOUT + TIMEOUT / 2, false);
	expect_said(&pair, "peer peer: lost; its 1/3 of each limit is not used");
	expect_said(&pair, NULL);
	close_pair(&pair);
}

/* What the configuration names and is not there is an error, and nothing is left of it. */
static void test_not_started(void **state)
{
	char *more = group_of("");
	struct pair pair = {0};

	(void)state;
	pair.config = instance_world_config(more, LIMIT("8Gbit/s"));
	pair.config->gossip.n_key_files = 1;
	strcpy(pair.config->gossip.key_files[0], "/none/of/them");
	assert_int_equal(
		instance_prepare(&pair.other, pair.config, instance_world_ports()), -ENOENT);
	assert_null(pair.other.brain);
	config_free(pair.config);
	free(more);
}

/* What it was told otherwise is said once by each of both, and that it is over. */
static void test_differing(void **state)
{
	struct pair pair;
	char *more = group_of("");

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("16Gbit/s"));
	pass_time(&pair, 6 * SECOND_NS, true);
	expect_both(&pair, "peer peer: heard", "peer test: heard");
	expect_both(&pair, "peer peer: differs: limit of soft; see weirctl peers",
		"peer test: differs: limit of soft; see weirctl peers");
	expect_said(&pair, NULL);
	close_other(&pair);
	open_other(&pair, more, LIMIT("8Gbit/s"));
	pass_time(&pair, 6 * SECOND_NS, true);
	expect_said(&pair, "peer test: heard");
	expect_said(&pair, "peer peer: differs in nothing any more");
	expect_said(&pair, NULL);
	free(more);
	close_pair(&pair);
}

/* How both sides name it: what a policy's are, the group's, and policies that one of two has. */
static void test_names(void **state)
{
	static const struct {
		const char *ours, *theirs, *here, *there;
	} rows[] = {
		{BOTH("8Gbit/s", "20MB"), BOTH("9Gbit/s", "30MB"), "limit, burst of soft",
			"limit, burst of soft"},
		{LIMIT("8Gbit/s"), LIMIT("8Gbit/s") ", " NAMED("more", "1"),
			"presence of a policy that is not here (e85541e0)", "presence of more"},
		{LIMIT("8Gbit/s") ", " NAMED("a", "1") ", " NAMED("b", "2"), LIMIT("8Gbit/s"),
			"presence of a; presence of b",
			"presence of a policy that is not here (e40c292c); presence of a policy "
			"that is not here (e70c2de5)"},
		{LIMIT("8Gbit/s") ", " NAMED("a", "1") ", " NAMED("b", "2") ", " NAMED("c", "3"),
			LIMIT("8Gbit/s"), "presence of c; presence of a; and more",
			"presence of a policy that is not here (e60c2c52); presence of a policy "
			"that is not here (e40c292c); and more"},
	};
	char here[512], there[512];
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		open_pair(&pair, rows[i].ours, rows[i].theirs);
		pass_time(&pair, 5 * SECOND_NS, true);
		expect_both(&pair, "peer peer: heard", "peer test: heard");
		snprintf(here, sizeof(here), "peer peer: differs: %s; see weirctl peers",
			rows[i].here);
		snprintf(there, sizeof(there), "peer test: differs: %s; see weirctl peers",
			rows[i].there);
		expect_both(&pair, here, there);
		expect_said(&pair, NULL);
		close_pair(&pair);
	}
}

/* Where datagrams may come from anywhere, a stranger's is counted, and is nobody's refusal. */
static void test_stranger(void **state)
{
	const uint8_t datagram[64] = {99}; /* of no format */
	char *group = group_of(""), *more;
	const struct gossip *gossip;
	struct sockaddr_in from;
	struct instance_world w;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	now_ns = 1000 * SECOND_NS;
	assert_true(asprintf(&more, "'gossip': {'sources': 'any', %s",
			    group + strlen("'gossip': {")) > 0);
	instance_world_open_more(&w, more, LIMIT("8Gbit/s"));
	memcpy(&from, &w.config->gossip.roster[1].address, sizeof(from));
	from.sin_addr.s_addr += htonl(1);
	from.sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(
		sendto(fd, datagram, sizeof(datagram), 0,
			(struct sockaddr *)&w.config->gossip.listen, w.config->gossip.listen_len),
		sizeof(datagram));
	gossip = limiter_gossip(w.inst.limiter);
	while (gossip_counters(gossip)->verdict[GOSSIP_VERSION] == 0)
		gossip_take(&w.inst);
	assert_int_equal(gossip_counters(gossip)->verdict[GOSSIP_VERSION], 1);
	for (unsigned i = 0; i < w.config->gossip.n_roster; i++)
		assert_int_equal(refusals_of(w.inst.gossip->refusals, i)->n, 0);
	close(fd);
	instance_world_close(&w);
	free(more);
	free(group);
}

/* What is told only to some is the group's, and what no reload changes is said to be. */
static void test_group_differs(void **state)
{
	struct differs differs;
	struct pair pair;
	char *more = group_of("");

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	close_other(&pair);
	pair.config = instance_world_config(more, LIMIT("8Gbit/s"));
	pair.config->gossip.timeout_ns *= 2;
	start_other(&pair);
	pass_time(&pair, 3 * SECOND_NS, true);
	differs = differs_of(&pair.w.inst, 1, now_ns);
	assert_int_equal(differs.named, 1);
	assert_string_equal(differs.text[0], "gossip timeout");
	assert_int_equal(differs.others, 0);
	assert_true(differs.fixed);
	assert_in_range(differs.since_ns, 1000 * SECOND_NS, now_ns);
	free(more);
	close_pair(&pair);
}

/* In a turn that is due. */
static void look_at_clock(struct pair *pair)
{
	now_ns += SECOND_NS;
	step_box(&pair->w.inst);
}

static unsigned count_said(struct pair *pair, const char *event)
{
	unsigned n = 0;

	for (; pair->since < events_number(); pair->since++) {
		json_t *row = events_get(pair->since);

		n += strcmp(json_string_value(json_object_get(row, "event")), event) == 0;
		json_decref(row);
	}
	return n;
}

/* What the only one of that name said since then. */
static double said_number(struct pair *pair, const char *event, const char *key)
{
	double number = NAN;
	unsigned n = 0;

	for (; pair->since < events_number(); pair->since++) {
		json_t *row = events_get(pair->since);

		if (strcmp(json_string_value(json_object_get(row, "event")), event) == 0) {
			number = json_number_value(json_object_get(row, key));
			n++;
		}
		json_decref(row);
	}
	assert_int_equal(n, 1);
	return number;
}

static struct shared_bucket *bucket_of(const struct instance *inst)
{
	return &inst->engine.shared_buckets[inst->slots.of[0]];
}

/* Tokens of a bucket whose burst takes many seconds to come. */
static int64_t tokens_of(const struct instance *inst)
{
	const struct shared_bucket_profile profile = shared_bucket_read(bucket_of(inst));
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, tick_now());

	return gcra_tokens(&bucket_of(inst)->state, &instant);
}

static int64_t half_of_burst(const struct instance *inst)
{
	return (int64_t)(shared_bucket_read(bucket_of(inst)).burst / 2);
}

/* As if nobody had taken from it for long. */
static void fill_bucket(const struct instance *inst)
{
	const struct shared_bucket_profile profile = shared_bucket_read(bucket_of(inst));

	bucket_of(inst)->state.allow_at = shared_bucket_time(bucket_of(inst), tick_now()) -
					  profile.burst;
}

/* A TSC that is not where it was is said; what was timed by it begins anew only if it is behind. */
static void test_clocks(void **state)
{
	struct pair pair;
	struct instance *inst = &pair.w.inst;
	struct tsc_clock *clock = &inst->clock;

	(void)state;
	open_pair(&pair, LIMIT("8Mbit/s"), LIMIT("8Mbit/s"));
	pass_time(&pair, 3 * SECOND_NS, false);
	fill_bucket(inst);
	look_at_clock(&pair);
	assert_int_equal(count_said(&pair, "tsc_jumped"), 0);
	assert_true(tokens_of(inst) > half_of_burst(inst));
	clock->last.ns -= SECOND_NS; /* as if the TSC had stood still for a second */
	look_at_clock(&pair);
	assert_near(said_number(&pair, "tsc_jumped", "ms"), (double)clock->jumped_ns / 1e6, 1e-3);
	assert_int_equal(clock->set_back, 0);
	assert_true(tokens_of(inst) > half_of_burst(inst));
	clock->last.tsc += clock->hz;
	look_at_clock(&pair);
	assert_near(said_number(&pair, "tsc_set_back", "ms"), (double)clock->jumped_ns / 1e6, 1e-3);
	assert_int_equal(clock->set_back, 1);
	assert_true(tokens_of(inst) < half_of_burst(inst));
	close_pair(&pair);
}

/* What is a better rate of the TSC goes into all limits. */
static void test_refined(void **state)
{
	struct pair pair;
	struct instance *inst = &pair.w.inst;
	uint64_t rate;

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, STEP_NS, false);
	inst->clock.first.ns -= 10 * SECOND_NS; /* so that the better one is right */
	inst->clock.first.tsc -= 10 * inst->clock.hz;
	inst->clock.hz += inst->clock.hz / 10000;
	publish_all_later(inst);
	assert_true(publish_rest(inst));
	rate = shared_bucket_read(bucket_of(inst)).rate;
	count_said(&pair, "");
	now_ns = limiter_next(inst->limiter);
	inst->clock.doubted = false;
	inst->clock.refine_ns = 1;
	step_box(inst);
	assert_near(said_number(&pair, "tsc_refined", "mhz"), (double)inst->clock.hz / 1e6, 1e-3);
	assert_true(shared_bucket_read(bucket_of(inst)).rate > rate);
	close_pair(&pair);
}

/* A tick looks at what packets waited, before workers have counted 2^32. */
static void test_delays_seen(void **state)
{
	const char *waits = "{'name': 'waits', 'match': {'direction': 'a-to-b'}, "
			    "'limit': '8Mbit/s', 'action': 'shape'}";
	struct pair pair;
	struct instance *inst = &pair.w.inst;
	uint32_t slot;

	(void)state;
	open_pair(&pair, waits, waits);
	slot = inst->slots.of[0];
	worker_shape(&inst->workers[1], slot)->delay.bins[7] = 5;
	look_at_clock(&pair);
	assert_int_equal(inst->delays->slots[slot].sums[1].bins[7], 5);
	close_pair(&pair);
}

/* Limits that wait are told between ticks, and the loop is woken for them, not before a rest. */
static void test_rest(void **state)
{
	struct pair pair;
	struct instance *inst = &pair.w.inst;

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, 2 * SECOND_NS, true);
	now_ns = brain_next(inst);
	assert_int_equal(now_ns, limiter_next(inst->limiter));
	assert_false(brain_run(inst, now_ns));
	assert_true(limiter_next(inst->limiter) > now_ns + MS_NS);
	assert_int_equal(brain_next(inst), limiter_next(inst->limiter));
	publish_all_later(inst);
	assert_int_equal(brain_next(inst), now_ns + MS_NS);
	assert_false(brain_run(inst, now_ns));
	assert_true(publish_is_done(inst));
	assert_int_equal(brain_next(inst), limiter_next(inst->limiter));
	now_ns = limiter_next(inst->limiter) - 1;
	publish_all_later(inst);
	assert_int_equal(brain_next(inst), now_ns + 1);
	close_pair(&pair);
}

static int socket_of(const struct peer_config *peer)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&peer->address, peer->address_len), 0);
	return fd;
}

static void post(const struct pair *pair, int fd, const uint8_t *datagram, size_t len)
{
	const struct peer_config *to = &pair->w.config->gossip.roster[0];

	assert_int_equal(sendto(fd, datagram, len, 0, (const struct sockaddr *)&to->address,
				 to->address_len),
		len);
}

/* What is not believed is asked about whose address it came from, and its kind alone. */
static void test_refused(void **state)
{
	uint8_t datagram[DATAGRAM_MIN] = {0};
	const struct refusal *refusal;
	struct pair pair;
	int fd;

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	close_other(&pair);
	fd = socket_of(&pair.w.config->gossip.roster[1]);
	refusal = refusals_of(pair.w.inst.gossip->refusals, 1);
	wire_put32(datagram + DATAGRAM_SENDER, name_hash("peer"));
	datagram[0] = 0xff;
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 0);
	post(&pair, fd, datagram, sizeof(datagram));
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 1);
	assert_int_equal(refusal->verdict, GOSSIP_VERSION);
	assert_int_equal(refusal->last_ns, now_ns);
	post(&pair, fd, datagram, 3); /* cut short, which is no such kind */
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 1);
	now_ns += MS_NS;
	wire_put32(datagram + DATAGRAM_SENDER, name_hash("test"));
	post(&pair, fd, datagram, sizeof(datagram));
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 2);
	assert_int_equal(refusal->verdict, REFUSED_SOURCE);
	assert_int_equal(refusal->last_ns, now_ns);
	assert_int_equal(pair.w.inst.gossip->wrong_source, 1);
	close(fd);
	instance_world_close(&pair.w);
}

static uint64_t count_messages(const struct instance *inst)
{
	return gossip_counters(limiter_gossip(inst->limiter))->verdict[GOSSIP_MESSAGE];
}

/* A message may have changed limits, which are told at once; the rest has time. */
static void test_messages(void **state)
{
	struct pair pair;
	struct instance *inst = &pair.w.inst;
	bool told = false;

	(void)state;
	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("16Gbit/s"));
	pass_time(&pair, SECOND_NS, true);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t messages = count_messages(inst);

		now_ns += STEP_NS;
		step_box(&pair.other);
		publish_all_later(inst);
		gossip_take(inst);
		assert_int_equal(publish_is_done(inst), count_messages(inst) > messages);
		told |= publish_is_done(inst);
		assert_false(brain_run(inst, now_ns));
	}
	assert_true(told);
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_third_peer),
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_differing),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_stranger),
		cmocka_unit_test(test_group_differs),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_refined),
		cmocka_unit_test(test_delays_seen),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests_name(
		"brain", tests, instance_world_start, instance_world_stop);
}
