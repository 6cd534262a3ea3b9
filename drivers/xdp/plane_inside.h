/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The definition of struct plane, for plane.c and plane_previous.c.
 */
#ifndef WEIR_DRIVERS_PLANE_INSIDE_H
#define WEIR_DRIVERS_PLANE_INSIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/config.h"

#include "plane.h"

/* The directory of pins in the limiter's directory. No interface has this name. */
#define PLANE_KEPT "plane"

/* At most one generation is attached to each port, and the last one possibly to none. */
#define PLANE_GENERATIONS (CONFIG_PORTS_MAX + 1)

/* The maps of a generation that outlive their process. */
enum plane_kept { KEPT_BOOKS, KEPT_LINES, KEPT_BUCKETS, KEPT_CLOCK, KEPT_MAPS };

/* A map that is shared with the kernel. */
struct shared_map {
	int fd;
	void *memory;
	size_t bytes;
};

/* The maps that one previous process has left. */
struct plane_generation {
	struct shared_map maps[KEPT_MAPS];
	unsigned slots;
	uint32_t id;  /* kernel's number of the map of lines */
	bool current; /* an attached program draws from its buckets */
};

struct plane {
	const char *directory;
	unsigned slots, cpus;
	struct shared_map lines, buckets, books, next_books, samples, clock;
	struct plane_generation previous[PLANE_GENERATIONS];
	unsigned n_previous;
	char refused[64]; /* why maps were not adopted; "": all were */
	int tables;       /* the map that has one of classifiers[] in force */
	struct shared_map classifiers[2];
	uint32_t room; /* lines of each classifier */
	unsigned spare;
};

/* Maps so many values of a map. Returns 0 or a negative errno. */
int plane_map_memory(struct shared_map *shared, size_t value, size_t entries);
void plane_unmap(struct shared_map *shared);
void plane_close_map(struct shared_map *shared);

/* Writes the path of a generation's pin in the directory `where`. generation 0: the last one. */
void plane_name_kept(const struct plane *plane, const char *where, enum plane_kept map,
	unsigned generation, char path[PATH_MAX]);

/* Opens the possible generations that are pinned, and marks the current ones. */
void plane_open_previous(struct plane *plane);
void plane_close_previous(struct plane *plane);

#endif
