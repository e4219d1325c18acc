// The controls of a form. Each shows one value, and gives the next one to onChange: undefined
// takes it out, so that what was left alone is not sent.
import { html, useState, useRef } from './vendor/preact.js';
import { plan, first, fits, isOf } from './form.js';
import { hides } from './store.js';
import { Num, Draft, parse, write, get, entriesOf, same, seen, label, under } from './json.js';

// idOf is the id of the field at a path. No two paths have the same.
export const idOf = path => 'f' + path.replace(/[^A-Za-z0-9\u0080-\uffff]/g, c => c === '/' ? '_' : '-' + c.charCodeAt(0).toString(16).padStart(2, '0'));

// Field is a control with its name, its hint and its fault. room is how many fields may be drawn
// within it before anything was filled in.
function Field({ name, label: shown, schema, root, value, onChange, required, path, faults, depth = 0, complete, room = 500, secret = hides(name) }) {
  const p = plan(schema, root, depth);
  if (secret) mask(p);
  const id = idOf(path);
  const fault = faults.find(f => f.path === path);
  const hint = text(p.schema, 'description');
  const fallback = p.schema.get('default');
  const example = Array.isArray(p.schema.get('examples')) ? p.schema.get('examples')[0] : undefined;
  const words = seen([p.words, required ? 'required' : '', p.nullable ? 'or null' : '', text(p.schema, 'x-mcp-header') && `also sent as header Mcp-Param-${text(p.schema, 'x-mcp-header')}`, p.input === 'date' && fallback !== undefined && `${named(fallback)} is the default`].filter(Boolean).join(', '));
  const grouped = ['object', 'array', 'map', 'union', 'tuple'].includes(p.kind) || p.kind === 'choice' && p.choices.length <= 5 || p.kind === 'boolean';
  const described = [hint && id + '-h', fault && id + '-e'].filter(Boolean).join(' ') || undefined;
  const props = { p, root, value, onChange, id, path, faults, depth, required, described, invalid: fault ? 'true' : undefined, fallback, example, complete, room };
  const head = html`${p.schema.get('deprecated') === true ? html`<s>${label(name)}</s>` : label(shown ?? name)}${text(p.schema, 'title') && html` <span class="ttl">${text(p.schema, 'title')}</span>`}`;
  return html`<div class="field" role=${grouped ? 'group' : undefined} aria-labelledby=${grouped ? id + '-l' : undefined} aria-describedby=${grouped ? described : undefined}>
    ${grouped ? html`<div class="lab" id=${id + '-l'}>${head}<span class="t">${words}</span></div>` : html`<label for=${id} id=${id + '-l'}>${head}<span class="t">${words}</span></label>`}
    ${hint && html`<p class="hint" id=${id + '-h'}>${hint}</p>`}
    <${Control} ...${props}/>
    ${fault && html`<p class="err" id=${id + '-e'}>${seen(fault.text)}</p>`}
  </div>`;
}

// mask makes a control show no text that is typed.
const mask = p => Object.assign(p, { secret: true }, (p.kind === 'text' || p.kind === 'box') && { kind: 'text', input: 'password' });

const text = (schema, name) => { const v = get(schema, name); return typeof v === 'string' ? seen(v) : ''; };
const bare = v => typeof v === 'string' ? v : v === undefined ? '' : v instanceof Draft ? v.text : write(v);

// named is like bare, but shows an empty text as quotes.
const named = v => v === '' ? '""' : bare(v);

// foreign says that a control cannot show a value. An empty text may be a new row of a list.
const foreign = (p, v) => v !== undefined && !(v instanceof Draft) && (v !== '' || ['array', 'object', 'map'].includes(p.kind)) && !isOf(p, v);

const Given = ({ p, value }) => html`<code class="wrapped">${p.secret ? '•••' : seen(write(value))}</code>`;

function Control(props) {
  const { p, value, onChange } = props;
  if (p.nullable && value === null || foreign(p, value)) {
    return html`<div class="row"><${Given} ...${props}/><button type="button" class="btn t" onClick=${() => onChange(undefined)}>Fill in instead</button></div>`;
  }
  const Kind = kinds[p.kind] ?? Raw;
  return html`<${Kind} ...${props}/>${p.nullable && html`<button type="button" class="btn t s" onClick=${() => onChange(null)}>Send null</button>`}`;
}

