/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Events about neighbours whose statements are rejected: they belong to another ledger, or cannot
 * be true. Ends records of policies that this limiter does not have any more.
 */
#include "ledger_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "instance.h"
#include "limiter/limiter.h"
#include "event.h"
#include "senders.h"
#include "policy/period.h"

#define LOOK_NS  SECOND_NS
#define QUIET_NS (60 * SECOND_NS)

/* State of the last events of one neighbour. */
struct watched_neighbour {
	bool foreign, twice;
	uint64_t invalid, collided;
	uint64_t foreign_ns, invalid_ns, collided_ns; /* times of the events, 0: never */
	uint64_t counted, grew_ns; /* invalid statements at the last look; when they grew */
};

struct ledger_watch {
	unsigned n;
	uint64_t looked_ns;
	uint64_t closed_ns; /* time of the closure in the last event; 0: none */
	bool closed;        /* its end is not logged yet */
	struct watched_neighbour of[];
};

struct ledger_watch *ledger_watch_new(unsigned n_roster)
{
	struct ledger_watch *watch = calloc(
		1, sizeof(*watch) + n_roster * sizeof(struct watched_neighbour));

	if (watch)
		watch->n = n_roster;
	return watch;
}

void ledger_watch_free(struct ledger_watch *watch)
{
	free(watch);
}

static bool may_log(uint64_t logged_ns, uint64_t now_ns)
{
	return logged_ns == 0 || now_ns - logged_ns >= QUIET_NS;
}

static void log_foreign(struct watched_neighbour *before, const struct limiter_neighbour *neighbour,
	const char *name, struct book_identity ours, uint64_t now_ns)
{
	char theirs[BOOK_IDENTITY_TEXT], text[BOOK_IDENTITY_TEXT];

	if (neighbour->foreign == before->foreign || !may_log(before->foreign_ns, now_ns))
		return;
	before->foreign = neighbour->foreign;
	before->foreign_ns = now_ns;
	book_identity_write(neighbour->peer_identity, theirs);
	book_identity_write(ours, text);
	if (neighbour->foreign)
		event(LEDGER_FOREIGN, event_word("peer", name), event_word("theirs", theirs),
			event_word("ours", text));
	else
		event(LEDGER_COMMON, event_word("peer", name));
}

static void log_twice(struct watched_neighbour *before, const struct limiter_neighbour *neighbour,
	const struct instance *inst, unsigned peer, uint64_t now_ns)
{
	const struct peer_config *config = &inst->config->gossip.roster[peer];
	char addresses[SENDERS_TEXT];

	if (neighbour->twice == before->twice)
		return;
	before->twice = neighbour->twice;
	if (neighbour->twice)
		event(LEDGER_TWICE, event_word("peer", config->name),
			event_word("addresses",
				senders_write(inst->senders, peer, now_ns, addresses)));
	else
		event(LEDGER_ONCE, event_word("peer", config->name));
}

static void log_closure(struct ledger_watch *watch, const struct instance *inst, uint64_t now_ns)
{
	struct limiter_closure closure = limiter_closure(inst->limiter, now_ns);
	const char *limiter = inst->config->gossip.roster[inst->config->gossip.self].name;

	if (closure.at_ns != watch->closed_ns) {
		watch->closed_ns = closure.at_ns;
		watch->closed = true;
		if (closure.reason == BOOK_NAME_TWICE)
			event(LEDGER_NAME_TWICE, event_word("limiter", limiter));
		else
			event(LEDGER_OLDER_STORE, event_word("store", inst->config->ledger.store));
	} else if (watch->closed && !closure.closed) {
		watch->closed = false;
		event(LEDGER_RECOVERED);
	}
}

