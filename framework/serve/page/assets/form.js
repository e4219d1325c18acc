// plan reads a JSON Schema and says by which control a value is filled in. It is pure: the
// controls are drawn by controls.js. What it does not understand becomes a field for JSON.
import { Num, decoded, get, listOf, entriesOf, same, write } from './json.js';

const deepest = 8;
const largest = 256 << 10;
const steps = 500; // of one schema, which may refer to itself many times

// plan returns {kind, schema, words, ...}. Kinds: text, box, number, boolean, choice, file,
// array, tuple, object, map, union, constant, json.
export function plan(schema, root = schema, depth = 0) {
  if (schema === true || schema === undefined) return json(new Map(), 'any value');
  if (schema === false) return json(new Map(), 'no value is allowed here');
  if (!(schema instanceof Map)) return json(new Map(), 'the schema is no object');
  if (depth === 0 && write(schema).length > largest) return json(schema, 'the schema is larger than 256 KB');
  if (depth > deepest) return json(schema, 'nested more than eight levels');
  const s = resolve(schema, root);
  if (!s) return json(schema, 'the schema refers to another document, or to itself without end');
  const base = { schema: s, root, depth, nullable: false };
  const { types, nullable } = typesOf(s);
  base.nullable = nullable;
  return { ...base, ...shape(s, types, root, depth) };
}

function json(schema, why) { return { kind: 'json', schema, words: 'JSON' + (why ? ', ' + why : ''), nullable: false }; }

function shape(s, types, root, depth) {
  if (s.has('const')) return { kind: 'constant', words: 'always ' + write(s.get('const')), value: s.get('const') };
  const choices = choicesOf(s, root);
  if (choices) return { kind: 'choice', choices, words: 'one of ' + choices.length };
  const shapes = alternatives(s, root);
  if (shapes.length > 1) return { kind: 'union', shapes, words: `one of ${shapes.length} shapes` };
  if (types.length > 1) return { kind: 'union', shapes: types.map(t => ({ title: t, schema: new Map([...s, ['type', t]]) })), words: types.join(' or ') };
  switch (types[0]) {
    case 'string': return text(s);
    case 'integer': case 'number': return numeric(s, types[0]);
    case 'boolean': return { kind: 'boolean', words: 'yes or no' };
    case 'array': return list(s, root);
    case 'object': return members(s, root, depth);
    case 'null': return { kind: 'constant', words: 'always null', value: null };
  }
  return json(s, types[0] ? `type "${types[0]}" does not exist` : '');
}

// typesOf are the types without null, and whether null is one of them. A schema without a type
// is guessed by its keywords.
function typesOf(s) {
  const given = s.get('type');
  let types = Array.isArray(given) ? given.filter(t => typeof t === 'string') : typeof given === 'string' ? [given] : [];
  let nullable = s.get('nullable') === true || (types.includes('null') && types.length > 1);
  if (nullable) types = types.filter(t => t !== 'null');
  const some = s.get('anyOf') ?? s.get('oneOf');
  if (Array.isArray(some) && some.some(isNull) && some.length > 1) nullable = true;
  if (!types.length) {
    if (['properties', 'additionalProperties', 'patternProperties'].some(k => s.has(k))) types = ['object'];
    else if (['items', 'prefixItems'].some(k => s.has(k))) types = ['array'];
    else if (['minLength', 'maxLength', 'pattern'].some(k => s.has(k))) types = ['string'];
    else if (['minimum', 'maximum', 'multipleOf'].some(k => s.has(k))) types = ['number'];
  }
  return { types, nullable };
}

const isNull = s => s instanceof Map && s.get('type') === 'null';

