// What the server says: a result, an error, or that it is at work.
import { html, useState, useEffect, useLayoutEffect, useMemo } from '../vendor/preact.js';
import { get, listOf, parsed, seen, write } from '../json.js';
import { plural } from '../form.js';
import { Code, Long, More, Tabs, Value, remember, save, size, sizeOf, time } from '../view.js';
import { store, readResult, stop } from '../store.js';
import { readHref } from './overview.js';

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml', 'image/bmp'];
const sounds = ['audio/mpeg', 'audio/wav', 'audio/x-wav', 'audio/ogg', 'audio/webm', 'audio/mp4', 'audio/flac', 'audio/aac'];

// bytesOf decodes base64; null if it is none. The client lets resources have the URL-safe alphabet, too.
function bytesOf(text) {
  try { return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0)); } catch { return null; }
}

// useBlob is an address of bytes that lives as long as the component.
function useBlob(data, type) {
  const [address, setAddress] = useState('');
  useEffect(() => {
    const bytes = bytesOf(data);
    if (!bytes) return;
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(url);
    return () => URL.revokeObjectURL(url);
  }, [data, type]);
  return address;
}

function Media({ block, kind }) {
  const data = get(block, 'data') ?? get(block, 'blob') ?? '', type = String(get(block, 'mimeType') ?? '').split(';')[0].trim().toLowerCase();
  const known = (kind === 'image' ? pictures : sounds).includes(type);
  const address = useBlob(String(data), known ? type : 'application/octet-stream');
  const bytes = Math.floor(String(data).replace(/={1,2}$/, '').length * 3 / 4);
  return html`<${Head} kind=${kind} about=${`${type || 'no type'}, ${size(bytes)}`}>
      <button type="button" class="btn t s end" onClick=${() => save(kind, new Blob([bytesOf(String(data)) ?? ''], { type: 'application/octet-stream' }))}>Download</button><//>
    ${address && known && (kind === 'image' ? html`<div class="pix"><img src=${address} alt="image of the result"/></div>` : html`<audio controls src=${address}></audio>`)}
    ${!known && html`<p class="q s">A type that the page does not show.</p>`}`;
}

const Head = ({ kind, about, children }) => html`<div class="bh"><b>${seen(kind)}</b><span>${seen(about)}</span>${children}</div>`;

// Block is one content block. Everything in it is text.
export function Block({ block }) {
  const type = get(block, 'type');
  switch (type) {
    case 'text': return html`<div class="block"><${Head} kind="text" about=${sizeOf(String(get(block, 'text')))}/><${TextOrJSON} text=${String(get(block, 'text'))}/></div>`;
    case 'image': case 'audio': return html`<div class="block"><${Media} block=${block} kind=${type}/></div>`;
    case 'resource': return html`<div class="block"><${Head} kind="embedded resource" about=${get(block, 'resource', 'uri') ?? ''}/><${Contents} of=${get(block, 'resource')}/></div>`;
    case 'resource_link': return html`<div class="block"><${Head} kind="link" about=${get(block, 'mimeType') ?? ''}/><div class="link"><div class="grow"><b>${seen(get(block, 'title') ?? get(block, 'name') ?? '')}</b><div class="mono wrapped">${seen(get(block, 'uri') ?? '')}</div></div><a class="btn" href=${readHref(get(block, 'uri') ?? '')}>Read here</a></div></div>`;
  }
  return html`<div class="block"><${Head} kind=${String(type)} about="a kind that the page does not know"/><${Code} value=${block}/></div>`;
}

// Contents are those of a resource.
function Contents({ of }) {
  const text = get(of, 'text'), type = String(get(of, 'mimeType') ?? '');
  if (typeof text === 'string') return html`<${TextOrJSON} text=${text}/>`;
  return html`<${Media} block=${of} kind=${/^(image|audio)\//.exec(type)?.[1] ?? 'file'}/>`;
}

