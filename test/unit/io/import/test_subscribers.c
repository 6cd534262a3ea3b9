/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists of subscribers as policies, mistakes with their places, and what changes between two lists.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/edits.h"
#include "import/network.h"
#include "import/subscribers.h"

#define OWN  "name,addresses,limit\n"
#define FULL "name,addresses,limit,guaranteed,parent,weight,burst,accounting,action,note\n"
#define LIBRE                                                                      \
	"Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6," \
	"Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n"

/* With its prefix as long as a name may be. */
#define NAME61 "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXY"
/* A policy of that list with these keys. */
#define A_WITH(more) "[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'10Mbit/s'" more "}]"

struct list_case {
	const char *text;
	bool upload, flat;
	const char *want; /* an array with ' for ", or NULL: it is refused */
	const char *said; /* part of what is said, or all of its lines; "" if nothing is */
};

static const struct list_case cases[] = {
	{OWN "a,192.0.2.1,10Mbit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'10Mbit/s'}]", ""},
	{OWN "a,192.0.2.1,10Mbit/s\n", true, false,
		"[{'name':'t-a','match':{'src':'192.0.2.1/32'},'limit':'10Mbit/s'}]", ""},
	{OWN "a,192.0.2.0/24;2001:db8::/32 2001:db8:1::1,1000kbit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':['192.0.2.0/24','2001:db8::/32',"
		"'2001:db8:1::1/128']},'limit':'1Mbit/s'}]",
		""},
	{"limit , addresses, name\n1Gbit/s, 192.0.2.1 , a \n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'1Gbit/s'}]", ""},
	{"name,addresses,download,upload\na,192.0.2.1,10Mbit/s,2Mbit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'10Mbit/s'}]", ""},
	{"name,addresses,download,upload\na,192.0.2.1,10Mbit/s,2Mbit/s\n", true, false,
		"[{'name':'t-a','match':{'src':'192.0.2.1/32'},'limit':'2Mbit/s'}]", ""},
	{FULL "p,,1Gbit/s,,,,,,,\n"
	      "a,192.0.2.1,10Mbit/s,1Mbit/s,p,3,64kB,wire,mark,\"of a, b\"\n",
		false, false,
		"[{'name':'t-p','limit':'1Gbit/s'},{'name':'t-a','match':{'dst':'192.0.2.1/32'},"
		"'limit':'10Mbit/s','guaranteed':'1Mbit/s','parent':'t-p','weight':3,"
		"'burst':'64kB','accounting':'wire','action':'mark','note':'of a, b'}]",
		""},
	{FULL "a,192.0.2.1,10Mbit/s,,link,,,,,\n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'10Mbit/s',"
		"'parent':'link'}]",
		""},
	{FULL "a,192.0.2.1,10Mbit/s,1Mbit/s,nobody,2,,,,\n", false, true,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'10Mbit/s'}]", ""},
	{OWN, false, false, "[]", ""},
	{OWN "a,192.0.2.1,400Gbit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'400Gbit/s'}]", ""},
	{OWN NAME61 ",192.0.2.1,1Mbit/s\n", false, false,
		"[{'name':'t-" NAME61 "','match':{'dst':'192.0.2.1/32'},'limit':'1Mbit/s'}]", ""},
	{"NAME,\tAddresses ,LIMIT\na,\t::1 ,1Mbit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':'::1/128'},'limit':'1Mbit/s'}]", ""},
	{FULL "a,192.0.2.1,10Mbit/s,0bit/s,,1,,,,\n", false, true, A_WITH(""), ""},
	{FULL "a,192.0.2.1,10Mbit/s,0bit/s,link,1,1B,l2,count,\n", false, false,
		A_WITH(",'burst':'1B','weight':1,'accounting':'l2','action':'count',"
		       "'parent':'link'"),
		""},
	{FULL "a,192.0.2.1,10Mbit/s,8kbit/s,link,1000,4GiB,l3,shape,\n", false, false,
		A_WITH(",'guaranteed':'8kbit/s','burst':'4GiB','weight':1000,'accounting':'l3',"
		       "'action':'shape','parent':'link'"),
		""},
	{FULL "a,192.0.2.1,10Mbit/s,10Mbit/s,link,,,,drop,\n", false, false,
		A_WITH(",'guaranteed':'10Mbit/s','action':'drop','parent':'link'"), ""},

	/* Mistakes, each beside what is just right. */
	{"", false, false, NULL, "t.csv:1: empty: expected a line that names the columns"},
	{"name,limit\n", false, false, NULL, "t.csv:1: header: expected a column \"addresses\"\n"},
	{"name,addresses,upload\n", false, false, NULL,
		"t.csv:1: header: expected a column \"limit\" or \"download\"\n"},
	{"name,addresses,limit,brust\n", false, false, NULL,
		"header: \"brust\": expected a known column: did you mean \"burst\"?"},
	{"name,addresses,limit,Limit\n", false, false, NULL, "expected one column that says so"},
	{"limit,name,addresses,limit\n", false, false, NULL, "expected one column that says so"},
	{"name,addresses,limit,download\n", false, false, NULL, "expected one column that says so"},
	{"Circuit Name,Circuit ID,Download Max Mbps\n", false, false, NULL,
		"t.csv:1: header: expected a column \"IPv4\"\n"},
	{OWN "a,192.0.2.1\n", false, false, NULL, "t.csv:2: 2 columns: expected 3"},
	{OWN "a,192.0.2.1,1Mbit/s,x\n", false, false, NULL, "t.csv:2: 4 columns: expected 3"},
	{OWN "\na,192.0.2.1,ten\n", false, false, NULL,
		"t.csv:3: limit: \"ten\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\""},
	{OWN "a,192.0.2.1,10Mbps\n", false, false, NULL, "did you mean \"10Mbit/s\"?"},
	/* What is meant is what is taken, and nothing else. */
	{OWN "a,192.0.2.1,401Gbit/s\n", false, false, NULL,
		"t.csv:2: limit: \"401Gbit/s\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,0Mbit/s\n", false, false, NULL,
		"t.csv:2: limit: \"0Mbit/s\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,401Gbps\n", false, false, NULL,
		"t.csv:2: limit: \"401Gbps\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,0Mbps\n", false, false, NULL,
		"t.csv:2: limit: \"0Mbps\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,7kbps\n", false, false, NULL,
		"t.csv:2: limit: \"7kbps\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,400.1Gbit/s\n", false, false, NULL,
		"t.csv:2: limit: \"400.1Gbit/s\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,400Gbps\n", false, false, NULL, "did you mean \"400Gbit/s\"?"},
	{OWN "a,192.0.2.1,8kbps\n", false, false, NULL, "did you mean \"8kbit/s\"?"},
	{FULL "a,192.0.2.1,1Mbit/s,7kbps,link,,,,,\n", false, false, NULL,
		"t.csv:2: guaranteed: \"7kbps\": expected 8kbit/s to 400Gbit/s such as \"25Mbit/s\"\n"},
	{OWN "a,192.0.2.1,7999bit/s\n", false, false, NULL, "limit: \"7999bit/s\": expected"},
	{OWN "a,192.0.2.1,8000bit/s\n", false, false,
		"[{'name':'t-a','match':{'dst':'192.0.2.1/32'},'limit':'8kbit/s'}]", ""},
	{OWN "a,192.0.2.1,\n", false, false, NULL, "limit: \"\": expected"},
	{OWN "a,192.0.2.1,0bit/s\n", false, false, NULL, "limit: \"0bit/s\": expected"},
	{OWN "a,192.0.2.1,400000000001bit/s\n", false, false, NULL,
		"limit: \"400000000001bit/s\": expected"},
	{OWN NAME61 "Z,192.0.2.1,1Mbit/s\n", false, false, NULL,
		"t.csv:2: name: \"" NAME61
		"Z\": expected A-Z a-z 0-9 _ . -, and with the prefix at "
		"most 63 characters"},
	{OWN NAME61 "_.-,192.0.2.1,1Mbit/s\n", false, false, NULL,
		"t.csv:2: name: \"" NAME61 "_.-\": expected at most 63 characters\n"},
	{OWN "a\x1b[2J,192.0.2.1,1Mbit/s\n", false, false, NULL, "name: \"a?[2J\": expected"},
	{FULL "a,192.0.2.1,1Mbit/s,7999bit/s,link,,,,,\n", false, false, NULL,
		"guaranteed: \"7999bit/s\": expected 8kbit/s to 400Gbit/s"},
	{FULL "a,192.0.2.1,1Mbit/s,,link,0,,,,\n", false, false, NULL,
		"weight: \"0\": expected a whole number from 1 to 1000"},
	{FULL "a,192.0.2.1,1Mbit/s,,link,1x,,,,\n", false, false, NULL, "weight: \"1x\""},
	{FULL "a,192.0.2.1,1Mbit/s,,,,0B,,,\n", false, false, NULL,
		"burst: \"0B\": expected a size of 1B to 4GiB such as \"64kB\""},
	{FULL "a,192.0.2.1,1Mbit/s,,,,4294967297B,,,\n", false, false, NULL,
		"burst: \"4294967297B\""},
	{FULL "a,192.0.2.1,1Mbit/s,,,,much,,,\n", false, false, NULL, "burst: \"much\""},
	{"name,addresses,download\n", true, false, NULL,
		"t.csv:1: header: expected a column \"limit\" or \"upload\"\n"},
	{"addresses,limit\n", false, false, NULL, "t.csv:1: header: expected a column \"name\"\n"},
	{OWN "a,192.0.2.1;10.0.0.1/8;10.0.0.0/33,1Mbit/s\n", false, false, NULL,
		"t.csv:2: addresses: \"10.0.0.1/8\": expected addresses such as 192.0.2.7, "
		"2001:db8:7::/48, with no host bits: did you mean \"10.0.0.0/8\"?\n"
		"t.csv:2: addresses: \"10.0.0.0/33\": expected addresses such as 192.0.2.7, "
		"2001:db8:7::/48, with no host bits\n"},
	{OWN "a,192.0.2.256,1Mbit/s\n", false, false, NULL, "addresses: \"192.0.2.256\": expected"},
	{OWN "a,192.0.2.1/24,1Mbit/s\n", false, false, NULL, "did you mean \"192.0.2.0/24\"?"},
	{OWN "a,,1Mbit/s\n", false, false, NULL, "addresses: \"\": expected at least one"},
	{OWN "a b,192.0.2.1,1Mbit/s\n", false, false, NULL, "name: \"a b\": expected A-Z a-z"},
	{OWN ",192.0.2.1,1Mbit/s\n", false, false, NULL, "name: \"\": expected A-Z a-z"},
	{OWN "a,192.0.2.1,1Mbit/s\na,192.0.2.2,1Mbit/s\n", false, false, NULL,
		"t.csv:3: name: \"a\": expected a name of its own"},
	{OWN "\"a,192.0.2.1,1Mbit/s\n", false, false, NULL, "t.csv:2: nothing closes this quote"},
	{OWN "a,192.0.2.1,1Mbit/s\xff\n", false, false, NULL, "t.csv:2: expected UTF-8"},
	{FULL "a,192.0.2.1,1Mbit/s,2Mbit/s,link,,,,,\n", false, false, NULL,
		"guaranteed: \"2Mbit/s\": expected no more than the limit"},
	{FULL "a,192.0.2.1,1Mbit/s,1Mbit/s,,,,,,\n", false, false, NULL,
		"guaranteed: \"\": expected none without a parent"},
	{FULL "a,192.0.2.1,1Mbit/s,,,2,,,,\n", false, false, NULL,
		"weight: \"\": expected none without a parent"},
	{FULL "a,192.0.2.1,1Mbit/s,,lnk,,,,,\n", false, false, NULL,
		"t.csv:2: parent: \"lnk\": expected the name of another policy"},
	{FULL "a,192.0.2.1,1Mbit/s,,a,,,,,\n", false, false, NULL, "parent: \"a\": expected"},
	{FULL "a,192.0.2.1,1Mbit/s,,a b,,,,,\n", false, false, NULL, "parent: \"a b\": expected"},
	{FULL "a,192.0.2.1,1Mbit/s,,t-gone,,,,,\n", false, false, NULL,
		"parent: \"t-gone\": expected"},
	{FULL "a,192.0.2.1,1Mbit/s,,link,1001,,,,\n", false, false, NULL, "weight: \"1001\""},
	{FULL "a,192.0.2.1,1Mbit/s,,,,5GiB,,,\n", false, false, NULL, "burst: \"5GiB\""},
	{FULL "a,192.0.2.1,1Mbit/s,,,,,l4,,\n", false, false, NULL,
		"accounting: \"l4\": expected l3, l2, wire"},
	{FULL "a,192.0.2.1,1Mbit/s,,,,,,drp,\n", false, false, NULL, "did you mean \"drop\"?"},

	/* LibreQoS's. */
	{LIBRE "1,\"a, b\",1,d,link,,\"100.64.0.1, 100.64.0.2\",2001:db8::/56,1.5,1,155,20,\n"
	       "1,\"a, b\",2,e,link,,100.64.1.0/24,,1.5,1,155,20,\n",
		false, false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32',"
		"'2001:db8::/56','100.64.1.0/24']},'limit':'155Mbit/s','guaranteed':'1.5Mbit/s',"
		"'note':'a, b','parent':'link'}]",
		""},
	{"# about\n" LIBRE "1 x,,1,,,,100.64.0.1,,1,0.5,155,0.5,\n", true, false,
		"[{'name':'t-1_x','match':{'src':'100.64.0.1/32'},'limit':'500kbit/s'}]", ""},
	/* A total has no rate to guarantee anything of; one that is below a rate has that one's. */
	{LIBRE "1,,1,,month,,100.64.0.1,,1,1,155,20,\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s',"
		"'parent':'month'}]",
		""},
	{LIBRE "1,,1,,day,,100.64.0.1,,1,1,155,20,\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s',"
		"'guaranteed':'1Mbit/s','parent':'day'}]",
		""},
	{LIBRE "1,,1,,none,,100.64.0.1,,1,1,155,20,\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s'}]", ""},
	{LIBRE "1,,1,,,,,,1,1,155,20,\n", false, false, "[]",
		"t.csv:2: warning: a circuit without addresses is left out"},
	{LIBRE "1,,1,,link,,100.64.0.1,,1,1,155,20,\n1,,2,,link,,100.64.0.2,,1,1,100,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s','guaranteed':'1Mbit/s','parent':'link'}]",
		"t.csv:3: warning: other rates than its circuit has above, which hold"},
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,155,20,down, up\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s'}]",
		"t.csv:2: warning: 14 columns: expected 13"},
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,155,0.5,\n", true, false, NULL,
		"Upload Min Mbps: \"1\": expected no more than the limit"},
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,ten,20,\n", false, false, NULL,
		"t.csv:2: Download Max Mbps: \"ten\": expected Mbit/s from 0.008 to 400000"},
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,10Mbit/s,20,\n", false, false, NULL,
		"Download Max Mbps: \"10Mbit/s\": expected"},
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,155,0,\n", true, false, NULL,
		"Upload Max Mbps: \"0\": expected"},
	{LIBRE "1,,1,,,,100.64.0.1,,0,0,0.008,400000,\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'8kbit/s'}]", ""},
	{LIBRE "1,,1,,,,100.64.0.1,,0,0,0.008,400000,\n", true, false,
		"[{'name':'t-1','match':{'src':'100.64.0.1/32'},'limit':'400Gbit/s'}]", ""},
	{LIBRE "1,,1,,,,100.64.0.1,,0,0,0.007,20,\n", false, false, NULL,
		"Download Max Mbps: \"0.007\": expected Mbit/s from 0.008 to 400000 such as 25 or "
		"2.5\n"},
	{LIBRE "1,,1,,,,100.64.0.1,,0,0,400001,20,\n", false, false, NULL,
		"Download Max Mbps: \"400001\": expected"},
	{LIBRE "1,,1,,,,100.64.0.1,,0,0,-1,20,\n", false, false, NULL,
		"Download Max Mbps: \"-1\": expected"},
	{LIBRE "1,,1,,,,100.64.0.1\n", false, false, NULL,
		"t.csv:2: 7 columns: expected 13, as in the header\n"
		"t.csv:2: Download Max Mbps: \"\": expected Mbit/s from 0.008 to 400000 such as 25 or "
		"2.5\n"},
	{"Circuit ID,IPv4,Download Max Mbps,Upload Max Mbps,Colour\n1,100.64.0.1,9,8,red\n", false,
		false, "[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'9Mbit/s'}]",
		"t.csv:1: warning: header: \"Colour\": not a column that is understood\n"},
	{"Circuit ID,IPv4,Download Max Mbps\n1,100.64.0.1,9\n", true, false, NULL,
		"t.csv:1: header: expected a column \"Upload Max Mbps\"\n"},
	{"Circuit ID,IPv4,Upload Max Mbps\n1,100.64.0.1,9\n", false, false, NULL,
		"t.csv:1: header: expected a column \"Download Max Mbps\"\n"},
	{"Circuit ID,IPv6,Download Max Mbps\n", false, false, NULL,
		"t.csv:1: header: expected a column \"IPv4\"\n"},
	{LIBRE "1,,1,,,,,,1,1,155,20,\n2,,1,,1,,100.64.0.2,,1,1,155,20,\n", false, false, NULL,
		"t.csv:3: Parent Node: \"1\": expected the name of another policy"},
	/* What one of a circuit's lines has in common with the first is not told. */
	{LIBRE "1,,1,,,,100.64.0.1,,1,1,155,20,\n1,,2,,,,100.64.0.2,,1,1,155,30,\n", false, false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s'}]",
		""},
	{LIBRE "1,,1,,link,,100.64.0.1,,1,1,155,20,\n1,,2,,link,,100.64.0.2,,2,1,155,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s','guaranteed':'1Mbit/s','parent':'link'}]",
		"t.csv:3: warning: other rates than its circuit has above, which hold\n"},
	/* Two IDs that would be one name are no one circuit, nor one node. */
	{LIBRE "J\xc3\xbcrgen,,1,,,,100.64.0.1,,1,1,155,20,\n"
	       "J\xc3\xa4rgen,,2,,,,100.64.0.2,,1,1,155,20,\n",
		false, false, NULL,
		"t.csv:3: Circuit ID: \"J\xc3\xa4rgen\": expected a name of its own: \"J\xc3\xbcrgen\" "
		"in line 2 becomes t-J__rgen, too\n"},
	{LIBRE "7 b,,1,,,,100.64.0.1,,1,1,155,20,\n7/b,,2,,,,100.64.0.2,,1,1,155,20,\n", false,
		false, NULL,
		"t.csv:3: Circuit ID: \"7/b\": expected a name of its own: \"7 b\" in line 2 becomes "
		"t-7_b, too\n"},
	{LIBRE "7 b,,1,,,,100.64.0.1,,1,1,155,20,\n7 b,,2,,,,100.64.0.2,,1,1,155,20,\n", false,
		false,
		"[{'name':'t-7_b','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s'}]",
		""},
	{LIBRE "1,,1,,AP 2,,100.64.0.1,,0,1,155,20,\n2,,1,,AP/2,,100.64.0.2,,0,1,155,20,\n", false,
		false, NULL,
		"t.csv:3: Parent Node: \"AP/2\": expected a name of its own: \"AP 2\" in line 2 "
		"becomes AP_2, too\n"},
	{LIBRE "7 b,,1,,,,100.64.0.1,,0,1,155,20,\n2,,1,,7/b,,100.64.0.2,,0,1,155,20,\n", false,
		false, NULL,
		"t.csv:3: Parent Node: \"7/b\": expected a name of its own: \"7 b\" in line 2 becomes "
		"t-7_b, too\n"},
	/* A circuit is below one node. */
	{LIBRE "1,,1,,AP_2,,100.64.0.1,,0,1,155,20,\n1,,2,,link,,100.64.0.2,,0,1,155,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s','parent':'AP_2'}]",
		"t.csv:3: warning: Parent Node: \"link\": expected \"AP_2\", as its circuit has above, "
		"which holds\n"},
	{LIBRE "1,,1,,,,100.64.0.1,,0,1,155,20,\n1,,2,,link,,100.64.0.2,,0,1,155,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s'}]",
		"t.csv:3: warning: Parent Node: \"link\": expected \"\", as its circuit has above, "
		"which holds\n"},
	{LIBRE "1,,1,,link,,100.64.0.1,,0,1,155,20,\n1,,2,,,,100.64.0.2,,0,1,155,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s','parent':'link'}]",
		"t.csv:3: warning: Parent Node: \"\": expected \"link\", as its circuit has above, "
		"which holds\n"},
	{LIBRE "1,,1,,none,,100.64.0.1,,0,1,155,20,\n1,,2,,,,100.64.0.2,,0,1,155,20,\n", false,
		false,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s'}]",
		""},
	{LIBRE "1,,1,,link,,100.64.0.1,,0,1,155,20,\n1,,2,,gone,,100.64.0.2,,0,1,155,20,\n", false,
		true,
		"[{'name':'t-1','match':{'dst':['100.64.0.1/32','100.64.0.2/32']},"
		"'limit':'155Mbit/s'}]",
		""},
	{LIBRE "1,,1,,link,,100.64.0.1,,0,1,155,20,\n1,,2,,gone,,100.64.0.2,,0,1,155,20,\n", false,
		false, NULL,
		"t.csv:3: warning: Parent Node: \"gone\": expected \"link\", as its circuit has above, "
		"which holds\n"
		"t.csv:3: Parent Node: \"gone\": expected the name of another policy, in the file or "
		"in force\n"},
	{LIBRE "1,,1,,AP 1,,100.64.0.1,,1,1,155,20,\n", false, false, NULL,
		"t.csv:2: Parent Node: \"AP 1\": expected the name of another policy"},
	{LIBRE "1,,1,,AP 2,,100.64.0.1,,0,1,155,20,\n", false, false,
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s',"
		"'parent':'AP_2'}]",
		""},
};

