// The page's own interface: requests with both secrets, and the stream of events.
import { parse } from './json.js';

// An origin has a port, so that localStorage is this page's alone. Cookies know no ports: that
// is why each request has the secret in a header, too.
const given = document.documentElement.dataset.secret;
let kept;
try {
  if (given) localStorage.setItem('kagami-secret', given);
  kept = localStorage.getItem('kagami-secret');
} catch {
  const make = (name, fields) => Object.assign(document.createElement(name), fields), land = make('main', { className: 'land' });
  land.append(make('h1', { textContent: 'This page needs its storage' }), make('p', { className: 'lead', textContent: 'Allow this site to keep its cookie and its data, and open the address again.' }));
  document.body.append(land);
  await new Promise(() => {}); // nothing else runs
}
export const secret = given || kept || '';
if (new URLSearchParams(location.search).has('k')) history.replaceState(null, '', location.pathname + location.hash);

// Refused is an answer other than 2xx.
export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

export async function ask(method, path, body, options = {}) {
  let response;
  try {
    response = await fetch('api/' + path, {
      method, headers: { 'Kagami-Page': secret, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body), ...options,
    });
  } catch {
    throw new Refused(0, 'The page does not answer: the program that serves it has ended.');
  }
  if (!response.ok) {
    const text = await response.text();
    let said = text;
    try { said = JSON.parse(text).error ?? text; } catch { /* not JSON: the text itself */ }
    throw new Refused(response.status === 401 ? 403 : response.status, said); // 401 comes from the program's own login
  }
  return response;
}

export const getJSON = async path => (await ask('GET', path)).json();
export const getExact = async path => parse(await (await ask('GET', path)).text());
export const getText = async path => (await ask('GET', path)).text();

const wait = ms => new Promise(done => setTimeout(done, ms));

// seat reports whether this tab may keep a stream open. A browser opens six connections to a host for
// all its tabs, so at most four tabs keep one. A tab has its seat until it is closed or locked out.
let leave = () => {};
async function seat() {
  if (!navigator.locks) return true; // over HTTP from another machine
  for (let i = 0; i < 4; i++) {
    const taken = await new Promise(done => {
      navigator.locks.request('kagami-events-' + i, { ifAvailable: true }, lock => {
        done(Boolean(lock));
        return lock && new Promise(end => { leave = end; });
      }).catch(() => done(false));
    });
    if (taken) return true;
  }
  return false;
}

// follow calls on for each event, for ever. After a break it goes on where it was; down is called
// when the stream breaks, and up when it is there again. Later events wait for up. A tab without a seat asks each second.
export async function follow(after, on, down, up) {
  let streams = false;
  for (let pause = 250; ; pause = Math.min(2 * pause, 4000)) {
    try {
      streams ||= await seat();
      const response = await ask('GET', `events?after=${after}${streams ? '' : '&once=1'}`);
      await up(); // before the events that come meanwhile
      pause = 250;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ''; ;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split('\n');
        rest = lines.pop();
        for (const line of lines) {
          if (!line) continue;
          const event = JSON.parse(line);
          after = event.seq;
          const done = on(event, () => parse(line));
          if (event.kind === 'missed') await done;
        }
      }
      if (!streams) { await wait(1000); continue; }
    } catch (e) {
      if (e.status === 403) { leave(); return down(e); }
    }
    down();
    await wait(pause);
  }
}
