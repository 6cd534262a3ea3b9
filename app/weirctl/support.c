/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "support": one archive with what a developer asks first. Whatever cannot be had is
 * named in it, and the rest is there. tar makes it: every machine that runs this has it, and what
 * is in an archive can be looked at before it leaves the machine by the tools that are there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "answers.h"
#include "ask/member.h"
#include "child.h"
#include "redact.h"

#define PROGRAM_MS 15000
#define PART_MOST  (8 << 20) /* bytes of a part */
#define FILES_MOST 200       /* of a configuration */
#define NAME_MOST  128

struct bundle {
	const struct options *options;
	char folder[PATH_MAX]; /* of a directory of its own, in which is one of this name */
	char name[NAME_MOST];
	json_t *parts;   /* what there is, or why not */
	json_t *secrets; /* words that must not be in it */
	json_t *files;   /* of configurations: those that have been read */
};

/* --- parts ----------------------------------------------------------------------------------- */

static void note_part(struct bundle *bundle, const char *name, const char *why)
{
	json_array_append_new(bundle->parts,
		json_pack("{s:s, s:b, s:s?}", "part", name, "there", why == NULL, "why", why));
}

/* A file of the archive; its name has no folders. */
static void write_part(struct bundle *bundle, const char *name, const char *text)
{
	char path[PATH_MAX + 2 * NAME_MOST], file[NAME_MOST];
	char *clean = redact_text(text, bundle->secrets);
	FILE *out;
	bool good;

	snprintf(file, sizeof(file), "%s", name);
	for (char *c = file; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(path, sizeof(path), "%s/%s/%s", bundle->folder, bundle->name, file);
	out = clean ? fopen(path, "w") : NULL;
	good = out && fputs(clean, out) >= 0;
	if (out && fclose(out))
		good = false;
	note_part(bundle, file, good ? NULL : strerror(errno));
	free(clean);
}

/* A file of the machine, as much of it as is read: for free(). NULL: it cannot be. */
static char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = in ? malloc(PART_MOST + 1) : NULL;
	size_t n = 0;

	if (text) {
		n = fread(text, 1, PART_MOST, in);
		for (size_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		text[n] = '\0';
	}
	if (in)
		fclose(in);
	return text;
}

/* --- the configuration, and what is secret in it --------------------------------------------- */

static void learn_file(struct bundle *bundle, const char *path)
{
	char *text = read_file(path);

	if (text)
		redact_learn(bundle->secrets, text);
	free(text);
}

/* A path of a configuration: those that are relative are so to its directory. */
static void path_beside(const char *file, const char *path, char out[PATH_MAX])
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", file);
	if (*path == '/')
		snprintf(out, PATH_MAX, "%s", path);
	else if (snprintf(out, PATH_MAX, "%s/%s", dirname(copy), path) >= PATH_MAX)
		*out = '\0';
}

/* Reads files of secrets, first of all; and the files that it includes, of a directory all. */
static void find_files(struct bundle *bundle, const char *path)
{
	char *text = json_array_size(bundle->files) < FILES_MOST ? read_file(path) : NULL;
	json_t *secret = text ? redact_files(text) : NULL;
	json_t *include = text ? redact_values(text, "include") : NULL, *value;
	char beside[PATH_MAX], pattern[PATH_MAX + 8];
	size_t i;

	if (text)
		json_array_append_new(bundle->files, json_string(path));
	else
		note_part(bundle, path, strerror(errno));
	free(text);
	json_array_foreach (secret, i, value) {
		path_beside(path, json_string_value(value), beside);
		learn_file(bundle, beside);
	}
	json_array_foreach (include, i, value) {
		glob_t found = {0};

		path_beside(path, json_string_value(value), beside);
		snprintf(pattern, sizeof(pattern), "%s/*.json", beside);
		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++)
				find_files(bundle, found.gl_pathv[k]);
		else
			find_files(bundle, beside);
		globfree(&found);
	}
	json_decref(secret);
	json_decref(include);
}