// hintOf is what an empty field says.
const hintOf = ({ fallback, example }) => fallback !== undefined ? `${seen(named(fallback))}, the default` : example !== undefined ? `such as ${seen(named(example))}` : '';

// isDate says that a date field shows a text. It has no value for other texts.
const isDate = text => Object.assign(document.createElement('input'), { type: 'date', value: text }).value === text;

function Text(props) {
  const { p, value, onChange, id, described, invalid, complete } = props;
  const lines = useRef(false); // once there, a text area stays
  lines.current ||= p.kind === 'box' || p.input === 'text' && bare(value).includes('\n');
  // An input drops line breaks, so a pasted text is taken as it is. In a list its lines become rows.
  const onPaste = e => {
    const at = e.target, more = (e.clipboardData?.getData('text') ?? '').replace(/\r\n?/g, '\n');
    if (lines.current || !more.includes('\n') || !['text', 'password'].includes(p.input) || at.closest('li')?.dataset.rows) return;
    e.preventDefault();
    onChange(at.value.slice(0, at.selectionStart) + more + at.value.slice(at.selectionEnd));
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  };
  const common = {
    id, name: id, class: 'in', value: bare(value), placeholder: hintOf(props), 'aria-describedby': described, 'aria-invalid': invalid, autocomplete: 'off', spellcheck: false, onPaste,
    onInput: e => { onChange(e.target.value === '' ? undefined : e.target.value); complete?.ask(e.target.value); },
  };
  if (lines.current) return html`<textarea rows="4" ...${common}></textarea>`;
  const type = p.input === 'date' && !isDate(bare(value)) ? 'text' : p.input; // a date field would hide it
  return html`<input type=${type} list=${complete?.values.length ? id + '-c' : undefined} ...${common}/>
    ${complete?.values.length > 0 && html`<datalist id=${id + '-c'}>${complete.values.map(v => html`<option value=${v}/>`)}</datalist>`}
    ${value === undefined && props.required && html`<button type="button" class="btn t s on-focus" onClick=${() => onChange('')}>Send empty text</button>`}
    ${value === '' && html`<span class="s f">sent as empty text</span>`}`;
}

const numberText = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const numberOf = typed => numberText.test(typed.trim()) ? new Num(typed.trim()) : new Draft(typed.trim(), 'This is no number.');
function Numeric(props) {
  const { p, value, onChange, id, described, invalid } = props;
  const set = typed => onChange(typed.trim() === '' ? undefined : numberOf(typed));
  const input = html`<input class="in num" id=${id} name=${id} inputmode=${p.whole ? 'numeric' : 'decimal'} value=${bare(value)} placeholder=${p.slider ? bare(props.fallback) : hintOf(props)}
    aria-describedby=${described} aria-invalid=${invalid} autocomplete="off" onInput=${e => set(e.target.value)}/>`;
  if (!p.slider) return input;
  const at = [value, props.fallback].find(v => v instanceof Num)?.text ?? p.min;
  return html`<div class="range"><input type="range" min=${p.min} max=${p.max} step=${p.step} value=${at} aria-labelledby=${id + '-l'} onInput=${e => set(e.target.value)}/>${input}</div>`;
}

function YesNo(props) {
  const { value, onChange, id, fallback, required } = props;
  if (fallback !== undefined && typeof fallback === 'boolean') {
    return html`<label class="opt"><input type="checkbox" id=${id} checked=${value ?? fallback} onChange=${e => onChange(e.target.checked === fallback ? undefined : e.target.checked)}/> yes <span class="f s">${fallback ? 'yes' : 'no'} is the default</span></label>`;
  }
  const options = [[true, 'yes'], [false, 'no'], ...(required ? [] : [[undefined, 'leave out']])];
  return html`<div class="opts">${options.map(([v, word], i) => html`<label class="opt"><input type="radio" id=${i ? `${id}-${i}` : id} name=${id} checked=${value === v && (v !== undefined || !required)} onChange=${() => onChange(v)}/> ${word}</label>`)}</div>`;
}

// titles returns the labels of choices. It writes the quotes of a text that is empty or looks like
// another choice.
function titles(choices) {
  const alike = new Map();
  for (const { value } of choices) alike.set(bare(value), (alike.get(bare(value)) ?? 0) + 1);
  return choices.map(c => seen(c.title || (alike.get(bare(c.value)) > 1 ? write(c.value) : named(c.value))));
}

