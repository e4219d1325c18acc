// How @modelcontextprotocol/client settles on a revision with a server:
// node negotiate.mjs stdio COMMAND | http URL | sse URL
import assert from 'node:assert/strict';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from './scenario.mjs';
import { carrier } from './web.mjs';

const newest = '2026-07-28';

await run([
  ['as it comes', undefined, '2025-11-25'],
  ['legacy', { mode: 'legacy' }, '2025-11-25'],
  ['auto', { mode: 'auto' }, newest],
].map(([name, versionNegotiation, want]) => [name, async () => {
  const over = carrier(process.argv.slice(2), { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });
  const client = new Client({ name: 'interop-ts-v2', version: '1.0.0' }, { versionNegotiation });
  await client.connect(over.make());
  assert.equal(client.getNegotiatedProtocolVersion(), want);
  const r = await client.callTool({ name: 'test_simple_text', arguments: {} });
  assert.equal(r.content[0].text, 'This is a simple text response for testing.');
  await client.close();
}]));
