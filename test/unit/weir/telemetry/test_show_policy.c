/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about policies of each kind, their state and shares, and about the group. Complete
 * replies, each from a row of a table.
 */

#include <math.h>

#include "ask/source.h"
#include "budget/budget.h"
#include "clock.h"
#include "numbers/policy_number.h"
#include "scope.h"
#include "show.h"
#include "show_world.h"
#include "store/store.h"

/* A group of two with policies of all kinds, before any packet or message. */
#define GROUP                                                                  \
	"'gossip': {'listen': '127.5.1.1:7946', 'insecure': true, 'roster': [" \
	"{'name': 'test', 'address': '127.5.1.1:7946'}, "                      \
	"{'name': 'two', 'address': '127.6.1.1:7946'}]}, "
#define POLICIES                                                                             \
	"{'name': 'plain', 'match': {'src': '10.0.0.0/8', 'dst': '10.1.2.3/32', "            \
	"'direction': 'a-to-b', 'wire': 'w', 'vlan': 7, 'dscp': 46, 'proto': 'tcp', "        \
	"'src-port': '1024-2047', 'dst-port': 443}, "                                        \
	"'limit': '8Mbit/s', 'burst': '3kB', 'accounting': 'wire'}, "                        \
	"{'name': 'marks', 'match': {'vlan': 8, 'proto': 89}, 'limit': '8Mbit/s', "          \
	"'action': 'mark', 'mark': 10}, "                                                    \
	"{'name': 'ecn', 'match': {'vlan': 9}, 'limit': '8Mbit/s', 'action': 'mark'}, "      \
	"{'name': 'counts', 'match': {'vlan': 10}, 'limit': '120/min', 'count': 'packets', " \
	"'action': 'count'}, "                                                               \
	"{'name': 'flows', 'match': {'vlan': 11}, 'limit': '20/s', 'count': 'flows', "       \
	"'burst': 5}, "                                                                      \
	"{'name': 'each', 'match': {'vlan': 12}, 'limit': '8kbit/s', 'burst': '2kB', "       \
	"'allocator': 'static', 'per': 'src/24', 'sources': 1024}, "                         \
	"{'name': 'host', 'match': {'vlan': 19}, 'limit': '8kbit/s', 'burst': '2kB', "       \
	"'allocator': 'static', 'per': 'src', 'sources': 1024}, "                            \
	"{'name': 'net6', 'match': {'vlan': 24}, 'limit': '8kbit/s', 'burst': '2kB', "       \
	"'allocator': 'static', 'per': 'src/64', 'sources': 1024}, "                         \
	"{'name': 'classes', 'match': {'vlan': 13}, 'limit': '8Mbit/s', 'burst': '30kB', "   \
	"'meter': 'phantom', 'classes': {'by': 'dscp', 'weights': "                          \
	"{'0': 2, '46': 3, '62': 1, '63': 2}}}, "                                            \
	"{'name': 'flowed', 'match': {'vlan': 14}, 'limit': '8Mbit/s', 'burst': '30kB', "    \
	"'meter': 'phantom', 'classes': {'by': 'flow', 'n': 16}}, "                          \
	"{'name': 'waits', 'match': {'vlan': 15}, 'limit': '8Mbit/s', 'burst': '3kB', "      \
	"'action': 'shape', 'shape': {'delay': '5ms'}}, "                                    \
	"{'name': 'held', 'match': {'vlan': 17}, 'limit': '8Mbit/s', 'burst': '60kB', "      \
	"'guarantee': 'hard'}, "                                                             \
	"{'name': 'total', 'match': {'vlan': 18}, 'allocator': 'quota', 'total': '1GB', "    \
	"'period': '24h'}, "                                                                 \
	"{'name': 'prepaid', 'match': {'vlan': 20}, 'allocator': 'quota', 'total': '100k', " \
	"'count': 'packets', 'limit': '10/s'}, "                                             \
	"{'name': 'link', 'limit': '8Mbit/s'}, "                                             \
	"{'name': 'below', 'match': {'vlan': 21}, 'limit': '4Mbit/s', 'parent': 'link', "    \
	"'allocator': 'static', 'weight': 3, 'guaranteed': '1Mbit/s'}, "                     \
	"{'name': 'gold', 'match': {'vlan': 23}, 'limit': '8Mbit/s', 'meter': 'trtcm', "     \
	"'peak': {'limit': '16Mbit/s'}, 'colours': {'aware': true, 'green': {'mark': 10}, "  \
	"'yellow': {'mark': 'ecn'}}}, "                                                      \
	"{'name': 'silver', 'match': {'vlan': 22}, 'limit': '120/min', 'burst': 20, "        \
	"'count': 'packets', 'meter': 'srtcm', 'colours': {'red': 'count'}}, "               \
	"{'name': 'few', 'match': [{'vlan': 41}, {'vlan': 42, 'src': ['10.0.0.0/8', "        \
	"'2001:db8::/32']}], 'limit': '8Mbit/s'}, "                                          \
	"{'name': 'many', 'match': [{'vlan': 31}, {'vlan': 32}, {'vlan': 33}, "              \
	"{'vlan': 34}, {'vlan': 35}, {'vlan': 36}, {'vlan': 37}, {'vlan': 38}, "             \
	"{'vlan': 39}], 'limit': '8Mbit/s'}"

#define NOTHING "{'packets': 0, 'bytes': 0}"
#define ANY     "'src': 'any', 'dst': 'any', 'direction': 'any'"

