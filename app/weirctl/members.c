/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands that show one listing of the server: "peers", "gossip", "drops", "balance",
 * "unparsed", "workers", "process", "ports", and "placement", where the sources of policies are
 * decided.
 */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "ask/source.h"
#include "field.h"

/* Gathers all peers, or the one that the request names. */
int peers_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *peer, *found = NULL;
	size_t i;
	int ret = source_list(source, "/weir/peers", NULL, "peers", document);

	if (ret || !request->word)
		return ret;
	json_array_foreach (json_object_get(*document, "peers"), i, peer) {
		const char *name = json_string_value(json_object_get(peer, "name"));

		if (name && strcmp(name, request->word) == 0)
			found = json_incref(peer);
	}
	json_decref(*document);
	*document = found;
	return found ? 0 : -ENOENT;
}

static int print_peer(const json_t *peer, struct view *view)
{
	static const struct field fields[] = {
		{"peer", "name", KIND_TEXT},
		{"address", "address", KIND_TEXT},
		{"state", "state", KIND_TEXT},
		{"last received", "silent_ms", KIND_MS},
		{"last confirmed us", "confirmed_ms_ago", KIND_MS},
		{"restarts", "restarts", KIND_COUNT | NONZERO},
		{"reads format", "format", KIND_COUNT},
		{"unreadable format", "unreadable_format", KIND_COUNT},
		{"key", "key", KIND_TEXT},
		{"ledger", "ledger", KIND_TEXT},
		{"invalid statements", "invalid_statements", KIND_COUNT | NONZERO},
		{"implausible", "implausible", KIND_COUNT | NONZERO},
		{"refused datagrams", "refused", KIND_COUNT | NONZERO},
		{"last refused as", "refused_as", KIND_TEXT},
		{"config mismatch", "differs", KIND_TEXT},
	};

	return fields_detail(peer, FIELDS(fields), view);
}

int peers_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"PEER", "name", KIND_TEXT},
		{"ADDRESS", "address", KIND_TEXT | OPTIONAL(1)},
		{"STATE", "state", KIND_TEXT},
		{"LAST SEEN", "silent_ms", KIND_MS},
		{"CONFIRMED", "confirmed_ms_ago", KIND_MS},
		{"RESTARTS", "restarts", KIND_COUNT | OPTIONAL(4)},
		{"FORMAT", "format", KIND_COUNT | OPTIONAL(5)},
		{"NOT READ", "unreadable_format", KIND_COUNT | OPTIONAL(5)},
		{"KEY", "key", KIND_TEXT | OPTIONAL(4)},
		{"LEDGER", "ledger", KIND_TEXT | OPTIONAL(2)},
		{"INVALID", "invalid_statements", KIND_COUNT | OPTIONAL(3)},
		{"IMPLAUSIBLE", "implausible", KIND_COUNT | OPTIONAL(3)},
		{"REFUSED", "refused", KIND_COUNT | OPTIONAL(2)},
		{"REFUSED AS", "refused_as", KIND_TEXT | OPTIONAL(3)},
		{"MISMATCH", "differs", KIND_TEXT},
	};
	const json_t *peers = json_object_get(document, "peers");

	return peers ? fields_list(peers, FIELDS(fields), view) : print_peer(document, view);
}

/*
 * Prints a row for each named number. The server chooses the names, so new ones can appear. With
 * `nonzero` the zeros are left out, and the table too if nothing remains.
 */
static int print_counts(const json_t *counts, const char *name_head, const char *head, bool nonzero,
	struct view *view)
{
	const struct field fields[] = {
		{name_head, "name", KIND_TEXT},
		{head, "count", KIND_COUNT},
	};
	json_t *rows = json_array(), *count;
	const char *name;
	int ret = rows ? 0 : -ENOMEM;

	json_object_foreach ((json_t *)counts, name, count)
		if (!nonzero || json_number_value(count) != 0)
			json_array_append_new(
				rows, json_pack("{s:s, s:O}", "name", name, "count", count));
	if (json_array_size(rows) || !nonzero)
		ret = rows ? fields_list(rows, FIELDS(fields), view) : -ENOMEM;
	json_decref(rows);
	return ret;
}

