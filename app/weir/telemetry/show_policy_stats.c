/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of many policies in one reply: a list of columns, and rows.
 */
#include <stdlib.h>

#include "clock.h"
#include "policy_now.h"
#include "telemetry/server.h"

/* Most rows of a reply, so that control's turn stays short. */
#define ROWS_MOST 128

/* Bytes for the command, the brackets, and the page's own members without the rows. */
#define REPLY_FRAME 136

static void put_count(struct json_text *row, bool applies, uint64_t count)
{
	if (applies)
		json_text_integer(row, (int64_t)count);
	else
		json_text_null(row);
}

/*
 * Adds the rows from an index on that fit. Returns the index after the last one. A row is made
 * only once: the one that has no room is taken back.
 */
static unsigned put_rows(struct json_text *rows, struct instance *inst, unsigned start)
{
	unsigned i = start;

	for (; i < inst->n_policies && i - start < ROWS_MOST; i++) {
		char *row = rows->at;
		struct policy_now now;

		policy_now_look(&now, inst, i);
		policy_now_row(rows, &now);
		if (!rows->full)
			continue;
		rows->at = row;
		break;
	}
	return i;
}

static void put_index(struct json_text *text, const char *key, bool has, unsigned index)
{
	json_text_key(text, key);
	put_count(text, has, index);
}

/* Adds the members that do not depend on the rows. */
static void put_head(struct json_text *text, const struct instance *inst)
{
	json_text_open(text, '{');
	json_text_key(text, "generation");
	put_count(text, true, inst->publisher.current->generation);
	json_text_key(text, "at_ms");
	json_text_real(text, (double)control_now() / MS_NS);
	json_text_key(text, "columns");
	json_text_open(text, '[');
	policy_now_columns(text);
	json_text_close(text, ']');
}

/* In replies of one generation a row belongs to the same policy. at_ms is the time of a reply. */
json_t *show_policy_stats(const char *params, void *context)
{
	struct instance *inst = context;
	char bytes[TELEMETRY_MAX_OUTPUT];
	char *reply = malloc(TELEMETRY_MAX_OUTPUT);
	struct json_text text = json_text_in(reply, TELEMETRY_MAX_OUTPUT), rows;
	unsigned start, end, total = inst->n_policies;

	if (!reply || !show_start(params, &start)) {
		free(reply);
		return NULL;
	}
	put_head(&text, inst);
	rows = json_text_in(bytes, TELEMETRY_MAX_OUTPUT - json_text_bytes(&text) - REPLY_FRAME);
	end = put_rows(&rows, inst, start);
	put_index(&text, "total", true, total);
	put_index(&text, "start", true, start);
	put_index(&text, "next", end < total, end);
	json_text_key(&text, "policies");
	json_text_open(&text, '[');
	json_text_raw(&text, bytes, json_text_bytes(&rows));
	json_text_close(&text, ']');
	json_text_close(&text, '}');
	text.at[-1] = '\0';
	return telemetry_give_text(inst->telemetry, reply);
}
