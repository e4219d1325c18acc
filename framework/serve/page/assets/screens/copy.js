// One call, written down to take away.
import { html, useState, useEffect } from '../vendor/preact.js';
import { store, change, toast } from '../store.js';
import { ask, getText } from '../api.js';
import { Dialog, copy, save } from '../view.js';

const ways = [['shell', 'Shell', 'the CLI'], ['test', 'Go test', 'what this call answered, with testkit'], ['client', 'Go client', 'any server, any revision'], ['curl', 'curl', '2026-07-28; older revisions need a session first']];

export function CopySheet({ call }) {
  const [texts, setTexts] = useState({});
  useEffect(() => {
    for (const [as] of ways) getText(`calls/${call}/copy/${as}`).then(t => setTexts(old => ({ ...old, [as]: t })), e => setTexts(old => ({ ...old, [as]: e.message })));
  }, [call]);
  const name = (store.calls.find(c => c.id === call)?.name ?? 'call').replace(/[^A-Za-z0-9_-]/g, '_');
  const replay = `func TestReplay(t *testing.T) { testkit.Replay(t, app, "testdata/${name}.jsonl") }`;
  const download = async () => {
    try { save(name + '.jsonl', await (await ask('GET', `calls/${call}/record`)).blob()); } catch (e) { toast(e.message); }
  };
  return html`<${Dialog} label="Copy this call" kind="sheet" onClose=${() => change({ sheet: null })}>
    <div class="row"><h2>Copy this call</h2><button class="btn t end" onClick=${() => change({ sheet: null })}>Close <kbd>esc</kbd></button></div>
    ${ways.map(([as, title, about]) => html`<section class="block"><div class="bh"><b>${title}</b><span>${about}</span><button class="btn t s end" onClick=${() => copy(texts[as] ?? '')}>Copy</button></div><pre class="code wrap" tabindex="0" data-as=${as}>${texts[as] ?? ''}</pre></section>`)}
    <section class="block"><div class="bh"><b>Record</b><span>the frames of this call, for testkit.Replay</span><button class="btn t s end" onClick=${download}>Download</button></div>
      <pre class="code wrap" tabindex="0" data-as="replay">${replay}</pre></section>
    <p class="note">Tokens are never copied: <span class="mono">$KAGAMI_BEARER</span> stands in their place, and <span class="mono">$SECRET</span> for secret arguments.</p><//>`;
}
