// report.mjs is the judge: what it must not let pass. Node runs this by itself.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

const report = path.join(import.meta.dirname, "report.mjs");
const stamp = "2026-01-02T03-04-05-006Z";

// judge writes what runs of the suites would leave. A run: { name, status, scenarios }.
// A scenario has the statuses of its checks, or null if it broke off.
function judge(t, expected, runs, whole = ["server", "client"]) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "report-"));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.writeFileSync(path.join(dir, "expected.txt"), expected);
  for (const [i, { name, status = 0, scenarios }] of runs.entries()) {
    const run = path.join(dir, String(i + 1));
    const summary = Object.keys(scenarios).map((s) => `✓ ${s}: 1 passed, 0 failed`);
    fs.mkdirSync(run);
    fs.writeFileSync(path.join(run, "name"), `${name}\n`);
    fs.writeFileSync(path.join(run, "status"), `${status}\n`);
    fs.writeFileSync(path.join(run, "log"), name.includes(" ") ? "" : summary.join("\n"));
    for (const [scenario, checks] of Object.entries(scenarios)) {
      if (!checks) continue;
      const results = path.join(run, "results", `${name.startsWith("client") ? "" : "server-"}${scenario}-${stamp}`);
      fs.mkdirSync(results, { recursive: true });
      fs.writeFileSync(path.join(results, "checks.json"), JSON.stringify(checks.map((status, n) => ({ id: `check-${n}`, status }))));
    }
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [report, dir, path.join(dir, "expected.txt"), ...whole], { encoding: "utf8" });
  return { status, text: stdout + stderr };
}

const cases = {
  "all pass": [0, "", [{ name: "s", scenarios: { a: ["SUCCESS", "SKIPPED", "INFO"], "deep/b": ["SUCCESS"] } }]],
  "a failure": [1, "UNEXPECTED a (s)", [{ name: "s", status: 1, scenarios: { a: ["SUCCESS", "FAILURE"] } }]],
  "a warning": [1, "WARNING check-1", [{ name: "s", scenarios: { a: ["SUCCESS", "WARNING"] } }]],
  "nothing but skipped checks": [1, "SKIPPED check-0", [{ name: "s", scenarios: { a: ["SKIPPED"] } }]],
  "no check": [1, "no check at all", [{ name: "s", scenarios: { a: [] } }]],
  "a scenario that broke off": [1, "left no checks", [{ name: "s", scenarios: { a: null } }]],
  "a suite that did not run": [2, "did not run", [{ name: "s", status: 1, scenarios: {} }]],
  "a client that failed after its checks": [1, "status 1", [{ name: "client@1 a", status: 1, scenarios: { a: ["SUCCESS"] } }]],
  "expected": [0, "", [{ name: "s", scenarios: { a: ["FAILURE"], b: ["SUCCESS"] } }], "a why"],
  "expected, and good in one place": [0, "", [{ name: "s", scenarios: { a: ["SUCCESS"] } }, { name: "r", scenarios: { a: ["FAILURE"] } }], "a why"],
  "stale": [1, "STALE expected.txt:2: a", [{ name: "s", scenarios: { a: ["SUCCESS"] } }], "# why\na why"],
  "no such scenario": [1, "STALE expected.txt:1: c", [{ name: "s", scenarios: { a: ["SUCCESS"] } }], "c why"],
  "of the client, not of the server": [1, "UNEXPECTED a (s)", [{ name: "s", scenarios: { a: ["FAILURE"] } }, { name: "client a", status: 1, scenarios: { a: ["FAILURE"] } }], "client/a why"],
  "no reason": [2, "expected.txt:1", [{ name: "s", scenarios: { a: ["FAILURE"] } }], "a"],
  "twice": [2, "expected.txt:2", [{ name: "s", scenarios: { a: ["FAILURE"] } }], "a why\na why"],
};

for (const [name, [status, says, runs, expected = ""]] of Object.entries(cases))
  test(name, (t) => {
    const got = judge(t, expected, runs);
    assert.equal(got.status, status, got.text);
    assert.ok(got.text.includes(says), got.text);
  });

test("nothing is stale where not everything was run", (t) => {
  const got = judge(t, "client/b why", [{ name: "s", scenarios: { a: ["SUCCESS"] } }], ["server"]);
  assert.equal(got.status, 0, got.text);
});
