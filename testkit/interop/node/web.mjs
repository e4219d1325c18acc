// The three carriers, by the name of an SDK's transport, and what they exchange
// over HTTP.

/**
 * Makes the transport for the arguments of a script: stdio COMMAND, http URL or sse
 * URL. The classes are those of the SDK.
 */
export function carrier([kind, target], { StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport }) {
  const web = observed();
  const make = {
    stdio: () => new StdioClientTransport({ command: target, stderr: 'inherit' }),
    http: () => new StreamableHTTPClientTransport(new URL(target), {
      fetch: web.fetch,
      reconnectionOptions: { initialReconnectionDelay: 20, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 1.5, maxRetries: 5 },
    }),
    sse: () => new SSEClientTransport(new URL(target), { fetch: web.fetch }),
  }[kind];
  return { kind, url: target, web, make };
}

/** A fetch that notes what is exchanged, and breaks off a stream when it is told to. */
function observed() {
  const exchanges = [];
  let cut = 0;
  return {
    exchanges,
    /** Breaks off the next stream that answers a POST, after some events. */
    cutNext(events) { cut = events; },
    /** How many streams were resumed. */
    get resumed() { return exchanges.filter((e) => e.lastEvent && e.status === 200).length; },
    async fetch(url, init = {}) {
      const answer = await fetch(url, init);
      const method = init.method ?? 'GET';
      const headers = new Headers(init.headers);
      exchanges.push({ method, status: answer.status, session: headers.get('mcp-session-id'), lastEvent: headers.get('last-event-id') });
      if (cut === 0 || method !== 'POST' || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer;
      const body = answer.body.pipeThrough(scissors(cut));
      cut = 0;
      return new Response(body, { status: answer.status, headers: answer.headers });
    },
  };
}

/** Lets some events pass; then the connection breaks. */
function scissors(events) {
  const text = new TextDecoder('latin1'); // a character a byte
  let last = '';
  return new TransformStream({
    transform(chunk, controller) {
      const chars = text.decode(chunk);
      for (let i = 0; i < chars.length; i++) {
        if (chars[i] === '\n' && last === '\n' && --events === 0) {
          controller.enqueue(chunk.subarray(0, i + 1));
          controller.error(new TypeError('terminated'));
          return;
        }
        last = chars[i];
      }
      controller.enqueue(chunk);
    },
  });
}
