#!/bin/bash
# The verbs for those who write policies: check in all its forms, explain-code, diff, meets, fmt.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

cd "$TMP/policy" || exit 1
export HERMES_LAUNCH_STATE=$TMP/state
host_policies "$TMP/nowhere"
mkdir -m 700 "$TMP/state"

policy base >/dev/null <<'Y'
version: 1
id: acme/base
layer: org
level: baseline@1
limits: {memory: {max: 4GiB, default: 2GiB}}
network: {mode: none}
env: {set: {SHIFT: do-not-show-1}}
Y
policy loose >/dev/null <<'Y'
version: 1
id: acme/team
level: baseline@1
limits: {memory: 8GiB}
network: {mode: proxy}
Y
policy tight >/dev/null <<'Y'
version: 1
id: acme/team
level: baseline@1
limits: {memory: 1GiB}
network: {mode: none}
env: {set: {SHIFT: do-not-show-1}}
Y
policy broken >/dev/null <<'Y'
version: 1
id: acme/broken
netwrok: {mode: none}
limits: {memory: 4096, pids: many}
Y

status_is "check: a good file" 0 "$LAUNCH" policy check base.yaml
like "check: ok is told" "$out" '^base.yaml: ok \(0 warnings\)$'
status_is "check: errors are 1" 1 "$LAUNCH" policy check broken.yaml
is "check: all errors in one run" "$(grep -c ': error: ' <<<"$out")" 3
like "check: the nearest key" "$out" 'did you mean "network"'
status_is "check: no file is 66" 66 "$LAUNCH" policy check absent.yaml
status_is "check: nothing named is 64" 64 "$LAUNCH" policy check
status_is "check: twenty findings and no more" 1 "$LAUNCH" policy check broken.yaml broken.yaml \
	broken.yaml broken.yaml broken.yaml broken.yaml broken.yaml broken.yaml
is "check: twenty are shown" "$(grep -c ': error: ' <<<"$out")" 20
like "check: that there are more is told" "$out" 'only the first 20 findings'

status_is "check --stack: a looser bound is a warning" 0 "$LAUNCH" policy check --stack base.yaml loose.yaml
like "check --stack: it has no effect" "$out" 'limits.memory has no effect: acme/base allows at most 4GiB \(base.yaml:5:24\) \[HLP-21\]'
status_is "check --fail-on warning is 2" 2 "$LAUNCH" policy check --stack --fail-on warning base.yaml loose.yaml
status_is "check --fail-on warning without any is 0" 0 "$LAUNCH" policy check --stack --fail-on warning base.yaml tight.yaml
policy calls >/dev/null <<'Y'
version: 1
id: acme/team
level: open@1
process: {seccomp: {deny: [ptrace, mkdri]}}
Y
status_is "check: a system call that is none is an error" 1 "$LAUNCH" policy check calls.yaml
like "check: the nearest system call" "$out" "calls.yaml:4:36: error: process.seccomp.deny: 'mkdri' is not a system call \[HLP-13\]"
like "check: did you mean" "$out" "did you mean 'mkdir'"
sed -i s/mkdri/mkdir/ calls.yaml
status_is "check: with its name it is good" 0 "$LAUNCH" policy check calls.yaml
sed -i "s/deny: .*/profile: none, files: [{file: \/p.json, sha256: a$(printf '%063d' 0)}]}}/" calls.yaml
status_is "check: filter files without a profile are an error" 1 "$LAUNCH" policy check calls.yaml
like "check: both places of it" "$out" 'note: the other is here: calls.yaml:4:30'
printf 'version: 1\nid: acme/team\nlevel: baseline@1\nfs: {deny: ["/srv/p\xd0\xb0y"]}\n' >lookalike.yaml
chmod 600 lookalike.yaml
status_is "check: a letter that looks like another is a warning" 0 "$LAUNCH" policy check lookalike.yaml
like "check: it is named with its double" "$out" 'fs.deny has U\+0430 \(Cyrillic\), which looks like "a" \[HLP-28\]'
status_is "check --fail-on warning counts it" 2 "$LAUNCH" policy check --fail-on warning lookalike.yaml
status_is "check --fail-on warning with errors is 1" 1 "$LAUNCH" policy check --fail-on warning broken.yaml
status_is "check --fail-on knows one word" 64 "$LAUNCH" policy check --fail-on note base.yaml