function Choice(props) {
  const { p, value, onChange, id, fallback, required, described, invalid } = props;
  const at = p.choices.findIndex(c => same(c.value, value));
  const labels = titles(p.choices);
  if (labels.length <= 5 && labels.every(label => label.length <= 40)) {
    const options = p.choices.map((c, i) => same(c.value, fallback) ? { value: undefined, also: c.value, word: labels[i], note: 'the default' } : { value: c.value, word: labels[i], note: c.title ? bare(c.value) : '' });
    if (!required && fallback === undefined) options.push({ value: undefined, word: 'leave out' });
    return html`<div class="opts">${options.map((o, i) => html`<label class="opt"><input type="radio" id=${i ? `${id}-${i}` : id} name=${id} checked=${o.value === undefined ? value === undefined || same(o.also, value) : same(o.value, value)} onChange=${() => onChange(o.value)}/> ${o.word}${o.note && html` <span class="f s">${seen(o.note)}</span>`}</label>`)}</div>`;
  }
  return html`<select class="in" id=${id} name=${id} aria-describedby=${described} aria-invalid=${invalid} onChange=${e => onChange(e.target.value === '' ? undefined : p.choices[Number(e.target.value)].value)}>
    <option value="" selected=${at < 0}>${fallback === undefined ? '' : `${seen(named(fallback))}, the default`}</option>
    ${p.choices.map((c, i) => html`<option value=${i} selected=${i === at}>${labels[i]}${c.title ? ` (${seen(bare(c.value))})` : ''}</option>`)}</select>`;
}

const largest = 4 << 20;
function File(props) {
  const { value, onChange, id, described } = props;
  const [name, setName] = useState('');
  const [fault, setFault] = useState('');
  const take = async file => {
    if (!file) return;
    if (file.size > largest) return setFault('The file is larger than 4 MB.');
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = '';
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    setFault('');
    setName(`${file.name}, ${file.size} bytes`);
    onChange(btoa(text));
  };
  return html`<div class="drop" onDragOver=${e => e.preventDefault()} onDrop=${e => { e.preventDefault(); take(e.dataTransfer.files[0]); }}>
      <input type="file" id=${id} aria-describedby=${described} onChange=${e => take(e.target.files[0])}/>${value !== undefined && html`<button type="button" class="btn t" onClick=${() => { document.getElementById(id).value = ''; setName(''); onChange(undefined); }}>Remove</button>`}</div>
    ${name && html`<p class="s q">${name}</p>`}${fault && html`<p class="err">${fault}</p>`}
    <details><summary class="s q">As base64</summary><textarea class="in mono" rows="2" aria-label="base64" value=${bare(value)} onInput=${e => onChange(e.target.value || undefined)}></textarea></details>`;
}

const Constant = ({ p, id, value, onChange, required }) => html`<div class="row"><code id=${id}>${seen(write(p.value))}</code>
    ${value === undefined ? html`<span class="s f">not sent</span><button type="button" class="btn t s" onClick=${() => onChange(p.value)}>Send it</button>` : !required && html`<button type="button" class="btn t s" onClick=${() => onChange(undefined)}>Leave out</button>`}</div>`;

// Raw takes JSON, and bare words as text.
function Raw(props) {
  const { p, value, onChange, id, described, invalid } = props;
  const [draft, setDraft] = useState(null);
  const [fault, setFault] = useState('');
  const typed = t => {
    setDraft(t);
    if (!t.trim()) { setFault(''); return onChange(undefined); }
    try { onChange(parse(t)); setFault(''); } catch (e) {
      if (/^[\p{L}][\p{L}\p{N} _.-]*$/u.test(t.trim())) { setFault(''); return onChange(t.trim()); }
      setFault(e.message);
      onChange(new Draft(t, e.message));
    }
  };
  const common = {
    class: 'in mono', id, name: id, 'aria-describedby': described, 'aria-invalid': fault ? 'true' : invalid, autocomplete: 'off', spellcheck: false, placeholder: hintOf(props),
    value: draft ?? (value === undefined ? '' : value instanceof Draft ? value.text : write(value, 2)), onInput: e => typed(e.target.value), onBlur: () => !fault && setDraft(null),
  };
  return html`${p.secret ? html`<input type="password" ...${common}/>` : html`<textarea rows="3" ...${common}></textarea>`}
    ${fault && html`<p class="err">${fault}</p>`}
    ${p.schema.size > 0 && html`<details><summary class="s q">Its schema</summary><pre class="code wrap" tabindex="0">${seen(write(p.schema, 2)).slice(0, 20000)}</pre></details>`}`;
}

