// A resource, or a template whose variables are filled in first.
import { html, useEffect, useLayoutEffect } from '../vendor/preact.js';
import { seen } from '../json.js';
import { store, useStore, describe, textOf, call, toast, stop, go } from '../store.js';
import { Enter } from '../view.js';
import { Answer, Spoken } from './result.js';
import { Questions } from './question.js';
import { useCompletion, useKept } from './tool.js';
import { readHref } from './overview.js';

// expand fills in a URI template of level 1 and, for reserved characters, of level 2.
const expand = (template, values) => template.replace(/\{([+#/?&.;]?)([^}]*)\}/g, (_, operator, names) => {
  const all = names.split(',').map(n => n.replace(/\*|:\d+$/g, '')).filter(n => values.get(n));
  const one = n => operator === '+' || operator === '#' ? encodeURI(values.get(n)) : encodeURIComponent(values.get(n));
  if (!all.length) return '';
  if (['?', '&', ';'].includes(operator)) return operator + all.map(n => `${n}=${one(n)}`).join(operator === ';' ? ';' : '&');
  return (['', '+'].includes(operator) ? '' : operator) + all.map(one).join(operator === '/' || operator === '.' ? operator : ',');
});
const variables = template => [...template.matchAll(/\{[+#/?&.;]?([^}]*)\}/g)].flatMap(m => m[1].split(',')).map(n => n.replace(/\*|:\d+$/g, ''));

export function Template({ name }) {
  return useStore().offers ? html`<${Filling} name=${name}/>` : html`<div class="pad"><span class="sk"></span></div>`;
}

function Filling({ name }) {
  const s = useStore(), offer = describe('templates', name);
  const [values, setValues] = useKept(`kagami-${s.about?.where}-templates-${name}`, new Map()); // by variable
  const complete = useCompletion({ template: name }, values);
  const uri = expand(name, values);
  const read = e => { e.preventDefault(); go(readHref(uri)); };
  useLayoutEffect(() => {
    document.addEventListener('call', read);
    return () => document.removeEventListener('call', read);
  });
  return html`<div class="mirror"><div class="head"><div class="row"><h1 class="name">${seen(name)}</h1><span class="q">${seen(textOf(offer, 'title') || textOf(offer, 'name'))}</span></div><p class="lead wrapped">${seen(textOf(offer, 'description'))}</p></div>
    <section class="side" aria-label="What you say"><div class="cap"><b>You</b></div><form onSubmit=${read}>
      ${variables(name).map(v => {
    const c = complete?.(v);
    return html`<div class="field"><label for=${'v-' + v}>${seen(v)}</label><input class="in" id=${'v-' + v} list=${'c-' + v} autocomplete="off" value=${values.get(v) ?? ''} onInput=${e => { setValues(new Map([...values, [v, e.target.value]])); c?.ask(e.target.value); }}/>
        <datalist id=${'c-' + v}>${(c?.values ?? []).map(x => html`<option value=${x}/>`)}</datalist></div>`;
  })}
      <p class="mono wrapped q">${seen(uri)}</p><div class="go"><button class="btn p" data-call>Read <${Enter}/></button></div></form></section>
    <section class="side" aria-label="What the server says"><div class="cap"><b>Server</b></div><div class="empty"><h2>Nothing read yet</h2><p>Fill in the variables of the address.</p></div></section></div>`;
}

export function Read({ uri }) {
  const s = useStore(), offer = describe('resources', uri);
  const mine = s.calls.filter(c => c.method === 'resources/read' && c.name === uri);
  const watch = s.calls.find(c => c.method === 'resources/subscribe' && c.name === uri), watching = watch?.phase === 'sent' && watch;
  const read = () => call('resources/read', uri).catch(e => toast(e.message));
  const ready = s.offers && s.state.name === 'connected'; // reading must not start a program that has ended
  useEffect(() => { if (!mine.length && ready) read(); }, [uri, Boolean(ready)]);
  useLayoutEffect(() => {
    const updated = e => (e.detail.uri === uri || store.calls.some(c => c.id === e.detail.call && c.name === uri)) && read(); // a server also reports what is below the watched URI
    document.addEventListener('call', read);
    document.addEventListener('updated', updated);
    return () => { document.removeEventListener('call', read); document.removeEventListener('updated', updated); };
  }, [uri]);
  const current = mine.find(c => s.questions.some(q => q.call === c.id)) ?? mine[0];
  const questions = s.questions.filter(q => q.call && q.call === current?.id);
  return html`<div class="mirror"><div class="head"><div class="row"><h1 class="name wrapped">${seen(uri)}</h1><span class="q">${seen(textOf(offer, 'title') || textOf(offer, 'name'))}</span></div><p class="lead wrapped">${seen(textOf(offer, 'description'))}</p>
      <div class="tags s"><span class="tag">${seen(textOf(offer, 'mimeType'))}</span>${offer?.inside?.where && html`<span class="tag mono">${offer.inside.where}</span>`}</div></div>
    <section class="side" aria-label="What you say"><div class="cap"><b>You</b></div><div class="go"><button class="btn p" data-call onClick=${read}>Read <${Enter}/></button>
      ${s.about?.watch && (watching ? html`<button class="btn" onClick=${() => stop(watching.id)}>Stop watching</button>` : html`<button class="btn" onClick=${() => call('resources/subscribe', uri).catch(e => toast(e.message))}>Watch</button>`)}</div>
      ${watching && html`<p class="q s">Each update is read again.</p>`}${watch?.error && html`<p class="note bad wrapped">${seen(watch.error.message)}</p>`}<${Questions} questions=${questions} tool=${uri}/></section>
    <section class="side" data-current=${current?.id} aria-label="What the server says"><div class="cap"><b>Server</b></div><${Spoken} call=${current}/><${Answer} call=${current} asked=${questions.length > 0}/></section></div>`;
}
