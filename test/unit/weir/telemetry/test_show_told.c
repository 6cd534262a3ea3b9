/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about events in other parts of a limiter: rejected reloads, wires that fail open, ledgers
 * in dispute, clocks that differ. The test has stubs for those parts.
 */
#include "show_world.h"
#include "scope.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/time.h"
#include "bypasses.h"
#include "commit.h"
#include "differs.h"
#include "etcd_share.h"
#include "ledger_watch.h"
#include "links.h"
#include "policy_txn.h"
#include "reload.h"
#include "show.h"
#include "specimen.h"
#include "store/store.h"
#include "tap.h"
#include "tap_session.h"
#include "watch.h"

#define NOW (100 * SECOND_NS)

#define GROUP                                                                  \
	"'gossip': {'listen': '127.5.1.3:7948', 'insecure': true, 'roster': [" \
	"{'name': 'test', 'address': '127.5.1.3:7948'}, "                      \
	"{'name': 'two', 'address': '127.6.1.3:7948'}, "                       \
	"{'name': 'three', 'address': '127.6.1.4:7948'}]}, "

#define HELD                                                                            \
	"{'name': 'soft', 'limit': '8Mbit/s', 'match': {'vlan': 7}}, {'name': 'held', " \
	"'limit': '120/min', 'count': 'packets', 'burst': 20, 'guarantee': 'hard'}"

#define BURST_INDEX 7 /* selects the account of a burst in the test, and not that of a limit */

static struct {
	bool made_up; /* uses the members below; otherwise the limiter replies itself */
	uint64_t past_ports;
	int waits_for;
	struct reload_outcome reload;
	const char *reload_answer;
	struct change_request asked;
	uint64_t standing_ns[INSTANCE_WORKERS];
	struct differs differs[3];
	bool unheard[3];
	struct ledger_disputes disputes;
	struct commit_view commit;
	bool kept, uncommitted;
	unsigned recovering;
	struct conserve_view limit, burst;
	bool burst_apart;
	struct conserve_edge_view edge;
	bool is_edge;
	struct limiter_neighbour neighbour;
	struct timekeeper keeper;
	bool told;
	struct gossip_sum sum;
	bool unwatched;
	uint32_t key, key_also;
	bool required, identities;
	int change_error;
	bool drawn;
	struct budget_share_view share;
	struct quota_view quota;
	unsigned taps; /* workers that get memory for one */
} told;

/* The linker puts these in the place of the real ones, which answer while nothing is made up. */
#define MADE_UP(type, name, params, args, answer)  \
	type __real_##name params;                 \
	type __wrap_##name params;                 \
	type __wrap_##name params                  \
	{                                          \
		if (!told.made_up)                 \
			return __real_##name args; \
		return answer;                     \
	}

static bool fill(void *to, const void *from, size_t size, bool answer)
{
	memcpy(to, from, size);
	return answer;
}

static uint64_t now_ns = NOW;

uint64_t __wrap_control_now(void);
uint64_t __wrap_control_now(void)
{
	return now_ns;
}

MADE_UP(bool, bypasses_are_used, (const struct instance *inst, unsigned port), (inst, port),
	told.past_ports >> port & 1)
MADE_UP(int, reload_waits_for, (const struct instance *inst), (inst), told.waits_for)
MADE_UP(const struct reload_outcome *, reload_last, (const struct instance *inst), (inst),
	&told.reload)
MADE_UP(const char *, reload_request_by,
	(struct instance * inst, const char *by, const struct change_request *request),
	(inst, by, request),
	strcmp(by, "/weir/reload") == 0 && fill(&told.asked, request, sizeof(told.asked), true)
		? told.reload_answer
		: NULL)
MADE_UP(int, reload_change,
	(struct instance * inst, struct change_request *request, uint64_t *serial),
	(inst, request, serial),
	fill(&told.asked, request, sizeof(told.asked), true) ? told.change_error : 0)
MADE_UP(uint64_t, watch_standing, (const struct instance *inst, unsigned worker, uint64_t at_ns),
	(inst, worker, at_ns), at_ns == NOW ? told.standing_ns[worker] : 0)
MADE_UP(struct differs, differs_of, (const struct instance *inst, unsigned i, uint64_t at_ns),
	(inst, i, at_ns), told.differs[i])
MADE_UP(bool, differs_unheard, (const struct instance *inst, unsigned i, uint64_t at_ns),
	(inst, i, at_ns), told.unheard[i])
MADE_UP(struct ledger_disputes, ledger_disputes, (const struct instance *inst), (inst),
	told.disputes)
MADE_UP(bool, commit_view, (const struct instance *inst, struct commit_view *view), (inst, view),
	fill(view, &told.commit, sizeof(*view), told.kept))
MADE_UP(unsigned, commit_count_recovering, (const struct instance *inst, uint64_t at_ns),
	(inst, at_ns), told.recovering)
MADE_UP(bool, limiter_uncommitted, (const struct limiter *limiter), (limiter), told.uncommitted)
MADE_UP(struct conserve_view, conserve_view,
	(const struct conserve *c, unsigned policy, uint64_t at_ns), (c, policy, at_ns),
	policy == BURST_INDEX ? told.burst : told.limit)
MADE_UP(struct conserve_edge_view, conserve_edge,
	(const struct conserve *c, unsigned policy, unsigned edge, uint64_t at_ns),
	(c, policy, edge, at_ns), told.edge)
MADE_UP(unsigned, limiter_conserve_burst_index, (const struct limiter *limiter, unsigned policy),
	(limiter, policy), told.burst_apart ? BURST_INDEX : LIMITER_ADDED)
MADE_UP(bool, limiter_neighbour,
	(const struct limiter *limiter, unsigned peer, struct limiter_neighbour *neighbour),
	(limiter, peer, neighbour),
	fill(neighbour, &told.neighbour, sizeof(*neighbour), told.is_edge))
