// What the page knows, in one place. change() is the only way to write it.
import { useState, useLayoutEffect } from './vendor/preact.js';
import { ask, follow, getJSON, getExact, secret } from './api.js';
import { parse, plainOf, get, write } from './json.js';

export const store = {
  about: null, offers: null, calls: [], results: new Map(), questions: [], logs: [], changes: null, set: null,
  frames: [], state: { name: 'connecting' }, locked: !secret, down: false, failed: '', toast: '', route: location.hash || '#/', sheet: null, palette: false, keys: false,
};

const listeners = new Set();
let planned = false;

// change writes fields and draws the page once.
export function change(fields) {
  Object.assign(store, fields);
  if (planned) return;
  planned = true;
  queueMicrotask(() => {
    planned = false;
    for (const listen of [...listeners]) listen();
  });
}

// useStore draws a component again with each change. It listens from the drawing on: an effect would run
// after the browser's next frame, and miss the changes before that.
export function useStore() {
  const [, draw] = useState(0);
  useLayoutEffect(() => {
    const listen = () => draw(n => n + 1);
    listeners.add(listen);
    return () => listeners.delete(listen);
  }, []);
  return store;
}

export function toast(text) {
  change({ toast: text });
  setTimeout(() => store.toast === text && change({ toast: '' }), Math.max(1800, 50 * text.length));
}

export const go = hash => { location.hash = hash; };

let stated = 0; // number of the newest event about the state

// learn takes what the program says of the server. Its state may be older than the newest event.
function learn(about) {
  change(about.events < stated ? { about } : { about, state: about.state });
  return about;
}

const readAbout = async () => learn(await getJSON('server'));

// oneAtATime returns a function that reads, but never twice at the same time: the server may announce
// changes faster than they can be read. Its promise ends with a reading that began after the call.
function oneAtATime(read) {
  let running = null, next = null;
  const start = () => {
    if (!running) return running = read().finally(() => { running = null; });
    return next ??= running.then(() => { next = null; return start(); });
  };
  return start;
}

// answerPlace is where the tab keeps what is filled in for a question, until the question is answered.
export const answerPlace = id => `kagami-answer${location.pathname}-${id}`;

const readOffers = oneAtATime(async () => {
  try {
    const all = await getExact('offers');
    const of = name => (all.get(name) ?? []).map(o => ({
      name: o.get('name'), listed: o.get('listed'), tokens: Number(o.get('tokens')), inside: o.has('inside') ? plainOf(o.get('inside')) : null, fits: (o.get('fits') ?? []).map(plainOf),
    }));
    change({ offers: { tools: of('tools'), resources: of('resources'), templates: of('templates'), prompts: of('prompts'), secrets: new Set(all.get('secrets')), clients: all.get('clients') ?? [], fits: (all.get('fits') ?? []).map(plainOf) }, failed: all.get('failed') ?? '' });
  } catch (e) {
    change({ failed: e.message });
  }
});

// readFrames reads the new frames. Over HTTP a request gets its status later: the reading begins with the
// first of the last 50 frames that waits for one. An answer to the server gets none.
async function readFrames(from) {
  const open = store.about?.carrier === 'HTTP' ? store.frames.slice(-50).find(f => f.sent && !f.http && ['request', 'notification'].includes(f.kind)) : undefined;
  const after = from ?? (open ? open.n - 1 : store.frames.at(-1)?.n ?? 0);
  const found = await getJSON('frames?after=' + after).catch(() => []);
  if (found.length) change({ frames: [...store.frames.filter(f => f.n <= after), ...found].slice(-10000) });
  if (found.length === 500) await readFrames(found.at(-1).n);
}

const frames = oneAtATime(() => readFrames());

// callOf and questionOf keep what came from the user and from the server exactly as it is.
const callOf = exact => ({ ...plainOf(exact), arguments: exact.get('arguments') ?? new Map() });
const questionOf = exact => ({ ...plainOf(exact), schema: exact.get('schema'), sample: exact.get('sample') });

// everything reads the whole state anew.
async function everything() {
  const about = await readAbout();
  for (const [id, got] of store.results) if (got?.failed) store.results.delete(id); // the screen reads it again
  const [calls, questions] = await Promise.all([getExact('calls'), getExact('questions')]);
  change({ calls: calls.map(callOf), questions: questions.map(questionOf), locked: false });
  const open = questions.map(q => answerPlace(q.get('id')));
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(answerPlace('')) && !open.includes(key)) sessionStorage.removeItem(key);
  if (['connected', 'saved'].includes(about.state.name)) await readOffers();
  frames();
  return about.events;
}

