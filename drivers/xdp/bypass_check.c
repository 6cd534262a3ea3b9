/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks before a start that the kernel's programs of wires can be kept and served: the BPF file
 * system, the queues of ports, and programs that other limiters have left. Opens pinned links and
 * maps for bypass.c and plane_previous.c. Some calls wait for a turn of the workers.
 */
#include "bypass_check.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/math.h"
#include "bypass_maps.h"
#include "kernel_port.h"

#define BPF_FILES    "/sys/fs/bpf"
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

#define MAPS_MOST 32 /* most maps of one program */

/* A worker runs its loop at least once in this time. */
#define ROUND_NS 250000000

void bypass_name_directory(const char *limiter, char path[BYPASS_PATH])
{
	snprintf(path, BYPASS_PATH, BYPASS_DIRECTORY "/%s", limiter);
	for (char *c = path + sizeof(BYPASS_DIRECTORY); *c; c++)
		if (*c == '.')
			*c = '%';
}

int bypass_open_link(const char *path, int *interface, uint32_t *program)
{
	struct bpf_link_info info = {0};
	uint32_t bytes = sizeof(info);
	int fd = bpf_obj_get(path);

	*interface = 0;
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0) {
		*interface = (int)info.xdp.ifindex;
		*program = info.prog_id;
	}
	return fd;
}

/* Refuses more queues than the wire can use: a queue without a worker would lose its packets. */
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
	snprintf(found, sizeof(found), "%s has %u receive queues, and this wire can use %u: %s",
		name, queues.receive, most,
		most == config->n_workers
			? "each needs a worker"
			: "DPDK's driver uses combined queues of both ports, or one queue");
	snprintf(remedy, sizeof(remedy), "ethtool -L %s %s %u", name,
		queues.receive > queues.pairs ? "rx" : "combined", most);
	complaint_write(to, &(struct complaint){.place = place, .found = found, .remedy = remedy});
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

/* The sum of the turns of all workers that serve a program; 0 if they have left it. */
static uint32_t sum_turns(int beats)
{
	struct bypass_beat beat;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < BYPASS_WORKERS; i++)
		if (bpf_map_lookup_elem(beats, &i, &beat) == 0 && !beat.leaves)
			sum += beat.turn;
	return sum;
}

