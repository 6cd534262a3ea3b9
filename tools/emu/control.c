/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define COMMAND_MAX 512

static int bind_private(int fd, const struct sockaddr_un *address)
{
	/* From its first moment the socket belongs to its owner alone. */
	mode_t mask = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	umask(mask);
	return rc;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(path);
	rc = bind_private(fd, &address);
	if (!rc && listen(fd, CONTROL_CLIENTS))
		rc = -errno;
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

int control_open(struct control *control, struct pollfd *fds, const char *path)
{
	control->fds = fds;
	for (unsigned i = 0; i < CONTROL_FDS; i++)
		control->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	control->path = path;
	if (!path)
		return 0;
	control->fds[0].fd = listen_at(path);
	return control->fds[0].fd < 0 ? control->fds[0].fd : 0;
}

static void accept_client(struct control *control)
{
	int fd = accept4(control->fds[0].fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (unsigned i = 1; i < CONTROL_FDS; i++) {
		if (control->fds[i].fd < 0) {
			control->fds[i].fd = fd;
			control->fds[i].revents = 0;
			return;
		}
	}
	close(fd);
}

static void serve_client(struct pollfd *client, control_handler handler, void *context)
{
	char command[COMMAND_MAX];
	ssize_t len = recv(client->fd, command, sizeof(command) - 1, 0);
	char *answer;

	if (len <= 0) {
		close(client->fd);
		client->fd = -1;
		return;
	}
	command[len] = '\0';
	command[strcspn(command, "\r\n")] = '\0';
	answer = handler(context, command);
	if (answer)
		send(client->fd, answer, strlen(answer), MSG_NOSIGNAL);
	free(answer);
}

void control_serve(struct control *control, control_handler handler, void *context)
{
	for (unsigned i = 1; i < CONTROL_FDS; i++) {
		if (control->fds[i].fd >= 0 && control->fds[i].revents)
			serve_client(&control->fds[i], handler, context);
	}
	if (control->fds[0].fd >= 0 && control->fds[0].revents)
		accept_client(control);
}

void control_close(struct control *control)
{
	for (unsigned i = 0; i < CONTROL_FDS; i++) {
		if (control->fds[i].fd >= 0)
			close(control->fds[i].fd);
	}
	if (control->path && control->fds[0].fd >= 0)
		unlink(control->path);
}
