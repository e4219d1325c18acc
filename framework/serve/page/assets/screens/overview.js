// What the server is and what it offers.
import { html, useState } from '../vendor/preact.js';
import { get, label, listOf, seen, write } from '../json.js';
import { plan } from '../form.js';
import { useStore, textOf, connect } from '../store.js';
import { More } from '../view.js';

const news = { '2024-11-05': 'handshake', '2025-03-26': 'batches, audio', '2025-06-18': 'structured results', '2025-11-25': 'tasks, icons', '2026-07-28': 'no handshake, rounds' };

// saysOf is what is known of a server and a revision. A server of another vendor shows it by its answers alone.
const saysOf = (a, r) => r === a.revision ? 'speaking now' : a.speaks?.[r] === false ? 'not spoken' : a.speaks && !a.speaks[r] ? 'not tried yet' : news[r] ?? '';

export const toolHref = name => '#/tools/' + encodeURIComponent(name);
export const readHref = uri => '#/read/' + encodeURIComponent(uri);

// traits are the annotations of a tool in words.
export function traits(offer) {
  const is = name => get(offer.listed, 'annotations', name);
  const words = [];
  if (is('readOnlyHint') === true) words.push('read-only');
  else if (is('destructiveHint') === true) words.push('destructive');
  else if (is('destructiveHint') === false) words.push('not destructive');
  if (is('idempotentHint') === true) words.push('idempotent');
  if (is('openWorldHint') === true) words.push('open world');
  if (is('openWorldHint') === false) words.push('closed world');
  const task = get(offer.listed, 'execution', 'taskSupport');
  if (task === 'required') words.push('as a task only');
  if (task === 'optional') words.push('can be a task');
  if (offer.inside?.scopes) words.push('needs ' + offer.inside.scopes.join(' '));
  return words;
}

// signature is a tool as a function: required arguments, then the others with their defaults.
function signature(offer) {
  const p = plan(get(offer.listed, 'inputSchema') ?? new Map());
  const args = (p.fields ?? []).map(f => {
    const d = get(f.schema, 'default');
    return f.required ? f.name : d !== undefined ? `${f.name} = ${write(d)}` : f.name + '?';
  });
  const out = get(offer.listed, 'outputSchema', 'title');
  return `(${args.slice(0, 6).join(', ')}${args.length > 6 ? ', …' : ''})${typeof out === 'string' ? ' → ' + out : ''}`;
}

// misfit names the clients that do not take a tool as it is.
function misfit(offer) {
  const of = level => [...new Set(offer.fits.filter(f => f.level === level).map(f => f.client))];
  const refused = of('refused'), changed = of('changed').filter(c => !refused.includes(c));
  return html`${refused.length > 0 && html`<div><a class="bad" href="#/clients">! refused by ${refused.join(', ')}</a></div>`}${changed.length > 0 && html`<div><a href="#/clients">changed by ${changed.join(', ')}</a></div>`}`;
}

// Warnings are those of Build: what the server works with, and was most likely not meant.
const Warnings = ({ all }) => html`<div class="sect"><h2>Warnings</h2><span class="f num">${all.length}</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Warnings"><table class="data wide"><thead><tr><th scope="col">Component</th><th scope="col">Problem</th></tr></thead><tbody>
    ${all.map(w => html`<tr><td><span class="mono">${seen(w.component)}</span>${w.where && html`<p class="mono">${seen(w.where)}</p>`}</td><td class="s">${w.path && html`<span class="mono">${seen(w.path)}</span>: `}${seen(w.problem)}. ${seen(w.fix ?? '')}</td></tr>`)}</tbody></table></div>`;

const orders = { 'as listed': () => 0, 'by tokens': (a, b) => b.tokens - a.tokens, 'by trait': (a, b) => traits(a).join().localeCompare(traits(b).join()) };
const page = 100;

function Tools({ tools, changed }) {
  const [order, setOrder] = useState('as listed');
  const [n, setN] = useState(page);
  const most = Math.max(1, ...tools.map(t => t.tokens)), fits = tools.some(t => t.fits.length);
  const sorted = order === 'as listed' ? tools : [...tools].sort(orders[order]);
  return html`<div class="sect"><h2>Tools</h2><span class="f num">${tools.length}</span>
      ${tools.length > 3 && html`<label class="end">Order <select class="pick" onChange=${e => setOrder(e.target.value)}>${Object.keys(orders).map(o => html`<option value=${o} selected=${o === order}>${o}</option>`)}</select></label>`}</div>
    <div class="scroll out"><table class="cat"><thead><tr><th scope="col">Tool</th><th scope="col">Traits</th>${fits && html`<th scope="col">Fits</th>`}<th scope="col" class="num">Tokens</th></tr></thead><tbody>
    ${sorted.slice(0, n).map(t => html`<tr class=${changed?.includes(t.name) ? 'sel' : ''}><td><a class="sig" href=${toolHref(t.name)}><b>${label(t.name)}</b><span>${seen(signature(t))}</span></a><p>${seen(textOf(t, 'description') || textOf(t, 'title')).slice(0, 300)}</p></td>
      <td class="s q in-s">${traits(t).join(', ')}</td>${fits && html`<td class="s q in-s">${misfit(t)}</td>`}<td class="num s">${t.tokens}<svg class="meter" aria-hidden="true" viewBox="0 0 56 3"><rect width=${56 * t.tokens / most} height="3"/></svg></td></tr>`)}</tbody></table></div>
    <${More} of=${tools.length} n=${n} setN=${setN} step=${page}/>`;
}