MADE_UP(const struct timekeeper *, limiter_timekeeper, (const struct limiter *limiter), (limiter),
	&told.keeper)
MADE_UP(bool, gossip_reported_sum,
	(const struct gossip *gossip, unsigned policy, unsigned peer, struct gossip_sum *sum),
	(gossip, policy, peer, sum),
	fill(sum, &told.sum, sizeof(*sum), told.told &&policy == 0 && peer == 1))
MADE_UP(const struct peer *, gossip_peer, (const struct gossip *gossip, unsigned i), (gossip, i),
	told.unwatched ? NULL : __real_gossip_peer(gossip, i))
MADE_UP(uint32_t, keyring_name, (const struct keyring *keyring, bool identity), (keyring, identity),
	identity ? told.key : 0)
MADE_UP(uint32_t, keyring_also, (const struct keyring *keyring), (keyring), told.key_also)
MADE_UP(bool, keyring_has_identities, (const struct keyring *keyring), (keyring), told.identities)
MADE_UP(bool, keyring_requires_identities, (const struct keyring *keyring), (keyring),
	told.required)
MADE_UP(bool, etcd_share_budget_of,
	(const struct instance *inst, unsigned policy, struct budget_share_view *view),
	(inst, policy, view), fill(view, &told.share, sizeof(*view), told.drawn))
MADE_UP(struct quota_view, budget_view, (const struct budget *b, unsigned policy, uint64_t at_ns),
	(b, policy, at_ns), told.quota)
MADE_UP(struct telemetry_peer, telemetry_caller, (const struct telemetry_server *server), (server),
	((struct telemetry_peer){.uid = 71, .gid = 72, .pid = 73}))

MADE_UP(struct tap *, tap_create,
	(unsigned worker, uint64_t number, bool whole, uint64_t rate, uint64_t hz),
	(worker, number, whole, rate, hz),
	worker < told.taps ? __real_tap_create(worker, number, whole, rate, hz) : NULL)
MADE_UP(struct tap *, tap_lots_create,
	(unsigned worker, uint64_t number, uint64_t seed, uint32_t rate, uint64_t hz),
	(worker, number, seed, rate, hz),
	worker < told.taps ? __real_tap_lots_create(worker, number, seed, rate, hz) : NULL)

static char directory[32], more[1024];

