/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weirsim replay`: a capture through the appliance's parser, classifier and meters, in the
 * capture's own time. What it says and how it ends is in doc/operate/replay.md.
 */
#ifndef WEIR_SIM_REPLAY_H
#define WEIR_SIM_REPLAY_H

/* argv[0] is the sub-command's name. Returns the exit status of the process. Once a process. */
int replay_main(int argc, char **argv);

#endif
