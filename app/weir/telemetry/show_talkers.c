/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Top senders: random samples of packets from workers, a row each. The client makes estimates from
 * them. The size of a reply bounds the time that control spends on it; the rate bounds the samples.
 */
#include "show.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <sodium.h>

#include "base/counter.h"
#include "base/time.h"
#include "instance.h"
#include "packet/parse.h"
#include "policy/value.h"
#include "tap.h"
#include "tap_session.h"
#include "telemetry/server.h"

#define RATE        2000 /* packets a second, of all workers */
#define RATE_MOST   20000
#define SECONDS     5
#define REPLY_FRAME 512
#define ROW_MOST    768 /* bytes of a row: a name that is all escapes, two addresses, numbers */

/* Packets that the client selects. */
struct talkers_wish {
	uint32_t slot;
	uint64_t seconds, rate;
};

/* Takes a word such as "policy=NAME". Returns NULL, or the reason why it is wrong. */
static const char *take_talkers_wish(struct instance *inst, const char *word,
	struct talkers_wish *wish, char why[UNKNOWN_NAME_MAX])
{
	if (strncmp(word, "policy=", 7) == 0)
		return tap_session_slot(inst, word + 7, &wish->slot, why);
	if (strncmp(word, "seconds=", 8) == 0)
		return tap_session_number("seconds", word + 8, 86400, &wish->seconds, why);
	if (strncmp(word, "rate=", 5) == 0)
		return tap_session_number("rate", word + 5, RATE_MOST, &wish->rate, why);
	if (strcmp(word, "unparsed") == 0) {
		wish->slot = TAP_UNPARSED;
		return NULL;
	}
	snprintf(why, UNKNOWN_NAME_MAX,
		"\"%.64s\": expected policy=, unparsed, seconds= or rate=", word);
	return why;
}

static json_t *begin_talkers(
	struct instance *inst, const struct talkers_wish *wish, struct tap_session *session)
{
	uint32_t rate = RTE_MAX((uint32_t)(wish->rate / inst->config->n_workers), 1U);

	for (; session->n < inst->config->n_workers; session->n++) {
		struct tap *tap;
		uint64_t seed;

		randombytes_buf(&seed, sizeof(seed));
		tap = tap_lots_create(session->n, session->number, seed, rate, inst->clock.hz);
		if (!tap)
			break;
		tap->slot = wish->slot;
		session->taps[session->n] = tap;
	}
	if (!tap_session_start(inst, session))
		return tap_session_refuse("there is no memory for it");
	return json_pack("{s:o}", "talkers", json_uint(session->number));
}

json_t *show_talkers(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *session;
	struct talkers_wish wish = {.slot = TAP_ANY, .seconds = SECONDS, .rate = RATE};
	char why[UNKNOWN_NAME_MAX], *text = strdup(params ? params : ""), *rest = text;
	const char *refusal = text ? NULL : "out of memory", *word;
	bool busy;

	while (!refusal && (word = strsep(&rest, " ")) != NULL)
		if (*word)
			refusal = take_talkers_wish(inst, word, &wish, why);
	free(text);
	if (refusal)
		return tap_session_refuse(refusal);
	session = tap_session_new(inst, true, wish.seconds, &busy);
	if (busy)
		return json_pack("{s:b}", "busy", true);
	return session ? begin_talkers(inst, &wish, session)
		       : tap_session_refuse("there is no memory for it");
}

static json_t *address_json(const struct tap_lot *lot, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	if (lot->family == PACKET_OTHER)
		return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", address[0], address[1],
			address[2], address[3], address[4], address[5]);
	inet_ntop(lot->family == PACKET_IPV4 ? AF_INET : AF_INET6, address, text, sizeof(text));
	return json_string(text);
}

/* Returns null if there is no number, or the packet does not have it. */
static json_t *number_unless(unsigned number, unsigned none)
{
	return number == none ? json_null() : json_integer(number);
}

static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

#define COLUMNS(COLUMN)                                                                     \
	COLUMN("policy", string_or_null(tap_session_policy(inst, lot->slot)))               \
	COLUMN("verdict", json_string(tap_verdict_name(lot->verdict)))                      \
	COLUMN("bytes", json_integer(lot->len))                                             \
	COLUMN("stands_for", json_integer((json_int_t)1 << lot->shift))                     \
	COLUMN("vlan", number_unless(lot->vlan, PARSE_NO_VLAN))                             \
	COLUMN("ethertype", number_unless(lot->ethertype, 0))                               \
	COLUMN("source", address_json(lot, lot->src))                                       \
	COLUMN("destination", address_json(lot, lot->dst))                                  \
	COLUMN("protocol", number_unless(lot->proto, 0))                                    \
	COLUMN("source_port", number_unless(lot->src_port, 0))                              \
	COLUMN("destination_port", number_unless(lot->dst_port, 0))                         \
	COLUMN("unparsed",                                                                  \
		string_or_null(lot->unparsed ? packet_unparsed_name(lot->unparsed) : NULL)) \
	COLUMN("direction",                                                                 \
		json_string(direction_name(inst->workers[worker].paths[lot->path].direction)))

static json_t *columns_json(void)
{
	json_t *columns = json_array();

#define COLUMN(key, value) json_array_append_new(columns, json_string(key));
	COLUMNS(COLUMN)
#undef COLUMN
	return columns;
}

static json_t *lot_row(const struct instance *inst, unsigned worker, const struct tap_lot *lot)
{
	json_t *row = json_array();

#define COLUMN(key, value) json_array_append_new(row, value);
	COLUMNS(COLUMN)
#undef COLUMN
	return row;
}

/* Takes samples of all workers in turn, until the reply is full. */
static json_t *take_lots(struct instance *inst, struct tap_session *session, size_t room)
{
	json_t *rows = json_array();
	unsigned empty = 0;

	while (empty < session->n && room >= ROW_MOST) {
		unsigned worker = session->first;
		struct tap_lot lot;
		json_t *row;

		session->first = (session->first + 1) % session->n;
		if (!tap_lots_read(session->taps[worker], &lot)) {
			empty++;
			continue;
		}
		empty = 0;
		row = lot_row(inst, worker, &lot);
		room -= RTE_MIN(room, telemetry_length(row) + 1);
		json_array_append_new(rows, row);
	}
	return rows;
}

/* The session is over once its time has passed and no sample is left. */
json_t *show_talkers_read(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *session = tap_session_find(inst, params, true);
	uint64_t now = control_now(), seen = 0, lost = 0;
	json_t *columns, *rows;
	bool late, over;

	if (!session)
		return NULL;
	late = tap_session_renew(inst, session);
	columns = columns_json();
	rows = take_lots(
		inst, session, TELEMETRY_MAX_OUTPUT - REPLY_FRAME - telemetry_length(columns));
	over = late && json_array_size(rows) == 0;
	for (unsigned i = 0; i < session->n; i++) {
		seen += counter_read(&session->taps[i]->n_examined);
		lost += counter_read(&session->taps[i]->n_lost);
	}
	if (over)
		tap_session_leave(inst, session);
	return json_pack("{s:b, s:f, s:o, s:o, s:o, s:o}", "over", over, "seconds",
		(double)(RTE_MIN(now, session->end_ns) - session->began_ns) / SECOND_NS, "seen",
		json_uint(seen), "lost", json_uint(lost), "columns", columns, "packets", rows);
}

json_t *show_talkers_end(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *session = tap_session_find(inst, params, true);

	if (!session)
		return NULL;
	tap_session_leave(inst, session);
	return json_pack("{s:b}", "ended", true);
}
