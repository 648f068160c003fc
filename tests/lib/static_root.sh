# The files of an image that is made without a network. Sourced.
#
#	static_root DIR		static busybox under all its names, and bash
# shellcheck shell=bash

static_root()
{
	local root=$1 applet
	mkdir -p "$root"/{bin,etc,tmp,dev,proc,sys}
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$(command -v bash-static || echo /bin/bash-static)" "$root/bin/bash"
	for applet in $("$root/bin/busybox" --list); do
		[ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
	done
}
