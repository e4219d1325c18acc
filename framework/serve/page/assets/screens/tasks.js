// The calls that became tasks.
import { html } from '../vendor/preact.js';
import { seen } from '../json.js';
import { useStore, stop } from '../store.js';
import { clock, time } from '../view.js';
import { Questions } from './question.js';
import { toolHref } from './overview.js';

const rank = c => c.phase !== 'sent' ? 2 : c.task?.status === 'input_required' ? 0 : 1;

export function Tasks() {
  const s = useStore();
  const all = s.calls.filter(c => c.task).sort((a, b) => rank(a) - rank(b) || b.n - a.n);
  return html`<div class="pad"><h1>Tasks</h1>
    ${all.length === 0 && html`<div class="empty"><p>No call has become a task. ${s.about?.tasks ? 'Check "As a task" beside a tool.' : 'This server has no tasks at this revision.'}</p></div>`}
    ${all.length > 0 && html`<table class="data"><thead><tr><th>Started</th><th>Tool</th><th>State</th><th>Message</th><th class="num">Time</th><th></th></tr></thead><tbody>
    ${all.map(c => html`<tr><td class="num">${clock(c.at)}</td><td><a class="mono" href=${toolHref(c.name)}>${seen(c.name)}</a></td><td>${c.phase === 'sent' ? c.task.status : c.phase}</td>
      <td class="wrapped">${seen(c.progress?.message ?? c.task.message ?? '')}${c.progress?.total ? ` ${c.progress.done} of ${c.progress.total}` : ''}</td><td class="num">${time(c.ms)}</td><td>${c.phase === 'sent' && html`<button class="btn t" onClick=${() => stop(c.id)}>Cancel</button>`}</td></tr>
      ${s.questions.some(q => q.call === c.id) && html`<tr><td colspan="6"><${Questions} questions=${s.questions.filter(q => q.call === c.id)} tool=${c.name}/></td></tr>`}`)}</tbody></table>`}</div>`;
}