int drops_print(const json_t *document, struct view *view)
{
	return print_counts(document, "REASON", "PACKETS", false, view);
}

int balance_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"received", "received", KIND_COUNT},
		{"transmitted", "transmitted", KIND_COUNT},
		{"dropped", "dropped", KIND_COUNT},
		{"waiting", "waiting", KIND_COUNT},
		{"missing", "missing", KIND_COUNT},
		{"surplus", "surplus", KIND_COUNT | NONZERO},
		{"in work at most", "in_work", KIND_COUNT},
	};
	static const struct field wire_fields[] = {
		{"WIRE", "wire", KIND_TEXT},
		{"RECEIVED", "received", KIND_COUNT},
		{"TRANSMITTED", "transmitted", KIND_COUNT},
		{"DROPPED", "dropped", KIND_COUNT},
		{"WAITING", "waiting", KIND_COUNT},
		{"MISSING", "missing", KIND_COUNT},
	};

	fields_detail(document, FIELDS(fields), view);
	return fields_list(json_object_get(document, "wires"), FIELDS(wire_fields), view);
}

int gossip_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"datagrams sent", "sent", KIND_COUNT},
		{"bytes sent", "sent_bytes", KIND_BYTES},
		{"bytes received", "received_bytes", KIND_BYTES},
		{"send errors", "send_errors", KIND_COUNT | NONZERO},
		{"dropped by the kernel", "socket_drops", KIND_COUNT | NONZERO},
		{"from a wrong address", "wrong_source", KIND_COUNT | NONZERO},
		{"records for unknown policies", "unknown_policy", KIND_COUNT | NONZERO},
		{"rejected as impossible", "implausible", KIND_COUNT | NONZERO},
		{"loan requests sent", "loans.requests", KIND_COUNT | NONZERO},
		{"loan offers sent", "loans.offers", KIND_COUNT | NONZERO},
		{"loan requests unanswered", "loans.unanswered", KIND_COUNT | NONZERO},
		{"loan messages ignored", "loans.ignored", KIND_COUNT | NONZERO},
	};

	fields_detail(document, FIELDS(fields), view);
	return print_counts(
		json_object_get(document, "received"), "RECEIVED", "DATAGRAMS", true, view);
}

int workers_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"LCORE", "lcore", KIND_COUNT},
		{"CPU", "cpu", KIND_COUNT},
		{"IDLE", "idle", KIND_TEXT | OPTIONAL(3)},
		{"PATHS", "paths", KIND_COUNT | OPTIONAL(3)},
		{"STUCK", "stuck", KIND_TEXT},
		{"STALLS", "stalls", KIND_COUNT | OPTIONAL(1)},
		{"RECEIVED", "rx_packets", KIND_COUNT},
		{"SENT", "tx_packets", KIND_COUNT},
		{"NO POLICY", "unmatched_packets", KIND_COUNT | OPTIONAL(1)},
		{"OVER LIMIT", "dropped.limit", KIND_COUNT | OPTIONAL(1)},
		{"TX FULL", "dropped.tx_full", KIND_COUNT | OPTIONAL(2)},
		{"BURSTS", "bursts", KIND_COUNT | OPTIONAL(4)},
		{"EMPTY POLLS", "empty_polls", KIND_COUNT | OPTIONAL(4)},
		{"SLEEPS", "sleeps", KIND_COUNT | OPTIONAL(4)},
		{"BUSY", "busy_share", KIND_SHARE},
	};

	return fields_list(document, FIELDS(fields), view);
}

