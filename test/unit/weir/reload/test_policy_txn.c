/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of policies, step by step. A rejected change leaves nothing behind, each packet is
 * counted once, and a slot is reused only when no worker can still read it. The test plays control
 * and both workers.
 */
#include "instance_world.h"
#include "scope.h"

#include <rte_malloc.h>

#include "classify/classify.h"
#include "event.h"
#include "packet/parse.h"
#include "policy_txn.h"
#include "police/borrow.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "totals.h"

END_POINTER(policy_txn_free, struct policy_txn *)

/* `mine` matches all packets from a to b. The other policies match no packet of the test. */
#define MINE(more) "{'name': 'mine', 'match': {'direction': 'a-to-b'}, 'limit': '10Gbit/s'" more "}"
#define OTHER(n)   "{'name': 'o" #n "', 'match': {'vlan': " #n "}, 'limit': '1Gbit/s'}"
#define SOURCES(n)                                                            \
	"{'name': 's" #n "', 'match': {'vlan': " #n "}, 'limit': '1Gbit/s', " \
	"'per': 'src', 'sources': 1024}"
#define FEW        ", 'limit': '8kbit/s', 'burst': '4096B'"
#define SLOW(more) "{'name': 'mine', 'match': {'direction': 'a-to-b'}" FEW more "}"

/* Returns 0 or a negative errno, and the messages. */
static int prepare_saying(struct instance_world *w, struct policy_txn **x, char **words)
{
	size_t size;
	FILE *err = open_memstream(words, &size);
	int ret;

	assert_non_null(err);
	ret = policy_txn_prepare(&w->inst, w->file, w->inst.clock.hz, err, x);
	fclose(err);
	return ret;
}

static unsigned slots_with(const struct instance *inst, uint32_t policy)
{
	unsigned n = 0;

	for (unsigned i = 0; i < inst->slots.capacity; i++)
		n += inst->slots.policy[i] == policy;
	return n;
}

static unsigned count_heap_allocs(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

TEST(test_refused_leaves_nothing)
{
	static const struct {
		const char *policies, *words;
	} cases[] = {
		{"{'name'", ""},
		{MINE("") ", {'name': 'x', 'limit': '1Gbit'}", "policies[1] \"x\".limit: "},
		/*
		 * There is memory for the table of the second policy, but not for that of the
		 * third.
		 */
		{MINE("") ", " SOURCES(1) ", {'name': 'x', 'match': {'vlan': 2}, 'per': 'src', "
					  "'limit': '1Gbit/s', 'sources': 16777216}",
			"policies[2]: Cannot allocate memory"},
	};
	WORLD(w, MINE("") ", " OTHER(1));

	for (size_t i = 0; i < COUNT(cases); i++) {
		unsigned before = count_heap_allocs();
		struct policy_txn *x = NULL;
		char *words;

		instance_world_write(w, cases[i].policies);
		assert_true(prepare_saying(w, &x, &words) < 0);
		assert_null(x);
		assert_non_null(strstr(words, w->file));
		assert_non_null(strstr(words, cases[i].words));
		assert_int_equal(count_heap_allocs(), before);
		assert_int_equal(w->inst.n_policies, 2);
		assert_int_equal(slots_with(&w->inst, SLOT_FREE), w->inst.slots.capacity - 2);
		free(words);
	}
	instance_world_reload(w, MINE(""));
	assert_int_equal(w->inst.n_policies, 1);
}

/* A change that is prepared but not committed frees its memory. */
TEST(test_prepared_in_vain)
{
	struct policy_txn *x;
	unsigned before;
	WORLD(w, MINE(""));

	before = count_heap_allocs();
	x = instance_world_prepare(w, MINE(", 'action': 'count'") ", " SOURCES(1) ", " SOURCES(2));
	assert_true(count_heap_allocs() > before);
	policy_txn_free(x);
	assert_int_equal(count_heap_allocs(), before);
	assert_int_equal(slots_with(&w->inst, SLOT_FREE), w->inst.slots.capacity - 1);
	instance_world_turn_all(w);
	assert_int_equal(instance_world_totals(w, 0).passed_packets, 2 * INSTANCE_BURST);
}

TEST(test_what_is_empty)
{
	static const struct {
		const char *policies;
		bool empty;
		unsigned added, removed, changed;
	} cases[] = {
		{MINE("") ", " OTHER(1), true, 0, 0, 0},
		{OTHER(1) ", " MINE(""), false, 0, 0, 0},
		{MINE("") ", " OTHER(2), false, 1, 1, 0},
		{MINE(", 'action': 'count'") ", " OTHER(1), false, 0, 0, 1},
	};
	WORLD(w, MINE("") ", " OTHER(1));

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct policy_txn *x = instance_world_prepare(w, cases[i].policies);
		const struct config_diff *diff = policy_txn_diff(x);

		assert_int_equal(policy_txn_is_empty(x), cases[i].empty);
		assert_int_equal(diff->added, cases[i].added);
		assert_int_equal(diff->removed, cases[i].removed);
		assert_int_equal(diff->changed, cases[i].changed);
		policy_txn_free(x);
	}
}

