/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Records of the ledger whose policies are gone: their names, and forgetting them.
 */
#include "show.h"

#include <string.h>

#include "instance.h"
#include "ledger_unused.h"

#define NAMES_MOST 64

#define ALL_UNUSED "--all-unused"

static bool add_name(void *context, const struct limiter_unused *unused)
{
	json_t *rows = context;

	if (json_array_size(rows) < NAMES_MOST)
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:b}", "name", unused->name, "kind",
				      unused->kind == LIMITER_UNITS ? "quota" : "hard limit",
				      "in_use", unused->in_use));
	return false;
}

void show_unused(json_t *json, const struct instance *inst)
{
	json_t *rows = json_array();

	(void)limiter_forget(inst->limiter, add_name, rows);
	json_object_set_new(json, "unused_records", json_uint(limiter_unused(inst->limiter)));
	json_object_set_new(json, "unused", rows);
}

json_t *show_ledger_forget(const char *params, void *context)
{
	struct instance *inst = context;
	bool all = params && strcmp(params, ALL_UNUSED) == 0;
	struct ledger_forgotten forgotten;

	if (!params || !*params)
		return json_pack("{s:[s]}", "refused", "expected a name, or " ALL_UNUSED);
	forgotten = ledger_forget(inst, all ? NULL : params, telemetry_asker(inst->telemetry));
	if (!all && forgotten.n == 0)
		return json_pack("{s:[s]}", "refused",
			forgotten.in_use
				? "a neighbour still has a policy of this name: remove it there "
				  "first"
				: "no unused record has this name, or it is being saved: see "
				  "weirctl ledger");
	return json_pack("{s:i, s:i, s:i}", "forgotten", (int)forgotten.n, "in_use",
		(int)forgotten.in_use, "unused_records", (int)forgotten.unused);
}
