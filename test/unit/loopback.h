/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A network namespace for this process alone, with only a loopback interface, and its settings.
 */
#ifndef WEIR_TEST_LOOPBACK_H
#define WEIR_TEST_LOOPBACK_H

#include "check.h"

#include <sched.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Enters a new network namespace. Returns false if the machine does not allow this. */
static inline bool loopback_alone(void)
{
	return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

/* Sets the properties in ifr on the loopback. */
static inline void set_interface(unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(ifr->ifr_name, "lo");
	assert_int_equal(ioctl(fd, request, ifr), 0);
	close(fd);
}

static inline void set_address(const char *address)
{
	struct ifreq ifr = {0};
	struct sockaddr_in *at = (struct sockaddr_in *)&ifr.ifr_addr;

	at->sin_family = AF_INET;
	inet_pton(AF_INET, address, &at->sin_addr);
	set_interface(SIOCSIFADDR, &ifr);
}

#endif
