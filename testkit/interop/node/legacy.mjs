// The TypeScript SDK's client (handshake revisions) against a stdio server:
// node legacy.mjs COMMAND [ARGS...]
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, LoggingMessageNotificationSchema,
  ProgressNotificationSchema, ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { common, mailbox, run } from './scenario.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'interop-ts-v1', version: '1.0.0' }, { capabilities: { elicitation: {}, sampling: {} } });
const logs = mailbox();
const updates = mailbox();
const changes = mailbox();
const progress = { seen: [], schema: [CallToolResultSchema] };
client.setNotificationHandler(ProgressNotificationSchema, (n) => progress.seen.push(n.params));
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => logs.push(n.params));
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => updates.push(n.params));
client.setNotificationHandler(ToolListChangedNotificationSchema, (n) => changes.push(n.params));
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { username: 'ada', email: 'ada@example.com' } }));
client.setRequestHandler(CreateMessageRequestSchema, () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'four' } }));

const call = (name, input, options) => client.callTool({ name, arguments: input }, CallToolResultSchema, options);

await run([
  ['connect', () => client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }))],
  ...common(client, call, progress),
  ['ping', () => client.ping()],
  ['log level and 100 logs, none lost', async () => {
    await client.setLoggingLevel('debug');
    await call('burst', { n: 100 });
    assert.equal(logs.length, 100);
  }],
  ['subscribe and update', async () => {
    await client.subscribeResource({ uri: 'test://watched-resource' });
    await call('update_watched', {});
    assert.equal((await updates.next()).uri, 'test://watched-resource');
    await client.unsubscribeResource({ uri: 'test://watched-resource' });
  }],
  ['list_changed', async () => {
    await call('test_trigger_tool_change', {});
    await changes.next();
  }],
  ['elicitation', async () => {
    const r = await call('test_elicitation', { message: 'who?' });
    assert.match(r.content[0].text, /ada/);
  }],
  ['sampling', async () => {
    const r = await call('test_sampling', { prompt: '2+2?' });
    assert.match(r.content[0].text, /four/);
  }],
  ['close', () => client.close()],
]);
