/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The only list of the events of a limiter: one row is one event. `weir --events` prints it, and
 * doc/operate/events.md explains its columns.
 *
 * Programs of operators depend on names and fields, so their meaning never changes. A row is
 *
 *	X(ID, level, most, ends, text)
 *
 * The name of the event is its ID in small letters. Weir writes at most `most` lines of it in
 * EVENT_WINDOW_NS. 0 is for events that occur once in a start or at the stop; no client or peer can
 * cause them (test/unit/check_events.py). It counts the other lines and reports their number.
 * `ends` is the row that begins the trouble that this event ends, or the row itself. Weir writes
 * the end at every level at which it writes the beginning, and both share the `most` of the
 * beginning.
 * In the text, {x} is the field x, {x:2} is a number with two decimals, and {x:+2} has a sign.
 */
#ifndef WEIR_APP_EVENT_TABLE_H
#define WEIR_APP_EVENT_TABLE_H

#define EVENT_ROWS(X)                                                                              \
	/* The process. */                                                                         \
	X(STARTED, INFO, 0, STARTED,                                                               \
		"{version}: limiter {limiter} of {limiters} started: workers={workers} "           \
		"policies={policies} socket={socket}; {gossip}")                                   \
	X(START_TOOK, INFO, 0, START_TOOK,                                                         \
		"start took {seconds:2} s: EAL {eal:2}, ports {ports:2}, other {rest:2}")          \
	X(NOT_STARTED, ERROR, 0, NOT_STARTED,                                                      \
		"start failed: {module}: {why}; for the remedy run weir --doctor CONFIG")          \
	X(START_HANGS, ERROR, 0, START_HANGS,                                                      \
		"start does not end {seconds} s after the signal; the process exits")              \
	X(STOPPING, INFO, 0, STOPPING, "stopping: {signal}")                                       \
	X(STOPPED, INFO, 0, STOPPED, "stopped: every packet buffer is back in its pool")           \
	X(BUFFERS_MISSING, ERROR, 0, BUFFERS_MISSING,                                              \
		"port {port}: {buffers} packet buffers missing at the stop")                       \
	X(DRIVER, INFO, 500, DRIVER, "{line}")                                                     \
	X(STDERR, ERROR, 100, STDERR, "{line}")                                                    \
	X(LINES_HELD, WARNING, 0, LINES_HELD,                                                      \
		"{of}: {lines} more lines suppressed in {seconds} s; the last: {last}")            \
	X(LINES_LOST, WARNING, 0, LINES_LOST,                                                      \
		"{lines} log lines before this one were lost because the reader was too slow")     \
	X(LOG_CHANGED, INFO, 20, LOG_CHANGED,                                                      \
		"log: level {min_level}, format {format}, by uid {uid}")                           \
	X(COMMAND_DENIED, WARNING, 20, COMMAND_DENIED,                                             \
		"control.socket: uid {uid} gave {command} without permission: denied={times} "     \
		"since the last line")                                                             \
	X(CONTROL_GROUPS, INFO, 20, CONTROL_GROUPS,                                                \
		"control.socket: group {group} can read, group {operators} can change")            \
	X(SOCKET_FAILED, ERROR, 0, SOCKET_FAILED, "control.socket: {path}: {why}")                 \
	/* Threads. */                                                                             \
	X(WORKER_STUCK, WARNING, 20, WORKER_STUCK,                                                 \
		"worker {worker} (CPU {cpu}) stalled: its loop has not run for {ms:0} ms")         \
	X(WORKER_CAME_ROUND, INFO, 20, WORKER_STUCK,                                               \
		"worker {worker} (CPU {cpu}) runs again after {ms:0} ms")                          \
	X(WORKER_WATCHDOG, ERROR, 0, WORKER_WATCHDOG,                                              \
		"worker {worker} (CPU {cpu}) stalled for longer than control.watchdog: the "       \
		"process exits")                                                                   \
	X(WORKER_ABANDONED, ERROR, 0, WORKER_ABANDONED,                                            \
		"worker {worker} (CPU {cpu}) is stalled and does not end: the stop does not wait " \
		"for it")                                                                          \
	X(CONTROL_LATE, WARNING, 20, CONTROL_LATE, "control stalled for {seconds:1} s")            \
	X(RENEWAL_LATE, WARNING, 20, RENEWAL_LATE,                                                 \
		"control stalled: hard limits were expired for {ms} ms, and workers enforced "     \
		"only the unreserved share")                                                       \
	X(LIMITS_ENDED, WARNING, 20, LIMITS_ENDED,                                                 \
		"worker on CPU {cpu}: its hard limits expired; it enforces only the unreserved "   \
		"share")                                                                           \
	X(LIMITS_RENEWED, INFO, 20, LIMITS_ENDED,                                                  \
		"worker on CPU {cpu}: its hard limits are renewed")                                \
	/* Ports. */                                                                               \
	X(LINK_DOWN, WARNING, 20, LINK_DOWN, "port {port}: link down")                             \
	X(LINK_UP, INFO, 20, LINK_DOWN, "port {port}: link up")                                    \
	X(PORT_GONE, ERROR, 20, PORT_GONE, "port {port}: {device} was removed; {next}")            \
	X(PORT_BACK, INFO, 20, PORT_GONE,                                                          \
		"port {port}: its interface is back; the port is open again")                      \
	X(PORT_NOT_BACK, ERROR, 20, PORT_NOT_BACK,                                                 \
		"port {port}: its interface is back, but the port cannot be opened: {why}; Weir "  \
		"tries again each second")                                                         \
	X(PORT_RESTART, ERROR, 20, PORT_RESTART,                                                   \
		"port {port}: its interface is back; only a start can open a port of this kind: "  \
		"the process exits with status 75")                                                \
	X(PORT_RENAMED, WARNING, 20, PORT_RENAMED,                                                 \
		"port {port}: interface {before} is named {interface} now; the port goes on, but " \
		"a restart cannot find it")                                                        \
	X(PORT_NAMED, INFO, 20, PORT_RENAMED,                                                      \
		"port {port}: its interface is named {interface} again")                           \
	X(LINK_TAKEN_DOWN, WARNING, 20, LINK_TAKEN_DOWN,                                           \
		"port {port}: taken down because port {other} of wire {wire} has no link")         \
	X(LINK_BROUGHT_UP, INFO, 20, LINK_TAKEN_DOWN, "port {port}: brought up again")             \
	X(LINK_NOT_SWITCHED, ERROR, 20, LINK_NOT_SWITCHED, "port {port}: cannot be {done}: {why}") \
	X(WIRE_TAKEN_OVER, INFO, 0, WIRE_TAKEN_OVER,                                               \
		"port {port}: replaced the XDP program of an earlier process, which no process "   \
		"served")                                                                          \
	X(WIRE_WAS_OPEN, WARNING, 0, WIRE_WAS_OPEN,                                                \
		"port {port}: {packets} packets ({bytes} bytes) went straight to the other port, " \
		"past every limit, before this start")                                             \
	X(WIRE_OPEN, WARNING, 20, WIRE_OPEN,                                                       \
		"port {port}: packets go straight to the other port, past every limit: a "         \
		"worker is stalled")                                                               \
	X(WIRE_SERVED, INFO, 20, WIRE_OPEN,                                                        \
		"port {port}: packets pass through Weir again; {packets} bypassed it in "          \
		"{seconds:1} s")                                                                   \
	X(PLANE_FAILED, ERROR, 20, PLANE_FAILED,                                                   \
		"XDP data plane: the kernel did not take over its decisions: {why}")               \
	X(PINS_MISSING, ERROR, 20, PINS_MISSING,                                                   \
		"the XDP programs end with this process, because their pins were removed: {why}")  \
	X(PINS_RESTORED, WARNING, 20, PINS_MISSING,                                                \
		"{pins} pins of the XDP programs were removed while Weir ran: restored")           \
	X(PLANE_NOT_INHERITED, WARNING, 0, PLANE_NOT_INHERITED,                                    \
		"XDP data plane: maps of a previous process {why}; their counts are lost, and "    \
		"each bucket begins empty")                                                        \
	X(LINK_HANGS, ERROR, 0, LINK_HANGS,                                                        \
		"a switch of a link does not return; a link that is down stays down")              \
	X(PORT_IN_BRIDGE, WARNING, 20, PORT_IN_BRIDGE,                                             \
		"port {port}: {interface} belongs to {master}, which gets every frame too: take "  \
		"it out (ip link set {interface} nomaster)")                                       \
	X(PORT_HAS_ADDRESS, WARNING, 20, PORT_HAS_ADDRESS,                                         \
		"port {port}: {interface} has the address {address}: this machine answers "        \
		"and routes packets of the wire: remove it (ip address flush dev {interface})")    \
	X(PORT_NOT_IN_BRIDGE, INFO, 20, PORT_IN_BRIDGE,                                            \
		"port {port}: {interface} no longer belongs to {master}")                          \
	X(PORT_NO_ADDRESS, INFO, 20, PORT_HAS_ADDRESS,                                             \
		"port {port}: {interface} no longer has the address {address}")                    \
	X(PORT_HAS_PROGRAM, WARNING, 20, PORT_HAS_PROGRAM,                                         \
		"port {port}: {interface} has {program}: packets can be altered or pass Weir by: " \
		"find the owner (bpftool net show dev {interface})")                               \
	X(PORT_NO_PROGRAM, INFO, 20, PORT_HAS_PROGRAM,                                             \
		"port {port}: {interface} is without {program} again")                             \
	X(OFFLOADS, WARNING, 20, OFFLOADS, "{line}")                                               \
	X(OFFLOADS_HANG, ERROR, 0, OFFLOADS_HANG,                                                  \
		"the check of offloads does not return; they stay off until the end of the "       \
		"next run")                                                                        \
	X(FRAMES_LIMITED, WARNING, 20, FRAMES_LIMITED,                                             \
		"port {port}: {interface} sends frames of at most {bytes} bytes; longer frames "   \
		"are dropped as oversize: ip link set dev {interface} mtu {mtu}")                  \
	X(FRAMES_WHOLE, INFO, 20, FRAMES_LIMITED,                                                  \
		"port {port}: sends frames of {bytes} bytes again")                                \
	X(FEW_QUEUES, WARNING, 0, FEW_QUEUES,                                                      \
		"wire {wire}: queues for only {queues} of {workers} workers; set "                 \
		"\"distribute\" to use all of them")                                               \
	X(QUEUES_UNUSED, WARNING, 0, QUEUES_UNUSED,                                                \
		"port {port}: many flows come, and all by {used} of its {queues} queues, "         \
		"because its device does not spread them; set \"queues\": {used} for it and "      \
		"\"distribute\" for its wire")                                                     \
	X(PACKETS_LOST, WARNING, 50, PACKETS_LOST,                                                 \
		"drops started: reason={reason} lost={packets}")                                   \
	X(PACKETS_NOT_LOST, INFO, 50, PACKETS_LOST,                                                \
		"drops stopped: reason={reason} lost={packets} over={seconds:0}s")                 \
	/* The group. */                                                                           \
	X(PEER_LOST, WARNING, 50, PEER_LOST,                                                       \
		"peer {peer}: lost; 1/{limiters} of each soft limit is unused")                    \
	X(PEER_HEARD, INFO, 50, PEER_LOST, "peer {peer}: alive")                                   \
	X(PEER_DIFFERS, WARNING, 50, PEER_DIFFERS,                                                 \
		"peer {peer}: differs: {things}; see weirctl peers")                               \
	X(PEER_AGREES, INFO, 50, PEER_DIFFERS, "peer {peer}: differs in nothing any more")         \
	X(PEER_TWICE, ERROR, 50, PEER_TWICE,                                                       \
		"peer {peer}: sends from {addresses} in turn: find and stop the second limiter "   \
		"with this name")                                                                  \
	X(GROUP_EDITED, INFO, 20, GROUP_EDITED, "group: {verb} {limiter}, by uid {uid}")           \
	X(GROUP_JOINED, INFO, 50, GROUP_JOINED, "group: {limiter} is a member")                    \
	X(GROUP_PARTED, INFO, 50, GROUP_PARTED, "group: {limiter} has left")                       \
	X(GROUP_LEFT, ERROR, 20, GROUP_LEFT,                                                       \
		"group: this limiter, {limiter}, was removed: its limits are 0 until it is added " \
		"again")                                                                           \
	X(GROUP_TAKES_PART, INFO, 20, GROUP_LEFT,                                                  \
		"group: this limiter, {limiter}, takes part, with {limiters} limiters")            \
	X(GROUP_RETURNED, WARNING, 20, GROUP_RETURNED,                                             \
		"group: {limiter}, which was removed, sends gossip with other members; it gets "   \
		"the present ones, and then enforces nothing")                                     \
	X(GROUP_TROUBLE, ERROR, 20, GROUP_TROUBLE, "group: {why}")                                 \
	X(GROUP_WELL, INFO, 20, GROUP_TROUBLE, "group: its members are in force here and kept")    \
	X(GROUP_NOT_READ, ERROR, 20, GROUP_NOT_READ,                                               \
		"group: {directory}/group: {why}: the roster of the file is used")                 \
	X(GOSSIP_SEND_FAILED, WARNING, 20, GOSSIP_SEND_FAILED, "gossip to {peer}: {why}")          \
	X(GOSSIP_SENDS, INFO, 20, GOSSIP_SEND_FAILED, "gossip: no send error for {quiet_s} s")     \
	X(DATAGRAMS_REFUSED, WARNING, 20, DATAGRAMS_REFUSED,                                       \
		"gossip: datagrams rejected: {verdicts}; see weirctl peers")                       \
	X(DATAGRAMS_QUIET, INFO, 20, DATAGRAMS_REFUSED,                                            \
		"gossip: no datagram rejected for {quiet_s} s; before that {datagrams}: "          \
		"{verdicts}")                                                                      \
	X(GOSSIP_BUFFER_SMALL, WARNING, 0, GOSSIP_BUFFER_SMALL,                                    \
		"gossip: room for {bytes} bytes of datagrams, not {wanted}: raise "                \
		"net.core.rmem_max")                                                               \
	X(GOSSIP_NO_FILTER, WARNING, 0, GOSSIP_NO_FILTER,                                          \
		"gossip: no filter in the kernel for {limiters} limiters: {why}; strangers cost "  \
		"this limiter time")                                                               \
	X(GOSSIP_NOT_BOUND, ERROR, 0, GOSSIP_NOT_BOUND,                                            \
		"gossip.listen: cannot bind {address}: {why}")                                     \
	X(GOSSIP_BOUND, INFO, 0, GOSSIP_BOUND,                                                     \
		"gossip.listen: {address} is on this machine now; gossip begins")                  \
	X(GOSSIP_KEY, INFO, 20, GOSSIP_KEY,                                                        \
		"gossip: key {key} seals messages; it is the only accepted key")                   \
	X(GOSSIP_KEYS, INFO, 20, GOSSIP_KEYS,                                                      \
		"gossip: key {key} seals messages; key {also} is accepted too")                    \
	/* Clocks. */                                                                              \
	X(TSC_DOUBTED, WARNING, 0, TSC_DOUBTED, "TSC: {why}; every limit depends on it")           \
	X(TSC_REFINED, INFO, 20, TSC_REFINED, "TSC: measured {mhz:6} MHz")                         \
	X(TSC_JUMPED, WARNING, 20, TSC_JUMPED,                                                     \
		"TSC: jumped by {ms:3} ms against the system clock; Weir measures its rate "       \
		"again")                                                                           \
	X(TSC_SET_BACK, WARNING, 20, TSC_SET_BACK,                                                 \
		"TSC: set back, {ms:3} ms against the system clock; token buckets start again, "   \
		"shapers sent their waiting packets, and Weir measures the rate again")            \
	X(CLOCK_AGREES, INFO, 20, CLOCK_STEPPED,                                                   \
		"wall clock: in use for periods and times of day")                                 \
	X(CLOCK_BEHIND, WARNING, 20, CLOCK_STEPPED,                                                \
		"wall clock: {seconds:0} s earlier than the records of the ledger; no quota "      \
		"period begins until you set it")                                                  \
	X(CLOCK_STEPPED, WARNING, 20, CLOCK_STEPPED,                                               \
		"wall clock: stepped by {seconds:+0} s; periods and times of day continue with "   \
		"the clock since boot")                                                            \
	X(CLOCK_FOLLOWS, WARNING, 20, CLOCK_STEPPED,                                               \
		"wall clock: {seconds:+0} s from the clock of most peers; periods and times of "   \
		"day use their clock")                                                             \
	X(CLOCK_OUTVOTED, WARNING, 20, CLOCK_STEPPED,                                              \
		"wall clock: {seconds:+0} s from the clock of most peers; periods and times of "   \
		"day use it nevertheless")                                                         \
	/* Policies. */                                                                            \
	X(POLICY_FAILED, ERROR, 50, POLICY_FAILED, "policy {policy}: {why}")                       \
	X(POLICY_NO_MEMORY, ERROR, 50, POLICY_NO_MEMORY,                                           \
		"policy {policy}: no memory: {bytes} bytes for its tables on the worker of CPU "   \
		"{cpu}")                                                                           \
	X(POLICY_NOT_PLACED, WARNING, 50, POLICY_NOT_PLACED,                                       \
		"policy {policy}: not placed, because Weir places at most {most} policies; a "     \
		"hash selects the worker of a flow")                                               \
	X(POLICY_REMOVED, INFO, 200, POLICY_REMOVED,                                               \
		"policy {policy}: removed; passed {passed_packets} packets ({passed_bytes}), "     \
		"dropped {dropped_packets} ({dropped_bytes})")                                     \
	X(POLICIES_REMOVED, INFO, 20, POLICIES_REMOVED,                                            \
		"{policies} more policies that had packets were removed")                          \
	X(LIMIT_TURNS, INFO, 50, LIMIT_TURNS,                                                      \
		"policy {policy}: limit {limit} by {by}, until {until}")                           \
	X(OVERRIDE_GIVEN, INFO, 50, OVERRIDE_GIVEN,                                                \
		"policy {policy}: override by uid {uid}: {terms} until {until}")                   \
	X(OVERRIDE_OFF, INFO, 50, OVERRIDE_OFF,                                                    \
		"policy {policy}: its override was taken back by uid {uid}")                       \
	X(OVERRIDE_NOT_KEPT, ERROR, 20, OVERRIDE_NOT_KEPT,                                         \
		"policy {policy}: request of uid {uid} has no effect: cannot save it in "          \
		"{store}: {why}")                                                                  \
	X(OVERRIDES_NOT_READ, ERROR, 0, OVERRIDES_NOT_READ,                                        \
		"overrides: cannot read {store}: {why}; no override is in force")                  \
	X(LIMITS_NOT_TURNED, ERROR, 20, LIMITS_NOT_TURNED,                                         \
		"limits by time of day: cannot change them: {why}; Weir tries again")              \
	X(PERIOD_BEGINS, INFO, 50, PERIOD_BEGINS,                                                  \
		"policy {policy}: period {period} begins; the previous one had unused leases: "    \
		"{unused}")                                                                        \
	X(TOTAL_NEAR, WARNING, 50, TOTAL_NEAR,                                                     \
		"policy {policy}: 90 % of the quota is spent: left={left} total={total}")          \
	X(TOTAL_SPENT, WARNING, 50, TOTAL_NEAR,                                                    \
		"policy {policy}: the quota is spent: total={total}; nothing passes until "        \
		"there is more")                                                                   \
	X(TOTAL_BACK, INFO, 50, TOTAL_NEAR,                                                        \
		"policy {policy}: quota is available again: left={left} total={total}")            \
	/* The ledger. */                                                                          \
	X(LEDGER_OPENED, INFO, 0, LEDGER_OPENED,                                                   \
		"ledger: {store}: start {start} of this store, {records} records, ledger "         \
		"{identity}{memory}")                                                              \
	X(LEDGER_NO_STORE, WARNING, 0, LEDGER_NO_STORE,                                            \
		"ledger: no store in {store}: this limiter has no record of reserved or spent "    \
		"amounts, and it passes no traffic of hard limits until its neighbours have "      \
		"sent theirs; if it has never run before, stop it, remove {store}, and run "       \
		"weir --new-ledger IDENTITY CONFIG, with the identity of the neighbours' ledger")  \
	X(LEDGER_NOT_NEEDED, WARNING, 0, LEDGER_NOT_NEEDED,                                        \
		"ledger.store: {store}: {why}; no policy needs it")                                \
	X(LEDGER_NOT_OPENED, ERROR, 0, LEDGER_NOT_OPENED, "ledger.store: {store}: {why}")          \
	X(LEDGER_DAMAGED, ERROR, 0, LEDGER_DAMAGED,                                                \
		"ledger: {store}: its records are damaged, or not of this roster and overlay; "    \
		"after a change of these all limiters need another ledger: see "                   \
		"doc/operate/group.md, \"Start another ledger\"")                                  \
	X(LEDGER_NOT_SAVED, ERROR, 20, LEDGER_NOT_SAVED,                                           \
		"ledger: {store}: cannot be saved: {why}; until it is saved, this limiter "        \
		"gives nothing away, and packets pass within its present share")                   \
	X(LEDGER_SAVED, INFO, 20, LEDGER_NOT_SAVED, "ledger: {store}: saved again")                \
	X(LEDGER_NO_SENTINEL, WARNING, 20, LEDGER_NO_SENTINEL,                                     \
		"ledger: {store}.sentinel cannot be used: {why}; a start would not notice a "      \
		"restored store")                                                                  \
	X(LEDGER_SENTINEL, INFO, 20, LEDGER_NO_SENTINEL,                                           \
		"ledger: {store}.sentinel is up to date again")                                    \
	X(LEDGER_SENTINEL_MISSING, WARNING, 0, LEDGER_SENTINEL_MISSING,                            \
		"ledger: {store}.sentinel was missing and is made again; if the store was "        \
		"restored or moved from another place, this start could not notice it")            \
	X(LEDGER_NAMED, INFO, 20, LEDGER_NAMED,                                                    \
		"ledger: all neighbours use ledger {identity}, and so does this limiter now")      \
	X(LEDGER_RECOVERED, INFO, 20, LEDGER_RECOVERED,                                            \
		"ledger: recovered: all policies have the records of their neighbours")            \
	X(LEDGER_HANGS, ERROR, 0, LEDGER_HANGS,                                                    \
		"ledger: {store}: the disk does not answer; the stop does not wait for it, and "   \
		"changes since the last commit are lost as after a crash")                         \
	X(LEDGER_FOREIGN, ERROR, 50, LEDGER_FOREIGN,                                               \
		"ledger: {peer} uses ledger {theirs}, but this limiter uses {ours}: nothing "      \
		"moves between them; see doc/operate/guarantees.md, \"A neighbour has another "    \
		"ledger\"")                                                                        \
	X(LEDGER_COMMON, INFO, 50, LEDGER_FOREIGN,                                                 \
		"ledger: {peer} uses the ledger of this limiter now")                              \
	X(LEDGER_NAME_TAKEN, ERROR, 20, LEDGER_NAME_TAKEN,                                         \
		"ledger: policy {policy}: the record of {other} has the same hash of its name: "   \
		"rename {policy}, or run weirctl ledger forget {other} at all limiters")           \
	X(LEDGER_COLLIDED, ERROR, 50, LEDGER_COLLIDED,                                             \
		"ledger: {peer} has another policy with the hash of a name of this limiter: "      \
		"nothing moves between the two; rename one of them")                               \
	X(LEDGER_ENDED, INFO, 20, LEDGER_ENDED,                                                    \
		"ledger: {records} records of removed policies have ended")                        \
	X(LEDGER_FORGOTTEN, WARNING, 20, LEDGER_FORGOTTEN,                                         \
		"ledger: {records} records of {of} are forgotten at the request of user {uid}")    \
	X(LEDGER_INVALID, ERROR, 50, LEDGER_INVALID,                                               \
		"ledger: {peer} sent {times} impossible statements since the last such line: "     \
		"its store or ours was restored or copied, or memory is broken; this limiter "     \
		"rejects its statements until that ends")                                          \
	X(LEDGER_OLDER_STORE, ERROR, 50, LEDGER_OLDER_STORE,                                       \
		"ledger: {store}: neighbours have later records of this limiter: the store was "   \
		"restored or copied; hard limits and quotas pass nothing until the neighbours "    \
		"have sent their records")                                                         \
	X(LEDGER_NAME_TWICE, ERROR, 50, LEDGER_NAME_TWICE,                                         \
		"ledger: another limiter is named {limiter}: hard limits and quotas pass nothing " \
		"here; find and stop the copy, and restart the one that stays")                    \
	X(LEDGER_TWICE, ERROR, 50, LEDGER_TWICE,                                                   \
		"ledger: two limiters are named {peer}, and send from {addresses}: this limiter "  \
		"rejects the statements of both; find and stop the copy, and restart the one "     \
		"that stays")                                                                      \
	X(LEDGER_ONCE, INFO, 50, LEDGER_TWICE, "ledger: one limiter is named {peer} again")        \
	/* Quotas in etcd. */                                                                      \
	X(ETCD_AWAY, WARNING, 20, ETCD_AWAY,                                                       \
		"etcd: {why}; limiters continue with the units that they have drawn")              \
	X(ETCD_ANSWERS, INFO, 20, ETCD_AWAY, "etcd: {how}")                                        \
	X(ETCD_FENCED, ERROR, 20, ETCD_FENCED, "etcd: fenced: another process {did}: {why}")       \
	X(ETCD_REFUSED, ERROR, 50, ETCD_REFUSED,                                                   \
		"etcd: quota {quota}: {why}; nothing is drawn of it")                              \
	X(ETCD_NOT_TAKEN, ERROR, 50, ETCD_NOT_TAKEN,                                               \
		"etcd: quota {quota}: cannot use the drawn {units}: {why}")                        \
	/* Reloads. */                                                                             \
	X(RELOAD_ASKED, INFO, 20, RELOAD_ASKED, "{by}: reload {state}, requested by uid {uid}")    \
	X(RELOAD_NO_THREAD, ERROR, 20, RELOAD_NO_THREAD, "reload: no thread: {why}")               \
	X(RELOAD_ERROR, ERROR, 50, RELOAD_ERROR, "reload: {message}")                              \
	X(RELOAD_WARNING, WARNING, 50, RELOAD_WARNING, "reload: {message}")                        \
	X(RELOAD_REFUSED, ERROR, 20, RELOAD_REFUSED,                                               \
		"reload: {file} refused; nothing has changed; requested by {who}")                 \
	X(RELOAD_DONE, INFO, 20, RELOAD_DONE,                                                      \
		"reload: generation {generation}, policies: {added} added, {removed} removed, "    \
		"{changed} changed, {unchanged} unchanged; {ms} ms; requested by {who}")           \
	X(RELOAD_WAITS, WARNING, 20, RELOAD_WAITS,                                                 \
		"reload: in force at all workers that run; worker {worker} (CPU {cpu}) is "        \
		"stalled, so the previous configuration stays in memory and the next reload "      \
		"waits")                                                                           \
	X(RELOAD_OVER, INFO, 20, RELOAD_WAITS, "reload: the previous configuration is freed")      \
	X(RELOAD_HANGS, ERROR, 0, RELOAD_HANGS,                                                    \
		"reload: {file} cannot be read in time; the stop does not wait for it")            \
	/* The running configuration and its changes. */                                           \
	X(RUNS, INFO, 0, RUNS, "runs {what}")                                                      \
	X(SHADOW, WARNING, 20, SHADOW, "shadow: nothing is enforced; policies only count")         \
	X(SHADOW_ENDED, INFO, 0, SHADOW, "shadow has ended: policies are enforced")                \
	X(LAST_GOOD, ERROR, 0, LAST_GOOD, "the configuration is refused; runs {what}")             \
	X(CHANGE_ERROR, ERROR, 50, CHANGE_ERROR, "{what}: {message}")                              \
	X(CHANGE_WARNING, WARNING, 50, CHANGE_WARNING, "{what}: {message}")                        \
	X(CHANGE_WARNING_ENDED, INFO, 50, CHANGE_WARNING, "{what}: no longer so: {message}")       \
	X(CHANGE_REFUSED, ERROR, 20, CHANGE_REFUSED,                                               \
		"{what} refused; nothing has changed; requested by {who}")                         \
	X(CHANGE_DONE, INFO, 20, CHANGE_DONE,                                                      \
		"{what}: generation {generation}, policies: {added} added, {removed} removed, "    \
		"{changed} changed, {unchanged} unchanged; {ms} ms; requested by {who}")           \
	X(CHANGE_NOT_KEPT, ERROR, 20, CHANGE_NOT_KEPT,                                             \
		"{directory}: {why}: the change and its author are not recorded")                  \
	X(CHANGE_KEPT, INFO, 20, CHANGE_NOT_KEPT,                                                  \
		"{directory}: changes and their authors are recorded again")                       \
	X(CHANGE_HANGS, ERROR, 0, CHANGE_HANGS,                                                    \
		"{directory} cannot be written in time; the stop does not wait for it")

#endif
