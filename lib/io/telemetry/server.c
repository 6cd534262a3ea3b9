/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The clients: let in, served in turn, and put out when they do not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "telemetry/telemetry_server.h"

#define ACCEPTS_PER_CALL 16 /* so that a storm of connections delays the control loop little */

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int telemetry_listen(const char *path, const struct telemetry_command *const *tables, unsigned n,
	void *context, struct telemetry_server **out)
{
	struct telemetry_server *server = calloc(1, sizeof(*server));
	int rc;

	*out = NULL;
	if (server == NULL)
		return -ENOMEM;
	rc = telemetry_socket(path, &server->address, &server->file);
	if (rc < 0) {
		free(server);
		return rc;
	}
	server->listener = rc;
	server->spare = open_spare();
	server->tables = tables;
	server->n_tables = n;
	server->context = context;
	*out = server;
	return 0;
}

unsigned telemetry_pollfds(const struct telemetry_server *server, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = server->listener, .events = POLLIN};
	for (unsigned i = 0; i < server->n_clients; i++)
		fds[i + 1] = (struct pollfd){
			.fd = server->clients[i], .events = POLLIN | POLLRDHUP};
	return server->n_clients + 1;
}

/* A packet is taken whole or not at all, so there is no rest to remember. */
static int send_text(int fd, const char *text)
{
	ssize_t sent = send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);

	return sent >= 0 ? 0 : -errno;
}

static int answer_request(struct telemetry_server *server, int fd, const char *request, size_t len)
{
	struct telemetry_reply reply;
	int rc;

	server->stats.requests++;
	reply = telemetry_reply(server, request, len);
	if (reply.text == NULL)
		return -ENOMEM;
	server->stats.null_replies += reply.null;
	server->stats.oversize += reply.oversize;
	rc = send_text(fd, reply.text);
	free(reply.text);
	server->stats.slow_clients += rc == -EAGAIN;
	return rc;
}

/* Negative when the client is to be closed. */
static int serve_telemetry_client(struct telemetry_server *server, const struct pollfd *client)
{
	/* One byte more than is allowed, so that a longer request shows without asking how long. */
	char request[TELEMETRY_MAX_REQUEST + 1];
	ssize_t len = recv(client->fd, request, sizeof(request), MSG_DONTWAIT);

	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	/* An empty request and the end of the connection both read as nothing. */
	if (len == 0 && (client->revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
		return -EPIPE;
	return answer_request(server, client->fd, request, (size_t)len);
}

static int send_greeting(int fd)
{
	json_t *greeting = telemetry_greeting();
	char *text = greeting != NULL ? telemetry_text(greeting) : NULL;
	int rc = text != NULL ? send_text(fd, text) : -ENOMEM;

	free(text);
	json_decref(greeting);
	return rc;
}

static void admit_client(struct telemetry_server *server, int fd)
{
	if (server->n_clients == TELEMETRY_MAX_CLIENTS) {
		server->stats.refused++;
		close(fd);
	} else if (send_greeting(fd) != 0) {
		close(fd);
	} else {
		server->stats.accepted++;
		server->clients[server->n_clients++] = fd;
	}
}

/*
 * Without a descriptor left the waiting client can be neither served nor refused, and poll() would
 * report it for ever. Giving up the spare one makes room to take it off the queue.
 */
static void shed_client(struct telemetry_server *server)
{
	int fd;

	if (server->spare >= 0)
		close(server->spare);
	fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0) {
		server->stats.refused++;
		close(fd);
	}
	server->spare = open_spare();
}

static void accept_clients(struct telemetry_server *server)
{
	for (int i = 0; i < ACCEPTS_PER_CALL; i++) {
		int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			admit_client(server, fd);
		else if (errno == EMFILE || errno == ENFILE)
			shed_client(server);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

void telemetry_serve(struct telemetry_server *server)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];
	unsigned n = telemetry_pollfds(server, fds);

	if (poll(fds, n, 0) <= 0)
		return;
	/* From the last to the first: a closed client's place goes to one that had its turn. */
	for (unsigned i = n - 1; i > 0; i--) {
		if (fds[i].revents == 0 || serve_telemetry_client(server, &fds[i]) >= 0)
			continue;
		close(fds[i].fd);
		server->clients[i - 1] = server->clients[--server->n_clients];
	}
	if (fds[0].revents != 0)
		accept_clients(server);
}

void telemetry_close(struct telemetry_server *server)
{
	if (server == NULL)
		return;
	/* While the listener lives nobody takes the file for a stale one: remove it first. */
	telemetry_unlink(&server->address, &server->file);
	close(server->listener);
	if (server->spare >= 0)
		close(server->spare);
	while (server->n_clients > 0)
		close(server->clients[--server->n_clients]);
	free(server);
}
