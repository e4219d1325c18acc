// The page: routes, keys, and what is drawn.
import { html, render } from './vendor/preact.js';
import { store, change, start, useStore, go } from './store.js';
import { decoded, entriesOf, get, label, seen } from './json.js';
import { plan } from './form.js';
import { Bar, Rail, Banner, Palette, Keys, themes } from './screens/shell.js';
import { Overview } from './screens/overview.js';
import { Tool } from './screens/tool.js';
import { Read, Template } from './screens/read.js';
import { Wire, Logs } from './screens/wire.js';
import { Tasks } from './screens/tasks.js';
import { Questions } from './screens/question.js';
import { Connect } from './screens/connect.js';
import { Clients } from './screens/clients.js';
import { Compare } from './screens/compare.js';
import { CopySheet } from './screens/copy.js';
import { Dialog, copy, currentCall } from './view.js';

if (themes.now()) document.documentElement.dataset.theme = themes.now();

// screen finds what an address shows, and its title.
function screen(route) {
  const [path, query] = route.replace(/^#\/?/, '').split('?');
  const [place, ...rest] = path.split('/');
  const name = decoded(rest.join('/'));
  const q = new URLSearchParams(query);
  switch (place) {
    case 'tools': return [name, html`<${Tool} kind="tools" name=${name} given=${q.get('arguments') ?? firstField(name, q.get('first'))}/>`];
    case 'prompts': return [name, html`<${Tool} kind="prompts" name=${name} given=${q.get('arguments')}/>`];
    case 'read': return [name, html`<${Read} uri=${name}/>`];
    case 'templates': return [name, html`<${Template} name=${name} key=${name}/>`];
    case 'wire': return ['Wire', html`<${Wire} open=${Number(rest[0]) || 0} ofCall=${q.get('call')}/>`];
    case 'compare': return ['Compare', html`<${Compare} id=${name} key=${name}/>`];
    case 'tasks': return ['Tasks', html`<${Tasks}/>`];
    case 'log': return ['Log', html`<${Logs}/>`];
    case 'clients': return ['Clients', html`<${Clients}/>`];
    case 'connect': return ['Connect', html`<${Connect}/>`];
  }
  return ['Overview', html`<${Overview}/>`];
}

// firstField fills the first field of a tool that takes a text, or a number: "forecast kyoto" in
// the palette.
function firstField(tool, text) {
  const root = get(text && store.offers?.tools.find(t => t.name === tool)?.listed, 'inputSchema');
  const number = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text ?? '');
  for (const [name, schema] of entriesOf(root, 'properties')) {
    const { kind } = plan(schema, root, 1);
    if (kind === 'text' || kind === 'box') return JSON.stringify({ [name]: text });
    if (kind === 'number' && number) return `{${JSON.stringify(name)}:${text}}`;
  }
  return null;
}

