// The TypeScript SDK's client (handshake revisions) against a server:
// node legacy.mjs stdio COMMAND | http URL | sse URL
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, LoggingMessageNotificationSchema,
  ProgressNotificationSchema, ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { crash } from './driver.mjs';
import { common, mailbox, run, streams } from './scenario.mjs';
import { carrier } from './web.mjs';

const over = carrier(process.argv.slice(2), { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport });
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
let transport = over.make();

await run([
  ['connect', () => client.connect(transport)],
  ...common(client, call, progress),
  ['ping', () => client.ping()],
  ['log level and 100 logs, none lost', async () => {
    await client.setLoggingLevel('debug');
    await call('burst', { n: 100 });
    assert.equal(logs.length, 100);
    await client.setLoggingLevel('error');
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
  ...streams(over, true, call, progress, client),
  ...(over.kind !== 'http' ? [] : [
    ['a crash of the server ends the session', async () => {
      await crash();
      await assert.rejects(call('test_simple_text', {}), (err) => err.code === 404);
      await client.close();
      transport = over.make();
      await client.connect(transport);
      await call('test_simple_text', {});
    }],
    ['terminate the session', async () => {
      const session = transport.sessionId;
      await transport.terminateSession();
      const answer = await fetch(over.url, {
        method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session },
      });
      assert.equal(answer.status, 404);
    }],
  ]),
  ['close', () => client.close()],
]);
process.exit(0); // stdin is still open
