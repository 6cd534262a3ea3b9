/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires of kernel interfaces that outlive this process ("fail": "open").
 */
#include "bypass.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/if_link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/math.h"
#include "base/time.h"
#include "bypass_check.h"
#include "bypass_maps.h"
#include "kernel_port.h"
#include "plane.h"

#include "bypass.skel.h" /* uses the maps above */

#define LAST_WORDS 512

#define BEATS_BYTES (BYPASS_WORKERS * sizeof(struct bypass_beat))

static_assert(CONFIG_WORKERS_MAX <= BYPASS_WORKERS, "each worker has a line");
static_assert(sizeof(struct bypass_past) == sizeof(struct bypass_count), "the same words");

/* Pins of a port. A start that fails removes those that this process has made. */
enum pin { PIN_COUNT, PIN_SOCKETS, PIN_LINK, PINS };

static const char *const pin_names[PINS] = {"count", "sockets", "link"};

struct bypass_port {
	struct bypass_bpf *program;
	struct bpf_link *unsent, *refused;
	struct bypass_past base,
		before; /* counts at the takeover; between it and the previous one */
	int interface;  /* index; 0: no program */
	int link;       /* this process's, or a previous one's; -1: none */
	int previous;   /* the previous program, to restore; -1 */
	bool inherited; /* `link` is a previous process's: see bypass_take_over() */
	bool updated;   /* `link` leads to this process's program now */
	bool pinned[PINS];
};

struct bypass {
	char directory[BYPASS_PATH];
	struct bypass_port ports[CONFIG_PORTS_MAX];
	struct bypass_beat *beats; /* one map for all programs */
	int beats_fd;
	struct plane *plane; /* NULL: no XDP data plane */
	bool made_top;       /* this process made BYPASS_DIRECTORY */
	bool swapped;        /* this process's plane pins are in place */
	bool stays;          /* the start has succeeded: the programs outlive the process */
};

/* The port that is being opened, and the receiver of its errors. */
struct opening {
	struct bypass *bypass;
	const struct config *config;
	const struct complaint_sink *to;
	unsigned port, partner, wire;
};

/* Last warnings of libbpf, which include the kernel verifier's. Main thread. */
static char last_words[LAST_WORDS];

static int keep_words(enum libbpf_print_level level, const char *format, va_list words)
{
	size_t at = strlen(last_words);
	char line[LAST_WORDS / 2];

	if (level > LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, words);
	line[strcspn(line, "\n")] = '\0';
	if (at + strlen(line) + sizeof("; ") > sizeof(last_words))
		at = 0;
	snprintf(last_words + at, sizeof(last_words) - at, "%s%s", at ? "; " : "", line);
	return 0;
}

static int complain_of_port(
	const struct opening *opening, const char *what, int ret, const char *remedy)
{
	const struct port_config *port = &opening->config->ports[opening->port];
	char place[CONFIG_NAME_MAX + sizeof("ports.")], found[LAST_WORDS + 256];

	snprintf(place, sizeof(place), "ports.%s", port->name);
	snprintf(found, sizeof(found), "%s: %s%s%s", what, strerror(-ret),
		last_words[0] ? ": " : "", last_words);
	complaint_write(
		opening->to, &(struct complaint){.place = place, .found = found, .remedy = remedy});
	return ret;
}

static void name_pin(
	const struct bypass *bypass, enum pin pin, int interface, char path[BYPASS_PATH])
{
	int len = snprintf(
		path, BYPASS_PATH, "%s/%s-%d", bypass->directory, pin_names[pin], interface);

	if (len >= BYPASS_PATH) /* cannot happen: names are shorter */
		path[0] = '\0';
}

static int make_directory(const struct opening *opening)
{
	const char *path = opening->bypass->directory;
	int top = mkdir(BYPASS_DIRECTORY, 0700) ? errno : 0;

	opening->bypass->made_top |= top == 0;
	if ((top && top != EEXIST) || (mkdir(path, 0700) && errno != EEXIST))
		return complain_of_port(opening, path, -errno, NULL);
	return 0;
}

