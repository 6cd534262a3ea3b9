/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A network of this process alone, which has a loopback and nothing else, and what is set of that.
 */
#ifndef WEIR_TEST_LOOPBACK_H
#define WEIR_TEST_LOOPBACK_H

#include "check.h"

#include <sched.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* False where the machine lets nobody have one. */
static inline bool loopback_alone(void)
{
	return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

/* What ifr says, to the loopback. */
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
