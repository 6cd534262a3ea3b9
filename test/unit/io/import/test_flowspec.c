/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flow specifications as exabgp 4.2 writes them, made policies: what they match, what they do, and
 * how long they last.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/flowspec.h"
#include "import/flowspec_former.h"
#include "import/flowspec_match.h"
#include "import/flowspec_set.h"

#define PEER(address) "'neighbor':{'address':{'local':'127.0.0.2','peer':'" address "'},"
#define LINE(peer, message) \
	"{'exabgp':'4.0.1','type':'update'," PEER(peer) "'message':{" message "}}}"

/* What a rule is made of, and what is done with its packets. */
#define RATE(value) "{'value':9225060887890886656,'string':'rate-limit:" value "'}"
#define DISCARD     "{'value':9225060886715039744,'string':'rate-limit:0'}"

struct rule_case {
	const char *family, *rule, *actions;
	const char *want; /* its policy without name and note; NULL: it is refused */
	const char *why;
};

#define LIMITED(match) "{'limit':'1Mbit/s','match':" match "}"
#define M125           RATE("125000")

/* A match of one protocol, whatever the address. */
#define PROTO(number)          "{'dst':'0.0.0.0/0','proto':" number "}"
#define COMMUNITY(value, text) "{'value':" value ",'string':'" text "'}"
#define COUNTED                "{'limit':'400Gbit/s','action':'count','match':{'dst':'192.0.2.7/32'}}"
#define PASSES_NONE            "{'limit':'8kbit/s','burst':'1B','match':{'dst':'192.0.2.7/32'}}"