// TextOrJSON shows JSON in a text block as data, with a way back to the text.
function TextOrJSON({ text }) {
  const value = useMemo(() => {
    if (!/^\s*[[{]/.test(text) || text.length > 2e6) return undefined;
    return parsed(text);
  }, [text]);
  if (value !== undefined) return html`<${Value} value=${value}/>`;
  return html`<div class="textblock"><${Long} text=${seen(text)}/></div>`;
}

// faultsOf are the faults of arguments that an error names, with the corrected call.
export function faultsOf(result) {
  const found = get(result, '_meta', 'kagami/invalidArguments', 'issues') ?? get(result, 'data', 'issues') ?? [];
  const faults = (Array.isArray(found) ? found : []).filter(i => i instanceof Map).map(i => {
    const { path = '', got, want, hint } = Object.fromEntries([...i].filter(([, v]) => typeof v === 'string'));
    return { path, text: [got && `Got ${got}.`, want && `Want ${want}.`, hint].filter(Boolean).join(' ') || 'This does not fit.' };
  });
  const text = textsOf(result).join('\n') || get(result, 'message') || '';
  const line = String(text).split('\n').find(l => l.startsWith('Try: {'));
  return { faults, correction: line && parsed(line.slice(5)), text: String(text) };
}

// textsOf are the texts of a result: of its blocks, of messages, or of a resource.
const textsOf = result => [...listOf(result, 'content'), ...listOf(result, 'messages').map(m => get(m, 'content'))]
  .filter(b => get(b, 'type') === 'text').map(b => String(get(b, 'text')))
  .concat(listOf(result, 'contents').map(c => get(c, 'text')).filter(text => typeof text === 'string'));

// Refusal is an error: faults at their fields, and the call that would have been right.
function Refusal({ title, why, call, found, onTry, onGo }) {
  const { faults, correction, text } = found;
  return html`<div class="stat"><b class="bad">! ${title}</b><span class="q">${why}</span><span class="q num end">${time(call.ms)}</span></div>
    ${faults.length ? html`<div class="teach" role="alert"><p class="top">${plural(faults.length, 'problem')}</p>
      <ol>${faults.map(f => html`<li><button class="plainbtn mono acc" onClick=${() => onGo?.(f.path)}>${seen(f.path) || 'arguments'}</button><span>${seen(f.text)}</span></li>`)}</ol>
      ${correction && onTry && html`<${Try} correction=${correction} onTry=${onTry}/>`}</div>
      <p class="note">A model gets the same words, as the text of the answer.</p>`
    : html`<div class="teach" role="alert"><p class="top wrapped">${seen(text)}</p>${correction && onTry && html`<${Try} correction=${correction} onTry=${onTry}/>`}</div>`}`;
}

const Whole = ({ value }) => html`<details class="full"><summary class="s q">The whole answer</summary><${Code} value=${value}/></details>`;

const Try = ({ correction, onTry }) => html`<div class="try"><button class="btn p" onClick=${() => onTry(correction)}>Try this</button><code>${seen(write(correction))}</code></div>`;

function Running({ call, asked }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick(n => n + 1), 250);
    return () => clearInterval(timer);
  }, []);
  useLayoutEffect(() => {
    const halt = () => stop(call.id);
    document.addEventListener('stop', halt);
    return () => document.removeEventListener('stop', halt);
  }, [call.id]);
  const p = call.progress, share = p?.total ? Math.min(100, 100 * p.done / p.total) : undefined;
  return html`<div class="stat"><b class="acc">${call.method === 'resources/subscribe' ? 'Watching' : 'Running'}</b><span class="q num">${time(Date.now() - new Date(call.at))}</span>
      ${call.task && html`<span class="q">task: ${call.task.status}</span>`}<button class="btn end" onClick=${() => stop(call.id)}>Stop <kbd>esc</kbd></button></div>
    <svg class=${'pb' + (share === undefined ? ' ind' : '')} role="progressbar" aria-label="Progress" aria-valuenow=${share === undefined ? undefined : Math.round(share)} aria-valuemin="0" aria-valuemax="100" viewBox="0 0 100 4" preserveAspectRatio="none"><rect width=${share ?? 30} height="4"/></svg>
    <p class="q s">${asked ? 'It waits for your answer.' : p ? `${p.done}${p.total ? ' of ' + p.total : ''} ${seen(p.message ?? '')}` : call.task?.message ? seen(call.task.message) : 'No progress reported yet.'}</p>`;
}