static const struct show_row of_policies[] = {
	{"/weir/policy", "plain",
		"{'name': 'plain', 'match': {'src': '10.0.0.0/8', 'dst': '10.1.2.3/32', "
		"'direction': 'a-to-b', 'wire': 'w', 'vlan': 7, 'dscp': 46, 'proto': 'tcp', "
		"'src-port': '1024-2047', 'dst-port': '443'}, 'allocator': 'fps', "
		"'guarantee': 'soft', 'meter': 'token-bucket', 'count': 'bytes', 'per': null, "
		"'action': 'drop', 'mark': null, 'accounting': 'wire', 'interval_ms': 50.0, "
		"'limit': '8Mbit/s', 'limit_bps': 8000000, 'burst_bytes': 3000, "
		"'limit_by': 'configuration', 'limit_until': null, "
		"'configured_limit': '8Mbit/s', 'parent': null, 'children': 0, "
		"'effective_limit_bps': 4000000, "
		"'local_limit_bps': 4000000, 'local_burst_bytes': 3000, 'demand_bps': 0, "
		"'weight': 0.0, 'global_demand_bps': 0, 'global_weight': 0.0, 'peers_lost': 1, "
		"'regime': 'idle', 'flows_sampled': 0, 'flow_rate_bps': 0, 'passed': " NOTHING
		", 'dropped': " NOTHING ", 'over': " NOTHING
		", 'colours': null, 'overshoot': {'bound_ratio': '*', 'age_ms': '*', "
		"'peers_unreported': 1, 'peers_unheard': 1, 'unheard_bps': 8000000, "
		"'bound_bps': '*', 'estimate_bps': 4000000, 'unreported_bps': 8000000}, 'loans': "
		"{'lent_bytes': 0, 'borrowed_bytes': 0}, "
		"'sources': null, 'shape': null, 'slo': null, 'classes': null, "
		"'fallback': null, 'quota': null, 'trial': null, '...': 0}"},
	{"/weir/policy", "few",
		"{'match': {" ANY ", 'vlan': 41}, 'matches': 3, 'more_matches': ["
		"{'src': '10.0.0.0/8', 'dst': 'any', 'direction': 'any', 'vlan': 42}, "
		"{'src': '2001:db8::/32', 'dst': 'any', 'direction': 'any', 'vlan': 42}], "
		"'...': 0}"},
	{"/weir/policy", "many",
		"{'match': {" ANY ", 'vlan': 31}, 'matches': 9, 'more_matches': ["
		"{'vlan': 32, '...': 0}, {'vlan': 33, '...': 0}, {'vlan': 34, '...': 0}, "
		"{'vlan': 35, '...': 0}, {'vlan': 36, '...': 0}, {'vlan': 37, '...': 0}, "
		"{'vlan': 38, '...': 0}], '...': 0}"},
	{"/weir/policy", "marks",
		"{'match': {" ANY ", 'vlan': 8, 'proto': 89}, 'action': 'mark', 'mark': 10, "
		"'accounting': 'l3', 'burst_bytes': 250000, 'local_burst_bytes': 125000, "
		"'...': 0}"},
	{"/weir/policy", "ecn",
		"{'match': {" ANY ", 'vlan': 9}, 'action': 'mark', 'mark': 'ecn', '...': 0}"},
	{"/weir/policy", "counts",
		"{'count': 'packets', 'action': 'count', 'limit': '120/min', 'limit_per_s': 2.0, "
		"'configured_limit': '120/min', 'effective_limit_per_s': 1.0, "
		"'local_limit_per_s': 1.0, 'passed': {'packets': 0}, 'dropped': {'packets': 0}, "
		"'over': {'packets': 0}, '...': 0}"},
	{"/weir/policy", "flows",
		"{'count': 'flows', 'limit': '20/s', 'limit_per_s': 20.0, 'burst': 5, "
		"'local_burst': 2, 'passed': {'packets': 0, 'flows': 0}, '...': 0}"},
	{"/weir/policy", "each",
		"{'allocator': 'static', 'per': 'src/24', 'limit_bps': 8000, "
		"'local_limit_bps': 4000, 'global_demand_bps': null, 'global_weight': null, "
		"'peers_lost': null, 'sources': {'busy': 0, 'capacity': 2048, 'new': 0, "
		"'overflows': 0, 'displaced': 0}, '...': 0}"},
	{"/weir/policy", "host", "{'per': 'src', '...': 0}"},
	{"/weir/policy", "net6", "{'per': 'src/64', '...': 0}"},
	{"/weir/policy", "classes",
		"{'meter': 'phantom', 'classes': {'by': 'dscp', 'n': 64, 'weights': {'0': 2, "
		"'46': 3, '63': 2}, 'backlogged': 0}, '...': 0}"},
	{"/weir/policy", "flowed",
		"{'classes': {'by': 'flow', 'n': 16, 'weights': {}, 'backlogged': 0}, '...': 0}"},
	{"/weir/policy", "waits",
		"{'action': 'shape', 'shape': {'waiting_packets': 0, 'waited_packets': 0, "
		"'left_packets': 0, 'delay_us': null, 'marked': 0, 'dropped': {'queue_full': 0, "
		"'pool_full': 0, 'codel': 0, 'delay_exceeded': 0, 'stopped': 0}, "
		"'waiting_bytes': 0}, 'slo': null, '...': 0}"},
	{"/weir/policy", "held",
		"{'guarantee': 'hard', 'local_limit_bps': 0, 'local_burst_bytes': 0, '...': "
		"0}"},
	{"/weir/policy", "total",
		"{'allocator': 'quota', 'guarantee': null, 'meter': 'credit', 'limit': null, "
		"'limit_bps': null, 'burst_bytes': 0, 'configured_limit': null, "
		"'effective_limit_bps': null, 'local_limit_bps': null, "
		"'global_demand_bps': null, 'peers_lost': null, 'fallback': " NOTHING
		", '...': 0}"},
	{"/weir/policy", "prepaid",
		"{'limit': '10/s', 'limit_per_s': 10.0, 'burst': 10, 'effective_limit_per_s': 5.0, "
		"'fallback': {'packets': 0}, '...': 0}"},
	{"/weir/policy", "link",
		"{'match': null, 'parent': null, 'children': 1, 'global_demand_bps': 0, '...': 0}"},
	{"/weir/policy", "below",
		"{'parent': {'name': 'link', 'weight': 3, 'guaranteed_bps': 1000000, "
		"'share_bps': 4000000}, 'children': 0, 'global_demand_bps': 0, '...': 0}"},
	{"/weir/policy", "gold",
		"{'meter': 'trtcm', 'action': 'drop', 'mark': null, 'colours': {'aware': true, "
		"'peak': {'limit': '16Mbit/s', 'limit_bps': 16000000, "
		"'local_limit_bps': 8000000, 'burst_bytes': 500000, 'local_burst_bytes': 250000}, "
		"'green': {'action': 'mark', 'mark': 10, 'packets': 0, 'bytes': 0}, "
		"'yellow': {'action': 'mark', 'mark': 'ecn', 'packets': 0, 'bytes': 0}, "
		"'red': {'action': 'drop', 'mark': null, 'packets': 0, 'bytes': 0}}, '...': 0}"},
	{"/weir/policy", "silver",
		"{'action': 'count', 'colours': {'aware': false, "
		"'excess': {'limit': null, 'limit_per_s': null, 'local_limit_per_s': null, "
		"'burst': 20, 'local_burst': 10}, "
		"'green': {'action': 'pass', 'mark': null, 'packets': 0}, "
		"'yellow': {'action': 'pass', 'mark': null, 'packets': 0}, "
		"'red': {'action': 'count', 'mark': null, 'packets': 0}}, '...': 0}"},
	{"/weir/policy", "nobody", NULL},
	{"/weir/delays", "waits", "{'packets': 0, 'bins_us': []}"},
	{"/weir/delays", "plain", NULL},
};

