/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command.h"

#include <string.h>

static const struct command commands[] = {
	{"status", "", "one screen: group, rates now, links, drops, ledger", .takes_a_while = true,
		.gather = status_gather, .print = status_print},
	{"policies", "[--sort rate|drops] [N]", "the policies, or N of them", .takes = true,
		.sorts = true, .gather = policies_gather, .print = policies_print},
	{"policy", "NAME", "all that is known of one", .wants = true, .asks = "/weir/policy",
		.print = policy_print},
	{"placement", "[POLICY]", "workers that sources are given to", .takes = true,
		.gather = placement_gather, .print = placement_print},
	{"peers", "", "the group: who counts", .asks = "/weir/peers", .lists = "peers",
		.print = peers_print},
	{"gossip", "", "datagrams of the group: sent, and received by verdict",
		.asks = "/weir/gossip", .print = gossip_print},
	{"drops", "", "packets that came in and did not leave", .asks = "/weir/drops",
		.print = drops_print},
	{"workers", "", "what each worker has done", .asks = "/weir/workers",
		.print = workers_print},
	{"ports", "", "the ports and their links", .asks = "/weir/ports", .print = ports_print},
	{"ledger", "[POLICY]", "limits that are never exceeded: who holds what", .takes = true,
		.gather = ledger_gather, .print = ledger_print},
	{"quota", "[POLICY]", "budgets: what is left of them", .takes = true,
		.gather = quota_gather, .print = quota_print},
	{"tree", "", "the tree that budgets move along", .absent = "no tree: no policy has a total",
		.asks = "/weir/tree", .lists = "neighbours", .print = tree_print},
	{"etcd", "", "totals that live in etcd, and whether that answers",
		.absent = "no etcd: no total is drawn from there", .asks = "/weir/etcd",
		.lists = "budgets", .print = etcd_print},
	{"config", "", "the configuration, and how the last reload ended", .asks = "/weir/config",
		.print = config_print},
	{"reload", "", "reads the configuration again, and waits for the outcome",
		.takes_a_while = true, .gather = reload_gather, .print = config_print,
		.refused = reload_refused},
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

int command_gather(const struct command *command, struct source *source,
	const struct request *request, json_t **document)
{
	if (command->gather)
		return command->gather(source, request, document);
	if (command->lists)
		return source_list(source, command->asks, NULL, command->lists, document);
	if (request->word)
		return source_get_of(source, command->asks, request->word, document);
	return source_get(source, command->asks, document);
}

void commands_help(FILE *out)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		char words[64];

		snprintf(words, sizeof(words), "%s %s", commands[i].name, commands[i].words);
		fprintf(out, "  %-32s %s\n", words, commands[i].help);
	}
}
