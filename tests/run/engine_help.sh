#!/bin/bash
# The table of engine options against the clients that are installed: every option of `docker run` and of
# `podman run` has a row for that engine, with the same short flag, is a boolean there exactly when it is one
# here, and is taken apart at commas there exactly when it is here. A row that the help does not show is one of
# a few that are named here, and is read by the client as the row says. Needs no daemon and starts nothing:
# every call ends before its image is looked for.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

table=$ROOT/backends/docker/options.def

# What a client reads and does not show: aliases, and podman's own options, which it takes behind run as well.
declare -A hidden=(
	[docker]='--dns-opt --net --net-alias'
	[podman]='--cgroup-manager --conmon --cpu-profile --default-mounts-file --dns-opt --events-backend --gpus
		--healthcheck-command --healthcheck-interval --healthcheck-retries --healthcheck-start-period
		--healthcheck-timeout --hooks-dir --kernel-memory --log-level --max-workers --memory-profile
		--namespace --net --network-cmd-path --network-config-dir --ns --override-arch --override-os
		--override-variant --purge --registries-conf --root --runroot --runtime --runtime-flag
		--signature-policy --storage-driver --storage-opt --syslog --tmpdir --trace --volumepath'
)
# What an older client does not have.
declare -A newer=(
	[docker]='--annotation --health-start-interval --quiet --use-api-socket'
	[podman]='--cert-dir --creds --decryption-key --group-entry --health-log-destination
		--health-max-log-count --health-max-log-size --health-startup-cmd --health-startup-interval
		--health-startup-retries --health-startup-success --health-startup-timeout --hosts-file
		--no-hostname --preserve-fd --rdt-class --retry --retry-delay --shm-size-systemd'
)

# rows ENGINE: "flag -letter kind list", one a line; kind B or V, list , or nothing
rows() {
	sed -nE "s/^DOCKER_OPTION\([A-Z0-9_]+,[[:space:]]*\"(--[a-z0-9-]+)\",[[:space:]]*(0|'(.)'),[[:space:]]*([A-Z]+)(_LIST)?,[[:space:]]*([A-Z]+),.*/\4 \1 -\3 \6 \5/p" "$table" |
		awk -v engine="${1^^}" '$1 == engine || $1 == "BOTH" {
			list = engine == "PODMAN" && $NF == "_LIST" ? "," : ""
			print $2, $3, $4 == "BOOL" ? "B" : "V", list }' | sed 's/ *$//'
}

# theirs ENGINE: the same of the client's help, whose third column is a type, or nothing for a boolean
theirs() {
	client "$1" --help | sed -nE 's/^ {2,6}(-(.), +)?(--[a-z0-9-]+)( [^ ]+)?(  .*|$)/\3 -\2\4/p' |
		awk '{ print $1, $2, NF < 3 ? "B" : "V", $3 }' | sed 's/ *$//'
}

# client ENGINE ARGUMENT...: run with them and nothing more
client() {
	local engine=$1
	shift
	if [ "$engine" = docker ]; then
		DOCKER_CONFIG=$TMP timeout 60 docker -H "unix://$TMP/none.sock" run "$@" 2>&1
	else
		timeout 60 podman run "$@" 2>&1
	fi
}

# kind_is ENGINE FLAG KIND: the parser's own word on it
kind_is() {
	local said
	said=$(client "$1" "$2")
	case $said in
	*'unknown flag'*) is "$1 reads $2" unknown "$3" ;;
	*'flag needs an argument'*) is "$1 reads $2" V "$3" ;;
	*) is "$1 reads $2" B "$3" ;;
	esac
}

# in_list FLAG WORDS
in_list() {
	local word words
	read -r -d '' -a words <<<"$2"
	for word in "${words[@]}"; do
		[ "$word" != "$1" ] || return 0
	done
	return 1
}

# compare ENGINE FLAG LETTER KIND TYPE: what the help says of an option against its row
compare() {
	local engine=$1 flag=$2 letter=$3 kind=$4 type=$5 row_letter row_kind row_list
	read -r _ row_letter row_kind row_list <<<"$(grep -E -- "^$flag " <<<"$rows")"
	is "$engine: $flag has a row with its letter and kind" "$flag $row_letter $row_kind" "$flag $letter $kind"
	case $engine:$type in
	podman:strings) is "podman: $flag is a list" "$row_list" , ;;
	podman:string | podman:stringArray | podman:int | podman:uint | podman:float)
		is "podman: $flag is no list" "$row_list" '' ;;
	esac
}

for engine in docker podman; do
	if ! command -v "$engine" >/dev/null; then
		skip "options of $engine run" "$engine is not installed"
		continue
	fi
	rows=$(rows "$engine")
	help=$(theirs "$engine")
	is "$engine: the table is read" "$(grep -c . <<<"$rows")" \
		"$(grep -cE "^DOCKER_OPTION\(.*[ 	](${engine^^}|BOTH)(_LIST)?, " "$table")"
	if [ "$(grep -c . <<<"$help")" -ge 80 ]; then
		pass "$engine: the help is read"
	else
		fail "$engine: the help is read" "$(client "$engine" --help)"
	fi
	while read -r flag letter kind type; do
		compare "$engine" "$flag" "$letter" "$kind" "$type"
	done <<<"$help"
	while read -r flag letter kind _; do
		grep -qE -- "^$flag " <<<"$help" && continue
		is "$engine: $flag, which the help does not show, has no letter" "$letter" -
		if in_list "$flag" "${hidden[$engine]}"; then
			kind_is "$engine" "$flag" "$kind"
		elif in_list "$flag" "${newer[$engine]}"; then
			pass "$engine: $flag is one of a client that is newer"
		else
			fail "$engine: $flag is no option of this client, nor named here"
		fi
	done <<<"$rows"
done
done_testing