static const struct show_row of_ledgers[] = {
	{"/weir/ledger", NULL,
		"{'state': 'committing', 'recovering_policies': 0, 'store': '*', 'epoch': 1, "
		"'began_without_memory': false, 'saved': false, 'enforced': false, 'error': null, "
		"'rounds': 0, 'failures': 0, 'last_round_ms': 0.0, 'longest_round_ms': 0.0, "
		"'identity': '00000000000000000000000000000001', "
		"'neighbours_of_other_ledgers': 0, 'messages_of_other_ledgers': 0, "
		"'invalid_statements': 0, 'colliding_statements': 0, 'lease_ms': 5000, "
		"'expired': 0, 'control_late': 0, 'unused_records': 0, 'unused': [], "
		"'messages_sent': 0, 'messages_received': 0, 'statements_sent': 0, "
		"'statements_received': {'news': 0, 'heard': 0, 'old': 0, 'invalid': 0}, "
		"'unknown': 0, 'malformed': 0, 'grants': 0, 'adoptions': 0}"},
	{"/weir/ledger", "held",
		"{'total': 1, 'start': 0, 'next': null, 'edges': [{'peer': 'two', 'alive': true, "
		"'in_use': false, 'spare': false, 'silent_ms': null, 'granted': 0, "
		"'received': 0, 'in_flight_bps': 0, 'promised_bps': 0, 'inherited_bps': 0}], "
		"'name': 'held', 'limit_bps': 8000000, 'share_bps': 4000000, "
		"'balance_bps': 4000000, 'usable_bps': 0, 'usable_for_ms': null, "
		"'free_bps': 4000000, 'in_flight_bps': 0, 'promised_bps': 0, 'inherited_bps': 0, "
		"'target_bps': 4000000, 'recovering': false, 'burst': null}"},
	{"/weir/ledger", "held,1", "{'start': 1, 'edges': [], 'name': 'held', '...': 0}"},
	{"/weir/ledger", "plain", NULL},
	{"/weir/ledger", "nobody", NULL},
	{"/weir/quota", NULL,
		"{'quotas': 2, 'messages_sent': 0, 'messages_received': 0, 'parts_sent': 0, "
		"'parts_received': 0, 'unknown': 0, 'differing': 0, 'malformed': 0, "
		"'clock': 'waits', 'clock_ms': '*', 'clock_time': null, 'clock_apart_ms': 0.0, "
		"'clock_synchronised': false, 'clock_steps': 0, 'clock_followed': 0}"},
	{"/weir/quota", "total",
		"{'name': 'total', 'period': 'fixed', 'period_s': 86400, 'period_number': null, "
		"'period_ends_in_s': null, 'total_bytes': 1000000000, "
		"'total_in_force_bytes': 1000000000, 'used_bytes': 0, 'prefetched_bytes': 0, "
		"'global_rate_bps': null, "
		"'exhausted_in_s': null, 'low': false, 'held_bytes': 0, 'spent_bytes': 0, "
		"'prepaid_bytes': 0, 'rate_bps': 0, 'threshold_bytes': 0, 'asking': false, "
		"'waiting': false, 'rounds': 0, 'short_rounds': 0, 'messages': 0, 'invalid': 0, "
		"'reallocation_ms': 50.0, 'credit_bytes': 0, 'in_flight_bytes': 0}"},
	{"/weir/quota", "prepaid",
		"{'period': 'none', 'period_s': null, 'period_number': 1, "
		"'period_ends_in_s': null, 'total': 100000, 'used': 0, "
		"'prefetched': 0, 'held': 50000, "
		"'credit': 0, 'in_flight': 0, '...': 0}"},
	{"/weir/quota", "held", NULL},
	{"/weir/quota", "nobody", NULL},
	{"/weir/tree", NULL,
		"{'total': 1, 'start': 0, 'next': null, 'neighbours': [{'peer': 'two', "
		"'alive': false, 'linked': false, 'parent': false, 'round_trip_ms': null}], "
		"'is_root': true, 'root': 'test', 'relinked': 0}"},
	{"/weir/etcd", NULL, NULL},
};

