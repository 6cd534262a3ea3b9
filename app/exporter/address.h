/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_ADDRESS_H
#define WEIR_EXPORTER_ADDRESS_H

#include <netdb.h>

/*
 * Reads "127.0.0.1:9947" or "[::1]:9947", in digits; an empty host is what `flags` of getaddrinfo(3)
 * say. 0 and *found, for freeaddrinfo(3); or -EINVAL.
 */
int address_find(const char *address, int socktype, int flags, struct addrinfo **found);

#endif
