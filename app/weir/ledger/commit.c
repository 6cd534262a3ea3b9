/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Durability of hard limits.
 */
#include "commit.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <sodium.h>

#include "allocate/allocate.h"
#include "base/hash.h"
#include "instance.h"
#include "publish.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "event.h"
#include "base/time.h"
#include "policy/names.h"
#include "policy/kind.h"
#include "store/store.h"

#define RETRY_FIRST    (100 * MS_NS)
#define RETRY_MOST     (5000 * MS_NS)
#define REST_NS        MS_NS /* time until the next check of the workers */
#define LAST_MS        2000  /* time for the disk at the stop */
#define UNUSED_NS      (60 * SECOND_NS)
#define OVERLAY_DEATHS 1    /* adjacent dead limiters that disconnect no other */
#define ROUND_MOST     2048 /* records of a kind; written and published in a millisecond */

/* State of the workers with the limits of this round. */
enum obedience { UNPUBLISHED, PUBLISHED, ENFORCED };

struct commit {
	struct ledger_store opened;
	struct overlay_pair *edges; /* edges of the configuration; the limiter borrows them */
	bool committing, saved;
	enum obedience workers;
	struct grace grace;
	enum limiter_record_kind putting; /* kind of the last record of a round */
	unsigned n_put;                   /* number of records of this kind */
	uint64_t began_ns, retry_ns, backoff_ns;
	int error;
	int sentinel_error; /* after the last commit */
	bool waiting;       /* for neighbours, because the store is recovering */
	struct ledger_watch *watch;
	uint64_t unused_ns; /* time of the next look at records of removed policies */
	struct commit_counters counters;
	bool hangs; /* the disk did not answer at the stop */
};

/* Writes an event when the sentinel cannot be used, and when it can again. */
static void watch_sentinel(struct instance *inst)
{
	struct commit *s = inst->commit;
	int error = store_sentinel_error(s->opened.store);

	if (error && error != s->sentinel_error)
		event(LEDGER_NO_SENTINEL, event_word("store", inst->config->ledger.store),
			event_word("why", strerror(-error)));
	else if (!error && s->sentinel_error)
		event(LEDGER_SENTINEL, event_word("store", inst->config->ledger.store));
	s->sentinel_error = error;
}

int commit_make(struct instance *inst, struct ledger_store *opened)
{
	const struct ledger_config *ledger = &inst->config->ledger;
	const struct peer_config *roster = inst->config->gossip.roster;
	struct commit *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->watch = ledger_watch_new(inst->config->gossip.n_roster);
	s->edges = calloc((size_t)ledger->n_edges + 1, sizeof(*s->edges));
	if (!s->watch || !s->edges) {
		ledger_watch_free(s->watch);
		free(s->edges);
		free(s);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < ledger->n_edges; i++)
		s->edges[i] = (struct overlay_pair){
			.a = name_hash(roster[ledger->edges[i].a].name),
			.b = name_hash(roster[ledger->edges[i].b].name),
		};
	s->opened = *opened;
	*opened = (struct ledger_store){0};
	s->waiting = s->opened.recovering;
	inst->commit = s;
	return 0;
}

int commit_inherit(struct instance *inst, struct ledger_store *opened)
{
	int ret = commit_make(inst, opened);
	const struct commit *s = inst->commit;
	char text[BOOK_IDENTITY_TEXT];

	if (ret)
		return ret;
	book_identity_write(s->opened.identity, text);
	event(LEDGER_OPENED, event_word("store", inst->config->ledger.store),
		event_count("start", s->opened.epoch), event_count("records", s->opened.n_records),
		event_word(
			"identity", book_identity_known(s->opened.identity) ? text : "not known"),
		event_word("memory", s->opened.recovering ? "; started with empty state" : ""));
	if (store_sentinel_missing(s->opened.store))
		event(LEDGER_SENTINEL_MISSING, event_word("store", inst->config->ledger.store));
	watch_sentinel(inst);
	return 0;
}

