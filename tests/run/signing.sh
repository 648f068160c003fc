#!/bin/bash
# Signed policies, from the key to the run: each refusal beside what is accepted, for both callers; and
# neither a private key nor its passphrase is where others can read it.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# This launcher takes the host's directory from the environment, and the trust file beside it.
mkdir -p "$TMP/test" "$TMP/host/policy.d" "$TMP/keys"
cp "$ROOT/build/test/hermes-launch" "$ROOT/build/hermes-runner" "$ROOT/build/hl-seal" "$TMP/test/"
LAUNCH=$TMP/test/hermes-launch
export HL_TEST_HOST_DIR=$TMP/host/policy.d
trust=$TMP/host/policy.d.trust.yaml
keys=$TMP/keys
passphrase=canary-Passphrase-4711

# trust_is <<TEXT: the host's trust file
trust_is() {
	cat >"$trust"
	chmod 644 "$trust"
}

# ------------------------------------------------------------------------------------------------
# Keys
cd "$keys" || exit 1
export HERMES_LAUNCH_STATE=$TMP/state.keys
status_is "keygen" 0 "$LAUNCH" policy keygen --signer secteam.acme.example one
is "keygen prints the public key" "$out" "$(cat one.pub)"
like "which is a C2SP verifier's key" "$out" '^secteam\.acme\.example\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$'
is "the private key is its owner's alone" "$(stat -c %a one)" 600
like "the private key is PKCS#8" "$(sed -n 2p one)" '^-----BEGIN PRIVATE KEY-----$'
cp one one.before
status_is "keygen never writes over a key" 77 "$LAUNCH" policy keygen --signer secteam.acme.example one
like "keygen: why" "$out" 'exists.*\[HLS-11\]'
is "keygen: the key is as it was" "$(cmp one one.before && echo same)" same
touch half.pub
status_is "keygen: no half of a key" 78 "$LAUNCH" policy keygen --signer a half
is "keygen: the private half is gone again" "$(ls half 2>&1)" "ls: cannot access 'half': No such file or directory"
status_is "keygen: a key needs a name" 64 "$LAUNCH" policy keygen two
status_is "keygen: not any name" 64 "$LAUNCH" policy keygen --signer 'a b' two
like "keygen: which" "$out" 'letters, digits'
status_is "keygen with a passphrase" 0 "$LAUNCH" policy keygen --signer cto.acme.example --passphrase-fd 7 two 7<<<"$passphrase"
like "it is encrypted" "$(sed -n 2p two)" '^-----BEGIN ENCRYPTED PRIVATE KEY-----$'
status_is "keygen: an empty passphrase is none" 77 "$LAUNCH" policy keygen --signer x --passphrase-fd 7 three 7</dev/null
like "keygen: it says so" "$out" 'empty \[HLS-12\]'
status_is "keygen: no terminal, no passphrase" 77 setsid -w "$LAUNCH" policy keygen --signer x --passphrase three
status_is "keygen for a stranger" 0 "$LAUNCH" policy keygen --signer stranger.example stranger
if command -v openssl >/dev/null; then
	like "openssl reads the key" "$(openssl pkey -in two -passin "pass:$passphrase" -noout -text 2>&1)" '^ED25519 Private-Key'
	openssl genpkey -algorithm ed25519 -out foreign 2>/dev/null
	openssl genpkey -algorithm x25519 -out other-kind 2>/dev/null
	chmod 600 foreign other-kind
else
	skip "openssl reads the key" "openssl(1) is not installed"
fi