/* JSON with ' for ". */
static json_t *parse_quoted(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	json = json_loads(copy, 0, NULL);
	free(copy);
	if (!json)
		fail_msg("no JSON: %s", text);
	return json;
}

static json_t *running_policies(void)
{
	return parse_quoted("[{'name':'link'},{'name':'AP_2'},{'name':'t-gone'},"
			    "{'name':'month','allocator':'quota'},"
			    "{'name':'day','allocator':'quota','parent':'link'}]");
}

static bool says(const char *said, const char *words)
{
	size_t len = strlen(words);
	bool begins = strncmp(words, "t.csv:", strlen("t.csv:")) == 0 ||
		      strncmp(words, "n.json:", strlen("n.json:")) == 0;

	if (len > 0 && words[len - 1] == '\n' && begins)
		return strcmp(said, words) == 0;
	return strstr(said, words) && (len > 0 || said[0] == '\0');
}

static void check_case(const struct list_case *row)
{
	json_t *running = running_policies(), *want = row->want ? parse_quoted(row->want) : NULL;
	const struct subscribers_terms terms = {.file = "t.csv",
		.prefix = "t-",
		.parent_prefix = "",
		.upload = row->upload,
		.flat = row->flat,
		.running = running};
	struct diagnostics diagnostics;
	struct subscribers list;
	char *said, *got;
	size_t size;
	FILE *say = open_memstream(&said, &size);
	int ret;

	diagnostics_init(&diagnostics, say, DIAGNOSTICS_TEXT);
	ret = subscribers_read(row->text, strlen(row->text), &terms, &diagnostics, &list);
	fclose(say);
	got = json_dumps(list.policies, JSON_COMPACT);
	if (ret != (want ? 0 : -EINVAL) || !says(said, row->said))
		fail_msg("%s: %d, said %s, expected %s", row->text, ret, said, row->said);
	if (want && !json_equal(list.policies, want))
		fail_msg("%s: got %s, expected %s", row->text, got, row->want);
	if (ret == 0)
		subscribers_free(&list);
	free(got);
	free(said);
	json_decref(want);
	json_decref(running);
}

