/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies and alarms about a ledger in many states: of its disk and of etcd, which the test plays,
 * of its neighbour, and of its messages. Random states have exactly their alarms, each with its
 * name and a sentence with the reason.
 */
#include "show_world.h"
#include "commit_world.h"
#include "control_clock.h"
#include "etcd_world.h"

#include "base/prng.h"
#include "base/time.h"
#include "etcd_share.h"
#include "gossip/gossip.h"
#include "gossip_socket.h"
#include "ledger_watch.h"
#include "losses.h"

#define HELD(name, direction)                                                                \
	"{'name': '" name "', 'match': {'direction': '" direction "'}, 'limit': '120/min', " \
	"'count': 'packets', 'burst': 20, 'guarantee': 'hard'}"
#define ROUND_NS (1000 * SECOND_NS) /* longer than a retry, and than any memory of events */

static struct book *book_of(const struct instance_world *w)
{
	return conserve_book((struct conserve *)(uintptr_t)limiter_conserve(w->inst.limiter));
}

static void expect_state(struct instance_world *w, const char *expected)
{
	char text[64];

	snprintf(text, sizeof(text), "{'state': '%s', '...': 0}", expected);
	show_expect(show_ask(w, "/weir/ledger", NULL), text);
}

static void run_round(struct instance_world *w)
{
	for (unsigned i = 0; i == 0 || (i < 100 && view_of_commit(w).committing); i++) {
		commit_advance(&w->inst);
		instance_world_turn_all(w);
	}
}

/* Has something saved: successfully, or with this error of the disk. */
static void save(struct instance_world *w, int error)
{
	struct book *book = book_of(w);

	disk.result = 0;
	clock_later_ns += ROUND_NS;
	run_round(w);
	if (!book->accounts[0]->changed)
		TAILQ_INSERT_TAIL(&book->changed, book->accounts[0], next_changed);
	book->accounts[0]->changed = true;
	disk.put_error = error;
	run_round(w);
	disk.put_error = 0;
}

