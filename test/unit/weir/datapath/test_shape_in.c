/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shaped packets in a whole limiter. Each packet leaves once or is counted as dropped, in the order
 * of arrival, also if its policy is removed or replaced or the limiter stops. No more than allowed
 * wait. Most packets here wait in queues that are lists; test_shape_in_timed.c tests timed ones.
 */
#include "shape_in_world.h"
#include "scope.h"

#include "clock.h"
#include "config/buffers.h"
#include "delays.h"
#include "publish.h"
#include "shape_steps.h"
#include "shape_mbuf.h"
#include "totals.h"
#include "police/shaped.h"
#include "show.h"
#include "tick.h"

/*
 * Sends all due packets without receiving more. At high limits a packet is due some ticks after its
 * arrival.
 */
static void send_all_due(struct instance_world *w)
{
	wait_ms(1);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		while (shape_out_due(&w->inst.workers[i]))
			;
}

/* A device that stamps packets, in ns. */
static struct {
	struct nic_clock clock;
	uint64_t apart_ns; /* between packets, the last of which has just arrived; 0: pending */
} nic;

/* Stamps packets as if they had waited in a ring of the device. */
static uint16_t stamp_in_ring(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	uint64_t now = control_now();

	for (uint16_t i = 0; i < n && nic.apart_ns; i++) {
		*RTE_MBUF_DYNFIELD(
			mbufs[i], shape_mbuf_nic_offset, uint64_t *) = now - (n - i) * nic.apart_ns;
		mbufs[i]->ol_flags |= shape_mbuf_nic_flag;
	}
	return n;
}

/*
 * Reads the clock until a sample is accepted. A sample is rejected if the thread lost its CPU
 * during the read.
 */
static void read_clock(void)
{
	uint32_t turn = nic.clock.turn;

	while (nic.clock.turn == turn) {
		uint64_t before = tick_now(), ns = control_now();

		nic_clock_read(&nic.clock, ns, before, tick_now());
	}
}

static const struct rte_eth_rxtx_callback *stamp_from(uint64_t apart_ns)
{
	const struct rte_eth_rxtx_callback *stamps = rte_eth_add_rx_callback(
		wire.a, 0, stamp_in_ring, NULL);

	assert_non_null(stamps);
	memset(&nic, 0, sizeof(nic));
	nic.apart_ns = apart_ns;
	read_clock();
	wait_ms(20);
	read_clock();
	return stamps;
}

TEST(test_waits_and_leaves)
{
	struct delays_totals totals;
	struct instance_world w;

	open_wire(&w, "",
		"{'name': 'p', 'limit': '8Mbit/s', 'burst': '100B', "
		"'match': {'direction': 'a-to-b'}, 'action': 'shape'}");
	turn_all_workers(&w, 1);
	assert_int_equal(wire_came(), 2 * INSTANCE_BURST);
	assert_true(wire_left() >= 2); /* the burst */
	assert_true(instance_waiting_now(&w).packets > 0);
	check_sums(&w);
	/* A packet each 50 us. The workers receive as many as they can. */
	for (unsigned i = 0; i < 200; i++)
		turn_all_workers(&w, 1);
	assert_true(wire_left() > 10);
	check_sums(&w);
	check_order();
	delays_totals(&w.inst, w.inst.slots.of[0], &totals);
	assert_int_equal(delay_count(&totals.delay), wire_left());
	assert_true(delay_quantile(&totals.delay, 1, 0) > 0);
	close_wire(&w);
	check_order();
}

/* Returns the JSON of the first policy, and the members of its "slo" that can be null. */
static json_t *shown_slo(struct instance_world *w, json_t **p99, json_t **met)
{
	json_t *json = show_policy(w->inst.policies[0].name, &w->inst), *slo;

	slo = json_object_get(json, "slo");
	*p99 = json_object_get(slo, "p99_us");
	*met = json_object_get(slo, "met");
	assert_true(json_is_number(json_object_get(slo, "target_us")));
	return json;
}

/* The values are null until a packet has left. */
TEST(test_slo)
{
	ENDED_BY(close_wire) struct instance_world w;
	json_t *json, *p99, *met;

	open_wire(&w, "",
		"{'name': 'p', 'limit': '8Mbit/s', 'burst': '100B', "
		"'match': {'direction': 'a-to-b'}, 'action': 'shape', 'slo': {'p99': '10s'}}");
	json = shown_slo(&w, &p99, &met);
	assert_true(json_is_null(p99));
	assert_true(json_is_null(met));
	json_decref(json);
	turn_all_workers(&w, 1);
	assert_true(wire_left() > 0);
	json = shown_slo(&w, &p99, &met);
	assert_true(json_is_number(p99));
	assert_true(json_is_true(met));
	json_decref(json);
	/* Advances by 6 s, so that earlier delays leave the window of the last 10 s. */
	delays_look(&w.inst, control_now() + 6 * UINT64_C(1000000000));
	json = shown_slo(&w, &p99, &met);
	assert_true(json_is_number(p99));
	assert_true(json_is_null(json_object_get(json_object_get(json, "slo"), "p99_10s_us")));
	assert_true(json_is_number(json_object_get(json_object_get(json, "slo"), "p99_total_us")));
	json_decref(json);
}

