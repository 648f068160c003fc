// The official client of the Model Context Protocol against `hermes-launch mcp`; prints what it checked
// for tests/lib/tap.sh.
// Arguments: the caller's name, then the launcher and its arguments.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [caller, launch, ...args] = process.argv.slice(2);
let failed = 0;
let said = 0;

function ok(name, good, ...why) {
	said++;
	console.log(`${good ? "ok" : "not ok"} - ${caller}: ${name}`);
	if (!good) {
		failed++;
		for (const line of why) console.log(`#   ${JSON.stringify(line)}`);
	}
}

function is(name, got, want) {
	ok(name, JSON.stringify(got) === JSON.stringify(want), got, want);
}

const transport = new StdioClientTransport({ command: launch, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "test", version: "1" }, { capabilities: {} });
await client.connect(transport);
const call = (name, input, ...more) => client.callTool({ name, arguments: input }, ...more);

is("mcp: server", client.getServerVersion().name, "hermes-launch");
await client.ping();
const tools = (await client.listTools()).tools;
is("mcp: tools", tools.map((tool) => tool.name).sort(), ["files", "process", "terminal"]);

// terminal
let r = await call("terminal", { command: "echo out; echo err >&2; exit 3" });
is("terminal: text", r.content[0].text, "out\n\n[stderr]\nerr\n\n[exit status 3]");
is("terminal: a command that says no is no error", r.isError, false);
is("terminal: structured", [r.structuredContent.how, r.structuredContent.status], ["exited", 3]);
await call("terminal", { command: "cd /tmp; export A=kept" });
r = await call("terminal", { command: "pwd; echo $A; cat", stdin: "in" });
is("terminal: state and stdin", r.structuredContent.stdout, "/tmp\nkept\nin");
r = await call("terminal", { command: "printf '\\377x'" });
is("terminal: bytes that are no text", [r.content[0].text, r.structuredContent.stdout], ["\ufffdx", { b64: "/3g=" }]);
r = await call("terminal", { command: "true", env: { OPENAI_API_KEY: "k" } });
ok("terminal: a protected name is refused, and the model is told (HLC-05)",
	r.isError && r.content[0].text.includes("HLC-05"), r);
r = await call("terminal", { command: "sleep 91", timeout: "1s" });
is("terminal: timeout", [r.isError, r.structuredContent.how], [true, "timed_out"]);
r = await call("terminal", { text: "true" });
ok("terminal: an unknown argument is refused (HLU-20)", r.isError && r.content[0].text.includes("HLU-20"), r);
/* The client forgets who wants progress when the answer comes in the same read; hence the last pause. */
const progress = [];
await call("terminal", { command: "echo a; sleep 0.3; echo b; sleep 0.3" }, undefined, { onprogress: (p) => progress.push(p.message) });
is("terminal: progress", progress.join(""), "a\nb\n");
const abort = new AbortController();
setTimeout(() => abort.abort(), 500);
const began = Date.now();
let refused = null;
await call("terminal", { command: "sleep 92" }, undefined, { signal: abort.signal }).catch((error) => (refused = error));
ok("terminal: the client cancels", refused !== null && Date.now() - began < 5000, String(refused));
r = await call("terminal", { command: "sleep 0.5; grep -l sleep /proc/[0-9]*/comm 2>/dev/null | wc -l" });
is("terminal: what was cancelled has ended", r.structuredContent.stdout, "0\n");

