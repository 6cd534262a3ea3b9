/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about configurations: see json/message_row.h. `weir --messages` prints them.
 */
#ifndef WEIR_CONFIG_CONFIG_MESSAGES_H
#define WEIR_CONFIG_CONFIG_MESSAGES_H

#include "json/json_messages.h"

#define CONFIG_MESSAGES(X)                                                                         \
	/* The process, its ports and wires. */                                                    \
	X(TEXT_NOT_PRINTABLE, EXPECTED, "a printable string, not empty")                           \
	X(CPU_RANGE, EXPECTED, "a CPU number from 0 to %d")                                        \
	X(WORKERS_VALUE, EXPECTED, "1 to %d CPU numbers from 0 to %d, such as \"2-5,8\"")          \
	X(INCLUDE_NOT_IN_FILE, EXPECTED, "no \"include\" in a document that is not a file")        \
	X(WRONG_KEY_NAME, EXPECTED, "a name of 1 to 63 characters A-Z a-z 0-9 _ . -", "",          \
		"the key")                                                                         \
	X(NO_SUCH_PORT, EXPECTED, "the name of a port in \"ports\"", "%s")                         \
	X(WIRE_ENDS_SAME, EXPECTED, "another port than at the other end")                          \
	X(PEER_FAMILY, EXPECTED, "%s: this limiter listens on that family")                        \
	X(KEY_FILE_MISSING, EXPECTED,                                                              \
		"the path of the key that the %u limiters share, or \"insecure\": true")           \
	X(PUBLIC_KEY_MISSING, EXPECTED, "the key of every limiter: there is an \"identity_file\"") \
	X(IDENTITY_FILE_MISSING, EXPECTED,                                                         \
		"the path of this limiter's secret: \"public_key\" in the roster "                 \
		"requires it")                                                                     \
	X(WORKER_TWICE, EXPECTED, "each CPU once unless \"idle\" is \"sleep\"")                    \
	X(EAL_ARGUMENT, EXPECTED, "no such argument of EAL", "%s", "%s")                           \
	X(AF_XDP_WITHOUT_INTERFACE, EXPECTED,                                                      \
		"the kernel's interface that it stands on: \"%.*s,iface=NAME\"")                   \
	X(AF_XDP_MTU, EXPECTED,                                                                    \
		"at most %u, which a frame of AF_XDP holds: a larger one needs "                   \
		"net_af_packet or a card that DPDK has")                                           \
	X(AF_XDP_BUFFER, EXPECTED, "at most %u, which a frame of AF_XDP holds")                    \
	X(FAIL_NEEDS_KERNEL_PORT, EXPECTED,                                                        \
		"\"closed\": port \"%s\" is not of net_af_xdp or net_af_packet")                   \
	X(FAIL_OPEN_HARD, EXPECTED,                                                                \
		"\"closed\": the limit of policy \"%s\" is never exceeded, but the "               \
		"kernel would not enforce it")                                                     \
	X(WIRE_MIXES_XDP, EXPECTED, "another port whose device is \"xdp:...\" with port \"%s\"")   \
	X(WIRE_MIXES_GENERIC, EXPECTED, "another port that is \"generic\", like port \"%s\"")      \
	X(NEEDS_XDP, REQUIRES, "a \"device\" \"xdp:...\"")                                         \
	X(QUEUES_OF_XDP, EXCLUDES, "a \"device\" \"xdp:...\"",                                     \
		"remove \"queues\" and set their number with ethtool -L")                          \
	X(LAST_LIMITS_NEED_XDP, EXPECTED,                                                          \
		"\"closed\" or \"open\": only devices \"xdp:...\" can keep their limits "          \
		"without Weir")                                                                    \
	X(FAIL_AFTER_NEEDS_OPEN, REQUIRES, "\"fail\": \"open\"")                                   \
	X(NO_ZONES, EXPECTED, "a machine with time zones in %s", "apt install tzdata")             \
	X(NO_SUCH_ZONE, EXPECTED,                                                                  \
		"a time zone such as \"Europe/Berlin\" or \"UTC\" that is in %s")                  \
	X(ZONE_UNREADABLE, EXPECTED, "a zone whose file can be read: %s")                          \
	X(CANNOT_APPLY, EXPECTED, "%s", "%s", "%s")                                                \
	X(LIST_NOT_IN_FILE, EXPECTED, "prefixes",                                                  \
		"only files, and weirctl, name lists: write its prefixes as an array")             \
	X(WIRE_PORT_TAKEN, EXPECTED, "", "each end of a wire needs a unique port",                 \
		"same port as %s")                                                                 \
	X(FILES_CHANGED, EXPECTED, "", "try again",                                                \
		"this file, or a file that it names, changed during reading")                      \
	/* Gossip and the ledger. */                                                               \
	X(WRONG_ADDRESS, EXPECTED,                                                                 \
		"an address and port such as \"10.0.0.1:7946\" or \"[2001:db8::1]:7946\"", "%s")   \
	X(ADDRESS_NOT_HOST, EXPECTED, "the address of one host")                                   \
	X(ADDRESS_NOT_REACHABLE, EXPECTED, "an address that the other limiters can send to")       \
	X(WRONG_PUBLIC_KEY, EXPECTED, "64 hexadecimal digits, as written by weir --new-identity")  \
	X(ESTIMATOR_SIMULATED, EXPECTED, "\"state\" or \"tree\"",                                  \
		"only weirsim has it, for comparison: remove \"estimator\" for the "               \
		"default")                                                                         \
	X(LEASE_BELOW_TIMEOUT, EXPECTED, "more than the timeout of gossip, %s")                    \
	X(EDGES_UNCONNECTED, EXPECTED,                                                             \
		"a path of edges from \"%s\" to every limiter; \"%s\" has none")                   \
	X(ETCD_INSECURE, EXPECTED,                                                                 \
		"https to another machine, or \"insecure\": true: hosts on the path of "           \
		"http can read the password and change the quotas")                                \
	X(NEEDS_HTTPS, REQUIRES, "an https URL in \"endpoints\"")                                  \
	X(LEASE_SHORT, WARNING,                                                                    \
		"less than %d intervals of %s: a late message suspends the reserved share")        \
	X(STORE_VOLATILE, WARNING,                                                                 \
		"a reboot can delete it, and this limiter then starts with empty state")           \
	X(ETCD_UNENCRYPTED, WARNING, "not encrypted: hosts on the path can change the quotas")     \
	X(NO_SUCH_LIMITER, EXPECTED, "the name of a limiter in \"gossip\".\"roster\"", "%s")       \
	X(WRONG_EDGE, EXPECTED,                                                                    \
		"two limiters of \"gossip\".\"roster\", such as [\"ams-1\", \"fra-1\"]")           \
	X(EDGE_TO_ITSELF, EXPECTED,                                                                \
		"two limiters of \"gossip\".\"roster\", such as [\"ams-1\", \"fra-1\"]", "",       \
		"from a limiter to itself")                                                        \
	X(WRONG_ENDPOINT, EXPECTED,                                                                \
		"a URL such as \"https://192.0.2.1:2379\", of a host and a port alone")            \
	X(ENDPOINT_TWICE, EXPECTED, "each endpoint once")                                          \
	X(PATH_CHARACTERS, EXPECTED, "%s of 2 to %zu characters A-Z a-z 0-9 _ . - /")              \
	X(LIMITER_NOT_IN_ROSTER, EXPECTED, "", "add {\"name\": \"%s\", \"address\": \"IP:PORT\"}", \
		"this limiter, \"%s\", is missing")                                                \
	X(EDGE_TWICE, EXPECTED, "", "write each edge once",                                        \
		"same ends as ledger.overlay.edges[%u]")                                           \
	/* Policies. */                                                                            \
	X(WRONG_NAME, EXPECTED, "a name of 1 to 63 characters A-Z a-z 0-9 _ . -")                  \
	X(PREFIX_MAPPED, EXPECTED,                                                                 \
		"an IPv4 prefix as such: packets do not have it as an IPv6 address", "%s")         \
	X(PREFIX_HOST_BITS, EXPECTED, "no host bits, as in \"%s\"")                                \
	X(WRONG_PREFIX, EXPECTED, "a prefix such as \"192.0.2.0/24\" or \"2001:db8::/32\"", "%s")  \
	X(WRONG_MARK, EXPECTED, "\"ecn\" or a DSCP from 0 to %d, or its name such as \"af41\"")    \
	X(WRONG_PER, EXPECTED, "\"src\", or \"src/N\" with N from 1 to %u bits")                   \
	X(TRIAL_EMPTY, EXPECTED,                                                                   \
		"at least one of \"limit\", \"burst\", \"meter\", \"window\" and "                 \
		"\"classes\"")                                                                     \
	X(ALLOCATOR_NOT_SHARED, EXPECTED,                                                          \
		"an allocator that can share the limit between %u limiters")                       \
	X(PER_NEEDS_STATIC, REQUIRES, "\"allocator\": %s\"static\"%s")                             \
	X(METER_EXCLUDES_PER, EXCLUDES, "\"per\"", "choose another meter")                         \
	X(METER_EXCLUDES_FLOWS, EXCLUDES, "\"count\": \"flows\"", "choose another meter")          \
	X(STEP_BELOW_INTERVAL, EXPECTED, "at least \"interval\", %s")                              \
	X(HISTORY_STEPS, EXPECTED, "%d to %d times \"step\", %s")                                  \
	X(NAME_LIKE_OPTION, EXPECTED, "a name that does not begin with \"-\"")                     \
	X(WRONG_COUNT_RATE, EXPECTED,                                                              \
		"a number per time such as \"500/s\", \"100/min\", \"10k/h\" or \"5/d\" "          \
		"with \"count\": \"%s\"")                                                          \
	X(COUNT_RATE_FRACTION, EXPECTED,                                                           \
		"whole numbers, halves, quarters or eighths, such as \"%s\"")                      \
	X(NOT_TIME_OF_LIMIT, EXPECTED, "a number in the time of \"limit\"")                        \
	X(CLASSES_NUMBER, EXPECTED, "a power of two from %u to %u")                                \
	X(WEIGHTS_TYPE, EXPECTED, "an object such as {\"46\": 4, \"0\": 1}")                       \
	X(NOT_DSCP_KEY, EXPECTED, "keys from \"0\" to \"63\", or names such as \"af41\"", "",      \
		"no DSCP")                                                                         \
	X(WEIGHT_TWICE, EXPECTED, "one weight a DSCP", "\"ef\" and \"46\" are one DSCP",           \
		"second weight of one DSCP")                                                       \
	X(WEIGHT_RANGE, EXPECTED, "a whole number from 1 to %u")                                   \
	X(COLOURS_TYPE, EXPECTED, "an object such as {\"af11\": \"green\"}")                       \
	X(COLOUR_TWICE, EXPECTED, "one colour a DSCP", "\"ef\" and \"46\" are one DSCP",           \
		"second colour of one DSCP")                                                       \
	X(COLOUR_ACTION, EXPECTED,                                                                 \
		"\"pass\", \"drop\", \"count\" or a mark such as {\"mark\": \"af12\"}")            \
	X(SRTCM_EXCESS_LIMIT, EXCLUDES, "\"meter\": \"srtcm\"",                                    \
		"remove \"limit\": \"excess\" gets the units that \"burst\" has no room "          \
		"for")                                                                             \
	X(PEAK_BELOW_LIMIT, EXPECTED, "at least the limit, %s")                                    \
	X(PEAK_BURST_BELOW_BURST, EXPECTED, "at least the burst of the limit, %s")                 \
	X(ABOVE_PEAK, EXPECTED, "at most that of \"peak\", %s", "%s")                              \
	X(PEAK_MISSING, EXPECTED,                                                                  \
		"an object such as {\"limit\": \"200Mbit/s\"} with the meter \"%s\"")              \
	X(EXCESS_MISSING, EXPECTED,                                                                \
		"an object such as {\"limit\": \"50Mbit/s\"} with the meter \"%s\"")               \
	X(GUARANTEE_NOT_HARD, EXCLUDES, "\"allocator\": \"%s\"", "set \"guarantee\": \"hard\"")    \
	X(METER_OF_ALLOCATOR, EXPECTED, "%s with the allocator \"%s\"")                            \
	X(HARD_EXCLUDES_ALLOCATOR, EXCLUDES, "\"allocator\": \"%s\"",                              \
		"set \"guarantee\": \"soft\"")                                                     \
	X(HARD_EXCLUDES_PER, EXCLUDES, "\"per\"", "set \"guarantee\": \"soft\"")                   \
	X(HARD_EXCLUDES_METER, EXCLUDES, "\"meter\": \"%s\"", "set \"guarantee\": \"soft\"")       \
	X(HARD_LIMIT_TOO_LOW, EXPECTED, "at least %s: parts of a hard limit are whole %s")         \
	X(BURST_NEEDS_LIMIT, REQUIRES, "\"limit\"")                                                \
	X(TOTAL_TOO_SMALL, EXPECTED, "at least %uB with the allocator \"quota\"")                  \
	X(TOTAL_FEW_CHUNKS, WARNING,                                                               \
		"less than %d times the %s that each of %u limiters prefetches, and at "           \
		"most twice that")                                                                 \
	X(NOT_ONE_OF, EXPECTED, "one of %s", "%s")                                                 \
	X(NOT_WHOLE_SECONDS, EXPECTED, "a whole number of seconds")                                \
	X(PLACE_SOURCE, EXPECTED, "\"src/N\" with N from 1 to %u bits")                            \
	X(KEY_EXCLUDED, EXCLUDES, "%s", "%s")                                                      \
	X(KEY_REQUIRED, REQUIRES, "%s")                                                            \
	X(SCENARIO_SCHEDULE, EXCLUDES, "a scenario, which has no time of day",                     \
		"remove \"schedule\"")                                                             \
	X(OVERRIDE_LIMIT, EXPECTED,                                                                \
		"a limit that the policy's bucket can count: change it in the file and "           \
		"reload")                                                                          \
	X(NOT_UNIQUE, EXPECTED, "", "each needs a unique %s", "same %s as %s")                     \
	/* Matches. */                                                                             \
	X(MATCH_REPEATED, WARNING, "the policy has it twice")                                      \
	X(PREFIX_ALONE, WARNING, "matches nothing: \"%s\" has no prefix of IPv%c")                 \
	X(NO_SUCH_WIRE, EXPECTED, "the name of a wire in \"wires\"", "%s")                         \
	X(WRONG_PROTO, EXPECTED,                                                                   \
		"a protocol such as \"tcp\" or \"udp\", or its number from 1 to %u", "%s")         \
	X(WRONG_PORTS, EXPECTED, "a port such as 443, or a range such as \"1024-2047\"", "%s")     \
	X(WRONG_DSCP, EXPECTED,                                                                    \
		"a DSCP from 0 to %d, or its name such as \"ef\", \"af41\" or \"cs5\"")            \
	X(PREFIXES_NUMBER, EXPECTED, "at least one prefix, and at most %u")                        \
	X(PORTS_NEED_PROTO, REQUIRES, "a \"proto\" with ports, such as \"tcp\" or \"udp\"")        \
	X(MATCH_EMPTY, EXPECTED, "at least one match")                                             \
	X(WRONG_OTHERWISE, EXPECTED, "\"pass\", \"drop\" or {\"policy\": NAME}")                   \
	X(NO_SUCH_POLICY, EXPECTED, "the name of a policy in \"policies\"", "%s")                  \
	X(OTHERWISE_UNREACHED, WARNING, "no packet comes to it, as policy \"%s\" takes all")       \
	X(DUPLICATE_MATCH, EXPECTED, "", "each policy needs a unique match", "same match as %s")   \
	X(MATCHES_TOO_MANY, EXPECTED, "at most %u", "", "%" PRIu64 " matches in all")              \
	X(PAIRS_TOO_MANY, EXPECTED, "at most %u", "",                                              \
		"%" PRIu64 " pairs of a source and a destination")                                 \
	X(FAMILIES_DIFFER, EXPECTED, "", "both must be of the same family",                        \
		"src is IPv%u but dst is IPv%u")                                                   \
	/* Meters, shaping and trials. */                                                          \
	X(WINDOW_NEVER_WHOLE, EXPECTED,                                                            \
		"a whole number in a day, the longest window, for this meter")                     \
	X(WINDOW_NOT_WHOLE, EXPECTED,                                                              \
		"a time in which the limit is a whole number, such as \"%s\"")                     \
	X(WINDOW_MISSING, EXPECTED, "a time such as \"1s\" for this meter")                        \
	X(NOT_WITH_SHAPE, EXPECTED, "%s with the action \"shape\"")                                \
	X(TARGET_ABOVE_INTERVAL, EXPECTED, "less than the interval")                               \
	X(TARGET_ABOVE_DELAY, EXPECTED, "less than the delay")                                     \
	X(ALLOCATOR_EXCLUDES_SHAPE, EXCLUDES, "\"action\": \"shape\"", "choose another allocator") \
	X(POOL_RANGE, EXPECTED, "a share from \"%u%%\" to \"%u%%\"")                               \
	X(TRIAL_METER, EXPECTED, "%s %s")                                                          \
	/* Schedules. */                                                                           \
	X(SCHEDULE_BURST, EXCLUDES, "\"meter\": \"%s\"", "remove \"burst\"")                       \
	X(SCHEDULE_TIME, EXPECTED,                                                                 \
		"a number in the time of the policy's limit: its parts are whole")                 \
	X(SCHEDULE_WINDOW, EXPECTED, "a whole number in the \"window\" of the policy")             \
	X(WRONG_DAYS, EXPECTED, "weekdays such as \"mon-fri\", \"sat,sun\" or \"daily\"")          \
	X(WRONG_TIME_OF_DAY, EXPECTED, "a time of day from \"00:00\" to \"24:00\"")                \
	X(FROM_NEXT_DAY, EXPECTED, "\"00:00\", of the next day")                                   \
	X(TIMES_EQUAL, EXPECTED, "another time than \"from\"",                                     \
		"a whole day is \"00:00\" to \"24:00\"")                                           \
	X(SCHEDULE_TYPE, EXPECTED, "an array of 1 to %d times of day and their limits")            \
	X(WRONG_ZONE, EXPECTED, "a time zone such as \"Europe/Berlin\" or \"UTC\"")                \
	X(SCHEDULE_OVERLAP, EXPECTED, "", "change the days or the times of one of them",           \
		"overlaps entries[%u] on %s")                                                      \
	/* Hierarchies. */                                                                         \
	X(WRONG_PARENT, EXPECTED, "the name of another policy", "%s")                              \
	X(BELOW_CHILDREN, EXPECTED, "at least %s, the sum of its children's \"guaranteed\"")       \
	X(NOT_IN_HIERARCHY, EXCLUDES, "%s", "%s")                                                  \
	X(PARENT_IS_QUOTA, EXCLUDES, "a parent that is a quota, which has no rate to share",       \
		"remove one of the two")                                                           \
	X(UNLIKE_PARENT, EXPECTED, "the same as its parent \"%s\"")                                \
	X(NOT_TIME_OF_PARENT, EXPECTED, "a rate in the time of its parent \"%s\"")                 \
	X(GUARANTEED_ABOVE_LIMIT, EXPECTED, "at most its limit, %s")                               \
	X(NOT_TIME_OF_POLICY, EXPECTED, "a rate in the time of the policy's limit")                \
	X(BELOW_GUARANTEED, EXPECTED, "at least the guaranteed rate, %s")                          \
	X(LIMIT_ABOVE_PARENT, WARNING,                                                             \
		"more than the limit of its parent \"%s\": the parent's limit holds")              \
	X(PARENT_TOO_DEEP, EXPECTED,                                                               \
		"a policy with at most %d above it: there are at most %d levels")                  \
	X(PARENT_BELOW, EXPECTED, "a policy that is not below this one")                           \
	X(BELOW_QUOTA, EXCLUDES, "%s below the quota \"%s\"",                                      \
		"choose a parent without a quota above it")                                        \
	/* Warnings about valid configurations. */                                                 \
	X(SHAPE_FEW_BUFFERS, WARNING,                                                              \
		"%" PRIu32 " packets may wait, %s, not one on each of %u workers: each lets one "  \
		"wait all the same")                                                               \
	X(SHAPE_QUEUES_LARGER, WARNING,                                                            \
		"%" PRIu32 " packets may wait on each worker, %s, fewer than the %" PRIu64         \
		" of %d bytes that its queues together have room for")                             \
	X(BURST_BELOW_FRAME, WARNING,                                                              \
		"less than %" PRIu64 " bytes, so the largest frames never pass")                   \
	X(BURST_PART_BELOW_FRAME, WARNING,                                                         \
		"its part at each of %u limiters is less than %" PRIu64                            \
		" bytes, so the largest frames pass only where more of the limit is")              \
	X(BURST_BELOW_TCP, WARNING,                                                                \
		"less than TCP needs to reach the limit over a short round trip, because "         \
		"it waits 200 ms after the loss of its last packet: %s is enough")                 \
	X(BURST_PART_BELOW_TCP, WARNING,                                                           \
		"its part at each of %u limiters is less than %d of the largest frames, "          \
		"so TCP stops there where it should slow down: %s is enough")                      \
	X(BURST_PART_BELOW_ONE, WARNING,                                                           \
		"less than one for each of %u limiters: nothing passes where it is none")          \
	X(MTU_UNEVEN, WARNING,                                                                     \
		"%s has an MTU of %u and %s one of %u: packets that are too large for "            \
		"the other end are dropped, and their senders get no ICMP message")                \
	X(NO_WIRES, WARNING, "no packet is forwarded without a wire")                              \
	X(PORT_UNUSED, WARNING, "in no wire, so it is not used")                                   \
	X(UNPARSED_PASSES, WARNING,                                                                \
		"senders who fragment their packets are not limited by ports, protocol "           \
		"or new flows")                                                                    \
	X(CONTROL_SHARES_CPU, WARNING,                                                             \
		"control has this CPU too, and a polling worker leaves it little")                 \
	X(ESTIMATOR_BY_SIZE, WARNING,                                                              \
		"another one than the running limiters have, if their files name fewer",           \
		"write \"estimator\": theirs, or \"tree\" in a new group",                         \
		"\"tree\", the default for %u limiters")                                           \
	X(GOSSIP_INSECURE, WARNING,                                                                \
		"gossip is not encrypted: any host that can send to this limiter can "             \
		"change its limits")                                                               \
	X(TIMEOUT_SHORT, WARNING,                                                                  \
		"less than %d intervals of %s: a late message makes a peer lost")                  \
	X(PEER_LOOPBACK, WARNING,                                                                  \
		"only this machine reaches it, and this limiter is at an address of the "          \
		"network: they do not reach each other")                                           \
	X(SOCKET_RELATIVE, WARNING,                                                                \
		"below the directory in which weir happens to be started: weirctl finds "          \
		"it by a whole path")                                                              \
	X(WINDOW_DIVIDED, WARNING,                                                                 \
		"%" PRIu64                                                                         \
		" in a window, of which each worker of %u limiters lets one pass, %" PRIu64        \
		" in all: a token bucket divides it exactly")                                      \
	X(WINDOW_BELOW_FRAME, WARNING,                                                             \
		"the limit is %" PRIu64 " bytes in it, less than %" PRIu64                         \
		", so the largest frames never pass")                                              \
	X(PER_OF_WORKERS, WARNING,                                                                 \
		"a source whose flows are spread over %u workers may get up to %u times "          \
		"its limit")                                                                       \
	X(HARD_OF_WORKERS, WARNING,                                                                \
		"each of %u workers has an even part of it, at any load: workers share "           \
		"only limits that drop and count bytes")                                           \
	X(NO_POLICIES, WARNING, "every packet passes without a policy")                            \
	X(GTB_UNFAIR, WARNING,                                                                     \
		"for comparison with papers: its parts of the limit are unfair, and "              \
		"large groups exceed the limit; \"fps\" does not")                                 \
	X(GRD_LATE, WARNING, "\"grd\" exceeds the limit if its demand is older than 100ms",        \
		"use \"50ms\"")                                                                    \
	X(GRD_OSCILLATES, WARNING, "\"grd\" oscillates in so large a group and exceeds the limit", \
		"use 0.75 or more, or \"fps\"")                                                    \
	/* Found on this machine by weir. */                                                       \
	X(NOT_ON_MACHINE, WARNING, "not on this machine, where a start would fail", "%s")          \
	/* Compared with the members in the state directory. */                                    \
	X(MEMBER_MISSING, WARNING, "a member of the group, and missing here",                      \
		"add it: a limiter without its state directory begins with this roster",           \
		"limiter %s")                                                                      \
	X(MEMBER_ENDED, WARNING, "removed from the group",                                         \
		"remove it here, or add it again: weirctl group add", "limiter %s")                \
	X(MEMBER_MOVED, WARNING, "in the group it has the address %s, which prevails",             \
		"write that address", "limiter %s")                                                \
	X(MEMBERS_UNREADABLE, WARNING, "the members cannot be read",                               \
		"correct the directory; without the members a start uses this roster", "%s: %s")   \
	X(ROUTING_DROPPED, WARNING,                                                                \
		"drops ARP, LACP, spanning tree, IS-IS and routing protocols beyond its "          \
		"limit",                                                                           \
		"set \"src\": [\"0.0.0.0/0\", \"::/0\"], and add a policy for routing")            \
	X(FILE_UNTRUSTED, WARNING, "a start or a reload refuses it", "%s", "%s: %s")

CONFIG_MESSAGES(MESSAGE_DECLARE)

/* Prints all messages, also those about any document, as a table in Markdown. */
void config_print_messages(FILE *out);

#endif
