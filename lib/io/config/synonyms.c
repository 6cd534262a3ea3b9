/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Words of tc, nftables, Cisco, Junos, Envoy, LibreQoS and the RFCs for the keys and values of a
 * configuration. One table an object, with the most used keys first.
 * Words are compared without case, "_" and "-". A test holds every table against the schema.
 */
#include "config/synonyms.h"

#include <stddef.h>

#define MANUAL "doc/operate/configuration.md"

static const struct vocabulary_entry root_keys[] = {
	{"limiter", "node hostname instance id nodeid name"},
	{"ports", "interfaces ifaces nics devices netdevs interface"},
	{"wires", "links bridges pairs bridge inline bumps circuits link"},
	{"policies", "rules limits classes shapers limiters services policy rule policer "
		     "policers meters"},
	{"workers", "cores lcores cpus threads cpulist corelist workerthreads"},
	{"gossip", "cluster group peers mesh membership swim sync"},
	{"ledger", "state storage persistence statedir consensus"},
	{"control", "admin api management cli socket listener unixsocket"},
	{"log", "logging syslog debug loglevel verbosity"},
	{"include", "import includedir confd files source load"},
	{"shadow", "dryrun monitoronly observe testmode simulate auditonly"},
	{"idle", "polling pollmode busypoll interruptmode idlemode sleep"},
	{"shape", "shaping buffering queueing"},
	{"tunnels", "encapsulation gre vxlan decap overlays"},
	{"unparsed", "malformed unknown unclassified invalid"},
	{"on_refused", "oninvalid fallback lastgood onerror"},
	{"eal", "dpdk ealargs dpdkargs extraargs ealoptions dpdkoptions"},
	{0},
};

static const struct vocabulary_entry port_keys[] = {
	{"device", "pci dev interface iface ifname address netdev bdf"},
	{"mtu", "maxframe framesize maxpacketsize jumbo l2mtu maximumtransmissionunit"},
	{"queues", "rxqueues rxq channels combined rings numqueues"},
	{"buffers", "mbufs numbufs nbmbuf mempoolsize descriptors bufs"},
	{"buffer_size", "mbufsize bufsize dataroom segmentsize"},
	{"offloads", "gro lro tso ethtool features"},
	{"generic", "skb skbmode xdpmode xdpgeneric native"},
	{0},
};

static const struct vocabulary_entry wire_keys[] = {
	{"name", "id label title wirename"},
	{"a", "left inside lan port1 from first access in"},
	{"b", "right outside wan port2 to second uplink out"},
	{"link", "linkloss linkstate llf linkfault losspropagation"},
	{"default", "fallback catchall otherwise defaultaction defaultpolicy unmatched"},
	{"fail", "failopen failclosed bypass failmode onfailure failsafe"},
	{"fail_after", "failtimeout bypassafter failovertime deadtime"},
	{"distribute", "rss spread loadbalance softrss hash rps"},
	{0},
};

static const struct vocabulary_entry default_keys[] = {
	{"policy", "name rule class"},
	{0},
};

static const struct vocabulary_entry box_shape_keys[] = {
	{"pool", "buffers memory share bufferpool"},
	{0},
};

static const struct vocabulary_entry control_keys[] = {
	{"socket", "path listen unix sock sockpath"},
	{"group", "readers gid viewers readgroup"},
	{"operators", "writers admins admingroup privileged"},
	{"cpu", "core lcore affinity maincore"},
	{"watchdog", "hangtimeout stalltimeout deadman heartbeat"},
	{0},
};

static const struct vocabulary_entry log_keys[] = {
	{"level", "severity verbosity priority loglevel minlevel"},
	{"format", "style output encoding logformat"},
	{0},
};

