/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tries whether EAL accepts a configuration, in a process that ends immediately.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "eal.h"
#include "eal_args.h"
#include "kernel_sockets.h"
#include "port.h"

#define TRIAL_S 30 /* after this, it hangs */

/*
 * Returns whether a trial of a device leaves nothing behind and takes nothing from other processes.
 */
static bool is_harmless(const struct port_config *port)
{
	static const char *const names[] = {"net_null", "net_ring", "net_af_packet"};
	bool found = false;

	for (size_t i = 0; i < RTE_DIM(names); i++)
		found |= strncmp(port->device, names[i], strlen(names[i])) == 0;
	return found;
}

/*
 * Builds the trial's arguments: the first n_eal of the operator's, and others that keep it from
 * leaving anything.
 */
static void build_trial(struct eal_args *args, const struct config *config, unsigned n_eal)
{
	bool no_huge = false;

	eal_args_add(args, "weir");
	eal_args_add_lcores(args, config);
	eal_args_add(args, "--no-telemetry");
	eal_args_add(args, "--no-pci");
	/* --no-huge excludes other memory options, and its memory is freed with the process. */
	for (unsigned i = 0; i < n_eal; i++)
		no_huge |= strcmp(config->eal[i], "--no-huge") == 0;
	eal_args_add(args, no_huge ? "--no-shconf" : "--in-memory");
	eal_args_add(args, "--log-level=lib.eal:error");
	for (unsigned i = 0; i < config->n_ports; i++)
		if (is_harmless(&config->ports[i]))
			eal_args_add_port(args, &config->ports[i]);
	for (unsigned i = 0; i < n_eal; i++)
		if (strncmp(config->eal[i], "--huge-unlink", 13) != 0) /* memory has no files */
			eal_args_add(args, "%s", config->eal[i]);
}

/* Checks that DPDK has the driver of a device that is not tried. */
static int find_driver(const struct port_config *port)
{
	struct rte_devargs devargs = {0};
	char name[CONFIG_DEVICE_MAX];
	int ret;

	eal_device_name(port, name);
	ret = rte_devargs_parse(&devargs, name);

	rte_devargs_reset(&devargs);
	if (ret == 0)
		return 0;
	fprintf(stderr, "weir: ports.%s: device %s: DPDK has no driver of that name here\n",
		port->name, port->device);
	return -ENODEV;
}

static int try_port(const struct port_config *config)
{
	struct port port;
	uint16_t id;
	int ret;

	if (!device_is_vdev(config->device))
		return 0;
	if (!is_harmless(config))
		return find_driver(config);
	ret = eal_find_port(config, &id);
	return ret ? ret : port_probe(&port, config, id);
}

/* Runs the trial. In the child process. */
static int try_all(const struct config *config, unsigned n_eal)
{
	struct eal_args args = {0};
	int ret = 0;

	build_trial(&args, config, n_eal);
	if (args.failed)
		return -ENOMEM;
	rte_openlog_stream(stderr);
	if (rte_eal_init(args.n, args.arg) < 0)
		return rte_errno ? -rte_errno : -EINVAL;
	for (unsigned i = 0; i < config->n_ports; i++) {
		int other = try_port(&config->ports[i]);

		ret = ret ? ret : other;
	}
	if (ret == 0 && fanout_defragments()) {
		fputs("weir: ports: of af_packet ones the kernel would put IPv4 fragments together\n",
			stderr);
		ret = -ENOTSUP;
	}
	return ret;
}

/* The child process. Redirects EAL's usage to /dev/null and its log to `err`. */
static _Noreturn void be_trial(
	const struct config *config, unsigned n_eal, int err, const char *directory)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TRIAL_S);
	setenv("RUNTIME_DIRECTORY", directory, 1);
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(errno);
	_exit(-try_all(config, n_eal));
}

static int await_trial(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	return WTERMSIG(status) == SIGALRM ? -ETIMEDOUT : -EFAULT;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int try_some(const struct config *config, unsigned n_eal, FILE *err)
{
	char directory[] = "/tmp/weir-trial-XXXXXX";
	int ends[2], ret;
	pid_t pid;

	if (!mkdtemp(directory)) {
		fprintf(err, "no directory can be made in /tmp: %s\n", strerror(errno));
		return -ENOTSUP;
	}
	if (pipe2(ends, O_CLOEXEC)) {
		ret = -errno;
		rmdir(directory);
		return ret;
	}
	pid = fork();
	if (pid == 0)
		be_trial(config, n_eal, ends[1], directory);
	ret = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (pid > 0) {
		char bytes[4096];
		ssize_t n;

		while ((n = read(ends[0], bytes, sizeof(bytes))) > 0)
			fwrite(bytes, 1, (size_t)n, err);
		ret = await_trial(pid);
	}
	close(ends[0]);
	nftw(directory, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
	return ret;
}

int eal_trial(const struct config *config, FILE *err)
{
	/* Arguments that start devices or allocate memory are not for a trial. */
	for (unsigned i = 0; i < config->n_eal; i++)
		if (strncmp(config->eal[i], "--vdev", 6) == 0 ||
			strncmp(config->eal[i], "--legacy-m", 10) == 0)
			return -ENOTSUP;
	return try_some(config, config->n_eal, err);
}

/* The directory in which EAL keeps the files that its processes share. */
static const char *shared_directory(void)
{
	const char *service = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");

	if (service)
		return service;
	if (geteuid() == 0)
		return "/var/run";
	return user ? user : "/tmp";
}

bool eal_runs_already(const struct config *config)
{
	char path[4096];

	for (unsigned i = 0; i < config->n_eal; i++)
		if (strcmp(config->eal[i], "--no-shconf") == 0 ||
			strcmp(config->eal[i], "--in-memory") == 0 ||
			strncmp(config->eal[i], "--file-prefix", 13) == 0)
			return false;
	snprintf(path, sizeof(path), "%s/dpdk/weir-%s/config", shared_directory(), config->limiter);
	return rte_eal_primary_proc_alive(path) == 1;
}

unsigned eal_trial_refused(const struct config *config)
{
	FILE *nowhere = fopen("/dev/null", "we");
	unsigned n = config->n_eal;
	bool passes = false;

	while (nowhere && n > 0 && !passes)
		passes = try_some(config, --n, nowhere) == 0;
	if (nowhere)
		fclose(nowhere);
	return passes ? n : config->n_eal;
}
