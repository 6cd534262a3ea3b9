/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The clients: accepts them, serves them in turn, and closes those that do not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd_pass/fd_pass.h"
#include "telemetry/telemetry_server.h"

#define ACCEPTS_PER_CALL 16 /* so that many connects delay the control loop only a little */

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out)
{
	struct telemetry_server *server = calloc(1, sizeof(*server));
	int rc;

	*out = NULL;
	if (server == NULL)
		return -ENOMEM;
	rc = telemetry_socket(options->path, &options->group, &server->address, &server->file);
	if (rc < 0) {
		free(server);
		return rc;
	}
	server->listener = rc;
	server->spare = open_spare();
	server->taken = server->given = -1;
	server->options = *options;
	*out = server;
	return 0;
}

unsigned telemetry_pollfds(const struct telemetry_server *server, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = server->listener, .events = POLLIN};
	for (unsigned i = 0; i < server->n_clients; i++)
		fds[i + 1] = (struct pollfd){
			.fd = server->clients[i].fd, .events = POLLIN | POLLRDHUP};
	return server->n_clients + 1;
}

/*
 * Sends a reply. A packet is sent whole or not at all, so there is no rest to store. given: a
 * descriptor to send with it, or -1.
 */
static int send_text_with(int fd, const char *text, int given)
{
	struct iovec data = {(char *)(uintptr_t)text, strlen(text)};
	union fd_pass control;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	fd_pass_attach(&message, &control, given);
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : -errno;
}

struct telemetry_peer telemetry_caller(const struct telemetry_server *server)
{
	const struct telemetry_peer self = {.uid = geteuid(), .gid = getegid(), .pid = getpid()};

	return server != NULL && server->asker != NULL ? *server->asker : self;
}

int telemetry_take_descriptor(struct telemetry_server *server)
{
	int fd = server != NULL ? server->taken : -1;

	if (server != NULL)
		server->taken = -1;
	return fd;
}

void telemetry_give_descriptor(struct telemetry_server *server, int fd)
{
	if (server != NULL)
		server->given = fd;
}

json_t *telemetry_give_text(struct telemetry_server *server, char *text)
{
	json_t *value = NULL;

	if (server != NULL) {
		server->text = text;
		return NULL;
	}
	if (text != NULL)
		value = json_loads(text, JSON_DECODE_ANY, NULL);
	free(text);
	return value;
}

/* Reports a denial, but not every time, so that a client cannot fill the log. */
static void note_denied(struct telemetry_server *server, uid_t uid, const char *command)
{
	uint64_t now_ns = server->options.now_ns();

	server->stats.denied++;
	if (!server->options.denied ||
		(server->denied_reported > 0 && now_ns - server->denied_ns < TELEMETRY_DENIED_NS))
		return;
	server->options.denied(uid, command, server->stats.denied - server->denied_reported);
	server->denied_reported = server->stats.denied;
	server->denied_ns = now_ns;
}

static int answer_request(struct telemetry_server *server, const struct telemetry_client *client,
	const char *request, size_t len)
{
	struct telemetry_reply reply;
	int rc;

	server->stats.requests++;
	server->asker = &client->peer;
	server->given = -1;
	reply = telemetry_reply(server, &client->peer, request, len);
	server->asker = NULL;
	if (reply.text == NULL)
		return -ENOMEM;
	server->stats.null_replies += reply.null;
	server->stats.oversize += reply.oversize;
	if (reply.denied != NULL)
		note_denied(server, client->peer.uid, reply.denied);
	rc = send_text_with(client->fd, reply.text, server->given);
	server->given = -1;
	free(reply.text);
	server->stats.slow_clients += rc == -EAGAIN;
	return rc;
}

/* Serves one client. Returns a negative errno if it must be closed. */
static int serve_telemetry_client(
	struct telemetry_server *server, const struct telemetry_client *client, short events)
{
	/* One byte more than allowed, so that a longer request is detected. */
	char request[TELEMETRY_MAX_REQUEST + 1];
	struct iovec data = {request, sizeof(request)};
	union fd_pass control;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	int rc = -EPIPE, fd;
	ssize_t len;