/* The limiter's own words for its file, as seen from where it runs; or the unit's. */
static void find_config(struct bundle *bundle, struct box *box)
{
	char path[PATH_MAX];
	json_t *config = NULL, *info = NULL;
	const char *file = NULL;

	if (box->open && source_get(&box->client.source, "/weir/config", &config) == 0)
		file = json_string_value(json_object_get(config, "file"));
	if (file && *file != '/' && source_get(&box->client.source, "/info", &info) == 0) {
		if (snprintf(path, sizeof(path), "/proc/%lld/cwd/%s",
			    (long long)json_integer_value(json_object_get(info, "pid")),
			    file) >= (int)sizeof(path))
			*path = '\0';
	} else if (file)
		snprintf(path, sizeof(path), "%s", file);
	else
		snprintf(path, sizeof(path), "/etc/weir/%s.json", box->name);
	find_files(bundle, path);
	json_decref(config);
	json_decref(info);
}

static void write_config(struct bundle *bundle)
{
	const json_t *file;
	size_t i;

	json_array_foreach (bundle->files, i, file) {
		char *text = read_file(json_string_value(file)), name[NAME_MOST];

		snprintf(name, sizeof(name), "config%s", json_string_value(file));
		if (text)
			write_part(bundle, name, text);
		free(text);
	}
}

/* --- what the limiter says ------------------------------------------------------------------- */

static void write_json_part(struct bundle *bundle, const char *name, const json_t *document)
{
	char *text = json_dumps(document, JSON_INDENT(1) | JSON_ENCODE_ANY);

	if (text)
		write_part(bundle, name, text);
	else
		note_part(bundle, name, strerror(ENOMEM));
	free(text);
}

static void write_table(struct bundle *bundle, const char *name, const struct command *command,
	const json_t *document)
{
	struct view *view = view_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret = view && out ? command->print(document, view) : -ENOMEM;

	if (ret == 0)
		ret = view_print(view, out, 0);
	if (out)
		fclose(out);
	if (ret == 0)
		write_part(bundle, name, text);
	free(text);
	view_free(view);
}

static void ask_for_part(struct bundle *bundle, struct box *box, const struct command *command)
{
	const struct request request = {0};
	char name[NAME_MOST];

	box_ask(box, command, &request);
	snprintf(name, sizeof(name), "%s-%s.json", box->name, command->name);
	if (!box->document) {
		note_part(bundle, name, box->why);
		return;
	}
	write_json_part(bundle, name, box->document);
	snprintf(name, sizeof(name), "%s-%s.txt", box->name, command->name);
	write_table(bundle, name, command, box->document);
}

/* What no command shows. */
static void ask_for_more(struct bundle *bundle, struct box *box)
{
	static const char *const requests[] = {"/info", "/weir/health", "/weir/policy_stats",
		"/eal/lcore/list", "/ethdev/list", "/ethdev/info,0", "/ethdev/info,1",
		"/ethdev/xstats,0", "/ethdev/xstats,1"};
	json_t *all = json_object(), *value;
	char name[NAME_MOST];

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (source_get(&box->client.source, requests[i], &value) == 0)
			json_object_set_new(all, requests[i], value);
	snprintf(name, sizeof(name), "%s-telemetry.json", box->name);
	write_json_part(bundle, name, all);
	json_decref(all);
}

/* Every command that only asks, and needs no word. */
static void write_answers(struct bundle *bundle, struct box *box)
{
	char name[NAME_MOST];

	if (!box->open) {
		snprintf(name, sizeof(name), "%s-*.json", box->name);
		note_part(bundle, name, box->why);
		return;
	}
	for (const struct command *each = bundle->options->all; each->name; each++)
		if (!each->changes && !each->wants && !each->run)
			ask_for_part(bundle, box, each);
	ask_for_more(bundle, box);
}

