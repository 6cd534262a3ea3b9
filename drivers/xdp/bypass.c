/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "bypass.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/math.h"
#include "bypass_maps.h"
#include "kernel_port.h"
#include "plane.h"

#include "bypass.skel.h" /* of the maps above */

#define BPF_FILES    "/sys/fs/bpf"
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

#define BEATS_BYTES (BYPASS_WORKERS * sizeof(struct bypass_beat))

/* Longer than any limiter's directory with a file in it. */
#define PATH_BYTES 256

static_assert(CONFIG_WORKERS_MAX <= BYPASS_WORKERS, "each worker has a line");

struct bypass_port {
	struct bypass_bpf *program;
	struct bpf_link *link, *unsent;
	struct bypass_past before;
	int interface; /* index; 0: the port has no program */
	bool former;   /* a former process's is there still: see bypass_take_over() */
};

struct bypass {
	char directory[PATH_BYTES];
	struct bypass_port ports[CONFIG_PORTS_MAX];
	struct bypass_beat *beats; /* one map for all programs */
	int beats_fd;
	struct plane *plane; /* NULL: the kernel decides no packets */
};

/* What is being opened, and whom it is told if it cannot. */
struct opening {
	struct bypass *bypass;
	const struct config *config;
	const struct complaint_sink *to;
	unsigned port, partner, wire;
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list words)
{
	(void)level;
	(void)format;
	(void)words;
	return 0;
}

static int complain_of_port(
	const struct opening *opening, const char *what, int ret, const char *remedy)
{
	const struct port_config *port = &opening->config->ports[opening->port];
	char place[CONFIG_NAME_MAX + sizeof("ports.")], found[512];

	snprintf(place, sizeof(place), "ports.%s", port->name);
	snprintf(found, sizeof(found), "%s: %s", what, strerror(-ret));
	complaint_tell(
		opening->to, &(struct complaint){.place = place, .found = found, .remedy = remedy});
	return ret;
}

/* A dot in a name is reserved in this file system; nothing that has a name here has a '%'. */
static void name_directory(const char *limiter, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, BYPASS_DIRECTORY "/%s", limiter);
	for (char *c = path + sizeof(BYPASS_DIRECTORY); *c; c++)
		if (*c == '.')
			*c = '%';
}

static void name_pin(
	const struct bypass *bypass, const char *what, int interface, char path[PATH_BYTES])
{
	int len = snprintf(path, PATH_BYTES, "%s/%s-%d", bypass->directory, what, interface);

	if (len >= PATH_BYTES) /* cannot be: names are shorter */
		path[0] = '\0';
}

/* What a port has too many of: each queue has packets that are workers'. */
static int check_queues(const struct config *config, const struct port_config *port, unsigned most,
	const struct complaint_sink *to)
{
	char place[CONFIG_NAME_MAX + sizeof("ports.")], name[IFNAMSIZ] = "", found[160], remedy[64];
	struct kernel_queues queues;

	kernel_interface(port, name);
	queues = kernel_queues(name);
	if (queues.receive <= most)
		return 0;
	snprintf(place, sizeof(place), "ports.%s", port->name);
	snprintf(found, sizeof(found),
		"%s has %u receive queues, and both ports of a wire as many as the other, and no "
		"more than the %u workers",
		name, queues.receive, config->n_workers);
	snprintf(remedy, sizeof(remedy), "ethtool -L %s %s %u", name,
		queues.receive > queues.pairs ? "rx" : "combined", most);
	complaint_tell(to, &(struct complaint){.place = place, .found = found, .remedy = remedy});
	return -EINVAL;
}

static int check_wire_queues(
	const struct config *config, const struct wire *wire, const struct complaint_sink *to)
{
	const struct port_config *ports[] = {&config->ports[wire->a], &config->ports[wire->b]};
	unsigned most = config->n_workers;
	int ret = 0;

	for (unsigned i = 0; i < 2; i++) {
		char name[IFNAMSIZ] = "";

		kernel_interface(ports[i], name);
		most = min_u32(most, kernel_queues(name).pairs);
	}
	for (unsigned i = 0; i < 2; i++)
		if (check_queues(config, ports[i], most, to))
			ret = -EINVAL;
	return ret;
}

static int check_all_queues(const struct config *config, const struct complaint_sink *to)
{
	int ret = 0;

	for (unsigned i = 0; i < config->n_wires; i++)
		if (wire_has_plane(config, &config->wires[i]) &&
			check_wire_queues(config, &config->wires[i], to))
			ret = -EINVAL;
	return ret;
}

