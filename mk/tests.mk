# Tests. tests/unit/<room>/test_<file>.c is one cmocka program each, linked with everything of the
# launcher but main, under the address and undefined-behaviour sanitizers.

unit-src := $(wildcard tests/unit/*/test_*.c)
unit-bin := $(patsubst tests/unit/%.c,$(B)/unit/%,$(unit-src))
apply-src := $(wildcard confine/apply/*.c)

$(B)/san/core.a: $(call san-obj,$(sort $(core-src) $(apply-src) $(wildcard runner/[!m]*.c) \
		$(wildcard policy/seal/[!m]*.c)))
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^

# What of hl-engine is not in core.a, and has tests of its own.
engine-tests := $(addprefix $(B)/unit/backends/,test_docker_inspect test_docker_stream test_docker_registry test_podman_inspect test_podman_same) $(B)/replay/fuzz_pull
$(engine-tests): with-obj := $(call san-obj,$(engine-read-src))
$(engine-tests): $(call san-obj,$(engine-read-src))

$(B)/unit/%: tests/unit/%.c $(B)/san/core.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(san-cflags) -Wno-missing-prototypes -MMD -MP -MT $@ -MF $@.d -o $@ $< \
		$(with-obj) $(B)/san/core.a $(san-ldflags) \
		-lcmocka $(host-libs)

# The helper under the sanitizers: tests/unit/backends/test_docker_hostile.c lets it meet bad engines.
$(B)/san/hl-engine: $(call san-obj,$(engine-src))
	$(call say,CC,$@)
	$(Q)$(CC) -o $@ $^ $(san-ldflags) $(engine-libs)

$(B)/san/hl-seal: $(call san-obj,$(seal-src))
	$(call say,CC,$@)
	$(Q)$(CC) -o $@ $^ $(san-ldflags) $(seal-libs)

# The laws of merging and comparing over 10^5 random pairs, without the sanitizers' price; the seed is
# printed, and HL_SEED=N repeats it.
LAWS_ROUNDS ?= 100000
$(B)/laws: tests/unit/policy/test_laws.c $(call host-obj,$(base-src) $(wildcard policy/*.c))
	$(call say,CC,$@)
	$(Q)$(CC) $(host-cflags) -Wno-missing-prototypes -Wno-unused-function -Wno-format-truncation \
		-Wno-stack-usage -MMD -MP -MT $@ -MF $@.d -o $@ $< \
		$(filter %.o,$^) $(host-ldflags) -lcmocka -lyaml

.PHONY: check-laws
check-laws: $(B)/laws
	HL_ROUNDS=$(LAWS_ROUNDS) HL_POLICIES=448 $(B)/laws

.PHONY: check-unit
check-unit: $(unit-bin) $(B)/san/hl-engine $(B)/san/hl-seal
	sh tests/lib/run-unit.sh $(unit-bin)

# Crashes, crowds and full disks: what a room must live through, played out for real.
fault-bin := $(patsubst tests/fault/%.c,$(B)/fault/%,$(wildcard tests/fault/test_*.c))

$(B)/fault/%: tests/fault/%.c $(B)/san/core.a
	@mkdir -p $(@D)
	$(CC) $(san-cflags) -Wno-missing-prototypes -o $@ $< $(B)/san/core.a $(san-ldflags) \
		-lcmocka $(host-libs)

.PHONY: check-fault
check-fault: $(fault-bin)
	sh tests/lib/run-unit.sh $(fault-bin)

# The runner and the lock on this kernel: each test starts real sandboxes and tries things from
# inside with a static probe. Run as root and as an ordinary user.
kernel-bin := $(patsubst tests/kernel/%.c,$(B)/kernel/%,$(wildcard tests/kernel/test_*.c))

$(B)/kernel/probe: tests/kernel/probe.c $(B)/kernel-headers/.done
	@mkdir -p $(@D)
	$(call say,MUSL,$@)
	$(Q)$(MUSL_CC) $(musl-cflags) -Wno-missing-prototypes -static -no-pie -o $@ $<

kernel-lib := tests/kernel/launch.c tests/kernel/watch.c tests/kernel/room.c

$(B)/kernel/%: tests/kernel/%.c $(kernel-lib) $(B)/san/core.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(san-cflags) -Wno-missing-prototypes -o $@ $< $(kernel-lib) \
		$(B)/san/core.a $(san-ldflags) -lcmocka $(host-libs)

.PHONY: check-kernel
check-kernel: $(kernel-bin) $(B)/kernel/probe $(B)/hermes-runner
	sh tests/kernel/run.sh $(kernel-bin)

# Scripts: tests/run/*.sh are end-to-end, tests/attack/run.sh the escape suite; each prints TAP.
.PHONY: check-run
check-run: all $(B)/test/hermes-launch
	bash tests/lib/run-scripts.sh tests/run/*.sh tests/attack/*.sh

.PHONY: check
check:
	sh mk/deps.sh test
	$(MAKE) WERROR=1 all
	$(MAKE) WERROR=1 check-unit
	$(MAKE) WERROR=1 check-laws
	$(MAKE) WERROR=1 check-fault
	$(MAKE) WERROR=1 check-kernel
	$(MAKE) WERROR=1 check-fuzz-corpus
	$(MAKE) WERROR=1 check-run

fuzz-src := $(wildcard tests/fuzz/fuzz_*.c)

# The corpus is replayed by the ordinary compiler: the target and a main that feeds it files.
$(B)/replay/%: tests/fuzz/%.c tests/fuzz/replay.c $(B)/san/core.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(san-cflags) -Wno-missing-prototypes -o $@ $< tests/fuzz/replay.c $(with-obj) $(B)/san/core.a \
		$(san-ldflags) $(host-libs)

.PHONY: check-fuzz-corpus
check-fuzz-corpus: $(patsubst tests/fuzz/%.c,$(B)/replay/%,$(fuzz-src))
	@set -e; for target in $^; do name=$$(basename $$target); \
		$$target tests/fuzz/corpus/$$name; done

# It asks what the other asks.
$(B)/fuzz/fuzz_merge $(B)/replay/fuzz_merge: tests/fuzz/fuzz_policy.c

# Long runs: make fuzz FUZZ_SECONDS=1800
FUZZ_SECONDS ?= 60
$(B)/fuzz/fuzz_pull: with-src := $(engine-read-src)
$(B)/fuzz/%: tests/fuzz/%.c $(core-src) $(apply-src) $(loop-src) $(gen-headers) \
		$(B)/hermes-runner
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(fuzz-cc) $(fuzz-cflags) -o $@ $< $(core-src) $(apply-src) $(loop-src) $(with-src) \
		$(host-libs)

.PHONY: fuzz
fuzz: $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(fuzz-src))
	@set -e; for target in $^; do name=$$(basename $$target); mkdir -p $(B)/fuzz/$$name.found; \
		$$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(B)/fuzz/$$name.found/ \
			$(B)/fuzz/$$name.found tests/fuzz/corpus/$$name; done

.PHONY: bench
bench:
	sh mk/deps.sh bench
	$(MAKE) all
	bash bench/bench.sh

# Ten thousand calls over fifty sessions, some killed, cancelled, timed out: nothing may be left.
SOAK_CALLS ?= 10000
SOAK_SESSIONS ?= 50
.PHONY: soak
soak: all
	SOAK_CALLS=$(SOAK_CALLS) SOAK_SESSIONS=$(SOAK_SESSIONS) bash tests/run/soak.sh

# Two thousand calls over ten sessions in containers, while launchers are killed and the engine is ended.
.PHONY: soak-docker
soak-docker: all
	SOAK_CALLS=2000 SOAK_SESSIONS=10 SOAK_RESTARTS=20 bash tests/run/docker_soak.sh