static const struct rule_case rules[] = {
	/* Addresses, by family. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", M125,
		LIMITED("{'dst':'192.0.2.7/32'}"), NULL},
	{"ipv4 flow", "'source-ipv4':['192.0.2.0/24'],'destination-ipv4':['10.0.0.0/8']", M125,
		LIMITED("{'src':'192.0.2.0/24','dst':'10.0.0.0/8'}"), NULL},
	{"ipv6 flow", "'destination-ipv6':['2001:db8::/32/0']", M125,
		LIMITED("{'dst':'2001:db8::/32'}"), NULL},
	{"ipv6 flow", "'destination-ipv6':['2001:db8::/32/8']", M125, NULL,
		"its destination-ipv6 is not understood"},
	{"ipv4 flow", "'destination-ipv6':['2001:db8::/32/0']", M125, NULL,
		"a match has no destination-ipv6"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32','192.0.2.8/32']", M125, NULL,
		"its destination-ipv4 is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/33']", M125, NULL, "not understood"},
	{"ipv4 flow", "'destination-ipv4':[]", M125, NULL, "not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32/0']", M125, NULL, "not understood"},
	{"ipv4 flow", "'destination-ipv4':['2001:db8::/32']", M125, NULL, "not understood"},
	{"ipv6 flow", "'destination-ipv6':['192.0.2.7/32/0']", M125, NULL, "not understood"},
	{"ipv6 flow", "'source-ipv6':['2001:db8::/32']", M125, LIMITED("{'src':'2001:db8::/32'}"),
		NULL},
	/* What is behind the prefix is no part of it. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/24']", M125,
		LIMITED("{'dst':'192.0.2.0/24'}"), NULL},
	{"ipv6 flow", "'destination-ipv6':['2001:db8:0000:0000:0000:0000:0000:0000:0000/32/0']",
		M125, NULL, "not understood"},
	{"ipv4 flow", "'protocol':['=udp']", M125, LIMITED("{'dst':'0.0.0.0/0','proto':'udp'}"),
		NULL},
	{"ipv6 flow", "'next-header':['=tcp']", M125, LIMITED("{'dst':'::/0','proto':'tcp'}"),
		NULL},

	/* Protocols. */
	{"ipv4 flow", "'protocol':['=tcp','=17']", M125,
		LIMITED("[{'dst':'0.0.0.0/0','proto':'tcp'},{'dst':'0.0.0.0/0','proto':'udp'}]"),
		NULL},
	{"ipv4 flow", "'protocol':['=unknown protocol type 200']", M125,
		LIMITED("{'dst':'0.0.0.0/0','proto':200}"), NULL},
	{"ipv4 flow", "'protocol':['=ospf']", M125, LIMITED("{'dst':'0.0.0.0/0','proto':89}"),
		NULL},
	{"ipv4 flow", "'protocol':['=igmp','=egp','=rsvp','=ah','=ospf','=ipip','=pim','=icmp']",
		M125,
		LIMITED("[" PROTO("'icmp'") "," PROTO("2") "," PROTO("8") "," PROTO("46") "," PROTO(
			"51") "," PROTO("89") "," PROTO("94") "," PROTO("103") "]"),
		NULL},
	{"ipv4 flow", "'protocol':['=255']", M125, LIMITED(PROTO("255")), NULL},
	{"ipv4 flow", "'protocol':['=256']", M125, NULL, "it takes no protocol"},
	{"ipv4 flow", "'protocol':['=2147483647']", M125, NULL, "it takes no protocol"},
	{"ipv4 flow", "'protocol':['=2147483648']", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['=unknown protocol type 99x']", M125, NULL,
		"its protocol is not understood"},
	{"ipv4 flow", "'protocol':['=unknown protocol type']", M125, NULL,
		"its protocol is not understood"},
	{"ipv4 flow", "'protocol':['=quic']", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['=9x']", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['9']", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['true1']", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':[]", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':[9]", M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['true']", M125, LIMITED("{'dst':'0.0.0.0/0'}"), NULL},
	{"ipv4 flow", "'protocol':['false','=9']", M125, LIMITED(PROTO("9")), NULL},
	{"ipv4 flow", "'protocol':['<=9&!=0&!=6&>=5','>90&<92']", M125,
		LIMITED("[" PROTO("5") "," PROTO("7") "," PROTO("8") "," PROTO("9") "," PROTO(
			"91") "]"),
		NULL},
	/* A comparison may be of so many characters. */
	{"ipv4 flow",
		"'protocol':['=000000000000000000000000000000000000000000000000000000000000"
		"09']",
		M125, LIMITED(PROTO("9")), NULL},
	{"ipv4 flow",
		"'protocol':['=000000000000000000000000000000000000000000000000000000000000"
		"009']",
		M125, NULL, "its protocol is not understood"},
	{"ipv4 flow", "'protocol':['!=6']", M125, NULL, "a match has no protocol 0"},
	{"ipv4 flow", "'protocol':['>=1&<=65']", M125, NULL,
		"it is more matches than one policy is to have"},
	{"ipv4 flow",
		"'protocol':['=tcp','=udp'],'source-port':['=1','=3','=5','=7','=9'],"
		"'destination-port':['=1','=3','=5','=7','=9','=11','=13']",
		M125, NULL, "it is more matches"},
	{"ipv4 flow", "'protocol':['>=0']", M125, LIMITED("{'dst':'0.0.0.0/0'}"), NULL},
	{"ipv4 flow", "'protocol':['>=7&<7']", M125, NULL, "it takes no protocol"},

	/* Ports are those of TCP and UDP. */
	{"ipv4 flow",
		"'destination-ipv4':['192.0.2.7/32'],'protocol':['=udp'],"
		"'destination-port':['=53','>8080&<8088'],'string':'flow x'",
		M125,
		LIMITED("[{'dst':'192.0.2.7/32','proto':'udp','dst-port':53},"
			"{'dst':'192.0.2.7/32','proto':'udp','dst-port':'8081-8087'}]"),
		NULL},
	{"ipv4 flow", "'source-port':['=123']", M125,
		LIMITED("[{'dst':'0.0.0.0/0','proto':'tcp','src-port':123},"
			"{'dst':'0.0.0.0/0','proto':'udp','src-port':123}]"),
		NULL},
	{"ipv4 flow", "'protocol':['=tcp'],'port':['=80']", M125,
		LIMITED("[{'dst':'0.0.0.0/0','proto':'tcp','dst-port':80},"
			"{'dst':'0.0.0.0/0','proto':'tcp','src-port':80}]"),
		NULL},
	{"ipv4 flow", "'protocol':['=sctp','=udp'],'source-port':['=1'],'destination-port':['=2']",
		M125, LIMITED("{'dst':'0.0.0.0/0','proto':'udp','dst-port':2,'src-port':1}"), NULL},
	{"ipv4 flow", "'protocol':['=sctp'],'source-port':['=1']", M125, NULL,
		"it takes no protocol, and so no packet"},
	{"ipv4 flow", "'protocol':['=udp'],'source-port':['<1024']", M125, NULL,
		"a match has no port 0, which it takes: say >=1"},
	{"ipv4 flow", "'protocol':['=udp'],'source-port':['>=1&<1024']", M125,
		LIMITED("{'dst':'0.0.0.0/0','proto':'udp','src-port':'1-1023'}"), NULL},
	{"ipv4 flow", "'protocol':['=udp'],'source-port':['>65000']", M125,
		LIMITED("{'dst':'0.0.0.0/0','proto':'udp','src-port':'65001-65535'}"), NULL},
	{"ipv4 flow", "'port':['=80'],'source-port':['=1']", M125, NULL,
		"a match has no port of either beside that of one side"},
	{"ipv4 flow", "'port':['=80'],'destination-port':['=1']", M125, NULL,
		"a match has no port of either beside that of one side"},
	{"ipv4 flow", "'protocol':['=udp'],'destination-port':['<1024']", M125, NULL,
		"a match has no port 0, which it takes: say >=1"},
	{"ipv4 flow", "'protocol':['=udp'],'port':['<1024']", M125, NULL,
		"a match has no port 0, which it takes: say >=1"},
	{"ipv4 flow", "'protocol':['=udp'],'destination-port':['=65536']", M125, NULL,
		"it takes no port, and so no packet"},
	{"ipv4 flow", "'protocol':['=udp'],'port':['=65536']", M125, NULL,
		"it takes no port, and so no packet"},
	{"ipv4 flow", "'protocol':['=udp'],'source-port':['=65536']", M125, NULL,
		"it takes no port, and so no packet"},
	{"ipv4 flow", "'protocol':['=udp'],'source-port':['>=63&!=64&<=192','=1']", M125,
		LIMITED("[{'dst':'0.0.0.0/0','proto':'udp','src-port':1},"
			"{'dst':'0.0.0.0/0','proto':'udp','src-port':63},"
			"{'dst':'0.0.0.0/0','proto':'udp','src-port':'65-192'}]"),
		NULL},
	{"ipv4 flow", "'port':['=http']", M125, NULL, "its port is not understood"},

	/* DSCPs, and what a match cannot say. */
	{"ipv4 flow", "'dscp':['=46']", M125, LIMITED("{'dst':'0.0.0.0/0','dscp':46}"), NULL},
	{"ipv4 flow", "'dscp':['=0','=63']", M125,
		LIMITED("[{'dst':'0.0.0.0/0','dscp':0},{'dst':'0.0.0.0/0','dscp':63}]"), NULL},
	{"ipv4 flow", "'dscp':['=64']", M125, NULL, "it takes no DSCP, and so no packet"},
	{"ipv4 flow", "'dscp':['<64']", M125, LIMITED("{'dst':'0.0.0.0/0'}"), NULL},
	{"ipv6 flow", "'traffic-class':['=0']", M125, LIMITED("{'dst':'::/0','dscp':0}"), NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32'],'tcp-flags':['syn']", M125, NULL,
		"a match has no tcp-flags"},
	{"ipv4 flow", "'icmp-type':['=echo-request']", M125, NULL, "a match has no icmp-type"},
	{"ipv4 flow", "'packet-length':['>1000']", M125, NULL, "a match has no packet-length"},
	{"ipv4 flow", "'fragment':['is-fragment']", M125, NULL, "a match has no fragment"},
	{"ipv4 flow", "'rd':'1:1','protocol':['=udp']", M125, NULL, "a match has no rd"},

	/* Actions: bytes a second become bit/s. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("1000"),
		"{'limit':'8kbit/s','match':{'dst':'192.0.2.7/32'}}", NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("999"), NULL,
		"its rate of 7.992kbit/s is below 8kbit/s"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("50000000000"),
		"{'limit':'400Gbit/s','match':{'dst':'192.0.2.7/32'}}", NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("50000000001"), NULL,
		"its rate is above 400Gbit/s"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("1e999"), NULL, "above"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", DISCARD, PASSES_NONE, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("-5"), PASSES_NONE, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("250000") "," M125,
		LIMITED("{'dst':'192.0.2.7/32'}"), NULL},
	/* Less than a byte a second is nothing, and the least that is something is too little. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("0.99"), PASSES_NONE, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("1"), NULL,
		"its rate of 8bit/s is below 8kbit/s, the least"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", M125 "," RATE("250000"),
		LIMITED("{'dst':'192.0.2.7/32'}"), NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE(""), NULL,
		"its rate \"\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("nan"), NULL,
		"its rate \"nan\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("5k"), NULL,
		"its rate \"5k\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", RATE("much"), NULL,
		"its rate \"much\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9225905311645171722,'string':'mark 10'}",
		"{'limit':'8kbit/s','burst':'1B','action':'mark','mark':10,"
		"'match':{'dst':'192.0.2.7/32'}}",
		NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9225905311645171722,'string':'mark 64'}", NULL, "is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("1", "mark 63"),
		"{'limit':'8kbit/s','burst':'1B','action':'mark','mark':63,"
		"'match':{'dst':'192.0.2.7/32'}}",
		NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("1", "mark "), NULL,
		"its mark \"\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("1", "mark 1x"), NULL,
		"its mark \"1x\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		COMMUNITY("1", "mark 1") "," COMMUNITY("1", "mark 2"), NULL,
		"its mark \"2\" is not understood"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9225905311645171722,'string':'mark 10'}," M125, NULL,
		"no policy both marks and limits"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", "", COUNTED, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':562954248388615,'string':'target:64512:7'}," M125,
		LIMITED("{'dst':'192.0.2.7/32'}"), NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9225905157026349068,'string':'redirect:65500:12'}", NULL,
		"no policy does \"redirect:65500:12\""},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		M125 ",{'value':9225342361691750403,'string':'action sample-terminal'}", NULL,
		"no policy does \"action sample-terminal\""},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		COMMUNITY("9225342361691750400", "action "), COUNTED, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("1", "copy-to-nexthop"),
		NULL, "no policy does \"copy-to-nexthop\""},
	/* Types 0x80 to 0x82, and what has none. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("9151314442816847872", "n"),
		COUNTED, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("9223372036854775808", "n"),
		NULL, "its action \"n\" is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("9367487224930631680", "n"),
		NULL, "its action \"n\" is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("9439544818968559616", "n"),
		COUNTED, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("18446744073709551616", "n"),
		NULL, "its action \"n\" is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("0", "n"), NULL,
		"its action \"n\" is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("-1", "n"), NULL,
		"its action \"n\" is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", COMMUNITY("1", "n"), COUNTED, NULL},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", "{'value':1}", COUNTED, NULL},
	/* A traffic-rate in packets, which exabgp 4.2 knows not; and one without a number. */
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9226749736621326336,'string':''}", NULL, "is not known"},
	{"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", "{'string':'new'}", NULL,
		"its action \"new\" is not known"},
};

static char *quoted(const char *text)
{
	char *copy = strdup(text);

	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	return copy;
}

/* Takes a line with ' for "; what it says is added to `said`. */
static int take_line(struct flowspec *flowspec, const char *text, char **said)
{
	char *line = quoted(text);
	size_t size;
	FILE *say = open_memstream(said, &size);
	int ret = flowspec_line(flowspec, line, strlen(line), say);

	fclose(say);
	free(line);
	return ret;
}

