# Which sources make which program. Rooms are found by folder, so a new file needs no line here.

# base/heap.c takes the place of the allocator: for the static programs only.
base-src := $(filter-out base/heap.c,$(wildcard base/*.c))
launch-src := $(base-src) base/heap.c $(wildcard policy/*.c confine/*.c session/*.c audit/*.c launcher/*.c) \
	$(wildcard backends/*.c backends/local/*.c backends/docker/*.c backends/singularity/*.c backends/ssh/*.c) \
	runner/frames.c
engine-src := $(base-src) $(wildcard backends/docker/engine/*.c)
# Of it what reads an engine's report and the caller's files, and needs no libcurl: for tests of it.
engine-read-src := $(addprefix backends/docker/engine/,stream.c reference.c registry.c credential.c program.c inspect.c inspect_podman.c dialect.c same.c)
# The launcher's own parser of notes, and nothing else of it.
seal-src := $(base-src) policy/note.c policy/statement.c $(wildcard policy/seal/*.c)
# The runner's loop, for tests that let it meet a host; its codec is the launcher's as well.
loop-src := $(filter-out runner/main.c runner/frames.c,$(wildcard runner/*.c))
# The runner does without the launcher's event loop.
runner-src := $(filter-out base/loop.c,$(base-src)) base/heap.c $(wildcard runner/*.c confine/apply/*.c) \
	confine/codec.c confine/id_map.c confine/limit_text.c

# Everything of the launcher but its main: what unit tests link with.
core-src := $(filter-out launcher/main.c launcher/foreign.c base/heap.c,$(launch-src))

# What a build with the host's own C library links with: tests, sanitizers, fuzzers.
# libcrypto is of hl-seal, and so of the tests of its keys alone.
host-libs := -lyaml -lcap -ljansson -Wl,--as-needed -lcrypto
engine-libs := -lcurl -ljansson
seal-libs := -lcrypto

host-obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
musl-obj = $(patsubst %.c,$(B)/musl/%.o,$(1))
launch-obj = $(patsubst %.c,$(B)/launch/%.o,$(1))
san-obj = $(patsubst %.c,$(B)/san/%.o,$(1))

$(B)/obj/%.o: %.c $(gen-headers)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(host-cflags) -MMD -MP -c -o $@ $<

# The launcher is linked with musl as well, and position-independent: see launch-cflags.
$(B)/launch/%.o: %.c $(gen-headers) $(B)/foreign-headers/.done
	@mkdir -p $(@D)
	$(call say,MUSL,$@)
	$(Q)$(MUSL_CC) $(launch-cflags) -MMD -MP -c -o $@ $<

$(B)/musl/%.o: %.c $(gen-headers) $(B)/kernel-headers/.done
	@mkdir -p $(@D)
	$(call say,MUSL,$@)
	$(Q)$(MUSL_CC) $(musl-cflags) -MMD -MP -c -o $@ $<

$(B)/san/%.o: %.c $(gen-headers)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(san-cflags) -MMD -MP -c -o $@ $<

multiarch := $(shell $(CC) -print-multiarch)
$(B)/kernel-headers/.done:
	@mkdir -p $(@D)
	ln -sfn /usr/include/linux $(@D)/linux
	ln -sfn /usr/include/asm-generic $(@D)/asm-generic
	ln -sfn /usr/include/$(multiarch)/asm $(@D)/asm
	@touch $@

# Headers of libraries that are compiled for this host's own C library; what they need of one is in
# every C library.
$(B)/foreign-headers/.done: $(B)/kernel-headers/.done mk/programs.mk
	@mkdir -p $(@D)
	ln -sfn /usr/include/yaml.h $(@D)/yaml.h
	ln -sfn /usr/include/jansson.h $(@D)/jansson.h
	ln -sfn $(firstword $(wildcard /usr/include/jansson_config.h /usr/include/$(multiarch)/jansson_config.h)) \
		$(@D)/jansson_config.h
	@touch $@

# What runs on a small stack of its own, without a guard page, has small frames.
small-stack := backends/local/child.o backends/local/janitor.o runner/child.o runner/supervisor.o \
	confine/apply/network.o
$(small-stack:%=$(B)/launch/%): launch-cflags += -Wstack-usage=1024
$(small-stack:%=$(B)/musl/%): musl-cflags += -Wstack-usage=1024

$(B)/hermes-launch: $(call launch-obj,$(launch-src))
	$(call say,MUSL,$@)
	$(Q)$(CC) $(launch-ldflags) -o $@ $(musl-begin) $^ $(launch-libs) $(musl-end)

# The same launcher, which takes the host's own directory from the environment: for tests alone.
$(B)/test/host.o: launcher/host.c $(gen-headers) $(B)/foreign-headers/.done
	@mkdir -p $(@D)
	$(call say,MUSL,$@)
	$(Q)$(MUSL_CC) $(launch-cflags) -DHL_TEST_HOST_DIR -MMD -MP -c -o $@ $<

$(B)/test/hermes-launch: $(B)/test/host.o $(filter-out %/launcher/host.o,$(call launch-obj,$(launch-src)))
	$(call say,MUSL,$@)
	$(Q)$(CC) $(launch-ldflags) -o $@ $(musl-begin) $^ $(launch-libs) $(musl-end)

# The launcher carries the runner.
$(B)/launch/backends/runner_image.o $(B)/san/backends/runner_image.o: $(B)/hermes-runner

$(B)/hl-engine: $(call host-obj,$(engine-src))
	$(call say,CC,$@)
	$(Q)$(CC) $(host-ldflags) -o $@ $^ $(engine-libs)

$(B)/hl-seal: $(call host-obj,$(seal-src))
	$(call say,CC,$@)
	$(Q)$(CC) $(host-ldflags) -o $@ $^ $(seal-libs)

$(B)/hermes-runner: $(call musl-obj,$(runner-src))
	$(call say,MUSL,$@)
	$(Q)$(MUSL_CC) $(musl-ldflags) -o $@.debug $^
	$(Q)strip -o $@ $@.debug

-include $(shell find $(B) -name '*.d' 2>/dev/null)