// readResult fetches the result of a call, exactly as it came. After a failure it tries again.
export async function readResult(id) {
  if (store.results.has(id) && !store.results.get(id)?.failed) return;
  store.results.set(id, null);
  const read = call => ({ result: call.get('result'), error: call.get('error'), arguments: call.get('arguments') });
  store.results.set(id, await getExact('calls/' + id).then(read, e => ({ failed: e.message })));
  if (store.results.size > 60) store.results.delete(store.results.keys().next().value);
  change({});
}

const handlers = {
  state: async e => {
    const was = store.state.name;
    stated = e.seq;
    if (was === 'lost' && e.state.name === 'connecting') return; // the page tries again by itself, and the banner stays
    change({ state: e.state });
    if (e.state.name !== 'connected') return;
    try { await readAbout(); } catch { return; } // the program has ended; the next state reads again
    if (store.state.name !== 'connected') return; // there is nothing to read
    await readOffers();
    if (was === 'lost' || was === 'ended') toast('Connected again');
  },
  changed: () => readOffers(),
  offers: e => {
    const parts = [...e.added.map(n => '+ ' + n), ...e.removed.map(n => '− ' + n)];
    change({ changes: { text: parts.slice(0, 8).join(', ') || 'descriptions or schemas', added: e.added } });
  },
  frames: () => frames(),
  call: (e, exact) => {
    const one = callOf(exact().get('call'));
    const known = store.calls.find(c => c.id === one.id);
    if (known) one.arguments = known.arguments; // they come with the first event only
    const rest = store.calls.filter(c => c.id !== e.call.id);
    change({ calls: [one, ...rest].sort((a, b) => b.n - a.n).slice(0, 200) });
    if (one.phase === 'sent') return;
    readResult(one.id);
    if (one.method === 'ping') toast(one.error?.message ?? `The server has answered after ${Math.ceil(one.ms)} ms`);
  },
  // Questions are shown in the order in which the server asks, whichever comes first. One that came
  // while the state was read is in the state, too.
  question: (e, exact) => {
    const others = store.questions.filter(q => q.id !== e.question.id);
    change({ questions: [...others, questionOf(exact().get('question'))].sort((a, b) => a.number - b.number) });
  },
  answered: e => {
    sessionStorage.removeItem(answerPlace(e.id));
    change({ questions: store.questions.filter(q => q.id !== e.id) });
  },
  log: (e, exact) => {
    const params = exact().get('params');
    const word = name => { const v = get(params, name); return typeof v === 'string' ? v : v === undefined ? '' : write(v); };
    change({ logs: [...store.logs, { at: e.at, level: word('level'), logger: word('logger'), text: word('data') }].slice(-500) });
  },
  updated: e => {
    toast('Updated: ' + e.uri);
    document.dispatchEvent(new CustomEvent('updated', { detail: e }));
  },
  missed: () => everything().catch(() => {}),
};

export async function start() {
  if (!secret) return;
  let after = 0;
  try {
    after = await everything();
  } catch (e) {
    if (e.status === 403) return change({ locked: true });
    change({ down: true });
  }
  follow(after, (e, exact) => handlers[e.kind]?.(e, exact), e => e ? change({ locked: true }) : change({ down: true }), () => {
    if (!store.down) return;
    change({ down: false });
    return everything().catch(() => {}); // the next event, or the next break, reads again
  });
}

// call starts a call and returns its id. args is the text of the arguments.
export async function call(method, name, args, extra = {}) {
  if (store.state.name === 'saved') throw new Error('This is a saved session: there is no server to call.');
  const body = JSON.stringify({ method, name, ...extra });
  const whole = args === undefined ? body : body.slice(0, -1) + ',"arguments":' + args + '}';
  const answer = await ask('POST', 'calls', whole);
  return parse(await answer.text()).get('call');
}

export const stop = id => ask('DELETE', 'calls/' + id).catch(() => {});
export const answer = (id, body) => ask('POST', 'questions/' + id, body);
export async function connect(body) {
  change({ state: { name: 'connecting' } });
  let about;
  try { about = await (await ask('POST', 'connect', body)).json(); } catch (e) { return toast(e.message); }
  learn(about);
  if (store.state.name === 'connected') await readOffers();
}

export async function setLevel(level) {
  try { change({ about: await (await ask('POST', 'level', { level })).json() }); } catch (e) { toast(e.message); }
}

// spoken are the revisions that the server has not refused.
export const spoken = about => about?.revisions.filter(r => about.speaks?.[r] !== false || r === about.revision) ?? [];

// hides reports whether a member of this name holds a secret: a schema says so, or the name does.
export const hides = name => {
  const plain = name.toLowerCase().replace(/[_.-]/g, '');
  return Boolean(store.offers?.secrets.has(name)) || plain !== 'progresstoken' && (store.about?.hides ?? []).some(word => plain.includes(word));
};

export const describe = (kind, name) => store.offers?.[kind].find(o => o.name === name);
export const textOf = (offer, ...names) => { const v = get(offer?.listed, ...names); return typeof v === 'string' ? v : ''; };
