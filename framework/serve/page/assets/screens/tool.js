// A tool or a prompt: left what you say, right what the server says.
import { html, useState, useEffect, useLayoutEffect, useMemo, useRef } from '../vendor/preact.js';
import { parse, parsed, write, get, label, listOf, entriesOf, seen, drafts } from '../json.js';
import { Form, idOf } from '../controls.js';
import { first } from '../form.js';
import { useStore, describe, textOf, call, toast, change } from '../store.js';
import { ask } from '../api.js';
import { Code, Enter, More, Tabs, clock, narrow, recall, remember, time } from '../view.js';
import * as sets from '../sets.js';
import { Answer, Rounds, Spoken, faultsOf } from './result.js';
import { Questions } from './question.js';
import { traits } from './overview.js';

// promptSchema is the schema of a prompt's arguments, which are texts.
function promptSchema(listed) {
  const args = listOf(listed, 'arguments').filter(a => typeof get(a, 'name') === 'string');
  const properties = new Map(args.map(a => [get(a, 'name'), new Map([['type', 'string'], ...(get(a, 'title') ? [['title', get(a, 'title')]] : []), ...(get(a, 'description') ? [['description', get(a, 'description')]] : [])])]));
  return new Map([['type', 'object'], ['properties', properties], ['required', args.filter(a => get(a, 'required') === true).map(a => get(a, 'name'))]]);
}

// useKept keeps the values that are filled in on one screen. They survive a reload, except secret
// fields.
export function useKept(key, schema) {
  const [value, setValue] = useState(() => load(key, schema));
  const latest = useRef();
  latest.current = value;
  const keep = next => {
    latest.current = next;
    setValue(next);
    remember(key, write(sets.withoutSecrets(next)));
  };
  return [value, keep, latest];
}

const load = (key, schema, given) => parsed(given) ?? recall(key) ?? first(schema, schema) ?? new Map();

// useCompletion asks the server for values of an argument while the user types.
export function useCompletion(reference, value) {
  const s = useStore();
  const [found, setFound] = useState(new Map()); // by argument
  const timer = useRef();
  if (!reference || !s.about?.complete) return undefined;
  const context = value instanceof Map ? Object.fromEntries([...value].filter(([, v]) => typeof v === 'string')) : {};
  return name => ({
    values: found.get(name) ?? [],
    ask: text => {
      clearTimeout(timer.current);
      const mine = timer.current = setTimeout(async () => {
        const answer = await ask('POST', 'complete', { ...reference, argument: name, value: text, context }).then(r => r.json()).catch(() => ({ values: [] }));
        if (timer.current === mine) setFound(old => new Map([...old, [name, answer.values]])); // else the user has typed on
      }, 150);
    },
  });
}

// mayDestroy says that a press of Call needs a second one: what is not marked may destroy.
const mayDestroy = offer => get(offer.listed, 'annotations', 'readOnlyHint') !== true && get(offer.listed, 'annotations', 'destructiveHint') !== false;

const methods = { tools: 'tools/call', prompts: 'prompts/get' };

export function Tool({ kind, name, given }) {
  const s = useStore();
  const offer = describe(kind, name);
  if (!s.offers) return html`<div class="pad"><span class="sk"></span><span class="sk w60"></span></div>`;
  const asking = s.calls.find(c => c.name === name && c.method === methods[kind] && s.questions.some(q => q.call === c.id)); // of a call from before the list changed
  if (!offer) return html`<div class="pad"><div class="empty"><h1>There is no ${kind === 'tools' ? 'tool' : 'prompt'} of this name</h1><p>The server does not list <span class="mono">${seen(name)}</span> for this user at this revision.</p><a class="btn" href="#/">Overview</a></div>
    <${Questions} questions=${s.questions.filter(q => q.call && q.call === asking?.id)} tool=${name}/></div>`;
  return html`<${Screen} kind=${kind} offer=${offer} given=${given} key=${kind + name}/>`;
}

