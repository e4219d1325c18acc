// A server of the TypeScript SDK, version 1, with sessions and an event store:
// node server-v1.mjs PORT
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CreateMessageResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { furnish } from './fixture.mjs';

const sessions = new Map();

/** Events in their order, which the store in the SDK's examples loses within a millisecond. */
class EventStore {
  events = [];

  async storeEvent(stream, message) {
    this.events.push({ stream, message });
    return String(this.events.length - 1);
  }

  async getStreamIdForEventId(id) { return this.events[id]?.stream; }

  async replayEventsAfter(id, { send }) {
    const stream = this.events[id].stream;
    for (let i = Number(id) + 1; i < this.events.length; i++) {
      if (this.events[i].stream === stream) await send(String(i), this.events[i].message);
    }
    return stream;
  }
}

async function open() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: new EventStore(),
    retryInterval: 20,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  const server = new McpServer({ name: 'interop-ts-v1', version: '1.0.0' }, { capabilities: { logging: {} } });
  await furnish(server, (extra) => ({
    signal: extra.signal,
    token: extra._meta?.progressToken,
    notify: (n) => extra.sendNotification(n),
    log: (data) => extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } }),
    elicit: (params) => extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema),
    sample: (params) => extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema),
    release: extra.closeSSEStream,
  }), (shape) => shape).connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const id = request.headers['mcp-session-id'];
  const transport = id ? sessions.get(id) : await open();
  if (transport) await transport.handleRequest(request, response);
  else response.writeHead(404).end();
}).listen(Number(process.argv[2]), '127.0.0.1');
