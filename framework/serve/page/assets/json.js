// JSON without loss: numbers keep their digits, and objects the order of their members.

// decoded is a part of an address without its escapes. A part with a broken escape stays as it is.
export function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// Num is a number as it was written.
export class Num {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

// Draft is what a user typed that is no JSON value yet, such as "1e" in a field for numbers.
export class Draft {
  constructor(text, fault) { this.text = text; this.fault = fault; }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const plain = /[^"\\\u0000-\u001f]*/y;
const escapes = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const deepest = 512;

// parse reads a text: objects become Maps, numbers become Nums. It throws a SyntaxError with
// the place, as "line 2, column 5".
export function parse(text) {
  let at = 0;
  const fail = what => {
    const before = text.slice(0, at).split('\n');
    throw new SyntaxError(`line ${before.length}, column ${before.at(-1).length + 1}: ${what}`);
  };
  const blank = () => { while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at++; };
  const word = (name, value) => {
    if (!text.startsWith(name, at)) fail('want a value');
    at += name.length;
    return value;
  };
  const string = () => {
    let out = '';
    at++;
    for (;;) {
      plain.lastIndex = at;
      const part = plain.exec(text)[0];
      out += part;
      at += part.length;
      const c = text[at];
      if (c === '"') { at++; return out; }
      if (c === undefined) fail('the text ends within a string');
      if (c !== '\\') fail('a line break or control character within a string');
      const e = text[at + 1];
      if (e === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) {
        out += String.fromCharCode(parseInt(text.slice(at + 2, at + 6), 16));
        at += 6;
      } else if (e in escapes) {
        out += escapes[e];
        at += 2;
      } else fail('an escape that JSON does not have');
    }
  };
  const value = depth => {
    if (depth > deepest) fail('too deep');
    blank();
    switch (text[at]) {
      case '{': return object(depth);
      case '[': return array(depth);
      case '"': return string();
      case 't': return word('true', true);
      case 'f': return word('false', false);
      case 'n': return word('null', null);
    }
    number.lastIndex = at;
    const found = number.exec(text);
    if (!found) fail(at < text.length ? 'want a value' : 'the text ends where a value is wanted');
    at += found[0].length;
    return new Num(found[0]);
  };
  const array = depth => {
    const out = [];
    at++;
    blank();
    if (text[at] === ']') { at++; return out; }
    for (;;) {
      out.push(value(depth + 1));
      blank();
      if (text[at] === ']') { at++; return out; }
      if (text[at] !== ',') fail('want a comma or ]');
      at++;
    }
  };
  const object = depth => {
    const out = new Map();
    at++;
    blank();
    if (text[at] === '}') { at++; return out; }
    for (;;) {
      blank();
      if (text[at] !== '"') fail('want the name of a member in quotes');
      const name = string();
      blank();
      if (text[at] !== ':') fail('want a colon');
      at++;
      out.set(name, value(depth + 1));
      blank();
      if (text[at] === '}') { at++; return out; }
      if (text[at] !== ',') fail('want a comma or }');
      at++;
    }
  };
  const all = value(0);
  blank();
  if (at < text.length) fail('something follows the value');
  return all;
}

// parsed is the same, or undefined for a text that is not JSON.
export function parsed(text) {
  try { return parse(text); } catch { return undefined; }
}

// write is the reverse of parse. indent is a number of spaces; 0 writes one line.
export function write(value, indent = 0, level = 0) {
  const line = indent ? '\n' + ' '.repeat(indent * (level + 1)) : '';
  const end = indent ? '\n' + ' '.repeat(indent * level) : '';
  if (value instanceof Num) return value.text;
  if (value instanceof Draft) return JSON.stringify(value.text);
  if (value instanceof Map) {
    if (!value.size) return '{}';
    const members = [...value].filter(([, v]) => v !== undefined);
    return '{' + members.map(([k, v]) => line + JSON.stringify(k) + (indent ? ': ' : ':') + write(v, indent, level + 1)).join(',') + end + '}';
  }
  if (Array.isArray(value)) {
    if (!value.length) return '[]';
    return '[' + value.map(v => line + write(v, indent, level + 1)).join(',') + end + ']';
  }
  return JSON.stringify(value ?? null);
}

// plainOf makes ordinary values of those of parse, for data whose digits do not matter.
export function plainOf(value) {
  if (value instanceof Num) return Number(value.text);
  if (value instanceof Draft) return value.text;
  if (value instanceof Map) return Object.fromEntries([...value].map(([k, v]) => [k, plainOf(v)]));
  return Array.isArray(value) ? value.map(plainOf) : value;
}

// get follows names through Maps; undefined where there is none.
export const get = (value, ...names) => names.reduce((v, name) => v instanceof Map ? v.get(name) : undefined, value);

// listOf follows names to an array, and entriesOf to the members of an object. A server may send
// anything there: what has another type has no elements.
export function listOf(value, ...names) {
  const found = get(value, ...names);
  return Array.isArray(found) ? found : [];
}

export function entriesOf(value, ...names) {
  const found = get(value, ...names);
  return found instanceof Map ? [...found] : [];
}

// under is the path of a member of the value at a path, as a JSON Pointer.
export const under = (path, name) => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

// drafts lists the faults of drafts within a value, with their paths.
export function drafts(value, path = '') {
  if (value instanceof Draft) return [{ path, want: value.fault }];
  if (value instanceof Map) return [...value].flatMap(([k, v]) => drafts(v, under(path, k)));
  return Array.isArray(value) ? value.flatMap((v, i) => drafts(v, path + '/' + i)) : [];
}

// same compares two values.
export const same = (a, b) => a === b || (a !== undefined && b !== undefined && write(a) === write(b));

// label is a name as people read it. An empty name is shown as quotes.
export const label = name => name === '' ? '""' : seen(name);

// seen makes invisible characters visible, because a model also reads them: controls, and
// characters that Unicode lets a font leave out. It keeps the two selectors that choose how an
// emoji looks.
export const seen = text => String(text).replace(/(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu,
  c => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
