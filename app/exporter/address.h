/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Addresses of sockets, as options have them. Any thread.
 */
#ifndef WEIR_EXPORTER_ADDRESS_H
#define WEIR_EXPORTER_ADDRESS_H

#include <netdb.h>

/*
 * Reads an address like "127.0.0.1:9947" or "[::1]:9947", in digits. `flags` are getaddrinfo(3)'s
 * and define an empty host. Returns 0 and *found, for freeaddrinfo(3), or -EINVAL.
 */
int address_find(const char *address, int socktype, int flags, struct addrinfo **found);

/*
 * Opens a socket that listens at an address. An empty host means every address. Returns it, or a
 * negative errno: -EINVAL for an invalid address.
 */
int listen_open(const char *address);

#endif