const replaced = (map, name, value) => {
  const next = new Map(map instanceof Map ? map : []);
  if (value === undefined) next.delete(name);
  else next.set(name, value);
  return next;
};

function Group(props) {
  const { p, root, value, onChange, path, faults, depth, required, complete, answer, room = 500 } = props;
  const [wide, setWide] = useState(false); // the user wants to see a group of very many fields
  const isOpen = value instanceof Map, tooWide = room < p.fields.length;
  if (depth > 0 && (isOpen ? tooWide && !value.size && !wide : tooWide || !required)) return html`<button type="button" class="btn t" onClick=${() => { setWide(true); if (!isOpen) onChange(first(p.schema, root, depth) ?? new Map()); }}>+ Fill in</button>`;
  const known = p.fields.map(f => f.name);
  const others = isOpen ? [...value].filter(([k]) => !known.includes(k)) : [];
  return html`<div class=${depth > 0 ? 'nest' : ''}>
    ${p.fields.map(f => html`<${Field} key=${f.name} name=${f.name} label=${answer && known.length === 1 && f.name === 'value' ? 'Answer' : undefined} schema=${f.schema} root=${root} required=${f.required} path=${under(path, f.name)} faults=${faults} depth=${depth + 1} room=${room / p.fields.length}
      value=${isOpen ? value.get(f.name) : undefined} onChange=${v => onChange(replaced(value, f.name, v))} complete=${complete?.(f.name)}/>`)}
    ${p.rest ? html`<div class="field" role="group" aria-label="Other members"><div class="lab">other members<span class="t">names and values</span></div>
      <${Pairs} p=${{ items: p.rest }} root=${root} taken=${entriesOf(p.schema, 'properties').map(([k]) => k)} value=${new Map(others)} path=${path} faults=${faults} depth=${depth} onChange=${next => onChange(new Map([...(isOpen ? value : [])].filter(([k]) => known.includes(k)).concat([...(next ?? [])])))}/></div>`
    : others.map(([k, v]) => html`<div class="field"><div class="lab">${label(k)}<span class="t">not in the schema</span></div><div class="row"><${Given} p=${{ secret: hides(k) }} value=${v}/><button type="button" class="btn t s" onClick=${() => onChange(replaced(value, k))}>Take out</button></div>
      ${faults.filter(f => f.path === under(path, k)).map(f => html`<p class="err">${seen(f.text)}</p>`)}</div>`)}
    ${p.conditions.map(c => html`<p class="s q">${seen(c)}</p>`)}
    ${depth > 0 && isOpen && !required && html`<button type="button" class="btn t s" onClick=${() => onChange(undefined)}>Leave out</button>`}</div>`;
}

// blank is a new element of a list or map: of the right type, or a text if the user has to choose.
const blank = (schema, root, depth) => first(schema, root, depth) ?? ({ object: new Map(), array: [], map: new Map() })[plan(schema, root, depth).kind] ?? '';

// emptied is the same for an element that was emptied. The shape that was chosen for it stays.
const emptied = (schema, root, depth) => plan(schema, root, depth).kind === 'union' ? '' : blank(schema, root, depth);

