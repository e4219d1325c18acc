// The calls that became tasks, and the other tasks that the server lists.
import { html, useState, useEffect } from '../vendor/preact.js';
import { seen } from '../json.js';
import { useStore, stop, call, toast } from '../store.js';
import { ask, getJSON } from '../api.js';
import { clock, time } from '../view.js';
import { Questions } from './question.js';
import { Answer } from './result.js';
import { toolHref } from './overview.js';

const rank = c => c.phase !== 'sent' ? 2 : c.task?.status === 'input_required' ? 0 : 1;

// stateOf is the state of a call as a task has it.
const stateOf = c => c.phase === 'sent' ? c.task.status : c.phase === 'error' || c.isError ? 'failed' : c.phase === 'result' ? 'completed' : c.phase;

export function Tasks() {
  const s = useStore();
  const all = s.calls.filter(c => c.task).sort((a, b) => rank(a) - rank(b) || b.n - a.n);
  return html`<div class="pad"><h1>Tasks</h1>
    ${all.length === 0 && html`<div class="empty"><p>No call has become a task. ${s.about?.tasks ? 'Check "As a task" beside a tool.' : 'This server has no tasks at this revision.'}</p></div>`}
    ${all.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Tasks of this page"><table class="data wide"><thead><tr><th scope="col">State</th><th scope="col">Tool</th><th scope="col" class="num">Started</th><th scope="col" class="num">Time</th><th scope="col">Message</th></tr></thead><tbody>
    ${all.map(c => html`<tr><td>${stateOf(c)} ${c.phase === 'sent' && html`<button class="btn t s" onClick=${() => stop(c.id)}>Cancel</button>`}</td><td><a class="mono" href=${toolHref(c.name)}>${seen(c.name)}</a></td><td class="num">${clock(c.at)}</td><td class="num">${time(c.ms)}</td>
      <td class="wrapped">${seen(c.progress?.message ?? c.task.message ?? '')}${c.progress?.total ? ` ${c.progress.done} of ${c.progress.total}` : ''}</td></tr>
      ${s.questions.some(q => q.call === c.id) && html`<tr><td colspan="5"><${Questions} questions=${s.questions.filter(q => q.call === c.id)} tool=${c.name}/></td></tr>`}`)}</tbody></table></div>`}
    <${Listed} own=${all.map(c => c.task.id)}/></div>`;
}

// Listed are the tasks of earlier connections and of other clients of this user. They outlive the page.
function Listed({ own }) {
  const s = useStore();
  const [found, setFound] = useState(null);
  const read = () => getJSON('tasks').then(setFound, () => setFound({ listed: false, tasks: [] }));
  useEffect(() => { if (s.state.name === 'connected') read(); }, [s.state.name, s.about?.revision, own.length]);
  const others = (found?.tasks ?? []).filter(t => !own.includes(t.id));
  const results = s.calls.filter(c => c.method === 'tasks/result').slice(0, 50); // fewer than the results that are kept
  if (!found?.listed) return null;
  const cancel = id => ask('DELETE', 'tasks/' + encodeURIComponent(id)).then(read, e => toast(e.message));
  return html`<div class="sect"><h2>Other tasks of the server</h2><span class="f num">${others.length}</span><button class="btn t end" onClick=${read}>Read again</button></div>
    ${others.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Other tasks"><table class="data wide"><thead><tr><th class="num">Created</th><th>Id</th><th>State</th><th>Message</th><th class="num">Kept for</th><th><span class="vh">Actions</span></th></tr></thead><tbody>
    ${others.map(t => html`<${Row} key=${t.id} task=${t} got=${results.find(c => c.name === t.id)} cancel=${() => cancel(t.id)}/>`)}</tbody></table></div>`}`;
}

// lives says for how long a task is kept.
const lives = ms => ms === null ? 'without end' : ms < 120_000 ? time(ms) : `${Math.round(ms / 60_000)} min`;

function Row({ task: t, got, cancel }) {
  return html`<tr><td class="num">${clock(t.created)}</td><td class="mono wrapped">${seen(t.id)}</td><td>${t.status}</td><td class="wrapped">${seen(t.message ?? '')}</td><td class="num">${lives(t.ttlMs)}</td>
    <td>${t.over ? html`<button class="btn t" onClick=${() => call('tasks/result', t.id).catch(e => toast(e.message))}>Result</button>` : html`<button class="btn t" onClick=${cancel}>Cancel</button>`}</td></tr>
    ${got && html`<tr><td colspan="6"><${Answer} call=${got}/></td></tr>`}`;
}
