/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The start of a limiter with a ledger: an open or a refused store, with or without records, and a
 * neighbour with the same ledger or another one.
 */
#include "commit_world.h"
#include "scope.h"

#include "base/hash.h"
#include "clock.h"
#include "event.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "policy_txn.h"

#define TOTAL "{'name': 'total', 'allocator': 'quota', 'total': '1GB'}"

/*
 * A restart keeps the amounts that were given away, and uses the rest when its neighbour has
 * confirmed the record. Without a store a limiter holds nothing.
 */
TEST(test_it_begins_where_it_ended)
{
	uint64_t end = control_now() + PATIENCE;
	struct instance_world w;
	struct commit_peer peer;
	double held;

	open_group(&w, &peer);
	disk.result = 0;
	for (double has = limiter_local_limit(peer.limiter);
		limiter_local_limit(peer.limiter) <= has;) {
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
	}
	commit_last(&w.inst);
	held = limiter_local_limit(w.inst.limiter);
	assert_true(held < LIMIT / 2);
	instance_world_close(&w);
	open_instance(&w, MOVED);
	assert_near(
		conserve_view(limiter_conserve(w.inst.limiter), 0, control_now()).balance, held, 1);
	assert_true(limiter_local_limit(w.inst.limiter) == 0);
	until_holding(&w, &peer);
	assert_true(limiter_local_limit(w.inst.limiter) <= held);
	assert_true(
		limiter_local_limit(w.inst.limiter) + limiter_local_limit(peer.limiter) <= LIMIT);
	assert_int_equal(view_of_commit(&w).epoch, 2);
	close_group(&w, &peer);

	disk_new();
	disk.exists = false;
	open_instance(&w, MOVED);
	assert_true(view_of_commit(&w).recovering);
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 1);
	assert_true(limiter_local_limit(w.inst.limiter) == 0);
	peer_open(&peer, &w, 5);
	disk.result = 0;
	while (limiter_local_limit(w.inst.limiter) == 0) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
		assert_true(
			limiter_local_limit(w.inst.limiter) + limiter_local_limit(peer.limiter) <=
			LIMIT);
	}
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 0);
	close_group(&w, &peer);
}

/* A quota without records passes nothing, and the view reports that. */
TEST(test_totals_may_be_recovering)
{
	struct instance_world w;

	for (unsigned exists = 0; exists < 2; exists++) {
		disk_new();
		disk.exists = exists > 0;
		disk.result = 0;
		open_instance(&w, TOTAL ", " SOFT);
		assert_int_equal(commit_count_recovering(&w.inst, control_now()), !exists);
		instance_world_close(&w);
	}
}

/* Returns 0 or a negative errno, and the messages. */
static int reload_policies(struct instance_world *w, const char *policies, char **words)
{
	struct policy_txn *x;
	size_t size;
	FILE *err = open_memstream(words, &size);
	int ret;

	assert_non_null(err);
	instance_world_write(w, policies);
	ret = policy_txn_prepare(&w->inst, w->file, w->inst.clock.hz, err, &x);
	fclose(err);
	if (ret)
		return ret;
	assert_int_equal(policy_txn_commit(x), 0);
	for (unsigned i = 0; i < 3 && !policy_txn_finish(x); i++)
		instance_world_turn_all(w);
	assert_true(policy_txn_finish(x));
	policy_txn_free(x);
	return 0;
}

/* A reload with the first policy that needs a ledger opens the store, or is refused. */
TEST(test_reload_opens_the_store)
{
	struct commit_view view;
	struct instance_world w;
	char *words;

	disk_new();
	disk.exists = false;
	instance_world_open_more(&w, ALONE, SOFT);
	assert_false(commit_view(&w.inst, &view));
	assert_int_equal(commit_fd(&w.inst), -1);
	assert_int_equal(commit_next(&w.inst), UINT64_MAX);
	assert_int_equal(reload_policies(&w, CAP(FEW), &words), -ENOENT);
	assert_non_null(strstr(words, "ledger.store"));
	assert_non_null(strstr(words, "--new-ledger"));
	free(words);
	assert_false(commit_view(&w.inst, &view));

	disk.exists = true;
	assert_int_equal(reload_policies(&w, CAP(FEW), &words), 0);
	free(words);
	assert_int_equal(view_of_commit(&w).epoch, 1);
	assert_non_null(limiter_conserve(w.inst.limiter));
	assert_true(limiter_local_limit(w.inst.limiter) > 0);
	disk.result = 0;
	instance_world_close(&w);
	assert_false(disk.opened);
}

