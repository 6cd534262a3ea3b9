/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_LISTEN_H
#define WEIR_EXPORTER_LISTEN_H

/*
 * Opens a socket that listens at an address like "127.0.0.1:9947" or "[::1]:9947". An empty host
 * means every address. Returns it, or a negative errno: -EINVAL for an invalid address.
 */
int listen_open(const char *address);

#endif