int bypass_check(const struct config *config, const struct complaint_sink *to)
{
	struct statfs fs;

	if (!config_has_programs(config))
		return 0;
	if (statfs(BPF_FILES, &fs) || fs.f_type != BPF_FS_MAGIC)
		complaint_tell(
			to, &(struct complaint){.place = "wires",
				    .found = BPF_FILES " is no BPF file system, and the kernel's "
						       "programs of wires are kept there",
				    .remedy = "mount -t bpf bpf " BPF_FILES});
	else if (access(BYPASS_DIRECTORY, F_OK) ? access(BPF_FILES, W_OK | X_OK)
						: access(BYPASS_DIRECTORY, W_OK | X_OK))
		complaint_tell(
			to, &(struct complaint){.place = "wires",
				    .found = BYPASS_DIRECTORY " is not to be written to, and the "
							      "kernel's programs of wires are kept "
							      "there",
				    .remedy = "the drop-in fail_wire.conf of its unit, or "
					      "sudo"});
	else
		return check_all_queues(config, to);
	return -EACCES;
}

static int make_directory(const struct opening *opening)
{
	const char *path = opening->bypass->directory;

	if ((mkdir(BYPASS_DIRECTORY, 0700) && errno != EEXIST) ||
		(mkdir(path, 0700) && errno != EEXIST))
		return complain_of_port(opening, path, -errno, NULL);
	return 0;
}

static struct bypass_past sum_counts(const struct bypass_bpf *program)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(program->maps.counts);
	struct bypass_past past = {0};
	struct bypass_count *each;
	uint32_t only = 0;

	each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	if (each && bpf_map_lookup_elem(fd, &only, each) == 0) {
		for (int i = 0; i < cpus; i++) {
			past.packets += each[i].packets;
			past.bytes += each[i].bytes;
			past.passed += each[i].passed;
			past.unmatched += each[i].unmatched;
			past.dropped += each[i].dropped;
			past.unserved += each[i].unserved;
			past.unsent += each[i].unsent;
		}
	}
	free(each);
	return past;
}

/* What the programs before this one have counted; from here on it is this one's. */
static struct bypass_past take_counts(const struct bypass_bpf *program)
{
	struct bypass_past past = sum_counts(program);
	int cpus = libbpf_num_possible_cpus();
	struct bypass_count *none = cpus > 0 ? calloc((size_t)cpus, sizeof(*none)) : NULL;
	uint32_t only = 0;

	if (none)
		bpf_map_update_elem(bpf_map__fd(program->maps.counts), &only, none, BPF_ANY);
	free(none);
	return past;
}

/* The queue of the interface that is the port's first. */
static unsigned first_queue(const struct port_config *port)
{
	const char *said = strstr(port->device, ",start_queue=");

	return said ? (unsigned)strtoul(said + strlen(",start_queue="), NULL, 10) : 0;
}

static void set_up(const struct opening *opening, struct bypass_bpf *program)
{
	static const uint32_t fails[] = {[FAIL_CLOSED] = BYPASS_CLOSED,
		[FAIL_WIRE] = BYPASS_WIRE,
		[FAIL_LAST_LIMITS] = BYPASS_LAST_LIMITS};
	const struct config *config = opening->config;
	const struct wire *wire = &config->wires[opening->wire];
	struct bypass_setup *setup = (struct bypass_setup *)&program->rodata->setup;
	unsigned first;

	*setup = (struct bypass_setup){
		.lease_ns = wire->fail_after_ns,
		.workers = config->n_workers,
		.interface = (uint32_t)opening->bypass->ports[opening->port].interface,
		.sockets = port_is_af_xdp(&config->ports[opening->port]),
		.fail = fails[wire_fail(config, wire)],
		.plane = port_is_xdp(&config->ports[opening->port]),
		.slots = opening->bypass->plane ? plane_slots(opening->bypass->plane) : 0,
		.wire = opening->wire,
		.enters_tunnels = config->tunnels.classify == TUNNELS_INNER,
		.vxlan_port = config->tunnels.vxlan_port,
		.direction = opening->port == wire->a ? DIRECTION_A_TO_B : DIRECTION_B_TO_A,
	};
	first = first_queue(&config->ports[opening->port]);
	for (unsigned q = 0; q < BYPASS_QUEUES; q++)
		setup->worker_of[q] = q < first ? BYPASS_WORKERS
						: (uint8_t)wire_queue_owner(opening->wire,
							  q - first, config->n_workers);
}

