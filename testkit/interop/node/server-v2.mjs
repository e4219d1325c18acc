// A server of the TypeScript SDK, version 2, of both eras and without sessions:
// node server-v2.mjs PORT
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { furnish } from './fixture.mjs';

const handler = createMcpHandler(() => furnish(
  new McpServer({ name: 'interop-ts-v2', version: '1.0.0' }, { capabilities: { logging: {} } }),
  ({ mcpReq }) => ({
    signal: mcpReq.signal,
    token: mcpReq._meta?.progressToken,
    notify: (n) => mcpReq.notify(n),
    log: (data) => mcpReq.log('info', data),
    elicit: (params) => mcpReq.elicitInput(params),
    sample: (params) => mcpReq.requestSampling(params),
  }),
));

createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