# ------------------------------------------------------------------------------------------------
# Signatures
base=$(policy base <<'Y'
version: 1
id: acme/base
layer: org
revision: 7
level: baseline@1
backends: [local]
Y
)
cp "$base" "$TMP/base.good"
status_is "sign" 0 "$LAUNCH" policy sign --key one "$base"
is "sign: what was signed" "$out" "$base.sig: acme/base revision 7, signed by secteam.acme.example"
is "the note" "$(sed '$d' "$base.sig")" "hermes-launch/policy/v1
acme/base
revision 7
sha256 $(sha256sum "$base" | cut -d' ' -f1)"
cp "$base.sig" "$TMP/one.sig"
status_is "a second one signs" 0 "$LAUNCH" policy sign --key two --passphrase-fd 7 "$base" 7<<<"$passphrase"
is "both signatures are there" "$(grep -c '^— ' "$base.sig")" 2
cp "$base.sig" "$TMP/both.sig"
status_is "signing twice is signing once" 0 "$LAUNCH" policy sign --key one "$base"
is "still two" "$(grep -c '^— ' "$base.sig")" 2
status_is "another end begins anew" 0 "$LAUNCH" policy sign --key one --not-after 2999-01-01 "$base"
is "with one signature" "$(grep -c '^— ' "$base.sig")" 1
like "and the end" "$(cat "$base.sig")" '^not-after 2999-01-01T00:00:00Z$'
status_is "the wrong passphrase" 77 "$LAUNCH" policy sign --key two --passphrase-fd 7 "$base" 7<<<"$passphrase."
like "it says so" "$out" '\[HLS-12\]'
status_is "no passphrase and no terminal" 77 setsid -w "$LAUNCH" policy sign --key two "$base"
chmod 640 one
status_is "a key that others can read is not used" 77 "$LAUNCH" policy sign --key one "$base"
like "it says so" "$out" '\[HLS-11\]'
like "and how to mend it" "$out" 'chmod 600'
chmod 600 one
status_is "no key" 66 "$LAUNCH" policy sign --key absent "$base"
status_is "no key is named" 64 "$LAUNCH" policy sign "$base"
status_is "not a date" 64 "$LAUNCH" policy sign --key one --not-after soon "$base"
status_is "a public key signs nothing" 77 "$LAUNCH" policy sign --key one.pub "$base"
if [ -e foreign ]; then
	status_is "a key of openssl's has no name" 64 "$LAUNCH" policy sign --key foreign "$base"
	status_is "unless it is given" 0 "$LAUNCH" policy sign --key foreign --signer foreign.example "$base"
	status_is "another kind of key" 77 "$LAUNCH" policy sign --key other-kind --signer foreign.example "$base"
	like "which kind it must be" "$out" 'Ed25519 \[HLS-11\]'
fi
status_is "a key has one name" 64 "$LAUNCH" policy sign --key one --signer cto.acme.example "$base"
bare=$(policy bare <<<$'version: 1\nid: acme/bare\nlevel: baseline@1')
status_is "no revision, no signature" 78 "$LAUNCH" policy sign --key one "$bare"
like "what is missing" "$out" 'revision'
broken=$(policy broken <<<$'version: 1\nid: acme/broken\nrevision: 1\nnetwrok: {}')
status_is "a broken policy is not signed" 78 "$LAUNCH" policy sign --key one "$broken"
is "there is no signature" "$(ls "$broken.sig" 2>/dev/null)" ""
needs=$(policy needs <<<$'version: 1\nid: acme/needs\nrevision: 1\nrequires: [{id: acme/base, revision: 1}]')
status_is "what another layer must bring is no matter of one file" 0 "$LAUNCH" policy sign --key one "$needs"

# ------------------------------------------------------------------------------------------------
# verify
cp "$TMP/both.sig" "$base.sig"
status_is "verify against one key" 0 "$LAUNCH" policy verify --key two.pub "$base"
like "by whom" "$out" 'acme/base revision 7, signed by cto\.acme\.example$'
status_is "verify: the key itself" 0 "$LAUNCH" policy verify --key "$(cat one.pub)" "$base"
status_is "verify: another key is no" 1 "$LAUNCH" policy verify --key stranger.pub "$base"
like "verify: why" "$out" '\[HLS-07\]'
echo '# changed' >>"$base"
status_is "verify: another file is no" 1 "$LAUNCH" policy verify --key one.pub "$base"
like "verify: why" "$out" 'changed after it was signed \[HLS-06\]'
cp "$TMP/base.good" "$base"
status_is "verify: neither key nor trust" 66 "$LAUNCH" policy verify "$base"
status_is "verify: what is no key" 78 "$LAUNCH" policy verify --key one "$base"
like "verify: its code" "$out" '\[HLS-10\]'
status_is "verify: no file" 66 "$LAUNCH" policy verify --key one.pub "$TMP/policy/absent.yaml"

