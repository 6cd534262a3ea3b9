/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "instance_world.h"

#include "store/store.h"

struct instance_world *stored_world_begin(const struct world_options *options)
{
	char directory[] = "/tmp/weir-stored-world-XXXXXX", store[64];
	struct world_options stored = *options;
	struct instance_world *w;
	char *more;

	assert_non_null(mkdtemp(directory));
	snprintf(store, sizeof(store), "%s/store", directory);
	assert_int_equal(store_create(store, (struct store_identity){0, 1}), 0);
	assert_true(asprintf(&more, "'ledger': {'store': '%s'%s}, %s", store,
			    options->ledger ? options->ledger : "",
			    options->more ? options->more : "") > 0);
	stored.more = more;
	w = instance_world_begin(&stored);
	free(more);
	strcpy(w->directory, directory);
	return w;
}
