// Sets of calls: a file keeps the arguments of calls, so that they can be used again.
import { Draft, parse, write, get, seen } from './json.js';
import { store, change, hides, toast } from './store.js';
import { plural } from './form.js';
import { remember, save } from './view.js';

const format = '1', methods = ['tools/call', 'prompts/get'], ending = '.calls.json';
const largest = 1 << 20; // bytes of a file
const place = 'kagami-set' + location.pathname; // the address of the page belongs to one server

const dropped = v => v instanceof Draft || typeof v === 'string' && v.length > largest;

// withoutSecrets is a value without secret members, at any depth, without drafts, which would become
// texts, and without large files. also are the names of further secrets.
export function withoutSecrets(value, also = []) {
  const rest = v => withoutSecrets(v, also);
  if (Array.isArray(value)) {
    const end = value.findIndex(dropped); // what follows would come to another place
    return (end < 0 ? value : value.slice(0, end)).map(rest);
  }
  if (dropped(value)) return new Map();
  if (!(value instanceof Map)) return value;
  return new Map([...value].filter(([name, v]) => !hides(name) && !also.includes(name) && !dropped(v)).map(([name, v]) => [name, rest(v)]));
}

// unmasked are arguments without those whose secret was masked.
export const unmasked = args => new Map([...args].filter(([, v]) => !write(v).includes('•••')));

// read returns the calls of a file. It throws an error if the file is not a set.
function read(text) {
  const all = parse(text), calls = get(all, 'calls');
  if (String(get(all, 'kagamiCalls')) !== format || !Array.isArray(calls)) throw new Error('it is not a set of calls');
  return calls.map((c, i) => {
    const [method, name, args = new Map()] = ['method', 'name', 'arguments'].map(member => get(c, member));
    if (!methods.includes(method) || typeof name !== 'string' || !(args instanceof Map)) throw new Error(`call ${i + 1} is not a call of a tool or prompt`);
    return { method, name, arguments: args };
  });
}

const text = calls => `{"kagamiCalls": ${format}, "calls": [\n` + calls.map(c => '  ' + write(new Map(Object.entries(c)))).join(',\n') + '\n]}\n';

// ofTool are the calls of the open set that a screen can use.
export const ofTool = (method, name) => store.set?.calls.filter(c => c.method === method && c.name === name) ?? [];

// keep writes a file with the calls of a tool: those of the open set, then the earlier ones, each once.
export function keep(method, name, earlier) {
  const news = earlier.map(c => ({ method, name, arguments: withoutSecrets(unmasked(c.arguments)) })).reverse();
  const calls = [...new Map([...ofTool(method, name), ...news].map(c => [write(c.arguments), c])).values()];
  if (!calls.length) return toast('There are no calls to keep yet');
  save(name.replace(/[^\w.-]+/g, '-') + ending, new Blob([text(calls)], { type: 'application/json' }));
  toast(`Kept ${plural(calls.length, 'call')}: look in your downloads`);
}

// show makes a set the open one. It survives a reload, and secret arguments do not.
function show(set) {
  if (set) remember(place, JSON.stringify({ name: set.name, text: text(set.calls.map(c => ({ ...c, arguments: withoutSecrets(c.arguments) }))) }));
  else sessionStorage.removeItem(place);
  change({ set });
}

export const close = () => show(null);

// open lets the user choose a file, and shows its calls on the screens of their tools.
export function open() {
  const field = document.createElement('input');
  field.type = 'file';
  field.accept = '.json,application/json';
  field.addEventListener('change', async () => {
    const [file] = field.files;
    if (!file) return;
    try {
      if (file.size > largest) throw new Error('it is larger than 1 MB');
      const set = { name: file.name.replace(/(\.calls)?\.json$/, ''), calls: read(await file.text()) };
      show(set);
      toast(summary(set));
    } catch (e) { toast(`This file cannot be opened: ${e.message}`); }
  });
  field.click();
}

// summary says which tools a set is for.
function summary({ name, calls }) {
  const names = [...new Set(calls.map(c => c.name))];
  return `${name}: ${plural(calls.length, 'call')} of ${names.slice(0, 3).map(seen).join(', ') || 'no tool'}${names.length > 3 ? ', …' : ''}`;
}

try {
  const kept = JSON.parse(sessionStorage.getItem(place));
  if (kept) store.set = { name: kept.name, calls: read(kept.text) };
} catch { /* kept by another version of the page */ }