# ------------------------------------------------------------------------------------------------
# Runs
trusted() {
	trust_is <<-T
	version: 1
	layers:
	  org:
	    keys: ["$(cat one.pub)", "$(cat two.pub)"]
	    threshold: ${1:-1}
	  task: {unsigned: ${2:-true}}
	T
}

# refused NAME CODE ARGS...: by run, which starts nothing, and by explain
refused() {
	local name=$1 code=$2
	shift 2
	rm -f "$TMP/work.$caller/marker"
	status_is "$name is refused, $caller" 125 as "$caller" "$LAUNCH" "$@" -- sh -c 'echo ran >marker'
	like "$name: code" "$out" "\\[$code\\]"
	is "$name: nothing ran" "$(ls "$TMP/work.$caller/marker" 2>/dev/null)" ""
	like "$name: it is recorded" "$(as "$caller" "$LAUNCH" audit show --format json | tail -n 1)" \
		"\"ev\":\"policy.refuse\".*\"code\":\"$code\""
	status_is "$name is refused by explain as well, $caller" "${explained:-78}" as "$caller" "$LAUNCH" explain "$@" -- true
}

accepted() {
	local name=$1
	shift
	status_is "$name is accepted, $caller" 0 as "$caller" "$LAUNCH" "$@" -- true
}

cd "$TMP" || exit 1
for caller in $CALLERS; do
	cd "$keys" || exit 1
	rm -f "$trust"
	cp "$TMP/base.good" "$base"
	rm -f "$base.sig"
	accepted "no trust file: unsigned" -p "$base"
	is "and nothing is remembered" "$(ls "$TMP/state.$caller/revisions" 2>/dev/null)" ""
	trusted
	refused "unsigned" HLS-03 -p "$base"
	cp "$TMP/one.sig" "$base.sig"
	accepted "signed by one" -p "$base"
	like "the record has the signer, $caller" "$(as "$caller" "$LAUNCH" audit show --format json)" \
		"\"ev\":\"policy.load\".*\"id\":\"acme/base\",\"rev\":7,\"sha256\":\"[0-9a-f]{64}\",\"signer\":\"secteam.acme.example\""
	is "the revision is remembered, $caller" "$(tail -n 1 "$TMP/state.$caller/revisions")" "acme/base 7"
	status_is "verify by the host's trust, $caller" 0 as "$caller" "$LAUNCH" policy verify "$base"
	trusted 2
	refused "one signature of two" HLS-08 -p "$base"
	cp "$TMP/both.sig" "$base.sig"
	accepted "two of two" -p "$base"
	trusted
	sed 's/^version: 1$/&\nlayer: org/' "$TMP/policy/needs.yaml" >"$TMP/policy/strange.yaml"
	rm -f "$TMP/policy/strange.yaml.sig"
	"$LAUNCH" policy sign --key stranger "$TMP/policy/strange.yaml" >/dev/null
	refused "a stranger's signature" HLS-07 -p "$base" -p "$TMP/policy/strange.yaml"
	"$LAUNCH" policy sign --key one "$TMP/policy/strange.yaml" >/dev/null
	accepted "the same by one of ours" -p "$base" -p "$TMP/policy/strange.yaml"
	echo '# changed' >>"$base"
	refused "a changed file" HLS-06 -p "$base"
	status_is "which policy check does not ask about" 0 as "$caller" "$LAUNCH" policy check "$base"
	cp "$TMP/base.good" "$base"
	sed 's/^revision 7$/revision 8/' "$TMP/one.sig" >"$base.sig"
	refused "a changed note" HLS-05 -p "$base"
	echo garbage >"$base.sig"
	refused "no note" HLS-04 -p "$base"
	cp "$TMP/one.sig" "$base.sig"
	mv "$TMP/test/hl-seal" "$TMP/test/away"
	explained=69 refused "without hl-seal a signature" HLS-13 -p "$base"
	mv "$TMP/test/away" "$TMP/test/hl-seal"
	chmod 666 "$trust"
	refused "with a trust file that others can write, all" HLS-01 -p "$base"
	chmod 644 "$trust"
	sed -i 's/threshold: 1/threshold: 3/' "$trust"
	refused "with a trust file that cannot be met, all" HLS-02 -p "$base"
	trusted
	accepted "as before" -p "$base"

	"$LAUNCH" policy sign --key one --not-after 2001-01-01 "$base" >/dev/null
	refused "a signature that is over" HLS-09 -p "$base"
	sed 's/^revision: 7$/revision: 6/' "$TMP/base.good" >"$base"
	rm -f "$base.sig"
	"$LAUNCH" policy sign --key one "$base" >/dev/null
	refused "an older revision" HLP-33 -p "$base"
	status_is "verify says so too, $caller" 1 as "$caller" "$LAUNCH" policy verify "$base"
	mv "$TMP/state.$caller/revisions" "$TMP/revisions.away"
	accepted "where nobody remembers, the older one" -p "$base"
	like "the log still tells, $caller" "$(as "$caller" "$LAUNCH" audit show --format json | grep policy.load | tail -n 1)" '"rev":6,'
	echo damaged >"$TMP/state.$caller/revisions"
	explained=74 refused "with a damaged memory" HLS-14 -p "$base"
	rm -f "$TMP/state.$caller/revisions"
	sed 's/^revision: 7$/revision: 8/' "$TMP/base.good" >"$base"
	"$LAUNCH" policy sign --key one "$base" >/dev/null
	accepted "a later revision" -p "$base"
	is "it is remembered, $caller" "$(tail -n 1 "$TMP/state.$caller/revisions")" "acme/base 8"

	trusted 1 false
	sed -i 's/  task: .*/  task: {unsigned: true}/' "$trust"
	printf 'version: 1\nid: host/all\nmandatory_layers: [{id: acme/base, revision: 7}]\n' >"$TMP/host/policy.d/all.yaml"
	sed -i 's/^layers:$/&\n  host: {unsigned: true}/' "$trust"
	accepted "the layer that the host counts on" -p "$base"
	# Neither root's nor signed, it has nothing but the name. A root caller has no other files.
	if [ "$caller" = user ]; then
		mine=$(policy mine <<<$'version: 1\nid: acme/base\nrevision: 9\nlevel: baseline@1')
		chown "$NOBODY" "$mine"
		refused "an unsigned one of its name" HLP-24 -p "$mine"
		sed -i 's/^id:/layer: org\n&/' "$mine"
		sign_mine() { "$LAUNCH" policy sign --key one "$TMP/mine.yaml" && mv "$TMP/mine.yaml.sig" "$mine.sig"; }
		cp "$mine" "$TMP/mine.yaml"
		status_is "it is signed" 0 sign_mine
		accepted "a signed one of its name" -p "$mine"
	fi
	rm -f "$TMP/host/policy.d/all.yaml"