static void each_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i]);
}

/* An address that is none is no address that is missing, too. */
static void told_once(void **state)
{
	static const char text[] = OWN "a,192.0.2.256,1Mbit/s\n";
	const struct subscribers_terms terms = {
		.file = "t.csv", .prefix = "t-", .parent_prefix = ""};
	struct diagnostics diagnostics;
	struct subscribers list;

	(void)state;
	diagnostics_init(&diagnostics, NULL, DIAGNOSTICS_TEXT);
	assert_int_equal(
		subscribers_read(text, strlen(text), &terms, &diagnostics, &list), -EINVAL);
	assert_int_equal(diagnostics.errors, 1);
}

/* A text with a NUL in it may end there or not: none of it is taken. */
static void what_is_no_text(void **state)
{
	static const char text[] = OWN "a,192.0.2.1,1Mbit/s\n\0";
	const struct subscribers_terms terms = {
		.file = "t.csv", .prefix = "t-", .parent_prefix = ""};
	struct diagnostics diagnostics;
	struct subscribers list;
	size_t size;
	char *said;
	FILE *say = open_memstream(&said, &size);

	(void)state;
	diagnostics_init(&diagnostics, say, DIAGNOSTICS_TEXT);
	assert_int_equal(
		subscribers_read(text, sizeof(text) - 1, &terms, &diagnostics, &list), -EINVAL);
	fclose(say);
	assert_string_equal(said, "t.csv: NUL characters: expected UTF-8\n");
	assert_null(list.policies);
	free(said);
}

