/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel interface of an af_packet or af_xdp device: properties that DPDK does not report.
 */
#include "kernel_port.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Most bytes that af_packet adds to a frame in its ring: 66, and less than 16 to align. */
#define AF_PACKET_HEADER 80

/* Attach types of Linux 6.6, which older headers lack. */
#define TCX_INGRESS 46
#define TCX_EGRESS  47

#define REPLY_MAX 16384 /* an interface with many virtual functions has a long reply */

unsigned af_packet_frame(const struct port_config *port)
{
	const char *framesz = strstr(port->device, "framesz=");
	unsigned frame = AF_PACKET_FRAME;

	if (framesz)
		return (unsigned)strtoul(framesz + strlen("framesz="), NULL, 10);
	while (frame < port_frame_max(port) + AF_PACKET_HEADER)
		frame *= 2;
	return frame;
}

bool af_packet_fits(const struct port_config *port)
{
	return af_packet_frame(port) >= port_frame_max(port) + AF_PACKET_HEADER;
}

unsigned af_xdp_first_queue(const struct port_config *port)
{
	const char *start = strstr(port->device, ",start_queue=");

	return start ? (unsigned)strtoul(start + strlen(",start_queue="), NULL, 10) : 0;
}

bool kernel_interface(const struct port_config *port, char name[IFNAMSIZ])
{
	const char *key = port_is_xdp(port) ? "xdp:" : "iface=";
	const char *iface = strstr(port->device, key);

	if (!port_is_of_kernel(port) || !iface)
		return false;
	iface += strlen(key);
	snprintf(name, IFNAMSIZ, "%.*s", (int)strcspn(iface, ","), iface);
	return true;
}

static bool stand_on_one(const struct port_config *a, const struct port_config *b)
{
	char first[IFNAMSIZ], second[IFNAMSIZ];
	unsigned index;

	if (!kernel_interface(a, first) || !kernel_interface(b, second))
		return strcmp(a->device, b->device) == 0;
	index = if_nametoindex(first); /* can have several names */
	return strcmp(first, second) == 0 || (index > 0 && index == if_nametoindex(second));
}

unsigned port_twin(const struct config *config, unsigned port)
{
	for (unsigned i = 0; i < port; i++)
		if (stand_on_one(&config->ports[i], &config->ports[port]))
			return i;
	return port;
}