static const struct vocabulary_entry gossip_keys[] = {
	{"listen", "bind address bindaddr listenaddress port advertise"},
	{"roster", "peers members nodes neighbours neighbors seeds hosts servers"},
	{"key_file", "key secret psk password sharedkey keyfilename"},
	{"key_files", "keys secrets keyring rotation"},
	{"identity_file", "privatekey identity nodekey ownkey"},
	{"identities", "authentication verifypeers peerauth requireidentity"},
	{"insecure", "noauth plaintext unencrypted allowinsecure nokey"},
	{"timeout", "deadinterval suspicion failuretimeout peertimeout holdtime"},
	{"estimator", "aggregation algorithm method protocol compensate"},
	{"branching", "fanout gossipnodes degree width"},
	{"datagram", "mtu packetsize maxmessage udpsize"},
	{"sources", "allowfrom acl permitfrom acceptfrom"},
	{"differs_alarm", "mismatchalarm driftalarm configmismatch"},
	{"overshoot_alarm", "exceedalarm overlimitalarm overrun"},
	{"loans", "lend lending borrow borrowing tokenloans"},
	{0},
};

static const struct vocabulary_entry peer_keys[] = {
	{"name", "id node hostname limiter"},
	{"address", "ip addr host endpoint hostport peeraddress"},
	{"public_key", "pubkey key identity"},
	{0},
};

static const struct vocabulary_entry ledger_keys[] = {
	{"store", "path dir directory datadir file statedir"},
	{"lease", "ttl leasetime hold leaseduration"},
	{"promise", "reserve backup reservation percent share"},
	{"drift", "clockskew skew ppm clockdrift"},
	{"overlay", "topology graph mesh neighbours neighbors"},
	{"tree", "hierarchy aggregation spanningtree"},
	{"etcd", "kv consensus raft backend consul"},
	{0},
};

static const struct vocabulary_entry overlay_keys[] = {
	{"degree", "neighbours neighbors fanout peers"},
	{"edges", "links pairs adjacency"},
	{0},
};

static const struct vocabulary_entry tree_keys[] = {
	{"degree", "fanout branching children arity"},
	{0},
};

static const struct vocabulary_entry etcd_keys[] = {
	{"endpoints", "urls servers hosts url addresses"},
	{"prefix", "path root namespace keyprefix"},
	{"ca", "cacert cafile trustedca cacertificate"},
	{"cert", "certificate clientcert certfile"},
	{"key", "privatekey keyfile clientkey pem"},
	{"user", "username login account"},
	{"password_file", "password passwd passwordpath secret pass"},
	{"insecure", "plaintext skipverify noverify tlsskipverify http"},
	{0},
};

static const struct vocabulary_entry tunnels_keys[] = {
	{"classify", "headers inspect match decap mode"},
	{"vxlan-port", "udpport port vxlan vxlandstport"},
	{0},
};

static const struct vocabulary_entry policy_keys[] = {
	{"name", "id label title class classid policyname"},
	{"match", "filter selector from criteria classifier when conditions flowspec"},
	{"limit", "rate bandwidth speed cir maxrate throughput ceiling bps downloadmax "
		  "committedrate ceil mir policerate"},
	{"burst", "bucket cbs burstsize depth bucketsize bc capacity maxtokens committedburst"},
	{"action", "exceed exceedaction onexceed verdict then police enforcement violateaction "
		   "policing"},
	{"parent", "parentid inherits within above root group parentnode"},
	{"allocator", "distribution algorithm divide sharing split strategy scope"},
	{"meter", "policer limiter tokenbucket metering ratelimiter buckettype"},
	{"count", "unit units measure basis countby pps"},
	{"per", "key perhost perip groupby descriptor persource srcip perclient mask"},
	{"sources", "maxsources tablesize hosts sourcetable maxhosts maxentries"},
	{"total", "quota cap volume allowance datacap budget bytelimit"},
	{"period", "reset cycle renewal billingcycle every resetinterval refill"},
	{"weight", "priority share prio quantum ratio"},
	{"guaranteed", "min minrate rtrate reserved downloadmin assured minbandwidth commit"},
	{"guarantee", "consistency strict hard mode hardlimit"},
	{"schedule", "timeofday hours timetable times timerange calendar"},
	{"shape", "queueing aqm shaping fqcodel cake"},
	{"slo", "latency objective target latencytarget"},
	{"mark", "setdscp tos dscpmark remark setmark"},
	{"peak", "pir pbs peakrate eir maximumrate"},
	{"excess", "ebs be excessburst excessrate"},
	{"colours", "color conform colormode tricolor coloring"},
	{"classes", "fairness fair flows subqueues fairqueueing sfq"},
	{"window", "windowsize timewindow slidingwindow fixedwindow"},
	{"trial", "test shadow dryrun experiment canary"},
	{"accounting", "overhead linklayer framing layer"},
	{"interval", "updateinterval epoch tick refresh syncinterval"},
	{"ewma", "smoothing decay alpha average"},
	{"weigh", "flowweighting evidence tcponly demand"},
	{"indicator", "metric signal balance criterion"},
	{"eta", "gain stepsize learningrate"},
	{"history", "lookback memory past samples"},
	{"step", "granularity resolution slot"},
	{"place", "steering placement affinity pinning distribute"},
	{0},
};

