/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prints the memory of a policy, and of a worker with waiting packets, as a table in Markdown.
 *
 *     sizes shape|phantom
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/load.h"
#include "start.h"
#include "totals.h"
#include "delays.h"
#include "police/extended.h"
#include "shape/shape.h"

#define MANY 300000 /* packets that wait, up to which each has a place of its own */

static const char config_text[] =
	"{\"limiter\": \"l1\","
	"\"ports\": {\"a\": {\"device\": \"net_null0\"}, \"b\": {\"device\": \"net_null1\"}},"
	"\"wires\": [{\"name\": \"w\", \"a\": \"a\", \"b\": \"b\"}],"
	"\"workers\": [1], \"control\": {\"socket\": \"/run/weir/l1.sock\"},"
	"\"policies\": ["
	"{\"name\": \"shaped\", \"match\": {\"vlan\": 1}, \"limit\": \"1Gbit/s\", \"burst\": \"3kB\", \"action\": \"shape\"},"
	"{\"name\": \"hashed\", \"match\": {\"vlan\": 2}, \"limit\": \"1Gbit/s\", \"meter\": \"phantom\"},"
	"{\"name\": \"large\", \"match\": {\"vlan\": 3}, \"limit\": \"1Gbit/s\", \"meter\": \"phantom\","
	" \"classes\": {\"by\": \"flow\", \"n\": 1024}}"
	"]}";

static void print_size_row(const char *what, size_t bytes)
{
	printf("| %s | %zu |\n", what, bytes);
}

static void print_shape(const struct config *config)
{
	print_size_row("a worker", shaper_bytes(0));
	print_size_row("for each packet that may wait there, up to 300,000 of them",
		(shaper_bytes(MANY) - shaper_bytes(0)) / MANY);
	print_size_row(
		"for each one more", (shaper_bytes(10 * MANY) - shaper_bytes(MANY)) / (9 * MANY));
	print_size_row(
		"a shaped policy, on each worker", policy_extended_bytes(&config->policies[0]));
	print_size_row("its sums at control", sizeof(struct delay_sum));
	print_size_row("in addition, one with `slo`", sizeof(struct delay_window));
	print_size_row("one that a reload has given another place", sizeof(struct delays_totals));
}

static void print_phantom(const struct config *config)
{
	print_size_row("a policy of the meter `phantom`, with 64 classes",
		policy_extended_bytes(&config->policies[1]));
	print_size_row("with 1024 classes", policy_extended_bytes(&config->policies[2]));
}

int main(int argc, char **argv)
{
	struct config *config;

	if (argc != 2 || (strcmp(argv[1], "shape") != 0 && strcmp(argv[1], "phantom") != 0)) {
		fprintf(stderr, "Usage: sizes shape|phantom\n");
		return 2;
	}
	if (config_parse(config_text, strlen(config_text), "sizes", stderr, &config))
		return 1;
	printf("| | bytes |\n|---|---|\n");
	if (strcmp(argv[1], "shape") == 0)
		print_shape(config);
	else
		print_phantom(config);
	config_free(config);
	return 0;
}