/* A start does not use its records before its neighbours have confirmed them. */
static const struct show_row after_proof[] = {
	{"/weir/policy", "held",
		"{'local_limit_bps': 4000000, 'local_burst_bytes': 30000, '...': 0}"},
	{"/weir/ledger", "held",
		"{'balance_bps': 4000000, 'usable_bps': 4000000, 'usable_for_ms': null, '...': 0}"},
};

#define SILENT                                                                              \
	"'silent_ms': null, 'confirmed_ms_ago': null, 'restarts': 0, 'implausible': 0, "    \
	"'invalid_statements': 0, 'format': null, 'key': null, 'unreadable_format': null, " \
	"'refused': 0, 'refused_as': null, 'refused_ms_ago': null, "                        \
	"'compared_ms_ago': null, 'differs': null, 'differs_ms': null"
#define DROPS                                                                                    \
	"'limit': 0, 'quota': 0, 'unmarkable': 0, 'unparsed': 0, 'unmatched': 0, 'tx_full': 0, " \
	"'ring_full': 0, 'oversize': 0, 'truncated': 0, 'queue_full': 0, 'pool_full': 0, "       \
	"'codel': 0, 'delay_exceeded': 0, 'stopped': 0"
#define UNPARSED                                                                           \
	"{'fragment_unknown': 0, 'fragment_tiny': 0, 'fragment_conflict': 0, "             \
	"'fragment_nested': 0, 'fragment_malformed': 0, 'chain_long': 0, 'chain_cut': 0, " \
	"'tunnel_fragment': 0, 'too_deep': 0}"
#define PORT(name, number)                                                                       \
	"{'name': '" name "', 'device': 'net_null" number "', 'interface': '', 'port': " number  \
	", 'link': 'DOWN', 'speed_mbps': 0, 'link_changes': 0, 'queues': 2, 'queues_used': 0, "  \
	"'rss': true, 'offloads': '', 'missed': 0, 'past_packets': 0, 'past_bytes': 0, "         \
	"'kernel_passed': 0, 'kernel_unmatched': 0, 'kernel_dropped': 0, 'kernel_unserved': 0, " \
	"'kernel_unsent': 0, 'frame_max': 1562}"

static const struct show_row of_the_box[] = {
	{"/weir/peers", NULL,
		"{'total': 2, 'start': 0, 'next': null, 'peers': [{'name': 'test', "
		"'address': '127.5.1.1:7946', 'state': 'self', 'ledger': null, " SILENT "}, "
		"{'name': 'two', 'address': '127.6.1.1:7946', 'state': 'lost', "
		"'ledger': 'silent', " SILENT "}], 'alive': 0, 'timeout_ms': 1000, 'keys': [], "
		"'identities': 'none', 'sealed': false}"},
	{"/weir/peers", "1",
		"{'total': 2, 'start': 1, 'peers': [{'name': 'two', '...': 0}], '...': 0}"},
	{"/weir/gossip", NULL,
		"{'sent': 0, 'sent_bytes': 0, 'send_errors': 0, 'socket_drops': 0, "
		"'wrong_source': 0, 'received_bytes': 0, 'unknown_policy': 0, 'implausible': 0, "
		"'loans': {'requests': 0, 'offers': 0, 'unanswered': 0, 'ignored': 0}, "
		"'received': {'accepted': 0, 'unproven': 0, 'truncated': 0, 'version': 0, "
		"'self': 0, 'stranger': 0, 'unsealed': 0, 'estimator': 0, "
		"'no_key': 0, 'forged': 0, 'missent': 0, 'replay': 0, 'malformed': 0, "
		"'no_room': 0, 'message': 0}}"},
	{"/weir/limits", NULL,
		"{'total': 0, 'start': 0, 'next': null, 'limits': [], 'by_schedule': 0, "
		"'by_override': 0, 'saving': false, 'error': null, 'time': null}"},
	{"/weir/ports", NULL, "[" PORT("a", "0") ", " PORT("b", "1") "]"},
	{"/weir/drops", NULL,
		"{" DROPS ", 'rx_missed': 0, 'rx_no_buffer': 0, 'rx_errors': 0, 'tx_errors': 0}"},
	{"/weir/unparsed", NULL, UNPARSED},
	{"/weir/config", NULL,
		"{'file': null, 'generation': 1, 'policies': 20, 'shadow': false, 'room': 4096, "
		"'reload': 'idle', "
		"'reload_waits_for': null, 'last_reload': null, 'peers_differ': null, "
		"'removed_policies': {'passed_packets': 0, 'dropped_packets': 0}}"},
	{"/weir/change", NULL,
		"{'state': 'idle', 'directory': null, 'last': null, 'peers_differ': null}"},
	{"/weir/running", NULL, NULL},
	{"/weir/history", NULL, NULL},
};