/* What has gone past is counted on, in a map that outlives the program; and so are sockets. */
static int share_maps(const struct opening *opening, struct bypass_port *port)
{
	struct bypass *bypass = opening->bypass;
	char path[PATH_BYTES];
	int ret;

	name_pin(bypass, "count", port->interface, path);
	ret = bpf_map__set_pin_path(port->program->maps.counts, path);
	name_pin(bypass, "sockets", port->interface, path);
	if (ret == 0)
		ret = bpf_map__set_pin_path(port->program->maps.xsks_map, path);
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
	bpf_program__set_autoload(port->program->progs.see_unsent, access(KERNEL_TYPES, R_OK) == 0);
	ret = share_maps(opening, port);
	if (ret == 0)
		ret = bypass_bpf__load(port->program);
	if (ret == 0 && bypass->plane)
		ret = plane_map(bypass->plane, port->program);
	if (ret == 0)
		port->before = take_counts(port->program);
	return ret;
}

/* The first program's lines are those of all. */
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

/* Its program is there no more when this returns. */
static void remove_link(struct bpf_link *link)
{
	bpf_link__detach(link);
	bpf_link__destroy(link);
}

/* Whether a program stands where the port's is to. */
static bool is_attached_so(const struct port_config *port, int interface)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (!port_is_xdp(port) || bpf_xdp_query(interface, 0, &query))
		return true;
	return query.attach_mode == (port->generic ? XDP_ATTACHED_SKB : XDP_ATTACHED_DRV);
}

/*
 * The link that a former process has left. One whose interface has gone is of no use, and one that
 * stands elsewhere has to go before ours can come: the kernel takes it away by and by when nobody
 * has it any more, and at once if it is asked.
 */
static struct bpf_link *former_link(const struct port_config *port, const char *path, int interface)
{
	struct bpf_link_info info = {0};
	struct bpf_link *link = bpf_link__open(path);
	uint32_t bytes = sizeof(info);

	if (!link)
		return NULL;
	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &bytes) == 0 &&
		(int)info.xdp.ifindex == interface && is_attached_so(port, interface))
		return link;
	remove_link(link);
	unlink(path);
	return NULL;
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
 * What decides packets costs more than it saves where the driver has no XDP of its own: so that is
 * asked for. Without a limit's program either will do.
 */
static uint32_t attach_flags(const struct port_config *port)
{
	if (!port_is_xdp(port))
		return 0;
	return port->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

static int attach_pinned(const struct opening *opening, struct bypass_port *port, const char *path)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		.flags = attach_flags(&opening->config->ports[opening->port]));
	int fd = bpf_link_create(bpf_program__fd(port->program->progs.xsk_def_prog),
		port->interface, BPF_XDP, &opts);
	int ret = fd < 0 ? -errno : 0;

	if (ret)
		return ret;
	if (bpf_obj_pin(fd, path))
		ret = -errno;
	close(fd);
	if (ret)
		return ret;
	port->link = bpf_link__open(path);
	return port->link ? 0 : -errno;
}

/* Where a former process's is there it stays for now, with the sockets that are to come. */
static int attach_program(const struct opening *opening, struct bypass_port *port)
{
	char path[PATH_BYTES];
	int ret;

	name_pin(opening->bypass, "link", port->interface, path);
	port->link = former_link(&opening->config->ports[opening->port], path, port->interface);
	port->former = port->link != NULL;
	if (port->former)
		return 0;
	ret = attach_pinned(opening, port, path);
	return ret ? complain_of_attach(opening, ret) : 0;
}

/* From now on until the process ends; a kernel without types of its own does not count it. */
static void watch_unsent(struct bypass_port *port)
{
	if (bpf_program__autoload(port->program->progs.see_unsent))
		port->unsent = bpf_program__attach(port->program->progs.see_unsent);
}

static int tell_partner(const struct opening *opening, const struct bypass_port *port, int partner)
{
	uint32_t only = 0;
	int ret = bpf_map_update_elem(
		bpf_map__fd(port->program->maps.partner), &only, &partner, BPF_ANY);

	return ret ? complain_of_port(opening, "packets cannot be sent to its partner's interface",
			     -errno, NULL)
		   : 0;
}

static int index_of(const struct port_config *port)
{
	char name[IFNAMSIZ];

	return kernel_interface(port, name) ? (int)if_nametoindex(name) : 0;
}