// resolve follows $ref, and merges allOf and a single alternative. Null means another document, or
// that it took too many steps.
function resolve(schema, root, left = { steps }) {
  if (left.steps-- <= 0) return null;
  let s = schema;
  const ref = s.get('$ref') ?? s.get('$dynamicRef');
  if (typeof ref === 'string') {
    const found = follow(ref, root);
    if (!(found instanceof Map)) return found === true ? new Map() : null;
    const rest = [...s].filter(([k]) => k !== '$ref' && k !== '$dynamicRef');
    s = resolve(new Map([...found, ...rest]), root, left);
    if (!s) return null;
  }
  if (Array.isArray(s.get('allOf'))) s = merged(s, root, left);
  for (const word of ['anyOf', 'oneOf']) {
    const some = s?.get(word);
    const rest = Array.isArray(some) ? some.filter(x => !isNull(x)) : [];
    if (rest.length === 1 && some.length === 2 && rest[0] instanceof Map) {
      const inner = resolve(rest[0], root, left);
      if (!inner) return null;
      s = new Map([...inner, ...[...s].filter(([k]) => k !== word), ['nullable', true]]);
    }
  }
  return s;
}

function merged(s, root, left) {
  let out = new Map([...s].filter(([k]) => k !== 'allOf'));
  for (const part of s.get('allOf')) {
    const one = part instanceof Map ? resolve(part, root, left) : null;
    if (!one) continue;
    const properties = new Map([...entriesOf(out, 'properties'), ...entriesOf(one, 'properties')]);
    const required = [...new Set([...listOf(out, 'required'), ...listOf(one, 'required')])];
    out = new Map([...one, ...out]);
    if (properties.size) out.set('properties', properties);
    if (required.length) out.set('required', required);
  }
  return out;
}

// unescaped is a step of a JSON pointer in a reference.
function unescaped(step) {
  return decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
}

// follow finds a reference within the document.
function follow(ref, root) {
  if (ref === '#') return root;
  if (ref.startsWith('#/')) {
    return ref.slice(2).split('/').reduce((v, step) => {
      const name = unescaped(step);
      return v instanceof Map ? v.get(name) : Array.isArray(v) ? v[Number(name)] : undefined;
    }, root);
  }
  if (!ref.startsWith('#')) return null;
  return anchored(root, ref.slice(1));
}

function anchored(v, name, depth = 0) {
  if (depth > 32) return null;
  if (v instanceof Map && (v.get('$anchor') === name || v.get('$dynamicAnchor') === name)) return v;
  const inner = v instanceof Map ? [...v.values()] : Array.isArray(v) ? v : [];
  for (const one of inner) {
    const found = typeof one === 'object' && one && anchored(one, name, depth + 1);
    if (found) return found;
  }
  return null;
}

// choicesOf are the values of an enum, or of alternatives that are constants.
function choicesOf(s, root) {
  const values = s.get('enum');
  if (Array.isArray(values) && values.length) {
    const names = s.get('enumNames') ?? s.get('x-enumNames') ?? [];
    return values.map((value, i) => ({ value, title: typeof names[i] === 'string' ? names[i] : '' }));
  }
  const some = s.get('oneOf') ?? s.get('anyOf');
  if (!Array.isArray(some) || !some.length) return null;
  const all = some.filter(x => !isNull(x)).map(x => x instanceof Map ? resolve(x, root) : null);
  if (!all.every(x => x?.has('const'))) return null;
  return all.map(x => ({ value: x.get('const'), title: x.get('title') ?? x.get('description') ?? '' }));
}

// alternatives are the shapes of oneOf and anyOf.
function alternatives(s, root) {
  const some = s.get('oneOf') ?? s.get('anyOf');
  if (!Array.isArray(some)) return [];
  const rest = new Map([...s].filter(([k]) => !['oneOf', 'anyOf', 'title', 'description', 'default'].includes(k)));
  return some.filter(x => x instanceof Map && !isNull(x)).map((x, i) => {
    const one = resolve(x, root) ?? x;
    const schema = new Map([...rest, ...one]);
    const own = entriesOf(one, 'properties').map(([name, p]) => [name, constantIf(p, listOf(one, 'required').includes(name))]), both = new Map([...entriesOf(rest, 'properties'), ...own]);
    if (both.size) schema.set('properties', both);
    // A constant tells this shape from the others, so it is sent even if the schema does not require it.
    const constants = own.filter(([, p]) => typeof get(p, 'const') === 'string').map(([name]) => name);
    const needed = new Set([...listOf(rest, 'required'), ...listOf(one, 'required'), ...constants]);
    if (needed.size) schema.set('required', [...needed]);
    const titles = [one.get('title'), discriminator(own), definition(x), membersOf(one), one.get('format'), one.get('type'), `shape ${i + 1}`];
    return { title: titles.find(t => typeof t === 'string' && t), schema };
  });
}