function Items(props) {
  const { p, root, value, onChange, path, faults, depth } = props;
  if (p.choices && p.choices.length <= 12) return html`<${Several} ...${props}/>`;
  const all = Array.isArray(value) ? value : [];
  const ids = useRef([]).current, last = useRef(0); // of the rows, which keep what they show when they change places
  while (ids.length < all.length) ids.push(++last.current);
  const give = next => onChange(next.length ? next : undefined);
  const remove = (i, rows) => {
    ids.splice(i, 1);
    give(all.filter((_, at) => at !== i));
    requestAnimationFrame(() => (rows.children[i] ?? rows.lastElementChild)?.lastElementChild.focus());
  };
  const set = (i, v) => give(all.map((old, at) => at === i ? v === undefined ? emptied(p.items, root, depth + 1) : v : old));
  const move = (i, step) => {
    const next = [...all], j = i + step;
    if (j < 0 || j >= next.length) return;
    [next[i], next[j]] = [next[j], next[i]];
    [ids[i], ids[j]] = [ids[j], ids[i]];
    const focused = document.activeElement;
    give(next);
    requestAnimationFrame(() => focused.focus()); // a row that moves in the document loses it
  };
  const kind = plan(p.items, root, depth + 1).kind, scalar = !['object', 'array', 'map', 'union', 'tuple', 'file', 'json'].includes(kind);
  const paste = (i, e) => {
    const lines = e.clipboardData?.getData('text').split(/\r?\n/).filter(Boolean) ?? [];
    if (lines.length < 2) return;
    e.preventDefault();
    ids.splice(i + 1, 0, ...lines.slice(1).map(() => ++last.current));
    give([...all.slice(0, i), ...lines.map(line => kind === 'number' ? numberOf(line) : line), ...all.slice(i + 1)]);
  };
  return html`<ol class="items">${all.map((v, i) => html`<li key=${ids[i]} data-rows=${scalar || undefined} onKeyDown=${e => e.altKey && { ArrowUp: 1, ArrowDown: 1 }[e.key] && (e.preventDefault(), move(i, e.key === 'ArrowUp' ? -1 : 1))} onPaste=${e => scalar && paste(i, e)}>
      <div class="grow"><${Field} name=${String(i + 1)} schema=${p.items} secret=${p.secret} root=${root} required=${true} path=${path + '/' + i} faults=${faults} depth=${depth + 1} value=${v === '' && !scalar ? undefined : v} onChange=${x => set(i, x)}/></div>
      <button type="button" class="btn t" aria-label=${`Remove item ${i + 1}`} onClick=${e => remove(i, e.currentTarget.closest('ol'))}>×</button></li>`)}</ol>
    <div class="row"><button type="button" class="btn t" onClick=${() => onChange([...all, blank(p.items, root, depth + 1)])}>+ Add</button>
      ${value === undefined ? html`<button type="button" class="btn t s" onClick=${() => onChange([])}>Send an empty list</button>` : all.length === 0 && html`<${Empty} what="list" onChange=${onChange}/>`}</div>`;
}

const Empty = ({ what, onChange }) => html`<span class="s f">sent as an empty ${what}</span><button type="button" class="btn t s" onClick=${() => onChange(undefined)}>Leave out</button>`;

// Several are the items of a list that come from a few choices. What is not filled in shows the default.
function Several({ p, value, onChange, fallback, required }) {
  const all = [value, fallback].find(Array.isArray) ?? [], labels = titles(p.choices);
  const has = c => all.some(v => same(v, c.value));
  const give = next => onChange(next.length || required || fallback !== undefined ? next : undefined);
  return html`<div class="opts">${p.choices.map((c, i) => html`<label class="opt"><input type="checkbox" checked=${has(c)} onChange=${e => give(e.target.checked ? [...all, c.value] : all.filter(v => !same(v, c.value)))}/> ${labels[i]}</label>`)}</div>
    ${value === undefined && Array.isArray(fallback) && html`<span class="s f">the default</span>`}${value !== undefined && all.length === 0 && html`<div class="row"><${Empty} what="list" onChange=${onChange}/></div>`}`;
}

// Tuple has a place for each element. A place that is not filled in is null, and looks empty.
function Tuple({ p, root, value, onChange, path, faults, depth, room = 500 }) {
  const all = Array.isArray(value) ? value : [];
  if (value === undefined && room < p.places.length) return html`<button type="button" class="btn t" onClick=${() => onChange(p.places.map(() => null))}>+ Fill in</button>`;
  return html`<div class="nest">${p.places.map((s, i) => html`<${Field} name=${String(i + 1)} schema=${s} root=${root} required=${true} path=${path + '/' + i} faults=${faults} depth=${depth + 1} room=${room / p.places.length} value=${all[i] ?? undefined}
    onChange=${v => { const next = [...p.places.map((_, at) => all[at] ?? null), ...all.slice(p.places.length)]; next[i] = v ?? null; onChange(next); }}/>`)}</div>`;
}

