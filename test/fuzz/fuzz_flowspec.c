/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as lines of a BGP speaker: each is refused with a word or taken, and the policies of
 * all rules have names, limits and matches. A zero ends a process: the next one keeps policies that
 * the first one left behind.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/flowspec.h"
#include "import/flowspec_former.h"
#include "policy/value.h"

#define PREFIX "flowspec-"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_flowspec(int condition)
{
	if (!condition)
		abort();
}

static void take_all(struct flowspec *flowspec, const char *text, size_t size, FILE *say)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t len = end != NULL ? (size_t)(end - text) : size;
		long before = ftell(say);
		int ret = flowspec_line(flowspec, text, len, say);

		check_flowspec(ret == 0 || ret == 1 || ftell(say) > before);
		text += end != NULL ? len + 1 : len;
		size -= end != NULL ? len + 1 : len;
	}
}

static void check_policy(const json_t *policy)
{
	const char *name = json_string_value(json_object_get(policy, "name"));
	const json_t *match = json_object_get(policy, "match");

	check_flowspec(name != NULL && name_valid(name));
	check_flowspec(strncmp(name, PREFIX, strlen(PREFIX)) == 0);
	check_flowspec(json_is_string(json_object_get(policy, "limit")));
	check_flowspec(
		json_is_object(match) ? json_object_size(match) > 0 : json_array_size(match) > 1);
}

/* The policies of a process that reads these lines, and keeps those of the process before. */
static json_t *run_process(const char *text, size_t size, const json_t *running, FILE *say)
{
	struct flowspec flowspec;
	const json_t *policy;
	json_t *policies;
	size_t n, left, i;

	check_flowspec(flowspec_init(&flowspec, PREFIX) == 0);
	flowspec.keep = size & 1;
	take_all(&flowspec, text, size, say);
	policies = flowspec_policies(&flowspec);
	check_flowspec(policies != NULL);
	n = json_array_size(policies);
	check_flowspec(flowspec_keep_former(policies, flowspec.told, running, PREFIX, &left) == 0);
	check_flowspec(left <= json_array_size(running) && json_array_size(policies) >= n &&
		       json_array_size(policies) <= n + left);
	json_array_foreach (policies, i, policy)
		check_policy(policy);
	flowspec_free(&flowspec);
	return policies;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = memchr(data, '\0', size);
	size_t length, first = end != NULL ? (size_t)(end - text) : size;
	char *said = NULL;
	FILE *say = open_memstream(&said, &length);
	json_t *policies, *kept;

	check_flowspec(say != NULL);
	policies = run_process(text, first, NULL, say);
	kept = run_process(text + first, size - first, policies, say);
	json_decref(policies);
	json_decref(kept);
	fclose(say);
	free(said);
	return 0;
}