// definition is the name of the definition that a schema refers to.
function definition(s) {
  const ref = s.get('$ref');
  return typeof ref === 'string' && ref.startsWith('#/') ? unescaped(ref.slice(ref.lastIndexOf('/') + 1)) : undefined;
}

// membersOf are the first names that tell a shape from the others.
function membersOf(s) {
  const names = s.has('required') ? listOf(s, 'required') : entriesOf(s, 'properties').map(([name]) => name);
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ' …' : '');
}

// discriminator is the value of a constant member, which names a shape.
const discriminator = own => own.map(([, p]) => get(p, 'const')).find(v => typeof v === 'string');

// constantIf is a schema as a constant, if it is an enum of one text and its member is required.
function constantIf(p, required) {
  const values = listOf(p, 'enum');
  return required && values.length === 1 && typeof values[0] === 'string' ? new Map([...p, ['const', values[0]]]) : p;
}

const whole = v => v instanceof Num ? Number(v.text) : undefined;
export const plural = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;

// between returns the text for the allowed number of items or characters. It leaves out a minimum of 0.
function between(min, max, one) {
  if (min > 0) return [max === undefined ? `at least ${plural(min, one)}` : `${min} to ${plural(max, one)}`];
  return max === undefined ? [] : [`at most ${plural(max, one)}`];
}

function text(s) {
  const format = s.get('format'), min = whole(s.get('minLength')), max = whole(s.get('maxLength'));
  if (s.get('contentEncoding') === 'base64' || s.has('contentMediaType') && s.has('contentEncoding')) {
    return { kind: 'file', words: ['file', s.get('contentMediaType')].filter(Boolean).join(', ') };
  }
  const words = [format ? formats[format]?.words ?? format : 'text', ...between(min, max, 'character')];
  const secret = format === 'password' || s.get('writeOnly') === true || s.get('x-secret') === true;
  const long = !secret && (max > 120 || String(s.get('default') ?? '').includes('\n'));
  return { kind: long ? 'box' : 'text', secret, input: secret ? 'password' : formats[format]?.input ?? 'text', pattern: s.get('pattern'), words: words.join(', ') };
}

const formats = {
  date: { input: 'date', words: 'date' }, time: { words: 'time, such as 09:30:00Z' }, 'date-time': { words: 'date and time, such as 2026-07-28T09:30:00Z' },
  email: { input: 'email', words: 'e-mail address' }, uri: { input: 'url', words: 'URI' }, password: { input: 'password', words: 'secret' }, uuid: { words: 'UUID' },
};

function numeric(s, type) {
  const min = s.get('minimum'), max = s.get('maximum'), over = s.get('exclusiveMinimum'), under = s.get('exclusiveMaximum');
  const words = [type === 'integer' ? 'whole number' : 'number'];
  if (min instanceof Num && max instanceof Num) words.push(`${min} to ${max}`);
  else if (min instanceof Num) words.push(`at least ${min}`);
  else if (max instanceof Num) words.push(`at most ${max}`);
  if (over instanceof Num) words.push(`more than ${over}`);
  if (under instanceof Num) words.push(`less than ${under}`);
  const step = whole(s.get('multipleOf')) ?? (type === 'integer' ? 1 : undefined);
  if (s.get('multipleOf') instanceof Num) words.push(`a multiple of ${s.get('multipleOf')}`);
  const steps = step ? (whole(max) - whole(min)) / step : NaN;
  return { kind: 'number', whole: type === 'integer', min: whole(min), max: whole(max), step, slider: steps >= 1 && steps <= 100 && whole(min) % step === 0, words: words.join(', ') };
}

function list(s, root) {
  const min = whole(s.get('minItems')), max = whole(s.get('maxItems'));
  const words = ['list', ...between(min, max, 'item')];
  if (s.get('uniqueItems') === true) words.push('no two alike');
  const places = [s.get('prefixItems'), s.get('items')].find(Array.isArray); // the second before 2020-12
  if (places) return { kind: 'tuple', places, words: words.join(', ') };
  const items = s.get('items') ?? true;
  const inner = items instanceof Map ? resolve(items, root) : null;
  const choices = inner ? choicesOf(inner, root) : null;
  return { kind: 'array', items, choices, min, max, words: words.join(', ') };
}