#define EXPECT(w, rows) show_expect_rows(w, rows, COUNT(rows))

/* The neighbour was silent long enough, so the limiter uses its records. */
static void end_proof(struct instance_world *w)
{
	const struct conserve *conserve = limiter_conserve(w->inst.limiter);

	conserve_book((struct conserve *)(uintptr_t)conserve)->proof_until_ns = 0;
	show_tick(w, control_now() + SECOND_NS);
}

TEST(test_each_kind)
{
	STORED_WORLD(w, POLICIES, .more = GROUP);

	EXPECT(w, of_policies);
	EXPECT(w, of_ledgers);
	EXPECT(w, of_the_box);
	end_proof(w);
	EXPECT(w, after_proof);
}

/* A worker's counters are in its own reply, and in those of all. */
TEST(test_counters)
{
	struct worker_counters *c;
	WORLD(w, "{'name': 'p', 'match': {'vlan': 1}, 'limit': '1Mbit/s'}");

	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		c = &w->inst.workers[i].counters;
		c->rx_packets = 10 + i;
		c->tx_packets = 20 + i;
		c->unmatched_packets = 30 + i;
		c->dropped[DROP_LIMIT] = 40 + i;
		c->unparsed[UNPARSED_NONE + 1] = 50 + i;
		c->sleeps = 60 + i;
		c->expired = 70 + i;
	}
	c->busy_cycles = 5;
	c->handing_cycles = 7;
	show_expect(show_ask(w, "/weir/drops", NULL), "{'limit': 81, 'quota': 0, '...': 0}");
	show_expect(show_ask(w, "/weir/unparsed", NULL),
		"{'fragment_unknown': 101, 'fragment_tiny': 0, '...': 0}");
	show_expect(show_ask(w, "/weir/workers", NULL),
		"[{'rx_packets': 10, 'tx_packets': 20, 'unmatched_packets': 30, 'sleeps': 60, "
		"'dropped': {'limit': 40, '...': 0}, "
		"'unparsed': {'fragment_unknown': 50, '...': 0}, 'fragments': null, '...': 0}, "
		"{'rx_packets': 11, 'tx_packets': 21, 'unmatched_packets': 31, 'sleeps': 61, "
		"'dropped': {'limit': 41, '...': 0}, 'busy_cycles': 12, 'handing_cycles': 7, "
		"'idle': 'sleep', 'paths': 2, 'stuck': false, '...': 0}]");
	show_expect(show_ask(w, "/weir/ledger", NULL),
		"{'state': 'none', 'recovering_policies': 0, 'lease_ms': 5000, 'expired': 141, "
		"'control_late': 0, 'unused_records': 0, 'unused': []}");
}

/* Classes that have a queue are counted over all workers. */
TEST(test_backlogged)
{
	WORLD(w,
		"{'name': 'p', 'match': {'vlan': 1}, 'limit': '8Mbit/s', 'burst': '30kB', 'meter': "
		"'phantom', 'classes': {'by': 'flow', 'n': 16}}");

	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		phantom_set_weight(w->inst.workers[i].policies[w->inst.slots.of[0]].phantom, 3 + i);
	show_expect(show_ask(w, "/weir/policy", "p"),
		"{'classes': {'by': 'flow', 'n': 16, 'weights': {}, 'backlogged': 7}, '...': 0}");
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		phantom_set_weight(w->inst.workers[i].policies[w->inst.slots.of[0]].phantom, 0);
}

/* A trial: its terms, and its counts. */
TEST(test_tried)
{
	json_t *reply;
	double age_s;
	WORLD(w,
		"{'name': 'p', 'match': {'vlan': 1}, 'limit': '8Mbit/s', 'trial': {'limit': "
		"'16Mbit/s', 'burst': '20kB'}}, {'name': 'q', 'match': {'vlan': 2}, 'limit': "
		"'8Mbit/s', 'meter': 'fixed-window', 'window': '250ms', 'trial': {'limit': "
		"'4Mbit/s'}}",
		.more = GROUP);

	show_expect(show_ask(w, "/weir/policy", "p"),
		"{'trial': {'limit': '16Mbit/s', 'meter': 'token-bucket', 'age_s': '*', "
		"'limit_bps': 16000000, 'local_limit_bps': 8000000, 'burst_bytes': 20000, "
		"'local_burst_bytes': 10000, 'window_ms': '*', 'passed': " NOTHING
		", 'dropped': " NOTHING ", 'would_pass': " NOTHING ", 'would_drop': " NOTHING
		"}, '...': 0}");
	reply = show_ask(w, "/weir/policy", "q");
	age_s = json_number_value(json_object_get(json_object_get(reply, "trial"), "age_s"));
	assert_true(age_s >= 0 && age_s < 3600);
	show_expect(json_incref(json_object_get(reply, "trial")),
		"{'limit': '4Mbit/s', 'meter': 'fixed-window', 'window_ms': 250.0, '...': 0}");
	json_decref(reply);
}

