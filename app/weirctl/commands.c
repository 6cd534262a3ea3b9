/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The table of all commands of weirctl (command.h).
 */
#include "command.h"

#include <string.h>

#define NOT_KEPT "no configuration is kept here: weir runs without --state, or cannot write there"

const struct command commands[] = {
	{"status", "", "one screen: health, group, rates now, links, drops",
		.more = "Exit status 3: a limiter has a problem. The thresholds are those of "
			"weirctl check.",
		.example = "status", .takes_a_while = true, .gather = status_gather,
		.print = status_print, .verdict = status_verdict},
	{"check", "[--warning NAME=N] [--critical NAME=N]", "one line for Nagios and Icinga",
		.more = "Exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. A value equal to a "
			"threshold reaches it; \"off\" disables one.",
		.example = "check --warning losing=100 --critical peers_lost=1",
		.options = OPTION_THRESHOLD, .check = check_thresholds, .gather = check_gather,
		.run = check_run},
	{"top", "[--interval S] [--count N] [N]", "live view of the policies and their drops",
		.more = "Keys: d sorts by drops, m by demand, s by the share of the limit, p by "
			"passed traffic, n by name. Arrows, j, k, Page Up and Page Down scroll; q "
			"quits. Without a terminal it prints a table at each interval.",
		.example = "top --count 2 5", .takes = true, .counts = true,
		.options = OPTION_INTERVAL | OPTION_COUNT | OPTION_SORT, .check = top_check,
		.run = top_run},
	{"policies", "[--sort rate|drops] [N]", "the policies, or N of them",
		.example = "policies --sort drops 10", .takes = true, .counts = true,
		.options = OPTION_SORT, .check = policies_words_check, .gather = policies_gather,
		.print = policies_print},
	{"policy", "[add|set|remove] POLICY [KEY=VALUE]..., or apply FILE",
		"show one policy, or change policies",
		.more = "A value is JSON, or text; null removes a key. Other policies are not "
			"changed. The change also holds after a reload, unless the file gets "
			"another policy with this name. apply makes all changes of a file or "
			"none, together; - is standard input. FILE has an array of "
			"changes, or one per line: {\"do\": \"set\", \"name\": \"video\", "
			"\"keys\": {\"limit\": \"5Mbit/s\"}}.",
		.example = "policy set video limit=5Mbit/s match.dst=203.0.113.0/24", .wants = true,
		.many = true, .verb_changes = true, .names = NAMES_POLICIES,
		.check = policy_change_check, .gather = policy_gather,
		.print = policy_or_change_print, .refused = change_refused},
	{"limits", "", "limits by time of day: the current one, and its end", .example = "limits",
		.asks = "/weir/limits", .lists = "limits", .print = limits_print},
	{"override", "POLICY limit=LIMIT until TIME", "set a temporary limit",
		.more = "burst=BURST can follow the limit, and \"for 2h\" can replace \"until "
			"18:00\". POLICY off ends an override. TIME is 18:00, the next one by the "
			"clock of this machine, or 2026-11-23T18:00; a duration is 90s, 30min, 2h "
			"or 3d. An override survives a restart, and ends by itself.",
		.example = "override guests limit=20Mbit/s for 2h", .many = true, .changes = true,
		.takes_a_while = true, .check = override_check, .gather = override_gather,
		.print = limits_print, .refused = override_refused},
	{"rates", "[N]", "passed and dropped traffic per second, largest first",
		.example = "rates 10", .takes = true, .counts = true, .takes_a_while = true,
		.check = policies_words_check, .gather = rates_gather, .print = rates_print},
	{"trials", "[N]", "traffic that trial limits would pass and drop",
		.more = "The key \"trial\" of a policy has a second limit, without effect on "
			"packets. Counters since its start: weirctl policy POLICY.",
		.example = "trials", .takes = true, .counts = true, .takes_a_while = true,
		.check = policies_words_check, .gather = trials_gather, .print = trials_print},
	{"placement", "[POLICY]", "workers and their sources", .example = "placement",
		.takes = true, .names = NAMES_POLICIES, .gather = placement_gather,
		.print = placement_print},
	{"peers", "[PEER]", "limiters of the group and their states", .example = "peers",
		.takes = true, .names = NAMES_PEERS, .gather = peers_gather, .print = peers_print},
	{"group", "[add NAME ADDRESS [PUBLIC-KEY]|remove NAME [--dead]|move NAME ADDRESS] [--yes]",
		"members of the group, or a change of them",
		.more = "A change at one limiter reaches all of them. On a terminal it shows its effects. "
			"Then you confirm it; --yes is the confirmation. plan before a change only "
			"shows its effects. remove: the limits of NAME become 0. --dead: it has "
			"ended, and does not return.",
		.example = "group", .many = true, .verb_changes = true, .takes_a_while = true,
		.options = OPTION_GROUP, .names = NAMES_PEERS, .check = group_words_check,
		.gather = group_gather, .print = group_print, .refused = group_refused},
	{"gossip", "", "gossip datagrams: sent, and received by verdict", .example = "gossip",
		.asks = "/weir/gossip", .print = gossip_print},
	{"drops", "", "dropped packets, by reason", .example = "drops", .asks = "/weir/drops",
		.print = drops_print},
	{"balance", "", "received, sent, dropped packets, and the difference", .example = "balance",
		.asks = "/weir/balance", .print = balance_print},
	{"unparsed", "", "packets that were not parsed", .example = "unparsed",
		.asks = "/weir/unparsed", .print = drops_print},
	{"workers", "", "counters of each worker", .example = "workers", .asks = "/weir/workers",
		.print = workers_print},
	{"process", "", "uptime, CPU time and memory", .example = "process",
		.asks = "/weir/process", .print = process_print},
	{"ports", "", "the ports and their links", .example = "ports", .asks = "/weir/ports",
		.print = ports_print},
	{"ledger", "[POLICY], or forget NAME|--all-unused", "hard limits and their shares",
		.more = "forget deletes records of removed policies. Do it at all limiters of a "
			"group before you use the name again: then it starts with an empty record.",
		.example = "ledger", .many = true, .verb_changes = true, .names = NAMES_POLICIES,
		.options = OPTION_FORGET, .check = ledger_words_check, .gather = ledger_gather,
		.print = ledger_print, .refused = ledger_refused},
	{"quota", "[POLICY]", "quotas and their remaining units", .example = "quota", .takes = true,
		.names = NAMES_POLICIES, .gather = quota_gather, .print = quota_print},
	{"tree", "", "the tree along which quota units move", .example = "tree",
		.absent = "no tree: no policy has a quota", .asks = "/weir/tree",
		.lists = "neighbours", .print = tree_print},
	{"etcd", "", "quotas in etcd, and the state of etcd", .example = "etcd",
		.absent = "no etcd: no policy draws a quota from it", .asks = "/weir/etcd",
		.lists = "quotas", .print = etcd_print},
	{"events", "[--follow]", "kept events",
		.more = "--follow continues with new events until Ctrl-C, and waits for a limiter "
			"that ends. With --json it prints an object per line.",
		.example = "events", .options = OPTION_FOLLOW, .asks = "/weir/events",
		.lists = "events", .print = events_print},
	{"log", "[LEVEL]", "show or set the level of the log",
		.more = "Levels: error, warning, info, debug. A reload restores the configured "
			"level.",
		.example = "log warning", .takes = true, .changes = true, .check = log_check,
		.gather = log_gather, .print = log_print, .refused = request_denied},
	{"capture", "[--policy POLICY] [--reason R] [--count N] [--seconds S] [-w FILE]",
		"sample packets, with their verdicts",
		.more = "R is a reason of weirctl drops, or pass, drop, mark, count, wait; POLICY "
			"\"-\" is no policy. FILE is pcapng, - is standard output; without FILE "
			"it prints a line per packet. It ends after N packets, S seconds, or with "
			"Ctrl-C.",
		.example = "capture --reason limit --count 20 -w drops.pcapng", .changes = true,
		.options = OPTION_CAPTURE | OPTION_COUNT, .check = capture_check,
		.run = capture_run},
	{"talkers", "[POLICY] [--unmatched] [--unparsed] [--for TIME] [--by BY] [--top N]",
		"largest senders, by a sample of packets",
		.more = "For one policy or all; --unmatched: packets without a policy; "
			"--unparsed: packets that were not parsed. BY is source, destination or "
			"flow, or source/24 and destination/24 (for IPv6 twice as long). Each "
			"share has its error bound (95 %).",
		.absent = "the sample has ended, or this weir is older and has no talkers",
		.example = "talkers --for 1s --by flow --top 5", .takes = true, .changes = true,
		.takes_a_while = true, .options = OPTION_TALKERS, .names = NAMES_POLICIES,
		.check = talkers_check, .gather = talkers_gather, .print = talkers_print,
		.refused = talkers_refused},
	{"match", "ADDRESS|PREFIX", "policies that match an address, in their order",
		.more = "Also proto=, sport=, dport=, vlan=, dscp=, wire=, direction=. Policies "
			"are in order: the first one that matches all packets gets those that no "
			"policy before it takes.",
		.example = "match 10.1.2.3 proto=udp", .many = true, .check = match_check,
		.gather = match_gather, .print = match_print, .refused = match_refused},
	{"explain", "PACKET", "verdict on a packet if it came now, with the reason",
		.more = "PACKET is SRC DST PROTO [SPORT DPORT] [vlan=N] [dscp=N] [flags=syn,...] "
			"[length=N]; or hex BYTES [length=N]; or pcap FILE [count=N]. Each can "
			"have wire=NAME, direction=b-to-a, worker=N. No state changes.",
		.example = "explain 10.9.9.9 10.1.2.3 udp 53 53", .many = true,
		.check = explain_check, .gather = explain_gather, .print = explain_print,
		.refused = explain_refused},
	{"config", "", "the configuration, and the result of the last reload", .example = "config",
		.asks = "/weir/config", .print = config_print},
	{"reload", "", "reload the configuration, and wait for the result", .example = "reload",
		.changes = true, .takes_a_while = true, .gather = reload_gather,
		.print = config_print, .refused = reload_refused},
	{"diff", "FILE", "the changes that FILE would make",
		.example = "diff /etc/weir/edge-ams-1.json", .wants = true, .absent = NOT_KEPT,
		.gather = diff_gather, .print = diff_print, .refused = change_refused},
	{"apply", "FILE [--confirm-within TIME]", "apply FILE, and wait for the result",
		.more = "With --confirm-within it is rolled back after that time, and at a "
			"restart, unless you run weirctl confirm before. It holds until the file "
			"of weir -c changes and is reloaded.",
		.example = "apply /etc/weir/edge-ams-1.json --confirm-within 60s", .wants = true,
		.changes = true, .takes_a_while = true, .options = OPTION_WITHIN,
		.gather = apply_gather, .print = change_print, .refused = change_refused},
	{"confirm", "", "confirm the applied configuration", .example = "confirm", .changes = true,
		.gather = confirm_gather, .print = change_print, .refused = change_refused},
	{"rollback", "[N]", "restore the previous configuration, or number N",
		.example = "rollback", .takes = true, .changes = true, .gather = rollback_gather,
		.print = change_print, .refused = change_refused},
	{"history", "[N]", "changes with their authors, newest first", .example = "history 20",
		.takes = true, .counts = true, .check = policies_words_check, .absent = NOT_KEPT,
		.gather = history_gather, .print = history_print},
	{"change", "", "the configuration in force, and an unconfirmed one", .example = "change",
		.asks = "/weir/change", .print = change_print},
	{"support", "[-o FILE]", "write an archive for a bug report",
		.more = "A tar.gz with the output of all commands, the configuration without its "
			"secrets, versions, the machine and the last lines of the log. If the "
			"limiter does not answer, the archive has the rest.",
		.example = "support -o weir-support.tar.gz", .changes = true,
		.options = OPTION_OUTPUT, .run = hand_over_run},
	{"names", "policies|peers", "names only, one per line, for scripts and completion",
		.example = "names policies", .wants = true, .check = names_check,
		.gather = names_gather, .print = names_print},
	{"watch", "[--interval S] [--count N] COMMAND", "repeat a command until Ctrl-C",
		.more = "If a limiter ends, watch shows since when, and continues when it is "
			"back. A terminal is cleared each time.",
		.example = "watch --interval 2 --count 2 rates 10", .wants = true, .changes = true,
		.options = OPTION_INTERVAL | OPTION_COUNT},
	{"help", "[COMMAND]", "describe a command, with an example", .example = "help policies",
		.takes = true, .changes = true, .run = help_run},
	{0},
};

const struct command *command_find(const char *name)
{
	for (const struct command *each = commands; each->name; each++)
		if (strcmp(each->name, name) == 0)
			return each;
	return NULL;
}