/* The bound in bytes holds for each worker. It is not a time. */
TEST(test_queue_full)
{
	struct instance_world w;

	open_wire(&w, "",
		"{'name': 'p', " SLOW ", 'action': 'shape', "
		"'shape': {'delay': '10s', 'queue': '500B'}}");
	turn_all_workers(&w, 1);
	check_sums(&w);
	/* The queue's bound, exceeded by at most one packet. */
	assert_in_range(instance_waiting_now(&w).packets, 2 * 10 - 2, 2 * 11);
	assert_true(drops_of(&w, DROP_QUEUE_FULL) > 0);
	assert_int_equal(drops_of(&w, DROP_QUEUE_FULL), instance_dropped(&w));
	close_wire(&w);
	check_order();
	assert_in_range(
		wire_came() - wire_left(), 2 * (INSTANCE_BURST - 11) - 2, 2 * (INSTANCE_BURST - 9));
}

/* All policies together never use more buffers than the pool for waiting packets allows. */
TEST(test_pool_full)
{
	struct instance_world w;

	open_wire(&w, "'shape': {'pool': '1%'}, ",
		"{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	/* At least 16384 buffers, of which 163 can wait: 81 on each worker. */
	turn_all_workers(&w, 4);
	check_sums(&w);
	assert_int_equal(instance_waiting_now(&w).packets, 2 * 81);
	assert_int_equal(drops_of(&w, DROP_POOL_FULL), instance_dropped(&w));
	assert_true(instance_dropped(&w) > 0);
	close_wire(&w);
	check_order();
}

/* Packets of policies without a queue are not delayed by waiting ones. */
TEST(test_other_policies)
{
	struct policy_totals totals;
	ENDED_BY(close_wire) struct instance_world w;

	open_wire(&w, "",
		"{'name': 'p', " SLOW ", 'action': 'shape'}, "
		"{'name': 'q', 'limit': '400Gbit/s', 'burst': '1GiB', "
		"'match': {'direction': 'b-to-a'}}");
	turn_all_workers(&w, 3);
	totals = instance_world_totals(&w, 1);
	assert_int_equal(totals.passed_packets, 3 * 2 * INSTANCE_BURST);
	assert_int_equal(totals.dropped_packets, 0);
	check_sums(&w);
}

/*
 * Packets that wait in a policy that is removed or replaced leave before any later packet, and none
 * is dropped. The slot stays in use until each worker has drained it.
 */
TEST(test_policy_leaves)
{
	static const char *const after[] = {
		"",
		"{'name': 'p', 'limit': '400Gbit/s', 'burst': '1GiB', "
		"'match': {'direction': 'a-to-b'}}",
		"{'name': 'p', 'limit': '400Gbit/s', 'burst': '1GiB', "
		"'match': {'direction': 'a-to-b'}, 'action': 'shape', 'accounting': 'l2'}",
		"{'name': 'p', 'limit': '400Gbit/s', 'burst': '1GiB', "
		"'match': {'direction': 'a-to-b'}, 'action': 'shape', 'count': 'bytes', "
		"'allocator': 'static'}",
	};

	for (unsigned i = 0; i < COUNT(after); i++) {
		struct instance_world w;
		struct policy_txn *x;
		uint32_t slot;

		open_wire(&w, "",
			"{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
		turn_all_workers(&w, 2);
		slot = w.inst.slots.of[0];
		assert_true(instance_waiting_now(&w).packets > 100);
		assert_int_equal(instance_dropped(&w), 0);
		x = begin_reload(&w, after[i]);
		assert_false(policy_txn_finish(x));
		wait_ms(5); /* the bucket that both use starts empty */
		instance_world_turn(&w, 0);
		/*
		 * Independent of the grace period, because the slot still holds packets of the
		 * other worker.
		 */
		rte_rcu_qsbr_quiescent(w.inst.publisher.rcu, 1);
		assert_false(policy_txn_finish(x));
		assert_true(engine_waiting(&w.inst.engine, slot).packets > 0);
		end_reload(&w, x);
		assert_int_equal(w.inst.slots.policy[slot], SLOT_FREE);
		turn_all_workers(&w, 2);
		send_all_due(&w);
		assert_int_equal(wire_left(), wire_came());
		assert_int_equal(instance_dropped(&w), 0);
		check_order();
		close_wire(&w);
	}
}

static uint64_t arrived_bytes_now(struct instance_world *w)
{
	struct limiter_sample sample;

	measure_policy(&w->inst, 0, &sample);
	return sample.arrived_bytes;
}

/* Returns a count of the shaper as an operator reads it. */
static uint64_t shown_count(struct instance_world *w, const char *object, const char *key)
{
	json_t *json = show_policy(w->inst.policies[0].name, &w->inst), *found;
	uint64_t count;

	found = json_object_get(json, "shape");
	if (object)
		found = json_object_get(found, object);
	count = (uint64_t)json_integer_value(json_object_get(found, key));
	json_decref(json);
	return count;
}

struct shown_counts {
	uint64_t waited, left, full;
};

static struct shown_counts shown_counts(struct instance_world *w)
{
	struct delays_totals totals;

	delays_totals(&w->inst, w->inst.slots.of[0], &totals);
	return (struct shown_counts){
		.waited = shown_count(w, NULL, "waited_packets"),
		.left = shown_count(w, NULL, "left_packets"),
		.full = shown_count(w, "dropped", "queue_full"),
	};
}

static void check_goes_on(struct instance_world *w, struct shown_counts *before)
{
	struct shown_counts now = shown_counts(w);

	assert_true(now.waited >= before->waited);
	assert_true(now.left >= before->left);
	assert_true(now.full >= before->full);
	*before = now;
}

/* All packets that have left are still within the window. */
static void check_delay_window(struct instance_world *w, uint64_t packets)
{
	uint32_t slot = w->inst.slots.of[0];
	struct delays_totals totals;
	struct delay_sum sum;

	delays_totals(&w->inst, slot, &totals);
	for (enum delay_window_window i = 0; i < DELAY_WINDOW_WINDOWS; i++) {
		delay_window_sum(
			delays_window(&w->inst, slot), i, &totals.delay, control_now(), &sum);
		assert_int_equal(delay_count(&sum), packets);
	}
}

/*
 * Counts of a policy that moves to another slot stay with it: during the move, after it and later.
 */
TEST(test_counts_move)
{
#define MOVES(more)                                                          \
	"{'name': 'p', " SLOW ", 'action': 'shape', 'slo': {'p99': '1us'}, " \
	"'shape': {'delay': '10s', 'queue': '2kB'}" more "}"
	static const char *const files[] = {
		MOVES(", 'accounting': 'l2'"), MOVES(", 'accounting': 'wire'"), MOVES("")};
	struct shown_counts counts;
	struct policy_txn *x;
	ENDED_BY(close_wire) struct instance_world w;
	uint64_t came_before;

	open_wire(&w, "", MOVES(""));
	turn_all_workers(&w, 4);
	counts = shown_counts(&w);
	assert_true(counts.waited > 50 && counts.left > 0 && counts.full > 0);
	for (unsigned i = 0; i < COUNT(files); i++) {
		uint32_t from = w.inst.slots.of[0];

		x = begin_reload(&w, files[i]);
		assert_int_not_equal(w.inst.slots.of[0], from);
		check_goes_on(&w, &counts);
		check_delay_window(&w, counts.left);
		instance_world_turn(&w, 0);
		check_goes_on(&w, &counts);
		end_reload(&w, x);
		check_goes_on(&w, &counts);
	}
	came_before = counts.left;
	/* No shaper for a while. */
	end_reload(&w, begin_reload(&w, "{'name': 'p', " SLOW "}"));
	end_reload(&w, begin_reload(&w, MOVES("")));
	check_goes_on(&w, &counts);
	assert_true(counts.left >= came_before);
}

/* Bins of 32 bits that have wrapped since the worker started. */
TEST(test_lateness)
{
	struct shaper_counts *counts;
	ENDED_BY(close_wire) struct instance_world w;
	json_t *json;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape'}");
	counts = (struct shaper_counts *)(uintptr_t)shaper_counts(w.inst.workers[1].shaper);
	counts->lateness.bins[120] = UINT32_MAX;
	delays_look(&w.inst, control_now());
	counts->lateness.bins[120]++;
	counts->lateness.bins[10] = 100;
	json = show_waiting(&w.inst, 1);
	assert_true(json_real_value(json_object_get(json, "lateness_p99_us")) > 1000);
	assert_true(json_real_value(json_object_get(json, "lateness_max_us")) > 1000);
	json_decref(json);
}

/* A waiting packet counts once as demand, also in a slot that its policy has left. */
TEST(test_arrived_once)
{
	ENDED_BY(close_wire) struct instance_world w;
	struct policy_txn *x;
	uint64_t before;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	turn_all_workers(&w, 2);
	before = arrived_bytes_now(&w);
	assert_int_equal(before, wire_came() * INSTANCE_BYTES);
	x = begin_reload(&w,
		"{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}, "
		"'accounting': 'l2'}");
	assert_int_not_equal(w.inst.carried_over[w.inst.slots.of[0]].also, SLOT_NONE);
	assert_int_equal(arrived_bytes_now(&w), before);
	instance_world_turn(&w, 0);
	assert_true(arrived_bytes_now(&w) >= before);
	before = arrived_bytes_now(&w);
	end_reload(&w, x);
	assert_true(arrived_bytes_now(&w) >= before);
}

static uint64_t held_back(struct instance_world *w)
{
	struct limiter_sample sample;

	measure_policy(&w->inst, 0, &sample);
	return sample.dropped_packets;
}

/*
 * Packets are not counted as held back again, and the count does not fall, when the old slot is
 * freed.
 */
TEST(test_held_back_once)
{
	ENDED_BY(close_wire) struct instance_world w;
	struct policy_txn *x;
	uint64_t before;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	turn_all_workers(&w, 2);
	x = begin_reload(&w,
		"{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}, "
		"'accounting': 'l2'}");
	/* The slot counts as in use until this last call. */
	policy_txn_finish(x);
	turn_all_workers(&w, 3);
	before = held_back(&w);
	assert_true(before > 100);
	for (unsigned i = 0; i < 10 && w.inst.carried_over[w.inst.slots.of[0]].also != SLOT_NONE;
		i++) {
		rte_rcu_qsbr_quiescent(w.inst.publisher.rcu, 0);
		rte_rcu_qsbr_quiescent(w.inst.publisher.rcu, 1);
		policy_txn_finish(x);
	}
	assert_int_equal(w.inst.carried_over[w.inst.slots.of[0]].also, SLOT_NONE);
	assert_int_equal(held_back(&w), before);
	end_reload(&w, x);
}

/* A raised limit applies to waiting packets too, and so does a lowered one. */
TEST(test_limit_changes)
{
	struct policy_txn *x;
	struct instance_world w;
	unsigned before;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	turn_all_workers(&w, 2);
	before = wire_left();
	assert_true(instance_waiting_now(&w).packets > 100);
	x = begin_reload(&w, "{'name': 'p', 'limit': '8Mbit/s', 'burst': '100B', 'match': "
			     "{'direction': 'a-to-b'}, 'action': 'shape', 'shape': {'delay': "
			     "'10s'}}");
	for (unsigned i = 0; i < 10; i++) {
		publish(&w.inst);
		turn_all_workers(&w, 1);
	}
	end_reload(&w, x);
	wait_ms(5); /* 100 packets */
	turn_all_workers(&w, 1);
	assert_true(wire_left() > before + 80);
	check_sums(&w);
	close_wire(&w);
	check_order();
}

/* Returns the packets that 2 bytes/us and the burst allow in a time. */
static uint64_t packets_granted(uint64_t ns)
{
	return (50000 + ns * 2 / 1000) / INSTANCE_BYTES;
}

/* A bucket of 50 kB filled at 16 Mbit/s. All in bytes. */
struct model {
	double tokens, waits, sent;
	uint64_t at;
};

static void model_send(struct model *m)
{
	double n = m->waits < m->tokens ? m->waits : m->tokens;

	m->sent += n;
	m->waits -= n;
	m->tokens -= n;
}

/*
 * Packets since the last turn count as arrived now, because an earlier arrival would not let more
 * leave.
 */
static void model_turn(struct model *m, uint64_t now, unsigned packets)
{
	m->tokens += (double)(now - m->at) * 2 / 1000;
	m->at = now;
	model_send(m);
	if (m->tokens > 50000)
		m->tokens = 50000;
	m->waits += packets * INSTANCE_BYTES;
	model_send(m);
}

/*
 * Both workers share one bucket: no more and no less leaves, because no worker keeps a part of it.
 */
TEST(test_one_bucket)
{
	ENDED_BY(close_wire) struct instance_world w;
	uint64_t before = control_now();
	struct model least = {.tokens = 50000};

	open_wire(&w, "",
		"{'name': 'p', 'limit': '16Mbit/s', 'burst': '50kB', "
		"'match': {'direction': 'a-to-b'}, 'action': 'shape', "
		"'shape': {'delay': '1s'}}");
	least.at = control_now();
	for (unsigned turn = 0; turn < 40; turn++) {
		unsigned came = wire_came();

		turn_all_workers(&w, 1);
		model_turn(&least, control_now(), wire_came() - came);
	}
	send_all_due(&w);
	assert_true(wire_left() * INSTANCE_BYTES >= least.sent - 10 * INSTANCE_BYTES);
	assert_true(wire_left() <= packets_granted(control_now() - before) + 1);
	check_sums(&w);
}

/*
 * Packets with device stamps at conforming distances that arrive in one batch all pass immediately.
 * Without stamps, or with smaller distances, most of them wait. A packet's tokens take 50 us, or
 * slightly more, because rates are rounded.
 */
TEST(test_batches)
{
	static const struct {
		uint64_t apart_ns;
		bool stamped, passes;
	} rows[] = {{60000, true, true}, {25000, true, false}, {60000, false, false}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct instance_world w;
		struct worker *worker;
		const struct rte_eth_rxtx_callback *stamps;

		open_wire(&w, "",
			"{'name': 'p', 'limit': '8Mbit/s', 'burst': '50B', "
			"'match': {'direction': 'a-to-b'}, 'action': 'shape'}");
		worker = &w.inst.workers[0];
		assert_int_equal(worker->paths[0].rx_port, wire.a);
		stamps = stamp_from(rows[i].stamped ? rows[i].apart_ns : 0);
		w.pieces++;
		worker->paths[0].clock = &nic.clock;
		wait_ms(5); /* all of them arrived after the bucket was full */
		instance_world_turn(&w, 0);
		if (rows[i].passes)
			assert_int_equal(wire.n_left[0], INSTANCE_BURST);
		else
			assert_in_range(wire.n_left[0], 1, INSTANCE_BURST * 3 / 4);
		close_wire(&w);
		assert_int_equal(rte_eth_remove_rx_callback(wire.a, 0, stamps), 0);
		check_order();
	}
}

/* When the limiter stops, all waiting packets leave before the last counts are read. */
TEST(test_stop)
{
	ENDED_BY(close_wire) struct instance_world w;
	uint64_t waited = 0;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	turn_all_workers(&w, 3);
	assert_true(instance_waiting_now(&w).packets > 100);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		waited += shaped_waited(&w.inst.workers[i].policies[w.inst.slots.of[0]]);
	/* All packets except the burst. */
	assert_in_range(waited, wire_came() - 4, wire_came() - 2);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		shape_out_all(&w.inst.workers[i]);
	assert_int_equal(instance_waiting_now(&w).packets, 0);
	assert_int_equal(wire_left(), wire_came());
	assert_int_equal(instance_dropped(&w), 0);
	check_sums(&w);
	check_order();
}

/*
 * A reload keeps the pools of the start, even if a start with its policies would have made larger
 * ones.
 */
TEST(test_pools_of_the_start)
{
#define RATE(rate)                                               \
	"{'name': 'p', 'limit': '" rate "', 'action': 'shape', " \
	"'match': {'direction': 'a-to-b'}, 'shape': {'delay': '10s'}}"
	static const struct {
		const char *file, *warning;
	} rows[] = {
		{RATE("4.9Mbit/s"), NULL},
		{RATE("9.6Mbit/s"),
			"4096 packets may wait on each worker, as the pools were made at the "
			"start, fewer than the 8001 of 1500 bytes"},
	};
	ENDED_BY(close_wire) struct instance_world w;

	open_wire(&w, "", RATE("1Mbit/s"));
	assert_int_equal(config_waiting(w.config), 4096);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy_txn *x;
		char *words;
		size_t size;
		FILE *err = open_memstream(&words, &size);

		instance_world_write(&w, rows[i].file);
		assert_int_equal(policy_txn_prepare(&w.inst, w.file, tick_hz(), err, &x), 0);
		fclose(err);
		if (rows[i].warning)
			assert_non_null(strstr(words, rows[i].warning));
		else
			assert_string_equal(words, "");
		policy_txn_free(x);
		free(words);
	}
}

/* Returns the number of packets that left after `left_before` and arrived before `came_before`. */
static unsigned left_of(const unsigned came_before[], const unsigned left_before[])
{
	unsigned n = 0;

	for (unsigned q = 0; q < INSTANCE_WORKERS; q++)
		for (unsigned i = left_before[q]; i < wire.n_left[q]; i++)
			n += wire.left[q][i] < came_before[q];
	return n;
}

/*
 * Returns the most packets of SLOW that can have left: the burst, one each 50 ms, and one in the
 * making.
 */
static uint64_t tokens_since(uint64_t began)
{
	return 2 + (control_now() - began) / 50000000 + 1;
}

static void end_strictly(struct instance_world *w, const char *after)
{
	if (after) {
		end_reload(w, begin_reload(w, after));
		return;
	}
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		shape_out_all(&w->inst.workers[i]);
}

/*
 * A packet of a hard limit never leaves without its tokens. However its queue ends, waiting
 * packets are dropped, and so are packets that arrive while another policy's queue drains.
 */
TEST(test_hard)
{
#define BOTH(name, more)                                                         \
	"{'name': '" name "', " SLOW ", 'guarantee': 'hard', "                   \
	"'action': 'shape', 'shape': {'delay': '10s'}" more "}, "                \
	"{'name': 'q', 'limit': '8kbit/s', 'burst': '100B', 'action': 'shape', " \
	"'match': {'direction': 'b-to-a'}, 'shape': {'delay': '10s'}" more "}"
	static const char *const after[] = {
		NULL, "", BOTH("p", ", 'accounting': 'l2'"), BOTH("r", "")};
	char more[64];

	with_store(more, sizeof(more));
	for (unsigned i = 0; i < COUNT(after); i++) {
		unsigned came_before[INSTANCE_WORKERS], left_before[INSTANCE_WORKERS];
		struct instance_world w;
		uint64_t waits, began = control_now(), tokens;

		open_wire(&w, more, BOTH("p", ""));
		turn_all_workers(&w, 6);
		memcpy(came_before, wire.came, sizeof(came_before));
		memcpy(left_before, wire.n_left, sizeof(left_before));
		waits = instance_waiting_now(&w).packets;
		assert_int_equal(waits, wire_came() - wire_left());
		assert_int_equal(instance_dropped(&w), 0);
		end_strictly(&w, after[i]);
		tokens = tokens_since(began);
		assert_in_range(left_of(came_before, left_before), 0, tokens);
		assert_true(drops_of(&w, DROP_STOPPED) + tokens >= waits);
		if (after[i]) /* the other queue takes one more turn */
			assert_true(drops_of(&w, DROP_STOPPED) + tokens >= waits + INSTANCE_BURST);
		/* In a new slot no packet can wait until all have left the old one. */
		assert_int_equal(drops_of(&w, DROP_STOPPED) + drops_of(&w, DROP_QUEUE_FULL),
			instance_dropped(&w));
		close_wire(&w);
		check_order();
	}
	remove_store();
}

/* Reloads without policies. Queues that can drain without tokens drain first. */
static void end_in_order(struct instance_world *w)
{
	uint32_t slots[] = {w->inst.slots.of[1], w->inst.slots.of[0]};
	struct policy_txn *x = begin_reload(w, "");

	assert_int_equal(w->inst.publisher.current->n_leaving, 2);
	assert_memory_equal(w->inst.publisher.current->leaving, slots, sizeof(slots));
	end_reload(w, x);
}

/*
 * Packets that have their tokens leave with them when the queue ends, also if more are due than a
 * turn sends.
 */
TEST(test_due_leave)
{
	char more[64];

	with_store(more, sizeof(more));
	for (unsigned stops = 0; stops < 2; stops++) {
		unsigned came_before[INSTANCE_WORKERS], left_before[INSTANCE_WORKERS];
		struct instance_world w;
		uint64_t waits;

		open_wire(&w, more,
			"{'name': 'p', 'limit': '8Mbit/s', 'burst': '100B', 'guarantee': "
			"'hard', 'match': {'direction': 'a-to-b'}, 'action': 'shape', "
			"'shape': {'delay': '10s'}}, "
			"{'name': 'q', 'limit': '8kbit/s', 'match': {'vlan': 1}, 'action': "
			"'shape'}");
		do
			turn_all_workers(&w, 1);
		while ((waits = instance_waiting_now(&w).packets) < 2 * 10 * INSTANCE_BURST);
		memcpy(came_before, wire.came, sizeof(came_before));
		memcpy(left_before, wire.n_left, sizeof(left_before));
		wait_ms(200); /* 4000 packets */
		if (stops)
			end_strictly(&w, NULL);
		else
			end_in_order(&w);
		assert_int_equal(left_of(came_before, left_before), waits);
		close_wire(&w);
		check_order();
	}
	remove_store();
}

/* --- below a level that marks ----------------------------------------------------------------- */

static struct {
	bool is_ip;
	unsigned marked, unmarked;
} marks;

/* Makes IPv4 packets that can be marked, or frames that cannot. */
static uint16_t make_markable(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	static const uint8_t head[] = {8, 0, 0x45, 2, 0, 50, 0, 0, 0x40, 0, 64, 17};

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *at = rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, 12);

		memset(at, 0, 22);
		if (marks.is_ip)
			memcpy(at, head, sizeof(head));
	}
	return n;
}