/* Counters of budgets, and the clock of periods. */
TEST(test_budget_counters)
{
	struct budget_counters *c;
	struct timekeeper *keeper;
	json_t *reply;
	double ms;
	STORED_WORLD(w, "{'name': 'total', 'allocator': 'quota', 'total': '1GB'}");

	c = (struct budget_counters *)(uintptr_t)budget_counters(limiter_budget(w->inst.limiter));
	*c = (struct budget_counters){.messages_sent = 1,
		.messages_received = 2,
		.parts_sent = 3,
		.parts_received = 4,
		.unknown = 5,
		.differing = 6,
		.malformed = 7,
		.relinked = 8};
	limiter_clock(w->inst.limiter, 1800000000 * SECOND_NS, true, control_now());
	keeper = (struct timekeeper *)(uintptr_t)budget_timekeeper(limiter_budget(w->inst.limiter));
	keeper->since_ns = control_now() - 5 * SECOND_NS;
	keeper->reason = TIME_FOLLOWS;
	keeper->apart_ns = -2500000;
	keeper->sure = true;
	keeper->steps = 9;
	keeper->followed = 10;
	reply = show_ask(w, "/weir/quota", NULL);
	ms = json_number_value(json_object_get(reply, "clock_ms"));
	assert_true(ms >= 5000 && ms < 3600000);
	ms = json_number_value(json_object_get(reply, "clock_time"));
	assert_true(ms >= 1800000000 && ms < 1800003600);
	show_expect(reply,
		"{'quotas': 1, 'messages_sent': 1, 'messages_received': 2, 'parts_sent': 3, "
		"'parts_received': 4, 'unknown': 5, 'differing': 6, 'malformed': 7, 'clock': "
		"'follows the group', 'clock_ms': '*', 'clock_time': '*', 'clock_apart_ms': -2.5, "
		"'clock_synchronised': true, 'clock_steps': 9, 'clock_followed': 10}");
	show_expect(show_ask(w, "/weir/tree", NULL), "{'relinked': 8, '...': 0}");
}

#define TOTALS                                                                          \
	"{'name': 'one', 'match': {'vlan': 1}, 'allocator': 'quota', 'total': '1GB'}, " \
	"{'name': 'two', 'match': {'vlan': 2}, 'allocator': 'quota', 'total': '1GB'}, " \
	"{'name': 'none', 'match': {'vlan': 3}, 'limit': '1Mbit/s'}"

#define HEALTH "'active': '*', 'control': '*', 'log_lines_lost': 0, 'tsc': '*'"

/*
 * A quota counts as used up when a thousandth is left. The alarm has the number of them and the
 * first one.
 */
TEST(test_spent)
{
	STORED_WORLD(w, TOTALS);

	show_expect(
		show_ask(w, "/weir/health", NULL), "{'alarms': [], 'totals_spent': 0, " HEALTH "}");
	w->config->policies[1].total = UINT64_C(999999999999); /* 1 GB is left */
	show_expect(
		show_ask(w, "/weir/health", NULL), "{'alarms': [], 'totals_spent': 0, " HEALTH "}");
	w->config->policies[1].total++;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['the quota of two is spent'], 'totals_spent': 1, " HEALTH "}");
	w->config->policies[0].total = UINT64_C(1000000000000);
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['2 quotas are spent, that of one the first one'], "
		"'totals_spent': 2, " HEALTH "}");
	w->config->policies[0].drawn = true; /* without a value from etcd */
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['the quota of two is spent'], 'totals_spent': 1, " HEALTH "}");
	w->config->policies[0].drawn = false;
}

#define NUMBERED                                                                            \
	"{'name': 'plain', 'match': {'vlan': 1}, 'limit': '8Mbit/s'}, "                     \
	"{'name': 'counts', 'match': {'vlan': 2}, 'limit': '100/min', 'count': 'packets', " \
	"'allocator': 'static'}, "                                                          \
	"{'name': 'waits', 'match': {'vlan': 3}, 'limit': '8Mbit/s', 'burst': '3kB', "      \
	"'action': 'shape', 'shape': {'delay': '5ms'}}, "                                   \
	"{'name': 'total', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB'}, "   \
	"{'name': 'tried', 'match': {'vlan': 5}, 'limit': '8Mbit/s', 'trial': {'limit': "   \
	"'16Mbit/s'}}, "                                                                    \
	"{'name': 'gold', 'match': {'vlan': 6}, 'limit': '8Mbit/s', 'meter': 'trtcm', "     \
	"'peak': {'limit': '16Mbit/s'}}, "                                                  \
	"{'name': 'link', 'limit': '8Mbit/s'}, "                                            \
	"{'name': 'below', 'match': {'vlan': 7}, 'limit': '4Mbit/s', 'parent': 'link', "    \
	"'allocator': 'static'}"

/* Sets the counters of a policy to different values. */
static void count_as_numbers(struct instance_world *w, unsigned policy)
{
	const uint64_t n = 1000 * (uint64_t)(policy + 1);

	w->inst.carried_over[w->inst.slots.of[policy]].before = (struct policy_totals){
		.passed_packets = n + 1,
		.passed_bytes = n + 2,
		.dropped_packets = n + 3,
		.dropped_bytes = n + 4,
		.over_packets = n + 5,
		.over_bytes = n + 6,
		.fallback_packets = n + 7,
		.fallback_bytes = n + 8,
		.colours = {[COLOUR_GREEN] = {n + 9, n + 10},
			[COLOUR_YELLOW] = {n + 11, n + 12},
			[COLOUR_RED] = {n + 13, n + 14}}};
}

/* The row of one policy, by the names of its columns. */
static json_t *numbers_of(struct instance_world *w, const char *policy)
{
	json_t *reply = show_ask(w, "/weir/policy_stats", policy), *json = json_object(), *column;
	const json_t *columns = json_object_get(reply, "columns");
	const json_t *row = json_array_get(json_object_get(reply, "policies"), 0);
	size_t i;

	assert_int_equal(json_array_size(row), json_array_size(columns));
	json_array_foreach (columns, i, column)
		json_object_set(json, json_string_value(column), json_array_get(row, i));
	json_decref(reply);
	return json;
}