// Pairs edits names and values. If it stands beside fields, taken has the names of the fields and of the members that only the server sets.
function Pairs({ p, root, value, onChange, path, faults, depth, taken }) {
  const all = value instanceof Map ? [...value] : [], union = plan(p.items, root, depth + 1).kind === 'union';
  const [name, setName] = useState('');
  const [refused, setRefused] = useState('');
  const add = () => {
    if (all.some(([k]) => k === name) || taken?.includes(name)) return setRefused(name);
    if (!name) return;
    onChange(new Map([...all, [name, blank(p.items, root, depth + 1)]]));
    setName('');
  };
  return html`<div class="nest">${all.map(([k, v]) => html`<div class="row pair" key=${k}><div class="grow"><${Field} name=${k} schema=${p.items} root=${root} required=${true} path=${under(path, k)} faults=${faults} depth=${depth + 1} value=${v === '' && union ? undefined : v} onChange=${x => onChange(new Map(all.map(([n, o]) => [n, n === k ? x === undefined ? emptied(p.items, root, depth + 1) : x : o])))}/></div>
      <button type="button" class="btn t" aria-label=${'Remove ' + label(k)} onClick=${() => onChange(all.length > 1 ? replaced(value, k) : undefined)}>×</button></div>`)}
    <div class="row"><input class="in grow" aria-label="Name of a new member" placeholder="name" value=${name} onInput=${e => setName(e.target.value)} onKeyDown=${e => !e.isComposing && e.key === 'Enter' && (e.preventDefault(), add())}/><button type="button" class="btn t" onClick=${add}>+ Add</button></div>
    ${refused && refused === name && html`<p class="err">This name cannot be added.</p>`}
    ${path && !taken && all.length === 0 && html`<div class="row">${value === undefined ? html`<button type="button" class="btn t s" onClick=${() => onChange(new Map())}>Send an empty object</button>` : html`<${Empty} what="object" onChange=${onChange}/>`}</div>`}</div>`; // the arguments themselves are always sent
}

function Union(props) {
  const { p, root, value, onChange, path, faults, depth, id } = props;
  const find = open => p.shapes.findIndex(s => fits(value, s.schema, root, open)), closed = find(false);
  const fitting = closed < 0 ? find(true) : closed;
  // What was chosen counts as long as the value can have that shape: the rows of a list change places.
  const chosen = useRef(-1), old = chosen.current;
  const at = chosen.current = p.shapes[old] && (fitting < 0 || value instanceof Draft || fits(value, p.shapes[old].schema, root)) ? old : fitting;
  const choose = i => {
    chosen.current = i;
    if (i < 0) return onChange(undefined);
    const begin = first(p.shapes[i].schema, root, depth);
    const names = plan(p.shapes[i].schema, root, depth).fields?.map(f => f.name) ?? [];
    onChange(begin instanceof Map && value instanceof Map ? new Map([...[...value].filter(([k]) => names.includes(k)), ...begin]) : begin);
  };
  const inner = at >= 0 && plan(p.shapes[at].schema, root, depth);
  if (inner && p.secret) mask(inner);
  const Kind = inner && (kinds[inner.kind] ?? Raw);
  return html`<select class="in" id=${id} aria-label="Shape" onChange=${e => choose(Number(e.target.value))}>
      <option value="-1" selected=${at < 0}>choose a shape</option>${p.shapes.map((s, i) => html`<option value=${i} selected=${i === at}>${seen(s.title)}</option>`)}</select>
    ${at < 0 && value !== undefined && html`<${Given} ...${props}/>`}
    ${inner && html`<div class="nest"><${Kind} key=${at} ...${props} p=${inner} id=${id + '-s'} depth=${Math.max(1, depth) + (inner.kind === 'union' ? 1 : 0)} required=${true} path=${path} faults=${faults}/></div>`}`;
}

const kinds = { text: Text, box: Text, number: Numeric, boolean: YesNo, choice: Choice, file: File, constant: Constant, object: Group, array: Items, tuple: Tuple, map: Pairs, union: Union, json: Raw };

// Form is the controls of a whole schema. Two forms on one screen have different scopes. The one
// member "value" of an answer has a word for a label, because the question says what it is.
export function Form({ schema, value, onChange, faults, complete, answer, scope = '' }) {
  const p = plan(schema);
  if (p.kind === 'object' && p.fields.length === 0 && p.conditions.length === 0 && !foreign(p, value) && !value?.size) return answer ? null : html`<p class="q">It takes no arguments.</p>`;
  if (p.kind === 'object' && !foreign(p, value)) return html`<${Group} p=${p} root=${schema} value=${value} onChange=${onChange} path=${scope} faults=${faults} depth=${0} required=${true} complete=${complete} answer=${answer}/>`;
  return html`<${Field} name="arguments" schema=${schema} root=${schema} value=${value} onChange=${v => onChange(v ?? new Map())} required=${true} path=${scope} faults=${faults} depth=${1}/>`;
}