/* --- what the machine says ------------------------------------------------------------------- */

/* What sh has to find: files of the kernel, of which there are many or none. */
#define SHOW(pattern) \
	"for f in " pattern "; do [ -r \"$f\" ] && echo \"$f: $(head -c 4096 \"$f\")\"; done; true"

static void write_machine(struct bundle *bundle)
{
	static const struct {
		const char *name;
		const char *argv[8];
	} programs[] = {
		{"versions.txt",
			{"sh", "-c",
				"echo weirctl " WEIR_VERSION
				"; weir --version; cat /etc/os-release; "
				"dpkg-query -W 'weir*' 'dpdk*' 'librte*' 2>/dev/null; true"}},
		{"kernel.txt", {"sh", "-c", "uname -a; cat /proc/cmdline; uptime"}},
		{"cpu.txt", {"sh", "-c", "lscpu || cat /proc/cpuinfo; lscpu -e; true"}},
		{"numa.txt", {"sh", "-c",
				     SHOW("/sys/devices/system/node/node*/cpulist "
					  "/sys/devices/system/node/node*/meminfo "
					  "/sys/devices/system/node/node*/distance")}},
		{"cpu_isolation.txt",
			{"sh", "-c",
				SHOW("/sys/devices/system/cpu/isolated /sys/devices/system/cpu/"
				     "nohz_full /sys/devices/system/clocksource/*/"
				     "current_clocksource")}},
		{"memory.txt",
			{"sh", "-c",
				"cat /proc/meminfo; " SHOW("/sys/kernel/mm/hugepages/*/*hugepages") "; " SHOW(
					"/sys/devices/system/node/node*/hugepages/*/*_hugepages") "; grep -i huge /proc/mounts; true"}},
		{"interfaces.txt", {"ip", "-d", "-s", "link"}},
		{"addresses.txt", {"ip", "address"}},
		{"nics.txt",
			{"sh", "-c",
				"dpdk-devbind.py --status-dev net 2>/dev/null; lspci -nnk 2>/dev/null "
				"| grep -A3 -iE 'ethernet|network'; for i in /sys/class/net/*; do "
				"i=${i##*/}; echo \"== $i\"; ethtool -i $i; ethtool -k $i; ethtool -g "
				"$i; done; true"}},
		{"clock.txt", {"sh", "-c", "timedatectl; chronyc tracking; true"}},
		{"processes.txt",
			{"sh", "-c",
				"for p in $(pgrep -x weir); do echo \"== $p\"; tr '\\0' ' ' "
				"</proc/$p/cmdline; echo; cat /proc/$p/status /proc/$p/limits; "
				"ps -L -o tid,psr,cls,rtprio,ni,pcpu,comm -p $p; done; true"}},
		{"kernel_log.txt", {"journalctl", "-k", "-n", "300", "--no-pager"}},
		{"sockets.txt", {"sh", "-c", "ls -la /run/weir /etc/weir /var/lib/weir; true"}},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		int status;
		char *text = child_output(programs[i].argv, PROGRAM_MS, PART_MOST, &status);

		if (text)
			write_part(bundle, programs[i].name, text);
		else
			note_part(bundle, programs[i].name, "no such program, or it hangs");
		free(text);
	}
}

static void write_log(struct bundle *bundle, const char *limiter)
{
	char unit[NAME_MOST], name[NAME_MOST];
	const char *argv[] = {"journalctl", "-u", unit, "-n", "5000", "--no-pager", "-o",
		"short-iso-precise", NULL};
	char *text;
	int status;

	snprintf(unit, sizeof(unit), "weir@%s", limiter);
	snprintf(name, sizeof(name), "%s-log.txt", limiter);
	text = child_output(argv, PROGRAM_MS, PART_MOST, &status);
	if (text)
		write_part(bundle, name, text);
	else
		note_part(bundle, name, "no journalctl, or it hangs");
	free(text);
}

