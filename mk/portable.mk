# The other kind of processor that seccomp profiles and system call numbers are for: everything of the
# launcher and the runner compiles for it, and the runner links. Debian's cross compiler brings a C
# library of its own; nothing of it is run here.

OTHER_CC ?= aarch64-linux-gnu-gcc
other-cflags := $(common) $(harden-cc) -O2 -fPIE -fstack-protector-strong -isystem $(B)/other-headers
other-obj = $(patsubst %.c,$(B)/other/$(1)/%.o,$(2))

# Headers of libraries that say nothing of a processor.
$(B)/other-headers/.done: mk/portable.mk
	@mkdir -p $(@D)
	ln -sfn /usr/include/yaml.h $(@D)/yaml.h
	ln -sfn /usr/include/jansson.h $(@D)/jansson.h
	ln -sfn $(firstword $(wildcard /usr/include/jansson_config.h /usr/include/$(multiarch)/jansson_config.h)) \
		$(@D)/jansson_config.h
	@touch $@

$(B)/other/launch/%.o: %.c $(gen-headers) $(B)/other-headers/.done
	@mkdir -p $(@D)
	$(call say,OTHER,$@)
	$(Q)$(OTHER_CC) $(other-cflags) -MMD -MP -c -o $@ $<

$(B)/other/runner/%.o: %.c $(gen-headers) $(B)/other-headers/.done
	@mkdir -p $(@D)
	$(call say,OTHER,$@)
	$(Q)$(OTHER_CC) $(other-cflags) -DHL_SANDBOX_BUILD=1 -MMD -MP -c -o $@ $<

# It carries this machine's runner here: what is asked is whether it compiles.
$(B)/other/launch/backends/runner_image.o: $(B)/hermes-runner

$(B)/other/hermes-runner: $(call other-obj,runner,$(runner-src))
	$(Q)$(OTHER_CC) -static -o $@ $^

.PHONY: portable
portable: $(B)/other/hermes-runner $(call other-obj,launch,$(launch-src))
