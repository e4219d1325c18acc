// What the server asks during a call.
import { html, useState, useLayoutEffect, useRef } from '../vendor/preact.js';
import { write, get, seen, drafts, entriesOf } from '../json.js';
import { Form } from '../controls.js';
import { first } from '../form.js';
import { answer, answerPlace, toast } from '../store.js';
import { Enter, Code, recall, remember } from '../view.js';
import { withoutSecrets } from '../sets.js';
import { Block } from './result.js';

const lastText = new Map(); // of sampling, by tool: "same as last time"

const headings = { form: 'The server asks', url: 'The server wants you to visit a page', sample: 'The server asks the model', roots: 'The server asks for directories' };

// fileURI is the address of a directory. Paths of Windows begin with a drive, such as C:\.
function fileURI(path) {
  if (path.includes('://')) return path;
  const whole = /^[A-Za-z]:[\\/]/.test(path) ? '/' + path.replaceAll('\\', '/') : path;
  return 'file://' + encodeURI(whole).replace(/[?#]/g, encodeURIComponent);
}

// Questions are what one call asks at a time, in one form: the questions of a round are answered together.
export function Questions({ questions, tool }) {
  return questions.length > 0 ? html`<${Asked} questions=${questions} tool=${tool}/>` : null;
}

function Asked({ questions, tool }) {
  const box = useRef();
  const answers = useRef(new Map()).current; // by question: returns the body of its answer, or null if it has faults
  useLayoutEffect(() => {
    box.current.scrollIntoView({ block: 'nearest' });
    if (document.querySelector('[aria-modal]')) return; // the user types there
    (box.current.querySelector('.answer input, .answer textarea, .answer select') ?? box.current.querySelector('button'))?.focus();
  }, []);
  const send = async action => {
    const bodies = questions.map(q => action === 'accept' ? answers.get(q.id)() : '');
    if (bodies.includes(null)) return;
    for (const [i, q] of questions.entries()) {
      try {
        await answer(q.id, `{"action":"${action}"${bodies[i]}}`);
      } catch (e) { toast(e.message); }
    }
  };
  const keys = e => {
    if ((e.metaKey || e.ctrlKey) && e.key === 'Enter') { e.preventDefault(); e.stopPropagation(); send('accept'); }
  };
  const all = kind => questions.every(q => q.kind === kind);
  const heading = questions.length > 1 ? `The server asks ${questions.length} questions` : headings[questions[0].kind];
  return html`<div class="say on asks" role="alertdialog" aria-label=${heading} ref=${box} onKeyDown=${keys}><form novalidate onSubmit=${e => { e.preventDefault(); send('accept'); }}>
    <div class="h"><span class="mono">${heading}</span></div><div class="b">
    ${questions.map(q => html`<${Question} key=${q.id} question=${q} tool=${tool} several=${questions.length > 1} answers=${answers}/>`)}
    <div class="go"><button class="btn p" type="submit">${all('url') ? 'I have done it' : questions.length > 1 ? 'Answer all' : 'Answer'} <${Enter}/></button>
      <button class="btn" type="button" onClick=${() => send('decline')}>Decline</button>
      ${questions.every(q => ['form', 'url'].includes(q.kind)) && html`<button class="btn" type="button" onClick=${() => send('cancel')}>Give no answer</button>`}</div></div></form></div>`;
}

// begun is the form of a question, and the value that it begins with. Defaults are filled in, so
// that the answer has what the user sees. Fields with the names in secrets are masked.
function begun(schema, secrets) {
  if (!schema) return { schema, begin: new Map() };
  const fields = entriesOf(schema, 'properties');
  const bare = fields.map(([name, p]) => [name, p instanceof Map ? new Map([...p, ...(secrets.includes(name) ? [['x-secret', true]] : [])].filter(([k, v]) => k !== 'default' || Array.isArray(v))) : p]);
  const plain = fields.length ? new Map([...schema, ['properties', new Map(bare)]]) : schema;
  const begin = first(plain, plain) ?? new Map();
  const defaults = fields.map(([name, p]) => [name, get(p, 'default') ?? null]).filter(([, v]) => v !== null);
  return { schema: plain, begin: begin instanceof Map ? new Map([...begin, ...defaults]) : begin };
}

// Question is one of them, without buttons.
function Question({ question, tool, several, answers }) {
  const scope = '/' + question.id;
  const [{ schema, begin }] = useState(() => begun(question.schema ?? null, question.secrets ?? []));
  const [kept] = useState(() => recall(answerPlace(question.id))); // without secrets
  const [value, setValue] = useState(kept instanceof Map ? kept : begin);
  const [text, setText] = useState(typeof kept === 'string' ? kept : '');
  const keep = (set, next) => { set(next); remember(answerPlace(question.id), write(withoutSecrets(next, question.secrets))); };
  const type = next => keep(setText, next);
  const [faults, setFaults] = useState([]);
  answers.set(question.id, () => {
    switch (question.kind) {
      case 'sample':
        lastText.set(tool, text);
        return ',"text":' + JSON.stringify(text);
      case 'roots':
        return ',"roots":' + JSON.stringify(text.split('\n').map(line => line.trim()).filter(Boolean).map(line => ({ URI: fileURI(line) })));
      case 'url': return '';
    }
    const wrong = drafts(value);
    setFaults(wrong.map(f => ({ path: scope + f.path, text: f.want })));
    return wrong.length ? null : `,"content":${write(value)}`;
  });
  useLayoutEffect(() => () => { answers.delete(question.id); }, []);
  return html`<div class="answer" role=${several ? 'group' : undefined} aria-label=${several ? headings[question.kind] : undefined}>
    ${question.message && html`<p class="ask wrapped">${seen(question.message)}</p>`}
    ${question.kind === 'form' && schema && html`<${Form} schema=${schema} value=${value} onChange=${next => keep(setValue, next)} faults=${faults} scope=${scope} answer=${true}/>`}
    ${question.kind === 'url' && html`<${Visit} url=${question.url}/>`}
    ${question.kind === 'sample' && html`<${Sampling} id=${question.id} params=${question.sample} text=${text} setText=${type}/>
      ${lastText.has(tool) && html`<button class="btn t" type="button" onClick=${() => type(lastText.get(tool))}>Same as last time</button>`}`}
    ${question.kind === 'roots' && html`<label class="field">Directories, one a line<textarea class="in mono" rows="3" placeholder="/srv/project" value=${text} onInput=${e => type(e.target.value)}></textarea></label>`}</div>`;
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

function Sampling({ id, params, text, setText }) {
  const p = params;
  const blocks = m => { const c = get(m, 'content'); return Array.isArray(c) ? c : [c]; };
  return html`<div class="messages">${get(p, 'systemPrompt') && html`<p class="s f">system</p><p class="wrapped">${seen(get(p, 'systemPrompt'))}</p>`}${(get(p, 'messages') ?? []).map(m => html`<p class="s f">${seen(get(m, 'role') ?? '')}</p>${blocks(m).map(b => html`<${Block} block=${b}/>`)}`)}</div>
    <details><summary class="s q">The whole request</summary><${Code} value=${p}/></details>
    <div class="field"><label for=${'sample' + id}>What the model says <span class="t">${get(p, 'maxTokens') ? `at most ${get(p, 'maxTokens')} tokens` : ''}</span></label>
      <textarea class="in" id=${'sample' + id} rows="3" value=${text} onInput=${e => setText(e.target.value)}></textarea></div>`;
}
