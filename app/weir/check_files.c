/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weir --check`: reads and checks configurations and the files that they name, without a start.
 */
#include "check_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate/allocate.h"
#include "base/hash.h"
#include "config/config_messages.h"
#include "config/describe.h"
#include "config/load.h"
#include "eal.h"
#include "gossip_socket.h"
#include "group/roster.h"
#include "group_task.h"
#include "kernel_port.h"
#include "machine_errors.h"
#include "members/members.h"
#include "policy/config.h"
#include "policy/value.h"
#include "secret/group_keys.h"
#include "secret/secret_file.h"

#define SMALLEST_PACKET 28 /* bytes of layer 3: IPv4 and UDP without data */

/* An object that is absent here is a warning: the file can be for another machine. */
static void relay_complaint(void *context, const struct complaint *complaint)
{
	struct reader *reader = context;
	struct json_named named;
	const struct json_path *path = json_path_named(reader->root, complaint->place, &named);

	if (complaint->absent)
		reader_report(
			reader, path, MESSAGE(NOT_ON_MACHINE), message_part(complaint->remedy));
	else
		config_complain(reader, complaint);
}

static void check_cpu(unsigned cpu, const char *place, const struct complaint_sink *to)
{
	char found[48];

	snprintf(found, sizeof(found), "CPU %u", cpu);
	if (!eal_has_cpu(cpu))
		complaint_write(to, &(struct complaint){.place = place,
					    .found = found,
					    .remedy = "lscpu -e",
					    .absent = true});
}

static void check_twins(const struct config *config, const struct complaint_sink *to)
{
	for (unsigned i = 0; i < config->n_ports; i++) {
		unsigned twin = port_twin(config, i);
		char place[CONFIG_NAME_MAX + sizeof("ports..device")], expected[128];

		if (twin == i)
			continue;
		snprintf(place, sizeof(place), "ports.%s.device", config->ports[i].name);
		snprintf(expected, sizeof(expected), "another device than that of ports.%s",
			config->ports[twin].name);
		complaint_write(to, &(struct complaint){.place = place,
					    .found = config->ports[i].device,
					    .expected = expected});
	}
}

/* Returns true if it drops packets without IP: matched by wire, direction or VLAN alone, or all. */
static bool drops_other(const struct policy *policy)
{
	bool takes = false;

	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		const struct match *match = policy_match(policy, i);

		takes |= !match->src.family && !match->dst.family && match->dscp == CONFIG_ANY &&
			 match->proto == 0;
	}
	return takes && policy->action != ACTION_COUNT && policy->action != ACTION_MARK;
}

/* Warnings that are only for --strict: many good configurations limit everything. */
static void warn_of_protocols(const struct config *config, struct reader *reader)
{
	static const struct json_path policies = {.key = "policies"};

	for (unsigned i = 0; i < config->n_policies; i++) {
		struct json_path policy = {.parent = &policies, .index = i};

		if (drops_other(&config->policies[i]))
			reader_report(reader, &policy, MESSAGE(ROUTING_DROPPED));
	}
}

/* Warns where an entry of the roster differs from the members that a start would use. */
static void compare_peer(const struct members *members, const struct peer_config *peer,
	const struct json_path *path, struct reader *reader)
{
	const struct member_entry *member = members_find(members, peer->name);
	struct member_address address = member_address_of(peer);
	char text[ADDRESS_TEXT_MAX];
	struct peer_config kept;

	if (!member && members_ended(members, name_hash(peer->name)))
		reader_report(reader, path, MESSAGE(MEMBER_ENDED), peer->name);
	if (!member || member->version == 0 || member_address_equal(&member->address, &address))
		return;
	kept = peer_of_member(member);
	reader_report(reader, path, MESSAGE(MEMBER_MOVED),
		address_format(&kept.address, text, sizeof(text)), peer->name);
}

/* Warns of differences between the file and the members in the state directory. */
static void check_members(
	const struct gossip_config *gossip, struct reader *reader, const char *directory)
{
	static const struct json_path path = {.key = "gossip"},
				      roster = {.parent = &path, .key = "roster"};
	const struct member_entry *member;
	struct members *members = NULL;
	struct roster *named = NULL;
	unsigned position = 0;
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : group_read_kept(fd, &members);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 && ret == -ENOENT)
		return;
	if (ret == 0)
		ret = group_keys_roster(gossip, &named);
	if (ret) {
		reader_report(
			reader, &path, MESSAGE(MEMBERS_UNREADABLE), directory, strerror(-ret));
		members_destroy(members);
		return;
	}
	for (unsigned i = 0; i < gossip->n_roster; i++)
		compare_peer(members, &gossip->roster[i],
			&(struct json_path){.parent = &roster, .index = i}, reader);
	while ((member = members_present(members, &position)))
		if (roster_find(named, member->id) == named->n)
			reader_report(reader, &roster, MESSAGE(MEMBER_MISSING), member->name);
	roster_destroy(named);
	members_destroy(members);
}

/* Files that the configuration names, and groups of this machine: reported where they are named. */
static void check_machine(const struct config *config, struct reader *reader, void *context)
{
	const struct complaint_sink to = {relay_complaint, reader};

	const struct check_options *options = context;
	char place[32];

	if (options && options->strict)
		warn_of_protocols(config, reader);
	machine_check(config, secret_checked_user(), &to);
	files_check(reader, secret_checked_user(), false);
	if (eal_has_cpu(0)) { /* without /sys the CPUs are unknown */
		check_cpu(config->control_cpu, "control.cpu", &to);
		for (unsigned i = 0; i < config->n_workers; i++) {
			snprintf(place, sizeof(place), "workers[%u]", i);
			check_cpu(config->workers[i], place, &to);
		}
	}
	check_twins(config, &to);
	if (options && options->state && config->gossip.n_roster > 1)
		check_members(&config->gossip, reader, options->state);
}

void check_config_files(const struct config *config, struct reader *reader, void *context)
{
	(void)config;
	(void)context;
	files_check(reader, secret_checked_user(), true);
}

static void print_good(const char *file, const struct config *config, unsigned n_files,
	const struct diagnostics *d)
{
	printf("%s: good: limiter %s of %u; ports %u, wires %u, policies %u",
		strcmp(file, "-") == 0 ? "<stdin>" : file, config->limiter, config->gossip.n_roster,
		config->n_ports, config->n_wires, config->n_policies);
	if (n_files > 1)
		printf(", files %u", n_files);
	if (d->warnings > 0)
		printf("; warnings %u", d->warnings);
	putchar('\n');
}

static void print_floods(const struct config *config)
{
	const unsigned n_limiters = config->gossip.n_roster;

	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];
		const double part = policy->allocator == &allocator_static && n_limiters
					    ? n_limiters
					    : 1;
		const double least = policy->count == COUNT_BYTES ? SMALLEST_PACKET : 1;
		/* packets a second that use up all shared meters of a worker */
		const double flood = policy->sources * policy_rate(policy) / part / least;

		if (policy->per_v4)
			printf("policy %s: new sources lose their burst in a flood of more than "
			       "%.0f packets a second from others\n",
				policy->name, flood);
	}
}

int check_config_file(const char *file, const struct check_options *options)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	unsigned n_files = 0;
	struct config_load load = {.path = file,
		.diagnostics = &diagnostics,
		.also = check_machine,
		.context = (void *)options,
		.n_files = &n_files};
	int ret;

	diagnostics_init(&diagnostics, options->json ? stdout : stderr,
		options->json ? DIAGNOSTICS_JSON : DIAGNOSTICS_TEXT);
	diagnostics.errors_only = options->quiet && !options->strict;
	ret = config_load_with(&load, &config);
	if (ret == 0 && options->strict && diagnostics.warnings > 0) {
		if (!options->json)
			fprintf(stderr, "%s: refused: warnings are errors with --strict\n", file);
		ret = -EINVAL;
	}
	if (ret == 0 && !options->quiet && !options->json)
		print_good(file, config, n_files, &diagnostics);
	if (ret == 0 && !options->quiet && !options->json)
		print_floods(config);
	config_free(config);
	return ret;
}

int describe_config_file(const char *file)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	struct config_load load = {
		.path = file, .diagnostics = &diagnostics, .also = check_machine};
	int ret;

	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, &config);
	if (ret == 0) {
		config_describe(config, stdout);
		eal_describe(config, stdout);
	}
	config_free(config);
	return ret;
}