/* Adds a count to another, or subtracts it if `sign` is -1. */
static void add_count(struct bypass_past *sum, const void *count, uint64_t sign)
{
	uint64_t *words = &sum->packets;
	const uint64_t *more = count;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*words); i++)
		words[i] += sign * more[i];
}

static struct bypass_past sum_counts(const struct bypass_bpf *program, uint32_t key)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(program->maps.counts);
	struct bypass_past past = {0};
	struct bypass_count *each;

	each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	if (each && bpf_map_lookup_elem(fd, &key, each) == 0)
		for (int i = 0; i < cpus; i++)
			add_count(&past, &each[i], 1);
	free(each);
	return past;
}

/* Computes the counts since the last process called this, and begins a new count. */
static void take_counts(struct bypass_port *port)
{
	struct bypass_past reported = sum_counts(port->program, BYPASS_REPORTED);
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(port->program->maps.counts);
	struct bypass_past *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint32_t key = BYPASS_REPORTED;

	port->before = port->base = sum_counts(port->program, BYPASS_COUNTED);
	add_count(&port->before, &reported, (uint64_t)-1);
	if (each) {
		each[0] = port->base;
		bpf_map_update_elem(fd, &key, each, BPF_ANY);
	}
	free(each);
}

static int index_of(const struct port_config *port)
{
	char name[IFNAMSIZ];

	return kernel_interface(port, name) ? (int)if_nametoindex(name) : 0;
}

static void set_up(const struct opening *opening, struct bypass_bpf *program)
{
	static const uint32_t fails[] = {[FAIL_CLOSED] = BYPASS_CLOSED,
		[FAIL_OPEN] = BYPASS_OPEN,
		[FAIL_LAST_LIMITS] = BYPASS_LAST_LIMITS};
	const struct config *config = opening->config;
	const struct wire *wire = &config->wires[opening->wire];
	struct bypass_setup *setup = (struct bypass_setup *)&program->rodata->setup;
	struct timespec jiffy = {0};
	unsigned first;

	/* The coarse clock advances by one jiffy at a time. */
	clock_getres(CLOCK_MONOTONIC_COARSE, &jiffy);
	*setup = (struct bypass_setup){
		.lease = wire->fail_after_ns /
			 ((uint64_t)jiffy.tv_sec * SECOND_NS + (uint64_t)jiffy.tv_nsec),
		.workers = config->n_workers,
		.interface = (uint32_t)opening->bypass->ports[opening->port].interface,
		.partner = (uint32_t)index_of(&config->ports[opening->partner]),
		.sockets = port_is_af_xdp(&config->ports[opening->port]),
		.fail = fails[wire_fail(config, wire)],
		.plane = port_is_xdp(&config->ports[opening->port]),
		.slots = opening->bypass->plane ? plane_slots(opening->bypass->plane) : 0,
		.wire = opening->wire,
		.enters_tunnels = config->tunnels.classify == TUNNELS_INNER,
		.vxlan_port = config->tunnels.vxlan_port,
		.direction = opening->port == wire->a ? DIRECTION_A_TO_B : DIRECTION_B_TO_A,
	};
	first = af_xdp_first_queue(&config->ports[opening->port]);
	for (unsigned q = 0; q < BYPASS_QUEUES; q++)
		setup->worker_of[q] = q < first ? BYPASS_WORKERS
						: (uint8_t)wire_queue_owner(opening->wire,
							  q - first, config->n_workers);
}

/* Returns true if a map has the type and size that a program expects. */
static bool map_fits(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 && info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map);
}

/*
 * Makes a program use a map that a previous process pinned under that name. If the map does not
 * fit, removes its pin.
 */
static int inherit_map(
	const struct bypass *bypass, enum pin pin, int interface, struct bpf_map *map)
{
	char path[BYPASS_PATH];
	int fd, ret;

	name_pin(bypass, pin, interface, path);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (map_fits(map, fd))
		ret = bpf_map__reuse_fd(map, fd);
	else
		ret = unlink(path) ? -errno : 0;
	close(fd);
	return ret;
}

