/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as lines of a BGP speaker: each is refused with a word or taken, and the policies that
 * come of it have names, limits and matches.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/flowspec.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flowspec flowspec;
	char *said = NULL;
	size_t length, i;
	FILE *say = open_memstream(&said, &length);
	json_t *policies;
	const json_t *policy;

	check_flowspec(say != NULL && flowspec_init(&flowspec, PREFIX) == 0);
	flowspec.keep = size & 1;
	take_all(&flowspec, (const char *)data, size, say);
	policies = flowspec_policies(&flowspec);
	check_flowspec(policies != NULL);
	json_array_foreach (policies, i, policy)
		check_policy(policy);
	json_decref(policies);
	flowspec_free(&flowspec);
	fclose(say);
	free(said);
	return 0;
}