static int take_quietly(struct flowspec *flowspec, const char *text)
{
	char *said;
	int ret = take_line(flowspec, text, &said);

	if (said[0])
		fail_msg("%s: %s", text, said);
	free(said);
	return ret;
}

static int take_rule(struct flowspec *flowspec, const struct rule_case *row, char **said)
{
	char *text = NULL;
	int ret;

	assert_true(asprintf(&text,
			    LINE("127.0.0.1", "'update':{'attribute':{'origin':'igp',"
					      "'extended-community':[%s]},'announce':{'%s':{"
					      "'no-nexthop':[{%s}]}}}"),
			    row->actions, row->family, row->rule) > 0);
	ret = take_line(flowspec, text, said);
	free(text);
	return ret;
}

static void check_policy(const struct flowspec *flowspec, const struct rule_case *row)
{
	json_t *policies = flowspec_policies(flowspec), *want = NULL;
	json_t *policy = json_array_get(policies, 0);
	const char *name = json_string_value(json_object_get(policy, "name"));
	char *text = row->want ? quoted(row->want) : NULL, *got;

	assert_int_equal(json_array_size(policies), row->want ? 1 : 0);
	if (row->want) {
		want = json_loads(text, 0, NULL);
		assert_non_null(want);
		if (strncmp(name, "flowspec-", 9) != 0 || strlen(name) > 63 ||
			strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789_.-") != strlen(name))
			fail_msg("%s: the name %s", row->rule, name);
		json_object_del(policy, "name");
		json_object_del(policy, "note");
		got = json_dumps(policy, JSON_COMPACT);
		if (!json_equal(policy, want))
			fail_msg("%s %s: got %s, expected %s", row->rule, row->actions, got,
				row->want);
		free(got);
	}
	free(text);
	json_decref(want);
	json_decref(policies);
}

static void each_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule_case *row = &rules[i];
		struct flowspec flowspec;
		char *said;
		int ret;

		assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
		ret = take_rule(&flowspec, row, &said);
		if (ret != (row->want != NULL) || (row->why ? !strstr(said, row->why) : said[0]))
			fail_msg("%s %s: %d, said %s", row->rule, row->actions, ret, said);
		check_policy(&flowspec, row);
		free(said);
		flowspec_free(&flowspec);
	}
}

/* One that takes a family has the rules of that one; both together have all. */
static void each_family(void **state)
{
	static const char *const families[] = {NULL, "ipv4", "ipv6"};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
			bool taken = !families[f] || strncmp(rules[i].family, families[f], 4) == 0;
			struct flowspec flowspec;
			json_t *policies;
			char *said;

			assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
			flowspec.family = families[f];
			assert_int_equal(take_rule(&flowspec, &rules[i], &said),
				taken && rules[i].want != NULL);
			assert_true(taken || said[0] == '\0');
			policies = flowspec_policies(&flowspec);
			assert_int_equal(json_array_size(policies), taken && rules[i].want != NULL);
			json_decref(policies);
			free(said);
			flowspec_free(&flowspec);
		}
	}
}

#define RULE "{'destination-ipv4':['192.0.2.7/32'],'protocol':['=udp'],'string':'flow x'}"
/* That, in another order and with other remarks. */
#define RULE_AGAIN "{'protocol':['=udp'],'next-hop':'x','destination-ipv4':['192.0.2.7/32']}"
#define GIVE(peer, rule, actions)                                          \
	LINE(peer, "'update':{'attribute':{'extended-community':[" actions \
		   "]},'announce':{'ipv4 flow':{'no-nexthop':[" rule "]}}}")
#define ANNOUNCE(peer, rule, rate) GIVE(peer, rule, RATE(rate))
#define WITHDRAW(peer, rule)       LINE(peer, "'update':{'withdraw':{'ipv4 flow':[" rule "]}}")
#define DOWN(peer)                 "{'type':'state'," PEER(peer) "'state':'down','reason':'x'}}"

/* The limits of all policies, "" if there are none. */
static void assert_limits(const struct flowspec *flowspec, const char *want)
{
	json_t *policies = flowspec_policies(flowspec), *policy;
	char got[256] = "";
	size_t i;

	json_array_foreach (policies, i, policy)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ",
			json_string_value(json_object_get(policy, "limit")));
	assert_string_equal(got, want);
	json_decref(policies);
}

struct step {
	const char *line;
	int changed;
	const char *limits;
};

static const struct step steps[] = {
	{ANNOUNCE("127.0.0.1", RULE, "125000"), 1, "1Mbit/s "},
	{ANNOUNCE("127.0.0.1", RULE, "125000"), 0, "1Mbit/s "},
	{ANNOUNCE("127.0.0.1", RULE, "250000"), 1, "2Mbit/s "},
	{WITHDRAW("127.0.0.9", RULE), 0, "2Mbit/s "},
	{WITHDRAW("127.0.0.1", RULE_AGAIN), 1, ""},
	{WITHDRAW("127.0.0.1", RULE), 0, ""},
	/* Two peers, and the least of what they say. */
	{ANNOUNCE("127.0.0.1", RULE, "250000"), 1, "2Mbit/s "},
	{ANNOUNCE("127.0.0.9", RULE_AGAIN, "125000"), 1, "1Mbit/s "},
	{DOWN("127.0.0.9"), 1, "2Mbit/s "},
	{DOWN("127.0.0.9"), 0, "2Mbit/s "},
	{ANNOUNCE("127.0.0.9", RULE, "500000"), 1, "2Mbit/s "},
	{DOWN("127.0.0.1"), 1, "4Mbit/s "},
	/* What marks all is less strict than a limit, and what only counts is, too. */
	{DOWN("127.0.0.9"), 1, ""},
	{GIVE("127.0.0.1", RULE, COMMUNITY("1", "mark 1")), 1, "8kbit/s "},
	{ANNOUNCE("127.0.0.9", RULE, "50000000000"), 1, "400Gbit/s "},
	{GIVE("127.0.0.1", RULE, ""), 1, "400Gbit/s "},
	{GIVE("127.0.0.9", RULE, DISCARD), 1, "8kbit/s "},
	{ANNOUNCE("127.0.0.1", RULE, "1000"), 1, "8kbit/s "},
	{DOWN("127.0.0.1"), 1, "8kbit/s "},
	/* Actions of communities that have room for an address of IPv6. */
	{LINE("127.0.0.9",
		 "'update':{'attribute':{'extended-community-ipv6':[" RATE(
			 "500000") "]},'announce':{'ipv4 flow':{'no-nexthop':[" RULE "]}}}"),
		1, "4Mbit/s "},
	/* Nothing that is of rules. */
	{"{'type':'state'," PEER("127.0.0.9") "'state':'connected'}}", 0, "4Mbit/s "},
	{"{'type':'notification','notification':'shutdown'}", 0, "4Mbit/s "},
	{LINE("127.0.0.9", "'update':{'announce':{'ipv4 unicast':{'192.0.2.1':[{'nlri':"
			   "'10.0.0.0/8'}]}}}"),
		0, "4Mbit/s "},
	/* One update with both; what is withdrawn first. */
	{LINE("127.0.0.9",
		 "'update':{'attribute':{'extended-community':[" M125 "]},'announce':"
		 "{'ipv4 flow':{'no-nexthop':[" RULE ",{'destination-ipv4':['192.0.2.8/32']}]}},"
		 "'withdraw':{'ipv4 flow':[" RULE "]}}"),
		1, "1Mbit/s 1Mbit/s "},
};

static void announced_and_withdrawn(void **state)
{
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		int ret = take_quietly(&flowspec, steps[i].line);

		if (ret != steps[i].changed)
			fail_msg("%s: %d", steps[i].line, ret);
		assert_limits(&flowspec, steps[i].limits);
	}
	flowspec_free(&flowspec);
}