/* Shadow mode changes, although the policies stay the same: all of them only count. */
TEST(test_shadow_is_a_change)
{
	struct policy_txn *x;
	WORLD(w, MINE(", 'action': 'count'"));

	for (unsigned shadow = 0; shadow < 2; shadow++) {
		w->more = shadow ? "'shadow': true, " : "";
		x = instance_world_prepare(w, MINE(", 'action': 'count'"));
		assert_int_equal(policy_txn_diff(x)->changed, 0);
		assert_int_equal(policy_txn_is_empty(x), !shadow);
		policy_txn_free(x);
	}
}

/* Puts a message into a worker's ring: the sampling of a policy. */
static void send_message(struct instance_world *w, unsigned worker, uint32_t slot, uint8_t shift)
{
	const struct limit_profile message = {.meter.bucket = police_borrow_profile(),
		.policy = slot,
		.kind = METER_TOKEN_BUCKET,
		.sample_shift = shift};

	assert_true(limit_ring_send(&w->inst.workers[worker].limit_ring, &message));
}

static void make_quiescent(struct instance_world *w, unsigned worker)
{
	/* Like a worker that has taken a turn with the current snapshot. */
	w->inst.workers[worker].generation = w->inst.publisher.current->generation;
	rte_rcu_qsbr_quiescent(w->inst.publisher.rcu, worker);
}

/*
 * A slot is free after every ring was emptied and then every worker was quiescent, in that order.
 */
TEST(test_when_a_slot_is_free)
{
	WORLD(w, MINE("") ", " OTHER(1));
	ENDED_BY(policy_txn_free_at) struct policy_txn *x;
	uint32_t left;

	left = w->inst.slots.of[1];
	send_message(w, 1, left, 3);
	x = instance_world_prepare(w, MINE(""));
	assert_int_equal(policy_txn_commit(x), 0);
	assert_int_equal(w->inst.slots.policy[left], SLOT_LEFT);
	for (unsigned i = 0; i < 3; i++) { /* like sleeping workers */
		assert_false(policy_txn_finish(x));
		make_quiescent(w, 0);
		make_quiescent(w, 1);
	}
	instance_world_turn(w, 1); /* empties the ring, and is quiescent at the end of that turn */
	make_quiescent(w, 0);
	assert_false(policy_txn_finish(x)); /* all rings are empty: the grace period starts */
	assert_false(policy_txn_finish(x));
	make_quiescent(w, 0);
	assert_false(policy_txn_finish(x));
	assert_int_equal(w->inst.slots.policy[left], SLOT_LEFT);
	send_message(
		w, 1, w->inst.slots.of[0], 3); /* a message after the commit does not delay it */
	make_quiescent(w, 1);
	assert_true(policy_txn_finish(x));
	assert_int_equal(w->inst.slots.policy[left], SLOT_FREE);
}

