/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a configuration: refused with a reason or accepted and complete, never a crash, a
 * leak or a control character in what an operator reads. What is accepted must also describe.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_messages(const char *messages, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (messages[i] != '\n' && (messages[i] < ' ' || messages[i] > '~'))
			abort();
	}
}

/* A path may be UTF-8, but it does not tell a terminal what to do. */
static void check_description(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return;
	config_describe(config, out);
	fclose(out);
	for (size_t i = 0; i < size; i++) {
		if (text[i] != '\n' && iscntrl((unsigned char)text[i]))
			abort();
	}
	free(text);
}

static void check_config(const struct config *config)
{
	check_description(config);
	if (config->gossip.self >= config->gossip.n_roster)
		abort();
	for (unsigned i = 0; i < config->n_policies; i++) {
		if (config->policies[i].limit_bps == 0 || config->policies[i].burst_bytes == 0 ||
			config->policies[i].match.wire >= (int)config->n_wires)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *messages = NULL;
	size_t n_messages = 0;
	FILE *err = open_memstream(&messages, &n_messages);
	struct config *config;
	int rc;

	if (err == NULL)
		return 0;
	rc = config_parse((const char *)data, size, "fuzz", err, &config);
	fclose(err);
	check_messages(messages, n_messages);
	if (rc == 0)
		check_config(config);
	else if (n_messages == 0)
		abort();
	config_free(config);
	free(messages);
	return 0;
}