#define EOR(peer, afi) LINE(peer, "'eor':{'afi' : '" afi "', 'safi' : 'flow'}")
#define RULE_V6        "{'destination-ipv6':['2001:db8::/32/0']}"
#define ANNOUNCE_V6(peer, rate)                                          \
	LINE(peer, "'update':{'attribute':{'extended-community':[" RATE( \
			   rate) "]},"                                   \
				 "'announce':{'ipv6 flow':{'no-nexthop':[" RULE_V6 "]}}}")

/* With `keep` what a session had stays, family by family, until the next has told all. */
static const struct step kept_steps[] = {
	{ANNOUNCE("127.0.0.1", RULE, "125000"), 1, "1Mbit/s "},
	{ANNOUNCE_V6("127.0.0.1", "250000"), 1, "1Mbit/s 2Mbit/s "},
	{DOWN("127.0.0.1"), 0, "1Mbit/s 2Mbit/s "},
	{DOWN("127.0.0.1"), 0, "1Mbit/s 2Mbit/s "},
	{EOR("127.0.0.9", "ipv4"), 0, "1Mbit/s 2Mbit/s "},
	{LINE("127.0.0.1", "'eor':{'safi' : 'flow'}"), 0, "1Mbit/s 2Mbit/s "},
	{LINE("127.0.0.1", "'eor':{'afi' : 'ipv4'}"), 0, "1Mbit/s 2Mbit/s "},
	{LINE("127.0.0.1", "'eor':{'afi' : 'ipv4', 'safi' : 'unicast'}"), 0, "1Mbit/s 2Mbit/s "},
	{EOR("127.0.0.1", "ipv4"), 1, "2Mbit/s "},
	{ANNOUNCE_V6("127.0.0.1", "500000"), 1, "2Mbit/s "},
	{EOR("127.0.0.1", "ipv6"), 1, "4Mbit/s "},
	{EOR("127.0.0.1", "ipv6"), 0, "4Mbit/s "},
};

static void kept_after_the_session(void **state)
{
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	flowspec.keep = true;
	for (size_t i = 0; i < sizeof(kept_steps) / sizeof(*kept_steps); i++) {
		int ret = take_quietly(&flowspec, kept_steps[i].line);

		if (ret != kept_steps[i].changed)
			fail_msg("%s: %d", kept_steps[i].line, ret);
		assert_limits(&flowspec, kept_steps[i].limits);
	}
	flowspec_free(&flowspec);
}

/* What replaces a rule and cannot be takes it away: the speaker does not mean it any more. */
static void refused_in_place_of_one(void **state)
{
	const struct rule_case marks = {
		"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']", M125, NULL, NULL};
	const struct rule_case leads = {"ipv4 flow", "'destination-ipv4':['192.0.2.7/32']",
		"{'value':9225905157026349068,'string':'redirect:65500:12'}", NULL, NULL};
	struct flowspec flowspec;
	char *said;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	assert_int_equal(take_rule(&flowspec, &marks, &said), 1);
	free(said);
	assert_limits(&flowspec, "1Mbit/s ");
	assert_int_equal(take_rule(&flowspec, &leads, &said), 1);
	assert_non_null(strstr(said, "refused: "));
	free(said);
	assert_limits(&flowspec, "");
	flowspec_free(&flowspec);
}

struct overlap_case {
	const char *first, *second;
	bool overlap;
};

#define AT(more) "'destination-ipv4':['192.0.2.7/32']" more

static const struct overlap_case overlaps[] = {
	{AT(""), AT(",'protocol':['=udp']"), true},
	{AT(",'protocol':['=tcp']"), AT(",'protocol':['=udp']"), false},
	{AT(",'protocol':['=tcp','=udp']"), AT(",'protocol':['=udp','=gre']"), true},
	{AT(",'protocol':['=udp']"), AT(",'dscp':['=46']"), true},
	{AT(",'dscp':['=45']"), AT(",'dscp':['=46']"), false},
	{AT(",'dscp':['=45','=46']"), AT(",'dscp':['=46']"), true},
	{AT(",'destination-port':['=53']"), AT(",'destination-port':['>=54']"), false},
	{AT(",'destination-port':['>=54']"), AT(",'destination-port':['=53']"), false},
	{AT(",'destination-port':['>=53&<=60']"), AT(",'destination-port':['=60']"), true},
	{AT(",'destination-port':['>=53&<=60']"), AT(",'destination-port':['=61']"), false},
	{AT(",'protocol':['=udp'],'destination-port':['=65535']"), AT(",'protocol':['=udp']"),
		true},
	{AT(",'protocol':['=udp'],'destination-port':['=1']"), AT(",'protocol':['=udp']"), true},
	{AT(",'destination-port':['=53']"), AT(",'destination-port':['>=54&<=60']"), false},
	{AT(",'destination-port':['=53']"), AT(",'destination-port':['>=53&<=60']"), true},
	{AT(",'destination-port':['>=40&<=60']"), AT(",'destination-port':['>=53&<=70']"), true},
	{AT(",'destination-port':['=53']"), AT(",'source-port':['=53']"), true},
	{AT(",'source-port':['=53']"), AT(",'source-port':['=54']"), false},
	/* The longer prefix goes first with both, whatever else there is. */
	{AT(""), "'destination-ipv4':['192.0.2.0/24'],'protocol':['=udp']", false},
	{AT(""), AT(",'source-ipv4':['192.0.2.0/24']"), false},
};

static void each_overlap(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(overlaps) / sizeof(*overlaps); i++) {
		const struct rule_case first = {"ipv4 flow", overlaps[i].first, M125, NULL, NULL};
		const struct rule_case second = {"ipv4 flow", overlaps[i].second, M125, NULL, NULL};
		struct flowspec flowspec;
		char *said;

		assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
		assert_int_equal(take_rule(&flowspec, &first, &said), 1);
		assert_string_equal(said, "");
		free(said);
		assert_int_equal(take_rule(&flowspec, &second, &said), 1);
		if ((said[0] != '\0') != overlaps[i].overlap)
			fail_msg("%s, %s: said %s", first.rule, second.rule, said);
		free(said);
		/* It is said once; and not of one that is gone. */
		assert_int_equal(take_rule(&flowspec, &second, &said), 0);
		assert_string_equal(said, "");
		free(said);
		assert_int_equal(take_quietly(&flowspec, DOWN("127.0.0.1")), 1);
		assert_int_equal(take_rule(&flowspec, &second, &said), 1);
		assert_string_equal(said, "");
		free(said);
		flowspec_free(&flowspec);
	}
}

/* What is said to people, to its last word: of two rules, of one that cannot be, and of no line. */
static void what_is_said(void **state)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{GIVE("127.0.0.1", "{'destination-ipv4':['192.0.2.7/32'],'string':'flow a'}", M125),
			""},
		{GIVE("127.0.0.1",
			 "{'destination-ipv4':['192.0.2.7/32'],'dscp':['=1'],"
			 "'string':'flow b'}",
			 M125),
			"weirctl: flow b and flow a may take the same packets: what is more "
			"specific goes first, and not what RFC 8955 puts first\n"},
		{GIVE("127.0.0.1", "{'rd':'1:1','string':'flow c'}", M125),
			"weirctl: refused: flow c, of 127.0.0.1: a match has no rd; it limits "
			"nothing\n"},
		{GIVE("127.0.0.1", "{'rd':'1:1'}", M125),
			"weirctl: refused: {\"rd\":\"1:1\"}, of 127.0.0.1: a match has no rd; it "
			"limits nothing\n"},
		{"123456789012345678901234567890123456789012345678901234567890",
			"weirctl: not a line of exabgp's JSON, or of GoBGP's: \"12345678901234567890"
			"1234567890123456789012345678901234567890\"\n"},
		{"1234567890123456789012345678901234567890123456789012345678901",
			"weirctl: not a line of exabgp's JSON, or of GoBGP's: \"12345678901234567890"
			"1234567890123456789012345678901234567890\"\n"},
		{"", "weirctl: not a line of exabgp's JSON, or of GoBGP's: \"\"\n"},
	};
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *said;

		take_line(&flowspec, rows[i].line, &said);
		assert_string_equal(said, rows[i].said);
		free(said);
	}
	flowspec_free(&flowspec);
}

