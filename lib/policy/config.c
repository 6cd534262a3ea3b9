/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/check.h"
#include "policy/keys.h"
#include "policy/read.h"

static struct config *config_new(void)
{
	struct config *config = calloc(1, sizeof(*config));

	if (config == NULL)
		return NULL;
	config->workers[0] = 1;
	config->n_workers = 1;
	config->gossip.branching = 3;
	config->gossip.timeout_ns = 1000000000;
	config->gossip.datagram_max = 1200;
	return config;
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (unsigned i = 0; i < config->n_eal; i++)
		free(config->eal[i]);
	free(config->ports);
	free(config->wires);
	free(config->gossip.roster);
	free(config->policies);
	free(config);
}

static void report_duplicate(const struct json_path *path, void *context)
{
	reader_error(context, path, "duplicate key: expected it once");
}

/* Jansson quotes the text around an error as it is; what a terminal might obey is not printed. */
static void report_syntax(const struct reader *reader, const json_error_t *error)
{
	fprintf(reader->err, "%s:%d:%d: ", reader->file, error->line, error->column);
	for (const char *at = error->text; *at != '\0'; at++)
		fputc(*at >= ' ' && *at <= '~' ? *at : '?', reader->err);
	fputc('\n', reader->err);
}

static bool is_blank(const char *text, size_t len)
{
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL && text[len - 1] != '\0')
		len--;
	return len == 0;
}

static int parse_json(struct reader *reader, const char *text, size_t len)
{
	json_error_t error;

	if (is_blank(text, len)) {
		fprintf(reader->err, "%s: empty: expected a JSON object\n", reader->file);
		return -EINVAL;
	}
	reader->root = json_loadb(text, len, JSON_DECODE_ANY, &error);
	if (reader->root == NULL) {
		report_syntax(reader, &error);
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
	}
	return json_find_duplicates(text, len, report_duplicate, reader);
}

static int read_document(struct reader *reader)
{
	read_keys(reader, NULL, reader->root, config_keys, reader->config);
	if (!reader->no_memory && json_is_object(reader->root)) {
		config_complete(reader);
		config_check(reader);
	}
	if (reader->no_memory)
		return -ENOMEM;
	if (reader->errors > 0)
		return -EINVAL;
	config_warn(reader);
	return 0;
}

int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out)
{
	struct reader reader = {.file = name, .err = err, .config = config_new()};
	int rc = reader.config != NULL ? parse_json(&reader, text, len) : -ENOMEM;

	*out = NULL;
	if (rc == 0)
		rc = read_document(&reader);
	json_decref(reader.root);
	if (rc == 0)
		*out = reader.config;
	else
		config_free(reader.config);
	if (rc == -ENOMEM)
		fprintf(err, "%s: %s\n", name, strerror(ENOMEM));
	return rc;
}

/* Reads to the end, also of a pipe, whose size nobody knows before. */
static int read_all(int fd, char **text, size_t *len)
{
	size_t size = 0;

	*len = 0;
	while (true) {
		ssize_t n;

		if (*len == size) {
			char *grown = realloc(*text, size = size > 0 ? 2 * size : 4096);

			if (grown == NULL)
				return -ENOMEM;
			*text = grown;
		}
		n = read(fd, *text + *len, size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*len += (size_t)n;
		if (*len > CONFIG_FILE_MAX)
			return -EFBIG;
	}
}

static int read_file(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = read_all(fd, text, len);
	close(fd);
	return rc;
}

int config_load(const char *path, FILE *err, struct config **out)
{
	char *text = NULL;
	size_t len = 0;
	int rc = read_file(path, &text, &len);

	*out = NULL;
	if (rc < 0)
		fprintf(err, "%s: %s\n", path, strerror(-rc));
	else
		rc = config_parse(text, len, path, err, out);
	free(text);
	return rc;
}