/* A preparation that is abandoned leaves the store closed. */
TEST(test_a_store_for_nothing)
{
	struct policy_txn *x;
	disk_new();
	disk.exists = false;
	WORLD(w, SOFT, .more = ALONE);
	disk.exists = true;
	x = instance_world_prepare(w, CAP(FEW));
	assert_true(disk.opened);
	policy_txn_free(x);
	assert_false(disk.opened);
}

TEST(test_stores_that_do_not_open)
{
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct policy cap = {.allocator = &allocator_fps, .guarantee = GUARANTEE_HARD};
	static const struct config config = {.ledger = {.store = "/nowhere/weir"}};
	static const struct config root = {.ledger = {.store = "/"}};
	static const struct config unset;
	static const int errors[] = {-EBUSY, -EBADMSG, -EACCES, -ENOSPC};
	struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
	char text[EVENT_TEXT];
	uint64_t first;

	disk_new();
	for (unsigned i = 0; i < COUNT(errors); i++) {
		uint64_t since = events_number();

		disk.open_error = errors[i];
		inst.policies = &soft;
		assert_int_equal(commit_start(&inst), 0);
		snprintf(text, sizeof(text), "ledger.store: /nowhere/weir: %s; no policy needs it",
			ledger_store_reason(errors[i]));
		assert_int_equal(times_said(since, "ledger_not_needed", text), 1);
		inst.policies = &cap;
		assert_int_equal(commit_start(&inst), errors[i]);
		snprintf(text, sizeof(text), "ledger.store: /nowhere/weir: %s",
			ledger_store_reason(errors[i]));
		assert_int_equal(times_said(since, "ledger_not_opened", text), 1);
		assert_int_equal(events_number(), since + 2);
		assert_null(inst.commit);
	}
	/* A missing store has no effect if no policy needs it. */
	disk_new();
	disk.exists = false;
	inst.policies = &soft;
	first = events_number();
	assert_int_equal(commit_start(&inst), 0);
	inst.config = &unset;
	assert_int_equal(commit_start(&inst), 0);
	inst.policies = &cap;
	assert_int_equal(commit_start(&inst), -ENOENT);
	assert_null(inst.commit);
	assert_int_equal(events_number(), first);
	/* A path of one letter is valid. */
	inst.config = &root;
	assert_int_equal(commit_start(&inst), -ENOENT);
	assert_int_equal(times_said(first, "ledger_no_store", ""), 0);
	assert_int_equal(times_said(first, "ledger_not_opened", "ledger.store: /: "), 1);
	inst.config = &config;
	/* The store opens although no policy needs it: neighbours might need its records. */
	disk_new();
	inst.policies = &soft;
	assert_int_equal(commit_start(&inst), 0);
	assert_non_null(inst.commit);
	commit_stop(&inst);
	assert_false(disk.opened);
}

/* The limiter gets the configured values and the contents of the store. */
TEST(test_what_the_limiter_has)
{
	static struct peer_config roster[] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
	static struct overlay_pair_config edges[] = {{0, 2}, {1, 0}};
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct {
		bool ring;
		unsigned n_edges;
		enum overlay_shape shape;
	} rows[] = {
		{true, 0, OVERLAY_RING},
		{false, 0, OVERLAY_RANDOM},
		{false, 1, OVERLAY_GIVEN},
		{false, 2, OVERLAY_GIVEN},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct config config = {
			.gossip = {.roster = roster, .n_roster = 3, .timeout_ns = 17},
			.ledger = {.store = "/nowhere/weir",
				.edges = edges,
				.lease_ns = 11,
				.drift_ppm = 12,
				.promise = 13,
				.tree_degree = 14,
				.degree = 15,
				.ring = rows[i].ring,
				.n_edges = rows[i].n_edges}};
		struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
		struct limiter_ledger ledger = commit_ledger(&inst);

		assert_false(ledger.durable); /* none yet */
		disk_new();
		assert_int_equal(commit_start(&inst), 0);
		ledger = commit_ledger(&inst);
		assert_int_equal(ledger.overlay.shape, rows[i].shape);
		assert_int_equal(ledger.overlay.degree, 15);
		assert_int_equal(ledger.overlay.spares, 1);
		assert_int_equal(ledger.overlay.n_pairs, rows[i].n_edges);
		for (unsigned e = 0; e < rows[i].n_edges; e++) {
			assert_int_equal(
				ledger.overlay.pairs[e].a, name_hash(roster[edges[e].a].name));
			assert_int_equal(
				ledger.overlay.pairs[e].b, name_hash(roster[edges[e].b].name));
		}
		assert_true(ledger.durable);
		assert_false(ledger.recovering);
		assert_int_equal(ledger.identity.low, 1);
		assert_int_equal(ledger.epoch, 1);
		assert_int_equal(ledger.n_records, 0);
		assert_int_equal(ledger.lease_ns, 11);
		assert_int_equal(ledger.drift_ppm, 12);
		assert_int_equal(ledger.promise, 13);
		assert_int_equal(ledger.tree_degree, 14);
		assert_int_equal(ledger.timeout_ns, 17);
		commit_stop(&inst);
	}
}