/* Shares the maps that outlive the program: counts continue, and sockets stay. */
static int share_maps(const struct opening *opening, struct bypass_port *port)
{
	struct bypass *bypass = opening->bypass;
	int ret = inherit_map(bypass, PIN_COUNT, port->interface, port->program->maps.counts);

	if (ret == 0)
		ret = inherit_map(
			bypass, PIN_SOCKETS, port->interface, port->program->maps.xsks_map);
	if (ret == 0 && bypass->beats_fd >= 0)
		ret = bpf_map__reuse_fd(port->program->maps.beats, bypass->beats_fd);
	if (ret == 0 && bypass->plane)
		ret = plane_share(bypass->plane, port->program);
	return ret;
}

static int load_program(const struct opening *opening, struct bypass_port *port)
{
	struct bypass *bypass = opening->bypass;
	int ret;

	port->program = bypass_bpf__open();
	if (!port->program)
		return -errno;
	set_up(opening, port->program);
	ret = share_maps(opening, port);
	if (ret == 0)
		ret = bypass_bpf__load(port->program);
	if (ret == 0 && bypass->plane)
		ret = plane_map(bypass->plane, port->program);
	return ret;
}

/* Maps the beats of the first program. All programs use its map. */
static int map_beats(struct bypass *bypass, const struct bypass_port *port)
{
	if (bypass->beats_fd >= 0)
		return 0;
	bypass->beats_fd = bpf_map__fd(port->program->maps.beats);
	bypass->beats = mmap(
		NULL, BEATS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bypass->beats_fd, 0);
	if (bypass->beats == MAP_FAILED)
		bypass->beats = NULL;
	return bypass->beats ? 0 : -errno;
}

/* Returns whether the program is attached in the port's configured mode. */
static bool is_attached_so(const struct port_config *port, int interface)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (!port_is_xdp(port) || bpf_xdp_query(interface, 0, &query))
		return true;
	return query.attach_mode == (port->generic ? XDP_ATTACHED_SKB : XDP_ATTACHED_DRV);
}

/* Detaches a program, before this returns, and removes its pin. */
static void remove_link(int link, const char *path)
{
	bpf_link_detach(link);
	close(link);
	unlink(path);
}

/*
 * Opens the link that a previous process left. If its interface is missing or the mode differs, the
 * link must be removed before a new one. Without this call, the kernel would detach it only some
 * time after the last reference.
 */
static void open_previous(const struct opening *opening, struct bypass_port *port, const char *path)
{
	uint32_t program = 0;
	int interface, link = bypass_open_link(path, &interface, &program);

	if (link < 0)
		return;
	if (interface != port->interface ||
		!is_attached_so(&opening->config->ports[opening->port], interface)) {
		remove_link(link, path);
		return;
	}
	port->link = link;
	port->inherited = true;
	port->previous = bpf_prog_get_fd_by_id(program);
}

static int complain_of_attach(const struct opening *opening, int ret)
{
	char name[IFNAMSIZ] = "", remedy[sizeof("ip link show dev ") + IFNAMSIZ];

	if (ret == -EOPNOTSUPP)
		return complain_of_port(opening, "its driver has no XDP of its own", ret,
			"\"generic\": true of both ports, or the device "
			"net_af_packet0,iface=... in place of xdp:...");
	if (ret != -EBUSY)
		return complain_of_port(opening, "its program is not taken", ret, NULL);
	kernel_interface(&opening->config->ports[opening->port], name);
	snprintf(remedy, sizeof(remedy), "ip link show dev %s", name);
	return complain_of_port(opening, "another XDP program is there", ret, remedy);
}

/*
 * Attaches the program, because AF_XDP sockets need one. If a previous process's program is
 * attached, it stays until bypass_take_over() replaces it. The new program leaves packets to the
 * host until then. It is removed with the process unless bypass_take_over() has pinned it.
 */
static int attach_program(const struct opening *opening, struct bypass_port *port)
{
	const struct port_config *config = &opening->config->ports[opening->port];
	/*
	 * The data plane requires the driver's own XDP, unless the port's "generic" key is set:
	 * with generic XDP, deciding packets costs more than it saves. For a program that only
	 * forwards, either mode is accepted.
	 */
	const uint32_t mode = config->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = port_is_xdp(config) ? mode : 0);
	char path[BYPASS_PATH];

	name_pin(opening->bypass, PIN_LINK, port->interface, path);
	open_previous(opening, port, path);
	if (port->inherited)
		return 0;
	port->link = bpf_link_create(bpf_program__fd(port->program->progs.xsk_def_prog),
		port->interface, BPF_XDP, &opts);
	return port->link < 0 ? complain_of_attach(opening, -errno) : 0;
}