static uint16_t count_marks(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *context)
{
	for (uint16_t i = 0; i < n; i++) {
		bool marked = *rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, 15) == 3;

		marks.marked += marked;
		marks.unmarked += !marked;
	}
	return n;
}

/*
 * A shaped packet that exceeds the limit of a level that marks is marked when it leaves, or waits.
 */
TEST(test_level_above)
{
	static const struct {
		const char *more;
		bool is_ip, marked;
	} rows[] = {{"", true, false}, {", 'action': 'mark'", true, true},
		{", 'action': 'mark'", false, false}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct rte_eth_rxtx_callback *rx, *tx;
		uint64_t began = control_now();
		struct instance_world w;
		char policies[512];

		marks.is_ip = rows[i].is_ip;
		marks.marked = marks.unmarked = 0;
		snprintf(policies, sizeof(policies),
			"{'name': 'up', 'limit': '8kbit/s', 'burst': '2kB'%s}, "
			"{'name': 'p', 'parent': 'up', 'match': {'direction': 'a-to-b'}, 'limit': "
			"'8Mbit/s', 'burst': '100B', 'action': 'shape', 'shape': {'delay': '10s'}}",
			rows[i].more);
		open_wire(&w, "", policies);
		rx = rte_eth_add_rx_callback(wire.a, 0, make_markable, NULL);
		tx = rte_eth_add_tx_callback(wire.b, 0, count_marks, NULL);
		assert_true(rx && tx);
		w.pieces += 2; /* DPDK keeps removed callbacks */
		for (unsigned k = 0; k < 2000 && wire_left() < 80; k++)
			instance_world_turn(&w, 0);
		/* The whole burst, from any worker, and at most one in 50 ms. */
		assert_in_range(marks.unmarked, 2000 / 64,
			2000 / 50 + 1 + (control_now() - began) / PAUSE_NS);
		assert_int_equal(marks.marked > 1, rows[i].marked);
		assert_int_equal(marks.marked + marks.unmarked, wire_left());
		assert_int_equal(instance_world_totals(&w, 0).over_packets,
			rows[i].marked ? marks.marked : 0);
		assert_int_equal(rte_eth_remove_rx_callback(wire.a, 0, rx), 0);
		assert_int_equal(rte_eth_remove_tx_callback(wire.b, 0, tx), 0);
		close_wire(&w);
	}
}