/* A turn of a worker that has loaded the old classifier before a new one was published. */
static void turn_with(struct instance_world *w, unsigned worker, struct snapshot *previous)
{
	struct snapshot *current = w->inst.publisher.current;

	w->inst.publisher.current = previous;
	instance_world_turn(w, worker);
	w->inst.publisher.current = current;
}

/* A policy that moves keeps its counts, from both of its lines. */
TEST(test_counts_follow)
{
	struct snapshot *previous;
	struct policy_txn *x;
	uint32_t left;
	WORLD(w, MINE(""));

	instance_world_turn_all(w);
	left = w->inst.slots.of[0];
	previous = w->inst.publisher.current;
	x = instance_world_prepare(w, OTHER(1) ", " MINE(", 'action': 'count'"));
	assert_int_equal(policy_txn_commit(x), 0);
	assert_int_not_equal(w->inst.slots.of[1], left);
	assert_int_equal(instance_world_totals(w, 1).passed_packets, 2 * INSTANCE_BURST);
	turn_with(w, 0, previous);
	assert_int_equal(instance_world_totals(w, 1).passed_packets, 3 * INSTANCE_BURST);
	instance_world_turn(w, 1);
	assert_int_equal(instance_world_totals(w, 1).passed_packets, 4 * INSTANCE_BURST);
	while (!policy_txn_finish(x))
		make_quiescent(w, 0), make_quiescent(w, 1);
	policy_txn_free(x);
	assert_int_equal(w->inst.slots.policy[left], SLOT_FREE);
	assert_int_equal(instance_world_totals(w, 1).passed_packets, 4 * INSTANCE_BURST);
	/*
	 * A policy that stays in its slot counts on in the same line, wherever it is in the file.
	 */
	left = w->inst.slots.of[1];
	instance_world_reload(w, MINE(", 'action': 'count'"));
	assert_int_equal(w->inst.slots.of[0], left);
	assert_true(instance_world_totals(w, 0).passed_packets >= 4 * INSTANCE_BURST);
}

#define TREE(top, more)                                                                    \
	"{'name': 'top', 'limit': '9Gbit/s'" top "}, {'name': 'mid', 'limit': '9Gbit/s', " \
	"'parent': 'top'}, {'name': 'o', 'limit': '9Gbit/s', 'match': {'vlan': 1}, "       \
	"'parent': 'top'}, {'name': 'leaf', 'limit': '9Gbit/s', 'match': {'vlan': 2}" more "}"

static bool policy_moves(struct instance_world *w, const char *name, const char *policies)
{
	uint32_t slot = w->inst.slots.of[policy_names_find(w->inst.names, name)];

	instance_world_reload(w, policies);
	return w->inst.slots.of[policy_names_find(w->inst.names, name)] != slot;
}

/* A line refers to the lines of its ancestors: it moves if one of these moves or is replaced. */
TEST(test_lineages_move)
{
	static const struct {
		const char *name, *before, *after;
		bool moves;
	} rows[] = {
		{"leaf", TREE("", ", 'parent': 'mid'"), OTHER(7) ", " TREE("", ", 'parent': 'mid'"),
			false},
		{"leaf", TREE("", ", 'parent': 'mid'"), TREE("", ", 'parent': 'mid', 'weight': 2"),
			false},
		{"leaf", TREE("", ", 'parent': 'mid'"),
			TREE("", ", 'parent': 'mid', 'guaranteed': '1Mbit/s'"), false},
		{"mid", TREE("", ", 'parent': 'mid'"),
			TREE("", ", 'parent': 'mid', 'guaranteed': '1Mbit/s'"), false},
		{"leaf", TREE("", ", 'parent': 'mid'"), TREE("", ", 'parent': 'top'"), true},
		{"leaf", TREE("", ", 'parent': 'mid'"), TREE("", ""), true},
		{"leaf", TREE("", ""), TREE("", ", 'parent': 'mid'"), true},
		{"leaf", TREE("", ", 'parent': 'mid'"),
			TREE(", 'action': 'count'", ", 'parent': 'mid'"), true},
		{"mid", TREE("", ", 'parent': 'mid'"),
			TREE(", 'action': 'count'", ", 'parent': 'mid'"), true},
		{"mid", TREE("", ", 'parent': 'mid'"), TREE("", ", 'parent': 'top'"), false},
		{"leaf", TREE("", ""), TREE(", 'action': 'count'", ""), false},
	};
	struct instance_world w;

	for (size_t i = 0; i < COUNT(rows); i++) {
		instance_world_open(&w, rows[i].before);
		if (policy_moves(&w, rows[i].name, rows[i].after) != rows[i].moves)
			fail_msg("row %zu: %s %s", i, rows[i].name,
				rows[i].moves ? "stays" : "moves");
		instance_world_close(&w);
	}
}

