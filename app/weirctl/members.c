/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands whose answer is one listing of the server's: "peers", "gossip", "drops",
 * "workers", "ports".
 */
#include "command.h"

#include <errno.h>

#include "field.h"

int peers_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"PEER", "name", KIND_TEXT},
		{"ADDRESS", "address", KIND_TEXT},
		{"STATE", "state", KIND_TEXT},
		{"HEARD", "heard_ms_ago", KIND_MS},
		{"HEARS US", "confirmed_ms_ago", KIND_MS},
		{"RESTARTS", "restarts", KIND_COUNT},
	};

	return fields_list(json_object_get(document, "peers"), FIELDS(fields), out);
}

/* Numbers by name, whose names are the server's: there may be others than are known here. */
static int print_counts(const json_t *counts, const char *what, const char *head, FILE *out)
{
	const struct field fields[] = {
		{what, "name", KIND_TEXT},
		{head, "count", KIND_COUNT},
	};
	json_t *rows = json_array(), *count;
	const char *name;
	int ret;

	json_object_foreach ((json_t *)counts, name, count)
		json_array_append_new(rows, json_pack("{s:s, s:O}", "name", name, "count", count));
	ret = rows ? fields_list(rows, FIELDS(fields), out) : -ENOMEM;
	json_decref(rows);
	return ret;
}

int drops_print(const json_t *document, FILE *out)
{
	return print_counts(document, "REASON", "PACKETS", out);
}

int gossip_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"sent", "sent", KIND_COUNT},
		{"not sent", "send_errors", KIND_COUNT},
		{"amount sent", "sent", KIND_UNITS},
		{"amount received", "received", KIND_UNITS},
		{"records of policies not here", "unknown_policy", KIND_COUNT},
	};
	int ret = fields_detail(document, FIELDS(fields), out);

	if (ret)
		return ret;
	fputc('\n', out);
	return print_counts(json_object_get(document, "received"), "RECEIVED", "DATAGRAMS", out);
}

int workers_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"LCORE", "lcore", KIND_COUNT},
		{"CPU", "cpu", KIND_COUNT},
		{"IDLE", "idle", KIND_TEXT},
		{"PATHS", "paths", KIND_COUNT},
		{"RECEIVED", "rx_packets", KIND_COUNT},
		{"SENT", "tx_packets", KIND_COUNT},
		{"NO POLICY", "unmatched_packets", KIND_COUNT},
		{"OVER LIMIT", "dropped.limit", KIND_COUNT},
		{"TX FULL", "dropped.tx_full", KIND_COUNT},
		{"BURSTS", "bursts", KIND_COUNT},
		{"EMPTY POLLS", "empty_polls", KIND_COUNT},
		{"SLEEPS", "sleeps", KIND_COUNT},
	};

	return fields_list(document, FIELDS(fields), out);
}

int ports_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"PORT", "name", KIND_TEXT},
		{"DEVICE", "device", KIND_TEXT},
		{"LINK", "link", KIND_TEXT},
		{"SPEED", "speed_mbps", KIND_MBITS},
		{"CHANGES", "link_changes", KIND_COUNT},
		{"QUEUES", "queues", KIND_COUNT},
		{"RSS", "rss", KIND_TEXT},
	};

	return fields_list(document, FIELDS(fields), out);
}