/* A note is what the speaker calls a rule, so much of it, or the rule itself; and whose it is. */
static void notes_of_rules(void **state)
{
	static const char called[] = "{'destination-ipv4':['192.0.2.7/32'],'string':'%0*d'}";
	static const int lengths[] = {1, 199, 200, 201, 300};
	struct flowspec flowspec;

	(void)state;
	for (size_t i = 0; i <= sizeof(lengths) / sizeof(*lengths); i++) {
		bool known = i < sizeof(lengths) / sizeof(*lengths);
		char *line = NULL, *rule = NULL;
		json_t *policies, *note;

		assert_true(asprintf(&rule, called, known ? lengths[i] : 1, 0) > 0);
		assert_true(asprintf(&line, GIVE("127.0.0.1", "%s", M125),
				    known ? rule : "{'destination-ipv4':['192.0.2.7/32']}") > 0);
		assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
		assert_int_equal(take_quietly(&flowspec, line), 1);
		policies = flowspec_policies(&flowspec);
		note = json_object_get(json_array_get(policies, 0), "note");
		assert_int_equal(json_array_size(note), 2);
		assert_string_equal(json_string_value(json_array_get(note, 1)), "of 127.0.0.1");
		note = json_array_get(note, 0);
		if (known)
			assert_int_equal(
				json_string_length(note), lengths[i] < 200 ? lengths[i] : 200);
		else
			assert_string_equal(json_string_value(note),
				"{\"destination-ipv4\":[\"192.0.2.7/32\"]}");
		json_decref(policies);
		flowspec_free(&flowspec);
		free(line);
		free(rule);
	}
}

/* What a name begins with; behind it are a hyphen and 16 digits. */
static void names_of_rules(void **state)
{
	static const struct {
		const char *prefix, *rule, *begins;
	} rows[] = {
		{"fs-", "{'destination-ipv4':['192.0.2.7/32'],'source-ipv4':['10.0.0.0/8']}",
			"fs-192.0.2.7_32"},
		{"fs-", "{'source-ipv4':['10.0.0.0/8']}", "fs-10.0.0.0_8"},
		{"fs-", "{'protocol':['=udp']}", "fs-any"},
		{"f s-", "{'destination-ipv4':['192.0.2.255/32']}", "f_s-192.0.2.255_32"},
		{"123456789012345678901234567890x", "{'destination-ipv4':['192.168.155.255/32']}",
			"123456789012345678901234567890192.168.155.255_"},
	};
	struct flowspec flowspec;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *name, *digits;
		char *line = NULL;

		assert_int_equal(flowspec_init(&flowspec, rows[i].prefix), 0);
		assert_true(asprintf(&line, GIVE("127.0.0.1", "%s", M125), rows[i].rule) > 0);
		assert_int_equal(take_quietly(&flowspec, line), 1);
		free(line);
		name = json_object_iter_key(
			json_object_iter(json_object_get(flowspec.told, "127.0.0.1")));
		digits = name + strlen(rows[i].begins);
		if (strncmp(name, rows[i].begins, strlen(rows[i].begins)) != 0 ||
			digits[0] != '-' || strspn(digits + 1, "0123456789abcdef") != 16 ||
			digits[17] != '\0')
			fail_msg("%s: %s", rows[i].begins, name);
		flowspec_free(&flowspec);
	}
}

#define PATH(nlri, communities, afi, more)                                                \
	"[{'nlri':{'value':[" nlri "]},'age':1,'attrs':[{'type':1,'value':2},{'type':16," \
	"'value':[" communities "]},{'type':14,'afi':" afi ",'safi':133,'value':[]}],"    \
	"'stale':false" more "}]"
#define DST(prefix) "{'type':1,'value':{'prefix':'" prefix "'}}"
#define UDP         ",{'type':3,'value':[{'op':129,'value':17}]}"
#define RATED       "{'type':128,'subtype':6,'as':0,'rate':125000}"

#define FROM_PORT(ports) "{'dst':'192.0.2.8/32','proto':'udp','src-port':" ports "}"
/* A component of this type, which a match cannot have. */
#define PATH_WITHOUT(type) PATH("{'type':" type ",'value':[{'op':1,'value':2}]}", RATED, "1", "")

struct path_case {
	const char *line, *want, *why;
};