/* Names are those in force: of the old policies until the commit, then of the new ones. */
TEST(test_names_follow)
{
	struct policy_txn *x;
	WORLD(w, MINE("") ", " OTHER(1));

	assert_int_equal(policy_names_find(w->inst.names, "o1"), 1);
	x = instance_world_prepare(w, OTHER(1) ", " OTHER(2));
	assert_int_equal(policy_names_find(w->inst.names, "mine"), 0);
	assert_int_equal(policy_names_find(w->inst.names, "o2"), 2);
	assert_int_equal(policy_txn_commit(x), 0);
	instance_world_finish(w, x);
	assert_int_equal(policy_names_find(w->inst.names, "mine"), 2);
	assert_int_equal(policy_names_find(w->inst.names, "o1"), 0);
	assert_int_equal(policy_names_find(w->inst.names, "o2"), 1);
}

/* Expects one new event, about the policy `mine` with this number of passed packets. */
static void expect_removed(uint64_t since, uint64_t passed)
{
	json_t *said = events_get(since);

	assert_int_equal(events_number(), since + 1);
	assert_string_equal(json_string_value(json_object_get(said, "event")), "policy_removed");
	assert_string_equal(json_string_value(json_object_get(said, "policy")), "mine");
	assert_int_equal(json_integer_value(json_object_get(said, "passed_packets")), passed);
	json_decref(said);
}

/* The counts of removed policies are kept in a sum, including packets counted until the end. */
TEST(test_gone_is_counted)
{
	struct snapshot *previous;
	struct policy_txn *x;
	uint64_t said;
	WORLD(w, MINE(""));

	instance_world_turn(w, 0);
	previous = w->inst.publisher.current;
	x = instance_world_prepare(w, OTHER(1));
	assert_int_equal(policy_txn_commit(x), 0);
	assert_int_equal(w->inst.gone.passed_packets, 0);
	turn_with(w, 1, previous);
	said = events_number();
	instance_world_finish(w, x);
	expect_removed(said, 2 * INSTANCE_BURST);
	assert_int_equal(w->inst.gone.passed_packets, 2 * INSTANCE_BURST);
	assert_int_equal(w->inst.gone.passed_bytes, 2 * INSTANCE_BURST * INSTANCE_BYTES);
	/* A new policy of the same name starts from zero. */
	x = instance_world_prepare(w, MINE(""));
	assert_int_equal(policy_txn_commit(x), 0);
	assert_int_equal(instance_world_totals(w, 0).passed_packets, 0);
	instance_world_finish(w, x);
}

/* Returns the passed packets: of policies without a parent, of removed ones, and of none. */
static uint64_t sum_passed(struct instance_world *w)
{
	uint64_t sum = w->inst.gone.passed_packets +
		       instance_worker_totals(&w->inst).unmatched_packets;

	for (unsigned i = 0; i < w->inst.n_policies; i++)
		if (!policy_has_parent(&w->inst.policies[i]))
			sum += instance_world_totals(w, i).passed_packets;
	return sum;
}