int commit_start(struct instance *inst)
{
	const char *directory = inst->config->ledger.store;
	bool needed = policies_need_ledger(inst->policies, inst->n_policies);
	struct ledger_store opened;
	int ret;

	if (!directory[0])
		return needed ? -ENOENT : 0;
	ret = ledger_store_open(directory, false, &opened);
	if (ret == -ENOENT && needed) {
		ret = ledger_store_open(directory, true, &opened);
		if (ret == 0)
			event(LEDGER_NO_STORE, event_word("store", directory));
	}
	if (ret == 0)
		ret = commit_inherit(inst, &opened);
	else if (ret == -ENOENT && !needed)
		return 0;
	if (ret == 0)
		return 0;
	ledger_store_close(&opened);
	if (!needed) {
		event(LEDGER_NOT_NEEDED, event_word("store", directory),
			event_word("why", ledger_store_reason(ret)));
		return 0;
	}
	event(LEDGER_NOT_OPENED, event_word("store", directory),
		event_word("why", ledger_store_reason(ret)));
	/* The start reports the number once more, in the words of the system. */
	return ret == -EILSEQ || ret == -EXDEV || ret == -EMEDIUMTYPE ? -EPERM : ret;
}

void commit_stop(struct instance *inst)
{
	struct commit *s = inst->commit;

	if (!s)
		return;
	ledger_store_close(&s->opened);
	ledger_watch_free(s->watch);
	free(s->edges);
	free(s);
	inst->commit = NULL;
}

struct limiter_ledger commit_ledger(const struct instance *inst)
{
	const struct ledger_config *ledger = &inst->config->ledger;
	const struct commit *s = inst->commit;

	if (!s)
		return (struct limiter_ledger){0};
	return (struct limiter_ledger){
		.overlay = {.shape = ledger->ring      ? OVERLAY_RING
				     : ledger->n_edges ? OVERLAY_GIVEN
						       : OVERLAY_RANDOM,
			.degree = ledger->degree,
			.spares = OVERLAY_DEATHS,
			.pairs = s->edges,
			.n_pairs = ledger->n_edges},
		.records = s->opened.records,
		.n_records = s->opened.n_records,
		.recovering = s->opened.recovering,
		.durable = true,
		.identity = s->opened.identity,
		.epoch = s->opened.epoch,
		.lease_ns = ledger->lease_ns,
		.drift_ppm = ledger->drift_ppm,
		.promise = ledger->promise,
		.tree_degree = ledger->tree_degree,
		.timeout_ns = inst->config->gossip.timeout_ns,
		.word = randombytes_random() | 1,
		.proof_ns = inst->config->gossip.timeout_ns,
	};
}

void commit_begun(struct instance *inst, int outcome)
{
	struct commit *s = inst->commit;
	char other[BOOK_NAME_MAX];

	if (!s)
		return;
	if (outcome == -EINVAL && s->opened.n_records > 0)
		event(LEDGER_DAMAGED, event_word("store", inst->config->ledger.store));
	/* Names the policy whose id a record of another name has. */
	for (unsigned i = 0; outcome == -EEXIST && i < inst->n_policies; i++) {
		struct policy_key key = policy_key(&inst->policies[i]);
		struct limiter_policy policy = {.id = key.id, .check = key.check};

		if (policy_is_never_exceeded(&inst->policies[i]) &&
			limiter_record_taken(
				s->opened.records, s->opened.n_records, &policy, other))
			event(LEDGER_NAME_TAKEN, event_word("policy", inst->policies[i].name),
				event_word("other", other));
	}
	ledger_store_forget(&s->opened);
}

int commit_fd(const struct instance *inst)
{
	return inst->commit ? store_fd(inst->commit->opened.store) : -1;
}

/* Writes an event at the first failure and at the first success after it. */
static void saving_failed(struct instance *inst, int error)
{
	struct commit *s = inst->commit;

	if (s->error != error)
		event(LEDGER_NOT_SAVED, event_word("store", inst->config->ledger.store),
			event_word("why", ledger_store_reason(error)));
	s->error = error;
	s->counters.failures++;
	s->backoff_ns = RTE_MIN(s->backoff_ns ? 2 * s->backoff_ns : RETRY_FIRST, RETRY_MOST);
	s->retry_ns = control_now() + s->backoff_ns;
	s->committing = false;
}