/* The first twenty are told, and how many there are. */
static void many_mistakes(void **state)
{
	const struct subscribers_terms terms = {
		.file = "t.csv", .prefix = "t-", .parent_prefix = ""};
	char text[2048] = OWN, *said;
	struct diagnostics diagnostics;
	struct subscribers list;
	size_t size;
	FILE *say = open_memstream(&said, &size);

	(void)state;
	for (unsigned i = 0; i < 25; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "n%u,192.0.2.%u,x\n", i,
			i);
	diagnostics_init(&diagnostics, say, DIAGNOSTICS_TEXT);
	assert_int_equal(
		subscribers_read(text, strlen(text), &terms, &diagnostics, &list), -EINVAL);
	fclose(say);
	assert_non_null(strstr(said, "t.csv:21: limit"));
	assert_null(strstr(said, "t.csv:22: limit"));
	assert_non_null(strstr(said, "5 more errors, 25 in all"));
	free(said);
}

static void lines_of_policies(void **state)
{
	static const char text[] = OWN "a,192.0.2.1,1Mbit/s\n\n\"b\",192.0.2.2,1Mbit/s\n";
	const struct subscribers_terms terms = {
		.file = "t.csv", .prefix = "t-", .parent_prefix = ""};
	struct diagnostics diagnostics;
	struct subscribers list;

	(void)state;
	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	assert_int_equal(subscribers_read(text, strlen(text), &terms, &diagnostics, &list), 0);
	assert_int_equal(json_integer_value(json_object_get(list.lines, "t-a")), 2);
	assert_int_equal(json_integer_value(json_object_get(list.lines, "t-b")), 4);
	subscribers_free(&list);
}

