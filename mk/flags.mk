# Compiler and linker flags. WERROR=1 (set by `make check` and `make lint`) makes warnings errors.

CC ?= gcc
MUSL_CC ?= musl-gcc

warn-common := -Wall -Wextra -Wpedantic -Wformat=2 -Wconversion -Wsign-conversion -Wshadow -Wundef \
	-Wcast-qual -Wcast-align -Wwrite-strings -Wpointer-arith -Wstrict-prototypes \
	-Wold-style-definition -Wmissing-prototypes -Wmissing-declarations -Wredundant-decls \
	-Wnested-externs -Wvla -Walloca -Wdate-time -Wimplicit-fallthrough -Wswitch-enum \
	-Wnull-dereference -Wdouble-promotion -Wunused-macros

is-clang := $(shell $(CC) --version 2>/dev/null | grep -c clang)
ifeq ($(is-clang),0)
warn-cc := -Wformat-signedness -Wformat-overflow=2 -Wformat-truncation=2 -Warith-conversion \
	-Wcast-align=strict -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wtrampolines \
	-Wstringop-overflow=4 -Wstack-usage=16384
harden-cc := -ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
else
warn-cc := -Wcomma -Wconditional-uninitialized -Wassign-enum -Wmissing-variable-declarations \
	-Wunreachable-code -Wframe-larger-than=16384
harden-cc := -ftrivial-auto-var-init=pattern
endif

ifeq ($(WERROR),1)
warn-cc += -Werror
endif

lang := -std=gnu17 -D_GNU_SOURCE -I. -Ibuild/gen -DHL_VERSION='"$(VERSION)"'
common := $(lang) $(warn-common) $(warn-cc) -fno-common -fvisibility=hidden -fno-strict-aliasing \
	-fno-delete-null-pointer-checks
fortify := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3

host-cflags := $(common) $(harden-cc) -O2 -g -fPIE -fstack-protector-strong \
	-fstack-clash-protection -fcf-protection=full $(fortify) $(CFLAGS)
host-ldflags := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,nodlopen,-z,separate-code \
	-Wl,--as-needed,--fatal-warnings $(LDFLAGS)

# The launcher: static musl, position-independent. What a C library does before main is a third of the
# time of an empty program with glibc, static or not (its look at the processor traps in a virtual
# machine), and no name service and no locale is loaded at run time. musl-gcc's own -static-pie yields
# a dynamic file, hence the link by hand.
launch-cflags := $(common) $(harden-cc) -O2 -g -fPIE -fstack-protector-strong \
	-fstack-clash-protection -fcf-protection=full -isystem $(B)/kernel-headers \
	-isystem $(B)/foreign-headers $(CFLAGS)
launch-ldflags := $(patsubst -pie,-static-pie,$(host-ldflags)) -nostdlib -Wl,--gc-sections
hash := \#
musl-lib := $(shell $(MUSL_CC) -static '-$(hash)$(hash)$(hash)' -x c /dev/null 2>&1 | tr ' ' '\n' | sed -n 's|/crti.o$$||p')
musl-begin = $(musl-lib)/rcrt1.o $(musl-lib)/crti.o $(shell $(CC) -print-file-name=crtbeginS.o)
musl-end = $(musl-lib)/libc.a $(shell $(CC) -print-libgcc-file-name) \
	$(shell $(CC) -print-file-name=crtendS.o) $(musl-lib)/crtn.o
launch-libs = $(shell $(CC) -print-file-name=libyaml.a) $(shell $(CC) -print-file-name=libjansson.a)

# The runner: static musl, not PIE, few pages. Kernel headers come from the host's copy through a
# directory of symbolic links, so that glibc's own headers stay out.
musl-cflags := $(common) -O2 -g -fno-pie -fstack-protector-strong -fno-asynchronous-unwind-tables \
	-ffunction-sections -fdata-sections -DHL_SANDBOX_BUILD=1 -isystem build/kernel-headers
musl-ldflags := -static -no-pie -Wl,-z,noexecstack,-z,norelro,--gc-sections,--build-id=none \
	-Wl,--fatal-warnings

# Redzones make frames large, instrumented code hides ranges from the format checks, and a test uses of
# a fixture what it needs.
san-cflags := $(common) -Wno-stack-usage -Wno-unused-function \
	-Wno-format-truncation -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
san-ldflags := -fsanitize=address,undefined

fuzz-cc := clang
fuzz-cflags := $(lang) -O1 -g -fno-omit-frame-pointer \
	-fsanitize=fuzzer,address,undefined,implicit-conversion,local-bounds -fno-sanitize-recover=all \
	-fno-sanitize=implicit-integer-sign-change,implicit-unsigned-integer-truncation