void ledger_watch_look(struct ledger_watch *watch, const struct instance *inst, uint64_t now_ns)
{
	struct book_identity ours = limiter_identity(inst->limiter);
	struct limiter_neighbour neighbour;

	if (now_ns - watch->looked_ns < LOOK_NS)
		return;
	watch->looked_ns = now_ns;
	log_closure(watch, inst, now_ns);
	for (unsigned i = 0; i < watch->n; i++) {
		const char *name = inst->config->gossip.roster[i].name;
		struct watched_neighbour *before = &watch->of[i];

		if (!limiter_neighbour(inst->limiter, i, &neighbour))
			continue;
		if (neighbour.invalid != before->counted)
			before->grew_ns = now_ns;
		before->counted = neighbour.invalid;
		log_foreign(before, &neighbour, name, ours, now_ns);
		if (neighbour.invalid != before->invalid && may_log(before->invalid_ns, now_ns)) {
			before->invalid_ns = now_ns;
			event(LEDGER_INVALID, event_word("peer", name),
				event_count("times", neighbour.invalid - before->invalid));
			before->invalid = neighbour.invalid;
		}
		log_twice(before, &neighbour, inst, i, now_ns);
		if (neighbour.collided != before->collided &&
			may_log(before->collided_ns, now_ns)) {
			before->collided_ns = now_ns;
			before->collided = neighbour.collided;
			event(LEDGER_COLLIDED, event_word("peer", name));
		}
	}
}

bool ledger_watch_invalid(const struct ledger_watch *watch, unsigned i, uint64_t now_ns)
{
	uint64_t grew_ns = i < watch->n ? watch->of[i].grew_ns : 0;

	return grew_ns && now_ns - grew_ns < QUIET_NS;
}

struct ledger_disputes ledger_disputes(const struct instance *inst)
{
	struct ledger_disputes disputes = {0};
	struct limiter_neighbour neighbour;

	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++) {
		if (!limiter_neighbour(inst->limiter, i, &neighbour))
			continue;
		disputes.neighbours += neighbour.foreign;
		disputes.foreign_messages += neighbour.foreign_messages;
		disputes.invalid_statements += neighbour.invalid;
		disputes.collided_statements += neighbour.collided;
	}
	return disputes;
}

/* --- records of policies that are gone -------------------------------------------------------- */

/* True if the period of that number has ended. See limiter_policy.period_length. */
static bool period_is_over(const struct budget_period *period, int64_t wall_s)
{
	struct policy policy = {.period = PERIOD_FIXED, .period_ns = period->length - PERIOD_FIXED};

	if (period->length == 0 || period->number == 0 || wall_s == TIME_UNKNOWN)
		return false;
	if (period->length == PERIOD_MONTH)
		policy = (struct policy){.period = PERIOD_MONTH};
	return period_number(&policy, wall_s) > period->number;
}

static bool may_end(void *context, const struct limiter_unused *unused)
{
	return unused->untouched || period_is_over(&unused->period, *(const int64_t *)context);
}

void ledger_unused_end(struct instance *inst, uint64_t now_ns)
{
	int64_t wall_s = limiter_wall_s(inst->limiter, now_ns);
	unsigned n = limiter_forget(inst->limiter, may_end, &wall_s);

	if (n > 0)
		event(LEDGER_ENDED, event_count("records", n));
}

struct request {
	const char *name;
	struct ledger_forgotten forgotten;
};

static bool may_forget(void *context, const struct limiter_unused *unused)
{
	struct request *request = context;

	if (request->name && strcmp(request->name, unused->name) != 0)
		return false;
	request->forgotten.in_use += unused->in_use;
	return !unused->in_use;
}

struct ledger_forgotten ledger_forget(struct instance *inst, const char *name, int64_t uid)
{
	struct request request = {.name = name};

	request.forgotten.n = limiter_forget(inst->limiter, may_forget, &request);
	request.forgotten.unused = limiter_unused(inst->limiter);
	if (request.forgotten.n > 0)
		event(LEDGER_FORGOTTEN, event_count("records", request.forgotten.n),
			event_word("of", name ? name : "all unused names"),
			event_count("uid", (uint64_t)uid));
	return request.forgotten;
}