status_is "check --within: inside" 0 "$LAUNCH" policy check --within base.yaml tight.yaml
status_is "check --within: outside is 1" 1 "$LAUNCH" policy check --within base.yaml loose.yaml
like "check --within: both places" "$out" '^loose.yaml:4:18: error: limits.memory goes past .*\[HLP-26\]$'
like "check --within: the second place" "$out" 'note: the bound is here: base.yaml:5:24'
unlike "check --within: no value of a variable" "$out" 'do-not-show'
status_is "check --within: an outer policy that is broken is 78" 78 "$LAUNCH" policy check --within broken.yaml tight.yaml

status_is "check --format github" 1 "$LAUNCH" policy check --format github broken.yaml
like "github: an annotation" "$out" '^::error file=broken.yaml,line=3,col=1,endColumn=8,title=HLP-04 policy-unknown-key::unknown key "netwrok"%0Adid you mean "network"\?$'
status_is "explain has no github format" 64 "$LAUNCH" explain --format github -p base.yaml -- true
status_is "check --format json" 1 "$LAUNCH" policy check --format json --within base.yaml loose.yaml
like "json: the second place" "$(python3 -c '
import json, sys
for line in sys.stdin:
	finding = json.loads(line)
	if finding["code"] == "HLP-26" and finding["line"] == 4:
		print(finding["file"], finding["other"]["file"], finding["other"]["line"])
' <<<"$out")" '^loose.yaml base.yaml 5$'

status_is "explain-code" 0 "$LAUNCH" explain-code HLP-26
like "explain-code: cause and exit status" "$out" '^HLP-26 policy-exceeds \(exit status 78; 125 from run\)$'
unexplained=
while read -r code; do
	"$LAUNCH" explain-code "$code" >/dev/null 2>&1 || unexplained+=" $code"
done < <(sed -n 's/^HL_CODE(\([A-Z]\), \([0-9]*\),.*/HL\1-\2/p' "$ROOT/base/codes.def")
is "explain-code: every row of the table" "$unexplained" ""
status_is "explain-code: of none" 64 "$LAUNCH" explain-code HLP-99

status_is "diff: tighter is 0" 0 "$LAUNCH" policy diff base.yaml tight.yaml
like "diff: what is tighter" "$out" '^tighter +limits.memory: \{max: 4GiB, default: 2GiB\} -> 1GiB$'
status_is "diff: looser is 1" 1 "$LAUNCH" policy diff tight.yaml base.yaml
like "diff: what is looser" "$out" '^looser +limits.memory: '
like "diff: the places" "$out" '^ +new +base.yaml:5:24$'
status_is "diff: with itself" 0 "$LAUNCH" policy diff base.yaml base.yaml
is "diff: with itself there is none" "$out" ""
status_is "diff: a variable that is not set any more" 1 "$LAUNCH" policy diff tight.yaml loose.yaml
unlike "diff: no value of a variable" "$out" 'do-not-show'
status_is "diff --format json" 1 "$LAUNCH" policy diff --format json tight.yaml loose.yaml
like "diff: json" "$(python3 -c '
import json, sys
for line in sys.stdin:
	row = json.loads(line)
	print(row["key"], row["relation"], row["new"]["line"])
' <<<"$out")" '^limits.memory looser 4$'
status_is "diff of one is 64" 64 "$LAUNCH" policy diff base.yaml
status_is "diff with a broken one is 78" 78 "$LAUNCH" policy diff base.yaml broken.yaml