/* As GoBGP 3.10 writes them. */
static const struct path_case paths[] = {
	{PATH(DST("192.0.2.7/32") ",{'type':3,'value':[{'op':129,'value':17}]},{'type':5,'value':["
				  "{'op':1,'value':53},{'op':18,'value':8080},"
				  "{'op':212,'value':8088}]}",
		 RATED, "1", ""),
		LIMITED("[{'dst':'192.0.2.7/32','proto':'udp','dst-port':53},"
			"{'dst':'192.0.2.7/32','proto':'udp','dst-port':'8081-8087'}]"),
		NULL},
	{PATH("{'type':1,'value':{'prefix':'2001:db8::/32'},'offset':0}", RATED, "2", ""),
		LIMITED("{'dst':'2001:db8::/32'}"), NULL},
	{PATH("{'type':1,'value':{'prefix':'2001:db8::/32'},'offset':8}", RATED, "2", ""), NULL,
		"its destination-ipv6 is not understood"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':0}", "1", ""),
		"{'limit':'8kbit/s','burst':'1B','match':{'dst':'192.0.2.8/32'}}", NULL},
	/* A rate that is no number is not nothing, which would take all packets. */
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0}", "1", ""), NULL,
		"its rate \"\" is not understood; it limits nothing"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':null}", "1", ""), NULL,
		"its rate \"null\" is not understood; it limits nothing"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':'0'}", "1", ""), NULL,
		"its rate \"\"0\"\" is not understood; it limits nothing"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':true}", "1", ""), NULL,
		"its rate \"true\" is not understood; it limits nothing"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':[1]}", "1", ""), NULL,
		"its rate \"[1.0]\" is not understood; it limits nothing"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':6,'as':0,'rate':-1}", "1", ""),
		"{'limit':'8kbit/s','burst':'1B','match':{'dst':'192.0.2.8/32'}}", NULL},
	{PATH(DST("192.0.2.8/32"),
		 "{'type':128,'subtype':6,'as':0},{'type':128,'subtype':6,'rate':9e9}", "1", ""),
		NULL, "its rate \"\" is not understood"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':9,'value':10}", "1", ""),
		"{'limit':'8kbit/s','burst':'1B','action':'mark','mark':10,"
		"'match':{'dst':'192.0.2.8/32'}}",
		NULL},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':7,'terminal':true,'sample':false}", "1",
		 ""),
		NULL, "no policy does \"action terminal\""},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':8,'value':'64512:7'}", "1", ""), NULL,
		"no policy does \"redirect\""},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':12,'value':7}," RATED, "1", ""), NULL,
		"its action \"0x800c\" is not known"},
	{PATH(DST("192.0.2.8/32"), "{'type':0,'subtype':2,'value':'64512:7'}," RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32'}"), NULL},
	{PATH(DST("192.0.2.8/32") ",{'type':9,'value':[{'op':128,'value':2}]}", RATED, "1", ""),
		NULL, "a match has no tcp-flags"},
	{PATH(DST("192.0.2.8/32") ",{'type':99,'value':[]}", RATED, "1", ""), NULL,
		"a match has no component 0"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':7,'terminal':true,'sample':true}", "1",
		 ""),
		NULL, "no policy does \"action sample-terminal\""},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':7,'sample':true}", "1", ""), NULL,
		"no policy does \"action sample\""},
	/* Neither of its bits is nothing to do. */
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':7}," RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32'}"), NULL},
	{PATH(DST("192.0.2.8/32"), "{'type':129,'subtype':8}", "1", ""), NULL,
		"no policy does \"redirect\""},
	{PATH(DST("192.0.2.8/32"), "{'type':130,'subtype':8}", "1", ""), NULL,
		"no policy does \"redirect\""},
	{PATH(DST("192.0.2.8/32"), "{'type':131,'subtype':8}," RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32'}"), NULL},
	{PATH(DST("192.0.2.8/32"), "{'type':127,'subtype':8}," RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32'}"), NULL},
	{PATH(DST("192.0.2.8/32"), "{'type':129,'subtype':6,'rate':1000}", "1", ""), NULL,
		"its action \"0x8106\" is not known"},
	/* Each operator; "and" of the first of all has nothing before it. */
	{PATH(DST("192.0.2.8/32") UDP ",{'type':6,'value':[{'op':65,'value':5},{'op':2,'value':10},"
				      "{'op':68,'value':20},{'op':3,'value':30},"
				      "{'op':69,'value':40},{'op':3,'value':50},"
				      "{'op':69,'value':52},{'op':70,'value':51}]}",
		 RATED, "1", ""),
		LIMITED("[" FROM_PORT("5") "," FROM_PORT("'11-19'") "," FROM_PORT(
			"'30-40'") "," FROM_PORT("50") "," FROM_PORT("52") "]"),
		NULL},
	{PATH(DST("192.0.2.8/32") ",{'type':3,'value':[{'op':7}]}", RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32'}"), NULL},
	{PATH(DST("192.0.2.8/32") ",{'type':3,'value':[{'op':0}]}", RATED, "1", ""), NULL,
		"it takes no protocol"},
	{PATH(DST("192.0.2.8/32") ",{'type':2,'value':{'prefix':'10.0.0.0/8'}},"
				  "{'type':11,'value':[{'op':1,'value':46}]}",
		 RATED, "1", ""),
		LIMITED("{'dst':'192.0.2.8/32','src':'10.0.0.0/8','dscp':46}"), NULL},
	{PATH("{'type':2,'value':{'prefix':'2001:db8::/32'},'offset':0},"
	      "{'type':3,'value':[{'op':1,'value':17}]},{'type':11,'value':[{'op':1,'value':46}]}",
		 RATED, "2", ""),
		LIMITED("{'src':'2001:db8::/32','proto':'udp','dscp':46}"), NULL},
	{PATH(DST("192.0.2.8/32") ",{'type':3,'value':[{'op':1,'value':6}]},"
				  "{'type':4,'value':[{'op':1,'value':80}]}",
		 RATED, "1", ""),
		LIMITED("[{'dst':'192.0.2.8/32','proto':'tcp','dst-port':80},"
			"{'dst':'192.0.2.8/32','proto':'tcp','src-port':80}]"),
		NULL},
	{PATH("{'type':1,'value':{}}", RATED, "1", ""), NULL,
		"its destination-ipv4 is not understood"},
	{PATH_WITHOUT("7"), NULL, "a match has no icmp-type"},
	{PATH_WITHOUT("8"), NULL, "a match has no icmp-code"},
	{PATH_WITHOUT("10"), NULL, "a match has no packet-length"},
	{PATH_WITHOUT("12"), NULL, "a match has no fragment"},
	{PATH_WITHOUT("13"), NULL, "a match has no flow-label"},
	{PATH_WITHOUT("14"), NULL, "a match has no component 0"},
	{PATH_WITHOUT("0"), NULL, "a match has no component 0"},
	{PATH_WITHOUT("-1"), NULL, "a match has no component 0"},
	/* What is no whole number, or none of any component. */
	{PATH(DST("192.0.2.8/32") UDP ",{'type':5,'value':[{'op':129,'value':46888888888888888888"
				      "888888}]}",
		 RATED, "1", ""),
		NULL, "its destination-port"},
	{PATH(DST("192.0.2.8/32") UDP ",{'type':5,'value':[{'op':129,'value':80.5}]}", RATED, "1",
		 ""),
		NULL, "its destination-port"},
	{PATH(DST("192.0.2.8/32") UDP ",{'type':5,'value':[{'op':1e40,'value':80}]}", RATED, "1",
		 ""),
		NULL, "it takes no port"},
	{PATH(DST("192.0.2.8/32"), "{'type':128,'subtype':9,'value':1e40}", "1", ""), NULL,
		"its mark"},
	{"[{'nlri':{'prefix':'10.0.0.0/8'},'attrs':[{'type':14,'afi':1,'safi':1}]}]", NULL, ""},
};

static void each_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct rule_case row = {
			.rule = paths[i].line, .actions = "", .want = paths[i].want};
		struct flowspec flowspec;
		char *said;
		int ret;

		assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
		ret = take_line(&flowspec, paths[i].line, &said);
		if (ret != (row.want != NULL) ||
			(paths[i].why ? !strstr(said, paths[i].why) : said[0]))
			fail_msg("%s: %d, said %s", paths[i].line, ret, said);
		check_policy(&flowspec, &row);
		free(said);
		flowspec_free(&flowspec);
	}
}

/* A rule has one name, whoever writes it; and GoBGP takes it back. */
static void either_speaker(void **state)
{
	struct flowspec flowspec;
	json_t *policies;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	assert_int_equal(take_quietly(&flowspec, ANNOUNCE("127.0.0.1", RULE, "250000")), 1);
	assert_int_equal(take_quietly(&flowspec, PATH(DST("192.0.2.7/32") UDP, RATED, "1", "")), 1);
	policies = flowspec_policies(&flowspec);
	assert_int_equal(json_array_size(policies), 1);
	json_decref(policies);
	assert_limits(&flowspec, "1Mbit/s ");
	assert_int_equal(take_quietly(&flowspec,
				 PATH(DST("192.0.2.7/32") UDP, RATED, "1", ",'withdrawal':true")),
		1);
	assert_limits(&flowspec, "2Mbit/s ");
	assert_int_equal(take_quietly(&flowspec, PATH(DST("192.0.2.7/32") UDP, RATED, "1", "")), 1);
	assert_limits(&flowspec, "1Mbit/s ");
	assert_int_equal(take_quietly(&flowspec, "[{'nlri':{'value':[" DST("192.0.2.7/32") UDP
				 "]},'attrs':["
				 "{'type':15,'afi':1,'safi':133}],'withdrawal':true}]"),
		1);
	assert_limits(&flowspec, "2Mbit/s ");
	flowspec_free(&flowspec);
}

static void as_many_as_there_may_be(void **state)
{
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	for (unsigned i = 0; i <= FLOWSPEC_RULES_MOST; i++) {
		struct rule_case row = {.family = "ipv4 flow", .actions = M125};
		char text[64], *said;
		int ret;

		snprintf(text, sizeof(text), "'destination-ipv4':['10.0.%u.%u/32']", i >> 8,
			i & 255);
		row.rule = text;
		ret = take_rule(&flowspec, &row, &said);
		assert_int_equal(ret, i < FLOWSPEC_RULES_MOST);
		assert_int_equal(strstr(said, "10000 rules already") == NULL, ret);
		free(said);
	}
	flowspec_free(&flowspec);
}

/* A port of either side is two matches, of which a policy has as many as of any others. */
static void as_many_sides_as_there_may_be(void **state)
{
	(void)state;
	for (unsigned n = FLOWSPEC_MATCHES_MOST / 2; n <= FLOWSPEC_MATCHES_MOST / 2 + 1; n++) {
		struct rule_case row = {.family = "ipv4 flow", .actions = M125};
		struct flowspec flowspec;
		char text[1024], *said;
		int ret, len;

		len = snprintf(text, sizeof(text),
			"'destination-ipv4':['192.0.2.7/32'],'protocol':['=udp'],'port':[");
		for (unsigned i = 0; i < n; i++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s'=%u'",
				i > 0 ? "," : "", 1 + 2 * i);
		snprintf(text + len, sizeof(text) - (size_t)len, "]");
		row.rule = text;
		assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
		ret = take_rule(&flowspec, &row, &said);
		assert_int_equal(ret, n == FLOWSPEC_MATCHES_MOST / 2);
		assert_int_equal(strstr(said, "it is more matches than one policy") == NULL, ret);
		free(said);
		flowspec_free(&flowspec);
	}
}

static void no_lines(void **state)
{
	static const char *const lines[] = {"x", "7", "{", "{'neighbor':{'state':'down'}}",
		"{'neighbor':{'address':{'peer':7},'message':{}}}"};
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char *said;

		assert_int_equal(take_line(&flowspec, lines[i], &said), -EINVAL);
		assert_non_null(strstr(said, "not a line of exabgp's JSON"));
		free(said);
	}
	flowspec_free(&flowspec);
}

/* Whether a peer has told all of a family. */
static bool has_told(const struct flowspec *flowspec, const char *peer, const char *family)
{
	return json_object_get(json_object_get(flowspec->told, peer), family) != NULL;
}

/* One peer has told all of what is its own; GoBGP has none beside it. */
static void all_is_told(void **state)
{
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	take_quietly(&flowspec, LINE("127.0.0.1", "'eor':{'afi' : 'ipv4', 'safi' : 'unicast'}"));
	take_quietly(&flowspec, LINE("127.0.0.1", "'eor':{'safi' : 'flow'}"));
	take_quietly(&flowspec, "[{'attrs':[{'type':14,'afi':1,'safi':1}]}]");
	assert_false(flowspec.told_more);
	take_quietly(&flowspec, EOR("127.0.0.1", "ipv4"));
	assert_false(flowspec.complete);
	assert_true(flowspec.told_more);
	assert_true(has_told(&flowspec, "127.0.0.1", "ipv4"));
	assert_false(has_told(&flowspec, "127.0.0.1", "ipv6"));
	assert_false(has_told(&flowspec, "127.0.0.9", "ipv4"));
	/* What it says of that family later is known without being noted. */
	flowspec.told_more = false;
	take_quietly(&flowspec, ANNOUNCE("127.0.0.1", RULE, "125000"));
	assert_false(flowspec.told_more);
	take_quietly(&flowspec, ANNOUNCE_V6("127.0.0.1", "125000"));
	assert_true(flowspec.told_more);
	flowspec_free(&flowspec);
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	assert_int_equal(take_quietly(&flowspec, "[]"), 0);
	assert_false(flowspec.complete);
	assert_int_equal(take_quietly(&flowspec, PATH(DST("192.0.2.7/32") UDP, RATED, "1", "")), 1);
	assert_true(flowspec.complete);
	flowspec_free(&flowspec);
}

static size_t count_told(const struct flowspec *flowspec, const char *peer)
{
	return json_object_size(json_object_get(flowspec->told, peer));
}

/* What a speaker has said of a rule, also of one that was there before it. */
static void what_was_told(void **state)
{
	static const struct {
		const char *line;
		size_t told;
	} refused[] = {
		{GIVE("127.0.0.1", "{'fragment':['first'],'string':'a'}", M125), 2},
		{GIVE("127.0.0.1", "{'string':'b','fragment':['first']}", M125), 2},
		{GIVE("127.0.0.1", "{'fragment':['last'],'string':'a'}", M125), 3},
		{LINE("127.0.0.1", "'update':{'announce':{'ipv6 flow':{'no-nexthop':["
				   "{'fragment':['last']}]}}}"),
			4},
	};
	struct flowspec flowspec;
	json_t *policies;
	const char *name;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	take_quietly(&flowspec, WITHDRAW("127.0.0.1", RULE));
	assert_int_equal(count_told(&flowspec, "127.0.0.1"), 1);
	take_quietly(&flowspec, ANNOUNCE("127.0.0.1", RULE_AGAIN, "125000"));
	assert_int_equal(count_told(&flowspec, "127.0.0.1"), 1);
	assert_int_equal(count_told(&flowspec, "127.0.0.9"), 0);
	/* A rule that no match can be has its own name, in its own family, too. */
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		char *said;

		assert_int_equal(take_line(&flowspec, refused[i].line, &said), 0);
		free(said);
		assert_int_equal(count_told(&flowspec, "127.0.0.1"), refused[i].told);
	}
	flowspec_free(&flowspec);
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	take_quietly(&flowspec, ANNOUNCE("127.0.0.1", RULE, "125000"));
	policies = flowspec_policies(&flowspec);
	name = json_string_value(json_object_get(json_array_get(policies, 0), "name"));
	assert_non_null(json_object_get(json_object_get(flowspec.told, "127.0.0.1"), name));
	json_decref(policies);
	flowspec_free(&flowspec);
}

/* A peer's own, another's, both of theirs, and one of which nobody says whose it is. */
#define FORMER_A \
	"{'name':'fs-a','match':{'dst':'192.0.2.1/32'},'limit':'1Mbit/s','note':['a','of A']}"
#define FORMER_B \
	"{'name':'fs-b','match':{'dst':'192.0.2.2/32'},'limit':'1Mbit/s','note':['b','of B']}"
#define FORMER_BOTH \
	"{'name':'fs-c','match':{'dst':'192.0.2.3/32'},'limit':'1Mbit/s','note':['c','of A','of B']}"
#define FORMER_NOBODY \
	"{'name':'fs-d','match':{'dst':'192.0.2.4/32'},'limit':'1Mbit/s','note':'of B'}"
#define FORMER_V6 \
	"{'name':'fs-e','match':[{'dst':'::/0','dscp':1},{'dst':'::/0','dscp':2}],'limit':'1Mbit/s','note':['e','of A']}"
#define OTHERS "{'name':'own','match':{'dst':'10.0.0.0/8'},'limit':'1Mbit/s','note':['x','of A']}"
#define RUNNING \
	"[" FORMER_A "," FORMER_B "," FORMER_BOTH "," FORMER_NOBODY "," FORMER_V6 "," OTHERS "]"
/* A rule of both peers, which either may announce anew. */
#define SHARED(limit, note) \
	"[{'name':'fs-c','match':{'dst':'192.0.2.3/32'}," limit ",'note':['c'," note "]}]"

struct former_case {
	const char *told, *running, *wanted;
	const char *want; /* what the limiter is to have */
	size_t left;
};

static const struct former_case formers[] = {
	/* Nobody has told anything: all of the prefix stays. */
	{"{}", RUNNING, "[]",
		"[" FORMER_A "," FORMER_B "," FORMER_BOTH "," FORMER_NOBODY "," FORMER_V6 "]", 5},
	/* One has told all of a family: what is its alone goes, of that family. */
	{"{'A':{'ipv4':true}}", RUNNING, "[]",
		"[" FORMER_B "," FORMER_BOTH "," FORMER_NOBODY "," FORMER_V6 "]", 4},
	{"{'A':{'ipv6':true}}", RUNNING, "[]",
		"[" FORMER_A "," FORMER_B "," FORMER_BOTH "," FORMER_NOBODY "]", 4},
	{"{'A':{'ipv4':true},'B':{'ipv4':true}}", RUNNING, "[]",
		"[" FORMER_NOBODY "," FORMER_V6 "]", 2},
	/* One has withdrawn what another has, too. */
	{"{'A':{'fs-a':true,'fs-b':true,'fs-c':true}}", RUNNING, "[]",
		"[" FORMER_B "," FORMER_BOTH "," FORMER_NOBODY "," FORMER_V6 "]", 4},
	{"{'A':{'fs-c':true},'B':{'fs-c':true}}", "[" FORMER_BOTH "]", "[]", "[]", 0},
	/* What is nobody's goes as soon as anybody tells of it. */
	{"{'C':{'fs-d':true}}", "[" FORMER_NOBODY "]", "[]", "[]", 0},
	/* What is announced anew is still the other one's, too, and so the least holds. */
	{"{'A':{'fs-c':true}}", "[" FORMER_BOTH "]", SHARED("'limit':'2Mbit/s'", "'of A'"),
		SHARED("'limit':'1Mbit/s'", "'of A','of B'"), 1},
	{"{'A':{'fs-c':true}}", "[" FORMER_BOTH "]", SHARED("'limit':'500kbit/s'", "'of A'"),
		SHARED("'limit':'500kbit/s'", "'of A','of B'"), 1},
	{"{'A':{'fs-c':true}}", "[" FORMER_BOTH "]",
		SHARED("'limit':'400Gbit/s','action':'count'", "'of A'"),
		SHARED("'limit':'1Mbit/s'", "'of A','of B'"), 1},
	{"{'A':{'fs-c':true}}", SHARED("'limit':'8kbit/s','burst':'1B'", "'of B'"),
		SHARED("'limit':'8kbit/s'", "'of A'"),
		SHARED("'limit':'8kbit/s','burst':'1B'", "'of A','of B'"), 1},
	{"{'A':{'fs-c':true},'B':{'fs-c':true}}", "[" FORMER_BOTH "]",
		SHARED("'limit':'2Mbit/s'", "'of A'"), SHARED("'limit':'2Mbit/s'", "'of A'"), 0},
	{"{'A':{'fs-c':true},'B':{'fs-c':true}}", "[" FORMER_BOTH "]",
		SHARED("'limit':'2Mbit/s'", "'of A','of B'"),
		SHARED("'limit':'2Mbit/s'", "'of A','of B'"), 0},
};

static json_t *loads_quoted(const char *text)
{
	char *copy = quoted(text);
	json_t *json = json_loads(copy, 0, NULL);

	if (!json)
		fail_msg("no JSON: %s", text);
	free(copy);
	return json;
}

static void each_former(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(formers) / sizeof(*formers); i++) {
		const struct former_case *row = &formers[i];
		json_t *told = loads_quoted(row->told), *running = loads_quoted(row->running);
		json_t *policies = loads_quoted(row->wanted), *want = loads_quoted(row->want);
		size_t left;
		char *got;

		assert_int_equal(flowspec_keep_former(policies, told, running, "fs-", &left), 0);
		got = json_dumps(policies, JSON_COMPACT);
		if (!json_equal(policies, want) || left != row->left)
			fail_msg("%s, %s: %zu left, got %s, expected %s", row->told, row->wanted,
				left, got, row->want);
		free(got);
		json_decref(told);
		json_decref(running);
		json_decref(policies);
		json_decref(want);
	}
}

