// What both TypeScript clients do with the everything server. Each step prints
// one line; the first that fails ends the process with an error.
import assert from 'node:assert/strict';

/** Runs the steps in order and prints their names. */
export async function run(steps) {
  for (const [name, step] of steps) {
    try {
      await withDeadline(step(), name);
    } catch (err) {
      console.error(`not ok ${name}: ${err?.stack ?? err}`);
      process.exit(1);
    }
    console.log(`ok ${name}`);
  }
}

async function withDeadline(promise, name) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} took over 30 s`)), 30_000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Collects all pages of a list; demands that there are several where it must. */
export async function pages(list, member, several) {
  const all = [];
  let cursor;
  let count = 0;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    all.push(...page[member]);
    cursor = page.nextCursor;
    count++;
  } while (cursor !== undefined);
  if (several) assert.ok(count > 1, `${member}: one page only`);
  return all;
}

/** The steps that do not depend on the era. call(name, args, options) calls a tool. */
export function common(client, call, progress) {
  return [
    ['list tools', async () => {
      const tools = await pages((p) => client.listTools(p), 'tools', false);
      assert.equal(tools[0].name, 'test_simple_text');
      assert.ok(tools.length > 20, `only ${tools.length} tools`);
      assert.equal(new Set(tools.map((t) => t.name)).size, tools.length);
    }],
    ['list resources, templates, prompts', async () => {
      const resources = await pages((p) => client.listResources(p), 'resources', false);
      assert.ok(resources.some((r) => r.uri === 'test://static-text'));
      const templates = await pages((p) => client.listResourceTemplates(p), 'resourceTemplates', false);
      assert.ok(templates.some((t) => t.uriTemplate === 'test://template/{id}/data'));
      const prompts = await pages((p) => client.listPrompts(p), 'prompts', false);
      assert.ok(prompts.some((p) => p.name === 'test_simple_prompt'));
    }],
    ['call: success', async () => {
      const r = await call('test_simple_text', {});
      assert.equal(r.content[0].text, 'This is a simple text response for testing.');
    }],
    ['call: image, audio, embedded', async () => {
      assert.equal((await call('test_image_content', {})).content[0].mimeType, 'image/png');
      assert.equal((await call('test_audio_content', {})).content[0].mimeType, 'audio/wav');
      assert.equal((await call('test_embedded_resource', {})).content[0].resource.uri, 'test://embedded-resource');
    }],
    ['call: tool error', async () => {
      const r = await call('test_error_handling', {});
      assert.equal(r.isError, true);
    }],
    ['call: invalid arguments teach', async () => {
      const r = await call('slow', { seconds: 'soon' });
      assert.equal(r.isError, true);
      assert.match(r.content[0].text, /\/seconds/);
    }],
    ['call: unknown tool', async () => {
      await assert.rejects(call('no_such_tool', {}), (err) => err.code === -32602);
    }],
    ['read', async () => {
      const r = await client.readResource({ uri: 'test://static-text' });
      assert.equal(r.contents[0].text, 'This is the content of the static text resource.');
      const b = await client.readResource({ uri: 'test://static-binary' });
      assert.ok(Buffer.from(b.contents[0].blob, 'base64').length > 0);
    }],
    ['template read', async () => {
      const r = await client.readResource({ uri: 'test://template/123/data' });
      assert.equal(JSON.parse(r.contents[0].text).id, '123');
    }],
    ['read: unknown', async () => {
      await assert.rejects(client.readResource({ uri: 'test://nothing' }), (err) => [-32002, -32602].includes(err.code));
    }],
    ['prompt', async () => {
      const r = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'x1', arg2: 'x2' } });
      assert.match(r.messages[0].content.text, /arg1='x1', arg2='x2'/);
    }],
    ['complete', async () => {
      const r = await client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'te' },
      });
      assert.ok(Array.isArray(r.completion.values));
    }],
    ['100 progress notifications, none lost', async () => {
      // Not by the SDKs' onprogress option: they forget its handler when the result
      // arrives, before they deliver notifications that came in the same chunk.
      const r = await client.request(
        { method: 'tools/call', params: { name: 'burst', arguments: { n: 100 }, _meta: { progressToken: 'burst' } } }, ...progress.schema);
      assert.ok(!r.isError, JSON.stringify(r));
      const seen = progress.seen.map((p) => p.progress);
      assert.equal(seen.length, 100);
      assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
    }],
    ['cancel a running call', async () => {
      const before = (await call('slow_cancelled', {})).structuredContent.count;
      const stop = new AbortController();
      setTimeout(() => stop.abort('enough'), 200);
      await assert.rejects(call('slow', { seconds: 20 }, { signal: stop.signal }));
      for (let i = 0; i < 100; i++) {
        if ((await call('slow_cancelled', {})).structuredContent.count > before) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.fail('the handler was not cancelled');
    }],
    ['a slow call blocks nobody', async () => {
      const slow = call('slow', { seconds: 1 });
      const start = Date.now();
      await call('test_simple_text', {});
      assert.ok(Date.now() - start < 900);
      await slow;
    }],
  ];
}

/** What happens to the stream of a call. Where there are sessions, streams can be resumed. */
export function streams(over, sessions, call, progress, client) {
  const resumable = over.kind === 'http' && sessions;
  const steps = [['a stream that the server lets go of', async () => {
    const before = over.web.resumed;
    const r = await call('test_reconnection', {});
    assert.match(r.content[0].text, /Reconnection test completed/);
    assert.equal(over.web.resumed > before, resumable);
  }]];
  if (!resumable) return steps;
  steps.push(['a stream that breaks is resumed, nothing lost', async () => {
    const before = over.web.resumed;
    progress.seen.length = 0;
    over.web.cutNext(50);
    await client.request(
      { method: 'tools/call', params: { name: 'burst', arguments: { n: 100 }, _meta: { progressToken: 'cut' } } }, ...progress.schema);
    assert.deepEqual(progress.seen.map((p) => p.progress), Array.from({ length: 100 }, (_, i) => i + 1));
    assert.ok(over.web.resumed > before, 'not resumed');
  }]);
  return steps;
}

/** Resolves with the first value that push is given and that fits. */
export function mailbox() {
  const values = [];
  const waiting = [];
  return {
    push(v) {
      const next = waiting.shift();
      if (next) next(v); else values.push(v);
    },
    next: () => values.length ? Promise.resolve(values.shift()) : new Promise((resolve) => waiting.push(resolve)),
    get length() { return values.length; },
  };
}