/*
 * A packet that leaves before its levels were charged takes the available tokens, and is counted.
 */
TEST(test_level_unasked)
{
	static const struct {
		uint64_t tokens, left;
		bool asked;
	} rows[] = {
		{(UINT64_C(100) << TOKEN_BYTE) + 1, (UINT64_C(40) << TOKEN_BYTE) + 1, false},
		{(UINT64_C(60) << TOKEN_BYTE) + 1, 1, false},
		{UINT64_C(60) << TOKEN_BYTE, 0, false},
		{(UINT64_C(60) << TOKEN_BYTE) - 1, 0, false},
		{0, 0, false},
		{UINT64_C(100) << TOKEN_BYTE, UINT64_C(100) << TOKEN_BYTE, true},
	};
	struct shape_packet packet = {.cost = 60};
	const struct policy_shape *shape;
	const uint64_t much = UINT64_C(1000) << TOKEN_BYTE, cost = UINT64_C(60) << TOKEN_BYTE;
	struct policy_state *up, *top;
	WORLD(w, "{'name': 'top', 'limit': '8kbit/s', 'burst': '2kB'}, "
		 "{'name': 'up', 'parent': 'top', 'limit': '8kbit/s', 'burst': '2kB'}, "
		 "{'name': 'p', 'parent': 'up', 'match': {'direction': 'a-to-b'}, "
		 "'limit': '8Mbit/s', 'action': 'shape'}");

	top = &w->inst.workers[0].policies[w->inst.slots.of[0]];
	up = &w->inst.workers[0].policies[w->inst.slots.of[1]];
	shape = worker_shape(&w->inst.workers[0], w->inst.slots.of[2]);
	assert_true(police_is_simple(up) && police_is_simple(top));
	for (size_t i = 0; i < COUNT(rows); i++) {
		up->bucket.tokens = rows[i].tokens;
		top->bucket.tokens = much;
		shape_above_leave(&w->inst.workers[0], shape, &packet, rows[i].asked);
		assert_int_equal(up->bucket.tokens, rows[i].left);
		assert_int_equal(top->bucket.tokens, rows[i].asked ? much : much - cost);
		assert_int_equal(up->packets, i + 1);
		assert_int_equal(top->packets, i + 1);
		assert_int_equal(up->bytes, 60 * (i + 1));
	}
	/* The packet returns the tokens that it took, unless it passed beyond the limit. */
	shape_above_give(&w->inst.workers[0], shape, &packet);
	assert_int_equal(up->bucket.tokens, UINT64_C(160) << TOKEN_BYTE);
	assert_int_equal(top->bucket.tokens, much + cost);
	packet.spare = 1;
	shape_above_give(&w->inst.workers[0], shape, &packet);
	assert_int_equal(up->bucket.tokens, UINT64_C(160) << TOKEN_BYTE);
	assert_int_equal(top->bucket.tokens, much + 2 * cost); /* the lowest bit is its own */
	assert_int_equal(up->packets, COUNT(rows));
}

