/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The only list of the numbers of a policy: one row is one number. The replies of /weir/policy and
 * /weir/policy_stats, the metrics of weir-exporter, the labels and columns of weirctl and the
 * tables of the manual are made from it. A row is
 *
 *	X(stem, unit, kind, applies, shown, path, zero, label, head, value, help)
 *
 * Each argument is a column, so a row without one does not compile.
 *
 *   stem     the first part of the name; the unit adds the rest (NUMBER_UNITS_TABLE)
 *   kind     GAUGE, COUNTER, INFO (a metric that is 1 and has the text as a label), or TEXT
 *   applies  the policies that have the number (NUMBER_APPLIES_TABLE)
 *   shown    ALL: in /weir/policy, as a column of /weir/policy_stats, and as a metric;
 *            COLUMN: the same without the metric; METRIC: a column and a metric;
 *            DETAIL: in /weir/policy alone; GIVEN: there too, and other code writes the value
 *   path     the place in /weir/policy: objects and a member, to which the unit adds its suffix.
 *            "*" is the unit: "passed.*" is passed.bytes or passed.flows
 *   zero     SHOWN, or HIDDEN: `weirctl policy` leaves the row out while the number is 0
 *   label    in `weirctl policy`; "": not there
 *   head     of the column in lists of weirctl; "": no list has it
 *   value    how the limiter reads it from its struct policy_now (app/weir/telemetry/policy_now.h)
 *   help     one sentence for the metric and the manual
 *
 * The order is that of `weirctl policy`.
 */
#ifndef WEIR_NUMBERS_NUMBER_TABLE_H
#define WEIR_NUMBERS_NUMBER_TABLE_H

/*
 * X(unit, suffix of the column, words). In /weir/policy, rates of bytes are in bit/s and end in
 * "_bps". Other rates end in "_per_s". A UNITS number of a policy that counts bytes ends in
 * "_bytes".
 */
#define NUMBER_UNITS_TABLE(X)                                                                \
	X(RATE, "_per_s", "bytes, packets or flows a second; in /weir/policy bits a second") \
	X(UNITS, "_units", "bytes, packets or flows")                                        \
	X(VOLUME, "_units", "bytes or flows; a policy that counts packets has only packets") \
	X(PACKETS, "_packets", "packets")                                                    \
	X(BYTES, "_bytes", "bytes")                                                          \
	X(COUNT, "", "number")                                                               \
	X(REAL, "", "number")                                                                \
	X(RATIO, "_ratio", "part of 1")                                                      \
	X(US, "_us", "microseconds")                                                         \
	X(MS, "_ms", "milliseconds")                                                         \
	X(SECONDS, "_s", "seconds")                                                          \
	X(FLAG, "", "true or false")                                                         \
	X(TEXT, "", "text")                                                                  \
	X(OTHER, "", "text or object")

/* X(applies, condition, words): the limiter has such numbers of a policy if the condition holds. */
#define NUMBER_APPLIES_TABLE(X)                                                                    \
	X(ALWAYS, true, "all policies")                                                            \
	X(LIMITED, now->policy->limit_bps != 0, "policies with a limit")                           \
	X(TIMED, now->timed.by != TIMED_PLAIN,                                                     \
		"policies with another limit than the configured one")                             \
	X(GROUP, policy_is_published(now->inst->policies, now->index),                             \
		"policies whose demand peers exchange")                                            \
	X(BELOW, policy_has_parent(now->policy), "policies with a parent")                         \
	X(OVERSHOOT, now->over.known,                                                              \
		"soft limits with peers, except with the estimator \"tree\"")                      \
	X(FALLBACK, now->policy->allocator->counts_units, "policies with the allocator \"quota\"") \
	X(QUOTA, now->has_total, "policies with the allocator \"quota\"")                          \
	X(QUOTA_KNOWN, now->total.known, "quotas, after the first reports of the period")          \
	X(COLOURED, policy_is_coloured(now->policy), "policies with colours")                      \
	X(PEAK, policy_is_coloured(now->policy) && meter_can(now->policy->meter, METER_PEAK),      \
		"policies with a peak")                                                            \
	X(EXCESS, policy_is_coloured(now->policy) && !meter_can(now->policy->meter, METER_PEAK),   \
		"policies with an excess")                                                         \
	X(LOANS, policy_lends(now->policy, now->inst->config->gossip.loans),                       \
		"policies that take part in loans")                                                \
	X(SOURCES, now->sources.capacity != 0, "policies with a limit for each source")            \
	X(CLASSES, now->policy->meter == METER_PHANTOM, "policies with the meter \"phantom\"")     \
	X(SHAPED, policy_is_shaped(now->policy), "policies with the action \"shape\"")             \
	X(DELAYED, now->left != 0,                                                                 \
		"policies with the action \"shape\", after the first packet left")                 \
	X(OBJECTIVE, policy_is_shaped(now->policy) && now->policy->slo_p99_ns != 0,                \
		"policies with the key \"slo\"")                                                   \
	X(TRIAL, now->tried, "policies with a trial")