// Head says what the tool is. Inside, it has its source line and its chain.
const Head = ({ kind, offer }) => html`<div class="head"><div class="row"><h1 class="name">${label(offer.name)}</h1><span class="q">${seen(textOf(offer, 'title') || textOf(offer, 'annotations', 'title'))}</span></div>
      <p class="lead wrapped">${seen(textOf(offer, 'description'))}</p>
      <div class="tags s">${kind === 'tools' && traits(offer).map(t => html`<span class=${'tag' + (t === 'destructive' ? ' warn' : '')}>${t}</span>`)}<span class="tag">about ${offer.tokens} tokens</span>
        ${offer.inside?.where && html`<span class="tag mono">${offer.inside.where}</span>`}</div>
      ${offer.inside?.chain && html`<details><summary class="s q">Chain of ${offer.inside.chain.length} steps</summary><ol class="chain s">${offer.inside.chain.map(c => html`<li><span class="mono">${c.name}</span> <span class="f">${c.phase ?? c.origin}</span></li>`)}</ol></details>`}</div>`;

function Screen({ kind, offer, given }) {
  const s = useStore(), method = methods[kind];
  const schema = useMemo(() => kind === 'tools' ? get(offer.listed, 'inputSchema') ?? new Map() : promptSchema(offer.listed), [offer]);
  const key = `kagami-${s.about?.where}-${kind}-${offer.name}`;
  const [value, keep, latest] = useKept(key, schema);
  const [view, setView] = useState(0);
  const [text, setText] = useState(null); // of the JSON view, while it does not parse
  const [filled, setFilled] = useState(0); // grows when the arguments are replaced, so that the fields start again
  const [typing, setTyping] = useState([]); // faults that keep it from being sent
  const [armed, setArmed] = useState(false);
  const [chosen, setChosen] = useState(''); // an earlier call that is looked at
  const looks = useRef(0); // how often the user has chosen one
  const made = useRef(0); // calls of this screen
  const support = get(offer.listed, 'execution', 'taskSupport');
  const [asTask, setAsTask] = useState(recall(key + '-task') === true);
  useLayoutEffect(() => { if (support === 'required') setAsTask(true); }, [support]); // also when the revision changes
  // At 2025-11-25 a tool has to say that it can be a task. Later, the server decides it with each call.
  const task = kind === 'tools' && s.about?.tasks && (support ? support !== 'forbidden' : s.about.revision !== '2025-11-25');
  const mine = s.calls.filter(c => c.method === method && c.name === offer.name).slice(0, 50);
  const ofSet = sets.ofTool(method, offer.name);
  const current = mine.find(c => c.id === chosen) ?? mine[0];
  const questions = s.questions.filter(q => q.call && q.call === current?.id);
  const complete = useCompletion(kind === 'prompts' ? { prompt: offer.name } : null, value);
  const sent = useRef({}); // the last call and its arguments, with the secrets that are masked in current
  const same = current && (sent.current.id === current.id ? sent.current.args : write(current.arguments)) === write(value);
  const faults = typing.length ? typing : same && current.phase !== 'sent' ? faultsOfCall(s, current) : [];
  const shape = get(offer.listed, 'outputSchema');
  const easy = !mayDestroy(offer) || kind === 'prompts' || made.current >= 2;

  const set = next => { setTyping([]); setArmed(false); keep(next); };
  const fill = next => { setText(null); setFilled(filled + 1); set(next); };
  const send = async args => {
    if (text !== null) return toast('The JSON does not parse yet');
    const wrong = drafts(args);
    setTyping(wrong.map(f => ({ path: f.path, text: f.want })));
    if (wrong.length) return;
    if (!easy && !armed) return setArmed(true);
    made.current++;
    setArmed(false);
    try {
      const before = looks.current, body = write(args), id = await call(method, offer.name, body, task && asTask ? { task: true } : {});
      sent.current = { id, args: body };
      if (looks.current === before) setChosen(id); // the user may have chosen an earlier call meanwhile
    } catch (e) { toast(e.message); }
  };
  const tryThis = args => {
    fill(args);
    toast('Filled in: press Call');
    requestAnimationFrame(() => [...document.querySelectorAll('[data-call]')].find(b => b.offsetParent)?.focus());
  };
  useLayoutEffect(() => { // once: what the user changes afterwards counts, also after a reload
    if (!given) return;
    fill(load(key, schema, given));
    const [route] = s.route.split('?');
    history.replaceState(null, '', route);
    change({ route });
  }, [given]);
  const goTo = path => (document.getElementById(idOf(path)) ?? document.getElementById(idOf(path) + '-l')?.parentNode.querySelector('input, select, textarea, button'))?.focus();
  useLayoutEffect(() => { // with the drawing: a key that comes right after it must not meet the state of before
    const keys = e => {
      if (e.type === 'call') return send(latest.current);
      if (e.type === 'keep') return sets.keep(method, offer.name, mine);
    };
    const kinds = ['call', 'keep'];
    for (const kind of kinds) document.addEventListener(kind, keys);
    return () => { for (const kind of kinds) document.removeEventListener(kind, keys); };
  });
  const server = useRef();
  useEffect(() => { // the answer is below the form on a narrow screen, and may be above the window on any
    if (chosen && !questions.length) server.current.scrollIntoView({ block: narrow() ? 'start' : 'nearest' });
  }, [chosen, current?.phase, questions.length, s.results.get(current?.id)]);
  const word = kind === 'prompts' ? 'Get' : armed ? 'Call: may destroy' : 'Call';
  return html`<div class="mirror"><${Head} kind=${kind} offer=${offer}/>
    <section class="side" aria-label="What you say"><div class="cap"><b>You</b><${Tabs} names=${['Form', 'JSON']} at=${view} onChange=${i => text === null ? setView(i) : toast('The JSON does not parse yet')} label="Input as"/></div>
      <form onSubmit=${e => { e.preventDefault(); send(latest.current); }} novalidate>
      ${view === 0 ? html`<${Form} key=${filled} schema=${schema} value=${value} onChange=${set} faults=${faults} complete=${complete}/>` : html`<${Raw} key=${filled} value=${value} text=${text} setText=${setText} onChange=${set}/>`}
      ${task && html`<label class="opt"><input type="checkbox" checked=${asTask} onChange=${e => { setAsTask(e.target.checked); remember(key + '-task', String(e.target.checked)); }}/> As a task</label>`}
      <div class="go"><button class="btn p hide-s" data-call type="submit">${word} <${Enter}/></button>
        <button class="btn t" type="button" onClick=${() => fill(first(schema, schema) ?? new Map())}>Reset</button>
        ${current && html`<button class="btn t end" type="button" onClick=${() => change({ sheet: current.id })}>Copy as…</button>`}</div></form>
      <${Questions} questions=${questions} tool=${offer.name}/>
      <details class="schema"><summary class="s q">Schema and limits</summary><${Code} value=${schema} label="Input schema"/>${shape && html`<p class="s q">What it returns</p><${Code} value=${shape} label="Output schema"/>`}</details></section>
    <section class="side" data-current=${current?.id} aria-label="What the server says"><div class="cap" ref=${server}><b>Server</b>${current && html`<span class="end s f">${current.revision}</span><a class="s" href=${'#/compare/' + current.id}>Compare revisions</a>`}</div><${Spoken} call=${current}/>
      ${current ? html`<${Answer} call=${current} schema=${shape} asked=${questions.length > 0} onTry=${tryThis} onGo=${goTo}/><${Rounds} rounds=${current.rounds} running=${current.phase === 'sent'}/><${Logs} call=${current} logs=${s.logs}/>` : html`<div class="empty"><h2>Nothing asked yet</h2><p>${shape ? 'The answer will have these members:' : 'The answer appears here.'}</p>
        <dl class="kv">${entriesOf(shape, 'properties').slice(0, 12).map(([k, v]) => html`<dt>${seen(k)}</dt><dd class="q">${seen(get(v, 'description') ?? [get(v, 'type') ?? ''].flat().join(' or '))}</dd>`)}</dl></div>`}
      ${ofSet.length > 0 && html`<${OfSet} name=${s.set.name} calls=${ofSet} onUse=${tryThis}/>`}
      <${Earlier} calls=${mine} current=${current} asking=${s.questions.map(q => q.call)} onKeep=${() => sets.keep(method, offer.name, mine)} onLook=${id => { looks.current++; setChosen(id); }} onAgain=${async c => {
          const args = sets.unmasked(c.arguments), secret = args.size < c.arguments.size;
          fill(args);
          if (secret) toast('Filled in but for the secrets: press Call');
          else if (easy) await sendAgain(c, method, offer, setChosen);
          else toast('Filled in: press Call');
        }}/></section>
    ${questions.length === 0 && html`<div class="callbar only-s"><button class="btn p" data-call onClick=${() => send(latest.current)}>${word}</button></div>`}</div>`;
}