/* --- arrival times ---------------------------------------------------------------------------- */

/* Stamps packets like the owner of a queue that hands them on. */
static uint16_t stamp(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	for (uint16_t i = 0; i < n; i++)
		shape_mbuf_stamp(mbufs[i], *(const uint64_t *)context);
	return n;
}

/* The time of a queue is that of its packets. It only rises, and is never ahead of our clock. */
TEST(test_arrival)
{
	const struct rte_eth_rxtx_callback *stamps;
	const struct policy_shape *shape;
	ENDED_BY(close_wire) struct instance_world w;
	uint64_t at, before;

	open_wire(&w, "", "{'name': 'p', " SLOW ", 'action': 'shape', 'shape': {'delay': '10s'}}");
	shape = police_shape(w.inst.workers[0].policies[w.inst.slots.of[0]].other);
	stamps = rte_eth_add_rx_callback(wire.a, 0, stamp, &at);
	assert_non_null(stamps);
	w.pieces++; /* DPDK keeps removed callbacks */
	before = at = tick_now() - 100000;
	instance_world_turn(&w, 0);
	assert_int_equal(shape->arrival, at);
	at -= 1;
	instance_world_turn(&w, 0);
	assert_int_equal(shape->arrival, before);
	at = before + 1;
	instance_world_turn(&w, 0);
	assert_int_equal(shape->arrival, at);
	before = tick_now();
	at = before + 1000 * tick_hz();
	instance_world_turn(&w, 0);
	assert_in_range(shape->arrival, before, tick_now());
	assert_int_equal(rte_eth_remove_rx_callback(wire.a, 0, stamps), 0);
	before = tick_now();
	instance_world_turn(&w, 0);
	assert_in_range(shape->arrival, before, tick_now());
}

