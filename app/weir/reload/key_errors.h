/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Key files that will not do are errors of the configuration that names them, at a start as at a
 * change of what runs. As the user that runs Weir; the main thread, or that of changes.
 */
#ifndef WEIR_APP_KEY_ERRORS_H
#define WEIR_APP_KEY_ERRORS_H

#include <stdio.h>

#include <jansson.h>

#include "config/load.h"
#include "policy/config.h"

/* For config_load.also: at the line that names them. */
void key_errors(const struct config *config, struct reader *reader, void *context);

/*
 * As config_read_document(), of what is about to run: -ENOKEY for a good one whose keys are of no
 * use, which is said on err, too.
 */
int read_with_keys(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out);

#endif