/*
 * A packet counts once, however many levels have counted it, and for each order of their removal.
 */
TEST(test_gone_levels)
{
#define TOP(more) "{'name': 'top', 'limit': '20Gbit/s'" more "}"
	static const char *const left[] = {
		TOP(", 'interval': '100ms'") ", " MINE(", 'parent': 'top'"),
		TOP(", 'match': {'vlan': 1}"), OTHER(1)};
	struct instance_world w;

	for (size_t first = 0; first < COUNT(left); first++) {
		instance_world_open(&w, OTHER(1));
		instance_world_reload(&w, TOP("") ", " MINE(", 'parent': 'top'"));
		instance_world_turn_all(&w);
		for (size_t i = first; i < COUNT(left); i++) {
			instance_world_reload(&w, left[i]);
			assert_int_equal(
				sum_passed(&w), instance_worker_totals(&w.inst).rx_packets);
		}
		assert_true(w.inst.gone.passed_packets >= 2 * INSTANCE_BURST);
		instance_world_close(&w);
	}
}

/* A used burst is not available again after a move. A new policy starts with a full burst. */
TEST(test_bursts)
{
	static const struct {
		const char *policies;
		unsigned pass; /* packets of the next burst */
	} cases[] = {
		{SLOW("") ", " OTHER(1), 0},
		{SLOW(", 'action': 'drop', 'accounting': 'l2'"), 0},
		{"{'name': 'new', 'match': {'direction': 'a-to-b'}" FEW "}", INSTANCE_BURST},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct policy_totals before, after;
		struct policy_txn *x;
		WORLD(w, SLOW(""));

		for (unsigned n = 0; n < 8; n++)
			instance_world_turn_all(w);
		before = instance_world_totals(w, 0);
		assert_in_range(before.passed_packets, 1, 4096 / INSTANCE_BYTES + 3);
		x = instance_world_prepare(w, cases[i].policies);
		assert_int_equal(policy_txn_commit(x), 0);
		if (cases[i].pass)
			before.passed_packets = 0;
		instance_world_turn(w, 0);
		after = instance_world_totals(w, 0);
		assert_in_range(after.passed_packets - before.passed_packets, cases[i].pass,
			cases[i].pass + 3);
		instance_world_finish(w, x);
	}
}

/* After hundreds of changes no memory leaks. */
TEST(test_nothing_is_kept)
{
	static const char *const turns[] = {MINE("") ", " SOURCES(1),
		MINE(", 'action': 'count'") ", " OTHER(1) ", " SOURCES(2), OTHER(1), ""};
	enum { TURNS = COUNT(turns) };
	unsigned held = 0, generations = 0;
	WORLD(w, turns[0]);

	for (unsigned i = 1; i <= 50 * TURNS; i++) {
		instance_world_reload(w, turns[i % TURNS]);
		assert_int_equal(slots_with(&w->inst, SLOT_LEFT), 0);
		assert_int_equal(slots_with(&w->inst, SLOT_FREE),
			w->inst.slots.capacity - w->inst.n_policies);
		if (i == TURNS)
			held = count_heap_allocs();
		else if (i % TURNS == 0)
			assert_int_equal(count_heap_allocs(), held);
		generations += w->inst.publisher.current->generation == i + 1;
	}
	assert_int_equal(generations, 50 * TURNS);
}

/* Returns n policies whose numbers start with `first`. The caller frees it. */
static char *many_policies(unsigned first, unsigned n)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"%s{'name': 'p%u', 'match': {'dst': '10.0.%u.%u/32'}, 'limit': '1Gbit/s'}",
			i ? ", " : "", first + i, (first + i) / 256, (first + i) % 256);
	fclose(out);
	return text;
}

static const char *text_of_event(uint64_t number)
{
	static char text[EVENT_TEXT];
	json_t *said = events_get(number);

	snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(said, "text")));
	json_decref(said);
	return text;
}