#define POLICY_NUMBERS(X)                                                                          \
	/* The configuration. */                                                                   \
	X(name, TEXT, TEXT, ALWAYS, COLUMN, "name", SHOWN, "policy", "POLICY", now->policy->name,  \
		"Name of the policy")                                                              \
	X(match, OTHER, TEXT, ALWAYS, GIVEN, "match", SHOWN, "match", "", 0, "The first match")    \
	X(matches, OTHER, TEXT, ALWAYS, GIVEN, "matches", SHOWN, "matches", "", 0,                 \
		"Number of matches, if there are several")                                         \
	X(allocator, TEXT, TEXT, ALWAYS, COLUMN, "allocator", SHOWN, "allocator", "ALLOCATOR",     \
		now->policy->allocator->name, "Name of the allocator")                             \
	X(guarantee, TEXT, TEXT, ALWAYS, DETAIL, "guarantee", SHOWN, "guarantee", "",              \
		now_guarantee(now), "`soft` or `hard`; null for a quota")                          \
	X(meter, TEXT, TEXT, ALWAYS, DETAIL, "meter", SHOWN, "meter", "",                          \
		meter_name(now->policy->meter), "Name of the meter")                               \
	X(count, TEXT, TEXT, ALWAYS, COLUMN, "count", SHOWN, "counts", "",                         \
		show_counting(now->policy->count), "`bytes`, `packets` or `flows`")                \
	X(accounting, TEXT, TEXT, ALWAYS, DETAIL, "accounting", SHOWN, "accounting", "",           \
		accounting_name(now->policy->accounting), "Bytes of a frame that count")           \
	X(per, OTHER, TEXT, ALWAYS, GIVEN, "per", SHOWN, "limit per", "", 0,                       \
		"Sources with a limit of their own, or null")                                      \
	X(action, TEXT, TEXT, ALWAYS, DETAIL, "action", SHOWN, "action", "",                       \
		show_action(now->policy->action), "Action for exceeding packets")                  \
	X(mark, OTHER, TEXT, ALWAYS, GIVEN, "mark", SHOWN, "mark", "", 0,                          \
		"DSCP or `ecn` with the action `mark`, or null")                                   \
	X(exceeding, TEXT, TEXT, ALWAYS, COLUMN, "", SHOWN, "", "",                                \
		show_action(show_exceeding(now->policy)),                                          \
		"Action for packets beyond the peak or the excess, or beyond the limit")           \
	X(interval, MS, GAUGE, ALWAYS, DETAIL, "interval_ms", SHOWN, "update interval", "",        \
		(double)now->policy->interval_ns / MS_NS, "Interval of the allocator")             \
	/* The limit in force. */                                                                  \
	X(limit, OTHER, TEXT, ALWAYS, GIVEN, "limit", SHOWN, "", "", 0,                            \
		"Limit in force as text: `10Mbit/s`, `100/min`")                                   \
	X(limit, RATE, GAUGE, LIMITED, ALL, "limit", SHOWN, "limit", "LIMIT",                      \
		policy_rate(now->policy), "Limit of the whole group")                              \
	X(limit_by, OTHER, TEXT, ALWAYS, GIVEN, "limit_by", SHOWN, "limit source", "LIMIT SOURCE", \
		0, "Origin of the limit: `configuration`, `schedule` or `override`")               \
	X(limit_by, TEXT, TEXT, TIMED, COLUMN, "", SHOWN, "", "LIMIT SOURCE",                      \
		timed_name(now->timed.by), "Origin of the limit: `schedule` or `override`")        \
	X(limit_until, TEXT, TEXT, ALWAYS, COLUMN, "limit_until", SHOWN, "limit valid until",      \
		"UNTIL", timed_until(&now->timed, now->until),                                     \
		"End of the limit in force, or null")                                              \
	X(configured_limit, OTHER, TEXT, ALWAYS, GIVEN, "configured_limit", SHOWN,                 \
		"configured limit", "CONFIGURED", 0, "Limit of the configuration as text")         \
	X(burst, UNITS, GAUGE, ALWAYS, DETAIL, "burst", SHOWN, "burst", "",                        \
		now->policy->burst_bytes, "Burst in force")                                        \
	/* Its place in a hierarchy. */                                                            \
	X(parent, TEXT, INFO, BELOW, METRIC, "", SHOWN, "", "PARENT", now_parent(now)->name,       \
		"Parent policy, which is charged for the same packets and counts them too")        \
	X(parent_name, TEXT, TEXT, BELOW, DETAIL, "parent.name", SHOWN, "parent", "",              \
		now_parent(now)->name, "Name of the parent")                                       \
	X(parent_weight, COUNT, GAUGE, BELOW, DETAIL, "parent.weight", SHOWN, "weight in parent",  \
		"", now->policy->weight, "Weight among the children of the parent")                \
	X(guaranteed, RATE, GAUGE, BELOW, DETAIL, "parent.guaranteed", SHOWN, "guaranteed", "",    \
		policy_guaranteed(now->policy), "Guaranteed part of the limit of the parent")      \
	X(share, RATE, GAUGE, BELOW, ALL, "parent.share", SHOWN, "share of parent", "MAY HAVE",    \
		now_share(now),                                                                    \
		"Part of its parent's limit that a child policy gets now, over the whole group")   \
	X(children, COUNT, GAUGE, ALWAYS, DETAIL, "children", HIDDEN, "children", "",              \
		now->policy->children, "Number of child policies")                                 \
	/* The group, and this limiter's part. */                                                  \
	X(peers_lost, COUNT, GAUGE, GROUP, ALL, "peers_lost", HIDDEN, "peers lost", "PEERS LOST",  \
		now->view.lost, "Lost peers, whose part of the limit is unused")                   \
	X(effective_limit, RATE, GAUGE, LIMITED, DETAIL, "effective_limit", SHOWN,                 \
		"limit without lost peers", "", now->view.effective_limit,                         \
		"Limit, or share of the parent's limit, minus 1/N for each lost peer")             \
	X(local_limit, RATE, GAUGE, LIMITED, ALL, "local_limit", SHOWN, "limit here",              \
		"LIMIT HERE", now->view.local_limit,                                               \
		"Part of the limit that this limiter enforces now")                                \
	X(local_burst, UNITS, GAUGE, ALWAYS, DETAIL, "local_burst", SHOWN, "burst here", "",       \
		now->view.local_burst, "Burst that this limiter enforces now")                     \
	X(bound, RATE, GAUGE, OVERSHOOT, ALL, "overshoot.bound", SHOWN, "group enforces at most",  \
		"", now->over.bound,                                                               \
		"Largest sum of the local limits of the limiters that reported theirs")            \
	X(bound, RATIO, GAUGE, OVERSHOOT, DETAIL, "overshoot.bound_ratio", SHOWN, "", "",          \
		now->over.bound / policy_rate(now->policy),                                        \
		"The bound as a part of the limit: 1 is the limit")                                \
	X(bound_age, MS, GAUGE, OVERSHOOT, DETAIL, "overshoot.age_ms", SHOWN, "", "",              \
		(double)(now->at_ns - now->over.at_ns) / MS_NS, "Age of the bound")                \
	X(estimate, RATE, GAUGE, OVERSHOOT, ALL, "overshoot.estimate", SHOWN,                      \
		"group enforces about", "", now->over.estimate,                                    \
		"Estimate of the sum of the local limits of these limiters")                       \
	X(peers_unreported, COUNT, GAUGE, OVERSHOOT, ALL, "overshoot.peers_unreported", HIDDEN,    \
		"peers without report", "", now->over.unreported,                                  \
		"Peers without a recent report: each can enforce up to the whole limit")           \
	X(unreported, RATE, GAUGE, OVERSHOOT, DETAIL, "overshoot.unreported", HIDDEN,              \
		"they enforce at most", "", now->over.unreported_most,                             \
		"Upper bound of the rate that peers without a report enforce: the limit for each") \
	/* Demand. */                                                                              \
	X(demand, RATE, GAUGE, ALWAYS, ALL, "demand", SHOWN, "demand here", "DEMAND",              \
		now->view.demand, "Demand at this limiter")                                        \
	X(global_demand, RATE, GAUGE, GROUP, ALL, "global_demand", SHOWN, "demand of group",       \
		"GROUP DEMAND", now->view.global_demand,                                           \
		"Demand at the whole group, from the messages received so far")                    \
	X(weight, REAL, GAUGE, ALWAYS, DETAIL, "weight", SHOWN, "weight here", "",                 \
		now->view.weight,                                                                  \
		"`fps`: demand as a number of unbottlenecked flows; `adaptor`: backlog in bytes")  \
	X(global_weight, REAL, GAUGE, GROUP, DETAIL, "global_weight", SHOWN, "weight of group",    \
		"", now->view.global_weight, "The same with all active peers")                     \
	X(regime, TEXT, TEXT, ALWAYS, DETAIL, "regime", SHOWN, "regime", "",                       \
		allocate_regime_name(now->view.regime),                                            \
		"`idle`, `bottlenecked` (elsewhere) or `unbottlenecked` (some flows, here)")       \
	X(flows_sampled, COUNT, GAUGE, ALWAYS, DETAIL, "flows_sampled", HIDDEN, "flows sampled",   \
		"", now->view.flows, "Number of flows in the sample")                              \
	X(flow_rate, RATE, GAUGE, ALWAYS, DETAIL, "flow_rate", SHOWN, "per-flow rate", "",         \
		now->view.flow_rate, "Rate that counts as one unbottlenecked flow")                \
	/* Verdicts. */                                                                            \
	X(passed, PACKETS, COUNTER, ALWAYS, ALL, "passed.packets", SHOWN, "passed", "PASSED",      \
		now->totals.passed_packets, "Traffic passed, in packets")                          \
	X(passed, VOLUME, COUNTER, ALWAYS, ALL, "passed.*", SHOWN, "passed", "PASSES",             \
		now->totals.passed_bytes, "Traffic passed")                                        \
	X(over, PACKETS, COUNTER, ALWAYS, ALL, "over.packets", HIDDEN, "passed over limit",        \
		"OVER", now->totals.over_packets,                                                  \
		"Exceeding traffic passed (mark, count), in packets")                              \
	X(over, VOLUME, COUNTER, ALWAYS, ALL, "over.*", HIDDEN, "", "", now->totals.over_bytes,    \
		"Exceeding traffic passed (mark, count)")                                          \
	X(fallback, PACKETS, COUNTER, FALLBACK, ALL, "fallback.packets", HIDDEN,                   \
		"passed without quota", "", now->totals.fallback_packets,                          \
		"Packets passed although the quota did not cover them")                            \
	X(fallback, VOLUME, COUNTER, FALLBACK, COLUMN, "fallback.*", HIDDEN, "", "",               \
		now->totals.fallback_bytes, "Traffic passed although the quota did not cover it")  \
	X(dropped, PACKETS, COUNTER, ALWAYS, ALL, "dropped.packets", SHOWN, "dropped", "DROPPED",  \
		now->totals.dropped_packets, "Traffic dropped because of the limit, in packets")   \
	X(dropped, VOLUME, COUNTER, ALWAYS, ALL, "dropped.*", HIDDEN, "dropped", "DROPS",          \
		now->totals.dropped_bytes, "Traffic dropped because of the limit")                 \
	/* Colours. */                                                                             \
	X(peak, RATE, GAUGE, COLOURED, METRIC, "", SHOWN, "", "PEAK", now->peak.group,             \
		"Rate up to which packets of a policy with colours pass, over the whole group")    \
	X(local_peak, RATE, GAUGE, COLOURED, METRIC, "", SHOWN, "", "PEAK HERE", now->peak.here,   \
		"Rate up to which packets of a policy with colours pass at this limiter")          \
	X(peak_limit, RATE, GAUGE, PEAK, DETAIL, "colours.peak.limit", SHOWN, "peak", "",          \
		now->second.rate, "Peak of the whole group; null with the meter `srtcm`")          \
	X(peak_burst, UNITS, GAUGE, PEAK, DETAIL, "colours.peak.burst", SHOWN, "peak burst", "",   \
		now->second.burst, "Burst of the peak")                                            \
	X(peak_local_limit, RATE, GAUGE, PEAK, DETAIL, "colours.peak.local_limit", SHOWN,          \
		"peak here", "", now->second.local_rate, "Peak that this limiter enforces now")    \
	X(peak_local_burst, UNITS, GAUGE, PEAK, DETAIL, "colours.peak.local_burst", SHOWN, "", "", \
		now->second.local_burst, "Burst of the peak at this limiter")                      \
	X(excess_limit, RATE, GAUGE, EXCESS, DETAIL, "colours.excess.limit", SHOWN, "excess", "",  \
		now->second.rate, "Excess of the whole group; null with the meter `srtcm`")        \
	X(excess_burst, UNITS, GAUGE, EXCESS, DETAIL, "colours.excess.burst", SHOWN,               \
		"excess burst", "", now->second.burst, "Burst of the excess")                      \
	X(excess_local_limit, RATE, GAUGE, EXCESS, DETAIL, "colours.excess.local_limit", SHOWN,    \
		"excess here", "", now->second.local_rate, "Excess that this limiter allows now")  \
	X(excess_local_burst, UNITS, GAUGE, EXCESS, DETAIL, "colours.excess.local_burst", SHOWN,   \
		"", "", now->second.local_burst, "Burst of the excess at this limiter")            \
	X(colour_aware, FLAG, TEXT, COLOURED, DETAIL, "colours.aware", SHOWN, "colour-aware", "",  \
		now->policy->colours.aware, "True: the meter reads the colour of packets")         \
	X(green_action, TEXT, TEXT, COLOURED, DETAIL, "colours.green.action", SHOWN,               \
		"green action", "", now_colour_action(now, COLOUR_GREEN),                          \
		"Action for green packets")                                                        \
	X(green, PACKETS, COUNTER, COLOURED, ALL, "colours.green.packets", HIDDEN, "green", "",    \
		now->totals.colours[COLOUR_GREEN].packets,                                         \
		"Green traffic received: within the limit, in packets")                            \
	X(green, VOLUME, COUNTER, COLOURED, ALL, "colours.green.*", HIDDEN, "green", "",           \
		now->totals.colours[COLOUR_GREEN].bytes,                                           \
		"Green traffic received: within the limit")                                        \
	X(yellow_action, TEXT, TEXT, COLOURED, DETAIL, "colours.yellow.action", SHOWN,             \
		"yellow action", "", now_colour_action(now, COLOUR_YELLOW),                        \
		"Action for yellow packets")                                                       \
	X(yellow, PACKETS, COUNTER, COLOURED, ALL, "colours.yellow.packets", HIDDEN, "yellow", "", \
		now->totals.colours[COLOUR_YELLOW].packets,                                        \
		"Yellow traffic received: above the limit, within its peak or excess, in packets") \
	X(yellow, VOLUME, COUNTER, COLOURED, ALL, "colours.yellow.*", HIDDEN, "yellow", "",        \
		now->totals.colours[COLOUR_YELLOW].bytes,                                          \
		"Yellow traffic received: above the limit, within its peak or excess")             \
	X(red_action, TEXT, TEXT, COLOURED, DETAIL, "colours.red.action", SHOWN, "red action", "", \
		now_colour_action(now, COLOUR_RED), "Action for red packets")                      \
	X(red, PACKETS, COUNTER, COLOURED, ALL, "colours.red.packets", HIDDEN, "red", "",          \
		now->totals.colours[COLOUR_RED].packets,                                           \
		"Red traffic received: above both, in packets")                                    \
	X(red, VOLUME, COUNTER, COLOURED, ALL, "colours.red.*", HIDDEN, "red", "",                 \
		now->totals.colours[COLOUR_RED].bytes, "Red traffic received: above both")         \
	/* Loans, sources and classes. */                                                          \
	X(lent, BYTES, COUNTER, LOANS, DETAIL, "loans.lent_bytes", SHOWN, "lent to peers", "",     \
		now->loans.lent, "Bytes taken from this limiter's bucket for its peers")           \
	X(borrowed, BYTES, COUNTER, LOANS, DETAIL, "loans.borrowed_bytes", SHOWN, "borrowed", "",  \
		now->loans.borrowed, "Bytes from peers that were added to this limiter's bucket")  \
	X(sources_busy, COUNT, GAUGE, SOURCES, DETAIL, "sources.busy", SHOWN, "active sources",    \
		"", now->sources.sources, "Sources that have used a part of their limit")          \
	X(sources_capacity, COUNT, GAUGE, SOURCES, DETAIL, "sources.capacity", SHOWN,              \
		"source table size", "", now->sources.capacity, "Sources with room in the tables") \
	X(sources_new, COUNT, COUNTER, SOURCES, DETAIL, "sources.new", SHOWN, "", "",              \
		now->sources.new_sources, "Sources that got a place in the tables")                \
	X(sources_overflows, PACKETS, COUNTER, SOURCES, DETAIL, "sources.overflows", HIDDEN,       \
		"source table full", "", now->sources.overflows,                                   \
		"Packets of sources without a place (table full), charged to shared meters")       \
	X(sources_displaced, COUNT, COUNTER, SOURCES, DETAIL, "sources.displaced", HIDDEN,         \
		"sources evicted", "", now->sources.displaced,                                     \
		"Sources evicted from a full table")                                               \
	X(classes_by, TEXT, TEXT, CLASSES, DETAIL, "classes.by", SHOWN, "classes by", "",          \
		now->policy->classes.by == CLASSES_BY_DSCP ? "dscp" : "flow", "`flow` or `dscp`")  \
	X(classes, COUNT, GAUGE, CLASSES, DETAIL, "classes.n", SHOWN, "", "",                      \
		now->policy->classes.n, "Classes that a worker can distinguish")                   \
	X(classes_backlogged, COUNT, GAUGE, CLASSES, DETAIL, "classes.backlogged", SHOWN,          \
		"effective weight", "", now->backlogged,                                           \
		"Weight of the backlogged classes over all workers; with `flow` their number")     \
	/* The shaper. */                                                                          \
	X(waiting, PACKETS, GAUGE, SHAPED, ALL, "shape.waiting_packets", SHOWN, "waiting", "",     \
		now->waiting.packets, "Packets that wait in the shaper of the policy")             \
	X(waiting, VOLUME, GAUGE, SHAPED, DETAIL, "shape.waiting_*", HIDDEN, "waiting", "",        \
		now->waiting.units, "Traffic that waits in the shaper of the policy")              \
	X(waited, PACKETS, COUNTER, SHAPED, DETAIL, "shape.waited_packets", SHOWN, "", "",         \
		now->delays.waited, "Packets that had to wait")                                    \
	X(left, PACKETS, COUNTER, SHAPED, DETAIL, "shape.left_packets", SHOWN, "", "", now->left,  \
		"Packets that passed, immediately or later")                                       \
	X(delay_p50, US, GAUGE, DELAYED, DETAIL, "shape.delay_us.p50", SHOWN, "delay p50", "",     \
		now_delay_us(now, 0.5), "Delay that 50 % of the packets had at most")              \
	X(delay_p95, US, GAUGE, DELAYED, DETAIL, "shape.delay_us.p95", SHOWN, "delay p95", "",     \
		now_delay_us(now, 0.95), "Delay that 95 % of the packets had at most")             \
	X(delay_p99, US, GAUGE, DELAYED, DETAIL, "shape.delay_us.p99", SHOWN, "delay p99", "",     \
		now_delay_us(now, 0.99), "Delay that 99 % of the packets had at most")             \
	X(delay_p99_9, US, GAUGE, DELAYED, DETAIL, "shape.delay_us.p99_9", SHOWN, "delay p99.9",   \
		"", now_delay_us(now, 0.999), "Delay that 99.9 % of the packets had at most")      \
	X(delay_max, US, GAUGE, DELAYED, DETAIL, "shape.delay_us.max", SHOWN, "", "",              \
		now_delay_us(now, 1), "Longest delay")                                             \
	X(slo_target, US, GAUGE, OBJECTIVE, DETAIL, "slo.target_us", SHOWN, "target p99", "",      \
		(double)now->policy->slo_p99_ns / US_NS, "Objective of the configuration")         \
	X(slo_p99, US, GAUGE, OBJECTIVE, DETAIL, "slo.p99_us", SHOWN, "p99, last minute", "",      \
		now->p99_us.minute, "Delay of 99 % of the packets of the last minute")             \
	X(slo_p99_10s, US, GAUGE, OBJECTIVE, DETAIL, "slo.p99_10s_us", SHOWN, "p99, last 10 s",    \
		"", now->p99_us.moment, "Delay of 99 % of the packets of the last 10 seconds")     \
	X(slo_p99_total, US, GAUGE, OBJECTIVE, DETAIL, "slo.p99_total_us", SHOWN, "", "",          \
		now->p99_us.total, "Delay of 99 % of the packets since the policy began")          \
	X(slo_met, FLAG, TEXT, OBJECTIVE, DETAIL, "slo.met", SHOWN, "target met", "",              \
		now_slo_met(now), "True: the last minute meets the objective")                     \
	X(shape_marked, PACKETS, COUNTER, SHAPED, DETAIL, "shape.marked", HIDDEN,                  \
		"marked by CoDel", "", now->delays.marked,                                         \
		"Packets that CoDel marked \"congestion experienced\"")                            \
	X(dropped_queue_full, PACKETS, COUNTER, SHAPED, DETAIL, "shape.dropped.queue_full",        \
		HIDDEN, "dropped: queue full", "", now_dropped(now, DROP_QUEUE_FULL),              \
		"Packets dropped because the queue of the policy was full")                        \
	X(dropped_pool_full, PACKETS, COUNTER, SHAPED, DETAIL, "shape.dropped.pool_full", HIDDEN,  \
		"dropped: pool full", "", now_dropped(now, DROP_POOL_FULL),                        \
		"Packets dropped because the worker held as many packets as it can")               \
	X(dropped_codel, PACKETS, COUNTER, SHAPED, DETAIL, "shape.dropped.codel", HIDDEN,          \
		"dropped: CoDel", "", now_dropped(now, DROP_CODEL), "Packets dropped by CoDel")    \
	X(dropped_delay_exceeded, PACKETS, COUNTER, SHAPED, DETAIL,                                \
		"shape.dropped.delay_exceeded", HIDDEN, "dropped: delay exceeded", "",             \
		now_dropped(now, DROP_DELAY_EXCEEDED),                                             \
		"Packets dropped because they waited for too long")                                \
	X(dropped_stopped, PACKETS, COUNTER, SHAPED, DETAIL, "shape.dropped.stopped", HIDDEN,      \
		"dropped: queue stopped", "", now_dropped(now, DROP_STOPPED),                      \
		"Packets dropped because the queue ended")                                         \
	/* The quota: also in /weir/quota, without "quota.". */                                    \
	X(quota, UNITS, GAUGE, QUOTA, ALL, "quota.total", SHOWN, "quota", "QUOTA",                 \
		now->total.total, "Quota of this period")                                          \
	X(quota_remaining, UNITS, GAUGE, QUOTA_KNOWN, ALL, "quota.remaining", SHOWN,               \
		"quota remaining", "REMAINING", now->total.left,                                   \
		"Remaining quota of the whole group, from the messages received so far")           \
	X(quota_used, UNITS, GAUGE, QUOTA, ALL, "quota.used", SHOWN, "quota used here",            \
		"USED HERE", now->total.spent,                                                     \
		"Quota that traffic at this limiter spent in this period")                         \
	X(quota_prefetched, UNITS, GAUGE, QUOTA, ALL, "quota.prefetched", SHOWN,                   \
		"quota prefetched", "PREFETCHED", now->total.prefetched,                           \
		"Quota that this limiter took in advance for its workers, not spent yet")          \
	/* A trial, a second limit that drops nothing. */                                          \
	X(trial_limit, OTHER, TEXT, TRIAL, GIVEN, "trial.limit", SHOWN, "", "", 0,                 \
		"Limit of the trial as text")                                                      \
	X(trial_limit, RATE, GAUGE, TRIAL, ALL, "trial.limit", SHOWN, "trial: limit", "",          \
		policy_rate(&now->trial.policy),                                                   \
		"Limit of the whole group that is on trial, not enforced")                         \
	X(trial_local_limit, RATE, GAUGE, TRIAL, ALL, "trial.local_limit", SHOWN,                  \
		"trial: limit here", "TRIAL HERE", now->trial.local_limit,                         \
		"Part of the trial limit that this limiter would enforce now")                     \
	X(trial_burst, UNITS, GAUGE, TRIAL, DETAIL, "trial.burst", SHOWN, "trial: burst", "",      \
		now->trial.policy.burst_bytes, "Burst of the trial")                               \
	X(trial_local_burst, UNITS, GAUGE, TRIAL, DETAIL, "trial.local_burst", SHOWN, "", "",      \
		now->trial.local_burst, "Burst of the trial at this limiter")                      \
	X(trial_meter, TEXT, TEXT, TRIAL, DETAIL, "trial.meter", SHOWN, "trial: meter", "",        \
		meter_name(now->trial.policy.meter), "Meter of the trial")                         \
	X(trial_window, MS, GAUGE, TRIAL, DETAIL, "trial.window_ms", SHOWN, "", "",                \
		(double)now->trial.policy.window_ns / MS_NS, "Window of the trial; 0: none")       \
	X(trial_age, SECONDS, GAUGE, TRIAL, DETAIL, "trial.age_s", SHOWN, "trial: running for",    \
		"", now->trial.age_s, "Age of the counters of the trial")                          \
	X(trial_passed, PACKETS, COUNTER, TRIAL, ALL, "trial.passed.packets", SHOWN,               \
		"trial: would pass", "", now->trial.totals.passed_packets,                         \
		"Traffic that the trial limit would have passed, in packets")                      \
	X(trial_passed, VOLUME, COUNTER, TRIAL, ALL, "trial.passed.*", SHOWN, "", "WOULD PASS",    \
		now->trial.totals.passed_bytes, "Traffic that the trial limit would have passed")  \
	X(trial_dropped, PACKETS, COUNTER, TRIAL, ALL, "trial.dropped.packets", SHOWN,             \
		"trial: would drop", "", now->trial.totals.dropped_packets,                        \
		"Traffic that the trial limit would have dropped, in packets")                     \
	X(trial_dropped, VOLUME, COUNTER, TRIAL, ALL, "trial.dropped.*", HIDDEN, "trial: drop",    \
		"WOULD DROP", now->trial.totals.dropped_bytes,                                     \
		"Traffic that the trial limit would have dropped")

/*
 * Previous names, which work until the next release: X(stem, unit, kind, applies, previous stem of
 * the column, of the metric) and X(stem, unit, previous path).
 */
#define POLICY_COLUMNS_PREVIOUS(X)                                                  \
	X(quota, UNITS, GAUGE, QUOTA, "total", "budget")                            \
	X(quota_remaining, UNITS, GAUGE, QUOTA_KNOWN, "left", "budget_left")        \
	X(quota_used, UNITS, GAUGE, QUOTA, "spent", "budget_spent")                 \
	X(quota_prefetched, UNITS, GAUGE, QUOTA, "prefetched", "budget_prefetched") \
	X(peers_unreported, COUNT, GAUGE, OVERSHOOT, "peers_unheard", "peers_unheard")

#define POLICY_PATHS_PREVIOUS(X)                              \
	X(trial_passed, PACKETS, "trial.would_pass.packets")  \
	X(trial_passed, VOLUME, "trial.would_pass.*")         \
	X(trial_dropped, PACKETS, "trial.would_drop.packets") \
	X(trial_dropped, VOLUME, "trial.would_drop.*")        \
	X(peers_unreported, COUNT, "overshoot.peers_unheard") \
	X(unreported, RATE, "overshoot.unheard")

#endif
