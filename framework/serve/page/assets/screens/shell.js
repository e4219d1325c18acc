// What is around every screen: bar, rail, banners, palette and keys.
import { html, useState, useEffect, useRef } from '../vendor/preact.js';
import { label, seen } from '../json.js';
import { plural } from '../form.js';
import { useStore, spoken, change, connect, go, toast, textOf, call } from '../store.js';
import { ask } from '../api.js';
import { Dialog, Mark, currentCall, modifier, narrow, saveSession } from '../view.js';
import * as sets from '../sets.js';
import { toolHref, readHref } from './overview.js';

export const themes = {
  now: () => localStorage.getItem('kagami-theme'),
  flip() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    localStorage.setItem('kagami-theme', dark ? 'light' : 'dark');
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  },
};

const words = { connected: 'connected', connecting: 'connecting', lost: 'lost', ended: 'ended', login: 'needs a login', refused: 'revision refused', idle: 'not connected', saved: 'a saved session' };

export function Bar() {
  const s = useStore(), a = s.about;
  const dot = s.down ? 'off' : { connected: '', connecting: 'wait', idle: 'idle', saved: 'idle' }[s.state.name] ?? 'off';
  return html`<header class="bar"><button class="icon only-s" aria-label="What the server offers" aria-expanded=${String(Boolean(s.rail))} onClick=${() => change({ rail: !s.rail })}><svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true"><path d="M2 4.5h12M2 8h12M2 11.5h12"/></svg></button>
    <a class="mark" href="#/"><${Mark}/><span>${seen(a?.title || a?.name || 'Kagami')}</span></a>${a?.name && html`<span class="at">${seen(a.name)} ${seen(a.version ?? '')}</span>`}
    <span class="live" role="status"><i class=${'dot ' + dot}></i><span class="txt">${s.down ? 'the page has lost its program' : words[s.state.name]}${a && s.state.name === 'connected' ? ' ' + ({ memory: 'in memory', HTTP: 'over HTTP', stdio: 'on stdio' })[a.carrier] : ''}</span></span>
    <span class="grow"></span>
    ${a && s.state.name !== 'saved' && html`<label class="rev"><span>Revision</span> <select class="pick" aria-label="Revision to speak" onChange=${e => connect({ revision: e.target.value })}>${[...a.revisions].reverse().filter(r => spoken(a).includes(r) || r === a.chosen).map(r => html`<option value=${r} selected=${r === (a.revision ?? a.chosen)}>${r}</option>`)}</select></label>`}
    <button class="find" aria-label="Go to or do" aria-keyshortcuts="Meta+K Control+K" onClick=${() => change({ palette: true })}><svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true"><circle cx="7" cy="7" r="4.5"/><path d="M10.5 10.5 14 14"/></svg><span>Go to or do</span><kbd aria-hidden="true" data-k=${modifier + 'K'}></kbd></button>
    <button class="icon" aria-label="Dark or light" onClick=${themes.flip}><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 2.25a5.75 5.75 0 0 1 0 11.5z" fill="currentColor"/></svg></button></header>`;
}

// places are all screens of what is offered, for the rail and the palette.
export function places(offers) {
  if (!offers) return [];
  return [
    ...offers.tools.map(o => ({ group: 'Tools', kind: 'tool', name: o.name, href: toolHref(o.name), title: textOf(o, 'title') })),
    ...offers.resources.map(o => ({ group: 'Resources', kind: 'resource', name: textOf(o, 'name') || o.name, also: o.name, href: readHref(o.name), title: '' })),
    ...offers.templates.map(o => ({ group: 'Templates', kind: 'template', name: textOf(o, 'name') || o.name, also: o.name, href: '#/templates/' + encodeURIComponent(o.name), title: '' })),
    ...offers.prompts.map(o => ({ group: 'Prompts', kind: 'prompt', name: o.name, href: '#/prompts/' + encodeURIComponent(o.name), title: textOf(o, 'title') })),
  ];
}

const rowHeight = 27, drawn = 80;

// List draws only the rows near the window, so that a thousand tools scroll smoothly.
function List({ rows, route }) {
  const [top, setTop] = useState(0);
  const all = narrow() || rows.length <= drawn; // on a narrow screen the rail scrolls, not the list
  const from = all ? 0 : Math.max(0, Math.floor(top / rowHeight) - 20);
  const part = all ? rows : rows.slice(from, from + drawn);
  const pad = n => html`<svg class="gap" width="1" height=${n * rowHeight} aria-hidden="true"/>`;
  return html`<div class="list" onScroll=${e => rows.length > drawn && setTop(e.target.scrollTop)}>${from > 0 && pad(from)}
    ${part.map(r => r.heading ? html`<div class="group" role="heading" aria-level="2" key=${r.heading}><span>${r.heading}</span><span>${r.count}</span></div>`
    : html`<a class=${'it' + (r.sans ? ' sans' : '')} key=${r.href} href=${r.href} aria-current=${route === r.href ? 'page' : undefined}><b title=${seen(r.also ?? r.name)}>${label(r.name)}</b>${r.asks && html`<i class="acc">asks</i>`}</a>`)}${rows.length > from + part.length && pad(rows.length - from - part.length)}</div>`;
}