function Rows({ title, head, offers, href, cells }) {
  const [n, setN] = useState(page);
  if (!offers.length) return null;
  return html`<div class="sect"><h2>${title}</h2><span class="f num">${offers.length}</span></div>
    <div class="scroll out"><table class="cat"><thead><tr>${head.map(h => html`<th scope="col">${h}</th>`)}</tr></thead><tbody>
    ${offers.slice(0, n).map(o => html`<tr><td><a class="sig" href=${href(o)}><b>${label(o.name)}</b></a><p>${seen(textOf(o, 'description')).slice(0, 300)}</p></td>${cells(o).map(x => html`<td class="s q in-s">${seen(x)}</td>`)}</tr>`)}</tbody></table></div>
    <${More} of=${offers.length} n=${n} setN=${setN} step=${page}/>`;
}

const short = 500;
function Instructions({ text }) {
  const [all, setAll] = useState(false);
  return html`<p class="lead wrapped">${all || text.length <= short ? text : text.slice(0, short) + '…'}</p>
    ${text.length > short && html`<button class="btn t" onClick=${() => setAll(!all)}>${all ? 'Show less' : 'Show all instructions'}</button>`}`;
}

export function Overview() {
  const s = useStore(), a = s.about, o = s.offers;
  if (!a) return html`<div class="pad"><span class="sk"></span><span class="sk w60"></span></div>`;
  const cost = o ? o.tools.reduce((sum, t) => sum + t.tokens, 0) : 0;
  const empty = o && !['tools', 'resources', 'templates', 'prompts'].some(k => o[k].length);
  return html`<div class="pad"><div class="who"><div><h1>${seen(a.title || a.name || a.where)}</h1>
    ${a.instructions && html`<${Instructions} text=${seen(a.instructions)}/>`}
    <ol class="revs" aria-label="Revisions of the protocol">${a.revisions.map(r => html`<li class=${r === a.revision ? 'on' : a.speaks && !a.speaks[r] ? 'no' : ''} aria-current=${r === a.revision ? 'true' : undefined}>
      <button class="plainbtn" onClick=${() => connect({ revision: r })}><code>${r}</code><small>${saysOf(a, r)}</small></button></li>`)}</ol></div>
    <dl class="dl"><dt>Runs</dt><dd><span class="mono wrapped">${a.where}</span>, ${a.carrier === 'memory' ? 'reached in memory' : 'over ' + a.carrier}</dd>
      ${a.name && html`<dt>Can</dt><dd>${seen(a.can.join(', ')) || 'nothing that it names'}</dd>
      <dt>Cost</dt><dd class="num">about ${cost} tokens for its tools in every conversation</dd>`}
      ${a.inside && html`<dt>Inside</dt><dd>source lines and chains are shown</dd>`}</dl></div>
    ${s.changes && html`<p class="note">The lists have changed: <span class="mono">${seen(s.changes.text)}</span></p>`}
    ${s.failed && html`<p class="note bad wrapped">${seen(s.failed)}</p>`}
    ${empty && html`<div class="empty"><h2>It offers nothing yet</h2><p>The server answers, and its lists are empty${a.inside ? '' : ' for this user'}.</p></div>`}
    ${o?.fits.map(f => html`<p class="note">${f.client}: ${f.what} (this server: ${seen(f.where)}).</p>`)}
    ${a.warnings?.length > 0 && html`<${Warnings} all=${a.warnings}/>`}
    ${o?.tools.length > 0 && html`<${Tools} tools=${o.tools} changed=${s.changes?.added}/>`}
    ${o && html`<${Rows} title="Resources" head=${['URI', 'Name', 'Type']} offers=${o.resources} href=${x => readHref(x.name)} cells=${x => [textOf(x, 'name'), textOf(x, 'mimeType')]}/>
      <${Rows} title="Templates" head=${['URI', 'Name', 'Type']} offers=${o.templates} href=${x => '#/templates/' + encodeURIComponent(x.name)} cells=${x => [textOf(x, 'name'), textOf(x, 'mimeType')]}/>
      <${Rows} title="Prompts" head=${['Prompt', 'Arguments']} offers=${o.prompts} href=${x => '#/prompts/' + encodeURIComponent(x.name)} cells=${x => [listOf(x.listed, 'arguments').map(p => get(p, 'name')).join(', ')]}/>`}</div>`;
}
