/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts the bytes of a request, which can be any, to the bytes of its reply.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry/telemetry_server.h"

#define NS_PER_MS 1e6

static json_t *list_commands(const char *params, void *context);
static json_t *show_help(const char *params, void *context);
static json_t *show_info(const char *params, void *context);
static json_t *show_stats(const char *params, void *context);

/* Their context is the server. */
static const struct telemetry_command builtin[] = {
	{"/", "Lists the commands. Takes no parameters", list_commands, TELEMETRY_PARAMS,
		TELEMETRY_READS},
	{"/help", "Returns help text for a command. Parameters: string command", show_help,
		TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/info", "Returns version, pid and the longest reply. Takes no parameters", show_info,
		TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/weir/telemetry", "Returns the counters of this server. Takes no parameters", show_stats,
		TELEMETRY_PARAMS, TELEMETRY_READS},
	{0},
};

static const struct telemetry_command *find_in(
	const struct telemetry_command *table, const char *path)
{
	for (; table->path != NULL; table++)
		if (strcmp(table->path, path) == 0)
			return table;
	return NULL;
}

/* A table cannot hide a built-in command, because clients need these to start. */
static const struct telemetry_command *find_registered(
	const struct telemetry_server *server, const char *path, bool *is_builtin)
{
	const struct telemetry_command *found = find_in(builtin, path);

	*is_builtin = found != NULL;
	for (unsigned i = 0; found == NULL && i < server->options.n_tables; i++)
		found = find_in(server->options.tables[i], path);
	return found;
}

/* Omits rows that find_registered() would not find, because an earlier table hides them. */
static void append_paths(
	json_t *list, const struct telemetry_server *server, const struct telemetry_command *table)
{
	bool is_builtin;

	for (; table->path != NULL; table++)
		if (find_registered(server, table->path, &is_builtin) == table)
			json_array_append_new(list, json_string(table->path));
}

static json_t *list_commands(const char *params, void *context)
{
	const struct telemetry_server *server = context;
	json_t *list = json_array();

	(void)params;
	append_paths(list, server, builtin);
	for (unsigned i = 0; i < server->options.n_tables; i++)
		append_paths(list, server, server->options.tables[i]);
	return list;
}

static json_t *show_help(const char *params, void *context)
{
	const struct telemetry_command *command;
	bool is_builtin;

	if (params == NULL)
		return json_string(find_in(builtin, "/help")->help);
	command = find_registered(context, params, &is_builtin);
	if (command == NULL)
		return NULL;
	return json_pack("{ss}", command->path, command->help);
}

static json_t *show_info(const char *params, void *context)
{
	(void)params;
	(void)context;
	return telemetry_greeting();
}

static json_t *show_stats(const char *params, void *context)
{
	const struct telemetry_server *server = context;
	const struct telemetry_stats *stats = &server->stats;

	(void)params;
	return json_pack("{sI sI sI sI sI sI sI sI sI sf}", "clients",
		(json_int_t)server->n_clients, "accepted", (json_int_t)stats->accepted, "refused",
		(json_int_t)stats->refused, "requests", (json_int_t)stats->requests, "null_replies",
		(json_int_t)stats->null_replies, "oversize", (json_int_t)stats->oversize,
		"slow_clients", (json_int_t)stats->slow_clients, "denied",
		(json_int_t)stats->denied, "cut_turns", (json_int_t)stats->cut_turns,
		"longest_turn_ms", (double)stats->longest_ns / NS_PER_MS);
}

json_t *telemetry_greeting(void)
{
	return json_pack("{ss sI si}", "version", "Weir " WEIR_VERSION, "pid", (json_int_t)getpid(),
		"max_output_len", TELEMETRY_MAX_OUTPUT);
}

char *telemetry_text(const json_t *value)
{
	return json_dumps(value, TELEMETRY_TEXT_FLAGS);
}

size_t telemetry_length(const json_t *value)
{
	return json_dumpb(value, NULL, 0, TELEMETRY_TEXT_FLAGS);
}