static int put_limiter_record(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	struct commit *s = context;

	s->n_put = kind == s->putting ? s->n_put + 1 : 1;
	s->putting = kind;
	return store_put(s->opened.store, (uint8_t)kind, id, record, len);
}

/* Each round takes some of 100,000 records, so that control has time for other work. */
static int put_some(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	const struct commit *s = context;
	int ret = put_limiter_record(context, kind, id, record, len);

	return ret ? ret : s->n_put >= ROUND_MOST;
}

/* Hands records over. Returns 0, -EAGAIN if there is none to save, or a negative errno. */
static int hand_over_records(struct instance *inst, limiter_write write)
{
	struct commit *s = inst->commit;
	struct book_identity identity = limiter_identity(inst->limiter);
	char text[BOOK_IDENTITY_TEXT];
	int ret;

	s->n_put = 0;
	/* Saves the identity that a limiter without records received from its neighbours. */
	if (!book_identity_known(s->opened.identity) && book_identity_known(identity) &&
		store_set_identity(s->opened.store,
			(struct store_identity){identity.high, identity.low}) == 0) {
		s->opened.identity = identity;
		book_identity_write(identity, text);
		event(LEDGER_NAMED, event_word("identity", text));
	}
	ret = limiter_save(inst->limiter, write, s);
	if (ret == 0) {
		ret = store_commit(s->opened.store);
		if (ret)
			limiter_save_failed(inst->limiter);
	}
	if (ret)
		store_discard(s->opened.store);
	return ret;
}

/*
 * Publishes limits after the save. They are at most the saved amounts and later receipts, which
 * their givers have committed.
 */
static void watch_workers(struct instance *inst)
{
	struct commit *s = inst->commit;

	if (s->workers == UNPUBLISHED && publish_is_done(inst)) {
		grace_begin(&s->grace, inst);
		s->workers = PUBLISHED;
	}
	if (s->workers == PUBLISHED && grace_done(&s->grace, inst))
		s->workers = ENFORCED;
}

static void begin_ledger_save(struct instance *inst, uint64_t now)
{
	struct commit *s = inst->commit;
	int ret = hand_over_records(inst, put_some);

	if (ret == -EAGAIN)
		return;
	if (ret) {
		saving_failed(inst, ret);
		return;
	}
	s->began_ns = now;
	s->committing = true;
	s->saved = false;
	s->workers = UNPUBLISHED;
	publish(inst);
	watch_workers(inst);
}

static void watch_disk(struct instance *inst)
{
	struct commit *s = inst->commit;
	int result;

	if (s->saved)
		return;
	result = store_result(s->opened.store);
	if (result == -EAGAIN)
		return;
	watch_sentinel(inst);
	if (result) {
		limiter_save_failed(inst->limiter);
		saving_failed(inst, result);
		return;
	}
	if (s->error)
		event(LEDGER_SAVED, event_word("store", inst->config->ledger.store));
	s->error = 0;
	s->backoff_ns = s->retry_ns = 0;
	s->saved = true;
}

static bool policy_is_recovering(const struct limiter *limiter, unsigned policy, uint64_t now)
{
	const struct conserve *conserve = limiter_conserve(limiter);
	const struct budget *budget = limiter_budget(limiter);
	unsigned index = limiter_conserve_index(limiter, policy);

	unsigned burst = limiter_conserve_burst_index(limiter, policy);

	if (conserve && index != LIMITER_ADDED)
		return conserve_view(conserve, index, now).recovering ||
		       (burst != LIMITER_ADDED && conserve_view(conserve, burst, now).recovering);
	index = limiter_budget_index(limiter, policy);
	return budget && index != LIMITER_ADDED && budget_view(budget, index, now).recovering;
}

unsigned commit_count_recovering(const struct instance *inst, uint64_t now)
{
	unsigned n = 0;

	for (unsigned i = 0; i < inst->n_policies; i++)
		n += policy_is_recovering(inst->limiter, i, now);
	return n;
}