static const struct vocabulary_entry match_keys[] = {
	{"src", "source cidr prefix saddr srcip sourceaddress from srcaddress ip subnet sourceip"},
	{"dst", "destination cidr prefix daddr dstip destinationaddress to dstaddress ip subnet "
		"destinationip"},
	{"proto", "protocol ipprotocol l4proto nexthdr ipproto"},
	{"dst-port", "dport port destinationport toport"},
	{"src-port", "sport port sourceport fromport"},
	{"vlan", "vid vlanid tag dot1q"},
	{"dscp", "tos trafficclass qos diffserv codepoint"},
	{"wire", "link interface port circuit oif iif"},
	{"direction", "dir way flow inout updown"},
	{0},
};

static const struct vocabulary_entry trial_keys[] = {
	{"limit", "rate bandwidth speed cir maxrate"},
	{"burst", "bucket cbs burstsize depth"},
	{"meter", "policer limiter tokenbucket algorithm"},
	{"window", "windowsize timewindow slidingwindow"},
	{"classes", "fairness fair flows fairqueueing"},
	{0},
};

static const struct vocabulary_entry rate_keys[] = {
	{"limit", "rate pir bandwidth speed cir eir maxrate peakrate"},
	{"burst", "pbs ebs bucket burstsize depth"},
	{0},
};

static const struct vocabulary_entry colours_keys[] = {
	{"green", "conform conforming conformaction ok committed"},
	{"yellow", "exceed exceeding exceedaction amber"},
	{"red", "violate violating violateaction nonconforming"},
	{"aware", "coloraware colouraware colormode mode"},
	{"dscp", "map dscpmap classes codepoints"},
	{0},
};

static const struct vocabulary_entry mark_keys[] = {
	{"mark", "dscp setdscp remark tos"},
	{0},
};

static const struct vocabulary_entry classes_keys[] = {
	{"by", "key type hash classifier mode"},
	{"n", "count number queues buckets size flows"},
	{"weights", "shares quantum priorities ratios dscp"},
	{0},
};

static const struct vocabulary_entry schedule_keys[] = {
	{"zone", "timezone tz tzname location"},
	{"entries", "times rules hours list ranges slots"},
	{0},
};

static const struct vocabulary_entry entry_keys[] = {
	{"limit", "rate bandwidth speed cir maxrate"},
	{"burst", "bucket cbs burstsize depth"},
	{"from", "start begin since starttime"},
	{"to", "end until stop till endtime"},
	{"days", "weekdays dow weekday"},
	{0},
};

static const struct vocabulary_entry shape_keys[] = {
	{"delay", "latency maxdelay maxlatency wait buffer"},
	{"queue", "limit depth queuesize qlen queuelimit backlog"},
	{"drop", "aqm dropper algorithm discipline discard"},
	{"target", "codeltarget sojourn goal"},
	{"interval", "codelinterval period window"},
	{"ecn", "marking congestion cemark"},
	{0},
};

static const struct vocabulary_entry slo_keys[] = {
	{"p99", "latency delay percentile target tail"},
	{0},
};

static const struct vocabulary_entry place_keys[] = {
	{"key", "mask prefix groupby hash"},
	{"round", "interval period every rebalance"},
	{"concentrate", "pack consolidate fewest binpack"},
	{"max-min", "fair fairness maxminfair"},
	{"correlate", "antiaffinity burstcorrelation spread"},
	{0},
};

static const struct vocabulary_entry unparsed_values[] = {
	{"strict", "strictest"},
	{"drop", "deny discard reject block"},
	{"pass", "accept allow permit forward"},
	{0},
};

