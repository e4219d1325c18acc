// One call at two revisions, side by side: what differs, and why.
import { html, useState } from '../vendor/preact.js';
import { plainOf, seen, write, get } from '../json.js';
import { useStore, spoken, describe, toast } from '../store.js';
import { ask } from '../api.js';
import { recall, remember, size, time } from '../view.js';
import { toolHref } from './overview.js';

// twice says that a call may be made twice without harm.
const twice = (call, offer) => call.method !== 'tools/call' || get(offer?.listed, 'annotations', 'readOnlyHint') === true || get(offer?.listed, 'annotations', 'idempotentHint') === true;

const place = 'kagami-compare' + location.pathname; // of the last comparison
const largest = 1 << 20; // characters of a comparison that is kept; forms need the rest of the room

export function Compare({ id }) {
  const s = useStore();
  const call = s.calls.find(c => c.id === id);
  const revisions = spoken(s.about);
  const [kept] = useState(() => plainOf(get(recall(place), id)));
  const [found, setFound] = useState(kept);
  const [left, setA] = useState(kept?.a.revision);
  const [right, setB] = useState(kept?.b.revision);
  const a = left ?? revisions[0], b = right ?? revisions.at(-1);
  const [busy, setBusy] = useState(false);
  const [armed, setArmed] = useState(false);
  if (!call) return html`<div class="pad"><div class="empty"><h1>This call is not kept any more</h1><p>Make it again, and compare it then.</p></div></div>`;
  if (write(call.arguments).includes('•••')) return html`<div class="pad"><div class="empty"><h1>This call cannot be compared</h1><p>It has a secret, which the page does not keep.</p></div></div>`;
  const harmless = twice(call, describe('tools', call.name));
  const run = async () => {
    if (!harmless && !armed) return setArmed(true);
    setArmed(false);
    setBusy(true);
    try {
      const body = JSON.stringify({ method: call.method, name: call.name, a, b }).slice(0, -1) + ',"arguments":' + write(call.arguments) + '}';
      const text = await (await ask('POST', 'compare', body)).text();
      remember(place, text.length > largest ? '' : `{"${id}":${text}}`);
      setFound(JSON.parse(text));
    } catch (e) { toast(e.message); }
    setBusy(false);
  };
  const pick = (value, set, label) => html`<label class="rev">${label} <select class="pick" onChange=${e => { set(e.target.value); setFound(null); }}>${revisions.map(r => html`<option value=${r} selected=${r === value}>${r}</option>`)}</select></label>`;
  return html`<div class="head"><div class="row"><h1 class="name">${seen(call.name)}</h1><span class="q">at two revisions</span></div>
      <p class="lead mono wrapped">${seen(write(call.arguments))}</p>
      <div class="row">${pick(a, setA, 'Left')}${pick(b, setB, 'Right')}<button class="btn p" data-call disabled=${busy} onClick=${run}>${busy ? 'Calling…' : armed ? 'Call twice: may change something' : 'Compare'}</button>
        ${call.method === 'tools/call' && html`<a class="btn t" href=${toolHref(call.name)}>Back to the tool</a>`}</div>
      ${!harmless && html`<p class="s q">The tool is called once at each revision.</p>`}</div>
    ${found && html`<${Found} of=${found}/>`}`;
}

function Found({ of }) {
  return html`<div class="pad-c" aria-live="polite"><p class="stat">${of.equal ? html`<b class="ok">✓ The answers are equal</b>` : html`<b class="bad">! The answers differ</b>`}<span class="q">${of.differences.length} differences on the wire</span></p>
      ${of.differences.length > 0 && html`<ol class="why">${of.differences.map(d => html`<li><b>${d.title}</b> ${d.why}</li>`)}</ol>`}</div>
    <${Frames} title="What you say" rows=${of.sent} a=${of.a} b=${of.b} bytes="sent"/>
    <${Frames} title="What the server says" rows=${of.received} a=${of.a} b=${of.b} bytes="received"/>`;
}

const about = (side, bytes) => `${side.revision}, ${size(side[bytes])}` + (bytes === 'sent' ? `, after ${side.opening} frames` : `, ${time(side.ms)}`);
const marks = { '=': '', '-': 'only left', '+': 'only right', '~': 'changed' };

function Frames({ title, rows, a, b, bytes }) {
  return html`<section class="pad-c"><h2>${title}</h2><div class="scroll" tabindex="0" role="region" aria-label=${title}><table class="cmp"><thead><tr><th scope="col">${about(a, bytes)}</th><th scope="col"><span class="vh">difference</span></th><th scope="col">${about(b, bytes)}</th></tr></thead>
    <tbody>${rows.map(r => html`<tr class=${r.mark === '=' ? '' : 'd'}><td><code>${seen(r.a)}</code></td><td class="m">${r.mark === '=' ? '' : html`<span aria-hidden="true">${r.mark}</span><span class="vh">${marks[r.mark]}</span> <i>${r.n}</i>`}</td><td><code>${seen(r.b)}</code></td></tr>`)}</tbody></table></div>
    ${[a, b].map(s => s.failed && html`<p class="note bad wrapped">${s.revision}: ${seen(s.failed)}</p>`)}</section>`;
}
