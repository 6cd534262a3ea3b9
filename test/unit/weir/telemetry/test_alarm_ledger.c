/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * All combinations of states of the ledger and of etcd. Each problem is an alarm with its name and
 * a sentence with the reason, and there is no other alarm.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "commit.h"
#include "etcd_share.h"
#include "limiter/limiter.h"
#include "losses.h"
#include "show_world.h"

static struct {
	struct commit_view commit;
	bool foreign, disputed, refused, twice;
	struct limiter_closure closure;
	unsigned recovering;
	enum etcd_share_state etcd;
	int budget_error;
} state_of;
static bool on; /* false while the world opens and closes */

bool __wrap_commit_view(const struct instance *inst, struct commit_view *view);
bool __wrap_commit_view(const struct instance *inst, struct commit_view *view)
{
	*view = state_of.commit;
	return on;
}

unsigned __wrap_commit_count_recovering(const struct instance *inst, uint64_t now_ns);
unsigned __wrap_commit_count_recovering(const struct instance *inst, uint64_t now_ns)
{
	(void)inst, (void)now_ns;
	return on ? state_of.recovering : 0;
}

bool __wrap_limiter_neighbour(
	const struct limiter *limiter, unsigned peer, struct limiter_neighbour *neighbour);
bool __wrap_limiter_neighbour(
	const struct limiter *limiter, unsigned peer, struct limiter_neighbour *neighbour)
{
	(void)limiter, (void)peer;
	*neighbour = (struct limiter_neighbour){
		.spoke = true, .foreign = state_of.foreign, .twice = state_of.twice};
	return on;
}

struct limiter_closure __wrap_limiter_closure(const struct limiter *limiter, uint64_t now_ns);
struct limiter_closure __wrap_limiter_closure(const struct limiter *limiter, uint64_t now_ns)
{
	(void)limiter, (void)now_ns;
	return on ? state_of.closure : (struct limiter_closure){0};
}

bool __wrap_commit_disputes(const struct instance *inst, unsigned peer);
bool __wrap_commit_disputes(const struct instance *inst, unsigned peer)
{
	(void)inst, (void)peer;
	return state_of.disputed;
}

bool __wrap_losses_refused(const struct instance *inst, char text[LOSSES_VERDICTS]);
bool __wrap_losses_refused(const struct instance *inst, char text[LOSSES_VERDICTS])
{
	snprintf(text, LOSSES_VERDICTS, "replay 397");
	return state_of.refused;
}

bool __wrap_etcd_share_view(const struct instance *inst, struct etcd_share_view *view);
bool __wrap_etcd_share_view(const struct instance *inst, struct etcd_share_view *view)
{
	*view = (struct etcd_share_view){.state = state_of.etcd, .why = "because"};
	return on;
}

unsigned __wrap_etcd_share_budgets(const struct instance *inst);
unsigned __wrap_etcd_share_budgets(const struct instance *inst)
{
	return on;
}

struct budget_share_view __wrap_etcd_share_budget(const struct instance *inst, unsigned i);
struct budget_share_view __wrap_etcd_share_budget(const struct instance *inst, unsigned i)
{
	(void)inst, (void)i;
	return (struct budget_share_view){.name = "cap", .error = state_of.budget_error};
}

static void choose_state(struct prng *prng)
{
	static const int errors[] = {0, -ENOSPC, -ESTALE};

	memset(&state_of, 0, sizeof(state_of));
	state_of.commit.directory = "/var/lib/weir/x";
	state_of.commit.error = errors[prng_below(prng, 3)];
	state_of.commit.sentinel_error = prng_below(prng, 2) ? -EROFS : 0;
	state_of.foreign = prng_below(prng, 2);
	state_of.twice = prng_below(prng, 2);
	state_of.closure.reason = prng_below(prng, BOOK_IMPOSSIBLE);
	state_of.closure.closed = prng_below(prng, 2);
	state_of.disputed = prng_below(prng, 2);
	state_of.refused = prng_below(prng, 2);
	state_of.recovering = prng_below(prng, 3);
	state_of.etcd = prng_below(prng, 2) ? DRAW_AWAY : prng_below(prng, 2) ? DRAW_FENCED : 0;
	state_of.budget_error = prng_below(prng, 2) ? -ETIMEDOUT : 0;
}

/* The oracle: name, whether it is active, and a part of its sentence. */
static void expect_alarms(json_t *health)
{
	const struct {
		const char *name, *words;
		bool active;
	} rows[] = {
		{"ledger_failing", "No space left", state_of.commit.error == -ENOSPC},
		{"ledger_exchanged", "is closed: another process",
			state_of.commit.error == -ESTALE},
		{"ledger_sentinel", "x.sentinel cannot be used", state_of.commit.sentinel_error},
		{"ledger_recovering",
			state_of.recovering == 2 ? "recovering: 2 hard limits and quotas pass "
						 : "recovering: 1 hard limit or quota passes ",
			state_of.recovering},
		{"ledger_other", "uses another ledger", state_of.foreign},
		{"ledger_invalid", "sends impossible statements", state_of.disputed},
		{"ledger_older", "is older than",
			state_of.closure.closed && state_of.closure.reason == BOOK_OLDER_STORE},
		{"name_twice", " named ",
			state_of.twice || (state_of.closure.closed &&
						  state_of.closure.reason == BOOK_NAME_TWICE)},
		{"datagrams_refused", "rejected: replay 397", state_of.refused},
		{"etcd_away", "does not answer", state_of.etcd == DRAW_AWAY},
		{"etcd_fenced", "has fenced", state_of.etcd == DRAW_FENCED},
		{"etcd_refused", "quota cap: ", state_of.budget_error},
	};
	ENDED_BY(free_at) char *texts = json_dumps(json_object_get(health, "alarms"), 0);
	json_t *active = json_object_get(health, "active"), *number;
	json_int_t sum = 0, expected = 0;
	const char *name;

	for (size_t i = 0; i < COUNT(rows); i++) {
		number = json_object_get(active, rows[i].name);
		if (!number || (json_integer_value(number) > 0) != rows[i].active ||
			!strstr(texts, rows[i].words) == rows[i].active)
			fail_msg("%s: %s", rows[i].name, texts);
		expected += json_integer_value(number);
	}
	json_object_foreach (active, name, number)
		sum += json_integer_value(number);
	assert_int_equal(sum, expected);
	assert_int_equal(sum, json_array_size(json_object_get(health, "alarms")));
}

TEST(test_combinations)
{
	ENDED_BY(instance_world_close) struct instance_world w;
	struct prng prng;

	prng_seed(&prng, 1);
	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	on = true;
	for (unsigned round = 0; round < ROUNDS(400); round++) {
		json_t *health;

		choose_state(&prng);
		health = show_ask(&w, "/weir/health", NULL);
		expect_alarms(health);
		json_decref(health);
	}
	on = false;
}

TEST_GROUP(instance_world_start, instance_world_stop)