/*
 * Events have the last counts of removed policies with packets, of at most 64. One more has the
 * number of the others.
 */
TEST(test_removed_are_said)
{
	static const struct {
		unsigned counted, said;
		const char *more;
	} rows[] = {
		{0, 0, NULL},
		{1, 1, NULL},
		{64, 64, NULL},
		{65, 64, "1 more policies that had packets were removed"},
	};
	char *policies = many_policies(1, 72), text[256];

	for (size_t row = 0; row < COUNT(rows); row++) {
		uint64_t since, packets = 0;
		struct policy_txn *x;
		WORLD(w, policies);

		for (unsigned i = 0; i < rows[row].counted; i++) { /* all but the first policy */
			struct policy_totals *had =
				&w->inst.carried_over[w->inst.slots.of[i + 1]].before;

			*had = i % 2 ? (struct policy_totals){.dropped_packets = i + 1,
					       .dropped_bytes = 200 + i}
				     : (struct policy_totals){
					       .passed_packets = i + 1, .passed_bytes = 100 + i};
			packets += i + 1;
		}
		x = instance_world_prepare(w, MINE(""));
		assert_int_equal(policy_txn_commit(x), 0);
		since = events_number();
		instance_world_finish(w, x);
		assert_int_equal(
			events_number() - since, rows[row].said + (rows[row].more != NULL));
		for (unsigned i = 0; i < rows[row].said; i++) {
			snprintf(text, sizeof(text),
				i % 2 ? "policy p%u: removed; passed 0 packets (0), dropped %u (%u)"
				      : "policy p%u: removed; passed %u packets (%u), dropped 0 (0)",
				i + 2, i + 1, (i % 2 ? 200 : 100) + i);
			assert_string_equal(text_of_event(since + i), text);
		}
		if (rows[row].more)
			assert_string_equal(text_of_event(since + rows[row].said), rows[row].more);
		assert_int_equal(
			w->inst.gone.passed_packets + w->inst.gone.dropped_packets, packets);
	}
	free(policies);
}

/* Old and new policies must fit together. */
TEST(test_room)
{
	struct policy_txn *x;
	char *policies, *words, text[160];
	unsigned room;
	WORLD(w, MINE("") ", " OTHER(4000));

	room = w->inst.slots.capacity;
	policies = many_policies(1, room - 1);
	instance_world_write(w, policies);
	assert_int_equal(prepare_saying(w, &x, &words), -ENOSPC);
	snprintf(text, sizeof(text),
		"%s: policies: there is room for %u, those that this replaces included: restart "
		"the limiter\n",
		w->file, room);
	assert_string_equal(words, text);
	free(words);
	free(policies);
	policies = many_policies(1, room - 2);
	instance_world_reload(w, policies);
	assert_int_equal(w->inst.n_policies, room - 2);
	free(policies);
}

/* A change that the stop has given up does not touch the instance when it finishes. */
TEST(test_given_up)
{
	WORLD(w, MINE(""));
	ENDED_BY(policy_txn_free_at) struct policy_txn *x;
	unsigned before;
	ENDED_BY(free_at) char *words;

	before = count_heap_allocs();
	instance_world_write(w, MINE(", 'action': 'count'") ", " OTHER(1));
	w->inst.reload_gate = RELOAD_GIVEN_UP;
	x = (struct policy_txn *)w;
	assert_int_equal(prepare_saying(w, &x, &words), -ECANCELED);
	assert_null(x);
	assert_string_equal(words, "");
	assert_int_equal(count_heap_allocs(), before);
	free(words);
	w->inst.reload_gate = RELOAD_READING;
	assert_int_equal(prepare_saying(w, &x, &words), 0);
	assert_int_equal(w->inst.reload_gate, RELOAD_PAST_READING);
	assert_non_null(x);
}

