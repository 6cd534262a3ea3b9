/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Descriptions in words of accepted configurations.
 */
#include "check.h"

#include "config_cases.h"

#include "config/describe.h"
#include "config/load.h"
#include "policy/value.h"

static const char *const described[] = {
	"limiter me\n  1 worker on CPU 1, always polling\n",
	"  control on CPU 0, socket /run/weir/me.sock\n",
	"    read by group of that user, changed by root and its own user\n",
	"port lan: net_null0, MTU 1500\n",
	"wire w: a is lan, b is wan\n",
	"group: N = 2 limiters\n  me at 10.0.0.1:1 (this limiter)\n  you at 10.0.0.2:1\n",
	"gossip: encrypted with the key in k\n  listens on 10.0.0.1:1\n",
	"  sends to 1 peer an interval, in datagrams of at most 1200 bytes\n",
	" without gossip, and 1/2 of each limit with it\n",
	"tunnels: packets inside GRE, VXLAN (UDP port 4789) and IP in IP are classified\n",
	"policy p\n  takes wire w, from 10.0.0.0/8, DSCP 0\n",
	"policy q\n  takes udp, from port 53, to port 1024-65535\n",
	"policy r\n  takes protocol 89\n",
	"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 2 limiters\n",
	"  burst 312.5kB",
	"  allocator fps every 50ms",
	"  at a full partition, and at the start: 5Mbit/s here (limit/2)\n",
};

static char *describe_to_text(const struct config *config)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	config_describe(config, out);
	fclose(out);
	return text;
}

TEST(test_describe)
{
	struct config *config = must_parse(
		"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		"]}, 'tunnels': {'classify': 'inner'}, 'policies': "
		"[{'name': 'p', 'limit': '10Mbit/s', 'match': {'wire': 'w', 'src': "
		"'10.0.0.0/8', 'dscp': 0}}, {'name': 'q', 'limit': '10Mbit/s', 'match': {'proto': "
		"'udp', 'src-port': 53, 'dst-port': '1024-65535'}}, {'name': 'r', 'limit': "
		"'10Mbit/s', 'match': {'proto': 89}}]}");
	char *text = describe_to_text(config);

	for (size_t i = 0; i < COUNT(described); i++) {
		if (strstr(text, described[i]) == NULL)
			fail_msg("not in\n%s\n: %s", text, described[i]);
	}
	free(text);
	config->gossip.n_key_files = 0;
	text = describe_to_text(config);
	assert_non_null(strstr(text, "gossip: NOT ENCRYPTED (insecure)"));
	free(text);
	config_free(config);
}