/* Expects one event with this name after a check, or no event if it is NULL. */
static void assert_look(struct ledger_watch *watch, const struct instance_world *w, uint64_t now_ns,
	const char *want)
{
	uint64_t before = events_number();
	json_t *said;

	ledger_watch_look(watch, &w->inst, now_ns);
	said = events_get(before);
	assert_int_equal(events_number() - before, want ? 1 : 0);
	if (want) {
		assert_string_equal(json_string_value(json_object_get(said, "event")), want);
		assert_string_equal(json_string_value(json_object_get(said, "peer")), "peer");
	}
	json_decref(said);
}

/* Expects this field in the last event. */
static void assert_last(const char *key, const char *value)
{
	json_t *said = events_get(events_number() - 1);

	assert_string_equal(json_string_value(json_object_get(said, key)), value);
	json_decref(said);
}

static void assert_last_number(const char *key, int value)
{
	json_t *said = events_get(events_number() - 1);

	assert_int_equal(json_integer_value(json_object_get(said, key)), value);
	json_decref(said);
}

/* Both have different identities: nothing moves, and at most one line a minute reports it. */
TEST(test_another_ledger)
{
	struct ledger_watch *watch = ledger_watch_new(2), *common = ledger_watch_new(2);
	struct limiter_neighbour neighbour;
	ENDED_BY(instance_world_close) struct instance_world w;
	struct commit_peer peer;
	uint64_t end, now = 1000000 * MS;
	struct book *book;
	double has;

	disk_new();
	disk.identity.low = 2;
	open_instance(&w, MOVED);
	peer_open(&peer, &w, 1);
	until_holding(&w, &peer); /* no neighbour confirms it, so this takes a timeout */
	peer.wants = LIMIT;
	has = limiter_local_limit(w.inst.limiter);
	end = control_now() + PATIENCE;
	while (ledger_disputes(&w.inst).foreign_messages < 5 ||
		!limiter_neighbour(peer.limiter, 0, &neighbour) || neighbour.foreign_messages < 5) {
		assert_true(control_now() < end);
		talk_to_neighbour(&w, &peer);
	}
	assert_int_equal(ledger_disputes(&w.inst).neighbours, 1);
	assert_true(neighbour.foreign && neighbour.peer_identity.low == 2);
	assert_true(limiter_local_limit(w.inst.limiter) == has);
	assert_true(limiter_local_limit(peer.limiter) == has);
	assert_look(watch, &w, now, "ledger_foreign");
	assert_last("theirs", "00000000000000000000000000000001");
	assert_last("ours", "00000000000000000000000000000002");
	assert_look(common, &w, now, "ledger_foreign");
	for (unsigned s = 1; s < 200; s++)
		assert_look(watch, &w, now + s * 1000 * MS, NULL);

	book = conserve_book((struct conserve *)(uintptr_t)limiter_conserve(w.inst.limiter));
	for (unsigned s = 200; s < 320; s++) {
		for (unsigned i = 0; i < 10; i++)
			book_invalid(book, 0);
		assert_look(watch, &w, now + s * 1000 * MS,
			s == 200 || s == 260 ? "ledger_invalid" : NULL);
		if (s == 200 || s == 260)
			assert_last_number("times", s == 200 ? 10 : 600);
	}
	assert_int_equal(ledger_disputes(&w.inst).invalid_statements, 1200);
	ledger_watch_free(watch);
	close_group(&w, &peer);
	/* The neighbour now has a store with the identity of this limiter. */
	disk_new();
	open_instance(&w, MOVED);
	assert_look(common, &w, now + 59999 * MS, NULL);
	assert_look(common, &w, now + 60998 * MS, NULL); /* the last check was just now */
	assert_look(common, &w, now + 60999 * MS, "ledger_common");
	assert_look(common, &w, now + 200000 * MS, NULL);
	ledger_watch_free(common);
}

