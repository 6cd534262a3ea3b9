/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Offloads of a kernel interface that change packets before an af_packet or af_xdp port receives
 * them.
 */
#include "wire_offloads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <rte_log.h>

#include "netdev_features.h"
#include "kernel_port.h"

#define PATH_BYTES (CONFIG_PATH_MAX + 16)
#define WORDS      160 /* bytes of the feature names in a message */

RTE_LOG_REGISTER(wire_offloads_logtype, weir.offloads, INFO);

/* Logs to EAL's log, like the rest of the program: it does not wait for a reader. */
#define log_offloads(level, format, ...) \
	rte_log(RTE_LOG_##level, wire_offloads_logtype, "weir: " format "\n", ##__VA_ARGS__)

/* The interfaces where a feature matters. */
enum where {
	AT_SOCKET,   /* the port's, and the interface below it */
	AT_XDP,      /* the port's, with XDP */
	AT_BOTH,     /* the port's, with any driver, and the interface below it */
	AT_PEER,     /* a veth's other end */
	AT_XDP_PEER, /* a veth's other end, if the port has an XDP program */
};

struct breaking {
	const char *feature; /* name in `ethtool -k` */
	const char *word;    /* name in `ethtool -K` */
	enum where where;
	bool optional; /* most promiscuous devices work with it: not a reason to refuse */
};

/*
 * XDP programs process a packet before GRO. They do not see a tag that the kernel removed, or a tag
 * that the sender leaves to its device; the af_packet driver restores it.
 */
static const struct breaking breaking[] = {
	{"rx-gro", "gro", AT_SOCKET, false},
	{"rx-gro-hw", "rx-gro-hw", AT_BOTH, false},
	{"rx-lro", "lro", AT_BOTH, false},
	{"rx-vlan-hw-parse", "rxvlan", AT_XDP, false},
	{"rx-vlan-stag-hw-parse", "rx-vlan-stag-hw-parse", AT_XDP, false},
	{"rx-vlan-filter", "rx-vlan-filter", AT_BOTH, true},
	{"tx-checksum-ip-generic", "tx", AT_PEER, false},
	{"tx-checksum-ipv4", "tx", AT_PEER, false},
	{"tx-checksum-ipv6", "tx", AT_PEER, false},
	{"tx-checksum-sctp", "tx-checksum-sctp", AT_PEER, false},
	{"tx-vlan-hw-insert", "txvlan", AT_XDP_PEER, false},
	{"tx-vlan-stag-hw-insert", "tx-vlan-stag-hw-insert", AT_XDP_PEER, false},
};

#define N_BREAKING (sizeof(breaking) / sizeof(breaking[0]))

/* One feature of one interface. Features of an interface are adjacent. */
struct watched {
	unsigned port;
	char interface[IFNAMSIZ];
	int index;
	const struct breaking *breaking;
	bool at_work, reported;
	bool put_back;  /* was on before */
	bool inherited; /* a previous process switched it off */
};

struct wire_offloads {
	const struct config *config;
	char record[PATH_BYTES], next_record[PATH_BYTES];
	bool record_failed;
	bool only_looks; /* switches no feature */
	unsigned n;
	struct watched watched[2 * CONFIG_PORTS_MAX * N_BREAKING];
};

static bool matters_at(const struct breaking *b, enum where where)
{
	switch (b->where) {
	case AT_BOTH:
		return where == AT_SOCKET || where == AT_XDP;
	case AT_PEER:
		return where == AT_PEER || where == AT_XDP_PEER;
	default:
		return b->where == where;
	}
}

static void watch_interface(struct wire_offloads *offloads, unsigned port, const char *interface,
	int index, enum where where)
{
	for (size_t i = 0; i < N_BREAKING; i++) {
		struct watched *w = &offloads->watched[offloads->n];

		if (!matters_at(&breaking[i], where))
			continue;
		*w = (struct watched){.port = port, .index = index, .breaking = &breaking[i]};
		snprintf(w->interface, sizeof(w->interface), "%s", interface);
		offloads->n++;
	}
}

/*
 * Watches a port's interface and the one below it, which can merge packets before a VLAN interface
 * gets them; and a veth's other end.
 */
static void watch_port(struct wire_offloads *offloads, unsigned i)
{
	const struct port_config *port = &offloads->config->ports[i];
	char interface[IFNAMSIZ], other[IFNAMSIZ];
	const enum where peer = port_is_af_xdp(port) ? AT_XDP_PEER : AT_PEER;
	struct kernel_kin kin;
	bool veth;

	if (!kernel_interface(port, interface) || kernel_kin(interface, &kin))
		return;
	watch_interface(
		offloads, i, interface, kin.index, port_is_af_xdp(port) ? AT_XDP : AT_SOCKET);
	veth = strcmp(kin.kind, "veth") == 0;
	if (kin.link_elsewhere) {
		if (veth && port->offloads != OFFLOADS_IGNORE && !offloads->only_looks)
			log_offloads(WARNING,
				"ports.%s (%s): the other end of %s is in another network namespace: "
				"\"ethtool -K INTERFACE tx off%s\" is due there, if a kernel sends by it",
				port->name, port->device, interface,
				port_is_af_xdp(port) ? " txvlan off" : "");
	} else if (kin.link && kin.link != kin.index && if_indextoname((unsigned)kin.link, other)) {
		watch_interface(offloads, i, other, kin.link, veth ? peer : AT_SOCKET);
	}
}

/* Returns 0 or a negative errno. */
static int write_record(const struct wire_offloads *offloads)
{
	FILE *out;
	int fd, ret;

	unlink(offloads->next_record);
	fd = open(
		offloads->next_record, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	for (unsigned i = 0; i < offloads->n; i++) {
		const struct watched *w = &offloads->watched[i];

		if (w->put_back)
			fprintf(out, "%d %s %s\n", w->index, w->interface, w->breaking->feature);
	}
	ret = ferror(out) ? -EIO : 0;
	if (fclose(out) && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(offloads->next_record, offloads->record))
		ret = -errno;
	return ret;
}

static void keep_record(struct wire_offloads *offloads)
{
	int ret = write_record(offloads);

	if (ret && !offloads->record_failed)
		log_offloads(WARNING,
			"%s: %s: if this process is killed, the offloads that it has switched off "
			"stay so",
			offloads->record, strerror(-ret));
	offloads->record_failed = ret != 0;
}

static struct watched *find_watched(
	struct wire_offloads *offloads, int index, const char *interface, const char *feature)
{
	for (unsigned i = 0; i < offloads->n; i++) {
		struct watched *w = &offloads->watched[i];

		if (w->index == index && strcmp(w->interface, interface) == 0 &&
			strcmp(w->breaking->feature, feature) == 0)
			return w;
	}
	return NULL;
}

static void put_back(const char *interface, int index, const char *feature)
{
	struct features features;
	int ret;

	if ((int)if_nametoindex(interface) != index || features_read(interface, &features))
		return; /* the interface and its settings no longer exist */
	ret = features_on(&features, feature)
		      ? 0
		      : features_switch(interface, &features, feature, true);
	if (ret)
		log_offloads(WARNING, "%s: %s stays off: %s: ethtool -K %s %s on", interface,
			feature, strerror(-ret), interface, feature);
}

/* Root acts on this file, so it must belong to root only. */
static FILE *open_record(const struct wire_offloads *offloads)
{
	int fd = open(offloads->record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;
	FILE *in;

	if (fd < 0)
		return NULL;
	in = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid()
		     ? fdopen(fd, "r")
		     : NULL;
	if (!in)
		close(fd);
	return in;
}

/* Takes over the features that a previous process switched off and did not restore. */
static void inherit_record(struct wire_offloads *offloads)
{
	FILE *in = open_record(offloads);
	char interface[IFNAMSIZ], feature[ETH_GSTRING_LEN];
	int index;

	while (in && fscanf(in, "%d %15s %31s", &index, interface, feature) == 3) {
		struct watched *w = find_watched(offloads, index, interface, feature);

		if (w && offloads->config->ports[w->port].offloads == OFFLOADS_FIX)
			w->put_back = w->inherited = true;
		else
			put_back(interface, index, feature);
	}
	if (in)
		fclose(in);
}

static void add_word(char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_word(char *words, const char *format, ...)
{
	size_t at = strlen(words);
	va_list args;

	va_start(args, format);
	vsnprintf(words + at, WORDS - at, format, args);
	va_end(args);
}

static void switch_off(struct wire_offloads *offloads, struct watched *w)
{
	const char *feature = w->breaking->feature;
	struct features features;

	w->put_back = true;
	keep_record(offloads);
	if (features_read(w->interface, &features) ||
		features_switch(w->interface, &features, feature, false) ||
		features_read(w->interface, &features))
		w->put_back = false;
	w->at_work = features_on(&features, feature);
}

/*
 * Findings for one interface: features that stay on, and features that were switched off, as text.
 */
struct findings {
	unsigned n, n_fixed;
	char names[WORDS], fixed[WORDS], command[WORDS];
};

static void look_at_feature(struct wire_offloads *offloads, struct watched *w,
	const struct features *features, struct findings *found)
{
	enum offloads_mode mode = offloads->config->ports[w->port].offloads;
	bool was = w->at_work;

	w->at_work = features_on(features, w->breaking->feature);
	if (w->at_work && mode == OFFLOADS_FIX && offloads->only_looks) {
		w->at_work = !features_changeable(features, w->breaking->feature);
	} else if (w->at_work && mode == OFFLOADS_FIX) {
		switch_off(offloads, w);
		if (!w->at_work) {
			add_word(found->fixed, " %s", w->breaking->feature);
			found->n_fixed++;
		}
	}
	w->at_work = w->at_work && !w->breaking->optional;
	w->reported = w->reported && was;
	if (!w->at_work || w->reported)
		return;
	w->reported = true;
	found->n++;
	add_word(found->names, " %s", w->breaking->feature);
	add_word(found->command, " %s off", w->breaking->word);
}

/*
 * Checks all features of the interface of offloads->watched[from]. Returns the index of the next
 * interface.
 */
static unsigned look_at_interface(
	struct wire_offloads *offloads, unsigned from, struct findings *found)
{
	const struct watched first = offloads->watched[from];
	struct features features;
	char name[IFNAMSIZ];
	unsigned to = from;

	*found = (struct findings){0};
	/* A missing interface has no features. A new one with its name is another interface. */
	if (!if_indextoname((unsigned)first.index, name) || features_read(name, &features)) {
		features = (struct features){0};
		memcpy(name, first.interface, sizeof(name));
	}
	for (; to < offloads->n && offloads->watched[to].index == first.index &&
		offloads->watched[to].port == first.port;
		to++) {
		memcpy(offloads->watched[to].interface, name, sizeof(name)); /* its current name */
		look_at_feature(offloads, &offloads->watched[to], &features, found);
	}
	return to;
}

static void complain_offloads(
	const struct wire_offloads *offloads, const struct watched *w, const struct findings *found)
{
	const struct port_config *port = &offloads->config->ports[w->port];
	const char *why = port->offloads == OFFLOADS_FIX      ? "cannot switch off"
			  : port->offloads == OFFLOADS_REFUSE ? "refused"
							      : "warning";

	log_offloads(ERR,
		"ports.%s (%s): %s:%s of %s: received packets would differ from the wire: "
		"ethtool -K %s%s",
		port->name, port->device, why, found->names, w->interface, w->interface,
		found->command);
}

static int look_at_start(struct wire_offloads *offloads)
{
	struct findings found;
	int ret = 0;

	for (unsigned i = 0, next; i < offloads->n; i = next) {
		const struct watched *w = &offloads->watched[i];

		next = look_at_interface(offloads, i, &found);
		if (found.n) {
			complain_offloads(offloads, w, &found);
			if (offloads->config->ports[w->port].offloads != OFFLOADS_IGNORE)
				ret = -EPERM;
		}
		if (found.n_fixed)
			log_offloads(INFO, "ports.%s: switched off while weir runs: %s:%s",
				offloads->config->ports[w->port].name, w->interface, found.fixed);
	}
	return ret;
}

int wire_offloads_start(const struct config *config, struct wire_offloads **out)
{
	struct wire_offloads *offloads = calloc(1, sizeof(*offloads));
	int ret;

	*out = NULL;
	if (!offloads)
		return -ENOMEM;
	offloads->config = config;
	snprintf(offloads->record, PATH_BYTES, "%s.offloads", config->control_socket);
	snprintf(offloads->next_record, PATH_BYTES, "%s.offloads.new", config->control_socket);
	for (unsigned i = 0; i < config->n_ports; i++)
		watch_port(offloads, i);
	inherit_record(offloads);
	ret = look_at_start(offloads);
	if (ret || offloads->n == 0)
		wire_offloads_stop(offloads, ret != 0);
	else
		*out = offloads;
	return ret;
}

int wire_offloads_foresee(const struct config *config, wire_offloads_found found, void *context)
{
	struct wire_offloads *offloads = calloc(1, sizeof(*offloads));
	struct findings findings;

	if (!offloads)
		return -ENOMEM;
	offloads->config = config;
	offloads->only_looks = true;
	for (unsigned i = 0; i < config->n_ports; i++)
		watch_port(offloads, i);
	for (unsigned i = 0, next; i < offloads->n; i = next) {
		const struct watched *w = &offloads->watched[i];

		next = look_at_interface(offloads, i, &findings);
		if (findings.n)
			found(context, w->port, w->interface, findings.names, findings.command);
	}
	free(offloads);
	return 0;
}

void wire_offloads_stop(struct wire_offloads *offloads, bool failed)
{
	bool remains = false;

	if (!offloads)
		return;
	for (unsigned i = 0; i < offloads->n; i++) {
		struct watched *w = &offloads->watched[i];

		if (failed ? w->inherited : port_has_programs(offloads->config, w->port)) {
			remains = true;
			continue;
		}
		if (w->put_back)
			put_back(w->interface, w->index, w->breaking->feature);
		w->put_back = false;
	}
	if (remains)
		keep_record(offloads);
	else
		unlink(offloads->record);
	free(offloads);
}

void wire_offloads_renew(struct wire_offloads *offloads, unsigned port, unsigned interface)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < offloads->n; i++)
		if (offloads->watched[i].port == port &&
			(unsigned)offloads->watched[i].index == interface)
			return;
	for (unsigned i = 0; i < offloads->n; i++)
		if (offloads->watched[i].port != port)
			offloads->watched[kept++] = offloads->watched[i];
	offloads->n = kept;
	watch_port(offloads, port);
}

bool wire_offloads_look(struct wire_offloads *offloads, char news[WIRE_OFFLOADS_NEWS])
{
	struct findings found;

	for (unsigned i = 0, next; i < offloads->n; i = next) {
		const struct watched *w = &offloads->watched[i];
		const char *name = offloads->config->ports[w->port].name;

		next = look_at_interface(offloads, i, &found);
		if (found.n)
			snprintf(news, WIRE_OFFLOADS_NEWS,
				"ports.%s: another program has switched on%s of %s: ethtool -K %s%s",
				name, found.names, w->interface, w->interface, found.command);
		else if (found.n_fixed)
			snprintf(news, WIRE_OFFLOADS_NEWS,
				"ports.%s: another program has switched on%s of %s: switched off again",
				name, found.fixed, w->interface);
		if (found.n || found.n_fixed)
			return true;
	}
	return false;
}

void wire_offloads_at_work(
	const struct wire_offloads *offloads, unsigned port, char *names, size_t size)
{
	size_t at = 0;

	snprintf(names, size, "%s", "");
	for (unsigned i = 0; offloads && i < offloads->n; i++) {
		const struct watched *w = &offloads->watched[i];

		if (w->port == port && w->at_work && at < size)
			at += (size_t)snprintf(names + at, size - at, "%s%s:%s", at ? " " : "",
				w->interface, w->breaking->feature);
	}
}