#define NODE(mbps, more)  "{'downloadBandwidthMbps':" mbps ",'uploadBandwidthMbps':7" more "}"
#define CIRCUIT(id, node) id ",,1,," node ",,100.64.0." id ",,0,0,155,20,\n"
#define A_CIRCUIT(id, parent)                             \
	"{'name':'t-" id "','match':{'dst':'100.64.0." id \
	"/32'},'limit':'155Mbit/s','parent':'t-" parent "'}"

struct network_case {
	const char *network, *lines, *want, *said;
};

static const struct network_case network_cases[] = {
	/* A node becomes a policy where circuits are below it, and those above it do. */
	{"{'S 1':" NODE(
		 "1000", ",'children':{'AP_1':" NODE("2.5", "") ",'AP_2':" NODE("9", "") "}") "}",
		CIRCUIT("1", "AP_1") CIRCUIT("3", "S 1"),
		"[" A_CIRCUIT("1", "AP_1") "," A_CIRCUIT(
			"3", "S_1") ","
				    "{'name':'t-S_1','limit':'1Gbit/s'},"
				    "{'name':'t-AP_1','limit':'2.5Mbit/s','parent':'t-S_1'}]",
		""},
	/* Nobody is below what is left out. */
	{"{'AP_1':" NODE("9", "") "}", "1,,1,,AP_1,,,,0,0,155,20,\n", "[]", "is left out"},
	{"{'AP_1':" NODE("9", "") "}", CIRCUIT("1", "AP_3"), NULL,
		"t.csv:2: Parent Node: \"AP_3\": expected"},
	{"{'1':" NODE("9", "") "}", CIRCUIT("1", "1"), NULL,
		"t.csv:2: Parent Node: \"1\": expected"},
	{"{'S':" NODE("9", ",'children':{'S':" NODE("9", "") "}") "}", "", NULL,
		"n.json: S: expected a name of its own"},
	{"{'S':{'uploadBandwidthMbps':7}}", "", NULL,
		"n.json: S: expected a number of Mbit/s as \"downloadBandwidthMbps\""},
	{"{'S':" NODE("'9'", "") "}", "", NULL, "n.json: S: expected a number"},
	{"[]", CIRCUIT("1", "AP_9"), NULL,
		"n.json: expected an object of nodes by their names, as LibreQoS's network.json is\n"},
	{"[{'S':" NODE("9", "") "}]", "", NULL, "n.json: expected an object"},
	{"{'S':" NODE("9", ",'children':[]") "}", "", NULL,
		"n.json: S: expected as \"children\" an object of nodes by their names\n"},
	{"{'S':" NODE("9", ",'children':{}") "}", "", "[]", ""},
	{"{'S':" NODE("9", ",'children':null") "}", "", "[]", ""},
	{"{'S':" NODE("-1", "") "}", "", NULL, "n.json: S: expected a number"},
	/* A node that has the name of a circuit is none, nor what is below it. */
	{"{'2':" NODE("9", ",'children':{'AP_1':" NODE("2", "") "}") "}",
		CIRCUIT("1", "AP_1") CIRCUIT("2", "AP_2"), NULL,
		"t.csv:2: Parent Node: \"AP_1\": expected the name of another policy"},
	/* Nor are two of them one, or one above the other. */
	{"{'AP 1':" NODE("9", "") ",'AP/1':" NODE("8", "") "}",
		CIRCUIT("1", "AP 1") CIRCUIT("2", "AP/1"), NULL,
		"t.csv:3: Parent Node: \"AP/1\": expected a name of its own: \"AP 1\" in line 2 becomes "
		"t-AP_1, too\n"},
	{"{'AP 1':" NODE("9", ",'children':{'AP/1':" NODE("8", "") "}") "}", CIRCUIT("1", "AP/1"),
		NULL,
		"t.csv:2: Parent Node: \"AP/1\": expected a name of its own: \"AP 1\" in line 2 becomes "
		"t-AP_1, too\n"},
	{"{'AP 1':" NODE("9", "") ",'AP/1':" NODE("8", "") "}", CIRCUIT("1", "AP/1"),
		"[" A_CIRCUIT("1", "AP_1") ",{'name':'t-AP_1','limit':'8Mbit/s'}]", ""},
	{"{'1 a':" NODE("9", "") "}", "1/a,,1,,1 a,,100.64.0.1,,0,0,155,20,\n", NULL,
		"t.csv:2: Parent Node: \"1 a\": expected a name of its own: \"1/a\" in line 2 becomes "
		"t-1_a, too\n"},
	/* A node that a later line of a circuit names is no policy of nobody's. */
	{"{'AP_1':" NODE("9", "") ",'AP_3':" NODE("8", "") "}",
		CIRCUIT("1", "AP_1") "1,,2,,AP_3,,,,0,0,155,20,\n",
		"[" A_CIRCUIT("1", "AP_1") ",{'name':'t-AP_1','limit':'9Mbit/s'}]",
		"t.csv:3: warning: Parent Node: \"AP_3\": expected \"AP_1\", as its circuit has above, "
		"which holds\n"},
	/* A node in a node in a node. */
	{"{'A':" NODE(
		 "3", ",'children':{'B':" NODE("2", ",'children':{'C':" NODE("1", "") "}") "}") "}",
		CIRCUIT("1", "C") CIRCUIT("2", "B"),
		"[" A_CIRCUIT("1", "C") "," A_CIRCUIT(
			"2", "B") ",{'name':'t-A','limit':'3Mbit/s'},"
				  "{'name':'t-B','limit':'2Mbit/s','parent':'t-A'},"
				  "{'name':'t-C','limit':'1Mbit/s','parent':'t-B'}]",
		""},
	{"{}", CIRCUIT("1", "AP_2"),
		"[{'name':'t-1','match':{'dst':'100.64.0.1/32'},'limit':'155Mbit/s',"
		"'parent':'AP_2'}]",
		""},
};