static void open_told(struct instance_world *w, const char *group, const char *policies)
{
	char store[64];

	memset(&told, 0, sizeof(told));
	now_ns = NOW;
	strcpy(directory, "/tmp/weir-told-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(store, sizeof(store), "%s/store", directory);
	snprintf(more, sizeof(more), "%s'ledger': {'store': '%s'}, ", group, store);
	assert_int_equal(store_create(store, (struct store_identity){0, 1}), 0);
	instance_world_open_more(w, more, policies);
	told.made_up = true;
	told.waits_for = -1;
}

static void close_told(struct instance_world *w)
{
	char command[64];

	told.made_up = false;
	instance_world_close(w);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void expect_alarms(struct instance_world *w, const char *alarms)
{
	char text[2048];

	snprintf(text, sizeof(text), "{'alarms': [%s], '...': 0}", alarms);
	show_expect(show_ask(w, "/weir/health", NULL), text);
}

/* Each worker and each port has its own alarms. */
TEST(test_alarms)
{
#define PAST(port) "'port " port ": packets go straight to the other port, past every limit'"
#define GONE(port, number)                                 \
	"'port " port ": net_null" number " was removed: " \
	"the port stays unused until a restart of weir, even with a new device'"
	struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	w.config->workers[0] = 5;
	w.config->workers[1] = 6;
	expect_alarms(&w, "");
	told.standing_ns[1] = 2300 * MS_NS;
	expect_alarms(&w, "'worker 1 (CPU 6) is stuck for 2.3 s'");
	told.standing_ns[0] = 1; /* any duration */
	expect_alarms(&w, "'worker 0 (CPU 5) is stuck for 0.0 s', "
			  "'worker 1 (CPU 6) is stuck for 2.3 s'");
	memset(told.standing_ns, 0, sizeof(told.standing_ns));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		told.waits_for = (int)i;
		expect_alarms(&w, i ? "'the reload keeps the previous configuration until worker 1 "
				      "(CPU 6) runs again; another reload waits until then'"
				    : "'the reload keeps the previous configuration until worker 0 "
				      "(CPU 5) runs again; another reload waits until then'");
		show_expect(show_ask(&w, "/weir/config", NULL),
			i ? "{'reload_waits_for': 'worker 1 (CPU 6)', '...': 0}"
			  : "{'reload_waits_for': 'worker 0 (CPU 5)', '...': 0}");
	}
	told.waits_for = -1;
	told.past_ports = 2;
	expect_alarms(&w, PAST("b"));
	told.past_ports = 3;
	expect_alarms(&w, PAST("a") ", " PAST("b"));
	told.past_ports = 0;
	w.inst.links->ports[1].gone = true;
	expect_alarms(&w, GONE("b", "1"));
	w.inst.links->ports[0].gone = true;
	told.past_ports = 1;
	expect_alarms(&w, PAST("a") ", " GONE("a", "0") ", " GONE("b", "1"));
	w.config->workers[0] = 0;
	w.config->workers[1] = 1;
	close_told(&w);
}

/* The outcome of the last reload, and an alarm while it is a rejection. */
TEST(test_last_reload)
{
	char messages[] = "f.json:3: limit: no\nf.json:4: nor this\n";
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	told.reload = (struct reload_outcome){.error = -EINVAL,
		.when = {.tv_sec = 1000000000},
		.took_ns = 2500000,
		.added = 1,
		.removed = 2,
		.changed = 3,
		.unchanged = 4,
		.messages = messages};
	expect_alarms(&w, ""); /* no reload yet */
	show_expect(show_ask(&w, "/weir/config", NULL),
		"{'last_reload': null, 'reload_waits_for': null, '...': 0}");
	told.reload.known = true;
	expect_alarms(&w, "'the reload of 2001-09-09T01:46:40Z was refused, and the previous "
			  "configuration is in force: f.json:3: limit: no'");
	show_expect(show_ask(&w, "/weir/config", NULL),
		"{'last_reload': {'ok': false, 'superseded': false, 'at': "
		"'2001-09-09T01:46:40Z', 'took_ms': 2.5, 'added': 1, 'removed': 2, 'changed': 3, 'unchanged': 4, 'messages': "
		"['f.json:3: limit: no', 'f.json:4: nor this']}, '...': 0}");
	told.reload.superseded = true;
	expect_alarms(&w, "");
	show_expect(show_ask(&w, "/weir/config", NULL),
		"{'last_reload': {'ok': false, 'superseded': true, '...': 0}, '...': 0}");
	told.reload.error = 0;
	expect_alarms(&w, "");
	show_expect(show_ask(&w, "/weir/config", NULL),
		"{'last_reload': {'ok': true, '...': 0}, '...': 0}");
}

/* Lines of 100 bytes with their overhead; a reply has room for 60. */
TEST(test_many_messages)
{
	char text[61 * 93 + 1] = "";

	for (unsigned i = 0; i < 61; i++) {
		memset(text + strlen(text), 'a' + (int)(i % 26), 92);
		strcat(text, i < 60 ? "\n" : "");
	}
	for (unsigned n = 59; n <= 61; n++) {
		char *end = text + 93 * (size_t)n;
		char kept = *end;
		json_t *lines;

		*end = '\0';
		lines = json_lines(text);
		*end = kept;
		assert_int_equal(json_array_size(lines), n);
		assert_int_equal(json_string_length(json_array_get(lines, n - 1)), n > 60 ? 3 : 92);
		assert_int_equal(json_string_value(json_array_get(lines, 58))[91], 'a' + 58 % 26);
		if (n > 60)
			assert_string_equal(json_string_value(json_array_get(lines, 60)), "...");
		json_decref(lines);
	}
}

/* A request for a reload has its user, and the reply has the worker that it waits for. */
TEST(test_reload_asked)
{
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	assert_null(show_ask(&w, "/weir/reload", NULL));
	told.reload_answer = "queued";
	show_expect(show_ask(&w, "/weir/reload", NULL), "{'reload': 'queued', 'waits_for': null}");
	assert_int_equal(told.asked.kind, CHANGE_RELOAD);
	assert_int_equal(told.asked.uid, 71);
	assert_int_equal(told.asked.gid, 72);
	assert_int_equal(told.asked.pid, 73);
	assert_int_equal(told.asked.fd, -1);
	w.config->workers[1] = 6;
	told.waits_for = 1;
	show_expect(show_ask(&w, "/weir/reload", NULL),
		"{'reload': 'queued', 'waits_for': 'worker 1 (CPU 6)'}");
	w.config->workers[1] = 1;
}

TEST(test_change_refused)
{
	static const struct {
		int error;
		const char *expected;
	} rows[] = {
		{-ENOSYS, "{'refused': '*started without --state*', 'busy': false}"},
		{-EAGAIN, "{'refused': 'another change is under way', 'busy': true}"},
		{-EBUSY, "{'refused': 'a change waits for its confirmation: weirctl confirm, or "
			 "weirctl rollback', 'busy': false}"},
		{-EALREADY, "{'refused': '*no change waits for its confirmation*', 'busy': false}"},
		{-ENOENT, "{'refused': '*no last good configuration is kept*', "
			  "'busy': false}"},
		{-ENOMEM, "{'refused': 'Cannot allocate memory', 'busy': false}"},
		{0, "{'started': 0}"},
	};
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.change_error = rows[i].error;
		show_expect(show_ask(&w, "/weir/confirm", NULL), rows[i].expected);
		assert_int_equal(told.asked.kind, CHANGE_CONFIRM);
		show_expect(show_ask(&w, "/weir/rollback", "17"), rows[i].expected);
		assert_int_equal(told.asked.kind, CHANGE_ROLLBACK);
		assert_int_equal(told.asked.number, 17);
		show_expect(show_ask(&w, "/weir/apply", "7"), rows[i].expected);
		assert_int_equal(told.asked.kind, CHANGE_APPLY);
		assert_int_equal(told.asked.within_ns, 7 * SECOND_NS);
		assert_int_equal(told.asked.pid, 73);
	}
}

/* Peers with another configuration, each with the difference and its time. */
TEST(test_peers_differ)
{
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, GROUP, "{'name': 'p', 'limit': '1Mbit/s'}");
	w.inst.differs_alarm_ns = 5 * SECOND_NS;
	told.differs[2] = (struct differs){
		.since_ns = NOW - 5 * SECOND_NS, .named = 1, .text = {"limit of p"}};
	expect_alarms(&w, "'three differs for 5 s: limit of p'");
	show_expect(show_ask(&w, "/weir/peers", "1"),
		"{'peers': [{'name': 'two', 'differs': null, 'differs_ms': null, '...': 0}, "
		"{'name': 'three', 'differs': ['limit of p'], 'differs_ms': 5000, '...': 0}], "
		"'...': 0}");
	told.differs[2].since_ns++; /* 1 ns too short: a reload might still reach all */
	expect_alarms(&w, "");
	told.differs[2].fixed = true;
	told.differs[2].named = 2;
	strcpy(told.differs[2].text[1], "burst of p");
	expect_alarms(&w, "'three differs for 5 s: limit of p'");
	told.differs[2].others = 3;
	show_expect(show_ask(&w, "/weir/peers", "2"),
		"{'peers': [{'differs': ['limit of p', 'burst of p', '3 more'], '...': 0}], "
		"'...': 0}");
	told.differs[2].others = 0;
	told.differs[2].more = true;
	show_expect(show_ask(&w, "/weir/peers", "2"),
		"{'peers': [{'differs': ['limit of p', 'burst of p', "
		"'0 more, list incomplete'], '...': 0}], '...': 0}");
	told.unheard[2] = true; /* which is worse */
	expect_alarms(&w, "'no gossip from three since the start: check its process, address and "
			  "key'");
	told.unheard[1] = true;
	told.differs[2].since_ns = 0;
	expect_alarms(&w, "'no gossip from two since the start: check its process, address and "
			  "key', 'no gossip from three since the start: check its process, address "
			  "and key'");
}