static void end_ledger_save(struct instance *inst, uint64_t now)
{
	struct commit *s = inst->commit;
	struct commit_counters *counters = &s->counters;

	limiter_committed(inst->limiter, now);
	s->committing = false;
	counters->rounds++;
	counters->last_ns = now - s->began_ns;
	counters->most_ns = RTE_MAX(counters->most_ns, counters->last_ns);
	if (s->waiting && commit_count_recovering(inst, now) == 0) {
		s->waiting = false;
		event(LEDGER_RECOVERED);
	}
}

bool commit_advance(struct instance *inst)
{
	struct commit *s = inst->commit;
	uint64_t now = control_now();
	bool ended = false;

	if (!s)
		return false;
	ledger_watch_look(s->watch, inst, now);
	if (now >= s->unused_ns) {
		s->unused_ns = now + UNUSED_NS;
		ledger_unused_end(inst, now);
	}
	if (s->committing)
		watch_disk(inst);
	if (s->committing)
		watch_workers(inst);
	if (s->committing && s->saved && s->workers == ENFORCED) {
		end_ledger_save(inst, now);
		ended = true;
	}
	if (!s->committing && now >= s->retry_ns && limiter_uncommitted(inst->limiter))
		begin_ledger_save(inst, now);
	return ended;
}

uint64_t commit_next(const struct instance *inst)
{
	const struct commit *s = inst->commit;
	uint64_t now_ns = s ? control_now() : 0;

	if (s && s->committing && s->workers != ENFORCED)
		return now_ns + REST_NS;
	if (s && !s->committing && s->retry_ns > now_ns)
		return s->retry_ns;
	return UINT64_MAX;
}

static int ms_until(const struct timespec *until)
{
	int64_t end_ns = (int64_t)until->tv_sec * (int64_t)SECOND_NS + until->tv_nsec;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_ns -= (int64_t)now.tv_sec * (int64_t)SECOND_NS + now.tv_nsec;
	return end_ns > 0 ? (int)(end_ns / (int64_t)MS_NS) : 0;
}

void commit_settle(struct instance *inst, const struct timespec *until)
{
	struct commit *s = inst->commit;
	struct pollfd fd = {.events = POLLIN};

	if (!s)
		return;
	if (!s->committing && limiter_uncommitted(inst->limiter) &&
		hand_over_records(inst, put_limiter_record) == 0) {
		s->committing = true;
		s->saved = false;
	}
	if (!s->committing || s->saved)
		return;
	fd.fd = store_fd(s->opened.store);
	s->hangs = poll(&fd, 1, ms_until(until)) == 0;
	if (s->hangs)
		event(LEDGER_HANGS, event_word("store", inst->config->ledger.store));
	else
		s->saved = store_result(s->opened.store) == 0;
}

void commit_last(struct instance *inst)
{
	struct commit *s = inst->commit;

	if (!s || s->hangs)
		return;
	if (s->committing)
		limiter_save_failed(inst->limiter);
	if (s->committing && !s->saved) {
		struct pollfd fd = {.fd = store_fd(s->opened.store), .events = POLLIN};

		/* The result does not matter because the records are saved once more. */
		if (poll(&fd, 1, LAST_MS) > 0)
			(void)store_result(s->opened.store);
	}
	s->committing = false;
	if (limiter_uncommitted(inst->limiter))
		(void)hand_over_records(
			inst, put_limiter_record); /* saved before the store closes */
}

bool commit_disputes(const struct instance *inst, unsigned peer)
{
	return inst->commit && ledger_watch_invalid(inst->commit->watch, peer, control_now());
}

bool commit_view(const struct instance *inst, struct commit_view *view)
{
	const struct commit *s = inst->commit;

	if (!s)
		return false;
	*view = (struct commit_view){
		.directory = inst->config->ledger.store,
		.epoch = s->opened.epoch,
		.identity = limiter_identity(inst->limiter),
		.recovering = s->opened.recovering,
		.committing = s->committing,
		.saved = s->committing && s->saved,
		.enforced = s->committing && s->workers == ENFORCED,
		.sentinel_error = s->sentinel_error,
		.error = s->error,
		.counters = s->counters,
	};
	return true;
}