static void check_network(const struct network_case *row)
{
	json_t *running = running_policies(), *network = parse_quoted(row->network);
	json_t *want = row->want ? parse_quoted(row->want) : NULL;
	const struct subscribers_terms terms = {.file = "t.csv",
		.prefix = "t-",
		.parent_prefix = "",
		.network = network,
		.network_file = "n.json",
		.running = running};
	char text[1024], *said, *got;
	struct diagnostics diagnostics;
	struct subscribers list;
	size_t size;
	FILE *say = open_memstream(&said, &size);
	int ret;

	snprintf(text, sizeof(text), "%s%s", LIBRE, row->lines);
	diagnostics_init(&diagnostics, say, DIAGNOSTICS_TEXT);
	ret = subscribers_read(text, strlen(text), &terms, &diagnostics, &list);
	fclose(say);
	got = json_dumps(list.policies, JSON_COMPACT);
	if (ret != (want ? 0 : -EINVAL) || !says(said, row->said))
		fail_msg("%s: %d, said %s, expected %s", row->network, ret, said, row->said);
	if (want && !json_equal(list.policies, want))
		fail_msg("%s: got %s, expected %s", row->network, got, row->want);
	if (ret == 0)
		subscribers_free(&list);
	free(got);
	free(said);
	json_decref(want);
	json_decref(network);
	json_decref(running);
}