done

# ------------------------------------------------------------------------------------------------
# An hl-seal that never answers, nor ends when it is told to: the launcher does. (What a shell starts
# in the background ignores INT.)
ended() { [ ! -e "/proc/$1" ]; }

# hanging NAME STATUS SIGNAL ARGS...
hanging() {
	local name="$1, SIG$3" want=$2 signal=$3 pid seal status
	shift 3
	rm -f "$TMP/test/asked"
	HERMES_LAUNCH_STATE=$TMP/state.hanging env --default-signal=INT "$LAUNCH" "$@" >"$TMP/hanging.out" 2>&1 &
	pid=$!
	if ! wait_until 10 test -s "$TMP/test/asked"; then
		fail "$name: hl-seal is asked"
		return
	fi
	seal=$(cat "$TMP/test/asked")
	is "$name: it waits" "$(ended "$pid" || echo waits)" waits
	kill -s "$signal" "$pid"
	wait_until 10 ended "$pid"
	is "$name: it ends" "$(ended "$pid" || echo waits)" ""
	kill -KILL "$pid" 2>/dev/null
	wait "$pid"
	status=$?
	is "$name: as what" "$status" "$want"
	is "$name: hl-seal is gone" "$(ended "$seal" || echo there)" ""
}
mv "$TMP/test/hl-seal" "$TMP/test/away"
cat >"$TMP/test/hl-seal" <<S
#!/bin/bash
trap '' TERM INT
echo \$\$ >'$TMP/test/asked'
while :; do read -r -t 1 -u 9 9<>'$TMP/test/quiet'; done
S
mkfifo "$TMP/test/quiet"
chmod 755 "$TMP/test/hl-seal"
for signal in TERM INT; do
	hanging "run" 125 "$signal" -p "$base" -- true
	like "run, SIG$signal: it says so" "$(cat "$TMP/hanging.out")" '^hermes-launch: .*interrupted.*\[HLS-13\]'
	hanging "sign" $((128 + $(kill -l "$signal"))) "$signal" policy sign --key one "$base"