async function sendAgain(c, method, offer, setChosen) {
  try { setChosen(await call(method, offer.name, write(c.arguments), c.task ? { task: true } : {})); } catch (e) { toast(e.message); }
}

function faultsOfCall(s, c) {
  const got = s.results.get(c.id);
  return got ? faultsOf(c.phase === 'error' ? got.error : got.result).faults : [];
}

function Raw({ value, text, setText, onChange }) {
  const [fault, setFault] = useState('');
  const typed = t => {
    try {
      onChange(parse(t));
      setText(null);
      setFault('');
    } catch (e) { setText(t); setFault(e.message); }
  };
  const [own, setOwn] = useState(null);
  return html`<div class="field"><label for="json">arguments <span class="t">JSON</span></label>
    <textarea class="in mono" id="json" rows="12" spellcheck=${false} aria-invalid=${fault ? 'true' : undefined} value=${own ?? text ?? write(value, 2)} onInput=${e => { setOwn(e.target.value); typed(e.target.value); }} onBlur=${() => !fault && setOwn(null)}></textarea>
    ${fault && html`<p class="err">${fault}</p>`}</div>`;
}

const fine = c => c.phase === 'result' && !c.isError;

// Brief is the begin of arguments, which may be large.
const Brief = ({ args }) => useMemo(() => seen(write(args).slice(0, 200)), [args]);