function App() {
  const s = useStore();
  if (s.locked) return html`<main class="land"><h1>This page is locked</h1><p class="lead">${document.documentElement.dataset.locked}</p></main>`;
  const [title, what] = screen(s.route);
  document.title = seen(`${s.questions.length ? '? ' : ''}${label(title)} · ${s.about?.title || s.about?.name || 'Kagami'}`);
  return html`<a class="skip" href="#main" onClick=${e => { e.preventDefault(); document.getElementById('main').focus(); }}>To the content</a>
    <div class="app"><${Bar}/><${Rail}/><main id="main" tabindex="-1"><${Banner}/>${s.questions.some(q => !q.call) && html`<div class="pad-c"><${Questions} questions=${s.questions.filter(q => !q.call)} tool=""/></div>`}${what}</main></div>
    ${s.palette && html`<${Palette}/>`}${s.keys && html`<${Keys}/>`}${s.sheet && html`<${CopySheet} call=${s.sheet}/>`}
    ${s.address && html`<${Dialog} label="A key for another browser" kind="pal" onClose=${() => change({ address: '' })}><div class="keys"><h2>A key for another browser</h2><p class="mono wrapped">${seen(s.address)}</p><p class="q s">It is good once, for ten minutes.</p><button class="btn" onClick=${() => copy(s.address)}>Copy</button></div><//>`}
    ${s.toast && html`<div class="toast" role="status">${seen(s.toast)}</div>`}`;
}

addEventListener('hashchange', () => {
  change({ route: location.hash || '#/', rail: false });
  document.getElementById('main')?.scrollTo(0, 0);
  scrollTo(0, 0); // on a narrow screen the window scrolls
});

let prefix = '';
const places = { o: '#/', t: '#/tasks', w: '#/wire', c: '#/connect', l: '#/log' };
const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

// letters are the single keys, which count only outside of fields.
const letters = {
  '/': () => document.getElementById(store.route.startsWith('#/wire') ? 'find' : 'filter')?.focus(),
  '?': () => change({ keys: true }),
  e: () => document.querySelector('.side input:not([type=checkbox]), .side textarea, .side select')?.focus(),
  y: () => change({ sheet: currentCall() }),
  w: () => { const id = currentCall(); go(id ? '#/wire?call=' + id : '#/wire'); },
  r: () => tell('call'),
  j: () => step(1), k: () => step(-1),
  '[': () => document.querySelectorAll('.side')[0]?.querySelector('input, button, textarea')?.focus(),
  ']': () => document.querySelectorAll('.side')[1]?.querySelector('input, button, textarea')?.focus(),
  1: () => tell('view', 0), 2: () => tell('view', 1), 3: () => tell('view', 2),
};

function step(by) {
  const all = [...document.querySelectorAll('.rail a.it')], at = all.indexOf(document.activeElement);
  const from = at < 0 ? all.findIndex(a => a.getAttribute('aria-current')) : at;
  all[Math.max(0, Math.min(all.length - 1, from + by))]?.focus();
}

// A key that is held repeats itself. Enter must not press a button that means something else by now,
// or answer a question that has just come.
addEventListener('keydown', e => {
  const line = e.target.tagName === 'TEXTAREA' && !e.metaKey && !e.ctrlKey;
  if (!e.repeat || e.key !== 'Enter' || line) return;
  e.preventDefault();
  e.stopImmediatePropagation();
}, true);

// The second click of a double click is no second press, for the same reasons.
addEventListener('click', e => {
  if (e.detail < 2 || !e.target.closest('[data-call], .go button, .calls button, .data.wide button')) return;
  e.preventDefault();
  e.stopImmediatePropagation();
}, true);

addEventListener('keydown', e => {
  if ((e.metaKey || e.ctrlKey) && e.key === 'k') { e.preventDefault(); return e.repeat || change({ palette: !store.palette }); }
  if (store.palette || store.keys || store.sheet || store.address) {
    if (e.key === 'Escape') change({ palette: false, keys: false, sheet: null, address: '' }); // the focus is outside
    return;
  }
  if ((e.metaKey || e.ctrlKey) && e.key === 'Enter') { e.preventDefault(); return tell('call'); }
  const field = /INPUT|TEXTAREA|SELECT/.test(e.target.tagName) && !['checkbox', 'radio', 'range'].includes(e.target.type);
  if (e.key === 'Escape') return field ? e.target.blur() : tell('stop');
  if (field || e.metaKey || e.ctrlKey || e.altKey || localStorage.getItem('kagami-letters') === 'off') return;
  if (e.repeat && e.key !== 'j' && e.key !== 'k') return;
  if (prefix === 'g') {
    prefix = '';
    if (places[e.key]) { e.preventDefault(); return go(places[e.key]); }
  }
  if (e.key === 'g') { prefix = 'g'; return; }
  if (letters[e.key]) { e.preventDefault(); letters[e.key](); }
});

render(html`<${App}/>`, document.body);
start();