/* The ledger of a neighbour, peers without a watcher, and names of keys. */
TEST(test_peers)
{
	static const struct {
		struct limiter_neighbour neighbour;
		bool edge;
		const char *expected;
	} rows[] = {
		{{.spoke = true, .invalid = 3}, false,
			"{'peers': [{'ledger': null, 'invalid_statements': 3, '...': 0}], "
			"'...': 0}"},
		{{.foreign = true, .says = {1, 2}}, true,
			"{'peers': [{'ledger': 'unheard', '...': 0}], '...': 0}"},
		{{.spoke = true, .foreign = true, .says = {1, 2}}, true,
			"{'peers': [{'ledger': 'other', 'other_ledger': "
			"'00000000000000010000000000000002', '...': 0}], '...': 0}"},
		{{.spoke = true, .says = {0, 1}}, true,
			"{'peers': [{'ledger': 'same', '...': 0}], '...': 0}"},
		{{.spoke = true}, true, "{'peers': [{'ledger': 'unknown', '...': 0}], '...': 0}"},
	};
	ENDED_BY(close_told) struct instance_world w;
	json_t *reply;

	open_told(&w, GROUP, "{'name': 'p', 'limit': '1Mbit/s'}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.neighbour = rows[i].neighbour;
		told.is_edge = rows[i].edge;
		reply = show_ask(&w, "/weir/peers", "2");
		assert_int_equal(json_object_get(json_array_get(json_object_get(reply, "peers"), 0),
					 "other_ledger") != NULL,
			rows[i].neighbour.foreign);
		show_expect(reply, rows[i].expected);
	}
	show_expect(show_ask(&w, "/weir/peers", NULL),
		"{'peers': [{'state': 'self', '...': 0}, {'state': 'lost', '...': 0}, "
		"{'state': 'lost', '...': 0}], 'keys': [], 'identities': 'none', '...': 0}");
	told.unwatched = true;
	told.identities = true;
	show_expect(show_ask(&w, "/weir/peers", NULL),
		"{'peers': [{'state': 'self', '...': 0}, {'state': 'unwatched', "
		"'heard_ms_ago': null, 'confirmed_ms_ago': null, 'restarts': 0, 'format': null, "
		"'key': null, '...': 0}, {'state': 'unwatched', '...': 0}], "
		"'identities': 'optional', '...': 0}");
	told.required = true;
	told.key = 0xabc;
	w.inst.keyring = (void *)&told;                /* with simulated names */
	show_expect(show_ask(&w, "/weir/peers", NULL), /* the sealing key of this limiter alone */
		"{'peers': [{'state': 'self', 'key': '00000abc', '...': 0}, {'key': null, '...': "
		"0}, {'key': null, '...': 0}], 'keys': ['00000abc'], 'identities': 'required', "
		"'...': 0}");
	told.key_also = 0x12345678;
	show_expect(
		show_ask(&w, "/weir/peers", "2"), "{'keys': ['00000abc', '12345678'], '...': 0}");
	w.inst.keyring = NULL;
}

/* The demand of each limiter of the group, if it was received. */
TEST(test_shares)
{
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, GROUP,
		"{'name': 'p', 'limit': '1Mbit/s'}, "
		"{'name': 'q', 'match': {'vlan': 7}, 'limit': '1Mbit/s'}");
	told.sum = (struct gossip_sum){.demand = 1000, .weight = 2.5};
	told.told = true;
	show_expect(show_ask(&w, "/weir/shares", "p"),
		"{'limiters': [{'name': 'test', 'self': true, 'demand_bps': 0, 'weight': 0.0}, "
		"{'name': 'two', 'self': false, 'demand_bps': 8000, 'weight': 2.5}, "
		"{'name': 'three', 'self': false}], '...': 0}");
	show_expect(show_ask(&w, "/weir/shares", "q,1"),
		"{'limiters': [{'name': 'two', 'self': false}, {'name': 'three', "
		"'self': false}], '...': 0}");
}

static void expect_state(struct instance_world *w, const char *expected)
{
	char text[64];

	snprintf(text, sizeof(text), "{'state': '%s', '...': 0}", expected);
	show_expect(show_ask(w, "/weir/ledger", NULL), text);
}