/* Nodes so deep in each other; whether the lowest is taken. */
static bool takes_node_at(unsigned depth)
{
	json_t *network = json_pack("{s:{s:i}}", "lowest", "downloadBandwidthMbps", 1), *nodes;
	struct diagnostics diagnostics;
	bool taken;

	while (--depth > 0) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", depth);
		network = json_pack(
			"{s:{s:i, s:o}}", name, "downloadBandwidthMbps", 1, "children", network);
	}
	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	nodes = network_nodes(network, false, "n.json", &diagnostics);
	assert_non_null(nodes);
	taken = json_object_get(nodes, "lowest") != NULL;
	json_decref(nodes);
	json_decref(network);
	return taken;
}

/* What is deeper than any network is not looked at, so that no file uses up the stack. */
static void deep_networks(void **state)
{
	(void)state;
	assert_true(takes_node_at(1));
	assert_true(takes_node_at(64));
	assert_false(takes_node_at(65));
}

static void each_network(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(network_cases) / sizeof(*network_cases); i++)
		check_network(&network_cases[i]);
}

struct edit_case {
	const char *running, *wanted, *edits;
	struct import_counts counts;
};

static const struct edit_case edit_cases[] = {
	{"[]", "[]", "[]", {0}},
	{"[{'name':'own','limit':'1'}]", "[{'name':'t-a','limit':'1'}]",
		"[{'do':'add','name':'t-a','keys':{'limit':'1'}}]", {.added = 1}},
	{"[{'name':'t-a','limit':'1'},{'name':'own'}]", "[{'limit':'1','name':'t-a'}]", "[]",
		{.same = 1}},
	{"[{'name':'t-a','limit':'1','burst':'2','note':'x'}]",
		"[{'name':'t-a','limit':'3','burst':'2'}]",
		"[{'do':'set','name':'t-a','keys':{'limit':'3','note':null}}]", {.set = 1}},
	{"[{'name':'t-a'},{'name':'t-b'},{'name':'u-b'},{'name':'t'}]", "[{'name':'t-b'}]",
		"[{'do':'remove','name':'t-a','keys':{}}]", {.removed = 1, .same = 1}},
	{"[{'name':'t-a','match':{'dst':['x','y']}}]", "[{'name':'t-a','match':{'dst':'x'}}]",
		"[{'do':'set','name':'t-a','keys':{'match':{'dst':'x'}}}]", {.set = 1}},
};

