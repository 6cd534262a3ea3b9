/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gossip's UDP socket. Control thread; nothing here blocks.
 */
#ifndef WEIR_APP_GOSSIP_SOCKET_H
#define WEIR_APP_GOSSIP_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gossip/datagram.h"
#include "policy/config.h"

struct gossip_socket {
	int fd; /* -1: a roster of one */
	const struct gossip_config *config;
	uint64_t send_errors; /* datagrams that the kernel did not take */
	int last_error;       /* errno of the latest, logged when it changes */
};

/* Datagrams that the kernel keeps until control looks: what a tick of a large group brings. */
#define GOSSIP_SOCKET_ROOM 128

/* Returns 0, or a negative errno, logged; NULL is none to close. */
int gossip_socket_open(const struct gossip_config *config, struct gossip_socket **out);
void gossip_socket_close(struct gossip_socket *socket);

void gossip_socket_send(
	struct gossip_socket *socket, unsigned peer, const uint8_t *buf, size_t len);

/* Length of the next datagram, or -EAGAIN when there is none. */
ssize_t gossip_socket_receive(struct gossip_socket *socket, uint8_t *buf, size_t size);

/*
 * Reads a key: 64 hexadecimal digits, as `weir --new-key` writes them, in a file that only its
 * owner may read. Returns 0 or a negative errno, with the cause on stderr.
 */
int gossip_key_load(const char *path, uint8_t key[DATAGRAM_KEY]);

/* Writes a new random key to standard output. */
int gossip_key_print(void);

#endif