/* --- the archive ----------------------------------------------------------------------------- */

static bool begin_bundle(struct bundle *bundle, const char *limiter)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX + NAME_MOST], when[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(bundle->name, sizeof(bundle->name), "weir-support-%.64s-%s", limiter, when);
	for (char *c = bundle->name; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(bundle->folder, sizeof(bundle->folder), "%s/weirctl-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(bundle->folder))
		return false;
	snprintf(path, sizeof(path), "%s/%s", bundle->folder, bundle->name);
	return mkdir(path, S_IRWXU) == 0;
}

static void end_bundle(struct bundle *bundle)
{
	char path[PATH_MAX + NAME_MOST];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s", bundle->folder, bundle->name);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
	rmdir(bundle->folder);
	json_decref(bundle->parts);
	json_decref(bundle->secrets);
	json_decref(bundle->files);
}

static int pack_bundle(struct bundle *bundle, const char *output)
{
	const char *argv[] = {"tar", "-C", bundle->folder, "-czf", "-", bundle->name, NULL};
	int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR), ret;

	if (fd < 0) {
		fprintf(stderr, "weirctl: %s: %s\n", output, strerror(errno));
		return EXIT_FAILURE;
	}
	ret = child_run(argv, fd);
	if (close(fd) && ret == 0)
		ret = -errno;
	if (ret == 0)
		return EXIT_SUCCESS;
	unlink(output);
	fprintf(stderr, "weirctl: %s: tar: %s\n", output,
		ret < 0 ? strerror(-ret) : "it has failed");
	return EXIT_FAILURE;
}

/* What is not there is said; and where the archive is. */
static int tell_of_bundle(const struct bundle *bundle, const char *output)
{
	json_t *document = json_pack("{s:s, s:O}", "file", output, "parts", bundle->parts);
	const json_t *part;
	size_t i;
	int ret = 0;

	if (bundle->options->json)
		ret = answers_write_json(document, stdout);
	else {
		json_array_foreach (bundle->parts, i, part)
			if (!json_is_true(json_object_get(part, "there")))
				fprintf(stderr, "weirctl: without %s: %s\n",
					json_string_value(json_object_get(part, "part")),
					json_string_value(json_object_get(part, "why")));
		puts(output);
	}
	json_decref(document);
	return answers_end(EXIT_SUCCESS, ret);
}

static int gather_bundle(struct bundle *bundle, struct boxes *boxes)
{
	char output[NAME_MOST + 16];
	const char *path = bundle->options->request.output;
	int status;

	for (unsigned i = 0; i < boxes->n; i++) {
		struct box *box = &boxes->each[i];

		if (box_open(box))
			box->why = box_explain(box, bundle->options->command, &(struct request){0});
		find_config(bundle, box);
	}
	for (unsigned i = 0; i < boxes->n; i++) {
		write_answers(bundle, &boxes->each[i]);
		write_log(bundle, boxes->each[i].name);
	}
	write_config(bundle);
	write_machine(bundle);
	write_json_part(bundle, "manifest.json", bundle->parts);
	snprintf(output, sizeof(output), "%s.tar.gz", bundle->name);
	path = path ? path : output;
	status = pack_bundle(bundle, path);
	return status ? status : tell_of_bundle(bundle, path);
}

int support_run(const struct options *options)
{
	struct bundle bundle = {.options = options,
		.parts = json_array(),
		.secrets = json_array(),
		.files = json_array()};
	int status = EXIT_FAILURE;
	struct boxes boxes;

	if (boxes_find(options, &boxes)) {
		if (begin_bundle(&bundle, boxes.each[0].name))
			status = gather_bundle(&bundle, &boxes);
		else
			fprintf(stderr, "weirctl: %s: %s\n", bundle.folder, strerror(errno));
		end_bundle(&bundle);
	}
	boxes_free(&boxes);
	return status;
}