#define IF(applies) (1U << APPLIES_##applies)
#define SOFT        (IF(ALWAYS) | IF(LIMITED) | IF(GROUP) | IF(OVERSHOOT))

/* The kinds of numbers that each policy of NUMBERED has. */
static const unsigned numbered[] = {SOFT | IF(LOANS), IF(ALWAYS) | IF(LIMITED) | IF(OVERSHOOT),
	SOFT | IF(SHAPED), IF(ALWAYS) | IF(FALLBACK) | IF(QUOTA), SOFT | IF(TRIAL) | IF(LOANS),
	SOFT | IF(COLOURED) | IF(PEAK), SOFT, SOFT | IF(BELOW)};

/* Words that are null although their policy has them. */
static bool is_unknown(enum policy_number_id id, unsigned applies)
{
	return id == NUMBER_limit_until_TEXT ||
	       (id == NUMBER_guarantee_TEXT && applies & IF(QUOTA));
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 0.001 * fabs(a) + 0.001;
}

/* The column and the member of a number have the same value, and one only if it applies. */
static void check_number(
	const json_t *reply, const json_t *row, enum policy_number_id id, unsigned applies)
{
	const struct policy_number *number = &policy_numbers[id];
	const char *count = json_string_value(json_object_get(row, "count"));
	char column[NUMBER_NAME_MAX], name[NUMBER_NAME_MAX];
	const char *path = number_path(number, count, name);
	const json_t *member = path ? member_at(reply, path) : NULL, *cell = NULL;
	bool has = (applies >> number->applies & 1) && !is_unknown(id, applies);
	double scale = number->unit == UNIT_RATE && strcmp(count, "bytes") == 0 ? 8 : 1;

	print_message("%s %s\n", number->stem, path ? path : "-");
	if (path && number->shown != NUMBER_GIVEN)
		assert_int_equal(member != NULL, has);
	if (!number_has_column(number))
		return;
	cell = member_at(row, number_column(number, column));
	assert_int_equal(cell != NULL, has);
	if (!member)
		return;
	if (json_is_number(cell))
		assert_true(is_near(json_number_value(cell) * scale, json_number_value(member)));
	else
		assert_true(json_equal(cell, member));
}

/* Members of /weir/policy that are not numbers: the configuration, in objects and lists. */
static bool is_configured(const char *path)
{
	return strncmp(path, "match.", 6) == 0 || strcmp(path, "more_matches") == 0 ||
	       strcmp(path, "limit_uid") == 0 || strstr(path, ".mark") ||
	       strcmp(path, "colours.peak.limit") == 0 || strcmp(path, "shape.delay_us") == 0;
}

static bool is_numbered(const char *path, const char *count)
{
	char name[NUMBER_NAME_MAX];

	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (number_path(&policy_numbers[id], count, name) && strcmp(name, path) == 0)
			return true;
	for (unsigned i = 0; i < policy_numbers_previous_rows; i++)
		if (number_path(&policy_numbers_previous[i].names, count, name) &&
			strcmp(name, path) == 0)
			return true;
	return is_configured(path);
}

/* Each member of a reply is a row of the table. */
static void check_members(const json_t *json, const char *above, const char *count)
{
	char path[2 * NUMBER_NAME_MAX];
	json_t *value;
	const char *key;

	json_object_foreach ((json_t *)json, key, value) {
		snprintf(path, sizeof(path), "%s%s%s", above, *above ? "." : "", key);
		if (json_is_object(value))
			check_members(value, path, count);
		else if (!json_is_null(value) && !is_numbered(path, count))
			fail_msg("%s: no row of the table", path);
	}
}

/* Previous names of columns have the values of the current ones. */
static void check_previous(const json_t *row)
{
	char name[NUMBER_NAME_MAX], previous[NUMBER_NAME_MAX];

	for (unsigned i = 0; i < policy_numbers_previous_rows; i++) {
		const struct number_previous *was = &policy_numbers_previous[i];

		if (*was->names.stem)
			assert_true(json_equal(
				json_object_get(row, number_column(&was->names, previous)),
				json_object_get(
					row, number_column(&policy_numbers[was->number], name))));
	}
}

/* Each row of the table, in both commands. */
static void check_numbers(struct instance_world *w, unsigned policy, unsigned applies)
{
	json_t *row, *reply = show_ask(w, "/weir/policy", w->inst.policies[policy].name);
	char number[8];

	print_message("policy %s\n", w->inst.policies[policy].name);
	snprintf(number, sizeof(number), "%u", policy);
	row = numbers_of(w, number);
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		check_number(reply, row, id, applies);
	check_members(reply, "", json_string_value(json_object_get(row, "count")));
	check_previous(row);
	json_decref(row);
	json_decref(reply);
}

TEST(test_numbers)
{
	STORED_WORLD(w, NUMBERED, .more = GROUP);

	for (unsigned i = 0; i < COUNT(numbered); i++)
		check_numbers(w, i, numbered[i]);
}

/* The remaining units have a value if all limiters have sent reports, such as the only one. */
TEST(test_numbers_of_one)
{
	STORED_WORLD(w, "{'name': 'total', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': "
			"'1GB'}");

	check_numbers(w, 0, IF(ALWAYS) | IF(FALLBACK) | IF(QUOTA) | IF(QUOTA_KNOWN));
}

