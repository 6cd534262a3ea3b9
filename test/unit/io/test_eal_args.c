/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * EAL arguments that Weir adds to the operator's.
 */
#include "check.h"
#include "scope.h"

#include "eal_args.h"

static bool is_told(const struct config *config, const char *argument)
{
	struct eal_args args = {0};
	bool found = false;

	eal_args_build(&args, config);
	assert_false(args.failed);
	for (int i = 0; i < args.n; i++)
		found |= strcmp(args.arg[i], argument) == 0;
	eal_args_free(&args);
	return found;
}

/* No hugepage file outlives its process, unless the operator sets an option for it. */
TEST(names_of_pages)
{
	static const char *const others[] = {"--no-huge", "--in-memory", "--huge-unlink=existing",
		"--huge-unlink", "--single-file-segments"};
	ENDED_BY(free_at) struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	strcpy(config->limiter, "me");
	config->n_eal = 1;
	config->eal[0] = (char[]){"-m"};
	assert_true(is_told(config, "--huge-unlink=always"));
	for (size_t i = 0; i < COUNT(others); i++) {
		char argument[32];

		snprintf(argument, sizeof(argument), "%s", others[i]);
		config->eal[0] = argument;
		assert_true(is_told(config, argument));
		assert_false(is_told(config, "--huge-unlink=always"));
	}
}