/* The worst state of a ledger. */
TEST(test_ledger_state)
{
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, GROUP, HELD);
	told.kept = true;
	told.commit = (struct commit_view){.directory = "/d",
		.epoch = 9,
		.recovering = true,
		.committing = true,
		.saved = true,
		.error = -EBUSY,
		.counters = {.rounds = 1, .failures = 2, .last_ns = 3500000, .most_ns = 4500000}};
	told.disputes = (struct ledger_disputes){1, 22, 33, 44};
	told.recovering = 4;
	told.uncommitted = true;
	w.inst.workers[0].counters.expired = 5;
	w.inst.workers[1].counters.expired = 6;
	w.inst.renewal.late = 7;
	show_expect(show_ask(&w, "/weir/ledger", NULL),
		"{'state': 'failing', 'recovering_policies': 4, 'store': '/d', 'epoch': 9, "
		"'began_without_memory': true, 'saved': true, 'enforced': false, 'error': "
		"'another process has it open', 'rounds': 1, 'failures': 2, 'last_round_ms': 3.5, "
		"'longest_round_ms': 4.5, 'neighbours_of_other_ledgers': 1, "
		"'messages_of_other_ledgers': 22, 'invalid_statements': 33, "
		"'colliding_statements': 44, 'expired': 11, "
		"'control_late': 7, 'unused_records': 0, 'unused': [], '...': 0}");
	told.commit.error = 0;
	expect_state(&w, "other_ledger");
	told.disputes.neighbours = 0;
	expect_state(&w, "recovering");
	told.recovering = 1;
	expect_state(&w, "recovering");
	told.recovering = 0;
	expect_state(&w, "committing");
	told.commit.committing = false;
	expect_state(&w, "committing");
	told.uncommitted = false;
	expect_state(&w, "committed");
	told.kept = false;
	expect_state(&w, "committed"); /* only neighbours keep it */
	told.commit.committing = true;
	expect_state(&w, "committing");
	close_told(&w);
	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	expect_state(&w, "none");
	told.kept = true;
	expect_state(&w, "committed");
}

/* Units of a limit are shown by its time, those of a burst as they are; each under its name. */
TEST(test_ledger_policy)
{
	ENDED_BY(close_told) struct instance_world w;
	json_t *reply;

	open_told(&w, GROUP, HELD);
	told.limit = (struct conserve_view){.share = 60,
		.balance = -120,
		.usable = 180,
		.until_ns = NOW + 1500 * MS_NS,
		.free = 240,
		.in_flight = 300,
		.promised = 360,
		.inherited = 420,
		.target = 480};
	told.edge = (struct conserve_edge_view){.peer = 2,
		.spare = true,
		.ledger = {.granted = 60,
			.received = 70,
			.in_flight = 120,
			.locked = 240,
			.inherited = 300,
			.known = true,
			.heard_ns = NOW - 7 * MS_NS}};
	show_expect(show_ask(&w, "/weir/ledger", "held"),
		"{'total': '*', 'start': 0, 'next': null, 'edges': '*', 'name': 'held', "
		"'limit_per_s': 2.0, 'share_per_s': 1.0, 'balance_per_s': -2.0, "
		"'usable_per_s': 3.0, 'usable_for_ms': 1500, 'free_per_s': 4.0, "
		"'in_flight_per_s': 5.0, 'promised_per_s': 6.0, 'inherited_per_s': 7.0, "
		"'target_per_s': 8.0, 'recovering': false, 'burst': null}");
	w.config->policies[1].indicator = (const void *)&told; /* with its own unit */
	show_expect(show_ask(&w, "/weir/ledger", "held"),
		"{'total': '*', 'start': 0, 'next': null, 'edges': '*', 'name': 'held', "
		"'limit_per_s': 2.0, 'share_per_s': 1.0, 'balance_per_s': -2.0, "
		"'usable_per_s': 3.0, 'usable_for_ms': 1500, 'free_per_s': 4.0, "
		"'in_flight_per_s': 5.0, 'promised_per_s': 6.0, 'inherited_per_s': 7.0, "
		"'indicator': 480.0, 'recovering': false, 'burst': null}");
	w.config->policies[1].indicator = NULL;
	reply = show_ask(&w, "/weir/ledger", "held");
	assert_true(json_array_size(json_object_get(reply, "edges")) > 0);
	show_expect(json_incref(json_array_get(json_object_get(reply, "edges"), 0)),
		"{'peer': 'three', 'alive': false, 'in_use': false, 'spare': true, "
		"'heard_ms_ago': 7, 'granted': 60, 'received': 70, 'in_flight_per_s': 2.0, "
		"'promised_per_s': 3.0, 'inherited_per_s': 5.0}");
	json_decref(reply);
	told.burst_apart = true;
	told.burst = (struct conserve_view){.share = 1,
		.usable = 2,
		.until_ns = UINT64_MAX,
		.free = 3,
		.in_flight = 4,
		.promised = 5,
		.inherited = 6,
		.target = 7.9,
		.recovering = true};
	told.limit.until_ns = NOW; /* expired */
	show_expect(show_ask(&w, "/weir/ledger", "held"),
		"{'usable_for_ms': 0, 'recovering': false, 'burst': {'limit': 20, 'share': 1, "
		"'usable': 2, 'usable_for_ms': null, 'free': 3, 'in_flight': 4, 'promised': 5, "
		"'inherited': 6, 'target': 7, 'recovering': true}, '...': 0}");
	told.burst.target = 1;
	show_expect(show_ask(&w, "/weir/ledger", "held"),
		"{'burst': {'target': 1, '...': 0}, '...': 0}");
	told.burst.target = -1; /* an impossible value */
	show_expect(show_ask(&w, "/weir/ledger", "held"),
		"{'burst': {'target': 0, '...': 0}, '...': 0}");
}

/* Words about the wall clock while periods use another clock. */
TEST(test_wall_clock)
{
	static const struct {
		enum time_reason reason;
		const char *expected;
	} rows[] = {
		{TIME_AGREES, ""},
		{TIME_WAITS, ""},
		{TIME_BEFORE, "'the wall clock is earlier than the records of the ledger, and no "
			      "period starts: -61 s'"},
		{TIME_STEPPED, "'the wall clock was stepped, and periods and times of day go on by "
			       "the clock since boot: -61 s'"},
		{TIME_FOLLOWS, "'the wall clock is not that of most peers, by which periods go: "
			       "-61 s'"},
		{TIME_OUTVOTED, "'the wall clock is not that of most peers, and periods go by it "
				"nevertheless: -61 s'"},
	};
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.keeper.reason = rows[i].reason;
		told.keeper.apart_ns = -(int64_t)(61 * SECOND_NS);
		expect_alarms(&w, rows[i].expected);
	}
	told.keeper.apart_ns = (int64_t)(7 * SECOND_NS);
	expect_alarms(&w, "'the wall clock is not that of most peers, and periods go by it "
			  "nevertheless: +7 s'");
}

