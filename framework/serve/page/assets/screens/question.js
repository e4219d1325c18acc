// What the server asks during a call.
import { html, useState, useLayoutEffect, useRef } from '../vendor/preact.js';
import { write, get, seen, drafts } from '../json.js';
import { Form } from '../controls.js';
import { first } from '../form.js';
import { answer, toast } from '../store.js';
import { Enter, Code } from '../view.js';
import { Block } from './result.js';

const lastText = new Map(); // of sampling, by tool: "same as last time"

export function Question({ question, tool }) {
  const schema = question.schema ?? null;
  const [value, setValue] = useState(() => schema ? first(schema, schema) ?? new Map() : new Map());
  const [text, setText] = useState('');
  const [faults, setFaults] = useState([]);
  const box = useRef();
  useLayoutEffect(() => {
    (box.current.querySelector('.answer input, .answer textarea, .answer select') ?? box.current.querySelector('button'))?.focus();
    const title = document.title;
    document.title = '? ' + title;
    return () => { document.title = title; };
  }, []);
  const send = async (action, body = {}) => {
    try {
      await answer(question.id, typeof body === 'string' ? `{"action":"${action}",${body}}` : { action, ...body });
    } catch (e) { toast(e.message); }
  };
  const accept = () => {
    if (question.kind === 'sample') {
      lastText.set(tool, text);
      return send('accept', { text });
    }
    if (question.kind === 'roots') return send('accept', { roots: text.split('\n').filter(Boolean).map(line => ({ URI: line.includes('://') ? line : 'file://' + line })) });
    if (question.kind === 'url') return send('accept');
    const wrong = drafts(value);
    if (wrong.length) return setFaults(wrong.map(f => ({ path: f.path, text: f.want })));
    send('accept', `"content":${write(value)}`);
  };
  const keys = e => {
    if ((e.metaKey || e.ctrlKey) && e.key === 'Enter') { e.preventDefault(); e.stopPropagation(); accept(); }
  };
  const heading = { form: 'The server asks', url: 'The server wants you to visit a page', sample: 'The server asks the model', roots: 'The server asks for directories' }[question.kind];
  return html`<div class="say on asks" role="alertdialog" aria-label=${heading} ref=${box} onKeyDown=${keys}><form onSubmit=${e => { e.preventDefault(); accept(); }}>
    <div class="h"><span class="mono">${heading}</span></div><div class="b">
    ${question.message && html`<p class="ask wrapped">${seen(question.message)}</p>`}
    <div class="answer">
    ${question.kind === 'form' && schema && html`<${Form} schema=${schema} value=${value} onChange=${setValue} faults=${faults}/>`}
    ${question.kind === 'url' && html`<${Visit} url=${question.url}/>`}
    ${question.kind === 'sample' && html`<${Sampling} params=${question.sample} text=${text} setText=${setText}/>`}
    ${question.kind === 'roots' && html`<label class="field">Directories, one a line<textarea class="in mono" rows="3" placeholder="/srv/project" value=${text} onInput=${e => setText(e.target.value)}></textarea></label>`}
    </div>
    <div class="go"><button class="btn p" type="submit">${question.kind === 'url' ? 'I have done it' : 'Answer'} <${Enter}/></button>
      <button class="btn" type="button" onClick=${() => send('decline')}>Decline</button>
      ${['form', 'url'].includes(question.kind) && html`<button class="btn" type="button" onClick=${() => send('cancel')}>Give no answer</button>`}
      ${question.kind === 'sample' && lastText.has(tool) && html`<button class="btn t" type="button" onClick=${() => setText(lastText.get(tool))}>Same as last time</button>`}</div></div></form></div>`;
}

// Visit shows the whole address. Only http and https can be opened, and only by a click.
function Visit({ url }) {
  let host = '', safe = false;
  try {
    const u = new URL(url);
    host = u.host;
    safe = u.protocol === 'http:' || u.protocol === 'https:';
  } catch { /* no address */ }
  return html`<p><b>${seen(host)}</b></p><p class="mono wrapped">${seen(url)}</p>
    ${safe ? html`<p><a class="btn" href=${url} target="_blank" rel="noopener noreferrer">Open</a></p>` : html`<p class="err">This is no address of the web.</p>`}`;
}

function Sampling({ params, text, setText }) {
  const p = params;
  const blocks = m => { const c = get(m, 'content'); return Array.isArray(c) ? c : [c]; };
  return html`<div class="messages">${(get(p, 'messages') ?? []).map(m => html`<p class="s f">${seen(get(m, 'role') ?? '')}</p>${blocks(m).map(b => html`<${Block} block=${b}/>`)}`)}</div>
    <details><summary class="s q">The whole request</summary><${Code} value=${p}/></details>
    <div class="field"><label for="sample">What the model says <span class="t">${get(p, 'maxTokens') ? `at most ${get(p, 'maxTokens')} tokens` : ''}</span></label>
      <textarea class="in" id="sample" rows="3" value=${text} onInput=${e => setText(e.target.value)}></textarea></div>`;
}
