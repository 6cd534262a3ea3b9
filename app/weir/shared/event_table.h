/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter says of itself while it runs: an event is one row, and this is the only list of
 * them. doc/operate/events.md has what `weir --events` makes of it.
 *
 * Names and fields are what operators' programs go by: neither changes its meaning. A row is
 *
 *	X(ID, level, most, ends, text)
 *
 * its name is the ID in small letters. At most so many of it are written in EVENT_WINDOW_NS, 0: all
 * of them; what is more is counted and said then. `ends`: the row of the trouble whose end this is,
 * or its own; it is written wherever that is, and both together are held to the most of that.
 * In the text {x} is the field of that name, {x:2} a number with two decimals, {x:+2} with its
 * sign.
 */
#ifndef WEIR_APP_EVENT_TABLE_H
#define WEIR_APP_EVENT_TABLE_H

#define EVENT_ROWS(X)                                                                              \
	/* The process. */                                                                         \
	X(STARTED, INFO, 0, STARTED,                                                               \
		"{version}: limiter {limiter} of {limiters}, {workers} worker(s), {policies} "     \
		"policies, {gossip}; socket {socket}")                                             \
	X(START_TOOK, INFO, 0, START_TOOK,                                                         \
		"start took {seconds:2} s: EAL {eal:2}, ports {ports:2}, all else {rest:2}")       \
	X(NOT_STARTED, ERROR, 0, NOT_STARTED,                                                      \
		"not started, because of {module}: {why}: weir --doctor CONFIG says what to type") \
	X(STOPPING, INFO, 0, STOPPING, "stopping: {signal}")                                       \
	X(STOPPED, INFO, 0, STOPPED, "stopped: every packet buffer is back in its pool")           \
	X(BUFFERS_MISSING, ERROR, 0, BUFFERS_MISSING,                                              \
		"ports.{port}: {buffers} packet buffers did not come back")                        \
	X(DRIVER, INFO, 500, DRIVER, "{said}")                                                     \
	X(STDERR, ERROR, 100, STDERR, "{said}")                                                    \
	X(LINES_HELD, WARNING, 0, LINES_HELD,                                                      \
		"{of}: {lines} more lines in {seconds} s were held back; the last: {last}")        \
	X(LINES_LOST, WARNING, 0, LINES_LOST,                                                      \
		"{lines} log lines before this one were not taken in time, and are lost")          \
	X(LOG_CHANGED, INFO, 20, LOG_CHANGED,                                                      \
		"log: level {min_level}, format {format}, by uid {uid}")                           \
	X(COMMAND_DENIED, WARNING, 20, COMMAND_DENIED,                                             \
		"control.socket: uid {uid} gave {command}, which it may not: refused ({times} of " \
		"such commands since the last line)")                                              \
	X(SOCKET_FAILED, ERROR, 0, SOCKET_FAILED, "control.socket: {path}: {why}")                 \
	/* Threads. */                                                                             \
	X(WORKER_STUCK, WARNING, 20, WORKER_STUCK,                                                 \
		"worker {worker} (CPU {cpu}) is stuck: it has not come round for {ms:0} ms")       \
	X(WORKER_CAME_ROUND, INFO, 20, WORKER_STUCK,                                               \
		"worker {worker} (CPU {cpu}) came round again after {ms:0} ms")                    \
	X(WORKER_WATCHDOG, ERROR, 0, WORKER_WATCHDOG,                                              \
		"worker {worker} (CPU {cpu}) is stuck for longer than control.watchdog: the "      \
		"process ends")                                                                    \
	X(WORKER_ABANDONED, ERROR, 0, WORKER_ABANDONED,                                            \
		"worker {worker} (CPU {cpu}) is stuck and does not end: left as it is")            \
	X(CONTROL_LATE, WARNING, 20, CONTROL_LATE, "control stood still for {seconds:1} s")        \
	X(RENEWAL_LATE, WARNING, 20, RENEWAL_LATE,                                                 \
		"control stood still: conserved limits were not renewed for {ms} ms, and workers " \
		"went by what is promised to nobody")                                              \
	X(LIMITS_ENDED, WARNING, 20, LIMITS_ENDED,                                                 \
		"worker of CPU {cpu}: its conserved limits have ended: it passes what is "         \
		"promised to nobody")                                                              \
	X(LIMITS_RENEWED, INFO, 20, LIMITS_ENDED,                                                  \
		"worker of CPU {cpu}: its conserved limits had ended, and are renewed")            \
	/* Ports. */                                                                               \
	X(LINK_DOWN, WARNING, 20, LINK_DOWN, "port {port}: link down")                             \
	X(LINK_UP, INFO, 20, LINK_DOWN, "port {port}: link up")                                    \
	X(PORT_GONE, ERROR, 0, PORT_GONE,                                                          \
		"port {port}: {device} was removed: it is out of use until a restart, whatever "   \
		"is put in its place")                                                             \
	X(LINK_TAKEN_DOWN, WARNING, 20, LINK_TAKEN_DOWN,                                           \
		"port {port}: taken down, as port {other} of wire {wire} has no link")             \
	X(LINK_BROUGHT_UP, INFO, 20, LINK_TAKEN_DOWN, "port {port}: brought up again")             \
	X(LINK_NOT_SWITCHED, ERROR, 20, LINK_NOT_SWITCHED, "port {port}: cannot be {done}: {why}") \
	X(WIRE_WAS_OPEN, WARNING, 0, WIRE_WAS_OPEN,                                                \
		"port {port}: {packets} packets ({bytes} bytes) went straight to the other port, " \
		"past every limit, before this start")                                             \
	X(WIRE_OPEN, WARNING, 20, WIRE_OPEN,                                                       \
		"port {port}: packets go straight to the other port, past every limit: a worker "  \
		"does not come round in time")                                                     \
	X(WIRE_SERVED, INFO, 20, WIRE_OPEN,                                                        \
		"port {port}: packets come by Weir again; {packets} in {seconds:1} s did not")     \
	X(PLANE_FAILED, ERROR, 0, PLANE_FAILED,                                                    \
		"the kernel does not take over what was to be decided by it: {why}")               \
	X(LINK_HANGS, ERROR, 0, LINK_HANGS,                                                        \
		"a link that was being switched hangs; what is down stays so")                     \
	X(PORT_IN_BRIDGE, WARNING, 0, PORT_IN_BRIDGE,                                              \
		"port {port}: {interface} belongs to {master}, which gets every frame too: take "  \
		"it out (ip link set {interface} nomaster)")                                       \
	X(PORT_HAS_ADDRESS, WARNING, 0, PORT_HAS_ADDRESS,                                          \
		"port {port}: {interface} has the address {address}: this machine's own stack "    \
		"answers and routes what the wire carries; an interface of a wire has no address") \
	X(OFFLOADS, WARNING, 20, OFFLOADS, "{said}")                                               \
	X(OFFLOADS_HANG, ERROR, 0, OFFLOADS_HANG,                                                  \
		"a look at offloads hangs; they stay off until the next start has ended")          \
	X(FEW_QUEUES, WARNING, 0, FEW_QUEUES,                                                      \
		"wire {wire}: it has queues for {queues} of {workers} workers; \"distribute\" "    \
		"would share them out")                                                            \
	X(QUEUES_UNUSED, WARNING, 0, QUEUES_UNUSED,                                                \
		"port {port}: many flows come, and all by {used} of its {queues} queues: its "     \
		"device spreads nothing; \"queues\": {used} for it and \"distribute\" for its "    \
		"wire share them out")                                                             \
	X(PACKETS_LOST, WARNING, 50, PACKETS_LOST, "packets are lost: {reason}: {packets} so far") \
	X(PACKETS_NOT_LOST, INFO, 50, PACKETS_LOST,                                                \
		"packets are lost no more: {reason}: it were {packets} in {seconds:0} s")          \
	/* The group. */                                                                           \
	X(PEER_LOST, WARNING, 50, PEER_LOST,                                                       \
		"peer {peer}: lost; its 1/{limiters} of each limit is not used")                   \
	X(PEER_HEARD, INFO, 50, PEER_LOST, "peer {peer}: heard")                                   \
	X(PEER_DIFFERS, WARNING, 50, PEER_DIFFERS,                                                 \
		"peer {peer}: differs: {things}; see weirctl peers")                               \
	X(PEER_AGREES, INFO, 50, PEER_DIFFERS, "peer {peer}: differs in nothing any more")         \
	X(GOSSIP_SEND_FAILED, WARNING, 20, GOSSIP_SEND_FAILED, "gossip to {peer}: {why}")          \
	X(GOSSIP_SENDS, INFO, 20, GOSSIP_SEND_FAILED,                                              \
		"gossip: for {quiet_s} s all datagrams could be sent")                             \
	X(DATAGRAMS_REFUSED, WARNING, 20, DATAGRAMS_REFUSED,                                       \
		"gossip: datagrams come that are not believed: {verdicts}; see weirctl peers")     \
	X(DATAGRAMS_QUIET, INFO, 20, DATAGRAMS_REFUSED,                                            \
		"gossip: for {quiet_s} s no more of those that are not believed; it were "         \
		"{datagrams}: {verdicts}")                                                         \
	X(GOSSIP_BUFFER_SMALL, WARNING, 0, GOSSIP_BUFFER_SMALL,                                    \
		"gossip: room for {bytes} bytes of datagrams, not {wanted}: raise "                \
		"net.core.rmem_max")                                                               \
	X(GOSSIP_NO_FILTER, WARNING, 0, GOSSIP_NO_FILTER,                                          \
		"gossip: no filter in the kernel for {limiters} limiters: {why}; strangers cost "  \
		"this limiter time")                                                               \
	X(GOSSIP_NOT_BOUND, ERROR, 0, GOSSIP_NOT_BOUND,                                            \
		"gossip.listen: cannot bind {address}: {why}")                                     \
	X(GOSSIP_KEY, INFO, 20, GOSSIP_KEY, "gossip: sealed with key {key}, which alone opens")    \
	X(GOSSIP_KEYS, INFO, 20, GOSSIP_KEYS, "gossip: sealed with key {key}; {also} opens too")   \
	/* Clocks. */                                                                              \
	X(TSC_DOUBTED, WARNING, 0, TSC_DOUBTED, "TSC: {why}; every limit is timed by it")          \
	X(TSC_REFINED, INFO, 20, TSC_REFINED, "TSC: {mhz:6} MHz")                                  \
	X(TSC_JUMPED, WARNING, 20, TSC_JUMPED,                                                     \
		"TSC: it jumped by {ms:3} ms against the system's clock; its rate is measured "    \
		"anew")                                                                            \
	X(TSC_SET_BACK, WARNING, 20, TSC_SET_BACK,                                                 \
		"TSC: it was set back, {ms:3} ms against the system's clock; buckets begin anew, " \
		"and its rate is measured anew; what waited in shapers has left")                  \
	X(CLOCK_AGREES, INFO, 20, CLOCK_STEPPED, "wall clock: periods and times of day go by it")  \
	X(CLOCK_BEHIND, WARNING, 20, CLOCK_STEPPED,                                                \
		"wall clock: it is {seconds:0} s before what the ledger remembers; no period of "  \
		"a total turns until it is set")                                                   \
	X(CLOCK_STEPPED, WARNING, 20, CLOCK_STEPPED,                                               \
		"wall clock: it was stepped by {seconds:+0} s; periods and times of day go on "    \
		"by the clock since boot")                                                         \
	X(CLOCK_FOLLOWS, WARNING, 20, CLOCK_STEPPED,                                               \
		"wall clock: {seconds:+0} s from that of most peers, by which periods and times "  \
		"of day go")                                                                       \
	X(CLOCK_OUTVOTED, WARNING, 20, CLOCK_STEPPED,                                              \
		"wall clock: {seconds:+0} s from that of most peers; periods and times of day go " \
		"by it nevertheless")                                                              \
	/* Policies. */                                                                            \
	X(POLICY_FAILED, ERROR, 50, POLICY_FAILED, "policy {policy}: {why}")                       \
	X(POLICY_NO_MEMORY, ERROR, 50, POLICY_NO_MEMORY,                                           \
		"policy {policy}: no {bytes} bytes for its tables on the worker of CPU {cpu}")     \
	X(POLICY_NOT_PLACED, WARNING, 50, POLICY_NOT_PLACED,                                       \
		"policy {policy}: no more than {most} are placed; its flows go to workers by "     \
		"hash")                                                                            \
	X(POLICY_REMOVED, INFO, 0, POLICY_REMOVED,                                                 \
		"policy {policy}: removed; passed {passed_packets} packets ({passed_bytes}), "     \
		"dropped {dropped_packets} ({dropped_bytes})")                                     \
	X(POLICIES_REMOVED, INFO, 0, POLICIES_REMOVED,                                             \
		"{policies} more policies that had packets were removed")                          \
	X(LIMIT_TURNS, INFO, 50, LIMIT_TURNS,                                                      \
		"policy {policy}: limit {limit} by {by}, until {until}")                           \
	X(OVERRIDE_GIVEN, INFO, 50, OVERRIDE_GIVEN,                                                \
		"policy {policy}: override by uid {uid}: {terms} until {until}")                   \
	X(OVERRIDE_OFF, INFO, 50, OVERRIDE_OFF,                                                    \
		"policy {policy}: its override was taken back by uid {uid}")                       \
	X(OVERRIDE_NOT_KEPT, ERROR, 20, OVERRIDE_NOT_KEPT,                                         \
		"policy {policy}: what uid {uid} asked for does not hold, as {store} cannot keep " \
		"it: {why}")                                                                       \
	X(OVERRIDES_NOT_READ, ERROR, 0, OVERRIDES_NOT_READ,                                        \
		"overrides: {store}: {why}; none holds")                                           \
	X(LIMITS_NOT_TURNED, ERROR, 20, LIMITS_NOT_TURNED,                                         \
		"limits by time of day: {why}; tried again")                                       \
	X(PERIOD_BEGINS, INFO, 50, PERIOD_BEGINS,                                                  \
		"policy {policy}: period {period} begins; {unused} units of the last were leased " \
		"and not used")                                                                    \
	X(TOTAL_NEAR, WARNING, 50, TOTAL_NEAR,                                                     \
		"policy {policy}: 90 % of its total is spent: {left} of {total} are left")         \
	X(TOTAL_SPENT, WARNING, 50, TOTAL_NEAR,                                                    \
		"policy {policy}: its total of {total} is spent: nothing passes until there is "   \
		"more")                                                                            \
	X(TOTAL_BACK, INFO, 50, TOTAL_NEAR,                                                        \
		"policy {policy}: there is some of its total again: {left} of {total}")            \
	/* The ledger. */                                                                          \
	X(LEDGER_OPENED, INFO, 0, LEDGER_OPENED,                                                   \
		"ledger: {store}: start {start} of this store, {records} records, ledger "         \
		"{identity}{memory}")                                                              \
	X(LEDGER_NO_STORE, WARNING, 0, LEDGER_NO_STORE,                                            \
		"ledger: no store in {store}: what this limiter has given away, or spent, is not " \
		"known, so it lets nothing pass of what is never exceeded until its neighbours "   \
		"have told it what they know; if it has never run before, stop it, remove "        \
		"{store}, and run weir --new-ledger CONFIG")                                       \
	X(LEDGER_NOT_NEEDED, WARNING, 0, LEDGER_NOT_NEEDED,                                        \
		"ledger.store: {store}: {why}; no policy needs it")                                \
	X(LEDGER_NOT_OPENED, ERROR, 0, LEDGER_NOT_OPENED, "ledger.store: {store}: {why}")          \
	X(LEDGER_DAMAGED, ERROR, 0, LEDGER_DAMAGED,                                                \
		"ledger: {store}: its records are damaged, or not of this roster and overlay; "    \
		"where these change all limiters begin anew: see doc/operate/guarantees.md, \"A "  \
		"limiter comes or goes\"")                                                         \
	X(LEDGER_NOT_SAVED, ERROR, 20, LEDGER_NOT_SAVED,                                           \
		"ledger: {store}: cannot be saved: {why}; until it can nothing is given away, "    \
		"and packets pass on as far as what is held lasts")                                \
	X(LEDGER_SAVED, INFO, 20, LEDGER_NOT_SAVED, "ledger: {store}: saved again")                \
	X(LEDGER_NAMED, INFO, 0, LEDGER_NAMED,                                                     \
		"ledger: all neighbours speak of ledger {identity}: so it is this one")            \
	X(LEDGER_RECOVERED, INFO, 20, LEDGER_RECOVERED,                                            \
		"ledger: all policies hold what their neighbours know of")                         \
	X(LEDGER_HANGS, ERROR, 0, LEDGER_HANGS,                                                    \
		"ledger: {store}: the disk does not answer: the stop does not wait for it, and "   \
		"what has changed since the last commit is as after a crash")                      \
	X(LEDGER_FOREIGN, ERROR, 50, LEDGER_FOREIGN,                                               \
		"ledger: {peer} speaks of another ledger, {theirs}, and this one is {ours}: "      \
		"nothing moves between the two; see doc/operate/guarantees.md, \"First start\"")   \
	X(LEDGER_COMMON, INFO, 50, LEDGER_FOREIGN, "ledger: {peer} speaks of this ledger now")     \
	X(LEDGER_INVALID, ERROR, 50, LEDGER_INVALID,                                               \
		"ledger: {peer} states what cannot be true, {times} times since the last such "    \
		"line: a store that was restored or copied, its or ours, or memory that is "       \
		"broken; nothing more of it is believed until that has ended")                     \
	/* Totals that live in etcd. */                                                            \
	X(ETCD_AWAY, WARNING, 20, ETCD_AWAY,                                                       \
		"etcd: {why}; limiters go on with what they have drawn")                           \
	X(ETCD_ANSWERS, INFO, 20, ETCD_AWAY, "etcd: {how}")                                        \
	X(ETCD_FENCED, ERROR, 20, ETCD_FENCED, "etcd: fenced: another process {did}: {why}")       \
	X(ETCD_REFUSED, ERROR, 50, ETCD_REFUSED,                                                   \
		"etcd: budget {budget}: {why}; nothing is drawn of it")                            \
	X(ETCD_NOT_TAKEN, ERROR, 50, ETCD_NOT_TAKEN,                                               \
		"etcd: budget {budget}: what was drawn is {units}, which is not taken: {why}")     \
	/* Reloads. */                                                                             \
	X(RELOAD_ASKED, INFO, 20, RELOAD_ASKED, "{by}: reload {state}, asked for by uid {uid}")    \
	X(RELOAD_NO_THREAD, ERROR, 20, RELOAD_NO_THREAD, "reload: no thread: {why}")               \
	X(RELOAD_ERROR, ERROR, 0, RELOAD_ERROR, "reload: {message}")                               \
	X(RELOAD_WARNING, WARNING, 0, RELOAD_WARNING, "reload: {message}")                         \
	X(RELOAD_REFUSED, ERROR, 20, RELOAD_REFUSED,                                               \
		"reload: {file} refused; nothing has changed; it was asked for by {who}")          \
	X(RELOAD_DONE, INFO, 20, RELOAD_DONE,                                                      \
		"reload: generation {generation}, policies: {added} added, {removed} removed, "    \
		"{changed} changed, {unchanged} unchanged; {ms} ms; it was asked for by {who}")    \
	X(RELOAD_WAITS, WARNING, 20, RELOAD_WAITS,                                                 \
		"reload: in force at the workers that come round; what was before is kept until "  \
		"worker {worker} (CPU {cpu}) does, and so long another reload waits")              \
	X(RELOAD_OVER, INFO, 20, RELOAD_WAITS, "reload: what was before is gone")                  \
	X(RELOAD_HANGS, ERROR, 0, RELOAD_HANGS,                                                    \
		"reload: {file} cannot be read in time; the stop does not wait for it")            \
	/* What runs, and other changes of it. */                                                  \
	X(RUNS, INFO, 0, RUNS, "runs {what}")                                                      \
	X(SHADOW, WARNING, 0, SHADOW,                                                              \
		"shadow: nothing is enforced; policies count what they would do")                  \
	X(SHADOW_ENDED, INFO, 0, SHADOW, "shadow has ended: policies are enforced")                \
	X(LAST_GOOD, ERROR, 0, LAST_GOOD, "the configuration is refused; runs {what}")             \
	X(CHANGE_ERROR, ERROR, 0, CHANGE_ERROR, "{what}: {message}")                               \
	X(CHANGE_WARNING, WARNING, 0, CHANGE_WARNING, "{what}: {message}")                         \
	X(CHANGE_REFUSED, ERROR, 20, CHANGE_REFUSED,                                               \
		"{what} refused; nothing has changed; it was asked for by {who}")                  \
	X(CHANGE_DONE, INFO, 20, CHANGE_DONE,                                                      \
		"{what}: generation {generation}, policies: {added} added, {removed} removed, "    \
		"{changed} changed, {unchanged} unchanged; {ms} ms; it was asked for by {who}")    \
	X(CHANGE_NOT_KEPT, ERROR, 20, CHANGE_NOT_KEPT,                                             \
		"{directory}: {why}: what was changed, or who did, is not kept")                   \
	X(CHANGE_KEPT, INFO, 20, CHANGE_NOT_KEPT,                                                  \
		"{directory}: what runs, and who has changed it, is kept again")                   \
	X(CHANGE_HANGS, ERROR, 0, CHANGE_HANGS,                                                    \
		"{directory} cannot be written in time; the stop does not wait for it")

#endif