/* The rest of a drawn quota is that of the group and of etcd, and at most the whole. */
TEST(test_drawn)
{
	ENDED_BY(close_told) struct instance_world w;
	json_t *json;

	open_told(&w, "", "{'name': 'day', 'allocator': 'quota', 'total': '1GB'}");
	told.quota = (struct quota_view){
		.group = {.known = true, .remaining = 400, .pace = 2000}, .spent = 10};
	show_expect(show_ask(&w, "/weir/quota", "day"),
		"{'total_bytes': 1000000000, 'remaining_bytes': 400, 'global_rate_bps': 16, "
		"'exhausted_in_s': 200.0, '...': 0}");
	told.quota.group.known = false; /* not all limiters have reported */
	json = show_ask(&w, "/weir/quota", "day");
	assert_null(json_object_get(json, "remaining_bytes"));
	show_expect(json, "{'global_rate_bps': null, 'exhausted_in_s': null, '...': 0}");
	told.quota.group.known = true;
	told.drawn = true; /* without a value from etcd */
	told.share = (struct budget_share_view){.total = 1000, .left = 500};
	show_expect(show_ask(&w, "/weir/quota", "day"), "{'total_bytes': 1000000000, '...': 0}");
	w.config->policies[0].drawn = true;
	expect_alarms(&w, ""); /* no value */
	told.share.known = true;
	show_expect(show_ask(&w, "/weir/quota", "day"),
		"{'total_bytes': 1000, 'remaining_bytes': 900, 'undrawn_bytes': 500, "
		"'exhausted_in_s': 450.0, '...': 0}");
	told.share.left = 601;
	show_expect(show_ask(&w, "/weir/quota", "day"), "{'remaining_bytes': 1000, '...': 0}");
	told.quota.group.remaining = 1400; /* from an earlier quota */
	show_expect(show_ask(&w, "/weir/quota", "day"),
		"{'remaining_bytes': 1400, 'undrawn_bytes': 601, '...': 0}");
	told.share.left = 0;
	told.quota.group.remaining = 2;
	expect_alarms(&w, "");
	told.quota.group.remaining = 1; /* a thousandth */
	expect_alarms(&w, "'the total of day is spent'");
	told.quota.group.held = true; /* the alarm stays while the tree changes */
	expect_alarms(&w, "'the total of day is spent'");
	told.quota.group.known = false;
	expect_alarms(&w, "");
	told.quota.group.known = true;
	told.quota.recovering = true;
	expect_alarms(&w, "");
	told.quota.recovering = false;
	told.quota.undated = true;
	expect_alarms(&w, "");
	w.config->policies[0].drawn = false;
}

/* The end of a period, by the clock that periods use. */
TEST(test_period_ends)
{
	static const struct {
		uint64_t wall_s, period;
		bool undated;
		const char *expected;
	} rows[] = {
		{0, 20834, false, "{'period_number': 20834, 'period_ends_in_s': null, '...': 0}"},
		{1800000000, 20834, false,
			"{'period_number': 20834, 'period_ends_in_s': 57600, '...': 0}"},
		{1800000000, 20833, false,
			"{'period_number': 20833, 'period_ends_in_s': 0, '...': 0}"},
		{1800057599, 20834, false, "{'period_ends_in_s': 1, '...': 0}"},
		{1800057600, 20834, false, "{'period_ends_in_s': 0, '...': 0}"},
		{1800057601, 20834, false, "{'period_ends_in_s': 0, '...': 0}"},
		{1800000000, 20834, true,
			"{'period_number': null, 'period_ends_in_s': null, '...': 0}"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct instance_world w;

		open_told(&w, "",
			"{'name': 'day', 'allocator': 'quota', 'total': '1GB', 'period': "
			"'24h'}");
		told.quota = (struct quota_view){
			.period = rows[i].period, .undated = rows[i].undated};
		if (rows[i].wall_s)
			limiter_clock(w.inst.limiter, rows[i].wall_s * SECOND_NS, true, now_ns);
		show_expect(show_ask(&w, "/weir/quota", "day"), rows[i].expected);
		close_told(&w);
	}
}

#define UDP(tag)                                                                          \
	"hex=ffffffffffff000000000001" tag "08004500001c0000000040110000010203040a010607" \
	"0035004500080000"
#define VLAN(tag) UDP("8100" tag)

/* Sends a packet, runs the workers, and returns the verdict. */
static json_t *explained(struct instance_world *w, const char *question)
{
	char number[24];
	json_t *reply;

	now_ns += SECOND_NS;
	reply = show_ask(w, "/weir/explain", question);
	assert_true(json_is_integer(json_object_get(reply, "asked")));
	snprintf(number, sizeof(number), "%d",
		(int)json_integer_value(json_object_get(reply, "asked")));
	json_decref(reply);
	instance_world_turn_all(w);
	return show_ask(w, "/weir/explain", number);
}

/* The reason why a packet passes or is dropped, in one word. */
TEST(test_explain_reasons)
{
	static const struct {
		const char *question, *expected;
	} rows[] = {
		{VLAN("0001"),
			"{'verdict': 'pass', 'reason': 'conforms', 'policy': 'waits', '...': 0}"},
		{"length=1400 " VLAN("0001"),
			"{'verdict': 'wait', 'reason': 'waits', 'policy': 'waits', '...': 0}"},
		{VLAN("0002"), "{'verdict': 'mark', 'reason': 'conforms', 'policy': 'gold', "
			       "'state': {'colour': 'green', '...': 0}, '...': 0}"},
		{"length=1400 " VLAN("0002"),
			"{'verdict': 'count', 'reason': 'limit', 'policy': 'gold', "
			"'state': {'colour': 'red', '...': 0}, '...': 0}"},
		{"length=1400 " VLAN("0003"),
			"{'verdict': 'count', 'reason': 'limit', 'policy': 'counts', '...': 0}"},
		{VLAN("0004"),
			"{'verdict': 'pass', 'reason': 'fallback', 'policy': 'spare', '...': 0}"},
		{"length=1400 " VLAN("0004"),
			"{'verdict': 'count', 'reason': 'quota', 'policy': 'spare', '...': 0}"},
		{VLAN("0005"),
			"{'verdict': 'drop', 'reason': 'quota', 'policy': 'total', '...': 0}"},
		{VLAN("0006"),
			"{'verdict': 'pass', 'reason': 'unmatched', 'policy': null, '...': 0}"},
	};
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "",
		"{'name': 'waits', 'match': {'vlan': 1}, 'limit': '8kbit/s', 'burst': '600B', "
		"'action': 'shape', 'shape': {'delay': '10s'}}, "
		"{'name': 'gold', 'match': {'vlan': 2}, 'limit': '8kbit/s', 'burst': '600B', "
		"'meter': 'trtcm', 'peak': {'limit': '16kbit/s', 'burst': '900B'}, 'colours': "
		"{'green': {'mark': 10}, 'red': 'count'}}, "
		"{'name': 'counts', 'match': {'vlan': 3}, 'limit': '8kbit/s', 'burst': '600B', "
		"'action': 'count'}, "
		"{'name': 'spare', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB', "
		"'limit': '8kbit/s', 'burst': '600B', 'action': 'count'}, "
		"{'name': 'total', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '1GB'}");
	told.made_up = false;
	for (size_t i = 0; i < COUNT(rows); i++)
		show_expect(explained(&w, rows[i].question), rows[i].expected);
	explain_stop(&w.inst);
}

