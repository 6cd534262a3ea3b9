/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads another limit and burst for a policy.
 */
#include "config/terms.h"

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "policy/kind.h"
#include "policy/schedule.h"

static const struct key terms_keys[] = {
	{"limit", read_limit, KEY_FIELD(struct policy, limit_bps), .required = true},
	{"burst", read_policy_burst, KEY_FIELD(struct policy, burst_bytes)},
	{0},
};

void config_read_terms(struct reader *reader, const struct json_path *path, json_t *value,
	const struct policy *policy, unsigned n_limiters, bool named, struct limit_terms *out)
{
	struct json_path limit = {.parent = path, .key = "limit"};
	struct policy other = *policy;

	other.limit_bps = other.burst_bytes = 0;
	other.limit_s = 0;
	read_keys(reader, path, value, terms_keys, &other);
	*out = policy_terms(&other);
	if (reader_failed(reader))
		return;
	if (out->burst_bytes == 0)
		terms_complete(policy, named, n_limiters, out);
	terms_check(reader, path, policy, out, n_limiters);
	if (reader_failed(reader))
		return;
	/* A bucket of the policy's resolution needs room for the limit: see kind.h. */
	other = policy_with_terms(policy, out);
	if (policy_unit_bits(&other) < policy_unit_bits(policy))
		reader_report(reader, &limit, MESSAGE(OVERRIDE_LIMIT));
}

int config_parse_terms(const char *text, size_t len, const struct policy *policy,
	unsigned n_limiters, FILE *err, struct limit_terms *out)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	bool named = policy->burst_bytes != burst_default(policy, n_limiters);
	char place[CONFIG_NAME_MAX + 16];
	struct reader reader;
	int ret;

	snprintf(place, sizeof(place), "policy \"%s\"", policy->name);
	ret = root != NULL ? reader_take(&reader, root, place, err)
			   : reader_parse(&reader, text, len, place, err);
	json_decref(root);
	if (ret < 0)
		return ret;
	config_read_terms(&reader, NULL, reader.root, policy, n_limiters, named, out);
	return reader_finish(&reader);
}
