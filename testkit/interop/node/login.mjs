// A client of a TypeScript SDK that logs in: node login.mjs v1|v2 URL
//
// It prints "open URL" when a user has to go to a page, and what whoami says as a line of JSON: at
// first, and for each further line on stdin. The login ends at an address of its own.
import http from 'node:http';
import readline from 'node:readline';

const [version, url] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = version === 'v2'
  ? await import('@modelcontextprotocol/client')
  : { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')), ...(await import('@modelcontextprotocol/sdk/client/auth.js')) };

const arrived = Promise.withResolvers ? Promise.withResolvers() : (() => { const p = {}; p.promise = new Promise((resolve) => { p.resolve = resolve; }); return p; })();
const listener = http.createServer((req, res) => {
  res.end('done');
  arrived.resolve(new URL(req.url, 'http://127.0.0.1').searchParams);
});
await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });

const kept = {};
const provider = {
  redirectUrl: `http://127.0.0.1:${listener.address().port}/callback`,
  get clientMetadata() {
    return { client_name: `TypeScript ${version}`, redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' };
  },
  state: () => 'the-state',
  clientInformation: () => kept.client,
  saveClientInformation(client) { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens(tokens) { kept.tokens = tokens; },
  redirectToAuthorization(at) { console.log(`open ${at}`); },
  saveCodeVerifier(verifier) { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};

const connect = () => {
  const client = new Client({ name: 'login', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  return { client, transport, done: client.connect(transport) };
};
let { client, transport, done } = connect();
try {
  await done;
} catch (err) {
  if (!(err instanceof UnauthorizedError)) throw err;
  const params = await arrived.promise;
  await transport.finishAuth(version === 'v2' ? params : params.get('code'));
  ({ client, done } = connect());
  await done;
}
listener.close();
const ask = async () => console.log(JSON.stringify((await client.callTool({ name: 'whoami', arguments: {} })).content));
await ask();
for await (const _ of readline.createInterface({ input: process.stdin })) await ask();
await client.close();
process.exit(0);