/* One question at a time, and not before a gap after the previous one. */
TEST(test_explain_gap)
{
	static const char busy[] = "{'busy': true}";
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	told.made_up = false;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 1}");
	show_expect(show_ask(&w, "/weir/explain", "1"), "{'pending': true}");
	instance_world_turn_all(&w);
	show_expect(show_ask(&w, "/weir/explain", "1"), "{'policy': 'p', '...': 0}");
	now_ns += 2 * MS_NS - 1;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), busy);
	now_ns++;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 2}");
	instance_world_turn_all(&w);
	now_ns += 100 * MS_NS - 1; /* the verdict can still be fetched */
	show_expect(show_ask(&w, "/weir/explain", UDP("")), busy);
	now_ns++;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 3}");
	assert_null(show_ask(&w, "/weir/explain", "2"));
	now_ns += 100 * MS_NS - 1; /* no worker has taken it */
	show_expect(show_ask(&w, "/weir/explain", UDP("")), busy);
	show_expect(show_ask(&w, "/weir/explain", "3"), "{'pending': true}");
	now_ns++;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 4}");
	assert_null(show_ask(&w, "/weir/explain", "3"));
	assert_null(show_ask(&w, "/weir/explain", "5"));
	instance_world_turn_all(&w);
	show_expect(show_ask(&w, "/weir/explain", "4"), "{'policy': 'p', '...': 0}");
	explain_stop(&w.inst);
}

static struct policy_txn *commit_policies(struct instance_world *w, const char *policies)
{
	struct policy_txn *x;

	instance_world_write(w, policies);
	assert_int_equal(policy_txn_prepare(&w->inst, w->file, w->inst.clock.hz, stderr, &x), 0);
	assert_int_equal(policy_txn_commit(x), 0);
	return x;
}

static void finish_policies(struct instance_world *w, struct policy_txn *x)
{
	while (!policy_txn_finish(x))
		instance_world_turn_all(w);
	policy_txn_free(x);
}

/* A verdict from old policies is not sent. */
TEST(test_explain_stale)
{
#define P "{'name': 'p', 'limit': '1Mbit/s'}"
	struct instance_world w;
	struct policy_txn *x;

	open_told(&w, "", P);
	told.made_up = false;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 1}");
	instance_world_turn_all(&w);
	x = commit_policies(&w, P ", {'name': 'q', 'match': {'vlan': 7}, 'limit': '1Mbit/s'}");
	show_expect(show_ask(&w, "/weir/explain", "1"), "{'busy': true}");
	assert_null(show_ask(&w, "/weir/explain", "1"));
	finish_policies(&w, x);
	show_expect(explained(&w, UDP("")), "{'policy': 'p', '...': 0}");
	x = commit_policies(&w, "{'name': 'q', 'match': {'vlan': 7}, 'limit': '1Mbit/s'}");
	now_ns += SECOND_NS;
	show_expect(show_ask(&w, "/weir/explain", UDP("")), "{'asked': 3}");
	specimen_take(&w.inst.workers[0]); /* with the old policies */
	show_expect(show_ask(&w, "/weir/explain", "3"), "{'busy': true}");
	finish_policies(&w, x);
	show_expect(explained(&w, UDP("")), "{'policy': null, '...': 0}");
	explain_stop(&w.inst);
	close_told(&w);
#undef P
}