static const struct vocabulary_entry idle_values[] = {
	{"poll", "busy spin busypoll"},
	{"sleep", "interrupt wait block"},
	{0},
};

static const struct vocabulary_entry on_refused_values[] = {
	{"last-good", "previous keep fallback"},
	{"stop", "exit fail abort"},
	{0},
};

static const struct vocabulary_entry level_values[] = {
	{"error", "err critical crit fatal"},
	{"warning", "warn"},
	{"info", "notice information"},
	{"debug", "trace verbose"},
	{0},
};

static const struct vocabulary_entry format_values[] = {
	{"text", "plain console"},
	{"json", "structured"},
	{0},
};

static const struct vocabulary_entry offloads_values[] = {
	{"fix", "off disable"},
	{"refuse", "reject fail"},
	{"ignore", "keep allow warn"},
	{0},
};

static const struct vocabulary_entry link_values[] = {
	{"keep", "ignore up stay"},
	{"follow", "propagate down llf mirror"},
	{0},
};

static const struct vocabulary_entry default_values[] = {
	{"pass", "accept allow permit forward"},
	{"drop", "deny discard reject block"},
	{0},
};

static const struct vocabulary_entry fail_values[] = {
	{"closed", "drop block"},
	{"wire", "open bypass pass"},
	{"last-limits", "hold"},
	{0},
};

static const struct vocabulary_entry estimator_values[] = {
	{"state", "full fullstate"},
	{"tree", "hierarchical"},
	{0},
};

static const struct vocabulary_entry identities_values[] = {
	{"required", "strict mandatory"},
	{"optional", "permissive"},
	{0},
};

static const struct vocabulary_entry sources_values[] = {
	{"roster", "strict peers"},
	{"any", "all"},
	{0},
};

static const struct vocabulary_entry classify_values[] = {
	{"outer", "underlay transport"},
	{"inner", "payload decap"},
	{0},
};

static const struct vocabulary_entry direction_values[] = {
	{"a-to-b", "ab forward"},
	{"b-to-a", "ba reverse"},
	{0},
};

static const struct vocabulary_entry count_values[] = {
	{"bytes", "bits octets octet"},
	{"packets", "pps frames pkts"},
	{"flows", "connections sessions conns"},
	{0},
};

static const struct vocabulary_entry allocator_values[] = {
	{"central", "local single none"},
	{"static", "equal fixed even"},
	{"fps", "proportional fair"},
	{"quota", "total volume cap"},
	{0},
};

static const struct vocabulary_entry meter_values[] = {
	{"token-bucket", "tbf tb htb bucket leaky leakybucket"},
	{"gcra", "vsa"},
	{"fixed-window", "fixed window"},
	{"hybrid", "slidingwindow sliding"},
	{"random-drop", "red random"},
	{"phantom", "fair fq phantomqueue"},
	{"srtcm", "rfc2697 singlerate"},
	{"trtcm", "rfc2698 tworate"},
	{"trtcm-4115", "rfc4115"},
	{0},
};

static const struct vocabulary_entry trial_meter_values[] = {
	{"token-bucket", "tbf tb htb bucket leaky leakybucket"},
	{"gcra", "vsa"},
	{"fixed-window", "fixed window"},
	{"hybrid", "slidingwindow sliding"},
	{"phantom", "fair fq phantomqueue"},
	{0},
};

static const struct vocabulary_entry period_values[] = {
	{"none", "never once prepaid forever"},
	{"month", "monthly calendar"},
	{0},
};

static const struct vocabulary_entry guarantee_values[] = {
	{"soft", "eventual besteffort"},
	{"conserved", "hard strict strong"},
	{0},
};

static const struct vocabulary_entry weigh_values[] = {
	{"all", "any every"},
	{"tcp", "tcponly"},
	{0},
};

static const struct vocabulary_entry action_values[] = {
	{"drop", "police discard deny reject block"},
	{"mark", "remark setdscp dscp ecn"},
	{"count", "pass accept allow permit none monitor observe"},
	{"shape", "delay queue buffer wait"},
	{0},
};

