/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_LISTEN_H
#define WEIR_EXPORTER_LISTEN_H

/*
 * A socket that listens at "127.0.0.1:9947" or "[::1]:9947"; an empty host is every address. Or a
 * negative errno: -EINVAL for what is no address.
 */
int listen_open(const char *address);

#endif
