// @modelcontextprotocol/client at 2026-07-28 against a stdio server:
// node modern.mjs COMMAND [ARGS...]
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { common, mailbox, run } from './scenario.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client(
  { name: 'interop-ts-v2', version: '1.0.0' },
  { versionNegotiation: { mode: { pin: '2026-07-28' } } },
);
const logs = mailbox();
const updates = mailbox();
const changes = mailbox();
const progress = { seen: [], schema: [] };
client.setNotificationHandler('notifications/progress', (n) => progress.seen.push(n.params));
client.setNotificationHandler('notifications/message', (n) => logs.push(n.params));
client.setNotificationHandler('notifications/resources/updated', (n) => updates.push(n.params));
client.setNotificationHandler('notifications/tools/list_changed', (n) => changes.push(n.params));

const call = (name, input, options) => client.callTool({ name, arguments: input }, options);

await run([
  ['connect', () => client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }))],
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
  ['close', () => client.close()],
]);
