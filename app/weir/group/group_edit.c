/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of the group by an operator, or by the roster of a file.
 */
#include "group_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <sodium.h>

#include "event.h"
#include "gossip/keyring.h"
#include "gossip_socket.h"
#include "instance.h"
#include "limiter/limiter.h"
#include "members/exchange.h"
#include "members/members.h"
#include "policy/kind.h"
#include "policy/value.h"
#include "base/hash.h"
#include "group/roster.h"
#include "policy/complaint.h"
#include "secret/group_keys.h"

/* Writes a reason; returns false. */
__attribute__((format(printf, 2, 3))) static bool refuse(
	char why[GROUP_TEXT], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, GROUP_TEXT, format, args);
	va_end(args);
	return false;
}

/* Returns the first policy that has a hard limit or a quota, or NULL. */
static const struct policy *first_in_ledger(const struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_policies; i++)
		if (policies_need_ledger(&inst->policies[i], 1))
			return &inst->policies[i];
	return NULL;
}

static bool is_alive(const struct instance *inst, unsigned i)
{
	const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);

	return i == inst->config->gossip.self || (peer && peer->alive);
}

static bool group_can_change(const struct instance *inst, char why[GROUP_TEXT])
{
	const struct gossip_config *gossip = &inst->config->gossip;
	const struct policy *policy = first_in_ledger(inst);

	if (!inst->group)
		return refuse(why, "this limiter runs alone: give it a roster of two or more in "
				   "its file, and restart it");
	if (inst->removed)
		return refuse(why, "this limiter was removed from the group: use another one");
	if (policy || inst->commit)
		return refuse(why,
			"%s%s%s: its parts belong to the present limiters. Stop all of them first, "
			"see doc/operate/group.md",
			policy ? "policy " : "the ledger of this limiter is in use",
			policy ? policy->name : "", policy ? " has a hard limit or a quota" : "");
	for (unsigned i = 0; i < gossip->n_roster; i++)
		if (i != gossip->self && is_alive(inst, i) &&
			!exchange_speaks(limiter_exchange(inst->limiter), i))
			return refuse(why,
				"limiter %s has not reported its members: its version is older, or "
				"it has just started. Upgrade it, or try again",
				gossip->roster[i].name);
	return true;
}

static const struct member_entry *find_member(const struct instance *inst, const char *name)
{
	return members_find(inst->members, name);
}

static bool address_is_free(
	const struct instance *inst, const struct peer_config *peer, char why[GROUP_TEXT])
{
	const struct member_address address = member_address_of(peer);
	const struct member_entry *other;
	char text[ADDRESS_TEXT_MAX];
	unsigned position = 0;

	while ((other = members_present(inst->members, &position)))
		if (member_address_equal(&other->address, &address))
			break;
	if (!other || strcmp(other->name, peer->name) == 0)
		return true;
	return refuse(why, "limiter %s has the address %s", other->name,
		address_format(&peer->address, text, sizeof(text)));
}

static bool may_add(const struct instance *inst, const struct peer_config *peer, char *why)
{
	if (find_member(inst, peer->name))
		return refuse(
			why, "limiter %s is a member: for another address use move", peer->name);
	if (inst->config->gossip.n_roster >= CONFIG_ROSTER_MAX ||
		members_count(inst->members) >= MEMBERS_MOST)
		return refuse(why, "the group has %u limiters, and the most names",
			inst->config->gossip.n_roster);
	if (keyring_requires_identities(inst->keyring) && !peer_key(peer))
		return refuse(why,
			"the limiters of this group have identities: add the public key that "
			"weir --public-key FILE prints at %s",
			peer->name);
	return address_is_free(inst, peer, why);
}

static bool may_remove(
	const struct instance *inst, const char *name, bool dead, char why[GROUP_TEXT])
{
	const struct gossip_config *gossip = &inst->config->gossip;
	unsigned i = 0;

	while (i < gossip->n_roster && strcmp(gossip->roster[i].name, name) != 0)
		i++;
	if (i == gossip->n_roster)
		return refuse(why, "no limiter of the group is called %s", name);
	if (!dead && !is_alive(inst, i))
		return refuse(why,
			"limiter %s is lost, or no neighbour of this one: run the command at a "
			"neighbour of it, or stop it and use remove %s --dead",
			name, name);
	if (dead && is_alive(inst, i))
		return refuse(
			why, "limiter %s is alive: use remove %s, or stop it first", name, name);
	return true;
}

bool group_may(const struct instance *inst, const struct group_edit *edit, char why[GROUP_TEXT])
{
	if (!group_can_change(inst, why))
		return false;
	switch (edit->verb) {
	case GROUP_ADD:
		return may_add(inst, &edit->peer, why);
	case GROUP_REMOVE:
		return may_remove(inst, edit->peer.name, edit->dead, why);
	case GROUP_MOVE:
		if (!find_member(inst, edit->peer.name))
			return refuse(why, "no limiter of the group is called %s", edit->peer.name);
		return address_is_free(inst, &edit->peer, why);
	}
	return false;
}

int group_edit(struct instance *inst, const struct group_edit *edit, uid_t by)
{
	static const char *const verbs[] = {
		[GROUP_ADD] = "add", [GROUP_REMOVE] = "remove", [GROUP_MOVE] = "move"};
	const struct member_address address = member_address_of(&edit->peer);
	struct members *set = inst->members;
	uint64_t born;
	int ret = 0;

	switch (edit->verb) {
	case GROUP_ADD:
		randombytes_buf(&born, sizeof(born));
		ret = members_add(set, edit->peer.name, &address, peer_key(&edit->peer), born);
		break;
	case GROUP_REMOVE:
		ret = members_remove(set, edit->peer.name, edit->dead);
		break;
	case GROUP_MOVE:
		ret = members_move(set, edit->peer.name, &address);
		break;
	}
	if (ret == 0)
		event(GROUP_EDITED, event_word("verb", verbs[edit->verb]),
			event_word("limiter", edit->peer.name), event_count("uid", by));
	return ret;
}

/* --- the roster of a file, compared with the members ------------------------------------------ */

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