#define NIC_NOW UINT64_C(7000000000)

/* A device's stamp is used if its clock is calibrated and the stamp is at most a second old. */
TEST(test_stamps_of_device)
{
	enum { TICKS_PER_US = 3, MOST = 3000000, NOW = 2000000000 };
	static const struct {
		bool told, known;
		int64_t ago;
		bool stamped;
		uint64_t arrival;
	} rows[] = {
		{true, true, 0, true, NOW},
		{true, true, 5, true, NOW - 5},
		{true, true, -1, true, NOW},
		{true, true, MOST, true, NOW - MOST},
		{true, true, MOST + 1, true, NOW},
		{false, true, 5, false, 0},
		{true, false, 5, false, 0},
	};
	struct rte_mbuf *mbufs[COUNT(rows)];
	const unsigned n = COUNT(rows);

	assert_int_equal(rte_pktmbuf_alloc_bulk(instance_world_ports()[0].pool, mbufs, n), 0);
	for (unsigned known = 0; known < 2; known++) {
		const struct nic_clock clock = {
			.relation = {NIC_NOW, NOW, known ? UINT64_C(1) << 32 : 0}};

		for (unsigned i = 0; i < n; i++) {
			*RTE_MBUF_DYNFIELD(mbufs[i], shape_mbuf_nic_offset,
				uint64_t *) = NIC_NOW - (uint64_t)rows[i].ago;
			mbufs[i]->ol_flags = rows[i].told ? shape_mbuf_nic_flag : 0;
			shape_mbuf_packet(mbufs[i])->arrival = 0;
		}
		shape_mbuf_stamp_all(mbufs, (uint16_t)n, &clock, NOW, TICKS_PER_US);
		for (unsigned i = 0; i < n; i++) {
			bool stamped = mbufs[i]->ol_flags & shape_mbuf_stamped;

			if (rows[i].known != known)
				continue;
			if (stamped != rows[i].stamped ||
				shape_mbuf_packet(mbufs[i])->arrival != rows[i].arrival)
				fail_msg("row %u", i);
		}
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

TEST_GROUP(instance_world_start, instance_world_stop)