#define NAMED    "00000000000000000000000000000001"
#define KNOWN    "recovered"
#define NO_STORE "no store in /nowhere/weir: "

/* Runs until the neighbour sent its identity, and the store kept or rejected it. */
static void until_named(struct instance_world *w, struct commit_peer *peer, bool kept)
{
	uint64_t end = control_now() + PATIENCE;

	while (kept ? disk.identity.low != 1 : view_of_commit(w).identity.low != 1) {
		assert_true(control_now() < end);
		work_with_neighbour(w, peer);
		if (view_of_commit(w).committing)
			end_round(w);
	}
}

/* A limiter without records keeps the identity of its neighbour. */
TEST(test_identity_is_kept)
{
	struct instance_world w;
	struct commit_peer peer;
	uint64_t since;

	disk_new();
	disk.exists = false;
	since = events_number();
	open_instance(&w, MOVED);
	assert_int_equal(times_said(since, "ledger_no_store", NO_STORE), 1);
	assert_int_equal(
		times_said(since, "ledger_opened",
			"/nowhere/weir: start 1 of this store, 0 records, ledger not known; "),
		1);
	assert_false(book_identity_known(view_of_commit(&w).identity));
	assert_true(view_of_commit(&w).recovering);
	peer_open(&peer, &w, 1);
	since = events_number();
	disk.identity_error = -ENOSPC;
	until_named(&w, &peer, false);
	assert_int_equal(times_said(since, "ledger_named", ""), 0);
	disk.identity_error = 0;
	until_named(&w, &peer, true);
	for (unsigned i = 0; i < 5; i++)
		work_with_neighbour(&w, &peer);
	assert_int_equal(times_said(since, "ledger_named", NAMED), 1);
	assert_int_equal(view_of_commit(&w).identity.low, 1);
	assert_int_equal(ledger_disputes(&w.inst).foreign_messages, 0);
	close_group(&w, &peer);
}

/* One event reports that all records of the neighbours arrived, and it is not too early. */
TEST(test_when_all_is_known)
{
	uint64_t since = events_number(), end = control_now() + PATIENCE;
	struct instance_world w;
	struct commit_peer peer;

	disk_new();
	disk.exists = false;
	open_instance(&w, MOVED);
	peer_open(&peer, &w, 1);
	while (times_said(since, "ledger_recovered", KNOWN) == 0) {
		assert_true(control_now() < end);
		work_with_neighbour(&w, &peer);
		if (view_of_commit(&w).committing)
			end_round(&w);
	}
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 0);
	until_giving(&w, &peer);
	end_round(&w);
	assert_int_equal(times_said(since, "ledger_recovered", KNOWN), 1);
	close_group(&w, &peer);
	/* A limiter that started with records has no such event. */
	since = events_number();
	open_group(&w, &peer);
	end_round(&w);
	assert_int_equal(times_said(since, "ledger_recovered", ""), 0);
	close_group(&w, &peer);
}

/* Unusable records are reported as damaged, if there are any. */
TEST(test_damaged)
{
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct config config = {.ledger = {.store = "/nowhere/weir"}};
	static const struct {
		size_t bytes;
		int outcome;
		unsigned said;
	} rows[] = {{4, -EINVAL, 1}, {4, 0, 0}, {4, -ENOMEM, 0}, {0, -EINVAL, 0}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
		uint64_t since = events_number();

		commit_begun(&inst, rows[i].outcome); /* without a store */
		disk_new();
		disk.kind = LIMITER_UNITS;
		disk.len = rows[i].bytes;
		assert_int_equal(commit_start(&inst), 0);
		assert_int_equal(commit_ledger(&inst).n_records, rows[i].bytes > 0);
		commit_begun(&inst, rows[i].outcome);
		assert_int_equal(commit_ledger(&inst).n_records, 0);
		assert_int_equal(times_said(since, "ledger_damaged",
					 "/nowhere/weir: its records are damaged"),
			rows[i].said);
		commit_stop(&inst);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