function members(s, root, depth) {
  const properties = entriesOf(s, 'properties');
  const required = listOf(s, 'required');
  const conditions = conditionsOf(s);
  const open = s.get('additionalProperties'), patterns = entriesOf(s, 'patternProperties');
  const more = open || !patterns.length ? open : patterns.length === 1 ? patterns[0][1] : true; // names that match a pattern
  if (!properties.length && more !== false && depth > 0 || !properties.length && (more instanceof Map || more === true)) {
    return { kind: 'map', items: more instanceof Map ? more : true, words: 'names and values' };
  }
  const fields = properties.filter(([, p]) => get(p, 'readOnly') !== true).map(([name, schema]) => ({ name, schema, required: required.includes(name) }));
  return { kind: 'object', fields, conditions, rest: more instanceof Map || more === true ? more : null, words: 'group' };
}

// conditionsOf says in words what depends on what: such fields stay visible.
function conditionsOf(s) {
  const out = [];
  for (const [name, needs] of entriesOf(s, 'dependentRequired')) {
    if (Array.isArray(needs)) out.push(`${needs.join(', ')} ${needs.length === 1 ? 'is' : 'are'} required with ${name}`);
  }
  const then = get(s, 'then', 'required'), when = get(s, 'if', 'properties');
  if (Array.isArray(then) && when instanceof Map) {
    const parts = [...when].map(([name, p]) => `${name} is ${get(p, 'const') === undefined ? 'as the schema says' : write(get(p, 'const'))}`);
    out.push(`${then.join(', ')} ${then.length === 1 ? 'is' : 'are'} required if ${parts.join(' and ')}`);
  }
  return out;
}

// hollow says that a value has nothing but empty groups.
const hollow = v => v instanceof Map && [...v.values()].every(hollow);

// first is a value to begin with where a control is opened: constants and required members.
export function first(schema, root, depth = 0, left = { steps }) {
  if (left.steps-- <= 0) return undefined;
  const p = plan(schema, root, depth);
  switch (p.kind) {
    case 'constant': return p.value;
    case 'object': {
      const out = new Map();
      for (const f of p.fields) {
        const value = f.required ? first(f.schema, root, depth + 1, left) : undefined;
        if (value !== undefined) out.set(f.name, value);
      }
      return depth === 0 || out.size || !p.fields.some(f => f.required) ? out : undefined;
    }
    case 'union': { // only a shape that has something to begin with is chosen
      const begin = first(p.shapes[0].schema, root, depth + 1, left);
      return hollow(begin) ? undefined : begin;
    }
  }
  return undefined;
}

const isMap = v => v instanceof Map, isText = v => typeof v === 'string';
const types = { array: Array.isArray, tuple: Array.isArray, object: isMap, map: isMap, text: isText, box: isText, file: isText, boolean: v => typeof v === 'boolean', number: v => v instanceof Num };

// isOf says whether a value has the type of a control, or is one of its choices.
export function isOf(p, value) {
  if (p.kind === 'constant') return same(value, p.value);
  return p.kind === 'choice' ? p.choices.some(c => same(c.value, value)) : types[p.kind]?.(value) ?? true;
}

// fits says whether a value may be of a shape: by its type, and by constant members. Unless open is set,
// a shape has only the members that it names.
export function fits(value, schema, root, open = true, depth = 1, left = { steps }) {
  if (left.steps-- <= 0) return true;
  const p = plan(schema, root, depth);
  if (value === undefined) return false;
  switch (p.kind) {
    case 'object': return value instanceof Map && p.fields.every(f => {
      const c = get(f.schema, 'const');
      return c === undefined || (value.has(f.name) && write(value.get(f.name)) === write(c));
    }) && [...value.keys()].every(k => p.fields.some(f => f.name === k) || open && p.rest);
    case 'union': return p.shapes.some(s => fits(value, s.schema, root, open, depth + 1, left));
    case 'map': if (!open) return false;
  }
  return isOf(p, value);
}
