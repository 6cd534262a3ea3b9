/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Alarms about the ledger, its store and the etcd of quotas. Each is a row in show_health.c, and a
 * word in the tables of doc/operate (test/unit/check_alarms.py).
 */
#include "show.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "commit.h"
#include "etcd_share.h"
#include "instance.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "losses.h"
#include "senders.h"

void alarm_ledger_failing(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.error && commit.error != -ESTALE)
		json_array_append_new(alarms,
			json_sprintf("the ledger in %s cannot be saved: %s; this limiter grants "
				     "nothing until it is",
				commit.directory, ledger_store_reason(commit.error)));
}

void alarm_ledger_exchanged(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.error == -ESTALE)
		json_array_append_new(
			alarms, json_sprintf("the ledger in %s is closed: %s", commit.directory,
					ledger_store_reason(commit.error)));
}

void alarm_ledger_recovering(const struct instance *inst, json_t *alarms)
{
	unsigned n = commit_count_recovering(inst, control_now());

	if (n > 0)
		json_array_append_new(
			alarms, json_sprintf("the ledger is recovering: %u %s nothing until every "
					     "neighbour has reported",
					n,
					n == 1 ? "hard limit or quota passes"
					       : "hard limits and quotas pass"));
}

void alarm_ledger_sentinel(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.sentinel_error)
		json_array_append_new(alarms,
			json_sprintf("%s.sentinel cannot be used: %s; a restored store would go "
				     "unnoticed",
				commit.directory, strerror(-commit.sentinel_error)));
}

void alarm_ledger_other(const struct instance *inst, json_t *alarms)
{
	struct limiter_neighbour neighbour;

	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		if (limiter_neighbour(inst->limiter, i, &neighbour) && neighbour.foreign)
			json_array_append_new(alarms,
				json_sprintf("%s uses another ledger: nothing moves between it and "
					     "this limiter",
					inst->config->gossip.roster[i].name));
}

void alarm_ledger_invalid(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		if (commit_disputes(inst, i))
			json_array_append_new(alarms,
				json_sprintf("%s sends impossible statements: its store or ours "
					     "was restored or copied, or memory is broken",
					inst->config->gossip.roster[i].name));
}

void alarm_ledger_older(const struct instance *inst, json_t *alarms)
{
	struct limiter_closure closure = limiter_closure(inst->limiter, control_now());

	if (closure.closed && closure.reason == BOOK_OLDER_STORE)
		json_array_append_new(alarms,
			json_sprintf("the ledger in %s is older than the records of the "
				     "neighbours: it was restored or copied, and hard limits and "
				     "quotas pass nothing until they have reported",
				inst->config->ledger.store));
}

void alarm_name_twice(const struct instance *inst, json_t *alarms)
{
	struct limiter_closure closure = limiter_closure(inst->limiter, control_now());
	const struct gossip_config *gossip = &inst->config->gossip;
	struct limiter_neighbour neighbour;
	char addresses[SENDERS_TEXT];
	uint64_t now = control_now();

	if (closure.held || (closure.closed && closure.reason == BOOK_NAME_TWICE))
		json_array_append_new(alarms,
			json_sprintf("another limiter is named %s: hard limits and quotas pass "
				     "nothing here until one of the two stops",
				gossip->roster[gossip->self].name));
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		bool twice = limiter_neighbour(inst->limiter, i, &neighbour) && neighbour.twice;

		if (!twice && !(inst->senders && senders_two(inst->senders, i, now)))
			continue;
		json_array_append_new(
			alarms, json_sprintf("two limiters are named %s, and send from %s: %s",
					gossip->roster[i].name,
					senders_write(inst->senders, i, now, addresses),
					twice ? "nothing moves between them and this limiter"
					      : "find and stop one of them"));
	}
}

void alarm_datagrams_refused(const struct instance *inst, json_t *alarms)
{
	char verdicts[LOSSES_VERDICTS];

	if (losses_refused(inst, verdicts))
		json_array_append_new(
			alarms, json_sprintf("datagrams of gossip are rejected: %s", verdicts));
}

static const char *const etcd_problems[] = {
	[DRAW_AWAY] = "does not answer: quotas last as long as the units that are drawn",
	[DRAW_FENCED] = "has fenced this limiter: another process draws under its name",
};

static void alarm_etcd(const struct instance *inst, json_t *alarms, enum etcd_share_state state)
{
	struct etcd_share_view view;

	if (etcd_share_view(inst, &view) && view.state == state)
		json_array_append_new(alarms, json_sprintf("etcd %s%s%s", etcd_problems[state],
						      *view.why ? ": " : "", view.why));
}

void alarm_etcd_away(const struct instance *inst, json_t *alarms)
{
	alarm_etcd(inst, alarms, DRAW_AWAY);
}

void alarm_etcd_fenced(const struct instance *inst, json_t *alarms)
{
	alarm_etcd(inst, alarms, DRAW_FENCED);
}

void alarm_etcd_refused(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < etcd_share_budgets(inst); i++) {
		struct budget_share_view view = etcd_share_budget(inst, i);

		if (view.error)
			json_array_append_new(
				alarms, json_sprintf("etcd: quota %s: %s: nothing is drawn of it",
						view.name, strerror(-view.error)));
	}
}