done
rm "$TMP/test/hl-seal"
mv "$TMP/test/away" "$TMP/test/hl-seal"
status_is "one that answers is believed" 0 env HERMES_LAUNCH_STATE="$TMP/state.hanging" "$LAUNCH" -p "$base" -- true

# ------------------------------------------------------------------------------------------------
# What is secret
cd "$keys" || exit 1
mkfifo "$TMP/fifo"
exec 8<>"$TMP/fifo"
"$LAUNCH" policy sign --key two --passphrase-fd 8 "$base" >"$TMP/signed.out" 2>&1 &
pid=$!
child() { pgrep -P "$pid" -x hl-seal >/dev/null; }
if wait_until 10 child; then
	seal=$(pgrep -P "$pid" -x hl-seal)
	is "hl-seal has no arguments" "$(tr '\0' ' ' <"/proc/$seal/cmdline")" "hl-seal "
	if [ "$(id -u)" = 0 ]; then
		is "hl-seal has no environment" "$(tr '\0' ' ' <"/proc/$seal/environ")" ""
		is "hl-seal has six descriptors" "$(ls "/proc/$seal/fd" | tr '\n' ' ')" "0 1 2 3 4 5 "
	fi
	like "hl-seal gains no rights" "$(cat "/proc/$seal/status")" '^NoNewPrivs:[[:space:]]1$'
else
	fail "hl-seal waits for the passphrase"
fi
printf '%s\nleft\n' "$passphrase" >&8
wait "$pid"
like "it has signed then" "$(cat "$TMP/signed.out")" 'signed by cto.acme.example$'
IFS= read -r -t 5 left <&8
is "what is behind the first line is left" "$left" left
exec 8>&-

TMPDIR_POLICY=$base python3 - "$LAUNCH" "$passphrase" >"$TMP/terminal.out" 2>&1 <<'P'
import os, pty, sys, termios, time
launch, passphrase = sys.argv[1:]
def talk(args, answers):
	pid, fd = pty.fork()
	if pid == 0:
		os.execv(launch, [launch, "policy"] + args)
	seen = b""
	for prompt, answer in answers:
		while prompt not in seen:
			seen += os.read(fd, 4096)
		while termios.tcgetattr(fd)[3] & termios.ECHO:
			time.sleep(0.01)
		seen = b""
		os.write(fd, answer)
	rest = b""
	try:
		while True:
			more = os.read(fd, 4096)
			if not more:
				break
			rest += more
	except OSError:
		pass
	print(args[0], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (seen + rest).decode().split())
line = passphrase.encode() + b"\n"
key = ["keygen", "--signer", "tty.example", "--passphrase", "tty"]
talk(key, [(b"New passphrase: ", line), (b"Once more: ", b"other\n")])
talk(key, [(b"New passphrase: ", b"\x03")])
print("left", os.path.exists("tty"))
talk(key, [(b"New passphrase: ", line), (b"Once more: ", line)])
talk(["sign", "--key", "tty", os.environ["TMPDIR_POLICY"]], [(b"Passphrase: ", line)])
P
out=$(cat "$TMP/terminal.out")
like "terminal: two that differ" "$out" "^keygen 77 .*'differ'"
like "terminal: an interruption" "$out" "^keygen -2 "
like "terminal: no half of a key" "$out" "^left False$"
like "terminal: a key" "$out" "^keygen 0 .*tty\.example"
like "terminal: a signature" "$out" "^sign 0 .*tty\.example"

secret=$(sed -n 3p one)
for word in "$passphrase" "$secret"; do
	is "nowhere but in the key: ${word:0:6}..." "$(grep -rlF --exclude-dir=test --exclude-dir=bin \
		--exclude=one --exclude=one.before -- "$word" "$TMP" 2>/dev/null)" ""
done
like "the sibling: it would have been found" "$(grep -rlF -- "$secret" "$keys")" '/one\.before$'

done_testing