/* The worst state of a ledger, and its numbers. */
TEST_WITH(test_states, wait_long, NULL)
{
	struct instance_world w;
	struct commit_peer peer;
	struct book_link *link;

	open_group(&w, &peer);
	expect_state(&w, "committing"); /* a round runs */
	end_round(&w);
	while (limiter_uncommitted(w.inst.limiter)) {
		commit_advance(&w.inst);
		end_round(&w);
	}
	expect_state(&w, "committed");
	link = book_of(&w)->links;
	w.inst.workers[0].counters.expired = 5;
	w.inst.workers[1].counters.expired = 6;
	w.inst.renewal.late = 7;
	link->foreign = 22;
	link->invalid = 33;
	link->collided = 44;
	link->peer_identity.low = 2;
	save(&w, -EBUSY);
	show_expect(show_ask(&w, "/weir/ledger", NULL),
		"{'state': 'failing', 'recovering_policies': 0, 'store': '/nowhere/weir', "
		"'epoch': 1, 'began_without_memory': false, 'saved': false, 'enforced': false, "
		"'error': 'another process has it open', 'rounds': '*', 'failures': 1, "
		"'last_round_ms': '*', 'longest_round_ms': '*', 'neighbours_of_other_ledgers': 1, "
		"'messages_of_other_ledgers': 22, 'invalid_statements': 33, "
		"'colliding_statements': 44, 'expired': 11, "
		"'control_late': 7, 'unused_records': 0, 'unused': [], '...': 0}");
	save(&w, 0);
	expect_state(&w, "other_ledger");
	link->peer_identity.low = 1;
	expect_state(&w, "committed");
	close_group(&w, &peer);
	disk_new();
	disk.exists = false;
	open_instance(&w, HELD("held", "a-to-b"));
	show_expect(show_ask(&w, "/weir/ledger", NULL),
		"{'state': 'recovering', 'recovering_policies': 1, 'began_without_memory': true, "
		"'...': 0}");
	disk.result = 0;
	instance_world_close(&w);
	/* A store that no policy needs, and none. */
	disk_new();
	open_instance(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	expect_state(&w, "committed");
	instance_world_close(&w);
	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	expect_state(&w, "none");
	instance_world_close(&w);
}

/* Expects a number of a reply, shown with six digits. */
static void expect_number(const json_t *json, const char *key, double want)
{
	double got = json_number_value(json_object_get(json, key));

	if (!(fabs(got - want) <= 1e-3 * fabs(want) + 1e-3))
		fail_msg("%s: %f, expected %f", key, got, want);
}

/*
 * Amounts of a limit are shown by its time, those of a burst as they are. The numbers of a limiter
 * that moves amounts differ from each other.
 */
TEST_WITH(test_amounts, wait_long, NULL)
{
	const struct conserve *conserve;
	struct instance_world w;
	struct commit_peer peer;
	struct conserve_edge_view edge;
	struct conserve_view view;
	json_t *reply, *first;

	open_group(&w, &peer);
	clock_ns = control_now() + 7 * MS; /* stands still */
	conserve = limiter_conserve(w.inst.limiter);
	view = conserve_view(conserve, 0, clock_ns);
	edge = conserve_edge(conserve, 0, 0, clock_ns);
	assert_int_not_equal(view.balance, view.share);
	reply = show_ask(&w, "/weir/ledger", "moved");
	expect_number(reply, "share_bps", 8.0 * (double)view.share);
	expect_number(reply, "balance_bps", 8.0 * (double)view.balance);
	expect_number(reply, "usable_bps", 8.0 * (double)view.usable);
	expect_number(reply, "free_bps", 8.0 * (double)view.free);
	expect_number(reply, "in_flight_bps", 8.0 * (double)view.in_flight);
	expect_number(reply, "promised_bps", 8.0 * (double)view.promised);
	expect_number(reply, "inherited_bps", 8.0 * (double)view.inherited);
	expect_number(reply, "target_bps", fmax(8.0 * view.target, 0));
	first = json_array_get(json_object_get(reply, "edges"), 0);
	expect_number(first, "granted", (double)edge.ledger.granted);
	expect_number(first, "received", (double)edge.ledger.received);
	expect_number(first, "in_flight_bps", 8.0 * (double)edge.ledger.in_flight);
	expect_number(
		first, "promised_bps", 8.0 * (double)(edge.ledger.locked - edge.ledger.granted));
	expect_number(first, "inherited_bps", 8.0 * (double)edge.ledger.inherited);
	expect_number(first, "silent_ms", (double)((clock_ns - edge.ledger.received_ns) / MS_NS));
	show_expect(json_incref(first),
		"{'peer': 'peer', 'alive': true, 'in_use': true, 'spare': false, '...': 0}");
	json_decref(reply);
	clock_ns = 0;
	close_group(&w, &peer);
}

/* A burst with an account of its own, in whole units. */
TEST_WITH(test_burst, wait_long, NULL)
{
	struct instance_world w;
	struct conserve_view view;
	char expected[512];

	disk_new();
	open_instance(&w, "{'name': 'held', 'limit': '120/min', 'count': 'packets', 'burst': 21, "
			  "'allocator': 'adaptor', 'guarantee': 'hard'}");
	clock_ns = control_now();
	view = conserve_view(limiter_conserve(w.inst.limiter),
		limiter_conserve_burst_index(w.inst.limiter, 0), clock_ns);
	assert_in_range(view.share, 10, 11);
	snprintf(expected, sizeof(expected),
		"{'limit_per_s': 2.0, 'burst': {'limit': 21, 'share': %u, 'usable': %u, "
		"'usable_for_ms': null, 'free': %u, 'in_flight': 0, 'promised': 0, "
		"'inherited': 0, 'target': %u, 'recovering': false}, '...': 0}",
		(unsigned)view.share, (unsigned)view.usable, (unsigned)view.free,
		(unsigned)view.target);
	show_expect(show_ask(&w, "/weir/ledger", "held"), expected);
	clock_ns = 0;
	disk.result = 0;
	instance_world_close(&w);
}

static struct {
	int error, sentinel_error, etcd_error;
	enum etcd_share_state etcd;
	struct book_link link;
	bool invalid, refused;
	unsigned recovering;
	enum book_closure closes;
} state_of;

/* Datagrams of strangers for five seconds, or none for long. */
static void refuse_datagrams(struct instance_world *w)
{
	struct gossip_counters *c = (struct gossip_counters *)(uintptr_t)gossip_counters(
		limiter_gossip(w->inst.limiter));
	uint64_t now = control_now();

	losses_run(&w->inst, now);
	for (unsigned s = 1; s <= 5; s++) {
		c->verdict[GOSSIP_FORGED] += state_of.refused;
		losses_run(&w->inst, now + s * SECOND_NS);
	}
}

/* One request and its answer. */
static void answer_from_etcd(struct instance_world *w, int result)
{
	clock_later_ns += ROUND_NS;
	etcd_share_look(&w->inst, control_now());
	if (result)
		etcd_world_add("total", 1, result);
	else
		etcd_world_add_units("total", 1, 1000000, 0, 1000000);
	etcd_share_look(&w->inst, control_now());
	etcd_world.n_draws = 0;
}

/* Once fenced, it stays so. */
static void choose_etcd(struct instance_world *w, struct prng *prng, bool fences)
{
	static const int results[] = {0, -EPERM, -ETIMEDOUT, -ESTALE};
	unsigned chosen = prng_below(prng, fences ? 4 : 3);

	if (state_of.etcd == DRAW_FENCED)
		return;
	answer_from_etcd(w, 0);
	if (chosen > 0)
		answer_from_etcd(w, results[chosen]);
	state_of.etcd_error = chosen == 1 ? -EPERM : 0;
	state_of.etcd = chosen == 2 ? DRAW_AWAY : chosen == 3 ? DRAW_FENCED : DRAW_CONNECTED;
}

static void choose_state(struct instance_world *w, struct prng *prng)
{
	static const int errors[] = {0, -ENOSPC, -ESTALE};
	struct book *book = book_of(w);

	/* The record that a recovering account has lost its memory is written once. */
	state_of.error = state_of.recovering ? 0 : errors[prng_below(prng, 3)];
	state_of.sentinel_error = !state_of.recovering && prng_below(prng, 2) ? -EROFS : 0;
	state_of.link.doubt = prng_below(prng, 2) ? BOOK_TWICE : BOOK_SURE;
	state_of.link.peer_identity = (struct book_identity){0, 1 + prng_below(prng, 2)};
	state_of.invalid = prng_below(prng, 2);
	state_of.refused = prng_below(prng, 2);
	disk.sentinel_error = state_of.sentinel_error;
	save(w, 0); /* control looks at the sentinel */
	refuse_datagrams(w);
	if (state_of.recovering && prng_below(prng, 2)) {
		state_of.closes = prng_below(prng, 2) ? BOOK_OLDER_STORE : BOOK_NAME_TWICE;
		book_closes(book, state_of.closes);
	}
	show_tick(w, control_now());
	book->links[0].has_reported = true;
	book->links[0].peer_identity = state_of.link.peer_identity;
	book->links[0].doubt = state_of.link.doubt;
	book->links[0].invalid += state_of.invalid;
	save(w, state_of.error);
	w->inst.receives_since_ns = control_now();
}

/* The oracle: name, whether it is active, and a part of its sentence. */
static void expect_alarms(json_t *health)
{
	bool closed = state_of.recovering > 0;
	const struct {
		const char *name, *words;
		bool active;
	} rows[] = {
		{"ledger_failing", "No space left", state_of.error == -ENOSPC},
		{"ledger_exchanged", "is closed: another process", state_of.error == -ESTALE},
		{"ledger_sentinel", "weir.sentinel cannot be used", state_of.sentinel_error},
		{"ledger_recovering",
			state_of.recovering == 2 ? "recovering: 2 hard limits and quotas pass "
						 : "recovering: 1 hard limit or quota passes ",
			state_of.recovering},
		/* A limiter that recovers has no identity to compare. */
		{"ledger_other", "uses another ledger",
			state_of.link.peer_identity.low == 2 && !closed},
		{"ledger_invalid", "sends impossible statements", state_of.invalid},
		{"ledger_older", "is older than", closed && state_of.closes == BOOK_OLDER_STORE},
		{"name_twice", " named ",
			state_of.link.doubt == BOOK_TWICE ||
				(closed && state_of.closes == BOOK_NAME_TWICE)},
		{"datagrams_refused", "rejected: forged ", state_of.refused},
		{"etcd_away", "does not answer", state_of.etcd == DRAW_AWAY},
		{"etcd_fenced", "has fenced", state_of.etcd == DRAW_FENCED},
		{"etcd_refused", "quota total: ", state_of.etcd_error},
	};
	ENDED_BY(free_at) char *texts = json_dumps(json_object_get(health, "alarms"), 0);
	json_t *active = json_object_get(health, "active"), *number;
	json_int_t sum = 0, expected = 0;
	const char *name;

	for (size_t i = 0; i < COUNT(rows); i++) {
		number = json_object_get(active, rows[i].name);
		if (!number || (json_integer_value(number) > 0) != rows[i].active ||
			!strstr(texts, rows[i].words) == rows[i].active)
			fail_msg("%s, expected %d: %s", rows[i].name, rows[i].active, texts);
		expected += json_integer_value(number);
	}
	json_object_foreach (active, name, number)
		sum += json_integer_value(number);
	assert_int_equal(sum, expected);
	assert_int_equal(sum, json_array_size(json_object_get(health, "alarms")));
}

TEST_WITH(test_combinations, wait_long, NULL)
{
	static const struct {
		const char *policies;
		unsigned recovering;
	} worlds[] = {{HELD("held", "a-to-b") ", {'name': 'total', 'match': {'vlan': 7}, "
					      "'allocator': 'quota', 'total': '1MB'}",
			      0},
		{HELD("held", "a-to-b"), 1},
		{HELD("held", "a-to-b") ", " HELD("also", "b-to-a"), 2}};
	struct prng prng;

	prng_seed(&prng, 1);
	more_of_ledger = ", 'etcd': {'endpoints': ['http://one:2379'], 'insecure': true}";
	for (size_t i = 0; i < COUNT(worlds); i++) {
		ENDED_BY(instance_world_close) struct instance_world w;

		memset(&state_of, 0, sizeof(state_of));
		state_of.recovering = worlds[i].recovering;
		etcd_world = (struct etcd_world){0};
		disk_new();
		disk.exists = !state_of.recovering;
		open_instance(&w, worlds[i].policies);
		for (unsigned round = 0; round < ROUNDS(200); round++) {
			json_t *health;

			if (!state_of.recovering)
				choose_etcd(&w, &prng, round > ROUNDS(200) / 2);
			choose_state(&w, &prng);
			health = show_ask(&w, "/weir/health", NULL);
			expect_alarms(health);
			json_decref(health);
		}
		disk.result = 0;
	}
	more_of_ledger = "";
}

TEST_GROUP(instance_world_start, instance_world_stop)