int bypass_open_map(uint32_t program, const char *name)
{
	uint32_t ids[MAPS_MOST], bytes = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MOST, .map_ids = (uint64_t)(uintptr_t)ids};
	int fd = bpf_prog_get_fd_by_id(program), found = -1;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes))
		info.nr_map_ids = 0;
	for (uint32_t i = 0; found < 0 && i < info.nr_map_ids && i < MAPS_MOST; i++) {
		struct bpf_map_info map = {0};

		bytes = sizeof(map);
		found = bpf_map_get_fd_by_id(ids[i]);
		if (found >= 0 && (bpf_obj_get_info_by_fd(found, &map, &bytes) ||
					  strcmp(map.name, name) != 0)) {
			close(found);
			found = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* Returns true if the program's workers run their loops. Waits for one turn. */
static bool is_served(uint32_t program)
{
	const struct timespec round = {.tv_nsec = ROUND_NS};
	int beats = bypass_open_map(program, "beats");
	uint32_t before;

	if (beats < 0)
		return false;
	before = sum_turns(beats);
	nanosleep(&round, NULL);
	before -= sum_turns(beats);
	close(beats);
	return before != 0;
}

/* Returns the program that a limiter with this directory has left at an interface, or 0. */
static uint32_t left_program(const char *directory, int interface)
{
	char path[3 * BYPASS_PATH];
	uint32_t program = 0, attached = 0;
	int of = 0, link;

	snprintf(path, sizeof(path), "%s/link-%d", directory, interface);
	link = bypass_open_link(path, &of, &program);
	if (link < 0)
		return 0;
	close(link);
	if (of != interface || bpf_xdp_query_id(interface, 0, &attached))
		return 0;
	return attached == program ? program : 0; /* an index is unique in one network only */
}

static int interface_index(const struct port_config *port, char name[IFNAMSIZ])
{
	return kernel_interface(port, name) ? (int)if_nametoindex(name) : 0;
}

bool bypass_find_own(const struct config *config, unsigned port, bool *served)
{
	char directory[BYPASS_PATH], name[IFNAMSIZ];
	uint32_t program;

	bypass_name_directory(config->limiter, directory);
	program = left_program(directory, interface_index(&config->ports[port], name));
	*served = program && is_served(program);
	return program != 0;
}

static void complain_of_stray(const struct config *config, unsigned port, const char *directory,
	bool served, const struct complaint_sink *to)
{
	char place[CONFIG_NAME_MAX + sizeof("ports.")], found[512], remedy[BYPASS_PATH + 32];
	char limiter[CONFIG_NAME_MAX];

	snprintf(limiter, sizeof(limiter), "%s", strrchr(directory, '/') + 1);
	for (char *c = limiter; *c; c++)
		if (*c == '%') /* see bypass_name_directory() */
			*c = '.';
	snprintf(place, sizeof(place), "ports.%s", config->ports[port].name);
	snprintf(found, sizeof(found),
		"%s: the XDP program of limiter %s is there and decides packets%s",
		config->ports[port].device, limiter, served ? "" : ", and no process serves it");
	snprintf(remedy, sizeof(remedy), served ? "stop limiter %s" : "rm -r %s",
		served ? limiter : directory);
	complaint_write(to, &(struct complaint){.place = place, .found = found, .remedy = remedy});
}

/* Reports programs of other limiters at its ports, such as its own under a previous name. */
static int check_strays(const struct config *config, const struct complaint_sink *to)
{
	char own[BYPASS_PATH], directory[BYPASS_PATH + 256], name[IFNAMSIZ];
	DIR *all = opendir(BYPASS_DIRECTORY);
	const struct dirent *entry;
	int ret = 0;

	bypass_name_directory(config->limiter, own);
	while (all && (entry = readdir(all))) {
		snprintf(directory, sizeof(directory), BYPASS_DIRECTORY "/%s", entry->d_name);
		for (unsigned i = 0; entry->d_name[0] != '.' && i < config->n_ports; i++) {
			int interface = interface_index(&config->ports[i], name);
			uint32_t program = interface ? left_program(directory, interface) : 0;

			if (!program || strcmp(directory, own) == 0)
				continue;
			complain_of_stray(config, i, directory, is_served(program), to);
			ret = -EBUSY;
		}
	}
	if (all)
		closedir(all);
	return ret;
}

int bypass_check(const struct config *config, const struct complaint_sink *to)
{
	struct statfs fs;

	int ret = check_strays(config, to);

	if (ret || !config_has_programs(config))
		return ret;
	if (statfs(BPF_FILES, &fs) || fs.f_type != BPF_FS_MAGIC)
		complaint_write(
			to, &(struct complaint){.place = "wires",
				    .found = BPF_FILES " is no BPF file system, and the kernel's "
						       "programs of wires are kept there",
				    .remedy = "mount -t bpf bpf " BPF_FILES});
	else if (access(BYPASS_DIRECTORY, F_OK) ? access(BPF_FILES, W_OK | X_OK)
						: access(BYPASS_DIRECTORY, W_OK | X_OK))
		complaint_write(
			to, &(struct complaint){.place = "wires",
				    .found = BYPASS_DIRECTORY " is not to be written to, and the "
							      "kernel's programs of wires are kept "
							      "there",
				    .remedy = "the drop-in fail_open.conf of its unit, or "
					      "sudo"});
	else if (access(KERNEL_TYPES, R_OK))
		complaint_write(
			to, &(struct complaint){.place = "wires",
				    .found = KERNEL_TYPES ": no types of this kernel, by which its "
							  "programs of wires are loaded",
				    .remedy = "a kernel with CONFIG_DEBUG_INFO_BTF=y, as "
					      "Debian's; and /sys mounted"});
	else
		return check_all_queues(config, to);
	return -EACCES;
}