/* Prints a row for the control thread and one for each worker. */
static int print_threads(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"THREAD", "thread", KIND_TEXT},
		{"BUSY", "busy_share", KIND_SHARE},
		{"BUSY SINCE START", "busy_s", KIND_SECONDS},
	};
	json_t *rows = json_array(), *worker;
	size_t i;
	int ret;

	json_array_append_new(rows, json_pack("{s:s, s:O*, s:O*}", "thread", "control",
					    "busy_share", member_at(document, "control.busy_share"),
					    "busy_s", member_at(document, "control.busy_s")));
	json_array_foreach (json_object_get(document, "workers"), i, worker) {
		json_t *row = json_pack("{s:o}", "thread", json_sprintf("worker %zu", i));

		json_object_update(row, worker);
		json_array_append_new(rows, row);
	}
	ret = fields_list(rows, FIELDS(fields), view);
	json_decref(rows);
	return ret;
}

int process_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"limiter", "limiter", KIND_TEXT},
		{"version", "version", KIND_TEXT},
		{"pid", "pid", KIND_COUNT},
		{"uptime", "uptime_s", KIND_SECONDS},
		{"resident", "memory.resident_bytes", KIND_MEMORY},
		{"DPDK heap", "memory.heap_bytes", KIND_MEMORY},
		{"heap used", "memory.heap_used_bytes", KIND_MEMORY},
	};
	static const struct field pools[] = {
		{"POOL", "name", KIND_TEXT},
		{"BUFFERS", "buffers", KIND_COUNT},
		{"FREE", "free", KIND_COUNT},
	};

	fields_detail(document, FIELDS(fields), view);
	print_threads(document, view);
	return fields_list(json_object_get(document, "pools"), FIELDS(pools), view);
}

int ports_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"PORT", "name", KIND_TEXT},
		{"DEVICE", "device", KIND_TEXT | OPTIONAL(1)},
		{"LINK", "link", KIND_TEXT},
		{"SPEED", "speed_mbps", KIND_MBITS},
		{"CHANGES", "link_changes", KIND_COUNT},
		{"QUEUES", "queues", KIND_COUNT | OPTIONAL(2)},
		{"RSS", "rss", KIND_TEXT | OPTIONAL(3)},
		{"OFFLOADS", "offloads", KIND_TEXT},
	};

	return fields_list(document, FIELDS(fields), view);
}

int placement_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_get_of(source, "/weir/placement", request->word, document);
	return source_each(source, "/weir/placement", "placements", "/weir/placement", document);
}

static int print_placement(const json_t *document, struct view *view)
{
	static const struct field one[] = {
		{"policy", "name", KIND_TEXT},
		{"state", "state", KIND_TEXT},
		{"wanted of 99 %", "target_us", KIND_US},
		{"workers used", "used", KIND_COUNT},
		{"rounds", "rounds", KIND_COUNT},
		{"tried", "trials", KIND_COUNT},
		{"changed", "changes", KIND_COUNT},
		{"buckets moved", "moved", KIND_COUNT},
		{"on their way", "away", KIND_COUNT},
		{"packets kept back", "kept_back", KIND_COUNT},
		{"moves called off", "called_off", KIND_COUNT},
	};
	static const struct field workers[] = {
		{"WORKER", "worker", KIND_COUNT},
		{"BUCKETS", "buckets", KIND_COUNT},
		{"RATE", "rate", KIND_RATE},
		{"OTHERS", "others", KIND_RATE},
		{"WAITED, 99 %", "p99_us", KIND_US},
		{"ADDED HERE", "added_us", KIND_US},
	};

	fields_detail(document, FIELDS(one), view);
	return fields_list(json_object_get(document, "workers"), FIELDS(workers), view);
}

int placement_print(const json_t *document, struct view *view)
{
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"STATE", "state", KIND_TEXT},
		{"WANTED", "target_us", KIND_US},
		{"WORKERS", "used", KIND_COUNT},
		{"ROUNDS", "rounds", KIND_COUNT | OPTIONAL(2)},
		{"CHANGED", "changes", KIND_COUNT | OPTIONAL(2)},
		{"MOVED", "moved", KIND_COUNT | OPTIONAL(1)},
		{"ON THEIR WAY", "away", KIND_COUNT},
	};

	if (json_is_array(document))
		return fields_list(document, FIELDS(each), view);
	return print_placement(document, view);
}
