// @modelcontextprotocol/client at 2026-07-28 against a server:
// node modern.mjs stdio COMMAND | http URL
import assert from 'node:assert/strict';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { crash } from './driver.mjs';
import { common, mailbox, run, streams } from './scenario.mjs';
import { carrier } from './web.mjs';

const over = carrier(process.argv.slice(2), { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });
const client = new Client(
  { name: 'interop-ts-v2', version: '1.0.0' },
  { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: {}, sampling: {} } },
);
const logs = mailbox();
const updates = mailbox();
const changes = mailbox();
const progress = { seen: [], schema: [] };
client.setNotificationHandler('notifications/progress', (n) => progress.seen.push(n.params));
client.setNotificationHandler('notifications/message', (n) => logs.push(n.params));
client.setNotificationHandler('notifications/resources/updated', (n) => updates.push(n.params));
client.setNotificationHandler('notifications/tools/list_changed', (n) => changes.push(n.params));

client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { username: 'ada', email: 'ada@example.com' } }));
client.setRequestHandler('sampling/createMessage', () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'four' } }));

const call = (name, input, options) => client.callTool({ name, arguments: input }, options);

await run([
  ['connect', () => client.connect(over.make())],
  ...common(client, call, progress),
  ['logs on request only, 100, none lost', async () => {
    await call('burst', { n: 10 });
    assert.equal(logs.length, 0);
    await client.callTool({ name: 'burst', arguments: { n: 100 }, _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } });
    assert.equal(logs.length, 100);
  }],
  ['listen: update and list_changed', async () => {
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] });
    await call('update_watched', {});
    assert.equal((await updates.next()).uri, 'test://watched-resource');
    await call('test_trigger_tool_change', {});
    await changes.next();
    await subscription.close();
  }],
  ['elicitation', async () => {
    const r = await call('test_elicitation', { message: 'who?' });
    assert.match(r.content[0].text, /ada/);
  }],
  ['sampling', async () => {
    const r = await call('test_sampling', { prompt: '2+2?' });
    assert.match(r.content[0].text, /four/);
  }],
  ...streams(over, false, call, progress, client),
  ...(over.kind !== 'http' ? [] : [['a crash of the server is none of the client\'s business', async () => {
    await crash();
    const r = await call('test_simple_text', {});
    assert.equal(r.content.length, 1);
    assert.deepEqual(over.web.exchanges.filter((e) => e.session || e.method !== 'POST'), []);
  }]]),
  ['close', () => client.close()],
]);
process.exit(0); // stdin is still open