// process
r = await call("process", { action: "start", command: "echo one; read -r x; echo \"got $x\"; exit 4", input: true });
const handle = r.structuredContent.call;
let poll = { structuredContent: { output: "" } };
for (let i = 0; i < 100 && poll.structuredContent.output === ""; i++) {
	await new Promise((done) => setTimeout(done, 50));
	poll = await call("process", { action: "poll", call: handle });
}
is("process: poll", [poll.structuredContent.running, poll.structuredContent.output], [true, "one\n"]);
is("process: poll again has nothing new", (await call("process", { action: "poll", call: handle })).structuredContent.output, "");
await call("process", { action: "write", call: handle, data: "in\n" });
r = await call("process", { action: "wait", call: handle, timeout: "10s" });
is("process: write and wait", [r.structuredContent.running, r.structuredContent.result.status], [false, 4]);
r = await call("process", { action: "log", call: handle, offset: 4 });
is("process: log from an offset", r.structuredContent.output, "got in\n");
r = await call("process", { action: "start", command: "sleep 93 & sleep 93" });
const second = r.structuredContent.call;
r = await call("process", { action: "wait", call: second, timeout: "200ms" });
is("process: wait ends by itself", r.structuredContent.running, true);
is("process: list", (await call("process", { action: "list" })).structuredContent.calls.map((c) => c.call).sort(), [handle, second].sort());
await call("process", { action: "kill", call: second });
r = await call("process", { action: "wait", call: second, timeout: "10s" });
is("process: kill", [r.structuredContent.running, r.structuredContent.result.how], [false, "cancelled"]);
r = await call("process", { action: "poll", call: "bg-4711" });
ok("process: an unknown handle (HLU-26)", r.isError && r.content[0].text.includes("HLU-26"), r);

// files
r = await call("files", { action: "write", path: "d/f.txt", content: "line 1\nline 2\n", parents: true });
is("files: write", [r.isError, r.structuredContent.written], [false, 14]);
r = await call("files", { action: "read", path: "d/f.txt" });
is("files: read, where the terminal is", [r.content[0].text, r.structuredContent.size], ["line 1\nline 2\n", 14]);
r = await call("files", { action: "read", path: "/tmp/d/f.txt", offset: 7, length: 4 });
is("files: a piece", r.structuredContent.content, "line");
await call("files", { action: "write", path: "/tmp/d/b", content: { b64: "AP8=" } });
is("files: bytes", (await call("files", { action: "read", path: "/tmp/d/b" })).structuredContent.content, { b64: "AP8=" });
await call("terminal", { command: "chmod 600 /tmp/d/f.txt; ln -s f.txt /tmp/d/l" });
await call("files", { action: "write", path: "/tmp/d/l", content: "new" });
r = await call("terminal", { command: "cat /tmp/d/f.txt; stat -c ' %a' /tmp/d/f.txt; test -L /tmp/d/l && ls -A /tmp/d | tr '\\n' ' '" });
is("files: a link stays, the mode stays, nothing is left over", r.structuredContent.stdout, "new 600\nb f.txt l ");
r = await call("files", { action: "list", path: "/tmp/d" });
is("files: list", r.structuredContent.entries.map((e) => [e.name, e.type, e.size]), [["b", "file", 2], ["f.txt", "file", 3], ["l", "link", 5]]);
r = await call("files", { action: "stat", path: "/tmp/d/l" });
is("files: stat", [r.structuredContent.type, r.structuredContent.target], ["link", "f.txt"]);
r = await call("files", { action: "read", path: "/no/such" });
ok("files: a file that is not there", r.isError && r.content[0].text.includes("/no/such"), r);
r = await call("files", { action: "read", path: "/etc/shadow" });
ok("files: what is covered inside cannot be read", r.isError || r.structuredContent.content === "", r);
r = await call("files", { action: "read", path: "/etc/passwd" });
ok("files: what is not covered can be", r.structuredContent.content.length > 0, r);
r = await call("files", { action: "write", path: "/etc/made", content: "x" });
ok("files: a read-only root stays so", r.isError, r);
r = await call("files", { action: "write", path: "/tmp/d/$(id);x", content: "odd" });
is("files: a path is never a command", (await call("files", { action: "read", path: "/tmp/d/$(id);x" })).structuredContent.content, "odd");

r = await call("files", { action: "write", path: "-d/-f", content: "dash", parents: true });
is("files: a path is never an option", (await call("files", { action: "read", path: "-d/-f" })).structuredContent?.content, "dash");
r = await call("files", { action: "read", path: "x".repeat(290) + "\u00e9".repeat(20) });
ok("files: a reason that was cut is still a text", r.isError && typeof r.content[0].text === "string", r);

let error = null;
await call("nothing", {}).catch((e) => (error = e));
ok("mcp: an unknown tool is an error of the protocol", error?.code === -32602, String(error));
await client.close();
console.log(`# the end, ${said} checks`);
process.exit(failed ? 1 : 0);