/* What a process that was killed had of two peers, and what one of them says to the next. */
static void another_process(void **state)
{
	static const struct {
		const char *line;
		bool keep;
		size_t stay;
	} rows[] = {
		{EOR("127.0.0.1", "ipv4"), false, 1},
		{EOR("127.0.0.9", "ipv4"), false, 1},
		{EOR("127.0.0.1", "ipv6"), false, 2},
		{WITHDRAW("127.0.0.1", RULE), false, 1},
		{WITHDRAW("127.0.0.9", RULE), false, 2},
		{DOWN("127.0.0.1"), false, 1},
		{DOWN("127.0.0.1"), true, 2},
		{DOWN("127.0.0.7"), false, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flowspec first, next;
		json_t *running, *wanted;
		size_t left;

		assert_int_equal(flowspec_init(&first, "flowspec-"), 0);
		take_quietly(&first, ANNOUNCE("127.0.0.1", RULE, "125000"));
		take_quietly(&first,
			ANNOUNCE("127.0.0.9", "{'destination-ipv4':['192.0.2.8/32']}", "125000"));
		running = flowspec_policies(&first);
		assert_int_equal(flowspec_init(&next, "flowspec-"), 0);
		next.keep = rows[i].keep;
		take_quietly(&next, rows[i].line);
		wanted = flowspec_policies(&next);
		assert_int_equal(
			flowspec_keep_former(wanted, next.told, running, "flowspec-", &left), 0);
		if (json_array_size(wanted) != rows[i].stay || left != rows[i].stay)
			fail_msg("%s: %zu stay", rows[i].line, json_array_size(wanted));
		json_decref(wanted);
		json_decref(running);
		flowspec_free(&next);
		flowspec_free(&first);
	}
}

/* All whose a rule is, each once, in an order that a session's end does not change. */
static void peers_of_rules(void **state)
{
	static const struct {
		const char *line, *note;
	} rows[] = {
		{ANNOUNCE("127.0.0.9", RULE, "125000"), "['flow x','of 127.0.0.9']"},
		{ANNOUNCE("127.0.0.1", RULE, "250000"), "['flow x','of 127.0.0.1','of 127.0.0.9']"},
		{DOWN("127.0.0.9"), "['flow x','of 127.0.0.1','of 127.0.0.9']"},
		{ANNOUNCE("127.0.0.9", RULE, "125000"), "['flow x','of 127.0.0.1','of 127.0.0.9']"},
		{EOR("127.0.0.9", "ipv4"), "['flow x','of 127.0.0.1','of 127.0.0.9']"},
		{WITHDRAW("127.0.0.9", RULE), "['flow x','of 127.0.0.1']"},
	};
	struct flowspec flowspec;

	(void)state;
	assert_int_equal(flowspec_init(&flowspec, "flowspec-"), 0);
	flowspec.keep = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *policies, *want = loads_quoted(rows[i].note);

		take_quietly(&flowspec, rows[i].line);
		policies = flowspec_policies(&flowspec);
		assert_int_equal(json_array_size(policies), 1);
		if (!json_equal(json_object_get(json_array_get(policies, 0), "note"), want))
			fail_msg("%s: not %s", rows[i].line, rows[i].note);
		json_decref(policies);
		json_decref(want);
	}
	flowspec_free(&flowspec);
}