function Earlier({ calls, current, asking, onKeep, onLook, onAgain }) {
  return html`<div class="calls"><div class="cap"><h2>Earlier calls</h2><span class="end">${calls.length > 0 && html`<button class="btn t s" onClick=${onKeep}>Keep as a set</button>`}<button class="btn t s" onClick=${sets.open}>Open a set</button></span></div>${calls.length > 0 && html`<ol>${calls.map(c => html`<li key=${c.id} class=${c.id === current?.id ? 'sel' : ''}><time class="f num">${clock(c.at)}</time>
    <span class=${c.phase === 'sent' ? '' : fine(c) ? 'ok' : 'bad'} aria-label=${c.phase}>${c.phase === 'sent' ? '…' : fine(c) ? '✓' : '!'}</span>
    <button class="plainbtn mono" onClick=${() => onLook(c.id)}><${Brief} args=${c.arguments}/></button><span class="num f">${time(c.ms)}</span>${asking.includes(c.id) ? html`<button class="plainbtn acc" onClick=${() => onLook(c.id)}>asks</button>` : html`<button class="plainbtn acc" onClick=${() => onAgain(c)}>Again</button>`}</li>`)}</ol>`}</div>`;
}

const page = 50;

// OfSet are the calls of an open set. A press fills the form and never calls: the file may be a stranger's.
function OfSet({ name, calls, onUse }) {
  const [n, setN] = useState(page);
  return html`<div class="calls set"><div class="cap"><h2>Set <span class="mono">${seen(name)}</span></h2><button class="btn t s end" onClick=${sets.close}>Close the set</button></div>
    <ol>${calls.slice(0, n).map(c => html`<li><button class="plainbtn" onClick=${() => onUse(c.arguments)}><code><${Brief} args=${c.arguments}/></code><span class="plainbtn acc">Fill in</span></button></li>`)}</ol>
    <${More} of=${calls.length} n=${n} setN=${setN} step=${page}/></div>`;
}

function Logs({ call: c, logs }) {
  const mine = logs.filter(l => new Date(l.at) >= new Date(c.at) && (c.phase === 'sent' || new Date(l.at) <= new Date(c.at).getTime() + c.ms + 50));
  if (!mine.length) return null;
  return html`<details class="logs"><summary class="s q">${mine.length} log messages</summary><ul class="plain">${mine.map(l => html`<li class="s"><span class="f">${seen(l.level)}</span> <span class="mono wrapped">${seen(l.text)}</span></li>`)}</ul></details>`;
}
