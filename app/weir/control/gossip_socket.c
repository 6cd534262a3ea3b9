/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "log.h"
#include "policy/value.h"

#define HEADERS    512 /* and what small datagrams cost the kernel more */
#define KEY_DIGITS (2 * DATAGRAM_KEY)

/* The kernel doubles what is asked for, which is about what it takes itself for each. */
static void grow_receive_buffer(int fd, unsigned datagram_max)
{
	int wanted = (int)(GOSSIP_SOCKET_ROOM * (datagram_max + HEADERS)), got = 0;
	socklen_t len = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len) == 0 && got / 2 < wanted)
		log_warn("gossip: room for %d bytes of datagrams, not %d: raise net.core.rmem_max",
			got / 2, wanted);
}

int gossip_socket_open(const struct gossip_config *config, struct gossip_socket **out)
{
	int family = config->listen.ss_family, ret;
	struct gossip_socket *gs = calloc(1, sizeof(*gs));
	char text[ADDRESS_TEXT_MAX];

	*out = gs;
	if (!gs)
		return -ENOMEM;
	*gs = (struct gossip_socket){.fd = -1, .config = config};
	if (config->listen_len == 0 || config->n_roster < 2)
		return 0;
	gs->fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (gs->fd >= 0 &&
		bind(gs->fd, (const struct sockaddr *)&config->listen, config->listen_len) == 0) {
		grow_receive_buffer(gs->fd, config->datagram_max);
		return 0;
	}
	ret = -errno;
	log_err("gossip.listen: cannot bind %s: %s",
		address_format(&config->listen, text, sizeof(text)), strerror(-ret));
	gossip_socket_close(gs);
	*out = NULL;
	return ret;
}

void gossip_socket_close(struct gossip_socket *gs)
{
	if (gs && gs->fd >= 0)
		close(gs->fd);
	free(gs);
}

void gossip_socket_send(struct gossip_socket *gs, unsigned peer, const uint8_t *buf, size_t len)
{
	const struct peer_config *to = &gs->config->roster[peer];
	int error = 0;

	if (sendto(gs->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		    (const struct sockaddr *)&to->address, to->address_len) < 0) {
		error = errno;
		gs->send_errors++;
	}
	/* A port that nobody listens on says so at every second datagram: one line is enough. */
	if (error && error != gs->last_error && error != ECONNREFUSED)
		log_warn("gossip to %s: %s", to->name, strerror(error));
	if (error)
		gs->last_error = error;
}

ssize_t gossip_socket_receive(struct gossip_socket *gs, uint8_t *buf, size_t size)
{
	/* Others' ICMP errors end one call, not the reading; an error that stays ends it. */
	for (int tries = 0; tries < 16; tries++) {
		ssize_t n = recv(gs->fd, buf, size, MSG_DONTWAIT);

		if (n >= 0)
			return n;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
	}
	return -EAGAIN;
}

static int key_complain(const char *path, const char *what, int err)
{
	fprintf(stderr, "weir: gossip.key_file: %s: %s\n", path, what);
	return err;
}

int gossip_key_load(const char *path, uint8_t key[DATAGRAM_KEY])
{
	static const char form[] = "expected 64 hexadecimal digits, as written by weir --new-key";
	char text[KEY_DIGITS + 2] = {0};
	const char *end = NULL;
	struct stat st;
	size_t bytes = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return key_complain(path, strerror(errno), -errno);
	if (fstat(fd, &st) == 0 && st.st_mode & (S_IRWXG | S_IRWXO))
		ret = key_complain(path, "others may read it; expected mode 0600", -EPERM);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (ret)
		return ret;
	if (n < 0)
		return key_complain(path, strerror(errno), -errno);
	if (n == KEY_DIGITS + 1 && text[KEY_DIGITS] == '\n')
		n--;
	if (n != KEY_DIGITS)
		return key_complain(path, form, -EINVAL);
	if (sodium_hex2bin(key, DATAGRAM_KEY, text, KEY_DIGITS, NULL, &bytes, &end) ||
		bytes != DATAGRAM_KEY)
		ret = key_complain(path, form, -EINVAL);
	sodium_memzero(text, sizeof(text));
	return ret;
}

int gossip_key_print(void)
{
	uint8_t key[DATAGRAM_KEY];
	char text[KEY_DIGITS + 1];
	int ret;

	randombytes_buf(key, sizeof(key));
	sodium_bin2hex(text, sizeof(text), key, sizeof(key));
	ret = puts(text) < 0 || fflush(stdout) ? -EIO : 0;
	sodium_memzero(key, sizeof(key));
	sodium_memzero(text, sizeof(text));
	return ret;
}
