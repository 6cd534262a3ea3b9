/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command.h"

#include <string.h>

#define NOT_KEPT "nothing is kept here: weir was started without --state, or cannot keep what runs"

const struct command commands[] = {
	{"status", "", "one screen: health, group, rates now, links, drops",
		.more = "Its exit status is 3 while something is wrong: see weirctl help check, "
			"whose thresholds it has.",
		.example = "status", .takes_a_while = true, .gather = status_gather,
		.print = status_print, .verdict = status_verdict},
	{"check", "[--warning NAME=N] [--critical NAME=N]", "one line for Nagios and Icinga",
		.more = "Exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. A threshold is "
			"reached by a value as large, and \"off\" is none.",
		.example = "check --warning losing=100 --critical peers_lost=1",
		.options = OPTION_THRESHOLD, .check = check_thresholds, .gather = check_gather,
		.run = check_run},
	{"top", "[--interval S] [--count N] [N]", "policies as they drop now, live",
		.more = "Keys: d sorts by what is dropped now, m by demand, s by the share of the "
			"limit, p by what passes, n by name; arrows, j, k, Page Up and Page Down "
			"scroll; q quits. Where standard output is no terminal it writes a table "
			"each time.",
		.example = "top --count 2 5", .takes = true, .counts = true,
		.options = OPTION_INTERVAL | OPTION_COUNT | OPTION_SORT, .check = top_check,
		.run = top_run},
	{"policies", "[--sort rate|drops] [N]", "the policies, or N of them",
		.example = "policies --sort drops 10", .takes = true, .counts = true,
		.options = OPTION_SORT, .check = policies_words_check, .gather = policies_gather,
		.print = policies_print},
	{"policy", "[add|set|remove] POLICY [KEY=VALUE]..., or apply FILE",
		"all that is known of one, or changes it, or many",
		.more = "A value is JSON, or text; null takes a key away. No other policy is "
			"touched, and it stays so on top of the file that weir was started with, "
			"unless that gets another policy of this name. apply makes all changes of "
			"a file or none, and no packet sees some of them; - is standard input. "
			"FILE has an array of them, or one a line: {\"do\": \"set\", \"name\": "
			"\"video\", \"keys\": {\"limit\": \"5Mbit/s\"}}.",
		.example = "policy set video limit=5Mbit/s match.dst=203.0.113.0/24", .wants = true,
		.many = true, .names = NAMES_POLICIES, .check = policy_change_check,
		.gather = policy_gather, .print = policy_or_change_print,
		.refused = change_refused},
	{"limits", "", "limits by time of day: which holds, until when", .example = "limits",
		.asks = "/weir/limits", .lists = "limits", .print = limits_print},
	{"override", "POLICY limit=LIMIT until TIME", "another limit until a time",
		.more = "Also with burst=BURST behind the limit, and with \"for 2h\" instead of "
			"\"until 18:00\"; POLICY off takes it back. TIME is 18:00, the next one by "
			"the clocks of this machine, or 2026-11-23T18:00; a duration is 90s, 30min, "
			"2h or 3d. It is kept over a restart, and ends by itself.",
		.example = "override guests limit=20Mbit/s for 2h", .many = true, .changes = true,
		.takes_a_while = true, .check = override_check, .gather = override_gather,
		.print = limits_print, .refused = override_refused},
	{"rates", "[N]", "what policies pass and drop in a second, most first",
		.example = "rates 10", .takes = true, .counts = true, .takes_a_while = true,
		.check = policies_words_check, .gather = rates_gather, .print = rates_print},
	{"trials", "[N]", "what limits that are tried would pass and drop now",
		.more = "A limit is tried by \"trial\" in its policy, without effect. Since the "
			"trial began: weirctl policy POLICY.",
		.example = "trials", .takes = true, .counts = true, .takes_a_while = true,
		.check = policies_words_check, .gather = trials_gather, .print = trials_print},
	{"placement", "[POLICY]", "workers that sources are given to", .example = "placement",
		.takes = true, .names = NAMES_POLICIES, .gather = placement_gather,
		.print = placement_print},
	{"peers", "[PEER]", "the group: who counts", .example = "peers", .takes = true,
		.names = NAMES_PEERS, .gather = peers_gather, .print = peers_print},
	{"gossip", "", "datagrams of the group: sent, received by verdict", .example = "gossip",
		.asks = "/weir/gossip", .print = gossip_print},
	{"drops", "", "packets that came in and did not leave", .example = "drops",
		.asks = "/weir/drops", .print = drops_print},
	{"balance", "", "whether each packet that came in left or is counted", .example = "balance",
		.asks = "/weir/balance", .print = balance_print},
	{"unparsed", "", "packets that were not understood", .example = "unparsed",
		.asks = "/weir/unparsed", .print = drops_print},
	{"workers", "", "what each worker has done", .example = "workers", .asks = "/weir/workers",
		.print = workers_print},
	{"process", "", "how long it runs, CPUs and memory", .example = "process",
		.asks = "/weir/process", .print = process_print},
	{"ports", "", "the ports and their links", .example = "ports", .asks = "/weir/ports",
		.print = ports_print},
	{"ledger", "[POLICY], or forget NAME|--all-unused", "hard limits: who holds what",
		.more = "forget ends records whose policies are gone. Do so at all limiters of a "
			"group before you use the name again: it starts again there.",
		.example = "ledger", .many = true, .names = NAMES_POLICIES,
		.options = OPTION_FORGET, .check = ledger_words_check, .gather = ledger_gather,
		.print = ledger_print, .refused = ledger_refused},
	{"quota", "[POLICY]", "budgets: what is left of them", .example = "quota", .takes = true,
		.names = NAMES_POLICIES, .gather = quota_gather, .print = quota_print},
	{"tree", "", "the tree that budgets move along", .example = "tree",
		.absent = "no tree: no policy has a total", .asks = "/weir/tree",
		.lists = "neighbours", .print = tree_print},
	{"etcd", "", "totals that live in etcd, and whether that answers", .example = "etcd",
		.absent = "no etcd: no total is drawn from there", .asks = "/weir/etcd",
		.lists = "budgets", .print = etcd_print},
	{"events", "[--follow]", "what happened, as far as it is kept",
		.more = "With --follow also what happens from now on, until Ctrl-C; a limiter that "
			"ends is waited for. With --json too, an object a line.",
		.example = "events", .options = OPTION_FOLLOW, .asks = "/weir/events",
		.lists = "events", .print = events_print},
	{"log", "[LEVEL]", "what of that is written; LEVEL: what is from now on",
		.more = "Levels: error, warning, info, debug. A reload sets it back to what the "
			"configuration says.",
		.example = "log warning", .takes = true, .changes = true, .check = log_check,
		.gather = log_gather, .print = log_print, .refused = log_refused},
	{"capture", "[--policy POLICY] [--reason R] [--count N] [--seconds S] [-w FILE]",
		"a sample of packets, and what became of each",
		.more = "R is a reason of weirctl drops, or pass, drop, mark, count, wait; POLICY may "
			"be \"-\", no policy. FILE is pcapng, - is standard output; without it a "
			"line each. It ends after N packets, S seconds, or with Ctrl-C.",
		.example = "capture --reason limit --count 20 -w drops.pcapng", .changes = true,
		.options = OPTION_CAPTURE | OPTION_COUNT, .check = capture_check,
		.run = capture_run},
	{"talkers", "[POLICY] [--unmatched] [--unparsed] [--for TIME] [--by BY] [--top N]",
		"who sends most, by a sample of packets",
		.more = "Of a policy, or of all; --unmatched: what no policy takes, --unparsed: what "
			"is not understood. BY is source, destination or flow, or source/24 and "
			"destination/24, of IPv6 twice as long. Each part has what it may be off "
			"by, in 19 of 20 cases.",
		.absent = "it has ended, or this weir knows nothing of talkers: it is older",
		.example = "talkers --for 1s --by flow --top 5", .takes = true, .changes = true,
		.takes_a_while = true, .options = OPTION_TALKERS, .names = NAMES_POLICIES,
		.check = talkers_check, .gather = talkers_gather, .print = talkers_print,
		.refused = talkers_refused},
	{"match", "ADDRESS|PREFIX", "policies that could take it, and which does",
		.more = "Also proto=, sport=, dport=, vlan=, dscp=, wire=, direction=. In order: the "
			"first that takes \"all\" is reached by whatever those before it leave.",
		.example = "match 10.1.2.3 proto=udp", .many = true, .check = match_check,
		.gather = match_gather, .print = match_print, .refused = match_refused},
	{"explain", "PACKET", "what would become of a packet now, and why",
		.more = "PACKET is SRC DST PROTO [SPORT DPORT] [vlan=N] [dscp=N] [flags=syn,...] "
			"[length=N]; or hex BYTES [length=N]; or pcap FILE [count=N]. With any of "
			"them wire=NAME, direction=b-to-a, worker=N. Nothing is changed.",
		.example = "explain 10.9.9.9 10.1.2.3 udp 53 53", .many = true,
		.check = explain_check, .gather = explain_gather, .print = explain_print,
		.refused = explain_refused},
	{"config", "", "the configuration, and how the last reload ended", .example = "config",
		.asks = "/weir/config", .print = config_print},
	{"reload", "", "reads the configuration again, and waits", .example = "reload",
		.changes = true, .takes_a_while = true, .gather = reload_gather,
		.print = config_print, .refused = reload_refused},
	{"diff", "FILE", "what would change if FILE were in force",
		.example = "diff /etc/weir/edge-ams-1.json", .wants = true, .absent = NOT_KEPT,
		.gather = diff_gather, .print = diff_print, .refused = change_refused},
	{"apply", "FILE [--confirm-within TIME]", "puts FILE in force, and waits",
		.more = "With --confirm-within it is undone then, and by a restart, unless weirctl "
			"confirm comes before. It stays in force until the file is changed that "
			"weir was started with, and read again.",
		.example = "apply /etc/weir/edge-ams-1.json --confirm-within 60s", .wants = true,
		.changes = true, .takes_a_while = true, .options = OPTION_WITHIN,
		.gather = apply_gather, .print = change_print, .refused = change_refused},
	{"confirm", "", "what was applied stays", .example = "confirm", .changes = true,
		.gather = confirm_gather, .print = change_print, .refused = change_refused},
	{"rollback", "[N]", "what was before, or number N, is back", .example = "rollback",
		.takes = true, .changes = true, .gather = rollback_gather, .print = change_print,
		.refused = change_refused},
	{"history", "[N]", "who has changed what, newest first", .example = "history 20",
		.takes = true, .counts = true, .check = policies_words_check, .absent = NOT_KEPT,
		.gather = history_gather, .print = history_print},
	{"change", "", "what runs, and what is to be confirmed", .example = "change",
		.asks = "/weir/change", .print = change_print},
	{"support", "[-o FILE]", "one archive with what a developer asks first",
		.more = "A tar.gz of what all commands say, the configuration without its secrets, "
			"versions, the machine and the last lines of the log; what there is if the "
			"limiter does not answer.",
		.example = "support -o weir-support.tar.gz", .changes = true,
		.options = OPTION_OUTPUT, .run = hand_over_run},
	{"names", "policies|peers", "names alone, one a line: for scripts and completion",
		.example = "names policies", .wants = true, .check = names_check,
		.gather = names_gather, .print = names_print},
	{"watch", "[--interval S] [--count N] COMMAND",
		"any of these again and again, until Ctrl-C",
		.more = "A limiter that ends is waited for: it says since when it is gone, and goes "
			"on by itself. A terminal is cleared each time.",
		.example = "watch --interval 2 --count 2 rates 10", .wants = true, .changes = true,
		.options = OPTION_INTERVAL | OPTION_COUNT},
	{"help", "[COMMAND]", "what a command does, with an example", .example = "help policies",
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
