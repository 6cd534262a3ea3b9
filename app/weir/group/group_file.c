/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The roster of a configuration, compared with the members.
 */
#include "group_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "group/roster.h"
#include "instance.h"
#include "policy/complaint.h"
#include "policy/kind.h"
#include "secret/group_keys.h"

/* Members that a file does not name, and that have a warning of their own. */
#define WARNINGS_MOST 8

/* Warns of members that the file does not name: only an operator's command removes one. */
static void warn_of_missing(const struct instance *inst, const struct gossip_config *live,
	const struct roster *named, FILE *err)
{
	unsigned n = 0;

	for (unsigned i = 0; i < live->n_roster; i++)
		if (roster_find(named, name_hash(live->roster[i].name)) == named->n &&
			n++ < WARNINGS_MOST)
			fprintf(err,
				"%s: warning: gossip.roster: limiter %s is missing: it stays a "
				"member until weirctl group remove %s\n",
				inst->file, live->roster[i].name, live->roster[i].name);
	if (n > WARNINGS_MOST)
		fprintf(err, "%s: warning: gossip.roster: %u more members are missing\n",
			inst->file, n - WARNINGS_MOST);
}

/* Rejects a new name if the parts of a hard limit or a quota belong to the present members. */
static int check_new(const struct instance *inst, const struct config *config,
	const struct roster *present, FILE *err)
{
	const struct gossip_config *file = &config->gossip;

	for (unsigned i = 0; i < file->n_roster; i++) {
		if (roster_find(present, name_hash(file->roster[i].name)) < present->n)
			continue;
		if (!inst->group || inst->commit ||
			policies_need_ledger(config->policies, config->n_policies)) {
			fprintf(err,
				"%s: gossip.roster[%u]: cannot be added while the limiter runs%s: "
				"restart it\n",
				inst->file, i,
				inst->group ? " with a hard limit or a quota" : " alone");
			return -EINVAL;
		}
	}
	return 0;
}

int group_check_file(const struct instance *inst, const struct config *config, FILE *err)
{
	const struct gossip_config *live = &inst->config->gossip;
	struct roster *present, *named = NULL;
	int ret = group_keys_roster(live, &present);

	if (ret)
		return ret;
	ret = group_keys_roster(&config->gossip, &named);
	if (ret == 0)
		ret = check_new(inst, config, present, err);
	if (ret == 0)
		warn_of_missing(inst, live, named, err);
	roster_destroy(named);
	roster_destroy(present);
	return ret;
}

/* Copies the present roster, with the public keys of the file. */
static struct peer_config *copy_roster(
	const struct gossip_config *live, const struct gossip_config *file)
{
	struct peer_config *roster = calloc(live->n_roster, sizeof(*roster));
	struct roster *present;

	if (!roster || group_keys_roster(live, &present)) {
		free(roster);
		return NULL;
	}
	memcpy(roster, live->roster, live->n_roster * sizeof(*roster));
	for (unsigned i = 0; i < file->n_roster; i++) {
		unsigned at = roster_find(present, name_hash(file->roster[i].name));

		if (at < present->n)
			memcpy(roster[at].public_key, file->roster[i].public_key,
				sizeof(roster[at].public_key));
	}
	roster_destroy(present);
	return roster;
}

int group_load_keys(
	const struct instance *inst, const struct config *config, FILE *err, struct keyring **out)
{
	const struct gossip_config *live = &inst->config->gossip;
	const struct complaint_sink to = complaint_sink_of(err);
	struct gossip_config *gossip = malloc(sizeof(*gossip));
	int ret = -ENOMEM;

	*out = NULL;
	if (!gossip)
		return ret;
	*gossip = config->gossip;
	gossip->roster = copy_roster(live, &config->gossip);
	gossip->n_roster = live->n_roster;
	gossip->self = live->self;
	if (gossip->roster)
		ret = group_keys_load(gossip, geteuid(), &to, out);
	free(gossip->roster);
	free(gossip);
	return ret;
}