static void each_edit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edit_cases) / sizeof(*edit_cases); i++) {
		const struct edit_case *row = &edit_cases[i];
		json_t *running = parse_quoted(row->running), *wanted = parse_quoted(row->wanted);
		json_t *want = parse_quoted(row->edits);
		struct import_counts counts;
		json_t *got = import_edits(running, wanted, "t-", &counts);
		char *text = json_dumps(got, JSON_COMPACT);

		if (!json_equal(got, want) || memcmp(&counts, &row->counts, sizeof(counts)) != 0)
			fail_msg("%s to %s: got %s", row->running, row->wanted, text);
		free(text);
		json_decref(got);
		json_decref(want);
		json_decref(wanted);
		json_decref(running);
	}
}

static void each_prefix(void **state)
{
	(void)state;
	assert_true(import_prefix_valid("isp-"));
	assert_false(import_prefix_valid(""));
	assert_false(import_prefix_valid("isp/"));
	assert_true(import_prefix_valid("123456789012345678901234567890"));
	assert_false(import_prefix_valid("1234567890123456789012345678901"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_list),
		cmocka_unit_test(each_network),
		cmocka_unit_test(deep_networks),
		cmocka_unit_test(told_once),
		cmocka_unit_test(what_is_no_text),
		cmocka_unit_test(many_mistakes),
		cmocka_unit_test(lines_of_policies),
		cmocka_unit_test(each_edit),
		cmocka_unit_test(each_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
