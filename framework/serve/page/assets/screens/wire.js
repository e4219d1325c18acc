// Every frame: requests on the left, what came for them on the right.
import { html, useState, useEffect } from '../vendor/preact.js';
import { label, parsed, seen } from '../json.js';
import { store, useStore, change, setLevel } from '../store.js';
import { getJSON } from '../api.js';
import { Code, clock, saveSession, size, time } from '../view.js';

const kinds = ['everything', 'requests', 'results', 'errors', 'notifications', 'HTTP'];
const fits = (f, kind) => kind === 'everything' || ({ requests: 'request', results: 'result', errors: 'error', notifications: 'notification', HTTP: 'http' })[kind] === f.kind;
const page = 200;

export function Wire({ open, ofCall }) {
  const s = useStore();
  const [kind, setKind] = useState('everything');
  const [find, setFind] = useState('');
  const [found, setFound] = useState(null);
  const [n, setN] = useState(page);
  const [follow, setFollow] = useState(true);
  useEffect(() => {
    if (!find) return setFound(null);
    const timer = setTimeout(async () => setFound(await getJSON('frames?before=1000000000&q=' + encodeURIComponent(find)).catch(() => [])), 150); // the newest
    return () => clearTimeout(timer);
  }, [find, s.frames.at(-1)?.n]);
  const all = (found ?? s.frames).filter(f => fits(f, kind) && (!ofCall || f.call === ofCall));
  const at = open ? all.findIndex(f => f.n === open) : -1; // the address of a frame shows what is around it
  const shown = at >= 0 ? all.slice(Math.max(0, at - n / 2), at + n / 2) : follow ? all.slice(-n) : all.slice(0, n);
  useEffect(() => { if (follow && !open) document.querySelector('.axis')?.lastElementChild?.scrollIntoView({ block: 'nearest' }); }, [s.frames.at(-1)?.n, follow]);
  const began = s.frames[0] ? new Date(s.frames[0].at) : null;
  return html`<div class="tools"><h1 class="vh">Wire</h1><label class="vh" for="find">Find</label><input class="in find-in" id="find" type="search" placeholder="Find" value=${find} onInput=${e => setFind(e.target.value)}/>
      <select class="pick" aria-label="Kind" onChange=${e => setKind(e.target.value)}>${kinds.map(k => html`<option value=${k} selected=${k === kind}>${k}</option>`)}</select>
      <label class="opt"><input type="checkbox" checked=${follow} onChange=${e => setFollow(e.target.checked)}/> Follow</label>
      ${ofCall && html`<a class="btn t" href="#/wire">All frames</a>`}<button class="btn t end" onClick=${saveSession}>Save the session</button><span class="f s">${found?.length === 500 ? 'the newest ' : ''}${all.length} of ${s.frames.length} frames</span></div>
    ${shown.length < all.length && html`<p class="pad-s"><button class="btn t" onClick=${() => setN(n + page)}>Show ${Math.min(page, all.length - shown.length)} more</button></p>`}
    ${all.length === 0 && html`<div class="pad"><div class="empty"><h2>No frames</h2><p>${find ? 'No frame has this text.' : 'Nothing has crossed the wire yet.'}</p></div></div>`}
    <div class="axis"><div class="cap l"><b>You</b></div><div class="mid"></div><div class="cap"><b>Server</b></div>
    ${shown.map(f => html`<${Row} key=${f.n} frame=${f} open=${open === f.n} at=${began ? (new Date(f.at) - began) / 1000 : 0}/>`)}</div>`;
}

function Row({ frame: f, open, at }) {
  const [isOpen, setOpen] = useState(open);
  const [whole, setWhole] = useState(null);
  useEffect(() => {
    if (!open) return;
    setOpen(true);
    document.getElementById('frame' + f.n).scrollIntoView({ block: 'center' });
  }, [open]);
  useEffect(() => { if (isOpen && !whole && f.kind !== 'http') getJSON('frames/' + f.n).then(setWhole, () => setWhole({ text: f.head })); }, [isOpen]);
  const title = f.kind === 'result' ? `result of ${f.method ?? '?'}` : f.kind === 'error' ? `error of ${f.method ?? '?'}` : f.kind === 'other' ? 'not JSON-RPC' : f.kind === 'http' ? `${f.http.method} ${f.http.path}` : f.method;
  const http = whole?.frame?.http ?? f.http, of = f.sent && f.kind === 'request' && store.calls.find(c => c.id === f.call)?.name;
  const box = html`<div class=${'say ' + (f.sent ? 'l' : 'r')} id=${'frame' + f.n}><button class="h plainbtn" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
      <span class=${'mono' + (f.kind === 'error' ? ' bad' : '')}>${f.kind === 'error' ? '! ' : ''}${seen(title)}</span><span class="f">${of ? label(of) + ' ' : ''}${f.id ? 'id ' + seen(f.id) : ''}</span>
      ${http?.status > 0 && html`<span class=${http.status >= 400 ? 'bad' : 'f'}>HTTP ${http.status}</span>`}<span class="f num end">${f.ms ? time(f.ms) + ', ' : ''}${f.bytes ? size(f.bytes) : ''}</span></button>
    ${isOpen && html`<div class="b">${http && html`<${Http} of=${http}/>`}${whole && html`<${Text} text=${whole.text}/>`}</div>`}</div>`;
  const mid = html`<div class="mid"><span>${at.toFixed(at < 100 ? 2 : 0)} s</span></div>`;
  return html`<div class="ar">${f.sent ? html`${box}${mid}` : html`<div class="empty-l"></div>${mid}${box}`}</div>`;
}

const Fields = ({ of }) => Object.entries(of ?? {}).map(([k, v]) => html`<dt>${seen(k)}</dt><dd class="wrapped">${seen(v.join(', '))}</dd>`);
const Http = ({ of }) => html`<details><summary class="s q">${of.method} ${of.path} ${of.status ? '→ ' + of.status : seen(of.failed ?? '')}, ${time(of.ms)}</summary>
  <dl class="kv s"><${Fields} of=${of.sent}/></dl>${of.received && html`<dl class="kv s"><${Fields} of=${of.received}/></dl>`}</details>`;

function Text({ text }) {
  const value = parsed(text);
  return value === undefined ? html`<${Code} text=${seen(text)}/>` : html`<${Code} value=${value}/>`;
}

// Logs are the server's log messages, live.
export function Logs() {
  const s = useStore();
  return html`<div class="pad"><h1>Log</h1>${s.about?.can.includes('logging') && html`<label class="row">From level <select class="pick" onChange=${e => setLevel(e.target.value)}>${s.about.levels.map(l => html`<option value=${l} selected=${l === s.about.level}>${l}</option>`)}</select></label>`}
    ${s.logs.length === 0 ? html`<div class="empty"><p>The server has logged nothing since this tab was opened.</p></div>` : html`<button class="btn t" onClick=${() => change({ logs: [] })}>Clear</button>
    <div class="scroll" tabindex="0" role="region" aria-label="Log messages"><table class="data"><thead><tr><th class="num">Time</th><th>Level</th><th>Logger</th><th>Data</th></tr></thead><tbody>${s.logs.slice(-200).map(l => html`<tr><td class="num">${clock(l.at)}</td><td>${seen(l.level)}</td><td>${seen(l.logger)}</td><td class="mono wrapped">${seen(l.text)}</td></tr>`)}</tbody></table></div>`}</div>`;
}
