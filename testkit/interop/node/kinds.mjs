// One of the two TypeScript clients against the server with a tool for every
// kind of Go type: node kinds.mjs v1|v2 COMMAND < cases
// Each case is a JSON line {name, valid, invalid} of arguments. The client's own
// validation judges what comes back: callTool throws over structured content
// that the output schema refuses.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pages } from './scenario.mjs';

const [era, command, ...args] = process.argv.slice(2);
const client = era === 'v1' ? await legacy() : await modern();

async function legacy() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const c = new Client({ name: 'interop-ts-v1', version: '1.0.0' });
  await c.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  return c;
}

async function modern() {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const c = new Client({ name: 'interop-ts-v2', version: '1.0.0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await c.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  return c;
}

const tools = await pages((p) => client.listTools(p), 'tools', era === 'v1');
const listed = new Set(tools.map((t) => t.name));
console.log(`ok listed ${listed.size}`);

let failed = 0;
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const { name, valid, invalid } = JSON.parse(line);
  try {
    assert.ok(listed.delete(name), 'not listed, or two cases');
    for (const v of valid) {
      const r = await client.callTool({ name, arguments: v });
      assert.ok(!r.isError, `${JSON.stringify(v)} refused: ${r.content[0]?.text}`);
      assert.notEqual(r.structuredContent, undefined, 'no structured content');
    }
    for (const v of invalid) {
      const r = await client.callTool({ name, arguments: v });
      assert.ok(r.isError, `${JSON.stringify(v)} accepted: ${JSON.stringify(r.structuredContent)}`);
    }
  } catch (err) {
    failed++;
    console.log(`not ok ${name}: ${err.message}`);
    continue;
  }
  console.log(`ok ${name}`);
}
if (listed.size) {
  failed++;
  console.log(`not ok: no case for ${[...listed].join(', ')}`);
}
await client.close();
process.exit(failed ? 1 : 0);