const did = { ran: 'ran', journal: 'from the journal, did not run again', failed: 'failed', uncertain: 'may have run' };

// Rounds are the executions of a call that asks in rounds, and what framework.Once did in each.
export function Rounds({ rounds, running }) {
  if (!rounds?.length) return null;
  const asked = n => n === 1 ? 'asked a question' : `asked ${n} questions`;
  return html`<section class="rounds s" aria-label="Rounds"><h2 class="cap"><b>${rounds.length > 1 || rounds[0].asks ? 'Rounds' : rounds[0].effects ? 'Effects' : 'Time in the server'}</b></h2><ol>${rounds.map((r, i) => html`<li>
    ${(rounds.length > 1 || r.asks > 0) && html`<b>Round ${i + 1}</b> <span class="q">${r.asks ? asked(r.asks) : running && i === rounds.length - 1 ? 'is running' : 'gave the answer'}</span>${r.state > 0 && html` <span class="f num">state of ${size(r.state)}</span>`}`}
    ${r.effects?.length > 0 && html`<ul class="plain">${r.effects.map(e => html`<li><span class="mono">${seen(e.key)}</span> <span class=${e.how === 'failed' || e.how === 'uncertain' ? 'bad' : e.how === 'ran' ? '' : 'ok'}>${did[e.how]}</span> ${e.how !== 'journal' && html`<span class="f num">${time(e.ms)}</span>`}</li>`)}</ul>`}
    ${r.steps?.length > 0 && html`<${Steps} steps=${r.steps}/>`}</li>`)}</ol></section>`;
}

const fine = ms => ms < 1 ? `${Math.round(1000 * ms)} µs` : time(ms);

// Steps is how long each step of the chain took by itself, as bars one after the other.
function Steps({ steps }) {
  const all = Math.max(steps[0].ms, 0.001);
  let at = 0;
  return html`<table class="steps"><caption class="vh">Time of each step of the chain</caption><thead class="vh"><tr><th scope="col">Step</th><th scope="col">Share</th><th scope="col">Time</th></tr></thead><tbody>${steps.map(s => {
    const from = at;
    at += s.own;
    return html`<tr><th scope="row" class="mono">${seen(s.name)}</th><td><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect x=${100 * from / all} width=${Math.max(1, 100 * s.own / all)} height="6"/></svg></td><td class="num">${fine(s.own)}</td></tr>`;
  })}</tbody></table>`;
}

const views = ['Result', 'JSON', 'What a model reads'];
const kept = 'kagami-view';

// Spoken is the state of a call for a screen reader, without the time and the result.
export function Spoken({ call }) {
  const states = { sent: 'Running', cancelled: 'Stopped', lost: 'Lost', error: 'Refused', result: call?.isError ? 'Failed' : 'Result' };
  return html`<p class="vh" aria-live="polite">${states[call?.phase]}</p>`;
}