static int ask_interface(const char *name, unsigned long what, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;

	if (fd < 0)
		return -errno;
	snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", name);
	if (ioctl(fd, what, request) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int kernel_link(const char *name, bool *up)
{
	struct ifreq request = {0};
	int ret = ask_interface(name, SIOCGIFFLAGS, &request);

	*up = request.ifr_flags & IFF_UP && request.ifr_flags & IFF_RUNNING;
	return ret == -ENODEV ? 0 : ret; /* a missing interface counts as unplugged */
}

int kernel_mtu(const char *name, unsigned *mtu)
{
	struct ifreq request = {0};
	int ret = ask_interface(name, SIOCGIFMTU, &request);

	*mtu = (unsigned)request.ifr_mtu;
	return ret;
}

static int kernel_set_mtu(const char *name, unsigned mtu)
{
	struct ifreq request = {.ifr_mtu = (int)mtu};

	return ask_interface(name, SIOCSIFMTU, &request);
}

/* The limits are those of tpacket_snd() for af_packet, and of xdp_ok_fwd_dev() for XDP. */
struct kernel_frames kernel_frames(const struct port_config *port, unsigned index)
{
	char name[IFNAMSIZ];
	struct ifreq request = {0};
	unsigned mtu;

	if (!if_indextoname(index, name) || ask_interface(name, SIOCGIFFLAGS, &request) ||
		!(request.ifr_flags & IFF_UP) || kernel_mtu(name, &mtu))
		return (struct kernel_frames){0};
	mtu += ETHER_LEN;
	return (struct kernel_frames){port_is_af_xdp(port) ? mtu + VLAN_LEN : mtu, mtu + VLAN_LEN};
}

struct kernel_queues kernel_queues(const char *name)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq request = {.ifr_data = (char *)&channels};
	struct kernel_queues queues = {.receive = 1, .pairs = 1};

	if (ask_interface(name, SIOCETHTOOL, &request))
		return queues;
	if (channels.combined_count)
		queues.pairs = channels.combined_count;
	if (channels.rx_count + channels.combined_count)
		queues.receive = channels.rx_count + channels.combined_count;
	return queues;
}

/* Sets the flags in `mask` to their values in `flags`. */
static int switch_flags(const char *name, int mask, int flags)
{
	struct ifreq request = {0};
	int ret = ask_interface(name, SIOCGIFFLAGS, &request);
	int change = (request.ifr_flags ^ flags) & mask;

	if (ret == 0 && change) {
		request.ifr_flags = (short)(request.ifr_flags ^ change);
		ret = ask_interface(name, SIOCSIFFLAGS, &request);
	}
	return ret == -ENODEV ? 0 : ret;
}

int kernel_switch_link(const char *name, bool up)
{
	return switch_flags(name, IFF_UP, up ? IFF_UP : 0);
}

void kernel_state_read(const char *name, struct kernel_state *state)
{
	struct ifreq request = {0};

	state->known = ask_interface(name, SIOCGIFFLAGS, &request) == 0 &&
		       kernel_mtu(name, &state->mtu) == 0;
	state->flags = request.ifr_flags;
}

void kernel_state_restore(const char *name, const struct kernel_state *state)
{
	unsigned mtu = state->mtu;

	if (!state->known)
		return;
	switch_flags(name, IFF_UP | IFF_PROMISC | IFF_ALLMULTI, state->flags);
	if (kernel_mtu(name, &mtu) == 0 && mtu != state->mtu)
		kernel_set_mtu(name, state->mtu);
}

void kernel_restore_mtu(const char *name, const struct kernel_state *state)
{
	unsigned mtu = 0;

	if (state->known && state->mtu_set && kernel_mtu(name, &mtu) == 0 && mtu == state->mtu_set)
		kernel_set_mtu(name, state->mtu);
}

int kernel_raise_mtu(const char *name, const struct port_config *port, struct kernel_state *state)
{
	unsigned wanted = port_frame_max(port) - ETHER_LEN;
	struct kernel_kin kin = {0};
	int ret = 0;

	if (state->mtu >= wanted)
		return 0;
	if (kernel_kin(name, &kin) == 0 && kin.mtu_max && kin.mtu_max < wanted)
		wanted = kin.mtu_max;
	if (wanted > state->mtu)
		ret = kernel_set_mtu(name, wanted);
	if (ret && state->mtu < port->mtu) {
		wanted = port->mtu;
		ret = kernel_set_mtu(name, wanted);
	}
	if (ret == 0 && wanted > state->mtu)
		state->mtu_set = wanted;
	if (state->mtu >= port->mtu)
		return 0;
	return ret == 0 && wanted < port->mtu ? -ERANGE : ret;
}

int kernel_promiscuous(const char *name)
{
	struct packet_mreq request = {
		.mr_ifindex = (int)if_nametoindex(name), .mr_type = PACKET_MR_PROMISC};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static void take_kind(const struct rtattr *info, struct kernel_kin *kin)
{
	int left = (int)RTA_PAYLOAD(info);

	for (const struct rtattr *a = RTA_DATA(info); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_INFO_KIND)
			snprintf(kin->kind, sizeof(kin->kind), "%.*s", (int)RTA_PAYLOAD(a),
				(const char *)RTA_DATA(a));
}

static void take_program(const struct rtattr *xdp, struct kernel_kin *kin)
{
	int left = (int)RTA_PAYLOAD(xdp);

	for (const struct rtattr *a = RTA_DATA(xdp); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_XDP_PROG_ID && RTA_PAYLOAD(a) >= sizeof(kin->program))
			memcpy(&kin->program, RTA_DATA(a), sizeof(kin->program));
}

static void take_attribute(const struct rtattr *a, struct kernel_kin *kin)
{
	unsigned number = 0;

	if (RTA_PAYLOAD(a) >= sizeof(number))
		memcpy(&number, RTA_DATA(a), sizeof(number));
	switch (a->rta_type & NLA_TYPE_MASK) {
	case IFLA_LINK:
		kin->link = (int)number;
		break;
	case IFLA_MAX_MTU:
		kin->mtu_max = number;
		break;
	case IFLA_LINK_NETNSID:
		kin->link_elsewhere = true;
		break;
	case IFLA_MASTER:
		if_indextoname(number, kin->master);
		break;
	case IFLA_LINKINFO:
		take_kind(a, kin);
		break;
	case IFLA_XDP:
		take_program(a, kin);
		break;
	default:
		break;
	}
}

static int take_reply(const struct nlmsghdr *reply, size_t len, struct kernel_kin *kin)
{
	const struct ifinfomsg *link = NLMSG_DATA(reply);
	int left;

	if (!NLMSG_OK(reply, len) || reply->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
		return -EPROTO;
	if (reply->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(reply))->error;
	kin->index = link->ifi_index;
	left = (int)IFLA_PAYLOAD(reply);
	for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left))
		take_attribute(a, kin);
	return 0;
}

/* Sends a request to the kernel. Returns the bytes of its reply or a negative errno. */
static ssize_t ask_netlink(const void *request, size_t size, void *reply)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t len = -1;

	if (fd < 0)
		return -errno;
	if (send(fd, request, size, 0) == (ssize_t)size)
		len = recv(fd, reply, REPLY_MAX, 0);
	if (len < 0)
		len = -errno;
	close(fd);
	return len;
}