static const struct vocabulary_entry accounting_values[] = {
	{"l3", "ip network"},
	{"l2", "ethernet frame"},
	{"wire", "l1 line physical"},
	{0},
};

static const struct vocabulary_entry by_values[] = {
	{"flow", "tuple 5tuple fivetuple connection"},
	{"dscp", "tos class diffserv"},
	{0},
};

static const struct vocabulary_entry drop_values[] = {
	{"tail", "fifo taildrop droptail"},
	{"codel", "fqcodel aqm"},
	{0},
};

static const struct vocabulary_entry colour_action_values[] = {
	{"pass", "accept allow permit transmit"},
	{"drop", "deny discard"},
	{"count", "monitor"},
	{0},
};

static const struct vocabulary_object objects[] = {
	{"", root_keys, "The file"},
	{"ports.NAME", port_keys, "Ports and wires"},
	{"wires[]", wire_keys, "Ports and wires"},
	{"wires[].default", default_keys, "Ports and wires"},
	{"shape", box_shape_keys, "Shape"},
	{"control", control_keys, "Control"},
	{"log", log_keys, "Log"},
	{"gossip", gossip_keys, "Gossip"},
	{"gossip.roster[]", peer_keys, "Gossip"},
	{"ledger", ledger_keys, "Ledger"},
	{"ledger.overlay", overlay_keys, "Ledger"},
	{"ledger.tree", tree_keys, "Ledger"},
	{"ledger.etcd", etcd_keys, "Ledger"},
	{"tunnels", tunnels_keys, "What of a packet is looked at"},
	{"policies[]", policy_keys, "Policies"},
	{"policies[].match", match_keys, "Match"},
	{"policies[].trial", trial_keys, "Trial"},
	{"policies[].trial.classes", classes_keys, "Classes"},
	{"policies[].peak", rate_keys, "Colours"},
	{"policies[].excess", rate_keys, "Colours"},
	{"policies[].colours", colours_keys, "Colours"},
	{"policies[].colours.green", mark_keys, "Colours"},
	{"policies[].colours.yellow", mark_keys, "Colours"},
	{"policies[].colours.red", mark_keys, "Colours"},
	{"policies[].classes", classes_keys, "Classes"},
	{"policies[].schedule", schedule_keys, "Times of day"},
	{"policies[].schedule.entries[]", entry_keys, "Times of day"},
	{"policies[].shape", shape_keys, "Shape"},
	{"policies[].slo", slo_keys, "Shape"},
	{"policies[].place", place_keys, "Place"},
	{0},
};

static const struct vocabulary_object values[] = {
	{"unparsed", unparsed_values, NULL},
	{"idle", idle_values, NULL},
	{"on_refused", on_refused_values, NULL},
	{"log.level", level_values, NULL},
	{"log.format", format_values, NULL},
	{"ports.NAME.offloads", offloads_values, NULL},
	{"wires[].link", link_values, NULL},
	{"wires[].default", default_values, NULL},
	{"wires[].fail", fail_values, NULL},
	{"gossip.estimator", estimator_values, NULL},
	{"gossip.identities", identities_values, NULL},
	{"gossip.sources", sources_values, NULL},
	{"tunnels.classify", classify_values, NULL},
	{"policies[].match.direction", direction_values, NULL},
	{"policies[].count", count_values, NULL},
	{"policies[].allocator", allocator_values, NULL},
	{"policies[].meter", meter_values, NULL},
	{"policies[].trial.meter", trial_meter_values, NULL},
	{"policies[].period", period_values, NULL},
	{"policies[].guarantee", guarantee_values, NULL},
	{"policies[].weigh", weigh_values, NULL},
	{"policies[].action", action_values, NULL},
	{"policies[].accounting", accounting_values, NULL},
	{"policies[].classes.by", by_values, NULL},
	{"policies[].trial.classes.by", by_values, NULL},
	{"policies[].shape.drop", drop_values, NULL},
	{"policies[].colours.green", colour_action_values, NULL},
	{"policies[].colours.yellow", colour_action_values, NULL},
	{"policies[].colours.red", colour_action_values, NULL},
	{0},
};

const struct vocabulary config_vocabulary = {MANUAL, objects, values};