// misfits says how many findings there are.
const misfits = offers => {
  const n = offers ? offers.fits.length + offers.tools.reduce((sum, t) => sum + t.fits.length, 0) : 0;
  return n ? plural(n, 'note') : '';
};

export function Rail() {
  const s = useStore();
  const [filter, setFilter] = useState('');
  const route = s.route.split('?')[0];
  const wanted = filter.toLowerCase();
  const rows = [{ name: 'Overview', href: '#/', sans: true }];
  const asking = new Set(s.questions.map(q => s.calls.find(c => c.id === q.call)?.name));
  let group = '';
  const all = places(s.offers).filter(p => !wanted || (p.name + ' ' + (p.also ?? '') + ' ' + p.title).toLowerCase().includes(wanted));
  for (const p of all) {
    if (p.group !== group) {
      group = p.group;
      rows.push({ heading: group, count: all.filter(x => x.group === group).length });
    }
    rows.push({ ...p, asks: asking.has(p.also ?? p.name) });
  }
  const tasks = s.calls.filter(c => c.task && c.phase === 'sent').length;
  return html`<nav class=${'rail' + (s.rail ? ' open' : '')} aria-label="What the server offers" onClick=${e => e.target.closest('a') && change({ rail: false })}>
    <div class="filter"><label class="vh" for="filter">Filter</label><input id="filter" type="search" placeholder="Filter" autocomplete="off" spellcheck=${false} value=${filter} onInput=${e => setFilter(e.target.value)} onKeyDown=${e => e.key === 'Enter' && !(e.isComposing || e.ctrlKey || e.metaKey) && filter && all[0] && go(all[0].href)}/><kbd aria-hidden="true">/</kbd></div>
    <${List} rows=${rows} route=${route}/>
    <div class="foot">${[['Tasks', '#/tasks', tasks ? `${tasks} running` : 'none'], ['Wire', '#/wire', plural(s.frames.length, 'frame')], ['Log', '#/log', s.logs.length ? `${s.logs.length}` : ''], ['Clients', '#/clients', misfits(s.offers)], ['Connect a client', '#/connect', '']].map(([name, href, note]) =>
    html`<a class="it sans" href=${href} aria-current=${route === href ? 'page' : undefined}><b>${name}</b><i>${note}</i></a>`)}</div></nav>`;
}

export function Banner() {
  const s = useStore();
  const [token, setToken] = useState('');
  const met = s.about?.name; // the server has answered since the page was opened
  if (s.down) return html`<div class="banner" role="alert"><b>The program that serves this page does not answer.</b><span>The page tries again. Calls in flight may or may not have been done.</span></div>`;
  switch (s.state.name) {
    case 'lost': return html`<div class="banner" role="alert"><b>${met ? 'The connection is lost.' : 'The server cannot be reached.'}</b><span class="wrapped">${seen(s.state.reason ?? '')}</span><button class="btn" onClick=${() => connect({})}>Try now</button></div>`;
    case 'ended': return html`<div class="banner" role="alert"><b>${met ? 'The server has ended.' : 'The server is not running.'}</b><span class="wrapped">${seen(s.state.reason ?? '')}</span><button class="btn" onClick=${() => connect({})}>Start again</button>
      ${s.state.stderr?.some(Boolean) && html`<pre class="code wrap" tabindex="0">${seen(s.state.stderr.join('\n'))}</pre>`}</div>`;
    case 'refused': return html`<div class="banner" role="alert"><b>The server does not speak ${s.state.reason}.</b><span>Choose another revision, or let the server choose.</span><button class="btn" onClick=${() => connect({ revision: '' })}>Let the server choose</button></div>`;
    case 'saved': return html`<div class="banner calm"><b>This session was saved at ${seen(s.state.reason ?? '')}.</b><span>There is no server to call.</span></div>`;
    case 'login': return html`<form class="banner w" onSubmit=${e => { e.preventDefault(); connect({ bearer: token }); setToken(''); }}><b>The server wants a token.</b><span class="wrapped">${seen(s.state.reason ?? '')}</span>
      <label class="row">Token <input class="in" type="password" autocomplete="off" value=${token} onInput=${e => setToken(e.target.value)}/></label><button class="btn p">${token ? 'Use it' : 'Try again'}</button></form>`;
  }
  return null;
}

