// What the servers of the TypeScript SDKs offer to our client: the part of the
// official suite's fixtures that its tests use, and tools of our own.
import * as z from 'zod/v4';

const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason ?? new Error('cancelled')); }, { once: true });
});
const text = (t) => ({ content: [{ type: 'text', text: t }] });
let cancelled = 0;

/**
 * Registers everything with a McpServer. adapt makes of the SDK's own context of a
 * call: signal, notify(notification), log(data), elicit(params), sample(params),
 * release(), token. object makes a schema as its prompts want it.
 */
export function furnish(server, adapt, object = z.object) {
  const tool = (name, shape, run) => server.registerTool(name, { description: name, inputSchema: z.object(shape) },
    (args, context) => run(adapt(context), args));
  tool('test_simple_text', {}, () => text('This is a simple text response for testing.'));
  tool('test_error_handling', {}, () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }));
  tool('test_tool_with_logging', {}, async (c) => {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) await c.log(line);
    return text('logged');
  });
  tool('test_tool_with_progress', {}, async (c) => {
    for (const progress of [0, 50, 100]) await c.notify({ method: 'notifications/progress', params: { progressToken: c.token, progress, total: 100 } });
    return text('done');
  });
  tool('burst', { n: z.number() }, async (c, { n }) => {
    for (let i = 1; i <= n; i++) await c.notify({ method: 'notifications/progress', params: { progressToken: c.token, progress: i, total: n } });
    return text('done');
  });
  tool('slow', {}, async (c) => {
    await c.notify({ method: 'notifications/progress', params: { progressToken: c.token, progress: 0 } });
    try {
      await pause(20_000, c.signal);
    } catch (err) {
      cancelled++;
      throw err;
    }
    return text('waited');
  });
  tool('slow_cancelled', {}, () => text(String(cancelled)));
  tool('test_reconnection', {}, async (c) => {
    c.release?.();
    await pause(100);
    return text('Reconnection test completed');
  });
  tool('test_sampling', { prompt: z.string() }, async (c, { prompt }) => {
    const r = await c.sample({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 });
    return text(`LLM response: ${r.content.text}`);
  });
  tool('test_elicitation', { message: z.string() }, async (c, { message }) => {
    const requestedSchema = { type: 'object', properties: { username: { type: 'string' }, email: { type: 'string' } }, required: ['username', 'email'] };
    const r = await c.elicit({ mode: 'form', message, requestedSchema });
    return text(`User response: action=${r.action}, content=${JSON.stringify(r.content)}`);
  });
  server.registerResource('static', 'test://static-text', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }));
  server.registerPrompt('test_prompt_with_arguments', { description: 'two arguments', argsSchema: object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `arg1='${arg1}', arg2='${arg2}'` } }] }));
  return server;
}
