// What each client makes of the server, by rules whose source is named.
import { html } from '../vendor/preact.js';
import { seen } from '../json.js';
import { useStore } from '../store.js';
import { toolHref } from './overview.js';

// findings are those of one client: one a rule, with all places.
function findings(offers, client) {
  const rules = new Map();
  const add = (f, tool) => {
    const rule = rules.get(f.what) ?? { ...f, places: [] };
    rule.places.push({ where: f.where, tool });
    rules.set(f.what, rule);
  };
  for (const f of offers.fits) if (f.client === client) add(f);
  for (const t of offers.tools) for (const f of t.fits) if (f.client === client) add(f, t.name);
  return [...rules.values()].sort((a, b) => (a.level === 'refused' ? 0 : 1) - (b.level === 'refused' ? 0 : 1));
}

const most = 20; // places of a rule

const Places = ({ all }) => html`${all.slice(0, most).map((p, i) => html`${i > 0 && ', '}${p.tool ? html`<a class="mono" href=${toolHref(p.tool)}>${seen(p.where.replace(/^tool /, ''))}</a>` : seen(p.where)}`)}${all.length > most && ` and ${all.length - most} more`}`;

export function Clients() {
  const o = useStore().offers;
  if (!o) return html`<div class="pad"><span class="sk"></span></div>`;
  return html`<div class="pad"><h1>Clients</h1><p class="lead q">What known clients, and the APIs of their models, refuse or change. The page asks no client: each rule has its source, and the date when it was seen.</p>
    ${o.clients.length === 0 && html`<div class="empty"><p>A saved session has no rules.</p></div>`}
    ${o.clients.map(c => [c, findings(o, c)]).map(([client, found]) => html`<section class="block client"><div class="bh"><b>${client}</b><span class=${found.some(f => f.level === 'refused') ? 'bad' : found.length ? 'q' : 'ok'}>${found.some(f => f.level === 'refused') ? '! refuses something' : found.length ? 'changes something' : '✓ takes everything'}</span></div>
      ${found.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${client}><table class="data wide"><thead><tr><th scope="col">It</th><th scope="col">Rule</th><th scope="col">Here</th><th scope="col">Source</th></tr></thead><tbody>${found.map(f => html`<tr><td class=${f.level === 'refused' ? 'bad' : ''}>${f.level === 'refused' ? 'refuses' : 'changes'}</td><td class="wrapped">${f.what}</td><td class="wrapped"><${Places} all=${f.places}/></td><td class="s q wrapped">${f.source}, ${f.seen}</td></tr>`)}</tbody></table></div>`}</section>`)}</div>`;
}