	fd_pass_expect(&message, &control);
	len = recvmsg(client->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	server->taken = fd_pass_take(&message);
	/* An empty request and the end of the connection both read as 0 bytes. */
	if (len > 0 || (events & (POLLRDHUP | POLLHUP | POLLERR)) == 0)
		rc = answer_request(server, client, request, (size_t)len);
	fd = telemetry_take_descriptor(server);
	if (fd >= 0) /* the handler did not take it */
		close(fd);
	return rc;
}

static int send_greeting(int fd)
{
	json_t *greeting = telemetry_greeting();
	char *text = greeting != NULL ? telemetry_text(greeting) : NULL;
	int rc = text != NULL ? send_text_with(fd, text, -1) : -ENOMEM;

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
		server->clients[server->n_clients++] = (struct telemetry_client){
			fd, telemetry_peer(fd, &server->options.operators)};
	}
}

/*
 * Closes a waiting client without a descriptor for it. It cannot be served or refused, and poll()
 * would report it forever. Closing the spare descriptor makes room to accept it.
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

static bool is_used_up(const struct telemetry_server *server, uint64_t until)
{
	return server->options.now_ns() >= until;
}

/* Accepts at least one client, so that busy clients cannot keep new ones out. */
static void accept_clients(struct telemetry_server *server, uint64_t until)
{
	for (int i = 0; i < ACCEPTS_PER_CALL && (i == 0 || !is_used_up(server, until)); i++) {
		int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			admit_client(server, fd);
		else if (errno == EMFILE || errno == ENFILE)
			shed_client(server);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* Removes closed clients without a change of the order of turns. */
static void drop_closed(struct telemetry_server *server)
{
	unsigned n = 0, first = server->first;

	for (unsigned i = 0; i < server->n_clients; i++) {
		if (i == server->first)
			first = n;
		if (server->clients[i].fd >= 0)
			server->clients[n++] = server->clients[i];
	}
	server->n_clients = n;
	server->first = first < n ? first : 0;
}

/*
 * Serves clients in a circle from the first. If the budget is used up, the next one is the first of
 * the next call.
 */
static void serve_clients(struct telemetry_server *server, const struct pollfd *fds, uint64_t until)
{
	unsigned n = server->n_clients, begin = server->first;
	bool any = false;

	for (unsigned k = 0; k < n; k++) {
		unsigned i = (begin + k) % n;
		struct telemetry_client *client = &server->clients[i];

		if (fds[i].revents == 0)
			continue;
		if (any && is_used_up(server, until)) {
			server->stats.cut_turns++;
			server->first = i;
			break;
		}
		any = true;
		if (serve_telemetry_client(server, client, fds[i].revents) >= 0)
			continue;
		close(client->fd);
		client->fd = -1;
	}
	drop_closed(server);
}

int telemetry_regroup(struct telemetry_server *server, struct telemetry_group *group,
	struct telemetry_group *operators)
{
	const struct telemetry_group was[2] = {server->options.group, server->options.operators};
	gid_t gid = group->name[0] != '\0' ? group->gid : getegid();
	int rc = telemetry_chgrp(&server->address, &server->file, gid);

	if (rc < 0)
		return rc;
	server->options.group = *group;
	server->options.operators = *operators;
	*group = was[0];
	*operators = was[1];
	for (unsigned i = 0; i < server->n_clients; i++) {
		struct telemetry_client *client = &server->clients[i];

		client->peer = telemetry_peer(client->fd, &server->options.operators);
		if (client->peer.uid == 0 || client->peer.uid == geteuid() ||
			telemetry_is_member(client->fd, &client->peer, gid))
			continue;
		close(client->fd);
		client->fd = -1;
	}
	drop_closed(server);
	return 0;
}

void telemetry_serve(struct telemetry_server *server)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];
	unsigned n = telemetry_pollfds(server, fds);
	uint64_t began, took;

	if (poll(fds, n, 0) <= 0)
		return;
	began = server->options.now_ns();
	serve_clients(server, fds + 1, began + server->options.budget_ns);
	if (fds[0].revents != 0)
		accept_clients(server, began + server->options.budget_ns);
	took = server->options.now_ns() - began;
	if (took > server->stats.longest_ns)
		server->stats.longest_ns = took;
}

uid_t telemetry_asker(const struct telemetry_server *server)
{
	return server != NULL && server->asker != NULL ? server->asker->uid : getuid();
}

void telemetry_close(struct telemetry_server *server)
{
	if (server == NULL)
		return;
	/* Remove the file first: while the listener exists, no process treats the file as stale. */
	telemetry_unlink(&server->address, &server->file);
	close(server->listener);
	if (server->spare >= 0)
		close(server->spare);
	while (server->n_clients > 0)
		close(server->clients[--server->n_clients].fd);
	free(server);
}
