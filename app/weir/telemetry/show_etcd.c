/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <string.h>

#include "instance.h"
#include "etcd_share.h"

static const char *const state_names[] = {
	[DRAW_CONNECTING] = "connecting",
	[DRAW_CONNECTED] = "connected",
	[DRAW_AWAY] = "away",
	[DRAW_FENCED] = "fenced",
};

static json_t *endpoints_json(const struct ledger_config *ledger)
{
	json_t *json = json_array();

	for (unsigned i = 0; i < ledger->n_etcd; i++)
		json_array_append_new(json, json_string(ledger->etcd[i]));
	return json;
}

#define UNITS(member) SHOW_FIELD(budget_share_view, UNITS, member)
static const struct show_field amounts_fields[] = {UNITS(total), UNITS(drawn), UNITS(left), {0}};
#undef UNITS

/* Amounts are missing until etcd has reported them. */
static json_t *budget_json(const void *context, unsigned budget)
{
	const struct instance *inst = context;
	struct budget_share_view view = etcd_share_budget(inst, budget);
	const struct policy *policy = &inst->policies[view.policy];
	json_t *json = json_pack("{s:s, s:s, s:o}", "policy", policy->name, "name", view.name,
		"period_number", json_uint(view.period));

	if (view.known)
		show_fields(json, amounts_fields, &view, policy);
	json_object_set_new(json, "as_of_ms_ago", age_ms(view.known, view.as_of_ns, control_now()));
	json_object_set_new(json, "asked", json_boolean(view.asked));
	json_object_set_new(
		json, "error", view.error ? json_string(strerror(-view.error)) : json_null());
	return json;
}

/* Returns NULL if no etcd is configured. */
json_t *show_etcd(const char *params, void *context)
{
	const struct instance *inst = context;
	struct etcd_share_view etcd_share;
	json_t *json;

	if (!etcd_share_view(inst, &etcd_share))
		return NULL;
	json = show_page(
		"quotas", params, etcd_share_budgets(inst), TELEMETRY_PAGE, budget_json, inst);
	json_object_set_new(json, "state", json_string(state_names[etcd_share.state]));
	json_object_set_new(json, "endpoints", endpoints_json(&inst->config->ledger));
	json_object_set_new(json, "user",
		*inst->config->ledger.etcd_user ? json_string(inst->config->ledger.etcd_user)
						: json_null());
	json_object_set_new(json, "logged_in", json_boolean(etcd_share.logged_in));
	json_object_set_new(json, "prefix", json_string(inst->config->ledger.etcd_prefix));
	json_object_set_new(
		json, "error", *etcd_share.why ? json_string(etcd_share.why) : json_null());
	return json;
}