// Answer is everything about the answer to one call.
export function Answer({ call, schema, asked, onTry, onGo }) {
  const [view, setView] = useState(Number(sessionStorage.getItem(kept)) || 0);
  useEffect(() => { if (call && call.phase !== 'sent') readResult(call.id); }, [call?.id, call?.phase, store.results.has(call?.id)]); // again if newer results took its place
  const choose = i => { setView(i); remember(kept, String(i)); };
  useLayoutEffect(() => {
    const pick = e => choose(e.detail);
    document.addEventListener('view', pick);
    return () => document.removeEventListener('view', pick);
  }, []);
  if (!call) return null;
  if (call.phase === 'sent') return html`<${Running} call=${call} asked=${asked}/>`;
  if (call.phase === 'cancelled') return html`<div class="stat"><b>Stopped</b><span class="q">The server was told. It may have done its work all the same.</span><span class="q num end">${time(call.ms)}</span></div>`;
  if (call.phase === 'lost') return html`<div class="stat"><b class="bad">! Lost</b><span class="q">It may or may not have been done. The page does not repeat it.</span></div><p class="note bad wrapped">${seen(call.error?.message ?? '')}</p>`;
  const got = store.results.get(call.id);
  if (!got) return html`<span class="sk"></span><span class="sk w60"></span>`;
  if (got.failed) return html`<div class="stat"><b class="bad">! Not shown</b><span class="q">The page could not read this answer.</span></div><p class="note bad wrapped">${seen(got.failed)}</p>`;
  if (call.phase === 'error') {
    const found = faultsOf(got.error);
    return html`<${Refusal} title="Refused" why=${call.error?.code ? `JSON-RPC error ${call.error.code}` : ''} call=${call} found=${found} onTry=${onTry} onGo=${onGo}/>${get(got.error, 'data', 'requiredCapabilities', 'extensions', 'io.modelcontextprotocol/tasks') && html`<p class="note">Check "As a task", and call again.</p>`}<${Whole} value=${got.error}/>`;
  }
  const result = got.result, texts = textsOf(result);
  if (call.isError) {
    const found = faultsOf(result), refused = found.faults.length > 0;
    return html`<${Refusal} title=${refused ? 'Refused' : 'Failed'} why=${refused ? 'the arguments do not fit; the tool did not run' : 'the tool says that it failed'} call=${call} found=${found} onTry=${onTry} onGo=${onGo}/><${Whole} value=${result}/>`;
  }
  return html`<div class="stat"><b class="ok">✓ Result</b>${call.fits?.yes && html`<span class="ok">fits its schema</span>`}<span class="q num end">${time(call.ms)}</span><span class="q num">${size(call.bytes)}</span>
      ${texts.length > 0 && html`<span class="q num">about ${Math.ceil(texts.join('').length / 4)} tokens</span>`}</div>
    ${call.fits?.unread && html`<p class="note wrapped">The page cannot check it against the output schema of the tool: ${seen(call.fits.why)}</p>`}
    ${call.fits && !call.fits.yes && !call.fits.unread && html`<div class="teach" role="alert"><p class="top">! It breaks the output schema of the tool</p><pre class="code wrap" tabindex="0">${seen(call.fits.why)}</pre></div>`}
    <div class="row viewrow"><${Tabs} names=${views} at=${view} onChange=${choose} label="Answer as"/></div>
    ${view === 0 && html`<${Shown} key=${call.id} result=${result} schema=${schema}/>`}
    ${view === 1 && html`<${Code} value=${result}/>`}
    ${view === 2 && html`<p class="q s">The text blocks: this is what most clients put before the model.</p><pre class="code wrap" tabindex="0">${texts.map(t => html`<${Long} text=${seen(t)}/>`)}${texts.length === 0 && '(nothing)'}</pre>`}`;
}

// Shown draws a result by its kind. If the result has very many parts, it draws the first ones.
function Shown({ result, schema }) {
  const [n, setN] = useState(200);
  const data = get(result, 'structuredContent'), blocks = listOf(result, 'content'), contents = get(result, 'contents'), messages = get(result, 'messages');
  const first = (all, draw) => html`${all.slice(0, n).map(draw)}<${More} of=${all.length} n=${n} setN=${setN}/>`;
  const block = b => html`<${Block} block=${b}/>`;
  if (Array.isArray(messages)) return first(messages, m => html`<p class="s f">${seen(get(m, 'role') ?? '')}</p>${block(get(m, 'content'))}`);
  if (Array.isArray(contents)) return first(contents, c => html`<div class="block"><${Head} kind=${get(c, 'uri') ?? ''} about=${get(c, 'mimeType') ?? ''}/><${Contents} of=${c}/></div>`);
  if (data !== undefined && data !== null) return html`<${Value} value=${data} schema=${schema}/>${first(blocks.filter(b => get(b, 'type') !== 'text'), block)}`;
  if (!blocks.length) return html`<p class="q">The result is empty.</p>`;
  return first(blocks, block);
}