static int open_port(const struct opening *opening)
{
	const struct config *config = opening->config;
	struct bypass_port *port = &opening->bypass->ports[opening->port];
	int partner = index_of(&config->ports[opening->partner]), ret;
	const uint32_t only = 0;

	port->interface = index_of(&config->ports[opening->port]);
	if (port->interface == 0 || partner == 0)
		return complain_of_port(
			opening, "no such interface, or its partner's", -ENODEV, NULL);
	ret = load_program(opening, port);
	if (ret == 0)
		ret = map_beats(opening->bypass, port);
	if (ret)
		return complain_of_port(opening, "the kernel does not take its program", ret, NULL);
	/* Attached until the process ends. */
	port->unsent = bpf_program__attach(port->program->progs.see_unsent);
	port->refused = bpf_program__attach(port->program->progs.see_refused);
	if (bpf_map_update_elem(bpf_map__fd(port->program->maps.partner), &only, &partner, BPF_ANY))
		return complain_of_port(
			opening, "packets cannot be sent to its partner's interface", -errno, NULL);
	return attach_program(opening, port);
}

static int open_wire(struct opening *opening)
{
	const struct wire *wire = &opening->config->wires[opening->wire];
	int ret;

	opening->port = wire->a;
	opening->partner = wire->b;
	ret = make_directory(opening);
	if (ret == 0)
		ret = open_port(opening);
	opening->port = wire->b;
	opening->partner = wire->a;
	return ret ? ret : open_port(opening);
}

static int interface_of(const char *pin)
{
	const char *number = strrchr(pin, '-');

	return number ? (int)strtol(number + 1, NULL, 10) : 0;
}

/* Returns true for pins of a port that has a program now, and for pins that all ports share. */
static bool is_used(const struct bypass *bypass, const char *pin)
{
	int interface = interface_of(pin);

	if (bypass->plane && plane_is_kept(pin))
		return true;
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++)
		if (interface != 0 && bypass->ports[i].interface == interface)
			return true;
	return false;
}

/* Returns true if DPDK's driver must attach its own program to the pin's interface. */
static bool is_in_the_way(const struct config *config, const char *pin)
{
	int interface = interface_of(pin);

	for (unsigned i = 0; i < config->n_ports; i++)
		if (interface != 0 && port_is_af_xdp(&config->ports[i]) &&
			index_of(&config->ports[i]) == interface)
			return true;
	return false;
}

static void remove_pin(const struct bypass *bypass, const char *pin)
{
	char path[2 * BYPASS_PATH];
	int link = -1, interface;
	uint32_t program;

	snprintf(path, sizeof(path), "%s/%s", bypass->directory, pin);
	if (strncmp(pin, "link-", strlen("link-")) == 0)
		link = bypass_open_link(path, &interface, &program);
	if (link >= 0)
		remove_link(link, path);
	else
		plane_unkeep(path);
}

/*
 * Removes pins of ports without a program; with a configuration only if they block DPDK's driver.
 */
static void remove_others(const struct bypass *bypass, const struct config *in_the_way)
{
	DIR *directory = opendir(bypass->directory);
	const struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.' && !is_used(bypass, entry->d_name) &&
			(!in_the_way || is_in_the_way(in_the_way, entry->d_name)))
			remove_pin(bypass, entry->d_name);
	closedir(directory);
	if (!in_the_way)
		rmdir(bypass->directory); /* only if it is empty */
}

void bypass_remove_left(const struct config *config)
{
	struct bypass *none = calloc(1, sizeof(*none));

	if (!none)
		return;
	bypass_name_directory(config->limiter, none->directory);
	remove_others(none, NULL);
	free(none);
}

/*
 * Pins the maps under a temporary name. Errors occur here, before a previous process's pins change.
 */