/* Every word that depends on a policy's keys. */
TEST(test_describe_keys)
{
	static const struct {
		const char *members, *line;
	} cases[] = {
		{"'limit': '500/s', 'count': 'packets'", "  limit 500/s of packets\n"},
		{"'limit': '500/s', 'count': 'packets'",
			"  burst 50, the excess is dropped (token bucket)\n"},
		{"'limit': '900/h', 'count': 'flows'",
			"  limit 900/h of new flows (TCP SYN, first packet of a UDP flow)\n"},
		{"'limit': '100/min', 'count': 'packets'", "  limit 100/min of packets\n"},
		{"'limit': '100/min', 'count': 'packets', 'meter': 'fixed-window'",
			"  100 in each 1min, the excess is dropped (fixed window)\n"},
		{"'limit': '1/d', 'count': 'packets'",
			"  burst 10, the excess is dropped (token bucket)\n"},
		{"'limit': '8Mbit/s', 'meter': 'gcra'",
			"  burst 250kB, the excess is dropped (GCRA)\n"},
		{"'limit': '8Mbit/s', 'meter': 'fixed-window', 'window': '1min'",
			"  60MB in each 1min, the excess is dropped (fixed window)\n"},
		{"'limit': '600/min', 'count': 'packets', 'meter': 'hybrid', 'window': '1h'",
			"  36k in each 1h, the excess is dropped (hybrid of quota and even "
			"rate)\n"},
		{"'limit': '8Mbit/s', 'meter': 'random-drop'",
			"  the excess, chosen at random, is dropped (random drop)\n"},
		{"'limit': '8Mbit/s', 'action': 'count'",
			"  burst 250kB, the excess is counted, and passes (token bucket)\n"},
		{"'limit': '8Mbit/s', 'action': 'mark'",
			"  burst 250kB, the excess is marked (ECN: congestion experienced), or "
			"dropped if it cannot be (token bucket)\n"},
		{"'limit': '8Mbit/s', 'action': 'mark', 'mark': 8",
			"  burst 250kB, the excess is marked (DSCP 8), or dropped if it cannot "
			"be (token bucket)\n"},
		{"'limit': '8Mbit/s', 'per': 'src/24'",
			"  for each source: IPv4 by /24, IPv6 by /64; 65536 sources a worker\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[512], *text;

		snprintf(document, sizeof(document), POLICY(", %s"), cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		free(text);
		config_free(config);
	}
}

/* Descriptions of guarantees, alone and in a group. */
TEST(test_describe_guarantee)
{
	static const struct {
		bool group;
		const char *members, *lines;
	} cases[] = {
		{true, "'limit': '8Mbit/s'", "  more can pass until gossip has arrived (soft)\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'hard'",
			"  never above 8Mbit/s over all 2 limiters plus the burst (hard limit)\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'hard'",
			"  at the very start: 4Mbit/s here (limit/2); at a partition: its share at that time\n"},
		{false, "'limit': '500/s', 'count': 'flows', 'guarantee': 'hard'",
			"  never above 500/s plus the burst (hard limit)\n"},
		{true, "'limit': '8Mbit/s', 'allocator': 'gdrl', 'indicator': 'loss'",
			"  never above 8Mbit/s over all 2 limiters plus the burst (hard limit)\n"
			"  moves until \"loss\" is the same at all limiters\n"},
		{true,
			"'total': '500GB', 'allocator': 'quota', 'period': 'month', 'limit': "
			"'1Mbit/s'",
			"  never more than 500GB of L3 bytes (without Ethernet and VLAN headers), "
			"a month (UTC), over all 2 limiters\n"
			"  then 1Mbit/s (500kbit/s here, limit/2), burst 31.25kB, the excess is "
			"dropped\n"
			"  begins with total/2 here; a crash costs up to twice 64MiB, and the units of 0.1s\n"},
		{false,
			"'total': '5M', 'allocator': 'quota', 'count': 'packets', 'period': '24h', "
			"'action': 'mark', 'mark': 8",
			"  never more than 5M of packets, each 24h (UTC)\n"
			"  the excess is marked (DSCP 8), or dropped if it cannot be\n"
			"  begins with all of it here; a crash costs up to twice 4.096k, and the units of 0.1s\n"},
		{false, "'total': '5GB', 'allocator': 'quota', 'limit': '1Mbit/s'",
			", once (prepaid)\n  then 1Mbit/s, burst 31.25kB, the excess is dropped\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'hard'",
			"ledger: store /var/lib/weir/me\n"
			"  lease 5s, 50% promised to the backup neighbour, clocks within 1000 ppm\n"
			"  neighbours: by the size of the group\n"},
		{false, "'limit': '8Mbit/s', 'guarantee': 'hard'",
			"ledger: store /var/lib/weir/me\npolicy p\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[1024], *text;

		snprintf(document, sizeof(document), "%s%s'policies': [{'name': 'p', %s}]}",
			"{'limiter': 'me', " PORTS WIRES ", ",
			cases[i].group ? "'gossip': {'key_file': 'k', 'roster': [" GROUP2 "]}, "
				       : "",
			cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].lines) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].lines);
		free(text);
		config_free(config);
	}
}