/* Returns {"key": value}, or {"key": null}; takes over the value. */
static char *wrap_in_object(const char *key, json_t *value)
{
	json_t *object = json_object();
	char *text = NULL;

	if (json_object_set_new(object, key, value != NULL ? value : json_null()) == 0)
		text = telemetry_text(object);
	json_decref(object);
	return text;
}

/* Does the same for a value that is text; takes over the text. */
static char *wrap_text(const char *key, char *value)
{
	const char *const parts[] = {"{\"", key, "\":", value, "}"};
	size_t bytes = 1;
	char *text, *at;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		bytes += strlen(parts[i]);
	text = at = malloc(bytes);
	for (size_t i = 0; text && i < sizeof(parts) / sizeof(*parts); i++)
		at = stpcpy(at, parts[i]);
	free(value);
	return text;
}

/* Sets the key for the reply to an unknown command: printable ASCII for any request. */
static void echo_key(const char *request, size_t len, char key[TELEMETRY_MAX_ECHO + 1])
{
	size_t n = 0;

	for (; n < len && n < TELEMETRY_MAX_ECHO && request[n] != ','; n++)
		key[n] = request[n] >= ' ' && request[n] <= '~' ? request[n] : '?';
	key[n] = '\0';
}

/*
 * Cuts a copy of the request at its first comma. Rejects a NUL inside: if it counted as the end, a
 * handler would check only the first part of the request.
 */
static bool split_request(const char *request, size_t len, char command[TELEMETRY_MAX_REQUEST + 1],
	const char **params)
{
	char *comma;

	*params = NULL;
	if (len > TELEMETRY_MAX_REQUEST || memchr(request, '\0', len) != NULL)
		return false;
	memcpy(command, request, len);
	command[len] = '\0';
	comma = strchr(command, ',');
	if (comma != NULL) {
		*comma = '\0';
		*params = comma[1] != '\0' ? comma + 1 : NULL;
	}
	return true;
}

static json_t *call_handler(const struct telemetry_server *server,
	const struct telemetry_command *command, bool is_builtin, const char *params)
{
	/* The built-in handlers only read the server, but their signature has no const. */
	void *context = is_builtin ? (void *)server : server->options.context;

	if (params != NULL && command->params == TELEMETRY_ALONE)
		return NULL;
	return command->handler(params, context);
}

/* Takes over the value, or the text from the handler. */
static char *take_reply(struct telemetry_server *server, const char *key, json_t *value)
{
	char *given = server->text;

	server->text = NULL;
	if (!given)
		return wrap_in_object(key, value);
	json_decref(value);
	return wrap_text(key, given);
}

struct telemetry_reply telemetry_reply(struct telemetry_server *server,
	const struct telemetry_peer *peer, const char *request, size_t len)
{
	char copy[TELEMETRY_MAX_REQUEST + 1];
	char key[TELEMETRY_MAX_ECHO + 1];
	const struct telemetry_command *command = NULL;
	struct telemetry_reply reply = {0};
	const char *params;
	json_t *value = NULL;
	bool is_builtin;

	/* Clients in C send the terminating NUL, shells a newline. */
	while (len > 0 && memchr("\r\n", request[len - 1], 3) != NULL)
		len--;
	echo_key(request, len, key);
	if (split_request(request, len, copy, &params))
		command = find_registered(server, copy, &is_builtin);
	if (command != NULL && command->effect != TELEMETRY_READS && !peer->may_change)
		reply.denied = command->path;
	if (reply.denied != NULL)
		value = telemetry_denial(peer, &server->options.operators);
	else if (command != NULL)
		value = call_handler(server, command, is_builtin, params);
	reply.null = value == NULL && server->text == NULL;
	reply.text = take_reply(server, command != NULL ? command->path : key, value);
	reply.oversize = reply.text != NULL && strlen(reply.text) > TELEMETRY_MAX_OUTPUT;
	if (reply.text == NULL || reply.oversize) {
		free(reply.text);
		reply.null = true;
		reply.text = wrap_in_object(command != NULL ? command->path : key, NULL);
	}
	return reply;
}

char *telemetry_answer(struct telemetry_server *server, const char *request, size_t len)
{
	const struct telemetry_peer self = {.uid = geteuid(), .may_change = true};

	return telemetry_reply(server, &self, request, len).text;
}