static bool compares(const char *operator, unsigned a, unsigned b)
{
	bool equal = strchr(operator, '=') && operator[0] != '!' && a == b;

	return equal || (strchr("<!", operator[0]) && a < b) ||
	       (strchr(">!", operator[0]) && a > b);
}

/* Each comparison with each number, whichever word of the set it ends in, takes what it says. */
static void each_comparison(void **state)
{
	static const char *const operators[] = {"<", "<=", "=", "!=", ">=", ">"};
	static struct number_set set;

	(void)state;
	for (unsigned number = 0; number < 257; number++)
		for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
			json_t *list = json_pack("[o]", json_sprintf("%s%u", operators[i], number));

			assert_int_equal(number_set_read(&set, 256, list, NULL), 0);
			for (unsigned a = 0; a < 256; a++)
				if (number_set_has(&set, a) != compares(operators[i], a, number))
					fail_msg("%u %s %u", a, operators[i], number);
			json_decref(list);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule),
		cmocka_unit_test(each_family),
		cmocka_unit_test(announced_and_withdrawn),
		cmocka_unit_test(kept_after_the_session),
		cmocka_unit_test(refused_in_place_of_one),
		cmocka_unit_test(each_overlap),
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test(as_many_sides_as_there_may_be),
		cmocka_unit_test(what_is_said),
		cmocka_unit_test(notes_of_rules),
		cmocka_unit_test(names_of_rules),
		cmocka_unit_test(each_path),
		cmocka_unit_test(either_speaker),
		cmocka_unit_test(no_lines),
		cmocka_unit_test(all_is_told),
		cmocka_unit_test(what_was_told),
		cmocka_unit_test(each_former),
		cmocka_unit_test(another_process),
		cmocka_unit_test(peers_of_rules),
		cmocka_unit_test(each_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