TEST(test_describe_ledger)
{
	static const struct {
		const char *members, *line;
	} cases[] = {
		{"'overlay': 'ring'", "  neighbours: a ring\n"},
		{"'overlay': {'degree': 4}", "  neighbours: a random graph of degree 4\n"},
		{"'overlay': {'edges': [['me', 'you']]}", "  neighbours: 1 given edge\n"},
		{"'tree': {'degree': 3}", "  in the tree of quotas at most 3 each\n"},
		{"'etcd': {'endpoints': ['https://x', 'https://y']}",
			"  totals in etcd below /weir: https://x https://y\n"},
		{"'etcd': {'endpoints': ['https://x']}",
			"  begins with nothing here, and draws from etcd; a crash costs up to "
			"twice 2MiB, and the units of 0.1s\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[1024], *text;

		snprintf(document, sizeof(document),
			"{'limiter': 'me', " PORTS WIRES ", 'ledger': {%s}, 'gossip': {'key_file': "
			"'k', 'roster': [" GROUP2 "]}, 'policies': [{'name': 'p', 'allocator': "
			"'quota', 'total': '5GB'}]}",
			cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		free(text);
		config_free(config);
	}
}

/* The description of a soft limit names no ledger. */
TEST(test_describe_soft)
{
	struct config *config = must_parse(LIMITED(""));
	char *text = describe_to_text(config);

	assert_null(strstr(text, "ledger"));
	assert_null(strstr(text, "soft"));
	free(text);
	config_free(config);
}

TEST(test_describe_group)
{
	static const struct {
		const char *gossip, *line;
	} cases[] = {
		{"'estimator': 'state'",
			"  demand of the group: each limiter keeps the newest record of all others\n"},
		{"'estimator': 'tree'",
			"  demand of the group: summed along a tree over the roster\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[512], *text;

		snprintf(document, sizeof(document),
			"{'limiter': 'me', " PORTS WIRES ", 'gossip': {%s, 'key_file': 'k', "
			"'roster': [" GROUP2 "]}, 'policies': [{'name': 'p', 'count': 'packets', "
			"'limit': '1/s', 'weigh': 'tcp'}]}",
			cases[i].gossip);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		assert_non_null(
			strstr(text, "  flows other than TCP are no evidence of a fair share\n"));
		assert_non_null(strstr(text, ": 0.5/s here (limit/2)\n"));
		free(text);
		config_free(config);
	}
}

TEST(test_describe_alone)
{
	struct config *config = must_parse(DOC(""));
	char *text = describe_to_text(config);

	assert_non_null(strstr(text, "group: N = 1, no gossip"));
	assert_non_null(strstr(text, "  takes every packet that no other policy takes\n"));
	assert_null(strstr(text, "partition"));
	free(text);
	config_free(config);
}

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Documents and their whole descriptions, to the last line. */
static const struct {
	const char *document, *text;
} whole[] = {
	/* Two of everything, and one value of each choice that is not the default. */
	{"{'limiter': 'me', 'ports': {'lan': {'device': 'net_af_packet0,iface=a', 'mtu': 9000}, "
	 "'wan': {'device': 'net_af_packet1,iface=b', 'mtu': 9000, 'offloads': 'refuse'}, "
	 "'dmz': {'device': 'net_af_packet2,iface=c', 'offloads': 'ignore'}, "
	 "'out': {'device': 'net_null3'}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', "
	 "'distribute': true}, {'name': 'v', 'a': 'dmz', 'b': 'out', 'link': 'follow'}], "
	 "'workers': [1, 3], 'idle': 'sleep', 'control': {'cpu': 2, 'socket': '/run/c', 'group': "
	 "'all', 'watchdog': '2s'}, 'eal': ['--no-huge', '--in-memory'], 'gossip': {'key_files': "
	 "['k', 'old'], 'branching': 1, 'roster': [" GROUP2 ", {'name': 'she', 'address': "
	 "'10.0.0.3:7'}]}, 'policies': [{'name': 'p', 'limit': '10Mbit/s', 'match': [{'vlan': 1}, "
	 "{'vlan': 2}, {'vlan': 3}, {'vlan': 4}, {'vlan': 5}, {'vlan': 6}, {'vlan': 7}, "
	 "{'vlan': 8}, {'vlan': 9}, {'vlan': 10}]}]}",
		"limiter me\n"
		"  2 workers on CPU 1 3, asleep when idle\n"
		"  control on CPU 2, socket /run/c\n"
		"    read by group all, changed by root and its own user\n"
		"  a worker stuck for 2s ends the process\n"
		"  extra EAL arguments: --no-huge --in-memory\n"
		"port lan: net_af_packet0,iface=a, MTU 9000\n"
		"  offloads of its interface that alter packets are switched off\n"
		"port wan: net_af_packet1,iface=b, MTU 9000\n"
		"  no start while offloads of its interface alter packets\n"
		"port dmz: net_af_packet2,iface=c, MTU 1500\n"
		"  offloads of its interface may alter packets\n"
		"port out: net_null3, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"  its flows go to all workers, also where it has fewer queues\n"
		"wire v: a is dmz, b is out\n"
		"  when one end loses its link the other is taken down\n"
		"group: N = 3 limiters\n"
		"  me at 10.0.0.1:1 (this limiter)\n"
		"  you at 10.0.0.2:1\n"
		"  she at 10.0.0.3:7\n"
		"gossip: encrypted with the key in k\n"
		"  also accepts the key in old\n"
		"  listens on 10.0.0.1:1\n"
		"  sends to 1 peer an interval, in datagrams of at most 1200 bytes\n"
		"  demand of the group: each limiter keeps the newest record of all others\n"
		"  a peer is lost after 1s a round without gossip, and 1/3 of each limit with it\n"
		"policy p\n"
		"  takes VLAN 1\n"
		"    or VLAN 2\n"
		"    or VLAN 3\n"
		"    or VLAN 4\n"
		"    or VLAN 5\n"
		"    or VLAN 6\n"
		"    or VLAN 7\n"
		"    or VLAN 8\n"
		"    or by 2 more matches\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 3 limiters\n"
		"  more can pass until gossip has arrived (soft)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator fps every 50ms, past demand counts 10% after a second\n"
		"  at a full partition, and at the start: 3.333333Mbit/s here (limit/3)\n"},
	/* A limiter without policies, and its operators. */
	{"{'limiter': 'me', " PORTS WIRES ", 'workers': [1, 3], 'shadow': true, 'control': "
	 "{'operators': 'ops'}, 'policies': []}",
		"limiter me\n"
		"  2 workers on CPU 1 3, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group ops, changed by root and its own user, and group ops\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"shadow: nothing is enforced, every packet passes\n"
		"no policy: every packet passes\n"},
	/* Names of one letter. */
	{"{'limiter': 'm', " PORTS WIRES ", 'control': {'operators': 'o', 'group': 'g', 'socket': "
	 "'s'}}",
		"limiter m\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket s\n"
		"    read by group g, changed by root and its own user, and group o\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"no policy: every packet passes\n"},
	/* The largest number of matches that is printed; a tree of policies; a coloured one. */
	{"{'limiter': 'me', " PORTS "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', "
	 "'distribute': true}], 'unparsed': 'drop', 'control': {'operators': 'ops', 'group': 'all'}, "
	 "'policies': [{'name': 'link', 'limit': '100Mbit/s', 'match': {'wire': 'w', 'direction': "
	 "'a-to-b', 'dst': '192.0.2.0/24'}}, {'name': 'top', 'parent': 'link', 'limit': "
	 "'20Mbit/s'}, {'name': 'one', 'parent': 'top', 'match': [{'vlan': 11}, {'vlan': 12}, "
	 "{'vlan': 13}, {'vlan': 14}, {'vlan': 15}, {'vlan': 16}, {'vlan': 17}, {'dscp': 8}], "
	 "'limit': '10Mbit/s', 'weight': 3}, {'name': 'two', 'parent': 'top', 'match': {'vlan': 20, "
	 "'proto': 'tcp', 'dst-port': 443}, 'limit': '10Mbit/s', 'guaranteed': '2Mbit/s'}]}",
		"limiter me\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group all, changed by root and its own user, and group ops\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"fragments belong to the policy of their first fragment; fragments without it, and other packets that are not parsed, are dropped\n"
		"policy link\n"
		"  takes wire w, a-to-b, to 192.0.2.0/24\n"
		"  limits 1 policy together\n"
		"  limit 100Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 3.125MB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy top\n"
		"  takes only the packets of its children\n"
		"  limits 2 policies together\n"
		"  of link it has 2Mbit/s first, and a part of the rest by weight 1\n"
		"  limit 20Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 625kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy one\n"
		"  takes VLAN 11\n"
		"    or VLAN 12\n"
		"    or VLAN 13\n"
		"    or VLAN 14\n"
		"    or VLAN 15\n"
		"    or VLAN 16\n"
		"    or VLAN 17\n"
		"    or DSCP 8\n"
		"  of top it has a part of the rest by weight 3\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy two\n"
		"  takes VLAN 20, tcp, to port 443\n"
		"  of top it has 2Mbit/s first, and a part of the rest by weight 1\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	/*
	 * Limiters with identities, required or optional; bursts remembered; a trial; a schedule.
	 */
	{"{'limiter': 'you', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'identity_file': "
	 "'i', 'roster': [{'name': 'me', 'address': '10.0.0.1:1', 'public_key': '" KEY
	 "'}, {'name': "
	 "'you', 'address': '10.0.0.2:1', 'public_key': '" KEY "'}]}, 'policies': [{'name': 'p', "
	 "'allocator': 'adaptor', 'limit': '10Mbit/s', 'history': '20s', 'step': '500ms', "
	 "'trial': {'limit': '5Mbit/s', 'meter': 'gcra'}}]}",
		"limiter you\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/you.sock\n"
		"    read by group of that user, changed by root and its own user\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 2 limiters\n"
		"  me at 10.0.0.1:1\n"
		"  you at 10.0.0.2:1 (this limiter)\n"
		"gossip: encrypted with the key in k\n"
		"  each limiter has an identity, this one in i\n"
		"  listens on 10.0.0.2:1\n"
		"  sends to 1 peer an interval, in datagrams of at most 1200 bytes\n"
		"  demand of the group: each limiter keeps the newest record of all others\n"
		"  a peer is lost after 1s a round without gossip, and 1/2 of each limit with it\n"
		"policy p\n"
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 2 limiters\n"
		"  more can pass until gossip has arrived (soft)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  trial, without effect: 5Mbit/s, burst 156.25kB (GCRA)\n"
		"  allocator adaptor every 50ms: the rate by average arrivals, the burst by the largest backlog of the last 20s, in steps of 500ms\n"
		"  at a full partition, and at the start: 5Mbit/s here (limit/2)\n"},
	{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'identity_file': "
	 "'i', 'identities': 'optional', 'roster': [{'name': 'me', 'address': '10.0.0.1:1', "
	 "'public_key': '" KEY "'}, {'name': 'you', 'address': '10.0.0.2:1', 'public_key': '" KEY
	 "'}]}, 'policies': [{'name': 'p', 'limit': '10Mbit/s', 'interval': '20ms', 'ewma': 0.25, 'schedule': "
	 "{'zone': 'UTC', 'entries': [{'days': 'mon,tue,sat', 'from': '08:05', 'to': '17:35', "
	 "'limit': '2Mbit/s', 'burst': '75kB'}, {'from': '20:00', 'to': '21:09', 'limit': '1Mbit/s'}]}}]}",
		"limiter me\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group of that user, changed by root and its own user\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 2 limiters\n"
		"  me at 10.0.0.1:1 (this limiter)\n"
		"  you at 10.0.0.2:1\n"
		"gossip: encrypted with the key in k\n"
		"  each limiter has an identity, this one in i; limiters without one are accepted (\"optional\")\n"
		"  listens on 10.0.0.1:1\n"
		"  sends to 1 peer an interval, in datagrams of at most 1200 bytes\n"
		"  demand of the group: each limiter keeps the newest record of all others\n"
		"  a peer is lost after 1s a round without gossip, and 1/2 of each limit with it\n"
		"policy p\n"
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 2 limiters\n"
		"  more can pass until gossip has arrived (soft)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  mon,tue,sat 08:05 to 17:35 in UTC: limit 2Mbit/s, burst 75kB\n"
		"  daily 20:00 to 21:09 in UTC: limit 1Mbit/s, burst 31.25kB\n"
		"  allocator fps every 20ms, past demand counts 25% after a second\n"
		"  at a full partition, and at the start: 5Mbit/s here (limit/2)\n"},
	/* The kernel decides packets, except those of some policies. */
	{"{'limiter': 'me', 'ports': {'lan': {'device': 'xdp:e0'}, 'wan': {'device': 'xdp:e1'}}, "
	 "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'fail': 'last-limits', 'fail_after': "
	 "'20ms'}], 'policies': [{'name': 'p', 'match': {'vlan': 1}, 'limit': '10Mbit/s'}, {'name': 'q', 'match': {'vlan': 2}, 'limit': "
	 "'1Mbit/s', 'action': 'shape'}, {'name': 'r', 'match': {'vlan': 3}, 'limit': '9/s', 'count': 'flows'}, {'name': 's', 'match': {'vlan': 4}, "
	 "'limit': '2Mbit/s', 'per': 'src'}, {'name': 't', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '5GB'}, {'name': 'u', "
	 "'match': {'vlan': 6}, 'limit': '3Mbit/s', 'meter': 'gcra'}]}",
		"limiter me\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group of that user, changed by root and its own user\n"
		"port lan: xdp:e0, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"port wan: xdp:e1, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"wire w: a is lan, b is wan\n"
		"  the kernel decides its packets; workers decide\n"
		"    policy \"q\", because it lets packets wait\n"
		"    policy \"r\", because it counts flows\n"
		"    policy \"s\", because it limits each source\n"
		"    policy \"t\", because it is a total\n"
		"    policy \"u\", because it has another meter than a token bucket\n"
		"    fragments and packets with further headers before IP\n"
		"  while Weir is stopped, or a worker stalls for 20ms, its packets keep to the last limits; packets of the workers pass, or are lost if they could belong to a hard limit\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"ledger: store /var/lib/weir/me\n"
		"fragments belong to the policy of their first fragment; fragments without it, and other packets that are not parsed, are charged to the strictest policy that they could be of\n"
		"policy p\n"
		"  takes VLAN 1\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy q\n"
		"  takes VLAN 2\n"
		"  limit 1Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 15kB, the excess waits (token bucket)\n"
		"  waits at most 100ms; a full queue drops; a new limit applies to later packets\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy r\n"
		"  takes VLAN 3\n"
		"  limit 9/s of new flows (TCP SYN, first packet of a UDP flow)\n"
		"  burst 10, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy s\n"
		"  takes VLAN 4\n"
		"  limit 2Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  for each source: IPv4 by /32, IPv6 by /128; 65536 sources a worker\n"
		"  burst 62.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy t\n"
		"  takes VLAN 5\n"
		"  never more than 5GB of L3 bytes (without Ethernet and VLAN headers), once (prepaid)\n"
		"  the excess is dropped\n"
		"  begins with all of it here; a crash costs up to twice 4MiB, and the units of 0.1s\n"
		"  allocator quota every 50ms, past demand counts 10% after a second\n"
		"policy u\n"
		"  takes VLAN 6\n"
		"  limit 3Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 93.75kB, the excess is dropped (GCRA)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"{'limiter': 'me', 'ports': {'lan': {'device': 'xdp:e0'}, 'wan': {'device': 'xdp:e1'}, "
	 "'dmz': {'device': 'net_af_xdp0,iface=a'}, 'out': {'device': 'net_af_xdp1,iface=b'}}, "
	 "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'default': 'drop'}, {'name': 'v', 'a': 'dmz', 'b': 'out', "
	 "'fail': 'open', 'fail_after': '30ms'}], 'unparsed': 'pass', 'shadow': true, 'policies': [{'name': 'p', 'match': "
	 "{'vlan': 1}, 'limit': '10Mbit/s'}, {'name': 'q', 'parent': 'p', 'match': {'vlan': 2, 'proto': 'udp'}, "
	 "'limit': '1Mbit/s'}, {'name': 'r', 'match': {'vlan': 3}, 'limit': '9Mbit/s', 'meter': "
	 "'srtcm'}, {'name': 's', 'match': {'vlan': 4}, 'limit': '2Mbit/s', 'trial': {'limit': "
	 "'1Mbit/s'}}]}",
		"limiter me\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group of that user, changed by root and its own user\n"
		"port lan: xdp:e0, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"port wan: xdp:e1, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"port dmz: net_af_xdp0,iface=a, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"port out: net_af_xdp1,iface=b, MTU 1500\n"
		"  offloads of its interface that alter packets are switched off\n"
		"wire w: a is lan, b is wan\n"
		"  IP without a policy is dropped when there is no shadow, except for traffic of the link: neighbour discovery, link-local addresses, 224.0.0.0/24 and broadcasts\n"
		"  workers decide on it; while Weir is stopped it is lost\n"
		"  the kernel decides its packets; workers decide\n"
		"    policy \"p\", because it is a level of a hierarchy\n"
		"    policy \"q\", because it is a level of a hierarchy\n"
		"    policy \"r\", because it colours packets\n"
		"    policy \"s\", because it has a trial\n"
		"    fragments and packets with further headers before IP\n"
		"  while Weir is stopped, or a worker stalls for 100ms, its packets keep to the last limits; packets of the workers pass, or are lost if they could belong to a hard limit\n"
		"wire v: a is dmz, b is out\n"
		"  while Weir is stopped, or a worker stalls for 30ms, its packets pass unlimited\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"fragments belong to the policy of their first fragment; fragments without it, and other packets that are not parsed, are charged as if they had no ports: a sender who fragments is not limited by ports or new flows\n"
		"shadow: nothing is enforced, every packet passes\n"
		"policy p\n"
		"  takes VLAN 1\n"
		"  limits 1 policy together\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is counted, and passes (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy q\n"
		"  takes VLAN 2, udp\n"
		"  of p it has a part of the rest by weight 1\n"
		"  limit 1Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 31.25kB, the excess is counted, and passes (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy r\n"
		"  takes VLAN 3\n"
		"  limit 9Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  green: the limit, burst 281.25kB; passes\n"
		"  yellow: the unused part of the limit, burst 281.25kB; passes\n"
		"  red: the rest; is counted, and passes\n"
		"    (one rate, three colours: RFC 2697)\n"
		"    the colour of arriving packets does not count\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy s\n"
		"  takes VLAN 4\n"
		"  limit 2Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 62.5kB, the excess is counted, and passes (token bucket)\n"
		"  trial, without effect: 1Mbit/s, burst 31.25kB (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"{'limiter': 'me', 'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}, "
	 "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan'}], 'policies': [{'name': 'p', 'limit': '10Mbit/s'}, "
	 "{'name': 'm', 'parent': 'p', 'allocator': 'quota', 'total': '5TB'}, "
	 "{'name': 'q', 'parent': 'm', 'match': {'vlan': 2}, 'limit': '1Mbit/s'}, "
	 "{'name': 's', 'parent': 'p', 'match': {'vlan': 3}, 'limit': '1Mbit/s', 'per': 'src', 'allocator': 'static'}]}",
		"limiter me\n"
		"  1 worker on CPU 1, always polling\n"
		"  control on CPU 0, socket /run/weir/me.sock\n"
		"    read by group of that user, changed by root and its own user\n"
		"port lan: net_null0, MTU 1500\n"
		"port wan: net_null1, MTU 1500\n"
		"wire w: a is lan, b is wan\n"
		"group: N = 1, no gossip; limits are this limiter's alone\n"
		"ledger: store /var/lib/weir/me\n"
		"policy p\n"
		"  takes only the packets of its children\n"
		"  limits 2 policies together\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy m\n"
		"  takes only the packets of its children\n"
		"  limits 1 policy together\n"
		"  within p\n"
		"  never more than 5TB of L3 bytes (without Ethernet and VLAN headers), once (prepaid)\n"
		"  the excess is dropped\n"
		"  begins with all of it here; a crash costs up to twice 64MiB, and the units of 0.1s\n"
		"  allocator quota every 50ms, past demand counts 10% after a second\n"
		"policy q\n"
		"  takes VLAN 2\n"
		"  within m\n"
		"  of p it has a part of the rest by weight 1\n"
		"  limit 1Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 31.25kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"
		"policy s\n"
		"  takes VLAN 3\n"
		"  within p\n"
		"  limit 1Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  for each source: IPv4 by /32, IPv6 by /128; 65536 sources a worker\n"
		"  burst 31.25kB, the excess is dropped (token bucket)\n"
		"  allocator static every 50ms, past demand counts 10% after a second\n"},
};

TEST(test_describe_whole)
{
	for (size_t i = 0; i < COUNT(whole); i++) {
		struct config *config = must_read(whole[i].document);
		char *text = describe_to_text(config);

		assert_string_equal(text, whole[i].text);
		free(text);
		config_free(config);
	}
}

/* Lines of single policies: limits, colours, queues, classes, times and sources. */
static const struct {
	const char *members, *lines;
} single[] = {
	{"'limit': '10Mbit/s', 'meter': 'trtcm', 'peak': {'limit': '20Mbit/s'}, "
	 "'colours': {'aware': true, 'green': 'count', 'yellow': {'mark': 'af12'"
	 "}}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  green: the limit, burst 312.5kB; is counted, and passes\n"
		"  yellow: up to a peak of 20Mbit/s, burst 625kB; is marked (DSCP 12), or dropped if it cannot be\n"
		"  red: the rest; is dropped\n"
		"    (two rates, three colours: RFC 2698)\n"
		"    no better than the colour of the arriving packet, by DSCP: 12 yellow, 14 red, 20 yellow, 22 red, 28 yellow, 30 red, 36 yellow, 38 red, others green\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'meter': 'trtcm-4115', 'excess': {'limit': '4Mbit"
	 "/s', 'burst': '64KiB'}, 'colours': {'aware': true, 'dscp': {'12': 'gre"
	 "en', '14': 'green', '20': 'green', '22': 'green', '28': 'green', '30':"
	 " 'green', '36': 'green', '38': 'green'}}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  green: the limit, burst 312.5kB; passes\n"
		"  yellow: in addition to the limit, up to 4Mbit/s, burst 64KiB; passes\n"
		"  red: the rest; is dropped\n"
		"    (two rates, three colours: RFC 4115)\n"
		"    no better than the colour of the arriving packet, by DSCP: all green\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'meter': 'srtcm', 'colours': {'aware': true, 'dsc"
	 "p': {'12': 'green', '14': 'green', '20': 'green', '22': 'green', '28':"
	 " 'green', '30': 'green', '36': 'green', '38': 'red'}}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  green: the limit, burst 312.5kB; passes\n"
		"  yellow: the unused part of the limit, burst 312.5kB; passes\n"
		"  red: the rest; is dropped\n"
		"    (one rate, three colours: RFC 2697)\n"
		"    no better than the colour of the arriving packet, by DSCP: 38 red, others green\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'action': 'shape', 'shape': {'delay': '90ms', 'qu"
	 "eue': '64KiB'}, 'slo': {'p99': '10ms'}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 125kB, the excess waits (token bucket)\n"
		"  waits at most 90ms, 64KiB in all; a full queue drops; a new limit applies to later packets\n"
		"  target: 99 % of the packets wait at most 10ms\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'action': 'shape', 'guarantee': 'hard', 'sha"
	 "pe': {'delay': '90ms', 'drop': 'codel', 'queue': '64KiB', 'ecn': true}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  never above 10Mbit/s plus the burst (hard limit)\n"
		"  burst 125kB, the excess waits (token bucket)\n"
		"  waits at most 90ms, 64KiB a worker; above 5ms for 100ms CoDel marks, or drops unmarkable packets\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'action': 'shape', 'shape': {'drop': 'codel', 'ta"
	 "rget': '6ms', 'interval': '70ms', 'ecn': false}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 125kB, the excess waits (token bucket)\n"
		"  waits at most 100ms; above 6ms for 70ms CoDel drops\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'meter': 'phantom', 'classes': {'by': 'dscp', 'we"
	 "ights': {'ef': 4, '8': 2, '1': 1, '0': 3}}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 437.5kB, the excess is dropped (phantom queues)\n"
		"  shared fairly by DSCPs, of weight 1, 0 of weight 3, 8 of weight 2, 46 of weight 4\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'meter': 'phantom', 'classes': {'by': 'flow'}",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 437.5kB, the excess is dropped (phantom queues)\n"
		"  shared fairly by flows, 64 at a time\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'meter': 'hybrid', 'window': '2s'",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  2.5MB in each 2s, the excess is dropped (hybrid of quota and even rate)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'per': 'src/24', 'sources': 2048",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  for each source: IPv4 by /24, IPv6 by /64; 2048 sources a worker\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '100/min', 'count': 'packets', 'schedule': {'zone': 'UTC', 'e"
	 "ntries': [{'from': '00:00', 'to': '01:01', 'limit': '5/h', 'burst': 7}"
	 "]}",
		"  takes every packet that no other policy takes\n"
		"  limit 100/min of packets\n"
		"  burst 10, the excess is dropped (token bucket)\n"
		"  daily 00:00 to 01:01 in UTC: limit 5/h, burst 7\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'action': 'mark', 'mark': 'ecn'",
		"  takes every packet that no other policy takes\n"
		"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers)\n"
		"  burst 312.5kB, the excess is marked (ECN: congestion experienced), or dropped if it cannot be (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
	{"'limit': '10Mbit/s', 'match': {'src': '10.0.0.0/8', 'dscp': 63, 'proto"
	 "': 200}, 'accounting': 'wire'",
		"  takes from 10.0.0.0/8, DSCP 63, protocol 200\n"
		"  limit 10Mbit/s of wire bytes (frames and 24 bytes each: FCS, preamble, gap)\n"
		"  burst 312.5kB, the excess is dropped (token bucket)\n"
		"  allocator central every 50ms, past demand counts 10% after a second\n"},
};

TEST(test_describe_single)
{
	for (size_t i = 0; i < COUNT(single); i++) {
		char *document, *text;
		const char *lines;
		struct config *config;

		assert_true(
			asprintf(&document, POLICIES("{'name': 'p', %s}"), single[i].members) > 0);
		config = must_read(document);
		text = describe_to_text(config);
		lines = strstr(text, "policy p\n");
		assert_non_null(lines);
		assert_string_equal(lines + strlen("policy p\n"), single[i].lines);
		free(text);
		free(document);
		config_free(config);
	}
}

TEST(test_names)
{
	struct prefix any = {0};
	char text[64];

	assert_string_equal(prefix_format(&any, text, sizeof(text)), "any");
	assert_string_equal(direction_name(DIRECTION_ANY), "any");
	assert_string_equal(direction_name(DIRECTION_A_TO_B), "a-to-b");
	assert_string_equal(direction_name(DIRECTION_B_TO_A), "b-to-a");
	assert_string_equal(accounting_name(ACCOUNTING_L2), "l2");
	assert_string_equal(accounting_name(ACCOUNTING_L3), "l3");
	assert_string_equal(accounting_name(ACCOUNTING_WIRE), "wire");
}