/* Only the device's hash can give the class of a flow. */
TEST(test_explain_hash)
{
#define HASHED "'*depends on the device\\u0027s hash*'"
	struct instance_world w;

	open_told(&w, "",
		"{'name': 'flowed', 'match': {'vlan': 1}, 'limit': '8Mbit/s', 'burst': '30kB', "
		"'meter': 'phantom', 'classes': {'by': 'flow', 'n': 16}}, "
		"{'name': 'plain', 'match': {'vlan': 2}, 'limit': '8Mbit/s'}");
	told.made_up = false;
	for (unsigned hash = 0; hash < 2; hash++) {
		w.inst.workers[1].paths[0].rx_hash = hash;
		show_expect(explained(&w, "worker=1 " VLAN("0001")),
			hash ? "{'policy': 'flowed', 'notes': [" HASHED "], '...': 0}"
			     : "{'policy': 'flowed', 'notes': [], '...': 0}");
		show_expect(explained(&w, "worker=1 " VLAN("0002")),
			"{'policy': 'plain', 'notes': [], '...': 0}");
		show_expect(explained(&w, "worker=1 " VLAN("0003")),
			"{'policy': null, 'notes': [], '...': 0}");
	}
	explain_stop(&w.inst);
	close_told(&w);
}

/*
 * A capture is rejected if a worker's tap cannot be allocated. The next one can start immediately.
 */
TEST(test_no_taps)
{
	static const char refused[] = "{'refused': 'there is no memory for it'}";
	ENDED_BY(close_told) struct instance_world w;

	open_told(&w, "", "{'name': 'p', 'limit': '1Mbit/s'}");
	for (told.taps = 0; told.taps < INSTANCE_WORKERS; told.taps++) {
		show_expect(show_ask(&w, "/weir/capture", NULL), refused);
		show_expect(show_ask(&w, "/weir/talkers", NULL), refused);
		assert_null(w.inst.tap_session);
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			assert_null(w.inst.workers[i].tap);
	}
	show_expect(show_ask(&w, "/weir/capture", "whole"), "{'capture': '*', 'snaplen': 9216}");
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_non_null(w.inst.workers[i].tap);
	show_expect(show_ask(&w, "/weir/talkers", NULL), "{'busy': true}");
	tap_session_stop(&w.inst);
	instance_world_turn_all(&w);
	tap_session_stop(&w.inst);
	show_expect(show_ask(&w, "/weir/talkers", NULL), "{'talkers': '*'}");
	tap_session_stop(&w.inst);
	instance_world_turn_all(&w);
	tap_session_stop(&w.inst);
}

/* A third of a burst is of IPv4, one of IPv6, and one of neither. */
static uint16_t make_families(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	static const uint8_t v4[] = {8, 0, 0x45, 0, 0, 50, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
		10, 0, 0, 2, 0, 9, 0, 53, 0, 30, 0, 0};
	static const uint8_t v6[] = {0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 6, 64, 0x20, 1, 0x0d, 0xb8,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 2, 0, 8, 0, 80};
	static const uint8_t macs[] = {10, 11, 12, 13, 14, 15, 2, 3, 4, 5, 6, 7, 0x12, 0x34};

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		memset(frame, 0, 64);
		memcpy(frame, macs, sizeof(macs));
		if (i % 3 == 0)
			memcpy(frame + 12, v4, sizeof(v4));
		else if (i % 3 == 1)
			memcpy(frame + 12, v6, sizeof(v6));
	}
	return n;
}

/* Returns the number of the text that a row ends with, from its ethertype on. */
static unsigned family_of(const json_t *row)
{
	static const char *const rows[] = {
		"[null,\"10.0.0.1\",\"10.0.0.2\",17,9,53,null,\"a-to-b\"]",
		"[null,\"2001:db8::1\",\"2001:db8::2\",6,8,80,null,\"a-to-b\"]",
		"[4660,\"02:03:04:05:06:07\",\"0a:0b:0c:0d:0e:0f\",null,null,null,null,\"a-to-b\"]"};
	json_t *end = json_array();
	unsigned family = 0;
	char *text;

	for (size_t i = 5; i < json_array_size(row); i++)
		json_array_append(end, json_array_get(row, i));
	text = json_dumps(end, JSON_COMPACT);
	json_decref(end);
	while (family < 3 && strcmp(text, rows[family]) != 0)
		family++;
	if (family == 3)
		fail_msg("a row of %s", text);
	free(text);
	return family;
}

/*
 * Rows have the sender and its packets, by the addresses in them. This test is the last one,
 * because its frames remain in packet buffers.
 */
TEST(test_talker_rows)
{
	const struct rte_eth_rxtx_callback *callback;
	const struct path *path;
	ENDED_BY(close_told) struct instance_world w;
	unsigned seen = 0;
	char number[24];
	json_t *reply;

	open_told(&w, "", "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'}");
	w.pieces++; /* DPDK keeps a callback that is removed */
	path = &w.inst.workers[0].paths[0];
	callback = rte_eth_add_rx_callback(path->rx_port, path->queue, make_families, NULL);
	assert_non_null(callback);
	told.taps = INSTANCE_WORKERS;
	reply = show_ask(&w, "/weir/talkers", "policy=p seconds=3600");
	snprintf(number, sizeof(number), "%d",
		(int)json_integer_value(json_object_get(reply, "talkers")));
	json_decref(reply);
	for (unsigned turn = 0; turn < 1000 && seen != 7; turn++) {
		json_t *row;
		size_t i;

		instance_world_turn(&w, 0);
		reply = show_ask(&w, "/weir/talkers_read", number);
		json_array_foreach (json_object_get(reply, "packets"), i, row)
			seen |= 1u << family_of(row);
		json_decref(reply);
	}
	assert_int_equal(seen, 7);
	show_expect(show_ask(&w, "/weir/talkers_end", number), "{'ended': true}");
	instance_world_turn_all(&w);
	tap_session_stop(&w.inst);
	assert_int_equal(rte_eth_remove_rx_callback(path->rx_port, path->queue, callback), 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
