// Prints what the suites found, and judges it by the failures that are expected.
//
//   node report.mjs RESULTS EXPECTED [server] [client]
//
// RESULTS has a directory for each time that a suite ran: name (the line of the
// table, and the scenario if it was one only), status (the suite's), log, results.
// "server" and "client" say of which side everything was run: only then can an entry
// of EXPECTED be stale.
//
// A scenario is bad if a check of it failed or warned, or if none passed. One that
// is bad must be expected, and one that is expected must be bad somewhere.

import fs from "node:fs";
import path from "node:path";

const [resultsDir, expectedFile, ...whole] = process.argv.slice(2);

const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");
const count = (checks, status) => checks.filter((c) => c.status === status).length;

// readExpected returns name -> line number. Each line: scenario, why it may fail.
function readExpected(file) {
  const expected = new Map();
  for (const [i, line] of read(file).split("\n").entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, name] = line.match(/^(\S+)\s+\S/) ?? [];
    if (!name || expected.has(name)) fatal(`${file}:${i + 1}: not a scenario and a reason, or there twice: ${line}`);
    expected.set(name, i + 1);
  }
  return expected;
}

function fatal(text) {
  console.error(`conformance: ${text}`);
  process.exit(2);
}

// checksByScenario finds each results/[[authorization-]server-]SCENARIO-TIME/checks.json. Scenarios
// may have a slash in their names.
function checksByScenario(dir) {
  const found = new Map();
  if (!fs.existsSync(dir)) return found;
  for (const file of fs.readdirSync(dir, { recursive: true })) {
    if (path.basename(file) !== "checks.json") continue;
    const scenario = path.dirname(file).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    found.set(scenario, JSON.parse(read(dir, file)));
  }
  return found;
}

// readRun returns the scenarios of one run of a suite: { selection, name, checks }.
function readRun(dir) {
  const [selection, single] = read(dir, "name").trim().split(" ");
  const status = Number(read(dir, "status"));
  const log = read(dir, "log").replace(/\x1b\[[0-9;]*m/g, "");
  const client = selection.startsWith("client");
  const found = checksByScenario(path.join(dir, "results"));

  // The summary names all scenarios, those too that broke off and left no checks.
  const names = single ? [single] : [...log.matchAll(/^[✓✗-] (\S+): /gm)].map((m) => m[1]);
  if (status > 1 || names.length === 0) fatal(`${selection}: the suite did not run (status ${status}):\n${log.slice(-4000)}`);

  return names.map((name) => {
    const checks = found.get(client ? name : selection === "authorization" ? `authorization-server-${name}` : `server-${name}`);
    if (!checks) return { selection, name, checks: [failure("suite", `left no checks:\n${excerpt(log, name)}`)] };
    // A client that fails or hangs is a failure even where every check passed.
    if (single && status !== 0 && count(checks, "FAILURE") + count(checks, "WARNING") === 0)
      checks.push(failure("suite", `the suite ended with status ${status}:\n${excerpt(log, name)}`));
    return { selection, name: client ? `client/${name}` : name, checks };
  });
}

const failure = (id, errorMessage) => ({ id, status: "FAILURE", errorMessage });

// excerpt is what the log has about a scenario.
function excerpt(log, name) {
  const at = Math.max(log.indexOf(`scenario: ${name}`), 0);
  return log.slice(at, at + 2000);
}

const isBad = (s) => count(s.checks, "SUCCESS") === 0 || count(s.checks, "FAILURE") + count(s.checks, "WARNING") > 0;

function printTable(scenarios, expected) {
  const columns = ["selection", "scenarios", "passed", "failed", "warned", "skipped", "expected", "unexpected"];
  const lines = [...Map.groupBy(scenarios, (s) => s.selection), ["all", scenarios]].map(([selection, group]) => {
    const checks = group.flatMap((s) => s.checks);
    const bad = group.filter(isBad);
    const known = bad.filter((s) => expected.has(s.name)).length;
    return [selection, group.length, ...["SUCCESS", "FAILURE", "WARNING", "SKIPPED"].map((s) => count(checks, s)), known, bad.length - known];
  });
  const width = Math.max(...lines.map(([selection]) => selection.length));
  for (const line of [columns, ...lines]) console.log(line.map((cell, i) => (i ? String(cell).padStart(11) : cell.padEnd(width))).join(""));
  console.log("(scenarios; their checks passed, failed, warned, skipped; scenarios that are bad, as expected and not)");
}

function printScenario(s) {
  console.log(`\nUNEXPECTED ${s.name} (${s.selection})`);
  if (s.checks.length === 0) console.log("    no check at all");
  for (const c of s.checks.filter((c) => ["FAILURE", "WARNING", "SKIPPED"].includes(c.status)))
    console.log(`    ${c.status} ${c.id}: ${(c.errorMessage ?? c.description ?? "").trim().slice(0, 2000)}`);
}

const expected = readExpected(expectedFile);
const scenarios = fs.readdirSync(resultsDir).filter((d) => /^\d+$/.test(d)).sort().flatMap((d) => readRun(path.join(resultsDir, d)));
const bad = scenarios.filter(isBad);
const unexpected = bad.filter((s) => !expected.has(s.name));
const stale = [...expected.keys()].filter((name) =>
  whole.includes(name.startsWith("client/") ? "client" : "server") && !bad.some((s) => s.name === name));

printTable(scenarios, expected);
unexpected.forEach(printScenario);
for (const name of stale) console.log(`\nSTALE ${path.basename(expectedFile)}:${expected.get(name)}: ${name} is not bad any more, or not there: delete the line`);
if (unexpected.length + stale.length > 0) process.exitCode = 1;
