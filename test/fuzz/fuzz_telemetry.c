/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a request: the reply is JSON with one member, and never too long.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

#include "telemetry/server.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char home[] = "/tmp/weir-fuzz-telemetry-XXXXXX";
static struct telemetry_server *server;

/* Fails if the parameter is not valid UTF-8. */
static json_t *fuzz_echo(const char *params, void *context)
{
	(void)context;
	return params != NULL ? json_string(params) : NULL;
}

/* Grows with the square of the parameter, past the longest reply. */
static json_t *fuzz_grow(const char *params, void *context)
{
	size_t n = params != NULL ? strlen(params) : 0;
	json_t *list = json_array();

	(void)context;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(params));
	return list;
}

/* Gives a number for each byte of the parameter as text, past the longest reply. */
static json_t *fuzz_text(const char *params, void *context)
{
	size_t n = params != NULL ? strlen(params) : 0;
	char *text = malloc(2 + 16 * n);

	(void)context;
	if (text == NULL || n == 0) {
		free(text);
		return telemetry_give_text(server, NULL);
	}
	text[0] = '[';
	for (size_t i = 0; i < n; i++)
		sprintf(text + 1 + 16 * i, "%15u,", (unsigned)(uint8_t)params[i]);
	text[16 * n] = ']';
	return telemetry_give_text(server, text);
}

static const struct telemetry_command fuzz_commands[] = {
	{"/fuzz/echo", "Returns its parameter", fuzz_echo, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/fuzz/grow", "Returns its parameter many times", fuzz_grow, TELEMETRY_PARAMS,
		TELEMETRY_CHANGES},
	{"/fuzz/text", "Returns its bytes as text", fuzz_text, TELEMETRY_PARAMS, TELEMETRY_READS},
	{0},
};
static const struct telemetry_command *const tables[] = {fuzz_commands, telemetry_ethdev};

static void finish_telemetry(void)
{
	telemetry_close(server);
	rmdir(home);
}

/* Without EAL there are no ports, and the port commands are fuzzed less deeply. */
static void start_eal(void)
{
	const char *args[] = {"fuzz_telemetry", "--no-huge", "-m", "64", "--no-pci",
		"--no-telemetry", "--no-shconf", "--log-level", "critical", "--vdev", "net_null0",
		"-l", "0", NULL};

	if (rte_eal_init(sizeof(args) / sizeof(*args) - 1, (char **)(uintptr_t)args) < 0)
		fputs("no EAL: fuzzing without a port\n", stderr);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char path[64];
	const struct telemetry_options options = {.path = path, .tables = tables, .n_tables = 2};

	(void)argc;
	(void)argv;
	start_eal();
	if (mkdtemp(home) == NULL)
		abort();
	strcpy(path, home);
	strcat(path, "/socket");
	if (telemetry_listen(&options, &server) != 0)
		abort();
	atexit(finish_telemetry);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *reply = telemetry_answer(server, (const char *)data, size);
	json_t *object;

	if (reply == NULL || strlen(reply) > TELEMETRY_MAX_OUTPUT)
		abort();
	object = json_loads(reply, JSON_REJECT_DUPLICATES, NULL);
	if (object == NULL || json_object_size(object) != 1)
		abort();
	json_decref(object);
	free(reply);
	return 0;
}
