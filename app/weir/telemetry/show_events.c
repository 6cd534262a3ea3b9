/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kept events, and the level, format and losses of the log.
 */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "event.h"
#include "instance.h"
#include "log.h"

/* Bytes of a reply that are left for a page of events. */
#define PAGE_BYTES (TELEMETRY_MAX_OUTPUT - 256)

static const struct {
	const char *name;
	enum log_level level;
} levels[] = {
	{"error", LEVEL_ERROR},
	{"warning", LEVEL_WARNING},
	{"info", LEVEL_INFO},
	{"debug", LEVEL_DEBUG},
};

static const char *format_name(enum log_format format)
{
	return format == FORMAT_JSON ? "json" : "text";
}

json_t *show_log(const char *params, void *context)
{
	struct log_config log = events_configured();
	const char *level = NULL;

	(void)params;
	(void)context;
	for (size_t i = 0; i < RTE_DIM(levels); i++)
		if (levels[i].level == log.level)
			level = levels[i].name;
	return json_pack("{s:s, s:s, s:o, s:o}", "level", level, "format", format_name(log.format),
		"lines_lost", json_uint(log_lost()), "events", json_uint(events_number() - 1));
}

json_t *show_log_level(const char *params, void *context)
{
	const struct instance *inst = context;
	struct log_config log = events_configured();

	for (size_t i = 0; params && i < RTE_DIM(levels); i++) {
		if (strcmp(levels[i].name, params) != 0)
			continue;
		log.level = levels[i].level;
		events_configure(&log);
		event(LOG_CHANGED, event_word("min_level", params),
			event_word("format", format_name(log.format)),
			event_count("uid", telemetry_asker(inst->telemetry)));
		return show_log(NULL, context);
	}
	return NULL;
}

/*
 * Gets the number of the first event to show. It is 0, which stands for the oldest kept event,
 * without params and for a number of an earlier start.
 */
static bool parse_first(const char *params, uint64_t *first)
{
	char *end = NULL;

	*first = 0;
	if (!params)
		return true;
	*first = strtoull(params, &end, 10);
	if (*params < '0' || *params > '9' || *end)
		return false;
	if (*first > events_number())
		*first = 0;
	return true;
}

json_t *show_events(const char *params, void *context)
{
	json_t *list, *object;
	size_t bytes = 0;
	uint64_t number;
	bool full = false;

	(void)context;
	if (!parse_first(params, &number))
		return NULL;
	list = json_array();
	while (!full && (object = events_from(&number)) != NULL) {
		bytes += telemetry_length(object) + 1;
		full = bytes > PAGE_BYTES;
		if (!full) {
			json_array_append(list, object);
			number++;
		}
		json_decref(object);
	}
	return json_pack("{s:o, s:o, s:o}", "events", list, "next",
		full ? json_uint(number) : json_null(), "to_come",
		json_uint(RTE_MAX(number, (uint64_t)1)));
}
