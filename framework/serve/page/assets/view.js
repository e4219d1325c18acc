// Small parts that every screen uses.
import { html, useState, useLayoutEffect, useRef } from './vendor/preact.js';
import { Num, Draft, parsed, write, seen } from './json.js';
import { mark } from './mark.js';
import { toast } from './store.js';
import { ask } from './api.js';

export const Mark = () => html`<svg viewBox="0 0 100 100" aria-hidden="true"><path d=${mark}/></svg>`;

// narrow reports whether the screen has one column; the style has the same width.
export const narrow = () => matchMedia('(max-width:860px)').matches;

// The keys of this system, as people know them.
const apple = /Mac|iPhone|iPad/.test(navigator.platform);
export const modifier = apple ? '⌘' : 'Ctrl ';
export const Enter = () => html`<kbd>${modifier}↵</kbd>`;

export const clock = at => new Date(at).toLocaleTimeString('en-GB');
export const size = n => n < 1000 ? `${n} bytes` : n < 1e6 ? `${(n / 1000).toFixed(1)} KB` : `${(n / 1e6).toFixed(1)} MB`;
export const sizeOf = text => size(new Blob([text]).size);
export const time = ms => ms === undefined ? '' : ms < 10 ? `${Number(ms.toFixed(1))} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

// paint is JSON with colours. Only the first part of a long text is drawn.
const shown = 64 << 10;
export function Code({ value, text, label }) {
  const [all, setAll] = useState(shown);
  const whole = text ?? write(value, 2);
  const part = whole.slice(0, all);
  return html`<pre class="code wrap" tabindex="0" role="region" aria-label=${label ?? 'JSON'}>${tinted(part)}</pre>
    ${whole.length > all && html`<p class="s q row">${sizeOf(part)} of ${sizeOf(whole)}
      <button type="button" class="btn t" onClick=${() => setAll(all * 4)}>Show more</button>
      <button type="button" class="btn t" onClick=${() => save('result.json', new Blob([whole], { type: 'application/json' }))}>Download</button></p>`}`;
}

// A string that the end of the text cuts off is a token, too: a search for its end from each of its
// quotes would take very long.
const tokens = /("[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$))(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;
function tinted(text) {
  const out = [];
  let at = 0;
  for (const found of text.matchAll(tokens)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    const [whole, string, colon, digits] = found;
    if (string) out.push(html`<span class=${colon ? 'k' : 'str'}>${seen(string)}</span>`, colon ?? '');
    else out.push(html`<span class=${digits ? 'n' : 'k'}>${whole}</span>`);
    at = found.index + whole.length;
  }
  out.push(text.slice(at));
  return out;
}

// saveSession downloads all that the page knows, for "kagami page --open".
export async function saveSession() {
  try { save('session.kagami.json', await (await ask('GET', 'session')).blob()); } catch (e) { toast(e.message); }
}

export function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser does not let the page copy: select the text');
  }
}

// remember keeps a text for a reload of this tab. If there is no room for it, nothing is kept: an
// older text would be wrong.
export function remember(key, text) {
  try { sessionStorage.setItem(key, text); } catch { sessionStorage.removeItem(key); }
}

// recall is the value of JSON that was remembered; undefined if there is none.
export const recall = key => parsed(sessionStorage.getItem(key));

// Tabs are a list of tabs with the arrow keys.
export function Tabs({ names, at, onChange, label }) {
  const box = useRef();
  const move = e => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const next = (at + step + names.length) % names.length;
    onChange(next);
    box.current.children[next].focus();
  };
  return html`<div class="seg end" role="tablist" aria-label=${label} ref=${box} onKeyDown=${move}>
    ${names.map((name, i) => html`<button role="tab" type="button" aria-selected=${String(i === at)} tabindex=${i === at ? 0 : -1} onClick=${() => onChange(i)}>${name}</button>`)}
  </div>`;
}

// currentCall is the id of the call that the screen shows, or null.
export const currentCall = () => document.querySelector('[data-current]')?.dataset.current ?? null;

// Dialog keeps the focus inside, and gives it back. The box takes the focus after a click beside the
// controls.
export function Dialog({ label, kind, onClose, children }) {
  const box = useRef();
  useLayoutEffect(() => { // before anybody can type
    const before = document.activeElement;
    box.current.querySelector('input, button, [tabindex]')?.focus();
    return () => before?.focus?.();
  }, []);
  const keys = e => {
    if (e.key === 'Escape') { e.stopPropagation(); onClose(); }
    if (e.key !== 'Tab') return;
    const all = [...box.current.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')].filter(x => x.offsetParent);
    const edge = e.shiftKey ? all[0] : all.at(-1), at = document.activeElement;
    if (at === edge || e.shiftKey && at === box.current) { e.preventDefault(); (e.shiftKey ? all.at(-1) : all[0])?.focus(); }
  };
  return html`<div class=${kind === 'sheet' ? '' : 'veil'} onClick=${e => e.target === e.currentTarget && onClose()}>
    <div class=${kind} role="dialog" aria-modal="true" aria-label=${label} tabindex="-1" ref=${box} onKeyDown=${keys}>${children}</div></div>`;
}

// Value draws a JSON value for people: lists of objects as tables, the rest as lists and trees.
// room is the number of rows that it may draw before the user opens anything.
export function Value({ value, schema, depth = 0, room = most }) {
  if (value instanceof Map) return html`<${Members} value=${value} schema=${schema} depth=${depth} room=${room}/>`;
  if (Array.isArray(value)) return html`<${List} value=${value} schema=${schema} depth=${depth} room=${room}/>`;
  return html`<${Scalar} value=${value}/>`;
}

const isScalar = v => !(v instanceof Map) && !Array.isArray(v);

function Scalar({ value }) {
  if (value === null || value === undefined) return html`<span class="f">none</span>`;
  if (value instanceof Num || value instanceof Draft) return html`<span class="num">${value.text}</span>`;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = seen(value);
  return text.length > 4000 ? html`<${Long} text=${text}/>` : html`<span class=${text.length > 24 ? 'wrapped' : 'brief'}>${text}</span>`;
}

export function Long({ text }) {
  const [n, setN] = useState(4000);
  return html`<span class="wrapped">${text.slice(0, n)}</span>${n < text.length && html` <button type="button" class="btn t" onClick=${() => setN(n * 8)}>Show more of ${sizeOf(text)}</button>`}`;
}

function Members({ value, schema, depth, room }) {
  const [n, setN] = useState(rows);
  const entries = [...value].slice(0, n), flat = entries.filter(([, v]) => isScalar(v)), deep = entries.filter(([, v]) => !isScalar(v));
  const of = name => schema?.get?.('properties')?.get?.(name);
  return html`${flat.length > 0 && html`<dl class="kv">${flat.map(([k, v]) => html`<dt title=${seen(of(k)?.get?.('description') ?? '')}>${seen(k)}</dt><dd><${Scalar} value=${v}/>${v instanceof Num && html` <${Unit} of=${of(k)}/>`}</dd>`)}</dl>`}
    ${deep.map(([k, v]) => html`<${Deep} name=${k} value=${v} schema=${of(k)} depth=${depth} room=${room / deep.length}/>`)}<${More} of=${value.size} n=${n} setN=${setN}/>`;
}

export const More = ({ of, n, setN, step = rows }) => n < of && html`<button type="button" class="btn t" onClick=${() => setN(n + step)}>Show ${Math.min(step, of - n)} of ${of - n} more</button>`;

// Deep draws what is in it only while it is open.
function Deep({ name, value, schema, depth, room }) {
  const n = value instanceof Map ? value.size : value.length;
  const small = depth < 2 && Math.min(n, rows) <= room, [open, setOpen] = useState(small);
  return html`<details class="deep" open=${open} onToggle=${e => setOpen(e.target.open)}><summary><span class="mono">${seen(name)}</span> <span class="f s">${n}</span></summary>
    ${open && html`<div class=${depth ? 'nest' : ''}><${Value} value=${value} schema=${schema} depth=${depth + 1} room=${small ? room : most}/></div>`}</details>`;
}

const rows = 200, columns = 50, most = 2000;
function List({ value, schema, depth, room }) {
  const [n, setN] = useState(rows);
  if (!value.length) return html`<span class="f">empty</span>`;
  const more = html`<${More} of=${value.length} n=${n} setN=${setN}/>`;
  const part = value.slice(0, n);
  if (value.every(v => v instanceof Map) && [...value[0].values()].every(v => isScalar(v) || Array.isArray(v) && v.length <= 10 && v.every(isScalar)) && new Set(part.flatMap(r => [...r.keys()])).size <= columns) {
    return html`<${Table} rows=${part} schema=${schema?.get?.('items')}/>${more}`;
  }
  if (value.every(isScalar)) return html`<ul class="plain">${part.map(v => html`<li><${Scalar} value=${v}/></li>`)}</ul>${more}`;
  return html`${part.map((v, i) => html`<${Deep} name=${String(i)} value=${v instanceof Map || Array.isArray(v) ? v : [v]} schema=${schema?.get?.('items')} depth=${depth + 1} room=${room / part.length}/>`)}${more}`;
}

function Table({ rows: all, schema }) {
  const order = [...(schema?.get?.('properties')?.keys?.() ?? [])];
  const names = [...new Set([...order, ...all.flatMap(r => [...r.keys()])])].filter(name => all.some(r => r.has(name)));
  const numeric = name => all.every(r => !r.has(name) || r.get(name) instanceof Num);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="data">
    <thead><tr>${names.map(name => html`<th scope="col" class=${numeric(name) ? 'num' : ''}><b>${seen(name)}</b><${Unit} of=${schema?.get?.('properties')?.get?.(name)}/></th>`)}</tr></thead>
    <tbody>${all.map(r => html`<tr>${names.map(name => html`<td class=${numeric(name) ? 'num' : ''}>${isScalar(r.get(name)) ? html`<${Scalar} value=${r.get(name)}/>` : html`<code>${seen(write(r.get(name)))}</code>`}</td>`)}</tr>`)}</tbody></table></div>`;
}

const Unit = ({ of }) => typeof of?.get?.('description') === 'string' ? html`<small>${seen(of.get('description').slice(0, 40))}</small>` : null;