/* Each counter has the value that was counted under its name. */
TEST(test_counted)
{
	static const char *const columns[] = {"passed_packets", "passed_units", "dropped_packets",
		"dropped_units", "over_packets", "over_units", "fallback_packets", "fallback_units",
		"green_packets", "green_units", "yellow_packets", "yellow_units", "red_packets",
		"red_units"};
	char number[8];
	STORED_WORLD(w, NUMBERED, .more = GROUP);

	for (unsigned i = 0; i < COUNT(numbered); i++) {
		json_t *row;

		count_as_numbers(w, i);
		snprintf(number, sizeof(number), "%u", i);
		row = numbers_of(w, number);
		for (unsigned k = 0; k < COUNT(columns); k++) {
			const json_t *value = json_object_get(row, columns[k]);

			if (!json_is_null(value))
				assert_int_equal(json_integer_value(value), 1000 * (i + 1) + k + 1);
		}
		json_decref(row);
		check_numbers(w, i, numbered[i]); /* both commands */
	}
}

TEST(test_page_of_numbers)
{
	double now_ms;
	json_t *reply;
	STORED_WORLD(w, NUMBERED, .more = GROUP);

	show_expect(show_ask(w, "/weir/policy_stats", "7"),
		"{'generation': 1, 'at_ms': '*', 'columns': '*', 'total': 8, 'start': 7, 'next': "
		"null, 'policies': '*'}");
	assert_null(show_ask(w, "/weir/policy_stats", "x"));
	now_ms = (double)control_now() / 1e6;
	reply = show_ask(w, "/weir/policy_stats", NULL);
	assert_true(json_real_value(json_object_get(reply, "at_ms")) >= now_ms);
	assert_true(
		json_real_value(json_object_get(reply, "at_ms")) <= (double)control_now() / 1e6);
	json_decref(reply);
}

/* Without any quota, no policy has one. */
TEST(test_no_quota)
{
	WORLD(w, "{'name': 'p', 'match': {'vlan': 1}, 'limit': '8Mbit/s'}");

	show_expect(numbers_of(w, "0"),
		"{'name': 'p', 'limit_per_s': 1000000, 'local_limit_per_s': 1000000, 'allocator': "
		"'central', 'exceeding': 'drop', 'quota_units': null, 'total_units': null, '...': "
		"0}");
}

/* Alarms that need an operator. */
TEST(test_alarms)
{
	STORED_WORLD(w, "{'name': 'held', 'limit': '1Mbit/s', 'guarantee': 'hard'}");

	w->inst.clock.doubted = true;
	w->inst.clock.jumped_ns = 1500000;
	w->inst.clock.jumps = 3;
	w->inst.clock.hz = 1000000000;
	w->inst.clock.doubt = NULL;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['the TSC jumped by 1.500 ms, and is measured again'], "
		"'active': '*', 'totals_spent': 0, 'control': {'stalls': 0, 'longest_stall_ms': "
		"0.0}, "
		"'log_lines_lost': 0, 'tsc': {'mhz': 1000.0, 'jumps': 3, 'doubt': null}}");
	w->inst.clock.doubted = false;
	w->inst.renewal.span = 1;
	w->inst.workers[0].expiry.until = 1;
	w->inst.workers[1].expiry.until = 0;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['worker 1 (CPU 1) passes only the unreserved share of hard "
		"limits'], '...': 0}");
	w->inst.workers[0].expiry.until = 0;
	w->inst.workers[1].expiry.until = 1;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['worker 0 (CPU 0) passes only the unreserved share of hard "
		"limits'], '...': 0}");
	w->inst.renewal.span = 0;
	show_expect(show_ask(w, "/weir/health", NULL), "{'alarms': [], '...': 0}");
}

/* The rate up to which packets pass, by meter and by actions of colours, and beyond. */
TEST(test_peaks)
{
	static const struct {
		const char *keys, *shown;
	} rows[] = {
		{"'meter': 'srtcm'", "'peak_per_s': 1000000, 'local_peak_per_s': 500000, "
				     "'exceeding': 'drop'"},
		{"'meter': 'trtcm', 'peak': {'limit': '20Mbit/s'}",
			"'peak_per_s': 2500000, 'local_peak_per_s': 1250000, 'exceeding': 'drop'"},
		{"'meter': 'trtcm-4115', 'excess': {'limit': '16Mbit/s'}",
			"'peak_per_s': 3000000, 'local_peak_per_s': 1500000, 'exceeding': 'drop'"},
		{"'meter': 'trtcm', 'peak': {'limit': '20Mbit/s'}, 'colours': {'yellow': 'drop'}",
			"'peak_per_s': 1000000, 'local_peak_per_s': 500000, 'exceeding': 'drop'"},
		{"'meter': 'trtcm', 'peak': {'limit': '20Mbit/s'}, 'colours': {'red': 'count'}",
			"'peak_per_s': 2500000, 'local_peak_per_s': 1250000, 'exceeding': 'count'"},
		{"'action': 'mark', 'mark': 'af12'", "'exceeding': 'mark'"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char policy[256], expected[256];

		snprintf(policy, sizeof(policy),
			"{'name': 'p', 'match': {'vlan': 1}, 'limit': '8Mbit/s', %s}",
			rows[i].keys);
		snprintf(expected, sizeof(expected), "{'name': 'p', %s, '...': 0}", rows[i].shown);
		STORED_WORLD(w, policy, .more = GROUP);
		show_expect(numbers_of(w, "0"), expected);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