static int keep_aside(struct bypass *bypass, const struct complaint_sink *to)
{
	int ret = plane_keep_aside(bypass->plane);
	char found[BYPASS_PATH + 64];

	if (ret == 0)
		return 0;
	snprintf(found, sizeof(found), "%s: %s", bypass->directory, strerror(-ret));
	complaint_write(to, &(struct complaint){.place = "wires", .found = found});
	return ret;
}

int bypass_open(const struct config *config, const struct bypass_room *room,
	const struct complaint_sink *to, struct bypass **bypass)
{
	struct bypass *made = calloc(1, sizeof(*made));
	struct opening opening = {.bypass = made, .config = config, .to = to};
	int ret = 0;

	*bypass = NULL;
	if (!made)
		return -ENOMEM;
	made->beats_fd = -1;
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++)
		made->ports[i].link = made->ports[i].previous = -1;
	bypass_name_directory(config->limiter, made->directory);
	last_words[0] = '\0';
	libbpf_set_print(keep_words);
	ret = bypass_check(config, to);
	if (ret == 0 && config_has_plane(config))
		ret = plane_create(room->slots, room->lines, made->directory, &made->plane);
	for (; ret == 0 && opening.wire < config->n_wires; opening.wire++)
		if (wire_has_programs(config, &config->wires[opening.wire]))
			ret = open_wire(&opening);
	if (ret == 0)
		remove_others(made, config);
	if (ret == 0 && made->plane)
		ret = keep_aside(made, to);
	if (ret || !config_has_programs(config))
		bypass_close(made);
	else
		*bypass = made;
	return ret;
}

static int pin_one(const struct bypass_port *port, enum pin pin, const char *path)
{
	const int fds[PINS] = {[PIN_COUNT] = bpf_map__fd(port->program->maps.counts),
		[PIN_SOCKETS] = bpf_map__fd(port->program->maps.xsks_map),
		[PIN_LINK] = port->link};

	return bpf_obj_pin(fds[pin], path) ? -errno : 0;
}

/*
 * Pins a port's objects. This is the last step: until then the kernel removes everything when the
 * process ends.
 */
static int pin_port(const struct bypass *bypass, struct bypass_port *port)
{
	char path[BYPASS_PATH];

	for (unsigned pin = 0; pin < PINS; pin++) {
		int ret;

		name_pin(bypass, pin, port->interface, path);
		if (pin == PIN_LINK ? port->inherited : access(path, F_OK) == 0)
			continue;
		ret = pin_one(port, pin, path);
		if (ret)
			return ret;
		port->pinned[pin] = true;
	}
	return 0;
}

/* Returns the number of a port's pins that are missing. If `again`, pins them. */
static int pin_missing(const struct bypass *bypass, const struct bypass_port *port, bool again)
{
	char path[BYPASS_PATH];
	int missing = 0;

	for (unsigned pin = 0; port->interface && pin < PINS; pin++) {
		int ret;

		name_pin(bypass, pin, port->interface, path);
		if (access(path, F_OK) == 0)
			continue;
		ret = again ? pin_one(port, pin, path) : 0;
		if (ret)
			return ret;
		missing++;
	}
	return missing;
}

int bypass_pin_again(struct bypass *bypass)
{
	bool whole = !bypass->plane || plane_is_whole(bypass->plane);
	int missing = !whole, ret = 0;

	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++)
		missing += pin_missing(bypass, &bypass->ports[i], false);
	if (missing == 0)
		return 0;
	if ((mkdir(BYPASS_DIRECTORY, 0700) && errno != EEXIST) ||
		(mkdir(bypass->directory, 0700) && errno != EEXIST))
		return -errno;
	for (unsigned i = 0; ret >= 0 && i < CONFIG_PORTS_MAX; i++)
		ret = pin_missing(bypass, &bypass->ports[i], true);
	if (ret >= 0 && !whole)
		ret = plane_keep(bypass->plane);
	return ret < 0 ? ret : missing;
}

/* Puts the program in force, in place of a previous process's. No packet passes between them. */
static int put_in_force(struct bypass_port *port)
{
	port->program->bss->in_force = 1;
	if (port->inherited && bpf_link_update(port->link,
				       bpf_program__fd(port->program->progs.xsk_def_prog), NULL))
		return -errno;
	port->updated = port->inherited;
	return 0;
}