policy needs >/dev/null <<'Y'
version: 1
id: acme/team
level: baseline@1
limits: {memory: 1GiB}
network: {mode: none}
env: {set: {SHIFT: do-not-show-1}}
requires: [{id: acme/base, revision: 2}]
Y
status_is "a policy that requires another is not checked alone" 1 "$LAUNCH" policy check needs.yaml
status_is "diff: but it is compared" 1 "$LAUNCH" policy diff needs.yaml tight.yaml
like "diff: a layer that is not required any more" "$out" '^looser +requires: acme/base at revision 2 -> not$'
like "diff: the place where it was" "$out" '^ +old +needs.yaml:7:12$'
status_is "diff: a layer that is required now" 0 "$LAUNCH" policy diff tight.yaml needs.yaml
like "diff: which one" "$out" '^tighter +requires: not -> acme/base at revision 2$'
status_is "meets: without what it requires" 0 "$LAUNCH" policy meets baseline@1 needs.yaml

status_is "meets: its own level" 0 "$LAUNCH" policy meets baseline@1 base.yaml tight.yaml
like "meets: that it does" "$out" '^tight.yaml: meets baseline@1 \(0 gaps\)$'
status_is "meets: a stricter level" 1 "$LAUNCH" policy meets restricted@1 base.yaml
like "meets: the gaps" "$out" 'fs.landlock goes past .*\[HLP-26\]'
status_is "meets --format json" 1 "$LAUNCH" policy meets --format json restricted@1 base.yaml
like "meets: json" "$(python3 -c '
import json, sys
answer = json.loads(sys.stdin.readline())
print(answer["meets"], len(answer["gaps"]) > 3)
' <<<"$out")" '^False True$'
status_is "meets --score: the gaps still decide" 1 "$LAUNCH" policy meets --score restricted@1 base.yaml
like "meets --score: each weight" "$out" '^ +10  yes  network.mode$'
like "meets --score: of what is not met, too" "$out" '^ +3  no   fs.landlock$'
like "meets --score: their sum" "$out" '^ +score [0-9]+ of [0-9]+: the sum of the weights above with yes$'
unlike "meets without --score prints none (sibling)" "$("$LAUNCH" policy meets restricted@1 base.yaml 2>/dev/null)" 'score'
status_is "meets: no such level" 64 "$LAUNCH" policy meets strict@9 base.yaml
status_is "meets: no file" 66 "$LAUNCH" policy meets baseline@1 absent.yaml

mapfile -t many < <(yes base.yaml | head -256)
status_is "show: a file more than are taken" 64 "$LAUNCH" policy show --policy base.yaml "${many[@]}"
like "show: is refused, and none is left out" "$out" 'more than 256 files'

policy shuffled >/dev/null <<'Y'
version: 1
# who
id:  acme/x
limits:
    pids: 200   # enough
    memory: 1GiB
level: baseline@1
Y
status_is "fmt" 0 "$LAUNCH" policy fmt shuffled.yaml
is "fmt: order, columns, comments" "$out" "version: 1
# who
id: acme/x
level: baseline@1
limits:
  memory: 1GiB
  pids: 200   # enough"
printf '%s\n' "$out" >formed.yaml
status_is "fmt --check names what is not in form" 1 "$LAUNCH" policy fmt --check shuffled.yaml formed.yaml
is "fmt --check: the names" "$out" shuffled.yaml
status_is "fmt --check of what is" 0 "$LAUNCH" policy fmt --check formed.yaml
status_is "fmt: the same policy" 0 "$LAUNCH" policy diff shuffled.yaml formed.yaml
is "fmt: no difference" "$out" ""
printf '{version: 1, id: acme/x}\n' >flow.yaml
status_is "fmt: keys in one line are refused" 78 "$LAUNCH" policy fmt flow.yaml
like "fmt: why" "$out" '\[HLP-27\]'
status_is "fmt: of a broken one" 78 "$LAUNCH" policy fmt broken.yaml
status_is "fmt: no file" 66 "$LAUNCH" policy fmt absent.yaml
status_is "fmt: several are only checked" 64 "$LAUNCH" policy fmt shuffled.yaml formed.yaml

done_testing
