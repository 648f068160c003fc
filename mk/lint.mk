# What a reader should not have to check by eye.

headers := $(filter-out $(B)/%,$(wildcard */*.h */*/*.h))
c-files := $(shell git ls-files '*.c' '*.h' 2>/dev/null)
sh-files := $(shell git ls-files '*.sh' .ci/run 2>/dev/null)

.PHONY: lint check-headers
lint:
	sh mk/deps.sh lint
	$(MAKE) check-headers all portable
	@clang-format --dry-run --Werror $(c-files)
	sh tests/lint/layering.sh
	sh tests/lint/sizes.sh
	sh tests/lint/codes.sh
	sh tests/lint/words.sh
	sh tests/lint/cleanup.sh $(filter %.c,$(c-files))
	sh tests/lint/after-fork.sh
	sh tests/lint/elf.sh $(B)/hermes-runner $(B)/hermes-launch
	@shellcheck -S warning $(sh-files)

check-headers: $(gen-headers)
	@set -e; for header in $(headers); do \
		$(CC) $(lang) $(warn-common) -fsyntax-only -x c $$header; done