static int open_port(const struct opening *opening)
{
	const struct config *config = opening->config;
	struct bypass_port *port = &opening->bypass->ports[opening->port];
	int partner = index_of(&config->ports[opening->partner]), ret;

	port->interface = index_of(&config->ports[opening->port]);
	if (port->interface == 0 || partner == 0)
		return complain_of_port(
			opening, "no such interface, or its partner's", -ENODEV, NULL);
	ret = load_program(opening, port);
	if (ret == 0)
		ret = map_beats(opening->bypass, port);
	if (ret)
		return complain_of_port(opening, "the kernel does not take its program", ret, NULL);
	watch_unsent(port);
	ret = tell_partner(opening, port, partner);
	return ret ? ret : attach_program(opening, port);
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

/* Whether a pin is of a port that has a program now, or of what they all have. */
static bool is_used(const struct bypass *bypass, const char *pin)
{
	const char *number = strrchr(pin, '-');
	long interface = number ? strtol(number + 1, NULL, 10) : 0;

	if (bypass->plane && plane_is_kept(pin))
		return true;
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++)
		if (interface != 0 && bypass->ports[i].interface == interface)
			return true;
	return false;
}

/* One that still is there when the port is opened would be taken for one to stay. */
static void remove_pin(const struct bypass *bypass, const char *pin)
{
	char path[2 * PATH_BYTES];
	struct bpf_link *link = NULL;

	snprintf(path, sizeof(path), "%s/%s", bypass->directory, pin);
	if (strncmp(pin, "link-", strlen("link-")) == 0)
		link = bpf_link__open(path);
	if (link)
		remove_link(link);
	plane_unkeep(path);
}

/* What former processes of this limiter have left before ports that fail otherwise now. */
static void remove_others(const struct bypass *bypass)
{
	DIR *directory = opendir(bypass->directory);
	const struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.' && !is_used(bypass, entry->d_name))
			remove_pin(bypass, entry->d_name);
	closedir(directory);
	rmdir(bypass->directory); /* if it is empty */
}

/* What may fail of keeping them fails here, before anything is taken from a former process. */
static int keep_aside(struct bypass *bypass, const struct complaint_sink *to)
{
	int ret = plane_keep_aside(bypass->plane, bypass->directory);
	char found[PATH_BYTES + 64];

	if (ret == 0)
		return 0;
	snprintf(found, sizeof(found), "%s: %s", bypass->directory, strerror(-ret));
	complaint_tell(to, &(struct complaint){.place = "wires", .found = found});
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
	name_directory(config->limiter, made->directory);
	libbpf_set_print(print_nothing);
	ret = bypass_check(config, to);
	if (ret == 0 && config_has_plane(config))
		ret = plane_create(room->slots, room->lines, made->directory, &made->plane);
	for (; ret == 0 && opening.wire < config->n_wires; opening.wire++)
		if (wire_has_programs(config, &config->wires[opening.wire]))
			ret = open_wire(&opening);
	if (ret == 0)
		remove_others(made);
	if (ret == 0 && made->plane)
		ret = keep_aside(made, to);
	if (ret || !config_has_programs(config))
		bypass_close(made);
	else
		*bypass = made;
	return ret;
}

/* In place of the program that a former process has left: no packet sees neither. */
int bypass_take_over(struct bypass *bypass)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < CONFIG_PORTS_MAX; i++) {
		struct bypass_port *port = &bypass->ports[i];

		if (port->former)
			ret = bpf_link__update_program(
				port->link, port->program->progs.xsk_def_prog);
		port->former &= ret != 0;
	}
	return ret;
}

int bypass_keep(struct bypass *bypass)
{
	return bypass->plane ? plane_keep(bypass->directory) : 0;
}

struct plane *bypass_plane(const struct bypass *bypass)
{
	return bypass->plane;
}

void bypass_close(struct bypass *bypass)
{
	if (!bypass)
		return;
	if (bypass->beats)
		munmap(bypass->beats, BEATS_BYTES);
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++) {
		struct bypass_port *port = &bypass->ports[i];

		bpf_link__destroy(port->unsent);
		if (port->link) {
			bpf_link__disconnect(port->link);
			bpf_link__destroy(port->link);
		}
		bypass_bpf__destroy(port->program);
	}
	if (bypass->plane)
		plane_drop_aside(bypass->directory);
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

bool bypass_has(const struct bypass *bypass, unsigned port)
{
	return bypass && bypass->ports[port].interface != 0;
}

struct bypass_past bypass_past(const struct bypass *bypass, unsigned port)
{
	return sum_counts(bypass->ports[port].program);
}

struct bypass_past bypass_before(const struct bypass *bypass, unsigned port)
{
	return bypass->ports[port].before;
}
