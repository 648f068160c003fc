# hermes-launch. `make` builds and never touches the system; see README.md for the other targets.

VERSION := 0.1.0
PREFIX ?= /usr/local
B := build

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# V=1 shows whole command lines.
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2))

.PHONY: all
all: $(B)/hermes-launch $(B)/hermes-runner $(B)/hl-engine $(B)/hl-seal man

include mk/flags.mk
include mk/gen.mk
include mk/programs.mk
include mk/man.mk
include mk/tests.mk
include mk/portable.mk
include mk/lint.mk
include mk/demo.mk
include mk/install.mk

.PHONY: clean
clean:
	rm -rf $(B)
