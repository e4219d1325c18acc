// How a client is told of this server.
import { html, useState, useEffect } from '../vendor/preact.js';
import { useStore } from '../store.js';
import { getJSON } from '../api.js';
import { copy } from '../view.js';

export function Connect() {
  const a = useStore().about;
  const [ways, setWays] = useState([]);
  useEffect(() => { getJSON('connectors').then(setWays, () => setWays([])); }, [a?.name, a?.where]);
  if (!a) return null;
  return html`<div class="pad"><h1>Connect a client</h1>
    ${a.carrier !== 'HTTP' && !a.start && html`<p class="lead q">A client starts the program itself, by its absolute path. Build the Go package first, with <span class="mono">go build -o</span>.</p>`}
    ${ways.map(w => html`<section class="block"><div class="bh"><b>${w.client}</b><span>${w.where}</span><span class="end row">${w.link && html`<a class="btn t s" href=${w.link}>Install in ${w.client}</a>`}<button class="btn t s" onClick=${() => copy(w.text)}>Copy</button></span></div><pre class="code wrap" tabindex="0">${w.text}</pre></section>`)}</div>`;
}
