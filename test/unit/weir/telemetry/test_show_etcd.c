/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about etcd, with a simulated share.
 */
#include "show_world.h"
#include "scope.h"

#include "base/time.h"
#include "etcd_share.h"
#include "show.h"

static struct {
	bool configured;
	struct etcd_share_view view;
	struct budget_share_view budgets[2];
} share;

/* The linker puts these in the place of the real ones. */
bool __wrap_etcd_share_view(const struct instance *inst, struct etcd_share_view *view);
unsigned __wrap_etcd_share_budgets(const struct instance *inst);
struct budget_share_view __wrap_etcd_share_budget(const struct instance *inst, unsigned i);
uint64_t __wrap_control_now(void);

bool __wrap_etcd_share_view(const struct instance *inst, struct etcd_share_view *view)
{
	*view = share.view;
	return share.configured;
}

unsigned __wrap_etcd_share_budgets(const struct instance *inst)
{
	return 2;
}

struct budget_share_view __wrap_etcd_share_budget(const struct instance *inst, unsigned i)
{
	assert_in_range(i, 0, 1);
	return share.budgets[i];
}

uint64_t __wrap_control_now(void)
{
	return 100 * SECOND_NS;
}

TEST(test_not_configured)
{
	ENDED_BY(instance_world_close) struct instance_world w;

	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	share.configured = false;
	assert_null(show_etcd(NULL, &w.inst));
}

/* Amounts are shown once etcd has answered, in the unit that the policy counts. */
TEST(test_budgets)
{
	ENDED_BY(instance_world_close) struct instance_world w;

	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}, {'name': 'q', 'match': "
				"{'vlan': 2}, 'limit': '1/s', 'count': 'packets'}");
	share.configured = true;
	share.view = (struct etcd_share_view){.state = DRAW_CONNECTED, .why = ""};
	share.budgets[0] = (struct budget_share_view){.name = "cap/p",
		.policy = 0,
		.known = true,
		.period = 20000,
		.total = 1000,
		.drawn = 300,
		.left = 700,
		.as_of_ns = 97 * SECOND_NS,
		.asked = true};
	share.budgets[1] = (struct budget_share_view){
		.name = "cap/q", .policy = 1, .period = 7, .total = 5, .error = -ETIMEDOUT};
	show_expect(show_etcd(NULL, &w.inst),
		"{'quotas': [{'policy': 'p', 'name': 'cap/p', 'period_number': 20000, "
		"'total_bytes': 1000, 'drawn_bytes': 300, 'left_bytes': 700, "
		"'as_of_ms_ago': 3000, 'asked': true, 'error': null}, "
		"{'policy': 'q', 'name': 'cap/q', 'period_number': 7, 'as_of_ms_ago': null, "
		"'asked': false, 'error': 'Connection timed out'}], 'state': 'connected', "
		"'endpoints': [], 'user': null, 'logged_in': false, 'error': null, '...': 0}");
	share.budgets[1].known = true;
	share.budgets[1].left = 4;
	show_expect(show_etcd("1", &w.inst), "{'quotas': [{'policy': 'q', 'total': 5, 'left': 4, "
					     "'drawn': 0, '...': 0}], '...': 0}");
}

TEST(test_states)
{
	static const struct {
		enum etcd_share_state state;
		bool logged_in;
		const char *why, *shown;
	} rows[] = {
		{DRAW_CONNECTING, false, "",
			"{'state': 'connecting', 'error': null, "
			"'logged_in': false, '...': 0}"},
		{DRAW_CONNECTED, true, "", "{'state': 'connected', 'logged_in': true, '...': 0}"},
		{DRAW_AWAY, false, "no answer",
			"{'state': 'away', 'error': 'no answer', '...': 0}"},
		{DRAW_FENCED, false, "", "{'state': 'fenced', '...': 0}"},
	};
	ENDED_BY(instance_world_close) struct instance_world w;

	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	share.configured = true;
	share.budgets[1].policy = 0; /* no other one */
	for (size_t i = 0; i < COUNT(rows); i++) {
		share.view = (struct etcd_share_view){
			rows[i].state, rows[i].logged_in, rows[i].why};
		show_expect(show_etcd(NULL, &w.inst), rows[i].shown);
	}
}

/* Endpoints, user and prefix are those of the configuration. */
TEST(test_place)
{
	static char one[] = "https://one:2379", two[] = "https://two:2379";
	ENDED_BY(instance_world_close) struct instance_world w;
	struct ledger_config *ledger;

	instance_world_open(&w, "{'name': 'p', 'limit': '1Mbit/s'}");
	ledger = &w.config->ledger;
	ledger->n_etcd = 2;
	ledger->etcd[0] = one;
	ledger->etcd[1] = two;
	strcpy(ledger->etcd_user, "weir");
	strcpy(ledger->etcd_prefix, "/cap/");
	share.configured = true;
	share.view = (struct etcd_share_view){.state = DRAW_CONNECTED, .why = ""};
	show_expect(show_etcd(NULL, &w.inst),
		"{'endpoints': ['https://one:2379', 'https://two:2379'], 'user': 'weir', "
		"'prefix': '/cap/', '...': 0}");
	ledger->n_etcd = 0;
}

TEST_GROUP(instance_world_start, instance_world_stop)