/* Returns true if an unparsed packet of no policy is dropped. */
static bool refuses_unparsed(const struct instance_world *w)
{
	static const uint8_t frame[64];
	const uint8_t *data = frame;
	const struct packet packet = {.family = PACKET_OTHER,
		.vlan = PARSE_NO_VLAN,
		.unparsed = UNPARSED_FRAGMENT_UNKNOWN};
	uint32_t policy;

	return classify_burst(w->inst.classifier, 0, DIRECTION_B_TO_A, &packet, &data, 1, &policy);
}

/* The setting for unparsed packets is independent of the policies. */
TEST(test_unparsed)
{
	static const struct {
		const char *more;
		bool refused;
	} rows[] = {
		{"'unparsed': 'drop', ", true},
		{"'unparsed': 'pass', ", false},
		{"'unparsed': 'drop', 'shadow': true, ", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		WORLD(w, MINE(""), .more = rows[i].more);

		assert_int_equal(refuses_unparsed(w), rows[i].refused);
		instance_world_reload(w, MINE(", 'action': 'count'") ", " OTHER(1));
		assert_int_equal(refuses_unparsed(w), rows[i].refused);
	}
}

/* Writes into the file that the wire drops packets of no policy. */
static void let_file_drop(const struct instance_world *w)
{
	static const char wire[] = "\"b\": \"b\"";
	char text[4096], *at;
	FILE *file = fopen(w->file, "r+");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	at = strstr(text, wire);
	assert_non_null(at);
	at += strlen(wire);
	rewind(file);
	fprintf(file, "%.*s, \"default\": \"drop\"%s", (int)(at - text), text, at);
	assert_int_equal(fclose(file), 0);
}

/* A reload can change the default of a wire, also alone. */
TEST(test_drops)
{
	struct policy_txn *x;
	char *words;
	WORLD(w, MINE(""));

	for (unsigned i = 0; i < 2; i++) {
		const uint32_t drops = i == 0; /* a bit of the wire */

		instance_world_write(w, MINE(""));
		if (drops)
			let_file_drop(w);
		if (prepare_saying(w, &x, &words))
			fail_msg("refused: %s", words);
		free(words);
		assert_false(policy_txn_is_empty(x));
		assert_int_equal(policy_txn_commit(x), 0);
		instance_world_finish(w, x);
		assert_int_equal(classifier_drops(w->inst.classifier), drops);
	}
}

#define SHAPED(name, vlan, limit, more)                                                      \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '" limit "', 'action': " \
	"'shape', " more "}"
#define SOON "'shape': {'delay': '50ms'}"
#define LATE "'shape': {'delay': '5s'}"

/* Timed queues are emptied first, and queues of hard limits last. */
TEST(test_order_of_leaving)
{
	static const unsigned order[] = {2, 5, 1, 4, 0, 3};
	const struct snapshot *current;
	struct policy_txn *x;
	uint32_t slots[6];
	WORLD(w, SHAPED("held", "1", "1Gbit/s", SOON) ", " SHAPED(
			 "late", "2", "1Gbit/s", LATE) ", " SHAPED("timed", "3", "1Gbit/s",
			 SOON) ", " SHAPED("held2", "4", "1Gbit/s", SOON) ", " SHAPED("packets",
			 "5", "9/s", "'count': 'packets', " SOON) ", " SHAPED("timed2", "6",
			 "1Gbit/s", SOON) ", " OTHER(7));

	for (unsigned i = 0; i < 6; i++)
		slots[i] = w->inst.slots.of[i];
	x = instance_world_prepare(w, OTHER(8));
	/* Hard limits without their ledger. */
	w->config->policies[0].guarantee = w->config->policies[3].guarantee = GUARANTEE_HARD;
	assert_int_equal(policy_txn_commit(x), 0);
	current = w->inst.publisher.current;
	assert_int_equal(current->n_leaving, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(current->leaving[i], slots[order[i]]);
	instance_world_finish(w, x);
}

TEST_GROUP(instance_world_start, instance_world_stop)
