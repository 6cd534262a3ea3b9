/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weirsim replay`: runs a capture through the limiter's parser, classifier and meters, in the
 * capture's own time. doc/operate/replay.md has its output and exit statuses.
 */
#ifndef WEIR_SIM_REPLAY_H
#define WEIR_SIM_REPLAY_H

/* argv[0] is the sub-command's name. Returns the exit status of the process. One call a process. */
int replay_main(int argc, char **argv);

#endif