int kernel_kin(const char *name, struct kernel_kin *kin)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_index = (int)if_nametoindex(name)}};
	union {
		struct nlmsghdr head;
		char bytes[REPLY_MAX];
	} reply;
	ssize_t len;

	*kin = (struct kernel_kin){0};
	if (ask.link.ifi_index == 0)
		return -ENODEV;
	len = ask_netlink(&ask, sizeof(ask), &reply);
	return len < 0 ? (int)len : take_reply(&reply.head, (size_t)len, kin);
}

static bool has_ingress_queue(unsigned interface)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg queue;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETQDISC,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO | NLM_F_ACK},
		.queue = {.tcm_ifindex = (int)interface, .tcm_parent = TC_H_INGRESS}};
	union {
		struct nlmsghdr head;
		char bytes[REPLY_MAX];
	} reply = {0};

	/* Without a queue, the reply is the acknowledgement only. */
	return ask_netlink(&ask, sizeof(ask), &reply) > 0 && reply.head.nlmsg_type == RTM_NEWQDISC;
}

static bool has_tcx_program(unsigned interface, unsigned where)
{
	union bpf_attr ask = {.query = {.target_fd = interface, .attach_type = where}};

	return syscall(SYS_bpf, BPF_PROG_QUERY, &ask, sizeof(ask)) == 0 && ask.query.prog_cnt > 0;
}

bool kernel_has_filter(unsigned interface)
{
	return has_ingress_queue(interface) || has_tcx_program(interface, TCX_INGRESS) ||
	       has_tcx_program(interface, TCX_EGRESS);
}

bool kernel_address(const char *name, char *text, size_t size)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
		const int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
		const socklen_t len = family == AF_INET    ? sizeof(struct sockaddr_in)
				      : family == AF_INET6 ? sizeof(struct sockaddr_in6)
							   : 0;
		const bool link_local =
			family == AF_INET6 &&
			IN6_IS_ADDR_LINKLOCAL(
				&((const struct sockaddr_in6 *)a->ifa_addr)->sin6_addr);

		found = len && strcmp(a->ifa_name, name) == 0 && !link_local &&
			getnameinfo(a->ifa_addr, len, text, (socklen_t)size, NULL, 0,
				NI_NUMERICHOST) == 0;
	}
	freeifaddrs(all);
	return found;
}

/* Claims of interfaces. */

static struct claim {
	unsigned interface; /* 0: unused */
	int fd;
} claims[CONFIG_PORTS_MAX];

/*
 * Returns whether a process can receive the packets. Any user can take the name, but only a process
 * with this capability can receive packets.
 */
static bool has_packets(pid_t pid)
{
	char path[64], line[128];
	unsigned long effective = UINT64_C(1) << CAP_NET_RAW;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		sscanf(line, "CapEff: %lx", &effective);
	if (in)
		fclose(in);
	return effective >> CAP_NET_RAW & 1;
}

static void describe_owner(pid_t pid, char who[OWNER_WORDS])
{
	char path[64], command[OWNER_WORDS - 32] = "";
	size_t len = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	in = fopen(path, "r");
	if (in) {
		len = fread(command, 1, sizeof(command) - 1, in);
		fclose(in);
	}
	for (size_t i = 0; i + 1 < len; i++)
		if (command[i] >= 0 && command[i] < ' ') /* ends of arguments, and controls */
			command[i] = ' ';
	snprintf(who, OWNER_WORDS, "pid %d (%s)", pid, command);
}

/* Returns true if a limiter has the name, not a process that only blocks it. */
static bool find_owner(
	int fd, const struct sockaddr_un *address, socklen_t len, char who[OWNER_WORDS])
{
	struct ucred owner = {0};
	socklen_t size = sizeof(owner);

	if (connect(fd, (const struct sockaddr *)address, len) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size))
		snprintf(who, OWNER_WORDS, "another process");
	else if (!has_packets(owner.pid))
		return false;
	else
		describe_owner(owner.pid, who);
	return true;
}

int owner_claim(unsigned interface, char who[OWNER_WORDS])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const socklen_t len = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
			      (socklen_t)snprintf(address.sun_path + 1,
				      sizeof(address.sun_path) - 1, "weir-interface-%u", interface);
	struct claim *claim = claims;
	int ret = 0, fd;

	while (claim->interface && claim < claims + CONFIG_PORTS_MAX - 1)
		claim++;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, SOMAXCONN))
		ret = errno == EADDRINUSE && find_owner(fd, &address, len, who) ? -EBUSY : 0;
	if (ret)
		close(fd);
	else
		*claim = (struct claim){.interface = interface, .fd = fd};
	return ret;
}

void owner_release(unsigned interface)
{
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++) {
		if (claims[i].interface != interface)
			continue;
		close(claims[i].fd);
		claims[i] = (struct claim){0};
	}
}
