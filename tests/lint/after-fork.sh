#!/bin/sh
# What runs between clone and exec shares its memory with the launcher: no function of libc may be
# called there. Looks at what the object files need from outside.
set -eu

status=0
check() {
	object=$1
	shift
	[ -f "$object" ] || {
		echo "$object: is not there"
		status=1
		return
	}
	needs=$(nm -u "$object" | awk '{ print $2 }')
	for symbol in $needs; do
		case " __stack_chk_fail memset memcpy _GLOBAL_OFFSET_TABLE_ $* " in
		*" $symbol "*) ;;
		*)
			echo "$object: needs $symbol, which is not for code after a fork"
			status=1
			;;
		esac
	done
}

check build/launch/backends/local/child.o hl_raw_syscall
check build/launch/base/raw.o
# Behind fork(2), not clone(2): calls of signal-safety(7) only.
for build in launch obj; do
	check build/$build/base/child_become.o __errno_location setsid prctl getppid getpid chdir dup2 dup3 syscall \
		signal sigemptyset sigprocmask write execve _exit
done
# The same beside the runner's loop: texts are looked at, nothing else of libc is called.
check build/musl/base/raw.o
for part in child supervisor; do
	check build/musl/runner/$part.o strlen strchr strcspn strncmp child_main hl_raw_clone hl_raw_syscall \
		usage_add
done
# The making of a network namespace, beside the rest of the lock.
check build/musl/confine/apply/network_child.o hl_raw_syscall
# After the launcher's death: calls of signal-safety(7) only.
check build/launch/confine/limits_remove.o __errno_location open close read write kill getpid rmdir \
	nanosleep clock_gettime strlen strrchr __memcpy_chk
exit $status