// commands are what the palette does besides going somewhere.
const commands = s => [
  { name: 'Call', note: modifier + '↵', run: () => document.dispatchEvent(new Event('call')) },
  { name: 'Copy this call as…', note: 'y', run: () => change({ sheet: currentCall() ?? s.calls[0]?.id ?? null }) },
  { name: 'Overview', note: 'g o', href: '#/' }, { name: 'Wire', note: 'g w', href: '#/wire' }, { name: 'Tasks', note: 'g t', href: '#/tasks' }, { name: 'Log', note: 'g l', href: '#/log' }, { name: 'What each client takes', note: 'clients', href: '#/clients' }, { name: 'Connect a client', note: 'g c', href: '#/connect' },
  ...spoken(s.about).map(r => ({ name: 'Speak ' + r, note: 'revision', run: () => connect({ revision: r }) })),
  { name: 'Ping', note: 'server', run: () => call('ping', '').catch(e => toast(e.message)) },
  { name: 'Keep these calls as a set', note: 'tool', run: () => document.dispatchEvent(new Event('keep')) }, { name: 'Open a set of calls', note: 'tool', run: sets.open },
  { name: 'Save the session', note: 'page', run: saveSession },
  { name: 'Reconnect', note: 'server', run: () => connect({}) },
  { name: 'A key for another browser', note: 'page', run: () => ask('POST', 'key', {}).then(async answer => change(await answer.json())).catch(e => toast(e.message)) },
  { name: 'Dark or light', note: 'page', run: themes.flip }, { name: 'All keys', note: '?', run: () => change({ keys: true }) },
];

// score says how well a text matches parts of words; 0: not at all.
function score(text, wanted) {
  const t = text.toLowerCase(), parts = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (!parts.length) return 1;
  if (!t.includes(parts[0])) return 0;
  return (t.startsWith(parts[0]) ? 4 : new RegExp('[^a-z0-9]' + parts[0].replace(/[^a-z0-9]/g, '\\$&')).test(t) ? 3 : 2) + 1 / t.length;
}

export function Palette() {
  const s = useStore();
  const [wanted, setWanted] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef();
  const close = () => change({ palette: false });
  const matches = text => [...places(s.offers).map(p => ({ ...p, note: p.kind, mono: true })), ...commands(s)]
    .map(p => ({ ...p, score: score(p.name + ' ' + (p.also ?? ''), text) })).filter(p => p.score > 0).sort((a, b) => b.score - a.score).slice(0, 50);
  const found = matches(wanted);
  const take = (p, typed = wanted) => {
    close();
    if (!p) return;
    const words = typed.trim().split(/\s+/).slice(1).join(' ');
    if (p.href) go(p.kind === 'tool' && words ? p.href + '?first=' + encodeURIComponent(words) : p.href);
    else p.run();
  };
  const keys = e => {
    if (e.isComposing) return; // the key belongs to the input method
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); setAt((at + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % Math.max(1, found.length)); }
    if (e.key === 'Enter') { // the last letter may not be drawn yet
      e.preventDefault();
      take(matches(e.target.value)[e.target.value === wanted ? at : 0], e.target.value);
    }
  };
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);
  return html`<${Dialog} label="Go to or do" kind="pal" onClose=${close}><input role="combobox" aria-expanded="true" aria-controls="pal-list" aria-activedescendant=${'po' + at} aria-label="Go to or do" placeholder="Go to or do" autocomplete="off" spellcheck=${false}
      value=${wanted} onInput=${e => { setWanted(e.target.value); setAt(0); }} onKeyDown=${keys}/>
    <ul role="listbox" id="pal-list" aria-label="Results" ref=${list}>${found.map((p, i) => html`<li role="option" id=${'po' + i} aria-selected=${String(i === at)} onClick=${() => take(p)}><span class=${p.mono ? 'mono' : ''}>${label(p.name)}</span><span class="f">${p.note}</span></li>`)}</ul>
    <div class="pf"><span><kbd>↑</kbd> <kbd>↓</kbd> choose</span><span><kbd>↵</kbd> open</span><span><kbd>esc</kbd> close</span></div><//>`;
}

const all = [[modifier + 'K', 'go to or do'], ['/', 'filter the list'], ['j k', 'next, previous'], ['g o t w l c', 'overview, tasks, wire, log, connect'], ['[ ]', 'left, right of the axis'], ['1 2 3', 'result, JSON, what a model reads'],
  [modifier + '↵', 'call, read, answer'], ['e', 'first field of the form'], ['r', 'again'], ['y', 'copy as'], ['w', 'frames of this call'], ['esc', 'stop the call, close, leave the field'], ['?', 'all keys']];

export function Keys() {
  const [off, setOff] = useState(localStorage.getItem('kagami-letters') === 'off');
  const flip = e => { setOff(!e.target.checked); localStorage.setItem('kagami-letters', e.target.checked ? 'on' : 'off'); };
  return html`<${Dialog} label="All keys" kind="pal" onClose=${() => change({ keys: false })}><div class="keys"><h2>All keys</h2><dl class="kv">${all.map(([k, does]) => html`<dt><kbd>${k}</kbd></dt><dd>${does}</dd>`)}</dl>
    <label class="opt"><input type="checkbox" checked=${!off} onChange=${flip}/> Single letters are keys</label></div><//>`;
}