/*
 * The pins change before any program does. If this process is killed, any combination of programs
 * can be attached, and the pins list the maps of all of them.
 */
int bypass_take_over(struct bypass *bypass)
{
	int ret = bypass->plane ? plane_swap(bypass->plane) : 0;

	bypass->swapped = bypass->plane && ret == 0;
	for (unsigned i = 0; ret == 0 && i < CONFIG_PORTS_MAX; i++)
		if (bypass->ports[i].interface)
			ret = pin_port(bypass, &bypass->ports[i]);
	for (unsigned i = 0; ret == 0 && i < CONFIG_PORTS_MAX; i++)
		if (bypass->ports[i].interface)
			ret = put_in_force(&bypass->ports[i]);
	for (unsigned i = 0; ret == 0 && i < CONFIG_PORTS_MAX; i++)
		if (bypass->ports[i].interface)
			take_counts(&bypass->ports[i]);
	bypass->stays = ret == 0;
	if (ret == 0)
		remove_others(bypass, NULL);
	return ret;
}

/* After a failed start: restores the previous program, and removes everything else. */
static void take_back(const struct bypass *bypass, struct bypass_port *port)
{
	char path[BYPASS_PATH];

	if (port->updated && port->previous >= 0)
		bpf_link_update(port->link, port->previous, NULL);
	if (port->link >= 0 && !port->inherited)
		bpf_link_detach(port->link);
	for (unsigned pin = 0; pin < PINS; pin++) {
		name_pin(bypass, pin, port->interface, path);
		if (port->pinned[pin])
			unlink(path);
	}
}

struct plane *bypass_plane(const struct bypass *bypass)
{
	return bypass->plane;
}

void bypass_close(struct bypass *bypass)
{
	bool counted = false;

	if (!bypass)
		return;
	if (bypass->beats)
		munmap(bypass->beats, BEATS_BYTES);
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++) {
		struct bypass_port *port = &bypass->ports[i];

		if (!bypass->stays && port->interface)
			take_back(bypass, port);
		bpf_link__destroy(port->unsent);
		bpf_link__destroy(port->refused);
		if (port->link >= 0)
			close(port->link);
		if (port->previous >= 0)
			close(port->previous);
		bypass_bpf__destroy(port->program);
		counted |= port->updated;
	}
	/* A failed start restores the pins, unless a program of it has counted packets. */
	if (!bypass->stays && bypass->swapped && !counted)
		(void)plane_swap(bypass->plane);
	if (bypass->plane)
		plane_drop_aside(bypass->plane);
	if (!bypass->stays)
		rmdir(bypass->directory); /* only if it is empty */
	if (!bypass->stays && bypass->made_top)
		rmdir(BYPASS_DIRECTORY);
	plane_destroy(bypass->plane);
	free(bypass);
}

uint32_t *bypass_beat(struct bypass *bypass, unsigned worker)
{
	return &bypass->beats[worker].turn;
}

void bypass_leave(struct bypass *bypass)
{
	for (unsigned i = 0; i < BYPASS_WORKERS; i++)
		__atomic_store_n(&bypass->beats[i].leaves, 1, __ATOMIC_RELAXED);
}

void bypass_set_frame(struct bypass *bypass, unsigned port, uint32_t bytes)
{
	__atomic_store_n(&bypass->ports[port].program->data->frame_max, bytes, __ATOMIC_RELAXED);
}

bool bypass_has(const struct bypass *bypass, unsigned port)
{
	return bypass && bypass->ports[port].interface != 0;
}

struct bypass_past bypass_past(const struct bypass *bypass, unsigned port)
{
	struct bypass_past past = sum_counts(bypass->ports[port].program, BYPASS_COUNTED);

	add_count(&past, &bypass->ports[port].base, (uint64_t)-1);
	return past;
}

struct bypass_past bypass_before(const struct bypass *bypass, unsigned port)
{
	return bypass->ports[port].before;
}

bool bypass_is_inherited(const struct bypass *bypass, unsigned port)
{
	return bypass->ports[port].inherited;
}
